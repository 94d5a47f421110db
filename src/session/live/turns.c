/* SPDX-License-Identifier: MIT */
/* The turns (target/turn.h) of the processes whose code is probed. */
#include "session/live/live.h"

#define TOLD_NS 100000000 /* who has waited for less has not noticed it */

void live_note_code(struct live *live, pid_t pid)
{
	uint32_t i = 0;

	while (i < live->coded.len && live->coded.data[i] < pid)
		i++;
	if (i < live->coded.len && live->coded.data[i] == pid)
		return;
	vec_push(&live->coded, pid);
	memmove(&live->coded.data[i + 1], &live->coded.data[i],
		(live->coded.len - 1 - i) * sizeof(pid));
	live->coded.data[i] = pid;
}

static bool turns_are_shared(const struct live *live)
{
	return !live->inprocs.of.len || live->shares_turns;
}

struct err *live_begin_turn(struct live *live, pid_t pid, bool shares)
{
	uint64_t waited;
	struct turn turn;
	struct err *e = turn_begin(pid, shares, &live->is_interrupted, &turn, &waited);

	if (e)
		return e;
	vec_push(&live->turns, turn);
	if (waited > TOLD_NS)
		report_adjusted(live->report,
				"waited %u ms for another dtrace that was changing the code of "
				"process %d",
				(unsigned int)(waited / 1000000), (int)pid);
	return NULL;
}

bool live_try_turn(struct live *live, pid_t pid, bool shares, uint64_t waited_ns)
{
	struct turn turn;

	if (!turn_try(pid, shares || turns_are_shared(live), waited_ns, &turn))
		return false;
	vec_push(&live->turns, turn);
	return true;
}

/* All take them in the same order, so none waits for one that waits for it. */
struct err *live_begin_turns(struct live *live)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < live->coded.len && !e; i++)
		e = live_begin_turn(live, live->coded.data[i], turns_are_shared(live));
	if (e)
		live_end_turns(live);
	return e;
}

struct err *live_share_turns(struct live *live, struct err *e)
{
	if (live->opts->val[OPT_inproc] == INPROC_ALL)
		return err_wrap(e, "option inproc");
	live->shares_turns = true;
	report_adjusted(live->report, "%s; the probes are uprobes", err_text(e));
	err_destroy(e);
	return NULL;
}

void live_end_turns(struct live *live)
{
	for (uint32_t i = 0; i < live->turns.len; i++)
		turn_end(&live->turns.data[i]);
	vec_clear(&live->turns);
}

void live_deinit_turns(struct live *live)
{
	live_end_turns(live);
	vec_deinit(&live->turns);
	vec_deinit(&live->coded);
}
