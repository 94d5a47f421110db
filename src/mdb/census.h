/* SPDX-License-Identifier: MIT */
/*
 * The result of a census of a language's objects, for the commands about these.
 *
 * Owns     everything in it; the debugger keeps one, which census_end() frees.
 * Errors   struct err *: the language's heap is not described, or the census was interrupted.
 * Units    addresses and sizes in bytes; an object takes 16 bytes here.
 */
#pragma once

#include "mdb/lang.h"

/* Bits of value_class.kinds; a file of values has others for itself. */
#define SHOWN_KIND 1u  /* objects that a census shows */
#define META_KIND  2u  /* classes of classes */
#define PART_KIND  4u  /* objects that are no values, but parts of one */
#define APART_KIND 64u /* of objects that have items elsewhere in memory */
#define LEADS_KIND                                                                                 \
	0x10000u /* of objects whose items may be values that no census has, with items */
#define TASK_KIND   0x20000u /* what the runtime has in place of threads */
#define PARKED_KIND 0x40000u /* what may stand parked, but is no task: generators */
#define ROOT_KIND   0x80000u /* of objects that a program has by their names, as modules */

#define METAS_MAX 64u

struct hashmap;
struct retained;

struct class
{
	struct value_class is;
	uint64_t addr, kind;
	uint32_t group; /* + 1; 0: none yet */
};

struct object_at {
	uint64_t addr;
	uint32_t class, words;
};

/* Classes whose objects have the same class name and properties. */
struct group {
	char *key;
	uint64_t n, bytes, first;
};

/* A value that is held by a variable of a frame. */
struct variable_root {
	uint64_t word;
	char *text; /* "pool in frame 3 of thread 4711: app.py:12 (main)" */
};

/* What a runtime has for a thread. */
struct census_thread {
	pid_t tid;
	uint64_t word;
};

struct census {
	struct lang lang;
	struct value_heap heap;
	VEC(struct class) classes;
	/* open addressing: index in classes + 1 */
	uint32_t *slots;
	uint32_t mask;
	uint64_t low, high; /* of the addresses of classes */
	uint64_t metas[METAS_MAX];
	uint32_t nmetas;
	VEC(struct object_at) objects; /* by their addresses */
	VEC(struct group) groups;
	value_words kept; /* the objects that the runtime keeps for itself, sorted (ukept()) */
	uint64_t nrefused;
	uint64_t end; /* of the mapping, or the spans, that are walked over */
	/* the piece of memory that is walked over */
	const uint64_t *piece;
	uint64_t piece_addr;
	uint32_t piece_words;
	uint64_t good[VALUE_RULES]; /* the last word for which a rule has held; 0: none */
	bool is_whole;		    /* it was not interrupted */
	struct retained *retained;  /* retained.c; NULL: not asked for yet */
	/* roots.c: the values that variables of frames have */
	VEC(struct variable_root) variables;
	bool has_variables; /* they have been searched */
	/* lang_threads.c: the thread + 1 of pages, and threads; NULL: not asked for yet */
	struct hashmap *owners;
	VEC(struct census_thread) threads;
	uint64_t nlost; /* bytes in spans that are no objects */
	uint32_t nnone; /* what was asked about as a class, and is none */
};

/* Makes the census at the first call. */
MUST_CHECK struct err *census_get(struct mdb *m, struct census **ret);
/* Whether an object begins in some memory. */
bool census_has_objects(const struct census *s, uint64_t start, uint64_t size);
/*
 * Adds the class of the objects of a group, "App::Worker" of "App::Worker: name, state"; of one that
 * has no name, what the runtime calls their kind. first: one of them.
 */
void census_class_add(const struct census *s, const struct group *g, uint64_t first,
		      struct strbuf *out);
/* The object around an address: the nearest that begins before it; NULL: there is none. */
const struct object_at *object_around(const struct census *s, uint64_t addr);
/* Memory that was read ahead of one object for those that follow it; free() the bytes. */
struct read_ahead {
	uint64_t addr, size, room;
	uint8_t *bytes;
};
/* Returns n words of an object, which stay until the next call; NULL: they cannot be read. */
const uint64_t *object_words(struct mdb *m, struct read_ahead *a, uint64_t addr, uint64_t n);
/* An error if the heap does not say to which threads objects belong. */
MUST_CHECK struct err *census_has_owners(const struct census *s);
/* The thread to which an object of such a heap belongs; 0: none. */
pid_t census_owner(struct mdb *m, struct census *s, const struct object_at *o);
void census_owners_free(struct census *s);
void retained_free(struct retained *r); /* NULL is allowed */
/* The word by which an object is named. */
static inline uint64_t object_word(const struct census *s, const struct object_at *o)
{
	return o->addr + s->heap.tag;
}
static inline uint64_t object_kinds(const struct census *s, const struct object_at *o)
{
	return s->classes.data[o->class].is.kinds;
}
