# The helper of the guide, for a toy interpreter: a program that runs already, begins, forks, executes itself, opens the interpreter as a
# library; two runtimes in one process; loops and tables give the same in the kernel as in the interpreter of DIF; a process whose
# structures lead anywhere ends the frame and not the trace.
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
. "$SRC/tests/e2e/stack/met.inc"
cat >toy.c <<'X'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "met.h"

struct frame {
	struct frame *outer;
	const char *name;
	int line;
};
struct frame *current;
volatile int touched;

__attribute__((noinline)) void run(const char *const *names, int line)
{
	struct frame f = {current, *names, line};

	current = &f;
	touched += names[1] && *names > (const char *)4096 ? **names : 0; /* as an interpreter does */
	if (names[1])
		run(names + 1, line + 10);
	else
		syscall(SYS_getppid);
	current = f.outer;
	__asm__ volatile("");
}

static const char *const names[] = {"main", "work", "leaf", NULL};

void toy_run(void)
{
	run(names, 1);
}

/* the second runtime */
const char *other_name = "of the other";
__attribute__((noinline)) void other(void)
{
	toy_run();
	__asm__ volatile("");
}

#ifndef LIBRARY
static void twice(void (*f)(void))
{
	f();
	met_wait();
	f();
}

/* Gives this process another auxiliary vector; the rest of what the kernel has written down stays (fields of proc_pid_stat(5)). */
static void auxv_set(void *auxv, int n)
{
	unsigned long v[53] = {0};
	char text[1024] = "", *at;
	struct prctl_mm_map m;
	int fd = open("/proc/self/stat", O_RDONLY);

	(void)!read(fd, text, sizeof(text) - 1);
	at = strrchr(text, ')') + 3;
	for (int i = 4; i < 53; i++)
		v[i] = strtoul(at + strcspn(at, " "), &at, 10);
	m = (struct prctl_mm_map){.start_code = v[26], .end_code = v[27], .start_stack = v[28],
				  .start_data = v[45], .end_data = v[46], .start_brk = v[47], .brk = (unsigned long)sbrk(0),
				  .arg_start = v[48], .arg_end = v[49], .env_start = v[50], .env_end = v[51],
				  .auxv = auxv, .auxv_size = n, .exe_fd = -1};
	if (prctl(PR_SET_MM, PR_SET_MM_MAP, &m, sizeof(m), 0))
		perror("the auxiliary vector stays");
}

/* A process without an auxiliary vector, as the kernel leaves it until all is mapped at its execution. */
static void starts(void)
{
	static char none[256], all[512];
	int n = (int)read(open("/proc/self/auxv", O_RDONLY), all, sizeof(all));

	auxv_set(none, sizeof(none));
	toy_run();
	if (fork() == 0) { /* when this one is known, dtrace has looked at the first */
		auxv_set(all, n);
		toy_run();
		met_wait();
		_exit(0);
	}
	wait(NULL);
	auxv_set(all, n);
	twice(toy_run);
}

