/*
 * Inside of the checker and of the compile session: shared by check*.c, builtin.c, fmt.c and
 * compile.c.
 *
 * Owns     the session's arena owns what outlives a compile (identifiers, inlines, translators);
 * the arena of a compile owns its tree, DIF and clauses and becomes the session's on success.
 */
#pragma once

#include "d/attr.h"
#include "d/check.h"
#include "d/decl.h"
#include "d/list.h"
#include "d/op.h"
#include "d/parse.h"

/* ---- what a session keeps --------------------------------------------------------------- */

struct xlator {
	enum d_layer layer;
	bool is_kept; /* made by a compile that has succeeded */
	type_id out, in;
	const char *param;
	struct hashmap *members; /* name -> struct xlate_member, unchecked */
	struct attr attr;
};

struct declared_source {
	struct probe_desc desc;
	const char *text;   /* of the description */
	struct expr *guard; /* unchecked; NULL: always */
	struct expr **args; /* unchecked, one for each native argument */
	bool has_args;	    /* false: they are those of what desc describes */
	bool is_other;	    /* the first of another choice */
	struct span span;
};

enum derived_state { DERIVED_UNKNOWN, DERIVED_ASKED, DERIVED_READY, DERIVED_LACKING };

struct declared_probe {
	struct derived_info info; /* first: derived_probe(); of those with sources */
	struct declared_source *sources;
	uint32_t nsources;
	uint32_t first, end; /* DERIVED_READY: the sources of the choice that counts */
	enum derived_state state;
	enum d_layer layer; /* of the text that declared it */
	const char *name;   /* with '-' for "__" */
	type_id *args;
	uint32_t nargs;
	type_id *xargs; /* translated list; equals args when there is none */
	uint32_t *map;	/* xargs[i] is made of args[map[i]] */
	uint32_t nxargs;
};

static inline struct declared_probe *derived_probe(const struct derived_info *info)
{
	return (struct declared_probe *)(uintptr_t)info;
}

/*
 * How the probe of a clause comes from a place: from one probe to a source of it, and on while that
 * is declared, too.
 */
struct derivation {
	const struct declared_probe *probe;
	const struct declared_source *src;
	const struct derivation *base; /* of what src describes; NULL: that hangs on places */
};

struct declared_provider {
	const char *name;
	struct hashmap *probes; /* name -> struct declared_probe */
	struct attr attrs[NPARTS];
};

/* The prototype of a built-in function, parsed. */
struct proto {
	type_id ret;
	struct proto_arg {
		type_id type, other; /* other: as good as type, or TYPE_NONE */
		bool any;
	} * args;
	uint32_t nargs, nmin;
	bool varargs; /* more than nargs is fine */
};

/* One name bound in a map of the session: how to take it back. */
struct undo {
	struct hashmap *map;
	const char *key;
	void *old; /* what it meant before, or NULL */
};

struct dsession {
	struct arena *arena;
	struct source_map *sources;
	struct types *types;
	enum d_layer layer;		  /* of the text that is being checked */
	struct hashmap *globals[NLAYERS]; /* user variables, inlines, enumerators -> struct ident */
	struct hashmap *selfs;		  /* thread-local variables -> struct ident */
	struct hashmap *agg_idents;	  /* aggregations -> struct ident */
	struct hashmap *builtins; /* subroutines, actions, variables of builtin.c -> struct ident */
	struct hashmap *protos;	  /* of subrs[], by name, once used -> struct proto */
	struct hashmap *type_texts; /* D type text -> type_id + 1 as a pointer */
	struct hashmap *providers;  /* declared in D -> struct declared_provider */
	/* declared probes with sources; those of failed compiles stay */
	VEC(struct declared_probe *) derived;
	VEC(struct xlator *) xlators;
	VEC(struct undo) journal; /* of the compiles under way */
	VEC(struct prog_var *) vars;
	VEC(struct prog_agg *) aggs;
	struct prog_vars vars_view;
	struct prog_aggs aggs_view;
	uint32_t next_var[3]; /* by enum dif_scope */
	uint32_t nclauses;
	/*
	 * what an inner compile has kept: an outer one must not take it back. xlators: those of
	 * inner compiles know it themselves
	 */
	struct session_floor {
		uint32_t vars, aggs, nclauses, next_var[3];
	} floor;
	VEC(struct arena *) arenas; /* of the programs that were compiled */
	VEC(struct hashmap *) maps; /* hash maps inside idents, translators, providers */
};

/* A state of the session to come back to. */
struct session_mark {
	uint32_t journal, vars, aggs, xlators, nclauses;
	uint32_t next_var[3];
};

