/* SPDX-License-Identifier: MIT */
/*
 * libdtrace: compile D programs, enable them on the running system, consume what they record.
 *
 * The order of calls is that of the dtrace command:
 *
 *     dtrace_open -> dtrace_setopt* -> dtrace_program_{str,f}compile* -> dtrace_program_exec*
 *       -> dtrace_go -> { dtrace_sleep, dtrace_work }* -> dtrace_stop -> dtrace_work
 *       -> dtrace_aggregate_print -> dtrace_close
 *
 * What is recorded reaches a program as text, as values, or as both: dtrace_work() shows records,
 * dtrace_aggregate_print() aggregations, and callbacks see each of them before it is shown. The
 * guide's chapter "A consumer of your own" and examples/topsys.c are a way in.
 *
 * Owns     a handle owns its programs, probes and kernel objects; dtrace_close() releases
 *          everything. Strings returned by dtrace_errmsg() and friends live until the next call on
 *          the handle. What a callback or handler is given lives until it returns, unless its
 *          comment says more.
 * Units    times in ns of CLOCK_MONOTONIC, as the variable timestamp; sizes in bytes.
 * Errors   functions that return int give 0 or -1, those that return pointers NULL; then
 *          dtrace_errno() is an EDT_* code or an errno value, dtrace_errmsg() its text.
 * Threads  one handle belongs to one thread; several handles in one process are independent. Other
 *          threads may call dtrace_interrupt() and dtrace_activity() while the handle is open.
 * Calls    a callback or handler may ask (dtrace_recdata(), dtrace_addr2str() and the like) and
 *          call dtrace_interrupt(), dtrace_stop(), dtrace_setopt(). dtrace_close(), dtrace_go(),
 *          dtrace_work() and what takes or prints a snapshot fail with EDT_ACTIVE there: the call
 *          that led to the callback still needs what they would change.
 * Output   only through the FILE * given to dtrace_work() and dtrace_aggregate_print(), and through
 *          handlers. The library never writes to stdout or stderr by itself and never exits.
 * Growth   a program that was compiled with an older header works with a newer library: functions,
 *          constants and members are added, and never changed or removed (tests/interface.py). A
 *          structure grows at its end, and how depends on whose memory it is in:
 *          - the caller's, filled by the library: inline functions below say to dtrace_*_sized()
 *            how large it is. Not more is written, and members that the library does not know are
 *            0. Who calls from another language gives the size that he has declared; the names
 *            without _sized are symbols, too, for the first version of the structure.
 *          - the library's, one at a time (all that callbacks and handlers get): it just grows. A
 *            program makes none of these, and no arrays of them.
 *          - elements of arrays (dtrace_recdesc_t, dtrace_datum_t, dtrace_frame_t,
 *            dtrace_bucket_t), and what a caller hands in (dtrace_probedesc_t), never grow:
 *            functions will say what is new about them.
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

/*
 * A function that fills a structure of the caller's: it passes the structure's size to the function
 * name_sized() of the library (Growth). With DTRACE_NO_INLINE it is the symbol of that name.
 */
#ifdef DTRACE_NO_INLINE
#define DTRACE_SIZED(name, params, args) int name params;
#else
#define DTRACE_SIZED(name, params, args)                                                           \
	static __inline__ int name params                                                          \
	{                                                                                          \
		return name##_sized args;                                                          \
	}
#endif

#define DTRACE_VERSION 4 /* of this interface; give it to dtrace_open(), which takes no other */

typedef struct dtrace_hdl dtrace_hdl_t;
typedef struct dtrace_prog dtrace_prog_t;
typedef uint32_t dtrace_id_t;
typedef uint32_t dtrace_epid_t;

/* ---- handle ---------------------------------------------------------------------------------- */

#define DTRACE_O_NODEV 0x01 /* only compile and list: needs no privilege */
/*
 * For a command whose file may have capabilities, before it has other threads. If what it may do
 * comes from there, a session has the levels that /etc/fathom/privileges gives the user
 * (fathom-privileges(5)), and is refused without any; with DTRACE_O_NODEV the capabilities are
 * given up. Without the flag they are not used.
 */
#define DTRACE_O_LEVELS 0x02

/* On failure NULL and *errp; dtrace_open_errmsg() has the reason and the remedy. */
dtrace_hdl_t *dtrace_open(int version, int flags, int *errp);
const char *dtrace_open_errmsg(void); /* of this thread's last failed dtrace_open() */
/*
 * Writes a line that says who calls, what they may trace with DTRACE_O_LEVELS, and what gives it to
 * them. No handle is needed. -1: dtrace_open_errmsg() has why that is not certain.
 */
int dtrace_levels_print(FILE *fp);
/*
 * Releases the handle and ends its probes. NULL is allowed. In a callback or handler it returns -1
 * with EDT_ACTIVE, and the handle stays as it is: close it when the call that led there returns.
 */
