/* SPDX-License-Identifier: MIT */
/*
 * Processes with one memory: only one of them is held while windows are written or taken back, so
 * nothing is written where the other one would execute it.
 */
#include "tap.h"

#ifdef __x86_64__

#include <sched.h>

#include "dtrace.h"
#include "files/gate.h"
#include "patch/patch_impl.h"
#include "patch/victim.h"
#include "target/ident.h"

static struct gate *gate;
static struct patch_window windows[V_COUNT];

/* Calls until go is 2, beside whoever has its memory. */
static int relative_main(void *arg)
{
	shared->handling = (unsigned int)getpid();
	for (uint64_t i = 0; shared->go < 2; i++) {
		victim_round(i);
		(void)usleep(1000);
	}
	_exit(0);
}

static pid_t relative_make(int flags)
{
	static uint8_t stack[256 << 10] __attribute__((aligned(16)));
	pid_t pid = clone(relative_main, stack + sizeof(stack), flags | SIGCHLD, NULL);

	if (pid < 0)
		_exit(6);
	return pid;
}

/* Waits for the child, and ends with an error of its own if that has had one. */
static void child_end(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status)
		_exit(8);
}

static void cloned_run(void)
{
	pid_t child = relative_make(CLONE_VM);

	shared->is_ready = 1;
	child_end(child);
	(void)await(&shared->stop, 1);
}

/* The same, after it was asked to. */
static void cloned_later_run(void)
{
	shared->is_ready = 1;
	(void)await(&shared->go, 1);
	child_end(relative_make(CLONE_VM));
	(void)await(&shared->stop, 1);
}

/* Leaves its memory to a relative. */
static void executed_run(void)
{
	shared->is_ready = 1;
	(void)await(&shared->go, 1);
	(void)relative_make(CLONE_VM);
	(void)execl("/bin/sleep", "sleep", "1000", (char *)NULL);
	_exit(8);
}

static void vforked_run(void)
{
	shared->is_ready = 1;
	(void)await(&shared->go, 1);
	child_end(relative_make(CLONE_VM | CLONE_VFORK));
	(void)await(&shared->stop, 1);
}

/* Its child has the windows, and a child of vfork(). */
static void grandchild_run(void)
{
	pid_t child;

	shared->is_ready = 1;
	(void)await(&shared->go, 1);
	child = fork();
	if (!child) {
		child_end(relative_make(CLONE_VM | CLONE_VFORK));
		shared->done = 1;
		(void)await(&shared->stop, 1);
		_exit(0);
	}
	child_end(child);
}

static struct patch *patch_all(pid_t pid)
{
	struct patch_opts o = victim_opts(gate, NULL);
	enum patch_state s[V_COUNT];
	struct patch *p = NULL;
	struct err *e = patch_open(pid, &o, &p);

	if (!e)
		e = victim_windows(p, windows);
	if (!e)
		e = patch_write(p, windows, V_COUNT, NULL, s);
	if (e)
		BUG("%s", err_text(e));
	for (uint32_t i = 0; i < V_COUNT; i++)
		if (s[i] != PATCH_IN)
			BUG("window %u: %d", i, (int)s[i]);
	return p;
}

static bool has_failed(struct err *e)
{
	if (e)
		printf("# %s\n", err_text(e));
	err_destroy(e);
	return e;
}

static void test_refused(void)
{
	pid_t pid = victim_start(cloned_run);
	struct patch_opts o = victim_opts(gate, NULL);
	struct patch *p = NULL;
	struct err *e;

	(void)await(&shared->handling, 1);
	e = patch_open(pid, &o, &p);
	ok(e && err_get_code(e) == EDT_NOTSUP && strstr(err_text(e), "shares its memory"),
	   "a process whose memory another one has gets no region");
	(void)has_failed(e);
	shared->go = 2;
	is_int(victim_end(pid), 0, "no result was wrong");
}

static void test_later(void)
{
	pid_t pid = victim_start(cloned_later_run);
	enum patch_state s[V_COUNT];
	struct patch_left left;
	struct patch *p;
	uint32_t n = 9;
	struct err *e;

	(void)await(&shared->is_ready, 1);
	p = patch_all(pid);
	ok(!has_failed(patch_take_back_all(p)), "windows are taken back");
	ok(!has_failed(patch_write(p, windows, 2, NULL, s)), "and some written again");
	shared->go = 1;
	(void)await(&shared->handling, 1);
	ok(has_failed(patch_write(p, windows + 2, 2, NULL, s)) && patch_count(p) == 2,
	   "none comes when another process has the memory");
	patch_leave(p, &left);
	err_destroy(left.kept);
	ok(left.nwindows == 2 && left.nchildren == 0 && !victim_is_clean(pid),
	   "nor is one taken back, of %u, in the process or %u others", left.nwindows,
	   left.nchildren);
	ok(has_failed(patch_leftovers(pid, gate, NULL, &n)) && n == 0 && !victim_is_clean(pid),
	   "nor by the next tracer");
	shared->go = 2;
	while (kill((pid_t)shared->handling, 0) == 0)
		(void)usleep(1000);
	e = patch_leftovers(pid, gate, NULL, &n);
	ok(!e && n >= 2 && victim_is_clean(pid),
	   "which takes them back when the other one has ended");
	(void)has_failed(e);
	is_int(victim_end(pid), 0, "no result was wrong");
}

