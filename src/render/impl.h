/* SPDX-License-Identifier: MIT */
/*
 * The inside of the printer (print.h): values, prepared formats, walks over stacks and structures,
 * and struct printer itself, for the files of this room.
 *
 * Owns     the printer owns its arenas: `arena` lives as long as it does, `scratch` as long as the
 *          current record. A struct datum points into a record or a key and owns nothing.
 * Units    times in ns of CLOCK_MONOTONIC; widths in columns, sizes in bytes.
 * Errors   struct err *: a record that its layout does not fit, or a file that cannot be written.
 * Threads  one.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "render/api.h"
#include "render/out.h"
#include "render/print.h"
#include "render/render.h"

/*
 * A value to be printed: a field of a record, a key, or the value of an aggregation. A string is
 * size bytes without NUL; a number is extended to 64 bits, and bytes is NULL.
 */
struct datum {
	enum datum_kind kind;
	bool is_signed;
	bool is_own; /* a constant text or number of the program itself (dif/own.h) */
	uint32_t size;
	uint64_t ival;
	const char *bytes;
	uint32_t frames; /* DATUM_STACK: number of frames to print, 0 = all */
	uint64_t time;	 /* a stack of a key: when it was recorded; 0: as the record, or unknown */
	bool is_traced;	 /* DATUM_STACK: RT_STACK_TRACED */
	bool is_merged;	 /* a stack that stands for all stacks of its name: option stackmerge */
};

struct sym_name;

/* ---- formats (text_format.c) --------------------------------------------------------------- */

struct conv;
typedef void conv_func(struct printer *p, struct strbuf *o, const struct conv *c,
		       const struct spec *s, const struct datum *d);

struct conv { /* a prepared conversion */
	const char *literal;
	uint32_t literal_len;
	char conv;
	enum conv_part part;
	bool is_long; /* size l, ll, L or w */
	struct spec spec;
	conv_func *print; /* NULL: literal only */
};

struct fmt {
	struct conv *convs;
	uint32_t nconvs;
};

const struct fmt *fmt_prepare(struct arena *a, const struct prog_fmt *src);
/* True when every conversion of the language has a row in the table; for the table's test. */
bool fmt_has_conv(char conv, const char *size);
/* Whether the format quotes a value for the shell. */
bool fmt_quotes(const struct fmt *f);

/* The source of a format's arguments. */
struct fmt_args {
	/* The next argument; false: there is none, and the conversion prints nothing. */
	bool (*next)(struct fmt_args *args, struct datum *ret);
	/* Prints the value of the next aggregation, for a conversion with '@'. */
	void (*agg)(struct fmt_args *args, struct printer *p, struct strbuf *o,
		    const struct conv *c, const struct spec *s);
};
void fmt_print(struct printer *p, struct strbuf *o, const struct fmt *f, struct fmt_args *args);

/* ---- values (value.c) ---------------------------------------------------------------------- */

/* An integer of 1, 2, 4 or 8 bytes at p, extended to 64 bits. */
uint64_t int_at(const void *p, uint32_t size, bool is_signed);

/* Reads a field; false when the field or its string does not lie inside the record. */
bool datum_of_field(struct datum *d, const struct layout *l, const struct rec_field *f,
		    const struct rt_rec *rec, uint32_t len);
struct datum datum_of_key(const struct agg_key *k);
/*
 * The value as a number: 1, 2, 4 or 8 bytes are an integer; of an address with its process it is
 * the address.
 */
uint64_t datum_int(const struct datum *d);
/* Whether the value has the size of an integer. */
bool datum_is_int(const struct datum *d);
bool datum_is_text(const struct datum *d);

/* ---- values as text (text_value.c) ----------------------------------------------------------- */

/*
 * Adds a text of a record or key to a field. What others have written is escaped where p->escapes
 * says so; d tells whose it is.
 */
void datum_text_add(struct printer *p, struct strbuf *o, const struct spec *s,
		    const struct datum *d, const char *text, size_t len);
/* trace(): d-language.md 6.2. */
void print_trace(struct printer *p, struct strbuf *o, const struct datum *d);
/* A key of a printa() without format: 6.4.1. */
void print_key(struct printer *p, struct strbuf *o, const struct datum *d);
/* A dump of bytes, for tracemem() and values that are no text. */
void print_raw(struct strbuf *o, const char *bytes, uint32_t size);
int int_width(uint32_t size); /* 16, 8, 5, 3 */
/* print(): d-language.md 6.5. */
void print_shape(struct printer *p, struct strbuf *o, const struct shape *shape,
		 const struct datum *d);

