/* SPDX-License-Identifier: MIT */
/*
 * Lexer: D text to tokens, one at a time, as the parser asks.
 *
 * The meaning of a byte depends on where the parser is (d-language.md 1.1), so the parser sets
 * `outer` and `in_pred` before it asks for the next token, and reads at most one token ahead. The
 * lexer consumes comments and control lines and replaces macro variables: the parser sees none.
 *
 * Owns     nothing; names and strings of tokens live in the arena of the compile.
 * Errors   are reported where they are found. A token that cannot be completed is TOK_ERROR.
 */
#pragma once

#include "d/text/list.h"
#include "d/parse/parse.h"

enum tok {
	TOK_EOF,
	TOK_ERROR, /* has been reported */
	TOK_INT,
	TOK_STR,
	TOK_IDENT,
	TOK_AGG,   /* '@name' */
	TOK_WORD,  /* outside clauses: a probe description, a keyword or a type name */
	TOK_EPRED, /* the '/' that ends a predicate */
#define D_PUNCT(name, text) TOK_##name,
#include "d/parse/tokens.def"
#undef D_PUNCT
#define D_KEYWORD(name, text, opens) TOK_KW_##name,
#include "d/parse/tokens.def"
#undef D_KEYWORD
};

struct token {
	enum tok kind;
	struct span span;
	const char *text; /* IDENT, AGG, keywords, WORD: the name; STR: the bytes; NUL-terminated */
	uint32_t len;
	uint64_t ival;	  /* INT */
	type_id lit_type; /* INT */
	bool is_char, is_macro;
	bool is_bad;	   /* INT: an error in the literal has been reported */
	bool lacks_target; /* INT, STR: $target or $$target, and there is no such process */
};

struct lexer {
	const struct parse_input *in;
	const char *p, *end; /* the rest of the text */
	uint32_t end_off;    /* global offset of end */
	bool outer;	     /* the next token stands outside clauses and declarations */
	bool in_pred;	     /* a '/' may end the predicate */
	bool in_source;	     /* that predicate is the guard of a declared probe's source */
	bool bol;	     /* only blanks since the beginning of the line */
	bool quiet;	     /* the parser skips text after an error: report nothing */
	bool fatal;	     /* '#error' was read: the text ends here */
	bool last_arg_used;
	bool needs_cpp;			/* a line for the C preprocessor was skipped as a comment */
	bool arg_missed, target_missed; /* reported: $n was not given; $target, there is none */
	uint32_t include_depth;
	struct token pending; /* the number behind a minus sign, both from one $n */
	bool has_pending;
	LIST(struct decl *) pragmas; /* for the checker */
};

void lex_init(struct lexer *lx, const struct parse_input *in);
struct token lex_next(struct lexer *lx);
/* Goes back to the start of t and reads on from there. */
void lex_rewind(struct lexer *lx, const struct token *t);
/* The bytes of a span of this text. */
const char *lex_text(const struct lexer *lx, struct span at);
/* The next byte that is neither blank, comment nor control line, still unread; NULL at the end. */
const char *lex_peek(const struct lexer *lx);
/*
 * Whether word looks like the head of a clause at the beginning of a line. After an error the
 * parser goes on there.
 */
bool lex_is_clause_head(const struct lexer *lx, const char *word);
const char *tok_text(enum tok kind); /* of an operator or keyword: "->", "int" */
bool tok_is_keyword(enum tok kind);
/* TOK_IDENT when the name is no keyword. */
enum tok keyword_find(const char *name, size_t len);
bool keyword_opens_decl(enum tok kind);
/* The end of the word of a description that begins at p; p itself when none begins there. */
const char *lex_word_end(const char *p, const char *end);

/* ---- literals (lex_literal.c) ---------------------------------------------------------------- */

enum int_error { INT_OK, INT_OFLOW, INT_NO_TYPE, INT_BAD_DIGIT };

struct int_literal {
	uint64_t val;
	type_id type;
	size_t len; /* bytes used, suffix included */
	char bad_digit;
};

/* Parses the literal at s, which begins with a digit. */
enum int_error int_literal_parse(const char *s, size_t len, struct int_literal *ret);
/* The type of a decimal literal without suffix; TYPE_NONE when it is too large for every type. */
type_id int_decimal_type(uint64_t val);
/* Replaces escapes; the result is NUL-terminated and may hold NULs. */
char *unescape(struct arena *a, const char *s, size_t len, size_t *ret_len);
struct token lex_number(struct lexer *lx);
struct token lex_string(struct lexer *lx);
struct token lex_char(struct lexer *lx);

/* ---- macro variables (macro.c) --------------------------------------------------------------- */

struct token lex_macro(struct lexer *lx);
/* Reports that $target ($$target: is_text) is used, and there is no such process. */
void macro_report_target(const struct parse_input *in, struct span at, bool is_text);
/* Replaces $name and $n in one field of a description; NULL after reporting at `at`. */
const char *macro_expand_field(struct lexer *lx, struct span at, const char *field,
			       const char *part);

/* ---- control lines (control.c) --------------------------------------------------------------- */

/* Obeys the control line at lx->p, its '#', and moves lx->p to the beginning of the next line. */
void control_line(struct lexer *lx);

/* ---- shared by these files ------------------------------------------------------------------- */

struct span lex_span(const struct lexer *lx, const char *from, const char *to);
PRINTF_LIKE(4, 5)
void lex_error(struct lexer *lx, enum dtag tag, struct span at, const char *fmt, ...);

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static inline bool is_name_start(char c)
{
	return is_letter(c) || c == '`';
}

static inline bool is_name_char(char c)
{
	return is_letter(c) || is_digit(c) || c == '`';
}

static inline bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}
