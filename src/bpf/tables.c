/* SPDX-License-Identifier: MIT */
/* Tables for walks of user stacks: rows of files as trees of blocks, and ustack helpers. */
#include "bpf/tables.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>

#include "bpf/helper_code.h"
#include "kernel/map.h"

#define LEVEL_SHIFT 7	 /* of RT_UBLOCK */
#define TRIES	    1000 /* of elem_set() */
#define PART	    16	 /* blocks added between two pauses */

_Static_assert(1u << LEVEL_SHIFT == RT_UBLOCK, "LEVEL_SHIFT");

struct tables {
	struct stack_tables public;
	struct kmaps *maps;
	struct ring_buffer *ring; /* of requests */
	stack_request_f *func;	  /* of the current call of requests() */
	void *arg;
};

/*
 * Sets an element, trying several times: the kernel takes elements from a small cache of this CPU,
 * which an interrupt refills, sometimes a moment too late (Linux kernel/bpf/memalloc.c).
 */
static int elem_set(int fd, const void *key, const void *value)
{
	int sys = map_put(fd, key, value);

	for (int i = 0; sys == ENOMEM && i < TRIES; i++) {
		(void)sched_yield(); /* always succeeds */
		sys = map_put(fd, key, value);
	}
	return sys;
}

/* ---- rows ------------------------------------------------------------------------------------ */

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
	sys = elem_set(m->fd[MAP_UBLOCKS], &key, &b);
	return sys ? err_sys(sys == E2BIG ? ENOSPC : sys, "cannot add an unwind table") : NULL;
}

static const struct kmaps *maps_of(void *ctx)
{
	return ((const struct tables *)ctx)->maps;
}

static void tree_remove(void *ctx, uint32_t tree, uint32_t nrows)
{
	const struct kmaps *m = maps_of(ctx);
	uint32_t nblocks = (nrows + RT_UBLOCK - 1) / RT_UBLOCK;

	for (uint32_t level = 0; nblocks && level < RT_UTREE_LEVELS; level++) {
		for (uint32_t n = 0; n < nblocks; n++) {
			uint64_t key = RT_UBLOCK_KEY(tree, level, n);

			map_remove(m->fd[MAP_UBLOCKS], &key);
		}
		if (nblocks == 1)
			return;
		nblocks = (nblocks + RT_UBLOCK - 1) / RT_UBLOCK;
	}
}

static struct err *tree_add(void *ctx, uint32_t tree, const struct unwind_rows *rows,
			    const struct image_pause *pause, uint32_t *ret_nlevels)
{
	uint32_t nblocks = (rows->rows.len + RT_UBLOCK - 1) / RT_UBLOCK, level = 0;
	struct err *e = NULL;

	for (; nblocks && !e; level++) {
		if (level == RT_UTREE_LEVELS) {
			e = err_sys(ENOSPC, "cannot add an unwind table");
			break;
		}
		for (uint32_t n = 0; n < nblocks && !e; n++) {
			e = block_add(maps_of(ctx), tree, rows, level, n);
			if (!e && n % PART == PART - 1)
				image_pause_run(pause);
		}
		if (nblocks == 1) {
			level++;
			break;
		}
		nblocks = (nblocks + RT_UBLOCK - 1) / RT_UBLOCK;
	}
	if (e) {
		tree_remove(ctx, tree, rows->rows.len);
		return e;
	}
	*ret_nlevels = level;
	return NULL;
}

/* ---- files ----------------------------------------------------------------------------------- */

static struct err *file_set(void *ctx, const struct rt_ufile_key *key, struct rt_ufile file)
{
	int sys = elem_set(maps_of(ctx)->fd[MAP_UFILES], key, &file);

	return sys ? err_sys(sys, "cannot add a file to the unwind tables") : NULL;
}

static bool file_read(void *ctx, const struct rt_ufile_key *key, struct rt_ufile *ret)
{
	return map_get(maps_of(ctx)->fd[MAP_UFILES], key, ret);
}

