/* SPDX-License-Identifier: MIT */
/*
 * The printer: shows records and aggregations; as text exactly as d-language.md 6 says.
 *
 * It also executes the actions that take effect when a record is consumed (printa, clear, trunc,
 * normalize, freopen, ftruncate, system, setopt, exit), in the order of the record. Those that
 * change the session call struct print_hooks.
 *
 * Speed    it is made for 400,000 records of printf() a second: formats are prepared once, numbers
 *          are formatted by hand, output is collected in one buffer and written with few calls.
 * Owns     a printer owns its output buffer; the FILE is the caller's.
 */
#pragma once

#include <stdatomic.h>
#include <stdio.h>

#include "agg/agg.h"
#include "base/err.h"
#include "base/str.h"
#include "dtrace.h"
#include "probe/probe.h"

struct printer;
struct shape;
struct sym_name;
struct syms;

#define PRINT_UNSET (-2) /* an option whose value is a word has none */

/* Values of option encoding; unset: aggpack decides by TERM, bars are ASCII. */
enum print_encoding {
	PRINT_ENCODING_UNSET = PRINT_UNSET,
	PRINT_ENCODING_ASCII = 0,
	PRINT_ENCODING_UTF8,
};

/*
 * Values of option escape: where text of others is escaped, so that it can neither control a
 * terminal nor look like a line of output. The program's own text (dif/own.h) never is.
 */
enum print_escape {
	PRINT_ESCAPE_AUTO, /* where it goes to a terminal, or is text in a page */
	PRINT_ESCAPE_ALWAYS,
	PRINT_ESCAPE_NEVER,
};

/* Values of option stackmerge: which key stacks are merged. */
enum print_merge {
	PRINT_MERGE_OFF,
	PRINT_MERGE_FUNCTION,
	PRINT_MERGE_LINE,
};

/* Values of option oformat. */
enum print_oformat {
#define OFORMAT(id, ...) PRINT_##id,
#include "render/oformats.def"
};

/* Values of option picture: what a picture's file is; unset: the first. */
enum print_picture {
	PRINT_PICTURE_SVG,
	PRINT_PICTURE_HTML,
};

/* Values of option unit. */
enum print_unit {
	PRINT_UNIT_AUTO, /* the name of the aggregation may tell */
	PRINT_UNIT_NONE,
	PRINT_UNIT_NS,
	PRINT_UNIT_US,
	PRINT_UNIT_MS,
	PRINT_UNIT_BYTES,
};

struct print_opts { /* read at every use: options may change during the run */
	bool quiet, flowindent, rawbytes;
	bool noresolve; /* user addresses are printed as object:0xoffset */
	bool absaddr;	/* user addresses without a name are printed as they are in the process */
	bool lines;	/* user addresses are printed with their source lines */
	bool agghist, aggpack, aggzoom; /* d-language.md 6.4.2 */
	enum print_encoding encoding;
	enum print_escape escape;
	enum print_oformat oformat;  /* does not change while running */
	enum print_merge stackmerge; /* does not change while running */
	/* of pictures; these do not change while running */
	enum print_picture picture;
	enum print_unit unit;
	bool icicle;	       /* the root of a flame graph is its top row */
	const char *flamebase; /* file of an earlier run to compare with, or NULL */
	const char *rownames;  /* of PRINT_ROWS, separated by commas; NULL: values have numbers */
	uint32_t toprows;      /* most rows of an aggregation; 0: all */
	struct agg_sort sort;
	uint32_t printsize;   /* most bytes print() shows */
	uint32_t stackindent; /* columns before a stack frame; the option's default is 14 */
	uint64_t target_pid;  /* the process of integer keys that %A prints; 0 = the kernel */
	bool is_testing;      /* omits the columns CPU and ID, which differ from run to run */
};

struct print_hooks {
	void *ctx;
	/* A record of exit() was consumed. */
	void (*exit)(void *ctx, int status);
	struct err *(*setopt)(void *ctx, const char *name, const char *value);
	/*
	 * An action failed while it was consumed (d-language.md 7.1, "Library error"). text follows
	 * "error on enabled probe ID E (ID P: ...): ", and has no newline.
	 */
	void (*fault)(void *ctx, uint32_t clause, uint32_t probe, const char *text);
	/* Updates the snapshot of aggregations, before printa(), clear() and the like. */
	struct err *(*snap)(void *ctx);
	/* Tells the user a sentence about the output; may be NULL. */
	void (*notice)(void *ctx, const char *msg);
	/*
	 * The enabled-probe id; may be NULL: 0 is shown. *clause is that of the record, and becomes
	 * the one that the user knows.
	 */
	uint32_t (*epid)(void *ctx, uint32_t *clause, uint32_t probe);
	/*
	 * Is called again and again while a command of system() runs, which may wait for a process
	 * that waits for the session. It may add probes. May be NULL.
	 */
	void (*tend)(void *ctx);
	/* Counts the signals that asked to end (dtrace_interrupt()); may be NULL. */
	const atomic_int *interrupts;
};

struct printer *printer_create(const struct layout *l, struct probes *probes, struct aggs *aggs,
			       const struct print_opts *opts, const struct print_hooks *hooks);
void printer_destroy(struct printer *p);
/* Sets the source of names of addresses; the handle stays the caller's. */
void printer_set_syms(struct printer *p, struct syms *syms);
/*
 * The text by which stacks are merged (option stackmerge): stacks with equal texts are one key.
 * kind is DATUM_STACK or DATUM_USTACK. time: when the stack was first recorded; 0: unknown.
 */
