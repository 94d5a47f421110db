/* SPDX-License-Identifier: MIT */
/* Tells tables and helpers what processes do: subscribers of the watch. */
#include "watch/watch.h"

#include "image/debugfile.h"
#include "stacks/impl.h"
#include "sym/sym.h"
#include "target/target.h"

static void tables_mapped(void *ctx, const struct watch_subject *s, const struct sym_map *m)
{
	if (m->ino)
		unwinds_mapped(ctx, s->pid, m);
}

static void helpers_mapped(void *ctx, const struct watch_subject *s, const struct sym_map *m)
{
	ustacks_mapped(ctx, s->pid, m, s->time);
}

static void helpers_gone(void *ctx, const struct watch_subject *s)
{
	ustacks_gone(ctx, s->pid, s->time);
}

/* A runtime may be a library that a process opens late. */
static const struct watch_subscriber helpers_of_all = {
	.name = "ustack helpers",
	.scope = WATCH_ALL,
	.mapped = helpers_mapped,
	.execed = helpers_gone,
	.ended = helpers_gone,
};

/* Opens a file that any process maps, and reads it before files that a scan has queued. */
static const struct watch_subscriber tables_of_all = {
	.name = "unwind tables",
	.scope = WATCH_ALL,
	.mapped = tables_mapped,
};

static void tables_reported(void *ctx, const struct watch_subject *s)
{
	unwinds_load_process(ctx, (pid_t)s->pid);
}

/* Loads the unwind tables of a followed process before its first stack. */
static const struct watch_subscriber tables_of_followed = {
	.name = "unwind tables of followed processes",
	.scope = WATCH_FOLLOWED,
	.reported = tables_reported,
};

/* ---- programs that followed processes execute ----------------------------------------------- */

static void starting_forget(struct stacks *s, uint64_t pid)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->starting.len; i++)
		if (s->starting.data[i].pid != pid)
			s->starting.data[n++] = s->starting.data[i];
	s->starting.len = n;
}

static void starting_ended(void *ctx, const struct watch_subject *subject)
{
	starting_forget(ctx, subject->pid);
}

static void starting_execed(void *ctx, const struct watch_subject *subject)
{
	struct stacks *s = ctx;

	starting_forget(s, subject->pid);
	ustacks_gone(s->helpers, subject->pid, subject->time);
	vec_push(&s->starting, (struct starting){.pid = subject->pid});
}

static void linked_attach(struct stacks *s, pid_t pid)
{
	uint64_t key = ustacks_begun_key(pid);
	struct target *t = NULL;
	struct err *e = target_live_open(pid, s->opts.helpers.files->gate, &t);

	if (!e)
		(void)ustacks_attach_linked(s->helpers, key, t);
	err_destroy(e); /* it has ended */
	target_close(t);
}

/*
 * The first report after that of the exec is the dynamic linker's, which has mapped and relocated
 * the program's libraries: nothing of a runtime has run, and its helper can be attached.
 */
static void starting_reported(void *ctx, const struct watch_subject *subject)
{
	struct stacks *s = ctx;

	for (uint32_t i = 0; i < s->starting.len; i++) {
		struct starting *st = &s->starting.data[i];

		if (st->pid != subject->pid)
			continue;
		if (st->is_mapped) {
			starting_forget(s, subject->pid);
			linked_attach(s, (pid_t)subject->pid);
			return;
		}
		st->is_mapped = true;
	}
}

/* Attaches the helpers of what a followed process executes before its first stack. */
static const struct watch_subscriber helpers_of_followed = {
	.name = "ustack helpers of followed processes",
	.scope = WATCH_FOLLOWED,
	.execed = starting_execed,
	.ended = starting_ended,
	.reported = starting_reported,
};

void stacks_watch(struct stacks *s, struct watch *w)
{
	if (s && s->tables && s->opts.needs.has_addresses)
		watch_subscribe(w, &tables_of_all, s->tables);
	if (s && s->helpers)
		watch_subscribe(w, &helpers_of_all, s->helpers);
}

void stacks_watch_followed(struct stacks *s, struct watch *w)
{
	if (s && s->tables)
		watch_subscribe(w, &tables_of_followed, s->tables);
	if (s && s->helpers)
		watch_subscribe(w, &helpers_of_followed, s);
}