static void file_forget(void *ctx, const struct rt_ufile_key *key)
{
	map_remove(maps_of(ctx)->fd[MAP_UFILES], key);
}

/* ---- requests -------------------------------------------------------------------------------- */

static int on_request(void *ctx, void *data, size_t size)
{
	const struct tables *t = ctx;

	if (size >= sizeof(struct rt_ureq))
		t->func(t->arg, data);
	return 0;
}

static void requests_read(void *ctx, stack_request_f *f, void *arg)
{
	struct tables *t = ctx;

	t->func = f;
	t->arg = arg;
	(void)ring_buffer__consume(t->ring); /* fails only if on_request() does */
}

/* ---- helpers --------------------------------------------------------------------------------- */

static struct err *process_set(void *ctx, uint64_t key, const struct rt_hproc *hp)
{
	int sys = map_put(maps_of(ctx)->fd[MAP_HPROCS], &key, hp);

	return sys ? err_sys(sys, "cannot attach a ustack helper") : NULL;
}

static void process_forget(void *ctx, uint64_t key)
{
	map_remove(maps_of(ctx)->fd[MAP_HPROCS], &key);
}

static uint64_t process_bare(void *ctx, uint64_t key)
{
	const int fd = maps_of(ctx)->fd[MAP_HPROCS];
	CLEANUP(free) struct rt_hproc *hp = xmalloc(sizeof(*hp));

	key = RT_HELPER_BARE_KEY(key);
	if (!map_get(fd, &key, hp))
		return 0;
	map_remove(fd, &key);
	return hp->globals[0];
}

static void runtime_file_set(void *ctx, const struct rt_ufile_key *key, const struct rt_hfile *file)
{
	const struct kmaps *m = maps_of(ctx);

	if (!map_put(m->fd[MAP_HFILES], key, file))
		m->control->has_constants = 1;
}

static void constants_set(void *ctx, const struct rt_hconst_key *key,
			  const struct rt_hconst *constants)
{
	const int fd = maps_of(ctx)->fd[MAP_HCONSTS];

	if (constants)
		(void)map_put(fd, key, constants);
	else
		map_remove(fd, key);
}

static enum helper_code_state code_work(void *ctx, struct helper_code *c, struct err **ret_err)
{
	return helper_code_work(c, maps_of(ctx), ret_err);
}

static const struct stack_tables_ops tables_ops = {
	.tree_add = tree_add,
	.tree_remove = tree_remove,
	.file_set = file_set,
	.file_read = file_read,
	.file_forget = file_forget,
	.requests = requests_read,
	.process_set = process_set,
	.process_forget = process_forget,
	.process_bare = process_bare,
	.runtime_file_set = runtime_file_set,
	.constants_set = constants_set,
	.code_work = code_work,
	.code_end = helper_code_end,
};

/* ---- beginning and end ----------------------------------------------------------------------- */

struct err *tables_create(struct kmaps *m, struct tables **ret)
{
	struct tables *t = xcalloc(1, sizeof(*t));

	t->maps = m;
	t->public = (struct stack_tables){.ops = &tables_ops,
					  .ctx = t,
					  .control = m->control,
					  .helper_words = m->hcode,
					  .request_fd = m->fd[MAP_UREQ],
					  .map_fds = m->fd};
	t->ring = ring_buffer__new(m->fd[MAP_UREQ], on_request, t, NULL);
	if (!t->ring) {
		struct err *e = err_sys(errno, "cannot map the requests for unwind tables");

		tables_destroy(t);
		return e;
	}
	*ret = t;
	return NULL;
}

void tables_destroy(struct tables *t)
{
	if (!t)
		return;
	ring_buffer__free(t->ring);
	free(t);
}

const struct stack_tables *tables_public(const struct tables *t)
{
	return &t->public;
}
