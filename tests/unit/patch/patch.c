/* SPDX-License-Identifier: MIT */
/* Windows in processes: their life, refusals, signals, children, and processes that do harm. */
#include "tap.h"

#ifdef __x86_64__

#include <libgen.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <ucontext.h>

#include "files/gate.h"
#include "keeper/keeper.h"
#include "patch/victim.h"
#include "dtrace.h"

/* of glibc 2.35 and later */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

static struct gate *gate;

static const char *text(struct err *e)
{
	static char buf[512];

	(void)snprintf(buf, sizeof(buf), "%s", e ? err_text(e) : "");
	err_destroy(e);
	return buf;
}

/* Opens and writes all windows, switched on. */
static struct patch *patch_all(pid_t pid, struct keeper *k, enum patch_state states[V_COUNT])
{
	struct patch_opts o = victim_opts(gate, k);
	static struct patch_window w[V_COUNT];
	struct patch *p = NULL;
	struct err *e = patch_open(pid, &o, &p);

	if (!e)
		e = victim_windows(p, w);
	if (!e)
		e = patch_switch(p, true);
	if (!e)
		e = patch_write(p, w, V_COUNT, NULL, states);
	if (e)
		printf("# %s\n", err_text(e));
	err_destroy(e);
	return p;
}

static bool all_are(const enum patch_state *s, enum patch_state want)
{
	for (uint32_t i = 0; i < V_COUNT; i++)
		if (s[i] != want) {
			printf("# window %u: state %d\n", i, (int)s[i]);
			return false;
		}
	return true;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void test_life(void)
{
	pid_t pid = victim_start(victim_run);
	enum patch_state s[V_COUNT];
	struct patch *p;
	uint64_t n;

	(void)await(&shared->is_ready, 1);
	p = patch_all(pid, NULL, s);
	ok(p && all_are(s, PATCH_IN), "all windows are in place");
	is_int(patch_count(p), V_COUNT, "and counted");
	ok(!victim_is_clean(pid), "the code is changed");
	ok(calls_await(2000), "the process runs on");
	ok(counter(p, V_ADD) > 1000 && counter(p, V_SHORT) > 1000 && counter(p, V_LONG) > 1000,
	   "the stubs have counted");
	err_destroy(patch_switch(p, false));
	n = (uint64_t)(calls_await(100) ? counter(p, V_ADD) : 0);
	(void)calls_await(1000);
	is_int(counter(p, V_ADD), n, "nothing is counted while the switch is off");
	for (int i = 0; i < 100; i++) {
		enum patch_state again[V_COUNT];
		static struct patch_window w[V_COUNT];
		struct err *e = patch_take_back_all(p);

		if (!e)
			e = victim_windows(p, w);
		if (!e)
			e = patch_write(p, w, V_COUNT, NULL, again);
		if (e || !all_are(again, PATCH_IN)) {
			ok(false, "cycle %d: %s", i, text(e));
			break;
		}
	}
	ok(calls_await(500), "a hundred cycles of taking back and writing");
	printf("# longest stop %.3f ms\n", (double)patch_stops(p)->longest_ns / 1e6);
	patch_close(p);
	ok(victim_is_clean(pid), "all is as it was");
	ok(calls_await(500), "and the process runs on");
	is_int(victim_end(pid), 0, "no result was wrong");
}

static void calls_on_demand(void)
{
	shared->is_ready = 1;
	for (uint32_t n = 0; !shared->stop; n++) {
		while (shared->go <= n && !shared->stop)
			(void)usleep(200);
		for (uint64_t i = 0; i < 1000 && !shared->stop; i++)
			victim_round(i);
		shared->done = n + 1;
	}
}

static void test_exact(void)
{
	pid_t pid = victim_start(calls_on_demand);
	enum patch_state s[V_COUNT];
	static struct patch_window w[V_COUNT];
	taddr addr = (taddr)victim_add_window;
	struct patch *p;
	int64_t off;

	(void)await(&shared->is_ready, 1);
	p = patch_all(pid, NULL, s);
	shared->go = 1;
	(void)await(&shared->done, 1);
	is_int(counter(p, V_ADD), 1000, "as many hits as calls");
	is_int(counter(p, V_LONG), 1000, "at each window");
	is_int(counter(p, V_SHORT), 1000, "also at a short jump");
	ok(!patch_take_back(p, &addr, 1), "one is taken back");
	shared->go = 2;
	(void)await(&shared->done, 2);
	is_int(counter(p, V_ADD), 1000, "it counts no more");
	is_int(counter(p, V_LONG), 2000, "the others do");
	if (&__rseq_offset && __rseq_size)
		ok(patch_rseq_offset(p, &off) && off == __rseq_offset + 4,
		   "the number of the CPU is where the C library says");
	else
		ok(true, "no rseq # SKIP the C library has none");
	err_destroy(victim_windows(p, w));
	w[V_ADD].old[1] ^= 1;
	ok(!patch_write(p, &w[V_ADD], 1, NULL, s) && s[0] == PATCH_DIFFERS,
	   "a window whose bytes are others is left alone");
	err_destroy(victim_windows(p, w));
	w[V_ADD].stub = 0x1000;
	ok(!patch_write(p, &w[V_ADD], 1, NULL, s) && s[0] == PATCH_BEYOND,
	   "a stub outside of the region is refused");
	err_destroy(victim_windows(p, w));
	w[V_ADD].addr = (taddr)victim_add_window / 4096 * 4096 - 2;
	ok(!patch_write(p, &w[V_ADD], 1, NULL, s) && s[0] == PATCH_BEYOND,
	   "so is a window on two pages");
	patch_close(p);
	is_int(victim_end(pid), 0, "no result was wrong");
}

#define RSEQ_SIZE  32
#define RSEQ_SIGN  0x53053053
#define UNREGISTER 1

/* The thread registers a struct rseq of its own, far from its thread block. */
static void rseq_run(void)
{
	uint8_t *far = mmap((void *)0x200000000000, 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *was = (uint8_t *)__builtin_thread_pointer() + __rseq_offset;

	if (syscall(SYS_rseq, was, RSEQ_SIZE, UNREGISTER, RSEQ_SIGN) != 0 ||
	    syscall(SYS_rseq, far, RSEQ_SIZE, 0, RSEQ_SIGN) != 0)
		_exit(3);
	shared->is_ready = 1;
	(void)victim_thread(NULL);
}

static void test_rseq(void)
{
	struct patch_opts o = victim_opts(gate, NULL);
	struct patch *p = NULL;
	struct err *e;
	int64_t off;
	pid_t pid;

	if (!&__rseq_offset || __rseq_size == 0) {
		ok(true, "no rseq # SKIP the C library has none");
		return;
	}
	pid = victim_start(rseq_run);
	(void)await(&shared->is_ready, 1);
	e = patch_open(pid, &o, &p);
	ok(!e && !patch_rseq_offset(p, &off), "a number that no instruction reaches is not read %s",
	   text(e));
	ok(!e && patch_stops(p)->longest_ns > 0, "that it stood still for the way in is counted");
	patch_close(p);
	is_int(victim_end(pid), 0, "the process runs on");
}

/* ---- more than a batch ----------------------------------------------------------------------- */

#define MANY	  2500
#define MANY_SIZE 32 /* bytes from one to the next; the window is the first seven */

__asm__(".text\n.balign 32\nmany:\n.rept 2500\n"
	"mov %rdi, %rax\nadd $1, %rax\nret\n.balign 32\n.endr\n");
extern uint8_t many[];

static void many_run(void)
{
	shared->is_ready = 1;
	for (uint32_t n = 0; !shared->stop; n++) {
		while (shared->go <= n && !shared->stop)
			(void)usleep(200);
		for (uint64_t i = 0; i < MANY; i++)
			if (((uint64_t(*)(uint64_t))(uintptr_t)(many + i * MANY_SIZE))(i) != i + 1)
				_exit(9);
		shared->done = n + 1;
	}
}

static bool many_counted(const struct patch *p, uint64_t from, uint64_t to, uint64_t want)
{
	for (uint64_t i = from; i < to; i++) {
		uint64_t n = 0;

		if (!patch_data_read(p, i * 8, &n, sizeof(n)) || n != want) {
			printf("# %llu has counted %llu\n", (unsigned long long)i,
			       (unsigned long long)n);
			return false;
		}
	}
	return true;
}

static void test_many(void)
{
	static struct patch_window w[MANY];
	static enum patch_state s[MANY];
	static taddr addrs[MANY / 2];
	pid_t pid = victim_start(many_run);
	struct patch_opts o = {.near_lo = (taddr)many,
			       .near_hi = (taddr)many + MANY * MANY_SIZE,
			       .gate = gate,
			       .code_size = MANY * STUB_SIZE,
			       .data_size = MANY * 8,
			       .windows = MANY};
	uint32_t in = 0;
	struct patch *p = NULL;
	struct err *e;

	(void)await(&shared->is_ready, 1);
	e = patch_open(pid, &o, &p);
	for (uint32_t i = 0; i < MANY && !e; i++) {
		taddr at = patch_code_addr(p) + i * STUB_SIZE;
		uint8_t *window = many + i * MANY_SIZE, code[STUB_SIZE], moved;
		uint32_t n = stub_make(code, at, patch_switch_addr(p), patch_data_addr(p) + i * 8,
				       window, window + 7, &moved);

		w[i] = (struct patch_window){.addr = (taddr)window,
					     .stub = at,
					     .nbounds = 1,
					     .bounds = {{3, at + moved + 3}}};
		memcpy(w[i].old, window, 5);
		if (i % 2)
			addrs[i / 2] = w[i].addr;
		e = patch_code_write(p, i * STUB_SIZE, code, n);
	}
	if (!e)
		e = patch_switch(p, true);
	if (!e)
		e = patch_write(p, w, MANY, NULL, s);
	for (uint32_t i = 0; i < MANY; i++)
		in += s[i] == PATCH_IN;
	if (!ok(!e, "windows for three stops %s", text(e)))
		return;
	is_int(in, MANY, "all are in place");
	shared->go = 1;
	(void)await(&shared->done, 1);
	ok(many_counted(p, 0, MANY, 1), "each has counted");
	ok(!patch_take_back(p, addrs, MANY / 2), "every second one is taken back");
	is_int(patch_count(p), MANY / 2, "the others stay");
	shared->go = 2;
	(void)await(&shared->done, 2);
	in = 0;
	for (uint64_t i = 0; i < MANY; i++)
		in += many_counted(p, i, i + 1, i % 2 ? 1 : 2);
	is_int(in, MANY, "and count");
	in = 0;
	e = patch_write(p, w, MANY, NULL, s);
	for (uint32_t i = 0; i < MANY; i++)
		in += s[i] == PATCH_IN;
	ok(!e && in == MANY && patch_count(p) == MANY,
	   "who writes all again writes those only, and all are in place %s", text(e));
	shared->go = 3;
	(void)await(&shared->done, 3);
	in = 0;
	for (uint64_t i = 0; i < MANY; i++)
		in += many_counted(p, i, i + 1, i % 2 ? 2 : 3);
	is_int(in, MANY, "once");
	w[0].stub += STUB_SIZE;
	ok(!patch_write(p, w, 1, NULL, s) && s[0] != PATCH_IN, "another stub is none of them");
	patch_close(p);
	is_int(victim_end(pid), 0, "no result was wrong");
}

/* ---- signals and calls ----------------------------------------------------------------------- */

static void on_signal(int sig)
{
	(void)sig;
	atomic_fetch_add(&shared->signals, 1);
}

static void signals_run(void)
{
	struct sigaction sa = {.sa_handler = on_signal};

	(void)sigaction(SIGRTMIN, &sa, NULL);
	victim_run();
}

static void test_signals(void)
{
	pid_t pid = victim_start(signals_run);
	uint32_t sent = 0;
	bool good = true;

	(void)await(&shared->is_ready, 1);
	for (int i = 0; i < 50 && good; i++) {
		enum patch_state s[V_COUNT];
		struct patch *p;

		for (int k = 0; k < 20; k++)
			sent += sigqueue(pid, SIGRTMIN, (union sigval){0}) == 0;
		p = patch_all(pid, NULL, s);
		good = p && all_are(s, PATCH_IN);
		patch_close(p);
	}
	ok(good, "windows come and go in fifty regions while signals are pending");
	(void)await(&shared->signals, sent);
	is_int(shared->signals, sent, "each signal arrives once");
	is_int(victim_end(pid), 0, "no result was wrong");
}

static void sleeper_run(void)
{
	struct timespec t = {.tv_nsec = 400000000};
	int pair[2];
	char byte;

	if (pipe(pair))
		_exit(3);
	shared->is_ready = 1;
	if (nanosleep(&t, NULL)) /* a call that the kernel begins anew by another one */
		_exit(4);
	if (poll(&(struct pollfd){.fd = pair[0], .events = POLLIN}, 1, 400) != 0)
		_exit(5);
	shared->is_ready = 2;
	(void)alarm(20);
	shared->go = 1;
	/* and one that it begins anew as it was */
	if (write(pair[1], "x", 1) != 1 || read(pair[0], &byte, 1) != 1)
		_exit(6);
}

static void test_calls(void)
{
	pid_t pid = victim_start(sleeper_run);
	bool good = true;
	int n = 0;

	(void)await(&shared->is_ready, 1);
	for (; shared->is_ready < 2 && good; n++) {
		struct patch_opts o = victim_opts(gate, NULL);
		struct patch *p = NULL;
		struct err *e = patch_open(pid, &o, &p);

		good = !e || shared->is_ready == 2;
		err_destroy(e);
		patch_close(p);
		(void)usleep(5000);
	}
	ok(good && n > 5, "regions are brought into a process that waits in system calls");
	is_int(victim_end(pid), 0, "which none of them has noticed");
}

static void stopped_run(void)
{
	(void)raise(SIGSTOP);
	victim_run();
}

static void test_stopped(void)
{
	pid_t pid = victim_start(stopped_run);
	enum patch_state s[V_COUNT];
	siginfo_t si = {0};
	struct patch *p;

	(void)waitid(P_PID, (id_t)pid, &si, WSTOPPED | WNOWAIT);
	p = patch_all(pid, NULL, s);
	ok(p && all_are(s, PATCH_IN), "a process that is stopped gets windows");
	(void)usleep(20000);
	is_int(shared->calls, 0, "and stays stopped");
	(void)kill(pid, SIGCONT);
	ok(calls_await(500) && counter(p, V_ADD) > 100, "until it is continued");
	patch_close(p);
	is_int(victim_end(pid), 0, "no result was wrong");
}

/* ---- a handler that returns into a window ---------------------------------------------------- */

static const uint32_t loaded = 4711;
static bool is_nested;

/* The load in the middle of the window has faulted. */
static void on_fault(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)si;
	if (is_nested && shared->handling == 0) {
		shared->handling = 1;
		(void)raise(SIGUSR1); /* the handler of which is the one that waits */
	} else {
		shared->handling = 2;
		while (!shared->go)
			(void)usleep(500);
	}
	if (sig == SIGSEGV)
		uc->uc_mcontext.gregs[REG_RDI] = (greg_t)(uintptr_t)&loaded;
}

static void fault_run(void)
{
	static uint8_t stack[65536];
	stack_t alt = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

	(void)sigaltstack(&alt, NULL);
	(void)sigaction(SIGSEGV, &sa, NULL);
	sa.sa_flags |= SA_ONSTACK;
	(void)sigaction(SIGUSR1, &sa, NULL);
	if (!is_nested) /* the only one, on a stack of its own */
		(void)sigaction(SIGSEGV, &sa, NULL);
	if (victim_load((const uint32_t *)(uintptr_t)8) != loaded)
		_exit(9);
	shared->done = 1;
	while (!shared->stop)
		if (victim_load(&loaded) != loaded)
			_exit(9);
		else
			(void)usleep(200);
}

static void *fault_thread(void *arg)
{
	fault_run();
	_exit(0);
	return arg;
}

static void leaderless_run(void)
{
	pthread_t t;

	(void)pthread_create(&t, NULL, fault_thread, NULL);
	while (!shared->signals)
		(void)usleep(500);
	(void)syscall(SYS_exit, 0); /* of this thread alone */
}

static bool is_zombie(pid_t pid)
{
	char line[256] = "", path[64];
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f && !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		(void)fclose(f);
	return strstr(line, ") Z ") != NULL;
}

/*
 * nested: there are two, on two stacks. ends_first: the first thread has ended, by whose id the
 * kernel then knows no memory.
 */
static void test_handler(bool nested, bool ends_first)
{
	struct patch_opts o = victim_opts(gate, NULL);
	static struct patch_window w[V_COUNT];
	enum patch_state s[V_COUNT];
	struct patch *p = NULL;
	struct err *e;
	pid_t pid;

	is_nested = nested;
	pid = victim_start(ends_first ? leaderless_run : fault_run);
	(void)await(&shared->handling, 2);
	e = patch_open(pid, &o, &p);
	if (!e)
		e = victim_windows(p, w);
	shared->signals = 1;
	while (ends_first && !is_zombie(pid))
		(void)usleep(500);
	if (!e)
		e = patch_write(p, w, V_COUNT, NULL, s);
	ok(!e, "a handler has interrupted a window%s %s",
	   nested	? ", and another one the first, on its own stack"
	   : ends_first ? ", and the first thread has ended"
			: "",
	   text(e));
	is_int(s[V_LOAD], PATCH_HELD, "that window is held back");
	is_int(s[V_ADD], PATCH_IN, "others are not");
	shared->go = 1;
	ok(await(&shared->done, 1), "the handler returns into the window");
	ok(!patch_write(p, &w[V_LOAD], 1, NULL, s) && s[0] == PATCH_IN, "then it is written");
	patch_close(p);
	is_int(victim_end(pid), 0, "and the process ends well");
}

/* The same without the check: what it is for. */
static void test_handler_control(void)
{
	uint8_t jump[5] = {0xe9, 0xff, 0xff, 0xff, 0x06};
	char path[64];
	pid_t pid;
	int fd;

	is_nested = false;
	pid = victim_start(fault_run);
	(void)await(&shared->handling, 2);
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	is_int(pwrite(fd, jump, 5, (off_t)(taddr)victim_load_window), 5,
	       "without the check the jump is written");
	(void)close(fd);
	shared->go = 1;
	ok(victim_end(pid) > 1000, "and the process dies when the handler returns");
}

static void long_run(void)
{
	size_t size = 64 << 20;
	const uint8_t *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	shared->is_ready = 1;
	while (!shared->stop) {
		if (victim_long(bytes, size) != 0)
			_exit(9);
		atomic_fetch_add(&shared->calls, 1);
	}
}

static void test_moved(void)
{
	pid_t pid = victim_start(long_run);
	bool good = true;

	(void)await(&shared->is_ready, 1);
	for (int i = 0; i < 20 && good; i++) {
		enum patch_state s[V_COUNT];
		struct patch *p = patch_all(pid, NULL, s);

		good = p && all_are(s, PATCH_IN);
		patch_close(p);
	}
	ok(good, "a thread that is nearly always in the middle of a window is moved");
	ok(calls_await(2), "and comes out of it");
	is_int(victim_end(pid), 0, "with the right results");
}

/* ---- children and ends ----------------------------------------------------------------------- */

static void fork_run(void)
{
	pid_t child;

	shared->is_ready = 1;
	(void)await(&shared->go, 1);
	child = fork();
	if (!child) {
		shared->handling = (unsigned int)getpid();
		for (uint64_t i = 0; !shared->stop; i++)
			victim_round(i);
		_exit(0);
	}
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

static void test_fork(void)
{
	pid_t pid = victim_start(fork_run), child;
	enum patch_state s[V_COUNT];
	struct patch *p;
	uint64_t n;

	(void)await(&shared->is_ready, 1);
	p = patch_all(pid, NULL, s);
	shared->go = 1;
	(void)await(&shared->handling, 1);
	child = (pid_t)shared->handling;
	ok(calls_await(1000) && !victim_is_clean(child), "a child has the windows");
	is_int(counter(p, V_ADD), 0, "and its probes do not fire");
	ok(!patch_child(p, child, true) && calls_await(1000) && counter(p, V_ADD) > 100,
	   "until its switch is set");
	ok(!patch_child(p, child, false) && victim_is_clean(child), "they are taken out of it");
	ok(!victim_is_clean(pid), "and stay in its parent");
	n = calls_await(10) ? counter(p, V_ADD) : 0;
	ok(calls_await(1000) && counter(p, V_ADD) == n, "it runs on without them");
	patch_close(p);
	is_int(victim_end(pid), 0, "no result was wrong");
}

/* A child of vfork() has the memory of its parent, and counts as it. */
static void vfork_run(void)
{
	shared->is_ready = 1;
	(void)await(&shared->go, 1);
	if (!vfork()) {
		for (uint64_t i = 0; i < 1000; i++)
			if (victim_add(i) != i + 1)
				_exit(9);
		_exit(0);
	}
	shared->done = 1;
	(void)await(&shared->stop, 1);
}

static void test_vfork(void)
{
	pid_t pid = victim_start(vfork_run);
	enum patch_state s[V_COUNT];
	struct patch *p;

	(void)await(&shared->is_ready, 1);
	p = patch_all(pid, NULL, s);
	shared->go = 1;
	(void)await(&shared->done, 1);
	is_int(counter(p, V_ADD), 1000, "a child of vfork() counts as its parent");
	patch_close(p);
	is_int(victim_end(pid), 0, "no result was wrong");
}

/* The parent of a child of vfork() cannot be stopped. go: so many ms longer. */
static void stuck_run(void)
{
	if (!vfork()) {
		shared->is_ready = 1;
		while (!shared->go)
			(void)usleep(1000);
		shared->handling = 1;
		(void)usleep(shared->go * 1000);
		_exit(0);
	}
	victim_run();
}

static void test_stuck(void)
{
	pid_t pid = victim_start(stuck_run);
	struct patch_opts o = victim_opts(gate, NULL);
	enum patch_state s[V_COUNT];
	struct patch *p = NULL;
	struct err *e;

	(void)await(&shared->is_ready, 1);
	o.busy_ns = 1;
	e = patch_open(pid, &o, &p);
	ok(e && strstr(err_text(e), "waits in the kernel"), "a thread cannot be stopped");
	err_destroy(e);
	is_int(shared->calls, 0, "it waits all the time");
	shared->go = 700; /* longer than one stop is waited for */
	(void)await(&shared->handling, 1);
	p = patch_all(pid, NULL, s);
	ok(p && all_are(s, PATCH_IN), "it gets windows when it has waited");
	ok(calls_await(500), "and runs on");
	patch_close(p);
	is_int(victim_end(pid), 0, "no result was wrong");
}

static void exec_run(void)
{
	for (uint64_t i = 0; i < 100; i++)
		victim_round(i);
	shared->is_ready = 1;
	(void)await(&shared->go, 1);
	for (uint64_t i = 0; i < 100; i++)
		victim_round(i);
	if (shared->go == 2)
		(void)raise(SIGKILL);
	(void)execl("/bin/sh", "sh", "-c", "exec sleep 1000", (char *)NULL);
	_exit(3);
}

static void test_exec(bool killed)
{
	pid_t pid = victim_start(exec_run);
	enum patch_state s[V_COUNT];
	static struct patch_window w[V_COUNT];
	struct patch *p;
	uint64_t until = now_ns() + 20000000000;

	(void)await(&shared->is_ready, 1);
	p = patch_all(pid, NULL, s);
	err_destroy(victim_windows(p, w));
	shared->go = killed ? 2 : 1;
	while (!patch_is_gone(p) && now_ns() < until)
		(void)usleep(500);
	ok(patch_is_gone(p), "the process has %s", killed ? "been killed" : "executed a program");
	is_int(counter(p, V_ADD), 100, "its data can still be read");
	ok(!patch_write(p, w, V_COUNT, NULL, s) && all_are(s, PATCH_OUT),
	   "nothing is written any more");
	ok(!patch_take_back_all(p) && patch_count(p) == 0, "nothing is to be taken back");
	patch_close(p);
	(void)kill(pid, SIGKILL);
	is_int(victim_end(pid), 1000 + SIGKILL, "nothing else has happened to it");
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void is_refused(pid_t pid, const char *want, const char *name)
{
	struct patch_opts o = victim_opts(gate, NULL);
	struct patch *p = NULL;
	struct err *e = patch_open(pid, &o, &p);

	if (!ok(e && strstr(err_text(e), want), "%s", name))
		printf("# got '%s'\n", e ? err_text(e) : "no error");
	if (e && pid > 0 && !strstr(want, "No such process"))
		ok(err_get_code(e) == EDT_NOTSUP && err_get_hint(e), "... with code and remedy: %s",
		   err_get_hint(e));
	err_destroy(e);
	patch_close(p);
}

static void strict_run(void)
{
	shared->is_ready = 1;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		_exit(3);
	for (shared->is_ready = 2; !shared->stop;)
		;
	(void)syscall(SYS_exit, 0);
}

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

static void dispatch_run(void)
{
	static char selector; /* allows all calls */

	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &selector))
		_exit(3);
	shared->is_ready = 2;
	while (!shared->stop)
		(void)usleep(1000);
}

/* Memory of both, at an address of 32 bits: code, and how often it has run. */
#define NARROW 0x10000000
static uint8_t *narrow;

static void narrow_make(void)
{
	/* 1: incl NARROW + 256; pause; jmp 1b */
	static const uint8_t code[] = {0xff, 0x05, 0, 1, 0, 0x10, 0xf3, 0x90, 0xeb, 0xf6};

	narrow = mmap((void *)NARROW, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (narrow != MAP_FAILED)
		memcpy(narrow, code, sizeof(code));
}

static void narrow_run(void)
{
	shared->is_ready = 2;
	__asm__ volatile("pushq $0x23\npushq %0\nlretq" ::"r"((uint64_t)NARROW));
}

/* False: this kernel lets nobody execute such code. */
static bool narrow_await(pid_t pid)
{
	int status;

	while (!atomic_load((atomic_uint *)(narrow + 256))) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return false;
		(void)usleep(1000);
	}
	return true;
}

/* One of its threads gets a signal if it reads the time stamp counter. */
static void *no_tsc_thread(void *arg)
{
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV))
		_exit(3);
	shared->is_ready = 2;
	while (!shared->stop)
		(void)usleep(1000);
	/* what sanitizers do at its end may ask for the time */
	(void)prctl(PR_SET_TSC, PR_TSC_ENABLE);
	return arg;
}

