/* SPDX-License-Identifier: MIT */
/*
 * The checker's and the session's own declarations, shared by check*.c, builtin.c, fmt.c, derive.c
 * and compile.c.
 *
 * Owns     the arena of the session owns what outlives a compile (identifiers, inlines,
 *          translators). The arena of a compile owns its tree, DIF and clauses; when the compile
 *          succeeds, the session keeps that arena.
 */
#pragma once

#include "d/parse/attr.h"
#include "d/check/check.h"
#include "d/check/decl.h"
#include "d/text/list.h"
#include "d/parse/op.h"
#include "d/parse/parse.h"

/* ---- what a session keeps --------------------------------------------------------------- */

struct xlator {
	enum d_layer layer;
	bool is_kept; /* the compile that made it has succeeded */
	type_id out, in;
	const char *param;
	struct hashmap *members; /* name -> struct xlate_member, unchecked */
	struct attr attr;
};

struct declared_source {
	struct probe_desc desc;
	const char *text;   /* desc as written */
	struct expr *guard; /* unchecked; NULL: always */
	struct expr **args; /* unchecked, one for each native argument */
	bool has_args;	    /* false: the arguments are those of the probes that desc matches */
	bool is_other;	    /* begins another alternative ("||") */
	struct span span;
	const struct code_source *code; /* of a probe in code of processes; else NULL */
};

/* Whether sources of a declared probe exist on this machine. */
enum derived_state {
	DERIVED_UNKNOWN, /* not yet asked */
	DERIVED_ASKED, /* the answer is being computed: a probe that leads to itself is an error */
	DERIVED_READY, /* first..end exist */
	DERIVED_LACKING, /* none; info.lack says why */
};

struct declared_probe {
	struct derived_info info; /* for probes with sources; the first member: derived_probe() */
	struct declared_source *sources;
	uint32_t nsources;
	const char *reason;  /* said when no alternative exists here; or NULL */
	uint32_t first, end; /* DERIVED_READY: the sources of the alternative that exists here */
	enum derived_state state;
	enum d_layer layer; /* the layer of the text that declared it */
	const char *name;   /* with '-' for "__" */
	type_id *args;
	uint32_t nargs;
	type_id *xargs; /* types of the translated arguments; without translation, args */
	uint32_t *map;	/* xargs[i] is made of args[map[i]] */
	uint32_t nxargs;
};

static inline struct declared_probe *derived_probe(const struct derived_info *info)
{
	return (struct declared_probe *)(uintptr_t)info;
}

/*
 * The way from the declared probe of a clause to a probe that a provider places: one step leads
 * from a declared probe to one of its sources, which may describe a declared probe again.
 */
struct derivation {
	const struct declared_probe *probe;
	const struct declared_source *src;
	const struct derivation *base; /* the next step; NULL: src describes placed probes */
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
	bool varargs; /* more than nargs arguments are allowed */
};

/* One entry in the journal of a compile: how to take back the binding of a name. */
struct undo {
	struct hashmap *map;
	const char *key;
	void *old; /* what it meant before, or NULL */
};

struct dsession {
	struct arena *arena;
	struct source_map *sources;
	struct types *types;
	enum d_layer layer;		  /* the layer of the text that is being checked */
	struct hashmap *globals[NLAYERS]; /* user variables, inlines, enumerators -> struct ident */
	struct hashmap *selfs;		  /* thread-local variables -> struct ident */
	struct hashmap *agg_idents;	  /* aggregations -> struct ident */
	struct hashmap *builtins; /* subroutines, actions, variables of builtin.c -> struct ident */
	struct hashmap *protos;	  /* of subrs[], by name, once used -> struct proto */
	struct hashmap *type_texts; /* D type text -> type_id + 1 as a pointer */
	struct hashmap *providers;  /* declared in D -> struct declared_provider */
	/* declared probes with sources, also those that failed compiles declared */
	VEC(struct declared_probe *) derived;
	VEC(struct code_source *) code_sources; /* element i has the number i + 1 */
	VEC(struct xlator *) xlators;
	VEC(struct undo) journal; /* of the compiles under way */
	VEC(struct prog_var *) vars;
	VEC(struct prog_agg *) aggs;
	struct prog_vars vars_view;
	struct prog_aggs aggs_view;
	uint32_t next_var[3]; /* by enum dif_scope */
	uint32_t nclauses;
	/*
	 * The counts up to which a library that was compiled inside the current compile has made
	 * things: these survive when the outer compile fails. (A translator says so by is_kept.)
	 */
	struct session_kept {
		uint32_t vars, aggs, next_var[3];
	} kept;
	VEC(struct arena *) arenas; /* of the programs that were compiled */
	VEC(struct hashmap *) maps; /* hash maps inside idents, translators, providers */
};

