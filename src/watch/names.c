/* SPDX-License-Identifier: MIT */
/* Passes events of the watch to the symbols of processes (sym/sym.h). */
#include "watch/names.h"

#include "sym/sym.h"

static void names_mapped(void *ctx, const struct watch_subject *s, const struct sym_map *m)
{
	syms_mapped(ctx, s->pid, m, s->time);
}

static void names_execed(void *ctx, const struct watch_subject *s)
{
	syms_execed(ctx, s->pid, s->time);
}

static void names_forked(void *ctx, const struct watch_subject *s, uint64_t parent)
{
	syms_forked(ctx, s->pid, parent, s->time);
}

static void names_ended(void *ctx, const struct watch_subject *s)
{
	syms_ended(ctx, s->pid, s->time);
}

static void names_lost(void *ctx)
{
	syms_lost(ctx);
}

const struct watch_subscriber watch_names = {
	.name = "names",
	.mapped = names_mapped,
	.execed = names_execed,
	.forked = names_forked,
	.ended = names_ended,
	.lost = names_lost,
};