int dtrace_close(dtrace_hdl_t *dtp);

int dtrace_errno(dtrace_hdl_t *dtp);
const char *dtrace_errmsg(dtrace_hdl_t *dtp, int error); /* dtp may be NULL */
/* What the user can do about the last error; NULL when there is nothing to add. */
const char *dtrace_errhint(dtrace_hdl_t *dtp);

/*
 * Sets an option, with the names and values of -x (bufsize, 4m). value NULL: as -x with no value.
 */
int dtrace_setopt(dtrace_hdl_t *dtp, const char *opt, const char *val);
#define DTRACEOPT_UNSET ((int64_t)-2)
int dtrace_getopt(dtrace_hdl_t *dtp, const char *opt, int64_t *ret_val);

/* Calls func for each option, for help texts. */
typedef struct dtrace_optdesc {
	const char *name, *kind, *deflt, *what;
	int is_ignored; /* accepted for scripts of other systems, has no effect */
} dtrace_optdesc_t;
typedef int dtrace_opt_f(const dtrace_optdesc_t *opt, void *arg);
int dtrace_option_iter(dtrace_hdl_t *dtp, dtrace_opt_f *func, void *arg);

/* Calls func for each name that the language has built in and this system supports. */
typedef struct dtrace_builtin {
	const char *kind; /* "variable", "function", "action", "aggregation" */
	const char *name;
	/* the type of a variable; else the prototype: "string(const char *, int, [int])" */
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
/* The text defines providers (-h, -G): a line of '#' and an unknown word is a comment. */
#define DTRACE_C_PROVIDERS 0x10

dtrace_prog_t *dtrace_program_strcompile(dtrace_hdl_t *dtp, const char *text,
					 dtrace_probespec_t spec, unsigned int cflags, int argc,
					 char *const argv[]);
/* Reads fp to its end. name: the file's name in messages. */
dtrace_prog_t *dtrace_program_fcompile(dtrace_hdl_t *dtp, FILE *fp, const char *name,
				       unsigned int cflags, int argc, char *const argv[]);

typedef struct dtrace_proginfo {
	uint32_t dpi_matches;	 /* probes enabled, counted once per clause and description */
	uint32_t dpi_statements; /* clauses */
	uint32_t dpi_recgens, dpi_aggregates;
} dtrace_proginfo_t;

/* info may be NULL. */
int dtrace_program_exec_sized(dtrace_hdl_t *dtp, dtrace_prog_t *pgp, dtrace_proginfo_t *info,
			      size_t size);
DTRACE_SIZED(dtrace_program_exec, (dtrace_hdl_t * dtp, dtrace_prog_t *pgp, dtrace_proginfo_t *info),
	     (dtp, pgp, info, sizeof(*info)))
void dtrace_program_info_sized(dtrace_hdl_t *dtp, dtrace_prog_t *pgp, dtrace_proginfo_t *info,
			       size_t size);
#ifdef DTRACE_NO_INLINE
void dtrace_program_info(dtrace_hdl_t *dtp, dtrace_prog_t *pgp, dtrace_proginfo_t *info);
#else
static __inline__ void dtrace_program_info(dtrace_hdl_t *dtp, dtrace_prog_t *pgp,
					   dtrace_proginfo_t *info)
{
	dtrace_program_info_sized(dtp, pgp, info, sizeof(*info));
}
#endif
/* Writes the stability report of -v, with verbose also the other blocks of -v -e. */
int dtrace_program_report(dtrace_hdl_t *dtp, dtrace_prog_t *pgp, const char *kind, const char *name,
			  int verbose, FILE *fp);
/* Sets the stream to which -S and other dumps are written; by default there is none. */
void dtrace_dump_to(dtrace_hdl_t *dtp, FILE *fp);

/* ---- programs with probes of their own (USDT) ------------------------------------------------ */

/*
 * Writes the C header of the providers that the compiled programs declare. name: the name of the
 * header, for its include guard; source: the name of the file with the definition, for its first
 * comment.
 */
int dtrace_program_header(dtrace_hdl_t *dtp, FILE *fp, const char *name, const char *source);
#define DTRACE_OBJECT_ILP32 0x01 /* for 32-bit programs, unless objs are of another kind */
/*
 * Writes to fd, an empty file, the object with which a program that has these providers is linked.
 * objs: the program's other object files, which determine the machine; there may be none.
 */
int dtrace_program_object(dtrace_hdl_t *dtp, int fd, unsigned int flags, int nobjs,
			  char *const objs[]);

/*
 * Writes what ustack helpers do for one stack of the process, thread or core file that the option
 * helpertrace names: what each clause reads and answers, frame by frame, and the stack. A process
 * is stopped meanwhile. If option pstack is set, it writes the stacks of all threads of the process
 * or core file that this one names, as text, or with oformat json or jsonl an object in a line.
 */
int dtrace_helper_trace(dtrace_hdl_t *dtp, FILE *fp);

/* ---- probes ---------------------------------------------------------------------------------- */

typedef struct dtrace_probedesc {
	dtrace_id_t dtpd_id;
	const char *dtpd_provider, *dtpd_mod, *dtpd_func, *dtpd_name;
} dtrace_probedesc_t;

typedef int dtrace_probe_f(dtrace_hdl_t *dtp, const dtrace_probedesc_t *pdp, void *arg);
/*
 * Calls func for every probe, or for those that match pdp, by id. Stops when func returns a value
 * other than 0, and returns that value.
 */
int dtrace_probe_iter(dtrace_hdl_t *dtp, const dtrace_probedesc_t *pdp, dtrace_probe_f *func,
		      void *arg);
typedef int dtrace_desc_f(dtrace_hdl_t *dtp, const dtrace_probedesc_t *pdp, void *arg);
/* Calls func for every description of a compiled program, in program order. */
int dtrace_desc_iter(dtrace_hdl_t *dtp, dtrace_prog_t *pgp, dtrace_desc_f *func, void *arg);
/* Writes the text "P:M:F:N" of a description to buf; returns buf. */
char *dtrace_desc2str(const dtrace_probedesc_t *pdp, char *buf, size_t len);
/* Writes the attribute and argument block of -lv. */
int dtrace_probe_report(dtrace_hdl_t *dtp, const dtrace_probedesc_t *pdp, FILE *fp);

/*
 * Writes the probe as an object of JSON, as -l does with option oformat; with verbose also its
 * attributes and arguments, as -lv does.
 */
int dtrace_probe_json(dtrace_hdl_t *dtp, const dtrace_probedesc_t *pdp, int verbose, FILE *fp);
/* The version of the schema (doc/json-schema.json) to which all output in JSON conforms. */
int dtrace_json_schema(void);

/* ---- what takes long ------------------------------------------------------------------------- */

typedef struct dtrace_activity {
	const char *dac_what;	      /* "placing probes"; static */
	uint64_t dac_done, dac_total; /* of what there is to do; dac_total 0: it is not known */
	uint64_t dac_ns;	      /* for how long, in nanoseconds */
} dtrace_activity_t;
/*
 * Tells what a call of another function, which has not returned yet, is doing: for a display of
 * progress by another thread. Returns 0 when the library does nothing that may take long.
 */
int dtrace_activity_sized(dtrace_hdl_t *dtp, dtrace_activity_t *ret, size_t size);
DTRACE_SIZED(dtrace_activity, (dtrace_hdl_t * dtp, dtrace_activity_t *ret),
	     (dtp, ret, sizeof(*ret)))

/* ---- processes ------------------------------------------------------------------------------- */

/*
 * As -c: starts cmd, and holds it before its first instruction. cmd is split into words at quotes,
 * backslashes and white space as by a shell, which expands nothing. As -p: holds process pid. The
 * first process is $target.
 */
int dtrace_proc_create(dtrace_hdl_t *dtp, const char *cmd);
int dtrace_proc_grab(dtrace_hdl_t *dtp, pid_t pid);
/*
 * As --core, before any program is compiled: programs run over what is left of a process, in a core
 * file, or (target is a decimal number) in a copy of a process, which stands still for the copying
 * only. There are the providers mapping, thread, frame, chunk and object, and no others. The handle
 * may have been opened with DTRACE_O_NODEV.
 */
int dtrace_core(dtrace_hdl_t *dtp, const char *target);
/*
 * Lets the process of dtrace_proc_create() run on to the place that the option evaltime names; each
 * later call lets it run until it executes another program, as env and shells do, and to this place
 * of that one. It is held there. To be called before probes are looked for. Returns 1; 0: it has
 * ended meanwhile. Fails if no process was created, if it has ended before the first place, if it
 * is not held any more, if tracing has begun (EDT_ACTIVE), and when dtrace_interrupt() is called.
 */
int dtrace_proc_advance(dtrace_hdl_t *dtp);
/* Lets these processes run; to be called after dtrace_go(). */
int dtrace_proc_continue(dtrace_hdl_t *dtp);

/* ---- running --------------------------------------------------------------------------------- */

int dtrace_go(dtrace_hdl_t *dtp);
int dtrace_stop(dtrace_hdl_t *dtp); /* END fires in the dtrace_work() that must follow */
/*
 * For signal handlers and other threads: makes a dtrace_go() return soon. One that is still loading
 * fails with EINTR; one that is attaching succeeds, and the run is then stopped. Ends a
 * dtrace_sleep(). Must not be called once dtrace_close() was.
 */
void dtrace_interrupt(dtrace_hdl_t *dtp);
/* Waits for data, for the next time of a rate option, for the end of a target, or for a signal. */
void dtrace_sleep(dtrace_hdl_t *dtp);

typedef enum dtrace_workstatus {
	DTRACE_WORKSTATUS_ERROR = -1,
	DTRACE_WORKSTATUS_OKAY,
	DTRACE_WORKSTATUS_DONE
} dtrace_workstatus_t;

/* Value of exit(), 0 to 255; -1 when it was not called. */
int dtrace_exit_status(dtrace_hdl_t *dtp);

/* ---- values ---------------------------------------------------------------------------------- */

typedef enum dtrace_datumkind {
	DTRACE_DATUM_INT,    /* dtd_value; dtd_size is 1, 2, 4 or 8 */
	DTRACE_DATUM_STRING, /* dtd_bytes: dtd_size bytes, and a NUL behind them */
	DTRACE_DATUM_BYTES,  /* memory, an array or a structure: dtd_size bytes at dtd_bytes */
	DTRACE_DATUM_STACK,  /* of the kernel: dtd_nframes frames, the innermost one first */
	DTRACE_DATUM_USTACK, /* of process dtd_pid */
	DTRACE_DATUM_SYM,    /* dtd_addr, which func() and sym() show as a function */
	DTRACE_DATUM_MOD,    /* dtd_addr, which mod() shows as a module */
	DTRACE_DATUM_USYM,   /* dtd_addr in process dtd_pid; ufunc() and usym() */
	DTRACE_DATUM_UMOD,
	DTRACE_DATUM_UADDR
} dtrace_datumkind_t;

#define DTRACE_FRAME_RETURN 0x1 /* the address is behind a call, which returns to it */
#define DTRACE_FRAME_SIGNAL 0x2 /* a signal handler returns to the address */
#define DTRACE_FRAME_CUT    0x4 /* the stack could not be walked further: there is no address */
#define DTRACE_FRAME_MERGED 0x8 /* the frame stands for all of its name: option stackmerge */
/* a frame of the program's language: dtf_helper is its text, and there is no address */
#define DTRACE_FRAME_LANGUAGE 0x10
#define DTRACE_FRAME_LATE     0x20 /* CUT, because an unwind table was not loaded yet */

typedef struct dtrace_frame {
	uint64_t dtf_addr;
	pid_t dtf_pid; /* 0: of the kernel */
	uint32_t dtf_flags;
	/*
	 * the text of a ustack helper for the frame; "@text" is an annotation; of CUT: which frames
	 * are missing, if those of the language are; NULL: there is none
	 */
	const char *dtf_helper;
} dtrace_frame_t;

typedef struct dtrace_datum {
	dtrace_datumkind_t dtd_kind;
	int dtd_is_signed;
	uint32_t dtd_size;
	uint64_t dtd_value; /* extended to 64 bits by its sign; also of BYTES of 1, 2, 4 or 8 */
	const char *dtd_bytes;
	uint64_t dtd_addr;
	pid_t dtd_pid; /* as dtrace itself sees it; 0: of the kernel */
	const dtrace_frame_t *dtd_frames;
	uint32_t dtd_nframes;
} dtrace_datum_t;

/* ---- records --------------------------------------------------------------------------------- */

/* clang-format off */
typedef enum dtrace_actkind {
	DTRACEACT_NONE,
	DTRACEACT_DIFEXPR,	/* trace() */
	DTRACEACT_EXIT,
	DTRACEACT_PRINTF,
	DTRACEACT_PRINTA,
	DTRACEACT_TRACEMEM,	/* also printm(); a second value: how much is shown */
	DTRACEACT_PRINT,	/* dtrd_type names the type */
	DTRACEACT_PCAP,		/* values: bytes present, length on the wire, link type, data */
	DTRACEACT_STACK, DTRACEACT_USTACK, /* also jstack() */
	DTRACEACT_SYM, DTRACEACT_MOD, DTRACEACT_USYM, DTRACEACT_UMOD, DTRACEACT_UADDR,
	/* these show nothing, but take effect when they are consumed */
	DTRACEACT_CLEAR, DTRACEACT_TRUNC, DTRACEACT_NORMALIZE, DTRACEACT_DENORMALIZE,
	DTRACEACT_SETOPT, DTRACEACT_FTRUNCATE, DTRACEACT_FREOPEN, DTRACEACT_SYSTEM,
	/* the value of an aggregation */
	DTRACEAGG_COUNT, DTRACEAGG_SUM, DTRACEAGG_MIN, DTRACEAGG_MAX, DTRACEAGG_AVG,
	DTRACEAGG_STDDEV, DTRACEAGG_QUANTIZE, DTRACEAGG_LQUANTIZE, DTRACEAGG_LLQUANTIZE,
	DTRACEAGG_LIVE
} dtrace_actkind_t;
/* clang-format on */

typedef uint32_t dtrace_aggid_t; /* of an aggregation, from 1, by its first appearance */

/* One value of an action, or an action without values. */
typedef struct dtrace_recdesc {
	dtrace_actkind_t dtrd_action;
	uint32_t dtrd_size;	 /* of the value; strings with their NUL; 0: there is none */
	uint32_t dtrd_offset;	 /* of the value in dtpda_data or dtada_data */
	uint32_t dtrd_alignment; /* of that offset */
	/* of printf(), printa(), system(), freopen(); NULL: none. Lives as long as the handle. */
	const char *dtrd_format;
	const char *dtrd_type; /* of print(); else NULL. Lives as long as the handle. */
	uint32_t dtrd_nvals;   /* values of this action from this one on, which is the first */
	uint32_t dtrd_naggs;   /* printa(), clear() and the like: whose aggregations they are */
	const dtrace_aggid_t *dtrd_aggs;
} dtrace_recdesc_t;

typedef struct dtrace_eprobedesc {
	dtrace_epid_t dtepd_epid; /* of a clause and a probe that it is enabled on */
	dtrace_id_t dtepd_probeid;
	uint64_t dtepd_uarg; /* number of the clause, from 0, in the order of all programs */
	uint32_t dtepd_size; /* of dtpda_data */
	int dtepd_nrecs;
	const dtrace_recdesc_t *dtepd_rec;
} dtrace_eprobedesc_t;

typedef enum dtrace_flowkind {
	DTRACEFLOW_ENTRY,
	DTRACEFLOW_RETURN,
	DTRACEFLOW_NONE /* always, without option flowindent */
} dtrace_flowkind_t;

/*
 * A probe has fired, and a clause has recorded something. dtepd_rec describes the actions that were
 * executed, in their order: one description for each value, or one for an action without values.
 *
 * Elsewhere offsets and sizes are those of a clause; here they are those of this record, because
 * strings and stacks take the room that they need. dtrace_recdata() gives values with their kinds.
 */
typedef struct dtrace_probedata {
	dtrace_hdl_t *dtpda_handle;
	const dtrace_eprobedesc_t *dtpda_edesc;
	const dtrace_probedesc_t *dtpda_pdesc;
	int dtpda_cpu;
	const char *dtpda_data; /* aligned to 8; words are those of the machine */
	dtrace_flowkind_t dtpda_flow;
	const char *dtpda_prefix; /* what option flowindent shows before the function, or NULL */
	int dtpda_indent;	  /* columns before that */
	uint64_t dtpda_timestamp; /* when the probe fired */
} dtrace_probedata_t;

/* A callback of dtrace_work() returns one of these. */
#define DTRACE_CONSUME_ERROR (-1) /* dtrace_work() fails with EDT_DIRABORT */
#define DTRACE_CONSUME_THIS  0	  /* show it; it takes effect */
#define DTRACE_CONSUME_NEXT  1	  /* skip it; of its actions only exit() takes effect */
#define DTRACE_CONSUME_ABORT 2 /* dtrace_work() fails with EDT_DIRABORT, and may be called again */

/* Called for each record. NEXT skips all of its actions. */
typedef int dtrace_consume_probe_f(const dtrace_probedata_t *data, void *arg);
/*
 * Called for each action with the description of its first value; dtrd_nvals - 1 more follow it in
 * memory. Called with rec NULL at the end of the record.
 */
typedef int dtrace_consume_rec_f(const dtrace_probedata_t *data, const dtrace_recdesc_t *rec,
				 void *arg);

/*
 * Drains buffers, shows records in fp, snapshots aggregations when due, calls the handlers of drops
 * and of faults. Either callback may be NULL: then everything is shown.
 *
 * With a callback the line belongs to the program: the header, the columns CPU, ID and
 * FUNCTION:NAME and the newline at the end are left out. What the program writes to fp by itself
 * stands where it was written. fp NULL: text goes to the handler of dtrace_handle_buffered();
 * without one, something to show is an error, EDT_NOBUFFERED.
 *
 * After an error it may be called again, and goes on with the next record.
 */
dtrace_workstatus_t dtrace_work(dtrace_hdl_t *dtp, FILE *fp, dtrace_consume_probe_f *pfunc,
				dtrace_consume_rec_f *rfunc, void *arg);

/* The value that rec, a description in data->dtpda_edesc, describes. Lives as long as data. */
int dtrace_recdata(const dtrace_probedata_t *data, const dtrace_recdesc_t *rec,
		   dtrace_datum_t *ret_datum);

/* ---- aggregations ---------------------------------------------------------------------------- */

#define DTRACE_AGD_PRINTED 0x1 /* printa() has printed it: dtrace_aggregate_print() does not */

typedef struct dtrace_aggdesc {
	const char *dtagd_name; /* "_" if it has none. Lives as long as the handle. */
	dtrace_aggid_t dtagd_varid;
	dtrace_actkind_t dtagd_action; /* DTRACEAGG_*: the function */
	uint32_t dtagd_flags;
	/* lquantize(): base, levels, step; llquantize(): factor, low, high, steps; else 0 */
	int64_t dtagd_params[4];
	int dtagd_nrecs; /* the identifier, each key, the value as the kernel has it */
	const dtrace_recdesc_t *dtagd_rec;
} dtrace_aggdesc_t;

/* A row: an element of an aggregation, with its keys. */
typedef struct dtrace_aggdata {
	dtrace_hdl_t *dtada_handle;
	const dtrace_aggdesc_t *dtada_desc;
	const char *dtada_data; /* by dtagd_rec, as dtpda_data */
	size_t dtada_size;
	uint64_t dtada_normal; /* the factor of normalize(), 1 = none */
	const dtrace_datum_t *dtada_keys;
	uint32_t dtada_nkeys;
	uint32_t dtada_ncpus; /* 0 without option aggpercpu */
	const void *dtada_private;
} dtrace_aggdata_t;

typedef struct dtrace_bucket {
	int64_t dtb_min, dtb_max; /* values it counts; INT64_MIN, INT64_MAX: no bound */
	int64_t dtb_count;	  /* divided by the factor of normalize() */
} dtrace_bucket_t;

typedef struct dtrace_aggvalue {
	dtrace_actkind_t dtav_action;
	/* count, sum, min, max, avg, stddev, live as they are printed; of a histogram 0 */
	int64_t dtav_value;
	/*
	 * The parts of which the values were made, as recorded: normalize() does not change them.
	 * A part that the aggregating function does not have is 0.
	 */
	/* count, avg, stddev: how many values; live: how many are alive; histograms: all counts */
	uint64_t dtav_count;
	int64_t dtav_sum;	/* sum, avg, stddev; live: bytes */
	uint64_t dtav_sumsq[2]; /* stddev: sum of the squares, low word first */
	int dtav_is_empty;	/* no value, or none since clear() */
	/* of a histogram: from the first bucket with a count to the last one, ascending */
	const dtrace_bucket_t *dtav_buckets;
	uint32_t dtav_nbuckets;
} dtrace_aggvalue_t;

#define DTRACE_CPUALL (-1)
/*
 * The value of a row, or of one CPU's part of it (below dtada_ncpus). Its buckets live as long as
 * agg.
 */
int dtrace_aggvalue_sized(const dtrace_aggdata_t *agg, int cpu, dtrace_aggvalue_t *ret_value,
			  size_t size);
DTRACE_SIZED(dtrace_aggvalue, (const dtrace_aggdata_t *agg, int cpu, dtrace_aggvalue_t *ret_value),
	     (agg, cpu, ret_value, sizeof(*ret_value)))

/* A callback of an aggregation walk returns one of these. */
#define DTRACE_AGGWALK_ERROR	   (-1) /* the walk fails with EDT_DIRABORT */
#define DTRACE_AGGWALK_NEXT	   0
#define DTRACE_AGGWALK_ABORT	   1 /* the walk ends, and fails with EDT_DIRABORT */
#define DTRACE_AGGWALK_CLEAR	   2 /* the row's value begins at zero again */
#define DTRACE_AGGWALK_NORMALIZE   3 /* dtada_normal, as the callback has set it, is the factor */
#define DTRACE_AGGWALK_DENORMALIZE 4 /* the factor is 1 */
#define DTRACE_AGGWALK_REMOVE	   5 /* the row goes, as with trunc() */

/*
 * The factor belongs to the aggregation: with NORMALIZE, which takes a cast, and DENORMALIZE the
 * rows that follow have it, too.
 */
typedef int dtrace_aggregate_f(const dtrace_aggdata_t *agg, void *arg);
typedef int dtrace_aggregate_walk_f(dtrace_hdl_t *dtp, dtrace_aggregate_f *func, void *arg);
/* aggs[i] is NULL if aggregation i has no such row; what is returned holds for all that have. */
typedef int dtrace_aggregate_walk_joined_f(const dtrace_aggdata_t **aggs, const int naggs,
					   void *arg);

/* Reads the aggregations; the walks below show what they were then. */
int dtrace_aggregate_snap(dtrace_hdl_t *dtp);
/* Every aggregation begins at zero again; keys stay. */
int dtrace_aggregate_clear(dtrace_hdl_t *dtp);

/*
 * Walk all rows, one aggregation after another. Order within each: as they were read; by the
 * options (aggsortkey and the like); by keys; by values, as printed without options; the reverse of
 * these.
 */
dtrace_aggregate_walk_f dtrace_aggregate_walk;
dtrace_aggregate_walk_f dtrace_aggregate_walk_sorted;
dtrace_aggregate_walk_f dtrace_aggregate_walk_keysorted, dtrace_aggregate_walk_keyrevsorted;
dtrace_aggregate_walk_f dtrace_aggregate_walk_valsorted, dtrace_aggregate_walk_valrevsorted;
/* By keys first: rows of all aggregations with the same keys follow one another, by identifier. */
dtrace_aggregate_walk_f dtrace_aggregate_walk_keyvarsorted, dtrace_aggregate_walk_keyvarrevsorted;
/*
 * Rows of several aggregations with the same keys side by side, in the order of the options.
 * EDT_BADAGGVAR: there is no such aggregation, or their keys differ in number.
 */
int dtrace_aggregate_walk_joined(dtrace_hdl_t *dtp, const dtrace_aggid_t *varids, int naggs,
				 dtrace_aggregate_walk_joined_f *func, void *arg);
/* The identifier of the aggregation @name, name without '@'; 0 and EDT_NOAGG: there is none. */
dtrace_aggid_t dtrace_aggregate_lookup(dtrace_hdl_t *dtp, const char *name);

/*
 * Takes a snapshot and shows all aggregations no printa() has printed, as at the end of a run, in
 * the order of walk: one of the walks above, or a function of the program that calls one. NULL: as
 * the options say. fp as of dtrace_work().
 */
int dtrace_aggregate_print(dtrace_hdl_t *dtp, FILE *fp, dtrace_aggregate_walk_f *walk);
/* Ends the output, after everything was printed, where option oformat makes it one document. */
int dtrace_output_end(dtrace_hdl_t *dtp, FILE *fp);

/* ---- names of addresses ---------------------------------------------------------------------- */

typedef struct dtrace_syminfo {
	/* module, or base name of a file. Both live until the next call on the handle. */
	const char *dts_object;
	const char *dts_name; /* function; NULL: only the object is known */
	uint64_t dts_offset;  /* of the address from the beginning of the function */
	/*
	 * The address as the file of the object has it (nm, objdump, addr2line), the same in all
	 * processes. Not known, and 0: of the kernel, and where no file could be read.
	 */
	uint64_t dts_file_addr;
	int dts_has_file_addr;
} dtrace_syminfo_t;

/* -1 and EDT_NOSYMADDR: the address has no name. */
int dtrace_lookup_by_addr_sized(dtrace_hdl_t *dtp, uint64_t addr, dtrace_syminfo_t *ret_info,
				size_t size);
DTRACE_SIZED(dtrace_lookup_by_addr, (dtrace_hdl_t * dtp, uint64_t addr, dtrace_syminfo_t *ret_info),
	     (dtp, addr, ret_info, sizeof(*ret_info)))
int dtrace_ulookup_by_addr_sized(dtrace_hdl_t *dtp, pid_t pid, uint64_t addr,
				 dtrace_syminfo_t *ret_info, size_t size);
DTRACE_SIZED(dtrace_ulookup_by_addr,
	     (dtrace_hdl_t * dtp, pid_t pid, uint64_t addr, dtrace_syminfo_t *ret_info),
	     (dtp, pid, addr, ret_info, sizeof(*ret_info)))
/* The name of an instruction in a stack is that of the call before it. */
int dtrace_frame_lookup_sized(dtrace_hdl_t *dtp, const dtrace_frame_t *frame,
			      dtrace_syminfo_t *ret_info, size_t size);
DTRACE_SIZED(dtrace_frame_lookup,
	     (dtrace_hdl_t * dtp, const dtrace_frame_t *frame, dtrace_syminfo_t *ret_info),
	     (dtp, frame, ret_info, sizeof(*ret_info)))
/*
 * The text that D programs show of a kernel address (%a), of one of a process (uaddr()), of a
 * frame: "module`function+0x1f", or the number. At most len bytes, NUL included; returns the length
 * of the whole text, as snprintf() does.
 */
int dtrace_addr2str(dtrace_hdl_t *dtp, uint64_t addr, char *buf, int len);
int dtrace_uaddr2str(dtrace_hdl_t *dtp, pid_t pid, uint64_t addr, char *buf, int len);
int dtrace_frame2str(dtrace_hdl_t *dtp, const dtrace_frame_t *frame, char *buf, int len);

/* ---- handlers -------------------------------------------------------------------------------- */

/* A handler returns one of these. */
#define DTRACE_HANDLE_ABORT (-1) /* the call that led to it fails */
#define DTRACE_HANDLE_OK    0

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
	DTRACEDROP_STKSTROVERFLOW,
	DTRACEDROP_HELPERERROR, /* of Fathom: a ustack helper faulted, its frame has no name */
	DTRACEDROP_LIVE /* of Fathom: live() had no room for an address, which it does not count */
} dtrace_dropkind_t;