/* The counts of the session at one moment, for session_rollback(). */
struct session_mark {
	uint32_t journal, vars, aggs, xlators, nclauses;
	uint32_t next_var[3];
};

/* Marks clause-local variables as well: their bindings are in the same journal. */
struct session_mark session_mark(const struct dsession *s);
void session_rollback(struct dsession *s, const struct session_mark *m);
/*
 * Gives a name a meaning; session_rollback() restores the earlier one. key must live as long as the
 * session.
 */
void session_bind(struct dsession *s, struct hashmap *map, const char *key, void *value);

/* Sets the layer of the text that is checked from now on; returns the one before. */
enum d_layer session_set_layer(struct dsession *s, enum d_layer layer);
/* What a global name means in the current layer, or NULL; built-in names are not looked up. */
struct ident *session_global(const struct dsession *s, const char *name, size_t len);
/* Binds a global name in the current layer. */
static inline void session_bind_global(struct dsession *s, const char *name, struct ident *id)
{
	session_bind(s, s->globals[s->layer], name, id);
}

/* ---- the state of one compile ----------------------------------------------------------- */

/* Parameters of an inline or a translator, bound to arguments while the body is checked. */
struct binding {
	const char *name;
	struct expr *e; /* checked */
	struct binding *next;
};

struct pending_pragma {
	const char *name; /* of an identifier that is not defined yet */
	bool has_attr, has_version, is_used;
	struct attr attr;
	uint32_t version;
	struct span span;
	struct pending_pragma *next;
};

/*
 * Checking that can be undone. attempt_undo() takes back everything that was reported, defined or
 * noted of the clause since attempt_begin(). Nodes in the arena, types, and the count of expanded
 * nodes stay.
 */
struct attempt {
	struct session_mark session;
	uint32_t nerrors, nundef, ntrouble;
	struct attr attr;
	bool destructive, uses_task, target_missed;
};

struct attempt attempt_begin(const struct check *c);
void attempt_undo(struct check *c, const struct attempt *a);

/*
 * check_error() reports an error; expr_fail() does so and yields the poison node to return. `at` is
 * a span.
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

/* An aggregation or a translated value that check_any() and xlate_address() have left. */
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
/* Refuses an e that check_any() has checked when it is an aggregation or a translated value. */
struct expr *check_value(struct check *c, struct expr *e);
/* The same, under the tag with which the caller refuses an operand of a wrong type. */
struct expr *check_value_or(struct check *c, struct expr *e, enum dtag not_value);
struct expr *check_expr_or(struct check *c, struct expr *e, enum dtag not_value);
/* A call of the function that can be typed as it stands: "exit(0)", "strlen(\"text\")". */
const char *call_simplest(struct check *c, const struct subr *subr);
/* Adds a hint what to write instead of a value for which expr_is_dynamic() holds. */
void hint_dynamic(struct check *c, const struct expr *e);
/* Wraps e into an implicit conversion to a type; folds constants. */
struct expr *expr_cast(struct check *c, struct expr *e, type_id to);
/*
 * Makes an operand that several DIF objects of one action use be evaluated once. The first object
 * evaluates *e as this function leaves it, the others evaluate clones of the result. A value that
 * costs nothing and has no side effect is read again; any other is kept in a clause-local variable
 * that no program can name.
 */
struct expr *expr_keep(struct check *c, struct expr **e);
/* The same, in the clause-local variable of this name. */
struct expr *expr_keep_as(struct check *c, struct expr **e, const char *name);
struct expr *expr_new(struct check *c, enum expr_kind kind, struct span at, type_id type);
/* val cut to the size of the type and extended again. */
uint64_t int_convert(const struct types *t, uint64_t val, type_id type);
/* Whether a store to the lvalue e changes D's own memory: a variable or scratch memory. */
bool expr_is_writable(struct check *c, const struct expr *e);

/* ---- check_op.c ------------------------------------------------------------------------- */

