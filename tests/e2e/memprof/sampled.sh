# memprof malloc -r: what a sample stands for, by place, and nothing of what was freed: in the process, by uprobes, and with an allocator of a library.
memprof=$BUILD/src/cmd/memprof/memprof
[ -x "$memprof" ] && command -v cc >/dev/null || exit 67
fail() { echo "$1"; head -60 "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
cc -O1 -o sampled "$SRC/tests/e2e/memprof/sampled.c" -lpthread || exit 1

# Bytes are those that are kept, within five standard deviations of the sample; names: those that have samples.
check() {
	/usr/bin/python3 - "$@" <<'END' || fail "$*"
import json, math, sys
rate = float(sys.argv[1])
kept = {"leak": (20000, 1000), "zero": (20000, 500), "grow": (1000, 5000), "align": (2000, 3000)}
names = sys.argv[2:]
sums = {}
for line in open("out"):
    row = json.loads(line)
    for frame in row["stack"]:
        if isinstance(frame, str) and frame.startswith("sampled`") and frame not in ("sampled`main", "sampled`_start", "sampled`thread_run"):
            s = sums.setdefault(frame[8:], [0, 0])
            s[0] += row["bytes"]
            s[1] += row["count"]
            break
assert sorted(sums) == sorted(names), sums
for name in names:
    n, size = kept[name]
    p = 1 - math.exp(-size / rate)
    share = 5 * math.sqrt((1 - p) / (n * p))
    assert abs(sums[name][0] / (n * size) - 1) < share + 0.01, (name, sums[name], share)
    assert abs(sums[name][1] / (n * p) - 1) < share + 0.01, (name, sums[name], share)
END
}
fast="-x maxrate=1000000000"
"$memprof" malloc --json -n 0 -r 4k $fast ./sampled >out 2>err || fail "-r 4k"
check 4096 leak zero grow
# what is not in the sample is told by the stubs themselves: no function is called (bytes: where CPUs have numbers)
"$memprof" malloc --json -n 0 -r 4k $fast -x debug ./sampled >out 2>err || fail "-x debug"
grep "relays" err >relays
! grep "restartable sequences\|time cannot be read" err && { grep -q "the stubs of \([1-9][0-9]*\) of \1 relays test by themselves" relays || fail "stubs do not test"; }
"$memprof" malloc --json -n 0 -r 4k $fast -x inproc=off ./sampled >out 2>err || fail "inproc=off"
check 4096 leak zero grow

# blocks much larger than the rate are all in the sample: as many as there are
"$memprof" malloc --json -n 0 -r 1 $fast ./sampled >out 2>err || fail "-r 1"
check 1 leak zero grow
/usr/bin/python3 - <<'END' || fail "-r 1: other numbers"
import json
names = ("sampled`leak", "sampled`zero", "sampled`grow")
total = sum(r["bytes"] for r in map(json.loads, open("out")) if any(f in names for f in r["stack"]))
assert total == 20000 * 1000 + 20000 * 500 + 1000 * 5000, total
END

# its results are seen where the kernel replaces the return address
cat >own.c <<'END'
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
static char *next;
__attribute__((constructor)) static void begin(void) { if (!next) next = mmap(0, 1ul << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
__attribute__((noinline, visibility("hidden"))) void *own_get(size_t align, size_t n)
{
	begin();
	size_t *p = (size_t *)(((size_t)__atomic_fetch_add(&next, n + align + 32, __ATOMIC_RELAXED) + 16 + align - 1) & ~(align - 1));
	p[-1] = n;
	return p;
}
void *malloc(size_t n) { return own_get(16, n); }
void *calloc(size_t a, size_t b) { return own_get(16, a * b); }
void *realloc(void *old, size_t n) { void *p = own_get(16, n); size_t had = old ? ((size_t *)old)[-1] : 0; if (old) memcpy(p, old, had < n ? had : n); return p; }
int posix_memalign(void **to, size_t a, size_t n) { *to = own_get(a, n); return 0; }
void free(void *p) { (void)p; }
END
cc -O2 -fPIC -shared -fno-builtin -o libown.so own.c || exit 1
"$memprof" malloc --json -n 0 -r 4k $fast -x setenv=LD_PRELOAD=$TMP/libown.so ./sampled >out 2>err || fail "libown.so"
check 4096 leak zero grow align

# bytes that a sample stands for: what the program computes for sizes up to eight times the rate, beside n / (1 - exp(-n / rate))
weights() {
	"$memprof" malloc --show -r $1 -p $$ >show.d 2>err || fail "--show -r $1"
	/usr/bin/python3 - $1 <<'END' || fail "-r $1: another clause"
import sys
rate = int(sys.argv[1])
clause = open("show.d").read().split("/sample(arg0, %d)/\n{\n" % rate, 1)[1].split("\n}\n", 1)[0]
assert "self->bytes = " in clause and "arg0" in clause, clause
with open("weights.d", "w") as f:
    for n in [1 + rate * k // 50 for k in range(400)] + [rate * k + d for k in (4, 5) for d in (-1, 0, 1)]:
        f.write('BEGIN\n{\n%s\n\tprintf("%d %%d\\n", self->bytes);\n}\n' % (clause.replace("arg0", str(n)), n))
    f.write("BEGIN\n{\n\texit(0);\n}\n")
END
	"$DTRACE" -q -s weights.d >out 2>err || fail "-r $1: weights"
	/usr/bin/python3 - $1 <<'END' || fail "-r $1: inexact"
import math, sys
rate = int(sys.argv[1])
pairs = [tuple(map(int, line.split())) for line in open("out") if line.strip()]
assert len(pairs) == 406, len(pairs)
worst = max((abs(w * (1 - math.exp(-n / rate)) / n - 1), n / rate, w) for n, w in pairs)
assert worst[0] < 0.01, worst
END
}
weights 4096
weights 524288

for bad in 0 -1 5x 2000g 1kk 18446744073709551617; do
	"$memprof" malloc -r "$bad" ./sampled >out 2>err; [ $? = 2 ] && grep -q "expected bytes" err || fail "-r $bad"
done
"$memprof" objects -r 1k ./sampled >out 2>err; [ $? = 2 ] && grep -q "option of 'memprof malloc'" err || fail "-r without malloc"
exit 0
