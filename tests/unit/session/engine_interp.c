/* SPDX-License-Identifier: MIT */
#include "engine_interp.h"

#include <unistd.h>

#include "base/hashmap.h"
#include "base/vec.h"
#include "record/layout.h"
#include "dif/interp.h"

#define REC_MAX 4096
#define KEY_MAX 256

struct record {
	uint32_t len;
	_Alignas(8) uint8_t data[];
};

struct cpu {
	VEC(struct record *) records; /* ascending times */
	uint32_t next;		      /* the first one that was not drained */
};

struct elem {
	uint8_t *key, *values; /* values: of all CPUs */
};

struct map {
	const struct elem_map *spec;
	VEC(struct elem) elems;
};

struct loaded {
	const struct unit *unit;
};

/* What fires. */
struct firing {
	const struct unit_probe *probe;
	const struct unit_clause *clause;
	uint64_t args[10], time;
	uint32_t cpu;
	bool has_exited;
};

struct interp_run {
	struct engine_run run;
	struct arena *arena; /* of all that firings leave */
	const struct layout *layout;
	struct dif_machine *machine;
	struct cpu *cpus;
	struct map *maps;
	struct hashmap *strings; /* u64 hash -> text */
	int *wake_fds;
	VEC(const struct unit *) attached;
	struct firing f;
	uint32_t nfirings;
	/* the record that is being made */
	_Alignas(8) uint8_t rec[REC_MAX];
	uint32_t rec_len;
};

static struct interp_run *run_of(const struct engine_run *r)
{
	return CONTAINER_OF(r, struct interp_run, run);
}

/* ---- what clauses see ------------------------------------------------------------------------ */

static uint32_t name_of(const struct interp_run *r, uint32_t var)
{
	return r->f.probe->id.names[var - DIF_VAR_PROBEPROV];
}

static uint32_t epid(const struct interp_run *r)
{
	const struct unit_clause *uc = r->f.clause;
	uint32_t rank = 0;

	while (rank < uc->nprobes && uc->probe_idxs[rank] != r->f.probe->id.probe_idx)
		rank++;
	return uc->layout->first_epid + unit_clause_rank(uc, rank);
}

static enum dif_fault builtin(void *ctx, uint32_t id, uint64_t index, uint64_t *ret)
{
	struct interp_run *r = ctx;

	if (id == DIF_VAR_ARGS) {
		*ret = index < 10 ? r->f.args[index] : 0;
	} else if (id >= DIF_VAR_ARG0 && id <= DIF_VAR_ARG9) {
		*ret = r->f.args[id - DIF_VAR_ARG0];
	} else if (id >= DIF_VAR_PROBEPROV && id <= DIF_VAR_PROBENAME) {
		*ret = dif_machine_string(r->machine,
					  strtab_get(r->layout->strtab, name_of(r, id)));
	} else if (id == DIF_VAR_ID) {
		*ret = r->f.probe->id.probe;
	} else if (id == DIF_VAR_EPID) {
		*ret = epid(r);
	} else if (id == DIF_VAR_PID || id == DIF_VAR_TID) {
		*ret = (uint64_t)getpid();
	} else if (id == DIF_VAR_TIMESTAMP) {
		*ret = r->f.time;
	} else {
		*ret = 0;
		return DIF_FAULT_ILLOP;
	}
	return DIF_FAULT_NONE;
}

/* ---- records --------------------------------------------------------------------------------- */

static void record_add(struct interp_run *r, const void *data, uint32_t len)
{
	struct record *rec = arena_alloc(r->arena, sizeof(*rec) + len);

	rec->len = len;
	memcpy(rec->data, data, len);
	vec_push(&r->cpus[r->f.cpu].records, rec);
}

static void fault_add(struct interp_run *r, const struct dif_result *res, uint32_t action)
{
	const struct rt_rec_fault f = {
		.rec = {RT_REC_FAULT, r->f.probe->id.probe, r->f.time},
		.fault = {.kind = res->fault,
			  .clause = r->f.clause->layout->clause->index,
			  .action = action,
			  .offset = (int32_t)res->offset,
			  .value = res->fault_value},
		.epid = epid(r),
	};

	record_add(r, &f, sizeof(f));
}

