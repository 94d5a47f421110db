/* SPDX-License-Identifier: MIT */
/*
 * The compiled program: what the front end (d/) hands to the back end (bpf/) and to the consumer
 * (render/, agg/, session/). All of it lives in the arena of the compile that made it.
 *
 * Calling convention of a DIFO inside a clause
 *     The expressions of a clause run in order and share this-> variables, scratch memory and the
 *     cached values of the firing (timestamp, execname). Arguments of a subroutine are pushed on
 *     the tuple stack with pushtv (integers, addresses) or pushtr (strings: type DIF_TUPLE_STR,
 *     size register %r0); then comes call, which empties the stack. An optional argument that is
 *     not given is not pushed. Keys of associative arrays are pushed the same way; a struct key is
 *     pushed with pushtr, type DIF_TUPLE_INT, its size in r2.
 *
 * Variables
 *     Each scope numbers the variables of all programs of a session from 0x500. A by-reference
 *     variable (string, struct, array) reads as the address of its storage; st?s with an address
 *     copies type.size bytes (strings: up to the NUL) into the storage; st?s with %r0 zeroes (and
 *     frees) it. Storing zero into an associative array element or thread-local variable frees it.
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

/* Whether the values or the keys of the variable are stacks. */
static inline bool var_has_stacks(const struct prog_var *v)
{
	bool has = v->type.flags & DIF_TF_STACK;

	for (uint32_t k = 0; k < v->nkeys; k++)
		has |= v->keys[k].flags & DIF_TF_STACK;
	return has;
}

struct prog_vars {
	struct prog_var **vars; /* in order of creation; all scopes */
	uint32_t len;
};

/* ---- aggregations of a session --------------------------------------------------------------- */

enum aggfunc {
#define AGGFUNC(id, ...) AGGFUNC_##id,
#include "dif/aggfuncs.def"
};

/* How the consumer shows a tuple element or a recorded datum. */
enum datum_kind {
	DATUM_INT,    /* type.size 1, 2, 4, 8; type.is_signed */
	DATUM_STRING, /* type.kind == DIF_KIND_STRING */
	DATUM_BYTES,  /* array, memory: type.size bytes, which may be text */
	DATUM_STRUCT, /* struct, union: type.size bytes */
	DATUM_STACK,  /* stack(): the DIFO is the constant PROG_STACK() */
	DATUM_USTACK, /* ustack(), jstack(), lstack(): the same */
	/* a stack as a value, of either kind: its hash, or 0 for none */
	DATUM_STACKID,
	DATUM_SYM, /* sym(), func() */
	DATUM_MOD,
	DATUM_USYM, /* usym(), ufunc() */
	DATUM_UMOD,
	DATUM_UADDR,
	/* an argument that is the address of the recorded memory (prog_act.memory) */
	DATUM_MEMORY,
};

/*
 * The most frames that a stack may have. With a name for each, the record of such a stack has 256
 * KB, of which a principal buffer of the default size holds sixteen.
 */
#define PROG_FRAMES_MAX 16384
/*
 * How a stack is recorded, as an action, a key or an argument of a format: the DIFO returns this
 * constant and is never executed. strsize: bytes for the texts of helpers.
 */
#define PROG_STACK(frames, strsize) ((uint64_t)(frames) | (uint64_t)(strsize) << 32)
/* Added to it: of a user stack, only the frames of a language. */
#define PROG_STACK_ONLY_LANG (1u << 31)
/*
 * Added to it where a stack is a value: it is one of a process. The constant is then the argument
 * of DIF_SUBR_STACKID, which stores the stack and returns its hash: the key of the table of stacks
 * (record/format.h, struct rt_stack). A value of type stackid_t is that hash; 0 is no stack.
 */
#define PROG_STACK_USER	      (1u << 30)
#define PROG_STACK_FRAMES(v)  ((uint32_t)(v) & ~(PROG_STACK_ONLY_LANG | PROG_STACK_USER))
#define PROG_STACK_STRSIZE(v) ((uint32_t)((v) >> 32))

struct prog_agg {
	const char *name; /* without '@'; "_" for the nameless one */
	uint32_t id;	  /* 1.., order of first appearance */
	enum aggfunc func;
	/*
	 * lquantize: base, levels (the buckets between underflow and overflow), step.
	 * llquantize: factor, low, high, steps. Unused ones are 0.
	 */
	int64_t param[4];
	uint32_t nkeys;
	enum datum_kind *key_kinds;
	struct dif_type *key_types;
};

