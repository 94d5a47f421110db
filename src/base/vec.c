/* SPDX-License-Identifier: MIT */
/* Enlarges the arrays of vec.h. */
#include "base/vec.h"

void *vec_grow(void *data, uint32_t *cap, uint32_t want, size_t elem_size)
{
	uint32_t new_cap = *cap ? *cap : 8;

	if (want <= *cap)
		return data;
	while (new_cap < want) {
		if (new_cap > UINT32_MAX / 2)
			oom();
		new_cap *= 2;
	}
	data = xrealloc(data, (size_t)new_cap * elem_size);
	*cap = new_cap;
	return data;
}
