/*
 * The compiled program: what the front end (d/) hands to back ends (bpf/) and to the consumer
 * (print/, agg/, session/). Everything lives in the arena of the compile that made it.
 *
 * Calling convention of a DIFO inside a clause
 *     Expressions of one clause run in order and share this-> variables, scratch memory and the
 *     cached values of the firing (timestamp, execname). Subroutine arguments are pushed on the
 *     tuple stack with pushtv (integers, addresses) or pushtr (strings: type DIF_TUPLE_STR, size
 *     register %r0), then call, which empties it. Optional arguments that were left out are not
 *     pushed. Keys of associative arrays are pushed the same way; a by-reference struct key is
 *     pushed with pushtr, type DIF_TUPLE_INT, size in r2.
 *
 * Variables
 *     ids 0x500.. are unique per scope over all programs of a session. A by-reference variable
 *     (string, struct, array) reads as the address of its storage; st?s with an address copies
 *     type.size bytes (strings: up to the NUL) into it; st?s with %r0 zeroes (and frees) it.
 *     Storing zero into an associative array element or thread-local variable frees it.
 */
#pragma once

#include "dif/dif.h"

struct shape; /* dif/shape.h */

/* ---- variables of a session ------------------------------------------------------------------ */

struct prog_var {
	const char *name;
	uint32_t id;	       /* >= DIF_VAR_USER */
	uint8_t scope, kind;   /* enum dif_scope, enum dif_var_kind (ARRAY = associative) */
	struct dif_type type;  /* of the value or element */
	struct dif_type *keys; /* associative arrays: one per key */
	uint32_t nkeys;
};

struct prog_vars {
	struct prog_var **vars; /* in order of creation; all scopes */
	uint32_t len;
};

/* ---- aggregations of a session --------------------------------------------------------------- */

enum aggfunc {
#define AGGFUNC(id, ...) AGGFUNC_##id,
#include "dif/aggfuncs.def"
};

/* What a tuple element or recorded datum is to the consumer. */
enum datum_kind {
	DATUM_INT,    /* type.size 1, 2, 4, 8; type.is_signed */
	DATUM_STRING, /* type.kind == DIF_KIND_STRING */
	DATUM_BYTES,  /* array, memory; type.size bytes, which may be text */
	DATUM_STRUCT, /* struct, union; type.size bytes */
	DATUM_STACK,  /* stack(); the DIFO is the constant PROG_STACK() */
	DATUM_USTACK, /* ustack(), jstack(); the same */
	DATUM_SYM,    /* sym(), func() */
	DATUM_MOD,
	DATUM_USYM, /* usym(), ufunc() */
	DATUM_UMOD,
	DATUM_UADDR,
	/* an argument that is the address of what is recorded: struct prog_act, memory */
	DATUM_MEMORY,
};

/*
 * How a stack is recorded, wherever it stands (statement, key, argument of a format): its DIFO
 * returns this constant and is never executed. strsize: bytes for the texts of helpers.
 */
#define PROG_STACK(frames, strsize) ((uint64_t)(frames) | (uint64_t)(strsize) << 32)
#define PROG_STACK_FRAMES(v)	    ((uint32_t)(v))
#define PROG_STACK_STRSIZE(v)	    ((uint32_t)((v) >> 32))

struct prog_agg {
	const char *name; /* without '@'; "_" for the nameless one */
	uint32_t id;	  /* 1.., order of first appearance */
	enum aggfunc func;
	/* lquantize: base, levels (buckets between underflow and overflow), step.
	 * llquantize: factor, low, high, steps. Unused ones are 0. */
	int64_t param[4];
	uint32_t nkeys;
	enum datum_kind *key_kinds;
	struct dif_type *key_types;
};

struct prog_aggs {
	struct prog_agg **aggs; /* index = id - 1 */
	uint32_t len;
};

const char *aggfunc_name(enum aggfunc func); /* as written in D */
uint32_t aggfunc_words(enum aggfunc func);   /* of 64 bits that a value has; 0: a histogram */

/* ---- formats (printf, printa, system, freopen) ----------------------------------------------- */

enum conv_flag {
	CONV_LEFT = 1 << 0,	 /* - */
	CONV_SIGN = 1 << 1,	 /* + */
	CONV_SPACE = 1 << 2,	 /* space */
	CONV_ALT = 1 << 3,	 /* # */
	CONV_ZERO = 1 << 4,	 /* 0 */
	CONV_GROUP = 1 << 5,	 /* ' */
	CONV_AGG = 1 << 6,	 /* @ */
	CONV_WIDTH_ARG = 1 << 7, /* * width: an argument of its own precedes the value */
	CONV_PREC_ARG = 1 << 8,	 /* .* */
	CONV_NOARG = 1 << 9,	 /* literal text only (also %%): conv == 0 */
};

struct prog_conv {
	const char *literal; /* text before the conversion */
	uint32_t literal_len;
	char conv;    /* d i u o x X c C e E f g G p s S a A k T Y I P; 0 = literal only */
	char size[3]; /* "", "h", "l", "ll", "L", "w" as written */
	uint32_t flags;
	int width, prec; /* -1 = not given */
};

