# Processes whose memory has anything in it where helpers look: pointers into nothing, into the kernel, to each other in circles, lengths
# without a bound, texts without an end, while another thread writes over it. All native frames are there, walks end soon, and the tracer
# and its other output are unharmed. A helper that a program carries cannot hold up the machine either.
# @@foreign
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
. "$SRC/tests/e2e/stack/met.inc"
cat >hostile.c <<'X'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "met.h"

#define ARENA 262144
static uint64_t *arena, seed = 88172645463325252ull;
static volatile int is_over;

static uint64_t any(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static uint64_t word(uint64_t *s)
{
	uint64_t r = any(s), base = (uint64_t)arena;

	switch (r % 32) {
	case 0: return 0;
	case 1: return any(s);
	case 2: return 0xffffffff81000000ull + any(s) % 0x1000000; /* the kernel's code */
	case 3: return 0xffff888000000000ull + any(s) % 0x10000000;
	case 4: return base + ARENA - any(s) % 16; /* behind it there is nothing */
	case 5: return ~0ull >> (any(s) % 64);
	case 6: return any(s) % 100;
	case 7: return 0x4141414141414141ull; /* a text that does not end */
	case 8: return 0x8000000000000000ull + any(s);
	default: return base + any(s) % (ARENA / 8) * 8;
	}
}

static void fill(uint64_t *s)
{
	for (int i = 0; i < ARENA / 8; i++)
		((volatile uint64_t *)arena)[i] = word(s);
}

static void *scribble(void *arg)
{
	uint64_t s = 1234567;

	while (!is_over)
		((volatile uint64_t *)arena)[any(&s) % (ARENA / 8)] = word(&s);
	return arg;
}

/* what helper python.d looks for */
const uint32_t Py_Version = 0x030b02f0;
char _PyRuntime[4096];
/* what the helper of the test looks for */
uint64_t current;
static double worst;
static int nslow, patience; /* interrupts count as time of whom they hit: one or two walks may seem slow */

__attribute__((noinline)) void _PyEval_EvalFrameDefault(int depth)
{
	struct timespec from, to;

	if (depth) {
		_PyEval_EvalFrameDefault(depth - 1);
	} else {
		double ms;

		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
		syscall(SYS_getppid);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
		ms = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
		worst = ms > worst ? ms : worst;
		nslow += ms > 10 * patience;
	}
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	const char *times = getenv("PATIENCE");
	pthread_key_t key;
	pthread_t thread;

	patience = times ? atoi(times) : 1;
	arena = mmap(NULL, ARENA + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap((char *)arena + ARENA, 4096);
	fill(&seed);
	pthread_key_create(&key, NULL);
	memcpy(_PyRuntime + 0x254, &key, sizeof(key));
	current = (uint64_t)(arena + 8);
	_PyEval_EvalFrameDefault(3);
	if (argc == 2)
		met_wait();
	worst = nslow = 0;
	pthread_create(&thread, NULL, scribble, NULL);
	for (int i = 0; i < n; i++) {
		fill(&seed);
		pthread_setspecific(key, arena + any(&seed) % (ARENA / 8));
		current = word(&seed);
		_PyEval_EvalFrameDefault(3);
	}
	is_over = 1;
	pthread_join(thread, NULL);
	fprintf(stderr, "worst %.3f slow %d\n", worst, nslow);
	return 0;
}
X
# a circle of frames, texts of any length, tables of any size, loops in loops: what the others' helpers do, without their care
cat >careless.d <<'X'
#pragma D helper exec "python3.11"
uint64_t current, from, to;
inline uint64_t WORD[uint64_t a] = *(uint64_t *)a;
dtrace:helper:attach:
{
	current = symaddr("current");
	from = symaddr("_PyEval_EvalFrameDefault");
	to = from + symsize("_PyEval_EvalFrameDefault");
}
dtrace:helper:uthread:
{
	this->at = WORD[current];
	this->odd = (uint64_t)0;
}
dtrace:helper:ustack:
/arg0 > from && arg0 <= to/
{
	while (this->at; 65536) {
		uframe(copyinstr(WORD[this->at + 8]), ustr(WORD[this->at + 16], WORD[this->at + 24]), utf16(this->at, WORD[this->at + 8]));
		this->odd = ubsearch(this->at, WORD[this->at + 24], 8, 8, arg0) + ucountnl(WORD[this->at + 8], WORD[this->at]) +
		    uvlqpairs(this->at, WORD[this->at + 16], arg0) + upackedlines(this->at, WORD[this->at], arg0, 1) +
		    (int64_t)this->at / (int64_t)WORD[this->at + 32];
		this->at = WORD[this->at];
	}
}
dtrace:helper:ustack:
/arg3 % 3 == 1/
{
	unwind(WORD[this->at], WORD[this->at + 8], WORD[this->at + 16]);
}
dtrace:helper:ustack:
/arg3 % 3 == 2/
{
	copyinstr(WORD[this->at + 8]);
}
X
sed 's/unwind(WORD.*/"x";/' careless.d >follows.d
cc -O1 -fno-optimize-sibling-calls -rdynamic -pthread $met_flags -o python3.11 hostile.c || exit 1
script='syscall::getppid:entry /pid == $target/ { jstack(); n++; } END { printf("%d stacks\n", n); }'
# walk NAME OPTIONS...: every stack has its native frames; $strict: in order, down to the first
walk() {
	name=$1
	shift
	"$DTRACE" -q "$@" -n "$script" -c "./python3.11 60" >out 2>err || { echo "$name: exit status $?"; cat err; }
	grep -qx '61 stacks' out || { echo "$name: stacks"; tail -3 out; }
	[ "$strict" != y ] || [ "$(grep -c '`_PyEval_EvalFrameDefault' out)" = 244 ] && [ "$(grep -c '`getppid\|`syscall+' out)" -ge 61 ] || echo "$name: native frames"
	[ "$strict" != y ] || [ "$(grep -c '`main+' out)" -ge 60 ] || echo "$name: main()"
	awk -v name="$name" -v most="$PATIENCE" '/^worst/ { if ($4 > 2 || $2 > 100 * most) print name ": " $4 " slow walks, one of " $2 " ms"; n++ } END { if (n != 1) print name ": the program has not ended" }' err
	grep -v '^worst\|have no frames of the language\|has no frames of the language\|errors\? in ustack helpers\|string table overflow\|does not answer\|answer too slowly\|^hint\|aggregation drops' err && echo "$name: what it says"
}
{
	strict=y
	walk python
	strict=n
	walk careless -x helper=careless.d
	walk follows -x helper=follows.d -x jstackframes=1000
	# the same memory in the tracer
	./python3.11 4000000 alone 2>/dev/null &
	pid=$!
	for i in 1 2 3; do
		"$DTRACE" -x helper=follows.d --helpertrace=$pid >trace 2>&1
		status=$?
		[ $status = 0 ] || grep -q 'there is no process' trace || { echo "helpertrace: exit status $status"; tail -3 trace; }
	done
	kill $pid
	wait $pid 2>/dev/null
	# a program that carries a helper which only wants to be slow
	cat >slow.d <<'X'
dtrace:helper:ustack:
{
	this->a = copyinstr(arg2);
	while (1; 65536) {
		this->n = strstr("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab") == NULL;
		this->b = json("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]", "[1]");
		this->c = cleanpath("/a/../a/../a/../a/../a/../a/../a/../a/../a/../a/../a/../a/../a/../a/../a/../a/../a/../a/../a/..");
		this->d = tolower(strjoin("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB"));
	}
}
X
	"$DTRACE" -G -s slow.d -o slow.o && cc -O1 -fno-optimize-sibling-calls -rdynamic -pthread $met_flags -o python3.11 hostile.c slow.o || echo '-G'
	strict=y
	walk slow
} >wrong 2>&1
cat wrong
[ ! -s wrong ]
