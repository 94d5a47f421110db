# memprof malloc: exactly the blocks that are alive, by place, with glibc's allocator and one that a library brings; limits and refusals.
memprof=$BUILD/src/cmd/memprof/memprof
[ -x "$memprof" ] && command -v cc >/dev/null || exit 67
fail() { echo "$1"; head -60 "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
cc -O1 -o blocks "$SRC/tests/e2e/memprof/malloc.c" -lpthread || exit 1

# bytes and blocks of each function of the program, from objects of JSON
sums() {
	/usr/bin/python3 - "$1" <<'END'
import json, sys
sums = {}
for line in open("out"):
    row = json.loads(line)
    for frame in row["stack"]:
        if isinstance(frame, str) and frame.startswith("blocks`") and frame != "blocks`main" and frame != "blocks`_start":
            s = sums.setdefault(frame[7:], [0, 0])
            s[0] += row["bytes"]
            s[1] += row["count"]
            break
print(*(f"{name} {b} {n}" for name, (b, n) in sorted(sums.items())), sep="\n")
END
}
cat >wanted <<'END'
align 10048 4
fail 300 1
grow 5007 2
leak 50000 500
zero 40000 20
END
for how in auto off; do
	"$memprof" malloc --json -n 0 -x inproc=$how ./blocks >out 2>err || fail "./blocks"
	sums >got
	diff wanted got || fail "inproc=$how: other numbers"
done

# an allocator of a library, whose functions end with jumps into others
cat >own.c <<'END'
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
static char *next, *end;
__attribute__((noinline, visibility("hidden"))) void *own_get(size_t align, size_t n)
{
	if (!next) {
		next = mmap(0, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		end = next + (64 << 20);
	}
	size_t *p = (size_t *)(((size_t)next + 16 + align - 1) & ~(align - 1));
	next = (char *)p + n;
	p[-1] = n;
	return p;
}
void *malloc(size_t n) { return own_get(16, n); }
void *calloc(size_t a, size_t b) { return own_get(16, a * b); }
void *realloc(void *old, size_t n) { if (n > (size_t)1 << 40) return NULL; void *p = own_get(16, n); size_t had = old ? ((size_t *)old)[-1] : 0; if (old) memcpy(p, old, had < n ? had : n); return p; }
void *memalign(size_t a, size_t n) { return own_get(a, n); }
void *aligned_alloc(size_t a, size_t n) { return own_get(a, n); }
void *valloc(size_t n) { return own_get(4096, n); }
int posix_memalign(void **to, size_t a, size_t n) { *to = own_get(a, n); return 0; }
void free(void *p) { (void)p; }
END
cc -O2 -fPIC -shared -fno-builtin -o libown.so own.c || exit 1
"$memprof" malloc --json -n 0 -x setenv=LD_PRELOAD=$TMP/libown.so ./blocks >out 2>err || fail "libown.so"
sums >got
diff wanted got || fail "libown.so: other numbers"

# only what is older; it ends by itself where there is too much
cat >old.c <<'END'
#include <stdlib.h>
#include <unistd.h>
void *volatile p;
__attribute__((noinline)) void early(void) { p = malloc(1111); __asm__ volatile(""); }
__attribute__((noinline)) void late(void) { p = malloc(2222); __asm__ volatile(""); }
int main(void) { early(); sleep(3); late(); sleep(30); return 0; }
END
cc -O1 -o old old.c || exit 1
"$memprof" malloc -o 1 -d 3.3 ./old >out 2>err || fail "./old"
grep -q '`early' out && ! grep -q '`late' out || fail "-o"
cat >busy.c <<'END'
#include <stdlib.h>
void *volatile p;
int main(void) { for (;;) { p = malloc(16); free(p); } }
END
cc -O1 -o busy busy.c || exit 1
timeout 60 "$memprof" malloc -x maxrate=10 ./busy >out 2>err; [ $? = 1 ] && grep -q "more than maxrate=10" err || fail "maxrate"

# no malloc that has a name
cc -static -nostdlib -o none -x c - <<'END' || exit 1
void _start(void) { for (;;) __builtin_ia32_pause(); }
END
timeout 20 "$memprof" malloc -x evaltime=exec ./none >out 2>err; [ $? = 1 ] && grep -q "no file with the functions malloc" err && grep -q "^hint: " err || fail "no malloc"
"$memprof" -o 1 ./old >out 2>err; [ $? = 2 ] || fail "-o without malloc"
# with -i, a place whose blocks were all given back has grown by a negative number, once
cat >swap.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static void *kept[100];
__attribute__((noinline)) void one(void)
{
	for (int i = 0; i < 100; i++)
		kept[i] = malloc(1000);
}
int main(void)
{
	one();
	sleep(2);
	for (int i = 0; i < 100; i++)
		free(kept[i]);
	sleep(3);
	return 0;
}
END
cc -O1 -o swap swap.c || fail "cc"
"$memprof" malloc --json -n 0 -i 1 ./swap >out 2>err || fail "-i"
/usr/bin/python3 - <<'END' || fail "-i: other numbers"
import json
grown = {}
for r in map(json.loads, open("out")):
    if any(isinstance(f, str) and f.startswith("swap`one") for f in r["stack"]):
        grown.setdefault("one", []).append((r["grown"], r["grown_count"]))
assert sorted(grown["one"]) == [(-100000, -100), (100000, 100)], grown
END
exit 0