/* Also stands for a state of the locals, which are journalled in the same list. */
struct session_mark session_mark(const struct dsession *s);
void session_rollback(struct dsession *s, const struct session_mark *m);
/*
 * Binds a name; session_rollback() gives it its meaning back. key must live as long as the session.
 */
void session_bind(struct dsession *s, struct hashmap *map, const char *key, void *value);

/* Text of that layer is checked from now on; the layer before. */
enum d_layer session_layer(struct dsession *s, enum d_layer layer);
/* What a global name means there, or NULL: of built-in ones nothing is known here. */
struct ident *session_global(const struct dsession *s, const char *name, size_t len);
/* Binds a global name in that layer. */
static inline void session_bind_global(struct dsession *s, const char *name, struct ident *id)
{
	session_bind(s, s->globals[s->layer], name, id);
}

/* ---- the state of one compile ----------------------------------------------------------- */

/* Names bound to expressions: parameters of an inline or translator while its body is checked. */
struct binding {
	const char *name;
	struct expr *e; /* checked */
	struct binding *next;
};

struct pending_pragma {
	const char *name; /* of the identifier it waits for */
	bool has_attr, has_version, is_used;
	struct attr attr;
	uint32_t version;
	struct span span;
	struct pending_pragma *next;
};

/*
 * A point to come back to: what is checked after attempt_begin() leaves no trace after
 * attempt_undo(), neither reports nor names nor what the clause is said to use. Nodes in the arena,
 * types and the charge for expansions stay.
 */
struct attempt {
	struct session_mark session;
	uint32_t nerrors, nundef, ntrouble;
	struct attr attr;
	bool destructive;
};

struct attempt attempt_begin(const struct check *c);
void attempt_undo(struct check *c, const struct attempt *a);

/*
 * check_error() reports; expr_fail() reports and is the poison node to return. `at` is a span.
 */
void check_note_tag(struct check *c, enum dtag tag);
#define check_error(c, tag, at, ...)                                                               \
	(check_note_tag((c), (tag)), diag_error((c)->diags, (tag), (at), __VA_ARGS__))
#define expr_fail(c, tag, at, ...) (check_error((c), (tag), (at), __VA_ARGS__), expr_bad((c), (at)))

static inline const char *type_text(struct check *c, type_id id)
{
	return type_name(c->types, id, c->arena);
}

static inline bool expr_is_bad(const struct expr *e)
{
	return e->type == TYPE_ERROR;
}

/* An aggregation or a translated value, where check_any() and xlate_address() have left one. */
static inline bool expr_is_dynamic(const struct expr *e)
{
	return e->kind == EXPR_AGG || e->kind == EXPR_XLATE;
}

/* The literal (or folded) integer 0. */
static inline bool expr_is_zero(struct check *c, const struct expr *e)
{
	return e->kind == EXPR_INT && e->ival.val == 0 && type_is_integer(c->types, e->type);
}

static inline bool expr_is_const(struct check *c, const struct expr *e)
{
	return e->kind == EXPR_INT && type_is_integer(c->types, e->type);
}

/* ---- check_clone.c ---------------------------------------------------------------------- */

typedef void expr_child_f(struct expr **child, void *arg);
/* Calls f for each subexpression, from left to right. */
void expr_each_child(struct expr *e, expr_child_f *f, void *arg);
struct expr *expr_clone(struct arena *a, const struct expr *e);
struct stmt **stmts_clone(struct arena *a, struct stmt *const *stmts, uint32_t n);

/* ---- check_expr.c ----------------------------------------------------------------------- */

/* As check_expr(), but a translated value (EXPR_XLATE) or an aggregation may be the result. */
struct expr *check_any(struct check *c, struct expr *e);
/* Reports that e is no value; used where check_any()'s result must be one after all. */
struct expr *check_value(struct check *c, struct expr *e);
/*
 * The same where an aggregation or a translated value is wrong for a reason of the place: the tag
 * is the one that an operand of a wrong type has there.
 */
struct expr *check_value_or(struct check *c, struct expr *e, enum dtag not_value);
struct expr *check_expr_or(struct check *c, struct expr *e, enum dtag not_value);
/* What to do about a value of dynamic type: expr_is_dynamic(). */
void hint_dynamic(struct check *c, const struct expr *e);
/* Wraps e into an implicit conversion to a type; folds constants. */
struct expr *expr_cast(struct check *c, struct expr *e, type_id to);
/*
 * For an operand that an action evaluates in several of its DIF objects: **e becomes what the first
 * of them evaluates, the result (a clone for each) what the others do. A value that costs nothing
 * and changes nothing is read again; any other is kept in a clause-local variable that no program
 * can name, so that '++' in the operand happens once.
 */