/* Random tables for the subroutines, at a fixed address. */
static void tables_make(void)
{
	unsigned char *p = mmap((void *)0x20000000, 65536, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	srand(7);
	for (int i = 0; i < 65536; i++)
		p[i] = (unsigned char)(rand() >> 7);
	for (int i = 0; i < 512; i++) /* ascending */
		((unsigned *)(p + 32768))[i] = (unsigned)(i * 37 + rand() % 30);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	tables_make();
	if (strcmp(mode, "fork") == 0) {
		toy_run();
		if (fork() == 0) {
			twice(toy_run);
			_exit(0);
		}
		wait(NULL);
	} else if (strcmp(mode, "exec") == 0) {
		twice(toy_run);
		execl(argv[0], argv[0], "again", NULL);
	} else if (strcmp(mode, "again") == 0) {
		/* what dtrace knows is forgotten when it hears of the execution */
		for (int i = 0; i < 6000 && !met_is_there(); i++) {
			toy_run();
			usleep(20000);
		}
		for (int i = 0; i < 10; i++) {
			toy_run();
			usleep(100000);
		}
	} else if (strcmp(mode, "starts") == 0) {
		starts();
	} else if (strcmp(mode, "other") == 0) {
		twice(other);
	} else if (strcmp(mode, "bad") == 0) {
		static const char *const bad_names[] = {"main", (char *)8, "leaf", NULL};

		twice(toy_run);
		run(bad_names, 1);
	} else {
		for (int i = 0; i < 6000 && strcmp(mode, "runs") == 0 && access("began", F_OK) != 0; i++)
			usleep(20000);
		twice(toy_run);
	}
	return 0;
}
#endif
X
cat >late.c <<'X'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "met.h"

int main(void)
{
	void (*f)(void);
	void *lib;

	syscall(SYS_getppid); /* the process is known before it has the runtime */
	met_wait();
	lib = dlopen("./libtoy.so", RTLD_NOW);
	f = (void (*)(void))dlsym(lib, "toy_run");
	/* the stack is asked about again when dtrace has heard of the library */
	for (int i = 0; i < 6000 && !met_is_there(); i++) {
		f();
		usleep(20000);
	}
	f();
	return 0;
}
X
cc -O1 -fno-optimize-sibling-calls -rdynamic $met_flags -o toy toy.c -ldl && cc -O1 -fno-optimize-sibling-calls -shared -fPIC $met_flags -DLIBRARY -o libtoy.so toy.c &&
	cc -O1 $met_flags -o late late.c -ldl || exit 1
# the helper as the guide shows it
mkdir -p lib/helpers
awk '/^```d helper/ { on = 1; text = ""; next } /^```/ { if (on && text ~ /"toy"/) printf "%s", text; on = 0 } on { text = text $0 "\n" }' \
	"$SRC/doc/guide/ustack-helpers.md" | sed 's/exec "toy"/exec "toy|libtoy*"/' >lib/helpers/toy.d
[ -s lib/helpers/toy.d ] || echo 'no helper in the guide'
cat >lib/helpers/other.d <<'X'
#pragma D helper exec "toy"
uint64_t at, from, to;
string greeting;
dtrace:helper:attach:
{
	greeting = strjoin("@this is ", copyinstr(*(uint64_t *)symaddr("other_name")));
	from = symaddr("other");
	to = from + symsize("other");
}
dtrace:helper:ustack:
/arg0 > from && arg0 <= to/
{
	greeting;
}
X
script='syscall::getppid:entry /pid == $target || ppid == $target/ { jstack(200); }'
# languages COMMAND: for each stack its frames of the language, in one line
languages() {
	# another test may have file systems that do not answer
	"$DTRACE" -q -L lib -n "$script" -c "$1" 2>said | awk '
		function end() { if (seen) print line == "" ? "native" : line; line = ""; seen = 0 }
		/^$/ { end(); next }
		/ line [0-9]+$/ || /\[ .* \]/ { sub(/^ */, ""); line = line (line == "" ? "" : ", ") $0 }
		{ seen = 1 }
		END { end() }'
	grep -v 'does not answer\|answer too slowly\|^hint:' said | sed 's/at [^ ]*\(toy.d:[0-9]*\) in process [0-9]*/at \1 in process N/'
}
{
	for mode in plain fork other starts; do
		echo "$mode:"
		languages "./toy $mode"
	done
	echo 'exec:'
	# dtrace has 100 ms to know the new program before it goes on, which a busy machine may exceed
	languages './toy exec' | grep -vx native | uniq
	echo 'late:'
	languages ./late | uniq
	echo 'a process that runs already:'
	./toy runs &
	pid=$!
	"$DTRACE" -qw -L lib -n 'BEGIN { system("touch began"); }' -n "$script" -p $pid 2>said | grep -c ' line '
	grep -v 'does not answer\|answer too slowly\|^hint:' said
	wait $pid
	echo 'bad structures:'
	languages './toy bad'
	# a helper without an end: all native frames are there, and it is counted
	echo '#pragma D helper exec "toy"
	dtrace:helper:ustack: { while (1; 65536) while (1; 65536) this->i++; }' >endless.d
	"$DTRACE" -q -x helper=endless.d -n 'syscall::getppid:entry /pid == $target/ { jstack(100); }' -c './toy plain' 2>&1 |
		grep -c "\`_start\|^ *\[language frames cut\]$\|^dtrace: 1 user stack has no frames of the language .*; the first at .*endless.d:2 in process [0-9]* 'toy'$"

	# the same subroutines over the same bytes, in the kernel and in the tracer
	cat >same.d <<'X'
#pragma D helper exec "toy"
uint64_t want, nsteps;
inline uint64_t MIX[uint64_t h, uint64_t v] = ((h ^ v) + 77) * 0x9e3779b97f4a7c15;
inline uint64_t AT[uint64_t k] = 0x20000000 + k % 97 * 211;
inline uint64_t LEN[uint64_t k] = k * 7 % 150;
inline uint64_t ALL[uint64_t h, uint64_t k] = MIX[MIX[MIX[MIX[MIX[MIX[MIX[MIX[MIX[h, uvlqpairs(AT[k], LEN[k], k * 13, k % 3)],
    uvlqindex(AT[k], LEN[k], k * 50)], ulocations(AT[k], LEN[k], k)], ulnotab(AT[k], LEN[k], k * 100)],
    ulinetab(AT[k], LEN[k], k * 100)], upackedlines(AT[k], LEN[k], k * 20, k % 2)], ucountnl(k % 5 ? AT[k] : 16, LEN[k])],
    ubsearch(0x20008000, 512, 4, 4, k * 70)] + upopcount(*(uint64_t *)AT[k]), uword(k % 3 ? AT[k] : 16)];
dtrace:helper:attach:
{
	this->k = 0;
	this->h = (uint64_t)1;
	while (this->k < 60; 60) {
		this->h = ALL[this->h, (uint64_t)this->k];
		this->k++;
	}
	want = this->h;
	nsteps = this->k;
}
dtrace:helper:uthread:
{
	this->k = 0;
	this->h = (uint64_t)1;
	while (this->k < nsteps; 60) {
		this->h = ALL[this->h, (uint64_t)this->k];
		this->k++;
	}
	uframe(this->h == want ? "same" : "differs", " after ", this->k);
}
dtrace:helper:ustack:
/arg3 == 1/
{
	this->choice = arg3 > 0 && arg3 < 2 ? nsteps : arg3 > 1 ? want : arg0;
	uframe(this->choice == 60 ? "same choice" : "choice differs");
}
dtrace:helper:ustack: /arg3 == 1/ { uframe(utf16(0x20000000 + 8 * 211, 40) == utf16(0x20000000 + 8 * 211, 40) ? "text" : "no text"); }
X
	echo 'in the kernel and in the interpreter:'
	"$DTRACE" -q -x helper=same.d -n 'syscall::getppid:entry /pid == $target/ { jstack(100); }' -c './toy plain' 2>&1 | sed -n 's/^ *//; /same\|differs\|text\|dtrace/p'

	# what a helper may not do is said with its place
	while IFS='|' read -r text why; do
		echo "$text" >no.d
		"$DTRACE" -q -x helper=no.d -n 'BEGIN { jstack(); exit(0); }' 2>&1 | grep -qF -- "$why" || echo "refusal of '$text': no '$why'"
	done <<'X'
dtrace:helper:ustack: { while (1; 0) { "a"; } }|a constant number of times, from 1 to 65536
dtrace:helper:ustack: { while (1; arg0) { "a"; } }|a constant number of times, from 1 to 65536
dtrace:helper:ustack: { lltostr(symaddr("a")); }|no.d:1: a ustack helper may not use symaddr() outside dtrace:helper:attach:
dtrace:helper:ustack: { uframe(); }|uframe
dtrace:helper:ustack: { unwind(1); }|unwind
string s; dtrace:helper:ustack: { s = "a"; }|may not use global strings, structures and arrays outside dtrace:helper:attach:
#pragma D helper exec toy|malformed #pragma D helper
#pragma D helper symbol run|malformed #pragma D helper
#pragma D helper file "toy"|malformed #pragma D helper
dtrace:helper:nosuch: { "a"; }|a helper has clauses on dtrace:helper:ustack: only
X
	"$DTRACE" -q -n 'BEGIN { while (1; 2) trace(1); }' 2>&1 | grep -q 'D has no loops' || echo 'a loop in a script'
	"$DTRACE" -q -n 'BEGIN { uframe("a"); }' 2>&1 | grep -q 'undefined function name: uframe' || echo 'uframe() in a script'
	echo '#pragma D helper exec "a"' >script.d
	echo 'BEGIN { exit(0); }' >>script.d
	"$DTRACE" -q -s script.d 2>&1 | grep -q 'stands in files of ustack helpers only' || echo 'the pragma in a script'
} 2>&1
