/* SPDX-License-Identifier: MIT */
/* Finds and numbers the probes of clauses. */
#include "d/compile.h"
#include "privilege/needs.h"
#include "session/match/impl.h"

void match_init(struct match *m, struct arena *a, struct probes *probes)
{
	*m = (struct match){.arena = a, .probes = probes};
}

void match_undo(struct match *m)
{
	for (uint32_t i = 0; i < m->units.len; i++)
		unit_destroy(m->units.data[i]);
	vec_deinit(&m->units);
	strtab_destroy(m->strtab);
	m->strtab = NULL;
}

void match_deinit(struct match *m)
{
	for (uint32_t i = 0; i < m->clauses.len; i++) {
		vec_deinit(&m->clauses.data[i].late);
		vec_deinit(&m->clauses.data[i].joined);
	}
	vec_deinit(&m->clauses);
}

void match_add_program(struct match *m, const struct prog *prog)
{
	for (uint32_t i = 0; i < prog->nclauses; i++) {
		struct prog_clause *cl = prog->clauses[i];

		while (m->clauses.len <= cl->index)
			vec_push(&m->clauses, (struct session_clause){0});
		m->clauses.data[cl->index].clause = cl;
	}
}

/* ---- matching ------------------------------------------------------------------------------- */

bool clause_has_probe(const struct session_clause *sc, uint32_t id)
{
	for (uint32_t i = 0; i < sc->n && sc->probes[i]->id <= id; i++)
		if (sc->probes[i]->id == id)
			return true;
	return false;
}

static bool is_view(const struct probe *pr)
{
	struct probe_point pts[PROBE_MAX_POINTS];

	return pr->provider->points(pr, pts) && pts[0].view;
}

/* Returns true if the clause runs for this probe already, or for its call in another form. */
static bool runs_on(const struct session_clause *sc, const struct probe *pr)
{
	for (uint32_t i = 0; i < sc->n; i++) {
		const struct probe *other = sc->probes[i];

		if (other == pr)
			return true;
		if (other->provider == pr->provider && strcmp(other->func, pr->func) == 0 &&
		    strcmp(other->name, pr->name) == 0 && is_view(other) != is_view(pr))
			return true;
	}
	return false;
}

/*
 * "open, open64" and "open, open*" are several names of the same calls: a clause with both runs
 * once for each call. Two descriptions that match one probe by its own name run it twice, as
 * everywhere.
 */
static void drop_doubles(struct match *m, const struct prog *prog, uint32_t clause)
{
	const struct prog_clause *cl = prog->clauses[clause];
	struct session_clause *sc = &m->clauses.data[cl->index];

	for (uint32_t i = clause; i-- > 0 && prog->clauses[i]->text_clause == cl->text_clause;) {
		const struct session_clause *other = &m->clauses.data[prog->clauses[i]->index];
		struct probe **all = sc->probes;
		uint32_t n = sc->n;

		if (!sc->is_expanded && !other->is_expanded)
			continue;
		sc->probes = ARENA_NEW_N(m->arena, struct probe *, MAX(n, 1u));
		sc->n = 0;
		for (uint32_t k = 0; k < n; k++)
			if (!runs_on(other, all[k]))
				sc->probes[sc->n++] = all[k];
	}
}

/*
 * Reduces the array to probes that have places themselves, without the derived ones, and are made
 * of this source, or of none if it is 0.
 */
static void drop_derived(struct match *m, uint32_t source, struct probe ***probes, uint32_t *n)
{
	struct probe **plain = ARENA_NEW_N(m->arena, struct probe *, MAX(*n, 1u));
	uint32_t nplain = 0;

	for (uint32_t i = 0; i < *n; i++)
		if (!(*probes)[i]->provider->is_derived && (*probes)[i]->source == source)
			plain[nplain++] = (*probes)[i];
	if (nplain == *n)
		return;
	*probes = plain;
	*n = nplain;
}

/* Finds the probes on whose places the clause runs. */
static struct err *match_sources(struct match *m, const struct prog_clause *cl,
				 struct session_clause *sc)
{
	struct err *e;

