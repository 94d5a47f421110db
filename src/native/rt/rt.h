/* SPDX-License-Identifier: MIT */
/*
 * What the functions of the blob share (native/blob.h): tables, atomic instructions.
 *
 * Everything here runs in a foreign process. No function may loop without a bound that does not
 * depend on other threads, except where each turn means that another thread has made progress.
 */
#pragma once

#include "native/blob.h"

#define FUNC __attribute__((visibility("hidden")))

/* Behind the code: blob.ld. */
extern FUNC const struct blob_conf blob_conf;

FUNC u64 blob_time(struct blob_data *d);
FUNC u64 blob_order(struct blob_data *d);
FUNC void blob_exit(struct blob_data *d);
FUNC u64 *blob_cell(struct blob_data *d, u64 table, u64 elem, u64 cpu);
FUNC u64 *blob_value(struct blob_data *d, u64 table, const u64 *key, u64 cpu);
FUNC void blob_min(u64 *value, s64 x);
FUNC void blob_max(u64 *value, s64 x);
FUNC void blob_avg(u64 *value, s64 x);
FUNC void blob_stddev(u64 *value, s64 x);
FUNC u64 blob_quantize(s64 x);
FUNC u64 blob_lquantize(s64 x, s64 base, u64 levels, u64 step);
FUNC u64 blob_llquantize(s64 x, u64 factor, u64 low, u64 high, u64 steps);
FUNC void *blob_record_begin(struct blob_data *d, u64 cpu, u64 len, u64 thread);
FUNC void blob_record_end(void *rec);
FUNC void blob_record_drop(void *rec);
FUNC u64 *blob_thread(struct blob_data *d, u64 thread, u64 cpu, u64 makes);
FUNC u64 blob_load(struct blob_data *d, u64 table, const u64 *key);
FUNC void blob_store(struct blob_data *d, u64 table, const u64 *key, u64 x, u64 cpu);
FUNC u64 blob_sample(struct blob_data *d, u64 bytes, u64 mean, u64 cpu, u64 fs);
FUNC u64 blob_sampled(struct blob_data *d, u64 addr, u64 fs);
FUNC u64 blob_followed(struct blob_data *d, u64 addr);
FUNC void blob_live(struct blob_data *d, u64 addr, u64 bytes, u64 time, u64 *value, u64 cpu);
FUNC void blob_dead(struct blob_data *d, u64 addr, u64 until);
FUNC void blob_site(struct blob_data *d, u64 fs, u64 *to);

static inline u64 word_load(const u64 *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline void word_add(u64 *p, u64 n)
{
	(void)__atomic_fetch_add(p, n, __ATOMIC_RELAXED);
}

/* Changes *p from *old to new; else sets *old to what is there. */
static inline int word_swap(u64 *p, u64 *old, u64 new)
{
	return __atomic_compare_exchange_n(p, old, new, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static inline u8 slot_state(u64 word)
{
	return (u8)(word >> BLOB_SLOT_SHIFT);
}

static inline u64 cpu_bounded(u64 cpu)
{
	return cpu < blob_conf.ncpus ? cpu : 0;
}

static inline struct blob_cpu *cpu_of(struct blob_data *d, u64 cpu)
{
	return (struct blob_cpu *)((u8 *)d + blob_conf.cpus_off) + cpu_bounded(cpu);
}

static inline int key_is(const u64 *a, const u64 *b, u32 nwords)
{
	for (u32 i = 0; i < nwords; i++)
		if (a[i] != b[i])
			return 0;
	return 1;
}

static inline void key_copy(u64 *to, const u64 *from, u32 nwords)
{
	for (u32 i = 0; i < nwords; i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
}
