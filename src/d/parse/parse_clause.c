/* SPDX-License-Identifier: MIT */
/* Probe clauses: descriptions, predicate, statements (d-language.md 1.7, 2.1, 2.6). */
#include "d/parse/desc_hint.h"
#include "d/parse/parse_impl.h"

/* ---- descriptions ---------------------------------------------------------------------------- */

#define FIELDS_MAX 4u

/*
 * Assigns fields from right to left to those that the context allows: provider (1), module (2),
 * function (3), name (4). False when there are more.
 */
static bool fields_assign(const char *const *fields, uint32_t n, enum spec_context ctx,
			  struct pspec *ret)
{
	const char *full[FIELDS_MAX] = {"", "", "", ""};
	uint32_t room = (uint32_t)ctx + 1;

	if (n > room)
		return false;
	for (uint32_t i = 0; i < n; i++)
		full[room - n + i] = fields[i];
	ret->prov = full[0];
	ret->mod = full[1];
	ret->func = full[2];
	ret->name = full[3];
	return true;
}

/* Splits text at ':'; the result is FIELDS_MAX + 1 when there are more fields. */
static uint32_t fields_split(struct arena *a, const char *text, const char *fields[FIELDS_MAX])
{
	uint32_t n = 0;

	for (;; text++) {
		size_t len = strcspn(text, ":");

		if (n == FIELDS_MAX)
			return n + 1;
		fields[n++] = arena_strndup(a, text, len);
		text += len;
		if (!*text)
			return n;
	}
}

bool pspec_split(struct arena *a, const char *text, enum spec_context ctx, struct pspec *ret)
{
	const char *fields[FIELDS_MAX];
	uint32_t n = fields_split(a, text, fields);

	if (!fields_assign(fields, n, ctx, ret))
		return false;
	ret->text = arena_strdup(a, text);
	return true;
}

static const char *fields_join(struct arena *a, const char *const *fields, uint32_t n)
{
	const char *text = fields[0];

	for (uint32_t i = 1; i < n; i++)
		text = arena_printf(a, "%s:%s", text, fields[i]);
	return text;
}

/* Parses a description. After an error in one the parser goes on: the syntax is right. */
static void parse_spec_text(struct parser *p, const char *word, struct pspec *ret)
{
	static const char *const parts[] = {"provider", "module", "function", "name"};
	const char *fields[FIELDS_MAX], *hint;
	uint32_t n = fields_split(p->arena, word, fields);

	ret->text = word;
	ret->prov = ret->mod = ret->func = ret->name = "";
	if (n > FIELDS_MAX || !fields_assign(fields, n, p->in->context, ret)) {
		diag_error(p->in->diags, D_PDESC_INVAL, ret->span,
			   "invalid probe description \"%s\": Overspecified probe description",
			   word);
		hint = desc_colons_hint(p->arena, word, p->in->context == SPEC_CTX_NAME);
		if (hint)
			parser_hint(p, hint);
		p->clause_failed = true;
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		fields[i] = macro_expand_field(&p->lx, ret->span, fields[i],
					       parts[p->in->context + 1 - n + i]);
		if (!fields[i])
			return;
	}
	(void)fields_assign(fields, n, p->in->context, ret); /* their number was checked above */
	ret->text = fields_join(p->arena, fields, n);
}

