/* SPDX-License-Identifier: MIT */
/*
 * The inside of the handle struct aggs (agg.h): elements, the texts of their keys, and what clear()
 * and trunc() have taken off.
 *
 *     snap.c         reads the maps of the kernel, and adds up the CPUs
 *     text.c         strings and stacks of keys, by their hashes
 *     frame_texts.c  texts that helpers have made of frames, by their hashes
 *     value.c        states: sums, extremes, buckets
 *     base.c         the part of a state that clear() or trunc() has taken off
 *     alive.c        what live() follows
 *     take.c         takes elements out of the kernel's maps
 *     control.c      clear(), trunc(), normalize()
 *     order.c        sorting
 *
 * Owns     views, elements and states lie in the arena of the snapshot, and are valid until the
 *          next one. Texts, bases and tables live as long as the handle.
 * Units    times in ns of CLOCK_MONOTONIC; states in words of 8 bytes (agg_state_len()).
 * Errors   struct err *: a map cannot be read. A lost text is none: it is shown as lost.
 */
#pragma once

#include "agg/agg.h"
#include "base/hashmap.h"
#include "base/str.h"
#include "base/vec.h"

struct raw_key { /* the key of a kernel element that was merged into an element */
	struct raw_key *next;
	int64_t *state; /* of that kernel element, all CPUs added up */
	uint8_t data[];
};

struct elem {
	struct agg_elem pub;
	struct raw_key *raws; /* NULL for a keyless aggregation */
	uint64_t since;	      /* of live(): agg_base_since(), once it is known */
	bool is_since_known;
	bool has_live; /* entries of the table are its own, though they may be too young */
};

static inline struct elem *elem_of(struct agg_elem *e)
{
	return CONTAINER_OF(e, struct elem, pub);
}

struct agg_slot { /* one aggregation */
	struct agg_view view;
	VEC(struct agg_elem *) elems;
	struct hashmap *by_keys; /* canonical keys -> struct elem, while a snapshot is read */
	struct hashmap *by_raw;	 /* of live(): keys of the kernel -> struct elem, meanwhile */
	struct hashmap *base;	 /* canonical keys -> struct base (base.c); NULL = none */
	uint64_t snap_at;	 /* when the present snapshot began */
	uint64_t cleared_at;	 /* of live(): what came before does not count */
	bool was_cleared;	 /* of min, max: a value of zero may mean none since clear() */
	bool has_removed;	 /* elements that wait for aggs_drop_removed() */
	bool is_shown_empty;	 /* of a keyless one: clear() leaves it shown */
};

/* ---- text.c -------------------------------------------------------------------------------- */

/* A key string, or a key stack as it is printed. */
struct key_text {
	uint64_t seen;	       /* number of the last snapshot that had it in a key */
	uint64_t deleted_at;   /* when it was deleted from the kernel's table; 0 = not */
	bool is_raw;	       /* a stack as it was recorded: struct rt_stack */
	const char *name;      /* of a stack, if stacks of one name are one key, else NULL */
	uint64_t time;	       /* of a stack: when it was first recorded */
	enum datum_kind datum; /* of a stack: DATUM_STACK or DATUM_USTACK */
	uint32_t size;
	char bytes[]; /* and a NUL */
};

struct texts {
	struct hashmap *known[AGG_NSIDES]; /* u64 hash -> struct key_text */
	uint32_t sweep_at[AGG_NSIDES];	   /* known: the next sweep is due */
	uint32_t room[AGG_NSIDES];	   /* entries in the kernel's table */
	uint64_t snap;			   /* number of the present snapshot, and when it began */
	uint64_t snap_at;
	uint64_t drops_seen, search_at, search_pause; /* for entries that no key has */
	uint64_t made_seen;			      /* agg_io.made at the last search */
	uint64_t nlost, ntold; /* stacks that could not be shown; of them, told */
	uint64_t ndeleted;     /* entries of the kernel's tables, until now */
	uint32_t nmisses;      /* strings that were not known, in this snapshot */
};

