/* SPDX-License-Identifier: MIT */
/*
 * The debugger: a core file, or a process that is held or runs, and commands that look at it.
 *
 *     command.c, expr.c, format.c   the language
 *     run.c, builtin.c              executes commands; those that are about the language
 *     mdb.c, object.c               the target, its files and symbols
 *     types.c, value.c, print.c     types, and values by their types
 *     typed.c, typed_printf.c       commands about types
 *     dcmds.c                       the table of commands
 *     out.c                         rows to text and JSON
 *     store.c                       the core files of systemd-coredump
 *
 * Owns     a struct mdb the target: a process goes on when it is closed, or we end in any way.
 * Errors   struct err *; a command that fails is told to the function error().
 * Threads  one, that which has opened the debugger; mdb_interrupt() may be called by signal
 *          handlers.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct dtrace_hdl;
struct mdb;
struct target;

struct mdb_opts {
	/* A session that outlives it, whose names and helpers it shares; NULL: its own. */
	struct dtrace_hdl *h;
	/* Either is given; program: NULL, or from where the program of the core file is read */
	const char *core, *program;
	pid_t pid;
	struct target *target; /* of that process, which is taken; NULL: none is open */
	bool keeps_options;    /* those of the session stay as they are */
	bool is_copy;	       /* a copy of the process is looked at, which goes on at once */
	bool is_running;  /* it runs on, has no registers, and its memory may change meanwhile */
	const char *keep; /* the core file to make of that copy; NULL: none */
	bool is_json;
	void *ctx;
	/* Takes output of commands. False: nobody reads it any more, and the command ends. */
	bool (*write)(void *ctx, const char *text, size_t len);
	/* Takes an error or a notice, and its hint, if there is one, behind "\nhint: ". */
	void (*error)(void *ctx, const char *text);
};

/* The core files in a directory of systemd-coredump (mdb/store.h): the usual one is ... */
const char *mdb_core_folder(void);
/* ... writes the list of those; of opts, only the output is used. */
MUST_CHECK struct err *mdb_list(const struct mdb_opts *opts, const char *folder);
/* ... finds the newest of a process; the caller frees *ret_path. */
MUST_CHECK struct err *mdb_core_find(const char *folder, pid_t pid, char **ret_path);
MUST_CHECK struct err *mdb_open(const struct mdb_opts *opts, struct mdb **ret);
void mdb_close(struct mdb *m); /* NULL is allowed */
/* Bytes of a copy, and ns for which the process stood still; false: the target is no copy. */
bool mdb_copied(const struct mdb *m, uint64_t *ret_bytes, uint64_t *ret_stopped_ns);
/* Executes the commands of a text; false: one has failed, and those behind it were executed. */
bool mdb_run(struct mdb *m, const char *text);
/* Whether $q was executed. */
bool mdb_is_over(const struct mdb *m);
/* Ends the command that runs. */
void mdb_interrupt(struct mdb *m);
/*
 * The names of commands and walkers, in the order of the table; NULL behind the last. prefix: of
 * names of commands "::", of walkers "".
 */
const char *mdb_command_name(uint32_t i);
const char *mdb_walker_name(uint32_t i);
/* What the command or walker of that number does. */
const char *mdb_command_what(uint32_t i);
const char *mdb_walker_what(uint32_t i);
