/* SPDX-License-Identifier: MIT */
/* When a process that waits for the tracer is let go: the tracer does not come by. */
#include "keeper/held.h"

#include "tap.h"

#define BEGIN 5000000000ull

static const struct held_sight since = {.time = BEGIN, .attended = 64, .has_events = true};

static enum held_verdict judge(uint64_t ns, uint64_t attended, bool is_at_work, bool is_stopped)
{
	const struct held_sight now = {.time = BEGIN + ns,
				       .attended = attended,
				       .has_events = true,
				       .is_at_work = is_at_work,
				       .is_stopped = is_stopped};

	return held_judge(&since, &now);
}

int main(void)
{
	const struct held_sight none = {.time = BEGIN, .attended = 64};
	const struct held_sight done = {.time = BEGIN + HELD_MOST_NS, .attended = 128};
	const struct held_sight first = {.time = BEGIN + HELD_MOST_NS,
					 .attended = 64,
					 .has_events = true,
					 .is_stopped = true};

	is_int(held_judge(&since, &done), HELD_IDLE, "it has attended to all");
	is_int(held_judge(&none, &first), HELD_MOVES, "an event that came since has all the time");
	is_int(judge(HELD_MOST_NS, 128, false, false), HELD_MOVES, "a long queue");
	is_int(judge(HELD_LOOK_NS, 64, false, true), HELD_RESUME, "it is stopped");
	is_int(judge(HELD_LOOK_NS, 64, true, true), HELD_RESUME, "while it was at work");
	is_int(judge(HELD_NS - 1, 64, false, false), HELD_WAITS, "it waits for something");
	is_int(judge(HELD_NS, 64, false, false), HELD_RESUME, "for too long");
	is_int(judge(HELD_NS, 64, true, false), HELD_WAITS, "it is at work");
	is_int(judge(HELD_MOST_NS, 64, true, false), HELD_RESUME, "but nobody waits for ever");
	return tap_done();
}
