/* SPDX-License-Identifier: MIT */
/* A thread that holds a process is not stopped by Ctrl-Z; who has called for it is, afterwards. */
#include "tap.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patch/patch_impl.h"

static void stop_and_write(void *ctx)
{
	const int *out = ctx;

	(void)kill(getpid(), SIGTSTP);
	for (int i = 0; i < 100; i++) /* changes of tasks: the signal would have been taken */
		(void)usleep(1000);
	(void)!write(*out, "", 1);
}

int main(void)
{
	int pipes[2], status = 0;
	pid_t pid = pipe2(pipes, O_NONBLOCK) ? -1 : fork();
	char byte;

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)setpgid(0,
			      0); /* with a parent in another group of the session, it can stop */
		(void)signal(SIGTSTP, SIG_DFL);
		_exit(worker_run(stop_and_write, &pipes[1]) != NULL);
	}
	ok(pid > 0 && waitpid(pid, &status, WUNTRACED) == pid, "a tracer that is stopped");
	ok(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTSTP, "by its terminal");
	is_int(read(pipes[0], &byte, 1), 1, "its thread has done its work before");
	(void)kill(pid, SIGCONT);
	ok(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status),
	   "it goes on");
	return tap_done();
}