static void parse_spec_id(struct parser *p, const char *word, struct pspec *ret)
{
	static const char *const contexts[] = {
		[SPEC_CTX_PROVIDER] = "providers",
		[SPEC_CTX_MODULE] = "modules",
		[SPEC_CTX_FUNCTION] = "functions",
		[SPEC_CTX_NAME] = "names",
	};
	struct int_literal lit;
	enum int_error err = int_literal_parse(word, strlen(word), &lit);

	ret->text = word;
	ret->prov = ret->mod = ret->func = ret->name = "";
	if (p->in->context != SPEC_CTX_NAME)
		diag_error(p->in->diags, D_PDESC_INVAL, ret->span,
			   "probe identifier %s not permitted when specifying %s", word,
			   contexts[p->in->context]);
	else if (err == INT_BAD_DIGIT)
		diag_error(p->in->diags, D_INT_DIGIT, ret->span,
			   "constant %s contains invalid digit %c", word, lit.bad_digit);
	else if (err == INT_OFLOW || lit.val > UINT32_MAX)
		diag_error(p->in->diags, D_PDESC_INVAL, ret->span,
			   "identifier %s exceeds maximum probe id", word);
	else if (lit.val == 0)
		diag_error(p->in->diags, D_PDESC_INVAL, ret->span,
			   "invalid probe identifier %s: Unknown probe identifier", word);
	else
		ret->id = (uint32_t)lit.val;
}

static bool word_is_int(const char *word)
{
	struct int_literal lit;

	if (!is_digit(*word))
		return false;
	(void)int_literal_parse(word, strlen(word),
				&lit); /* parse_spec_id() reports errors in it */
	return lit.len == strlen(word);
}

bool parse_description(struct parser *p, struct pspec *ret)
{
	*ret = (struct pspec){.span = p->tok.span};
	if (p->tok.kind != TOK_WORD) {
		parser_syntax(p, "a probe description is expected here");
		return false;
	}
	if (word_is_int(p->tok.text))
		parse_spec_id(p, p->tok.text, ret);
	else
		parse_spec_text(p, p->tok.text, ret);
	parser_advance(p);
	return true;
}

static void parse_specs_list(struct parser *p, struct decl *d)
{
	LIST(struct pspec) specs = {0};

	do {
		struct pspec spec;

		if (!parse_description(p, &spec))
			return;
		list_push(p->arena, &specs, spec);
	} while (parser_accept(p, TOK_COMMA));
	d->clause.specs = specs.data;
	d->clause.nspecs = specs.len;
}

/* ---- statements ------------------------------------------------------------------------------ */

typedef LIST(struct stmt *) stmt_list;

static struct stmt *parse_stmt(struct parser *p);

/* Parses statements up to the '}', which is not consumed. */
static void parse_stmts(struct parser *p, stmt_list *stmts)
{
	for (;;) {
		struct stmt *s;

		if (p->failed)
			parser_sync_stmt(p);
		else if (p->tok.kind == TOK_RBRACE || p->tok.kind == TOK_EOF ||
			 parser_at_clause_head(p))
			return;
		else if (!parser_accept(p, TOK_SEMI)) {
			s = parse_stmt(p);
			if (!p->failed)
				list_push(p->arena, stmts, s);
		}
	}
}

/* Reports a missing '}', unless an error before it may be the reason. */
static void block_unclosed(struct parser *p, uint32_t open_off)
{
	if (p->clause_failed)
		parser_fail(p);
	else
		parser_syntax(p, "the '{' of line %u has no '}'",
			      source_locate(p->in->map, open_off).line);
}

static void parse_block(struct parser *p, bool is_clause, stmt_list *stmts)
{
	uint32_t open_off = p->tok.span.off;

	parser_advance(p);
	parse_stmts(p, stmts);
	if (p->tok.kind != TOK_RBRACE) {
		block_unclosed(p, open_off);
		return;
	}
	p->lx.outer = is_clause;
	parser_advance(p);
}

struct stmt **parse_body(struct parser *p, uint32_t *ret_n)
{
	stmt_list body = {0};

	parse_block(p, true, &body);
	*ret_n = body.len;
	return body.data;
}

static void parse_if_body(struct parser *p, stmt_list *stmts)
{
	if (p->tok.kind == TOK_LBRACE) {
		parse_block(p, false, stmts);
	} else if (!parser_accept(p, TOK_SEMI)) {
		struct stmt *s = parse_stmt(p);

		list_push(p->arena, stmts, s);
	}
}

