/* SPDX-License-Identifier: MIT */
/*
 * What processes do with their code is told, in order and only of those that were added: a library,
 * a program, its libraries; and a process that stops has not run on when it is told.
 */
#include "files/gate.h"
#include "tap.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "keeper/keeper.h"
#include "kernel/kernel.h"
#include "target/rtld.h"
#include "target/target.h"
#include "watch/follow.h"

/* One that has not been loaded: each is small and comes with the C library. */
static const char *const libraries[] = {"libutil.so.1", "libBrokenLocale.so.1", "libanl.so.1",
					"libnss_hesiod.so.2"};

/* Waits for a byte, opens a library, says so, executes another program. */
static pid_t start(int ret_fds[2])
{
	int in[2], out[2];
	pid_t pid;

	if (pipe(in) != 0 || pipe(out) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		void *lib = NULL;
		char c;

		(void)!read(in[0], &c, 1);
		for (size_t i = 0; i < ARRAY_LEN(libraries) && !lib; i++)
			if (!dlopen(libraries[i], RTLD_NOW | RTLD_NOLOAD))
				lib = dlopen(libraries[i], RTLD_NOW);
		(void)!write(out[1], lib ? "y" : "n", 1);
		(void)execl("/bin/true", "true", NULL);
		_exit(9);
	}
	(void)close(in[0]);
	(void)close(out[1]);
	ret_fds[0] = in[1];
	ret_fds[1] = out[0];
	return pid;
}

static bool next_event(struct follow *f, struct rt_watch_event *ret)
{
	struct pollfd fd = {.fd = follow_fd(f), .events = POLLIN};

	for (uint64_t until = now_ns() + 20000000000; now_ns() < until;) {
		if (follow_read(f, ret))
			return true;
		(void)poll(&fd, 1, 100);
	}
	return false;
}

static bool is_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1 && (p.revents & POLLIN);
}

static struct err *watch(struct follow *f, struct keeper *k, pid_t pid, bool stops)
{
	struct proc_id id;
	struct err *e = proc_id_open(pid, &id);
	struct target *t = NULL;
	struct gate *g;
	struct rtld r;

	if (!e)
		e = follow_add(f, &id, stops);
	proc_id_close(&id);

	if (e)
		return e;
	g = gate_create();
	e = target_live_open(pid, g, &t);
	if (!e && !rtld_find(t, &r))
		e = err_new("there is no dynamic linker");
	target_close(t);
	if (e) {
		gate_destroy(g);
		return e;
	}
	e = follow_linker(f, k, &id, gate_file_fd(r.file), r.hook_off, r.state);
	rtld_deinit(&r);
	gate_destroy(g);
	return e;
}

static struct rt_watch_event expect(struct follow *f, pid_t pid, enum rt_watch_kind kind,
				    const char *what)
{
	struct rt_watch_event ev = {0};
	bool told = next_event(f, &ev);

	ok(told && ev.pid == (uint32_t)pid && ev.kind == kind, "%s is told", what);
	if (told && kind == RT_WATCH_EXEC)
		is_int(ev.is_other, 0, "by its first thread");
	return ev;
}

static void ends(pid_t pid)
{
	int status = 0;

	ok(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0,
	   "it ends as it should");
}

