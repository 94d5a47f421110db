/* SPDX-License-Identifier: MIT */
/* Processes that need not wait for a tracer that does something else (spared.h). */
#include "keeper/spared.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>

#include "target/ident.h"

/* ---- looking --------------------------------------------------------------------------------- */

/* Linux Documentation/scheduler/sched-stats.rst: the first number is the time on a CPU, in ns. */
static uint64_t run_read(pid_t thread)
{
	char text[128], path[64];
	uint64_t ns = 0;
	ssize_t len;
	CLEANUP(fd) int fd = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, sizeof(text));
	for (ssize_t i = 0; i < len && text[i] >= '0' && text[i] <= '9'; i++)
		ns = ns * 10 + (uint64_t)(text[i] - '0');
	return ns;
}

/* The progress is read first: an event that is unread after it was unread then. */
static struct spared_sight sight_read(const struct spared *s)
{
	struct pollfd events = {.fd = s->events, .events = POLLIN};
	struct spared_sight now = {.time = now_ns()};

	if (s->progress)
		now.progress = __atomic_load_n(s->progress, __ATOMIC_ACQUIRE);
	/* those that were read are in the buffer until the process was attended to */
	now.has_events =
		poll(&events, 1, 0) == 1 &&
		(!s->written || __atomic_load_n(s->written, __ATOMIC_ACQUIRE) > now.progress);
	now.is_runnable = proc_is_running(s->thread);
	now.run = run_read(s->thread);
	return now;
}

enum spared_verdict spared_judge(const struct spared_sight *since, const struct spared_sight *now)
{
	if (!now->has_events)
		return SPARED_IDLE;
	if (!since->has_events || now->progress != since->progress)
		return SPARED_READS;
	if (now->is_runnable && now->run && now->run - since->run < SPARED_RUN_NS &&
	    now->time - since->time < SPARED_MOST_NS)
		return SPARED_WAITS;
	return SPARED_RESUME;
}

static void spared_resume(const struct spared *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (proc_is_stopped(s->procs[i].pid))
			(void)syscall(SYS_pidfd_send_signal, s->procs[i].pidfd, SIGCONT, NULL, 0);
}

void spared_look(struct spared *s, bool has_events)
{
	struct spared_sight now;
	enum spared_verdict verdict;

	if (s->events < 0 || (s->due ? now_ns() < s->due : !has_events))
		return;
	now = sight_read(s);
	/* the first look begins the time, also where the event is read by now */
	verdict = s->due ? spared_judge(&s->since, &now) : SPARED_READS;
	s->due = now.time + SPARED_NS;
	if (verdict == SPARED_READS)
		s->since = now;
	else if (verdict != SPARED_WAITS)
		s->due = 0;
	if (verdict == SPARED_RESUME)
		spared_resume(s);
}

int due_timeout(uint64_t due, int ms)
{
	uint64_t now = now_ns();
	int left = due > now ? (int)((due - now) / 1000000) + 1 : 0;

	if (!due)
		return ms;
	return ms < 0 ? left : MIN(ms, left);
}

/* ---- the request ----------------------------------------------------------------------------- */

void spared_take(struct spared *s, const struct held *h, struct keeper_area *a, int *fd)
{
	a->sys = s->n == KEEPER_STOPPED_MAX ? EUSERS : h->events_fd < 0 ? EINVAL : 0;
	a->step = UPROBE_STOPPED;
	if (a->sys)
		return;
	s->events = h->events_fd;
	s->progress = &a->events_seen;
	s->written = h->events.written;
	s->thread = h->thread;
	s->procs[s->n].pid = a->pid;
	s->procs[s->n++].pidfd = fd_take(fd);
}

void spared_renew(struct spared *s, const struct held *h)
{
	s->written = h->events.written;
	s->due = 0;
	if (s->events >= 0)
		s->events = h->events_fd;
}

bool spared_has(const struct spared *s, pid_t pid)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->procs[i].pid == pid)
			return true;
	return false;
}