struct prog_aggs {
	struct prog_agg **aggs; /* index = id - 1 */
	uint32_t len;
};

const char *aggfunc_name(enum aggfunc func); /* as D spells it */
uint32_t aggfunc_words(enum aggfunc func);   /* 64-bit words of a value; 0: a histogram */

/* ---- formats (printf, printa, system, freopen) ----------------------------------------------- */

enum conv_flag {
	CONV_LEFT = 1 << 0,	 /* - */
	CONV_SIGN = 1 << 1,	 /* + */
	CONV_SPACE = 1 << 2,	 /* space */
	CONV_ALT = 1 << 3,	 /* # */
	CONV_ZERO = 1 << 4,	 /* 0 */
	CONV_GROUP = 1 << 5,	 /* ' */
	CONV_AGG = 1 << 6,	 /* @ */
	CONV_WIDTH_ARG = 1 << 7, /* * as width: an argument before the value gives it */
	CONV_PREC_ARG = 1 << 8,	 /* .* */
	CONV_NOARG = 1 << 9,	 /* literal text only (also %%): conv == 0 */
};

/* The part of an aggregation that a conversion with @ shows; all but the value: of live(). */
enum conv_part {
	CONV_PART_VALUE,
	CONV_PART_COUNT,
	CONV_PART_AGE,
};

struct prog_conv {
	const char *literal; /* text before the conversion */
	uint32_t literal_len;
	char conv;    /* d i u o x X c C e E f g G p s S q a A k T Y I P; 0 = literal only */
	char size[3]; /* "", "h", "l", "ll", "L", "w" as written */
	uint32_t flags;
	enum conv_part part; /* with CONV_AGG; conv is d if it is not the value */
	int width, prec;     /* -1 = not given */
};

struct prog_fmt {
	struct prog_conv *convs;
	uint32_t nconvs;
};

/* ---- actions --------------------------------------------------------------------------------- */

/* clang-format off */
/*
 * The arguments of an action, by its kind:
 *
 *     ACT_EXPR, ACT_RAISE, ACT_CHILL, ACT_EXIT, ACT_TRACE, ACT_PRINT, ACT_STACK, ACT_USTACK,
 *     ACT_SYM, ACT_SPECULATE, ACT_COMMIT, ACT_DISCARD, ACT_NORMALIZE
 *                    one value
 *     ACT_BRZ        the condition: 0 leads to action `target`
 *     ACT_LOOP       nothing: a loop of ustack helpers begins, whose body runs loop.most times at
 *                    most; loop.depth: the number of loops around it
 *     ACT_AGAIN      nothing: goes back to action loop.head, behind ACT_LOOP, unless the body has
 *                    run so often
 *     ACT_UFRAME     what the text of the frame consists of
 *     ACT_UNWIND     pc, sp, fp
 *     ACT_VALUE()    those of its prototype
 *     ACT_AGG        the keys, then the value and the increment if the function has them
 *     ACT_TRUNC      the number of elements to keep, if given
 *     ACT_TRACEMEM   the memory, then its length, if given
 *     ACT_PCAP       in the order of enum pcap_arg
 *     ACT_SETOPT     name, and value if given: strings
 *     ACT_PRINTF, ACT_SYSTEM, ACT_FREOPEN
 *                    one for each conversion, and one for each '*'
 */
/* clang-format on */
enum act_kind {
#define ACT_INNER(id, ...)  ACT_##id,
#define ACT_RECORD(id, ...) ACT_##id,
#define ACT_PROBE(id, ...)  ACT_##id,
#define ACT_VALUE(id, ...)  ACT_##id,
#include "dif/acts.def"
};

/* Arguments of ACT_PCAP. */
enum pcap_arg { PCAP_ARG_LINEAR, PCAP_ARG_LEN, PCAP_ARG_PROTO, PCAP_ARG_DATA };

/* Which member of the union in struct prog_act an action uses: a column of acts.def. */
enum act_holds {
	HOLDS_NOTHING,
	HOLDS_AGG,
	HOLDS_TARGET,
	HOLDS_LOOP,
	HOLDS_MEMORY,
	HOLDS_SHAPE,
	HOLDS_FORMAT,
};

#define PROG_NO_ARG UINT32_MAX

