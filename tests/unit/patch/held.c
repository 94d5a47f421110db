/* SPDX-License-Identifier: MIT */
/*
 * Windows and what a process does meanwhile: nothing is written to it while it runs; it handles its
 * system calls itself; its stacks for signals are small; it is not waited for; nothing stays in it.
 */
#include "tap.h"

#ifdef __x86_64__

#include <stdarg.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>

#include "files/gate.h"
#include "keeper/keeper.h"
#include "patch/victim.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

static struct gate *gate;
static struct patch_window windows[V_COUNT];

static bool all_are(const enum patch_state *s, enum patch_state want)
{
	for (uint32_t i = 0; i < V_COUNT; i++)
		if (s[i] != want) {
			printf("# window %u: state %d\n", i, (int)s[i]);
			return false;
		}
	return true;
}

static bool is_fine(struct err *e)
{
	if (e)
		printf("# %s\n", err_text(e));
	err_destroy(e);
	return !e;
}

/* Whether the process has the memory of a region. */
static bool has_region(pid_t pid)
{
	char path[64], line[512];
	bool is_there = false;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		is_there |= strstr(line, "r--s") && strstr(line, "/dev/zero");
	if (f)
		(void)fclose(f);
	return is_there;
}

/* ---- writes ---------------------------------------------------------------------------------- */

static pid_t watched; /* 0: no writes are watched */
static uint32_t nwrites, nloose;

static bool is_held(pid_t pid)
{
	char line[512] = "", path[64];
	const char *end;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f && !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		(void)fclose(f);
	end = strrchr(line, ')');
	return end && end[1] == ' ' && end[2] == 't';
}

ssize_t pwrite64(int fd, const void *from, size_t size, off_t at);

/* All writes of this program come here. */
ssize_t pwrite64(int fd, const void *from, size_t size, off_t at)
{
	taddr lo = (taddr)victim_add, hi = (taddr)victim_pad + 5;

	if (watched && (taddr)at >= lo && (taddr)at < hi) {
		nwrites++;
		nloose += !is_held(watched);
	}
	return syscall(SYS_pwrite64, fd, from, size, at);
}

/* A breakpoint that comes while the process runs must not meet our writes. */
static void test_writes(void)
{
	pid_t pid = victim_start(victim_run);
	struct patch_opts o = victim_opts(gate, NULL);
	enum patch_state s[V_COUNT];
	struct patch *p = NULL;
	struct err *e;

	(void)await(&shared->is_ready, 1);
	o.write_ns = 1; /* each stop has time for one window */
	e = patch_open(pid, &o, &p);
	if (!e)
		e = victim_windows(p, windows);
	watched = pid;
	if (!e)
		e = patch_write(p, windows, V_COUNT, NULL, s);
	ok(is_fine(e) && all_are(s, PATCH_IN), "windows are written in several stops");
	ok(nwrites > V_COUNT && !nloose, "%u writes, %u of them while the process runs", nwrites,
	   nloose);
	ok(is_fine(patch_take_back_all(p)) && !nloose, "the same for those that are taken back");
	watched = 0;
	patch_close(p);
	ok(victim_is_clean(pid) && calls_await(500), "all is as it was");
	is_int(victim_end(pid), 0, "no result was wrong");
}

/* ---- how many threads stand still ------------------------------------------------------------ */

static atomic_int nheld;	   /* threads that are attached to */
static atomic_uint nalone, ncrowd; /* times that one went on to a call: alone, with others held */

long ptrace(enum __ptrace_request request, ...);

/* All requests of this program come here. */
long ptrace(enum __ptrace_request request, ...)
{
	long result, word = 0;
	void *addr, *data;
	va_list ap;
	pid_t pid;

	va_start(ap, request);
	pid = va_arg(ap, pid_t);
	addr = va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);
	if (request == PTRACE_SYSCALL)
		atomic_fetch_add(nheld > 1 ? &ncrowd : &nalone, 1);
	if (request != PTRACE_PEEKTEXT && request != PTRACE_PEEKDATA &&
	    request != PTRACE_PEEKUSER) {
		result = syscall(SYS_ptrace, request, pid, addr, data);
		if (!result)
			atomic_fetch_add(&nheld, request == PTRACE_SEIZE    ? 1
						 : request == PTRACE_DETACH ? -1
									    : 0);
		return result;
	}
	result = syscall(SYS_ptrace, request, pid, addr, &word);
	if (result < 0)
		return result;
	errno = 0;
	return word;
}