struct expr *check_unary(struct check *c, struct expr *e);
struct expr *check_binary(struct check *c, struct expr *e);
struct expr *check_cond(struct check *c, struct expr *e);
/*
 * Checks the condition alone. When it is constant, returns the operand that it chooses, unchecked;
 * else NULL.
 */
struct expr *check_cond_const(struct check *c, struct expr *e);
struct expr *check_comma(struct check *c, struct expr *e);

/* The checked operands of an arithmetic operator, and the type of its result. */
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
/* Whether e can be used as an address: an array, a pointer, or a string (its first character). */
bool expr_is_address(struct check *c, const struct expr *e);
/* False after reporting a division by the constant 0. */
bool check_divisor(struct check *c, enum expr_op op, const struct expr *divisor);

/* ---- check_assign.c --------------------------------------------------------------------- */

struct expr *check_assign(struct check *c, struct expr *e);

/* ---- check_fold.c ----------------------------------------------------------------------- */

/*
 * The value of an operation on constants. A unary operator ignores r; a divisor r is not zero.
 * is_signed matters for comparisons, division and right shifts.
 */
uint64_t fold(enum expr_op op, uint64_t l, uint64_t r, bool is_signed);

/* ---- check_access.c: members, subscripts, sizes, casts ---------------------------------- */

struct expr *check_member(struct check *c, struct expr *e);
/* Adds to the latest error which members the structure has. */
void hint_member(struct check *c, type_id sou, const char *name);
struct expr *check_index(struct check *c, struct expr *e);
/* Types base[sub], whose operands are checked: a pointer, array or string, and one subscript. */
struct expr *check_element(struct check *c, struct expr *e);
struct expr *check_cast(struct check *c, struct expr *e);
struct expr *check_sizeof_type(struct check *c, struct expr *e);
struct expr *check_sizeof(struct check *c, struct expr *e);
struct expr *check_offsetof(struct check *c, struct expr *e);
struct expr *check_stringof(struct check *c, struct expr *e);

/* ---- check_wide.c: what is known of variables before they are assigned ------------------- */

/* Notes which variables the program assigns; before anything is checked. */
void check_note_assigned(struct check *c, const struct ast *ast);
/* Whether the program assigns the unchecked 'name' or 'name[...]' somewhere. */
bool var_is_assigned_later(struct check *c, const struct expr *e);
/* Notes that the variable l, or key index of id, needs 64 bits if the value does not fit. */
void wide_note_value(struct check *c, const struct expr *l, const struct expr *r);
void wide_note_key(struct check *c, const struct ident *id, uint32_t index, const struct expr *key);
/* The type of a new variable: a 64-bit type where one was noted, else the given type. */
type_id wide_var_type(struct check *c, enum ident_scope scope, const char *name, type_id type);
/* The same for the keys of a declared array, and for those with which a first use defines them. */
void wide_key_types(struct check *c, enum ident_scope scope, const char *name, type_id *keys,
		    uint32_t nkeys);
void wide_array_keys(struct check *c, enum ident_scope scope, const char *name, struct expr **keys,
		     uint32_t nkeys);
void wide_agg_keys(struct check *c, const char *name, struct expr **keys, uint32_t nkeys);

/* ---- privileges.c: what the session lacks a level for is reported; false -------------------- */

bool privilege_check_variable(struct check *c, const char *name, struct span at);
bool privilege_check_call(struct check *c, const char *name, struct span at);
bool privilege_check_symbol(struct check *c, const char *name, struct span at);
/* A thread-local variable: it tells one thread from another. */
bool privilege_check_thread(struct check *c, const char *name, struct span at);
/* A variable whose name begins with __: it is the library's, and may hold what that has read. */
bool privilege_check_hidden(struct check *c, const char *name, struct span at);
/*
 * Inlines and translators of the system's library that tell of the current task, in a session that
 * must not read the kernel: curpsinfo, fds[]. Their texts are trusted to read it, and only values
 * come out of them: numbers, and copies of strings.
 */
bool privilege_is_own(const struct check *c, const struct ident *id);
bool privilege_check_member(struct check *c, const struct xlator *x, const char *member,
			    struct span at);
