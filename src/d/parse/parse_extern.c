/* SPDX-License-Identifier: MIT */
/* Parses inlines, translators and providers (d-language.md 2.8, 2.9, 10.1). */
#include "d/parse/parse_impl.h"

static void names_expect(struct parser *p, struct type_name *const *params, uint32_t n,
			 const char *of)
{
	for (uint32_t i = 0; !p->failed && i < n; i++)
		if (!params[i]->name)
			parser_error(p, D_SYNTAX, params[i]->span,
				     "parameter %u of %s needs a name", i + 1, of);
}

/* "(" params ")" "{" statements "}" -- the current token is the '{' */
static void parse_block_decl(struct parser *p, struct type_name *t, struct decl *d)
{
	const struct deriv *params = &t->derivs[0];

	d->kind = DECL_BLOCK;
	d->block.name = t->name;
	d->block.name_span = t->name_span;
	d->block.params = params->params;
	d->block.nparams = params->nparams;
	names_expect(p, params->params, params->nparams, "a block");
	if (t->nderivs != 1 || t->specs->flags != SPEC_VOID || params->varargs) {
		parser_error(p, D_SYNTAX, t->span, "a block of statements has no value");
		diag_hint(p->in->diags, "write inline void %s( ) { ... }", t->name);
	}
	if (!p->failed)
		d->block.body = parse_body(p, &d->block.nbody);
}

/*
 * "inline" decl-specs declarator "=" assignment-expr ";" -- parameters: name[T1 a, T2 b]
 * In ustack helpers also: "inline" "void" IDENT "(" params ")" "{" statements "}"
 */
void parse_inline(struct parser *p, struct decl *d)
{
	struct decl_specs *specs;
	struct type_name *t;

	d->kind = DECL_INLINE;
	parser_advance(p);
	specs = parse_specs(p, true);
	t = parse_declarator(p, specs, DECLARATOR_NAMED);
	if (p->in->is_helper && p->tok.kind == TOK_LBRACE && t->name && t->nderivs &&
	    t->derivs[t->nderivs - 1].kind == DERIV_FUNC) {
		parse_block_decl(p, t, d);
		return;
	}
	d->inl.type = t;
	if (t->nderivs && t->derivs[t->nderivs - 1].kind == DERIV_ASSOC) {
		const struct deriv *last = &t->derivs[--t->nderivs];

		d->inl.has_params = true;
		d->inl.params = last->params;
		d->inl.nparams = last->nparams;
	}
	names_expect(p, d->inl.params, d->inl.nparams, "an inline");
	parser_expect(p, TOK_ASSIGN);
	d->inl.e = parse_assign(p);
	if (t->name)
		parser_add_ident(p, t->name);
	parser_expect_last(p, TOK_SEMI);
}

/* IDENT "=" assignment-expr ";" */
static struct xlate_member parse_xlate_member(struct parser *p)
{
	struct xlate_member m = {.span = p->tok.span};

	m.name = parser_name(p, true);
	parser_expect(p, TOK_ASSIGN);
	m.e = parse_assign(p);
	m.span = parser_span_from(p, m.span.off);
	parser_expect(p, TOK_SEMI);
	return m;
}

/* "translator" type-name "<" type-name IDENT ">" "{" { member } "}" ";" */
void parse_translator(struct parser *p, struct decl *d)
{
	LIST(struct xlate_member) members = {0};
	struct decl_specs *specs;

	d->kind = DECL_TRANSLATOR;
	parser_advance(p);
	d->xlator.out = parse_type_name(p);
	parser_expect(p, TOK_LT);
	specs = parse_specs(p, true);
	d->xlator.in = parse_declarator(p, specs, DECLARATOR_NAMED);
	d->xlator.in->span = parser_span_from(p, specs->span.off);
	d->xlator.param = d->xlator.in->name;
	parser_expect(p, TOK_GT);
	parser_expect(p, TOK_LBRACE);
	while (!p->failed && p->tok.kind != TOK_RBRACE) {
		struct xlate_member m = parse_xlate_member(p);

		list_push(p->arena, &members, m);
	}
	d->xlator.members = members.data;
	d->xlator.nmembers = members.len;
	parser_expect(p, TOK_RBRACE);
	parser_expect_last(p, TOK_SEMI);
}

/* "/" expression "/" -- the opening '/' is the current token */
static struct expr *parse_guard(struct parser *p)
{
	struct expr *e;