static void no_tsc_run(void)
{
	pthread_t t;

	(void)pthread_create(&t, NULL, no_tsc_thread, NULL);
	(void)pthread_join(t, NULL);
}

static void traced_run(void)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(3);
	shared->is_ready = 2;
	while (!shared->stop)
		(void)usleep(1000);
}

static void test_refused(void (*run)(void), const char *want, const char *name)
{
	pid_t pid = victim_start(run);
	int end;

	(void)await(&shared->is_ready, 2);
	if (run == narrow_run && !narrow_await(pid)) {
		ok(true, "%s # SKIP the kernel has none", name);
		return;
	}
	is_refused(pid, want, name);
	is_int(kill(pid, 0), 0, "... and nothing has happened to it");
	if (run == narrow_run) /* it hears of nothing */
		(void)kill(pid, SIGKILL);
	end = victim_end(pid);
	ok(end == 0 || (run == narrow_run && end == 1000 + SIGKILL), "... it ends as it would");
}

static void test_refusals(void)
{
	pid_t pid;
	int status;

	is_refused(getpid(), "is this one", "this process");
	pid = fork();
	if (!pid)
		_exit(0);
	(void)waitpid(pid, &status, 0);
	is_refused(pid, "No such process", "a process that has ended");
	test_refused(strict_run, "strict mode", "strict seccomp");
	test_refused(dispatch_run, "handles its system calls itself", "user dispatch");
	test_refused(no_tsc_run, "must not read the time stamp counter", "PR_SET_TSC");
	test_refused(traced_run, "is traced by process", "another tracer");
	narrow_make();
	if (narrow != MAP_FAILED)
		test_refused(narrow_run, "32-bit code", "code of 32 bits");
}

