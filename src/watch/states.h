/* SPDX-License-Identifier: MIT */
/*
 * The states of a followed process, and what happens in each of them (watch.h has the picture).
 *
 * The table is complete: it has an answer to every event in every state, even where the event
 * cannot come.
 */
#pragma once

#include "base/base.h"

enum watch_state {
	WATCH_STATE_NEW,   /* the process is in no list yet */
	WATCH_STATE_RUNS,  /* the process is followed, and runs */
	WATCH_STATE_HELD,  /* subscribers are being called; a process with WATCH_STOPS is stopped */
	WATCH_STATE_OVER,  /* tracing has stopped: no subscriber is called, no process waits */
	WATCH_STATE_ENDED, /* the process is taken out of the list */
	WATCH_NSTATES
};

enum watch_event {
	WATCH_EV_FOLLOW,     /* watch_follow() was called for the process */
	WATCH_EV_BORN,	     /* the child of a followed process runs for the first time */
	WATCH_EV_EXEC,	     /* the process has executed another program */
	WATCH_EV_EXEC_OTHER, /* the same by a thread that was not the first: its task changes */
	WATCH_EV_MAPPED,     /* its dynamic linker has mapped or unmapped a library */
	WATCH_EV_LOST,	     /* events were lost: the process may have done any of the above */
	WATCH_EV_SUBSCRIBERS_DONE, /* all subscribers were called */
	WATCH_EV_END,		   /* the process has ended */
	WATCH_EV_STOP,		   /* tracing stops */
	WATCH_NEVENTS
};

enum watch_action {
	WATCH_ACT_NONE,
	WATCH_ACT_FOLLOW, /* make the BPF programs report the process from now on */
	WATCH_ACT_ADOPT,  /* report the fork of a child, and what the child has mapped */
	WATCH_ACT_EXEC,	  /* report the exec, and what the process has mapped since */
	WATCH_ACT_RENEW,  /* the same as WATCH_ACT_EXEC, after its old links have died */
	WATCH_ACT_LOOK,	  /* report what the process has mapped and unmapped */
	WATCH_ACT_RESUME, /* let the process run on */
	WATCH_ACT_BURY,	  /* report the end of the process; take off its links */
	WATCH_ACT_FORGET, /* nothing follows the process: let it run on */
	WATCH_NACTIONS
};

struct watch_step {
	enum watch_action action;
	enum watch_state next;
};

struct watch_step watch_step(enum watch_state state, enum watch_event ev);