/* Records or data were lost, which only this handler is told. ABORT: EDT_DROPABORT. */
typedef struct dtrace_dropdata {
	dtrace_hdl_t *dtdda_handle;
	int dtdda_cpu; /* or DTRACE_CPUALL */
	dtrace_dropkind_t dtdda_kind;
	uint64_t dtdda_drops; /* since the last time */
	uint64_t dtdda_total; /* of this kind, on all CPUs, since dtrace_go() */
	/* complete text with newline, as "dtrace: " would precede it; a hint may follow */
	const char *dtdda_msg;
} dtrace_dropdata_t;
typedef int dtrace_handle_drop_f(const dtrace_dropdata_t *drop, void *arg);
int dtrace_handle_drop(dtrace_hdl_t *dtp, dtrace_handle_drop_f *func, void *arg);

/* As the ERROR probe's arg4; the last one: not a clause failed, but what was to be done with its
 * record. */
#define DTRACEFLT_UNKNOWN   0
#define DTRACEFLT_BADADDR   1
#define DTRACEFLT_BADALIGN  2
#define DTRACEFLT_ILLOP	    3
#define DTRACEFLT_DIVZERO   4
#define DTRACEFLT_NOSCRATCH 5
#define DTRACEFLT_KPRIV	    6
#define DTRACEFLT_UPRIV	    7
#define DTRACEFLT_TUPOFLOW  8
#define DTRACEFLT_BADSTACK  9
#define DTRACEFLT_BADSIZE   10
#define DTRACEFLT_BADINDEX  11
#define DTRACEFLT_LIBRARY   1000

