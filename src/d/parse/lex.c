/* SPDX-License-Identifier: MIT */
/* The scanner: blanks, comments, names and operators. */
#include "d/parse/lex.h"

#include <limits.h>

static const char *const tok_texts[] = {
#define D_PUNCT(name, text) [TOK_##name] = text,
#include "d/parse/tokens.def"
#undef D_PUNCT
#define D_KEYWORD(name, text, opens) [TOK_KW_##name] = text,
#include "d/parse/tokens.def"
#undef D_KEYWORD
	[TOK_EPRED] = "/",
};

static const bool opens_decl[] = {
#define D_KEYWORD(name, text, opens) [TOK_KW_##name] = opens,
#include "d/parse/tokens.def"
#undef D_KEYWORD
};

#define KEYWORD_FIRST TOK_KW_AUTO
#define KEYWORD_LAST  TOK_KW_XLATE

const char *tok_text(enum tok kind)
{
	return (size_t)kind < ARRAY_LEN(tok_texts) && tok_texts[kind] ? tok_texts[kind] : "";
}

bool tok_is_keyword(enum tok kind)
{
	return kind >= KEYWORD_FIRST && kind <= KEYWORD_LAST;
}

bool keyword_opens_decl(enum tok kind)
{
	return (size_t)kind < ARRAY_LEN(opens_decl) && opens_decl[kind];
}

enum tok keyword_find(const char *name, size_t len)
{
	int lo = KEYWORD_FIRST, hi = KEYWORD_LAST;

	while (lo <= hi) {
		int mid = lo + (hi - lo) / 2;
		int cmp = strncmp(name, tok_texts[mid], len);

		if (cmp == 0 && tok_texts[mid][len] == '\0')
			return (enum tok)mid;
		if (cmp > 0)
			lo = mid + 1;
		else
			hi = mid - 1;
	}
	return TOK_IDENT;
}

void lex_init(struct lexer *lx, const struct parse_input *in)
{
	*lx = (struct lexer){
		.in = in,
		.p = in->src->text,
		.end = in->src->text + in->src->len,
		.end_off = in->src->base + in->src->len,
		.outer = true,
		.bol = true,
	};
}

struct span lex_span(const struct lexer *lx, const char *from, const char *to)
{
	return (struct span){lx->end_off - (uint32_t)(lx->end - from), (uint32_t)(to - from)};
}

const char *lex_text(const struct lexer *lx, struct span at)
{
	return lx->in->src->text + (at.off - lx->in->src->base);
}

void lex_error(struct lexer *lx, enum dtag tag, struct span at, const char *fmt, ...)
{
	va_list ap;

	if (lx->quiet)
		return;
	va_start(ap, fmt);
	diag_error(lx->in->diags, tag, at, "%s", arena_vprintf(lx->in->arena, fmt, ap));
	va_end(ap);
}

void lex_rewind(struct lexer *lx, const struct token *t)
{
	lx->p = lex_text(lx, t->span);
	lx->has_pending = false;
	lx->bol = false;
}

/* ---- blanks, comments ------------------------------------------------------------------------ */

/* The number of bytes of the line splice at p, which is at a backslash; 0: it is none. */
static size_t splice_len(const char *p, const char *end)
{
	if (end - p >= 2 && p[1] == '\n')
		return 2;
	return end - p >= 3 && p[1] == '\r' && p[2] == '\n' ? 3 : 0;
}

static bool at_comment(const char *p, const char *end)
{
	return end - p >= 2 && p[0] == '/' && p[1] == '*';
}

/* The end of the comment whose text begins at p, behind its closing; NULL when it has none. */
static const char *comment_end(const char *p, const char *end)
{
	p = memmem(p, (size_t)(end - p), "*/", 2);
	return p ? p + 2 : NULL;
}

static void comment_skip(struct lexer *lx)
{
	const char *body = lx->p + 2;
	const char *close = comment_end(body, lx->end);
	const char *inner = memmem(body, (size_t)((close ? close : lx->end) - body), "/*", 2);

	if (inner) {
		lex_error(lx, D_SYNTAX, lex_span(lx, inner, inner + 2),
			  "/* encountered inside a comment");
		if (!lx->quiet)
			diag_hint(lx->in->diags, "the comment began in line %u",
				  source_locate(lx->in->map, lex_span(lx, lx->p, lx->p).off).line);
	} else if (!close) {
		lex_error(lx, D_SYNTAX, lex_span(lx, lx->p, body),
			  "end-of-file encountered before matching */");
	}
	lx->p = close ? close : lx->end;
}

static void blanks_skip(struct lexer *lx)
{
	while (lx->p < lx->end) {
		char c = *lx->p;

		if (c == '\n') {
			lx->bol = true;
			lx->p++;
		} else if (is_blank(c)) {
			lx->p++;
		} else if (c == '\\' && splice_len(lx->p, lx->end)) {
			lx->p += splice_len(lx->p, lx->end);
			lx->bol = false;
		} else if (at_comment(lx->p, lx->end)) {
			comment_skip(lx);
			lx->bol = false;
		} else if (c == '#' && lx->bol) {
			control_line(lx);
			lx->bol = true;
		} else {
			break;
		}
	}
	lx->bol = false;
}