void printer_stack_name(struct printer *p, enum datum_kind kind, const char *bytes, uint32_t size,
			uint64_t time, struct strbuf *out);
/*
 * Tells the printer a program of the session, for reports and titles; it copies the texts.
 * is_script: name is that of the file which has the program.
 */
void printer_add_program(struct printer *p, const char *name, const char *text, bool is_script);
/* Reads the files that options of pictures name. */
MUST_CHECK struct err *printer_open_base(struct printer *p);
/* Sets the offset from the clock of records to ns since 1970, for pcap(). */
void printer_set_wall(struct printer *p, int64_t offset);

/*
 * Shows a record. next: the following record in the same CPU's buffer, for flow indent, or NULL.
 * Text goes to the printer's buffer. Here and below fp is NULL if text goes to the handler of
 * struct print_callbacks.
 */
MUST_CHECK struct err *print_record(struct printer *p, FILE *fp, const struct rt_rec *rec,
				    uint32_t len, uint32_t cpu, const struct rt_rec *next);
/* The text of a fault record for the error handler, with newline (7.1). */
void print_fault(struct printer *p, const struct rt_rec_fault *f, bool is_hidden,
		 struct strbuf *out);
/* The provider of the probe that has fired the present record; buf is room for it. */
const char *printer_provider(const struct printer *p, const struct probe *pr,
			     char buf[PROBE_PROV_ROOM]);
/* A message that the session gives to its handlers, for forms of output that also show it. */
struct print_notice {
	const char *name; /* DROP, ERROR */
	int cpu;	  /* -1 = all */
	uint64_t time;
	int kind; /* dtrace_dropkind_t; -1 = none, and no counts */
	uint64_t count, total;
	const char *msg;
	const dtrace_errdata_t *fault; /* of an ERROR; NULL = none */
};
void printer_notice(struct printer *p, const struct print_notice *n);
/* Shows every aggregation that no printa() has printed (6.4.1), from the present snapshot. */
MUST_CHECK struct err *print_aggs(struct printer *p, FILE *fp);
/* Ends the output, as its form requires; nothing may be printed afterwards. */
MUST_CHECK struct err *printer_end(struct printer *p, FILE *fp);
/* Lets forms of output draw that are drawn again and again; to be called between records. */
MUST_CHECK struct err *printer_tick(struct printer *p);
/* Writes the buffered output; an error is 'failed to write to ...'. */
MUST_CHECK struct err *printer_flush(struct printer *p, FILE *fp);

/* ---- callbacks of a program (api.h) --------------------------------------------------------- */

struct print_callbacks { /* a member that is NULL: there is no such callback */
	dtrace_hdl_t *hdl;
	dtrace_consume_probe_f *probe;
	dtrace_consume_rec_f *rec;
	void *arg;
	dtrace_handle_buffered_f *text; /* takes the output when there is no file */
	void *text_arg;
};
/* Sets the callbacks until the next call. */
void printer_set_callbacks(struct printer *p, const struct print_callbacks *cb);
/* Whether a callback is running: until it returns nothing may be consumed or read. */
bool printer_in_callback(const struct printer *p);
/* The current record, or NULL if no callback has asked for its values. */
const dtrace_probedata_t *printer_record(const struct printer *p);
/* dtrace_recdata() */
MUST_CHECK struct err *printer_recdata(const struct printer *p, const dtrace_probedata_t *data,
				       const dtrace_recdesc_t *rec, dtrace_datum_t *ret);

/* The order of rows. The last two mix the rows of aggregations: by keys, then by identifier. */
enum walk_order {
	WALK_AS_READ,
	WALK_BY_OPTIONS,
	WALK_KEY,
	WALK_KEY_REV,
	WALK_VALUE,
	WALK_VALUE_REV,
	WALK_KEY_ID,
	WALK_KEY_ID_REV,
};
MUST_CHECK struct err *printer_walk(struct printer *p, enum walk_order order,
				    dtrace_aggregate_f *func, void *arg);
MUST_CHECK struct err *printer_walk_joined(struct printer *p, const dtrace_aggid_t *ids, uint32_t n,
					   dtrace_aggregate_walk_joined_f *func, void *arg);
/* print_aggs() in the order of a walk. */
MUST_CHECK struct err *print_aggs_in(struct printer *p, FILE *fp, dtrace_aggregate_walk_f *walk);
/* dtrace_aggvalue() */
MUST_CHECK struct err *printer_aggvalue(const dtrace_aggdata_t *row, int cpu,
					dtrace_aggvalue_t *ret);
void printer_row_of(const dtrace_aggdata_t *row, struct agg_view **ret_view,
		    struct agg_elem **ret_elem);

/* The name of a frame, or of an address, which is a frame without flags; false: it has none. */
bool print_frame_find(struct syms *syms, const struct print_opts *opts, const dtrace_frame_t *f,
		      struct sym_name *ret);
void print_frame_text(struct syms *syms, const struct print_opts *opts, const dtrace_frame_t *f,
		      struct strbuf *out);
/* Adds the frame as an object of JSON, as it stands in "ustack-frames". */
void print_frame_json(struct syms *syms, const struct print_opts *opts, const dtrace_frame_t *f,
		      struct strbuf *out);
