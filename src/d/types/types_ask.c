/* SPDX-License-Identifier: MIT */
/* Questions about types: properties, compatibility, arithmetic conversion. */
#include "d/text/diag.h"
#include "d/types/types_impl.h"

struct type_row *type_resolved_row(const struct types *t, type_id id)
{
	struct type_row *row = type_row(t, id);

	while (row->info.kind == TK_TYPEDEF || type_kind_is_qual(row->info.kind))
		row = type_row(t, row->info.ref);
	return row;
}

type_id type_resolve(const struct types *t, type_id id)
{
	/* TYPE_NONE has a row, too, so that callers need not test for it */
	return type_resolved_row(t, id)->info.index;
}

static const struct type_info *resolved_info(const struct types *t, type_id id)
{
	return &type_resolved_row(t, id)->info;
}

enum type_kind type_kind(const struct types *t, type_id id)
{
	return resolved_info(t, id)->kind;
}

uint32_t type_size(const struct types *t, type_id id)
{
	return resolved_info(t, id)->size;
}

uint32_t type_align(const struct types *t, type_id id)
{
	const struct type_row *row = type_resolved_row(t, id);

	/* the element type may have been completed after the array was made */
	while (row->info.kind == TK_ARRAY)
		row = type_resolved_row(t, row->info.ref);
	return row->align;
}

type_id type_deref(const struct types *t, type_id id)
{
	const struct type_info *info = resolved_info(t, id);

	if (info->kind == TK_PTR || info->kind == TK_ARRAY)
		return info->ref;
	return info->kind == TK_STRING ? TYPE_CHAR : TYPE_NONE;
}

bool type_is_integer(const struct types *t, type_id id)
{
	enum type_kind kind = type_kind(t, id);

	return kind == TK_INT || kind == TK_ENUM;
}

bool type_is_float(const struct types *t, type_id id)
{
	return type_kind(t, id) == TK_FLOAT;
}

bool type_is_arith(const struct types *t, type_id id)
{
	return type_is_integer(t, id) || type_is_float(t, id);
}

bool type_is_pointer(const struct types *t, type_id id)
{
	enum type_kind kind = type_kind(t, id);

	return kind == TK_PTR || kind == TK_ARRAY;
}

bool type_is_scalar(const struct types *t, type_id id)
{
	return type_is_integer(t, id) || type_kind(t, id) == TK_PTR;
}

bool type_is_stack(const struct types *t, type_id id)
{
	return type_kind(t, id) == TK_STACK;
}

bool type_is_condition(const struct types *t, type_id id)
{
	return type_is_scalar(t, id) || type_is_stack(t, id);
}

bool type_is_sou(const struct types *t, type_id id)
{
	enum type_kind kind = type_kind(t, id);

	return kind == TK_STRUCT || kind == TK_UNION;
}

bool type_is_string(const struct types *t, type_id id)
{
	return type_kind(t, id) == TK_STRING;
}

bool type_is_strcompat(const struct types *t, type_id id)
{
	return type_is_string(t, id) ||
	       (type_is_pointer(t, id) && resolved_info(t, type_deref(t, id))->is_char);
}

bool type_is_void(const struct types *t, type_id id)
{
	return type_kind(t, id) == TK_VOID;
}

bool type_is_signed(const struct types *t, type_id id)
{
	return type_is_integer(t, id) && resolved_info(t, id)->is_signed;
}

/*
 * A pointer is a userland pointer when what it points to directly is in user memory: 'userland char
 * **' declares user memory all the way (decl.c qualifies each level), while the kernel's 'char
 * __user **' is a kernel pointer to a user pointer.
 */
bool type_is_userland(const struct types *t, type_id id)
{
	bool through_pointer = false;

	for (;;) {
		const struct type_info *info = type_get(t, id);

		if (info->kind == TK_USERLAND)
			return true;
		if (info->kind == TK_PTR) {
			if (through_pointer)
				return false;
			through_pointer = true;
		} else if (info->kind != TK_TYPEDEF && info->kind != TK_ARRAY &&
			   !type_kind_is_qual(info->kind)) {
			return false;
		}
		id = info->ref;
	}
}