struct expr *expr_keep(struct check *c, struct expr **e);
struct expr *expr_new(struct check *c, enum expr_kind kind, struct span at, type_id type);
/* The value of a type after truncation and extension. */
uint64_t int_convert(const struct types *t, uint64_t val, type_id type);
/* Whether a store through e reaches memory of D. */
bool expr_is_writable(struct check *c, const struct expr *e);

/* ---- check_op.c ------------------------------------------------------------------------- */

struct expr *check_unary(struct check *c, struct expr *e);
struct expr *check_binary(struct check *c, struct expr *e);
struct expr *check_cond(struct check *c, struct expr *e);
/*
 * Checks the condition alone: the arm that a constant chooses, unchecked; NULL when it is not
 * constant.
 */
struct expr *check_cond_const(struct check *c, struct expr *e);
struct expr *check_comma(struct check *c, struct expr *e);

/* The operands of an arithmetic operator, checked; what its result is. */
struct arith {
	const char *op; /* as written: "+" or "+=" */
	struct span at;
	struct expr *l, *r;
	type_id type;
	bool is_signed;
	struct expr *bad; /* not NULL after reporting */
};

/* False after reporting; a->bad is then the result. */
bool arith_check(struct check *c, struct arith *a, enum expr_op op);
struct expr *fail_incompat(struct check *c, struct span at, const char *op, const struct expr *l,
			   const struct expr *r);
/* Arrays, pointers, and strings as addresses of their characters. */
bool expr_is_address(struct check *c, const struct expr *e);
/* Reports and returns false unless the constant divisor, if it is one, is not zero. */
bool check_divisor(struct check *c, enum expr_op op, const struct expr *divisor);

/* ---- check_assign.c --------------------------------------------------------------------- */

struct expr *check_assign(struct check *c, struct expr *e);

/* ---- check_fold.c ----------------------------------------------------------------------- */

/*
 * Of a unary operator, r is ignored. is_signed: of comparison, division, right shift. The divisor
 * is not zero.
 */
uint64_t fold(enum expr_op op, uint64_t l, uint64_t r, bool is_signed);

/* ---- check_access.c: members, subscripts, sizes, casts ---------------------------------- */

struct expr *check_member(struct check *c, struct expr *e);
/* Adds to the latest error which members the structure has. */
void hint_member(struct check *c, type_id sou, const char *name);
struct expr *check_index(struct check *c, struct expr *e);
/* base[sub] of a pointer, array or string, all of them checked. */
struct expr *check_element(struct check *c, struct expr *e);
struct expr *check_cast(struct check *c, struct expr *e);
struct expr *check_sizeof_type(struct check *c, struct expr *e);
struct expr *check_sizeof(struct check *c, struct expr *e);
struct expr *check_offsetof(struct check *c, struct expr *e);
struct expr *check_stringof(struct check *c, struct expr *e);

/* ---- check_var.c: what names mean ------------------------------------------------------- */

struct expr *check_ident(struct check *c, struct expr *e);
/* An identifier of this program in the session's arena; session_bind() makes it known. */
struct ident *ident_create(struct check *c, enum ident_kind kind, const char *name, struct span at,
			   type_id type);
struct ident *ident_find(struct check *c, enum ident_scope scope, const char *name);
/* What a declaration of the name would repeat: built in, or declared in this layer. */
struct ident *ident_find_own(struct check *c, enum ident_scope scope, const char *name);
/* Whether e is an identifier, perhaps subscripted, that means nothing yet: an assignment creates
 * it. */
bool check_is_new_var(struct check *c, const struct expr *e);
/* Creates what e names, with values of type `type` (TYPE_ERROR: silent from now on); the reference.
 */
struct expr *check_create_var(struct check *c, struct expr *e, type_id type);
/* A reference to an element of an associative array. */
struct expr *check_array_ref(struct check *c, struct ident *id, struct expr *e);
/* Checks keys one by one: values of usable types. what: "x[ ]" for messages. Replaces in place. */
bool check_keys(struct check *c, const char *what, struct expr **keys, uint32_t nkeys);
/* Converts checked keys to the signature of id, or makes them its signature. */
bool check_signature(struct check *c, struct ident *id, const char *what, struct span at,
		     struct expr **keys, uint32_t nkeys);
/* Makes a name poison: what is wrong with it has been reported. */
void ident_poison(struct check *c, enum ident_scope scope, const char *name, struct span at);
/* A user's variable of known type, bound to its name; D_ID_OFLOW when there are too many. */
struct ident *var_create(struct check *c, struct span at, enum ident_scope scope, const char *name,
			 type_id type, bool is_assoc, const type_id *keys, uint32_t nkeys);