/* A copy of a string of such a text in memory of D's own: the library's variables hold no other. */
struct expr *own_text(struct check *c, struct expr *e);
/* The checked value of such a text as a program at that place may have it. */
struct expr *own_value(struct check *c, struct expr *e, struct span at);
/* A provider that the program or an -L folder declares. */
bool privilege_check_provider(struct check *c, const char *name, struct span at);
/* A clause whose code is made: it is marked, and refused, if it reads memory of the process. */
bool privilege_check_reads(struct check *c, const struct prog_clause *cl, struct span at);
/* A probe that is declared in D, and its arguments by their numbers. */
bool privilege_check_probe(struct check *c, const struct derivation *dv,
			   const struct probe_desc *source, struct span at);
/* The probes that providers place and the description means. */
bool privilege_check_desc(struct check *c, const struct probe_desc *desc, struct span at);
bool privilege_check_arg(struct check *c, const struct derivation *dv, uint32_t index,
			 struct span at);
/* Whether the task that is the probe's first argument must be one of the user's as well. */
bool privilege_has_other(const struct check *c, const struct derivation *dv);
/* Whether args[index] of the probe is made as curpsinfo is: see above. */
bool privilege_is_own_arg(const struct check *c, const struct derivation *dv, uint32_t index);
/*
 * The outermost probe of a derivation that is made of nothing but probes of the system's library;
 * NULL: there is none, because the placed probe is described by somebody else.
 */
const struct derivation *privilege_system_part(const struct derivation *dv);
/*
 * Whether the guards and arguments of the probe are checked by the probe's own level: it is such a
 * one. The system's probes may also describe probes that a program declares.
 */
bool privilege_trusts(const struct check *c, const struct derivation *dv);

/* ---- check_absent.c: probes of other systems that are not to be had here ------------------- */

/* Notes a description that has matched probes. */
void absent_note_found(struct check *c, const struct pspec *spec);
/* Notes a description that has matched nothing; false: no system has its probes, an error. */
bool absent_note(struct check *c, const struct decl *d, const struct pspec *spec);
bool absent_has(const struct check *c, const struct pspec *spec);
/* Reports the descriptions that were noted, when the whole program was checked. */
void check_absents(struct check *c);
/* Reports a description that matches nothing (check_clause.c). */
void check_unmatched(struct check *c, const struct decl *d, const struct pspec *spec);

/* ---- check_argtext.c: which arguments the program reads as text ---------------------------- */

/* Fills in pspec.texts of each description whose function is a pattern; before it is matched. */
void check_note_texts(struct check *c, const struct ast *ast);

/* ---- check_var.c: what names mean ------------------------------------------------------- */

struct expr *check_ident(struct check *c, struct expr *e);
/* Makes an identifier in the session's arena; session_bind() gives the name this meaning. */
struct ident *ident_create(struct check *c, enum ident_kind kind, const char *name, struct span at,
			   type_id type);
struct ident *ident_find(struct check *c, enum ident_scope scope, const char *name);
/*
 * Makes a clause-local variable with the name of var for clauses on the current source of their
 * probe, c->source, and returns it as an lvalue: it holds the input of a translator, which is of
 * another type there. A firing has one source, so that it never meets the other variable.
 */
struct expr *local_of_source(struct check *c, const struct expr *var, type_id type,
			     type_id xlate_type);
/* The identifier, built in or of the current layer, that a declaration of the name would repeat. */
struct ident *ident_find_own(struct check *c, enum ident_scope scope, const char *name);
/*
 * Whether e is an identifier, perhaps subscripted, that nothing defines: an assignment to e creates
 * the variable.
 */
bool check_is_new_var(struct check *c, const struct expr *e);
/*
 * Creates the variable that e names, with values of type `type`, and returns a reference to it.
 * TYPE_ERROR: later uses of the variable cause no message.
 */
struct expr *check_create_var(struct check *c, struct expr *e, type_id type);
/* A reference to an element of an associative array. */
struct expr *check_array_ref(struct check *c, struct ident *id, struct expr *e);
/* Checks each key in place; keys are values. what: the array as messages show it, "x[ ]". */
bool check_keys(struct check *c, const char *what, struct expr **keys, uint32_t nkeys);
/* Converts checked keys to the types of the first use of id; the first use fixes these types. */
bool check_signature(struct check *c, struct ident *id, const char *what, struct span at,
		     struct expr **keys, uint32_t nkeys);
