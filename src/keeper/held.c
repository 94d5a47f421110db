/* SPDX-License-Identifier: MIT */
/* Lets processes go on that wait for a tracer that does not come by (held.h). */
#include "keeper/held.h"

#include <errno.h>
#include <unistd.h>

#include "keeper/spared.h"
#include "rt/follow.h"
#include "target/ident.h"

static struct held_sight sight_read(const struct held *h, const struct keeper_area *a)
{
	struct held_sight now = {.time = now_ns(), .attended = ringbuf_begin(&h->events)};
	uint64_t pos = now.attended;
	uint32_t len;

	now.has_events = ringbuf_next(&h->events, &pos, &len);
	now.is_at_work = __atomic_load_n(&a->events_seen, __ATOMIC_ACQUIRE) > now.attended ||
			 proc_is_running(h->thread);
	now.is_stopped = proc_is_stopped(h->thread);
	return now;
}

enum held_verdict held_judge(const struct held_sight *since, const struct held_sight *now)
{
	uint64_t limit = now->is_stopped ? 0 : now->is_at_work ? HELD_MOST_NS : HELD_NS;

	if (!now->has_events)
		return HELD_IDLE;
	if (!since->has_events || now->attended != since->attended)
		return HELD_MOVES;
	return now->time - since->time < limit ? HELD_WAITS : HELD_RESUME;
}

/* Returns false if the process does not wait: spared.c may have let it go before. */
static bool process_resume(const struct spared *s, const struct rt_watch_event *ev)
{
	pid_t pid = (pid_t)ev->pid;

	if (!ev->stops || (spared_has(s, pid) && !proc_is_stopped(pid)))
		return false;
	proc_resume_exact(pid, ev->start);
	return true;
}

static void held_resume(const struct held *h, const struct spared *s, struct keeper_area *a)
{
	uint64_t pos = ringbuf_begin(&h->events), done = a->events_resumed;
	const struct rt_watch_event *ev;
	uint32_t len;

	while ((ev = ringbuf_next(&h->events, &pos, &len))) {
		if (pos <= done || len < sizeof(*ev))
			continue;
		__atomic_store_n(&a->events_resumed, pos, __ATOMIC_RELEASE);
		if (process_resume(s, ev))
			__atomic_fetch_add(&a->nresumed, 1, __ATOMIC_RELAXED);
	}
}

void held_look(struct held *h, const struct spared *s, struct keeper_area *a, bool has_events)
{
	struct held_sight now;
	enum held_verdict verdict;

	if (!h->events.read || (h->due ? now_ns() < h->due : !has_events))
		return;
	now = sight_read(h, a);
	verdict = held_judge(&h->since, &now);
	h->due = now.time + (verdict == HELD_RESUME ? HELD_AGAIN_NS : HELD_LOOK_NS);
	if (verdict == HELD_IDLE)
		h->due = 0;
	if (verdict == HELD_IDLE || verdict == HELD_MOVES)
		h->since = now;
	if (verdict == HELD_RESUME)
		held_resume(h, s, a);
}

void held_take(struct held *h, struct keeper_area *a, int *fd)
{
	struct ringbuf events;

	a->step = UPROBE_STOPPED;
	a->sys = ringbuf_map(*fd, false, &events);
	if (a->sys)
		return;
	ringbuf_unmap(&h->events);
	if (h->events_fd >= 0)
		(void)close(h->events_fd);
	*h = (struct held){.events_fd = fd_take(fd), .events = events, .thread = a->thread};
	a->events_resumed = 0; /* positions are those of the new buffer */
}
