/* SPDX-License-Identifier: MIT */
/*
 * The registry of probes.
 *
 * Probes are indexed by each of their names, so that matching a description with a literal field
 * tests only the probes of the rarest such name. Results are remembered by description, because the
 * compiler, the enabling and the listing match the same ones.
 */
#include <inttypes.h>

#include "base/hashmap.h"
#include "dtrace.h"
#include "probe/probe.h"
#include "image/demangle.h"

struct match {
	struct probe **probes;
	uint32_t n;
	bool is_expanded;
};

struct pv_state {
	bool is_provided;
	void *data;
};

enum { FIELD_PROV, FIELD_MOD, FIELD_FUNC, FIELD_NAME, NFIELDS };

/* The probes with one name, and the one copy of the name. */
struct name_list {
	struct probe_list list;
	uint32_t removal; /* the last one that has looked through it */
	char text[];
};

struct probes {
	struct arena *arena;
	struct probe_list all;
	VEC(struct probe *) spare;	/* of those that were removed */
	struct hashmap *index[NFIELDS]; /* name -> struct name_list */
	struct hashmap *by_id;		/* all but those of unindexed */
	VEC(struct probe *) unindexed;	/* not in by_id yet */
	struct hashmap *matches;	/* description -> struct match */
	struct hashmap *states;		/* provider -> struct pv_state */
	VEC(struct probe_desc) named;	/* descriptions with literal functions; text in the arena */
	struct provider_env *env;	/* what providers are given */
	bool is_listing;		/* matches are for a listing */
	bool is_raw;
	struct hashmap *noted; /* functions of other systems that the user was told of */
	struct hashmap *shown; /* mangled names of functions -> demangled */
	uint32_t next_id, nremovals;
};

struct probes *probes_create(struct provider_env *env)
{
	struct probes *ps = xcalloc(1, sizeof(*ps));

	ps->arena = arena_create();
	for (int i = 0; i < NFIELDS; i++)
		ps->index[i] = hashmap_create();
	ps->by_id = hashmap_create();
	ps->matches = hashmap_create();
	ps->states = hashmap_create();
	ps->shown = hashmap_create();
	ps->noted = hashmap_create();
	ps->next_id = PROBE_ID_DYNAMIC;
	ps->env = env;
	env->probes = ps;
	env->arena = ps->arena;
	return ps;
}

static void states_close(struct probes *ps)
{
	const struct pv_state *st;
	const void *key;
	size_t pos = 0, len;

	while ((st = hashmap_next(ps->states, &pos, &key, &len))) {
		const struct provider *pv;

		memcpy(&pv, key, sizeof(pv));
		if (pv->close && st->data)
			pv->close(st->data);
	}
}

static void name_list_destroy(struct name_list *l)
{
	vec_deinit(&l->list.probes);
	free(l);
}

static void index_destroy(struct hashmap *index)
{
	struct name_list *l;
	const void *key;
	size_t pos = 0, len;

	while ((l = hashmap_next(index, &pos, &key, &len)))
		name_list_destroy(l);
	hashmap_destroy(index);
}

void probes_destroy(struct probes *ps)
{
	if (!ps)
		return;
	states_close(ps);
	vec_deinit(&ps->spare);
	vec_deinit(&ps->all.probes);
	vec_deinit(&ps->named);
	for (int i = 0; i < NFIELDS; i++)
		index_destroy(ps->index[i]);
	vec_deinit(&ps->unindexed);
	hashmap_destroy(ps->by_id);
	hashmap_destroy(ps->matches);
	hashmap_destroy(ps->states);
	hashmap_destroy(ps->shown);
	hashmap_destroy(ps->noted);
	arena_destroy(ps->arena);
	free(ps);
}

struct provider_env *probes_env(const struct probes *ps)
{
	return ps->env;
}

struct arena *probes_arena(struct probes *ps)
{
	return ps->arena;
}

