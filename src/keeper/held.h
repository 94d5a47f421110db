/* SPDX-License-Identifier: MIT */
/*
 * Processes that a program of the tracer's has stopped wait for the tracer, but not for ever: when
 * it does not come by, the keeper lets them go on.
 *
 * A process is stopped when it was born, executes a program, or opens a library (watch/follow.h),
 * and each stop has an event. The tracer gives an event up when the process was attended to, so
 * what is in the ring buffer still waits. Time counts while the tracer gives none up: a long queue
 * is no reason to let anybody go.
 *
 *     it is stopped itself                   they go on at the next look
 *     it waits, as for who reads its output  after HELD_NS
 *     it runs, or attends to an event        after HELD_MOST_NS
 *
 * From then on, until the tracer gives up an event, those that come are let go at the next look.
 * Each is resumed once, and only if its event says that it was stopped for it: who was stopped by
 * its user stays so. The tracer is told how many they were, and up to which event.
 *
 * Owns     the descriptor and the mappings, until the keeper ends.
 * Units    ns of CLOCK_MONOTONIC; positions in the ring buffer.
 * Threads  the keeper's only one; all is async-signal-safe.
 */
#pragma once

#include "keeper/keeper_impl.h"
#include "kernel/ringbuf.h"

#define HELD_LOOK_NS  100000000ull
#define HELD_AGAIN_NS 10000000ull /* between looks while others come that wait for nothing */
#define HELD_NS	      1000000000ull
#define HELD_MOST_NS  10000000000ull

struct spared;

/* The tracer at one moment. */
struct held_sight {
	uint64_t time;
	uint64_t attended; /* so far it has given events up */
	bool has_events;   /* that it has not */
	bool is_at_work; /* it has read the first of them, or its thread uses a CPU, or wants one */
	bool is_stopped;
};

struct held {
	int events_fd; /* -1: no process is stopped */
	struct ringbuf events;
	pid_t thread; /* of the tracer: the one that reads */
	uint64_t due; /* when the tracer is looked at again; 0: when there are events */
	struct held_sight since;
};

enum held_verdict {
	HELD_IDLE,   /* nobody waits */
	HELD_MOVES,  /* the tracer has attended to some: the time begins anew */
	HELD_WAITS,  /* it has more time */
	HELD_RESUME, /* nobody waits any more */
};

/* Takes over the descriptor of a request KEEPER_EVENTS, instead of that of an earlier one. */
void held_take(struct held *h, struct keeper_area *a, int *fd);
/* Looks at the tracer if that is due, or if there are events and it is not waited for yet. */
void held_look(struct held *h, const struct spared *s, struct keeper_area *a, bool has_events);
enum held_verdict held_judge(const struct held_sight *since, const struct held_sight *now);
