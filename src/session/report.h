/* SPDX-License-Identifier: MIT */
/*
 * What a session reports to the program that uses the library: why a call failed, notices, lost
 * records, faults of clauses, processes that ended, options that were set.
 *
 * Owns     the last error, and notices that came before there was a handler for them.
 * Threads  only the thread of the handle, but for struct activity.
 */
#pragma once

#include <stdatomic.h>
#include <stdio.h>

#include "base/err.h"
#include "base/vec.h"
#include "dtrace.h"

struct options;

/* The handlers that the program gives to dtrace_handle_*(); func NULL: there is none. */
struct report_handlers {
	struct {
		dtrace_handle_err_f *func;
		void *arg;
	} err;
	struct {
		dtrace_handle_drop_f *func;
		void *arg;
	} drop;
	struct {
		dtrace_handle_notice_f *func;
		void *arg;
	} notice;
	struct {
		dtrace_handle_proc_f *func;
		void *arg;
	} proc;
	struct {
		dtrace_handle_setopt_f *func;
		void *arg;
	} setopt;
	struct {
		dtrace_handle_buffered_f *func;
		void *arg;
	} buffered;
};

/* What takes long, for dtrace_activity(), which another thread calls. what NULL: nothing does. */
struct activity {
	_Atomic(const char *) what;
	_Atomic uint64_t done, total, since; /* since: now_ns() when it began */
};

struct report {
	struct activity activity;
	dtrace_hdl_t *hdl;	    /* an argument of the handlers */
	const struct options *opts; /* quiet, debug */
	struct report_handlers on;
	VEC(char *) notices; /* notices that wait until there is a handler */
	struct err *last_err;
	int last_errno;
	FILE *dump; /* receives listings (-S, option dump), or NULL */
};

void report_init(struct report *r, dtrace_hdl_t *hdl, const struct options *opts);
void report_deinit(struct report *r);

/* Says that something begins that may take long; what: static. total 0: how much is not known. */
void report_begin(struct report *r, const char *what, uint64_t total);
void report_progress(struct report *r, uint64_t done);
void report_end(struct report *r);

/* Keeps e for dtrace_errmsg(). Returns -1 for the caller to return. */
int report_fail(struct report *r, struct err *e);
/*
 * Each of these functions passes an event to its handler, if there is one, and returns false when
 * the handler wants to stop. The caller fills in all members but the handle. Messages end with a
 * newline, and are made safe for a terminal here.
 */
bool report_drop(struct report *r, dtrace_dropdata_t *drop);
bool report_fault(struct report *r, dtrace_errdata_t *fault);
bool report_setopt(struct report *r, dtrace_setoptdata_t *opt);
void report_proc(struct report *r, pid_t pid, const char *msg);
/* Sets the handler of notices, and passes it the notices that came before there was a handler. */
void report_on_notice(struct report *r, dtrace_handle_notice_f *func, void *arg);
/* Passes a hint to the notice handler, or keeps it until there is one. Option quiet drops hints. */
PRINTF_LIKE(2, 3) void report_notice(struct report *r, const char *fmt, ...);
/* The same for an adjustment of what the user asked for, which option quiet does not drop. */
PRINTF_LIKE(2, 3) void report_adjusted(struct report *r, const char *fmt, ...);
/* Prints a line on standard error if option debug or DTRACE_DEBUG in the environment is set. */
PRINTF_LIKE(2, 3) void report_debug(const struct report *r, const char *fmt, ...);
bool report_is_debugging(const struct report *r);
/* Returns the text of a code of dtrace_errors.def, or of an errno. */
const char *report_code_text(int code);
