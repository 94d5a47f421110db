/* SPDX-License-Identifier: MIT */
/*
 * The parts of libusdt.
 *
 * A provider publishes its probes as an ELF file in memory (image.c): one stub per probe, which
 * consists of an instruction that does nothing and a return; a counter per probe; and notes that
 * describe both. The process maps the file (object.c), so tracers find it as they find the notes
 * of programs and libraries: they read the files that the process maps. The kernel places uprobes
 * on the stubs and counts consumers in the counters.
 *
 * A region is memory for the counters of up to SLOTS probes. Its address never changes and it is
 * never unmapped, so whoever still has the address of a probe may read its counter at any time:
 *
 *     base                          base + HALF                      base + 2 * HALF
 *     | struct region_head          | counters: 16 bits per slot     |
 *
 * Regions are aligned to their size. So the address of a counter, which is what usdt_probe_t *
 * is, leads to the head of its region, and firing needs no other memory. While the provider is
 * enabled, the pages of the counters are a private mapping of the file; otherwise they are zeros.
 *
 * The stubs of a file are unmapped when the provider is disabled. The head counts the threads that
 * are between reading the address of the stubs and returning from one, and the last of these
 * threads unmaps the stubs if usdt_provider_disable() could not.
 *
 * Threads  one lock protects everything but the atomic members of struct region_head.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define USDT_NO_INLINE
#include "usdt.h"

#define SLOTS	  32768
#define HALF	  ((uintptr_t)65536)
#define STUB_SIZE 16
#define NOTE_ARGS 12 /* a note describes at most these */

struct region_head {
	_Atomic(uintptr_t) stubs; /* 0: the provider is disabled */
	_Atomic uint32_t nfiring; /* threads that may be in a stub */
	_Atomic bool has_garbage; /* the last of these threads has to unmap stubs */
	_Atomic uint8_t argc[SLOTS];
};

/* A file that the process maps. */
struct object {
	struct object *next;
	int fd; /* -1: the file has no descriptor any more */
	dev_t dev;
	ino_t ino;
	void *stubs;
	size_t stubs_size;
};

struct region {
	struct region *next, *published;
	struct region_head *head;
	struct provider *provider; /* NULL: the region is free */
	struct probedef *defs[SLOTS];
	uint32_t nused;
	uint32_t nslots;	/* up to the last one in use */
	struct object *object;	/* NULL: disabled */
	struct object *garbage; /* objects whose stubs may still be executed */
};

struct probedef {
	usdt_probedef_t pub; /* the first member */
	struct provider *provider;
	struct region *region;
	uint32_t slot;
	bool is_users; /* the caller of usdt_create_probe() has not released it */
};

struct provider {
	usdt_provider_t pub; /* the first member */
	void *tree;	     /* the probes by name and function (tsearch()) */
	char text[256];	     /* of pub.error */
};

/* ---- image.c --------------------------------------------------------------------------------- */

struct image {
	uint8_t *data;
	size_t size;
	size_t stubs_off, stubs_size; /* in the file; multiples of the page size */
	size_t counters_off, counters_size;
};

/* Says how large the executable part of the image of a region will be. */
size_t image_stubs_size(uint32_t nslots);
/* Makes the file for a region whose stubs will be mapped at the address; false: out of memory. */
bool image_make(const struct region *r, uintptr_t stubs, struct image *ret);

/* ---- dof.c ----------------------------------------------------------------------------------- */

struct bytes;

/* Adds a description of the region's probes; false: out of memory. */
bool dof_add(struct bytes *out, const struct region *r);

/* ---- object.c -------------------------------------------------------------------------------- */

/* Publishes the probes of a region; -1 and a message otherwise. */
int object_publish(struct region *r, char *message, size_t size);
void object_withdraw(struct region *r);
/* Unmaps the stubs that no thread executes any more. */
void garbage_unmap(struct region *r);

/* ---- region.c -------------------------------------------------------------------------------- */

extern struct region *region_list;

/* Gives a probe the slot of a region that is not published; false: out of memory. */
bool slot_take(struct provider *pv, struct probedef *def);
void slot_release(struct probedef *def);
void region_release(struct region *r);

/* ---- provider.c ------------------------------------------------------------------------------ */

bool lock_try(void);
void lock_release(void);
