/* SPDX-License-Identifier: MIT */
/*
 * The syntax tree of D, as the parser leaves it and as the checker completes it.
 *
 * Nodes live in the arena of the compile; nobody frees one. The parser fills every field except
 * those marked "check". An expression that could not be understood is EXPR_BAD, such a declaration
 * has no declarators; an error has been reported for either.
 *
 * To add a kind of expression: 1. the enum; 2. the union; 3. ast_print.c; 4. check_expr.c; 5.
 * lower.c (the switches are exhaustive: the compiler names each one that lacks the kind).
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "d/text/source.h"
#include "d/types/types.h"

struct expr;
struct stmt;
struct decl;
struct ident; /* check: a variable, inline, enumerator, ... of d/parse/ident.h */
struct subr;  /* check: a row of the subroutine/action table of d/check/builtin.h */

/* ---- expressions ----------------------------------------------------------------------------- */

enum expr_kind {
	EXPR_BAD,
	EXPR_INT,   /* ival; also a character constant, or a $n that is an integer */
	EXPR_STR,   /* str */
	EXPR_IDENT, /* name (with scoping backquotes); scope says self-> / this-> */
	EXPR_AGG,   /* @name[keys] */
	EXPR_UNARY,
	EXPR_BINARY,
	EXPR_ASSIGN, /* binary.op = OP_NONE for plain '=' */
	EXPR_COND,
	EXPR_COMMA, /* binary.l, binary.r */
	EXPR_CALL,
	EXPR_INDEX,  /* base[subs...] */
	EXPR_MEMBER, /* base.name or base->name */
	EXPR_CAST,
	EXPR_SIZEOF_TYPE,
	EXPR_SIZEOF, /* unary.e */
	EXPR_OFFSETOF,
	EXPR_STRINGOF, /* unary.e */
	EXPR_XLATE,
	/* only the checker makes this kind */
	EXPR_VAR, /* var.ident, var.keys: a variable or an associative array element */
};

enum expr_op {
	OP_NONE,
#define OP_UNARY(id, ...)  OP_##id,
#define OP_BINARY(id, ...) OP_##id,
#include "d/parse/ops.def"
#undef OP_UNARY
#undef OP_BINARY
};

enum ident_scope { SCOPE_GLOBAL, SCOPE_SELF, SCOPE_THIS };

/* A type as written: specifiers of a declaration plus one abstract or named declarator. */
struct type_name;

/* clang-format off */
struct expr {
	enum expr_kind kind;
	struct span span;
	type_id type;	/* check: TYPE_NONE before, never after */
	bool is_lvalue; /* check */
	bool parens;	/* was written in parentheses */
	bool is_trusted; /* check: a guard of the system's library (dif.h, trusted_len) */
	/*
	 * check, in a session that must not read the kernel: a value that the system's library
	 * reads for it (of EXPR_XLATE: whose members are), what such a text starts from, which
	 * nothing else may use, and what a program has given to such a text.
	 */
	bool is_own, is_input, is_given;
	uint16_t height; /* of the subtree; the parser limits it, so that passes may recurse */
	union {
		/* EXPR_INT */
		struct { uint64_t val; type_id lit_type; bool is_char, is_macro, lacks_target; } ival;
		/* EXPR_STR; lacks_target (also of ival): $target, and there is no such process */
		struct { const char *p; uint32_t len; bool lacks_target; } str;
		struct { const char *name; enum ident_scope scope; } ident;	  /* EXPR_IDENT */
		struct { const char *name; struct expr **keys; uint32_t nkeys; bool has_keys;
			 struct ident *ident; } agg;				  /* EXPR_AGG */
		struct { enum expr_op op; struct expr *e; } unary;
		struct {
			enum expr_op op;
			struct expr *l, *r;
			bool is_signed; /* check: comparisons, division, right shift */
			bool is_strcmp; /* check: comparison of string contents */
		} binary;
		struct { struct expr *c, *t, *f; } cond;
		struct { struct expr *fn; struct expr **args; uint32_t nargs;
			 const struct subr *subr; } call;
		struct { struct expr *base; struct expr **subs; uint32_t nsubs; } index;
		struct { struct expr *base; const char *name; bool arrow;
			 struct type_member *member; /* check */ } member;
		/* SIZEOF_TYPE: to */
		struct { struct type_name *to; struct expr *e; bool implicit; } cast;
		struct { struct type_name *of; const char *member; struct span member_span; } of;
		/* x: check_xlate.c */
		struct { struct type_name *to; struct expr *e; struct xlator *x; } xlate;
		struct { struct ident *ident; struct expr **keys; uint32_t nkeys; } var;
	};
};
/* clang-format on */

