/* SPDX-License-Identifier: MIT */
#pragma once

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "unwind/tables.h"

/* An engine's tables that remember what they were told. */
struct fake {
	struct stack_tables public;
	struct {
		struct rt_ufile_key key;
		struct rt_ufile file;
	} files[128];
	uint32_t nfiles;
	uint32_t ntrees; /* added and not removed */
	uint32_t last_removed, nrows_removed;
	bool is_full;
	struct rt_control control; /* last: it ends in an array */
};

static int fake_find(const struct fake *f, const struct rt_ufile_key *key)
{
	for (uint32_t i = 0; i < f->nfiles; i++)
		if (memcmp(&f->files[i].key, key, sizeof(*key)) == 0)
			return (int)i;
	return -1;
}

static struct err *fake_add(void *ctx, uint32_t tree, const struct unwind_rows *rows,
			    const struct image_pause *pause, uint32_t *ret_nlevels)
{
	struct fake *f = ctx;

	(void)tree, (void)pause;
	if (f->is_full)
		return err_sys(ENOSPC, "no room");
	f->ntrees++;
	*ret_nlevels = rows->rows.len > RT_UBLOCK ? 2 : 1;
	return NULL;
}

static void fake_remove(void *ctx, uint32_t tree, uint32_t nrows)
{
	struct fake *f = ctx;

	f->ntrees--;
	f->last_removed = tree;
	f->nrows_removed = nrows;
}

static struct err *fake_set(void *ctx, const struct rt_ufile_key *key, struct rt_ufile file)
{
	struct fake *f = ctx;
	int i = fake_find(f, key);

	if (i < 0)
		i = (int)f->nfiles++;
	f->files[i].key = *key;
	f->files[i].file = file;
	return NULL;
}

static bool fake_read(void *ctx, const struct rt_ufile_key *key, struct rt_ufile *ret)
{
	const struct fake *f = ctx;
	int i = fake_find(f, key);

	if (i >= 0)
		*ret = f->files[i].file;
	return i >= 0;
}

static void fake_forget(void *ctx, const struct rt_ufile_key *key)
{
	struct fake *f = ctx;
	int i = fake_find(f, key);

	if (i >= 0)
		f->files[i] = f->files[--f->nfiles];
}

static uint64_t fake_bare(void *ctx, uint64_t key)
{
	(void)ctx, (void)key;
	return 0;
}

static void fake_process_forget(void *ctx, uint64_t key)
{
	(void)ctx, (void)key;
}

static void fake_runtime_file_set(void *ctx, const struct rt_ufile_key *key,
				  const struct rt_hfile *file)
{
	(void)ctx, (void)key, (void)file;
}

static enum helper_code_state fake_code_work(void *ctx, struct helper_code *c, struct err **ret_err)
{
	(void)ctx, (void)c, (void)ret_err;
	return HELPER_CODE_IDLE;
}

static void fake_code_end(struct helper_code *c)
{
	(void)c;
}

/* A test of helpers adds process_set, and constants_set where these are learned. */
static const struct stack_tables_ops fake_ops = {.tree_add = fake_add,
						 .tree_remove = fake_remove,
						 .file_set = fake_set,
						 .file_read = fake_read,
						 .file_forget = fake_forget,
						 .process_forget = fake_process_forget,
						 .process_bare = fake_bare,
						 .runtime_file_set = fake_runtime_file_set,
						 .code_work = fake_code_work,
						 .code_end = fake_code_end};
