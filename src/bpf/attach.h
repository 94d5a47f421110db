/*
 * Attaching: hangs loaded units on their places, and keeps what takes them off again.
 *
 * Owns     attachments own the descriptors of their links and the keeper; closing them takes
 * everything off.
 * Errors   what the kernel refused, and the remedy.
 */
#pragma once

#include "keeper/keeper.h"
#include "bpf/unit.h"
#include "probe/engine.h"

/*
 * The attachments of a session: closing the descriptors, in order, and ending the keeper takes all
 * probes off.
 */
struct attachments {
	int *fds;
	uint32_t nfds, cap;
	struct keeper *keeper;	    /* of uprobes (keeper/keeper.h); NULL = there are none */
	struct placed_list *placed; /* instructions that are probed (attach_uprobe.c) */
};
void attachments_add(struct attachments *a, int fd); /* takes the descriptor */
/* makes one if need be */
MUST_CHECK struct err *attachments_keeper(struct attachments *a, struct keeper **ret);
/* Takes off what costs no time: all but the uprobes (providers.md 1.2). */
void attachments_close_fast(struct attachments *a);
void attachments_close(struct attachments *a);

/* Hangs a loaded unit on its place. */
MUST_CHECK struct err *unit_attach(const struct unit *u, int prog_fd,
				   const struct attach_opts *opts, struct attachments *ret);

/*
 * Children of a process that call what is probed in it. One gets links to everything that is in
 * place in the process and its other children; one that has ended, or whose links are dead, is
 * forgotten.
 */
MUST_CHECK struct err *attachments_add_child(struct attachments *a, pid_t pid, pid_t child,
					     const struct attach_opts *opts);
void attachments_forget_child(struct attachments *a, pid_t child);
/*
 * How many instructions of the process are probed; takes their breakpoints out of the memory of
 * children, which inherit them (keeper_sweep()). prog_fd: any program for uprobes.
 */
uint32_t attachments_nplaces(const struct attachments *a, pid_t pid);
MUST_CHECK struct err *attachments_sweep(struct attachments *a, pid_t pid, int prog_fd);

/* For attachments_close(). */
void placed_list_destroy(struct placed_list *l);

/* For the table of places.c: a raw tracepoint, timers, and instructions of files. */
MUST_CHECK struct err *attach_tracepoint(const struct unit *u, int prog_fd,
					 const struct attach_opts *opts, struct attachments *ret);
MUST_CHECK struct err *attach_timers(const struct unit *u, int prog_fd,
				     const struct attach_opts *opts, struct attachments *ret);
MUST_CHECK struct err *attach_uprobes(const struct unit *u, int prog_fd,
				      const struct attach_opts *opts, struct attachments *ret);