/* ---- seccomp, namespaces --------------------------------------------------------------------- */

static void filter_run(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {ARRAY_LEN(code), code};

	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		_exit(3);
	shared->is_ready = 1;
	(void)victim_thread(NULL);
	(void)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* A filter that comes when windows are in place, and kills at what the tracer lets threads call. */
static void late_filter_run(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {ARRAY_LEN(code), code};

	shared->is_ready = 1;
	(void)await(&shared->go, 1);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		_exit(3);
	shared->done = 1;
	(void)victim_thread(NULL);
}

/* A tracer that has a filter itself cannot suspend those of others: Linux kernel/ptrace.c. */
static int late_filter_trace(pid_t pid)
{
	struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog prog = {ARRAY_LEN(code), code};
	enum patch_state s[V_COUNT];
	struct patch *p;

	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		return 3;
	p = patch_all(pid, NULL, s);
	if (!p || !all_are(s, PATCH_IN))
		return 4;
	shared->go = 1;
	if (!await(&shared->done, 1))
		return 5;
	patch_close(p);
	return 0;
}

static void test_late_filter(void)
{
	pid_t pid = victim_start(late_filter_run), tracer;
	int status = -1;

	(void)await(&shared->is_ready, 1);
	tracer = fork();
	if (!tracer)
		_exit(late_filter_trace(pid));
	(void)waitpid(tracer, &status, 0);
	is_int(status, 0, "a process makes a filter while it has windows");
	ok(victim_is_clean(pid) && calls_await(500),
	   "taking them back makes no call that it kills");
	is_int(victim_end(pid), 0, "the process ends well");
}

static void namespace_run(void)
{
	pid_t child;

	if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS))
		_exit(3);
	child = fork();
	if (!child) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)!chroot("/var/empty");
		victim_run();
		_exit(0);
	}
	shared->handling = (unsigned int)child;
	(void)waitpid(child, NULL, 0);
}

