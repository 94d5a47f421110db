/*
 * The states of a followed process, and what happens in each of them (watch.h has the picture).
 *
 * The table is complete: every event is answered in every state, those that cannot come, too.
 */
#pragma once

#include "base/base.h"

enum watch_state {
	WATCH_STATE_NEW,   /* it is in no list yet */
	WATCH_STATE_RUNS,  /* it is followed */
	WATCH_STATE_HELD,  /* subscribers are told of what it has done; it is stopped if it waits */
	WATCH_STATE_OVER,  /* tracing has stopped: it waits no more, nobody is told */
	WATCH_STATE_ENDED, /* it is taken out of the list */
	WATCH_NSTATES
};

enum watch_event {
	WATCH_EV_FOLLOW,     /* somebody wants to follow it */
	WATCH_EV_BORN,	     /* it is the child of a followed one, and runs for the first time */
	WATCH_EV_EXEC,	     /* it has executed another program */
	WATCH_EV_EXEC_OTHER, /* so has a thread that was not the first: it is another task now */
	WATCH_EV_MAPPED,     /* its dynamic linker has mapped or unmapped something */
	WATCH_EV_LOST,	     /* it may have done any of that */
	WATCH_EV_TOLD,	     /* all subscribers have been told */
	WATCH_EV_END,	     /* it has ended */
	WATCH_EV_STOP,	     /* tracing stops */
	WATCH_NEVENTS
};

enum watch_action {
	WATCH_ACT_NONE,
	WATCH_ACT_FOLLOW, /* programs tell of it from now on */
	WATCH_ACT_ADOPT,  /* a child: tell that it was forked, and what it has mapped */
	WATCH_ACT_EXEC,	  /* tell that it has executed, and what it has mapped */
	WATCH_ACT_RENEW,  /* the same; its links are dead */
	WATCH_ACT_LOOK,	  /* tell what it has mapped and unmapped */
	WATCH_ACT_RESUME, /* it need not wait */
	WATCH_ACT_BURY,	  /* tell that it has ended; take off its links */
	WATCH_ACT_FORGET, /* nobody follows a process of this identity: it need not wait */
	WATCH_NACTIONS
};

struct watch_step {
	enum watch_action action;
	enum watch_state next;
};

struct watch_step watch_step(enum watch_state state, enum watch_event ev);
