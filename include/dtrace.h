/*
 * libdtrace: compile D programs, enable them on the running system, consume what they record.
 *
 * The order of calls is that of the dtrace command:
 *
 *     dtrace_open -> dtrace_setopt* -> dtrace_program_{str,f}compile* -> dtrace_program_exec*
 *       -> dtrace_go -> { dtrace_sleep, dtrace_work }* -> dtrace_stop -> dtrace_work
 *       -> dtrace_aggregate_print -> dtrace_close
 *
 * Owns     a handle owns its programs, probes and kernel objects; dtrace_close() releases
 *          everything. Strings returned by dtrace_errmsg() and friends live until the next call on
 *          the handle.
 * Errors   functions that return int give 0 or -1, those that return pointers NULL; then
 *          dtrace_errno() is an EDT_* code or an errno value, dtrace_errmsg() its text.
 * Threads  one handle belongs to one thread; several handles in one process are independent.
 * Output   only through the FILE * given to dtrace_work() and dtrace_aggregate_print(), and through
 *          handlers. The library never writes to stdout or stderr by itself and never exits.
 * Facts    names and behaviour follow the DTrace library of other systems where they exist there.
 */
#ifndef _DTRACE_H
#define _DTRACE_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define DTRACE_VERSION 3 /* of this interface; give it to dtrace_open() */

typedef struct dtrace_hdl dtrace_hdl_t;
typedef struct dtrace_prog dtrace_prog_t;
typedef uint32_t dtrace_id_t;
typedef uint32_t dtrace_epid_t;

/* ---- handle ---------------------------------------------------------------------------------- */

#define DTRACE_O_NODEV 0x01 /* only compile and list: needs no privilege */

/* On failure NULL and *errp; dtrace_open_errmsg() has the reason and the remedy. */
dtrace_hdl_t *dtrace_open(int version, int flags, int *errp);
const char *dtrace_open_errmsg(void); /* of this thread's last failed dtrace_open() */
void dtrace_close(dtrace_hdl_t *dtp); /* NULL is allowed */

int dtrace_errno(dtrace_hdl_t *dtp);
const char *dtrace_errmsg(dtrace_hdl_t *dtp, int error); /* dtp may be NULL */
/* What the user can do about the last error; NULL when there is nothing to add. */
const char *dtrace_errhint(dtrace_hdl_t *dtp);

/* Options: names and values of -x (bufsize, 4m). value NULL: the flag form. */
int dtrace_setopt(dtrace_hdl_t *dtp, const char *opt, const char *val);
#define DTRACEOPT_UNSET ((int64_t)-2)
int dtrace_getopt(dtrace_hdl_t *dtp, const char *opt, int64_t *ret_val);

/* Walks the option table; for help texts. */
typedef struct dtrace_optdesc {
	const char *name, *kind, *deflt, *what;
	int is_ignored; /* accepted for scripts of other systems, has no effect */
} dtrace_optdesc_t;
typedef int dtrace_opt_f(const dtrace_optdesc_t *opt, void *arg);
int dtrace_option_iter(dtrace_hdl_t *dtp, dtrace_opt_f *func, void *arg);

/* Walks what the language has built in and this system supports. */
typedef struct dtrace_builtin {
	const char *kind; /* "variable", "function", "action", "aggregation" */
	const char *name;
	/* of a variable; else the prototype: "string(const char *, int, [int])" */
	const char *type;
	const char *what;
} dtrace_builtin_t;
typedef int dtrace_builtin_f(const dtrace_builtin_t *builtin, void *arg);
int dtrace_builtin_iter(dtrace_hdl_t *dtp, dtrace_builtin_f *func, void *arg);

/* ---- programs -------------------------------------------------------------------------------- */

typedef enum dtrace_probespec {
	DTRACE_PROBESPEC_NONE = -1,
	DTRACE_PROBESPEC_PROVIDER = 0,
	DTRACE_PROBESPEC_MOD,
	DTRACE_PROBESPEC_FUNC,
	DTRACE_PROBESPEC_NAME
} dtrace_probespec_t;

#define DTRACE_C_ZDEFS 0x01 /* descriptions may match nothing */
#define DTRACE_C_CPP   0x02 /* run the preprocessor first (files) */
#define DTRACE_C_EMPTY 0x04
#define DTRACE_C_DIFV  0x08 /* print DIF to the dump stream (-S) */
/* A text that defines providers: a line of '#' and a word that means nothing is a comment. */
#define DTRACE_C_PROVIDERS 0x10

dtrace_prog_t *dtrace_program_strcompile(dtrace_hdl_t *dtp, const char *text,
					 dtrace_probespec_t spec, unsigned int cflags, int argc,
					 char *const argv[]);
/* name: what messages call the file. Reads fp to its end. */
dtrace_prog_t *dtrace_program_fcompile(dtrace_hdl_t *dtp, FILE *fp, const char *name,
				       unsigned int cflags, int argc, char *const argv[]);

typedef struct dtrace_proginfo {
	uint32_t dpi_matches;	 /* probes enabled, counted once per clause and description */
	uint32_t dpi_statements; /* clauses */
	uint32_t dpi_recgens, dpi_aggregates;
} dtrace_proginfo_t;

int dtrace_program_exec(dtrace_hdl_t *dtp, dtrace_prog_t *pgp, dtrace_proginfo_t *info);
void dtrace_program_info(dtrace_hdl_t *dtp, dtrace_prog_t *pgp, dtrace_proginfo_t *info);
/* The stability report of -v, and with verbose the description and argument blocks of -v -e. */
int dtrace_program_report(dtrace_hdl_t *dtp, dtrace_prog_t *pgp, const char *kind, const char *name,
			  int verbose, FILE *fp);
