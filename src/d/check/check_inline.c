/* SPDX-License-Identifier: MIT */
/* Inlines: names for expressions, with or without parameters (d-language.md 2.8). */
#include "d/check/check_impl.h"

#define EXPANSION_MAX (1u << 20) /* nodes that the expansions of one compile may make */
#define HEIGHT_MAX    4000	 /* of an expanded tree: passes recurse over it */

/* ---- bounds of expansion ---------------------------------------------------------------- */

struct expr_measure {
	uint32_t nodes, height, deepest;
};

static void measure_child(struct expr **child, void *arg)
{
	struct expr_measure *m = arg;

	m->nodes++;
	m->height++;
	m->deepest = MAX(m->deepest, m->height);
	expr_each_child(*child, measure_child, m);
	m->height--;
}

static struct expr_measure expr_measure(struct expr *e)
{
	struct expr_measure m = {.nodes = 1};

	expr_each_child(e, measure_child, &m);
	return m;
}

bool check_expansion(struct check *c, struct span at, struct expr *body, const struct binding *b)
{
	struct expr_measure m = expr_measure(body);
	uint32_t deepest = 0;

	/* check_ident() charges for the nodes of an argument at each use of the parameter. */
	for (; b; b = b->next)
		deepest = MAX(deepest, expr_measure(b->e).deepest);
	c->ncloned += m.nodes;
	if (c->ncloned <= EXPANSION_MAX && m.deepest + deepest <= HEIGHT_MAX)
		return true;
	check_error(c, D_UNKNOWN, at,
		    "inlines and translators used here expand to an expression of more than "
		    "%u operations or %u levels",
		    EXPANSION_MAX, HEIGHT_MAX);
	return false;
}

/* ---- definition ------------------------------------------------------------------------- */

/* A variable in place of an argument, with which a body is checked where it is defined. */
struct expr *expr_placeholder(struct check *c, struct span at, const char *name, type_id type)
{
	struct expr *e = expr_new(c, EXPR_VAR, at, type);

	e->var.ident = ARENA_NEW(c->arena, struct ident);
	e->var.ident->name = name;
	e->var.ident->type = type;
	e->var.ident->is_builtin = true; /* makes it read-only */
	e->is_lvalue = true;
	return e;
}

/*
 * Converts a body or an argument to a type; false, without a report, when it cannot be converted.
 */
bool convert_body(struct check *c, struct expr **e, type_id type)
{
	if ((*e)->kind == EXPR_XLATE)
		return type_same(c->types, (*e)->type, type);
	return check_convert(c, e, type);
}

static struct binding *placeholders_create(struct check *c, const struct ident *id, struct span at)
{
	struct binding *list = NULL;

	for (uint32_t i = 0; i < id->inl.nparams; i++) {
		struct binding *b = ARENA_NEW(c->arena, struct binding);

		b->name = id->inl.params[i];
		b->e = expr_placeholder(c, at, b->name, id->inl.param_types[i]);
		b->next = list;
		list = b;
	}
	return list;
}

bool inline_params(struct check *c, struct type_name **params, uint32_t nparams, struct span at,
		   struct ident *id)
{
	uint32_t n = 0;

	if (!decl_params(c, params, nparams, false, at, DECL_PARAMS_NAMED, &id->inl.param_types,
			 &n))
		return false;
	id->inl.nparams = n;
	id->inl.params = ARENA_NEW_N(c->arena, const char *, n + 1);
	for (uint32_t i = 0; i < n; i++)
		id->inl.params[i] = params[i]->name;
	return true;
}

static bool check_params(struct check *c, struct decl *d, struct ident *id)
{
	id->inl.has_params = d->inl.has_params;
	return !d->inl.has_params || inline_params(c, d->inl.params, d->inl.nparams, d->span, id);
}

static bool check_body(struct check *c, struct decl *d, struct ident *id)
{
	struct binding *outer = c->bindings;
	struct expr *body = expr_clone(c->arena, d->inl.e);

	c->bindings = placeholders_create(c, id, d->span);
	body = check_any(c, body);
	c->bindings = outer;
	if (body->kind != EXPR_XLATE)
		body = check_value(c, body);
	if (expr_is_bad(body))
		return false;
	if (!convert_body(c, &body, id->type)) {
		check_error(c, D_OP_INCOMPAT, d->inl.e->span,
			    "inline %s definition uses incompatible types: \"%s\" = \"%s\"",
			    id->name, type_text(c, id->type), type_text(c, body->type));
		return false;
	}
	/* a folded body need not be checked again at each use */
	id->inl.e = body->kind == EXPR_INT ? body : d->inl.e;
	return true;
}

