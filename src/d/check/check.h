/* SPDX-License-Identifier: MIT */
/*
 * The checker: gives every node of a tree its meaning and type, reports errors, and hands clauses
 * to the lowering.
 *
 * After a successful check of an expression, lower.c relies on this:
 *     - type is set on every node, is_lvalue where it applies. Constants, also folded ones, and
 *       enumerators are EXPR_INT of the right type; inlines are expanded. No EXPR_IDENT,
 *       EXPR_SIZEOF, EXPR_SIZEOF_TYPE, EXPR_OFFSETOF, EXPR_XLATE or EXPR_BAD is left.
 *     - EXPR_VAR: var.ident is an IDENT_VAR (keys is NULL), an IDENT_ARRAY (with keys) or an
 *       IDENT_BUILTIN_ARRAY (with one key, an EXPR_INT).
 *     - EXPR_INDEX is left only for pointers, arrays and strings (one subscript).
 *     - EXPR_MEMBER: member.member is set; base is a struct/union lvalue ('.') or pointer (arrow).
 *     - implicit conversions on assignment, argument passing and ?: are EXPR_CAST with implicit set
 *       and the target in the node's own type (cast.to is NULL).
 *     - comparisons, / % >> have is_signed; comparisons of strings have is_strcmp.
 *     - EXPR_STRINGOF stays (its operand: pointer, array, integer address, string).
 *     - EXPR_CALL has call.subr of class SUBR_FUNC; arguments are converted to the prototype.
 *
 * Poison: a node with a reported error becomes EXPR_BAD with TYPE_ERROR; no node above it causes
 * another message.
 */
#pragma once

#include "base/hashmap.h"
#include "base/vec.h"
#include "d/parse/attr.h"
#include "d/check/builtin.h"
#include "d/compile.h"
#include "d/text/diag.h"
#include "d/text/list.h"
#include "d/parse/parse.h"

/* A description of probes that are not to be had here (check_absent.c). */
struct absent_spec {
	const struct decl *d;
	const struct pspec *spec;
	const char *why;
};

/* A value in a call of system() or freopen(), until it is known whose text it is. */
struct shell_arg {
	uint32_t call, arg; /* prog_act.span of the call; index of the argument of its action */
	const struct prog_conv *conv;
	struct span at;
	bool is_path;	   /* in a call of freopen() */
	bool is_name;	   /* basename() has made it */
	bool is_in_quotes; /* %q stands between quotes of the command */
};

/* The state of one compile. */
struct check {
	struct dsession *session;
	struct types *types;
	struct diags *diags;
	struct arena *arena; /* of this compile */
	const struct compile_opts *opts;
	const struct compile_env *env;
	struct hashmap *locals;	       /* this-> variables of this program: name -> struct ident */
	struct hashmap *assigned;      /* the variables that the program assigns (check_wide.c) */
	struct hashmap *wide;	       /* those with 64 bits; NULL: not of a program */
	bool has_widened;	       /* this compile has added to wide: there will be another */
	bool is_repeated;	       /* this is not the first compile of the text */
	struct hashmap *macros;	       /* macros of probes of programs: name -> provider:probe */
	const struct probe_desc *desc; /* of the clause that is checked; NULL outside a clause */
	/*
	 * Where args[] come from in the text that is checked. In a clause on a probe that is made
	 * of others, derived leads from that probe to one of its sources; in the guard and
	 * arguments of the source, derived is NULL and source describes the probes to which they
	 * refer. Both are NULL in other clauses: args[] are those of desc.
	 */
	const struct derivation *derived;
	const struct probe_desc *source;
	uint32_t ntrusted; /* > 0: a text of the system's library that no level is needed for */
	/* > 0: a text of the library about the current task, which only values may come out of */
	uint32_t nown;
	bool in_predicate;
	/* the declaration that is checked stands in an included file: C allows more than D */
	bool in_include;
	VEC(struct prog_clause *) clauses;

	/* only check*.c and compile.c use the rest */
	struct binding *bindings;
	uint32_t nundef;		/* errors so far about names that are not defined */
	uint32_t depth;			/* of nested expressions and inlines */
	uint32_t ncloned;		/* nodes made by expansion: bounds exponential inlines */
	uint32_t nblocks;		/* statements made by expansion of blocks */
	struct attr attr;		/* least attribute that the current clause used */
	struct attr desc_attrs[NPARTS]; /* least attributes of the providers of attrs_of */
	const struct probe_desc *attrs_of;
	/*
	 * Descriptions of probes that are not to be had here, and whether another one of the
	 * program fires at all (check_absent.c).
	 */
	LIST(struct absent_spec) absents;
	bool has_firing;
	bool blank_failed; /* the clause before has decl.clause.joined, and an error */
	bool destructive;  /* the current clause calls a destructive action or subroutine */
	bool uses_task;	   /* it uses something of the current task: privileges.c */
	bool speculates;   /* speculate() stands before the current statement */
	struct pending_pragma *pending;
	uint32_t ntrouble; /* reports and poison nodes so far; unchanged: nothing went wrong */
	/* the operand where a string is expected, while the name that it begins with is checked */
	const struct expr *unquoted;
	bool lacks_target;  /* the program has a $target, and there is no such process */
	bool target_missed; /* reported */
	uint32_t nuntaken;  /* > 0: what is checked is never executed, a constant says so */
	/* keys: "struct tag" or typedef name whose declaration has failed */
	struct hashmap *poisoned_types;
	uint32_t first_off;		   /* global offset of this program's text */
	LIST(struct shell_arg) shell_args; /* arguments of system() and freopen() (check_shell.c) */
	struct parse_env parse_env;
	struct parse_input input;
};

/* check_expr.c. Returns the node to use in place of e (never NULL). */
struct expr *check_expr(struct check *c, struct expr *e);
/*
 * Converts *e as C converts the right side of an assignment to an object of type `to`. False,
 * without a report, when the types are incompatible.
 */
bool check_convert(struct check *c, struct expr **e, type_id to);
/* Evaluates an integer constant expression; false when it is not one (nothing reported). */
bool check_const(struct check *c, struct expr *e, int64_t *ret_val);
struct expr *expr_int(struct check *c, struct span at, uint64_t val, type_id type);
struct expr *expr_bad(struct check *c, struct span at);

struct ident;
/*
 * Called by decl.c: makes name a constant of type int. NULL after reporting D_DECL_IDRED, when the
 * name is taken.
 */
struct ident *check_enumerator(struct check *c, struct span at, const char *name, int64_t val);

/*
 * Notes that the declaration of a type ("struct tag" or the name of a typedef) was refused, so that
 * its uses cause no message (check_poison.c).
 */
void type_poison(struct check *c, const char *name);
bool type_is_poisoned(struct check *c, const char *name);

/* Asks compile_env.define for a name that nothing defines; true when it is defined now. */
bool check_define(struct check *c, const char *name, size_t len);

struct dif_type dif_type_of(const struct types *t, type_id id);

/*
 * privileges.c: reports that a structure of the kernel, from which the library's texts about the
 * current task start, is used by another text.
 */
void privilege_fail_input(struct check *c, struct span at);
