/* SPDX-License-Identifier: MIT */
/*
 * The report of a crash: what the capturer has copied, in words. Made by the analyser without any
 * right of root.
 *
 *     report.c          opens the core; the order of the sections; the head
 *     crash_report_threads.c  threads and their frames
 *     report_machine.c  registers, code, memory at the stack
 *     report_process.c  maps, files, limits, environment, log
 *
 * Owns     a struct crash_report all that it points to, until crash_report_end().
 * Errors   struct err *: of the core only. A report is made without it, too.
 */
#pragma once

#include "crash/doc.h"
#include "crash/exception.h"
#include "crash/input.h"
#include "crash/reason.h"
#include "crash/signature.h"

#define REPORT_SCHEMA 1 /* version of doc/crash-schema.json */

struct crash_report_opts {
	bool all_env;	      /* values of all variables are shown */
	struct dtrace_hdl *h; /* NULL: a session of its own */
	/* What D scripts have said: names and texts, alternating; NULL is behind the last. */
	char *const *sections;
};

struct crash_report {
	struct doc doc;
	struct crash_input *in;
	const struct crash_report_opts *opts;
	struct mdb *m;	    /* NULL: there is no core that can be read */
	char *no_core;	    /* why */
	struct stack first; /* of the crashed thread */
	siginfo_t si;
	bool has_signal;
	bool is_alive; /* it was captured without a signal */
	struct reason_of of;
	struct proc_maps maps; /* those of /proc; of the core if there are none */
	struct signature signature;
	struct exception exception;
	struct strbuf log, status, stat;
	struct strbuf notices; /* what the debugger had to say, a line each */
};

/* Makes both texts of r->doc. */
void crash_report_make(struct crash_input *in, const struct crash_report_opts *opts,
		       struct crash_report *ret);
void crash_report_end(struct crash_report *r);

/* Says the exception of the process or, within the object of a thread, that of the thread. */
void crash_report_exception(struct crash_report *r, const struct exception *x);
void crash_report_threads(struct crash_report *r);
void crash_report_registers(struct crash_report *r);
void crash_report_code(struct crash_report *r);
void crash_report_stack_memory(struct crash_report *r);
void crash_report_maps(struct crash_report *r);
void crash_report_files(struct crash_report *r);
void crash_report_limits(struct crash_report *r);
void crash_report_environment(struct crash_report *r);
void crash_report_arguments(struct crash_report *r);
void crash_report_log(struct crash_report *r);

/* Adds what a command of the debugger writes. */
void crash_report_command(struct crash_report *r, const char *command, struct strbuf *out);
/* The rest of the line of /proc/PID/status that begins with name; "": there is none. */
void crash_report_status(const struct crash_report *r, const char *name, char *ret, size_t size);
