/* SPDX-License-Identifier: MIT */
/* Runs the traced threads of a process to a breakpoint (tracees.h). */
#include "target/tracees.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "target/breakpoint.h"
#include "target/code.h"

#define OPTIONS                                                                                    \
	(PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |      \
	 PTRACE_O_TRACEEXEC)
/* Between two looks at threads that run: no call waits for several threads and nothing else. */
#define NAP_MIN_NS  20000
#define NAP_MAX_NS  1000000
#define NAP_LONG_NS 20000000		    /* while no breakpoint can be met */
#define CHECK_NS    ((uint64_t)50000000)    /* how often to look whether the breakpoint is there */
#define STOP_MAX_NS ((uint64_t)20000000000) /* how long threads may take to stop */

struct tracee {
	pid_t tid, tgid;
	bool is_new;   /* the SIGSTOP with which the kernel begins to trace it has not come */
	bool is_asked; /* a SIGSTOP was sent to it and has not come */
	bool is_stopped;
	bool is_halted;	 /* stopped, by a signal that stops a process, until a SIGCONT comes */
	bool is_apart;	 /* it has executed a program, and with that has memory of its own */
	bool is_sharing; /* a new one: it was probably made with the memory of its parent */
	int sig;	 /* the signal that it gets when it goes on */
};

static struct err *ptrace_failed(const struct tracees *t, const char *what)
{
	return err_sys(errno, "cannot %s process %d", what, (int)t->pid);
}

/* ---- single threads -------------------------------------------------------------------------- */

static void tracee_remove(struct tracees *t, uint32_t i)
{
	for (; i + 1 < t->list.len; i++)
		t->list.data[i] = t->list.data[i + 1];
	t->list.len--;
}

/* A thread that was killed while it was stopped cannot go on; its end is reported. */
static struct err *tracee_resume(const struct tracees *t, struct tracee *p)
{
	if (ptrace(PTRACE_CONT, p->tid, NULL, (void *)(long)p->sig) != 0 && errno != ESRCH)
		return ptrace_failed(t, "continue");
	p->is_stopped = p->is_halted = false;
	p->sig = 0;
	return NULL;
}

/* Ends the tracing of a stopped thread, and forgets it. */
static void tracee_release(struct tracees *t, uint32_t i)
{
	const struct tracee *p = &t->list.data[i];

	/* A thread that was killed meanwhile is released by that. */
	(void)ptrace(PTRACE_DETACH, p->tid, NULL, (void *)(long)p->sig);
	tracee_remove(t, i);
}

static bool has_same_memory(const struct tracees *t, const struct tracee *p)
{
	long order = syscall(SYS_kcmp, t->pid, p->tid, KCMP_VM, 0, 0);

	return order < 0 ? p->is_sharing : order == 0; /* a kernel without CONFIG_KCMP */
}

static struct err *breaks_clear_in(const struct tracees *t, pid_t tid)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < t->nbreaks && !e; i++)
		e = breakpoint_clear_in(&t->breaks[i], tid);
	return e;
}

/* A thread or child has stopped before its first instruction. */
static struct err *tracee_begin(struct tracees *t, uint32_t i)
{
	struct tracee *p = &t->list.data[i];
	struct err *e;

	p->tgid = (pid_t)proc_status_field(p->tid, "Tgid");
	if (p->tgid == t->pid || has_same_memory(t, p))
		return NULL;
	e = breaks_clear_in(t, p->tid);
	tracee_release(t, i);
	return e;
}

/* ---- events ---------------------------------------------------------------------------------- */

/*
 * The process executes another program: only the thread that does so is left of it, and is the
 * first one from now on. Its number was former; a SIGSTOP that was sent to it is still to come.
 */
static void tracee_executed(struct tracees *t, uint32_t first, pid_t former)
{
	t->has_executed = true;
	t->hit = 0;
	for (uint32_t i = 0; i < t->list.len; i++)
		if (t->list.data[i].tid == former)
			t->list.data[first].is_asked = t->list.data[i].is_asked;
	for (uint32_t i = t->list.len; i-- > 0;)
		if (t->list.data[i].tgid == t->pid && t->list.data[i].tid != t->pid)
			tracee_remove(t, i);
}

/* Handles a stop of ptrace's own. The thread may be none of the list any more. */
static struct err *event_handle(struct tracees *t, uint32_t i, int event)
{
	unsigned long msg;

