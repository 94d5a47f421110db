/* SPDX-License-Identifier: MIT */
/*
 * The protocol between the tracer (keeper.c) and the keeper's process (keeper_run.c), which makes
 * and holds uprobes.
 *
 * Owns     the tracer maps struct keeper_area, which both share; a descriptor that is sent belongs
 *          to its receiver, and links belong to the keeper.
 * Units    offsets in bytes of the file; times in ns of CLOCK_MONOTONIC.
 * Errors   errno in keeper_area.sys with the step that failed; 0: the request succeeded.
 * Threads  one request at a time, of the thread that works.
 */
#pragma once

#include "keeper/keeper.h"

/*
 * A request lies in memory that both processes share. A byte over the socket announces the request
 * and passes the descriptors of the program and of the file; the keeper sends a byte back when the
 * request is done.
 */
enum keeper_op {
	KEEPER_MULTI,	    /* one link for all sites */
	KEEPER_SINGLE,	    /* one uprobe as a perf event */
	KEEPER_SWEEP,	    /* keeper_sweep(): the answer is sent before the work is done */
	KEEPER_STOPPED,	    /* the first descriptor is a pidfd */
	KEEPER_EVENTS,	    /* the first descriptor is the ring buffer of events: keeper_events() */
	KEEPER_SPARED,	    /* the first descriptor is of process pid: keeper_spare() */
	KEEPER_STOPPED_MAP, /* the first descriptor is a map of processes */
	KEEPER_HOLD,	    /* the keeper holds both descriptors until it ends */
	KEEPER_FENCE,	    /* the first is the link of the fence: held until all uprobes are off */
	KEEPER_PATCHED,	    /* descriptors of a process with windows, id in offsets[0] */
	KEEPER_OWNED,	    /* the descriptors of keeper_owned(), id in offsets[0] */
	KEEPER_OWNER_WORDS, /* passes no descriptors: the journal has others, or another pointer */
	KEEPER_DISOWNED,  /* passes no descriptors: no maker of that process is stopped any more */
	KEEPER_UNPATCHED, /* passes no descriptors: that process has none any more */
	/* passes no descriptors; closes the links of the group or, if that is 0, of process pid */
	KEEPER_DROP,
	/* passes no descriptors, gets no answer: end, and let another process detach the uprobes */
	KEEPER_DETACH_ELSEWHERE,
};

/* The steps at which a request can fail (keeper.c has a row for each). */
enum uprobe_step {
	UPROBE_PASS,
	UPROBE_MULTI,
	UPROBE_EVENT,
	UPROBE_LINK,
	UPROBE_START,
	UPROBE_STOPPED,
	UPROBE_PATCHED,
	UPROBE_OWNED,
	UPROBE_NSTEPS
};

#define KEEPER_STOPPED_MAX 64
#define KEEPER_FDS	   3 /* the most descriptors that a request passes */

struct keeper_area {
	enum keeper_op op;
	pid_t pid;
	pid_t thread; /* KEEPER_EVENTS: the tracer's, which reads the events */
	uint32_t group;
	uint32_t pmu_type;  /* KEEPER_SINGLE */
	uint32_t warm_type; /* the type of uprobes if the keeper is to be warm; else 0 */
	uint32_t n;
	bool is_returned; /* as in struct uprobe_sites */
	bool waits;	  /* KEEPER_DROP */
	bool is_done; /* the tracer ends in order: it has resumed all processes that it stopped */
	/* Positions in the ring buffer: up to which the tracer has read, and others have run on. */
	uint64_t events_seen, events_resumed;
	uint64_t nresumed; /* processes that have run on before the tracer has attended to them */
	/* the answer: errno; 0: the request succeeded */
	int sys;
	enum uprobe_step step;
	uint64_t placed_at; /* ns; when the last uprobes were in place */
	uint64_t offsets[KEEPER_SITES_MAX], cookies[KEEPER_SITES_MAX];
	bool has_counters;
	uint64_t counters[KEEPER_SITES_MAX];
	uint64_t swept[KEEPER_SITES_MAX]; /* used by the keeper alone, during KEEPER_SWEEP */
};

/*
 * The main function of the keeper process (keeper_run.c); parent_fd is a pidfd of the tracer. It
 * makes only async-signal-safe calls.
 */
NORETURN void keeper_run(struct keeper_area *area, int sock, int parent_fd, pid_t parent);