static struct pv_state *pv_state_get(struct probes *ps, const struct provider *pv)
{
	struct pv_state *st = hashmap_find(ps->states, &pv, sizeof(pv));

	if (!st) {
		st = ARENA_NEW(ps->arena, struct pv_state);
		hashmap_set(ps->states, &pv, sizeof(pv), st);
	}
	return st;
}

void *probes_state(struct probes *ps, const struct provider *pv, size_t size)
{
	struct pv_state *st = pv_state_get(ps, pv);

	if (!st->data)
		st->data = arena_alloc(ps->arena, size);
	return st->data;
}

/* ---- adding --------------------------------------------------------------------------------- */

/* Adds a probe to the list of one of its names; returns the registry's copy of the name. */
static const char *index_add(struct probes *ps, int field, const char *text, struct probe *pr)
{
	struct name_list *l = hashmap_finds(ps->index[field], text);

	if (!l) {
		l = xcalloc(1, sizeof(*l) + strlen(text) + 1);
		memcpy(l->text, text, strlen(text) + 1);
		hashmap_sets(ps->index[field], text, l);
	}
	vec_push(&l->list.probes, pr);
	return l->text;
}

static struct probe *probe_find_same(struct probes *ps, const struct provider *pv, const char *prov,
				     const char *mod, const char *func, const char *name)
{
	const char *const texts[NFIELDS] = {prov, mod, func, name};
	const struct probe_list *l = NULL;

	for (int i = 0; i < NFIELDS; i++) {
		const struct name_list *have = hashmap_finds(ps->index[i], texts[i]);

		if (!have)
			return NULL;
		if (!l || have->list.probes.len < l->probes.len)
			l = &have->list;
	}
	for (uint32_t i = 0; i < l->probes.len; i++) {
		struct probe *pr = l->probes.data[i];

		if (pr->provider == pv && strcmp(pr->name, name) == 0 &&
		    strcmp(pr->func, func) == 0 && strcmp(pr->mod, mod) == 0 &&
		    strcmp(pr->prov, prov) == 0)
			return pr;
	}
	return NULL;
}

static uint32_t id_next(struct probes *ps)
{
	if (ps->next_id == PROBE_ID_LARGE)
		ps->next_id = PROBE_ID_LARGE_END;
	return ps->next_id++;
}

/* Most programs and listings of many probes look up few of them by id, or none. */
static void ids_index(struct probes *ps)
{
	for (uint32_t i = 0; i < ps->unindexed.len; i++) {
		struct probe *pr = ps->unindexed.data[i];

		hashmap_set(ps->by_id, &pr->id, sizeof(pr->id), pr);
	}
	vec_clear(&ps->unindexed);
}

static struct probe *probe_add_id(struct probes *ps, const struct provider *pv, uint32_t id,
				  const char *prov, const char *mod, const char *func,
				  const char *name, uint64_t data)
{
	struct probe *pr = probe_find_same(ps, pv, prov, mod, func, name);

	if (pr)
		return pr;
	pr = ps->spare.len ? ps->spare.data[--ps->spare.len] : ARENA_NEW(ps->arena, struct probe);
	*pr = (struct probe){.id = id ? id : id_next(ps), .provider = pv, .data = data};
	pr->prov = index_add(ps, FIELD_PROV, prov, pr);
	pr->mod = index_add(ps, FIELD_MOD, mod, pr);
	pr->func = index_add(ps, FIELD_FUNC, func, pr);
	pr->name = index_add(ps, FIELD_NAME, name, pr);
	vec_push(&ps->all.probes, pr);
	vec_push(&ps->unindexed, pr);
	return pr;
}

/* ---- removing ------------------------------------------------------------------------------- */

/* Takes the probes whose id is 0 out of the list: they were marked for removal. */
static void list_filter(struct probe_list *l)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->probes.len; i++)
		if (l->probes.data[i]->id)
			l->probes.data[n++] = l->probes.data[i];
	l->probes.len = n;
}

