/* SPDX-License-Identifier: MIT */
/* Keeps the unwind tables in the kernel, and removes unused ones when room runs out. */
#include "unwind/utrees.h"

#include <inttypes.h>

#include "base/err.h"
#include "base/str.h"

#define KEYS_MAX     8192 /* the kernel's map has twice that, for files that are requested */
#define IDLE_EPOCHS  3	  /* tables that were used within so many epochs stay */
#define RETRY_EPOCHS 10
#define FAILED_RATE  50 /* failures in an epoch up to which a file may be requested again at once */
#define GIVEN_UP_MAX 1024

static uint32_t epoch_now(const struct utrees *t)
{
	return __atomic_load_n(&t->tables->control->epoch, __ATOMIC_RELAXED);
}

/* The next walk that meets the file asks for it again. */
static void key_forget(struct utrees *t, const struct rt_ufile_key *key)
{
	t->tables->ops->file_forget(t->tables->ctx, key);
}

/* The number of blocks that the tree of nrows rows has. */
static uint32_t rows_nblocks(uint32_t nrows)
{
	uint32_t n = 0;

	while (nrows > 1 || (nrows && !n)) {
		nrows = (nrows + RT_UBLOCK - 1) / RT_UBLOCK;
		n += nrows;
	}
	return n;
}

static void tell_full(struct utrees *t, const char *path, uint32_t nblocks)
{
	struct strbuf text = {0};

	if (t->is_full)
		return;
	t->is_full = true;
	strbuf_addf(&text,
		    "user stacks: the unwind table of '%s' (%" PRIu64
		    "k) does not fit into what unwindsize allows (%" PRIu64
		    "k): stacks through it and further files may be cut",
		    path, (uint64_t)nblocks * sizeof(struct rt_ublock) / 1024,
		    t->max_blocks * sizeof(struct rt_ublock) / 1024);
	t->notice(t->ctx, strbuf_text(&text));
	strbuf_deinit(&text);
}

/* ---- removing ------------------------------------------------------------------------------ */

static void file_free(struct wfile *f)
{
	vec_deinit(&f->keys);
	free(f->cut_path);
	free(f);
}

static void file_remove(struct utrees *t, struct wfile *f)
{
	for (uint32_t i = 0; i < f->keys.len; i++)
		key_forget(t, &f->keys.data[i]);
	t->nkeys -= f->keys.len;
	if (f->file.nlevels) {
		t->tables->ops->tree_remove(t->tables->ctx, f->file.tree, f->nrows);
		t->nblocks -= f->nblocks;
	}
	t->nrefused -= f->is_refused;
	t->ncut -= f->cut_path != NULL;
	hashmap_remove(t->files, &f->key, sizeof(f->key));
	file_free(f);
}

/* Returns how many epochs ago a walk has last looked the file up. */
static uint32_t idle_epochs(const struct utrees *t, const struct wfile *f, uint32_t now)
{
	uint32_t least = UINT32_MAX;

	for (uint32_t i = 0; i < f->keys.len; i++) {
		struct rt_ufile seen;

		if (t->tables->ops->file_read(t->tables->ctx, &f->keys.data[i], &seen))
			least = MIN(least, now - seen.used);
	}
	return least;
}

static int by_used(const void *pa, const void *pb)
{
	const struct wfile *a = *(struct wfile *const *)pa, *b = *(struct wfile *const *)pb;

	return a->used < b->used ? -1 : a->used > b->used;
}

static bool has_room(const struct utrees *t, uint64_t nblocks, uint64_t nkeys)
{
	return t->nblocks + nblocks <= t->max_blocks && t->nkeys + nkeys <= KEYS_MAX &&
	       hashmap_count(t->files) <= KEYS_MAX;
}

/*
 * Removes idle tables until there is room for so many blocks and keys, and an eighth more, so that
 * the next file does not need a search of its own. Returns false if the tables in use leave too
 * little room.
 */
