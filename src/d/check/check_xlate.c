/* SPDX-License-Identifier: MIT */
/*
 * Translators: structs whose members are expressions over a value of another type
 * (d-language.md 10.1).
 *
 * Nothing is built at run time: xlate<T *>(e)->m is the expression of member m with the parameter
 * bound to e. A checked EXPR_XLATE has the type written in <>, and its checked operand has the
 * input type of the translator. The EXPR_XLATE itself is no value; its members are.
 */
#include "d/check/check_impl.h"

static bool is_accepted(struct check *c, type_id from, type_id to)
{
	struct expr *e = expr_new(c, EXPR_VAR, (struct span){0}, from);

	return check_convert(c, &e, to);
}

static struct xlator *exact_find(struct check *c, enum d_layer layer, type_id in, type_id out)
{
	struct dsession *s = c->session;

	for (uint32_t i = 0; i < s->xlators.len; i++)
		if (s->xlators.data[i]->layer == layer &&
		    type_same(c->types, s->xlators.data[i]->out, out) &&
		    type_same(c->types, s->xlators.data[i]->in, in))
			return s->xlators.data[i];
	return NULL;
}

static struct xlator *accepting_find(struct check *c, enum d_layer layer, type_id in, type_id out)
{
	struct dsession *s = c->session;

	for (uint32_t i = 0; i < s->xlators.len; i++)
		if (s->xlators.data[i]->layer == layer &&
		    type_same(c->types, s->xlators.data[i]->out, out) &&
		    is_accepted(c, in, s->xlators.data[i]->in))
			return s->xlators.data[i];
	return NULL;
}

static struct xlator *layers_find(struct check *c, type_id in, type_id out)
{
	struct xlator *x = NULL;

	for (uint32_t i = c->session->layer; !x && i < NLAYERS; i++)
		x = exact_find(c, (enum d_layer)i, in, out);
	for (uint32_t i = c->session->layer; !x && i < NLAYERS; i++)
		x = accepting_find(c, (enum d_layer)i, in, out);
	return x;
}

/*
 * A translator that does not say where its input lies translates objects in user memory as well:
 * the type of the translated value decides from where members are read.
 */
struct xlator *xlator_find(struct check *c, type_id in, type_id out)
{
	struct xlator *x = layers_find(c, in, out);

	if (x || type_kind(c->types, in) != TK_PTR || !type_is_userland(c->types, in))
		return x;
	in = type_pointer(c->types, type_resolve(c->types, type_deref(c->types, in)));
	return layers_find(c, in, out);
}

/* ---- definition ------------------------------------------------------------------------- */

/* The expression of a member for the input e, of the member's type; poison after reporting. */
static struct expr *member_value(struct check *c, const struct xlator *x, struct expr *e,
				 const struct xlate_member *m, type_id type)
{
	struct binding *outer = c->bindings, param = {.name = x->param, .e = e};
	enum d_layer layer = session_set_layer(c->session, x->layer);
	struct expr *body;

	c->bindings = &param;
	body = check_any(c, expr_clone(c->arena, m->e));
	c->bindings = outer;
	session_set_layer(c->session, layer);
	if (body->kind != EXPR_XLATE)
		body = check_value(c, body);
	if (expr_is_bad(body) || convert_body(c, &body, type))
		return body;
	return expr_fail(c, D_XLATE_INCOMPAT, m->span,
			 "translator member %s definition uses incompatible types: \"%s\" = \"%s\"",
			 m->name, type_text(c, type), type_text(c, body->type));
}

static void check_xlate_member(struct check *c, struct xlator *x, struct xlate_member *m)
{
	uint32_t bit_off;
	const struct type_member *tm = type_find_member(c->types, x->out, m->name, &bit_off);

	if (!tm) {
		check_error(c, D_XLATE_MEMB, m->span,
			    "translator member %s is not a member of \"%s\"", m->name,
			    type_text(c, x->out));
		return;
	}
	(void)member_value(c, x, expr_placeholder(c, m->span, x->param, x->in), m, tm->type);
	hashmap_sets(x->members, m->name, m); /* a later definition of a member replaces it */
}

void check_translator_def(struct check *c, struct decl *d)
{
	type_id out = decl_resolve(c, d->xlator.out), in = decl_resolve(c, d->xlator.in);
	struct dsession *s = c->session;
	struct xlator *x;

	if (out == TYPE_ERROR || in == TYPE_ERROR)
		return;
	if (!type_is_sou(c->types, out) || !type_complete(c->types, out)) {
		check_error(c, D_XLATE_SOU, d->xlator.out->span,
			    "translator output type must be a complete struct or union, not \"%s\"",
			    type_text(c, out));
		return;
	}
	if (exact_find(c, s->layer, in, out)) {
		check_error(c, D_XLATE_REDECL, d->span,
			    "translator from \"%s\" to \"%s\" has already been declared",
			    type_text(c, in), type_text(c, out));
		return;
	}
	x = ARENA_NEW(s->arena, struct xlator);
	x->layer = s->layer;
	x->out = out;
	x->in = in;
	x->param = d->xlator.param;
	x->members = session_map(s);
	x->attr = (struct attr)ATTR_STABLE;
	for (uint32_t i = 0; i < d->xlator.nmembers; i++)
		check_xlate_member(c, x, &d->xlator.members[i]);
	vec_push(&s->xlators, x);
}