	if (ptrace(PTRACE_GETEVENTMSG, t->list.data[i].tid, NULL, &msg) != 0)
		return errno == ESRCH ? NULL : ptrace_failed(t, "follow");
	switch (event) {
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		vec_push(&t->list, (struct tracee){.tid = (pid_t)msg,
						   .is_new = true,
						   .is_sharing = event != PTRACE_EVENT_FORK});
		return NULL;
	case PTRACE_EVENT_EXEC:
		t->list.data[i].is_apart = t->list.data[i].tid != t->pid;
		if (!t->list.data[i].is_apart)
			tracee_executed(t, i, (pid_t)msg);
		else if (!t->list.data[i].is_asked) /* else the SIGSTOP would stop it later */
			tracee_release(t, i);
		return NULL;
	default: return NULL;
	}
}

/* Finds the breakpoint at which the thread has stopped; t->nbreaks = none. */
static uint32_t break_find(const struct tracees *t, pid_t tid, int sig)
{
	uint32_t k = 0;

	while (k < t->nbreaks && !breakpoint_is_hit(&t->breaks[k], tid, sig))
		k++;
	return k;
}

static bool is_stop_signal(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

/* The threads of a process that a signal has stopped go on. */
static void halts_end(struct tracees *t, pid_t tgid)
{
	for (uint32_t i = 0; i < t->list.len; i++)
		if (t->list.data[i].tgid == tgid)
			t->list.data[i].is_halted = false;
}

/*
 * A signal that stops the process, while no breakpoint can be met: it is passed on as others are.
 * When the process stops by it, each thread reports that once more, as a stop that no signal
 * explains.
 */
static void stop_signal_handle(struct tracee *p, int sig)
{
	siginfo_t info;

	p->is_halted = ptrace(PTRACE_GETSIGINFO, p->tid, NULL, &info) != 0 && errno == EINVAL;
	p->sig = p->is_halted ? 0 : sig;
}

static struct err *signal_handle(struct tracees *t, uint32_t i, int sig)
{
	struct tracee *p = &t->list.data[i];
	uint32_t k;

	if (sig == SIGSTOP && p->is_new) {
		p->is_new = p->is_asked = false;
		return tracee_begin(t, i);
	}
	if (sig == SIGSTOP && p->is_asked) {
		p->is_asked = false;
		if (p->is_apart)
			tracee_release(t, i);
		return NULL;
	}
	if (is_stop_signal(sig)) {
		if (!t->nbreaks) /* else it is dropped */
			stop_signal_handle(p, sig);
		return NULL;
	}
	if (sig == SIGCONT)
		halts_end(t, p->tgid);
	k = break_find(t, p->tid, sig);
	if (k == t->nbreaks) {
		p->sig = sig;
		return NULL;
	}
	if (p->tgid != t->pid && t->breaks[k].is_set)
		return err_new("process %d, which shares the memory of process %d, has reached the "
			       "instruction before which that is to be held",
			       (int)p->tgid, (int)t->pid);
	if (!t->hit && p->tgid == t->pid) {
		t->hit = p->tid;
		t->hit_at = k;
	}
	return NULL;
}

/* Handles what waitpid() has said of thread i. */
static struct err *status_handle(struct tracees *t, uint32_t i, int status)
{
	struct tracee *p = &t->list.data[i];
	int event = (int)((unsigned)status >> 16);

	if (!WIFSTOPPED(status)) {
		if (p->tid == t->pid) {
			t->has_ended = true;
			t->status = status;
			t->hit = 0;
		}
		tracee_remove(t, i);
		return NULL;
	}
	p->is_stopped = true;
	p->is_halted = false;
	return event ? event_handle(t, i, event) : signal_handle(t, i, WSTOPSIG(status));
}

/* Looks once at all threads that run; *ret_any: one had something to tell. */
static struct err *tracees_look(struct tracees *t, bool *ret_any)
{
	*ret_any = false;
	for (uint32_t i = t->list.len; i-- > 0;) {
		int status, got;

		if (i >= t->list.len || (t->list.data[i].is_stopped && !t->list.data[i].is_halted))
			continue;
		do
			got = waitpid(t->list.data[i].tid, &status, __WALL | WNOHANG);
		while (got < 0 && errno == EINTR);
		if (got == 0)
			continue;
		*ret_any = true;
		if (got < 0 && t->list.data[i].tid == t->pid)
			return ptrace_failed(t, "wait for");
		if (got < 0) {
			tracee_remove(t, i); /* it became the first thread by executing */
			continue;
		}
		return status_handle(t, i, status);
	}
	return NULL;
}

static void wait_nap(long *ns, long max)
{
	struct timespec ts = {.tv_nsec = *ns};

	(void)nanosleep(&ts, NULL);
	*ns = MIN(*ns * 2, max);
}

/* ---- stopping -------------------------------------------------------------------------------- */

/* Asks what still runs to stop, and counts it. */
static uint32_t stops_ask(struct tracees *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->list.len; i++) {
		struct tracee *p = &t->list.data[i];

		if (p->is_stopped)
			continue;
		if (!p->is_new && !p->is_asked) {
			/* It fails if the thread has just ended, which is reported. */
			(void)syscall(SYS_tgkill, p->tgid, p->tid, SIGSTOP);
			p->is_asked = true;
		}
		n++;
	}
	return n;
}

