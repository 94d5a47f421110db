/* SPDX-License-Identifier: MIT */
/* Parses types as written: specifiers, bodies, declarators (d-language.md 1.3, 2.1, 2.7). */
#include "d/parse/parse_impl.h"

/* ---- whether a name is a type ---------------------------------------------------------------- */

/* The keyword behind the last backquote of mod`struct; TOK_IDENT when it is none. */
static enum tok scoped_keyword(const char *name, size_t len)
{
	const char *tick = memrchr(name, '`', len);
	enum tok kind;

	if (!tick)
		return TOK_IDENT;
	kind = keyword_find(tick + 1, (size_t)(name + len - tick - 1));
	return kind == TOK_KW_STRUCT || kind == TOK_KW_UNION || kind == TOK_KW_ENUM ? kind
										    : TOK_IDENT;
}

struct spec_keyword {
	enum tok kind;
	uint32_t flag;
};

static const struct spec_keyword base_types[] = {
	{TOK_KW_VOID, SPEC_VOID},   {TOK_KW_CHAR, SPEC_CHAR},	  {TOK_KW_INT, SPEC_INT},
	{TOK_KW_FLOAT, SPEC_FLOAT}, {TOK_KW_DOUBLE, SPEC_DOUBLE}, {TOK_KW_STRING, SPEC_STRING},
};

static const struct spec_keyword modifiers[] = {
	{TOK_KW_SHORT, SPEC_SHORT},
	{TOK_KW_LONG, SPEC_LONG},
	{TOK_KW_SIGNED, SPEC_SIGNED},
	{TOK_KW_UNSIGNED, SPEC_UNSIGNED},
};

static const struct spec_keyword qualifiers[] = {
	{TOK_KW_CONST, SPEC_CONST},
	{TOK_KW_VOLATILE, SPEC_VOLATILE},
	{TOK_KW_RESTRICT, SPEC_RESTRICT},
	{TOK_KW_USERLAND, SPEC_USERLAND},
};

static const struct {
	enum tok kind;
	enum storage_class sc;
} storage_classes[] = {
	{TOK_KW_AUTO, SC_AUTO},	    {TOK_KW_REGISTER, SC_REGISTER}, {TOK_KW_STATIC, SC_STATIC},
	{TOK_KW_EXTERN, SC_EXTERN}, {TOK_KW_TYPEDEF, SC_TYPEDEF},   {TOK_KW_SELF, SC_SELF},
	{TOK_KW_THIS, SC_THIS},
};

#define ALL_BASE_TYPES (SPEC_VOID | SPEC_CHAR | SPEC_INT | SPEC_FLOAT | SPEC_DOUBLE | SPEC_STRING)
#define ALL_MODIFIERS  (SPEC_SHORT | SPEC_LONG | SPEC_LONGLONG | SPEC_SIGNED | SPEC_UNSIGNED)

static uint32_t spec_flag(enum tok kind, const struct spec_keyword *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].kind == kind)
			return rows[i].flag;
	return 0;
}

static enum storage_class storage_class(enum tok kind)
{
	for (size_t i = 0; i < ARRAY_LEN(storage_classes); i++)
		if (storage_classes[i].kind == kind)
			return storage_classes[i].sc;
	return SC_NONE;
}

static bool is_tag_keyword(enum tok kind)
{
	return kind == TOK_KW_STRUCT || kind == TOK_KW_UNION || kind == TOK_KW_ENUM;
}

static bool is_type_keyword(enum tok kind)
{
	return spec_flag(kind, base_types, ARRAY_LEN(base_types)) ||
	       spec_flag(kind, modifiers, ARRAY_LEN(modifiers)) ||
	       spec_flag(kind, qualifiers, ARRAY_LEN(qualifiers)) || is_tag_keyword(kind);
}

bool name_is_ident(struct parser *p, const char *name, size_t len)
{
	const struct parse_env *env = p->in->env;

	if (hashmap_find(p->idents, name, len))
		return true;
	return !hashmap_find(p->typedefs, name, len) && env && env->is_ident &&
	       env->is_ident(env->ctx, name, len);
}

