/* What happens to a followed process: state by state, event by event. */
#include "watch/states.h"

/* clang-format off */
#define DO(action, next) {WATCH_ACT_##action, WATCH_STATE_##next}

static const struct watch_step steps[WATCH_NSTATES][WATCH_NEVENTS] = {
	/* A process that is made known by the event. Nobody has asked for the others. */
	[WATCH_STATE_NEW] = {
		[WATCH_EV_FOLLOW]     = DO(FOLLOW, RUNS),
		[WATCH_EV_BORN]	      = DO(ADOPT,  HELD),
		[WATCH_EV_EXEC]	      = DO(FORGET, ENDED),
		[WATCH_EV_EXEC_OTHER] = DO(FORGET, ENDED),
		[WATCH_EV_MAPPED]     = DO(FORGET, ENDED),
		[WATCH_EV_LOST]	      = DO(NONE,   NEW),
		[WATCH_EV_TOLD]	      = DO(NONE,   NEW),
		[WATCH_EV_END]	      = DO(NONE,   ENDED),
		[WATCH_EV_STOP]	      = DO(NONE,   ENDED),
	},
	[WATCH_STATE_RUNS] = {
		[WATCH_EV_FOLLOW]     = DO(NONE,   RUNS),
		[WATCH_EV_BORN]	      = DO(RESUME, RUNS), /* that is known already */
		[WATCH_EV_EXEC]	      = DO(EXEC,   HELD),
		[WATCH_EV_EXEC_OTHER] = DO(RENEW,  HELD),
		[WATCH_EV_MAPPED]     = DO(LOOK,   HELD),
		[WATCH_EV_LOST]	      = DO(LOOK,   HELD),
		[WATCH_EV_TOLD]	      = DO(NONE,   RUNS),
		[WATCH_EV_END]	      = DO(BURY,   ENDED),
		[WATCH_EV_STOP]	      = DO(RESUME, OVER),
	},
	/* Somebody else may have resumed it, so it can do something more before all are told. */
	[WATCH_STATE_HELD] = {
		[WATCH_EV_FOLLOW]     = DO(NONE,   HELD),
		[WATCH_EV_BORN]	      = DO(NONE,   HELD),
		[WATCH_EV_EXEC]	      = DO(EXEC,   HELD),
		[WATCH_EV_EXEC_OTHER] = DO(RENEW,  HELD),
		[WATCH_EV_MAPPED]     = DO(LOOK,   HELD),
		[WATCH_EV_LOST]	      = DO(LOOK,   HELD),
		[WATCH_EV_TOLD]	      = DO(RESUME, RUNS),
		[WATCH_EV_END]	      = DO(BURY,   ENDED),
		[WATCH_EV_STOP]	      = DO(RESUME, OVER),
	},
	/* Programs that were on their way when tracing stopped may stop it all the same. */
	[WATCH_STATE_OVER] = {
		[WATCH_EV_FOLLOW]     = DO(NONE,   OVER),
		[WATCH_EV_BORN]	      = DO(RESUME, OVER),
		[WATCH_EV_EXEC]	      = DO(RESUME, OVER),
		[WATCH_EV_EXEC_OTHER] = DO(RESUME, OVER),
		[WATCH_EV_MAPPED]     = DO(RESUME, OVER),
		[WATCH_EV_LOST]	      = DO(RESUME, OVER),
		[WATCH_EV_TOLD]	      = DO(RESUME, OVER),
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
		[WATCH_EV_TOLD]	      = DO(NONE,   ENDED),
		[WATCH_EV_END]	      = DO(NONE,   ENDED),
		[WATCH_EV_STOP]	      = DO(NONE,   ENDED),
	},
};
/* clang-format on */

struct watch_step watch_step(enum watch_state state, enum watch_event ev)
{
	return steps[state][ev];
}
