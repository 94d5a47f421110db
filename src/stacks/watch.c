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

static void helpers_execed(void *ctx, const struct watch_subject *s)
{
	ustacks_execed(ctx, s->pid, s->time);
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
	.execed = helpers_execed,
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

static void starting_ended(void *ctx, const struct watch_subject *subject)
{
	struct stacks *s = ctx;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->starting.len; i++)
		if (s->starting.data[i].pid != subject->pid)
			s->starting.data[n++] = s->starting.data[i];
	s->starting.len = n;
}

static struct starting *starting_get(struct stacks *s, uint64_t pid)
{
	for (uint32_t i = 0; i < s->starting.len; i++)
		if (s->starting.data[i].pid == pid)
			return &s->starting.data[i];
	vec_push(&s->starting, (struct starting){.pid = pid});
	return &s->starting.data[s->starting.len - 1];
}

static void starting_execed(void *ctx, const struct watch_subject *subject)
{
	struct stacks *s = ctx;

	/* if it runs on, a walk may have met its new program by now */
	ustacks_gone(s->helpers, subject->pid, subject->time);
	*starting_get(s, subject->pid) =
		(struct starting){.pid = subject->pid, .state = STARTING_EXECUTES};
}

static void starting_mapped(void *ctx, const struct watch_subject *subject, const struct sym_map *m)
{
	struct stacks *s = ctx;

	if (m->path && ustacks_has_name(s->helpers, m->path))
		starting_get(s, subject->pid)->nnew++;
}

static void linked_attach(struct stacks *s, const struct watch_subject *subject)
{
	pid_t pid = (pid_t)subject->pid;
	uint64_t key = ustacks_begun_key(pid);
	struct target *t = NULL;
	struct err *e = target_live_open(pid, s->opts.helpers.files->gate, &t);

	/* it waits: a walk has met it before its libraries were relocated */
	ustacks_gone(s->helpers, subject->pid, now_ns());
	if (!e)
		(void)ustacks_attach_linked(s->helpers, key, t);
	err_destroy(e); /* it has ended */
	target_close(t);
}

/*
 * The first report after that of the exec is the dynamic linker's, which has mapped and relocated
 * the program's libraries: nothing of a runtime has run, and its helper can be attached. So it can
 * when a runtime that was opened opens a library of its own, as Java's machine does (libjava.so).
 * A process that runs on maps nothing but what is known, its runtimes among it: a walk finds its
 * helpers by that. When it waits later, for a library that it opens, its runtime has run.
 */
static void starting_reported(void *ctx, const struct watch_subject *subject)
{
	struct stacks *s = ctx;
	struct starting *st = starting_get(s, subject->pid);

	if (!subject->runs_on && (st->state == STARTING_LINKS ||
				  (st->state == STARTING_OPENS && st->nruntimes && st->nnew)))
		linked_attach(s, subject);
	st->state = st->state == STARTING_EXECUTES ? STARTING_LINKS : STARTING_OPENS;
	st->nruntimes += st->nnew;
	st->nnew = 0;
}

/* Attaches the helpers of what a followed process executes and opens before its first stack. */
static const struct watch_subscriber helpers_of_followed = {
	.name = "ustack helpers of followed processes",
	.scope = WATCH_FOLLOWED,
	.execed = starting_execed,
	.mapped = starting_mapped,
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
