/* SPDX-License-Identifier: MIT */
/* Parses expressions by precedence climbing (d-language.md 2.2). */
#include "d/parse/foreign.h"
#include "d/parse/parse_impl.h"

static struct expr *parse_unary(struct parser *p);

/* ---- nodes ----------------------------------------------------------------------------------- */

static struct expr *expr_new(struct parser *p, enum expr_kind kind, struct span span)
{
	struct expr *e = ARENA_NEW(p->arena, struct expr);

	e->kind = kind;
	e->span = span;
	e->height = 1;
	return e;
}

static struct expr *expr_bad(struct parser *p)
{
	return expr_new(p, EXPR_BAD, p->failed ? p->bad.span : p->tok.span);
}

/* Is called for every child, so that the height of the tree stays limited. */
static void expr_grow(struct parser *p, struct expr *e, const struct expr *child)
{
	if (child->height < e->height)
		return;
	if (child->height >= EXPR_HEIGHT_MAX) {
		parser_error(p, D_SYNTAX, e->span, "expression has more than %u levels",
			     EXPR_HEIGHT_MAX);
		return;
	}
	e->height = (uint16_t)(child->height + 1);
}

/* The span from the beginning of l to the last consumed token. */
static struct span span_since(const struct parser *p, const struct expr *l)
{
	return parser_span_from(p, l->span.off);
}

static struct expr *expr_unary(struct parser *p, enum expr_kind kind, enum expr_op op,
			       uint32_t start, struct expr *operand)
{
	struct expr *e = expr_new(p, kind, parser_span_from(p, start));

	e->unary.op = op;
	e->unary.e = operand;
	expr_grow(p, e, operand);
	return e;
}

static struct expr *expr_binary(struct parser *p, enum expr_kind kind, enum expr_op op,
				struct expr *l, struct expr *r)
{
	struct expr *e = expr_new(p, kind, span_since(p, l));

	e->binary.op = op;
	e->binary.l = l;
	e->binary.r = r;
	expr_grow(p, e, l);
	expr_grow(p, e, r);
	return e;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* assignment-expr {"," assignment-expr}, then `close`; e, to which the list belongs, grows */
static struct expr **parse_list(struct parser *p, enum tok close, struct expr *e, uint32_t *ret_n)
{
	enum tok outer = parser_open(p, close);
	LIST(struct expr *) list = {0};

	do {
		struct expr *item = parse_assign(p);

		expr_grow(p, e, item);
		list_push(p->arena, &list, item);
	} while (parser_accept(p, TOK_COMMA));
	parser_expect(p, close);
	p->closing = outer;
	*ret_n = list.len;
	return list.data;
}

/* ---- primary --------------------------------------------------------------------------------- */

static struct expr *parse_int(struct parser *p)
{
	const struct token *t = &p->tok;
	struct expr *e = expr_new(p, t->is_bad ? EXPR_BAD : EXPR_INT, t->span);

	if (!t->is_bad) {
		e->ival.val = t->ival;
		e->ival.lit_type = t->lit_type;
		e->ival.is_char = t->is_char;
		e->ival.is_macro = t->is_macro;
		e->ival.lacks_target = t->lacks_target;
	}
	parser_advance(p);
	return e;
}

static struct expr *parse_str(struct parser *p)
{
	struct expr *e = expr_new(p, EXPR_STR, p->tok.span);

	e->str.p = p->tok.text;
	e->str.len = p->tok.len;
	e->str.lacks_target = p->tok.lacks_target;
	parser_advance(p);
	if (p->tok.kind == TOK_STR)
		parser_syntax(p, "adjacent strings are not joined");
	return e;
}

static struct expr *parse_ident(struct parser *p)
{
	struct expr *e;

	/* A name with a scope is a symbol in an expression; another name may be a type (1.3). */
	if (!strchr(p->tok.text, '`') && !assignment_follows(p) &&
	    name_is_known_type(p, p->tok.text, p->tok.len)) {
		parser_syntax(p, "'%s' is a type", p->tok.text);
		return expr_bad(p);
	}
	e = expr_new(p, EXPR_IDENT, p->tok.span);
	e->ident.name = p->tok.text;
	if (!strchr(e->ident.name, '`'))
		parser_add_ident(p, e->ident.name);
	parser_advance(p);
	return e;
}

/* "self" "->" word, "this" "->" word */
static struct expr *parse_scoped(struct parser *p, enum ident_scope scope)
{
	struct expr *e = expr_new(p, EXPR_IDENT, p->tok.span);

