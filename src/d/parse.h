/*
 * Lexer and parser: D text to syntax tree. Knows the grammar, not the meaning.
 *
 * The type-name versus identifier decision (d-language.md 1.3) needs to know what is already
 * declared: struct parse_env answers for what earlier programs and the kernel declared; the parser
 * itself remembers typedefs and variables of the text it reads.
 *
 * Errors   into the diags; the parser recovers at ';', '}' and the next clause and reports several.
 */
#pragma once

#include "d/ast.h"
#include "d/diag.h"

struct parse_env {
	void *ctx;
	bool (*is_type)(void *ctx, const char *name, size_t len); /* a typedef name or mod`type */
	/*
	 * a typedef name of the kernel: asked only where a type may stand and nobody knows the
	 * name. May be NULL
	 */
	bool (*is_kernel_type)(void *ctx, const char *name, size_t len);
	/* global variable, function, inline */
	bool (*is_ident)(void *ctx, const char *name, size_t len);
	/* of a name that is no type: what may have been meant, or NULL. May be NULL */
	const char *(*near_type)(void *ctx, const char *name);
	/* '#pragma D option text': applies it at once; on failure reports and returns false */
	bool (*set_option)(void *ctx, struct span at, const char *name, const char *value);
	/* named macro variable without '$': "pid", "target", ...; false = undefined */
	bool (*macro)(void *ctx, const char *name, int64_t *ret_value);
};

/* The parser reads the flags when they matter: set_option may change them while it runs. */
struct parse_input {
	const struct source *src;
	struct source_map *map;
	struct diags *diags;
	struct arena *arena;
	const struct parse_env *env;
	enum spec_context context;
	int argc; /* script arguments: argv[0] is $0 */
	char **argv;
	bool defaultargs; /* undefined $n is 0, $$n is "" */
	bool argref;	  /* an unused last argument is fine */
	bool pspec;	  /* a word in OUTER is always a probe specifier (also true for strings) */
	bool allow_empty; /* option empty, or a library */
};

/* The tree, complete as far as it could be understood; look at diags_count() for errors. */
struct ast *parse_program(const struct parse_input *in);
/* One expression (whole text) or NULL after reporting. */
struct expr *parse_expr(const struct parse_input *in);
/* One type name such as "struct foo *" or NULL after reporting. */
struct type_name *parse_type(const struct parse_input *in);

/* Splits the text of a description right to left; false = more fields than the context has. */
bool pspec_split(struct arena *a, const char *text, enum spec_context ctx, struct pspec *ret);
