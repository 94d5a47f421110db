/* SPDX-License-Identifier: MIT */
/* The engines of a session, and which units each of them runs. */
#include "session/engines/engines.h"

#include "agg/merge.h"
#include "base/str.h"
#include "bpf/engine.h"
#include "dtrace.h"
#include "inproc/inproc.h"
#include "session/match/together.h"

const struct engine *const engine_list[] = {
	&engine_inproc,
	&engine_bpf,
	NULL,
};

uint32_t engines_max_maps(const struct engine *const *list, uint32_t ncpus)
{
	uint32_t least = 0;

	for (const struct engine *const *e = list; *e; e++) {
		uint32_t n = (*e)->max_maps ? (*e)->max_maps(ncpus) : 0;

		least = n && (!least || n < least) ? n : least;
	}
	return least;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* A group of units that must run in one engine: those with the number root. */
struct group {
	const struct unit *const *units;
	uint32_t n;
	const uint32_t *roots;
	uint32_t root;
};

/* Returns NULL if the engine takes all units of the group, else why it does not. */
static const char *group_refusal(const struct group *g, const struct engine *e)
{
	for (uint32_t i = 0; i < g->n; i++) {
		const char *why = "";

		if (g->roots[i] == g->root && !e->takes(g->units[i], &why))
			return why;
	}
	return NULL;
}

/* Some engine runs one of the units already: the others must go there. */
static const struct engine *group_engine(const struct group *g, const struct engine *const *ret)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->roots[i] == g->root && ret[i])
			return ret[i];
	return NULL;
}

static struct err *group_choose(const struct group *g, const struct engine *const *list,
				const struct engine **ret)
{
	const struct engine *fixed = group_engine(g, ret), *chosen = NULL;
	struct strbuf text = {0};
	struct err *err = NULL;

	for (const struct engine *const *e = list; *e && !chosen; e++) {
		const char *why = fixed && fixed != *e ? "its clauses share variables with others"
						       : group_refusal(g, *e);

		if (!why)
			chosen = *e;
		else
			strbuf_addf(&text, "%s%s: %s", text.len ? "; " : "", (*e)->name, why);
	}
	for (uint32_t i = 0; i < g->n; i++)
		if (g->roots[i] == g->root)
			ret[i] = chosen;
	if (!chosen)
		err = err_code(err_new("no engine has code for all of these probes (%s)",
				       strbuf_text(&text)),
			       EDT_NOTSUP);
	strbuf_deinit(&text);
	return err;
}

struct err *engines_choose(const struct engine *const *list, const struct unit *const *units,
			   uint32_t n, const struct layout *l, const struct engine **ret)
{
	CLEANUP(free) uint32_t *roots = xcalloc(MAX(n, 1u), sizeof(*roots));
	bool is_only = list[0] && !list[1]; /* then there is nothing to divide */
	struct err *e = NULL;

	if (is_only)
		for (uint32_t i = 0; i < n; i++)
			roots[i] = i;
	else
		units_find_groups(units, n, l, roots);
	for (uint32_t i = 0; i < n && !e; i++)
		if (roots[i] == i)
			e = group_choose(&(struct group){units, n, roots, i}, list, ret);
	return e;
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool is_chosen(const struct engine *e, const struct engine *const *chosen, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (chosen[i] == e)
			return true;
	return false;
}

static struct err *engine_open(struct engines *es, const struct engine *e,
			       const struct engine_opts *opts, uint32_t process)
{
	struct engine_opts own = *opts;
	struct engine_run *run = NULL;
	struct err *err;

	own.control = es->control;
	own.process = process;
	err = e->open(&own, &run);
	if (err)
		return err;
	run->process = process;
	es->control = run->control;
	es->ncpus = run->ncpus;
	es->runs = xrealloc(es->runs, (es->n + 1) * sizeof(*es->runs));
	es->runs[es->n++] = run;
	return NULL;
}

static struct engine_run *run_find(const struct engines *es, const struct engine *engine,
				   uint32_t process)
{
	for (uint32_t i = 0; i < es->n; i++)
		if (es->runs[i]->engine == engine && es->runs[i]->process == process)
			return es->runs[i];
	return NULL;
}

/* Opens an engine for each of its processes. */
static struct err *engine_open_all(struct engines *es, const struct engine *e,
				   const struct engine_opts *opts)
{
	struct err *err = NULL;
	uint32_t process;

	for (uint32_t i = 0; !err && (process = e->process(opts, i)); i++)
		err = engine_open(es, e, opts, process);
	return err;
}

/* Whether an engine is opened although no unit is in it: another one needs its control block. */
static bool is_needed(const struct engine *e, const struct engine *const *chosen, uint32_t n)
{
	for (uint32_t i = 0; i < n && e->makes_control; i++)
		if (chosen[i]->needs_control)
			return true;
	return false;
}

/* Opens those of the engines that are for processes, of which no unit is there yet. */
static struct err *engines_open_idle(struct engines *es, const struct engine *const *list,
				     const struct engine_opts *opts)
{
	struct err *err = NULL;

	for (const struct engine *const *e = list; *e && !err; e++)
		if ((*e)->process)
			err = engine_open_all(es, *e, opts);
	return err;
}

/* The engine of a session without units: one that needs no other. */
static const struct engine *engine_plain(const struct engine *const *list)
{
	while ((*list)->needs_control)
		list++;
	return *list;
}

/* Opens the chosen engines that make a control block themselves, or the others. */
static struct err *engines_open_those(struct engines *es, const struct engine *const *list,
				      const struct engine *const *chosen, uint32_t n,
				      bool makes_control, const struct engine_opts *opts)
{
	struct err *err = NULL;

	for (const struct engine *const *e = list; *e && !err; e++)
		if ((*e)->makes_control != makes_control)
			continue;
		else if ((*e)->process)
			err = engine_open_all(es, *e, opts);
		else if (is_chosen(*e, chosen, n) || is_needed(*e, chosen, n))
			err = engine_open(es, *e, opts, 0);
	return err;
}

struct err *engines_open(struct engines *es, const struct engine *const *list,
			 const struct engine *const *chosen, uint32_t n,
			 const struct engine_opts *opts)
{
	struct err *e;

	if (!n) {
		e = engine_open(es, engine_plain(list), opts, 0);
		if (!e)
			e = engines_open_idle(es, list, opts);
	} else {
		e = engines_open_those(es, list, chosen, n, true, opts);
		if (!e)
			e = engines_open_those(es, list, chosen, n, false, opts);
	}
	if (e)
		engines_close(es);
	return e;
}

/* The last one first: the control block of the first one is there until the end. */
void engines_close(struct engines *es)
{
	while (es->n) {
		struct engine_run *r = es->runs[--es->n];

		r->engine->close(r);
	}
	free(es->runs);
	*es = (struct engines){0};
}

struct engine_run *engines_find(const struct engines *es, const struct engine *engine)
{
	for (uint32_t i = 0; i < es->n; i++)
		if (es->runs[i]->engine == engine)
			return es->runs[i];
	return NULL;
}

struct engine_run *engines_find_for(const struct engines *es, const struct engine *engine,
				    const struct unit *u)
{
	return run_find(es, engine, engine->process ? u->inproc_pid : 0);
}

void engines_opened(const struct engines *es, const struct engine *const *list,
		    const struct engine **ret)
{
	uint32_t n = 0;

	for (const struct engine *const *e = list; *e; e++)
		if (engines_find(es, *e))
			ret[n++] = *e;
	ret[n] = NULL;
}

/* ---- what is asked of all -------------------------------------------------------------------- */

struct err *engines_ready(const struct engines *es)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < es->n && !e; i++)
		e = es->runs[i]->engine->ready(es->runs[i]);
	return e;
}