void check_inline_def(struct check *c, struct decl *d)
{
	struct decl_object obj;
	struct type_name *tn = d->inl.type;
	struct ident *id;

	if (tn->specs->sc != SC_NONE) {
		check_error(c, D_DECL_BADCLASS, tn->specs->sc_span,
			    "specified storage class not appropriate for an inline");
		return;
	}
	if (!check_name_is_free(c, tn->name_span, tn->name))
		return;
	id = ident_create(c, IDENT_INLINE, tn->name, tn->name_span, TYPE_ERROR);
	id->is_declared = true;
	if (decl_object(c, tn, UINT32_MAX, &obj) && check_params(c, d, id)) {
		id->type = obj.type;
		if (!check_body(c, d, id))
			id->type = TYPE_ERROR;
	}
	ident_apply_pending(c, id);
	session_bind_global(c->session, id->name, id);
}

/* ---- use -------------------------------------------------------------------------------- */

struct binding *inline_bind(struct check *c, struct ident *id, const char *brackets,
			    struct expr **args)
{
	struct binding *list = NULL;

	for (uint32_t i = 0; i < id->inl.nparams; i++) {
		struct binding *b = ARENA_NEW(c->arena, struct binding);

		b->name = id->inl.params[i];
		b->e = check_any(c, args[i]);
		if (b->e->kind == EXPR_AGG)
			b->e = check_value(c, b->e);
		if (expr_is_bad(b->e))
			return NULL;
		if (!convert_body(c, &b->e, id->inl.param_types[i])) {
			check_error(c, D_PROTO_ARG, args[i]->span,
				    "%s%s argument #%u is incompatible with prototype:\n"
				    "\tprototype: %s\n\t argument: %s",
				    id->name, brackets, i + 1, type_text(c, id->inl.param_types[i]),
				    type_text(c, b->e->type));
			return NULL;
		}
		b->next = list;
		list = b;
	}
	return list;
}

/*
 * Says that the arguments are the script's, whose code is not trusted in the system's expression.
 * The flag is that of a node around each: the argument itself may be a value that is trusted, and a
 * condition is evaluated by branches, which begin where no node has the flag.
 */
static void bindings_give(struct check *c, struct binding *b)
{
	for (; b; b = b->next) {
		if (type_is_scalar(c->types, b->e->type))
			b->e = expr_cast(c, b->e, b->e->type);
		b->e->is_given = true;
	}
}

struct expr *inline_expand(struct check *c, struct ident *id, struct expr *at, struct expr **args,
			   uint32_t nargs)
{
	struct binding *outer = c->bindings, *b;
	bool is_own = privilege_is_own(c, id);
	enum d_layer layer;
	struct expr *e;

	attr_use(c, at->span, id->name, id->attr);
	if (id->type == TYPE_ERROR)
		return expr_bad(c, at->span);
	if (nargs != id->inl.nparams) {
		check_error_len(c, at->span, arena_printf(c->arena, "%s[ ]", id->name), "arg",
				nargs, id->inl.nparams, id->inl.nparams);
		return expr_bad(c, at->span);
	}
	if (id->inl.e->kind == EXPR_INT && id->inl.e->type != TYPE_NONE)
		return expr_int(c, at->span, id->inl.e->ival.val, id->inl.e->type);
	b = inline_bind(c, id, "[ ]", args);
	if ((nargs && !b) || !check_expansion(c, at->span, id->inl.e, b))
		return expr_bad(c, at->span);
	if (is_own && !privilege_check_variable(c, id->name, at->span))
		return expr_bad(c, at->span);
	if (is_own)
		bindings_give(c, b);
	c->bindings = b;
	layer = session_set_layer(c->session, id->layer);
	c->nown += is_own;
	e = check_any(c, expr_clone(c->arena, id->inl.e));
	c->nown -= is_own;
	session_set_layer(c->session, layer);
	c->bindings = outer;
	if (expr_is_bad(e) || !convert_body(c, &e, id->type))
		return expr_bad(c, at->span);
	e->is_lvalue = false;
	if (is_own)
		e = own_value(c, e, at->span);
	/* errors in the use of the value are reported where the inline is used */
	e->span = at->span;
	return e;
}
