/* SPDX-License-Identifier: MIT */
/* Makes shapes, which describe types to print() (dif/shape.h), of rows of the type table. */
#include "d/check/check_impl.h"

#include "base/hashmap.h"
#include "dif/shape.h"

#define SHAPE_DEPTH_MAX 200 /* of nested structures: print() recurses over them */

/* The conversion of one type: `made` has the shape of each type that was met. */
struct shaper {
	struct check *c;
	struct hashmap *made; /* type_id -> struct shape */
	uint32_t depth;
};

static const struct shape *shape_of(struct shaper *s, type_id type);

static enum shape_kind pointer_kind(struct check *c, type_id type)
{
	return type_kind(c->types, type_deref(c->types, type)) == TK_FUNC ? SHAPE_FUNC
									  : SHAPE_POINTER;
}

static void shape_enums(struct shaper *s, struct shape *sh, const struct type_info *info)
{
	struct shape_enum *enums = ARENA_NEW_N(s->c->arena, struct shape_enum, info->nenums);

	sh->kind = SHAPE_ENUM;
	sh->is_signed = info->is_signed;
	for (uint32_t i = 0; i < info->nenums; i++)
		enums[i] = (struct shape_enum){info->enums[i].name, info->enums[i].val};
	sh->enums = enums;
	sh->nenums = info->nenums;
}

/* "union" for "union (anon)". */
static const char *anonymous_text(struct check *c, const struct shape *sh)
{
	static const char anon[] = " (anon)";
	size_t len = strlen(sh->type), n = strlen(anon);

	return len > n && strcmp(sh->type + len - n, anon) == 0
		       ? arena_strndup(c->arena, sh->type, len - n)
		       : sh->type;
}

static void shape_members(struct shaper *s, struct shape *sh, const struct type_info *info)
{
	struct shape_member *members =
		ARENA_NEW_N(s->c->arena, struct shape_member, info->nmembers);

	sh->kind = SHAPE_SOU;
	sh->is_union = info->kind == TK_UNION;
	sh->type = anonymous_text(s->c, sh);
	for (uint32_t i = 0; i < info->nmembers; i++)
		members[i] = (struct shape_member){
			.name = info->members[i].name,
			.shape = shape_of(s, info->members[i].type),
			.bit_off = info->members[i].bit_off,
			.bit_size = info->members[i].bit_size,
		};
	sh->members = members;
	sh->nmembers = info->nmembers;
}

static void shape_fill(struct shaper *s, struct shape *sh, type_id type)
{
	struct types *t = s->c->types;
	bool is_known = type_complete(t, type);
	const struct type_info *info = type_get(t, type_resolve(t, type));

	sh->size = info->size;
	switch (info->kind) {
	case TK_INT:
		/* unsigned char is the kernel's u8, which is shown as a number */
		sh->kind = info->is_char && strcmp(info->name, "unsigned char") != 0 ? SHAPE_CHAR
										     : SHAPE_INT;
		sh->is_signed = info->is_signed;
		return;
	case TK_FLOAT: sh->kind = SHAPE_FLOAT; return;
	case TK_PTR:
		sh->kind = pointer_kind(s->c, type);
		sh->is_user = type_is_userland(t, type);
		return;
	case TK_STRING: sh->kind = SHAPE_STRING; return;
	case TK_ENUM: shape_enums(s, sh, info); return;
	case TK_ARRAY:
		sh->kind = SHAPE_ARRAY;
		sh->elem = shape_of(s, info->ref);
		sh->nelems = info->nelems;
		return;
	case TK_STRUCT:
	case TK_UNION:
		if (is_known && s->depth < SHAPE_DEPTH_MAX) {
			s->depth++;
			shape_members(s, sh, info);
			s->depth--;
			return;
		}
		break;
	case TK_VOID:
	case TK_TYPEDEF:
	case TK_CONST:
	case TK_VOLATILE:
	case TK_RESTRICT:
	case TK_USERLAND:
	case TK_FUNC:
	case TK_DYNAMIC:
	case TK_STACK:
	case TK_SYMADDR:
	case TK_USYMADDR:
	case TK_ERROR: break;
	}
	sh->kind = SHAPE_FORWARD;
}

static const struct shape *shape_of(struct shaper *s, type_id type)
{
	struct shape *sh = hashmap_find(s->made, &type, sizeof(type));

	if (sh)
		return sh;
	sh = ARENA_NEW(s->c->arena, struct shape);
	sh->type = type_text(s->c, type);
	hashmap_set(s->made, &type, sizeof(type), sh);
	shape_fill(s, sh, type);
	return sh;
}

const struct shape *type_shape(struct check *c, type_id type)
{
	struct shaper s = {.c = c, .made = hashmap_create()};
	const struct shape *sh = shape_of(&s, type);

	hashmap_destroy(s.made);
	return sh;
}
