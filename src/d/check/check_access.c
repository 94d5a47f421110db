/* SPDX-License-Identifier: MIT */
/* Access to parts and properties of values: members, subscripts, casts, sizes. */
#include "d/check/check_impl.h"
#include "d/parse/foreign.h"

#define MEMBERS_SHOWN 40u /* names in a hint */

/* ---- members ---------------------------------------------------------------------------- */

typedef LIST(const char *) name_list;

/* Collects the names of the members; members of anonymous members are the structure's own. */
static void names_add(struct check *c, type_id sou, name_list *names)
{
	const struct type_info *info = type_get(c->types, type_resolve(c->types, sou));

	for (uint32_t i = 0; i < info->nmembers; i++) {
		const struct type_member *m = &info->members[i];

		if (*m->name)
			list_push(c->arena, names, m->name);
		else if (type_is_sou(c->types, m->type))
			names_add(c, m->type, names);
	}
}

void hint_member(struct check *c, type_id sou, const char *name)
{
	const char *nearest, *all = "", *foreign;
	name_list names = {0};

	if (diags_are_dropped(c->diags))
		return;
	foreign = foreign_hint(FOREIGN_MEMBER, name);
	if (foreign) {
		diag_hint(c->diags, "%s", foreign);
		return;
	}
	names_add(c, sou, &names);
	nearest = diag_nearest(name, names.data, names.len);
	for (uint32_t i = 0; i < MIN(names.len, MEMBERS_SHOWN) && !nearest; i++)
		all = arena_printf(c->arena, "%s%s%s", all, i ? ", " : "", names.data[i]);
	if (nearest)
		diag_hint(c->diags, "did you mean '%s'?", nearest);
	else if (names.len > MEMBERS_SHOWN)
		diag_hint(c->diags, "it has %u members: print(*p) shows all of *p", names.len);
	else if (names.len)
		diag_hint(c->diags, "its members are %s", all);
}

static bool check_complete(struct check *c, struct span at, type_id sou)
{
	const char *foreign;

	if (type_complete(c->types, sou))
		return true;
	if (type_is_poisoned(c, type_text(c, type_resolve(c->types, sou))))
		return false;
	check_error(c, D_OP_INCOMPLETE, at,
		    "cannot look into \"%s\": it is declared but not defined", type_text(c, sou));
	foreign = foreign_hint(FOREIGN_TYPE, type_text(c, type_resolve(c->types, sou)));
	diag_hint(c->diags, "%s",
		  types_import_trouble(c->types) ? types_import_trouble(c->types)
		  : foreign			 ? foreign
			    : "define it before this: the kernel has no type of that name either");
	return false;
}

/* The member with its offset from the start of sou, also when it lies in an anonymous member. */
static struct type_member *member_find(struct check *c, struct span at, type_id sou,
				       const char *name)
{
	uint32_t bit_off;
	const struct type_member *m = type_find_member(c->types, sou, name, &bit_off);
	struct type_member *copy;

	if (!m) {
		check_error(c, D_TYPE_MEMBER, at, "\"%s\" has no member '%s'", type_text(c, sou),
			    name);
		hint_member(c, sou, name);
		return NULL;
	}
	copy = arena_memdup(c->arena, m, sizeof(*m));
	copy->bit_off = bit_off;
	return copy;
}

/* The struct or union in which the member is looked up; TYPE_NONE after reporting. */
static type_id member_base(struct check *c, const struct expr *e, const struct expr *base)
{
	type_id sou = base->type;

	if (e->member.arrow) {
		if (!type_is_pointer(c->types, base->type)) {
			check_error(c, D_OP_PTR, e->span,
				    "operator -> must be applied to a pointer, not \"%s\"",
				    type_text(c, base->type));
			if (type_is_sou(c->types, base->type))
				diag_hint(c->diags, "use '.%s'", e->member.name);
			return TYPE_NONE;
		}
		sou = type_deref(c->types, base->type);
	}
	if (!type_is_sou(c->types, sou)) {
		check_error(c, D_OP_SOU, e->span,
			    "operator %s cannot be applied to \"%s\": not a struct or union",
			    e->member.arrow ? "->" : ".", type_text(c, base->type));
		if (!e->member.arrow && type_is_pointer(c->types, sou) &&
		    type_is_sou(c->types, type_deref(c->types, sou)))
			diag_hint(c->diags, "use '->%s'", e->member.name);
		return TYPE_NONE;
	}
	return check_complete(c, e->span, sou) ? sou : TYPE_NONE;
}

