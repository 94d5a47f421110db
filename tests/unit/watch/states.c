/* SPDX-License-Identifier: MIT */
/*
 * The table of a followed process: what holds for every state and every event.
 *
 * Each pair is looked at, and compared with what is written here in another form: which events are
 * told in which states, and where they lead.
 */
#include "tap.h"

#include "watch/states.h"

static const char *const states[WATCH_NSTATES] = {"new", "runs", "held", "over", "ended"};
static const char *const events[WATCH_NEVENTS] = {"follow", "born",
						  "exec",   "exec by another thread",
						  "mapped", "lost",
						  "told",   "end",
						  "stop"};

/* A letter for each action; the next state. Columns are in the order of enum watch_event. */
static const char *const want[WATCH_NSTATES] = {
	/* follow born exec other mapped lost told end stop */
	"Fr Ah Xe Xe Xe .n .n .e .e", ".r Rr Eh Nh Lh Lh .r Be Ro", ".h .h Eh Nh Lh Lh Rr Be Ro",
	".o Ro Ro Ro Ro Ro Ro .e Ro", ".e Xe Xe Xe Xe .e .e .e .e",
};
static const char actions[WATCH_NACTIONS] = {
	[WATCH_ACT_NONE] = '.',	  [WATCH_ACT_FOLLOW] = 'F', [WATCH_ACT_ADOPT] = 'A',
	[WATCH_ACT_EXEC] = 'E',	  [WATCH_ACT_RENEW] = 'N',  [WATCH_ACT_LOOK] = 'L',
	[WATCH_ACT_RESUME] = 'R', [WATCH_ACT_BURY] = 'B',   [WATCH_ACT_FORGET] = 'X',
};

static bool tells(enum watch_action a)
{
	return a == WATCH_ACT_ADOPT || a == WATCH_ACT_EXEC || a == WATCH_ACT_RENEW ||
	       a == WATCH_ACT_LOOK;
}

/* The events with which one of our programs may have stopped the process. */
static bool may_stop(enum watch_event ev)
{
	return ev == WATCH_EV_BORN || ev == WATCH_EV_EXEC || ev == WATCH_EV_EXEC_OTHER ||
	       ev == WATCH_EV_MAPPED;
}

static void test_pair(enum watch_state s, enum watch_event ev)
{
	struct watch_step step = watch_step(s, ev),
			  after = watch_step(step.next, WATCH_EV_SUBSCRIBERS_DONE);
	const char *w = want[s] + 3 * ev;
	bool lets_go = step.action == WATCH_ACT_RESUME || step.action == WATCH_ACT_FORGET ||
		       after.action == WATCH_ACT_RESUME;

	ok(w[0] == actions[step.action] && w[1] == states[step.next][0], "%s, %s: %c, %s",
	   states[s], events[ev], actions[step.action], states[step.next]);
	if (tells(step.action))
		ok(step.next == WATCH_STATE_HELD && after.action == WATCH_ACT_RESUME &&
			   after.next == WATCH_STATE_RUNS,
		   "it runs on when all are told");
	if (may_stop(ev) && !(s == WATCH_STATE_HELD && ev == WATCH_EV_BORN))
		ok(lets_go, "it does not stay stopped");
	if (s == WATCH_STATE_OVER || s == WATCH_STATE_ENDED)
		ok(!tells(step.action) && step.next >= s, "nobody is told, and it stays so");
	if (ev == WATCH_EV_END)
		ok(step.next == WATCH_STATE_ENDED, "the end is the end");
}

int main(void)
{
	for (int s = 0; s < WATCH_NSTATES; s++)
		for (int ev = 0; ev < WATCH_NEVENTS; ev++)
			test_pair((enum watch_state)s, (enum watch_event)ev);
	return tap_done();
}
