/*
 * Tables of what the language has built in: variables, subroutines, actions, aggregating functions.
 *
 * One row is one feature; the checker, the lowering, --help, the manual page and the tests read the
 * same rows. Subroutines stand in dif/subrs.def, which says how to add one. A unit test walks the
 * tables and fails for a row without a golden test.
 */
#pragma once

#include "d/ident.h"

enum subr_class { SUBR_FUNC, SUBR_ACTION, SUBR_AGGFUNC };

#define SUBR_DESTRUCTIVE 0x1
#define SUBR_RECORDS	 0x2
/* an action that may also be an aggregation key: stack(), sym(), ... */
#define SUBR_KEY 0x4

/* no other DTrace has it: programs may use the name for something else */
#define SUBR_OURS 0x10

struct check;

struct subr {
	const char *name;
	enum subr_class class;
	/* prototype of d-language.md 3.6: "string(const char *, int, [int])", "void(@, ...)" */
	const char *proto;
	uint32_t flags;
	int code; /* enum dif_subr, enum act_kind or enum aggfunc */
	/* actions with rules of their own; NULL: the prototype is all there is */
	bool (*check)(struct check *c, struct expr *call, struct prog_act *ret_act);
	enum datum_kind datum; /* SUBR_KEY: what it is as a key */
	struct attr attr;
	const char *since; /* D version that introduced it: "1.0" */
	const char *what;  /* one line for --help and the manual */
	const char *why;   /* not on Linux: the reason, and what to use instead; or NULL */
};

struct builtin_var {
	const char *name;
	uint32_t id;	  /* enum dif_var_id */
	const char *type; /* D type text; "" for args[] */
	struct attr attr;
	const char *since;
	const char *what;
};

extern const struct subr subrs[];
extern const uint32_t nsubrs;
extern const struct builtin_var builtin_vars[];
extern const uint32_t nbuiltin_vars;

const struct subr *subr_find(const char *name);