static void test_order(bool stops)
{
	struct follow *f = NULL;
	struct keeper *k = NULL;
	struct rt_watch_event ev;
	int a[2], b[2], status = 0;
	char c = 0;
	pid_t pid = start(a), other = start(b);
	struct err *e = follow_create(1, &(struct rt_pidns){0}, NULL, &f);

	if (!e)
		e = keeper_create(false, &k);
	if (!e)
		e = watch(f, k, pid, stops);
	ok(!e, "a process is followed%s%s", e ? ": " : "", e ? err_text(e) : "");
	err_destroy(e);
	(void)!write(b[0], "", 1); /* nobody follows this one */
	(void)waitpid(other, &status, 0);
	(void)!write(a[0], "", 1);
	expect(f, pid, RT_WATCH_MAPPED, "a library");
	if (stops) {
		ok(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status) &&
			   WSTOPSIG(status) == SIGSTOP,
		   "it is stopped");
		ok(!is_readable(a[1]), "it has not gone on");
		(void)kill(pid, SIGCONT);
	}
	ok(read(a[1], &c, 1) == 1 && c == 'y', "it has the library");
	if (!stops)
		ends(pid);
	ev = expect(f, pid, RT_WATCH_EXEC, "a program");
	ok(follow_has_more(f, &ev) == !stops, "%s", stops ? "it waits" : "it has done more");
	if (stops)
		(void)kill(pid, SIGCONT);
	ev = expect(f, pid, RT_WATCH_MAPPED, "the program's libraries");
	ok(!follow_has_more(f, &ev), "and nothing else");
	if (stops) {
		(void)kill(pid, SIGCONT);
		ends(pid);
	}
	ok(!follow_read(f, &ev), "that was all");
	follow_destroy(f);
	keeper_destroy(k);
	for (int i = 0; i < 2; i++) {
		(void)close(a[i]);
		(void)close(b[i]);
	}
}

/* What follow_destroy() has left behind must not stop it: the keeper still has the link. */
static void test_left(void)
{
	struct follow *f = NULL;
	struct keeper *k = NULL;
	int fds[2], status = 0;
	pid_t pid = start(fds);
	struct err *e = follow_create(1, &(struct rt_pidns){0}, NULL, &f);

	if (!e)
		e = keeper_create(false, &k);
	if (!e)
		e = watch(f, k, pid, true);
	ok(!e, "a process is followed again");
	err_destroy(e);
	follow_destroy(f);
	(void)!write(fds[0], "", 1);
	ok(waitpid(pid, &status, WUNTRACED) == pid && WIFEXITED(status),
	   "it is not stopped when nobody follows");
	keeper_destroy(k);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

/* Nobody reads while a process opens and closes a library more often than there is room for. */
static void test_lost(void)
{
	struct follow *f = NULL;
	struct keeper *k = NULL;
	struct rt_watch_event ev;
	int in[2], status = 0, n = 0;
	struct err *e =
		pipe(in) ? err_new("no pipe") : follow_create(1, &(struct rt_pidns){0}, NULL, &f);
	pid_t pid = e ? -1 : fork();
	char c;

	if (pid == 0) {
		(void)!read(in[0], &c, 1);
		for (int i = 0; i < 1500; i++) {
			void *lib = dlopen(libraries[i % 2], RTLD_NOW);

			if (lib)
				(void)dlclose(lib);
		}
		_exit(0);
	}
	if (!e)
		e = keeper_create(false, &k);
	if (!e)
		e = watch(f, k, pid, false);
	ok(!e, "a process is followed that does much");
	err_destroy(e);
	ok(follow_lost(f) == 0, "nothing is lost yet");
	(void)!write(in[1], "", 1);
	(void)waitpid(pid, &status, 0);
	while (follow_read(f, &ev))
		n += ev.pid == (uint32_t)pid && ev.kind == RT_WATCH_MAPPED;
	ok(n > 1000, "what there was room for is told");
	ok(follow_lost(f) > 0, "the rest is counted");
	ok(follow_lost(f) == 0, "once");
	follow_destroy(f);
	keeper_destroy(k);
	(void)close(in[0]);
	(void)close(in[1]);
}

static void test_linker(void)
{
	struct gate *g = gate_create();
	struct target *t = NULL;
	struct rtld r = {0};

	ok(!target_live_open(getpid(), g, &t) && rtld_find(t, &r) && r.file && r.hook_off &&
		   r.state,
	   "this one has");
	target_close(t);
	rtld_deinit(&r);
	ok(!r.file, "its file is closed");
	gate_destroy(g);
}

int main(void)
{
	test_linker();
	test_order(false);
	test_order(true);
	test_left();
	test_lost();
	return tap_done();
}
