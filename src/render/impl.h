/*
 * What the files of render/ share: the printer, values on their way to text, prepared formats.
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
 * A value to be printed, whatever it came from: a record's field, a key, an aggregation's value.
 * Strings are size bytes without NUL; numbers have bytes == NULL and are extended to 64 bits.
 */
struct datum {
	enum datum_kind kind;
	bool is_signed;
	uint32_t size;
	uint64_t ival;
	const char *bytes;
	uint32_t frames; /* DATUM_STACK: to print, 0 = all there are */
	bool is_traced;	 /* DATUM_STACK: RT_STACK_TRACED */
	bool is_merged;	 /* a stack that stands for all of its name: option stackmerge */
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

/* Where a format takes its values from. False: there is no more, the conversion prints nothing. */
struct fmt_args {
	bool (*next)(struct fmt_args *args, struct datum *ret);
	/* For conversions with '@': prints the next aggregation's value itself. */
	void (*agg)(struct fmt_args *args, struct printer *p, struct strbuf *o,
		    const struct conv *c, const struct spec *s);
};
void fmt_print(struct printer *p, struct strbuf *o, const struct fmt *f, struct fmt_args *args);

/* ---- values (value.c) ---------------------------------------------------------------------- */

/* An integer of 1, 2, 4 or 8 bytes at p, extended to 64 bits. */
uint64_t int_at(const void *p, uint32_t size, bool is_signed);

/* False: the field or its string does not lie inside the record. */
bool datum_of_field(struct datum *d, const struct layout *l, const struct rec_field *f,
		    const struct rt_rec *rec, uint32_t len);
struct datum datum_of_key(const struct agg_key *k);
/* The number a value is, whatever its kind: bytes of 1, 2, 4, 8 count as an integer,
 * an address with its process as the address. */
uint64_t datum_int(const struct datum *d);
/* Whether it is of the size of an integer. */
bool datum_is_int(const struct datum *d);
bool datum_is_text(const struct datum *d);

/* ---- values as text (text_value.c) ----------------------------------------------------------- */

/* trace(): d-language.md 6.2. */
void print_trace(struct printer *p, struct strbuf *o, const struct datum *d);
/* A key of a printa() without format: 6.4.1. */
void print_key(struct printer *p, struct strbuf *o, const struct datum *d);
/* tracemem() and what is no text. */
void print_raw(struct strbuf *o, const char *bytes, uint32_t size);
int int_width(uint32_t size); /* 16, 8, 5, 3 */
/* print(): d-language.md 6.5. */
void print_shape(struct printer *p, struct strbuf *o, const struct shape *shape,
		 const struct datum *d);

/* ---- JSON (json_text.c) ---------------------------------------------------------------------- */

/* A string of JSON, with its quotes. */
void json_string(struct strbuf *o, const char *text, size_t len);

/* ---- structures (shape.c, text_shape.c) ----------------------------------------------------- */

struct shape_visitor;

struct shape_view { /* a value that is walked */
	struct printer *p;
	struct strbuf *o;
	const struct shape_visitor *visitor;
	const char *bytes;
	uint64_t len;	/* what lies behind was not recorded */
	uint64_t *left; /* elements and members that may still be walked */
};

/* sh: in open, item, item_end, cut and close the structure, union or array. */
struct shape_visitor {
	/* a number of at most 8 bytes, zero-extended from so many bits */
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
	/* of a type only declared */
	void (*forward)(const struct shape_view *v, const struct shape *sh);
};

void walk_shape(struct printer *p, struct strbuf *o, const struct shape_visitor *visitor,
		const struct shape *shape, const struct datum *d);
int64_t shape_enum_value(const struct shape *sh, uint64_t word);
/* NULL: none has the value. */
const char *shape_enum_name(const struct shape *sh, uint64_t word);

/* ---- addresses (addr.c) -------------------------------------------------------------------- */

enum addr_form {
	ADDR_SYM,  /* sym, usym: no offset */
	ADDR_MOD,  /* mod, umod */
	ADDR_FULL, /* %a of an address, uaddr, stack frames: with offset */
	/* frames of merged stacks: nothing that differs from process to process */
	ADDR_FUNC, /* the function; code without a name by its place in the object */
	ADDR_LINE, /* the function and its source line; the offset where no line is known */
};
enum addr_form addr_form_of(enum datum_kind kind);
/* Splits a recorded address: 8 bytes, or pid and address. */
void addr_of_datum(const struct datum *d, uint64_t *ret_pid, uint64_t *ret_addr);
/* An address in pid (0 = the kernel). */
struct position {
	uint64_t pid, addr;
	bool is_return; /* a call returns to it */
	/* what a signal handler returns to; C libraries often have no name for it */
	bool is_handler_call;
	/* what a ustack helper says of the frame, until the next frame is visited; NULL: nothing */
	const char *helper;
};
bool place_find(struct printer *p, const struct position *at, struct sym_name *ret);
/* A stack's frames, innermost first; at NULL: the walk could not go on. */
typedef void frame_func(void *ctx, const struct position *at);
void walk_stack(struct printer *p, const struct datum *d, frame_func *f, void *ctx);
/* How its frames are named. */
enum addr_form stack_form(const struct printer *p, const struct datum *d);

/* ---- addresses as text (text_addr.c) -------------------------------------------------------- */

/* Text of an address in pid (0 = the kernel). */
void addr_text(struct printer *p, struct strbuf *o, uint64_t pid, uint64_t addr,
	       enum addr_form form);
void place_text(struct printer *p, struct strbuf *o, const struct position *at,
		enum addr_form form);
/* Newline, then one line a frame (6.6). */
void print_stack(struct printer *p, struct strbuf *o, const struct datum *d, uint32_t indent);

/* ---- histograms (hist.c) -------------------------------------------------------------------- */

/* Rows of a histogram that show: *ret_first > *ret_last never. */
void hist_range(const struct agg_layout *l, const int64_t *state, uint32_t *ret_first,
		uint32_t *ret_last);
int64_t normalized(int64_t count, uint64_t normal);
/* How many values row has; state NULL: none. */
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

/* What histograms and bars of one printing share. */
struct bars {
	long double total;
	bool has_pos, has_neg;
};

/* e NULL: no data. */
void print_histogram(struct printer *p, struct strbuf *o, const struct agg_view *v,
		     const struct agg_elem *e);
void bars_add(struct bars *b, int64_t count);
/* With option aggzoom the highest bar is 95 % of the width. */
void bars_zoom(struct bars *b, long double highest);
/* One bar and the count behind it, with newline. */
void print_bar(struct printer *p, struct strbuf *o, const struct bars *b, int64_t count,
	       uint64_t normal);
/* Options agghist and aggpack: true when the view is printed that way, and was. */
bool print_view_packed(struct printer *p, struct strbuf *o, const struct agg_view *v);

/* flow.c: moves the indent of the CPU on to the record at hand. */
void flow_advance(struct printer *p, uint32_t cpu, const struct probe *pr,
		  const struct rt_rec *next);

/* One aggregation's elements without format, sorted. */
void walk_view(struct printer *p, struct agg_view *v);
/* The rows of one aggregation as they are sorted. */
void table_show(struct printer *p, const struct agg_table *t);
/* Aggregations side by side. */
void walk_table(struct printer *p, const struct agg_table *t);
/* An element of the row: all of them have its keys. */
const struct agg_elem *agg_row_keys(struct agg_elem *const *elems, uint32_t n);
MUST_CHECK struct err *print_printa(struct printer *p, const struct prog_act *act,
				    const struct fmt *fmt);

/* ---- the printer (record.c, consume.c) ----------------------------------------------------- */

struct probe_text {	   /* of a probe, made when its first record comes */
	char *column;	   /* "%6d %32s " */
	uint32_t func_off; /* where the second one begins */
	uint32_t len;
	const struct probe *probe;
	const char *func; /* probe_func_shown() */
};

struct flow_cpu { /* flow indent of a CPU */
	uint32_t indent;
	uint32_t last_probe, last_clause;
	bool has_last;
};

enum flow { FLOW_NONE, FLOW_ENTRY, FLOW_RETURN };

struct flow_step { /* of a record */
	enum flow flow;
	uint32_t indent;    /* columns before ... */
	const char *prefix; /* ... what stands before the function */
};

struct printer {
	const struct layout *layout;
	struct probes *probes;
	struct aggs *aggs;
	const struct print_opts *opts;
	struct print_hooks hooks;
	const struct renderer *render;
	struct json json;
	bool is_ended;
	struct syms *syms;    /* NULL = addresses have no names */
	struct strbuf helper; /* of struct position */
	struct strbuf out;
	struct arena *arena;		    /* of the printer: formats, probe texts */
	struct arena *scratch;		    /* of the record */
	const struct fmt ***fmts;	    /* by clause, by action; NULL = none */
	VEC(struct probe_text) probe_texts; /* by id */
	VEC(struct flow_cpu) flow;
	struct flow_step flow_step; /* of the record at hand, with option flowindent */
	bool has_columns;	    /* the line of a record is ours */
	struct api api;
	bool header_done;
	FILE *redirect; /* freopen() */
	/* the file of freopen() is one of packets: text does not go there */
	bool is_capture;
	uint32_t capture_link; /* with is_capture: the file's link type */
	int64_t wall_offset;   /* from a record's time to ns since 1970 */
	/* of the record at hand */
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
/* Field i of an action in the record at hand. */
MUST_CHECK struct err *act_datum(struct printer *p, const struct act_layout *al, uint32_t i,
				 struct datum *ret);
/* Whether action i leaves data in the record at hand, and was executed. */
bool act_was_executed(struct printer *p, const struct clause_layout *cl, uint32_t i);
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