/* ---- types as written ------------------------------------------------------------------------ */

/* clang-format off */
enum spec_flag {
	SPEC_VOID = 1 << 0, SPEC_CHAR = 1 << 1, SPEC_SHORT = 1 << 2, SPEC_INT = 1 << 3,
	SPEC_LONG = 1 << 4, SPEC_LONGLONG = 1 << 5, SPEC_FLOAT = 1 << 6, SPEC_DOUBLE = 1 << 7,
	SPEC_SIGNED = 1 << 8, SPEC_UNSIGNED = 1 << 9, SPEC_STRING = 1 << 10,
	SPEC_CONST = 1 << 11, SPEC_VOLATILE = 1 << 12, SPEC_RESTRICT = 1 << 13,
	SPEC_USERLAND = 1 << 14,
	SPEC_COMBO = 1 << 15,	 /* two base types: D_DECL_COMBO */
};
/* clang-format on */

enum storage_class {
	SC_NONE,
	SC_AUTO,
	SC_REGISTER,
	SC_STATIC,
	SC_EXTERN,
	SC_TYPEDEF,
	SC_SELF,
	SC_THIS
};

struct member_decl {		/* one declarator in a struct or union */
	struct type_name *type; /* named declarator; name NULL for an anonymous member or padding */
	struct expr *bits;	/* NULL = not a bit-field */
};

struct enum_item {
	const char *name;
	struct expr *val;
	struct span span;
};

struct decl_specs {
	struct span span;
	uint32_t flags; /* enum spec_flag */
	enum storage_class sc;
	struct span sc_span;
	bool two_classes; /* more than one storage class: D_DECL_CLASS */
	const char *name; /* typedef name, possibly scoped: mod`type */
	enum { TAG_NONE, TAG_STRUCT, TAG_UNION, TAG_ENUM } tag;
	const char *tag_name; /* may be NULL when there is a body */
	bool has_body;
	struct member_decl *members;
	uint32_t nmembers;
	struct enum_item *items;
	uint32_t nitems;
	type_id resolved; /* check: the type, so that several declarators declare a body once */
};

/* A declarator as a list of derivations, applied to the specifiers from first to last. */
enum deriv_kind { DERIV_PTR, DERIV_ARRAY, DERIV_FUNC, DERIV_ASSOC };
struct deriv {
	enum deriv_kind kind;
	uint32_t quals;		   /* DERIV_PTR: SPEC_CONST ... SPEC_USERLAND */
	struct expr *dim;	   /* DERIV_ARRAY: NULL for [] */
	struct type_name **params; /* DERIV_FUNC parameters, DERIV_ASSOC key types */
	uint32_t nparams;
	bool varargs;
	struct span span;
};

struct type_name {
	struct span span;
	struct decl_specs *specs;
	struct deriv *derivs;
	uint32_t nderivs;
	const char *name; /* NULL: abstract */
	struct span name_span;
};

/* ---- statements, clauses, external declarations ---------------------------------------------- */

enum stmt_kind { STMT_EXPR, STMT_IF, STMT_WHILE };

struct stmt {
	enum stmt_kind kind;
	struct span span;
	struct expr *e;		 /* STMT_EXPR: the expression; STMT_IF, STMT_WHILE: the condition */
	struct expr *most;	 /* STMT_WHILE: how often the body may run */
	struct stmt **then_body; /* STMT_WHILE: the body */
	uint32_t nthen;
	struct stmt **else_body;
	uint32_t nelse;
};

/*
 * The last field that a description may have: with -m, SPEC_CTX_MODULE, "a:b" is provider and
 * module. Fields are assigned from right to left.
 */
enum spec_context { SPEC_CTX_PROVIDER, SPEC_CTX_MODULE, SPEC_CTX_FUNCTION, SPEC_CTX_NAME };

struct pspec {
	struct span span;
	const char *text;		      /* macro variables replaced */
	const char *prov, *mod, *func, *name; /* the fields of text; "" = any */
	uint32_t id;			      /* the description is a probe id; 0 = it is not */
	uint32_t texts;			      /* struct probe_desc: check_note_texts() */
};

