/* SPDX-License-Identifier: MIT */
/*
 * Growing arrays in an arena: the lists of a syntax tree.
 *
 *     LIST(struct expr *) args = {0};
 *     list_push(arena, &args, e);
 *     call->args = args.data, call->nargs = args.len;
 *
 * Owns     nothing. Memory that a list has outgrown stays in the arena until the arena ends;
 *          all of it together is less than the final size.
 */
#pragma once

#include "base/arena.h"

#define LIST(type)                                                                                 \
	struct {                                                                                   \
		type *data;                                                                        \
		uint32_t len, cap;                                                                 \
	}

static inline void *list_grow(struct arena *a, const void *data, uint32_t len, uint32_t *cap,
			      size_t elem_size)
{
	void *grown;

	*cap = *cap ? *cap * 2 : 4;
	grown = arena_alloc(a, *cap * elem_size);
	if (len)
		memcpy(grown, data, len * elem_size);
	return grown;
}

#define list_push(a, l, ...)                                                                       \
	((l)->len == (l)->cap ? (void)((l)->data = list_grow((a), (l)->data, (l)->len, &(l)->cap,  \
							     sizeof(*(l)->data)))                  \
			      : (void)0,                                                           \
	 (void)((l)->data[(l)->len++] = (__VA_ARGS__)))