static void test_place(pid_t pid, const char *name)
{
	enum patch_state s[V_COUNT];
	struct patch *p;

	(void)await(&shared->is_ready, 1);
	p = patch_all(pid, NULL, s);
	ok(p && all_are(s, PATCH_IN) && calls_await(500) && counter(p, V_ADD) > 100, "%s", name);
	patch_close(p);
	ok(victim_is_clean(pid), "... and out of it");
	ok(calls_await(500), "which runs on");
}

static void test_places(void)
{
	pid_t pid = victim_start(filter_run);

	test_place(pid, "into a process whose filter kills it at mmap and membarrier");
	is_int(victim_end(pid), 1000 + SIGSYS, "the filter is in force again");
	pid = victim_start(namespace_run);
	if (!await(&shared->handling, 1)) {
		ok(true, "namespaces # SKIP the kernel refuses them");
		(void)kill(pid, SIGKILL);
		(void)victim_end(pid);
		return;
	}
	test_place((pid_t)shared->handling, "into other namespaces");
	is_int(victim_end(pid), 0, "no result was wrong");
}

/* Starts the program of that name beside this one; -1: it was not built. */
static pid_t program_start(const char *name, int *ret_in, int *ret_out)
{
	char path[600], self[512] = "";
	int in[2], out[2];
	pid_t pid;

	(void)!readlink("/proc/self/exe", self, sizeof(self) - 1);
	(void)snprintf(path, sizeof(path), "%s/patch/patch_%s", dirname(self), name);
	if (access(path, X_OK) || pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		(void)dup2(in[0], 0);
		(void)dup2(out[1], 1);
		(void)execl(path, path, (char *)NULL);
		_exit(3);
	}
	(void)close(in[0]);
	(void)close(out[1]);
	*ret_in = in[1];
	*ret_out = out[0];
	return pid;
}