/* False: a fault, which is recorded. */
static bool value_get(struct interp_run *r, const struct difo *d, uint32_t action, uint64_t *ret)
{
	struct dif_result res = dif_run(r->machine, d);

	*ret = res.value;
	if (res.fault == DIF_FAULT_NONE)
		return true;
	fault_add(r, &res, action);
	return false;
}

static bool text_get(struct interp_run *r, const struct difo *d, uint32_t action, char *text,
		     uint32_t *ret_len, bool *ret_null)
{
	struct dif_result res = {.fault = DIF_FAULT_BADADDR, .offset = UINT32_MAX};

	if (!value_get(r, d, action, &res.fault_value))
		return false;
	*ret_null = !res.fault_value;
	if (dif_machine_text(r->machine, res.fault_value, text, ret_len))
		return true;
	fault_add(r, &res, action);
	return false;
}

static uint32_t strid_of(const struct interp_run *r, const struct difo *d)
{
	const char *s = difo_is_strconst(d);
	uint32_t id = 0;

	if (!s)
		return name_of(r, (uint32_t)difo_is_builtin(d));
	(void)strtab_find(r->layout->strtab, s, strlen(s), &id);
	return id;
}

static bool field_record(struct interp_run *r, const struct rec_field *f, const struct difo *d,
			 uint32_t action)
{
	char text[REC_MAX];
	struct rt_str s = {r->rec_len, 0};
	uint64_t value;
	uint32_t id;
	bool is_null;

	if (f->kind == REC_STRID) {
		id = strid_of(r, d);
		memcpy(r->rec + f->off, &id, sizeof(id));
		return true;
	}
	if (f->kind == REC_INT) {
		if (!value_get(r, d, action, &value))
			return false;
		memcpy(r->rec + f->off, &value, f->size);
		return true;
	}
	if (!text_get(r, d, action, text, &s.len, &is_null))
		return false;
	if (is_null)
		s = (struct rt_str){0, UINT32_MAX};
	else
		memcpy(r->rec + s.off, text, s.len + 1);
	r->rec_len += is_null ? 0 : s.len + 1;
	memcpy(r->rec + f->off, &s, sizeof(s));
	return true;
}

static bool act_record(struct interp_run *r, uint32_t i)
{
	const struct clause_layout *cl = r->f.clause->layout;
	const struct prog_act *act = &cl->clause->acts[i];

	for (uint32_t k = 0; k < cl->acts[i].nfields; k++)
		if (!field_record(r, &cl->acts[i].fields[k], act->args[k], act->number + k))
			return false;
	if (cl->executed_off)
		r->rec[cl->executed_off + i / 8] |= (uint8_t)(1 << i % 8);
	r->f.has_exited |= act->kind == ACT_EXIT;
	return true;
}

/* ---- aggregations ---------------------------------------------------------------------------- */

static size_t values_size(const struct interp_run *r, const struct map *m)
{
	return (size_t)elem_map_stride(m->spec) * r->run.ncpus;
}

static struct elem *elem_find(const struct map *m, const void *key)
{
	size_t size = m->spec->key_size ? m->spec->key_size : sizeof(uint32_t);

	for (uint32_t i = 0; i < m->elems.len; i++)
		if (memcmp(m->elems.data[i].key, key, size) == 0)
			return &m->elems.data[i];
	return NULL;
}

static struct elem *elem_add(const struct interp_run *r, struct map *m, const void *key)
{
	size_t size = m->spec->key_size ? m->spec->key_size : sizeof(uint32_t);
	struct elem e = {arena_alloc(r->arena, size), arena_alloc(r->arena, values_size(r, m))};

	memcpy(e.key, key, size);
	vec_push(&m->elems, e);
	return vec_last(&m->elems);
}

