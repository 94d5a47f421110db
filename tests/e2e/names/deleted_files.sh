# Files and processes that are out of reach when names are printed.
# @@foreign
. "$SRC/tests/e2e/names/lib.inc"
code='n`show+0x1 n`exported n`a_table+0x8 n`zeroes+0x10 n`label+0x1'
build "$TMP/program" -static-pie -DSTATIC
build "$TMP/another" -static-pie -DSTATIC -O0
launch="$TRIGGER/launch $TMP/program" # and the program goes on only when the tracer has looked at it

# deleted before it shows anything; replaced by another program
# shellcheck disable=SC2086
names_of n "$launch $TMP/n $TMP/n unlink" | expect $code
# shellcheck disable=SC2086
names_of n "cp $TMP/another $TMP/b; $launch $TMP/n $TMP/n replace $TMP/b" | expect $code

# a program with another at the same address in its place
build "$TMP/first" -no-pie -fno-pie -DSTATIC -static
build "$TMP/second" -no-pie -fno-pie -DSTATIC -static -Dshow=uncover -Dexported=outward
cat >"$TMP/command" <<X
$TMP/first exec $TMP/second
X
"$DTRACE" -q -x switchrate=10s -c "sh $TMP/command" -n 'syscall::getppid:entry
	/progenyof($target) && (execname == "first" || execname == "second")/ { printf("%A\n", usym(arg0)); }' 2>&1 |
	expect 'first`show' 'first`exported' 'first`a_table' 'first`zeroes' 'first`label' \
		'second`uncover' 'second`outward' 'second`a_table' 'second`zeroes' 'second`label'

# in a mount namespace of its own, in a file system that ends with it
unshare -m true 2>/dev/null || exit 0
# shellcheck disable=SC2086
names_of n "unshare -m sh -c 'mount -t tmpfs none /mnt && $launch /mnt/n /mnt/n'" | expect $code
# shellcheck disable=SC2086
names_of n "unshare -m sh -c 'mount -t tmpfs none /mnt && $launch /mnt/n unshare -p -f --mount-proc /mnt/n'" | expect $code
# shellcheck disable=SC2086
names_of n "mkdir $TMP/root && $launch $TMP/root/n chroot $TMP/root /n" | expect $code

# in a file that never had a name
echo "export TRACER=\$PPID; $launch memfd memfd" >"$TMP/command" # what the kernel calls the process depends on its version
"$DTRACE" -q -x switchrate=10s -c "sh $TMP/command" -n 'syscall::getppid:entry
	/execname != "sh" && progenyof($target)/ { printf("%A\n", uaddr(arg0)); }' 2>&1 |
	expect 'memfd:n`show+0x1' 'memfd:n`exported' 'memfd:n`a_table+0x8' 'memfd:n`zeroes+0x10' 'memfd:n`label+0x1'
