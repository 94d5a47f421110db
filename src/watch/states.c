/* SPDX-License-Identifier: MIT */
/* The state table of a followed process: an action and the next state for each event. */
#include "watch/states.h"

/* clang-format off */
#define DO(action, next) {WATCH_ACT_##action, WATCH_STATE_##next}

static const struct watch_step steps[WATCH_NSTATES][WATCH_NEVENTS] = {
	/* Only FOLLOW and BORN make a process known; other events are about an unknown process. */
	[WATCH_STATE_NEW] = {
		[WATCH_EV_FOLLOW]     = DO(FOLLOW, RUNS),
		[WATCH_EV_BORN]	      = DO(ADOPT,  HELD),
		[WATCH_EV_EXEC]	      = DO(FORGET, ENDED),
		[WATCH_EV_EXEC_OTHER] = DO(FORGET, ENDED),
		[WATCH_EV_MAPPED]     = DO(FORGET, ENDED),
		[WATCH_EV_LOST]	      = DO(NONE,   NEW),
		[WATCH_EV_SUBSCRIBERS_DONE]	      = DO(NONE,   NEW),
		[WATCH_EV_END]	      = DO(NONE,   ENDED),
		[WATCH_EV_STOP]	      = DO(NONE,   ENDED),
	},
	[WATCH_STATE_RUNS] = {
		[WATCH_EV_FOLLOW]     = DO(NONE,   RUNS),
		[WATCH_EV_BORN]	      = DO(RESUME, RUNS), /* the child is known already */
		[WATCH_EV_EXEC]	      = DO(EXEC,   HELD),
		[WATCH_EV_EXEC_OTHER] = DO(RENEW,  HELD),
		[WATCH_EV_MAPPED]     = DO(LOOK,   HELD),
		[WATCH_EV_LOST]	      = DO(LOOK,   HELD),
		[WATCH_EV_SUBSCRIBERS_DONE]	      = DO(NONE,   RUNS),
		[WATCH_EV_END]	      = DO(BURY,   ENDED),
		[WATCH_EV_STOP]	      = DO(RESUME, OVER),
	},
	/* A SIGCONT of the user may have resumed it, so more events can come before TOLD. */
	[WATCH_STATE_HELD] = {
		[WATCH_EV_FOLLOW]     = DO(NONE,   HELD),
		[WATCH_EV_BORN]	      = DO(NONE,   HELD),
		[WATCH_EV_EXEC]	      = DO(EXEC,   HELD),
		[WATCH_EV_EXEC_OTHER] = DO(RENEW,  HELD),
		[WATCH_EV_MAPPED]     = DO(LOOK,   HELD),
		[WATCH_EV_LOST]	      = DO(LOOK,   HELD),
		[WATCH_EV_SUBSCRIBERS_DONE]	      = DO(RESUME, RUNS),
		[WATCH_EV_END]	      = DO(BURY,   ENDED),
		[WATCH_EV_STOP]	      = DO(RESUME, OVER),
	},
	/* A BPF program that ran while tracing stopped may still stop the process. */
	[WATCH_STATE_OVER] = {
		[WATCH_EV_FOLLOW]     = DO(NONE,   OVER),
		[WATCH_EV_BORN]	      = DO(RESUME, OVER),
		[WATCH_EV_EXEC]	      = DO(RESUME, OVER),
		[WATCH_EV_EXEC_OTHER] = DO(RESUME, OVER),
		[WATCH_EV_MAPPED]     = DO(RESUME, OVER),
		[WATCH_EV_LOST]	      = DO(RESUME, OVER),
		[WATCH_EV_SUBSCRIBERS_DONE]	      = DO(RESUME, OVER),
		[WATCH_EV_END]	      = DO(NONE,   ENDED),
		[WATCH_EV_STOP]	      = DO(RESUME, OVER),
	},
	[WATCH_STATE_ENDED] = {
		[WATCH_EV_FOLLOW]     = DO(NONE,   ENDED),
		[WATCH_EV_BORN]	      = DO(FORGET, ENDED),
		[WATCH_EV_EXEC]	      = DO(FORGET, ENDED),
		[WATCH_EV_EXEC_OTHER] = DO(FORGET, ENDED),
		[WATCH_EV_MAPPED]     = DO(FORGET, ENDED),
		[WATCH_EV_LOST]	      = DO(NONE,   ENDED),
		[WATCH_EV_SUBSCRIBERS_DONE]	      = DO(NONE,   ENDED),
		[WATCH_EV_END]	      = DO(NONE,   ENDED),
		[WATCH_EV_STOP]	      = DO(NONE,   ENDED),
	},
};
/* clang-format on */

struct watch_step watch_step(enum watch_state state, enum watch_event ev)
{
	return steps[state][ev];
}
