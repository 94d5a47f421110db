/*
 * The checker: gives every node of a tree its meaning and type, reports what is wrong, and hands
 * clauses to the lowering.
 *
 * After a successful check of an expression (what lower.c relies on)
 *     - type is set on every node; is_lvalue where it applies; no EXPR_IDENT, EXPR_INLINE use,
 *       EXPR_SIZEOF*, EXPR_OFFSETOF, EXPR_XLATE, constant subexpression or EXPR_BAD is left:
 *       constants are EXPR_INT of the right type, inlines are expanded, enumerators are EXPR_INT.
 *     - EXPR_VAR: var.ident is IDENT_VAR (keys NULL), IDENT_ARRAY (keys) or IDENT_BUILTIN_ARRAY
 *       (one key: an EXPR_INT).
 *     - EXPR_INDEX is left only for pointers, arrays and strings (one subscript).
 *     - EXPR_MEMBER: member.member is set; base is a struct/union lvalue ('.') or pointer (arrow).
 *     - implicit conversions on assignment, argument passing and ?: are EXPR_CAST with implicit set
 *       and the target in the node's own type (cast.to is NULL).
 *     - comparisons, / % >> have is_signed; comparisons of strings have is_strcmp.
 *     - EXPR_STRINGOF stays (its operand: pointer, array, integer address, string).
 *     - EXPR_CALL has call.subr of class SUBR_FUNC; arguments are converted to the prototype.
 *
 * Poison: a node that was reported is EXPR_BAD with TYPE_ERROR; anything built on it is silent.
 */
#pragma once

#include "base/hashmap.h"
#include "base/vec.h"
#include "d/attr.h"
#include "d/builtin.h"
#include "d/compile.h"
#include "d/diag.h"
#include "d/parse.h"

/* The state of one compile. */
struct check {
	struct dsession *session;
	struct types *types;
	struct diags *diags;
	struct arena *arena; /* of this compile */
	const struct compile_opts *opts;
	const struct compile_env *env;
	struct hashmap *locals;	       /* this-> variables of this program: name -> struct ident */
	const struct probe_desc *desc; /* clause being checked; NULL outside */
	/*
	 * of a clause on a declared probe: where args[] come from, seen from the text that is
	 * checked; NULL: from ...
	 */
	const struct derivation *derived;
	const struct probe_desc *source; /* ... the probes this describes; NULL: those of desc */
	bool in_predicate;
	/* the declaration being checked is of an included file: C may be looser than D */
	bool in_include;
	VEC(struct prog_clause *) clauses;

	/* what only check*.c and compile.c look at */
	struct binding *bindings;
	uint32_t nundef;		/* errors so far that say "not defined (yet)" */
	uint32_t depth;			/* of nested expressions and inlines */
	uint32_t ncloned;		/* nodes made by expansion: bounds exponential inlines */
	struct attr attr;		/* least of what the current clause used */
	struct attr desc_attrs[NPARTS]; /* of the providers that attrs_of matches */
	const struct probe_desc *attrs_of;
	bool blank_failed; /* the clause before is a description that failed, and a blank */
	bool destructive;  /* the current clause calls something that is */
	bool speculates;   /* speculate() stands before the current statement */
	struct pending_pragma *pending;
	uint32_t ntrouble; /* reports and poison nodes so far: none means that all is well */
	/* what stands where a string belongs, while its first word is looked up */
	const struct expr *unquoted;
	/* "struct tag" or typedef name: its declaration has failed */
	struct hashmap *poisoned_types;
	uint32_t first_off; /* where this program's text begins */
	struct parse_env parse_env;
	struct parse_input input;
};

/* check_expr.c. Returns the node to use in place of e (never NULL). */
struct expr *check_expr(struct check *c, struct expr *e);
/* As the right side of an assignment to (or argument for) a value of type to: adds the conversion;
 * false when incompatible (nothing reported). */
bool check_convert(struct check *c, struct expr **e, type_id to);
/* Evaluates an integer constant expression; false when it is not one (nothing reported). */
bool check_const(struct check *c, struct expr *e, int64_t *ret_val);
struct expr *expr_int(struct check *c, struct span at, uint64_t val, type_id type);
struct expr *expr_bad(struct check *c, struct span at);

/* Called by decl.c: makes name a constant of type int; reports D_DECL_IDRED when it is taken. */
bool check_enumerator(struct check *c, struct span at, const char *name, int64_t val);

/*
 * The declaration of a type ("struct tag" or the name of a typedef) has been refused: later uses of
 * it are silent (check_poison.c).
 */
void type_poison(struct check *c, const char *name);
bool type_is_poisoned(struct check *c, const char *name);

/* A name that means nothing yet: true when that has changed (compile_env.define). */
bool check_define(struct check *c, const char *name, size_t len);

struct dif_type dif_type_of(const struct types *t, type_id id);