const char *lex_peek(const struct lexer *lx)
{
	const char *p = lx->p;
	bool bol = false;

	while (p < lx->end) {
		if (is_blank(*p)) {
			bol |= *p++ == '\n';
		} else if (*p == '\\' && splice_len(p, lx->end)) {
			p += splice_len(p, lx->end);
			bol = false;
		} else if (at_comment(p, lx->end)) {
			p = comment_end(p + 2, lx->end);
			bol = false;
			if (!p)
				return NULL;
		} else if (*p == '#' && bol) {
			p = memchr(p, '\n', (size_t)(lx->end - p));
			if (!p)
				return NULL;
		} else {
			return p;
		}
	}
	return NULL;
}

/* ---- words and names ------------------------------------------------------------------------- */

static bool is_word_start(char c)
{
	return is_letter(c) || (c && strchr("-$:.?*\\[]!", c));
}

/*
 * Whether the blank at p is part of a C++ name, "operator new" or "operator delete", in the
 * description that begins at word.
 */
static bool is_operator_blank(const char *word, const char *p, const char *end)
{
	static const char before[] = ":operator";
	static const char *const after[] = {" new", " delete"};
	size_t len = sizeof(before) - 1;

	if ((size_t)(p - word) < len || memcmp(p - len, before, len) != 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(after); i++) {
		size_t n = strlen(after[i]);

		if ((size_t)(end - p) > n && memcmp(p, after[i], n) == 0 && is_word_start(p[n]) &&
		    !is_letter(p[n]))
			return true;
	}
	return false;
}

const char *lex_word_end(const char *p, const char *end)
{
	const char *word = p;

	/* A digit may begin the name of a module (8021q) and the number of a probe. */
	if (p < end && !is_word_start(*p) && !is_digit(*p) && *p != '`')
		return p;
	/* A plus sign is part of names of files, as libstdc++.so.6. */
	while (p < end && (is_word_start(*p) || is_digit(*p) || *p == '`' || *p == '+' ||
			   is_operator_blank(word, p, end))) {
		if (*p == '\\') {
			if (p + 1 == end || (unsigned char)p[1] <= ' ')
				break; /* the backslash quotes nothing; it may be a line splice */
			p++;
		}
		p++;
	}
	return p;
}

/*
 * The end of a name with dots before its last backquote, such as if_foo.ko`sym; else p. The search
 * is limited to the length of a file name, which a module's name is: otherwise a.b.c.d... would be
 * searched to its end again for each of its names.
 */
static const char *dotted_name_end(const char *p, const char *end)
{
	const char *limit = end - p > NAME_MAX ? p + NAME_MAX : end, *q = p;

	while (q < limit && (is_letter(*q) || is_digit(*q) || *q == '.'))
		q++;
	if (q == limit || *q != '`')
		return p;
	while (q < end && is_name_char(*q))
		q++;
	return q;
}

static const char *name_end(const char *p, const char *end)
{
	while (p < end && is_name_char(*p))
		p++;
	return p < end && *p == '.' ? dotted_name_end(p, end) : p;
}

static struct token token_make(struct lexer *lx, enum tok kind, const char *from, const char *to)
{
	lx->p = to;
	return (struct token){.kind = kind, .span = lex_span(lx, from, to)};
}

static struct token token_name(struct lexer *lx, enum tok kind, const char *from, const char *name,
			       const char *to)
{
	struct token t = token_make(lx, kind, from, to);

	t.len = (uint32_t)(to - name);
	t.text = arena_strndup(lx->in->arena, name, t.len);
	return t;
}

static struct token lex_name(struct lexer *lx)
{
	const char *to = name_end(lx->p, lx->end);
	enum tok kind = keyword_find(lx->p, (size_t)(to - lx->p));
	struct token t;

	if (kind == TOK_IDENT)
		return token_name(lx, kind, lx->p, lx->p, to);
	t = token_make(lx, kind, lx->p, to);
	t.text = tok_texts[kind];
	t.len = t.span.len;
	return t;
}

static struct token lex_agg(struct lexer *lx)
{
	const char *name = lx->p + 1, *to = name;
	struct token t;

	if (to < lx->end && is_letter(*to))
		while (to < lx->end && (is_letter(*to) || is_digit(*to)))
			to++;
	t = token_name(lx, TOK_AGG, lx->p, name, to);
	if (to == name) {
		t.text = "_";
		t.len = 1;
	}
	return t;
}

/* Lexes a number, or the name of a kernel module that begins with a digit: 8021q`vlan_init. */
static struct token lex_digits(struct lexer *lx)
{
	const char *to = lx->p;

	while (to < lx->end && is_name_char(*to))
		to++;
	if (memchr(lx->p, '`', (size_t)(to - lx->p)))
		return token_name(lx, TOK_IDENT, lx->p, lx->p, to);
	return lex_number(lx);
}