bool type_is_byref(const struct types *t, type_id id)
{
	return type_is_sou(t, id) || type_is_string(t, id) || type_kind(t, id) == TK_ARRAY;
}

static bool function_same(const struct types *t, const struct type_info *a,
			  const struct type_info *b)
{
	if (a->nelems != b->nelems || a->varargs != b->varargs || !type_same(t, a->ref, b->ref))
		return false;
	for (uint32_t i = 0; i < a->nelems; i++)
		if (!type_same(t, a->params[i], b->params[i]))
			return false;
	return true;
}

bool type_same(const struct types *t, type_id a, type_id b)
{
	const struct type_info *ia = resolved_info(t, a), *ib = resolved_info(t, b);

	if (ia == ib)
		return true;
	if (ia->kind != ib->kind)
		return false;
	switch (ia->kind) {
	case TK_PTR:
		return type_is_userland(t, ia->index) == type_is_userland(t, ib->index) &&
		       type_same(t, ia->ref, ib->ref);
	case TK_ARRAY: return ia->nelems == ib->nelems && type_same(t, ia->ref, ib->ref);
	case TK_FUNC: return function_same(t, ia, ib);
	case TK_STRUCT:
	case TK_UNION:
	case TK_ENUM: /* two modules may describe one tag, in two rows */
		return *ia->name && strcmp(ia->name, ib->name) == 0 &&
		       (ia->size == ib->size || !ia->is_complete || !ib->is_complete);
	case TK_VOID:
	case TK_INT:
	case TK_FLOAT:
	case TK_TYPEDEF:
	case TK_CONST:
	case TK_VOLATILE:
	case TK_RESTRICT:
	case TK_USERLAND:
	case TK_STRING:
	case TK_DYNAMIC:
	case TK_STACK:
	case TK_SYMADDR:
	case TK_USYMADDR:
	case TK_ERROR: return false; /* there is one row of each: equal types have equal ids */
	}
	BUG("type kind %d", (int)ia->kind);
}

bool type_ptr_compat(const struct types *t, type_id a, type_id b)
{
	type_id ta, tb;

	if (!type_is_pointer(t, a) || !type_is_pointer(t, b))
		return false;
	if (type_is_userland(t, a) != type_is_userland(t, b))
		return false;
	ta = type_deref(t, a);
	tb = type_deref(t, b);
	return type_is_void(t, ta) || type_is_void(t, tb) || type_same(t, ta, tb);
}

/* The type that an operand counts as: without qualifiers, int for an enumeration; typedefs stay. */
static type_id operand_type(const struct types *t, type_id id)
{
	while (type_kind_is_qual(type_get(t, id)->kind))
		id = type_get(t, id)->ref;
	return type_kind(t, id) == TK_ENUM ? TYPE_INT : id;
}

type_id type_promote(const struct types *t, type_id a, type_id b)
{
	uint32_t rank_a, rank_b;

	a = operand_type(t, a);
	b = operand_type(t, b);
	if (type_is_float(t, a) != type_is_float(t, b))
		return type_is_float(t, a) ? a : b;
	rank_a = type_size(t, a) * 8 + !type_is_signed(t, a);
	rank_b = type_size(t, b) * 8 + !type_is_signed(t, b);
	if (rank_a == rank_b)
		return MAX(a, b);
	return rank_a > rank_b ? a : b;
}

const char *types_nearest(const struct types *t, const char *name, struct arena *a)
{
	const char *nearest = NULL;
	VEC(const char *) names = {0};

	for (uint32_t i = t->layer; i < NLAYERS; i++) {
		const void *key;
		size_t pos = 0, len;

		while (hashmap_next(t->names[i], &pos, &key, &len))
			vec_push(&names, arena_strndup(a, key, len));
	}
	nearest = diag_nearest(name, names.data, names.len);
	vec_deinit(&names);
	return nearest;
}
