/*
 * Aggregations as the consumer sees them: snapshots merged over CPUs, decoded keys, sorting,
 * clear, trunc, normalize.
 *
 * A snapshot reads the kernel's maps in batches, adds the CPUs' parts up (min/max by comparison),
 * decodes keys to their full content (strings from MAP_STRINGS and the string table) and merges
 * elements whose keys turn out equal.
 *
 * Owns     struct aggs owns every element; pointers are valid until the next aggs_snap().
 * Errors   struct err *. An element that vanished between two reads is not an error.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "bpf/kernel.h"
#include "bpf/layout.h"

struct aggs;

/* A decoded key. */
struct agg_key {
	enum datum_kind datum;
	/* DATUM_INT: 1, 2, 4, 8; DATUM_STRING: bytes without NUL; others: bytes. DATUM_STACK: addresses;
	 * DATUM_USTACK: after the process id. */
	uint32_t size;
	bool is_signed;
	uint64_t ival;	   /* DATUM_INT, extended by is_signed */
	const char *bytes; /* others; strings are NUL-terminated */
	const char *name;  /* of a stack that is one with all of this name, else NULL */
};

struct agg_elem {
	struct agg_key *keys;
	uint32_t nkeys;
	/* Merged state: count/sum/min/max: [0]; avg: count, sum; stddev: count, sum, sumsq low,
	 * high; histograms: nbuckets counts. */
	int64_t *state;
	bool touched; /* false after clear(): prints as 0 */
	/* Option aggpercpu: the states of that many CPUs, one after another behind the merged one;
	 * else 0. */
	uint32_t ncpus;
};

struct agg_view { /* one aggregation */
	const struct prog_agg *agg;
	const struct agg_layout *layout;
	struct agg_elem **elems;
	uint32_t nelems;
	uint64_t normal; /* >= 1 */
	bool printed;	 /* by some printa(): left out at the end of the run */
};

struct agg_sort {
	bool key, rev;	      /* aggsortkey, aggsortrev */
	uint32_t keypos, pos; /* aggsortkeypos, aggsortpos */
};

struct syms;

struct aggs *aggs_create(const struct layout *l, const struct kmaps *m);
void aggs_destroy(struct aggs *a); /* NULL is allowed */
/* Symbol keys are reduced to their function or object, kernel stacks begin where the probe is. The
 * handle stays the caller's. */
void aggs_set_syms(struct aggs *a, struct syms *syms);
/* Stacks of the same name are one key. f writes the name; to be set before the first snapshot. */
typedef void agg_stack_name_f(void *arg, enum datum_kind kind, const char *bytes, uint32_t size,
			      struct strbuf *out);
void aggs_merge_stacks(struct aggs *a, agg_stack_name_f *f, void *arg);
/* From the next snapshot on elements keep what each CPU has. */
void aggs_keep_percpu(struct aggs *a, bool keep);
/* No probe fires any more: the next snapshot is the last one, and nothing has to be taken out of the kernel. */
void aggs_set_quiet(struct aggs *a);
MUST_CHECK struct err *aggs_snap(struct aggs *a);
struct agg_view *aggs_view(struct aggs *a, uint32_t agg_id);
/* Sorts the elements of a view in place by d-language.md 6.4.3. */
void agg_view_sort(struct agg_view *v, const struct agg_sort *how);
/* Joint printing (6.4.4): rows with equal keys side by side; a missing element is NULL. */
struct agg_row {
	struct agg_elem **elems; /* one per view */
};
void agg_join(struct agg_view *const *views, uint32_t n, const struct agg_sort *how,
	      struct arena *arena, struct agg_row **ret_rows, uint32_t *ret_nrows);

/* Takes off what the snapshot has: later increments count, also those before this call. */
MUST_CHECK struct err *aggs_clear(struct aggs *a, uint32_t agg_id);
MUST_CHECK struct err *aggs_trunc(struct aggs *a, uint32_t agg_id, int64_t n,
				  const struct agg_sort *how);
/* factor 0: EDT_BADNORMAL, and the factor is 1 */
MUST_CHECK struct err *aggs_normalize(struct aggs *a, uint32_t agg_id, uint64_t factor);
void aggs_denormalize(struct aggs *a, uint32_t agg_id);

/* The element as one CPU has it; keys are not filled. */
struct agg_elem agg_elem_of_cpu(const struct agg_view *v, const struct agg_elem *e, uint32_t cpu);
/* Printed value of count, sum, min, max, avg, stddev (after normalization). */
int64_t agg_value(const struct agg_view *v, const struct agg_elem *e);
/* Whether state is buckets, agg_value() meaningless. */
bool agg_is_histogram(const struct prog_agg *agg);
/* Label of a bucket: the bound of its values nearest to zero; of lquantize the lower bound, of its
 * underflow the upper one. Histograms of 5.5. */
int64_t agg_bucket_label(const struct agg_layout *l, uint32_t bucket);
/* Number of the bucket that is the row-th when all are listed by ascending value. */
uint32_t agg_row_bucket(const struct agg_layout *l, uint32_t row);
