/* SPDX-License-Identifier: MIT */
/* Watches processes for the signal that they die of. */
#include "crash/watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "crash/entries.h"
#include "crash/take.h"
#include "files/gate.h"
#include "target/target.h"

#define ROUNDS_MAX  16		 /* threads may be made while others are seized */
#define PATIENCE_NS 500000000ull /* for threads that do not stop */
#define PAUSE_NS    50000

struct tracee {
	pid_t tid, pid;
	bool is_stopped;
	int status; /* of the stop that has not been dealt with; 0: none */
};

struct watch {
	const struct crash_watch_opts *o;
	VEC(struct tracee) tracees;
	pid_t command; /* 0: none was started */
	int command_status;
	struct gate *gate;
	VEC(pid_t) captured; /* processes that are about to end */
};

static struct tracee *tracee_find(struct watch *w, pid_t tid)
{
	for (uint32_t i = 0; i < w->tracees.len; i++)
		if (w->tracees.data[i].tid == tid)
			return &w->tracees.data[i];
	return NULL;
}

static void tracee_forget(struct watch *w, pid_t tid)
{
	struct tracee *t = tracee_find(w, tid);

	if (t)
		*t = w->tracees.data[--w->tracees.len];
}

/* ---- /proc ----------------------------------------------------------------------------------- */

/* Reads a field of /proc/TID/status; base 16: a mask. 0: there is none. */
static uint64_t status_field(pid_t tid, const char *key, int base)
{
	CLEANUP(file) FILE *f = NULL;
	char path[64], line[256];
	size_t len = strlen(key);

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, key, len) == 0 && line[len] == ':')
			return strtoull(line + len + 1, NULL, base);
	return 0;
}

/* Whether the kernel dumps the process when the thread takes this signal. */
static bool signal_is_fatal(pid_t tid, int signal)
{
	uint64_t bit = signal > 0 && signal <= 64 ? 1ull << (signal - 1) : 0;

	switch (signal) {
	case SIGQUIT:
	case SIGILL:
	case SIGTRAP:
	case SIGABRT:
	case SIGBUS:
	case SIGFPE:
	case SIGSEGV:
	case SIGXCPU:
	case SIGXFSZ:
	case SIGSYS:
		return !((status_field(tid, "SigCgt", 16) | status_field(tid, "SigIgn", 16)) & bit);
	}
	return false;
}

/* ---- seizing --------------------------------------------------------------------------------- */

static long trace_options(const struct watch *w)
{
	return PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
	       (w->o->is_following ? PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK : 0);
}

static struct err *thread_seize(struct watch *w, pid_t pid, pid_t tid)
{
	if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)trace_options(w)) == 0) {
		vec_push(&w->tracees, (struct tracee){.tid = tid, .pid = pid});
		return NULL;
	}
	if (errno == ESRCH && tid != pid)
		return NULL; /* the thread has ended */
	if (errno == ESRCH)
		return err_new("there is no process %d", (int)pid);
	return err_hint(err_sys(errno, "cannot trace thread %d of process %d", (int)tid, (int)pid),
			"its user may, or root, unless another debugger has it: look at TracerPid "
			"in /proc/%d/status, and at /proc/sys/kernel/yama/ptrace_scope",
			(int)pid);
}

static struct err *process_seize(struct watch *w, pid_t pid)
{
	char path[64];
	uint32_t before;
	struct err *e = NULL;
	int rounds = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	do {
		DIR *dir = opendir(path);
		struct dirent *d;

		before = w->tracees.len;
		if (!dir)
			return err_sys(errno, "there is no process %d", (int)pid);
		while (!e && (d = readdir(dir))) {
			pid_t tid = (pid_t)strtol(d->d_name, NULL, 10);

			if (tid > 0 && !tracee_find(w, tid))
				e = thread_seize(w, pid, tid);
		}
		(void)closedir(dir);
	} while (!e && w->tracees.len > before && ++rounds < ROUNDS_MAX);
	return e;
}

/* ---- stops ----------------------------------------------------------------------------------- */

static void stops_await(struct watch *w, pid_t pid);

/* Captures the process of a thread that is about to take a fatal signal. */
static void process_capture(struct watch *w, struct tracee *t, const siginfo_t *why)
{
	struct crash_take what = {.tid = t->tid, .why = why, .way = "ptrace", .held_ns = now_ns()};
	char id[CRASH_ID_MAX + 1];
	pid_t pid = t->pid;
	struct err *e;

	stops_await(w, pid);
	e = target_held_open(pid, w->gate, &what.held);
	if (!e) {
		e = crash_take(w->o->store, &what, id);
		target_close(what.held);
	}
	vec_push(&w->captured, pid);
	if (e)
		w->o->failed(w->o->ctx, e);
	else
		w->o->captured(w->o->ctx, pid, why->si_signo, id, now_ns() - what.held_ns);
}

