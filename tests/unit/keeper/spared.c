/* SPDX-License-Identifier: MIT */
/* When a process that waits for the tracer is resumed: the tracer could have read its event. */
#include "keeper/spared.h"

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
	return tap_done();
}