/* Makes later uses of a name silent, because an error about it was reported. */
void ident_poison(struct check *c, enum ident_scope scope, const char *name, struct span at);
/* Creates and binds a variable of known type; NULL after reporting D_ID_OFLOW: too many. */
struct ident *var_create(struct check *c, struct span at, enum ident_scope scope, const char *name,
			 type_id type, bool is_assoc, const type_id *keys, uint32_t nkeys);
/* "self->x", "@a", "x" as messages show names. */
const char *var_text(struct check *c, enum ident_scope scope, const char *name);
/* Reports that nothing defines the variable e (see check_is_new_var()), once for each name. */
struct expr *expr_undefined(struct check *c, struct expr *e);
/* The type of a variable that a value of type id creates: unqualified, a pointer for an array. */
type_id type_of_variable(struct check *c, type_id id);
/* Applies to a new identifier the pragmas that were given before its definition. */
void ident_apply_pending(struct check *c, struct ident *id);
/*
 * False after reporting that the D version in force lacks a built-in variable. Resolves its type at
 * the first use.
 */
bool builtin_is_here(struct check *c, struct ident *id, struct span at);
/* The attributes of a built-in; args[] and probe names have those of the clause's provider. */
struct attr builtin_attr(struct check *c, const struct ident *id);
/* Notes that the clause uses a name with attributes a, and checks option amin. */
void attr_use(struct check *c, struct span at, const char *name, struct attr a);
struct hashmap *session_map(struct dsession *s); /* a new hash map, freed with the session */

/* ---- check_shell.c: texts of others in commands and paths ----------------------------------- */

/* Notes argument act->nargs, which act_arg() adds next; `at` is its span as the program has it. */
void shell_arg_note(struct check *c, const struct expr *call, const struct prog_act *act,
		    uint32_t conv, const struct expr *arg, struct span at);
/* Warns of the arguments that were noted. */
void check_shell_args(struct check *c, const struct prog *prog);

/* ---- check_text.c: strings written without double quotes ---------------------------------- */

/* Whether e, unchecked, begins with an undefined name: bash, systemd-journald. */
bool expr_is_unquoted(struct check *c, const struct expr *e);
/*
 * check_any() where a value of `type` is expected. When that is a string and e looks like a string
 * without quotes, the error about the undefined name hints at quotes.
 */
struct expr *check_any_as(struct check *c, struct expr *e, type_id type);
/*
 * Returns the hint at quotes if the undefined name begins what check_any_as() checks; else NULL.
 */
const char *unquoted_hint(struct check *c, const struct expr *name);
/* Adds the hint to the latest error when e is text in single quotes: 'bash'. */
void hint_char_text(struct check *c, const struct expr *e);

/* ---- check_poison.c: names that are undefined because their definition had an error ------- */

/* Makes later uses of an undefined aggregation silent, because an error was reported. */
void agg_poison(struct check *c, const char *name, struct span at);
/* The same for every name that the unchecked clause d would have defined by an assignment. */
void clause_poison(struct check *c, const struct decl *d);

/* ---- check_symbol.c: names with a backquote ----------------------------------------------- */

/* The inline of the library that stands for a kernel variable `NAME; NULL: there is none. */
struct ident *symbol_inline(struct check *c, const struct expr *e);
/* The value of a kernel variable, or the address of a kernel function. */
struct expr *symbol_value(struct check *c, struct expr *e);
/* &`sym, which needs no type of the symbol. */
struct expr *symbol_address(struct check *c, struct expr *e);
/* The value of a kernel symbol that the program declared with 'extern'. */
struct expr *symbol_extern(struct check *c, struct ident *id, struct expr *e);

/* ---- check_args.c: args[] --------------------------------------------------------------- */

struct expr *check_args_ref(struct check *c, struct ident *id, struct expr *e);

/* ---- check_call.c ----------------------------------------------------------------------- */

struct expr *check_call(struct check *c, struct expr *e);
/* check_either.c: __either(a, b, ...) is the first argument that this kernel's types allow. */
bool check_is_either(const struct expr *e);
struct expr *check_either(struct check *c, struct expr *e);
/* The row of the function that a call names, or NULL; reports nothing. */
const struct subr *call_subr(struct check *c, const struct expr *e);
/* Checks arguments against the row's prototype and converts them in place. */
bool check_proto_args(struct check *c, const struct subr *subr, struct expr *call);
bool check_arg_count(struct check *c, const struct subr *subr, struct expr *call);
const struct proto *proto_get(struct check *c, const struct subr *subr);
/* Notes the use (attributes, destructiveness); false after reporting that it is not available. */
bool subr_use(struct check *c, const struct subr *subr, struct span at);
/* "one arg passed, two expected" in the reference's words. */
void check_error_len(struct check *c, struct span at, const char *what, const char *unit,
		     uint32_t passed, uint32_t nmin, uint32_t nmax);

