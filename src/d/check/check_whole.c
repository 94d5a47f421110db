/* SPDX-License-Identifier: MIT */
/*
 * Translated values as a whole: print(curpsinfo), print(*args[0]), print(fds[0]).
 *
 * A translated value has no memory: only its members are expressions (check_xlate.c). For print()
 * they are stored in a struct in scratch memory, which has the members that the translator
 * defines, of the types that its expressions have: an array of char that is made of a string is a
 * string. Of
 *
 *     struct who { char name[16]; int id, unset; struct cpu on; };
 *
 * and a translator of name, id and on (which is translated, too) comes the expression
 *
 *     this->k = INPUT, this->p = (struct who' *)alloca(sizeof (struct who')),
 *     this->p->name = NAME(this->k), this->p->id = ID(this->k),
 *     this->p->on = (this->q = (struct cpu' *)alloca(...), ..., *this->q), *this->p
 */
#include "d/check/check_impl.h"

#define MEMBER_ALIGN 8u

struct whole {
	struct check *c;
	struct span at;
	LIST(struct type_member) members;
	LIST(struct expr *) values;
	uint32_t size;
};

static void member_add(struct whole *w, const char *name, struct expr *value, type_id type)
{
	struct type_member m = {.name = name, .type = type, .bit_off = w->size * 8};

	list_push(w->c->arena, &w->members, m);
	list_push(w->c->arena, &w->values, value);
	w->size += ROUND_UP(type_size(w->c->types, type), MEMBER_ALIGN);
}

/* Adds a member of the translated value; false after reporting. */
static bool member_take(struct whole *w, const struct expr *e, const struct expr *input,
			const struct type_member *m)
{
	struct check *c = w->c;
	struct expr *base = expr_new(c, EXPR_XLATE, w->at, e->type), *value;
	struct expr *member = expr_new(c, EXPR_MEMBER, w->at, TYPE_NONE);

	base->xlate = e->xlate;
	base->xlate.e = expr_clone(c->arena, input);
	member->member.name = m->name;
	member->member.arrow = type_kind(c->types, e->type) == TK_PTR;
	value = xlate_address(c, xlate_member(c, base, member));
	if (value->kind == EXPR_XLATE && type_kind(c->types, value->type) != TK_PTR)
		value = xlate_whole(c, value);
	if (expr_is_bad(value))
		return false;
	if (value->kind == EXPR_XLATE)
		return true; /* a pointer to a translated value leads to no memory */
	member_add(w, m->name, value,
		   type_is_string(c->types, value->type) || type_is_sou(c->types, m->type)
			   ? value->type
			   : m->type);
	return true;
}

static struct expr *assign_to(struct check *c, struct expr *l, struct expr *r)
{
	struct expr *e = expr_new(c, EXPR_ASSIGN, l->span, l->type);

	e->binary.op = OP_NONE;
	e->binary.l = l;
	e->binary.r = r;
	return e;
}

static struct expr *expr_comma(struct check *c, struct expr *l, struct expr *r)
{
	struct expr *e = expr_new(c, EXPR_COMMA, l->span, r->type);

	e->binary.l = l;
	e->binary.r = r;
	return e;
}

/* The name of a new clause-local variable; no program can name it. */
static const char *new_name(struct check *c)
{
	return arena_printf(c->arena, "(whole %zu)", hashmap_count(c->locals));
}

/*
 * Makes the input of a translator be evaluated once: *e evaluates it, the result reads it again. A
 * struct or a string, which is an address, is evaluated at each use.
 */
static struct expr *input_keep(struct check *c, struct expr **e)
{
	return type_is_byref(c->types, (*e)->type) ? expr_clone(c->arena, *e)
						   : expr_keep_as(c, e, new_name(c));
}

/* A clause-local variable that no program can name, as an lvalue; NULL after reporting. */
static struct expr *pointer_create(struct whole *w, type_id type)
{
	struct check *c = w->c;
	struct ident *id = var_create(c, w->at, SCOPE_THIS, new_name(c), type, false, NULL, 0);
	struct expr *var = expr_new(c, EXPR_VAR, w->at, type);

	var->var.ident = id;
	var->is_lvalue = true;
	return id->type == TYPE_ERROR ? NULL : var;
}

static struct expr *alloca_of(struct whole *w, type_id pointer)
{
	struct check *c = w->c;
	struct expr *call = expr_new(c, EXPR_CALL, w->at, pointer);

	call->call.subr = subr_find("alloca");
	call->call.nargs = 1;
	call->call.args = ARENA_NEW(c->arena, struct expr *);
	call->call.args[0] = expr_int(c, w->at, w->size, TYPE_SIZE);
	return call;
}

/* `first`, then the struct: filled at a new address. */
static struct expr *struct_fill(struct whole *w, struct expr *first)
{
	struct check *c = w->c;
	type_id sou = type_import_sou(c->types, TYPE_NONE, TK_STRUCT, "", w->size, w->members.data,
				      w->members.len);
	struct expr *p = pointer_create(w, type_pointer(c->types, sou)), *e, *deref;
	const struct type_info *info = type_get(c->types, sou);

	if (!p)
		return expr_bad(c, w->at);
	e = expr_comma(c, first, assign_to(c, p, alloca_of(w, p->type)));
	for (uint32_t i = 0; i < w->members.len; i++) {
		struct expr *l = expr_new(c, EXPR_MEMBER, w->at, info->members[i].type);

		l->member.base = expr_clone(c->arena, p);
		l->member.arrow = true;
		l->member.name = info->members[i].name;
		l->member.member =
			arena_memdup(c->arena, &info->members[i], sizeof(*w->members.data));
		l->is_lvalue = true;
		e = expr_comma(c, e, assign_to(c, l, w->values.data[i]));
	}
	deref = expr_new(c, EXPR_UNARY, w->at, sou);
	deref->unary.op = OP_DEREF;
	deref->unary.e = expr_clone(c->arena, p);
	deref->is_lvalue = true;
	return expr_comma(c, e, deref);
}

struct expr *xlate_whole(struct check *c, struct expr *e)
{
	struct whole w = {.c = c, .at = e->span};
	type_id out = xlate_output(c, e);
	const struct type_info *info = type_get(c->types, type_resolve(c->types, out));
	const struct xlator *x = e->xlate.x;
	struct expr *first = e->xlate.e, *input = input_keep(c, &first);

	if (!x)
		x = xlator_find(c, e->xlate.e->type, out);
	for (uint32_t i = 0; x && i < info->nmembers; i++) {
		const struct type_member m = info->members[i];

		if (hashmap_finds(x->members, m.name) && !member_take(&w, e, input, &m))
			return expr_bad(c, e->span);
		info = type_get(c->types,
				type_resolve(c->types, out)); /* the table may have grown */
	}
	if (!w.members.len)
		return expr_fail(c, D_PRINT_DYN, e->span,
				 "the translator of \"%s\" defines no member", type_text(c, out));
	return struct_fill(&w, first);
}