struct aggs;

void texts_init(struct texts *t, const struct agg_io *io, void *ctx);
void texts_deinit(struct texts *t);
/* A snapshot begins: what is found from now on is in use. */
void texts_begin(struct texts *t);
/* The snapshot has seen all keys: forgets what none of them has. */
void texts_bound(struct aggs *a);
/*
 * Returns the text of a string's hash, valid until the next snapshot; "<lost string ...>" if the
 * kernel has it no longer.
 */
const char *text_of_string(struct aggs *a, uint64_t hash);
/* Returns a stack by its hash, valid until the next snapshot; NULL: the kernel has it no longer. */
const struct key_text *text_of_stack(struct aggs *a, uint64_t hash);

/* ---- frame_texts.c --------------------------------------------------------------------------- */

struct frame_texts {
	struct hashmap *young, *old; /* u64 hash -> text of a frame */
	uint32_t nread;		     /* texts read from the kernel since the last eviction */
};

void frame_texts_init(struct frame_texts *n);
void frame_texts_deinit(struct frame_texts *n);
const char *frame_texts_find(struct frame_texts *n, uint64_t hash); /* NULL: it is not known */
/* Makes known all texts of frames that the kernel has, and deletes them there. */
void frame_texts_evict(struct aggs *a);

/* ---- alive.c --------------------------------------------------------------------------------- */

struct followed { /* an entry of the table that is checked */
	struct rt_live_key key;
	uint64_t time, expected;
	bool is_gone;
	bool is_counted; /* as gone, by this snapshot or one before */
};

struct alive {
	struct hashmap *execs; /* process id -> u64 time of its last exec */
	uint64_t least_age;
	struct live_check check;
	struct live_checked checked;
	VEC(struct followed) followed, before; /* of the last snapshot, by process and address */
};

struct alive_key { /* an entry of the table */
	struct rt_live_key key;
	uint64_t time;
};

/* Returns the element with the kernel's key; the snapshot makes it if it has none. */
typedef struct agg_elem *alive_elem_f(void *arg, struct agg_slot *slot, const uint8_t *key);

void alive_init(struct alive *v);
void alive_deinit(struct alive *v);
/* Adds what is alive to the elements of the snapshot. */
MUST_CHECK struct err *alive_snap(struct aggs *a, alive_elem_f *get, void *arg);
/* livecheck.c: finds out which entries of the table are no objects any more. */
MUST_CHECK struct err *livecheck_make(struct aggs *a, alive_elem_f *get, void *arg);
bool livecheck_is_gone(const struct alive *v, const struct rt_live_key *key, uint64_t time);
/* Counts an entry that is gone, unless a snapshot before has counted it. */
void livecheck_count(struct alive *v, const struct alive_key *k);
/* Whether the element is shown: one of live() only if something is alive, or was not followed. */
bool alive_is_shown(const struct agg_slot *slot, const struct agg_elem *e);
/* Whether an element with a key has nothing: not even what is too young to be shown. */
bool alive_is_gone(const struct agg_slot *slot, struct agg_elem *e);

/* ---- the handle ---------------------------------------------------------------------------- */

struct aggs {
	const struct layout *layout;
	const struct agg_io *io;
	void *ctx;
	struct agg_slot *slots;
	uint32_t nslots;
	struct arena *arena;		/* of the snapshot */
	struct texts texts;		/* strings and stacks of keys */
	struct frame_texts frame_texts; /* texts of frames */
	struct alive alive;		/* what live() has to know */
	uint32_t *map_elems;		/* by map: how many elements the snapshot found */
	/*
	 * How long an element that trunc() has removed stays in the kernel, hidden, while nothing
	 * is added to it and its map has room.
	 */
	uint64_t idle_ns;
	bool keeps_percpu;
	bool is_quiet;		      /* no probe fires any more */
	bool is_final;		      /* a snapshot has been taken since is_quiet was set */
	agg_stack_name_f *stack_name; /* NULL = stacks are told apart by addresses */
	void *stack_name_arg;
	struct syms *syms; /* the caller's; NULL = addresses have no names */
};