	if (!cl->derived) {
		drop_derived(m, cl->code_source, &sc->probes, &sc->n);
		return NULL;
	}
	e = probes_match(m->probes, &cl->source, &sc->sources, &sc->nsources);
	if (!e)
		drop_derived(m, 0, &sc->sources, &sc->nsources);
	return e;
}

uint32_t probe_lacks(const struct provider_env *env, const struct probe *pr)
{
	struct need need;

	if (!env->privileges || pr->provider->is_derived)
		return 0;
	need = need_of_provider(pr->provider->name);
	return privileges_lack(env->privileges, need.level) ? need.level : 0;
}

/*
 * Whether the clause is on a probe of the system's library that the session may use, or on one that
 * is made of it; what that is made of need not be allowed then.
 */
static bool is_allowed_declared(const struct match *m, const struct session_clause *sc)
{
	const struct privileges *p = probes_env(m->probes)->privileges;
	const struct prog_clause *cl = sc->clause;

	if (!cl->derived || !cl->system_prov)
		return false;
	return !privileges_lack(p, need_of_probe(cl->system_prov, cl->system_name).level);
}

static struct err *levels_check(const struct match *m, const struct session_clause *sc)
{
	struct provider_env *env = probes_env(m->probes);
	bool is_derived = sc->clause->derived != 0;
	struct probe *const *list = is_derived ? sc->sources : sc->probes;
	char have[LEVELS_TEXT_MAX];

	if (!env->privileges || is_allowed_declared(m, sc))
		return NULL;
	for (uint32_t i = 0; i < (is_derived ? sc->nsources : sc->n); i++) {
		uint32_t level = probe_lacks(env, list[i]);

		if (level)
			return err_new("%s:%s:%s:%s needs %s; this session has %s", list[i]->prov,
				       list[i]->mod, list[i]->func, list[i]->name,
				       level_word((enum privilege_level)level),
				       levels_text(env->privileges->levels, have));
	}
	return NULL;
}

