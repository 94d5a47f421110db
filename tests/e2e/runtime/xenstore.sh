# The providers xenstore and xenstored, and xenstore-snoop, with Debian's stock xenstored: programs over its socket, a guest and the kernel
# of domain 0 through rings. xenstore.py has what is asked and compared. XEN_ROOT may be a folder with the unpacked packages.
# @@needs: kernel
set -u
cd "$TMP" || exit 1
root=${XEN_ROOT-}
daemon=$(echo "$root"/usr/lib/xen-*/bin/xenstored)
if [ ! -x "$daemon" ] || [ ! -x "$root/usr/bin/xenstore-write" ]; then
	root=$TMP/root
	package=$(apt-cache pkgnames xen-utils-4 2>/dev/null | grep -x 'xen-utils-[0-9.]*' | sort -V | tail -1)
	timeout 100 apt-get -qq -o APT::Sandbox::User=root download "${package:-xen-utils}" xenstore-utils libxenstore4 libxentoolcore1 >apt.out 2>&1 ||
		{ echo "no xenstored and xenstore-write (packages xen-utils-VERSION, xenstore-utils), and apt-get cannot download them"; exit 67; }
	for deb in *.deb; do dpkg -x "$deb" "$root" || exit 1; done
	daemon=$(echo "$root"/usr/lib/xen-*/bin/xenstored)
fi
# the hypervisor's libraries, by the names that the daemon was linked with
mkdir lib && cc -shared -fPIC -O1 -o lib/machine.so "$SRC/tests/e2e/runtime/xenstore_machine.c" || exit 1
readelf -d "$daemon" | sed -n 's/.*NEEDED.*\[\(libxen[^]]*\)\]/\1/p' | while read -r name; do ln -s machine.so "lib/$name"; done
mkdir calls && ln -s "$TMP/lib" calls/lib
failed=0
# as with kernels before 6.3, which have no tracepoints of sockets
cp -r "$DTRACE_OPT_SYSLIBDIR" older && sed -i 's/sock::sock_[a-z]*_length/sock::of_later_kernels/' older/xenstore.d || exit 1
DTRACE_OPT_SYSLIBDIR=$TMP/older TMP=$TMP/calls DAEMON=$daemon ROOT=$root /usr/bin/python3 "$SRC/tests/e2e/runtime/xenstore.py" calls || failed=1
"$DTRACE" -ln 'rawtp:sock::sock_recv_length' 2>/dev/null | grep -q sock_recv_length || exit $failed
DAEMON=$daemon ROOT=$root /usr/bin/python3 "$SRC/tests/e2e/runtime/xenstore.py" sockets || failed=1
exit $failed
