/* SPDX-License-Identifier: MIT */
/*
 * Bucket numbers of llquantize(): which bucket counts a value, and which values a bucket counts.
 * The definition, with a worked example, stands at the top of llquantize.c.
 *
 * param: factor, low, high, steps, as the checker has accepted them. llquantize_nbuckets() is
 * declared in record/layout.h.
 *
 * Errors   none: each 64-bit value has a bucket.
 */
#pragma once

#include "base/base.h"

/* The number of the bucket that counts v; rt_llquantize in the kernel computes the same. */
uint32_t llquantize_bucket(const int64_t param[4], int64_t v);
/*
 * The label of a bucket: the bound of its values that is nearest to zero. It is 0 for bucket 0, n
 * for [n, n + width) and for (-n - width, -n], and factor^(high+1) for the overflow.
 */
int64_t llquantize_label(const int64_t param[4], uint32_t bucket);
/* The number of the bucket in row `row` when all buckets are listed by ascending value. */
uint32_t llquantize_row(uint32_t nbuckets, uint32_t row);