struct prog_act {
	enum act_kind kind; /* act_holds() of it tells which member of the union is used */
	struct difo **args;
	enum datum_kind *arg_kinds; /* for each argument: how the consumer shows it */
	uint32_t nargs;
	union {
		struct prog_agg *agg; /* HOLDS_AGG */
		/* HOLDS_TARGET: index in acts[], may be nacts; always forward */
		uint32_t target;
		struct {
			uint32_t head, most, depth; /* HOLDS_LOOP: see ACT_LOOP */
		} loop;
		struct {	       /* HOLDS_MEMORY: for the argument of kind DATUM_MEMORY */
			uint32_t size; /* most bytes to record */
			/* number of the argument that gives the length, or PROG_NO_ARG */
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

/* Whether the action puts data into the record. */
bool act_is_recording(enum act_kind kind);

/*
 * Each call of DIF_SUBR_STACKID in the object: *ret_how is its constant. *at is 0 for the first
 * one, and belongs to the walk.
 */
bool difo_each_stackid(const struct difo *d, uint32_t *at, uint64_t *ret_how);

/* ---- clauses --------------------------------------------------------------------------------- */

/* Four fields as written; "" matches anything. Made by the front end, matched by probe/. */
struct probe_desc {
	const char *prov, *mod, *func, *name; /* never NULL */
	uint32_t id;	/* != 0: the probe with this id; the text fields are then "" */
	bool is_source; /* a declared probe is made of it: the user has not written it */
	/* bit n: the program reads arg<n> of this function as text (d/check/check_argtext.c) */
	uint32_t texts;
};

struct prog_clause {
	struct probe_desc desc; /* a clause with several descriptions becomes several clauses */
	uint32_t text_clause;	/* equal for clauses that were one clause of the text */
	/*
	 * A clause on a declared probe with sources: the number of that probe in the order of
	 * declaration, from 1, and the description of the probes at which the clause runs. 0: a
	 * clause on the placed probes that desc matches.
	 */
	uint32_t derived;
	struct probe_desc source;
	/*
	 * The probe of the system's library that this one is, or is made of: its provider and its
	 * name, by which it has a level of privilege; NULL: none.
	 */
	const char *system_prov, *system_name;
	/*
	 * A clause on declared probes in code of processes: the number of the source whose guard
	 * and arguments it has (struct code_source of d/compile.h). It runs on those probes of desc
	 * that have this number (probe.source), and a clause with 0 on all others.
	 */
	uint32_t code_source;
	bool is_again;	   /* same text_clause and same desc as a clause before */
	struct difo *pred; /* NULL = always */
	struct prog_act *acts;
	uint32_t nacts;
	/* without actions: records an empty record; with actions, they are all speculate() */
	bool is_default;
	bool records; /* is_default or at least one recording action */
	bool destructive;
	bool ignores_task; /* nothing in it tells of the current task, or acts on it */
	/* least attributes of the statements (d/parse/attr.h) */
	uint8_t attr[3];
	uint32_t span;	/* source offset of the description */
	uint32_t index; /* the statement id: numbers all clauses of the session in program order */
};

/*
 * A walk over the DIF objects of a clause: the predicate, if there is one, then the arguments of
 * each action. It begins with a zeroed struct:
 *
 *     struct clause_difo at = {0};
 *
 *     while (clause_each_difo(cl, &at))
 *             ... at.difo ...
 */
struct clause_difo {
	const struct difo *difo;
	const struct prog_act *act; /* NULL: the object is the predicate */
	uint32_t arg;		    /* number of the argument, from 0 */
	uint32_t next;		    /* of the walk alone: the next action */
};

/* Moves on to the next object; false: there is none. */
bool clause_each_difo(const struct prog_clause *cl, struct clause_difo *at);

/* Whether the consumer shows the object as a datum of this kind; a predicate is not shown. */
static inline bool clause_difo_is(const struct clause_difo *at, enum datum_kind kind)
{
	return at->act && at->act->arg_kinds && at->act->arg_kinds[at->arg] == kind;
}

/* Whether the clause reads a builtin variable, DIF_VAR_*. */
bool clause_reads(const struct prog_clause *c, uint32_t var);

/* The same over the objects of several clauses. */
struct prog_difo {
	struct clause_difo in;
	uint32_t clause; /* index of the clause in the array */
};

bool prog_each_difo(struct prog_clause *const *clauses, uint32_t n, struct prog_difo *at);

struct prog {
	struct prog_clause **clauses;
	uint32_t nclauses;
};

/* ---- text: golden tests, -xdump -------------------------------------------------------------- */

/* Prints clauses, their actions and DIFOs, without addresses: equal programs give equal text. */
void prog_print(const struct prog *prog, struct strbuf *out);
void prog_vars_print(const struct prog_vars *vars, struct strbuf *out);
void prog_aggs_print(const struct prog_aggs *aggs, struct strbuf *out);