static uint64_t text_hash(struct interp_run *r, const char *text)
{
	uint64_t hash = 14695981039346656037u;

	for (const char *p = text; *p; p++)
		hash = (hash ^ (uint8_t)*p) * 1099511628211u;
	if (!hashmap_find(r->strings, &hash, sizeof(hash)))
		hashmap_set(r->strings, &hash, sizeof(hash), arena_strdup(r->arena, text));
	return hash;
}

static bool key_make(struct interp_run *r, const struct agg_layout *al, const struct prog_act *act,
		     uint8_t *key)
{
	uint64_t value = al->owner;
	char text[REC_MAX];
	uint32_t len, id;
	bool is_null;

	memcpy(key, &value, al->owner ? sizeof(value) : 0);
	if (!al->key_size)
		memcpy(key, &al->elem, sizeof(al->elem));
	for (uint32_t k = 0; k < al->nkeys; k++) {
		const struct key_field *f = &al->keys[k];

		if (f->repr == KEY_STRID) {
			id = strid_of(r, act->args[k]);
			memcpy(key + f->off, &id, sizeof(id));
			continue;
		}
		if (f->repr == KEY_INT
			    ? !value_get(r, act->args[k], act->number + k, &value)
			    : !text_get(r, act->args[k], act->number + k, text, &len, &is_null))
			return false;
		if (f->repr == KEY_STRHASH)
			value = text_hash(r, text);
		memcpy(key + f->off, &value, f->size);
	}
	return true;
}

static void state_update(enum aggfunc func, int64_t *state, int64_t v)
{
	if (func == AGGFUNC_COUNT)
		state[0]++;
	else if (func == AGGFUNC_SUM)
		state[0] += v;
	else if (func == AGGFUNC_MIN)
		state[0] = MIN(state[0] ^ INT64_MAX, v) ^ INT64_MAX;
	else if (func == AGGFUNC_MAX)
		state[0] = MAX(state[0] ^ INT64_MIN, v) ^ INT64_MIN;
	else
		state[0]++, state[1] += v; /* avg */
}

static bool act_aggregate(struct interp_run *r, const struct prog_act *act)
{
	const struct agg_layout *al = &r->layout->aggs[act->agg->id - 1];
	struct map *m = &r->maps[al->map];
	uint8_t key[KEY_MAX] = {0};
	uint64_t value = 0, one = 1;
	struct elem *e;
	uint8_t *state;

	if (!key_make(r, al, act, key) ||
	    (act->nargs > al->nkeys &&
	     !value_get(r, act->args[al->nkeys], act->number + al->nkeys, &value)))
		return false;
	e = elem_find(m, key);
	if (!e)
		e = elem_add(r, m, key);
	state = e->values + (size_t)elem_map_stride(m->spec) * r->f.cpu;
	state_update(act->agg->func, (int64_t *)(void *)state, (int64_t)value);
	if (!al->key_size)
		memcpy(state + al->touched_off, &one, sizeof(one));
	return true;
}

/* ---- clauses --------------------------------------------------------------------------------- */

/* The number of the action that is next; nacts + 1: the clause has ended with a fault. */
static uint32_t act_run(struct interp_run *r, uint32_t i)
{
	const struct prog_clause *c = r->f.clause->layout->clause;
	const struct prog_act *act = &c->acts[i];
	uint64_t value = 0;
	bool is_fine;

	if (act->kind == ACT_JMP)
		return act->target;
	if (act->kind == ACT_AGG)
		is_fine = act_aggregate(r, act);
	else if (act->kind == ACT_EXPR || act->kind == ACT_BRZ)
		is_fine = value_get(r, act->args[0], act->number, &value);
	else
		is_fine = act_record(r, i);
	if (!is_fine)
		return c->nacts + 1;
	return act->kind == ACT_BRZ && !value ? act->target : i + 1;
}