/*
 * A thread that has stopped for another reason, while a SIGSTOP is still to come, goes on to that.
 * Children that have the memory of the process are let go.
 */
static struct err *stops_complete(struct tracees *t)
{
	struct err *e = NULL;

	for (uint32_t i = t->list.len; i-- > 0 && !e;) {
		struct tracee *p = &t->list.data[i];

		if (p->is_stopped && (p->is_asked || p->is_new))
			e = tracee_resume(t, p);
		else if (p->is_stopped && p->tgid != t->pid)
			tracee_release(t, i);
	}
	return e;
}

/*
 * Stops all threads of the process. A thread that waits for a child with its memory (vfork) stops
 * when the child lets it.
 */
static struct err *tracees_stop(struct tracees *t)
{
	uint64_t begin = now_ns();
	long ns = NAP_MIN_NS;
	struct err *e = NULL;
	bool is_any;

	while (!e && !t->has_ended) {
		e = stops_complete(t);
		if (!e && !stops_ask(t))
			break;
		if (!e)
			e = tracees_look(t, &is_any);
		if (!e && now_ns() - begin > STOP_MAX_NS)
			e = err_new("the threads of process %d do not stop", (int)t->pid);
		if (!e && !is_any)
			wait_nap(&ns, NAP_MAX_NS);
	}
	return e;
}

/* ---- running --------------------------------------------------------------------------------- */

static bool is_over(const struct tracees *t)
{
	return t->hit || t->has_executed || t->has_ended;
}

static struct err *tracees_resume(struct tracees *t)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < t->list.len && !e; i++)
		if (t->list.data[i].is_stopped && !t->list.data[i].is_halted)
			e = tracee_resume(t, &t->list.data[i]);
	return e;
}

/* Whether a SIGCONT has come for a thread or its process: halted, it cannot take the signal. */
static bool is_continued(pid_t tid)
{
	static const char *const fields[] = {"SigPnd:", "ShdPnd:"};
	char path[64], line[256];
	bool ret = false;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		for (size_t i = 0; i < ARRAY_LEN(fields); i++)
			if (strncmp(line, fields[i], strlen(fields[i])) == 0)
				ret |= strtoull(line + strlen(fields[i]), NULL, 16) >>
					       (SIGCONT - 1) &
				       1;
	if (f)
		(void)fclose(f);
	return ret;
}

/*
 * ptrace does not tell that a SIGCONT has come for a process that a signal has stopped. Its threads
 * go on when one was seen twice: between, all have told that they were stopped.
 */
static struct err *halts_check(struct tracees *t, bool *was_continued)
{
	pid_t tgid = 0;

	for (uint32_t i = 0; i < t->list.len && !tgid; i++)
		if (t->list.data[i].is_halted && is_continued(t->list.data[i].tid))
			tgid = t->list.data[i].tgid;
	if (tgid && *was_continued) {
		halts_end(t, tgid);
		*was_continued = false;
		return tracees_resume(t);
	}
	*was_continued = tgid != 0;
	return NULL;
}

/*
 * Looks now and then whether the breakpoints are there. One that is missing twice is gone: when a
 * program is executed, the memory changes some time before ptrace says so.
 */
struct break_check {
	uint64_t at; /* when the last one was */
	uint32_t nmissing;
};

static bool breaks_are_gone(const struct tracees *t, struct break_check *c)
{
	uint64_t now = now_ns();
	bool is_there = true;

	if (now - c->at < CHECK_NS)
		return false;
	c->at = now;
	for (uint32_t i = 0; i < t->nbreaks; i++)
		is_there &= breakpoint_is_there(&t->breaks[i]);
	c->nmissing = is_there ? 0 : c->nmissing + 1;
	return c->nmissing > 1;
}

