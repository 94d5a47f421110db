/* SPDX-License-Identifier: MIT */
/*
 * What walks ask for goes to the room that it is for: tables of files, helpers of processes. What
 * was not attached when the session began is asked for.
 */
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../unwind/fake_tables.h"
#include "files/gate.h"
#include "image/debugfile.h"
#include "image/image.h"
#include "files/mapping.h"
#include "rt/helper.h"
#include "stacks/impl.h"
#include "target/maps.h"
#include "target/target.h"
#include "tap.h"

static struct fake fake;
static struct rt_ureq requests[2];
static uint32_t nrequests;
static uint64_t put, removed; /* the last keys of processes */
static bool had_table;	      /* when the process was answered: the file of requests[1] */

/* Gives each request once. */
static void requests_give(void *ctx, stack_request_f *f, void *arg)
{
	const uint32_t n = nrequests;

	(void)ctx;
	nrequests = 0;
	for (uint32_t i = 0; i < n; i++)
		f(arg, &requests[i]);
}

static struct err *process_set(void *ctx, uint64_t key, const struct rt_hproc *hp)
{
	struct rt_ufile seen;

	(void)ctx, (void)hp;
	put = key;
	had_table = !fake_read(&fake, &requests[1].key, &seen) || seen.nlevels != RT_UTREE_PENDING;
	return NULL;
}

static void process_forget(void *ctx, uint64_t key)
{
	(void)ctx;
	removed = key;
}

static void on_notice(void *ctx, const char *msg)
{
	(void)ctx;
	printf("# %s\n", msg);
}

/* A walk that meets a process while a file is read. */
static bool is_met_between;

static void on_between(void *ctx, bool is_nested)
{
	if (is_met_between) {
		nrequests = 1;
		is_met_between = false;
	}
	requests_take_between(ctx, !is_nested);
}

static void on_denied(void *ctx, uint64_t pid)
{
	(void)ctx, (void)pid;
}

static struct rt_ureq of_process(uint64_t key, uint64_t from)
{
	return (struct rt_ureq){.key = {.ino = key}, .start = from, .pid = (uint64_t)getpid()};
}

/* A mapping of this program, whose inode the kernel knows by another number. */
static struct rt_ureq of_file(const struct proc_map *m)
{
	return (struct rt_ureq){.key = {.ino = m->ino + 1000000},
				.start = m->start,
				.end = m->end,
				.pid = (uint64_t)getpid()};
}

static void serve(struct stacks *s, const struct rt_ureq *one, const struct rt_ureq *two)
{
	put = removed = 0;
	nrequests = two ? 2 : 1;
	requests[0] = *one;
	requests[1] = two ? *two : *one;
	stacks_serve(s);
}

static void test_rooms(struct stacks *s, const struct proc_map *m)
{
	struct rt_ureq file = of_file(m), process = of_process(4096, 0);
	const struct rt_ufile pending = {.nlevels = RT_UTREE_PENDING};
	struct rt_ufile seen;

	err_destroy(fake_set(&fake, &file.key, pending));
	err_destroy(fake_set(&fake, &process.key, pending));
	serve(s, &process, &file);
	is_int((int)put, 4096, "the process has an answer");
	ok(had_table, "but first the file has one that was asked for later");
	ok(!fake_read(&fake, &file.key, &seen) || seen.nlevels != RT_UTREE_PENDING,
	   "so has the file");
	ok(fake_read(&fake, &process.key, &seen) && seen.nlevels == RT_UTREE_PENDING,
	   "no table was sought for the process");
	ustacks_gone(s->helpers, (uint64_t)getpid(), UINT64_MAX);
	is_int((int)removed, 4096, "a process that has gone is forgotten");
}

