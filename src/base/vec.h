/* SPDX-License-Identifier: MIT */
/*
 * Growing arrays.
 *
 *     VEC(struct insn) code = {0};
 *     vec_push(&code, insn);
 *     for (uint32_t i = 0; i < code.len; i++) use(code.data[i]);
 *     vec_deinit(&code);
 *
 * Owns     the memory of the elements, on the heap. The next push invalidates all pointers to
 *          elements.
 */
#pragma once

#include "base/base.h"

/* clang-format off */
#define VEC(type)                 \
	struct {                  \
		type *data;       \
		uint32_t len, cap; \
	}
/* clang-format on */

#define vec_reserve(v, n)                                                                          \
	((v)->data = vec_grow((v)->data, &(v)->cap, (uint32_t)(n), sizeof(*(v)->data)))
/* clang-format off */
#define vec_push(v, ...)                                            \
	(vec_reserve((v), (v)->len + 1), (v)->data[(v)->len++] = (__VA_ARGS__))
/* clang-format on */
#define vec_last(v)   (&(v)->data[(v)->len - 1])
#define vec_clear(v)  ((v)->len = 0)
#define vec_deinit(v) (free((v)->data), (v)->data = NULL, (v)->len = (v)->cap = 0)

/* Returns memory for at least want elements; the caller stores it back. */
void *vec_grow(void *data, uint32_t *cap, uint32_t want, size_t elem_size);