/* Whether the region stays, and this is why. */
static bool stays_because(struct patch *p, const char *why)
{
	struct err *e = region_leave(p);
	bool is_it = e && strstr(err_text(e), "keeps the region: ") && strstr(err_text(e), why);

	(void)has_failed(e);
	return is_it && region_is_at(p, p->journal->region);
}

static void test_region(void)
{
	pid_t pid = victim_start(cloned_later_run);
	struct err *e;
	struct patch *p;
	uint32_t n;

	(void)await(&shared->is_ready, 1);
	p = patch_all(pid);
	ok(!has_failed(patch_take_back_all(p)), "windows are taken back");
	p->is_left = true;
	ok(stays_because(p, "has failed"), "the region stays where a call has failed");
	p->is_left = false;
	p->journal->has_strange = true;
	ok(stays_because(p, "debugger"), "and where a window had other bytes");
	p->journal->has_strange = false;
	shared->go = 1;
	(void)await(&shared->handling, 1);
	n = p->stops.n;
	ok(stays_because(p, "shares its memory"), "and where another process has the memory");
	ok(p->stops.n - n > 1, "which is tried more than once: %u", p->stops.n - n);
	shared->go = 2;
	while (kill((pid_t)shared->handling, 0) == 0)
		(void)usleep(1000);
	ok(!has_failed(region_leave(p)) && !region_is_at(p, p->journal->region),
	   "it goes when that has ended");
	n = p->stops.n;
	ok(!has_failed(region_leave(p)) && p->stops.n == n, "and nobody is held for it any more");
	patch_close(p);
	p = patch_all(pid);
	ok(!has_failed(patch_take_back_all(p)), "the next windows are taken back");
	p->data++; /* no begin of a page */
	e = region_leave(p);
	ok(e && strstr(err_text(e), "keeps a part of the region: munmap in process "),
	   "a call of munmap() that fails is said");
	(void)has_failed(e);
	patch_close(p);
	is_int(victim_end(pid), 0, "no result was wrong");
}

static bool executes_ours(pid_t pid)
{
	char path[64], ours[512], there[512];
	ssize_t n = readlink("/proc/self/exe", ours, sizeof(ours));

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return n > 0 && readlink(path, there, sizeof(there)) == n &&
	       memcmp(ours, there, (size_t)n) == 0;
}

static void test_executed(void)
{
	pid_t pid = victim_start(executed_run);
	struct patch *p;
	uint32_t n;

	(void)await(&shared->is_ready, 1);
	p = patch_all(pid);
	ok(!has_failed(patch_take_back_all(p)), "windows are taken back");
	shared->go = 1;
	(void)await(&shared->handling, 1);
	while (executes_ours(pid))
		(void)usleep(1000);
	n = p->stops.n;
	ok(windows_is_there(p->journal, p->mem_fd), "a relative has the memory from before");
	ok(!has_failed(region_leave(p)) && p->stops.n == n,
	   "the program that was executed is not held for it");
	ok(windows_is_there(p->journal, p->mem_fd), "nor is that memory changed by it");
	patch_close(p);
	shared->go = 2;
	(void)kill(pid, SIGKILL);
	is_int(victim_end(pid), 1000 + SIGKILL, "it has run until now");
}

static void test_vfork(void)
{
	pid_t pid = victim_start(vforked_run);
	struct patch_left left;
	struct patch *p;

	(void)await(&shared->is_ready, 1);
	p = patch_all(pid);
	shared->go = 1;
	(void)await(&shared->handling, 1);
	ok(has_failed(patch_take_back_all(p)) && p->left.n == 0 && !victim_is_clean(pid),
	   "nothing is written to a process by way of its child of vfork()");
	shared->go = 2;
	patch_leave(p, &left);
	err_destroy(left.kept);
	ok(left.nwindows == 0 && left.nchildren == 0 && victim_is_clean(pid),
	   "its windows are taken back when that has ended");
	is_int(victim_end(pid), 0, "no result was wrong");
}

static void test_grandchild(void)
{
	pid_t pid = victim_start(grandchild_run), child;
	struct patch_left left;
	struct patch *p;

	(void)await(&shared->is_ready, 1);
	p = patch_all(pid);
	shared->go = 1;
	(void)await(&shared->handling, 1);
	child = (pid_t)shared->handling;
	patch_leave(p, &left);
	err_destroy(left.kept);
	ok(left.nwindows == 0 && victim_is_clean(pid), "the process has its code again");
	ok(left.nchildren == 2 && !victim_is_clean(child),
	   "its child and the child of vfork() of that keep the windows: %u", left.nchildren);
	ok(left.children[0] == child || left.children[1] == child, "which is said");
	shared->go = 2;
	ok(await(&shared->done, 1), "the calls of both give what they must");
	is_int(victim_end(pid), 0, "no result was wrong");
}

int main(void)
{
	if (geteuid()) {
		printf("1..0 # SKIP needs privilege\n");
		return 0;
	}
	if (proc_memory_compare(getpid(), getpid()) == MEMORY_UNKNOWN) {
		printf("1..0 # SKIP no kcmp()\n");
		return 0;
	}
	gate = gate_create();
	test_refused();
	test_later();
	test_region();
	test_executed();
	test_vfork();
	test_grandchild();
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
