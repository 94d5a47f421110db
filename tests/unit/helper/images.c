/* SPDX-License-Identifier: MIT */
/*
 * The files of a process are opened once for all who look into them in a session: names of stacks,
 * symbols for helpers, helpers that files carry, and rows by which stacks are walked.
 */
#include "base/vec.h"
#include "files/gate.h"
#include "helper/carried.h"
#include "helper/process_impl.h"
#include "image/debugfile.h"
#include "image/ehframe.h"
#include "image/image.h"
#include "sym/sym.h"
#include "unwind/walk.h"
#include "tap.h"

static struct target *self;
static const struct proc_map *libc;

static struct err *carried_none(void *ctx, struct helper *h)
{
	(void)ctx;
	helper_close(h);
	return err_new("none is taken");
}

static void carried_notice(void *ctx, const char *msg)
{
	(void)ctx;
	printf("# %s\n", msg);
}

static void carried_found(void *ctx, struct helper *h)
{
	(void)h;
	++*(uint32_t *)ctx;
}

/* How many files this process executes code of. */
static uint64_t nfiles(void)
{
	const struct proc_maps *maps = target_maps(self);
	VEC(const struct proc_map *) seen = {0};
	uint64_t n;

	for (uint32_t i = 0; i < maps->maps.len; i++) {
		const struct proc_map *m = &maps->maps.data[i];
		bool is_new = m->is_exec && proc_map_has_file(m) && m->path[0] == '/';

		for (uint32_t k = 0; is_new && k < seen.len; k++)
			is_new = !proc_map_is_same_file(seen.data[k], m);
		if (is_new)
			vec_push(&seen, m);
		if (is_new && strstr(m->path, "/libc.so"))
			libc = m;
	}
	n = seen.len;
	vec_deinit(&seen);
	return n;
}

static uint64_t symbol_find(struct process *p, uint32_t subr, const char *name)
{
	const char *texts[] = {name, "libc.so*", NULL, NULL, NULL, NULL};
	const uint64_t words[6] = {0};
	const char *text;
	uint64_t value;

	return process_subr(p, subr, words, texts, &value, &text) ? 0 : value;
}

/* What a helper's clauses ask for. */
static void test_helper(struct process *p)
{
	is_int(symbol_find(p, DIF_SUBR_SYMADDR, "getppid"), (uintptr_t)&getppid, "symaddr()");
	ok(symbol_find(p, DIF_SUBR_SYMSIZE, "getppid"), "symsize()");
	ok(!symbol_find(p, DIF_SUBR_SYMADDR, "no such symbol"), "a symbol that is not there");
}

static void test_carried(struct carried *c)
{
	uint32_t n = 0;

	carried_each(c, self, &(struct carried_visitor){carried_found, carried_notice, &n});
	is_int(n, 0, "no file carries a helper");
	ok(!carried_has(c, getpid(), libc), "the C library carries none");
}

/* The name of an address in each file. */
static void test_names(struct syms *s)
{
	const struct proc_maps *maps = target_maps(self);
	struct sym_name name;

	ok(syms_find(s, (uint64_t)getpid(), (uintptr_t)&getppid, &name) && name.name &&
		   strcmp(name.name, "getppid") == 0,
	   "the name of an address");
	for (uint32_t i = 0; i < maps->maps.len; i++)
		if (maps->maps.data[i].is_exec)
			(void)syms_find(s, (uint64_t)getpid(), maps->maps.data[i].start, &name);
}

/* The rows by which stacks are walked: those of a file are the same in each of its mappings. */
static void test_walk(const struct file_opts *files)
{
	const struct proc_maps *maps = target_maps(self);
	struct walk_target *w = walk_target_open(self, files);
	struct walk_space space = walk_target_space(w);
	struct walk_code code, again, saved;

	for (uint32_t i = 0; i < maps->maps.len; i++)
		if (maps->maps.data[i].is_exec)
			(void)space.code(space.ctx, maps->maps.data[i].start, WALK_ROWS, &code);
	ok(space.code(space.ctx, (uintptr_t)&getppid, WALK_ROWS, &code) && code.lazy &&
		   unwind_lazy_find(code.lazy, (uint32_t)code.off),
	   "the row of an address");
	ok(space.code(space.ctx, (uintptr_t)&getppid, WALK_ROWS, &again) && again.lazy == code.lazy,
	   "it is read once");
	ok(space.code(space.ctx, (uintptr_t)&getppid, WALK_SAVED, &saved) && saved.lazy &&
		   saved.lazy != code.lazy,
	   "rows of saved registers are others");
	walk_target_close(w);
}

/* Names come first, as in a session: they keep open what processes map. */
static void test_once(struct gate *gate)
{
	struct image_set *images = image_set_create();
	struct file_opts files = {"", GATE_LIMIT_DEFAULT, gate, images};
	struct syms *s = syms_create();
	struct carried *c = carried_create(&(struct carried_opts){.files = &files,
								  .add = carried_none,
								  .notice = carried_notice});
	struct process *p;
	uint64_t nread;

	syms_set_opts(s, &(struct sym_opts){.files = &files});
	syms_see(s, (uint64_t)getpid());
	p = process_open(self, &files);
	test_helper(p);
	test_carried(c);
	test_names(s);
	test_walk(&files);
	nread = images->nread;
	process_close(p);
	ok(images->bytes > 0, "what was found counts");
	p = process_open(self, &files);
	test_helper(p);
	test_carried(c);
	is_int(images->nread, nread, "each file was read once");
	process_close(p);

	images->max_bytes = 1;
	image_set_shed(images, NULL);
	p = process_open(self, &files);
	test_helper(p);
	is_int(images->nread, nread + 1, "what was forgotten is read again");
	is_int(images->nopened, nfiles(), "each file was opened once");
	process_close(p);
	carried_destroy(c);
	syms_destroy(s);
	image_set_destroy(images);
}

int main(void)
{
	struct gate *gate = gate_create();

	if (target_live_open(getpid(), gate, &self) || !nfiles() || !libc)
		exit(1);
	test_once(gate);
	target_close(self);
	gate_destroy(gate);
	return tap_done();
}
