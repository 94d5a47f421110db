/* SPDX-License-Identifier: MIT */
/* Syntax errors: reports them and skips to where parsing can go on. */
#include "d/parse/parse_impl.h"

#define NEAR_MAX 40u /* bytes of a token shown */

void parser_fail(struct parser *p)
{
	p->failed = p->clause_failed = true;
	p->bad = p->tok;
	p->tok.kind = TOK_ERROR;
}

void parser_error(struct parser *p, enum dtag tag, struct span at, const char *fmt, ...)
{
	va_list ap;

	if (p->failed)
		return;
	va_start(ap, fmt);
	diag_error(p->in->diags, tag, at, "%s", arena_vprintf(p->arena, fmt, ap));
	va_end(ap);
	parser_fail(p);
}

void parser_hint(struct parser *p, const char *hint)
{
	diag_hint(p->in->diags, "%s", hint);
}

void parser_go_on(struct parser *p)
{
	p->tok = p->bad;
	p->failed = false;
}

static bool is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static const char *space_begin(const char *text, const char *at)
{
	while (at > text && (at[-1] == ' ' || at[-1] == '\t' || at[-1] == '\n'))
		at--;
	return at;
}

/* A hint at a word of other languages at `at`, or before it: D takes it for a name. */
static const char *word_hint(const char *text, const char *at, const char *end)
{
	static const struct {
		const char *word;
		bool is_before; /* the word stands before the token that is refused */
		const char *hint;
	} words[] = {
		/* clang-format off */
		{"and",    false, "'&&' means and"},
		{"or",     false, "'||' means or"},
		{"eq",     false, "'==' compares, also texts"},
		{"is",     false, "'==' compares, also texts"},
		{"ne",     false, "'!=' compares, also texts"},
		{"not",    true,  "'!' means not"},
		{"then",   true,  "no 'then' follows the condition: if (condition) statement"},
		{"elif",   true,  "write: else if (condition) statement"},
		{"elsif",  true,  "write: else if (condition) statement"},
		{"elseif", true,  "write: else if (condition) statement"},
		{"unless", true,  "write: if (!(condition)) statement"},
		{"var",    true,  "an assignment makes a variable: this->name = value"},
		{"let",    true,  "an assignment makes a variable: this->name = value"},
		{"local",  true,  "an assignment makes a variable: this->name = value"},
		/* clang-format on */
	};
	const char *to = space_begin(text, at), *from;

	if (to > text && to[-1] == ')') { /* elif (...) */
		while (to > text && *to != '(')
			to--;
		to = space_begin(text, to);
	}
	for (from = to; from > text && is_word_char(from[-1]);)
		from--;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t len = strlen(words[i].word);
		const char *p = words[i].is_before ? from : at;
		const char *stop = words[i].is_before ? to : end;

		if ((size_t)(stop - p) >= len && strncmp(p, words[i].word, len) == 0 &&
		    (p + len == stop || !is_word_char(p[len])))
			return words[i].hint;
	}
	return NULL;
}

/* A hint what D has in place of something that C has. */
static const char *token_hint(const struct parser *p)
{
	static const struct {
		enum tok kind;
		const char *hint;
	} hints[] = {
		/* clang-format off */
		{TOK_KW_FOR,      "D has no loops: a probe must end"},
		{TOK_KW_WHILE,    "D has no loops: a probe must end"},
		{TOK_KW_DO,       "D has no loops: a probe must end"},
		{TOK_KW_SWITCH,   "D has no 'switch': use if and else, or one clause for each case"},
		{TOK_KW_RETURN,   "D has no functions to return from: use a predicate or if"},
		{TOK_KW_GOTO,     "D has no 'goto': use a predicate or if"},
		{TOK_KW_BREAK,    "D has no loops and no 'switch'"},
		{TOK_KW_CONTINUE, "D has no loops and no 'switch'"},
		{TOK_KW_ELSE,     "there is no 'if' for this 'else'"},
		/* clang-format on */
	};
	const char *at = lex_text(&p->lx, p->tok.span);
	const char *word = word_hint(p->in->src->text, at, p->lx.end);

	for (size_t i = 0; i < ARRAY_LEN(hints); i++)
		if (hints[i].kind == p->tok.kind)
			return hints[i].hint;
	if (word)
		return word;
	if ((p->tok.kind == TOK_DIV || p->tok.kind == TOK_EPRED) &&
	    ((p->lx.end - at > 1 && at[1] == '/') || (at > p->in->src->text && at[-1] == '/')))
		return "D has no // comments, only /* ... */";
	return NULL;
}