	parser_advance(p);
	parser_expect(p, TOK_ARROW);
	e->ident.scope = scope;
	e->ident.name = parser_name(p, true);
	e->span = span_since(p, e);
	return e;
}

/* "@name" [ "[" keys "]" ] */
static struct expr *parse_agg(struct parser *p)
{
	struct expr *e = expr_new(p, EXPR_AGG, p->tok.span);

	e->agg.name = p->tok.text;
	parser_advance(p);
	if (!parser_accept(p, TOK_LBRACKET))
		return e;
	e->agg.has_keys = true;
	e->agg.keys = parse_list(p, TOK_RBRACKET, e, &e->agg.nkeys);
	e->span = span_since(p, e);
	return e;
}

/* "offsetof" "(" type "," word ")" */
static struct expr *parse_offsetof(struct parser *p)
{
	struct expr *e = expr_new(p, EXPR_OFFSETOF, p->tok.span);

	parser_advance(p);
	parser_expect(p, TOK_LPAREN);
	e->of.of = parse_type_name(p);
	parser_expect(p, TOK_COMMA);
	e->of.member_span = p->tok.span;
	e->of.member = parser_name(p, true);
	if (p->tok.kind == TOK_DOT || p->tok.kind == TOK_LBRACKET)
		parser_syntax(p, "offsetof takes one member name");
	parser_expect(p, TOK_RPAREN);
	e->span = span_since(p, e);
	return e;
}

/* "xlate" "<" type ">" "(" expression ")" */
static struct expr *parse_xlate(struct parser *p)
{
	struct expr *e = expr_new(p, EXPR_XLATE, p->tok.span);

	parser_advance(p);
	parser_expect(p, TOK_LT);
	e->xlate.to = parse_type_name(p);
	parser_expect(p, TOK_GT);
	parser_expect(p, TOK_LPAREN);
	e->xlate.e = parse_comma(p);
	parser_expect(p, TOK_RPAREN);
	expr_grow(p, e, e->xlate.e);
	e->span = span_since(p, e);
	return e;
}

/* Reports a token that stands where an operand must be. */
static void primary_error(struct parser *p)
{
	if (p->tok.kind == TOK_EPRED && p->closing != TOK_EOF)
		parser_unclosed(p, p->closing);
	else if (p->tok.kind == TOK_EOF || p->tok.kind == TOK_SEMI || p->tok.kind == TOK_RBRACE ||
		 p->tok.kind == TOK_RPAREN || p->tok.kind == TOK_RBRACKET ||
		 p->tok.kind == TOK_COMMA || p->tok.kind == TOK_EPRED)
		parser_syntax(p, "an operand is missing before this");
	else if (parser_at_type(p))
		parser_syntax(
			p, "variables are declared outside clauses; 'this->name = ...' makes one "
			   "of this clause");
	else
		parser_syntax(p, "an expression is expected here");
}

static struct expr *parse_primary(struct parser *p)
{
	/* Most kinds of tokens cannot begin an operand, so default is right. */
	switch ((int)p->tok.kind) {
	case TOK_INT: return parse_int(p);
	case TOK_STR: return parse_str(p);
	case TOK_IDENT: return parse_ident(p);
	case TOK_AGG: return parse_agg(p);
	case TOK_KW_SELF: return parse_scoped(p, SCOPE_SELF);
	case TOK_KW_THIS: return parse_scoped(p, SCOPE_THIS);
	case TOK_KW_OFFSETOF: return parse_offsetof(p);
	case TOK_KW_XLATE: return parse_xlate(p);
	default: break;
	}
	primary_error(p);
	return expr_bad(p);
}

/* ---- postfix --------------------------------------------------------------------------------- */

static struct expr *parse_call(struct parser *p, struct expr *fn)
{
	struct expr *e = expr_new(p, EXPR_CALL, fn->span);

	e->call.fn = fn;
	expr_grow(p, e, fn);
	parser_advance(p);
	if (!parser_accept(p, TOK_RPAREN))
		e->call.args = parse_list(p, TOK_RPAREN, e, &e->call.nargs);
	e->span = span_since(p, fn);
	return e;
}

static struct expr *parse_index(struct parser *p, struct expr *base)
{
	struct expr *e = expr_new(p, EXPR_INDEX, base->span);

