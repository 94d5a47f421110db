/* SPDX-License-Identifier: MIT */
/* Stops all threads of a process. */
#include "target/halt.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#define ROUNDS_MAX  16 /* threads may be made while others are stopped */
#define THREADS_MAX 65536

static bool is_held(const struct halt *h, pid_t tid)
{
	for (uint32_t i = 0; i < h->threads.len; i++)
		if (h->threads.data[i] == tid)
			return true;
	return false;
}

/* Stops a thread; one that has ended meanwhile is no error. */
static struct err *thread_hold(struct halt *h, pid_t tid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		if (errno == ESRCH)
			return NULL;
		return err_hint(err_sys(errno, "cannot stop thread %d", (int)tid),
				"a debugger may have it, or it belongs to another user");
	}
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) || waitpid(tid, &status, __WALL) != tid ||
	    !WIFSTOPPED(status))
		return NULL;
	vec_push(&h->threads, tid);
	return NULL;
}

/* Stops the threads that are not yet; *ret_n: how many these were. */
static struct err *threads_hold(pid_t pid, struct halt *h, uint32_t *ret_n)
{
	uint32_t before = h->threads.len;
	struct err *e = NULL;
	struct dirent *d;
	char path[64];
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return err_sys(errno, "cannot list the threads of process %d", (int)pid);
	while (!e && (d = readdir(dir)) && h->threads.len < THREADS_MAX) {
		pid_t tid = (pid_t)strtol(d->d_name, NULL, 10);

		if (tid > 0 && !is_held(h, tid))
			e = thread_hold(h, tid);
	}
	(void)closedir(dir);
	*ret_n = h->threads.len - before;
	return e;
}

struct err *halt_process(pid_t pid, struct halt *ret)
{
	struct err *e = NULL;
	uint32_t n = 1;

	*ret = (struct halt){0};
	for (int i = 0; i < ROUNDS_MAX && n && !e; i++)
		e = threads_hold(pid, ret, &n);
	if (!e && !ret->threads.len)
		e = err_new("process %d has ended", (int)pid);
	if (e)
		halt_release(ret);
	return e;
}

void halt_release(struct halt *h)
{
	for (uint32_t i = 0; i < h->threads.len; i++)
		(void)ptrace(PTRACE_DETACH, h->threads.data[i], NULL, NULL); /* or it has ended */
	vec_deinit(&h->threads);
}
