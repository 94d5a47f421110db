/* SPDX-License-Identifier: MIT */
/*
 * The parser: makes a syntax tree of D text. It knows the grammar and no meanings.
 *
 * Whether a word is a type or an identifier depends on declarations (d-language.md 1.3). The parser
 * remembers the typedefs and variables of the text that it reads; struct parse_env answers for
 * earlier programs and for the kernel.
 *
 * Errors   go to the diags. The parser goes on behind ';' or '}' or at the next clause, so that one
 *          run reports several errors.
 */
#pragma once

#include "d/parse/ast.h"
#include "d/text/diag.h"

struct harm; /* d/parse/harm.h */

struct parse_env {
	void *ctx;
	/* Whether name is a typedef name or mod`type. */
	bool (*is_type)(void *ctx, const char *name, size_t len);
	/*
	 * Whether name is a typedef of the kernel. Called only where a type may stand, for a name
	 * that nothing else defines. May be NULL.
	 */
	bool (*is_kernel_type)(void *ctx, const char *name, size_t len);
	/* Whether name is a global variable, a function or an inline. */
	bool (*is_ident)(void *ctx, const char *name, size_t len);
	/* A type with a name like this one, for a hint, or NULL. May itself be NULL. */
	const char *(*near_type)(void *ctx, const char *name);
	/* Applies '#pragma D option name=value' at once; false after reporting. */
	bool (*set_option)(void *ctx, struct span at, const char *name, const char *value);
	/* '#pragma D helper FACT' and '... FACT "VALUE"', then value is not NULL. May be NULL. */
	void (*helper)(void *ctx, const char *fact, const char *value);
	/* Obeys '#pragma D harmful'. May be NULL. */
	void (*harmful)(void *ctx, const struct harm *row);
	/* The value of a macro variable, named without '$': "pid", "target"; false: undefined. */
	bool (*macro)(void *ctx, const char *name, int64_t *ret_value);
};

/* set_option() may change the flags while the parser runs: it reads them when it needs them. */
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
	bool pspec;	  /* outside clauses, each word is a description (true for strings) */
	/* '#' and a word that is no directive: a comment, as in libvirt's provider definitions */
	bool has_hash_comments;
	bool is_helper;	  /* the text is a ustack helper: it may have loops, blocks and tables */
	bool allow_empty; /* option empty, or a library */
};

/*
 * The tree of what could be understood; never NULL. diags_count() tells whether there were errors.
 */
struct ast *parse_program(const struct parse_input *in);
/* Parses a text that is one expression; NULL after reporting. */
struct expr *parse_expr(const struct parse_input *in);
/* Parses a text that is one type name such as "struct foo *"; NULL after reporting. */
struct type_name *parse_type(const struct parse_input *in);

/* Tells env.helper what the text says of itself, of which nothing else is read. No text is bad. */
void parse_helper_facts(struct arena *a, const char *text, size_t len, const struct parse_env *env);

/* Splits a description into its fields; false when it has more of them than the context allows. */
bool pspec_split(struct arena *a, const char *text, enum spec_context ctx, struct pspec *ret);
