/* SPDX-License-Identifier: MIT */
/*
 * Processes whose probes wait for the turn at their code (target/turn.h).
 *
 * A process that was born, or has executed another program, may be held until it has its probes,
 * and another tracer may have the turn for seconds. The traced process has nothing to do with that:
 * it runs on, and gets its probes as soon as the turn can be had, which is said.
 */
#include <inttypes.h>

#include "session/arrivals/impl.h"

#define TOLD_NS 100000000 /* who was probed by then has hardly been missed */

static struct arrival_waiting *waiting_find(struct arrivals *a, const struct watch_proc *p)
{
	for (uint32_t i = 0; i < a->waiting.len; i++)
		if (a->waiting.data[i].proc == p)
			return &a->waiting.data[i];
	return NULL;
}

void arrivals_waiting_drop(struct arrivals *a, const struct watch_proc *p)
{
	struct arrival_waiting *w = waiting_find(a, p);

	if (w)
		*w = a->waiting.data[--a->waiting.len];
}

bool arrivals_are_waiting(const struct arrivals *a)
{
	return a->waiting.len > 0;
}

bool arrivals_try_turn(struct arrivals *a, const struct watch_proc *p, bool has_execed)
{
	struct arrival_waiting *w = waiting_find(a, p);
	uint64_t now = now_ns();

	/* who has executed gets uprobes; out of a child, our jumps are taken first */
	if (live_try_turn(a->live, watch_id(p)->pid, has_execed, w ? now - w->since : 0))
		return true;
	if (!w) {
		vec_push(&a->waiting, (struct arrival_waiting){.proc = p, .since = now});
		w = vec_last(&a->waiting);
	}
	if (has_execed)
		w->has_execed = true;
	else
		w->is_child = true;
	return false;
}

void arrivals_end_turn(struct arrivals *a, const struct watch_proc *p, bool has_execed)
{
	struct arrival_waiting *w = waiting_find(a, p);
	uint64_t waited = w ? now_ns() - w->since : 0;

	live_end_turns(a->live);
	if (!w)
		return;
	if (waited > TOLD_NS)
		report_adjusted(a->report,
				"process %d was probed %" PRIu64
				" ms late: another dtrace was changing its code",
				(int)watch_id(p)->pid, waited / 1000000);
	if (has_execed)
		w->has_execed = false;
	else
		w->is_child = false;
	if (!w->has_execed && !w->is_child)
		arrivals_waiting_drop(a, p);
}

static struct err *late_err(const struct watch_proc *p)
{
	return err_new("another dtrace is changing the code of process %d", (int)watch_id(p)->pid);
}

void arrivals_waiting_work(struct arrivals *a)
{
	uint32_t n = a->waiting.len;
	CLEANUP(free) struct arrival_waiting *list = NULL;

	if (!n || a->live->is_stopped || a->live->is_interrupted)
		return;
	list = xcalloc(n, sizeof(*list));
	memcpy(list, a->waiting.data, n * sizeof(*list));
	for (uint32_t i = 0; i < n; i++) {
		const struct watch_proc *p = list[i].proc;

		if (!waiting_find(a, p))
			continue;
		if (now_ns() - list[i].since > TURN_WAIT_NS) {
			arrivals_waiting_drop(a, p);
			watch_failed(a->live->watch, p, "its functions are not probed",
				     late_err(p));
			continue;
		}
		if (list[i].has_execed)
			arrivals_follow_exec(a, p, false);
		if (list[i].is_child)
			arrivals_child_place(a, p);
	}
}

void arrivals_waiting_end(struct arrivals *a)
{
	for (uint32_t i = 0; i < a->waiting.len; i++)
		watch_failed(a->live->watch, a->waiting.data[i].proc,
			     "its functions are not probed", late_err(a->waiting.data[i].proc));
	vec_clear(&a->waiting);
}
