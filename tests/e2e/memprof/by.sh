# memprof malloc --by: exactly the blocks that are alive by who has called malloc(), kept in the process itself; the same from the kernel; a million
# blocks, threads, a library's allocator; refusals.
memprof=$BUILD/src/cmd/memprof/memprof
[ -x "$memprof" ] && command -v cc >/dev/null || exit 67
fail() { echo "$1"; head -60 "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
cc -O1 -o blocks "$SRC/tests/e2e/memprof/malloc.c" -lpthread || exit 1

# bytes and blocks of each function of the program, from objects of JSON
sums() {
	/usr/bin/python3 - <<'END'
import json, re
sums = {}
for line in open("out"):
    row = json.loads(line)
    place = re.fullmatch(r"(?:blocks|many)`(\w+)(?:\+0x[0-9a-f]+)?", row["stack"][0])
    if place and len(row["stack"]) == 1:
        s = sums.setdefault(place[1], [0, 0])
        s[0] += row["bytes"]
        s[1] += row["count"]
print(*(f"{name} {b} {n}" for name, (b, n) in sorted(sums.items())), sep="\n")
END
}
# memalign() and its like hand out addresses that the process does not see, which is said
cat >wanted <<'END'
fail 300 1
grow 5007 2
leak 50000 500
zero 40000 20
END
for by in caller function; do
	"$memprof" malloc --by $by --json -n 0 -v ./blocks >out 2>err || fail "./blocks"
	sums >got
	diff wanted got || fail "--by $by: other numbers"
	# an emulated machine's time stamp counter is none that a process may read
	grep -q "itself, 0 by uprobes$\|time cannot be read in process" err || fail "--by $by: not all places are in the process"
	grep -q "10.0 kB that memalign() and its like were asked for are not followed" err || fail "--by $by: memalign()"
done
"$memprof" malloc --by caller --json -n 0 ./blocks >out 2>err || fail "./blocks"
[ "$(grep -c '`grow+0x' out)" = 2 ] || fail "two places of one function"
"$memprof" malloc --by function ./blocks >out 2>err || fail "./blocks"
grep -q '^ *50.0 kB *500  blocks`leak$' out || fail "the table"

# a program without symbols: places stay
if command -v strip >/dev/null; then
	strip -o bare blocks || exit 1
	"$memprof" malloc --by function ./bare >out 2>err || fail "./bare"
	grep -q '^ *50.0 kB *500  bare`+0x[0-9a-f]*$' out || fail "the place in a program without symbols"
fi

# Threads take and give back at the same addresses, also by realloc(), with a million blocks among them; the kernel and the process count the same.
cat >many.c <<'END'
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#define N 1000000
static void *kept[N];
static _Atomic(void *) shared[64];
__attribute__((noinline)) void keep(long i) { kept[i] = malloc(16 + i % 3); }
__attribute__((noinline)) void *small(unsigned n) { void *p = malloc(n); __asm__ volatile("" : "+r"(p)); return p; }
__attribute__((noinline)) void *grown(void *p, unsigned n) { p = realloc(p, n); __asm__ volatile("" : "+r"(p)); return p; }
static void *racer(void *arg)
{
	unsigned r = (unsigned)(long)arg;
	for (long i = 0; i < 100000; i++) {
		r = r * 1103515245 + 12345;
		void *p = small(r >> 16 & 255);
		if (r >> 30 & 1)
			p = grown(p, 300 + (r >> 8 & 511));
		free(atomic_exchange(&shared[r >> 24 & 63], p));
	}
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t[3];
	long n = argc > 1 ? atol(argv[1]) : N;
	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, racer, (void *)i);
	for (long i = 0; i < n; i++)
		keep(i);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 64; i++)
		free(atomic_exchange(&shared[i], NULL));
	for (long i = 0; i < n; i += 2)
		free(kept[i]);
	_exit(0);
}
END
cc -O1 -o many many.c -lpthread || exit 1
"$memprof" malloc --by function --json -n 0 ./many >out 2>err || fail "./many"
sums >got
echo "keep 8499999 500000" >wanted
diff wanted got || fail "a million blocks: other numbers"
grep -q "not followed" err && fail "a million blocks: some are not followed"