/* "if" "(" expression ")" body [ "else" body ] */
static void parse_if(struct parser *p, struct stmt *s)
{
	stmt_list body = {0}, other = {0};

	s->kind = STMT_IF;
	parser_advance(p);
	parser_expect(p, TOK_LPAREN);
	s->e = parse_comma(p);
	parser_expect(p, TOK_RPAREN);
	parse_if_body(p, &body);
	if (parser_accept(p, TOK_KW_ELSE))
		parse_if_body(p, &other);
	s->then_body = body.data;
	s->nthen = body.len;
	s->else_body = other.data;
	s->nelse = other.len;
}

/*
 * "while" "(" expression ";" expression ")" body, in ustack helpers: the second expression says how
 * often the body may run.
 */
static void parse_while(struct parser *p, struct stmt *s)
{
	stmt_list body = {0};

	s->kind = STMT_WHILE;
	parser_advance(p);
	parser_expect(p, TOK_LPAREN);
	s->e = parse_comma(p);
	parser_expect(p, TOK_SEMI);
	s->most = parse_comma(p);
	parser_expect(p, TOK_RPAREN);
	parse_if_body(p, &body);
	s->then_body = body.data;
	s->nthen = body.len;
}

/* expression ";" -- the last one before '}' needs no ';' */
static void parse_expr_stmt(struct parser *p, struct stmt *s)
{
	s->kind = STMT_EXPR;
	s->e = parse_comma(p);
	if (p->tok.kind == TOK_RBRACE || parser_accept(p, TOK_SEMI))
		return;
	if (p->tok.kind == TOK_EOF || parser_at_clause_head(p))
		return; /* parse_block() reports the missing '}' */
	parser_syntax(p, "an operator or ';' is missing before this");
}

static struct stmt *parse_stmt(struct parser *p)
{
	struct stmt *s = ARENA_NEW(p->arena, struct stmt);
	uint32_t start = p->tok.span.off;

	if (!parser_enter(p))
		return s;
	if (p->tok.kind == TOK_KW_IF)
		parse_if(p, s);
	else if (p->tok.kind == TOK_KW_WHILE && p->in->is_helper)
		parse_while(p, s);
	else
		parse_expr_stmt(p, s);
	parser_leave(p);
	s->span = parser_span_from(p, start);
	return s;
}

/* ---- clauses --------------------------------------------------------------------------------- */

/* "/" expression "/" -- the opening '/' is the current token */
static void parse_pred(struct parser *p, struct decl *d)
{
	p->lx.outer = false;
	p->lx.in_pred = true;
	parser_advance(p);
	d->clause.pred = parse_comma(p);
	p->lx.in_pred = false;
	/* Before an action list '{' is the same token inside and outside clauses. */
	if (p->tok.kind == TOK_EPRED)
		parser_advance(p);
	else
		parser_syntax(p, "an operator is missing, or the '/' that ends the predicate");
	if (p->failed)
		parser_sync_pred(p);
	if (p->tok.kind == TOK_LBRACE || p->failed)
		return;
	if (p->clause_failed)
		parser_fail(p);
	else
		parser_error(p, D_SYNTAX, p->tok.span,
			     "expected actions { } following probe description and predicate");
}

/*
 * 'foo_t x;' where foo_t is no known type looks like two descriptions; but no clause ends in ';'.
 */
static bool is_declaration(const struct parser *p, const struct decl *d)
{
	const char *word = d->clause.specs[0].text, *next = lex_peek(&p->lx);

	return d->clause.nspecs == 1 && p->tok.kind == TOK_WORD && is_letter(*word) &&
	       !strpbrk(word, ":-.*?[") && next && next < p->lx.end && *next == ';';
}

/*
 * 'pid123:a.out:f part:entry' is two descriptions, each a clause. If one of them matches nothing, a
 * hint suggests that they were meant as one (decl.clause.joined).
 */
