/*
 * Records and aggregations to text, exactly as d-language.md chapter 6 lays it out.
 *
 * Actions that take effect when a record is consumed (printa, clear, trunc, normalize, freopen,
 * ftruncate, system, setopt, exit) happen here too, in the order of the record; those that touch
 * the session go through struct print_hooks.
 *
 * Speed    made for 400,000 printf records a second: formats are prepared once, numbers are
 *          formatted by hand, output is collected in one buffer and written with few calls.
 * Owns     a printer owns its output buffer; the FILE is the caller's.
 */
#pragma once

#include <signal.h>
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

/* Option encoding; unset: aggpack decides by TERM, bars are ASCII. */
enum print_encoding {
	PRINT_ENCODING_UNSET,
	PRINT_ENCODING_ASCII,
	PRINT_ENCODING_UTF8,
};

/* Which key stacks are one: option stackmerge. */
enum print_merge {
	PRINT_MERGE_OFF,
	PRINT_MERGE_FUNCTION,
	PRINT_MERGE_LINE,
};

/* Option oformat. */
enum print_oformat {
	PRINT_TEXT,
	PRINT_JSON,
	PRINT_JSONL,
};

struct print_opts { /* dynamic: may change while running */
	bool quiet, flowindent, rawbytes;
	bool noresolve;			/* user addresses are printed as object:0xoffset */
	bool lines;			/* addresses of processes with their source lines */
	bool agghist, aggpack, aggzoom; /* d-language.md 6.4.2 */
	enum print_encoding encoding;
	enum print_oformat oformat;  /* does not change while running */
	enum print_merge stackmerge; /* does not change while running */
	struct agg_sort sort;
	uint32_t printsize;   /* most bytes print() shows */
	uint32_t stackindent; /* columns before a stack frame; the option's default is 14 */
	uint64_t target_pid;  /* whose addresses %A prints of integer keys; 0 = the kernel's */
	bool is_testing; /* the columns CPU and ID are left out, which differ from run to run */
};

struct print_hooks {
	void *ctx;
	/* Consumed exit(): status. */
	void (*exit)(void *ctx, int status);
	struct err *(*setopt)(void *ctx, const char *name, const char *value);
	/* A library-level fault (d-language.md 7.1 "Library error") of a record. text: what stands
	 * after "error on enabled probe ID E (ID P: ...): ", without newline. */
	void (*fault)(void *ctx, uint32_t clause, uint32_t probe, const char *text);
	/* Before printa(), clear() and friends: brings the snapshot up to date. */
	struct err *(*snap)(void *ctx);
	/* The enabled-probe id; NULL: 0 is shown. */
	uint32_t (*epid)(void *ctx, uint32_t clause, uint32_t probe);
	/* How many signals to end have come (dtrace_interrupt()); NULL: none ever. */
	const volatile sig_atomic_t *interrupts;
};

struct printer *printer_create(const struct layout *l, struct probes *probes, struct aggs *aggs,
			       const struct print_opts *opts, const struct print_hooks *hooks);
void printer_destroy(struct printer *p);
/* Where names of addresses come from; the handle stays the caller's. */
void printer_set_syms(struct printer *p, struct syms *syms);
/*
 * What stacks that are to be one have in common (option stackmerge): kind is DATUM_STACK or
 * DATUM_USTACK.
 */
void printer_stack_name(struct printer *p, enum datum_kind kind, const char *bytes, uint32_t size,
			struct strbuf *out);
/* From the clock of records to ns since 1970; pcap() wants it. */
void printer_set_wall(struct printer *p, int64_t offset);
/* opts stays the caller's and is read at every record; hooks is copied. */

/*
 * One record of a ring. next: the record that follows it in the same CPU's buffer, for flow indent,
 * or NULL. Text goes to the printer's buffer. Here and below fp is NULL if text goes to the handler
 * of struct print_callbacks.
 */
MUST_CHECK struct err *print_record(struct printer *p, FILE *fp, const struct rt_rec *rec,
				    uint32_t len, uint32_t cpu, const struct rt_rec *next);
/* The text of a fault record as the error handler gets it, newline included (7.1). */
void print_fault(struct printer *p, const struct rt_rec_fault *f, struct strbuf *out);
/* Something that the session tells its handlers, for forms of output that have a place for it. */
struct print_notice {
	const char *name; /* DROP, ERROR */
	int cpu;	  /* -1 = all */
	uint64_t time;
	int kind; /* dtrace_dropkind_t; -1 = none, and no counts */
	uint64_t count, total;
	const char *msg;
};
void printer_notice(struct printer *p, const struct print_notice *n);
/* Every aggregation no printa() printed (6.4.1), snapshot as it is; leading newline included. */
MUST_CHECK struct err *print_aggs(struct printer *p, FILE *fp);
/* What ends the output in its form; nothing may be printed afterwards. */
MUST_CHECK struct err *printer_end(struct printer *p, FILE *fp);
/* Writes what is buffered; an error is 'failed to write to ...'. */
MUST_CHECK struct err *printer_flush(struct printer *p, FILE *fp);

/* ---- callbacks of a program (api.h) --------------------------------------------------------- */

struct print_callbacks { /* NULL: it has none */
	dtrace_hdl_t *hdl;
	dtrace_consume_probe_f *probe;
	dtrace_consume_rec_f *rec;
	void *arg;
	dtrace_handle_buffered_f *text; /* of output without a file */
	void *text_arg;
};
/* They hold until they are set again. */
void printer_set_callbacks(struct printer *p, const struct print_callbacks *cb);
/* Whether a callback runs now: then nothing may be consumed or read. */
bool printer_in_callback(const struct printer *p);
/* The record at hand, or NULL if nobody has wanted to see its values. */
const dtrace_probedata_t *printer_record(const struct printer *p);
/* dtrace_recdata() */
MUST_CHECK struct err *printer_recdata(const struct printer *p, const dtrace_probedata_t *data,
				       const dtrace_recdesc_t *rec, dtrace_datum_t *ret);

/* The order of rows; the last two mix aggregations: by keys, then by identifier. */
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

/* The name of a frame or an address (of a frame without flags). False: it has none. */
bool print_frame_find(struct syms *syms, const struct print_opts *opts, const dtrace_frame_t *f,
		      struct sym_name *ret);
void print_frame_text(struct syms *syms, const struct print_opts *opts, const dtrace_frame_t *f,
		      struct strbuf *out);