static bool room_make(struct utrees *t, uint64_t nblocks, uint64_t nkeys)
{
	uint32_t now = epoch_now(t);
	VEC(struct wfile *) idle = {0};
	struct wfile *f;
	size_t pos = 0;

	if (has_room(t, nblocks, nkeys))
		return true;
	if (nblocks > t->max_blocks || (t->searched == now + 1 && nblocks >= t->searched_for))
		return false;
	while ((f = hashmap_next(t->files, &pos, NULL, NULL))) {
		uint32_t n = f->is_loading ? 0 : idle_epochs(t, f, now);

		f->used = UINT32_MAX - n;
		if (n >= IDLE_EPOCHS)
			vec_push(&idle, f);
	}
	if (idle.len)
		qsort(idle.data, idle.len, sizeof(*idle.data), by_used);
	for (uint32_t i = 0; i < idle.len; i++) {
		if (has_room(t, MIN(nblocks + t->max_blocks / 8, t->max_blocks),
			     nkeys + KEYS_MAX / 8))
			break;
		file_remove(t, idle.data[i]);
		t->nremoved++;
	}
	vec_deinit(&idle);
	if (has_room(t, nblocks, nkeys))
		return true;
	t->searched = now + 1;
	t->searched_for = nblocks;
	return false;
}

/* ---- adding -------------------------------------------------------------------------------- */

struct wfile *utrees_find(const struct utrees *t, const struct rt_ufile_key *key)
{
	return hashmap_find(t->files, key, sizeof(*key));
}

struct wfile *utrees_begin(struct utrees *t, const struct rt_ufile_key *key)
{
	struct wfile *f = xcalloc(1, sizeof(*f));

	/* if there is no room, file_publish() fails, and reports it */
	(void)room_make(t, 0, 1);
	*f = (struct wfile){.key = *key, .is_loading = true};
	hashmap_set(t->files, &f->key, sizeof(f->key), f);
	return f;
}

/* Makes a tree of the rows. The file gets no tree if there are no rows, or no room. */
static void tree_make(struct utrees *t, struct wfile *f, const struct unwind_rows *rows,
		      const char *path)
{
	struct err *e;

	f->file = (struct rt_ufile){.tree = t->ntrees++};
	f->nrows = rows->rows.len;
	f->nblocks = rows_nblocks(f->nrows);
	if (!f->nblocks)
		return;
	if (!room_make(t, f->nblocks, 1)) {
		tell_full(t, path, f->nblocks);
		f->is_refused = true;
		t->nrefused++;
		return;
	}
	t->nblocks += f->nblocks;
	e = t->tables->ops->tree_add(t->tables->ctx, f->file.tree, rows, t->pause,
				     &f->file.nlevels);
	if (e) {
		t->notice(t->ctx, err_text(e));
		err_destroy(e);
		t->nblocks -= f->nblocks;
		f->file.nlevels = 0;
	}
}

/* The file could be opened after all: its entry stays when the time is up. */
static void given_up_end(struct utrees *t, const struct rt_ufile_key *key)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->given_up.len; i++)
		if (memcmp(&t->given_up.data[i].key, key, sizeof(*key)) != 0)
			t->given_up.data[n++] = t->given_up.data[i];
	t->given_up.len = n;
}

/* Tells the kernel's side the tree of a key. used: epoch that counts as the last use. */
static void file_publish(struct utrees *t, struct wfile *f, const struct rt_ufile_key *key,
			 uint32_t used)
{
	struct rt_ufile value = f->file;
	struct err *e;

	value.used = used;
	e = t->tables->ops->file_set(t->tables->ctx, key, value);
	if (e) {
		tell_full(t, "a file", 0);
		key_forget(t, key);
		err_destroy(e);
		return;
	}
	given_up_end(t, key);
	for (uint32_t i = 0; i < f->keys.len; i++)
		if (memcmp(&f->keys.data[i], key, sizeof(*key)) == 0)
			return;
	vec_push(&f->keys, *key);
	t->nkeys++;
}

void utrees_publish(struct utrees *t, struct wfile *f, const struct rt_ufile_key *key)
{
	file_publish(t, f, key, epoch_now(t));
}