bool name_is_known_type(struct parser *p, const char *name, size_t len)
{
	const struct parse_env *env = p->in->env;

	if (!len)
		return false;
	if (is_type_keyword(keyword_find(name, len)) || scoped_keyword(name, len) != TOK_IDENT)
		return true;
	if (name_is_ident(p, name, len))
		return false;
	return hashmap_find(p->typedefs, name, len) ||
	       (env && env->is_type && env->is_type(env->ctx, name, len));
}

bool name_is_type(struct parser *p, const char *name, size_t len)
{
	const struct parse_env *env = p->in->env;

	if (name_is_known_type(p, name, len))
		return true;
	return len && env && env->is_kernel_type && !name_is_ident(p, name, len) &&
	       env->is_kernel_type(env->ctx, name, len);
}

/* d-language.md 1.3, rule 4 */
bool assignment_follows(const struct parser *p)
{
	const char *next = lex_peek(&p->lx);
	size_t left = next ? (size_t)(p->lx.end - next) : 0;

	if (!left)
		return false;
	if (*next == '[')
		return true;
	if (*next == '=')
		return left == 1 || next[1] != '=';
	return left > 1 && (*next == '+' || *next == '-') && next[1] == *next;
}

bool parser_at_type(struct parser *p)
{
	if (p->tok.kind == TOK_IDENT)
		return !assignment_follows(p) && name_is_type(p, p->tok.text, p->tok.len);
	return is_type_keyword(p->tok.kind);
}

bool parser_at_cast(struct parser *p)
{
	const char *next = lex_peek(&p->lx);

	/*
	 * Behind the name of a type stands ')', '*' or another word. Before anything else the
	 * kernel's types need not be searched.
	 */
	if (p->tok.kind == TOK_IDENT && next && next < p->lx.end && !strchr(")*[(", *next) &&
	    *next != '_' && !(*next >= 'a' && *next <= 'z'))
		return name_is_known_type(p, p->tok.text, p->tok.len) && !assignment_follows(p);
	return parser_at_type(p);
}

/* ---- struct, union, enum --------------------------------------------------------------------- */

static bool semicolon_is_missing(struct parser *p, const struct decl_specs *s);

/* declarator [":" const-expr] | ":" const-expr | nothing (an anonymous member) */
static struct member_decl parse_member(struct parser *p, struct decl_specs *specs)
{
	struct member_decl m = {0};

	if (p->tok.kind == TOK_COLON || p->tok.kind == TOK_SEMI) {
		m.type = ARENA_NEW(p->arena, struct type_name);
		m.type->specs = specs;
		m.type->span = specs->span;
	} else {
		m.type = parse_declarator(p, specs, DECLARATOR_NAMED);
	}
	if (parser_accept(p, TOK_COLON))
		m.bits = parse_cond(p);
	return m;
}

/* "{" { specs member {"," member} ";" } "}" */
static void parse_members(struct parser *p, struct decl_specs *s)
{
	LIST(struct member_decl) members = {0};

	parser_advance(p);
	while (!p->failed && p->tok.kind != TOK_RBRACE) {
		struct decl_specs *specs = parse_specs(p, false);

		if (semicolon_is_missing(p, specs))
			continue;
		do
			list_push(p->arena, &members, parse_member(p, specs));
		while (parser_accept(p, TOK_COMMA));
		parser_expect(p, TOK_SEMI);
	}
	parser_expect(p, TOK_RBRACE);
	s->members = members.data;
	s->nmembers = members.len;
}

/* "{" IDENT ["=" expr] {"," ...} "}" */
static void parse_enum_items(struct parser *p, struct decl_specs *s)
{
	LIST(struct enum_item) items = {0};

	parser_advance(p);
	do {
		struct enum_item item = {.span = p->tok.span};

		if (p->tok.kind == TOK_RBRACE && items.len)
			break; /* a comma may follow the last item */
		item.name = parser_name(p, false);
		if (!item.name)
			return;
		if (parser_accept(p, TOK_ASSIGN))
			item.val = parse_cond(p);
		item.span = parser_span_from(p, item.span.off);
		parser_add_ident(p, item.name);
		list_push(p->arena, &items, item);
	} while (parser_accept(p, TOK_COMMA));
	parser_expect(p, TOK_RBRACE);
	s->items = items.data;
	s->nitems = items.len;
}

