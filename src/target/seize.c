/* SPDX-License-Identifier: MIT */
/* Holds all threads of a process, without memory of the C library. */
#include "target/seize.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "kernel/sys.h"

#define ROUNDS_MAX   64 /* threads may be made while others are stopped */
#define THREADS_MAX  65536
#define IDS_MAX	     (1u << 22)	   /* Linux include/linux/threads.h: PID_MAX_LIMIT */
#define PATIENCE_NS  500000000ull  /* for a thread that does not stop */
#define STARVED_NS   5000000000ull /* for one that waits for a CPU */
#define PAUSE_NS     20000	   /* between two looks at threads that have not stopped */
#define THREADS_SIZE (THREADS_MAX * sizeof(struct seized_thread))
#define KNOWN_SIZE   (IDS_MAX / 8)

#ifndef PTRACE_O_SUSPEND_SECCOMP /* in the kernel's header only */
#define PTRACE_O_SUSPEND_SECCOMP (1 << 21)
#endif

/* ---- stops ----------------------------------------------------------------------------------- */

/* The state of a thread as /proc shows it; 0: there is none. Formatting numbers needs no memory. */
static char thread_state(pid_t tid)
{
	char path[64], stat[256];
	const char *end;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, stat, sizeof(stat) - 1);
	if (fd >= 0)
		(void)close(fd);
	if (n <= 0)
		return 0;
	stat[n] = '\0';
	end = strrchr(stat, ')');
	return end && end[1] == ' ' ? end[2] : 0;
}

static bool thread_is_dead(pid_t tid)
{
	char state = thread_state(tid);

	return !state || state == 'Z' || state == 'X';
}

/* True: *ret_status is that of its stop, or 0: it runs. False: it has ended. */
static bool thread_look(pid_t tid, int *ret_status)
{
	siginfo_t si = {0};

	*ret_status = 0;
	if (waitid(P_PID, (id_t)tid, &si, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL))
		return false;
	if (!si.si_pid)
		return true;
	/* how it has ended is for its parent, who may be this process, when we let go */
	if (si.si_code != CLD_TRAPPED && si.si_code != CLD_STOPPED)
		return false;
	*ret_status = si.si_status << 8 | 0x7f;
	return true;
}

bool seize_wait(pid_t tid, int *ret_status)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t until = now_ns() + STARVED_NS;

	do {
		if (!thread_look(tid, ret_status))
			return false;
		if (*ret_status)
			return true;
		(void)nanosleep(&pause, NULL);
	} while (now_ns() < until);
	errno = ETIMEDOUT;
	return false;
}

/*
 * Looks whether a thread is held; false: it has ended. A thread that is about to take a signal
 * takes it, and stops then, because it has been asked to.
 */
static bool thread_settle(struct seized_thread *t)
{
	int status;

	if (!thread_look(t->tid, &status))
		return false;
	if (status >> 16 == PTRACE_EVENT_STOP)
		t->is_stopped = true;
	else if (status)
		(void)ptrace(PTRACE_CONT, t->tid, NULL, (void *)(uintptr_t)WSTOPSIG(status));
	return true;
}

static uint32_t threads_settle(struct seized *s)
{
	uint32_t n = 0, waiting = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		struct seized_thread t = s->threads[i];

		if (!t.is_stopped && !thread_settle(&t))
			continue;
		waiting += !t.is_stopped;
		s->threads[n++] = t;
	}
	s->n = n;
	return waiting;
}

/* Whether one of those that have not stopped waits for something else than a CPU. */
static bool one_is_stuck(const struct seized *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (!s->threads[i].is_stopped && thread_state(s->threads[i].tid) == 'D')
			return true;
	return false;
}

static bool threads_await(struct seized *s, uint64_t begin)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t now;

	while (threads_settle(s)) {
		now = now_ns();
		if (now - begin > STARVED_NS || (now - begin > PATIENCE_NS && one_is_stuck(s)))
			return false;
		(void)nanosleep(&pause, NULL);
	}
	return true;
}

/* ---- threads --------------------------------------------------------------------------------- */

static enum seize_result thread_ask(struct seized *s, pid_t tid)
{
	uintptr_t options = PTRACE_O_TRACESYSGOOD;

	if (s->n == THREADS_MAX)
		return SEIZE_MANY;
	if (sys_ptrace(PTRACE_SEIZE, tid, NULL, (void *)options)) {
		s->sys = errno;
		s->tid = tid;
		return s->sys == ESRCH || thread_is_dead(tid) ? SEIZE_DONE : SEIZE_REFUSED;
	}
	s->known[tid / 64] |= 1ull << (tid % 64);
	s->threads[s->n++] = (struct seized_thread){.tid = tid};
	return SEIZE_DONE;
}

