# memprof objects: the names of classes are in a file of a file system that only the process has mounted, an overlay, which may lie above one that nobody serves. It is not read, which is said; one that is mounted here is read.
memprof=$BUILD/src/cmd/memprof/memprof
[ -x "$memprof" ] && command -v cc >/dev/null && command -v unshare >/dev/null || { echo "needs memprof, cc and unshare"; exit 67; }
fail() { echo "$1"; head -60 "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
cat >ruby.c <<'END'
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

	if (fd < 0 || mmap(rb_cString, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) != (void *)rb_cString || !fopen(argv[2], "w"))
		return 1;
	return sleep(100);
}
END
cc -rdynamic -o ruby ruby.c || fail "cc"
head -c 4096 /dev/zero >page
mkdir layers
cat >inside.sh <<'END'
mount -t tmpfs t layers && mkdir layers/low layers/up layers/work layers/all && cp page layers/low/page &&
	mount -t overlay o -o lowerdir=layers/low,upperdir=layers/up,workdir=layers/work layers/all || { : >refused; exit 1; }
exec ./ruby layers/all/page inside
END
unshare -m sh inside.sh 2>err & inside=$!
./ruby page here & here=$!
trap 'kill $inside $here 2>/dev/null' EXIT
for i in $(seq 300); do { [ -e inside ] || [ -e refused ]; } && [ -e here ] && break; sleep 0.1; done
[ ! -e refused ] || { echo "no overlay can be mounted here: $(cat err)"; exit 67; }
"$memprof" objects -p $inside -d 0.3 >out 2>err || fail "an overlay: status $?"
grep -q 'names of built-in classes could not be read' err && grep -q 'no object was created' err || fail "an overlay of the process's own is read"
"$memprof" objects -p $here -d 0.3 >out 2>err || fail "a file here: status $?"
! grep -q 'could not be read' err && grep -q 'no object was created' err || fail "a file that is mounted here is not read"
exit 0