/* (struct|union|enum) [tag] [body] -- with a scope the first word is mod`struct */
static void parse_tag(struct parser *p, struct decl_specs *s)
{
	bool scoped = p->tok.kind == TOK_IDENT;
	enum tok kind = scoped ? scoped_keyword(p->tok.text, p->tok.len) : p->tok.kind;
	const char *prefix = scoped ? p->tok.text : "";
	size_t prefix_len = scoped ? p->tok.len - strlen(tok_text(kind)) : 0;

	s->tag = kind == TOK_KW_STRUCT ? TAG_STRUCT : kind == TOK_KW_UNION ? TAG_UNION : TAG_ENUM;
	if (!parser_enter(p))
		return;
	parser_advance(p);
	if (p->tok.kind == TOK_IDENT) {
		s->tag_name =
			arena_printf(p->arena, "%.*s%s", (int)prefix_len, prefix, p->tok.text);
		parser_advance(p);
	}
	s->has_body = p->tok.kind == TOK_LBRACE;
	if (s->has_body && s->tag_name)
		hashmap_sets(p->tags, s->tag_name, (void *)(uintptr_t)tok_text(kind));
	if (s->has_body && s->tag == TAG_ENUM)
		parse_enum_items(p, s);
	else if (s->has_body)
		parse_members(p, s);
	else if (!s->tag_name)
		parser_syntax(p, "a tag or '{' is expected after '%s'", tok_text(kind));
	parser_leave(p);
}

/* ---- specifiers ------------------------------------------------------------------------------ */

static void modifier_add(struct decl_specs *s, uint32_t flag)
{
	if (flag == SPEC_LONG && s->flags & SPEC_LONGLONG)
		s->flags |= SPEC_COMBO;
	else if (flag == SPEC_LONG && s->flags & SPEC_LONG)
		s->flags = (s->flags & ~(uint32_t)SPEC_LONG) | SPEC_LONGLONG;
	else
		s->flags |= flag;
}

static void storage_add(struct decl_specs *s, enum storage_class sc, struct span at)
{
	s->two_classes |= s->sc != SC_NONE;
	s->sc = sc;
	s->sc_span = at;
}

static bool has_base(const struct decl_specs *s)
{
	return s->name || s->tag != TAG_NONE || s->flags & ALL_BASE_TYPES;
}

/* Parses one specifier; false when the current token is none. */
static bool parse_spec(struct parser *p, struct decl_specs *s, bool storage)
{
	enum tok kind = p->tok.kind;
	uint32_t base = spec_flag(kind, base_types, ARRAY_LEN(base_types));
	uint32_t modifier = spec_flag(kind, modifiers, ARRAY_LEN(modifiers));
	uint32_t qualifier = spec_flag(kind, qualifiers, ARRAY_LEN(qualifiers));
	enum storage_class sc = storage ? storage_class(kind) : SC_NONE;
	bool had_base = has_base(s);
	struct decl_specs second = {0};

	if (is_tag_keyword(kind) || (kind == TOK_IDENT && !had_base &&
				     scoped_keyword(p->tok.text, p->tok.len) != TOK_IDENT)) {
		/* A second base type is D_DECL_COMBO, whichever it is. */
		parse_tag(p, had_base ? &second : s);
	} else if (kind == TOK_IDENT) {
		/* Rule 6 of 1.3: behind a type specifier, a name is the declared name. */
		if (had_base || s->flags & ALL_MODIFIERS || !parser_at_type(p))
			return false;
		s->name = p->tok.text;
		parser_advance(p);
	} else if (base) {
		s->flags |= base;
		parser_advance(p);
	} else if (modifier) {
		modifier_add(s, modifier);
		parser_advance(p);
		return true;
	} else if (qualifier) {
		s->flags |= qualifier;
		parser_advance(p);
		return true;
	} else if (sc != SC_NONE) {
		storage_add(s, sc, p->tok.span);
		parser_advance(p);
		return true;
	} else {
		return false;
	}
	if (had_base)
		s->flags |= SPEC_COMBO;
	return true;
}

