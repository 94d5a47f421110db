/* SPDX-License-Identifier: MIT */
/*
 * Structures in the memory of a caller, whose header may be older or newer than this library
 * (dtrace.h, "Growth"). The functions dtrace_*_sized() are told how large such a structure is.
 *
 * Units    sizes in bytes.
 */
#pragma once

#include <string.h>

/* Copies what both sides know of a structure. Members that only the caller knows are 0. */
static inline void sized_copy(void *ret, size_t size, const void *made, size_t made_size)
{
	memcpy(ret, made, size < made_size ? size : made_size);
	if (size > made_size)
		memset((char *)ret + made_size, 0, size - made_size);
}
