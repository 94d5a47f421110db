# SPDX-License-Identifier: MIT
# libvirt 9: its library, virsh and two of its tests are configured with -Ddtrace=enabled and built; the probes are those of the
# library. The tests that use its event loop and its sockets pass while these are traced. Drivers and documents are left out.
needs gcc meson ninja-build pkg-config libglib2.0-dev libgnutls28-dev libxml2-dev libxml2-utils libtirpc-dev rpcsvc-proto xsltproc python3
source_of libvirt
quiet meson setup build -Dauto_features=disabled -Ddtrace=enabled -Ddriver_test=enabled -Ddriver_libvirtd=enabled \
	-Ddriver_remote=enabled -Dtests=enabled -Ddocs=disabled -Dexpensive_tests=disabled
grep -q 'DTrace *: YES' "$work/$name.log"
quiet ninja -C build -j2 tools/virsh tests/eventtest tests/virnetsockettest tests/ssh
cd build
described 'userland void *,int,int,pid_t,userland const char *,userland const char *' 'libvirt$target:::rpc_socket_new' tools/virsh
described 'userland void *,int,int,int,int,int,int,int' 'libvirt$target:libvirt.so.0.9000.0::rpc_client_msg_rx' tools/virsh

# virsh with the driver for tests: each object that is made, by class; the domain that is listed
traced ' 1    test   running
virConnect 1
virDomainObj 1
virNodeDeviceObj 4
ref and unref' '
libvirt$target:::object_new { new[arg0] = 1; @n[copyinstr(arg1)] = count(); }
libvirt$target:::object_ref /new[arg0]/ { @r = count(); ref = 1; }
libvirt$target:::object_unref /new[arg0]/ { unref = 1; }
END { printa("%s %@d\n", @n); }
END /ref && unref/ { printf("ref and unref\n"); }' 'tools/virsh -c test:///default list --all'

# the event loop of its test: descriptors that are watched, one of which becomes readable, and is not watched any more
traced 'add 33
33 added
dispatch 31 events 1
remove 30' '
libvirt$target:::event_glib_add_handle { printf("add %d\n", arg0); @n = count(); }
libvirt$target:::event_glib_dispatch_handle { printf("dispatch %d events %d\n", arg0, arg1); }
libvirt$target:::event_glib_remove_handle { printf("remove %d\n", arg0); }
END { printa("%@d added\n", @n); }' tests/eventtest

# the sockets of its test, which forks: two on each side, addresses of both ends
timeout 60 dtrace -q -n '
libvirt$target:::rpc_socket_new { printf("%d %s %s\n", arg2, copyinstr(arg4), copyinstr(arg5)); }' -c tests/virnetsockettest >"$work/libvirt.sockets" 2>&1
grep -qE '^-1 127\.0\.0\.1;([0-9]+) <null>$' "$work/libvirt.sockets"
grep -qE '^-1 127\.0\.0\.1;[0-9]+ 127\.0\.0\.1;[0-9]+$' "$work/libvirt.sockets"
quiet tests/eventtest
quiet tests/virnetsockettest
