/* SPDX-License-Identifier: MIT */
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
#include "record/layout.h"
#include "probe/engine.h"

struct aggs;

/* A decoded key. */
struct agg_key {
	enum datum_kind datum;
	/*
	 * Bytes of the key. DATUM_INT: 1, 2, 4 or 8; DATUM_STRING: without the NUL. A DATUM_STACK
	 * consists of addresses, a DATUM_USTACK of the process id and addresses.
	 */
	uint32_t size;
	bool is_signed;
	bool is_own;	   /* the text is the program's own (dif/own.h) */
	uint64_t ival;	   /* DATUM_INT, extended by is_signed */
	const char *bytes; /* all other kinds; strings are NUL-terminated */
	const char *name;  /* stacks with this name are one key (aggs_merge_stacks()); else NULL */
	uint64_t time;	   /* stacks: when one of them was first recorded; 0: unknown */
};

/* The words of the state of live(). */
enum live_word {
	LIVE_COUNT,
	LIVE_BYTES,
	LIVE_AGE,	 /* of the oldest, in ns */
	LIVE_LOST,	 /* how many found no room in the table, and are not counted */
	LIVE_LOST_BYTES, /* and their bytes */
	LIVE_WORDS
};

struct agg_elem {
	struct agg_key *keys;
	uint32_t nkeys;
	/* Merged state: count/sum/min/max: [0]; avg: count, sum; stddev: count, sum, sumsq low,
	 * high; live: enum live_word; histograms: nbuckets counts. */
	int64_t *state;
	bool touched;	 /* false after clear(): prints as 0 */
	bool is_removed; /* by aggs_remove_elem() */
	/*
	 * Option aggpercpu: number of CPUs whose states follow the merged state, one after another;
	 * else 0.
	 */
	uint32_t ncpus;
};

struct agg_view { /* one aggregation */
	const struct prog_agg *agg;
	const struct agg_layout *layout;
	struct agg_elem **elems;
	uint32_t nelems;
	uint64_t normal; /* >= 1 */
	bool printed;	 /* printa() has printed it, so the end of the run does not */
};

struct agg_sort {
	bool key, rev;	      /* aggsortkey, aggsortrev */
	bool greatest_first;  /* values fall, keys of equal values rise; then neither of the two */
	uint32_t keypos, pos; /* aggsortkeypos, aggsortpos */
};

struct syms;

/* io: of the engine that runs the clauses; ctx is handed to it. */
struct aggs *aggs_create(const struct layout *l, const struct agg_io *io, void *ctx);
void aggs_destroy(struct aggs *a); /* NULL is allowed */
/*
 * Lets snapshots use symbols: keys of func() and mod() become one key for each function or object,
 * and kernel stacks begin at the probe. The caller keeps syms.
 */
void aggs_set_syms(struct aggs *a, struct syms *syms);
/*
 * Makes stacks with the same name one key; f writes the name. time is when the stack was first
 * recorded. To be called before the first snapshot.
 */
typedef void agg_stack_name_f(void *arg, enum datum_kind kind, const char *bytes, uint32_t size,
			      uint64_t time, struct strbuf *out);
void aggs_merge_stacks(struct aggs *a, agg_stack_name_f *f, void *arg);
/* If keep is true, elements have the state of each CPU, too, from the next snapshot on. */
void aggs_keep_percpu(struct aggs *a, bool keep);
/*
 * Tells that no probe fires any more: the next snapshot is the last, and no element need be deleted
 * from the kernel.
 */
void aggs_set_quiet(struct aggs *a);
/* live() counts only what is at least so old, from the next snapshot on. */
void aggs_set_livemin(struct aggs *a, uint64_t ns);
/*
 * How live() finds out whether an object is still there that may go without a dead(): the word at
 * `offset` of it, in its process, is the last key of its row, or the address of a class from which
 * the words at `base` lead to that key. Rows whose last key is no integer of 8 bytes are not
 * checked, nor are objects of the kernel.
 */
