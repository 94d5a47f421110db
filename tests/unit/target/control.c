/* SPDX-License-Identifier: MIT */
/* Targets: held before they run, watched, killed or left alone. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "target/control.h"
#include "tap.h"

static struct proc *create(const char *cmd, char *const *envs, uint32_t n)
{
	struct proc *p = NULL;
	struct err *e = proc_create(cmd, envs, n, &p);

	if (e)
		printf("# %s\n", err_text(e));
	ok(!e, "start '%s'", cmd);
	err_destroy(e);
	return p;
}

static void wait_end(struct proc *p)
{
	struct pollfd pfd = {.fd = proc_fd(p), .events = POLLIN};

	ok(poll(&pfd, 1, 10000) == 1, "its descriptor tells");
}

static void run_to_end(const char *cmd, char *const *envs, uint32_t n, const char *want_fmt)
{
	struct proc *p = create(cmd, envs, n);
	const char *msg;
	char want[128];
	struct err *e;

	if (!p)
		return;
	ok(!proc_has_ended(p, &msg), "held");
	e = proc_continue(p);
	ok(!e, "released");
	err_destroy(e);
	wait_end(p);
	ok(proc_has_ended(p, &msg), "ended");
	(void)snprintf(want, sizeof(want), want_fmt, (int)proc_pid(p));
	is_str(msg ? msg : "(none)", want, "what happened");
	ok(proc_has_ended(p, &msg) && !msg, "told once");
	proc_destroy(p);
}

static void test_errors(void)
{
	struct proc *p = NULL;
	struct err *e = proc_create("/nonexistent/program", NULL, 0, &p);

	ok(e && err_get_sys(e) == ENOENT, "a missing program is ENOENT");
	err_destroy(e);
	e = proc_create(" \t ", NULL, 0, &p);
	ok(e != NULL, "an empty command is refused");
	err_destroy(e);
	e = proc_grab(getpid(), &p);
	ok(e != NULL, "our own pid is refused");
	err_destroy(e);
	e = proc_grab(999999999, &p);
	ok(e && err_get_sys(e) != 0, "a pid that nobody has is refused");
	err_destroy(e);
	ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "nothing is left over");
}

static void test_destroy(void)
{
	struct proc *p = create("sleep 1000", NULL, 0);
	pid_t pid = p ? proc_pid(p) : -1;

	proc_destroy(p);
	ok(kill(pid, 0) < 0 && errno == ESRCH, "a held process dies with its target");
	p = create("sleep 1000", NULL, 0);
	pid = p ? proc_pid(p) : -1;
	err_destroy(proc_continue(p));
	proc_destroy(p);
	ok(kill(pid, 0) < 0 && errno == ESRCH, "a running one, too");
}

static void test_grab(void)
{
	struct proc *p = NULL;
	const char *msg;
	pid_t pid = fork();
	struct err *e;

	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	e = proc_grab(pid, &p);
	ok(!e, "grabbed");
	ok(!proc_has_ended(p, &msg), "runs");
	proc_destroy(p);
	ok(kill(pid, 0) == 0, "is left alone");
	e = proc_grab(pid, &p);
	ok(!e, "grabbed again");
	(void)kill(pid, SIGKILL);
	wait_end(p);
	ok(proc_has_ended(p, &msg) && msg && strstr(msg, "has exited"), "its end is seen");
	proc_destroy(p);
	(void)waitpid(pid, NULL, 0);
}

int main(void)
{
	char set_code[] = "+CODE=3", unset_home[] = "-HOME";
	char *envs[] = {set_code, unset_home};

	/* -c has no quoting: a script that reads its environment stands for the words */
	run_to_end("true", NULL, 0, "pid %d has exited");
	run_to_end("  false\t", NULL, 0, "pid %d exited with status 1");
	run_to_end("sh -c exit${IFS}${CODE-9}${HOME+8}", envs, 2, "pid %d exited with status 3");
	run_to_end("sh -c kill${IFS}-9${IFS}$$", NULL, 0, "pid %d terminated by SIGKILL");
	run_to_end("sh -c kill${IFS}-34${IFS}$$", NULL, 0, "pid %d terminated by SIGRTMIN");
	run_to_end("sh -c kill${IFS}-40${IFS}$$", NULL, 0, "pid %d terminated by SIGRTMIN+6");
	run_to_end("sh -c kill${IFS}-33${IFS}$$", NULL, 0, "pid %d terminated by signal 33");
	test_errors();
	test_destroy();
	test_grab();
	return tap_done();
}