/* For two names in a row: the first one was meant as a type. */
void fail_old_style(struct parser *p, struct span at, const char *name)
{
	if (p->failed)
		return;
	parser_error(p, D_DECL_IDENT, at, "old-style declaration or incorrect type specified");
	if (p->in->pspec && name_is_type(p, name, strlen(name)))
		diag_hint(
			p->in->diags,
			"a word is a probe here, even '%s': write the program in a file, for dtrace -s",
			name);
	else
		diag_hint(p->in->diags, "'%s' is not a known type", name);
}

static bool word_follows(const struct parser *p)
{
	const char *next = lex_peek(&p->lx);

	return next && next < p->lx.end && (is_letter(*next));
}

/* ---- a ';' that is missing behind '}' -------------------------------------------------------- */

static bool is_on_new_line(const struct parser *p)
{
	const char *text = p->in->src->text;
	uint32_t base = p->in->src->base;

	return p->prev_end < p->tok.span.off &&
	       memchr(text + (p->prev_end - base), '\n', p->tok.span.off - p->prev_end);
}

/* Whether the current word begins the next declaration: it cannot be a declared name. */
static bool at_next_decl(struct parser *p)
{
	enum tok kind = p->tok.kind;

	if (parser_at_clause_head(p) || kind == TOK_EOF || kind == TOK_KW_INLINE ||
	    kind == TOK_KW_TRANSLATOR || kind == TOK_KW_PROVIDER)
		return true;
	if (!is_on_new_line(p))
		return false;
	return storage_class(kind) != SC_NONE || (kind == TOK_IDENT && parser_at_type(p)) ||
	       spec_flag(kind, modifiers, ARRAY_LEN(modifiers));
}

static bool at_second_base(const struct parser *p)
{
	return is_tag_keyword(p->tok.kind) ||
	       spec_flag(p->tok.kind, base_types, ARRAY_LEN(base_types));
}

static bool specs_have_ended(struct parser *p, const struct decl_specs *s)
{
	return s->has_body && (at_second_base(p) || at_next_decl(p));
}

/*
 * Reports, behind specifiers such as 'struct foo { ... }', that the next declaration begins without
 * a ';' before it. The parser goes on as if the ';' were there.
 */
static bool semicolon_is_missing(struct parser *p, const struct decl_specs *s)
{
	static const char *const words[] =
		{[TAG_STRUCT] = "struct", [TAG_UNION] = "union", [TAG_ENUM] = "enum"};

	if (p->failed || !specs_have_ended(p, s))
		return false;
	diag_error(p->in->diags, at_second_base(p) ? D_DECL_COMBO : D_SYNTAX,
		   (struct span){p->prev_end - 1, 1}, "';' is missing after the '}' of %s %s",
		   s->tag_name ? words[s->tag] : "this", s->tag_name ? s->tag_name : words[s->tag]);
	parser_hint(p, "a declaration ends with ';': write '};'");
	return true;
}

/*
 * Reports a name where only a type can stand. In front of a declarator the name counts as a type
 * from there on, so that the declared name is known.
 */
static void fail_unknown_type(struct parser *p, struct decl_specs *s)
{
	const char *next = lex_peek(&p->lx), *name = p->tok.text;

	if (word_follows(p))
		fail_old_style(p, p->tok.span, name);
	else
		parser_syntax(p, "'%s' is not a known type%s", name,
			      p->lx.needs_cpp ? "; -C runs the C preprocessor, without which lines "
						"such as #include and #define are comments here"
					      : "");
	if (!next || (*next != '*' && !is_letter(*next)))
		return;
	parser_go_on(p);
	s->name = name;
	parser_add_typedef(p, name);
	parser_advance(p);
}

/* { storage | type-specifier | qualifier } */
struct decl_specs *parse_specs(struct parser *p, bool storage)
{
	struct decl_specs *s = ARENA_NEW(p->arena, struct decl_specs);
	uint32_t start = p->tok.span.off, n = 0;

	while (!p->failed && !specs_have_ended(p, s) && parse_spec(p, s, storage))
		n++;
	if (!n && p->tok.kind == TOK_IDENT)
		fail_unknown_type(p, s);
	else if (!n)
		parser_syntax(p, "a type is expected here");
	s->span = parser_span_from(p, start);
	return s;
}

/* ---- declarators ----------------------------------------------------------------------------- */