/* ---- check_block.c, check_table.c: of ustack helpers ------------------------------------ */

/* The statements of a block at a place of use, and what they hide there. */
struct block_use {
	struct stmt **body;
	struct binding *bindings;
	enum d_layer layer;
};

void check_block_def(struct check *c, struct decl *d);
/* The block that the unchecked expression calls, or NULL. */
struct ident *block_called(struct check *c, const struct expr *e);
/* False after reporting. Else the caller checks the statements, and then calls block_end(). */
bool block_begin(struct check *c, struct ident *id, const struct expr *call, struct block_use *ret);
void block_end(struct check *c, struct ident *id, const struct block_use *use);
void check_table(struct check *c, struct decl *d);

/* ---- check_inline.c, check_xlate.c ------------------------------------------------------ */

void check_inline_def(struct check *c, struct decl *d);
/* Notes names and types of parameters; false after reporting. */
bool inline_params(struct check *c, struct type_name **params, uint32_t nparams, struct span at,
		   struct ident *id);
/* Checks the arguments, one for each parameter; NULL: there is none, or after reporting. */
struct binding *inline_bind(struct check *c, struct ident *id, const char *brackets,
			    struct expr **args);
/* args: NULL for an inline without parameters */
struct expr *inline_expand(struct check *c, struct ident *id, struct expr *at, struct expr **args,
			   uint32_t nargs);
void check_translator_def(struct check *c, struct decl *d);
struct expr *check_xlate(struct check *c, struct expr *e);
/* The type of the struct that a checked EXPR_XLATE yields, or to which it yields a pointer. */
type_id xlate_output(struct check *c, const struct expr *e);
/* check_whole.c: the translated value as a struct in scratch memory, with all its members. */
struct expr *xlate_whole(struct check *c, struct expr *e);
/* The address of a translated value, if it has one, as an ordinary expression; else e itself. */
struct expr *xlate_address(struct check *c, struct expr *e);
/* A member of a translated value: base is the checked EXPR_XLATE, e the member expression. */
struct expr *xlate_member(struct check *c, struct expr *base, struct expr *e);
/* The translator from type in (or a type that can be assigned to its input) to out, or NULL. */
struct xlator *xlator_find(struct check *c, type_id in, type_id out);
/* Charges for an expansion of body; false after reporting that a program expands to too much. */
bool check_expansion(struct check *c, struct span at, struct expr *body, const struct binding *b);
struct expr *expr_placeholder(struct check *c, struct span at, const char *name, type_id type);
bool convert_body(struct check *c, struct expr **e, type_id type);

/* ---- statements, clauses, declarations -------------------------------------------------- */

/* An action while it is checked: its expressions are lowered when the clause is complete. */
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

/* Adds an argument to an action. kind: how the consumer shows it. */
void act_arg(struct check *c, struct prog_act *act, struct expr *e, enum datum_kind kind);
enum datum_kind datum_kind_of(struct check *c, type_id type);
/* The tags under which an action with one argument of any type refuses what is no value. */
struct value_tags {
	enum dtag is_void, is_dynamic, is_agg;
};
/* Checks the argument of such an action; NULL after reporting. */
struct expr *check_recorded(struct check *c, struct expr *call, const struct value_tags *tags);
bool expr_is_positive(struct check *c, const struct expr *e); /* a constant above 0 */
/* shape.c: describes a type to print(), which shows values without the type table. */
const struct shape *type_shape(struct check *c, type_id type);

/*
 * The check of each row of acts.def (in check_act.c, check_print.c, check_printf.c). act has the
 * kind of the row; the check adds its arguments and parameters. False after reporting.
 */
#define ACT_RECORD(id, name, proto, flags, holds, rule, ...)                                       \
	bool act_check_##rule(struct check *c, struct expr *call, struct prog_act *act);
