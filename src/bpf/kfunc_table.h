/* SPDX-License-Identifier: MIT */
/*
 * Which function of the kernel has fired: a hash table of addresses, for links to many functions.
 *
 * The kernel finds the cookie of such a link by a search in all its addresses, 25 instructions for
 * each halving: 150 for 35 functions, 400 for all. The address itself it has at hand
 * (bpf_get_func_ip()), and a program finds the key of the probe with one access to this table: each
 * address is in the bucket that its hash says. The table is made so that each bucket has room.
 *
 * Errors   a unit for which no table can be made keeps the cookies: one with entries and returns,
 *          or with two functions at one address.
 */
#pragma once

#include "bpf/unit.h"

#define KFUNC_BUCKET_SLOTS 8

/* addr: the lower half of an address, 0: the slot is free, as are all after it in its bucket. */
struct kfunc_slot {
	uint32_t addr, key;
};

struct kfunc_bucket {
	struct kfunc_slot slot[KFUNC_BUCKET_SLOTS];
};

/* bucket = (uint32_t)(addr * multiplier) >> (32 - bits) */
struct kfunc_table {
	uint32_t bits;	     /* there are 1 << bits buckets, 2 at least */
	uint32_t multiplier; /* below 1 << 31 */
	struct kfunc_bucket *buckets;
};

/* The same unit gets the same table each time. False: none can be made; ret needs no deinit. */
bool kfunc_table_make(const struct unit *u, struct kfunc_table *ret);
void kfunc_table_deinit(struct kfunc_table *t);
/* Whether programs of such a unit find their probes in the table; ret: as above. */
bool kfunc_table_suits(const struct unit *u, struct kfunc_table *ret);
