/*
 * Attaching: hangs loaded units on their places, and keeps what takes them off again.
 *
 * Owns     attachments own the descriptors of their links and the keeper; closing them takes
 * everything off.
 * Errors   what the kernel refused, and the remedy.
 */
#pragma once

#include <signal.h>

#include "keeper/keeper.h"
#include "bpf/unit.h"

/*
 * The attachments of a session: closing the descriptors, in order, and ending the keeper takes all
 * probes off.
 */
struct attachments {
	int *fds;
	uint32_t nfds, cap;
	struct keeper *keeper; /* of uprobes (keeper/keeper.h); NULL = there are none */
};
void attachments_add(struct attachments *a, int fd); /* takes the descriptor */
/* makes one if need be */
MUST_CHECK struct err *attachments_keeper(struct attachments *a, struct keeper **ret);
/* Takes off what costs no time: all but the uprobes (providers.md 1.2). */
void attachments_close_fast(struct attachments *a);
void attachments_close(struct attachments *a);

struct attach_opts {
	int cpu;	     /* only this CPU; -1 = all */
	uint32_t max_places; /* of the probes of processes */
	/* Set by a signal: what is not attached yet need not be. */
	const volatile sig_atomic_t *is_interrupted;
};

/* Hangs a loaded unit on its place; those in processes are their provider's (probe/probe.h). */
MUST_CHECK struct err *unit_attach(const struct unit *u, int prog_fd,
				   const struct attach_opts *opts, struct attachments *ret);

/* For the table of places.c: a raw tracepoint, and timers. */
MUST_CHECK struct err *attach_tracepoint(const struct unit *u, int prog_fd,
					 const struct attach_opts *opts, struct attachments *ret);
MUST_CHECK struct err *attach_timers(const struct unit *u, int prog_fd,
				     const struct attach_opts *opts, struct attachments *ret);