	p->lx.in_pred = p->lx.in_source = true;
	parser_advance(p);
	e = parse_comma(p);
	p->lx.in_pred = p->lx.in_source = false;
	if (p->tok.kind == TOK_EPRED)
		parser_advance(p);
	else
		parser_syntax(p, "an operator is missing, or the '/' that ends the guard");
	return e;
}

static void parse_source_args(struct parser *p, struct source_decl *src)
{
	LIST(struct expr *) args = {0};

	src->has_args = true;
	parser_advance(p);
	if (p->tok.kind != TOK_RPAREN)
		do
			list_push(p->arena, &args, parse_assign(p));
		while (!p->failed && parser_accept(p, TOK_COMMA));
	src->args = args.data;
	src->nargs = args.len;
	parser_expect(p, TOK_RPAREN);
}

/* The string that ends a list of sources; it begins an alternative of its own. */
static struct source_decl parse_reason(struct parser *p, bool is_alternative)
{
	struct source_decl src = {.is_other = true, .span = p->tok.span, .reason = p->tok.text};

	p->lx.outer = false;
	parser_advance(p);
	if (!is_alternative)
		parser_syntax(p, "a reason stands behind '=' or '||'");
	else if (p->tok.kind == TOK_COMMA || p->tok.kind == TOK_LOR)
		parser_syntax(p, "no source can follow a reason");
	return src;
}

/* ("=" | "," | "||") (pspec [ "/" expression "/" ] [ "(" [expressions] ")" ] | STRING) */
static struct source_decl parse_source(struct parser *p)
{
	struct source_decl src = {.is_other = p->tok.kind == TOK_LOR};
	bool is_alternative = p->tok.kind != TOK_COMMA;
	uint32_t start;

	p->lx.outer = true;
	parser_advance(p);
	if (p->tok.kind == TOK_STR)
		return parse_reason(p, is_alternative);
	start = p->tok.span.off;
	(void)parse_description(p, &src.spec); /* p->failed tells whether it failed */
	p->lx.outer = false;
	if (!p->failed && p->tok.kind == TOK_DIV)
		src.guard = parse_guard(p);
	if (!p->failed && p->tok.kind == TOK_LPAREN)
		parse_source_args(p, &src);
	src.span = parser_span_from(p, start);
	return src;
}

/* "=" source { ("," | "||") source } */
static void parse_sources(struct parser *p, struct probe_decl *probe)
{
	LIST(struct source_decl) sources = {0};

	do {
		struct source_decl src = parse_source(p);

		list_push(p->arena, &sources, src);
	} while (!p->failed && (p->tok.kind == TOK_COMMA || p->tok.kind == TOK_LOR));
	probe->sources = sources.data;
	probe->nsources = sources.len;
}

/* "probe" IDENT "(" [params] ")" [ ":" "(" [params] ")" ] [ "=" sources ] ";" */
static struct probe_decl parse_probe(struct parser *p)
{
	struct probe_decl probe = {0};
	bool varargs = false;

	parser_expect(p, TOK_KW_PROBE);
	probe.span = p->tok.span;
	probe.name = parser_name(p, true);
	if (p->tok.kind == TOK_SUB)
		parser_syntax(p, "in the declaration of a probe '__' stands for '-'");
	parser_expect(p, TOK_LPAREN);
	probe.args = parse_params(p, TOK_RPAREN, &probe.nargs, &probe.varargs);
	if (parser_accept(p, TOK_COLON)) {
		probe.has_xargs = true;
		parser_expect(p, TOK_LPAREN);
		probe.xargs = parse_params(p, TOK_RPAREN, &probe.nxargs, &varargs);
		probe.varargs |= varargs;
	}
	probe.span = parser_span_from(p, probe.span.off);
	if (!p->failed && p->tok.kind == TOK_ASSIGN)
		parse_sources(p, &probe);
	parser_expect(p, TOK_SEMI);
	return probe;
}

/* "provider" IDENT "{" { probe } "}" ";" */
void parse_provider(struct parser *p, struct decl *d)
{
	LIST(struct probe_decl) probes = {0};

	d->kind = DECL_PROVIDER;
	parser_advance(p);
	d->provider.name_span = p->tok.span;
	d->provider.name = parser_name(p, false);
	parser_expect(p, TOK_LBRACE);
	while (!p->failed && p->tok.kind != TOK_RBRACE) {
		struct probe_decl probe = parse_probe(p);

		list_push(p->arena, &probes, probe);
	}
	d->provider.probes = probes.data;
	d->provider.nprobes = probes.len;
	parser_expect(p, TOK_RBRACE);
	parser_expect_last(p, TOK_SEMI);
}
