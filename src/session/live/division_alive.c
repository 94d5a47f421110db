/* SPDX-License-Identifier: MIT */
/*
 * Which clauses with live() or dead() stay in the kernel, though a process could run them.
 *
 * Rows that clear(), trunc() and livecheck leave out are deleted in the kernel's table. In that
 * of a process nobody but the process itself gives a slot back, at the dead() of its address: the
 * tracer would race with the next live() there. So objects that go without a dead() would fill it,
 * and nothing would be followed any more. At the end of a session that does no harm.
 *
 * All clauses about what is alive in a process are in one engine. Code that comes later goes to
 * the kernel (live/late.c), so nothing may come: also a library that is there at the start may be
 * closed, and opened again. The program and the C library stay.
 */
#include <libgen.h>
#include <limits.h>
#include <unistd.h>

#include "base/text.h"
#include "session/live/division.h"
#include "session/match/together.h"

static bool is_only_end(const struct session_clause *sc)
{
	return sc->n == 1 && !sc->is_open && strcmp(sc->probes[0]->prov, "dtrace") == 0 &&
	       strcmp(sc->probes[0]->name, "END") == 0;
}

static bool act_forgets(const struct prog_act *act)
{
	return (act->kind == ACT_CLEAR || act->kind == ACT_TRUNC) && act->naggs &&
	       act->aggs[0]->func == AGGFUNC_LIVE;
}

static bool clause_forgets(const struct prog_clause *c)
{
	bool forgets = false;

	for (uint32_t i = 0; i < c->nacts; i++)
		forgets |= act_forgets(&c->acts[i]);
	return forgets;
}

const char *division_alive_lack(const struct division *d)
{
	const struct match *m = d->live->match;
	bool forgets = d->live->opts->val[OPT_livecheck] != OPT_UNSET;

	for (uint32_t i = 0; i < m->clauses.len; i++)
		forgets |= clause_counts(&m->clauses.data[i]) &&
			   !is_only_end(&m->clauses.data[i]) &&
			   clause_forgets(m->clauses.data[i].clause);
	return forgets ? "the kernel gives back what goes without dead()" : NULL;
}

static bool is_c_library(const char *mod)
{
	static const char *const names[] = {"libc.so", "libc.musl-", "ld-musl-", "ld-linux"};

	return strcmp(mod, "libc") == 0 || text_begins(mod, names, ARRAY_LEN(names));
}

/* Whether a process of the session runs a program of this name. */
static bool is_program(const struct division *d, const char *mod)
{
	bool is_one = strcmp(mod, "a.out") == 0;
	char link[64], path[PATH_MAX];

	for (uint32_t i = 0; i < d->processes.len && !is_one; i++) {
		ssize_t n;

		(void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)d->processes.data[i].pid);
		n = readlink(link, path, sizeof(path) - 1);
		if (n <= 0)
			continue;
		path[n] = '\0';
		is_one = strcmp(basename(path), mod) == 0;
	}
	return is_one;
}

bool division_may_get_more(const struct division *d, uint32_t clause)
{
	const struct session_clause *sc = &d->live->match->clauses.data[clause];
	const char *mod = sc->clause->desc.mod;

	if (!sc->is_open)
		return false;
	if (!sc->n || !*mod || !glob_is_literal(mod))
		return true;
	return clause_is_about_alive(sc->clause) && !is_c_library(mod) && !is_program(d, mod);
}