/* A call needs a CPU, for which all would wait that stand still: one is made so, and no other. */
static void test_calls_alone(void)
{
	pid_t pid = victim_start(victim_run);
	struct patch_opts o = victim_opts(gate, NULL);
	enum patch_state s[V_COUNT];
	struct patch *p = NULL;
	struct err *e;

	(void)await(&shared->is_ready, 1);
	o.slots = 16;
	nalone = ncrowd = 0;
	e = patch_open(pid, &o, &p);
	/* each call begins with one stop, and ends with another one */
	is_int(ncrowd, 2, "one call is made while all threads are held, to keep the place");
	ok(is_fine(e) && nalone > 2 * 8, "%u stops are in calls of a thread that is held alone",
	   nalone);
	ncrowd = 0;
	if (!e)
		e = victim_windows(p, windows);
	if (!e)
		e = patch_write(p, windows, V_COUNT, NULL, s);
	ok(is_fine(e) && all_are(s, PATCH_IN) && is_fine(patch_take_back_all(p)),
	   "windows are written and taken back");
	is_int(ncrowd, 0, "no call is made for that");
	patch_close(p);
	is_int(nheld, 0, "all threads were let go");
	is_int(victim_end(pid), 0, "no result was wrong");
}

/* Windows of a group are written all or none; the groups lie among each other. */
static void test_groups(void)
{
	pid_t pid = victim_start(victim_run);
	struct patch_opts o = victim_opts(gate, NULL);
	enum patch_state s[V_COUNT];
	struct patch_window *w = windows;
	struct patch *p = NULL;
	struct err *e;

	(void)await(&shared->is_ready, 1);
	o.write_ns = 1;
	e = patch_open(pid, &o, &p);
	if (!e)
		e = victim_windows(p, w);
	for (uint32_t i = 0; i < V_COUNT; i++)
		w[i].group = i == V_ADD || i == V_LONG ? 1 : 2;
	if (!e)
		e = patch_write(p, w, V_COUNT, NULL, s);
	ok(is_fine(e) && all_are(s, PATCH_IN), "groups are written, however little time there is");
	ok(is_fine(patch_take_back_all(p)) && victim_is_clean(pid), "and taken back");
	w[V_LONG].old[1] ^= 1;
	e = patch_write(p, w, V_COUNT, NULL, s);
	ok(is_fine(e) && s[V_LONG] == PATCH_DIFFERS && s[V_ADD] == PATCH_DIFFERS,
	   "one with other bytes keeps its group out");
	ok(s[V_LOAD] == PATCH_IN && s[V_SHORT] == PATCH_IN, "the other group is in place");
	w[V_LOAD].stub = 0x1000;
	e = patch_write(p, w, V_COUNT, NULL, s);
	ok(is_fine(e) && s[V_LOAD] == PATCH_BEYOND && s[V_SHORT] == PATCH_BEYOND,
	   "one that cannot be written any more takes its group back");
	ok(is_fine(patch_take_back_all(p)) && victim_is_clean(pid), "all is as it was");
	patch_close(p);
	is_int(victim_end(pid), 0, "no result was wrong");
}

/* Code that nobody executes, with a window every eight bytes. */
#define MANY 1100
__asm__(".text\n.balign 64\n.globl many_windows\nmany_windows:\n.rept 1100\nmov $1, %eax\n.balign 8\n.endr\n");
extern const uint8_t many_windows[];

