/* SPDX-License-Identifier: MIT */
/*
 * The parser's own state, shared by the files that parse.
 *
 * Recursive descent with one token of look-ahead. After an error the current token becomes
 * TOK_ERROR, which no production accepts, so every production returns without another message until
 * a caller that knows where to go on (behind the statement, the clause, the declaration) calls
 * parser_sync_*(). So one mistake is one message.
 *
 * A production always returns a node; after an error the content of the node has no meaning.
 */
#pragma once

#include "base/hashmap.h"
#include "d/parse/op.h"

/* Depth of nested productions; each takes two or three C frames of up to 300 bytes. */
#define PARSE_DEPTH_MAX 2000u
/* Height of an expression tree: later passes recurse over it. */
#define EXPR_HEIGHT_MAX 2000u
#define DERIVS_MAX	64u /* derivations ('*', '[]', '()') of one declarator */

struct parser {
	const struct parse_input *in;
	struct arena *arena;
	struct lexer lx;
	struct token tok;   /* not yet consumed */
	uint32_t prev_end;  /* global offset behind the last consumed token */
	bool failed;	    /* an error has been reported; tok is TOK_ERROR until the next sync */
	bool clause_failed; /* an error has been reported in this external declaration */
	struct token bad;   /* the token at which the last error was reported */
	bool behind_blank;  /* decl.clause.joined was set: the current token is the second word */
	bool recovering;    /* each external declaration since the last error had an error, too */
	uint32_t depth;	    /* of nested productions */
	/* the token that closes the innermost '(' or '[' of an expression; TOK_EOF: none is open */
	enum tok closing;
	struct hashmap *idents;	  /* names that this text has used as identifiers */
	struct hashmap *typedefs; /* names that this text has declared as types */
	struct hashmap *tags;	  /* tags that this text gave a body -> "struct", "union", "enum" */
};

/* ---- tokens (parse.c) ------------------------------------------------------------------------ */
void parser_advance(struct parser *p);
bool parser_accept(struct parser *p, enum tok kind);
/* Consumes a token of that kind or reports a syntax error. */
bool parser_expect(struct parser *p, enum tok kind);
/* Sets p->closing behind the '(' or '[' of an expression; returns what it was before. */
enum tok parser_open(struct parser *p, enum tok closing);
/*
 * Consumes the last token of an external declaration; the next token is lexed as outside clauses.
 */
bool parser_expect_last(struct parser *p, enum tok kind);
/* Consumes an identifier, with any_word also a keyword; NULL after reporting. */
const char *parser_name(struct parser *p, bool any_word);
struct span parser_span_from(const struct parser *p, uint32_t off);
/*
 * False after reporting that the text is nested too deeply; else the caller calls parser_leave().
 */
bool parser_enter(struct parser *p);
void parser_leave(struct parser *p);
/* Notes a name that the text uses as an identifier or declares as a type (p->idents, typedefs). */
void parser_add_ident(struct parser *p, const char *name);
void parser_add_typedef(struct parser *p, const char *name);

/* ---- errors and recovery (parse_error.c) ----------------------------------------------------- */
/* 'syntax error near "token"', with an optional hint. */
PRINTF_LIKE(2, 3) void parser_syntax(struct parser *p, const char *hint, ...);
PRINTF_LIKE(4, 5)
void parser_error(struct parser *p, enum dtag tag, struct span at, const char *fmt, ...);
/* Reports that a '(' or '[' is still open at the '/' that ends the predicate. */
void parser_unclosed(struct parser *p, enum tok closing);
/* Fails without a message, because the error that caused this one was reported before. */
void parser_fail(struct parser *p);
void parser_hint(struct parser *p, const char *hint);
/* Goes on at the token of the error as if there were none: that token is understood after all. */
void parser_go_on(struct parser *p);
/* Skips to behind the end of the statement, or to the '}' or clause head that ends it. */
void parser_sync_stmt(struct parser *p);
/* Skips to the '{' that follows a predicate, or to a token that cannot be in a predicate. */
void parser_sync_pred(struct parser *p);
/* Skips to behind the external declaration, or to the head of the next clause. */
void parser_sync_outer(struct parser *p);
/* Reads the current token again, as a token outside clauses. */
void parser_reread_outer(struct parser *p);
/* Whether the current token looks like the head of a clause at the beginning of a line. */
bool parser_at_clause_head(const struct parser *p);

/* ---- types and declarations (parse_decl.c) --------------------------------------------------- */
/* Whether name is a type of D, of the text or of the kernel. */
bool name_is_type(struct parser *p, const char *name, size_t len);
/* The same without types of the kernel: for texts in which a type would be a mistake. */
bool name_is_known_type(struct parser *p, const char *name, size_t len);
/* Whether name means a value; then it is no type, even if the kernel has a type of that name. */
bool name_is_ident(struct parser *p, const char *name, size_t len);
/* Whether an assignment operator follows the current token, a name: the name is a variable. */
bool assignment_follows(const struct parser *p);
/* Whether the current token begins a type (d-language.md 1.3). */
bool parser_at_type(struct parser *p);
/* Behind the '(' of an expression: whether a type name, and so a cast, begins there. */
bool parser_at_cast(struct parser *p);
/* storage: storage classes are allowed, as they are not in members and type names. */
struct decl_specs *parse_specs(struct parser *p, bool storage);
enum declarator_form { DECLARATOR_NAMED, DECLARATOR_ABSTRACT, DECLARATOR_EITHER };
struct type_name *parse_declarator(struct parser *p, struct decl_specs *specs,
				   enum declarator_form form);
struct type_name *parse_type_name(struct parser *p);
/* Parses the list behind '(' and consumes `close`, the token that ends the list. */
struct type_name **parse_params(struct parser *p, enum tok close, uint32_t *ret_n,
				bool *ret_varargs);
void parse_vars(struct parser *p, struct decl *d);
/* Reports two names where a type and a name are expected. */
void fail_old_style(struct parser *p, struct span at, const char *name);

/* ---- expressions (parse_expr.c) -------------------------------------------------------------- */
struct expr *parse_comma(struct parser *p);
struct expr *parse_assign(struct parser *p);
struct expr *parse_cond(struct parser *p);

/* ---- external declarations (parse_clause.c, parse_extern.c) ---------------------------------- */
void parse_clause(struct parser *p, struct decl *d);
/* Parses the statements of an external declaration, from '{' to '}'. */
struct stmt **parse_body(struct parser *p, uint32_t *ret_n);
/* Parses the current token, lexed as outside clauses, as a description; false after reporting. */
bool parse_description(struct parser *p, struct pspec *ret);
void parse_inline(struct parser *p, struct decl *d);
void parse_translator(struct parser *p, struct decl *d);
void parse_provider(struct parser *p, struct decl *d);
void parse_table(struct parser *p, struct decl *d);
