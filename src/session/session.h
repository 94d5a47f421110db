/* SPDX-License-Identifier: MIT */
/*
 * A tracing session: the inside of a dtrace_hdl_t. Implements include/dtrace.h.
 *
 * Each part belongs to one phase. It knows only the parts of earlier phases, which it was given
 * when the handle was opened. phases.c goes through the phases in order. Only files with public
 * functions include this header; all others include the header of the part that they need
 * (tests/run.py checks this).
 */
#pragma once

#include "dtrace.h"
#include "base/realtime.h"
#include "privilege/privilege.h"
#include "session/compiler.h"
#include "session/consumer/consumer.h"
#include "session/names.h"
#include "session/options.h"
#include "session/report.h"
#include "session/targets.h"

struct dtrace_hdl {
	uint32_t ncalls; /* public calls that have not returned, one inside another */

	/* open */
	struct arena *arena; /* of the handle */
	struct options opts;
	/* Asked by all parts, which have its address; set before any option is read. */
	struct privileges privileges;
	struct report report;
	struct provider_env env; /* what providers are told of the session */
	struct probes *probes;
	struct realtime *realtime; /* NULL: the thread keeps the class that it has */
	struct names names;
	struct targets targets;
	struct compiler compiler; /* compile */
	struct match match;	  /* match */
	struct live live;	  /* load, go, stop (tracing.h) */
	struct arrivals arrivals; /* what is added to both while it runs */
	struct consumer consumer; /* work */
};

/* Keeps e for dtrace_errmsg(); e may be NULL. Returns what the public function is to return. */
static inline int session_result(dtrace_hdl_t *h, struct err *e)
{
	return e ? report_fail(&h->report, e) : 0;
}

static inline dtrace_hdl_t *session_enter(dtrace_hdl_t *h)
{
	h->ncalls++;
	return h;
}

static inline void session_leave(dtrace_hdl_t **h)
{
	(*h)->ncalls--;
}

/*
 * Stands first in each public function that may call a callback or handler of the program: until
 * the function returns, what would take data away from it is refused (session_check_idle()).
 */
#define SESSION_CALL(h)                                                                            \
	__attribute__((cleanup(session_leave), unused)) dtrace_hdl_t *session_call_ =              \
		session_enter(h)
/*
 * Returns EDT_ACTIVE if a callback or handler runs, because the data that it was given must not
 * change. name: the public function that was called.
 */
MUST_CHECK struct err *session_check_idle(const dtrace_hdl_t *h, const char *name);

/* program.c: fills in p->info. */
MUST_CHECK struct err *program_describe(dtrace_hdl_t *h, struct dtrace_prog *p);