static void index_filter(struct probes *ps, int field, const char *text)
{
	struct name_list *l = hashmap_finds(ps->index[field], text);

	if (!l || l->removal == ps->nremovals)
		return;
	l->removal = ps->nremovals;
	list_filter(&l->list);
}

typedef VEC(struct name_list *) name_lists;

/* The name goes with its last probe. */
static void index_drop(struct probes *ps, int field, const char *text, name_lists *ret)
{
	struct name_list *l = hashmap_finds(ps->index[field], text);

	if (!l || l->list.probes.len)
		return;
	hashmap_remove(ps->index[field], text, strlen(text));
	vec_push(ret, l);
}

void probes_remove(struct probes *ps, const struct probe_list *gone)
{
	name_lists unused = {0};

	if (!gone->probes.len)
		return;
	ps->nremovals++;
	ids_index(ps);
	for (uint32_t i = 0; i < gone->probes.len; i++) {
		struct probe *pr = gone->probes.data[i];

		hashmap_remove(ps->by_id, &pr->id, sizeof(pr->id));
		pr->id = 0;
	}
	list_filter(&ps->all);
	for (uint32_t i = 0; i < gone->probes.len; i++) {
		const struct probe *pr = gone->probes.data[i];
		const char *const texts[NFIELDS] = {pr->prov, pr->mod, pr->func, pr->name};

		for (int k = 0; k < NFIELDS; k++)
			index_filter(ps, k, texts[k]);
	}
	for (uint32_t i = 0; i < gone->probes.len; i++) {
		struct probe *pr = gone->probes.data[i];
		const char *const texts[NFIELDS] = {pr->prov, pr->mod, pr->func, pr->name};

		for (int k = 0; k < NFIELDS; k++)
			index_drop(ps, k, texts[k], &unused);
		vec_push(&ps->spare, pr);
	}
	for (uint32_t i = 0; i < unused.len; i++)
		name_list_destroy(unused.data[i]);
	vec_deinit(&unused);
}

void probe_attrs(struct probes *ps, const struct probe *pr, struct attr *ret)
{
	if (!pr->provider->attrs || !pr->provider->attrs(ps->env, pr, ret))
		memcpy(ret, pr->provider->attr, sizeof(pr->provider->attr));
}

/* ---- adding --------------------------------------------------------------------------------- */

struct probe *probes_add(struct probes *ps, const struct provider *pv, const char *mod,
			 const char *func, const char *name, uint64_t data)
{
	return probe_add_id(ps, pv, 0, pv->name, mod, func, name, data);
}

struct probe *probes_add_as(struct probes *ps, const struct provider *pv, const char *prov,
			    const char *mod, const char *func, const char *name, uint64_t data)
{
	return probe_add_id(ps, pv, 0, prov, mod, func, name, data);
}

void probe_list_add(struct probe_list *l, struct probe *pr)
{
	vec_push(&l->probes, pr);
}

struct probe *probes_add_at(struct probes *ps, const struct provider *pv, uint32_t index,
			    const char *mod, const char *func, const char *name, uint64_t data)
{
	assert(index < pv->id_count &&
	       (pv->id_base + pv->id_count <= PROBE_ID_DYNAMIC || pv->id_base >= PROBE_ID_LARGE));
	return probe_add_id(ps, pv, pv->id_base + index, pv->name, mod, func, name, data);
}

struct probe *probes_add_hidden(struct probes *ps, const struct provider *pv, const char *mod,
				const char *func, const char *name, uint64_t data)
{
	struct probe *pr = ARENA_NEW(ps->arena, struct probe);

	*pr = (struct probe){.id = id_next(ps),
			     .prov = pv->name,
			     .mod = arena_strdup(ps->arena, mod),
			     .func = arena_strdup(ps->arena, func),
			     .name = arena_strdup(ps->arena, name),
			     .provider = pv,
			     .data = data};
	vec_push(&ps->unindexed, pr);
	return pr;
}

