/* SPDX-License-Identifier: MIT */
/* Which tables an engine is given, and which are taken away when room runs out. */
#include "unwind/utrees.h"

#include "fake_tables.h"
#include "tap.h"

static void on_notice(void *ctx, const char *msg)
{
	(void)snprintf(ctx, 256, "%s", msg);
}

static struct unwind_rows rows_create(uint32_t n)
{
	struct unwind_rows rows = {0};

	for (uint32_t i = 0; i < n; i++)
		vec_push(&rows.rows, (struct unwind_row){.off = 16 * i, .kind = UNWIND_FP});
	return rows;
}

static struct wfile *fill(struct utrees *t, uint64_t ino, uint32_t nrows, bool is_asked)
{
	const struct rt_ufile_key key = {.ino = ino};
	struct unwind_rows rows = rows_create(nrows);
	struct wfile *f = utrees_begin(t, &key);
	bool is_kept = utrees_fill(t, f, &rows, "lib.so", is_asked);

	vec_deinit(&rows.rows);
	return is_kept ? f : NULL;
}

int main(void)
{
	static const struct image_pause pause;
	struct fake f = {.control.epoch = 100};
	const struct rt_ufile_key other = {.ino = 7, .dev = 1}, gone = {.ino = 9};
	struct rt_ufile seen;
	char text[256] = "";
	struct wfile *first;
	struct utrees t;

	f.public = (struct stack_tables){.ops = &fake_ops, .ctx = &f, .control = &f.control};
	utrees_init(&t, &f.public, 4 * sizeof(struct rt_ublock));
	t.notice = on_notice;
	t.ctx = text;
	t.pause = &pause;

	first = fill(&t, 1, 200, true);
	ok(first && f.ntrees == 1, "the rows of a file are a tree");
	is_int(t.nblocks, 3, "of two leaves and a root");
	ok(fake_read(&f, &first->key, &seen) && seen.nlevels == 2 && seen.used == 97,
	   "walks find it; nobody has used it lately");
	utrees_publish(&t, first, &other);
	ok(fake_read(&f, &other, &seen) && seen.tree == first->file.tree && seen.used == 100,
	   "by the key that a walk has asked with, too");

	ok(!fill(&t, 2, 300, false), "a table for which there is no room is not kept");
	ok(strstr(text, "unwindsize allows"), "%s", text);
	is_int(t.nblocks, 3, "and takes none");
	ok(fill(&t, 3, 300, true) != NULL, "what a walk has asked for is remembered");
	is_int(f.ntrees, 1, "without its rows");

	f.control.epoch += 50;
	utrees_tick(&t);
	ok(!utrees_find(&t, &(struct rt_ufile_key){.ino = 3}),
	   "when there is room again, the next walk may ask again");
	is_int(f.ntrees, 0, "the table that was idle has gone");
	is_int(f.nrows_removed, 200, "with all of its rows");
	ok(!fake_read(&f, &other, &seen), "and under all of its keys");

	utrees_failed(&t, &gone);
	ok(!fake_read(&f, &gone, &seen), "a file that cannot be opened is asked for again");
	for (int i = 0; i < 60; i++)
		utrees_failed(&t, &gone);
	ok(fake_read(&f, &gone, &seen) && seen.nlevels == 0, "but not for ever");
	f.control.epoch += 50;
	utrees_tick(&t);
	ok(!fake_read(&f, &gone, &seen), "until some time has passed");

	for (int i = 0; i < 60; i++)
		utrees_failed(&t, &gone);
	first = fill(&t, gone.ino, 20, true);
	f.control.epoch += 2;
	ok(first && fake_read(&f, &gone, &seen) && seen.nlevels,
	   "if it is opened meanwhile, it is there");
	utrees_publish(&t, first, &gone); /* it is used */
	for (int i = 0; i < 12; i++) {
		f.control.epoch++;
		utrees_tick(&t);
	}
	ok(fake_read(&f, &gone, &seen) && seen.nlevels, "and stays when that time has passed");

	f.is_full = true;
	ok(fill(&t, 5, 10, true) != NULL && strstr(text, "no room"), "an engine's error is told");
	is_int(t.nblocks, 1, "and nothing is counted");
	utrees_deinit(&t);
	return tap_done();
}
