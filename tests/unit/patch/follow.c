/* SPDX-License-Identifier: MIT */
/*
 * A child of fork() gets data of its own, in which it counts, and its switch follows that of its
 * parent; one that has other windows, another thread id or other memory is refused.
 */
#include "tap.h"

#ifdef __x86_64__

#include "files/gate.h"
#include "patch/patch.h"
#include "patch/victim.h"

static struct gate *gate;

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

static struct patch *patch_all(pid_t pid)
{
	struct patch_opts o = victim_opts(gate, NULL);
	static struct patch_window w[V_COUNT];
	enum patch_state s[V_COUNT];
	struct patch *p = NULL;
	struct err *e = patch_open(pid, &o, &p);

	if (!e)
		e = victim_windows(p, w);
	if (!e)
		e = patch_write(p, w, V_COUNT, NULL, s);
	if (!e)
		e = patch_switch(p, true);
	if (e)
		BUG("%s", err_text(e));
	return p;
}

static uint64_t child_count(int fd)
{
	uint64_t n = 0;

	return pread(fd, &n, sizeof(n), V_ADD * 8) == (ssize_t)sizeof(n) ? n : UINT64_MAX;
}

static bool is_refused(struct patch *p, pid_t pid, const struct patch_child_opts *o)
{
	struct patch_child *c = NULL;
	struct err *e = patch_child_open(p, pid, o, &c);
	bool refused = e;

	if (e)
		printf("# %s\n", err_text(e));
	err_destroy(e);
	return refused;
}

static void test_follow(void)
{
	const struct patch_child_opts all = {.all = true}, some = {0},
				      odd = {.has_tid = true, .tid_off = 0};
	pid_t pid = victim_start(fork_run), child;
	struct patch_child *c = NULL;
	struct patch *p;
	uint64_t n;
	int fd;

	(void)await(&shared->is_ready, 1);
	p = patch_all(pid);
	shared->go = 1;
	(void)await(&shared->handling, 1);
	child = (pid_t)shared->handling;
	ok(patch_is_in(p, child) && patch_is_in(p, pid) && !patch_is_in(p, getpid()),
	   "parent and child have the region");
	ok(is_refused(p, getpid(), &some), "a process without it is refused");
	ok(is_refused(p, child, &odd), "and a child whose thread block has another id");
	ok(calls_await(1000) && counter(p, V_ADD) == 0, "which runs on, and counts nothing");
	ok(!patch_child_open(p, child, &all, &c), "the child gets data of its own");
	fd = patch_child_take_data(c);
	ok(calls_await(1000) && child_count(fd) == 0, "and counts nothing there either");
	ok(!patch_child_switch(c, true) && calls_await(1000) && child_count(fd) > 100,
	   "until its switch is set");
	is_int(counter(p, V_ADD), 0, "its parent's data stays as it is");
	ok(!patch_switch(p, false) && calls_await(100), "the switch of its parent is turned off");
	n = child_count(fd);
	ok(calls_await(1000) && child_count(fd) == n, "and with it that of the child");
	ok(!patch_switch(p, true) && calls_await(1000) && child_count(fd) > n, "and on again");
	ok(patch_child_stands(c) && patch_child_is_there(c), "it has all windows");
	ok(!patch_child(p, child, false) && !patch_child_stands(c) && victim_is_clean(child),
	   "until they are taken out of it");
	patch_child_close(c);
	ok(is_refused(p, child, &some) && is_refused(p, child, &all), "then it is refused");
	(void)close(fd);
	patch_close(p);
	is_int(victim_end(pid), 0, "no result was wrong");
}

/* The windows of children are taken back with those of their parent, also after it has ended. */
static void test_leave(bool is_first)
{
	const struct patch_child_opts some = {0};
	pid_t pid = victim_start(fork_run), child;
	struct patch_child *c = NULL;
	struct patch *p;

	(void)await(&shared->is_ready, 1);
	p = patch_all(pid);
	shared->go = 1;
	(void)await(&shared->handling, 1);
	child = (pid_t)shared->handling;
	ok(!patch_child_open(p, child, &some, &c) && !patch_child_switch(c, true),
	   "a child is followed");
	if (is_first) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
	ok(calls_await(1000) && !victim_is_clean(child), "it has windows");
	patch_close(p);
	ok(calls_await(1000) && victim_is_clean(child),
	   "which it has no more when its parent is left");
	if (is_first)
		shared->stop = 1;
	else
		is_int(victim_end(pid), 0, "no result was wrong");
}

int main(void)
{
	if (geteuid()) {
		printf("1..0 # SKIP needs privilege\n");
		return 0;
	}
	gate = gate_create();
	test_follow();
	test_leave(false);
	test_leave(true);
	gate_destroy(gate);
	return tap_done();
}

#else

int main(void)
{
	printf("1..0 # SKIP no code for this processor\n");
	return 0;
}

#endif