struct xlate_member {
	const char *name;
	struct expr *e;
	struct span span;
};

/*
 * A source of a declared probe: spec [ "/" guard "/" ] [ "(" args ")" ]. The last alternative may be
 * a string instead: why the probe cannot fire where no other alternative exists.
 */
struct source_decl {
	const char *reason; /* NULL: a source */
	struct pspec spec;
	struct expr *guard; /* NULL: always */
	struct expr **args;
	uint32_t nargs;
	bool has_args;
	bool is_other; /* "||" stands before it: it begins another alternative */
	struct span span;
};

struct probe_decl { /* a probe in the declaration of a provider */
	const char *name;
	struct span span;
	struct type_name **args;
	uint32_t nargs;
	struct type_name **xargs;
	uint32_t nxargs;
	bool has_xargs, varargs;
	struct source_decl *sources;
	uint32_t nsources; /* behind "=" */
};

/* A row of a table: a named declarator, and its value in each column. */
struct table_row {
	struct type_name *type;
	struct expr **vals;
	uint32_t nvals;
	struct span span;
};

enum decl_kind {
	DECL_CLAUSE,
	/* specs with zero or more declarators: variables, typedefs, struct bodies */
	DECL_VARS,
	DECL_INLINE,
	DECL_TRANSLATOR,
	DECL_PROVIDER,
	DECL_PRAGMA, /* #pragma D ... that needs the checker: attributes, binding, depends_on */
	/* only in ustack helpers */
	DECL_BLOCK, /* inline void NAME(params) { statements } */
	DECL_TABLE,
};

/* The three components of a stability attribute (attr.h). */
struct attr {
	uint8_t name, data, class;
};

enum pragma_kind { PRAGMA_ATTRIBUTES, PRAGMA_BINDING, PRAGMA_DEPENDS_ON };
enum pragma_dependency { DEPENDS_ON_LIBRARY, DEPENDS_ON_MODULE, DEPENDS_ON_PROVIDER };

/* clang-format off */
struct decl {
	enum decl_kind kind;
	struct span span;
	bool in_include; /* stands in an included file: its types belong to container "C" */
	union {
		struct {
			struct pspec *specs; uint32_t nspecs;
			/*
			 * Of two descriptions with only a blank between them, which their writer
			 * may have meant as one: in the first, both as one word with '?' for the
			 * blank, which a hint shows; in the second, is_rest is set.
			 */
			const char *joined;
			bool is_rest;
			struct expr *pred;
			struct stmt **body; uint32_t nbody;
			bool has_body;
		} clause;
		struct { struct decl_specs *specs; struct type_name **names; uint32_t nnames; } vars;
		struct { struct type_name *type; struct expr *e;
			 struct type_name **params; uint32_t nparams; bool has_params; } inl;
		struct { const char *name; struct span name_span;
			 struct type_name **params; uint32_t nparams;
			 struct stmt **body; uint32_t nbody; } block;
		struct { const char *name; struct span name_span;
			 struct table_row *rows; uint32_t nrows; } table;
		struct { struct type_name *out, *in; const char *param;
			 struct xlate_member *members; uint32_t nmembers; } xlator;
		struct { const char *name; struct span name_span;
			 struct probe_decl *probes; uint32_t nprobes; } provider;
		struct {
			enum pragma_kind kind;
			/* the words after '#pragma D' */
			const char **words; struct span *spans; uint32_t nwords;
			struct attr attr;	   /* PRAGMA_ATTRIBUTES */
			/* PRAGMA_ATTRIBUTES: enum provider_part; NPARTS: of an identifier */
			uint8_t part;
			uint32_t version;	   /* PRAGMA_BINDING */
			enum pragma_dependency on; /* PRAGMA_DEPENDS_ON */
		} pragma; /* control.c has checked its form */
	};
};
/* clang-format on */

struct ast {
	struct decl **decls;
	uint32_t ndecls;
	enum spec_context context;
};

/*
 * Prints S-expressions, a paragraph for each external declaration, and types once they are set.
 * Golden tests compare this text.
 */
void ast_print(const struct ast *ast, struct strbuf *out);
void expr_print(const struct expr *e, struct strbuf *out);
/* Prints D text that parses to the same tree. */
void ast_print_d(const struct ast *ast, struct strbuf *out);