void engines_set_state(const struct engines *es, enum rt_state state)
{
	for (uint32_t i = 0; i < es->n; i++)
		if (es->runs[i]->engine->set_state)
			es->runs[i]->engine->set_state(es->runs[i], state);
}

bool engines_add_strings(const struct engines *es)
{
	bool has_room = true;

	for (uint32_t i = 0; i < es->n; i++)
		if (es->runs[i]->engine->add_strings)
			has_room &= es->runs[i]->engine->add_strings(es->runs[i]);
	return has_room;
}

uint32_t engines_fill(const struct engines *es)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < es->n; i++)
		most = MAX(most, es->runs[i]->engine->fill(es->runs[i]));
	return most;
}

uint32_t engines_bufsize(const struct engines *es)
{
	uint32_t least = UINT32_MAX;

	for (uint32_t i = 0; i < es->n; i++)
		least = MIN(least, es->runs[i]->bufsize);
	return least;
}

uint32_t engines_scratch_size(const struct engines *es)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < es->n; i++)
		most = MAX(most, es->runs[i]->scratch_size);
	return most;
}

bool engines_has_cpu(const struct engines *es, uint32_t cpu)
{
	for (uint32_t i = 0; i < es->n; i++)
		if (cpu < es->runs[i]->ncpus && es->runs[i]->wake_fds[cpu] >= 0)
			return true;
	return false;
}

uint64_t engines_links_missed(const struct engines *es, const struct attachments *a)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < es->n; i++)
		n += es->runs[i]->engine->links_missed(es->runs[i], a);
	return n;
}

struct err *engines_add_child(const struct engines *es, struct attachments *a, pid_t pid,
			      pid_t child, const struct attach_opts *opts)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < es->n && !e; i++)
		if (es->runs[i]->engine->add_child)
			e = es->runs[i]->engine->add_child(es->runs[i], a, pid, child, opts);
	return e;
}

void engines_forget_child(const struct engines *es, struct attachments *a, pid_t child)
{
	for (uint32_t i = 0; i < es->n; i++)
		if (es->runs[i]->engine->forget_child)
			es->runs[i]->engine->forget_child(es->runs[i], a, child);
}

struct err *engines_follow_maps(const struct engines *es, pid_t pid, const struct attach_opts *opts)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < es->n && !e; i++)
		if (es->runs[i]->engine->follow_maps && es->runs[i]->process == (uint32_t)pid)
			e = es->runs[i]->engine->follow_maps(es->runs[i], opts);
	return e;
}

uint32_t engines_nplaces(const struct engines *es, const struct attachments *a, pid_t pid)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < es->n; i++)
		if (es->runs[i]->engine->nplaces)
			n += es->runs[i]->engine->nplaces(es->runs[i], a, pid);
	return n;
}

struct err *engines_sweep(const struct engines *es, struct attachments *a, pid_t pid)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < es->n && !e; i++)
		if (es->runs[i]->engine->sweep)
			e = es->runs[i]->engine->sweep(es->runs[i], a, pid);
	return e;
}

const struct stack_tables *engines_tables(const struct engines *es)
{
	const struct stack_tables *t = NULL;

	for (uint32_t i = 0; i < es->n && !t; i++)
		t = es->runs[i]->tables;
	return t;
}

struct agg_merge *engines_aggs(const struct engines *es, const struct layout *l)
{
	CLEANUP(free) struct agg_source *sources = xcalloc(MAX(es->n, 1u), sizeof(*sources));

	for (uint32_t i = 0; i < es->n; i++)
		sources[i] = (struct agg_source){es->runs[i]->engine->aggs, es->runs[i]->aggs};
	return agg_merge_create(l, sources, es->n);
}