static bool is_captured(const struct watch *w, pid_t pid)
{
	for (uint32_t i = 0; i < w->captured.len; i++)
		if (w->captured.data[i] == pid)
			return true;
	return false;
}

/* Forgets a process that has ended; true: it was captured. */
static bool captured_forget(struct watch *w, pid_t pid)
{
	for (uint32_t i = 0; i < w->captured.len; i++)
		if (w->captured.data[i] == pid) {
			w->captured.data[i] = w->captured.data[--w->captured.len];
			return true;
		}
	return false;
}

/* Lets a thread go on after a stop. */
static void stop_handle(struct watch *w, pid_t tid, int status)
{
	struct tracee *t = tracee_find(w, tid);
	int signal = WSTOPSIG(status), event = status >> 16;
	siginfo_t why;

	t->status = 0;
	if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
		/* a stop of the whole process, which only SIGCONT ends */
		(void)ptrace(PTRACE_LISTEN, tid, NULL, NULL);
		return;
	}
	if (event) {
		(void)ptrace(PTRACE_CONT, tid, NULL, NULL);
		return;
	}
	if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &why) == 0 && signal_is_fatal(tid, signal) &&
	    !is_captured(w, t->pid)) {
		t->is_stopped = true;
		process_capture(w, t, &why);
		t = tracee_find(w, tid);
		if (!t)
			return; /* it was killed meanwhile */
		t->is_stopped = false;
	}
	(void)ptrace(PTRACE_CONT, tid, NULL, (void *)(intptr_t)signal);
}

/* Adds a thread that the kernel has attached for us. */
static struct tracee *tracee_get(struct watch *w, pid_t tid)
{
	struct tracee *t = tracee_find(w, tid);

	if (t)
		return t;
	vec_push(&w->tracees,
		 (struct tracee){.tid = tid, .pid = (pid_t)status_field(tid, "Tgid", 10)});
	t = vec_last(&w->tracees);
	t->pid = t->pid ? t->pid : tid;
	return t;
}

/*
 * Takes note of what wait(2) has said of a thread; true: it has stopped. A thread that has executed
 * another program has the id of the process from then on, and the other threads end silently.
 */
static bool status_take(struct watch *w, pid_t tid, int status)
{
	struct tracee *t;
	unsigned long former = 0;

	if (WIFSTOPPED(status)) {
		t = tracee_get(w, tid);
		if (status >> 16 == PTRACE_EVENT_EXEC &&
		    ptrace(PTRACE_GETEVENTMSG, tid, NULL, &former) == 0 && (pid_t)former != tid) {
			tracee_forget(w, (pid_t)former);
			t = tracee_get(w, tid);
		}
		t->status = status;
		return true;
	}
	t = tracee_find(w, tid);
	if (t && t->tid == t->pid && !captured_forget(w, t->pid))
		w->o->ended(w->o->ctx, t->pid, status);
	if (tid == w->command)
		w->command_status = status;
	tracee_forget(w, tid);
	return false;
}

/* Stops the other threads of a process; those that wait in the kernel are given up after a time. */
static void stops_await(struct watch *w, pid_t pid)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t until = now_ns() + PATIENCE_NS;
	uint32_t left;

	for (uint32_t i = 0; i < w->tracees.len; i++)
		if (w->tracees.data[i].pid == pid && !w->tracees.data[i].is_stopped)
			(void)ptrace(PTRACE_INTERRUPT, w->tracees.data[i].tid, NULL, NULL);
	do {
		left = 0;
		for (uint32_t i = w->tracees.len; i--;) {
			struct tracee *t = &w->tracees.data[i];
			pid_t tid = t->tid;
			int status;

			if (t->pid != pid || t->is_stopped || t->status)
				continue;
			if (waitpid(tid, &status, WNOHANG | __WALL) == tid)
				(void)status_take(w, tid, status);
			else
				left++;
		}
		if (left)
			(void)nanosleep(&pause, NULL);
	} while (left && now_ns() < until);
}

/* Deals with the stops that were put off while another thread's was. */
static void stops_handle(struct watch *w)
{
	for (uint32_t i = 0; i < w->tracees.len; i++) {
		if (!w->tracees.data[i].status)
			continue;
		stop_handle(w, w->tracees.data[i].tid, w->tracees.data[i].status);
		i = (uint32_t)-1; /* the list may have changed */
	}
}