static void clause_run(struct interp_run *r)
{
	const struct clause_layout *cl = r->f.clause->layout;
	const struct prog_clause *c = cl->clause;
	const struct rt_rec head = {c->index, r->f.probe->id.probe, r->f.time};
	uint64_t value = 1;
	uint32_t i = 0;

	dif_machine_begin_clause(r->machine);
	if (c->pred && (!value_get(r, c->pred, 0, &value) || !value))
		return;
	memset(r->rec, 0, sizeof(r->rec));
	memcpy(r->rec, &head, sizeof(head));
	r->rec_len = cl->heap_off;
	while (i < c->nacts)
		i = act_run(r, i);
	if (i == c->nacts && c->records)
		record_add(r, r->rec, r->rec_len);
}

static void unit_fire(struct interp_run *r, const struct unit *u, const struct unit_probe *p,
		      const uint64_t args[10])
{
	uint32_t state = r->run.control->state;

	if (!u->is_begin_end && state != RT_STATE_ON)
		return;
	r->f = (struct firing){.probe = p, .time = now_ns(), .cpu = r->nfirings++ % r->run.ncpus};
	memcpy(r->f.args, args, sizeof(r->f.args));
	dif_machine_begin_firing(r->machine, (uint64_t)getpid());
	for (uint32_t i = 0; i < u->nclauses && !r->f.has_exited; i++) {
		r->f.clause = &u->clauses[i];
		if (p->mask[i / 64] >> (i % 64) & 1)
			clause_run(r);
	}
	if (r->f.has_exited && state == RT_STATE_ON)
		r->run.control->state = RT_STATE_EXITING;
}