/* Where -S goes; default: nowhere. */
void dtrace_dump_to(dtrace_hdl_t *dtp, FILE *fp);

/* ---- programs with probes of their own (USDT) ------------------------------------------------ */

/*
 * Writes the C header of the providers that the compiled programs declare. name: of the file, from
 * which the include guard is made; source: of the file with the definition, for the first comment.
 */
int dtrace_program_header(dtrace_hdl_t *dtp, FILE *fp, const char *name, const char *source);
#define DTRACE_OBJECT_ILP32 0x01 /* for 32-bit programs, unless objs are of another kind */
/*
 * Writes the object with which a program that has these providers is linked to fd, an empty file.
 * objs: the program's other object files, which say what machine it is for; there may be none.
 */
int dtrace_program_object(dtrace_hdl_t *dtp, int fd, unsigned int flags, int nobjs,
			  char *const objs[]);

/* ---- probes ---------------------------------------------------------------------------------- */

typedef struct dtrace_probedesc {
	dtrace_id_t dtpd_id;
	const char *dtpd_provider, *dtpd_mod, *dtpd_func, *dtpd_name;
} dtrace_probedesc_t;

typedef int dtrace_probe_f(dtrace_hdl_t *dtp, const dtrace_probedesc_t *pdp, void *arg);
/* Every probe, or those matching pdp, by id; stops when func returns non-zero and returns that. */
int dtrace_probe_iter(dtrace_hdl_t *dtp, const dtrace_probedesc_t *pdp, dtrace_probe_f *func,
		      void *arg);
typedef int dtrace_desc_f(dtrace_hdl_t *dtp, const dtrace_probedesc_t *pdp, void *arg);
/* Every description of a compiled program, in program order. */
int dtrace_desc_iter(dtrace_hdl_t *dtp, dtrace_prog_t *pgp, dtrace_desc_f *func, void *arg);
/* "P:M:F:N" of a description into buf; returns buf. */
char *dtrace_desc2str(const dtrace_probedesc_t *pdp, char *buf, size_t len);
/* The attribute and argument block of -lv. */
int dtrace_probe_report(dtrace_hdl_t *dtp, const dtrace_probedesc_t *pdp, FILE *fp);

/* ---- processes ------------------------------------------------------------------------------- */

/* -c: starts cmd held before its first instruction; -p: takes hold of pid. The first is $target. */
int dtrace_proc_create(dtrace_hdl_t *dtp, const char *cmd);
int dtrace_proc_grab(dtrace_hdl_t *dtp, pid_t pid);
/* Lets all of them run; call after dtrace_go(). */
int dtrace_proc_continue(dtrace_hdl_t *dtp);

/* ---- running --------------------------------------------------------------------------------- */

int dtrace_go(dtrace_hdl_t *dtp);
int dtrace_stop(dtrace_hdl_t *dtp); /* END fires in the dtrace_work() that must follow */
/*
 * For signal handlers: a dtrace_go() that is still attaching comes back soon, successful and
 * stopped.
 */
void dtrace_interrupt(dtrace_hdl_t *dtp);
/* Waits for data, a rate option's instant, a target's end or a signal. */
void dtrace_sleep(dtrace_hdl_t *dtp);

typedef enum dtrace_workstatus {
	DTRACE_WORKSTATUS_ERROR = -1,
	DTRACE_WORKSTATUS_OKAY,
	DTRACE_WORKSTATUS_DONE
} dtrace_workstatus_t;

/* Drains buffers, prints records to fp, snapshots aggregations when due. */
dtrace_workstatus_t dtrace_work(dtrace_hdl_t *dtp, FILE *fp);
/* Value of exit(), 0 to 255; -1 when it was not called. */
int dtrace_exit_status(dtrace_hdl_t *dtp);

/* All aggregations no printa() has printed, as at the end of a run. */
int dtrace_aggregate_print(dtrace_hdl_t *dtp, FILE *fp);
/* After that: what ends the output where option oformat makes it one document. */
int dtrace_output_end(dtrace_hdl_t *dtp, FILE *fp);

/* ---- handlers -------------------------------------------------------------------------------- */

typedef enum dtrace_dropkind {
	DTRACEDROP_PRINCIPAL,
	DTRACEDROP_AGGREGATION,
	DTRACEDROP_DYNAMIC,
	DTRACEDROP_DYNRINSE,
	DTRACEDROP_DYNDIRTY,
	DTRACEDROP_SPEC,
	DTRACEDROP_SPECBUSY,
	DTRACEDROP_SPECUNAVAIL,
	DTRACEDROP_DBLERROR,
	DTRACEDROP_STKSTROVERFLOW
} dtrace_dropkind_t;

/* msg: complete text with newline, as "dtrace: " would precede it. Return 0 to go on. */
typedef int dtrace_handle_msg_f(dtrace_hdl_t *dtp, const char *msg, void *arg);
int dtrace_handle_err(dtrace_hdl_t *dtp, dtrace_handle_msg_f *func, void *arg);	 /* faults */
int dtrace_handle_drop(dtrace_hdl_t *dtp, dtrace_handle_msg_f *func, void *arg); /* drops */
/* adjustments, hints */
int dtrace_handle_notice(dtrace_hdl_t *dtp, dtrace_handle_msg_f *func, void *arg);
/* targets ending */
int dtrace_handle_proc(dtrace_hdl_t *dtp, dtrace_handle_msg_f *func, void *arg);

/* ---- errors (d-language.md, appendix A) ------------------------------------------------------ */

#define EDT_BASE 1000
enum {
#define EDT(name, text) EDT_##name,
	EDT_FIRST = EDT_BASE,
#include "dtrace_errors.def"
#undef EDT
	EDT_LAST
};

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