/*
 * Where a structure lacks the member, but the table of other systems' names leads to it: makes of
 * 'p->p_ppid' the access 'p->real_parent->tgid', of which all but the last step becomes the base.
 * Returns the structure in which the last step is looked up.
 */
static type_id member_translate(struct check *c, struct expr *e, type_id sou)
{
	const struct type_info *info = type_get(c->types, type_resolve(c->types, sou));
	const char *path = info->name ? foreign_path(info->name, e->member.name) : NULL;
	struct expr *base;
	uint32_t bit_off;

	if (!path || type_find_member(c->types, sou, e->member.name, &bit_off))
		return sou;
	for (const char *end; (end = strchr(path, '>')); path = end + 1) {
		base = expr_new(c, EXPR_MEMBER, e->span, TYPE_NONE);
		base->member.base = e->member.base;
		base->member.arrow = e->member.arrow;
		base->member.name = arena_strndup(c->arena, path, (size_t)(end - path));
		base = check_value(c, check_member(c, base));
		e->member.base = base;
		if (expr_is_bad(base))
			return TYPE_NONE;
		e->member.arrow = type_is_pointer(c->types, base->type);
		sou = e->member.arrow ? type_deref(c->types, base->type) : base->type;
	}
	e->member.name = path;
	return check_complete(c, e->span, sou) ? sou : TYPE_NONE;
}

/*
 * Where a structure lacks the member, but the table of other systems' names has an inline for it:
 * returns '__proc_user[p]' for 'p->p_user', to be checked; else NULL, as where there is no library.
 */
static struct expr *member_computed(struct check *c, const struct expr *e, type_id sou)
{
	const struct type_info *info = type_get(c->types, type_resolve(c->types, sou));
	const char *name = info->name ? foreign_inline(info->name, e->member.name) : NULL;
	struct expr *call, *at = e->member.base;
	uint32_t bit_off;

	if (!name || type_find_member(c->types, sou, e->member.name, &bit_off) ||
	    !ident_find(c, SCOPE_GLOBAL, name))
		return NULL;
	if (!e->member.arrow) {
		at = expr_new(c, EXPR_UNARY, e->span, TYPE_NONE);
		at->unary.op = OP_ADDROF;
		at->unary.e = e->member.base;
	}
	call = expr_new(c, EXPR_INDEX, e->span, TYPE_NONE);
	call->index.base = expr_new(c, EXPR_IDENT, e->span, TYPE_NONE);
	call->index.base->ident.name = name;
	call->index.subs = ARENA_NEW(c->arena, struct expr *);
	call->index.subs[0] = at;
	call->index.nsubs = 1;
	return call;
}

struct expr *check_member(struct check *c, struct expr *e)
{
	struct expr *base = e->member.base = check_any(c, e->member.base), *computed;
	struct type_member *m;
	type_id sou;

	if (expr_is_bad(base))
		return base;
	if (base->kind == EXPR_XLATE)
		return xlate_member(c, base, e);
	base = e->member.base = check_value(c, base);
	if (expr_is_bad(base))
		return base;
	sou = member_base(c, e, base);
	computed = sou == TYPE_NONE ? NULL : member_computed(c, e, sou);
	if (computed)
		return check_any(c, computed);
	if (sou != TYPE_NONE)
		sou = member_translate(c, e, sou);
	base = e->member.base;
	m = sou == TYPE_NONE ? NULL : member_find(c, e->span, sou, e->member.name);
	if (!m)
		return expr_bad(c, e->span);
	e->member.member = m;
	/* the members of an object in user memory lie in user memory */
	e->type = type_is_userland(c->types, base->type)
			  ? type_qualified(c->types, TK_USERLAND, m->type)
			  : m->type;
	e->is_lvalue = e->member.arrow || base->is_lvalue;
	return e;
}

struct expr *check_offsetof(struct check *c, struct expr *e)
{
	type_id sou = decl_resolve(c, e->of.of);
	struct type_member *m;

	if (sou == TYPE_ERROR)
		return expr_bad(c, e->span);
	if (!type_is_sou(c->types, sou))
		return expr_fail(c, D_OFFSETOF_TYPE, e->span,
				 "offsetof operand must be a struct or union type, not \"%s\"",
				 type_text(c, sou));
	m = check_complete(c, e->span, sou) ? member_find(c, e->of.member_span, sou, e->of.member)
					    : NULL;
	if (!m)
		return expr_bad(c, e->span);
	if (m->bit_size)
		return expr_fail(c, D_OFFSETOF_BITFIELD, e->of.member_span,
				 "cannot take the offset of bit-field '%s'", e->of.member);
	return expr_int(c, e->span, m->bit_off / 8, TYPE_SIZE);
}