/* A clause has failed at run time. ABORT: EDT_ERRABORT. */
typedef struct dtrace_errdata {
	dtrace_hdl_t *dteda_handle;
	/* Both are NULL in a message that stands for many faults (dteda_count). No records. */
	const dtrace_eprobedesc_t *dteda_edesc;
	const dtrace_probedesc_t *dteda_pdesc;
	int dteda_cpu;	     /* or DTRACE_CPUALL: not known */
	int dteda_action;    /* from 1; 0: the predicate; -1: not known */
	int dteda_offset;    /* in its DIF; -1: not known */
	int dteda_fault;     /* DTRACEFLT_* */
	uint64_t dteda_addr; /* the address, size or index that was wrong */
	uint64_t
		dteda_count; /* faults this message stands for: in a flood, all that are not told */
	const char *dteda_msg;
} dtrace_errdata_t;
typedef int dtrace_handle_err_f(const dtrace_errdata_t *err, void *arg);
int dtrace_handle_err(dtrace_hdl_t *dtp, dtrace_handle_err_f *func, void *arg);

#define DTRACE_BUFDATA_AGGKEY	 0x1 /* the keys of dtbda_aggdata are in the text, */
#define DTRACE_BUFDATA_AGGVAL	 0x2 /* and its value, */
#define DTRACE_BUFDATA_AGGFORMAT 0x4 /* by a format of printa() */
#define DTRACE_BUFDATA_AGGLAST	 0x8 /* nothing follows of the row */