/* A group is whole, however large it is; one that is too large for a stop is not written at all. */
static void test_large_groups(void)
{
	static struct patch_window w[MANY];
	static enum patch_state s[MANY];
	pid_t pid = victim_start(victim_run);
	struct patch_opts o = victim_opts(gate, NULL);
	struct patch *p = NULL;
	struct err *e;

	(void)await(&shared->is_ready, 1);
	o.windows = 2 * MANY;
	e = patch_open(pid, &o, &p);
	for (uint32_t i = 0; i < MANY && !e; i++) {
		w[i] = (struct patch_window){.addr = (taddr)many_windows + 8ull * i,
					     .stub = patch_code_addr(p),
					     .group = 1};
		memcpy(w[i].old, many_windows + 8ull * i, 5);
	}
	if (!e)
		e = patch_write(p, w, 200, NULL, s);
	ok(is_fine(e) && patch_count(p) == 200, "a group of 200 windows is written");
	ok(is_fine(patch_take_back_all(p)) && !patch_count(p), "and taken back");
	w[150].old[1] ^= 1;
	e = patch_write(p, w, 200, NULL, s);
	ok(is_fine(e) && !patch_count(p) && s[0] == PATCH_DIFFERS && s[199] == PATCH_DIFFERS,
	   "one with other bytes keeps all of it out");
	w[150].old[1] ^= 1;
	for (uint32_t i = 1050; i < MANY; i++)
		w[i].group = 0;
	e = patch_write(p, w, MANY, NULL, s);
	ok(is_fine(e) && s[0] == PATCH_BEYOND && s[1049] == PATCH_BEYOND && s[1050] == PATCH_IN &&
		   patch_count(p) == MANY - 1050,
	   "one that is too large is left out, and nothing else with it");
	patch_close(p);
	is_int(victim_end(pid), 0, "no result was wrong");
}

/* ---- windows that come when probes fire ------------------------------------------------------ */

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

/* A window that was held back is written after the switch was turned on. */
static void test_later(void)
{
	pid_t pid = victim_start(calls_on_demand);
	struct patch_opts o = victim_opts(gate, NULL);
	enum patch_state s[V_COUNT];
	struct patch *p = NULL;
	struct err *e;

	(void)await(&shared->is_ready, 1);
	e = patch_open(pid, &o, &p);
	if (!e)
		e = victim_windows(p, windows);
	if (!e)
		e = patch_write(p, windows + 1, V_COUNT - 1, NULL, s);
	if (!e)
		e = patch_switch(p, true);
	shared->go = 1;
	(void)await(&shared->done, 1);
	if (!e)
		e = patch_write(p, windows, 1, NULL, s);
	ok(is_fine(e) && s[0] == PATCH_IN, "a window is written while others fire");
	shared->go = 2;
	(void)await(&shared->done, 2);
	is_int(counter(p, V_ADD), 1000, "it fires from then on, each time");
	is_int(counter(p, V_LONG), 2000, "the others as before");
	patch_close(p);
	is_int(victim_end(pid), 0, "no result was wrong");
}

/* ---- where stacks end ------------------------------------------------------------------------ */

#define PART (128u << 10)

static void *sleeper_run(void *arg)
{
	shared->is_ready = 1;
	while (!shared->stop)
		(void)usleep(1000);
	return arg;
}

/*
 * Behind the stack of a thread is another mapping that can be written to, as if it were a part of
 * it, and then one that cannot. Both have an address inside of a window as their last word.
 */