static void test_programs(void)
{
	enum patch_state s[V_COUNT];
	struct patch *p = NULL;
	unsigned long addr = 0;
	int in, out, status = -1;
	pid_t pid = program_start("static", &in, &out);
	FILE *f = pid > 0 ? fdopen(out, "re") : NULL;

	if (!f) {
		ok(true, "a static program # SKIP there is no static C library");
		return;
	}
	(void)!fscanf(f, "%lx", &addr);
	victim_shift = addr - (taddr)victim_add;
	p = patch_all(pid, NULL, s);
	ok(p && all_are(s, PATCH_IN), "into a static program");
	for (int i = 0; i < 20000 && counter(p, V_SHORT) < 1000; i++)
		(void)usleep(1000);
	ok(counter(p, V_SHORT) >= 1000, "whose probes fire");
	patch_close(p);
	ok(victim_is_clean(pid), "... and out of it");
	(void)close(in);
	(void)waitpid(pid, &status, 0);
	is_int(status, 0, "no result was wrong");
	(void)fclose(f);
	pid = program_start("go", &in, &out);
	f = pid > 0 ? fdopen(out, "re") : NULL;
	(void)!fscanf(f, "%lx", &addr);
	victim_shift = addr - (taddr)victim_add;
	is_refused(pid, "a Go program", "a program of Go");
	victim_shift = 0;
	(void)close(in);
	(void)waitpid(pid, &status, 0);
	(void)fclose(f);
}

