/* SPDX-License-Identifier: MIT */
/*
 * Processes that the tracer's programs stop, and that need not wait for a tracer that does
 * something else (keeper_spare()): the keeper's part.
 *
 * A stopped process waits until the tracer has read the event for which it was stopped, and has
 * attended to it. While there are events, the keeper looks at the tracer every SPARED_NS, however
 * many they are and however soon they are read. If the tracer has read none since the last look,
 * although it could have, the processes run on: it slept, was stopped, or used a CPU for something
 * else. On a busy machine it may only have waited for a CPU. Then it has more time, but no more
 * than SPARED_MOST_NS without having read an event. A tracer that reads an event reads all, so
 * each event is unread for that time at most; what it is at work on is a matter of held.h.
 *
 * Owns     the descriptors that it has taken over; they are open until the keeper ends.
 * Units    ns of CLOCK_MONOTONIC, unless something else is said.
 * Errors   errno in the answer to the request. Where the kernel does not say how far the tracer has
 *          read, or whether it waits for a CPU, the processes do not wait longer.
 * Threads  the keeper's only one; no function uses malloc() or stdio streams.
 */
#pragma once

#include "keeper/held.h"

#define SPARED_NS      100000000ull
#define SPARED_MOST_NS 1000000000ull
#define SPARED_RUN_NS  50000000ull /* of a CPU: a tracer that has had so much did something else */

/* The tracer at one moment. */
struct spared_sight {
	uint64_t time;
	uint64_t progress; /* how far it has read */
	bool has_events;   /* that it has not read */
	bool is_runnable;  /* its thread uses a CPU, or waits for one */
	uint64_t run;	   /* ns of a CPU that the thread has had; 0: the kernel does not say */
};

struct spared {
	struct {
		pid_t pid;
		int pidfd;
	} procs[KEEPER_STOPPED_MAX];
	uint32_t n;
	int events;		  /* the ring buffer; -1: there is no process */
	const uint64_t *progress; /* up to which the tracer has read; NULL: it does not say */
	const uint64_t *written;  /* in the page of its writers; NULL: it cannot be mapped */
	pid_t thread;		  /* of the tracer: the one that reads */
	uint64_t due;		  /* when the tracer is looked at again; 0: when there are events */
	/* when an event woke the keeper, or the tracer had read others since the last look */
	struct spared_sight since;
};

enum spared_verdict {
	SPARED_IDLE,   /* there is nothing to be read */
	SPARED_READS,  /* the tracer has read something: the time begins anew */
	SPARED_WAITS,  /* it has had no CPU: more time */
	SPARED_RESUME, /* nobody waits any more */
};

/* Takes over the descriptor of a request KEEPER_SPARED, after those of a request KEEPER_EVENTS. */
void spared_take(struct spared *s, const struct held *h, struct keeper_area *a, int *fd);
/* There is another ring buffer; that of before is gone. */
void spared_renew(struct spared *s, const struct held *h);
bool spared_has(const struct spared *s, pid_t pid);
/* The time for poll() until something is due, in ms, which is `ms` or less; -1: without end. */
int due_timeout(uint64_t due, int ms);
/* Looks at the tracer if that is due, or if there are events and it is not waited for yet. */
void spared_look(struct spared *s, bool has_events);
/* The decision after a look at the tracer, SPARED_NS or more after `since`. */
enum spared_verdict spared_judge(const struct spared_sight *since, const struct spared_sight *now);
