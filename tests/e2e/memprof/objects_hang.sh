# @@exclusive: its file that does not answer would be noticed by other tests
# memprof objects: the names of classes are in memory that a file system serves which does not answer. It says so, and goes on without them.
memprof=$BUILD/src/cmd/memprof/memprof
[ -x "$memprof" ] && [ -c /dev/fuse ] || { echo "needs memprof and /dev/fuse"; exit 67; }
fail() { echo "$1"; head -60 "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
cat >silent.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((aligned(4096))) void *rb_cString[512];
__attribute__((aligned(4096))) void *rb_after[512];
void *rb_ec_wb_protected_newobj_of(void *a, void *b) { return b; }
int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDONLY);

	if (fd < 0 || mmap(rb_cString, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) != (void *)rb_cString || !fopen("mapped", "w"))
		return 1;
	return sleep(100);
}
END
cc -rdynamic -o silent silent.c || fail "cc"
head -c 4096 /dev/zero >page
mkdir mnt
mkfifo to from
"$TRIGGER/hangfs" "$TMP/mnt" "$TMP/page" <to >from 2>&1 & fs=$!
exec 8>to 9<from
read -r line <&9
[ "$line" = ready ] || { echo "FUSE cannot be mounted here: $line"; exit 67; }
./silent mnt/page 8>&- & victim=$!
trap 'kill $victim 2>/dev/null; exec 8>&-; wait $fs' EXIT
for i in $(seq 300); do [ -e mapped ] && break; sleep 0.1; done
echo "hang read" >&8
read -r line <&9
[ "$line" = done ] || fail "hangfs: $line"
timeout -s KILL 40 "$memprof" objects -p $victim -d 1 >out 2>err 8>&- || fail "status $?"
grep -q 'no object was created' err || fail "no report"
grep -q 'names of built-in classes could not be read' err || fail "nothing is said"
exit 0