bool utrees_fill(struct utrees *t, struct wfile *f, const struct unwind_rows *rows,
		 const char *path, bool is_asked)
{
	tree_make(t, f, rows, path);
	f->is_loading = false;
	if (f->is_refused && !is_asked) {
		/* the first walk that meets the file requests it: there may be room then */
		file_remove(t, f);
		return false;
	}
	/*
	 * walks never meet most of the files that are loaded without a request, so these are the
	 * first to be removed
	 */
	file_publish(t, f, &f->key, epoch_now(t) - IDLE_EPOCHS);
	return true;
}

void utrees_note_cut(struct utrees *t, struct wfile *f, const char *path)
{
	if (f->cut_path)
		return;
	f->cut_path = xstrdup(path);
	t->ncut++;
}

char *utrees_take_cut(struct utrees *t)
{
	uint32_t now = epoch_now(t);
	size_t pos = 0;
	struct wfile *f;

	while (t->ncut && (f = hashmap_next(t->files, &pos, NULL, NULL))) {
		char *path = f->cut_path;

		if (!path || idle_epochs(t, f, now) >= IDLE_EPOCHS)
			continue;
		f->cut_path = NULL;
		t->ncut--;
		return path;
	}
	return NULL;
}

void utrees_abandon(struct utrees *t, struct wfile *f)
{
	file_remove(t, f);
}

void utrees_add_fixed(struct utrees *t, const struct rt_ufile_key *key,
		      const struct unwind_rows *rows, const char *path)
{
	struct wfile f = {.key = *key};

	tree_make(t, &f, rows, path);
	t->nrefused -= f.is_refused;
	utrees_publish(t, &f, key);
	vec_deinit(&f.keys);
}

/* ---- files that cannot be opened ------------------------------------------------------------- */

static void given_up_forget(struct utrees *t, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		key_forget(t, &t->given_up.data[i].key);
	t->given_up.len -= n;
	memmove(t->given_up.data, t->given_up.data + n,
		t->given_up.len * sizeof(*t->given_up.data));
}

void utrees_failed(struct utrees *t, const struct rt_ufile_key *key)
{
	struct given_up g = {*key, epoch_now(t) + RETRY_EPOCHS};
	struct err *e;

	if (t->nfailed++ < FAILED_RATE) {
		key_forget(t, key); /* if the process has ended, another one requests it */
		return;
	}
	if (t->given_up.len == GIVEN_UP_MAX)
		given_up_forget(t, GIVEN_UP_MAX / 4);
	e = t->tables->ops->file_set(t->tables->ctx, key, (struct rt_ufile){0});
	if (e)
		key_forget(t, key);
	else
		vec_push(&t->given_up, g);
	err_destroy(e);
}

/* Removes a refused file for which there is room by now; the next walk requests it again. */
static void refused_retry(struct utrees *t)
{
	struct rt_ufile_key key;
	struct wfile *f;
	size_t pos = 0;

	while ((f = hashmap_next(t->files, &pos, NULL, NULL)))
		if (f->is_refused && f->nblocks <= t->max_blocks)
			break;
	if (!f)
		return;
	key = f->key;
	if (!room_make(t, f->nblocks, 1))
		return;
	f = utrees_find(t, &key); /* room_make() may have removed it */
	if (f)
		file_remove(t, f);
}

void utrees_tick(struct utrees *t)
{
	uint32_t now = epoch_now(t), n = 0;

	t->nfailed = 0;
	while (n < t->given_up.len && (int32_t)(now - t->given_up.data[n].until) >= 0)
		n++;
	if (n)
		given_up_forget(t, n);
	if (t->nrefused)
		refused_retry(t);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

void utrees_init(struct utrees *t, const struct stack_tables *tables, uint64_t unwindsize)
{
	*t = (struct utrees){
		.tables = tables,
		.files = hashmap_create(),
		.max_blocks = unwindsize / sizeof(struct rt_ublock),
	};
}

void utrees_deinit(struct utrees *t)
{
	struct wfile *f;
	size_t pos = 0;

	while (t->files && (f = hashmap_next(t->files, &pos, NULL, NULL)))
		file_free(f);
	hashmap_destroy(t->files);
	vec_deinit(&t->given_up);
}