#define ACT_ALIAS ACT_RECORD
#define ACT_PROBE(id, name, proto, flags, rule, ...)                                               \
	bool act_check_##rule(struct check *c, struct expr *call, struct prog_act *act);
#include "dif/acts.def"

/*
 * Whether keys of the two kinds are those of one aggregation: stacks of the kernel and of processes
 * are, because each says what it is.
 */
bool key_kinds_match(enum datum_kind a, enum datum_kind b);
/* Makes an action of '@x[keys] = func(args)'; false after reporting. */
bool check_agg_assign(struct check *c, struct expr *e, struct prog_act *act);
/* The aggregation that is argument argno of func; NULL after reporting one of the two tags. */
struct ident *check_agg_arg(struct check *c, const char *func, uint32_t argno, struct expr *e,
			    enum dtag not_agg, enum dtag undefined);
/*
 * Checks sym(x), stack() and other actions of class SUBR_KEY as a key or an argument of printf().
 * NULL when e is no such call; else the expression to record, a poison node after reporting.
 */
struct expr *check_key_call(struct check *c, struct expr *e, enum datum_kind *ret_kind);
/* Whether it is stack(), ustack() or one like these, which an expression may use as a value. */
bool subr_is_stack(const struct subr *subr);
/* Checks the call of such a one in an expression: a value of type stackid_t. */
struct expr *check_stack_value(struct check *c, struct expr *e);
/* Says in a hint what can be done with stacks, if one of the operands is one. */
void hint_stack(struct check *c, const struct expr *l, const struct expr *r);

void check_clause(struct check *c, struct decl *d);
/* Calls compile_env.named for each description of a clause; other declarations have none. */
void check_specs_named(struct check *c, const struct decl *d);
void check_vars(struct check *c, struct decl *d);
void check_provider(struct check *c, struct decl *d);
/* usdt.c: reports what -h and -G could make no call of. */
void check_usdt_probe(struct check *c, const struct probe_decl *pd, const char *provider,
		      const struct declared_probe *p);

/* ---- derive.c: declared probes that are made of others ------------------------------------ */

/* Copies the sources of a declaration to the declared probe; false after reporting. */
bool derived_declare(struct check *c, const struct declared_provider *pv,
		     const struct probe_decl *pd, struct declared_probe *p);
/*
 * Whether a parameter of a declared probe is of type "void *": pointers that sources give for it
 * keep their types.
 */
bool arg_is_open(struct check *c, type_id type);
/* Calls func for each derivation from p to placed probes, until func returns false. */
bool derived_walk(struct check *c, const struct declared_probe *p,
		  bool (*func)(struct check *c, void *ctx, const struct derivation *top,
			       const struct probe_desc *source),
		  void *ctx);
/* The expressions for which args[index] and argN stand in a clause on a declared probe. */
struct expr *derived_args_ref(struct check *c, struct expr *e, uint64_t index);
struct expr *derived_arg_ref(struct check *c, struct ident *id, struct expr *e);
/*
 * copyinstr(argN), where the declared probe in code of processes makes a string of that argument:
 * returns the string, because scripts of other systems know it as an address. Else NULL.
 */
struct expr *derived_copied(struct check *c, const struct expr *call);
/* The guards of c->derived, checked; NULL when there are none. */
struct expr *derived_pred(struct check *c);
/* l && r, both checked; each may be NULL. */
struct expr *expr_and(struct check *c, struct expr *l, struct expr *r);
/*
 * check_args.c: makes args[index], of type out, of the checked value ref, with a translator where
 * the types differ. e: the expression args[index] in the program, for messages.
 */
struct expr *args_translated(struct check *c, struct expr *e, uint64_t index, struct expr *ref,
			     type_id out);

/* ---- compile.c ---------------------------------------------------------------------------- */

/* check_deinit() frees everything but the arena of the compile. */
void check_init(struct check *c, struct dsession *s, const struct compile_opts *opts,
		const struct compile_env *env);
void check_deinit(struct check *c);
void check_pragma(struct check *c, struct decl *d);
void check_pragmas_unused(struct check *c);
/* The type that a table or a provider writes as D text; TYPE_NONE when no such type exists. */
type_id type_from_text(struct check *c, const char *text);
/* Whether name can become a global identifier; false after reporting D_DECL_IDRED. */
bool check_name_is_free(struct check *c, struct span at, const char *name);
