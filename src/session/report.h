/*
 * What a session reports to the program that uses the library: why a call failed, notices, lost
 * records, faults of clauses, processes that ended.
 *
 * Owns     the last error, and notices that came before there was a handler for them.
 * Threads  those of the handle: one.
 */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "base/vec.h"
#include "dtrace.h"

struct options;

struct report_handler {
	dtrace_handle_msg_f *func;
	void *arg;
};

struct report {
	dtrace_hdl_t *hdl;	    /* which handlers are given */
	const struct options *opts; /* quiet, debug */
	struct report_handler on_err, on_drop, on_notice, on_proc;
	VEC(char *) notices; /* from before there was a handler */
	struct err *last_err;
	int last_errno;
	FILE *dump; /* receives listings (-S, option dump), or NULL */
};

void report_init(struct report *r, dtrace_hdl_t *hdl, const struct options *opts);
void report_deinit(struct report *r);

/* Keeps e for dtrace_errmsg(). Returns -1 for the caller to return. */
int report_fail(struct report *r, struct err *e);
/* Gives text, newline included, to a handler; false when the handler wants to stop. */
bool report_tell(struct report *r, const struct report_handler *to, const char *text);
/* A hint to the notice handler, or kept until there is one. Option quiet leaves hints out. */
PRINTF_LIKE(2, 3) void report_notice(struct report *r, const char *fmt, ...);
/* The same for an adjustment of what the user asked for, which option quiet does not leave out. */
PRINTF_LIKE(2, 3) void report_adjusted(struct report *r, const char *fmt, ...);
/* A line on standard error, which only option debug or DTRACE_DEBUG in the environment shows. */
PRINTF_LIKE(2, 3) void report_debug(const struct report *r, const char *fmt, ...);
bool report_is_debugging(const struct report *r);
/* What a code of dtrace_errors.def, or an errno, means. */
const char *report_code_text(int code);
