/* SPDX-License-Identifier: MIT */
/*
 * Tracers that are killed at each of their system calls, keepers that are killed, and calls that
 * fail: the process lives, and has its own code again.
 */
#include "tap.h"

#ifdef __x86_64__

#include "files/gate.h"
#include "keeper/keeper.h"
#include "kernel/sys.h"
#include "patch/victim.h"
#include "target/maps.h"

static struct gate *gate;

/* A process with all descriptors of the tracer, which it has for as long as the test says. */
static void holder_fork(void)
{
	pid_t pid = fork();

	if (pid) {
		shared->go = (unsigned int)pid;
		return;
	}
	while (shared->handling)
		(void)usleep(1000);
	(void)usleep(200000);
	_exit(0);
}

/* Opens, writes and takes back. The keeper of the last tracer may still hold the process. */
static struct err *tracer_work(pid_t pid, struct keeper *k, bool is_left)
{
	struct patch_opts o = victim_opts(gate, k);
	uint64_t until = now_ns() + 10000000000;
	static struct patch_window w[V_COUNT];
	enum patch_state s[V_COUNT];
	struct patch *p = NULL;
	struct err *e;

	while ((e = patch_open(pid, &o, &p)) &&
	       (strstr(err_text(e), "traced") || strstr(err_text(e), "not permitted")) &&
	       now_ns() < until)
		err_destroy(e);
	if (!e)
		e = victim_windows(p, w);
	if (!e)
		e = patch_switch(p, true);
	if (!e)
		e = patch_write(p, w, V_COUNT, NULL, s);
	if (is_left && !e && shared->handling)
		holder_fork();
	if (is_left && !e) {
		shared->done = 1;
		(void)pause();
	}
	if (!e)
		e = patch_take_back_all(p);
	patch_close(p);
	return e;
}

static bool clean_await(pid_t pid)
{
	uint64_t until = now_ns() + 10000000000;

	while (!victim_is_clean(pid)) {
		if (now_ns() > until)
			return false;
		(void)usleep(500);
	}
	return true;
}

/* Waits until the keeper of a tracer that has ended has done its work. */
static void keeper_await(pid_t tracer)
{
	for (int i = 0; i < 10000 && keeper_of(tracer); i++)
		(void)usleep(1000);
}

/* A tracer that dies at its n-th call; true: it makes fewer. */
static bool tracer_killed_at(pid_t pid, unsigned int n)
{
	pid_t tracer = fork();
	int status = 0;

	if (!tracer) {
		struct keeper *k = NULL;
		struct err *e = keeper_create(false, &k);

		sys_kill_set(n);
		if (!e)
			e = tracer_work(pid, k, false);
		if (e)
			fprintf(stderr, "# %s\n", err_text(e));
		_exit(e ? 2 : 0);
	}
	(void)waitpid(tracer, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status))
		printf("# the tracer has ended with %d\n", WEXITSTATUS(status));
	keeper_await(tracer);
	return !WIFSIGNALED(status);
}

static void test_killed(void)
{
	pid_t pid = victim_start(victim_run);
	unsigned int n = 1;
	unsigned int step = getenv("PATCH_ALL") ? 1 : 3; /* each call, or one of three */
	bool good = true;

	(void)await(&shared->is_ready, 1);
	for (; good && !tracer_killed_at(pid, n); n += step)
		good = clean_await(pid) && calls_await(20) && kill(pid, 0) == 0;
	ok(good, "a tracer is killed at its calls 1 to %u", n - 1);
	ok(n > 80, "which are many");
	ok(clean_await(pid), "the keepers have taken all windows back");
	is_int(victim_end(pid), 0, "and no result was wrong");
}

/* ---- keepers --------------------------------------------------------------------------------- */

/* A tracer that has written all windows, and waits. */
static pid_t tracer_start(pid_t pid, unsigned int keeper_dies_at)
{
	pid_t tracer;

	shared->done = 0;
	tracer = fork();
	if (!tracer) {
		struct keeper *k = NULL;
		struct err *e;

		sys_kill_set(keeper_dies_at);
		e = keeper_create(false, &k);
		sys_kill_set(0);
		if (!e)
			e = tracer_work(pid, k, true);
		fprintf(stderr, "# %s\n", e ? err_text(e) : "?");
		_exit(2);
	}
	(void)await(&shared->done, 1);
	return tracer;
}

/* Overwrites the heads of all regions, as a child of fork() can. */
static void heads_smash(pid_t pid)
{
	static const uint8_t bytes[4096];
	struct proc_maps maps;
	struct err *e = proc_maps_read(pid, &maps);

	if (e)
		BUG("%s", err_text(e));
	for (uint32_t i = 0; i < maps.maps.len; i++) {
		const struct proc_map *m = &maps.maps.data[i];
		char path[96];
		CLEANUP(fd) int fd = -1;

		if (!m->is_shared || m->is_write || m->off || strcmp(m->path, "/dev/zero") != 0)
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)pid,
			       (unsigned long long)m->start, (unsigned long long)m->end);
		fd = open(path, O_RDWR | O_CLOEXEC);
		for (taddr at = 0; at < m->end - m->start; at += sizeof(bytes))
			if (pwrite(fd, bytes, sizeof(bytes), (off_t)at) != (ssize_t)sizeof(bytes))
				BUG("pwrite");
	}
	proc_maps_deinit(&maps);
}