/* Asks threads to stop, from the i-th on: they run while all of them are attached to first. */
static void threads_interrupt(struct seized *s, uint32_t i)
{
	if (!s->since_ns)
		s->since_ns = now_ns();
	for (; i < s->n; i++)
		(void)ptrace(PTRACE_INTERRUPT, s->threads[i].tid, NULL, NULL); /* or it has ended */
}

static pid_t number_read(const char *text)
{
	pid_t n = 0;

	for (; *text >= '0' && *text <= '9' && n < (pid_t)IDS_MAX; text++)
		n = n * 10 + (*text - '0');
	return n;
}

/* Attaches to the threads that are not known yet; their number is what s->n has grown by. */
static enum seize_result threads_ask(struct seized *s)
{
	enum seize_result r = SEIZE_DONE;
	char path[64], buf[8192] __attribute__((aligned(8)));
	long n, at;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)s->pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ESRCH))
		return SEIZE_GONE;
	if (fd < 0) { /* there is no descriptor or memory left: nobody must take that for an end */
		s->sys = errno;
		s->tid = s->pid;
		return SEIZE_REFUSED;
	}
	while (r == SEIZE_DONE && (n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
		for (at = 0; at < n && r == SEIZE_DONE;) {
			const struct dirent64 *d = (const struct dirent64 *)(buf + at);
			pid_t tid = number_read(d->d_name);

			at += d->d_reclen;
			if (tid > 0 && tid < (pid_t)IDS_MAX &&
			    !(s->known[tid / 64] & 1ull << (tid % 64)))
				r = thread_ask(s, tid);
		}
	(void)close(fd);
	return r;
}

static void *memory_get(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

enum seize_result seize_process(pid_t pid, struct seized *ret)
{
	uint64_t begin = now_ns();
	enum seize_result r = SEIZE_DONE;
	uint32_t before;

	*ret = (struct seized){.pid = pid,
			       .threads = memory_get(THREADS_SIZE),
			       .known = memory_get(KNOWN_SIZE)};
	if (!ret->threads || !ret->known)
		return SEIZE_MANY;
	/* those that begin meanwhile are found below, when their makers stand still */
	r = threads_ask(ret);
	threads_interrupt(ret, 0);
	if (!threads_await(ret, begin) && r == SEIZE_DONE)
		r = SEIZE_BUSY;
	for (int i = 0; r == SEIZE_DONE; i++) {
		if (i == ROUNDS_MAX)
			return SEIZE_MANY;
		before = ret->n;
		r = threads_ask(ret);
		if (r == SEIZE_DONE && ret->n == before)
			break;
		threads_interrupt(ret, before);
		if (!threads_await(ret, begin) && r == SEIZE_DONE)
			r = SEIZE_BUSY;
	}
	if (r == SEIZE_DONE && !ret->n)
		r = SEIZE_GONE;
	if (r == SEIZE_BUSY)
		for (uint32_t i = 0; i < ret->n; i++)
			if (!ret->threads[i].is_stopped)
				ret->tid = ret->threads[i].tid;
	return r;
}

enum seize_result seize_thread(pid_t pid, pid_t tid, struct seized *ret)
{
	uint64_t begin = now_ns();
	enum seize_result r;

	*ret = (struct seized){.pid = pid,
			       .threads = memory_get(THREADS_SIZE),
			       .known = memory_get(KNOWN_SIZE)};
	if (!ret->threads || !ret->known)
		return SEIZE_MANY;
	r = thread_ask(ret, tid);
	if (r != SEIZE_DONE)
		return r;
	threads_interrupt(ret, 0);
	if (!threads_await(ret, begin)) {
		ret->tid = tid;
		return SEIZE_BUSY;
	}
	return ret->n ? SEIZE_DONE : SEIZE_GONE;
}

bool seize_suspend(pid_t tid)
{
	uintptr_t options = PTRACE_O_TRACESYSGOOD | PTRACE_O_SUSPEND_SECCOMP;

	return sys_ptrace(PTRACE_SETOPTIONS, tid, NULL, (void *)options) == 0;
}

void seize_release_others(struct seized *s, pid_t tid)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		if (s->threads[i].tid == tid) {
			s->threads[n++] = s->threads[i];
			continue;
		}
		sys_point();
		(void)ptrace(PTRACE_DETACH, s->threads[i].tid, NULL, NULL); /* or it has ended */
	}
	s->n = n;
}

void seize_release(struct seized *s)
{
	if (s->threads) {
		(void)threads_settle(s);
		for (uint32_t i = 0; i < s->n; i++) {
			sys_point();
			/* fails if it has ended */
			(void)ptrace(PTRACE_DETACH, s->threads[i].tid, NULL, NULL);
		}
		(void)munmap(s->threads, THREADS_SIZE);
	}
	if (s->known)
		(void)munmap(s->known, KNOWN_SIZE);
	*s = (struct seized){0};
}