enum live_memory {
	LIVE_MEMORY_READ,
	LIVE_MEMORY_NONE,    /* the process has no memory there */
	LIVE_MEMORY_UNKNOWN, /* the process has ended, or a file server does not answer */
};
struct live_check {
	bool is_on, has_base;
	uint32_t offset, base;
	/* Reads at most LIVE_READ_MAX bytes of a process's memory. */
	enum live_memory (*read)(void *arg, uint64_t pid, uint64_t addr, void *to, size_t size);
	void *arg;
};
#define LIVE_READ_MAX 65536u
/* From the next snapshot on, each checks the objects; what is gone leaves the table. */
void aggs_set_livecheck(struct aggs *a, const struct live_check *check);
struct live_checked {
	uint64_t ngone;	   /* objects that were not there any more, until now; each once */
	uint64_t nunknown; /* of the last snapshot: those that could not be checked, and count */
};
struct live_checked aggs_live_checked(const struct aggs *a);
/* A process executes another program: the objects at its addresses went at that time. */
void aggs_note_exec(struct aggs *a, uint64_t pid, uint64_t time);
MUST_CHECK struct err *aggs_snap(struct aggs *a);
/* Writes how many strings and stacks of keys are known, and left the kernel to make room. */
void aggs_describe(const struct aggs *a, struct strbuf *out);
struct agg_view *aggs_view(struct aggs *a, uint32_t agg_id);
/* Sorts the elements of a view in place by d-language.md 6.4.3. */
void agg_view_sort(struct agg_view *v, const struct agg_sort *how);
/* Joint printing (6.4.4): rows with equal keys side by side; a missing element is NULL. */
struct agg_row {
	struct agg_elem **elems; /* one per view */
};
void agg_join(struct agg_view *const *views, uint32_t n, const struct agg_sort *how,
	      struct arena *arena, struct agg_row **ret_rows, uint32_t *ret_nrows);

/*
 * Subtracts what the snapshot has seen; increments since the snapshot count, also those before this
 * call.
 */
MUST_CHECK struct err *aggs_clear(struct aggs *a, uint32_t agg_id);
MUST_CHECK struct err *aggs_trunc(struct aggs *a, uint32_t agg_id, int64_t n,
				  const struct agg_sort *how);
/* clear() and trunc() for one element of the snapshot. */
MUST_CHECK struct err *aggs_clear_elem(struct aggs *a, uint32_t agg_id, struct agg_elem *e);
/* The element stays in its view, and does not count, until aggs_drop_removed(). */
MUST_CHECK struct err *aggs_remove_elem(struct aggs *a, uint32_t agg_id, struct agg_elem *e);
/* Takes elements that were removed out of the views. */
void aggs_drop_removed(struct aggs *a);
/* factor 0: EDT_BADNORMAL, and the factor is 1 */
MUST_CHECK struct err *aggs_normalize(struct aggs *a, uint32_t agg_id, uint64_t factor);
void aggs_denormalize(struct aggs *a, uint32_t agg_id);

/*
 * Appends a text that the kernel's side keeps under a hash: the name of a frame (record/format.h,
 * RT_USTACK_NAME). False: it has none.
 */
bool aggs_text(struct aggs *a, uint64_t hash, struct strbuf *out);

/*
 * The stack that is a value (dif/prog.h, PROG_STACK_USER), as a key; valid until the next snapshot.
 * Id 0 is an empty stack. One that has left the table is a user stack of the mark RT_USTACK_GONE,
 * and is counted.
 */
struct agg_key aggs_stack(struct aggs *a, uint64_t id);
/* How many stacks could not be shown since the last call. */
uint64_t aggs_take_lost_stacks(struct aggs *a);
/* Whether the table of stacks fills: a snapshot makes room. Cheap to ask. */
bool aggs_needs_sweep(const struct aggs *a);

/* Returns the element with the state of one CPU; its keys are not filled. */
struct agg_elem agg_elem_of_cpu(const struct agg_view *v, const struct agg_elem *e, uint32_t cpu);
/* Printed value of count, sum, min, max, avg, stddev (after normalization). */
int64_t agg_value(const struct agg_view *v, const struct agg_elem *e);
/* True if the state consists of buckets, so that agg_value() has no meaning. */
bool agg_is_histogram(const struct prog_agg *agg);
/*
 * Returns the label of a bucket (d-language.md 5.5): the bound of its values that is nearest to
 * zero. lquantize() labels buckets with their lower bound, and its underflow bucket with the upper
 * one.
 */
int64_t agg_bucket_label(const struct agg_layout *l, uint32_t bucket);
/*
 * Returns the number of the bucket that is printed in that row, when all buckets are listed by
 * ascending value.
 */
uint32_t agg_row_bucket(const struct agg_layout *l, uint32_t row);