/* Returns an error if it is no use to wait any longer. */
static struct err *patience_check(const struct tracees *t, struct break_check *c)
{
	if (t->interrupts && *t->interrupts && !t->nbreaks)
		return err_new("interrupted before process %d has executed another program",
			       (int)t->pid);
	if (t->interrupts && *t->interrupts)
		return err_new("interrupted before process %d has come to the instruction before "
			       "which it is to be held",
			       (int)t->pid);
	if (breaks_are_gone(t, c))
		return err_hint(err_new("another tracer has placed a probe at the instruction "
					"before which process %d is to be held, and which it may "
					"have passed",
					(int)t->pid),
				"start the other tracer before dtrace, or behind it");
	return NULL;
}

static struct err *tracees_go(struct tracees *t)
{
	struct break_check check = {.at = now_ns()};
	struct err *e = tracees_resume(t);
	long ns = NAP_MIN_NS;
	bool is_any, was_continued = false;

	while (!e && !is_over(t)) {
		e = tracees_look(t, &is_any);
		if (e || is_over(t))
			break;
		if (is_any) {
			check.nmissing = 0;
			ns = NAP_MIN_NS;
			e = tracees_resume(t);
			continue;
		}
		e = patience_check(t, &check);
		if (!e)
			e = halts_check(t, &was_continued);
		if (!e)
			wait_nap(&ns, t->nbreaks ? NAP_MAX_NS : NAP_LONG_NS);
	}
	return e;
}

/* Returns a thread that has stopped and has the memory of the process; 0 = there is none. */
static pid_t stopped_find(const struct tracees *t)
{
	for (uint32_t i = 0; i < t->list.len; i++) {
		const struct tracee *p = &t->list.data[i];

		if (p->is_stopped && !p->is_new && !p->is_apart)
			return p->tid;
	}
	return 0;
}

/* The breakpoints of a process that has executed are gone with its memory. */
static struct err *breaks_clear(struct tracees *t)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < t->nbreaks && !e && !t->has_ended && !t->has_executed; i++)
		e = breakpoint_clear(&t->breaks[i], stopped_find(t));
	return e;
}

/* Neither clearing nor stopping succeeded: nobody shall meet a breakpoint that is left. */
static void tracees_kill(struct tracees *t)
{
	(void)kill(t->pid, SIGKILL);
	tracees_reap(t, true);
}

struct err *tracees_run(struct tracees *t, struct breakpoint *breaks, uint32_t nbreaks)
{
	struct err *e, *late = NULL;

	t->breaks = breaks;
	t->nbreaks = nbreaks;
	t->hit = 0;
	t->has_executed = false;
	e = tracees_go(t);
	if (e && !stopped_find(t))
		late = tracees_stop(t);
	if (!late)
		late = breaks_clear(t);
	if (!late)
		late = tracees_stop(t);
	if (late)
		tracees_kill(t);
	t->nbreaks = 0;
	if (!e)
		return late;
	err_destroy(late); /* The first error is what the user has to know. */
	return e;
}

/* ---- begin and end --------------------------------------------------------------------------- */

struct err *tracees_init(struct tracees *t, pid_t pid)
{
	*t = (struct tracees){.pid = pid};
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL, OPTIONS) != 0)
		return ptrace_failed(t, "hold");
	vec_push(&t->list, (struct tracee){.tid = pid, .tgid = pid, .is_stopped = true});
	return NULL;
}

void tracees_release(struct tracees *t)
{
	while (t->list.len)
		tracee_release(t, t->list.len - 1);
}

void tracees_reap(struct tracees *t, bool is_waiting)
{
	for (uint32_t i = t->list.len; i-- > 0;) {
		pid_t tid = t->list.data[i].tid, got;
		int status;

		if (tid == t->pid)
			continue;
		if (is_waiting && t->list.data[i].tgid != t->pid)
			(void)kill(tid, SIGKILL); /* it may meet a breakpoint in their memory */
		do
			got = waitpid(tid, &status, __WALL | (is_waiting ? 0 : WNOHANG));
		while (got < 0 && errno == EINTR);
		if (got < 0 || (got == tid && !WIFSTOPPED(status)))
			tracee_remove(t, i);
	}
}

void tracees_deinit(struct tracees *t)
{
	vec_deinit(&t->list);
}