/* "self->x", "@a", "x" as messages show names. */
const char *var_text(struct check *c, enum ident_scope scope, const char *name);
/* Reports that e (as check_is_new_var() takes it) means nothing; once per name. */
struct expr *expr_undefined(struct check *c, struct expr *e);
/* The type a variable gets that is assigned a value of type id: no cv, arrays as pointers. */
type_id type_of_variable(struct check *c, type_id id);
/* Applies pragmas that waited for the name. */
void ident_apply_pending(struct check *c, struct ident *id);
/* False after refusing what this version lacks; sets the type, which is read when first used. */
bool builtin_is_here(struct check *c, struct ident *id, struct span at);
/* Arguments and names take the attributes of the clause's provider. */
struct attr builtin_attr(struct check *c, const struct ident *id);
/* Narrows the clause's attributes by a use and checks option amin. */
void attr_use(struct check *c, struct span at, const char *name, struct attr a);
struct hashmap *session_map(struct dsession *s); /* a hash map that ends with the session */

/* ---- check_text.c: text without double quotes --------------------------------------------- */

/* Does e, unchecked, begin with a name that means nothing, as bash and systemd-journald do? */
bool expr_is_unquoted(struct check *c, const struct expr *e);
/* check_any() of what stands where a value of that type belongs: when that is a string, the report
 * of a name that means nothing says how text is written. */
struct expr *check_any_as(struct check *c, struct expr *e, type_id type);
/* How text is written, when the name that means nothing is the first word of it, else NULL. */
const char *unquoted_hint(struct check *c, const struct expr *name);
/* Adds to the latest error how text is written, if e is a character constant: 'bash'. */
void hint_char_text(struct check *c, const struct expr *e);

/* ---- check_poison.c: what failed, and is missing for that reason alone -------------------- */

/* Makes an aggregation that nothing has defined poison: what is wrong with it has been reported. */
void agg_poison(struct check *c, const char *name, struct span at);
/* Makes poison of every name that the unchecked clause d would have defined by assignment. */
void clause_poison(struct check *c, const struct decl *d);

/* ---- check_symbol.c: names with a backquote ----------------------------------------------- */

/* The value of a kernel symbol; the address when it is a function. */
struct expr *symbol_value(struct check *c, struct expr *e);
/* &`sym: also of one whose type is not known. */
struct expr *symbol_address(struct check *c, struct expr *e);
/* A name that 'extern' gave a type. */
struct expr *symbol_extern(struct check *c, struct ident *id, struct expr *e);

/* ---- check_args.c: args[] --------------------------------------------------------------- */

struct expr *check_args_ref(struct check *c, struct ident *id, struct expr *e);

/* ---- check_call.c ----------------------------------------------------------------------- */

struct expr *check_call(struct check *c, struct expr *e);
/* check_either.c: whether a call is one of __either(), and what it stands for. */
bool check_is_either(const struct expr *e);
struct expr *check_either(struct check *c, struct expr *e);
/* The row a call names, or NULL: nothing is reported. */
const struct subr *call_subr(struct check *c, const struct expr *e);
/* Checks arguments against the row's prototype and converts them in place. */
bool check_proto_args(struct check *c, const struct subr *subr, struct expr *call);
bool check_arg_count(struct check *c, const struct subr *subr, struct expr *call);
const struct proto *proto_get(struct check *c, const struct subr *subr);
/* Notes the use (attributes, destructiveness); false after refusing what this version lacks. */
bool subr_use(struct check *c, const struct subr *subr, struct span at);
/* "one arg passed, two expected" in the reference's words. */
void check_error_len(struct check *c, struct span at, const char *what, const char *unit,
		     uint32_t passed, uint32_t nmin, uint32_t nmax);

/* ---- check_inline.c, check_xlate.c ------------------------------------------------------ */

void check_inline_def(struct check *c, struct decl *d);
/* args: NULL for an inline without parameters */
struct expr *inline_expand(struct check *c, struct ident *id, struct expr *at, struct expr **args,
			   uint32_t nargs);
