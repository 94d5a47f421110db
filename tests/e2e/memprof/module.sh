# memprof malloc --module: exactly the blocks that calls in one file ask for, in the process and by the kernel, by caller and with stacks; operators new of the program; refusals.
memprof=$BUILD/src/cmd/memprof/memprof
[ -x "$memprof" ] && command -v c++ >/dev/null || exit 67
fail() { echo "$1"; head -60 "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
cat >part.cc <<'END2'
#include <cstdlib>
#include <malloc.h>
#define KEPT __attribute__((noinline))
struct Part { char b[60]; };
extern "C" {
void *volatile kept[10000];
volatile int nkept;
KEPT void keep(void *p) { kept[nkept] = p; nkept = nkept + 1; }
KEPT void part_plain() { keep(malloc(10)); __asm__ volatile(""); }
KEPT void *part_tail() { return malloc(20); }
KEPT void part_object() { keep(new char[100]); __asm__ volatile(""); }
KEPT void part_single() { keep(new Part); __asm__ volatile(""); }
KEPT void part_grow() { void *p = realloc(NULL, 5); for (int i = 10; i <= 3000; i += 10) p = realloc(p, i); keep(p); __asm__ volatile(""); }
KEPT void part_zero() { keep(calloc(10, 200)); __asm__ volatile(""); }
KEPT void part_garbage() { free(malloc(33)); delete[] new char[44]; __asm__ volatile(""); }
KEPT void part_align() { keep(memalign(64, 1000)); __asm__ volatile(""); }
KEPT void part_small(void **p) { if (posix_memalign(p, 8, 30)) abort(); __asm__ volatile(""); }
/* These get no block. The stack is as deep as in a function of the program that does. */
KEPT void part_bad(void **p) { if (!posix_memalign(p, 4, 100)) abort(); __asm__ volatile(""); }
KEPT void part_odd(void **p) { if (!posix_memalign(p, 24, 1 << 20)) abort(); __asm__ volatile(""); }
KEPT void part_huge(void **p) { if (!posix_memalign(p, 64, (size_t)1 << 62)) abort(); __asm__ volatile(""); }
KEPT void part_nothing(void **p) { *p = malloc(0); __asm__ volatile(""); }
KEPT void part_fail() { keep(malloc((size_t)1 << 62)); if (realloc(kept[0], (size_t)1 << 62) || calloc((size_t)1 << 40, (size_t)1 << 40)) abort(); }
KEPT void part_call(void (*f)()) { f(); __asm__ volatile(""); }
}
END2
cat >prog.cc <<'END2'
#include <cstdlib>
#include <unistd.h>
extern "C" { void part_plain(), part_object(), part_single(), part_grow(), part_zero(), part_garbage(), part_align(), part_fail(), part_call(void (*)()), keep(void *), part_small(void **), part_bad(void **), part_odd(void **), part_huge(void **), part_nothing(void **); void *part_tail(); }
#define KEPT extern "C" __attribute__((noinline))
KEPT void own() { keep(malloc(1000)); __asm__ volatile(""); }
KEPT void own_object() { keep(new char[2000]); __asm__ volatile(""); }
KEPT void own_grow() { keep(realloc(malloc(3), 70)); __asm__ volatile(""); }
int main()
{
	for (int i = 0; i < 100; i++) {
		void *p;
		part_small(&p); part_bad(&p); own(); part_odd(&p); own(); part_huge(&p); own(); part_nothing(&p); own();
		part_plain(); own(); keep(part_tail()); part_object(); part_single(); own_object(); part_grow(); part_zero();
		part_garbage(); part_align(); part_fail(); own(); part_call(own); own_grow();
	}
	_exit(0);
}
END2
cat >pool.cc <<'END2'
#include <cstdlib>
static char pool[100000], *next = pool;
void *operator new[](size_t n) { return n < 200 ? next += n : malloc(n); }
void *operator new(size_t n) { return operator new[](n); }
void operator delete[](void *) noexcept { }
END2
c++ -O2 -fno-builtin -shared -fPIC -Wl,-soname,libpart.so.1 -o libpart.so.1 part.cc && c++ -O2 -fno-builtin -fno-optimize-sibling-calls -o prog prog.cc -L. -l:libpart.so.1 -Wl,-rpath,"$TMP" || exit 1
# one operator of the program: of arrays, or one that nobody calls
cat >array.cc <<'END2'
#include <cstdlib>
void *operator new[](size_t n) { return malloc(n); }
void operator delete[](void *p) noexcept { free(p); }
END2
cat >nothrow.cc <<'END2'
#include <cstdlib>
#include <new>
void *operator new(size_t n, const std::nothrow_t &) noexcept { return malloc(n); }
END2
for program in pool array nothrow; do
	c++ -O2 -fno-builtin -fno-optimize-sibling-calls -rdynamic -o $program prog.cc $program.cc -L. -l:libpart.so.1 -Wl,-rpath,"$TMP" || exit 1
done
sums() {
	/usr/bin/python3 - <<'END2'
import json, re
sums = {}
for line in open("out"):
    row = json.loads(line)
    for frame in row["stack"]:
        place = re.fullmatch(r"(?:prog|pool|array|nothrow|whole|static|libpart.so.1)`(\w+)(?:\+0x[0-9a-f]+)?", str(frame))
        if place:
            break
    s = sums.setdefault(place[1] if place else str(row["stack"]), [0, 0])
    s[0] += row["bytes"]
    s[1] += row["count"]
print(*(f"{name} {b} {n}" for name, (b, n) in sorted(sums.items())), sep="\n")
END2
}
cat >part.wanted <<'END2'
part_grow 300000 100
part_object 10000 100
part_plain 1000 100
part_single 6000 100
part_small 3000 100
part_tail 2000 100
part_zero 200000 100
END2
cat >own.wanted <<'END2'
own 700000 700
own_grow 7000 100
own_object 200000 100
END2
for how in auto off; do
	"$memprof" malloc --by caller --module libpart --json -n 0 -v -x inproc=$how ./prog >out 2>err || fail "libpart, inproc=$how"
	sums >got
	diff part.wanted got || fail "libpart, inproc=$how: other numbers"
	# an emulated machine's time stamp counter is none that a process may read
	[ $how = off ] || grep -q "itself, 0 by uprobes$\|time cannot be read in process" err || fail "not all places are in the process"
	grep -q "100.0 kB that memalign() and its like were asked for are not followed" err || fail "inproc=$how: memalign()"
done
"$memprof" malloc --by function --module a.out --json -n 0 -v ./prog >out 2>err || fail "a.out"
sums >got
[ "$(uname -m)" != x86_64 ] || grep -q "itself, 0 by uprobes$\|time cannot be read in process" err || fail "a.out: not all places are in the process"
diff own.wanted got || fail "a.out: other numbers"
# with stacks, also what is aligned; the caller of a last call is the frame above
"$memprof" malloc --module libpart.so.1 --json -n 0 ./prog >out 2>err || fail "stacks"
sums >got
sed 's/^part_tail/main/; 1i part_align 100000 100' part.wanted | LC_ALL=C sort >wanted
LC_ALL=C sort got | diff wanted - || fail "stacks: other numbers"
# operators that have their memory elsewhere leave nothing behind, and are told
"$memprof" malloc --by function --module libpart.so.1 --json -n 0 ./pool >out 2>err || fail "pool"
sums >got
grep -v 'part_object\|part_single' part.wanted | diff - got || fail "pool: other numbers"
grep -q "what 'libpart.so.1' asks operators new of 'pool' for is not followed" err || fail "pool: not told"
"$memprof" malloc --by function --module libpart.so.1 --json -n 0 ./array >out 2>err || fail "array"
sums >got
grep -v part_object part.wanted | diff - got || fail "array: other numbers"
grep -q "what 'libpart.so.1' asks operators new of 'array' for is not followed" err || fail "array: not told"
"$memprof" malloc --by function --module libpart.so.1 --json -n 0 ./nothrow >out 2>err || fail "nothrow"
sums >got
diff part.wanted got || fail "nothrow: other numbers"
! grep "operators new" err || fail "nothrow: told"
# a file with the operators in it: who says new; the program's own pool of operators leaves nothing behind
cat >whole.cc <<'END2'
#include <cstdlib>
#include <new>
#include <unistd.h>
#define KEPT extern "C" __attribute__((noinline))
extern "C" { void *volatile kept[10000]; volatile int nkept; }
static void keep(void *p) { kept[nkept] = p; nkept = nkept + 1; }
struct Order { char b[100]; };
KEPT void one() { keep(new Order); __asm__ volatile(""); }
KEPT void many() { keep(new char[200]); __asm__ volatile(""); }
KEPT void quiet() { keep(new (std::nothrow) Order); __asm__ volatile(""); }
KEPT void quiets() { keep(new (std::nothrow) char[300]); __asm__ volatile(""); }
KEPT void plain() { keep(malloc(50)); __asm__ volatile(""); }
KEPT void garbage() { delete new Order; delete[] new char[77]; free(malloc(5)); __asm__ volatile(""); }
int main()
{
	for (int i = 0; i < 100; i++) {
		one(); plain(); many(); garbage(); quiet(); quiets(); plain();
	}
	_exit(0);
}
END2
cat >wanted <<'END2'
many 20000 100
one 10000 100
plain 10000 200
quiet 10000 100
quiets 30000 100
END2
c++ -O1 -fno-builtin -static-libstdc++ -static-libgcc -o whole whole.cc || exit 1
c++ -O1 -fno-builtin -static -o static whole.cc 2>/dev/null || rm -f static # where there are static libraries
for program in whole static; do
	[ -x $program ] || continue
	"$memprof" malloc --by function --module a.out --json -n 0 ./$program >out 2>err || fail "$program"
	sums >got
	grep "^many \|^one \|^plain \|^qui\|operator" got | diff wanted - || fail "$program: other numbers"
done
"$memprof" malloc --by function --module a.out --json -n 0 ./pool >out 2>err || fail "pool, a.out"
sums >got
diff own.wanted got || fail "pool, a.out: other numbers"
# refusals
"$memprof" malloc --module libnothing ./prog >out 2>err; [ $? = 1 ] && grep -q "no call of malloc(), of its like, or of operator new is seen in a file 'libnothing'" err && grep -q "^hint: " err || fail "libnothing"
refuse() { what=$1; shift; timeout 20 "$memprof" "$@" ./prog >out 2>err; [ $? = 2 ] && grep -q "$what" err && grep -q "^hint: " err || fail "not refused: $*"; }
refuse "expected the name of a file" malloc --module 'a b'
refuse "expected the name of a file" malloc --module ''
refuse "an option of 'memprof malloc'" --module libpart
refuse "an option of 'memprof malloc'" leaks --module libpart
refuse "give one of them" malloc --module libpart -r 512k
exit 0