void parser_syntax(struct parser *p, const char *hint, ...)
{
	const struct token *t = &p->tok;
	const char *special = token_hint(p);
	va_list ap;

	if (p->failed)
		return;
	if (t->kind == TOK_EOF) {
		diag_error(p->in->diags, D_SYNTAX, t->span, "syntax error near end of input");
	} else {
		diag_error(p->in->diags, D_SYNTAX, t->span, "syntax error near \"%.*s\"",
			   (int)MIN(t->span.len, NEAR_MAX), lex_text(&p->lx, t->span));
	}
	if (special) {
		parser_hint(p, special);
	} else if (hint) {
		va_start(ap, hint);
		parser_hint(p, arena_vprintf(p->arena, hint, ap));
		va_end(ap);
	}
	parser_fail(p);
}

void parser_unclosed(struct parser *p, enum tok closing)
{
	parser_error(p, D_SYNTAX, p->tok.span, "closing %s expected in predicate before /",
		     tok_text(closing));
	parser_hint(p, "the '/' ends the predicate: close what is open before it");
}

/* ---- recovery -------------------------------------------------------------------------------- */

bool parser_at_clause_head(const struct parser *p)
{
	return p->tok.kind == TOK_IDENT &&
	       lex_is_clause_head(&p->lx, lex_text(&p->lx, p->tok.span));
}

/* Begins to skip at the token of the error; lexical errors in the skipped text are not reported. */
static void sync_begin(struct parser *p)
{
	p->lx.quiet = true;
	p->lx.in_pred = false;
	p->failed = false;
	p->tok = p->bad;
	if (p->tok.kind == TOK_ERROR)
		p->tok = lex_next(&p->lx);
}

static void sync_next(struct parser *p)
{
	p->tok = lex_next(&p->lx);
}

/* Makes the token after the current one current. */
static void sync_end_behind(struct parser *p, bool outer)
{
	p->lx.quiet = false;
	p->lx.outer = outer;
	p->tok.span.len = MAX(p->tok.span.len, 1u);
	parser_advance(p);
}

/* Skips the head of a for statement: the ';' in it do not end the statement. */
static void skip_for_head(struct parser *p)
{
	uint32_t parens = 0;

	sync_next(p);
	while (p->tok.kind != TOK_EOF && p->tok.kind != TOK_LBRACE && p->tok.kind != TOK_RBRACE) {
		parens += p->tok.kind == TOK_LPAREN;
		if (parens == 0 || (p->tok.kind == TOK_RPAREN && --parens == 0))
			return;
		sync_next(p);
	}
}

/* Skips to the end of a statement; true when the current token is its last token. */
static bool skip_stmt(struct parser *p)
{
	/* do { } while (x); ends at the ';' */
	bool is_do = p->tok.kind == TOK_KW_DO;
	uint32_t braces = 0;

	if (p->tok.kind == TOK_KW_FOR)
		skip_for_head(p);
	for (;; sync_next(p)) {
		if (p->tok.kind == TOK_EOF || parser_at_clause_head(p))
			return false;
		if (p->tok.kind == TOK_LBRACE)
			braces++;
		if (p->tok.kind == TOK_RBRACE && braces == 0)
			return false;
		if ((p->tok.kind == TOK_SEMI && braces == 0) ||
		    (p->tok.kind == TOK_RBRACE && --braces == 0 && !is_do))
			return true;
	}
}

void parser_sync_stmt(struct parser *p)
{
	sync_begin(p);
	/* An 'else' belongs to the 'if' with the error. */
	while (skip_stmt(p)) {
		sync_end_behind(p, false);
		if (p->failed || p->tok.kind != TOK_KW_ELSE)
			return;
		p->lx.quiet = true;
	}
	p->lx.quiet = false;
}

void parser_sync_pred(struct parser *p)
{
	sync_begin(p);
	/* The closing '/' may be in the skipped text, so the '{' behind it is searched. */
	while (p->tok.kind != TOK_EOF && p->tok.kind != TOK_LBRACE && p->tok.kind != TOK_RBRACE &&
	       p->tok.kind != TOK_SEMI && !parser_at_clause_head(p))
		sync_next(p);
	p->lx.quiet = false;
}

void parser_reread_outer(struct parser *p)
{
	p->lx.quiet = false;
	p->lx.outer = true;
	lex_rewind(&p->lx, &p->tok);
	p->tok = lex_next(&p->lx);
}

void parser_sync_outer(struct parser *p)
{
	uint32_t braces = 0;

	p->lx.outer = false;
	sync_begin(p);
	/* The token of the error was perhaps not lexed as outside clauses: 'int x\nBEGIN'. */
	if (p->tok.kind == TOK_WORD) {
		lex_rewind(&p->lx, &p->tok);
		sync_next(p);
	}
	for (;; sync_next(p)) {
		if (p->tok.kind == TOK_EOF || parser_at_clause_head(p)) {
			parser_reread_outer(p);
			return;
		}
		if (p->tok.kind == TOK_LBRACE)
			braces++;
		if ((p->tok.kind == TOK_SEMI && braces == 0) ||
		    (p->tok.kind == TOK_RBRACE && (braces == 0 || --braces == 0))) {
			sync_end_behind(p, true);
			return;
		}
	}
}