struct probe *probes_add_private(struct probes *ps, const struct provider *pv, const char *prov,
				 const char *mod, const char *func, const char *name, uint64_t data)
{
	struct probe *pr = ps->spare.len ? ps->spare.data[--ps->spare.len]
					 : ARENA_NEW(ps->arena, struct probe);

	*pr = (struct probe){.id = id_next(ps),
			     .prov = prov,
			     .mod = mod,
			     .func = func,
			     .name = name,
			     .provider = pv,
			     .data = data};
	vec_push(&ps->unindexed, pr);
	return pr;
}

struct probe *probes_find(struct probes *ps, uint32_t id)
{
	ids_index(ps);
	return hashmap_find(ps->by_id, &id, sizeof(id));
}

/* ---- matching ------------------------------------------------------------------------------- */

const struct provider *const *providers_of(const struct probes *ps)
{
	return ps->env->remains.language ? provider_list_remains : provider_list;
}

static bool is_name(const char *field)
{
	return *field && glob_is_literal(field);
}

static struct err *provider_ask(struct probes *ps, const struct provider *pv)
{
	struct pv_state *st = pv_state_get(ps, pv);

	if (st->is_provided || !pv->provide)
		return NULL;
	st->is_provided = true;
	return pv->provide(ps->env, pv);
}

bool provider_concerns(const struct provider *pv, const struct probe_desc *desc)
{
	if (pv->concerns)
		return pv->concerns(pv, desc);
	if (!glob_match(desc->prov, pv->name) && !(pv->alias && strcmp(desc->prov, pv->alias) == 0))
		return false;
	if (!pv->names)
		return true;
	for (uint32_t i = 0; pv->names[i]; i++)
		if (glob_match(desc->name, pv->names[i]))
			return true;
	return false;
}

static struct err *providers_ask(struct probes *ps, const struct probe_desc *desc,
				 struct probe_list *out)
{
	bool is_literal = is_name(desc->func) && is_name(desc->name);
	const struct provider *const *list = providers_of(ps);

	for (uint32_t i = 0; list[i]; i++) {
		const struct provider *pv = list[i];
		bool is_listed = pv->is_costly && ps->is_listing && !*desc->prov;
		struct probe_desc wide = *desc;
		struct err *e = NULL;

		if (!is_listed && !provider_concerns(pv, desc))
			continue;
		if (is_listed)
			wide.prov = "*";
		if (pv->collect)
			e = pv->collect(ps->env, pv, &wide, out);
		else if (!(is_literal && pv->provide_desc))
			e = provider_ask(ps, pv);
		if (!e && pv->provide_desc)
			e = pv->provide_desc(ps->env, pv, desc);
		if (e)
			return pv->collect ? e : err_wrap(e, "provider '%s'", pv->name);
	}
	return NULL;
}

/* The probes to test: those of the rarest literal field of desc, or all probes. NULL = none. */
static const struct probe_list *probes_candidates(const struct probes *ps,
						  const struct probe_desc *desc)
{
	const char *const fields[NFIELDS] = {desc->prov, desc->mod, desc->func, desc->name};
	const struct probe_list *best = &ps->all;

	for (int i = 0; i < NFIELDS; i++) {
		const struct probe_list *l;

		if (!is_name(fields[i]))
			continue;
		l = hashmap_finds(ps->index[i], fields[i]);
		if (!l)
			return NULL;
		if (l->probes.len < best->probes.len)
			best = l;
	}
	return best;
}

static bool probe_matches(const struct probe *pr, const struct probe_desc *desc)
{
	return glob_match(desc->name, pr->name) && glob_match(desc->func, pr->func) &&
	       glob_match(desc->mod, pr->mod) && glob_match(desc->prov, pr->prov);
}

