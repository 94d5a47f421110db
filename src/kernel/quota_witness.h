/* SPDX-License-Identifier: MIT */
/*
 * The witness of a session with quotas: a process that says why the kernel has ended the session.
 *
 * SIGKILL ends a session whose process does not run: the alarm of its programs
 * (bpf/alarm.h), and the timer of its thread (quota.h). The session cannot say why any more. The
 * witness waits for its end, looks at the counters that both have left, and writes one message to
 * the session's standard error. It says nothing when the session has ended in another way.
 *
 * The witness has no capabilities, so it is no session that counts. It has two descriptors, that
 * one and a pidfd of the session, and maps the session's control map, some pages, because nobody
 * else can read its counters when the session's process does not run. It ends with the session, at
 * most a second later. Its user can end it, and then has no message; or stop it, and then keeps
 * these pages for each such process of his.
 *
 * Owns     the process, and an area of memory that both share.
 * Units    ns of CLOCK_MONOTONIC, offsets and sizes in bytes.
 * Errors   none: without a witness there is no message.
 * Threads  the area is written by the session's threads, and read when the session has ended.
 */
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "base/base.h"

#define WITNESS_NAME "quota-witness"

struct witness_area {
	/* what the session says: constant when the witness begins */
	char overdrawn[512], stopped[512];
	uint64_t stopped_ns; /* the timer's time */
	/* the counters of CPU time in the session's control map, and how far each may go */
	size_t control_size, taken_off, most_off, stride;
	uint32_t ncounters; /* 0: none is watched */
	pid_t pid;	    /* of the witness; -1: there is none */
	/* what the session does */
	atomic_ullong wound_at; /* shortly before the timer was wound last */
	atomic_bool is_alarmed; /* it has seen a counter above what its CPU may take */
	atomic_bool is_over;	/* it ends by itself, and says why */
};

struct witness_area *witness_area_create(void); /* NULL: there is no memory */
/* Begins the witness, which maps the map of control_fd; the descriptor stays the caller's. */
void witness_begin(struct witness_area *a, int control_fd);
/* Ends the witness, and frees the area, before the session ends in order; NULL is allowed. */
void witness_end(struct witness_area *a);