/* ---- a process that does harm ---------------------------------------------------------------- */

static taddr hostile_region, hostile_size;

/* It cuts off, overwrites and unmaps what it finds. */
static void hostile_run(void)
{
	char path[128], line[512];
	FILE *f;
	unsigned long from, to;

	shared->is_ready = 1;
	(void)await(&shared->go, 1);
	f = fopen("/proc/self/maps", "re");
	while (f && fgets(line, sizeof(line), f)) {
		int fd;

		if (sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		if (!hostile_region && strstr(line, "r--s")) {
			hostile_region = from;
			hostile_size = to - from;
			(void)mprotect((void *)from, to - from, PROT_READ | PROT_WRITE);
			memset((uint8_t *)from + 256, 0xff, 64); /* the table */
			if (shared->go == 1)
				break;
		} else if (!hostile_region || !strstr(line, "rw-s") ||
			   from - hostile_region > 1u << 20) {
			continue; /* neither the head nor the data */
		}
		(void)snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", from, to);
		fd = open(path, O_RDWR | O_CLOEXEC);
		(void)!ftruncate(fd, 0);
		(void)munmap((void *)from, to - from);
	}
	shared->done = 1;
	while (!shared->stop)
		(void)usleep(1000);
}

static void test_hostile(uint32_t how)
{
	pid_t pid = victim_start(hostile_run);
	enum patch_state s[V_COUNT];
	uint8_t data[4096];
	struct patch *p;

	(void)await(&shared->is_ready, 1);
	p = patch_all(pid, NULL, s);
	shared->go = how;
	(void)await(&shared->done, 1);
	if (how == 1)
		ok(patch_data_read(p, 0, data, sizeof(data)), "it has overwritten the table");
	else
		ok(!patch_data_read(p, 0, data, sizeof(data)), "it has cut off the data: said so");
	ok(!patch_take_back_all(p) && victim_is_clean(pid),
	   "its windows are taken back all the same");
	patch_close(p);
	is_int(victim_end(pid), 0, "it harms nobody else");
}

/* ---- how long it stands still ---------------------------------------------------------------- */

static uint32_t nsleepers;

static void *sleeper_thread(void *arg)
{
	while (!shared->stop)
		(void)usleep(100000);
	return arg;
}

static void sleepers_run(void)
{
	pthread_attr_t attr;
	pthread_t t;

	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, 65536);
	for (uint32_t i = 1; i < nsleepers; i++)
		(void)pthread_create(&t, &attr, sleeper_thread, NULL);
	shared->is_ready = 1;
	(void)sleeper_thread(NULL);
	_exit(0);
}

