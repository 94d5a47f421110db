/* SPDX-License-Identifier: MIT */
/* The subcommands of fathom-crash, and what they have been told. */
#pragma once

#include "crash/install.h"
#include "crash/store.h"
#include "mdb/out.h"

enum { E_SUCCESS, E_ERROR, E_USAGE };

struct run {
	struct crash_paths paths;
	struct crash_wishes wishes;
	bool has_analyser; /* it is configured */
	bool is_json, is_dry, is_purge, is_kept, is_following;
	const char *command; /* -c */
	const char *users;   /* --users */
	pid_t pid;	     /* -p */
	int container;	     /* --container */
	int entry;	     /* --entry */
	uint64_t limit;	     /* --limit; UINT64_MAX: none */
	int argc;
	char **argv; /* operands */
	struct out out;
};

/* Each returns an exit status, after it has reported errors. */
int list_run(struct run *r);
int show_run(struct run *r);
int core_run(struct run *r);
int debug_run(struct run *r);
int install_run(struct run *r);
int uninstall_run(struct run *r);
int status_run(struct run *r);
int gc_run(struct run *r);
int test_run(struct run *r);
int watch_run(struct run *r);
int capture_run(struct run *r);
int analyse_run(struct run *r);
int serve_run(struct run *r);

/* ---- what they share ------------------------------------------------------------------------- */

/* Reports an error, which ends here; returns E_ERROR. */
int error_report(struct err *e);
/* Says something on stderr, behind the name of the program. Foreign texts are made safe. */
PRINTF_LIKE(1, 2) void say(const char *fmt, ...);
/* Begin and write the output: text, or a document of JSON. */
void output_begin(struct run *r, const char *command);
int output_end(struct run *r);
/* Says each note, and forgets it. */
void notes_say(crash_notes *notes);
/* Opens the store; a user who cannot sees what a server gives (crash/users.h). */
MUST_CHECK struct err *store_open(struct run *r, struct crash_store *ret);
/* The same, and finds the entry that the first operand means. */
MUST_CHECK struct err *entry_find(struct run *r, struct crash_store *ret, char *ret_id);
/* Adds a size for people: "212 K", "9.1 M". */
void bytes_add(struct strbuf *out, uint64_t bytes);
void time_add(struct strbuf *out, int64_t time_ns);