/* ---- structures (shape.c, text_shape.c) ----------------------------------------------------- */

struct shape_visitor;

struct shape_view { /* a value during a walk */
	struct printer *p;
	struct strbuf *o;
	const struct shape_visitor *visitor;
	const char *bytes;
	uint64_t len;	/* number of recorded bytes */
	uint64_t *left; /* number of elements and members that may still be walked */
};

/* sh is the structure, union or array in open, item, item_end, cut and close. */
struct shape_visitor {
	/* a number of at most 8 bytes, zero-extended from `bits` bits */
	void (*word)(const struct shape_view *v, const struct shape *sh, uint64_t word,
		     uint32_t bits);
	void (*flt)(const struct shape_view *v, const struct shape *sh, long double value);
	/* a string, or an array of characters that is text */
	void (*text)(const struct shape_view *v, const struct shape *sh, const char *text,
		     size_t len);
	void (*open)(const struct shape_view *v, const struct shape *sh);
	void (*item)(const struct shape_view *v, const struct shape *sh, uint32_t i,
		     uint32_t depth);
	void (*item_end)(const struct shape_view *v, const struct shape *sh);
	/* item i and those behind it were not recorded */
	void (*cut)(const struct shape_view *v, const struct shape *sh, uint32_t i, uint32_t depth);
	void (*close)(const struct shape_view *v, const struct shape *sh, uint32_t depth);
	/* a value of a type that is declared but not defined */
	void (*forward)(const struct shape_view *v, const struct shape *sh);
};

void walk_shape(struct printer *p, struct strbuf *o, const struct shape_visitor *visitor,
		const struct shape *shape, const struct datum *d);
int64_t shape_enum_value(const struct shape *sh, uint64_t word);
/* The name of the enumerator with this value; NULL: none has it. */
const char *shape_enum_name(const struct shape *sh, uint64_t word);

/* ---- addresses (addr.c) -------------------------------------------------------------------- */

enum addr_form {
	ADDR_SYM,  /* sym, usym: the symbol without offset */
	ADDR_MOD,  /* mod, umod: the object */
	ADDR_FULL, /* %a of an address, uaddr, stack frames: the symbol with offset */
	/* frames of merged stacks, without anything that differs from process to process */
	ADDR_FUNC, /* the function; for code without a name its offset in the file */
	ADDR_LINE, /* the function and its source line; the offset when the line is unknown */
};
enum addr_form addr_form_of(enum datum_kind kind);
/* Splits a recorded address: 8 bytes, or pid and address. */
void addr_of_datum(const struct datum *d, uint64_t *ret_pid, uint64_t *ret_addr);
/* The text that is shown in a stack in place of missing frames; mark: enum rt_ustack_mark. */
const char *mark_text(uint64_t mark);
/* The text of a helper without what says that the frame is async; NULL: it is not. */
const char *async_text(const char *text);

struct position {
	uint64_t pid, addr;
	/* enum rt_ustack_mark; unless 0, this is no frame, and only pid is set besides */
	uint64_t mark;
	bool is_return; /* it is a return address */
	/* it is the code to which a signal handler returns, often without a name in a C library */
	bool is_handler_call;
	/* the text of a ustack helper for the frame, until the next frame is visited; or NULL */
	const char *helper;
	bool is_language; /* a frame without an address: helper has its text */
};
bool position_find(struct printer *p, const struct position *at, struct sym_name *ret);
/* A frame of a stack, or where some are missing (position.mark). */
typedef void frame_func(void *ctx, const struct position *at);
/* Calls f for each frame of a stack, innermost first. */
void walk_stack(struct printer *p, const struct datum *d, frame_func *f, void *ctx);
/* The form in which the frames of a stack are named. */
enum addr_form stack_form(const struct printer *p, const struct datum *d);

/* ---- addresses as text (text_addr.c) -------------------------------------------------------- */

/* Adds the text of an address in the process pid (0 = the kernel). */
void addr_text(struct printer *p, struct strbuf *o, uint64_t pid, uint64_t addr,
	       enum addr_form form);
