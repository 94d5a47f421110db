# Files and processes that are out of reach when names are printed.
# @@timeout: 120
. "$SRC/tests/e2e/names/lib.inc"
code='n`show+0x1 n`exported n`a_table+0x8 n`zeroes+0x10 n`label+0x1'
build "$TMP/program" -static-pie -DSTATIC
build "$TMP/another" -static-pie -DSTATIC -O0

# deleted before it shows anything; replaced by another program
# shellcheck disable=SC2086
names_of n "cp $TMP/program $TMP/n; $TMP/n unlink" | expect $code
# shellcheck disable=SC2086
names_of n "cp $TMP/program $TMP/n; cp $TMP/another $TMP/b; $TMP/n replace $TMP/b" | expect $code

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
names_of n "unshare -m sh -c 'mount -t tmpfs none /mnt && cp $TMP/program /mnt/n && /mnt/n wait'" | expect $code
# shellcheck disable=SC2086
names_of n "unshare -m -p -f --mount-proc sh -c 'mount -t tmpfs none /mnt && cp $TMP/program /mnt/n && /mnt/n wait'" | expect $code
# shellcheck disable=SC2086
names_of n "mkdir $TMP/root && cp $TMP/program $TMP/root/n && chroot $TMP/root /n" | expect $code

# in a file that never had a name
cat >"$TMP/memfd.c" <<'X'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int in = open(argv[1], O_RDONLY), fd = memfd_create("n", 0);

	while (sendfile(fd, in, NULL, 1 << 20) > 0)
		;
	fexecve(fd, (char *[]){(char *)"n", (char *)"wait", NULL}, (char *[]){NULL});
	return 1;
}
X
cc -o "$TMP/memfd" "$TMP/memfd.c" || exit 1
"$DTRACE" -q -x switchrate=10s -c "$TMP/memfd $TMP/program" -n 'syscall::getppid:entry
	/pid == $target/ { printf("%A\n", uaddr(arg0)); }' 2>&1 |
	expect 'memfd:n`show+0x1' 'memfd:n`exported' 'memfd:n`a_table+0x8' 'memfd:n`zeroes+0x10' 'memfd:n`label+0x1'