/* ---- operators ------------------------------------------------------------------------------- */

bool lex_is_clause_head(const struct lexer *lx, const char *word)
{
	static const char *const probes[] = {"BEGIN", "END", "ERROR"};
	const char *end, *next;
	struct lexer after;
	bool is_probe;

	if (!is_name_start(*word) || (word > lx->in->src->text && word[-1] != '\n'))
		return false;
	end = lex_word_end(word, lx->end);
	is_probe = memchr(word, ':', (size_t)(end - word));
	for (size_t i = 0; i < ARRAY_LEN(probes); i++)
		is_probe |= strlen(probes[i]) == (size_t)(end - word) &&
			    memcmp(word, probes[i], (size_t)(end - word)) == 0;
	if (!is_probe)
		return false;
	after = *lx;
	after.p = end;
	next = lex_peek(&after);
	return next && strchr("{/,", *next);
}

/* The first token behind the ')' that matches the '(' at p; NULL when the text ends before it. */
static const char *behind_parens(const struct lexer *lx, const char *p)
{
	struct lexer after = *lx;
	uint32_t depth = 0;

	for (; p < lx->end; p++) {
		const char quote = *p;

		if (quote == '"' || quote == '\'')
			for (p++; p < lx->end && *p != quote; p++)
				p += *p == '\\' && p + 1 < lx->end;
		depth += quote == '(';
		if (quote == ')' && --depth == 0) {
			after.p = p + 1;
			return lex_peek(&after);
		}
	}
	return NULL;
}

/*
 * Whether the guard of a source ends before `next`: arguments, another source or the end follow it.
 * A '(' may also begin a divisor; then more of the guard follows the ')'.
 */
static bool guard_ends(const struct lexer *lx, const char *next)
{
	if (*next == '(')
		next = behind_parens(lx, next);
	return next && (*next == ',' || *next == ';' ||
			(*next == '|' && next + 1 < lx->end && next[1] == '|'));
}

/*
 * Whether the '/' at lx->p ends the predicate (d-language.md 1.6). Comments are skipped, and the
 * head of the next clause does not count as a divisor.
 */
static bool pred_ends(struct lexer *lx)
{
	const char *slash = lx->p, *next;

	lx->p = slash + 1;
	next = lex_peek(lx);
	lx->p = slash;
	if (lx->in_source)
		return !next || guard_ends(lx, next);
	return !next || *next == ';' || *next == '{' || *next == '/' ||
	       lex_is_clause_head(lx, next);
}

static struct token lex_punct(struct lexer *lx)
{
	const char *from = lx->p;
	size_t left = (size_t)(lx->end - from);

	if (*from == '/' && lx->in_pred && !(left > 1 && from[1] == '=') && pred_ends(lx))
		return token_make(lx, TOK_EPRED, from, from + 1);
	for (int k = TOK_SHL_EQ; k <= TOK_BITNOT; k++) {
		size_t len;

		if (*from != tok_texts[k][0])
			continue;
		len = strlen(tok_texts[k]);
		if (len <= left && !memcmp(from, tok_texts[k], len))
			return token_make(lx, (enum tok)k, from, from + len);
	}
	return token_make(lx, TOK_ERROR, from, from + 1);
}

/* Reports a byte that begins no token. */
static struct token lex_stray(struct lexer *lx, struct token t)
{
	const char *c = lex_text(lx, t.span);
	unsigned char byte = (unsigned char)*c;

	while (lx->p < lx->end && ((unsigned char)*lx->p & 0xc0) == 0x80)
		lx->p++;
	t.span = lex_span(lx, c, lx->p);
	if (byte > 0x20 && byte != 0x7f && (byte < 0x80 || t.span.len > 1))
		lex_error(lx, D_SYNTAX, t.span, "syntax error near \"%.*s\"", (int)t.span.len, c);
	else
		lex_error(lx, D_SYNTAX, t.span, "syntax error near \"\\%03o\"", byte);
	return t;
}

struct token lex_next(struct lexer *lx)
{
	struct token t;
	const char *to;
	char c;

	if (lx->has_pending) {
		lx->has_pending = false;
		return lx->pending;
	}
	blanks_skip(lx);
	if (lx->p == lx->end || lx->fatal)
		return token_make(lx, TOK_EOF, lx->end, lx->end);
	c = *lx->p;
	if (lx->outer) {
		to = lex_word_end(lx->p, lx->end);
		if (to > lx->p)
			return token_name(lx, TOK_WORD, lx->p, lx->p, to);
	}
	if (is_name_start(c))
		return lex_name(lx);
	if (is_digit(c))
		return lex_digits(lx);
	switch (c) {
	case '"': return lex_string(lx);
	case '\'': return lex_char(lx);
	case '@': return lex_agg(lx);
	case '$': return lex_macro(lx);
	default: break;
	}
	t = lex_punct(lx);
	return t.kind == TOK_ERROR ? lex_stray(lx, t) : t;
}