/* ---- value.c ------------------------------------------------------------------------------- */

/* Returns the number of words of a merged state. */
uint32_t agg_state_len(const struct agg_layout *l);
/* Fills the states of an element that no CPU has touched. */
void agg_elem_init(const struct agg_layout *l, struct agg_elem *e);
/* Returns the state of one CPU, if aggs.keeps_percpu. */
int64_t *agg_state_of_cpu(const struct agg_layout *l, const struct agg_elem *e, uint32_t cpu);
/* Adds the part of one CPU, in the form in which the kernel stores it, to a merged state. */
void agg_state_add_raw(const struct agg_layout *l, int64_t *state, const uint8_t *raw);

/* Returns the minimum or maximum of no values at all: the neutral element of min or max. */
int64_t agg_neutral(const struct agg_layout *l);

/* What sorting by value compares: first val, then tie (6.4.3). */
struct agg_weight {
	long double val, tie;
};
struct agg_weight agg_weight(const struct agg_layout *l, const struct agg_elem *e);

/* ---- base.c -------------------------------------------------------------------------------- */

/* True if states are sums, so that one can be subtracted from another; min and max are not. */
bool agg_is_additive(const struct prog_agg *agg);
/* Subtracts less from state; only for functions whose states are sums. */
void agg_state_sub(const struct agg_layout *l, int64_t *state, const int64_t *less);
/* Makes the element's present state its base: it does not count from now on. */
void agg_base_add(struct agg_slot *slot, struct agg_elem *e);
/* The same; the element is hidden until something is added to it. */
void agg_base_hide(struct agg_slot *slot, struct agg_elem *e);
/*
 * Adds a state whose element in the kernel is gone, so that totals continue; for a sparse histogram
 * it is the state of one bucket.
 */
void agg_base_carry(struct agg_slot *slot, struct agg_elem *e, const int64_t *state,
		    uint32_t bucket);
/*
 * Forgets the base of an element that was deleted from the kernel, whose counting begins at zero
 * again.
 */
void agg_base_remove(struct agg_slot *slot, struct agg_elem *e);
/*
 * Turns the state in the kernel into the state that counts. Returns when the element was hidden
 * (now_ns()), if nothing was added to it since; else 0.
 */
uint64_t agg_base_apply(struct agg_slot *slot, struct agg_elem *e);
/* When clear() or trunc() was last called for the element; 0: never. */
uint64_t agg_base_since(const struct agg_slot *slot, const struct agg_elem *e);
void agg_base_deinit(struct agg_slot *slot);

/* ---- control.c ------------------------------------------------------------------------------ */

/* Whether hidden elements may stay in the map: they occupy it until a snapshot deletes them. */
bool agg_has_room(const struct aggs *a, uint32_t map);

/* ---- take.c -------------------------------------------------------------------------------- */

/* The size of the state of one kernel element: of all its words, or of one bucket. */
size_t raw_state_size(const struct agg_layout *l);
void raw_state_init(const struct agg_layout *l, int64_t *state);
/* Adds the part of one CPU. */
void raw_state_add(const struct agg_layout *l, int64_t *state, const uint8_t *raw);
/*
 * Subtracts what the snapshot has seen of an element, and keeps what came since. With keeps_key the
 * element remains even if nothing is left.
 */
MUST_CHECK struct err *elem_take(struct aggs *a, struct agg_slot *slot, struct agg_elem *e,
				 bool keeps_key);
/* Finds out whether something was added to the element since the snapshot. */
MUST_CHECK struct err *elem_is_active(struct aggs *a, const struct agg_slot *slot,
				      struct agg_elem *e, bool *ret_active);

/* ---- order.c ------------------------------------------------------------------------------- */

/* Writes a text that is equal for two elements exactly if their keys are equal. */
void agg_keys_canon(const struct agg_elem *e, struct strbuf *out);