void position_text(struct printer *p, struct strbuf *o, const struct position *at,
		   enum addr_form form);
/* Prints a newline, then a line for each frame (6.6). */
void print_stack(struct printer *p, struct strbuf *o, const struct datum *d, uint32_t indent);

/* ---- histograms (hist.c) -------------------------------------------------------------------- */

/* The range of rows that are shown; *ret_first <= *ret_last. */
void hist_range(const struct agg_layout *l, const int64_t *state, uint32_t *ret_first,
		uint32_t *ret_last);
int64_t normalized(int64_t count, uint64_t normal);
/* The number of values in a row; 0 when state is NULL. */
int64_t hist_count(const struct agg_layout *l, const int64_t *state, uint32_t row);
/*
 * The least and the greatest value that belong to a row. The first row has no least value and the
 * last one no greatest value: the flag is then false, and the number INT64_MIN or INT64_MAX.
 */
struct hist_bounds {
	int64_t label; /* as it is printed, without "<" and ">=" */
	bool has_min, has_max;
	int64_t min, max;
};
struct hist_bounds hist_bounds_of(const struct agg_layout *l, uint32_t row);

/* ---- aggregations (printa.c, text_hist.c, text_pack.c) -------------------------------------- */

/* The scale that the bars of one histogram or table share. */
struct bars {
	long double total;
	bool has_pos, has_neg;
};

/* e NULL: no data. */
void print_histogram(struct printer *p, struct strbuf *o, const struct agg_view *v,
		     const struct agg_elem *e);
void bars_add(struct bars *b, int64_t count);
/* Option aggzoom: makes the highest bar 95 % of the width. */
void bars_zoom(struct bars *b, long double highest);
/* Prints a bar and the count behind it, with newline. */
void print_bar(struct printer *p, struct strbuf *o, const struct bars *b, int64_t count,
	       uint64_t normal);
/* Prints a view if option agghist or aggpack applies to it; false: neither does. */
bool print_view_packed(struct printer *p, struct strbuf *o, const struct agg_view *v);

/* flow.c: computes the flow indent of the current record of a CPU. */
void flow_advance(struct printer *p, uint32_t cpu, const struct probe *pr,
		  const struct rt_rec *next);

/* The order of the rows of tables, as the options and the form of output have it. */
struct agg_sort table_order(const struct printer *p);
/* Sorts and shows the elements of one aggregation, without a format. */
void walk_view(struct printer *p, struct agg_view *v);
/* Shows the rows of one aggregation in their present order. */
void table_show(struct printer *p, const struct agg_table *t);
/* Shows aggregations side by side. */
void walk_table(struct printer *p, const struct agg_table *t);
/*
 * Whether the sum of an aggregation's values means something; of a histogram it is their number.
 */
bool agg_has_sum(const struct prog_agg *agg);
/* An element of a row, for its keys, which all elements of the row have. */
const struct agg_elem *agg_row_keys(struct agg_elem *const *elems, uint32_t n);
MUST_CHECK struct err *print_printa(struct printer *p, const struct prog_act *act,
				    const struct fmt *fmt);

/* ---- the printer (record.c, consume.c) ----------------------------------------------------- */

struct probe_text {	   /* texts of a probe, made for its first record */
	char *column;	   /* "%6d %32s " */
	uint32_t func_off; /* offset of the second field in column */
	uint32_t len;
	const struct probe *probe;
	const char *func; /* probe_func_shown() */
	/*
	 * the probe's members in JSON, made when they are needed; NULL also if the provider's name
	 * depends on the process
	 */
	const char *json;
	uint32_t json_len;
};

struct flow_cpu { /* the flow indent of a CPU */
	uint32_t indent;
	uint32_t last_probe, last_clause;
	bool has_last;
};

enum flow { FLOW_NONE, FLOW_ENTRY, FLOW_RETURN };

struct flow_step { /* the flow indent of a record */
	enum flow flow;
	uint32_t indent;    /* number of columns before the prefix */
	const char *prefix; /* text before the function */
};

struct print_program {
	struct print_program *next;
	const char *name, *text;
	bool is_script;
};