/* ---- use -------------------------------------------------------------------------------- */

static type_id output_of(struct check *c, type_id to)
{
	return type_kind(c->types, to) == TK_PTR ? type_deref(c->types, to) : to;
}

type_id xlate_output(struct check *c, const struct expr *e)
{
	return output_of(c, e->type);
}

struct expr *check_xlate(struct check *c, struct expr *e)
{
	type_id to = decl_resolve(c, e->xlate.to);
	struct expr *o = xlate_address(c, check_any(c, e->xlate.e));
	struct xlator *x;

	/* what was translated before is translated from its input: xlate <devinfo_t *> (args[0]) */
	if (o->kind == EXPR_XLATE && xlator_find(c, o->xlate.e->type, output_of(c, to)))
		o = o->xlate.e;
	e->xlate.e = check_value(c, o);
	if (to == TYPE_ERROR || expr_is_bad(e->xlate.e))
		return expr_bad(c, e->span);
	x = xlator_find(c, e->xlate.e->type, output_of(c, to));
	if (!x)
		return expr_fail(c, D_XLATE_NONE, e->span, "cannot translate from \"%s\" to \"%s\"",
				 type_text(c, e->xlate.e->type), type_text(c, to));
	/* it fails only for an address in user memory, which stays one */
	(void)check_convert(c, &e->xlate.e, x->in);
	e->xlate.x = x;
	e->type = to;
	return e;
}

/*
 * A translated pointer has an address if the D library declares an inline __at_TAG for the struct:
 * its parameter is the translator's input, and it fills a struct in scratch memory and returns the
 * address.
 */
struct expr *xlate_address(struct check *c, struct expr *e)
{
	const struct type_info *out;
	struct ident *at;

	if (e->kind != EXPR_XLATE || type_kind(c->types, e->type) != TK_PTR)
		return e;
	out = type_get(c->types, type_resolve(c->types, type_deref(c->types, e->type)));
	at = ident_find(c, SCOPE_GLOBAL, arena_printf(c->arena, "__at_%s", out->name));
	if (!at || at->kind != IDENT_INLINE || at->inl.nparams != 1 ||
	    !is_accepted(c, e->xlate.e->type, at->inl.param_types[0]))
		return e;
	return inline_expand(c, at, e, &e->xlate.e, 1);
}

struct expr *xlate_member(struct check *c, struct expr *base, struct expr *e)
{
	bool is_pointer = type_kind(c->types, base->type) == TK_PTR;
	struct span at = e->span;
	struct xlator *x = base->xlate.x;
	const struct type_member *tm;
	struct xlate_member *m;
	struct binding param;
	uint32_t bit_off;

	if (!x) /* a variable or argument that holds a translator's input */
		x = xlator_find(c, base->xlate.e->type, output_of(c, base->type));
	if (e->member.arrow && !is_pointer)
		return expr_fail(c, D_OP_PTR, e->span,
				 "operator -> must be applied to a pointer, not \"%s\"",
				 type_text(c, base->type));
	if (!e->member.arrow && is_pointer)
		return expr_fail(c, D_OP_SOU, e->span, "operator . cannot be applied to \"%s\"",
				 type_text(c, base->type));
	tm = x ? type_find_member(c->types, x->out, e->member.name, &bit_off) : NULL;
	if (!tm) {
		check_error(c, D_TYPE_MEMBER, e->span, "\"%s\" has no member '%s'",
			    type_text(c, output_of(c, base->type)), e->member.name);
		hint_member(c, output_of(c, base->type), e->member.name);
		return expr_bad(c, e->span);
	}
	m = hashmap_finds(x->members, e->member.name);
	if (!m)
		return expr_fail(c, D_XLATE_NOCONV, e->span,
				 "translator from \"%s\" to \"%s\" does not define member '%s'",
				 type_text(c, x->in), type_text(c, x->out), e->member.name);
	attr_use(c, e->span, e->member.name, x->attr);
	param = (struct binding){.name = x->param, .e = base->xlate.e};
	if (base->is_own && !privilege_check_member(c, x, m->name, e->span))
		return expr_bad(c, e->span);
	if (!check_expansion(c, e->span, m->e, &param))
		return expr_bad(c, e->span);
	c->nown += base->is_own;
	e = member_value(c, x, base->xlate.e, m, tm->type);
	c->nown -= base->is_own;
	if (base->is_own)
		e = own_value(c, e, at);
	e->span = at;
	return e;
}
