/* SPDX-License-Identifier: MIT */
/*
 * What a tracer may have left in a process, for the files that look for it.
 *
 * Nothing that is shared with the process decides: neither the process nor a child of fork() is
 * trusted. A jump is known by the bytes of its file and by where it leads; who has locked a region,
 * by the kernel.
 *
 * Owns     leftover_deinit() frees what struct leftover has.
 * Threads  one.
 */
#pragma once

#include "patch/patch_impl.h"
#include "target/maps.h"

struct gate_file;

/* A jump, and the memory of the region that it leads into, which mirrors share. */
struct leftover_jump {
	uint64_t dev, ino, size;
	uint32_t jump; /* in leftover.jumps */
};

struct leftover {
	pid_t pid;
	struct gate *gate;
	struct proc_maps maps;
	int mem_fd; /* -1: it was not needed yet */
	/* Stops the search when it is not 0; NULL is allowed. */
	const atomic_int *is_interrupted;
	/* how many rows of tables, jumps and short jumps, and how many regions are looked at yet */
	uint32_t rows_left, regions_left;
	/* the file that was read last */
	const struct proc_map *map;
	struct gate_file *file;
	const char *unread; /* the path of a file that could not be read; NULL: there is none */
	/* The jumps into regions (jumps.c), ascending; has_jumps: they were searched for. */
	VEC(struct window_row) jumps;
	bool has_jumps;
	VEC(struct leftover_jump) by_region; /* the same, ascending by region */
};

void leftover_deinit(struct leftover *l);
/* Reads bytes of the file that is mapped there as code. Less than size at the end of the file. */
size_t leftover_file_read(struct leftover *l, taddr addr, uint8_t *to, size_t size);
/*
 * The head before the code of the region, or of the mirror, in which the address is: code in memory
 * without a file, right behind shared memory. NULL: it is in none.
 */
const struct proc_map *leftover_head_of(const struct leftover *l, taddr addr);
bool leftover_is_head(const struct proc_map *m); /* whether it may be one */

/*
 * Finds all jumps into regions: what differs from the files in the pages that the process has for
 * itself. An error if the code of the process is larger than any, or has more jumps than rows_left,
 * or cannot be looked at. Finds a part of them if it is interrupted.
 */
MUST_CHECK struct err *leftover_find_jumps(struct leftover *l);
bool leftover_is_interrupted(const struct leftover *l);

enum region_holder {
	REGION_FREE,  /* nobody had locked it, and we have now */
	REGION_USED,  /* its tracer lives */
	REGION_STUCK, /* its tracer is dead, and its lock stays */
};
/*
 * Locks the file of a region. Waits, if its tracer has ended, for the keeper, which takes windows
 * back, and for the kernel, which closes what they had after their end: for six seconds.
 */
enum region_holder region_lock(int region_fd);