struct printer {
	const struct layout *layout;
	struct probes *probes;
	struct aggs *aggs;
	const struct print_opts *opts;
	struct print_hooks hooks;
	const struct renderer *render;
	void *form; /* of opened->open() */
	const struct renderer *opened;
	struct print_program *programs; /* of the session, for reports and titles */
	struct folded *base;		/* option flamebase */
	bool is_ended;
	struct syms *syms;    /* NULL = addresses have no names */
	struct strbuf helper; /* text of struct position.helper */
	struct strbuf out;
	struct arena *arena;		    /* lives as long as the printer: formats, probe texts */
	struct arena *scratch;		    /* lives as long as the current record */
	const struct fmt ***fmts;	    /* by clause, by action; NULL = none */
	VEC(struct probe_text) probe_texts; /* by id */
	VEC(struct flow_cpu) flow;
	struct flow_step flow_step; /* of the current record, with option flowindent */
	bool is_screen;		    /* text goes to the live view's screen */
	/* whether text of others is escaped: while text.c shows something */
	bool escapes;
	struct {
		FILE *fp; /* NULL: not asked yet */
		bool is_terminal;
	} asked;	  /* of the file to which text has gone last */
	bool has_columns; /* records are printed with CPU and probe columns */
	struct api api;
	bool header_done;
	FILE *redirect; /* freopen() */
	/* the file of freopen() is a capture file of pcap(), to which no text goes */
	bool is_capture;
	uint32_t capture_link; /* link type of the capture file */
	int64_t wall_offset;   /* from a record's time to ns since 1970 */
	/* for the current record */
	FILE *fp; /* NULL: text goes to a handler (api.h) */
	const struct rt_rec *rec;
	uint32_t rec_len;
	bool is_snapped;
};

/* The file of freopen() for text, or NULL. */
static inline FILE *printer_redirect(const struct printer *p)
{
	return p->is_capture ? NULL : p->redirect;
}

/* Where text goes now; NULL: to a handler. */
static inline FILE *printer_fp(const struct printer *p, FILE *fp)
{
	return printer_redirect(p) ? p->redirect : fp;
}

/* The prepared text of a probe, or NULL when there is no such probe. */
const struct probe_text *printer_probe(struct printer *p, uint32_t id);
/* Keeps a copy of the text as probe_text.json of a probe that printer_probe() has found. */
void printer_keep_json(struct printer *p, uint32_t id, const char *text, uint32_t len);
/* Field i of an action in the record at hand. */
MUST_CHECK struct err *act_datum(struct printer *p, const struct act_layout *al, uint32_t i,
				 struct datum *ret);
/* Whether the record at hand of a clause with if/else says that action i was executed. */
bool act_bit(const struct printer *p, const struct clause_layout *cl, uint32_t i);

/* Whether action i leaves data in the record at hand, and was executed. */
static inline bool act_was_executed(const struct printer *p, const struct clause_layout *cl,
				    uint32_t i)
{
	return act_is_recording(cl->clause->acts[i].kind) &&
	       (!cl->executed_off || act_bit(p, cl, i));
}

/* Before anything is shown in fp, which may be NULL. */
static inline void output_begin(struct printer *p, FILE *fp)
{
	p->fp = fp;
	if (!fp || p->api.has_callbacks || p->api.is_direct)
		api_begin(p);
}

/* Reports a library error of the record at hand; takes e over. */
void printer_fault(struct printer *p, struct err *e);
/* Once a record: the snapshot is brought up to date. */
MUST_CHECK struct err *printer_snap(struct printer *p);
/* Prints action act of the record at hand by its layout; fmt NULL when it has none. */
MUST_CHECK struct err *print_act(struct printer *p, const struct prog_act *act,
				 const struct act_layout *al, const struct fmt *fmt);
/*
 * One function a row of acts.def that records: those that show are in consume.c, effects in
 * effects.c.
 */
typedef struct err *act_func(struct printer *p, const struct prog_act *act,
			     const struct act_layout *al, const struct fmt *fmt);
/* clang-format off */
#define ACT_RECORD(id, name, proto, flags, holds, check, datum, shown_by, ...) act_func act_##shown_by;
/* clang-format on */
#include "dif/acts.def"
/* pcap(): pcap.c. */
MUST_CHECK struct err *print_packet(struct printer *p, const struct prog_act *act,
				    const struct act_layout *al);
/* The text a format makes of the action's fields. */
MUST_CHECK struct err *act_format(struct printer *p, struct strbuf *o, const struct act_layout *al,
				  const struct fmt *fmt);