typedef LIST(struct deriv) deriv_list;

static void deriv_push(struct parser *p, deriv_list *l, struct deriv d)
{
	if (l->len == DERIVS_MAX) {
		parser_error(p, D_SYNTAX, d.span, "declarator has more than %u parts", DERIVS_MAX);
		return;
	}
	list_push(p->arena, l, d);
}

static void derivs_append(struct parser *p, deriv_list *l, const deriv_list *from)
{
	for (uint32_t i = 0; i < from->len; i++)
		deriv_push(p, l, from->data[i]);
}

/* params := "..." | param {"," param} ["," "..."] | nothing, then `close` */
struct type_name **parse_params(struct parser *p, enum tok close, uint32_t *ret_n,
				bool *ret_varargs)
{
	LIST(struct type_name *) params = {0};

	while (!p->failed && p->tok.kind != close) {
		struct decl_specs *specs;

		if (parser_accept(p, TOK_ELLIPSIS)) {
			*ret_varargs = true;
			break;
		}
		specs = parse_specs(p, true);
		list_push(p->arena, &params, parse_declarator(p, specs, DECLARATOR_EITHER));
		if (!parser_accept(p, TOK_COMMA))
			break;
		if (p->tok.kind == close)
			parser_syntax(p, "a parameter is expected after ','");
	}
	parser_expect(p, close);
	*ret_n = params.len;
	return params.data;
}

/* "[" [const-expr | param-types] "]" */
static void parse_dims(struct parser *p, struct deriv *d)
{
	parser_advance(p);
	d->kind = DERIV_ARRAY;
	if (parser_accept(p, TOK_RBRACKET))
		return;
	if (parser_at_type(p)) {
		d->kind = DERIV_ASSOC;
		d->params = parse_params(p, TOK_RBRACKET, &d->nparams, &d->varargs);
		return;
	}
	d->dim = parse_cond(p);
	parser_expect(p, TOK_RBRACKET);
}

/* Parses suffixes in the order of the text; the caller reverses them. */
static void parse_suffixes(struct parser *p, deriv_list *l)
{
	while (p->tok.kind == TOK_LBRACKET || p->tok.kind == TOK_LPAREN) {
		struct deriv d = {.span = p->tok.span};

		if (p->tok.kind == TOK_LBRACKET) {
			parse_dims(p, &d);
		} else {
			d.kind = DERIV_FUNC;
			parser_advance(p);
			d.params = parse_params(p, TOK_RPAREN, &d.nparams, &d.varargs);
		}
		d.span = parser_span_from(p, d.span.off);
		deriv_push(p, l, d);
	}
}

/* {"*" {qualifier}} */
static void parse_pointers(struct parser *p, deriv_list *l)
{
	while (p->tok.kind == TOK_MUL) {
		struct deriv d = {.kind = DERIV_PTR, .span = p->tok.span};
		uint32_t flag;

		parser_advance(p);
		while ((flag = spec_flag(p->tok.kind, qualifiers, ARRAY_LEN(qualifiers)))) {
			d.quals |= flag;
			parser_advance(p);
		}
		deriv_push(p, l, d);
	}
}

static void parse_derivs(struct parser *p, struct type_name *t, enum declarator_form form,
			 deriv_list *l);

/* Whether a '(' is followed by a declarator, not by a list of parameters. */
static bool at_nested_declarator(struct parser *p, enum declarator_form form)
{
	if (p->tok.kind == TOK_MUL || p->tok.kind == TOK_LPAREN || p->tok.kind == TOK_LBRACKET)
		return true;
	return form != DECLARATOR_ABSTRACT && p->tok.kind == TOK_IDENT && !parser_at_type(p);
}

/*
 * A word that is a keyword of D only is a name where a parameter's name can stand: provider
 * definitions are shared with C, as Ruby's "const char *string".
 */
static bool at_parameter_name(struct parser *p, enum declarator_form form)
{
	const char *next = lex_peek(&p->lx);

	return form == DECLARATOR_EITHER && tok_is_keyword(p->tok.kind) && next &&
	       (*next == ',' || *next == ')' || *next == '[');
}

/*
 * IDENT | "(" declarator ")" | nothing -- *ret_func: a list of parameters follows, its '(' is
 * consumed
 */
