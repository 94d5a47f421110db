/* SPDX-License-Identifier: MIT */
/* When a process that waits for the tracer is resumed: the tracer could have read its event. */
#include "keeper/spared.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "tap.h"

#define BEGIN 5000000000ull
#define RUN   700000000ull

static const struct spared_sight since = {.time = BEGIN,
					  .progress = 64,
					  .has_events = true,
					  .is_runnable = false,
					  .run = RUN};

static enum spared_verdict judge(uint64_t ns, uint64_t progress, bool is_runnable, uint64_t run)
{
	const struct spared_sight now = {.time = BEGIN + ns,
					 .progress = progress,
					 .has_events = true,
					 .is_runnable = is_runnable,
					 .run = run};

	return spared_judge(&since, &now);
}

/* An event that the tracer has read at once costs one look, not one for each of them. */
static void test_first(void)
{
	struct spared s = {.events = eventfd(0, EFD_CLOEXEC), .thread = getpid()};
	struct spared_sight now = {.time = BEGIN + SPARED_NS, .has_events = true, .run = RUN};

	spared_look(&s, false);
	is_int((int)s.due, 0, "without an event there is no look");
	spared_look(&s, true);
	ok(s.due && due_timeout(s.due, -1) > 0, "the next look is not before its time");
	ok(!s.since.has_events, "although the event was read already");
	is_int(spared_judge(&s.since, &now), SPARED_READS, "one that came since has all the time");
	s.due = 1;
	spared_look(&s, false);
	ok(!s.due, "nothing is to be read: only an event leads to a look");
	(void)close(s.events);
}

int main(void)
{
	const struct spared_sight read = {.time = BEGIN + SPARED_NS, .progress = 128, .run = RUN};

	is_int(spared_judge(&since, &read), SPARED_IDLE, "it has read all");
	is_int(judge(SPARED_NS, 128, false, RUN), SPARED_READS,
	       "it has read: there are later ones");
	is_int(judge(SPARED_NS, 64, false, RUN), SPARED_RESUME, "it sleeps, and reads nothing");
	is_int(judge(SPARED_NS, 64, true, RUN), SPARED_WAITS, "it has had no CPU");
	is_int(judge(SPARED_NS, 64, true, RUN + SPARED_RUN_NS - 1), SPARED_WAITS, "nor enough");
	is_int(judge(SPARED_NS, 64, true, RUN + SPARED_RUN_NS), SPARED_RESUME,
	       "it has had a CPU, and read nothing");
	is_int(judge(SPARED_MOST_NS - 1, 64, true, RUN), SPARED_WAITS, "it has no CPU still");
	is_int(judge(SPARED_MOST_NS, 64, true, RUN), SPARED_RESUME, "but nobody waits for ever");
	is_int(judge(SPARED_MOST_NS, 128, true, RUN), SPARED_READS, "unless it reads");
	is_int(judge(SPARED_NS, 64, true, 0), SPARED_RESUME, "the kernel does not say");
	test_first();
	return tap_done();
}