static void stack_run(void)
{
	uint8_t *at =
		mmap(NULL, 3ul * PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	taddr load = (taddr)victim_load_window + 2, add = (taddr)victim_add_window + 3;
	pthread_attr_t attr;
	pthread_t t;

	if (at == MAP_FAILED || mmap(at + PART, PART, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at + PART)
		_exit(3);
	memcpy(at + 2ul * PART - sizeof(load), &load, sizeof(load));
	memcpy(at + 3ul * PART - sizeof(add), &add, sizeof(add));
	(void)pthread_attr_init(&attr);
	if (mprotect(at + 2ul * PART, PART, PROT_READ) || pthread_attr_setstack(&attr, at, PART) ||
	    pthread_create(&t, &attr, sleeper_run, NULL))
		_exit(4);
	(void)pthread_join(t, NULL);
}

/* Whether the kernel says which mapping has an address: Linux 6.11, PROCMAP_QUERY. */
static bool mappings_can_be_asked(void)
{
	uint64_t query[13] = {sizeof(query), 0, (uint64_t)(uintptr_t)&query};
	CLEANUP(fd) int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	return fd >= 0 && ioctl(fd, _IOWR('f', 17, uint64_t[13]), query) == 0;
}

static void test_stack_ends(void)
{
	pid_t pid = victim_start(stack_run);
	struct patch_opts o = victim_opts(gate, NULL);
	enum patch_state s[V_COUNT];
	struct patch *p = NULL;
	struct err *e;

	(void)await(&shared->is_ready, 1);
	o.write_ns = 1000000000; /* no window is late */
	e = patch_open(pid, &o, &p);
	if (!e)
		e = victim_windows(p, windows);
	if (!e)
		e = patch_write(p, windows, V_COUNT, NULL, s);
	ok(is_fine(e), "a thread has a stack of several mappings");
	is_int(s[V_LOAD], PATCH_HELD, "what its last one says holds a window back");
	is_int(patch_stops(p)->n, 1 + 4, "it was entered, and the window tried four times");
	if (mappings_can_be_asked())
		is_int(s[V_ADD], PATCH_IN, "what is behind the stack does not");
	else
		ok(true, "# SKIP the kernel does not say where the stack ends");
	is_int(s[V_LONG], PATCH_IN, "others are written");
	patch_close(p);
	is_int(victim_end(pid), 0, "the process ends well");
}

/*
 * A thread has its stack right below the region, where the kernel has room for the next mapping,
 * and begins when the windows stand.
 */
static void below_run(void)
{
	unsigned long head = 0, end;
	pthread_attr_t attr;
	char line[512];
	pthread_t t;
	void *at;
	FILE *f;

	(void)await(&shared->go, 1);
	f = fopen("/proc/self/maps", "re");
	while (f && !head && fgets(line, sizeof(line), f))
		if (!strstr(line, "r--s") || !strstr(line, "/dev/zero") ||
		    sscanf(line, "%lx-%lx", &head, &end) != 2)
			head = 0;
	if (!head)
		_exit(3);
	at = mmap((void *)(head - PART), PART, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	(void)pthread_attr_init(&attr);
	if (at == MAP_FAILED || pthread_attr_setstack(&attr, at, PART) ||
	    pthread_create(&t, &attr, sleeper_run, NULL))
		_exit(4);
	(void)pthread_join(t, NULL);
}

/* The table of windows in the region is no part of a stack: it holds back no pad. */
static void test_stack_below(void)
{
	pid_t pid = victim_start(below_run);
	struct patch_opts o = victim_opts(gate, NULL);
	struct patch_left left = {.nwindows = 1};
	enum patch_state s[V_COUNT];
	struct patch *p = NULL;
	struct err *e = patch_open(pid, &o, &p);

	if (!e)
		e = victim_windows(p, windows);
	if (!e)
		e = patch_write(p, windows, V_COUNT, NULL, s);
	ok(is_fine(e) && s[V_SHORT] == PATCH_IN, "a window with a pad stands");
	shared->go = 1;
	ok(await(&shared->is_ready, 1), "a thread has its stack right below the region");
	patch_leave(p, &left);
	err_destroy(left.kept);
	is_int(left.nwindows, 0, "all windows are taken back even so");
	ok(victim_is_clean(pid), "no byte is left");
	is_int(victim_end(pid), 0, "the process ends well");
}

/* Where the process has its data: mapped for itself, and nothing of it can be executed. */
static taddr data_find(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long lo = 0, end;
	char line[512];

	while (f && !lo && fgets(line, sizeof(line), f))
		if (!strstr(line, "rw-s") || !strstr(line, "/dev/zero") ||
		    sscanf(line, "%lx-%lx", &lo, &end) != 2 || end - lo < PATCH_REACH)
			lo = 0;
	if (f)
		(void)fclose(f);
	return lo;
}

/* A thread has its stack right below the data, and begins when these are there. */
static void below_data_run(void)
{
	pthread_attr_t attr;
	pthread_t t;
	taddr data;
	void *at;

	(void)await(&shared->go, 1);
	data = data_find();
	if (!data)
		_exit(3);
	at = mmap((void *)(uintptr_t)(data - PART), PART, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	(void)pthread_attr_init(&attr);
	if (at == MAP_FAILED || pthread_attr_setstack(&attr, at, PART) ||
	    pthread_create(&t, &attr, sleeper_run, NULL))
		_exit(4);
	(void)pthread_join(t, NULL);
}

/* Data that are too large for the room within reach lie elsewhere. They are no part of a stack. */
static void test_stack_below_data(void)
{
	static taddr word; /* not on the stack, of which a child has a copy */
	pid_t pid = victim_start(below_data_run);
	struct patch_opts o = victim_opts(gate, NULL);
	enum patch_state s[V_COUNT];
	struct patch *p = NULL;
	struct err *e;

	o.data_size = PATCH_REACH + 4096ull;
	e = patch_open(pid, &o, &p);
	if (e && strstr(err_text(e), "Cannot allocate memory")) {
		ok(true, "data elsewhere # SKIP there is no memory for them");
		err_destroy(e);
		(void)kill(pid, SIGKILL);
		(void)victim_end(pid);
		return;
	}
	word = (taddr)victim_add_window + 3;
	if (!e)
		e = patch_data_write(p, 4096, &word, sizeof(word));
	ok(is_fine(e), "a process has its data far from its code");
	for (uint32_t i = 0; i < V_COUNT; i++)
		windows[i].stub = patch_code_addr(p);
	shared->go = 1;
	ok(await(&shared->is_ready, 1), "a thread has its stack right below them");
	e = patch_write(p, windows, 1, NULL, s);
	ok(is_fine(e) && s[V_ADD] == PATCH_IN, "what they say holds no window back");
	patch_close(p);
	is_int(victim_end(pid), 0, "the process ends well");
}

/* ---- user dispatch --------------------------------------------------------------------------- */

static void on_sigsys(int sig)
{
	(void)sig;
	shared->signals++;
}

static bool libc_find(unsigned long *lo, unsigned long *hi)
{
	char line[512];
	FILE *f = fopen("/proc/self/maps", "re");

	*lo = 0;
	while (f && !*lo && fgets(line, sizeof(line), f))
		if (strstr(line, "r-xp") && strstr(line, "libc.so") &&
		    sscanf(line, "%lx-%lx", lo, hi) != 2)
			*lo = 0;
	if (f)
		(void)fclose(f);
	return *lo;
}

/* System calls of all code but the C library become signals, as of now. */
static void dispatch_run(void)
{
	static char selector = 1; /* SYSCALL_DISPATCH_FILTER_BLOCK */
	unsigned long lo, hi;

	(void)signal(SIGSYS, on_sigsys);
	shared->is_ready = 1;
	(void)await(&shared->go, 1);
	if (!libc_find(&lo, &hi) || prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, lo, hi - lo, &selector))
		_exit(3);
	shared->done = 1;
	(void)victim_thread(NULL);
}

static void test_dispatch(void)
{
	pid_t pid = victim_start(dispatch_run);
	struct patch_opts o = victim_opts(gate, NULL);
	enum patch_state s[V_COUNT];
	struct patch *p = NULL;
	struct err *e;

	(void)await(&shared->is_ready, 1);
	e = patch_open(pid, &o, &p);
	if (!e)
		e = victim_windows(p, windows);
	if (!e)
		e = patch_write(p, windows, V_COUNT, NULL, s);
	shared->go = 1;
	if (!await(&shared->done, 1)) {
		ok(true, "user dispatch # SKIP the kernel, or a static C library, has none");
		patch_close(p);
		(void)victim_end(pid);
		return;
	}
	ok(is_fine(e) && all_are(s, PATCH_IN),
	   "a process dispatches its calls while it has windows");
	e = patch_take_back_all(p);
	ok(is_fine(e) && victim_is_clean(pid), "they are taken back");
	ok(is_fine(patch_write(p, windows, V_COUNT, NULL, s)) && all_are(s, PATCH_IN),
	   "and written again");
	ok(calls_await(500), "the process runs on");
	patch_close(p);
	ok(victim_is_clean(pid) && calls_await(500), "all is as it was");
	is_int(shared->signals, 0, "it had no signal");
	is_int(victim_end(pid), 0, "no result was wrong");
}

/* ---- small stacks for signals ---------------------------------------------------------------- */

#define BODY 1328u /* what a body may need in this test */
static size_t alternate_size;

static void alternate_run(void)
{
	static uint8_t bytes[65536];
	stack_t stack = {.ss_sp = bytes, .ss_size = alternate_size};

	if (sigaltstack(&stack, NULL))
		_exit(3);
	shared->is_ready = 1;
	(void)victim_thread(NULL);
}

static void test_alternate(void)
{
	size_t least = getauxval(AT_MINSIGSTKSZ);

	for (int i = 0; i < 2; i++) {
		struct patch_opts o = victim_opts(gate, NULL);
		struct patch *p = NULL;
		struct err *e;
		pid_t pid;

		alternate_size = MAX(least, (size_t)2048) + (i ? BODY : 0);
		pid = victim_start(alternate_run);
		(void)await(&shared->is_ready, 1);
		o.stack_size = BODY;
		e = patch_open(pid, &o, &p);
		if (i)
			ok(!e, "a stack for signals that a body fits into");
		else
			ok(e && strstr(err_text(e), "has a stack for signals of"),
			   "one that is as large as the frame of a signal: %s",
			   e ? err_text(e) : "no error");
		err_destroy(e);
		ok(has_region(pid) == i, "the region is %s", i ? "there" : "not there any more");
		patch_close(p);
		ok(calls_await(200) && victim_is_clean(pid), "the process runs on");
		is_int(victim_end(pid), 0, "no result was wrong");
	}
}

/* ---- a keeper that does not answer ----------------------------------------------------------- */

static void test_keeper(void)
{
	pid_t pid = victim_start(victim_run), keeper = 0;
	struct keeper *k = NULL;
	struct patch *p = NULL;
	struct patch_opts o;
	struct err *e;

	(void)await(&shared->is_ready, 1);
	if (!is_fine(keeper_create(false, &k)))
		exit(1);
	for (int i = 0; i < 10000 && !(keeper = keeper_of(getpid())); i++)
		(void)usleep(1000);
	if (!keeper || kill(keeper, SIGKILL))
		exit(1);
	o = victim_opts(gate, k);
	e = patch_open(pid, &o, &p);
	ok(e != NULL, "the keeper does not answer: %s", e ? err_text(e) : "no error");
	err_destroy(e);
	ok(!has_region(pid), "nothing stays mapped");
	ok(calls_await(500) && victim_is_clean(pid), "the process runs on");
	o.keeper = NULL;
	e = patch_open(pid, &o, &p);
	ok(is_fine(e) && has_region(pid), "another time, without it");
	patch_close(p);
	ok(!has_region(pid), "a region that no window has led to is unmapped");
	is_int(victim_end(pid), 0, "no result was wrong");
	keeper_destroy(k);
}

/* ---- a process that is not waited for -------------------------------------------------------- */

static void stuck_run(void)
{
	shared->is_ready = 1;
	(void)await(&shared->go, 1);
	if (!vfork()) {
		shared->is_ready = 2;
		while (!shared->stop)
			(void)usleep(1000);
		_exit(0);
	}
}

static atomic_int interrupted;

static void *interrupt_thread(void *arg)
{
	(void)usleep(700000);
	interrupted = 1;
	return arg;
}

static void test_interrupted(void)
{
	pid_t pid = victim_start(stuck_run);
	struct patch_opts o = victim_opts(gate, NULL);
	enum patch_state s[V_COUNT];
	struct patch *p = NULL, *q = NULL;
	uint64_t begin;
	struct err *e;
	pthread_t t;

	(void)await(&shared->is_ready, 1);
	o.busy_ns = 20000000000;
	o.is_interrupted = &interrupted;
	e = patch_open(pid, &o, &p);
	if (!e)
		e = victim_windows(p, windows);
	shared->go = 1;
	(void)await(&shared->is_ready, 2);
	begin = now_ns();
	(void)pthread_create(&t, NULL, interrupt_thread, NULL);
	if (!e)
		e = patch_write(p, windows, V_COUNT, &interrupted, s);
	ok(is_fine(e) && all_are(s, PATCH_OUT) && now_ns() - begin < 10000000000,
	   "a thread that cannot be stopped is not waited for when the user interrupts");
	is_int(patch_count(p), 0, "no window is said to be in place");
	begin = now_ns();
	e = patch_open(pid, &o, &q);
	ok(e && now_ns() - begin < 10000000000, "nor is it entered: %s",
	   e ? err_text(e) : "no error");
	err_destroy(e);
	(void)pthread_join(t, NULL);
	shared->stop = 1;
	patch_close(p);
	is_int(victim_end(pid), 0, "the process ends as it would");
}

int main(void)
{
	if (geteuid()) {
		printf("1..0 # SKIP needs privilege\n");
		return 0;
	}
	gate = gate_create();
	test_writes();
	test_calls_alone();
	test_groups();
	test_large_groups();
	test_later();
	test_stack_ends();
	test_stack_below();
	test_stack_below_data();
	test_dispatch();
	test_alternate();
	test_keeper();
	test_interrupted();
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
