/* SPDX-License-Identifier: MIT */
/*
 * Identifiers: the meaning of a name that is not a type.
 *
 * Owns     identifiers and their names live in the arena of the session (struct dsession).
 */
#pragma once

#include "d/parse/ast.h"
#include "d/types/layer.h"
#include "dif/prog.h"

enum ident_kind {
	IDENT_VAR,	     /* scalar variable: built in (id < DIF_VAR_USER) or of the program */
	IDENT_ARRAY,	     /* associative array */
	IDENT_BUILTIN_ARRAY, /* args[], uregs[] */
	IDENT_INLINE,	     /* expr, params */
	IDENT_ENUMERATOR,    /* ival */
	IDENT_AGG,	     /* agg */
	IDENT_SUBR,	     /* subr: subroutine, action or aggregating function */
	IDENT_BLOCK,	     /* block, inl.params: statements of a ustack helper */
	IDENT_EXTERN, /* kernel symbol declared with 'extern'; its address is found when used */
};

struct builtin_var;

/* clang-format off */
struct ident {
	enum ident_kind kind;
	const char *name;
	enum ident_scope scope;
	uint32_t id;	    /* DIF variable id */
	type_id type;	    /* TYPE_NONE until the first assignment fixes it */
	bool is_declared, is_builtin;
	bool is_implied;    /* its first use is the operand of -, ~, !: that has made it an int64_t */
	enum d_layer layer; /* the layer of the text that defines it */
	struct attr attr;
	uint32_t version;   /* D version that introduced it (attr.h); 0 = always there */
	type_id *keys; uint32_t nkeys; bool keys_known; /* IDENT_ARRAY, IDENT_AGG */
	struct prog_var *var;				/* set once the type is known */
	struct prog_agg *agg;
	const struct subr *subr;
	const struct builtin_var *builtin;		/* built-in variables */
	/*
	 * Set for an IDENT_VAR to which a translated value was assigned: the variable holds the
	 * translator's input, of type `type`, and each use of its name means the translation of
	 * that input into xlate_type. TYPE_NONE: an ordinary variable.
	 */
	type_id xlate_type;
	int64_t ival;
	type_id enum_type;  /* IDENT_ENUMERATOR: of which enumeration it is; TYPE_NONE: of none */
	struct { struct expr *e; const char **params; type_id *param_types; uint32_t nparams;
		 bool has_params; } inl;
	struct { struct stmt **body; uint32_t nbody;
		 bool is_expanding; /* its statements are being checked at a place of use */
	} block;
	struct span span;   /* where it was defined */
};
/* clang-format on */