	e->index.base = base;
	expr_grow(p, e, base);
	parser_advance(p);
	e->index.subs = parse_list(p, TOK_RBRACKET, e, &e->index.nsubs);
	e->span = span_since(p, base);
	return e;
}

static struct expr *parse_member(struct parser *p, struct expr *base)
{
	struct expr *e = expr_new(p, EXPR_MEMBER, base->span);

	e->member.base = base;
	e->member.arrow = p->tok.kind == TOK_ARROW;
	expr_grow(p, e, base);
	parser_advance(p);
	if (p->tok.kind != TOK_IDENT && !tok_is_keyword(p->tok.kind)) {
		bool is_text = p->tok.kind == TOK_STR && !p->failed;

		parser_error(p, D_OP_IDENT, p->tok.span,
			     "operator %s requires the name of a member",
			     e->member.arrow ? "->" : ".");
		if (is_text)
			parser_hint(p, "strjoin(text, text) joins texts");
	}
	e->member.name = parser_name(p, true);
	e->span = span_since(p, base);
	return e;
}

/* { "(" args ")" | "[" subs "]" | "." word | "->" word | "++" | "--" } */
static struct expr *parse_postfix(struct parser *p, struct expr *e)
{
	for (;;) {
		enum tok kind = p->tok.kind;
		enum expr_op op;

		if (kind == TOK_LPAREN) {
			e = parse_call(p, e);
		} else if (kind == TOK_LBRACKET) {
			e = parse_index(p, e);
		} else if (kind == TOK_DOT || kind == TOK_ARROW) {
			e = parse_member(p, e);
		} else if ((op = op_postfix(kind))) {
			parser_advance(p);
			e = expr_unary(p, EXPR_UNARY, op, e->span.off, e);
		} else {
			return e;
		}
	}
}

/* ---- unary, cast ----------------------------------------------------------------------------- */

/*
 * Behind '(': whether an unknown name can only be meant as a type, as in '(foo_t *)x' or
 * '(foo_t)1'. In '(foo)(1)' and '(foo)-1' it may be a value in parentheses.
 */
static bool at_unknown_cast(struct parser *p)
{
	const char *at = lex_peek(&p->lx);
	struct lexer after = p->lx;
	bool is_pointer = false;

	if (p->tok.kind != TOK_IDENT || p->tok.is_macro)
		return false;
	for (; at && *at == '*'; at = lex_peek(&after)) {
		is_pointer = true;
		after.p = at + 1;
	}
	if (!at || *at != ')')
		return false;
	after.p = at + 1;
	at = lex_peek(&after);
	return is_pointer || (at && (is_name_char(*at) || strchr("\"'@$", *at)) &&
			      !name_is_ident(p, p->tok.text, p->tok.len));
}

static void fail_unknown_cast(struct parser *p)
{
	const struct parse_env *env = p->in->env;
	const char *name = p->tok.text;
	const char *word = hashmap_finds(p->tags, name), *near = NULL;
	const char *foreign = foreign_hint(FOREIGN_TYPE, name);

	if (foreign)
		near = NULL;
	else if (word)
		near = arena_printf(p->arena, "%s %s", word, name);
	else if (env && env->near_type)
		near = env->near_type(env->ctx, name);
	parser_error(p, D_SYNTAX, p->tok.span, "unknown type \"%s\" in a cast", name);
	if (foreign)
		diag_hint(p->in->diags, "%s", foreign);
	else if (near)
		diag_hint(p->in->diags, "did you mean '%s'?", near);
	else
		parser_hint(p, "declare it before its use, or name its module: module`type");
	parser_add_typedef(p, name); /* so that its next use is not reported */
}

/* Behind '(': parses a cast, or an expression in parentheses with its suffixes. */
static struct expr *parse_parens(struct parser *p, uint32_t start)
{
	enum tok outer;
	struct expr *e;

	if (parser_at_cast(p)) {
		e = expr_new(p, EXPR_CAST, p->tok.span);
		e->cast.to = parse_type_name(p);
		parser_expect(p, TOK_RPAREN);
		e->cast.e = parse_unary(p);
		expr_grow(p, e, e->cast.e);
		e->span = parser_span_from(p, start);
		return e;
	}
	if (at_unknown_cast(p)) {
		fail_unknown_cast(p);
		return expr_bad(p);
	}
	outer = parser_open(p, TOK_RPAREN);
	e = parse_comma(p);
	parser_expect(p, TOK_RPAREN);
	p->closing = outer;
	e->parens = true;
	e->span = parser_span_from(p, start);
	return parse_postfix(p, e);
}

/* "sizeof" unary | "sizeof" "(" type ")" */
static struct expr *parse_sizeof(struct parser *p)
{
	uint32_t start = p->tok.span.off, paren;
	struct expr *e;

