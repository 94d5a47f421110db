/* SPDX-License-Identifier: MIT */
/*
 * The hash FNV-1a, for numbers that must be the same in all runs and on all machines. Whoever
 * chooses the bytes can make two texts have one hash: tables use base/hashmap.h.
 *
 * Facts    draft-eastlake-fnv, section 5.
 */
#pragma once

#include "base/base.h"

#define FNV_32 2166136261u	     /* where a hash of 32 bits begins */
#define FNV_64 0xcbf29ce484222325ull /* and one of 64 bits */

/* Returns the hash h, continued by the bytes. */
static inline uint32_t fnv_32(uint32_t h, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		h = (h ^ ((const uint8_t *)bytes)[i]) * 16777619u;
	return h;
}

static inline uint64_t fnv_64(uint64_t h, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		h = (h ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3ull;
	return h;
}