void interp_fire(struct engine_run *er, const char *tracepoint, const uint64_t args[10])
{
	struct interp_run *r = run_of(er);

	for (uint32_t i = 0; i < r->attached.len; i++) {
		const struct unit *u = r->attached.data[i];

		if (u->place.target && strcmp(u->place.target, tracepoint) == 0)
			unit_fire(r, u, &u->probes[0], args);
	}
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static struct err *map_each(void *ctx, uint32_t map, agg_each_f *f, void *arg)
{
	const struct interp_run *r = ctx;
	const struct map *m = &r->maps[map];

	for (uint32_t i = 0; i < m->elems.len; i++)
		f(arg, m->elems.data[i].key, m->elems.data[i].values, r->run.ncpus);
	return NULL;
}

static struct err *map_peek(void *ctx, uint32_t map, const void *key, const uint8_t **ret_values,
			    uint32_t *ret_ncpus)
{
	const struct interp_run *r = ctx;
	const struct elem *e = elem_find(&r->maps[map], key);

	if (e)
		*ret_values = e->values;
	*ret_ncpus = e ? r->run.ncpus : 0;
	return NULL;
}

static struct err *map_take(void *ctx, uint32_t map, const void *key, const uint8_t **ret_values,
			    uint32_t *ret_ncpus)
{
	const struct interp_run *r = ctx;
	struct map *m = &r->maps[map];
	struct elem *e = elem_find(m, key);
	struct err *err = map_peek(ctx, map, key, ret_values, ret_ncpus);

	if (e && m->spec->key_size)
		*e = m->elems.data[--m->elems.len];
	return err;
}

static struct err *map_put(void *ctx, uint32_t map, const void *key, const uint8_t *value,
			   bool *ret_done)
{
	struct interp_run *r = ctx;
	struct map *m = &r->maps[map];
	struct elem *e = elem_find(m, key);

	*ret_done = !e || !m->spec->key_size;
	if (!*ret_done)
		return NULL;
	if (!e)
		e = elem_add(r, m, key);
	memset(e->values, 0, values_size(r, m));
	memcpy(e->values, value, m->spec->val_size);
	return NULL;
}

static bool map_string(void *ctx, uint64_t hash, struct strbuf *out)
{
	const struct interp_run *r = ctx;
	const char *text = hashmap_find(r->strings, &hash, sizeof(hash));

	if (text)
		strbuf_adds(out, text);
	return text != NULL;
}

static const struct agg_io interp_aggs = {.each = map_each,
					  .take = map_take,
					  .peek = map_peek,
					  .put = map_put,
					  .string = map_string};

/* ---- draining -------------------------------------------------------------------------------- */

static const struct rt_rec *record_at(const struct cpu *c, uint32_t i)
{
	return i < c->records.len ? (const struct rt_rec *)(void *)c->records.data[i]->data : NULL;
}

static struct err *interp_drain(struct engine_run *er, uint64_t horizon, engine_record_f *func,
				void *ctx)
{
	struct interp_run *r = run_of(er);
	struct err *e = NULL;

	while (!e) {
		uint32_t first = UINT32_MAX;
		uint64_t time = horizon;
		struct cpu *c;

		for (uint32_t cpu = 0; cpu < r->run.ncpus; cpu++) {
			const struct rt_rec *rec = record_at(&r->cpus[cpu], r->cpus[cpu].next);

			if (rec && rec->time <= time) {
				time = rec->time;
				first = cpu;
			}
		}
		if (first == UINT32_MAX)
			return NULL;
		c = &r->cpus[first];
		e = func(ctx, record_at(c, c->next), c->records.data[c->next]->len, first,
			 record_at(c, c->next + 1));
		c->next++;
	}
	return e;
}

static uint32_t interp_fill(const struct engine_run *r)
{
	(void)r;
	return 0;
}

/* ---- units ----------------------------------------------------------------------------------- */

static bool act_is_known(const struct interp_run *r, const struct clause_layout *cl, uint32_t i)
{
	const struct prog_act *act = &cl->clause->acts[i];
	const struct agg_layout *al;

	for (uint32_t k = 0; k < cl->acts[i].nfields; k++)
		if (cl->acts[i].fields[k].kind > REC_STR && cl->acts[i].fields[k].kind != REC_STRID)
			return false;
	if (act->kind != ACT_AGG)
		return true;
	al = &r->layout->aggs[act->agg->id - 1];
	for (uint32_t k = 0; k < al->nkeys; k++)
		if (al->keys[k].repr != KEY_INT && al->keys[k].repr != KEY_STRID &&
		    al->keys[k].repr != KEY_STRHASH)
			return false;
	return true;
}

static struct err *interp_load(struct engine_run *er, const struct unit *u, struct loaded **ret,
			       uint32_t *ret_span)
{
	for (uint32_t i = 0; i < u->nclauses; i++) {
		const struct clause_layout *cl = u->clauses[i].layout;

		for (uint32_t k = 0; k < cl->clause->nacts; k++)
			if (!act_is_known(run_of(er), cl, k)) {
				*ret_span = cl->clause->acts[k].span;
				return err_new("the interpreter has no code for action #%u",
					       cl->clause->acts[k].number);
			}
	}
	*ret = xcalloc(1, sizeof(**ret));
	(*ret)->unit = u;
	return NULL;
}

static struct err *interp_ready(struct engine_run *r)
{
	(void)r;
	return NULL;
}

static void interp_unload(struct engine_run *r, struct loaded *l)
{
	(void)r;
	free(l);
}

static struct err *interp_attach(struct engine_run *r, struct loaded *l,
				 const struct attach_opts *opts, struct attachments *ret)
{
	(void)opts, (void)ret;
	if (!l->unit->is_begin_end)
		vec_push(&run_of(r)->attached, l->unit);
	return NULL;
}

static uint64_t interp_missed(struct engine_run *r, const struct loaded *l)
{
	(void)r, (void)l;
	return 0;
}

static uint64_t interp_links_missed(struct engine_run *r, const struct attachments *a)
{
	(void)r, (void)a;
	return 0;
}

static struct err *interp_fire_key(struct engine_run *r, struct loaded *l, uint32_t key)
{
	static const uint64_t none[10];

	for (uint32_t i = 0; i < l->unit->nprobes; i++)
		if (l->unit->probes[i].key == key)
			unit_fire(run_of(r), l->unit, &l->unit->probes[i], none);
	return NULL;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* What can be said before there is a layout: interp_load() looks at keys and fields, too. */
static const char *act_refusal(const struct prog_act *act)
{
	if (act->kind != ACT_AGG)
		return act_is_recording(act->kind) || act->kind == ACT_EXPR ||
				       act->kind == ACT_BRZ || act->kind == ACT_JMP
			       ? NULL
			       : "the interpreter has no code for one of the actions";
	return aggfunc_words(act->agg->func) && act->agg->func != AGGFUNC_STDDEV
		       ? NULL
		       : "the interpreter has no code for one of the aggregations";
}

static bool interp_takes(const struct unit *u, const char **ret_why)
{
	const char *why = NULL;

	if (u->place.kind != PLACE_TEST_RUN && u->place.kind != PLACE_RAWTP)
		why = "the interpreter has no such places";
	for (uint32_t i = 0; i < u->nclauses; i++) {
		const struct prog_clause *c = u->clauses[i].layout->clause;

		for (uint32_t k = 0; k < c->nacts && !why; k++)
			why = act_refusal(&c->acts[k]);
	}
	*ret_why = why;
	return !why;
}

static void maps_create(struct interp_run *r)
{
	r->maps = ARENA_NEW_N(r->arena, struct map, MAX(r->layout->nagg_maps, 1u));
	for (uint32_t i = 0; i < r->layout->nagg_maps; i++) {
		r->maps[i].spec = &r->layout->agg_maps[i];
		for (uint32_t k = 0; !r->maps[i].spec->key_size && k < r->maps[i].spec->nmembers;
		     k++)
			(void)elem_add(r, &r->maps[i], &k);
	}
}

static struct rt_control *control_create(struct arena *a, uint32_t ncpus)
{
	return arena_alloc(a, sizeof(struct rt_control) + ncpus * sizeof(struct rt_cpu));
}

static struct err *interp_open(const struct engine_opts *opts, struct engine_run **ret)
{
	struct interp_run *r = xcalloc(1, sizeof(*r));
	uint32_t ncpus = opts->layout->opts.ncpus;
	struct dif_env env = dif_env_none;

	r->arena = arena_create();
	env.ctx = r;
	env.builtin = builtin;
	r->layout = opts->layout;
	r->machine =
		dif_machine_create(&env,
				   &(struct dif_machine_opts){.strsize = opts->layout->strsize});
	r->cpus = ARENA_NEW_N(r->arena, struct cpu, ncpus);
	r->strings = hashmap_create();
	r->wake_fds = ARENA_NEW_N(r->arena, int, ncpus);
	memset(r->wake_fds, 0xff, ncpus * sizeof(*r->wake_fds));
	r->run = (struct engine_run){
		.engine = &engine_interp,
		.control = opts->control ? opts->control : control_create(r->arena, ncpus),
		.ncpus = ncpus,
		.wake_fds = r->wake_fds,
		.wake_fd = -1,
		.bufsize = opts->bufsize,
		.aggs = r,
	};
	maps_create(r);
	*ret = &r->run;
	return NULL;
}

static void interp_close(struct engine_run *er)
{
	struct interp_run *r = run_of(er);

	for (uint32_t i = 0; i < r->layout->nagg_maps; i++)
		vec_deinit(&r->maps[i].elems);
	for (uint32_t cpu = 0; cpu < er->ncpus; cpu++)
		vec_deinit(&r->cpus[cpu].records);
	vec_deinit(&r->attached);
	dif_machine_destroy(r->machine);
	hashmap_destroy(r->strings);
	arena_destroy(r->arena);
	free(r);
}

const struct engine engine_interp = {
	.name = "interp",
	.takes = interp_takes,
	.open = interp_open,
	.close = interp_close,
	.load = interp_load,
	.ready = interp_ready,
	.unload = interp_unload,
	.attach = interp_attach,
	.missed = interp_missed,
	.links_missed = interp_links_missed,
	.fire = interp_fire_key,
	.drain = interp_drain,
	.fill = interp_fill,
	.aggs = &interp_aggs,
};
