/* SPDX-License-Identifier: MIT */
/* Stops all threads of a process. */
#include "target/halt.h"

#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "base/text.h"
#include "target/code.h"

#define ROUNDS_MAX  16 /* threads may be made while others are stopped */
#define THREADS_MAX 65536
#define PATIENCE_NS 500000000ull /* for a thread that does not stop */
#define PAUSE_NS    50000	 /* between two looks at threads that have not stopped */
#define PF_KTHREAD  0x00200000ul /* Linux include/linux/sched.h */

const struct halt_thread *halt_find(const struct halt *h, pid_t tid)
{
	for (uint32_t i = 0; i < h->threads.len; i++)
		if (h->threads.data[i].tid == tid)
			return &h->threads.data[i];
	return NULL;
}

/* ---- /proc ----------------------------------------------------------------------------------- */

/* Reads name, state and flags of a thread; false: there is none. */
static bool stat_read(pid_t tid, char name[17], char *ret_state, unsigned long *ret_flags)
{
	CLEANUP(file) FILE *f = NULL;
	char path[64], line[512];
	size_t n;
	const char *open, *end;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	f = fopen(path, "re");
	n = f ? fread(line, 1, sizeof(line) - 1, f) : 0;
	line[n] = '\0';
	open = strchr(line, '(');
	end = strrchr(line, ')');
	if (!open || !end ||
	    sscanf(end + 1, " %c %*d %*d %*d %*d %*d %lu", ret_state, ret_flags) != 2)
		return false;
	(void)snprintf(name, 17, "%.*s", (int)MIN(end - open - 1, 16), open + 1);
	(void)text_clean(name);
	return true;
}

/* ---- refusals -------------------------------------------------------------------------------- */

static struct err *ended_err(pid_t pid)
{
	unsigned long flags;
	char name[17], state;

	if (!stat_read(pid, name, &state, &flags))
		return err_new("process %d has ended", (int)pid);
	return err_hint(err_new("process %d (%s) has ended: it is a zombie and has no stack",
				(int)pid, name),
			"its parent, process %ld, has not asked yet how it has ended",
			proc_status_field(pid, "PPid"));
}

/* Says why the kernel does not let us stop the thread, and what helps. */
static struct err *halt_refused(pid_t pid, pid_t tid, int error)
{
	long tracer = proc_status_field(tid, "TracerPid"), uid = proc_status_field(tid, "Uid");
	unsigned long flags = 0;
	char name[17] = "", other[17] = "", state = 0;

	if (pid == getpid())
		return err_hint(err_new("cannot stop process %d: it is this one", (int)pid),
				"give the id of another process");
	(void)stat_read(tid, name, &state, &flags);
	if (flags & PF_KTHREAD)
		return err_hint(err_new("%d (%s) is a thread of the kernel and has no user stack",
					(int)tid, name),
				"cat /proc/%d/stack shows its stack in the kernel", (int)tid);
	if (tracer > 0) {
		(void)stat_read((pid_t)tracer, other, &state, &flags);
		return err_hint(err_new("cannot stop process %d (%s): process %ld (%s) traces it",
					(int)pid, name, tracer, other),
				"a process has one tracer; let the other one go, or have it make a "
				"core file (gcore)");
	}
	if (uid >= 0 && (uid_t)uid != geteuid() && geteuid())
		return err_hint(err_sys(error, "cannot stop process %d (%s) of user %ld", (int)pid,
					name, uid),
				"that user may do it, or root (sudo)");
	return err_hint(err_sys(error, "cannot stop thread %d (%s)", (int)tid, name),
			"root may do it (sudo), unless the container or the system forbids "
			"ptrace: look at /proc/sys/kernel/yama/ptrace_scope, CAP_SYS_PTRACE and "
			"seccomp");
}

/* ---- stopping -------------------------------------------------------------------------------- */

/* Asks a thread to stop; one that has ended meanwhile is no error. */
static struct err *thread_ask(struct halt *h, pid_t pid, pid_t tid)
{
	struct halt_thread t = {.tid = tid};
	unsigned long flags;
	char name[17];

	(void)stat_read(tid, name, &t.state, &flags);
	if (t.state == 'Z' || t.state == 'X') /* the first thread has ended before the others */
		return NULL;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		int error = errno;

		if (error == ESRCH || !stat_read(tid, name, &t.state, &flags) || t.state == 'Z' ||
		    t.state == 'X')
			return NULL;
		return halt_refused(pid, tid, error);
	}
	(void)ptrace(PTRACE_INTERRUPT, tid, NULL, NULL); /* fails if it has ended */
	vec_push(&h->threads, t);
	return NULL;
}

/* Asks the threads that are not yet known; *ret_n: how many these were. */
static struct err *threads_ask(pid_t pid, struct halt *h, uint32_t *ret_n)
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

		if (tid > 0 && !halt_find(h, tid))
			e = thread_ask(h, pid, tid);
	}
	(void)closedir(dir);
	*ret_n = h->threads.len - before;
	return e;
}

/* Looks whether a thread has stopped; false: it has ended. */
static bool thread_look(struct halt_thread *t)
{
	siginfo_t si = {0};

	if (waitid(P_PID, (id_t)t->tid, &si, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL))
		return false;
	if (!si.si_pid)
		return true;
	if (si.si_code != CLD_TRAPPED && si.si_code != CLD_STOPPED) {
		(void)waitpid(t->tid, NULL, WNOHANG | __WALL);
		return false;
	}
	t->is_stopped = true;
	t->signal = si.si_status >> 8 ? 0 : si.si_status; /* else PTRACE_EVENT_STOP */
	return true;
}

/* Waits for threads that were asked, and forgets those that have ended; returns who has not. */
static uint32_t threads_look(struct halt *h)
{
	uint32_t n = 0, waiting = 0;

	for (uint32_t i = 0; i < h->threads.len; i++) {
		struct halt_thread t = h->threads.data[i];

		if (!t.is_stopped && !thread_look(&t))
			continue;
		waiting += !t.is_stopped;
		h->threads.data[n++] = t;
	}
	h->threads.len = n;
	return waiting;
}

static void threads_await(struct halt *h, uint64_t until)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	while (threads_look(h) && now_ns() < until)
		(void)nanosleep(&pause, NULL);
}

struct err *halt_process(pid_t pid, struct halt *ret)
{
	uint64_t until = now_ns() + PATIENCE_NS;
	struct err *e = NULL;
	uint32_t n = 1;

	*ret = (struct halt){0};
	for (int i = 0; i < ROUNDS_MAX && n && !e; i++) {
		e = threads_ask(pid, ret, &n);
		threads_await(ret, e ? 0 : until);
	}
	if (!e && !ret->threads.len)
		e = ended_err(pid);
	if (e)
		halt_release(ret);
	return e;
}

void halt_release(struct halt *h)
{
	(void)threads_look(h);
	for (uint32_t i = 0; i < h->threads.len; i++) /* or it has ended */
		(void)ptrace(PTRACE_DETACH, h->threads.data[i].tid, NULL,
			     (void *)(uintptr_t)h->threads.data[i].signal);
	vec_deinit(&h->threads);
}
