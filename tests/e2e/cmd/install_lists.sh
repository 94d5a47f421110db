# A file of the tree that users need is installed, or the build fails: in a copy of the tree, files are added to the folders of which the installation
# is made.
command -v meson >/dev/null || { echo "this test needs meson"; exit 67; }
cd "$TMP" || exit 1
mkdir copy && (cd "$SRC" && cp -r README.md meson.build meson_options.txt commands completion dlib doc examples include lib src systemd tools "$TMP/copy") || exit 1
fail() { echo "$1"; cat log; exit 1; }
configure() { env -u CC -u CXX -u CFLAGS meson setup build copy -Dtests=false "$@" >log 2>&1 || fail "the copy is not configured"; }
check() { ninja -C build installed.stamp >log 2>&1; }
configure
check || fail "the lists of the tree are not complete"

# folders that are installed as they are
for file in dlib/zz.d dlib/helpers/zz.d examples/zz.d examples/heatmap/zz.js doc/walkthrough-zz.md; do echo >copy/$file; done
meson install -C build --no-rebuild --tags library,doc --destdir "$TMP/root" >log 2>&1 || fail "nothing is installed"
diff -r copy/dlib root/usr/lib/dtrace >log || fail "/usr/lib/dtrace is not dlib"
diff -r copy/examples root/usr/share/doc/fathom/examples >log || fail "the examples are not all there"
diff -r copy/doc root/usr/share/doc/fathom/doc | grep "^Only in copy" |
	grep -v ": \(architecture.md\|dtrace.8\|fathom-crash.1\|fathom-metrics.8\|fathom-privileges.5\|mdb.1\|memprof.8\|meson.build\|page.py\|release.md\|style.md\|testing.md\)$" >log && fail "pages are not installed"

# folders whose files are listed when the build folder is configured
sed 's/opensnoop/zzsnoop/g' copy/commands/opensnoop >copy/commands/zzsnoop
echo "# A page" >copy/doc/guide/zz.md
check && fail "nobody misses zzsnoop and zz.md"
grep -q "commands/zzsnoop is not in the list" log && grep -q "guide/zz.md is not in the list" log || fail "they are not named"
configure --reconfigure
check || fail "a configured folder does not know them"
meson introspect --install-plan build >log
wanted='"{sbindir}/zzsnoop" man8/zzsnoop.8"'
command -v lowdown >/dev/null && wanted="$wanted man7/dtrace-zz.7\"" # no such pages are made without it
for file in $wanted; do
	grep -qF "$file" log || fail "$file is not installed"
done

# folders whose files go to several places: the list is in a meson.build
for file in include/zz.h completion/zz.sh systemd/zz.service; do
	echo >copy/$file
	configure --reconfigure
	check && fail "nobody misses $file"
	rm copy/$file
done
exit 0
