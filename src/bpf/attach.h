/*
 * Attaching: hangs loaded units on their places.
 *
 * Owns     nothing: what takes them off again belongs to the caller's attachments.
 * Errors   what the kernel refused, and the remedy.
 */
#pragma once

#include "bpf/unit.h"
#include "probe/attachments.h"
#include "probe/engine.h"

/* Hangs a loaded unit on its place. */
MUST_CHECK struct err *unit_attach(const struct unit *u, int prog_fd,
				   const struct attach_opts *opts, struct attachments *ret);

/* Uprobes of a group are taken off, some time after the return. */
MUST_CHECK struct err *attachments_drop(struct attachments *a, uint32_t group);

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

/* For the table of places.c: a raw tracepoint, timers, and instructions of files. */
MUST_CHECK struct err *attach_tracepoint(const struct unit *u, int prog_fd,
					 const struct attach_opts *opts, struct attachments *ret);
MUST_CHECK struct err *attach_timers(const struct unit *u, int prog_fd,
				     const struct attach_opts *opts, struct attachments *ret);
MUST_CHECK struct err *attach_uprobes(const struct unit *u, int prog_fd,
				      const struct attach_opts *opts, struct attachments *ret);