/* ---- subscripts ------------------------------------------------------------------------- */

static struct expr *check_bounds(struct check *c, struct expr *e)
{
	const struct type_info *info =
		type_get(c->types, type_resolve(c->types, e->index.base->type));
	struct expr *sub = e->index.subs[0];

	if (info->kind != TK_ARRAY || info->nelems <= 1 || !expr_is_const(c, sub))
		return e;
	if (sub->ival.val < info->nelems)
		return e;
	return expr_fail(c, D_ARR_BOUNDS, e->span, "index %lld is outside array bounds 0..%u",
			 (long long)sub->ival.val, info->nelems - 1);
}

struct expr *check_element(struct check *c, struct expr *e)
{
	const struct expr *base = e->index.base, *sub = e->index.subs[0];
	type_id to = type_deref(c->types, base->type);

	if (to == TYPE_NONE)
		return expr_fail(c, D_DEREF_NONPTR, e->span,
				 "cannot subscript \"%s\": neither pointer nor array",
				 type_text(c, base->type));
	if (type_is_void(c->types, to))
		return expr_fail(c, D_DEREF_VOID, e->span, "cannot subscript a pointer to void");
	if (type_kind(c->types, to) == TK_FUNC)
		return expr_fail(c, D_DEREF_FUNC, e->span,
				 "cannot subscript a pointer to a function");
	if (!type_is_integer(c->types, sub->type))
		return expr_fail(c, D_OP_INCOMPAT, e->span,
				 "operands have incompatible types: \"%s\" [ \"%s\" ]",
				 type_text(c, base->type), type_text(c, sub->type));
	if (!type_complete(c->types, to))
		return expr_fail(c, D_OP_INCOMPLETE, e->span,
				 "subscript needs the size of \"%s\", which is not defined here",
				 type_text(c, to));
	e->type = to;
	e->is_lvalue = true;
	return check_bounds(c, e);
}

/*
 * A pointer to a struct X that is subscripted by a string: the inline X_at[] of the library, with
 * both as its parameters. NULL: there is none.
 */
static struct expr *subscript_inline(struct check *c, const struct expr *e)
{
	const struct expr *base = e->index.base, *sub = e->index.subs[0];
	type_id to = type_deref(c->types, base->type);
	const struct type_info *info;
	struct expr *call;

	if (to == TYPE_NONE || !type_is_strcompat(c->types, sub->type) ||
	    !type_is_sou(c->types, to))
		return NULL;
	info = type_get(c->types, type_resolve(c->types, to));
	call = expr_new(c, EXPR_INDEX, e->span, TYPE_NONE);
	call->index.base = expr_new(c, EXPR_IDENT, e->span, TYPE_NONE);
	call->index.base->ident.name =
		arena_printf(c->arena, "%s_at", info->name ? info->name : "");
	if (!ident_find(c, SCOPE_GLOBAL, call->index.base->ident.name))
		return NULL;
	call->index.subs = ARENA_NEW_N(c->arena, struct expr *, 2);
	call->index.subs[0] = e->index.base;
	call->index.subs[1] = e->index.subs[0];
	call->index.nsubs = 2;
	return check_expr(c, call);
}

static struct expr *check_subscript(struct check *c, struct expr *e)
{
	struct expr *call;

	e->index.base = check_expr(c, e->index.base);
	e->index.subs[0] = check_expr(c, e->index.subs[0]);
	if (expr_is_bad(e->index.base) || expr_is_bad(e->index.subs[0]))
		return expr_bad(c, e->span);
	if (e->index.nsubs > 1)
		return expr_fail(c, D_ARR_BADREF, e->span,
				 "a tuple of %u subscripts needs an associative array, not \"%s\"",
				 e->index.nsubs, type_text(c, e->index.base->type));
	call = subscript_inline(c, e);
	return call ? call : check_element(c, e);
}

static bool is_subscriptable(struct check *c, const struct ident *id)
{
	return type_deref(c->types, id->type) != TYPE_NONE;
}

struct expr *check_index(struct check *c, struct expr *e)
{
	struct expr *base = e->index.base;
	struct ident *id = NULL;

