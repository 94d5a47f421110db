/* SPDX-License-Identifier: MIT */
/*
 * Searching in arrays that ascend by a member.
 *
 *     uint32_t n = sorted_upto(list->data, list->len, addr, addr);
 *     const struct func *last = n ? &list->data[n - 1] : NULL;
 *
 * The arguments are evaluated once.
 */
#pragma once

#include "base/base.h"

/* How many of the n elements have a member below the key: the index of the first that has not. */
#define sorted_below(array, n, member, key) SORTED_COUNT(array, n, member, <, key)
/* How many have one that is not above the key: the index behind the last of them. */
#define sorted_upto(array, n, member, key) SORTED_COUNT(array, n, member, <=, key)

/* clang-format off */
#define SORTED_COUNT(array, n, member, is_before, key)              \
	({                                                          \
		const __typeof__(*(array)) *array_ = (array);       \
		const __typeof__(key) key_ = (key);                 \
		uint32_t low_ = 0, high_ = (uint32_t)(n);           \
                                                                    \
		while (low_ < high_) {                              \
			uint32_t mid_ = low_ + (high_ - low_) / 2;  \
                                                                    \
			if (array_[mid_].member is_before key_)     \
				low_ = mid_ + 1;                    \
			else                                        \
				high_ = mid_;                       \
		}                                                   \
		low_;                                               \
	})
/* clang-format on */
