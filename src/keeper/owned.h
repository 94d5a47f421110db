/* SPDX-License-Identifier: MIT */
/*
 * The processes with an owner thread (patch/owner.c), in which a program of the tracer's stops the
 * makers of twins: the keeper makes the owner words 0, and lets the maker go on.
 *
 * It does so because nothing keeps it from it: the tracer may be stopped, or wait until somebody
 * reads its output. For the same reason it is the keeper that writes the thread pointer to the
 * words: so none is written behind its back after a twin was made. Each event of the program is one
 * stop, which comes before the event can be read, so each that is read is answered by one SIGCONT:
 * a process that its user has stopped stays stopped.
 *
 * Owns     the descriptors, until owned_drop() or owned_release().
 * Errors   errno in the answer to a request. That a process has ended is no error.
 * Threads  all is async-signal-safe.
 */
#pragma once

#include "base/base.h"
#include "kernel/ringbuf.h"

#define OWNED_MAX 256 /* as many as can have windows (patched.h) */

struct patched;

struct owned {
	struct owned_process {
		uint64_t id; /* of the journal, which is in the list of struct patched */
		int pidfd, events_fd, procs_fd;
		struct ringbuf events;
		bool has_twin;
	} list[OWNED_MAX];
	uint32_t n;
	int poll_fd; /* is readable when there are events; -1: there was no process yet */
};

/*
 * Takes the descriptors over: of the process, of the ring buffer with the events, and of the map
 * with the process, which is emptied when makers are to be stopped no more. Returns 0 or errno.
 */
int owned_add(struct owned *o, uint64_t id, const int fds[3]);
/* Makes the owner words what the journal says, unless there is a twin. */
void owned_write(const struct owned *o, const struct patched *p, uint64_t id);
/* Lets those go on that have made a twin. */
void owned_look(struct owned *o, const struct patched *p);
/* Makers are not stopped any more; who was goes on. */
void owned_drop(struct owned *o, const struct patched *p, uint64_t id);
/* The tracer has ended: the same for all. */
void owned_release(struct owned *o, const struct patched *p);