	if (base->kind == EXPR_AGG)
		return expr_fail(c, D_AGG_MDIM, e->span,
				 "aggregation @%s has one list of keys only", base->agg.name);
	if (check_is_new_var(c, e)) {
		if (base->ident.scope == SCOPE_THIS)
			return expr_fail(c, D_ARR_LOCAL, e->span,
					 "%s[ ]: an associative array cannot be clause-local",
					 var_text(c, SCOPE_THIS, base->ident.name));
		return expr_undefined(c, e);
	}
	if (base->kind == EXPR_IDENT && base->type == TYPE_NONE)
		id = strchr(base->ident.name, '`')
			     ? symbol_inline(c, base)
			     : ident_find(c, base->ident.scope, base->ident.name);
	if (!id || id->type == TYPE_ERROR)
		return check_subscript(c, e);
	if (id->builtin && id->kind == IDENT_BUILTIN_ARRAY)
		return check_args_ref(c, id, e);
	if (id->kind == IDENT_ARRAY)
		return check_array_ref(c, id, e);
	if (id->kind == IDENT_INLINE && id->inl.has_params)
		return inline_expand(c, id, e, e->index.subs, e->index.nsubs);
	if (id->kind == IDENT_VAR && !id->is_builtin && id->xlate_type == TYPE_NONE &&
	    !is_subscriptable(c, id))
		return expr_fail(c, D_IDENT_BADREF, e->span,
				 "%s is a scalar variable, not an associative array",
				 var_text(c, id->scope, id->name));
	return check_subscript(c, e);
}

/* ---- casts and conversions -------------------------------------------------------------- */

static bool cast_is_valid(struct check *c, const struct expr *e, type_id to)
{
	const struct types *t = c->types;
	bool from_scalar = type_is_scalar(t, e->type), from_pointer = type_is_pointer(t, e->type);

	if (type_is_void(t, to))
		return true;
	if (type_is_string(t, to))
		return from_scalar || type_is_strcompat(t, e->type);
	if (type_kind(t, to) == TK_PTR)
		return from_scalar || from_pointer || type_is_string(t, e->type);
	if (type_is_integer(t, to))
		return from_scalar || from_pointer;
	return type_same(t, e->type, to) && type_kind(t, to) != TK_FUNC;
}

struct expr *check_cast(struct check *c, struct expr *e)
{
	type_id to = decl_resolve(c, e->cast.to);
	struct expr *o = e->cast.e = check_expr_or(c, e->cast.e, D_CAST_INVAL);

	if (to == TYPE_ERROR || expr_is_bad(o))
		return expr_bad(c, e->span);
	if (!cast_is_valid(c, o, to))
		return expr_fail(c, D_CAST_INVAL, e->span, "invalid cast from \"%s\" to \"%s\"",
				 type_text(c, o->type), type_text(c, to));
	if (o->kind == EXPR_INT && type_is_scalar(c->types, to))
		return expr_int(c, e->span, int_convert(c->types, o->ival.val, to), to);
	e->type = to;
	return e;
}

struct expr *check_stringof(struct check *c, struct expr *e)
{
	struct expr *o = e->unary.e = check_expr_or(c, e->unary.e, D_STRINGOF_TYPE);

	if (expr_is_bad(o))
		return o;
	if (!type_is_scalar(c->types, o->type) && !type_is_pointer(c->types, o->type) &&
	    !type_is_strcompat(c->types, o->type))
		return expr_fail(c, D_STRINGOF_TYPE, e->span, "cannot convert \"%s\" to a string",
				 type_text(c, o->type));
	e->type = TYPE_STRING;
	return c->nown ? own_text(c, e) : e;
}

/* ---- sizes ------------------------------------------------------------------------------ */

static struct expr *size_of(struct check *c, struct span at, type_id type)
{
	if (!type_complete(c->types, type) || type_size(c->types, type) == 0)
		return expr_fail(c, D_SIZEOF_TYPE, at,
				 "cannot apply sizeof to \"%s\": its size is unknown",
				 type_text(c, type));
	return expr_int(c, at, type_size(c->types, type), TYPE_SIZE);
}

struct expr *check_sizeof_type(struct check *c, struct expr *e)
{
	type_id type = decl_resolve(c, e->cast.to);

	return type == TYPE_ERROR ? expr_bad(c, e->span) : size_of(c, e->span, type);
}

struct expr *check_sizeof(struct check *c, struct expr *e)
{
	struct expr *o = check_any(c, e->unary.e);

	if (expr_is_bad(o))
		return o;
	if (o->kind == EXPR_AGG)
		return expr_fail(c, D_SIZEOF_TYPE, e->span,
				 "cannot apply sizeof to an aggregation");
	if (o->kind == EXPR_STR)
		return expr_int(c, e->span, o->str.len + 1, TYPE_SIZE);
	if (o->kind == EXPR_MEMBER && o->member.member->bit_size)
		return expr_fail(c, D_SIZEOF_BITFIELD, e->span,
				 "cannot apply sizeof to bit-field '%s'", o->member.name);
	return size_of(c, e->span, o->type);
}