static void test_between(struct stacks *s, const struct proc_map *m)
{
	const struct file_opts *files = s->opts.helpers.files;
	const struct mapping at = proc_map_mapping(getpid(), m);
	struct image *i = image_open(files->images, files->gate, &at);
	struct rt_ureq file = of_file(m), process = of_process(16384, 0);
	const struct rt_ufile pending = {.nlevels = RT_UTREE_PENDING};
	struct rt_ufile seen;

	if (!ok(i, "a file that was not read yet"))
		return;
	file.key.ino++;
	file.key.size = i->id.size;
	file.key.mtime = (uint64_t)i->id.mtime;
	file.key.dev = (uint64_t)major(i->id.dev) << 20 | minor(i->id.dev);
	image_put(i);
	err_destroy(fake_set(&fake, &file.key, pending));
	put = 0;
	requests[0] = process;
	requests[1] = file;
	is_met_between = true;
	unwinds_request(s->tables, &file);
	is_int((int)put, 16384, "while a large file is read, a process has its answer");
	ok(!had_table, "before the file has");
	ok(fake_read(&fake, &file.key, &seen) && seen.nlevels && seen.nlevels != RT_UTREE_PENDING,
	   "which has it then");
	ustacks_gone(s->helpers, (uint64_t)getpid(), UINT64_MAX);
}

static void test_begun(struct stacks *s)
{
	struct rt_ureq process;
	struct target *t = NULL;

	put = removed = 0;
	err_destroy(target_live_open(getpid(), s->opts.helpers.files->gate, &t));
	ok(t, "the process is opened");
	if (!t)
		return;
	ok(!ustacks_attach(s->helpers, ustacks_begun_key(getpid()), t, false),
	   "no helper applies to this process");
	target_close(t);
	ok(!put && (removed & 1), "so its first walk has to ask");
	process = of_process(8192, removed);
	serve(s, &process, NULL);
	is_int((int)put, 8192, "a copy of what was forgotten meanwhile gets a new answer");
	ok(removed & 1, "what it was copied from goes");
	ustacks_gone(s->helpers, (uint64_t)getpid(), UINT64_MAX);
	is_int((int)removed, 8192, "the process is known by the walk's key");
}

int main(void)
{
	struct stack_tables_ops ops = fake_ops;
	struct gate *g = gate_create();
	struct image_set *images = image_set_create();
	struct file_opts files = {.gate = g, .limit = GATE_LIMIT_DEFAULT, .images = images};
	struct ustack_opts opts = {.files = &files,
				   .system_dir = "/nonexistent",
				   .notice = on_notice};
	struct stacks s = {.opts.helpers = opts, .walks_here = true, .engine = &fake.public};
	const struct unwind_hooks hooks = {.ctx = &s,
					   .notice = on_notice,
					   .denied = on_denied,
					   .between = on_between};
	struct proc_maps maps;
	const struct proc_map *own;

	ops.requests = requests_give;
	ops.process_set = process_set;
	ops.process_forget = process_forget;
	fake.control.epoch = 100;
	fake.public = (struct stack_tables){.ops = &ops, .ctx = &fake, .control = &fake.control};
	s.tables = unwinds_create(&fake.public, 64 << 20, &files, &hooks);
	if (!ok(!ustacks_create(&opts, &s.helpers) && !ustacks_begin(s.helpers, &fake.public) &&
			!proc_maps_read(getpid(), &maps) && maps.maps.len,
		"tables, helpers, and a process"))
		return tap_done();
	own = proc_maps_find(&maps,
			     (taddr)(uintptr_t)test_rooms); /* sanitizers have more before it */
	if (!ok(own, "the mapping of this program's code"))
		return tap_done();
	test_between(&s, own);
	test_rooms(&s, own);
	test_begun(&s);
	proc_maps_deinit(&maps);
	vec_deinit(&s.wanted);
	vec_deinit(&s.meetings);
	ustacks_destroy(s.helpers);
	unwinds_destroy(s.tables);
	image_set_destroy(images);
	gate_destroy(g);
	return tap_done();
}