static void parse_direct(struct parser *p, struct type_name *t, enum declarator_form form,
			 deriv_list *nested, bool *ret_func)
{
	if ((p->tok.kind == TOK_IDENT && form != DECLARATOR_ABSTRACT) ||
	    at_parameter_name(p, form)) {
		t->name = p->tok.text;
		t->name_span = p->tok.span;
		parser_advance(p);
	} else if (p->tok.kind == TOK_LPAREN) {
		parser_advance(p);
		if (form == DECLARATOR_NAMED || at_nested_declarator(p, form)) {
			parse_derivs(p, t, form, nested);
			parser_expect(p, TOK_RPAREN);
		} else {
			*ret_func = true;
		}
	} else if (form == DECLARATOR_NAMED) {
		(void)parser_name(p, false); /* reports that the name is missing */
	}
}

/* Appends the derivations of a declarator, the one next to the specifiers first. */
static void parse_derivs(struct parser *p, struct type_name *t, enum declarator_form form,
			 deriv_list *l)
{
	deriv_list nested = {0}, suffixes = {0};
	bool func = false;

	if (!parser_enter(p))
		return;
	parse_pointers(p, l);
	parse_direct(p, t, form, &nested, &func);
	if (func) {
		struct deriv d = {.kind = DERIV_FUNC, .span = p->tok.span};

		d.params = parse_params(p, TOK_RPAREN, &d.nparams, &d.varargs);
		deriv_push(p, &suffixes, d);
	}
	parse_suffixes(p, &suffixes);
	/* int a[2][3] is an array of 2 arrays of 3: the suffix next to the name comes last. */
	for (uint32_t i = suffixes.len; i > 0; i--)
		deriv_push(p, l, suffixes.data[i - 1]);
	derivs_append(p, l, &nested);
	parser_leave(p);
}

struct type_name *parse_declarator(struct parser *p, struct decl_specs *specs,
				   enum declarator_form form)
{
	struct type_name *t = ARENA_NEW(p->arena, struct type_name);
	uint32_t start = p->tok.span.off;
	deriv_list derivs = {0};

	t->specs = specs;
	parse_derivs(p, t, form, &derivs);
	t->derivs = derivs.data;
	t->nderivs = derivs.len;
	t->span = p->prev_end > start ? parser_span_from(p, start) : specs->span;
	return t;
}

struct type_name *parse_type_name(struct parser *p)
{
	struct decl_specs *specs = parse_specs(p, false);
	struct type_name *t = parse_declarator(p, specs, DECLARATOR_ABSTRACT);

	t->span = parser_span_from(p, specs->span.off);
	return t;
}

/* ---- declarations ---------------------------------------------------------------------------- */

/* decl-specs [ declarator {"," declarator} ] ";" */
void parse_vars(struct parser *p, struct decl *d)
{
	LIST(struct type_name *) names = {0};

	d->kind = DECL_VARS;
	d->vars.specs = parse_specs(p, true);
	if (semicolon_is_missing(p, d->vars.specs)) {
		parser_reread_outer(p);
		return;
	}
	while (!p->failed && p->tok.kind != TOK_SEMI) {
		struct type_name *t = parse_declarator(p, d->vars.specs, DECLARATOR_NAMED);

		if (p->tok.kind == TOK_IDENT && t->name && !t->nderivs &&
		    !has_base(d->vars.specs) && !(d->vars.specs->flags & ALL_MODIFIERS))
			fail_old_style(p, t->name_span, t->name);
		if (p->failed)
			return;
		if (d->vars.specs->sc == SC_TYPEDEF)
			parser_add_typedef(p, t->name);
		else
			parser_add_ident(p, t->name);
		list_push(p->arena, &names, t);
		if (p->tok.kind == TOK_ASSIGN)
			parser_syntax(
				p, "declarations have no initialisers: assign in a BEGIN clause");
		if (!parser_accept(p, TOK_COMMA))
			break;
		if (p->tok.kind == TOK_SEMI)
			parser_syntax(p, "a name is expected after ','");
	}
	d->vars.names = names.data;
	d->vars.nnames = names.len;
	parser_expect_last(p, TOK_SEMI);
}