static void blank_note(struct parser *p, struct decl *d)
{
	const struct pspec *last = &d->clause.specs[d->clause.nspecs - 1];
	const char *word = lex_text(&p->lx, p->tok.span);
	uint32_t gap = p->tok.span.off - p->prev_end;

	if (memchr(word - gap, '\n', gap))
		return;
	d->clause.joined = arena_printf(p->arena, "%.*s?%s", (int)last->span.len,
					lex_text(&p->lx, last->span), p->tok.text);
	p->behind_blank = true;
}

/* Refuses 'uprobe:/bin/bash:readline', in which the path would be read as a predicate. */
static bool path_refuse(struct parser *p, const struct decl *d)
{
	const struct pspec *last = &d->clause.specs[d->clause.nspecs - 1];
	const char *from = lex_text(&p->lx, last->span), *to = from;
	char *text;

	if (p->tok.kind != TOK_DIV || !desc_has_path(last->text))
		return false;
	while (to < p->lx.end && !is_blank(*to) && *to != '{')
		to++;
	text = arena_strndup(p->arena, from, (size_t)(to - from));
	parser_error(p, D_PDESC_INVAL, (struct span){last->span.off, (uint32_t)(to - from)},
		     "invalid probe description \"%s\": a path cannot be part of one", text);
	parser_hint(p, desc_foreign_hint(p->arena, text));
	return true;
}

/* Handles descriptions alone: with -n they have the default action, in a file they are an error. */
static void check_bare_specs(struct parser *p, struct decl *d)
{
	const char *word = d->clause.specs[d->clause.nspecs - 1].text;
	bool at_end = p->tok.kind == TOK_EOF || p->tok.kind == TOK_WORD;

	if (is_declaration(p, d)) {
		fail_old_style(p, d->clause.specs[0].span, word);
		return;
	}
	if (p->in->src->kind == SOURCE_STRING && at_end) {
		if (p->tok.kind == TOK_WORD)
			blank_note(p, d);
		return;
	}
	if (p->recovering || p->clause_failed) {
		parser_fail(p);
		return;
	}
	if (strchr(word, ':') && p->tok.span.off == p->prev_end && p->tok.kind != TOK_EOF &&
	    strchr("<>()~&=", *lex_text(&p->lx, p->tok.span))) {
		parser_syntax(
			p,
			"this character cannot stand in a description: '*' matches it, as in vector*push_back");
		return;
	}
	if (p->in->src->kind == SOURCE_STRING) {
		parser_syntax(p, "'/predicate/' or '{ actions }' is expected here");
		return;
	}
	parser_error(p, D_SYNTAX, p->tok.span,
		     "expected predicate and/or actions following probe description");
	if (p->bad.kind == TOK_WORD && strchr(word, ':'))
		diag_hint(
			p->in->diags,
			"a blank ends a description: if one is part of it, write '?' in its place");
	else if (p->bad.kind == TOK_WORD && d->clause.nspecs == 1)
		diag_hint(p->in->diags, "if '%s' was meant as a type: it is not known", word);
}

/* pspec {"," pspec} [ "/" expression "/" ] [ "{" statements "}" ] */
void parse_clause(struct parser *p, struct decl *d)
{
	bool has_pred;

	d->kind = DECL_CLAUSE;
	d->clause.is_rest = p->behind_blank;
	p->behind_blank = false;
	parse_specs_list(p, d);
	if (p->failed || path_refuse(p, d))
		return;
	has_pred = p->tok.kind == TOK_DIV;
	if (has_pred)
		parse_pred(p, d);
	if (p->failed)
		return;
	if (p->tok.kind != TOK_LBRACE) {
		if (!has_pred)
			check_bare_specs(p, d);
		return;
	}
	d->clause.has_body = true;
	p->lx.outer = false;
	d->clause.body = parse_body(p, &d->clause.nbody);
}