/* Without the table, jumps are known by where they lead; the next tracer comes at once. */
static void test_leftovers(bool has_head)
{
	pid_t pid = victim_start(victim_run), tracer, keeper;
	struct err *e;
	uint32_t n = 99;

	(void)await(&shared->is_ready, 1);
	tracer = tracer_start(pid, 0);
	keeper = keeper_of(tracer);
	ok(keeper > 0, "the tracer has a keeper");
	e = patch_leftovers(pid, gate, NULL, &n);
	ok(!e && n == 0 && !victim_is_clean(pid),
	   "windows of a tracer that lives are no leftovers");
	(void)kill(keeper, SIGKILL);
	(void)kill(tracer, SIGKILL);
	(void)waitpid(tracer, NULL, 0);
	ok(!victim_is_clean(pid) && calls_await(500), "without both, the windows stay and work");
	if (!has_head)
		heads_smash(pid);
	e = patch_leftovers(pid, gate, NULL, &n);
	ok(!e, "they are found");
	is_int(n, V_COUNT, "all of them");
	ok(victim_is_clean(pid), "and taken back");
	e = patch_leftovers(pid, gate, NULL, &n);
	ok(!e && n == 0, "there are no others");
	err_destroy(e);
	is_int(victim_end(pid), 0, "no result was wrong");
}

/*
 * What the tracer had open is held for a while by a process that it has forked, as the kernel holds
 * it while it closes it: the next one waits. If that process stays, that is an error.
 */
static void test_held_lock(void)
{
	pid_t pid = victim_start(victim_run), tracer, holder;
	struct err *e;
	uint32_t n = 99;

	for (int stays = 0; stays < 2; stays++) {
		(void)await(&shared->is_ready, 1);
		shared->go = 0;
		shared->handling = 1; /* the tracer forks */
		tracer = tracer_start(pid, 0);
		(void)await(&shared->go, 1);
		holder = (pid_t)shared->go;
		(void)kill(keeper_of(tracer), SIGKILL);
		(void)kill(tracer, SIGKILL);
		(void)waitpid(tracer, NULL, 0);
		if (!stays)
			shared->handling = 0; /* it ends in a moment */
		e = patch_leftovers(pid, gate, NULL, &n);
		if (stays) {
			ok(e && strstr(err_text(e), "another process still holds"),
			   "who holds a dead tracer's region is said");
			err_destroy(e);
			(void)kill(holder, SIGKILL);
			e = patch_leftovers(pid, gate, NULL, &n);
		}
		ok(!e, "the lock of a tracer that has ended is waited for");
		err_destroy(e);
		is_int(n, V_COUNT, "all windows are found");
		ok(victim_is_clean(pid), "and taken back");
	}
	shared->handling = 0;
	is_int(victim_end(pid), 0, "no result was wrong");
}

static void test_keeper_killed(void)
{
	static const unsigned int at[] = {1, 4, 9, 13};
	pid_t pid = victim_start(victim_run);
	bool good = true;

	(void)await(&shared->is_ready, 1);
	for (uint32_t i = 0; i < ARRAY_LEN(at) && good; i++) {
		pid_t tracer = tracer_start(pid, at[i]);
		struct err *e = NULL;
		uint32_t n = 0;

		(void)kill(tracer, SIGKILL);
		(void)waitpid(tracer, NULL, 0);
		keeper_await(tracer);
		good = calls_await(20) && kill(pid, 0) == 0;
		for (int k = 0; !(e = patch_leftovers(pid, gate, NULL, &n)) &&
				!victim_is_clean(pid) && k < 10000;
		     k++)
			(void)usleep(1000);
		if (e)
			printf("# %s\n", err_text(e));
		good = good && !e && victim_is_clean(pid);
		err_destroy(e);
	}
	ok(good, "who dies while taking windows back leaves them to the next");
	is_int(victim_end(pid), 0, "no result was wrong");
}

/* ---- calls that fail ------------------------------------------------------------------------- */

static void test_failing(void)
{
	pid_t pid = victim_start(victim_run);
	bool good = true, is_over = false;
	unsigned int n = 1, errors = 0;

	(void)await(&shared->is_ready, 1);
	for (; good && !is_over; n++) {
		struct err *e;

		sys_fail_set(n);
		e = tracer_work(pid, NULL, false);
		is_over = sys_fail_pending();
		sys_fail_set(0);
		errors += e != NULL;
		good = clean_await(pid) && calls_await(20) && kill(pid, 0) == 0;
		if (!good)
			printf("# call %u: %s\n", n, e ? err_text(e) : "no error");
		err_destroy(e);
	}
	ok(good, "each of %u calls fails once", n - 1);
	ok(errors > 30, "which %u times is an error", errors);
	is_int(victim_end(pid), 0, "no result was wrong");
}

int main(void)
{
	if (geteuid()) {
		printf("1..0 # SKIP needs privilege\n");
		return 0;
	}
	gate = gate_create();
	test_leftovers(true);
	test_leftovers(false);
	test_held_lock();
	test_killed();
	test_keeper_killed();
	test_failing();
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