/*
 * Lets all threads go. Each must stop for that; the kernel lets those go that do not, when we end.
 */
static void tracees_release(struct watch *w)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t until = now_ns() + PATIENCE_NS;

	for (uint32_t i = 0; i < w->tracees.len; i++)
		(void)ptrace(PTRACE_INTERRUPT, w->tracees.data[i].tid, NULL, NULL);
	while (w->tracees.len && now_ns() < until) {
		for (uint32_t i = w->tracees.len; i--;) {
			pid_t tid = w->tracees.data[i].tid;
			int status = 0, signal;

			if (waitpid(tid, &status, WNOHANG | __WALL) == 0)
				continue;
			signal = !(status >> 16) ? WSTOPSIG(status) : 0;
			if (WIFSTOPPED(status))
				(void)ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)signal);
			tracee_forget(w, tid);
		}
		if (w->tracees.len)
			(void)nanosleep(&pause, NULL);
	}
}

static struct err *watch_run(struct watch *w)
{
	struct err *e = NULL;

	while (w->tracees.len && !*w->o->is_interrupted && !e) {
		int status;
		pid_t tid = waitpid(-1, &status, __WALL);

		if (tid > 0 && (WIFSTOPPED(status) || tracee_find(w, tid))) {
			(void)status_take(w, tid, status);
			stops_handle(w);
		} else if (tid < 0 && errno != EINTR) {
			if (errno == ECHILD)
				break;
			e = err_sys(errno, "cannot wait for processes");
		}
	}
	tracees_release(w);
	vec_deinit(&w->tracees);
	vec_deinit(&w->captured);
	gate_destroy(w->gate);
	return e;
}

struct err *crash_watch_pid(const struct crash_watch_opts *o, pid_t pid)
{
	struct watch w = {.o = o, .gate = gate_create()};
	struct err *e = process_seize(&w, pid);

	if (!e)
		return watch_run(&w);
	tracees_release(&w);
	vec_deinit(&w.tracees);
	gate_destroy(w.gate);
	return e;
}

/* ---- a command ------------------------------------------------------------------------------- */

/* The child waits until it is traced; it ends with the status of a shell if it cannot execute. */
static void command_exec(int gate_fd, int report_fd, char *const *argv)
{
	int error;
	char go;

	if (read(gate_fd, &go, 1) != 1)
		_exit(127);
	(void)execvp(argv[0], argv);
	error = errno;
	(void)!write(report_fd, &error, sizeof(error));
	_exit(127);
}

struct err *crash_watch_command(const struct crash_watch_opts *o, char *const *argv,
				int *ret_status)
{
	struct watch w = {.o = o, .gate = gate_create()};
	int go[2], report[2], error = 0;
	struct err *e;

	if (pipe2(go, O_CLOEXEC) != 0 || pipe2(report, O_CLOEXEC) != 0)
		return err_sys(errno, "cannot start '%s'", argv[0]);
	w.command = fork();
	if (w.command == 0) {
		(void)close(go[1]);
		command_exec(go[0], report[1], argv);
	}
	(void)close(report[1]);
	(void)close(go[0]);
	e = w.command < 0 ? err_sys(errno, "cannot start '%s'", argv[0])
			  : thread_seize(&w, w.command, w.command);
	if (!e && write(go[1], "", 1) != 1)
		e = err_sys(errno, "cannot start '%s'", argv[0]);
	(void)close(go[1]);
	if (!e) {
		e = watch_run(&w);
	} else {
		vec_deinit(&w.tracees);
		gate_destroy(w.gate);
	}
	if (!e && read(report[0], &error, sizeof(error)) == sizeof(error))
		e = err_sys(error, "cannot execute '%s'", argv[0]);
	(void)close(report[0]);
	*ret_status = w.command_status;
	return e;
}

/* ---- at once --------------------------------------------------------------------------------- */

struct err *crash_take_pid(const struct crash_store *s, pid_t pid, char *ret_id,
			   uint64_t *ret_held_ns)
{
	struct gate *gate = gate_create();
	struct crash_take what = {.tid = pid, .way = "hold", .held_ns = now_ns()};
	struct err *e = target_hold(pid, gate, &what.held);

	if (!e) {
		e = crash_take(s, &what, ret_id);
		target_close(what.held);
		*ret_held_ns = now_ns() - what.held_ns;
	}
	gate_destroy(gate);
	return e;
}