# where a block costs a way into the kernel, events are counted for maxrate: with inproc=off, and behind an exec, but not in the process
cat >busy.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "exec") == 0) {
		usleep(1500000);
		execl(argv[0], argv[0], NULL);
	}
	for (;;) {
		void *volatile p = malloc(16);
		free(p);
	}
}
END
cc -O1 -o busy busy.c || exit 1
"$memprof" malloc --by function -d 4 -x inproc=off ./busy >out 2>err || [ $? = 1 ] || fail "./busy"
grep -q "events a second are traced" err || fail "inproc=off: no limit by maxrate"
"$memprof" malloc --by function -d 8 ./busy exec >out 2>err || [ $? = 1 ] || fail "./busy exec"
grep -q "events a second are traced" err || fail "exec: no limit by maxrate"
"$memprof" malloc --by function -d 3 -v ./busy >out 2>err || [ $? = 1 ] || fail "./busy"
grep -q "itself, 0 by uprobes$" err && grep -q "events a second" err && fail "a limit by maxrate, though all is in the process"
"$memprof" malloc --by function -d 8 -x inproc=off -x maxrate=100 ./busy >out 2>err && fail "maxrate: not stopped"
grep -q "^memprof: stopped: .* more than maxrate=100" err || fail "maxrate"
# one by one if a rate was asked for, else 64 at once
"$memprof" malloc --by caller --show ./busy >out 2>err && grep -q "@hits = sum(64)" out && ! grep -q "@hits = count" out || fail "how events are counted"
"$memprof" malloc --by caller --show -x maxrate=100 ./busy >out 2>err && grep -q "@hits = sum(1)" out && ! grep -q "@hits = sum(64)" out || fail "how events are counted for maxrate"

# what finds no room is told
"$memprof" malloc --by function -x livesize=1000 ./many 100000 >out 2>err || fail "livesize"
grep -q "objects not followed by live()" err || fail "livesize"

# an allocator of a library whose results only the kernel sees: the same program, and nothing is left out
cat >own.c <<'END'
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
static char *next;
__attribute__((noinline, visibility("hidden"))) void *own_get(size_t align, size_t n)
{
	if (!next)
		next = mmap(0, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t *p = (size_t *)(((size_t)next + 16 + align - 1) & ~(align - 1));
	next = (char *)p + n;
	p[-1] = n;
	return p;
}
void *malloc(size_t n) { return own_get(16, n); }
void *calloc(size_t a, size_t b) { return own_get(16, a * b); }
void *realloc(void *old, size_t n) { if (n > (size_t)1 << 40) return NULL; void *p = own_get(16, n); size_t had = old ? ((size_t *)old)[-1] : 0; if (old) memcpy(p, old, had < n ? had : n); return p; }
void free(void *p) { (void)p; }
END
cc -O2 -fPIC -shared -fno-builtin -o libown.so own.c || exit 1
"$memprof" malloc --by function --json -n 0 -x setenv=LD_PRELOAD=$TMP/libown.so ./blocks >out 2>err || fail "libown.so"
sums >got
grep -q "^leak 50000 500$" got && grep -q "^grow 5007 2$" got || fail "libown.so: other numbers"

# refusals
refuse() { what=$1; shift; timeout 20 "$memprof" "$@" ./blocks >out 2>err; [ $? = 2 ] && grep -q "$what" err && grep -q "^hint: " err || fail "not refused: $*"; }
refuse "expected caller or function, not 'x'" malloc --by x
refuse "an option of 'memprof malloc'" --by caller
refuse "an option of 'memprof malloc'" leaks --by caller
refuse "give one of them" malloc --by caller -r 512k
refuse "no[nt]*e with --by" malloc --by caller --flame x.svg
refuse "none with --by" malloc --by caller -s 3
exit 0
