# memprof malloc --by: objects of C++ have the place that says new, exactly, in the process and by the kernel; also with operators of another library or the program, and where new_handlers leave by a jump.
memprof=$BUILD/src/cmd/memprof/memprof
[ -x "$memprof" ] && command -v c++ >/dev/null || exit 67
fail() { echo "$1"; head -60 "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
cat >head.h <<'END2'
#include <cstdlib>
#include <new>
#include <unistd.h>
#define KEPT extern "C" __attribute__((noinline))
extern "C" { void *volatile kept[10000]; volatile int nkept; }
static void keep(void *p) { kept[nkept] = p; nkept = nkept + 1; }
struct Order { char b[100]; };
END2
cat >objects.cc <<'END2'
#include "head.h"
struct alignas(64) Wide { char b[128]; };
KEPT void one() { keep(new Order); __asm__ volatile(""); }
KEPT void many() { keep(new char[200]); __asm__ volatile(""); }
KEPT void quiet() { keep(new (std::nothrow) Order); __asm__ volatile(""); }
KEPT void quiets() { keep(new (std::nothrow) char[300]); __asm__ volatile(""); }
KEPT void wide() { keep(new Wide); __asm__ volatile(""); }
KEPT void plain() { keep(malloc(50)); __asm__ volatile(""); }
KEPT void grown() { keep(realloc(malloc(5), 70)); __asm__ volatile(""); }
KEPT void garbage() { delete new Order; delete[] new char[77]; __asm__ volatile(""); }
KEPT void fails()
{
	volatile size_t n = (size_t)1 << 60;
	try { delete[] new char[n]; } catch (std::bad_alloc &) { }
	if (new (std::nothrow) char[n]) abort();
}
int main()
{
	for (int i = 0; i < 100; i++) {
		one(); plain(); garbage(); many(); plain(); quiet(); fails(); plain(); quiets(); wide(); grown();
	}
	_exit(0);
}
END2
# An operator that has small objects from a pool: what is asked for behind it is somebody else's.
cat >operators.cc <<'END2'
#include <cstdlib>
#include <new>
static char pool[100000], *next = pool;
void *operator new(size_t n)
{
	if (n < 200)
		return next += n;
	void *p = malloc(n);
	if (!p) throw std::bad_alloc();
	return p;
}
void operator delete(void *p) noexcept { if ((char *)p < pool || (char *)p > pool + sizeof(pool)) free(p); }
void operator delete(void *p, size_t) noexcept { operator delete(p); }
END2
cat >pool.cc <<'END2'
#include "head.h"
KEPT void small() { keep(new Order); __asm__ volatile(""); }
KEPT void large() { keep(new char[400]); __asm__ volatile(""); }
KEPT void plain() { keep(malloc(50)); __asm__ volatile(""); }
int main()
{
	for (int i = 0; i < 100; i++) {
		small(); plain(); large(); plain();
	}
	_exit(0);
}
END2
c++ -std=c++17 -O1 -fno-builtin -o objects objects.cc && c++ -std=c++17 -O1 -fno-builtin -shared -fPIC -o liboperators.so operators.cc &&
	c++ -std=c++17 -O1 -fno-builtin -o pool pool.cc -L. -loperators -Wl,-rpath,"$TMP" || exit 1
# Operators of the program, which are not noted, and are called by those of the C++ library.
cat >own.cc <<'END2'
#include "head.h"
KEPT void small() { keep(new char[100]); __asm__ volatile(""); }
KEPT void plain() { keep(malloc(50)); __asm__ volatile(""); }
int main()
{
	for (int i = 0; i < 100; i++) {
		small(); plain(); plain();
	}
	_exit(0);
}
END2
# A new_handler that leaves operator new; what is asked for next is somebody else's.
cat >jumps.cc <<'END2'
#include "head.h"
#include <csetjmp>
static jmp_buf env;
static void leave() { longjmp(env, 1); }
KEPT void fails(size_t n) { if (!setjmp(env)) keep(::operator new(n)); __asm__ volatile(""); }
KEPT void one() { keep(new Order); __asm__ volatile(""); }
KEPT void plain() { keep(malloc(50)); __asm__ volatile(""); }
int main()
{
	std::set_new_handler(leave);
	for (int i = 0; i < 100; i++) {
		fails((size_t)1 << 60); plain(); one(); fails((size_t)1 << 60); plain();
	}
	_exit(0);
}
END2
c++ -std=c++17 -O1 -fno-builtin -rdynamic -o own own.cc operators.cc && c++ -std=c++17 -O1 -fno-builtin -o jumps jumps.cc || exit 1
sums() {
	/usr/bin/python3 - <<'END2'
import json, re
sums = {}
for line in open("out"):
    row = json.loads(line)
    place = re.fullmatch(r"(?:objects|pool|own|jumps|libstdc\+\+[^`]*)`([\w ]+)(?:\(.*\))?(?:\+0x[0-9a-f]+)?", row["stack"][0])
    if place and len(row["stack"]) == 1 and row["bytes"] != 72704: # which libstdc++ keeps for exceptions
        s = sums.setdefault(place[1], [0, 0])
        s[0] += row["bytes"]
        s[1] += row["count"]
print(*(f"{name} {b} {n}" for name, (b, n) in sorted(sums.items())), sep="\n")
END2
}
cat >objects.wanted <<'END2'
grown 7000 100
many 20000 100
one 10000 100
plain 15000 300
quiet 10000 100
quiets 30000 100
END2
cat >pool.wanted <<'END2'
large 40000 100
plain 10000 200
END2
cat >own.wanted <<'END2'
plain 10000 200
END2
cat >jumps.wanted <<'END2'
one 10000 100
plain 10000 200
END2
for how in auto off; do
	for by in caller function; do
		for program in objects pool own jumps; do
			"$memprof" malloc --by $by --json -n 0 -v -x inproc=$how ./$program >out 2>err || fail "./$program"
			sums >got
			diff $program.wanted got || fail "./$program, --by $by, inproc=$how: other numbers"
			# an emulated machine's time stamp counter is none that a process may read
			[ $how = off ] || grep -q "itself, 0 by uprobes$\|time cannot be read in process" err || fail "./$program: not all places are in the process"
			[ $program != objects ] || grep -q "12.8 kB that memalign() and its like were asked for" err || fail "aligned objects"
		done
	done
done
# with stacks, the place is behind the operator
"$memprof" malloc --json -n 0 ./objects >out 2>err || fail "stacks"
/usr/bin/python3 - <<'END2' || fail "stacks: other numbers"
import json
for name, want in (("one", (10000, 100)), ("quiets", (30000, 100)), ("wide", (12800, 100))):
    rows = [r for r in map(json.loads, open("out")) if any(str(f).split("`")[-1].split("(")[0] == name for f in r["stack"])]
    assert (sum(r["bytes"] for r in rows), sum(r["count"] for r in rows)) == want, (name, rows)
END2
exit 0
