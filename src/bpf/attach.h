/* SPDX-License-Identifier: MIT */
/*
 * Attaches loaded units to their places.
 *
 * Owns     nothing: the links belong to the caller's attachments.
 * Errors   what the kernel refused, and the remedy.
 */
#pragma once

#include "bpf/unit.h"
#include "probe/attachments.h"
#include "probe/engine.h"

/* Attaches a loaded unit's programs to its place: progs[0], and others if there are several. */
MUST_CHECK struct err *unit_attach(const struct unit *u, const int *progs,
				   const struct attach_opts *opts, struct attachments *ret);

/* Takes off the uprobes of a group, some time after the return. */
MUST_CHECK struct err *attachments_drop(struct attachments *a, uint32_t group);

/*
 * attachments_add_child() gives a child of a process links to everything that is attached to the
 * process and its other children. attachments_forget_child() is called when the child has ended, or
 * when its links are dead.
 */
MUST_CHECK struct err *attachments_add_child(struct attachments *a, pid_t pid, pid_t child,
					     const struct attach_opts *opts);
void attachments_forget_child(struct attachments *a, pid_t child);
/*
 * attachments_nplaces() returns how many instructions of the process are probed.
 * attachments_sweep() takes their breakpoints out of the memory of children, which inherit them
 * (keeper_sweep()). prog_fd: any program for uprobes.
 */
uint32_t attachments_nplaces(const struct attachments *a, pid_t pid);
MUST_CHECK struct err *attachments_sweep(struct attachments *a, pid_t pid, int prog_fd);

/* These attach to a raw tracepoint, timers, and functions, for the table in places.c. */
MUST_CHECK struct err *attach_tracepoint(const struct unit *u, const int *progs,
					 const struct attach_opts *opts, struct attachments *ret);
MUST_CHECK struct err *attach_event(const struct unit *u, const int *progs,
				    const struct attach_opts *opts, struct attachments *ret);
MUST_CHECK struct err *attach_timers(const struct unit *u, const int *progs,
				     const struct attach_opts *opts, struct attachments *ret);
MUST_CHECK struct err *attach_kfuncs(const struct unit *u, const int *progs,
				     const struct attach_opts *opts, struct attachments *ret);
MUST_CHECK struct err *attach_kfuncs_few(const struct unit *u, const int *progs,
					 const struct attach_opts *opts, struct attachments *ret);
MUST_CHECK struct err *attach_uprobes(const struct unit *u, const int *progs,
				      const struct attach_opts *opts, struct attachments *ret);