	parser_advance(p);
	paren = p->tok.span.off;
	if (!parser_accept(p, TOK_LPAREN))
		return expr_unary(p, EXPR_SIZEOF, OP_NONE, start, parse_unary(p));
	if (!parser_at_type(p)) {
		struct expr *operand = parse_parens(p, paren);

		return expr_unary(p, EXPR_SIZEOF, OP_NONE, start, operand);
	}
	e = expr_new(p, EXPR_SIZEOF_TYPE, p->tok.span);
	e->cast.to = parse_type_name(p);
	parser_expect(p, TOK_RPAREN);
	e->span = parser_span_from(p, start);
	return e;
}

static struct expr *parse_unary_inner(struct parser *p)
{
	enum tok kind = p->tok.kind;
	enum expr_op op = op_prefix(kind);
	uint32_t start = p->tok.span.off;
	struct expr *operand;

	if (kind == TOK_KW_SIZEOF)
		return parse_sizeof(p);
	if (op != OP_NONE || kind == TOK_KW_STRINGOF) {
		parser_advance(p);
		operand = parse_unary(p);
		return expr_unary(p, op == OP_NONE ? EXPR_STRINGOF : EXPR_UNARY, op, start,
				  operand);
	}
	if (parser_accept(p, TOK_LPAREN))
		return parse_parens(p, start);
	return parse_postfix(p, parse_primary(p));
}

static struct expr *parse_unary(struct parser *p)
{
	struct expr *e;

	if (!parser_enter(p))
		return expr_bad(p);
	e = parse_unary_inner(p);
	parser_leave(p);
	return e;
}

/* ---- binary, conditional, assignment, comma -------------------------------------------------- */

static struct expr *parse_binary(struct parser *p, uint32_t min_prec)
{
	struct expr *l = parse_unary(p);
	enum expr_op op;

	while ((op = op_binary(p->tok.kind)) && op_rows[op].prec >= min_prec) {
		struct expr *r;

		if (!parser_enter(p))
			return l;
		parser_advance(p);
		r = parse_binary(p, op_rows[op].prec + 1);
		parser_leave(p);
		l = expr_binary(p, EXPR_BINARY, op, l, r);
	}
	return l;
}

/* binary [ "?" expression ":" conditional ] */
struct expr *parse_cond(struct parser *p)
{
	struct expr *c = parse_binary(p, 1), *e;

	if (p->tok.kind != TOK_QUESTION || !parser_enter(p))
		return c;
	parser_advance(p);
	e = expr_new(p, EXPR_COND, c->span);
	e->cond.c = c;
	e->cond.t = parse_comma(p);
	parser_expect(p, TOK_COLON);
	e->cond.f = parse_cond(p);
	e->span = span_since(p, c);
	expr_grow(p, e, c);
	expr_grow(p, e, e->cond.t);
	expr_grow(p, e, e->cond.f);
	parser_leave(p);
	return e;
}

/*
 * By its grammar the left side of an assignment is a unary expression; whether it is an lvalue is
 * checked later.
 */
static bool is_unary_form(const struct expr *e)
{
	return e->parens ||
	       (e->kind != EXPR_BINARY && e->kind != EXPR_COND && e->kind != EXPR_CAST);
}

/* conditional | unary assign-op assignment */
struct expr *parse_assign(struct parser *p)
{
	struct expr *l = parse_cond(p), *r;
	enum expr_op op;

	if (!op_assigns(p->tok.kind, &op))
		return l;
	if (!is_unary_form(l)) {
		parser_syntax(p,
			      "the left side of an assignment is a variable, not a computed value");
		return l;
	}
	if (!parser_enter(p))
		return l;
	parser_advance(p);
	r = parse_assign(p);
	parser_leave(p);
	return expr_binary(p, EXPR_ASSIGN, op, l, r);
}

/* assignment {"," assignment} */
struct expr *parse_comma(struct parser *p)
{
	struct expr *l = parse_assign(p);

	while (parser_accept(p, TOK_COMMA)) {
		struct expr *r = parse_assign(p);

		l = expr_binary(p, EXPR_COMMA, OP_NONE, l, r);
	}
	return l;
}