static void candidates_collect(const struct probes *ps, const struct probe_desc *desc,
			       struct probe_list *out)
{
	const struct probe_list *l = probes_candidates(ps, desc);

	for (uint32_t i = 0; l && i < l->probes.len; i++)
		if (probe_matches(l->probes.data[i], desc))
			vec_push(&out->probes, l->probes.data[i]);
}

static struct err *matches_expand(struct probes *ps, const struct probe_desc *desc,
				  struct probe_list *found)
{
	const struct provider *const *list = providers_of(ps);
	struct err *e = NULL;

	for (uint32_t i = 0; list[i] && !e; i++) {
		const struct provider *pv = list[i];

		if (pv->expand && provider_concerns(pv, desc))
			e = pv->expand(ps->env, pv, desc, found);
	}
	return e;
}

static int probe_cmp_id(const void *a, const void *b)
{
	const struct probe *const *x = a, *const *y = b;

	return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

/* Sorts the probes by id, drops repeated ones, and copies them into the arena. */
static struct match *match_finish(struct probes *ps, struct probe_list *l)
{
	struct match *m = ARENA_NEW(ps->arena, struct match);

	if (l->probes.len) {
		qsort(l->probes.data, l->probes.len, sizeof(*l->probes.data), probe_cmp_id);
		m->probes = ARENA_NEW_N(ps->arena, struct probe *, l->probes.len);
	}
	for (uint32_t i = 0; i < l->probes.len; i++)
		if (!m->n || m->probes[m->n - 1] != l->probes.data[i])
			m->probes[m->n++] = l->probes.data[i];
	return m;
}

static struct err *match_id(struct probes *ps, uint32_t id, struct probe_list *out)
{
	const struct provider *const *list = providers_of(ps);
	struct probe *pr;

	for (uint32_t i = 0; list[i] && !probes_find(ps, id); i++) {
		const struct provider *pv = list[i];
		bool in_block = id - pv->id_base < pv->id_count;

		if (in_block || (!pv->id_count && id >= PROBE_ID_DYNAMIC)) {
			struct err *e = provider_ask(ps, pv);

			if (e)
				return e;
		}
	}
	pr = probes_find(ps, id);
	if (pr)
		vec_push(&out->probes, pr);
	return NULL;
}

bool probes_is_kernel_elsewhere(const char *mod)
{
	static const char *const names[] = {"genunix", "unix", "ip", "TS", "kernel", "mach_kernel"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(mod, names[i]) == 0)
			return true;
	return false;
}

/* The length of "icmp" in mib::icmp_*:, a function that stands for probes; 0: it does not. */
static size_t function_head(const struct probe_desc *desc)
{
	size_t len = strcspn(desc->func, "_*?[\\");

	return !*desc->name && desc->func[len] == '_' ? len : 0;
}

bool probes_has_function_elsewhere(const struct probe_desc *desc)
{
	return *desc->func && is_name(desc->prov) && (is_name(desc->name) || function_head(desc));
}

bool probes_name_is_meant(const struct probe_desc *desc, const char *name)
{
	size_t len = function_head(desc);

	if (!len || glob_match(desc->func, ""))
		return glob_match(desc->name, name);
	return strncmp(desc->func, name, len) == 0 && name[len] >= 'A' && name[len] <= 'Z';
}

/* Adds declared probes that other systems have in a module, and in a function. */
static void derived_collect(const struct probes *ps, const struct probe_desc *desc,
			    struct probe_list *out)
{
	struct probe_desc d = *desc;
	const struct probe_list *l;

	if (!*desc->prov ||
	    (!probes_is_kernel_elsewhere(desc->mod) && !glob_match(desc->mod, "")) ||
	    (!glob_match(desc->func, "") && !probes_has_function_elsewhere(desc)))
		return;
	d.mod = "";
	d.func = "";
	l = probes_candidates(ps, &d);
	for (uint32_t i = 0; l && i < l->probes.len; i++)
		if (l->probes.data[i]->provider->is_derived &&
		    probe_matches(l->probes.data[i], &d) &&
		    probes_name_is_meant(desc, l->probes.data[i]->name))
			vec_push(&out->probes, l->probes.data[i]);
}

/* Tells the user, once for each name, that declared probes were found without their function. */
static void function_notify(struct probes *ps, const struct probe_desc *desc,
			    const struct probe_list *found)
{
	if (!found->probes.len || !found->probes.data[0]->provider->is_derived ||
	    glob_match(desc->func, "") || hashmap_finds(ps->noted, desc->func))
		return;
	hashmap_sets(ps->noted, desc->func, ps);
	if (function_head(desc))
		env_notice(ps->env,
			   "probes of provider '%s' have no function: '%s' of '%s' stands for "
			   "those whose names begin with '%.*s'",
			   desc->prov, desc->func, probe_desc_text(ps->arena, desc),
			   (int)function_head(desc), desc->func);
	else
		env_notice(ps->env,
			   "probes of provider '%s' have no function: '%s' of '%s' is passed "
			   "over",
			   desc->prov, desc->func, probe_desc_text(ps->arena, desc));
}

/* *ret_plain: how many probes matched by their own names, before provider.expand. */
static struct err *match_text(struct probes *ps, const struct probe_desc *desc,
			      struct probe_list *out, uint32_t *ret_plain)
{
	struct err *e = providers_ask(ps, desc, out);

	if (e)
		return e;
	candidates_collect(ps, desc, out);
	if (!out->probes.len)
		derived_collect(ps, desc, out);
	function_notify(ps, desc, out);
	*ret_plain = out->probes.len;
	e = matches_expand(ps, desc, out);
	if (e || out->probes.len || *desc->prov ||
	    !(is_name(desc->name) || is_name(desc->func) || is_name(desc->mod)))
		return e;
	/* A name without a provider may be that of a probe that is costly to find. */
	return match_text(ps,
			  &(struct probe_desc){"*", desc->mod, desc->func, desc->name, desc->id,
					       desc->is_source, desc->texts},
			  out, ret_plain);
}

/*
 * Whether a probe in the list has a function that desc does not match: it was added by
 * matches_expand().
 */
static bool has_other_names(const struct probe_desc *desc, const struct probe_list *l)
{
	for (uint32_t i = 0; i < l->probes.len; i++)
		if (!glob_match(desc->func, l->probes.data[i]->func))
			return true;
	return false;
}

static void desc_key(const struct probes *ps, const struct probe_desc *desc, struct strbuf *out)
{
	const char *const fields[] = {desc->prov, desc->mod, desc->func, desc->name};

	strbuf_addc(out, ps->is_listing ? 'l' : 'm');
	strbuf_addc(out, desc->is_source ? 's' : 'u');
	strbuf_addf(out, "%x.", desc->texts);
	if (desc->id)
		strbuf_addf(out, "%u", desc->id);
	for (uint32_t i = 0; i < ARRAY_LEN(fields); i++) {
		strbuf_addc(out, ':');
		strbuf_adds(out, fields[i]);
	}
}

struct err *probes_match(struct probes *ps, const struct probe_desc *desc,
			 struct probe ***ret_probes, uint32_t *ret_n)
{
	struct probe_list found = {0};
	struct strbuf key = {0};
	struct match *m;
	struct err *e = NULL;
	uint32_t plain = 0;

	desc_key(ps, desc, &key);
	m = hashmap_finds(ps->matches, key.data);
	if (!m) {
		e = desc->id ? match_id(ps, desc->id, &found)
			     : match_text(ps, desc, &found, &plain);
		if (!e) {
			m = match_finish(ps, &found);
			m->is_expanded = !desc->id && (found.probes.len != plain ||
						       has_other_names(desc, &found));
			hashmap_sets(ps->matches, key.data, m);
		}
		vec_deinit(&found.probes);
	}
	strbuf_deinit(&key);
	if (e)
		return e;
	*ret_probes = m->probes;
	*ret_n = m->n;
	return NULL;
}

struct err *probes_match_listed(struct probes *ps, const struct probe_desc *desc,
				struct probe ***ret_probes, uint32_t *ret_n)
{
	struct err *e;

	ps->is_listing = true;
	e = probes_match(ps, desc, ret_probes, ret_n);
	ps->is_listing = false;
	return e;
}

bool probes_is_listing(const struct probes *ps)
{
	return ps->is_listing;
}

/* ---- what is known before matching ----------------------------------------------------------- */

/* Forgets the results of matching; arrays that were returned stay valid. */
static void matches_forget(struct probes *ps)
{
	hashmap_destroy(ps->matches);
	ps->matches = hashmap_create();
}

void probes_forget(struct probes *ps)
{
	matches_forget(ps);
}

bool probes_has(const struct probes *ps, const struct probe_desc *desc)
{
	const struct probe_list *l = probes_candidates(ps, desc);

	for (uint32_t i = 0; l && i < l->probes.len; i++)
		if (probe_matches(l->probes.data[i], desc))
			return true;
	return false;
}

bool probes_is_named(const struct probes *ps, const struct provider *pv, const char *func)
{
	for (uint32_t i = 0; i < ps->named.len; i++)
		if (strcmp(ps->named.data[i].func, func) == 0 &&
		    provider_concerns(pv, &ps->named.data[i]))
			return true;
	return false;
}

void probes_name(struct probes *ps, const struct probe_desc *desc)
{
	const struct provider *const *list = providers_of(ps);
	struct arena *a = ps->arena;
	bool has_changed = false;

	for (uint32_t i = 0; list[i] && !desc->id; i++) {
		const struct provider *pv = list[i];

		if (pv->named && provider_concerns(pv, desc))
			has_changed |= pv->named(ps->env, pv, desc);
	}
	if (has_changed)
		matches_forget(ps);
	if (desc->id || !is_name(desc->func))
		return;
	vec_push(&ps->named,
		 (struct probe_desc){arena_strdup(a, desc->prov), arena_strdup(a, desc->mod),
				     arena_strdup(a, desc->func), arena_strdup(a, desc->name), 0,
				     desc->is_source, desc->texts});
	matches_forget(ps);
}

void probes_set_raw(struct probes *ps, bool is_raw)
{
	ps->is_raw = is_raw;
}

const char *probe_prov_shown(const struct probe *pr, uint64_t pid, char buf[PROBE_PROV_ROOM])
{
	if (!pr->has_pid)
		return pr->prov;
	(void)snprintf(buf, PROBE_PROV_ROOM, "%s%" PRIu64, pr->prov, pid);
	return buf;
}

const char *probe_func_shown(struct probes *ps, const struct probe *pr)
{
	const char *shown;

	if (!pr->provider->has_mangled || ps->is_raw || !is_mangled(pr->func))
		return pr->func;
	shown = hashmap_finds(ps->shown, pr->func);
	if (!shown) {
		shown = demangle(ps->arena, pr->func);
		hashmap_sets(ps->shown, pr->func, (void *)(uintptr_t)shown);
	}
	return shown;
}

bool probes_is_expanded(const struct probes *ps, const struct probe_desc *desc)
{
	struct strbuf key = {0};
	const struct match *m;

	desc_key(ps, desc, &key);
	m = hashmap_finds(ps->matches, key.data);
	strbuf_deinit(&key);
	return m && m->is_expanded;
}

const char *probe_desc_text(struct arena *a, const struct probe_desc *desc)
{
	if (desc->id)
		return arena_printf(a, "%u", desc->id);
	return arena_printf(a, "%s:%s:%s:%s", desc->prov, desc->mod, desc->func, desc->name);
}