/*
 * Text that would have gone to a file. All texts together are that file to the byte; each is that
 * of one action, one row of an aggregation, or what stands between them. ABORT: EDT_DIRABORT.
 */
typedef struct dtrace_bufdata {
	dtrace_hdl_t *dtbda_handle;
	const char *dtbda_buffered;	       /* NUL behind it */
	size_t dtbda_len;		       /* a character 0 may be in it */
	const dtrace_probedata_t *dtbda_probe; /* NULL: of no record */
	const dtrace_recdesc_t *dtbda_recdesc; /* NULL: of no action */
	const dtrace_aggdata_t
		*dtbda_aggdata; /* NULL: of no row; of rows side by side, the first */
	uint32_t dtbda_flags;
} dtrace_bufdata_t;
typedef int dtrace_handle_buffered_f(const dtrace_bufdata_t *buf, void *arg);
int dtrace_handle_buffered(dtrace_hdl_t *dtp, dtrace_handle_buffered_f *func, void *arg);

/* setopt() has changed an option. ABORT: EDT_DIRABORT. */
typedef struct dtrace_setoptdata {
	dtrace_hdl_t *dtsda_handle;
	const dtrace_probedata_t *dtsda_probe; /* NULL without callbacks of dtrace_work() */
	const char *dtsda_option;
	const char *dtsda_newval;     /* as the program gives it */
	int64_t dtsda_old, dtsda_new; /* as dtrace_getopt() gives them */
} dtrace_setoptdata_t;
typedef int dtrace_handle_setopt_f(const dtrace_setoptdata_t *opt, void *arg);
int dtrace_handle_setopt(dtrace_hdl_t *dtp, dtrace_handle_setopt_f *func, void *arg);

/* A process of dtrace_proc_create() or dtrace_proc_grab() has ended; msg says how. */
typedef int dtrace_handle_proc_f(dtrace_hdl_t *dtp, pid_t pid, const char *msg, void *arg);
int dtrace_handle_proc(dtrace_hdl_t *dtp, dtrace_handle_proc_f *func, void *arg);

/*
 * Adjustments, hints, and warnings about programs, also those from before the call. msg: complete
 * text with newline.
 */
typedef int dtrace_handle_notice_f(dtrace_hdl_t *dtp, const char *msg, void *arg);
int dtrace_handle_notice(dtrace_hdl_t *dtp, dtrace_handle_notice_f *func, void *arg);

/* ---- errors (d-language.md appendix A) ------------------------------------------------------- */

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
