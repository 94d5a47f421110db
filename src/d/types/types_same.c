/* SPDX-License-Identifier: MIT */
/* Compares the layouts of types that come from different programs. */
#include "d/types/types.h"

#define PAIRS_MAX 20000 /* compared pairs; types that need more count as different */
#define DEPTH_MAX 16	/* of derivations; what lies deeper is not compared */

struct comparison {
	struct types *t;
	uint32_t npairs;
	uint32_t depth;
};

static bool layouts_compare(struct comparison *c, type_id a, type_id b);

static bool members_compare(struct comparison *c, type_id a, type_id b)
{
	uint32_t n = type_get(c->t, a)->nmembers;

	if (n != type_get(c->t, b)->nmembers)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		/* the tables may move while types are completed */
		const struct type_member x = type_get(c->t, a)->members[i],
					 y = type_get(c->t, b)->members[i];

		if (strcmp(x.name, y.name) != 0 || x.bit_off != y.bit_off ||
		    x.bit_size != y.bit_size || !layouts_compare(c, x.type, y.type))
			return false;
	}
	return true;
}

static bool enums_compare(const struct type_info *a, const struct type_info *b)
{
	if (a->nenums != b->nenums)
		return false;
	for (uint32_t i = 0; i < a->nenums; i++)
		if (strcmp(a->enums[i].name, b->enums[i].name) != 0 ||
		    a->enums[i].val != b->enums[i].val)
			return false;
	return true;
}

static bool resolved_compare(struct comparison *c, type_id a, type_id b)
{
	bool is_complete = type_complete(c->t, a);
	const struct type_info *x, *y;

	if (is_complete != type_complete(c->t, b))
		return false;
	x = type_get(c->t, a);
	y = type_get(c->t, b);
	if (x->kind != y->kind || x->size != y->size)
		return false;
	switch (x->kind) {
	case TK_STRUCT:
	case TK_UNION:
		return strcmp(x->name, y->name) == 0 && (!is_complete || members_compare(c, a, b));
	case TK_ENUM: return enums_compare(x, y);
	case TK_ARRAY: return x->nelems == y->nelems && layouts_compare(c, x->ref, y->ref);
	case TK_PTR: return layouts_compare(c, x->ref, y->ref);
	case TK_INT: return x->is_signed == y->is_signed;
	case TK_VOID:
	case TK_FLOAT:
	case TK_FUNC:
	case TK_STRING:
	case TK_DYNAMIC:
	case TK_STACK:
	case TK_SYMADDR:
	case TK_USYMADDR: return true;
	case TK_TYPEDEF:
	case TK_CONST:
	case TK_VOLATILE:
	case TK_RESTRICT:
	case TK_USERLAND:
	case TK_ERROR: return false; /* type_resolve() returns none of them */
	}
	BUG("type kind %d", (int)x->kind);
}

static bool layouts_compare(struct comparison *c, type_id a, type_id b)
{
	bool is_same;

	a = type_resolve(c->t, a);
	b = type_resolve(c->t, b);
	if (a == b || c->depth > DEPTH_MAX)
		return true;
	if (++c->npairs > PAIRS_MAX)
		return false;
	c->depth++;
	is_same = resolved_compare(c, a, b);
	c->depth--;
	return is_same;
}

bool types_have_same_layout(struct types *t, type_id a, type_id b)
{
	return layouts_compare(&(struct comparison){.t = t}, a, b);
}
