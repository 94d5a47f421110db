/*
 * Bucket numbers of llquantize(): the definition stands at the top of llquantize.c.
 *
 * param: factor, low, high, steps. llquantize_nbuckets() is declared in bpf/layout.h.
 */
#pragma once

#include "base/base.h"

/* Number of the bucket that counts v; what rt_llquantize computes in the kernel. */
uint32_t llquantize_bucket(const int64_t param[4], int64_t v);
/*
 * The bound nearest to zero of a bucket's values: 0 for bucket 0, n of [n, n + width) and of
 * (-n - width, -n], factor^(high+1) of the overflow.
 */
int64_t llquantize_label(const int64_t param[4], uint32_t bucket);
/* Bucket number of the row-th row when all are listed by ascending value. */
uint32_t llquantize_row(uint32_t nbuckets, uint32_t row);
