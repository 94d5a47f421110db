/* SPDX-License-Identifier: MIT */
/* Tells tables and helpers what processes do: subscribers of the watch. */
#include "watch/watch.h"

#include "stacks/impl.h"
#include "sym/sym.h"

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
}
