/* SPDX-License-Identifier: MIT */
/* Puts unwind rows into the kernel, as trees of blocks. */
#include "bpf/unwind.h"

#include <errno.h>
#include <sched.h>

#define LEVEL_SHIFT 7	 /* of RT_UBLOCK */
#define TRIES	    1000 /* of map_set() */
#define PART	    16	 /* blocks added between two pauses */

_Static_assert(1u << LEVEL_SHIFT == RT_UBLOCK, "LEVEL_SHIFT");

/*
 * Sets an element, trying several times: the kernel takes elements from a small cache of this CPU,
 * which an interrupt refills, sometimes a moment too late (Linux kernel/bpf/memalloc.c).
 */
static int map_set(int fd, const void *key, const void *value)
{
	union bpf_attr attr = {.map_fd = (uint32_t)fd,
			       .key = (uint64_t)(uintptr_t)key,
			       .value = (uint64_t)(uintptr_t)value};

	for (int i = 0; sys_bpf(BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr)) != 0; i++) {
		if (errno != ENOMEM || i == TRIES)
			return errno;
		(void)sched_yield(); /* always succeeds */
	}
	return 0;
}

static void map_delete(int fd, const void *key)
{
	union bpf_attr attr = {.map_fd = (uint32_t)fd, .key = (uint64_t)(uintptr_t)key};

	(void)sys_bpf(BPF_MAP_DELETE_ELEM, &attr, sizeof(attr)); /* it may not exist */
}

uint32_t utree_nblocks(uint32_t nrows)
{
	uint32_t n = 0;

	while (nrows > 1 || (nrows && !n)) {
		nrows = (nrows + RT_UBLOCK - 1) / RT_UBLOCK;
		n += nrows;
	}
	return n;
}

/* Adds block n of a level: the first addresses of every step-th row. */
static struct err *block_add(const struct kmaps *m, uint32_t tree, const struct unwind_rows *rows,
			     uint32_t level, uint32_t n)
{
	uint64_t key = RT_UBLOCK_KEY(tree, level, n), step = (uint64_t)1 << (LEVEL_SHIFT * level);
	struct rt_ublock b = {0};
	int sys;

	for (uint32_t i = 0; i < RT_UBLOCK; i++) {
		uint64_t at = ((uint64_t)n * RT_UBLOCK + i) * step;

		b.off[i] = at < rows->rows.len ? rows->rows.data[at].off : UINT32_MAX;
		if (at < rows->rows.len && level == 0)
			b.rule[i] = unwind_row_rule(&rows->rows.data[at]);
	}
	sys = map_set(m->fd[MAP_UBLOCKS], &key, &b);
	return sys ? err_sys(sys == E2BIG ? ENOSPC : sys, "cannot add an unwind table") : NULL;
}

void utree_remove(const struct kmaps *m, uint32_t tree, uint32_t nrows)
{
	uint32_t nblocks = (nrows + RT_UBLOCK - 1) / RT_UBLOCK;

	for (uint32_t level = 0; nblocks && level < RT_UTREE_LEVELS; level++) {
		for (uint32_t n = 0; n < nblocks; n++) {
			uint64_t key = RT_UBLOCK_KEY(tree, level, n);

			map_delete(m->fd[MAP_UBLOCKS], &key);
		}
		if (nblocks == 1)
			return;
		nblocks = (nblocks + RT_UBLOCK - 1) / RT_UBLOCK;
	}
}

struct err *utree_add(const struct kmaps *m, uint32_t tree, const struct unwind_rows *rows,
		      const struct unwind_pause *pause, uint32_t *ret_nlevels)
{
	uint32_t nblocks = (rows->rows.len + RT_UBLOCK - 1) / RT_UBLOCK, level = 0;
	struct err *e = NULL;

	for (; nblocks && !e; level++) {
		if (level == RT_UTREE_LEVELS) {
			e = err_sys(ENOSPC, "cannot add an unwind table");
			break;
		}
		for (uint32_t n = 0; n < nblocks && !e; n++) {
			e = block_add(m, tree, rows, level, n);
			if (!e && n % PART == PART - 1)
				pause->func(pause->ctx);
		}
		if (nblocks == 1) {
			level++;
			break;
		}
		nblocks = (nblocks + RT_UBLOCK - 1) / RT_UBLOCK;
	}
	if (e) {
		utree_remove(m, tree, rows->rows.len);
		return e;
	}
	*ret_nlevels = level;
	return NULL;
}

struct err *ufile_set(const struct kmaps *m, const struct rt_ufile_key *key, struct rt_ufile file)
{
	int sys = map_set(m->fd[MAP_UFILES], key, &file);

	return sys ? err_sys(sys, "cannot add a file to the unwind tables") : NULL;
}

bool ufile_read(const struct kmaps *m, const struct rt_ufile_key *key, struct rt_ufile *ret)
{
	union bpf_attr attr = {.map_fd = (uint32_t)m->fd[MAP_UFILES],
			       .key = (uint64_t)(uintptr_t)key,
			       .value = (uint64_t)(uintptr_t)ret};

	return sys_bpf(BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)) == 0;
}

void ufile_forget(const struct kmaps *m, const struct rt_ufile_key *key)
{
	map_delete(m->fd[MAP_UFILES], key);
}
