/* SPDX-License-Identifier: MIT */
/*
 * Tables of the names that the language has built in.
 *
 * One row is one variable, subroutine, action or aggregating function; the checker, the lowering,
 * --help, the manual page and the tests read the same rows. The rows of all but variables stand in
 * dif/subrs.def, dif/acts.def and dif/aggfuncs.def, which say how to add one. A unit test fails for
 * a row without a golden test.
 */
#pragma once

#include "d/parse/ident.h"

enum subr_class { SUBR_FUNC, SUBR_ACTION, SUBR_AGGFUNC };

#define SUBR_DESTRUCTIVE 0x1
#define SUBR_RECORDS	 0x2
/* an action that may also be an aggregation key: stack(), sym(), ... */
#define SUBR_KEY 0x4
/* no other DTrace has it, so that a program may define the name for something else */
#define SUBR_OURS 0x10

struct check;

struct subr {
	const char *name;
	enum subr_class class;
	/* prototype of d-language.md 3.6: "string(const char *, int, [int])", "void(@, ...)" */
	const char *proto;
	uint32_t flags;
	int code; /* enum dif_subr, enum act_kind or enum aggfunc */
	/* actions with rules of their own; NULL: only the prototype is checked */
	bool (*check)(struct check *c, struct expr *call, struct prog_act *ret_act);
	enum datum_kind datum; /* SUBR_KEY: how the key is shown */
	struct attr attr;
	const char *since; /* D version that introduced it: "1.0" */
	const char *what;  /* one line for --help and the manual */
	/* Linux cannot have it: the reason, and what to use instead. NULL: it works. */
	const char *why;
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
/* The subroutines that only ustack helpers have (dif/helper_subrs.def). */
extern const struct subr helper_subrs[];
extern const uint32_t nhelper_subrs;
/* The subroutines of programs over a core file (dtrace --core), which each session knows. */
extern const struct subr remains_subrs[];
extern const uint32_t nremains_subrs;
extern const struct builtin_var builtin_vars[];
extern const uint32_t nbuiltin_vars;

const struct subr *subr_find(const char *name);