struct prog_fmt {
	struct prog_conv *convs;
	uint32_t nconvs;
};

/* ---- actions --------------------------------------------------------------------------------- */

/*
 * Arguments of the kinds that take some:
 *
 *     ACT_EXPR, ACT_RAISE, ACT_CHILL, ACT_EXIT, ACT_TRACE, ACT_PRINT, ACT_STACK, ACT_USTACK,
 *     ACT_SYM, ACT_SPECULATE, ACT_COMMIT, ACT_DISCARD, ACT_NORMALIZE     one value ACT_BRZ
 *     the condition: 0 leads to action `target`, as if/else does ACT_AGG        keys, then the
 *     value and the increment if the function has them ACT_TRUNC      how many elements stay, if
 *     given ACT_TRACEMEM   the memory, then its length, if given ACT_PCAP       as enum pcap_arg
 *     counts ACT_SETOPT     name, value if given: strings ACT_PRINTF, ACT_SYSTEM, ACT_FREOPEN
 *     one per conversion, and per '*'
 */
enum act_kind {
#define ACT_INNER(id, ...)  ACT_##id,
#define ACT_RECORD(id, ...) ACT_##id,
#define ACT_PROBE(id, ...)  ACT_##id,
#include "dif/acts.def"
};

/* Arguments of ACT_PCAP. */
enum pcap_arg { PCAP_ARG_LINEAR, PCAP_ARG_LEN, PCAP_ARG_PROTO, PCAP_ARG_DATA };

/* What an action holds beside its arguments: a column of acts.def. */
enum act_holds {
	HOLDS_NOTHING,
	HOLDS_AGG,
	HOLDS_TARGET,
	HOLDS_MEMORY,
	HOLDS_SHAPE,
	HOLDS_FORMAT,
};

#define PROG_NO_ARG UINT32_MAX

struct prog_act {
	enum act_kind kind; /* also says what of the union there is: act_holds() */
	struct difo **args;
	enum datum_kind *arg_kinds; /* one per arg: what the consumer prints */
	uint32_t nargs;
	union {
		struct prog_agg *agg; /* HOLDS_AGG */
		/* HOLDS_TARGET: index in acts[], may be nacts; always forward */
		uint32_t target;
		struct {	       /* HOLDS_MEMORY: about the argument of kind DATUM_MEMORY */
			uint32_t size; /* most bytes to record */
			/* the argument that says how many there are, or PROG_NO_ARG */
			uint32_t len_arg;
		} memory;
		const struct shape *shape; /* HOLDS_SHAPE: how the value is shown */
		struct {		   /* HOLDS_FORMAT: a format, aggregations, or both */
			struct prog_fmt *fmt;
			struct prog_agg **aggs;
			uint32_t naggs;
		};
	};
	uint32_t span;	 /* source offset */
	uint32_t number; /* of its first DIFO, counted as d-language.md 7.1 says (1 = first) */
};

enum act_holds act_holds(enum act_kind kind);

static inline const struct prog_fmt *act_fmt(const struct prog_act *act)
{
	return act_holds(act->kind) == HOLDS_FORMAT ? act->fmt : NULL;
}

/* Whether it leaves data in the record. */
bool act_is_recording(enum act_kind kind);

/* ---- clauses --------------------------------------------------------------------------------- */

/* Four fields as written; empty matches anything. Filled by the front end, matched by probe/. */
struct probe_desc {
	const char *prov, *mod, *func, *name; /* never NULL */
	uint32_t id; /* != 0: this very probe; the text fields are then empty */
};

struct prog_clause {
	struct probe_desc desc; /* a clause with several descriptions becomes several of these */
	uint32_t text_clause;	/* the same for those that were one clause of the text */
	/*
	 * On a probe that is made of others (desc names it alone): which one it is, in order of
	 * declaration, from 1; 0: on those of desc that hang on places. It runs on the places of
	 * what source describes.
	 */
	uint32_t derived;
	struct probe_desc source;
	bool is_again; /* another source of a probe that a clause of the same text has already */
	struct difo *pred; /* NULL = always */
	struct prog_act *acts;
	uint32_t nacts;
	/* default action: one record without data; with acts, it is speculative */
	bool is_default;
	bool records; /* is_default or at least one recording action */
	bool destructive;
	/*
	 * Minimum statement attributes (d/attr.h): name stability, data semantics, dependency
	 * class.
	 */
	uint8_t attr[3];
	uint32_t span;	/* source offset of the description */
	uint32_t index; /* over all programs of the session, in program order: the statement id */
};

struct prog {
	struct prog_clause **clauses;
	uint32_t nclauses;
};

/* ---- text: golden tests, -xdump -------------------------------------------------------------- */

/* Clauses, their actions and DIFOs; no addresses, so that equal programs give equal text. */
void prog_print(const struct prog *prog, struct strbuf *out);
void prog_vars_print(const struct prog_vars *vars, struct strbuf *out);
void prog_aggs_print(const struct prog_aggs *aggs, struct strbuf *out);
