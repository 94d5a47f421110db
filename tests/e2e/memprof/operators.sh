# memprof malloc: operators new and delete of allocators, which do not call its malloc(), with jemalloc, tcmalloc and mimalloc as with glibc's, also sampled, and of a library whose operators end with jumps.
# @@timeout: 300
memprof=$BUILD/src/cmd/memprof/memprof
[ -x "$memprof" ] && command -v c++ >/dev/null || exit 67
fail() { echo "$1"; head -60 "$TMP/out" "$TMP/err" "$TMP/got" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
cat >toy.cc <<'END2'
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <unistd.h>
#define KEPT extern "C" __attribute__((noinline))
struct Order { char b[100]; };
struct alignas(64) Wide { char b[128]; };
static void *volatile kept[100000];
static int nkept;
static bool may_fail;
static void keep(void *p) { kept[nkept++] = p; }
KEPT void one() { keep(new Order); __asm__ volatile(""); }
KEPT void many() { keep(new char[200]); __asm__ volatile(""); }
KEPT void quiet() { keep(new (std::nothrow) Order); __asm__ volatile(""); }
KEPT void quiets() { keep(new (std::nothrow) char[300]); __asm__ volatile(""); }
KEPT void wide() { keep(new Wide); __asm__ volatile(""); }
KEPT void wides() { keep(new Wide[3]); __asm__ volatile(""); }
KEPT void widequiet() { keep(new (std::nothrow) Wide); __asm__ volatile(""); }
KEPT void large() { keep(new char[500000]); __asm__ volatile(""); }
KEPT void plain() { keep(malloc(50)); __asm__ volatile(""); }
KEPT void garbage()
{
	delete new Order;
	delete[] new char[77];
	delete new Wide;
	delete[] new Wide[2];
	::operator delete(::operator new(60));
	::operator delete(::operator new(70), (std::size_t)70);
	delete new (std::nothrow) Order;
	::operator delete(::operator new(80, std::nothrow), std::nothrow);
	::operator delete(::operator new(90, std::align_val_t(32)), (std::size_t)90, std::align_val_t(32));
	__asm__ volatile("");
}
/* mimalloc, which is in C, ends the program instead */
KEPT void fails()
{
	volatile size_t n = (size_t)1 << 60;
	int ncaught = 0;
	try { delete[] new char[n]; } catch (std::bad_alloc &) { ncaught++; }
	try { keep(new Wide[n / 128]); } catch (std::bad_alloc &) { ncaught++; }
	if (new (std::nothrow) char[n] || ncaught != 2) abort();
}
int main(int argc, char **argv)
{
	may_fail = argc < 2 || strcmp(argv[1], "careful");
	std::thread([] { garbage(); }).join();
	for (int i = 0; i < 100; i++) {
		one(); many(); quiet(); quiets(); wide(); wides(); widequiet(); plain(); garbage();
		if (i < 20) large();
		if (may_fail) fails();
	}
	for (int i = 0; i < 8000 && argc > 2; i++) { one(); garbage(); }
	_exit(0);
}
END2
c++ -std=c++17 -O1 -fno-builtin -o toy toy.cc -lpthread || exit 1
sums() {
	/usr/bin/python3 - <<'END2'
import json
sums = {}
for row in map(json.loads, open("out")):
    name = next((f[4:] for f in row["stack"] if isinstance(f, str) and f.startswith("toy`") and f.split("(")[0] not in ("toy`main", "toy`_start")), None)
    if name:
        s = sums.setdefault(name, [0, 0])
        s[0] += row["bytes"]
        s[1] += row["count"]
print(*(f"{name} {b} {n}" for name, (b, n) in sorted(sums.items())), sep="\n")
END2
}
cat >wanted <<'END2'
large 10000000 20
many 20000 100
one 10000 100
plain 5000 100
quiet 10000 100
quiets 30000 100
wide 12800 100
wides 38400 100
widequiet 12800 100
END2
sort -o wanted wanted
run() { "$memprof" malloc --json -n 0 -x maxrate=1000000000 "$@" >out 2>err; }
check() {
	name=$1; shift
	run "$@" || fail "$name"
	sums | sort >got
	diff wanted got || fail "$name: other numbers"
	! grep -q "operators new of\|memprof_tail" err || fail "$name: something is said not to be followed"
}
check "glibc" ./toy
ntried=0
for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
	path=$(ls /usr/lib/*-linux-gnu/$library 2>/dev/null | head -1)
	[ -n "$path" ] || { echo "skip: there is no $library"; continue; }
	ntried=$((ntried + 1))
	how=
	[ $library = libmimalloc.so.2 ] && how=careful
	for inproc in auto off; do
		check "$library, inproc=$inproc" -x inproc=$inproc -x "setenv=LD_PRELOAD=$path" ./toy $how
	done
	check "$library, -r 1" -r 1 -x "setenv=LD_PRELOAD=$path" ./toy $how
	# of 8,100 blocks of 100 bytes one in 41 is in the sample: 195, with a deviation of 14
	run -r 4k -x "setenv=LD_PRELOAD=$path" ./toy ${how:-wild} more || fail "$library, -r 4k"
	sums >got
	awk '$1 == "one" { if ($3 < 120 || $3 > 270 || $2 < 810000 * .62 || $2 > 810000 * 1.38) bad = 1; n++ } $1 == "garbage" { bad = 1 } END { exit bad || n != 1 }' got || fail "$library: another sample"
done

# a library without names of its own functions; an operator that leaves by a pointer is told
cat >own.cc <<'END2'
#include <cstddef>
#include <cstring>
#include <new>
static char room[1 << 26], *next = room;
struct rest { void *(*get)(size_t); };
static __attribute__((noinline)) void *take(size_t n)
{
	if (n > sizeof(room) / 2)
		throw std::bad_alloc();
	size_t *p = (size_t *)__atomic_fetch_add(&next, (n + 31) & ~15ul, __ATOMIC_RELAXED);
	p[0] = n;
	return p + 2;
}
static __attribute__((noinline)) void *take_more(size_t n)
{
	void *p = take(n);
	if (!p) throw std::bad_alloc();
	*(volatile char *)p = 0;
	return p;
}
/* others call it, too, in the midst of a request */
extern "C" void *malloc(size_t n) { char *p = (char *)take_more(n + 16); return p + 16; }
extern "C" void free(void *) { }
#ifdef POINTER
static void *(*volatile get)(size_t) = take_more;
void *operator new(size_t n) { return get(n); }
#else
void *operator new(size_t n) { return n & 8 ? take_more(n) : take(n); }
#endif
void operator delete(void *) noexcept { }
void operator delete(void *, size_t) noexcept { }
END2
cat >user.cc <<'END2'
#include <cstdlib>
#include <new>
#include <unistd.h>
#define KEPT extern "C" __attribute__((noinline))
static void *volatile kept[10000];
static int nkept;
static void keep(void *p) { kept[nkept++] = p; }
KEPT void one() { keep(::operator new(104)); __asm__ volatile(""); }
KEPT void many() { keep(::operator new(208)); __asm__ volatile(""); }
KEPT void plain() { keep(malloc(50)); __asm__ volatile(""); }
KEPT void garbage() { ::operator delete(::operator new(72)); ::operator delete(::operator new(64), (std::size_t)64); __asm__ volatile(""); }
KEPT void fails() { try { keep(::operator new((size_t)1 << 40)); abort(); } catch (std::bad_alloc &) { } }
int main()
{
	for (int i = 0; i < 100; i++) { one(); plain(); many(); fails(); plain(); garbage(); }
	_exit(0);
}
END2
cat >wanted <<'END2'
many 20800 100
one 10400 100
plain 10000 200
END2
c++ -std=c++17 -O1 -fno-builtin -o toy user.cc || exit 1
for strip in "" -s; do
	# the code that throws is behind the return, so that there are bytes by which that is found
	c++ -std=c++17 -O2 -fno-builtin -fno-reorder-blocks-and-partition -fPIC -shared $strip -o libown.so own.cc || exit 1
	check "a library of its own $strip" -x "setenv=LD_PRELOAD=$TMP/libown.so" ./toy
done
c++ -std=c++17 -O2 -fno-builtin -fPIC -shared -DPOINTER -o libown.so own.cc || exit 1
run -x "setenv=LD_PRELOAD=$TMP/libown.so" ./toy || fail "by a pointer"
grep -q "blocks of operators new of 'libown.so' that come from unknown functions are not followed" err || fail "a jump through a pointer is not told"
"$memprof" malloc --by caller --json -n 0 -x "setenv=LD_PRELOAD=$TMP/libown.so" ./toy >out 2>err || fail "--by"
grep -q "operators new of 'libown.so' that do not call its malloc() are not followed" err || fail "--by: it is not said that operators are not followed"
# an operator that has its blocks from malloc(), behind a header, itself or through a function at its
# end; and one that fails, by an exception or with 0, before another function ends as it does
cat >own.cc <<'END2'
#include <cstddef>
#include <new>
static char room[1 << 24], *next = room;
#define OF_ITS_OWN extern "C" __attribute__((noinline))
static char *take(size_t n) { return __atomic_fetch_add(&next, (n + 31) & ~15ul, __ATOMIC_RELAXED); }
OF_ITS_OWN void *malloc(size_t n) { return take(n); }
OF_ITS_OWN void free(void *) { }
OF_ITS_OWN void *take_it(size_t n)
{
	if (n > sizeof(room)) throw std::bad_alloc();
	char *p = HEADER ? (char *)malloc(n + HEADER) + HEADER : take(n);
	*(volatile char *)p = 0;
	return p;
}
#ifdef SELF
void *operator new(size_t n)
{
	if (n > sizeof(room)) throw std::bad_alloc();
	return (char *)malloc(n + HEADER) + HEADER;
}
#else
void *operator new(size_t n) { return take_it(n); }
#endif
void *operator new(size_t n, const std::nothrow_t &) noexcept { return n > sizeof(room) ? nullptr : take_it(n); }
OF_ITS_OWN void *pool_get(size_t n) { return take_it(n); }
END2
cat >user.cc <<'END2'
#include <new>
#include <unistd.h>
#define KEPT extern "C" __attribute__((noinline))
extern "C" void *pool_get(size_t);
static void *volatile kept;
static volatile size_t many = (size_t)1 << 40;
KEPT void one() { kept = ::operator new(1000); __asm__ volatile(""); }
KEPT void fails() { try { kept = ::operator new(many); } catch (std::bad_alloc &) { } kept = pool_get(40); }
KEPT void failsquiet() { kept = ::operator new(many, std::nothrow); kept = pool_get(40); __asm__ volatile(""); }
int main()
{
	for (int i = 0; i < 50; i++) { one(); fails(); failsquiet(); }
	_exit(0);
}
END2
for how in "0" "16" "16 -DSELF"; do
	c++ -std=c++17 -O2 -fno-builtin -fno-reorder-blocks-and-partition -fPIC -shared -DHEADER=$how -o libown.so own.cc || exit 1
	c++ -std=c++17 -O1 -fno-builtin -o toy user.cc ./libown.so || exit 1
	size=${how%% *}
	# what pool_get() has from malloc() is that one's block
	echo "one $((50 * (1000 + size))) 50" >wanted
	[ $size = 0 ] || printf 'fails 2800 50\nfailsquiet 2800 50\n' >>wanted
	sort -o wanted wanted
	for inproc in auto off; do
		check "an operator with a header of $how, inproc=$inproc" -x inproc=$inproc ./toy
	done
done
# a large file of the process, each of whose returns has to be searched for in all of it: no more than
# 512 MB are searched, and the rest is told
if [ "$(uname -m)" = x86_64 ]; then
	cat >many.s <<'END2'
	.globl malloc, free, _Znwm
	.type malloc, @function
	.type free, @function
	.type _Znwm, @function
malloc: ret
	.size malloc, 1
free: ret
	.size free, 1
_Znwm:
	.cfi_startproc
	jmp nameless
	.cfi_endproc
	.size _Znwm, . - _Znwm
	.skip 64
nameless:
	.cfi_startproc
	.set i, 0
	.rept 300
	testl %edi, %edi
	je 1f
	ret
1:	movl $i, %eax
	nop
	.set i, i + 1
	.endr
	ret
	.cfi_endproc
	.fill 67108864, 1, 0x90
END2
	cc -shared -nostdlib -s -o libmany.so many.s || exit 1
	c++ -std=c++17 -O1 -fno-builtin -o toy user.cc ./libown.so || exit 1
	run --show -x "setenv=LD_PRELOAD=$TMP/libmany.so" ./toy
	[ "$(grep -c 'probe o.*memprof_tail' out)" = 8 ] && grep -q "that come from unknown functions are not followed" err || fail "a large file"
	rm libmany.so
fi
exit 0