void check_translator_def(struct check *c, struct decl *d);
struct expr *check_xlate(struct check *c, struct expr *e);
/* base is a checked EXPR_XLATE; e the member expression over it. */
/* The address of a translated value as an ordinary expression; any e without one as it is. */
struct expr *xlate_address(struct check *c, struct expr *e);
struct expr *xlate_member(struct check *c, struct expr *base, struct expr *e);
/* in, out: types; NULL when there is none. Exact match first, then an assignable input. */
struct xlator *xlator_find(struct check *c, type_id in, type_id out);
/* Guards expansion against running away: false after reporting. */
bool check_expansion(struct check *c, struct span at, struct expr *body, const struct binding *b);
struct expr *expr_placeholder(struct check *c, struct span at, const char *name, type_id type);
bool convert_body(struct check *c, struct expr **e, type_id type);

/* ---- statements, clauses, declarations -------------------------------------------------- */

/* An action whose expressions are not lowered yet. */
struct act_build {
	struct prog_act act;
	struct expr **exprs; /* act.nargs of them */
	uint32_t cap;
	struct act_build *next;
};

static inline struct act_build *act_build(struct prog_act *act)
{
	return CONTAINER_OF(act, struct act_build, act);
}

/* Adds an argument. kind: what the consumer prints. */
void act_arg(struct check *c, struct prog_act *act, struct expr *e, enum datum_kind kind);
enum datum_kind datum_kind_of(struct check *c, type_id type);
/* The tags of an action that records one value of any type. */
struct value_tags {
	enum dtag is_void, is_dynamic, is_agg;
};
/* The only argument of such an action, checked; NULL after reporting. */
struct expr *check_recorded(struct check *c, struct expr *call, const struct value_tags *tags);
bool expr_is_positive(struct check *c, const struct expr *e); /* a constant above 0 */
/* shape.c: how print() shows a value of the type. */
const struct shape *type_shape(struct check *c, type_id type);

/*
 * The checks of the rows of acts.def (check_act.c, check_print.c, check_printf.c): false after
 * reporting. act has the row's kind; the check adds what the action is called with.
 */
#define ACT_RECORD(id, name, proto, flags, holds, rule, ...)                                       \
	bool act_check_##rule(struct check *c, struct expr *call, struct prog_act *act);
#define ACT_ALIAS ACT_RECORD
#include "dif/acts.def"

/* '@x[keys] = func(args)' as an action; false after reporting. */
bool check_agg_assign(struct check *c, struct expr *e, struct prog_act *act);
/* An argument that must be a defined aggregation: NULL after reporting one of the two tags. */
struct ident *check_agg_arg(struct check *c, const char *func, uint32_t argno, struct expr *e,
			    enum dtag not_agg, enum dtag undefined);
/* sym(x) and its kin, stack(): as a key or a printf argument. NULL when e is no such call;
 * otherwise the expression to record (a poison node after reporting). */
struct expr *check_key_call(struct check *c, struct expr *e, enum datum_kind *ret_kind);

void check_clause(struct check *c, struct decl *d);
/* Tells the surroundings what a declaration describes; clauses only. */
void check_specs_named(struct check *c, const struct decl *d);
void check_vars(struct check *c, struct decl *d);
void check_provider(struct check *c, struct decl *d);

/* ---- derive.c: declared probes that are made of others ------------------------------------ */
/* Takes the sources of a declaration over; false after reporting. */
bool derived_declare(struct check *c, const struct declared_provider *pv,
		     const struct probe_decl *pd, struct declared_probe *p);
/* Each way from the probe to what hangs on places, until func returns false. */
bool derived_walk(struct check *c, const struct declared_probe *p,
		  bool (*func)(struct check *c, void *ctx, const struct derivation *top,
			       const struct probe_desc *source),
		  void *ctx);
/* args[index] and argN of c->derived. */
struct expr *derived_args_ref(struct check *c, struct expr *e, uint64_t index);
struct expr *derived_arg_ref(struct check *c, struct ident *id, struct expr *e);
/* pred, checked, behind the guards of c->derived; either may be NULL. */
struct expr *derived_pred(struct check *c, struct expr *pred);
/*
 * check_args.c: a checked value as args[index] of type out, by a translator where the types differ.
 */
struct expr *args_translated(struct check *c, struct expr *e, uint64_t index, struct expr *ref,
			     type_id out);
/* compile.c: the state of a compile, which is freed by check_deinit() but for its arena. */
void check_init(struct check *c, struct dsession *s, const struct compile_opts *opts,
		const struct compile_env *env);
void check_deinit(struct check *c);
void check_pragma(struct check *c, struct decl *d);
void check_pragmas_unused(struct check *c);
/* A D type text of a table or a provider; TYPE_NONE when it does not parse or resolve. */
type_id type_from_text(struct check *c, const char *text);
/* The name as a new global: reports D_DECL_IDRED and returns false when it is taken. */
bool check_name_is_free(struct check *c, struct span at, const char *name);