struct err *match_find_probes(struct match *m, const struct prog *prog)
{
	for (uint32_t i = 0; i < prog->nclauses; i++) {
		const struct prog_clause *cl = prog->clauses[i];
		struct session_clause *sc = &m->clauses.data[cl->index];
		struct err *e = probes_match(m->probes, &cl->desc, &sc->probes, &sc->n);

		if (!e)
			e = match_sources(m, cl, sc);
		if (!e)
			e = levels_check(m, sc);
		if (e)
			return e;
		sc->is_expanded = probes_is_expanded(m->probes, &cl->desc);
		drop_doubles(m, prog, i);
	}
	return NULL;
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* Numbers all probes that some clause is enabled on. */
static void number_probes(struct match *m)
{
	CLEANUP(free) uint32_t *idx_by_id = NULL;
	uint32_t max_id = 0;

	for (uint32_t i = 0; i < m->clauses.len; i++) {
		const struct session_clause *sc = &m->clauses.data[i];

		if (sc->n)
			max_id = MAX(max_id, sc->probes[sc->n - 1]->id);
	}
	idx_by_id = xcalloc(max_id + 1, sizeof(*idx_by_id));
	for (uint32_t i = 0; i < m->clauses.len; i++)
		for (uint32_t j = 0; j < m->clauses.data[i].n; j++)
			idx_by_id[m->clauses.data[i].probes[j]->id] = 1;
	for (uint32_t id = 1; id <= max_id; id++)
		m->nenabled += idx_by_id[id];
	m->enabled = ARENA_NEW_N(m->arena, struct probe *, MAX(m->nenabled, 1u));
	for (uint32_t id = 1, idx = 0; id <= max_id; id++)
		if (idx_by_id[id]) {
			m->enabled[idx] = probes_find(m->probes, id);
			idx_by_id[id] = idx++;
		}
	for (uint32_t i = 0; i < m->clauses.len; i++) {
		struct session_clause *sc = &m->clauses.data[i];

		sc->probe_idxs = ARENA_NEW_N(m->arena, uint32_t, MAX(sc->n, 1u));
		for (uint32_t j = 0; j < sc->n; j++)
			sc->probe_idxs[j] = idx_by_id[sc->probes[j]->id];
	}
}

/* Puts the names of all probes into the string table, in the order of the probes. */
static void names_add(struct match *m)
{
	m->strtab = strtab_create();
	for (uint32_t i = 0; i < m->nenabled; i++) {
		const struct probe *pr = m->enabled[i];

		(void)strtab_adds(m->strtab, pr->prov);
		(void)strtab_adds(m->strtab, pr->mod);
		(void)strtab_adds(m->strtab, probe_func_shown(m->probes, pr));
		(void)strtab_adds(m->strtab, pr->name);
	}
}

void match_number(struct match *m)
{
	number_probes(m);
	names_add(m);
}

void match_note_used(struct match *m)
{
	m->used = ARENA_NEW_N(m->arena, struct prog_clause *, MAX(m->clauses.len, 1u));
	m->nused = 0;
	for (uint32_t i = 0; i < m->clauses.len; i++)
		if (clause_counts(&m->clauses.data[i]))
			m->used[m->nused++] = m->clauses.data[i].clause;
}

static void number_epids(struct match *m)
{
	uint32_t next = 1;

	for (uint32_t i = 0; i < m->clauses.len; i++) {
		m->layout->clauses[i].first_epid = next;
		next += m->clauses.data[i].n;
	}
}

void match_make_layout(struct match *m, const struct prog_vars *vars, const struct prog_aggs *aggs,
		       const struct layout_opts *opts)
{
	struct prog_clause **list =
		ARENA_NEW_N(m->arena, struct prog_clause *, MAX(m->clauses.len, 1u));

	for (uint32_t i = 0; i < m->clauses.len; i++)
		list[i] = m->clauses.data[i].clause;
	m->layout = layout_create(m->arena, list, m->clauses.len, vars, aggs, m->strtab, opts);
	number_epids(m);
}

/* Returns the index of a probe among the clause's, which ascend; n: it is not there. */
static uint32_t probe_index(const struct session_clause *sc, uint32_t probe)
{
	uint32_t low = 0, high = sc->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (sc->probes[mid]->id < probe)
			low = mid + 1;
		else
			high = mid;
	}
	return low < sc->n && sc->probes[low]->id == probe ? low : sc->n;
}

static uint32_t own_epid(const struct match *m, uint32_t clause, uint32_t probe)
{
	const struct session_clause *sc = &m->clauses.data[clause];
	uint32_t i = probe_index(sc, probe);

	if (i < sc->n)
		return m->layout->clauses[clause].first_epid + i;
	for (i = sc->late.len; i-- > 0;)
		if (sc->late.data[i].probe == probe)
			return sc->late.data[i].epid;
	return 0;
}

uint32_t match_clause_for(const struct match *m, uint32_t clause, uint32_t probe)
{
	const struct session_clause *sc = &m->clauses.data[clause];

	if (own_epid(m, clause, probe))
		return clause;
	for (uint32_t i = 0; i < sc->joined.len; i++)
		if (own_epid(m, sc->joined.data[i], probe))
			return sc->joined.data[i];
	return clause;
}

uint32_t match_epid(const struct match *m, uint32_t clause, uint32_t probe)
{
	return own_epid(m, match_clause_for(m, clause, probe), probe);
}

uint32_t match_clause_of(const struct match *m, uint32_t epid, uint32_t probe)
{
	for (uint32_t i = 0; i < m->clauses.len; i++)
		if (own_epid(m, i, probe) == epid)
			return i;
	return 0;
}

/* ---- processes ------------------------------------------------------------------------------ */

uint32_t clause_process(const struct prog_clause *cl, struct probe *const *probes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (probes[i]->has_pid)
			return probes[i]->provider->only_in(cl->derived ? &cl->source : &cl->desc);
	return 0;
}

bool match_has_pids(const struct match *m)
{
	for (uint32_t i = 0; i < m->nenabled; i++)
		if (m->enabled[i]->has_pid)
			return true;
	return false;
}
