/*
 * The parser's own state, shared by the files that parse.
 *
 * Recursive descent with one token of look-ahead. After an error the current token becomes
 * TOK_ERROR, which fits nowhere: every production ends quietly until a caller that knows a safe
 * place (the end of a statement, a clause, a declaration) calls parser_sync_*(). So one mistake is
 * one message.
 *
 * Productions return a node in any case; after an error its content does not matter.
 */
#pragma once

#include "base/hashmap.h"
#include "d/op.h"

/* Calls of productions inside each other; each is two or three C frames of up to 300 bytes. */
#define PARSE_DEPTH_MAX 2000u
/* Height of an expression tree: later passes recurse over it. */
#define EXPR_HEIGHT_MAX 2000u
#define DERIVS_MAX	64u

struct parser {
	const struct parse_input *in;
	struct arena *arena;
	struct lexer lx;
	struct token tok;   /* not yet consumed */
	uint32_t prev_end;  /* global offset behind the last consumed token */
	bool failed;	    /* an error has been reported; tok is TOK_ERROR until the next sync */
	bool clause_failed; /* ... in this external declaration */
	struct token bad;   /* the token of the error */
	bool behind_blank;  /* a description and a blank stand before the current token */
	bool recovering;    /* no external declaration since the last error was understood */
	uint32_t depth;
	/* what closes the innermost '(' or '[' of an expression; TOK_EOF: none is open */
	enum tok closing;
	struct hashmap *idents;	  /* names used as identifiers in this text */
	struct hashmap *typedefs; /* names declared as types in this text */
	struct hashmap *tags;	  /* tags with a body in this text -> "struct", "union", "enum" */
};

/* ---- tokens (parse.c) ------------------------------------------------------------------------ */
void parser_advance(struct parser *p);
bool parser_accept(struct parser *p, enum tok kind);
/* Consumes a token of that kind or reports a syntax error. */
bool parser_expect(struct parser *p, enum tok kind);
/* Behind the '(' or '[' of an expression; returns what was to be closed before that. */
enum tok parser_open(struct parser *p, enum tok closing);
/* Consumes the last token of an external declaration: what follows is read as OUTER. */
bool parser_expect_last(struct parser *p, enum tok kind);
/* An identifier or, with any_word, a keyword as well; NULL after reporting. */
const char *parser_name(struct parser *p, bool any_word);
struct span parser_span_from(const struct parser *p, uint32_t off);
/* False after reporting that the text is nested too deeply; else the caller must call leave. */
bool parser_enter(struct parser *p);
void parser_leave(struct parser *p);
/* Makes the words of the text the parser decides by. */
void parser_add_ident(struct parser *p, const char *name);
void parser_add_typedef(struct parser *p, const char *name);

/* ---- errors and recovery (parse_error.c) ----------------------------------------------------- */
/* 'syntax error near "token"', with an optional hint. */
PRINTF_LIKE(2, 3) void parser_syntax(struct parser *p, const char *hint, ...);
PRINTF_LIKE(4, 5)
void parser_error(struct parser *p, enum dtag tag, struct span at, const char *fmt, ...);
/* Reports that a '(' or '[' is still open at the '/' that ends the predicate. */
void parser_unclosed(struct parser *p, enum tok closing);
/* Fails without a message: what went wrong before has been reported. */
void parser_fail(struct parser *p);
void parser_hint(struct parser *p, const char *hint);
/* The token of the error is understood after all: goes on from there, as if nothing had failed. */
void parser_go_on(struct parser *p);
/* Behind the end of the statement, or at the '}' or clause head that ends it. */
void parser_sync_stmt(struct parser *p);
/* At the '{' that follows a predicate, or at something that cannot be in one. */
void parser_sync_pred(struct parser *p);
/* Behind the external declaration, or at the head of the next clause. */
void parser_sync_outer(struct parser *p);
/* Goes back to the current token and reads it as OUTER does. */
void parser_reread_outer(struct parser *p);
/* Does the current token look like the head of a clause at the beginning of a line? */
bool parser_at_clause_head(const struct parser *p);

/* ---- types and declarations (parse_decl.c) --------------------------------------------------- */
bool name_is_type(struct parser *p, const char *name, size_t len);
/* The same without asking for types of the kernel: where a type would be a mistake. */
bool name_is_known_type(struct parser *p, const char *name, size_t len);
/* A word that means a value: it is no type whatever the kernel calls so. */
bool name_is_ident(struct parser *p, const char *name, size_t len);
/* Is the current token, a name, about to be created by an assignment? */
bool assignment_follows(const struct parser *p);
/* Does the current token begin a type (d-language.md 1.3)? */
bool parser_at_type(struct parser *p);
/* Behind '(' of an expression: a type name, or may only be a value? */
bool parser_at_cast(struct parser *p);
/* storage: storage classes may be among them; not so in members and type names. */
struct decl_specs *parse_specs(struct parser *p, bool storage);
enum declarator_form { DECLARATOR_NAMED, DECLARATOR_ABSTRACT, DECLARATOR_EITHER };
struct type_name *parse_declarator(struct parser *p, struct decl_specs *specs,
				   enum declarator_form form);
struct type_name *parse_type_name(struct parser *p);
/* Behind '('; consumes the ')'. */
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
/* A probe description, which is the current token, read as OUTER; false after reporting. */
bool parse_description(struct parser *p, struct pspec *ret);
void parse_inline(struct parser *p, struct decl *d);
void parse_translator(struct parser *p, struct decl *d);
void parse_provider(struct parser *p, struct decl *d);