static void test_stops(void)
{
	bool is_all = getenv("PATCH_STOPS");

	for (nsleepers = 1; nsleepers <= (is_all ? 1024 : 64); nsleepers *= is_all ? 2 : 64) {
		pid_t pid = victim_start(sleepers_run);
		static struct patch_window w[V_COUNT];
		enum patch_state s[V_COUNT];
		struct patch *p;
		struct err *e;

		(void)await(&shared->is_ready, 1);
		p = patch_all(pid, NULL, s);
		e = patch_take_back_all(p);
		if (!e)
			e = victim_windows(p, w);
		if (!e)
			e = patch_write(p, w, V_COUNT, NULL, s);
		ok(!e && all_are(s, PATCH_IN), "%u threads are held %s", nsleepers,
		   e ? err_text(e) : "");
		printf("# longest stop with %u threads: %.3f ms\n", nsleepers,
		       (double)patch_stops(p)->longest_ns / 1e6);
		err_destroy(e);
		patch_close(p);
		is_int(victim_end(pid), 0, "and go on");
	}
}

int main(void)
{
	if (geteuid()) {
		printf("1..0 # SKIP needs privilege\n");
		return 0;
	}
	gate = gate_create();
	test_life();
	test_exact();
	test_rseq();
	test_many();
	test_signals();
	test_calls();
	test_stopped();
	test_handler(false, false);
	test_handler(true, false);
	test_handler(false, true);
	test_handler_control();
	test_moved();
	test_fork();
	test_vfork();
	test_stuck();
	test_exec(false);
	test_exec(true);
	test_refusals();
	test_places();
	test_late_filter();
	test_programs();
	test_hostile(1);
	test_hostile(2);
	test_stops();
	gate_destroy(gate);
	return tap_done();
}

#else

int main(void)
{
	printf("1..0 # SKIP windows are made for x86-64 only\n");
	return 0;
}

#endif
