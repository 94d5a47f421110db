/* SPDX-License-Identifier: MIT */
/* The engine: opening, units, and handing out of records (remains.h). */
#include "remains/impl.h"

#define SCRATCH_LEAST 65536u /* beside room for the strings of a clause */

/* ---- units ----------------------------------------------------------------------------------- */

static bool remains_takes(const struct unit *u, const char **ret_why)
{
	const struct place_traits *traits = place_traits(u->place.kind);

	*ret_why = "nothing runs in a core file, or in a copy of a process";
	return traits->is_remains || traits->is_begin_end;
}

static struct err *remains_load(struct engine_run *er, const struct unit *u, struct loaded **ret,
				uint32_t *ret_span)
{
	struct err *e = unit_check(u, ret_span);

	(void)er;
	if (e)
		return err_code(e, EDT_NOTSUP);
	*ret = xcalloc(1, sizeof(**ret));
	(*ret)->unit = u;
	return NULL;
}

static struct err *remains_ready(struct engine_run *r)
{
	(void)r;
	return NULL;
}

static void remains_unload(struct engine_run *er, struct loaded *l)
{
	struct remains_run *r = remains_run_of(er);

	if (l && r->unit == l->unit)
		r->unit = NULL;
	free(l);
}

static struct err *remains_attach(struct engine_run *r, struct loaded *l,
				  const struct attach_opts *opts, struct attachments *ret)
{
	(void)opts, (void)ret;
	if (!l->unit->is_begin_end)
		remains_run_of(r)->unit = l->unit;
	return NULL;
}

static struct err *remains_detach(struct engine_run *er, struct loaded *l, struct attachments *a,
				  uint32_t group)
{
	struct remains_run *r = remains_run_of(er);

	(void)a, (void)group;
	if (r->unit == l->unit)
		r->unit = NULL;
	return NULL;
}

static struct err *remains_drop_process(struct engine_run *r, struct loaded *l, uint32_t tgid)
{
	(void)r, (void)l, (void)tgid;
	return NULL;
}

static void remains_settle(struct engine_run *r, struct loaded *l)
{
	(void)r, (void)l;
}

static uint64_t remains_missed(struct engine_run *r, const struct loaded *l)
{
	(void)r, (void)l;
	return 0;
}

static uint64_t remains_links_missed(struct engine_run *r, const struct attachments *a)
{
	(void)r, (void)a;
	return 0;
}

static struct err *remains_fire(struct engine_run *er, struct loaded *l, uint32_t key)
{
	struct remains_run *r = remains_run_of(er);

	r->event = (struct event){.tid = r->m->tids.len ? r->m->tids.data[0] : 0};
	for (uint32_t i = 0; i < l->unit->nprobes; i++)
		if (l->unit->probes[i].key == key)
			unit_fire(r, l->unit, &l->unit->probes[i]);
	return NULL;
}

static struct err *remains_do_run(struct engine_run *er)
{
	struct remains_run *r = remains_run_of(er);
	struct err *e = events_run(r);

	r->run.control->cpu[0].dyn_drops = dif_machine_drops(r->machine);
	if (!e && r->stage == STAGE_OVER && r->run.control->state == RT_STATE_ON)
		r->run.control->state = RT_STATE_EXITING;
	return e;
}

/* ---- records --------------------------------------------------------------------------------- */

static const struct rt_rec *record_at(const struct remains_run *r, uint32_t i)
{
	return i < r->records.len ? (const struct rt_rec *)(void *)r->records.data[i]->data : NULL;
}

/* All records are whole, and in the order of their times: the horizon need not be kept. */
static struct err *remains_drain(struct engine_run *er, uint64_t horizon, engine_record_f *func,
				 void *ctx)
{
	struct remains_run *r = remains_run_of(er);
	struct err *e = NULL;
	uint32_t n = 0;

	(void)horizon;
	while (!e && n < r->records.len) {
		e = func(ctx, record_at(r, n), r->records.data[n]->len, 0, record_at(r, n + 1));
		n++;
	}
	for (uint32_t i = 0; i < n; i++)
		free(r->records.data[i]);
	for (uint32_t i = n; i < r->records.len; i++)
		r->records.data[i - n] = r->records.data[i];
	r->records.len -= n;
	r->nbytes = 0;
	return e;
}

static uint32_t remains_fill(const struct engine_run *r)
{
	(void)r;
	return 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void remains_close(struct engine_run *er)
{
	struct remains_run *r = remains_run_of(er);

	for (uint32_t i = 0; i < r->records.len; i++)
		free(r->records.data[i]);
	vec_deinit(&r->records);
	events_deinit(r);
	maps_destroy(r);
	hashmap_destroy(r->names);
	dif_machine_destroy(r->machine);
	strbuf_deinit(&r->rec);
	strbuf_deinit(&r->answer);
	free(r->text_buf);
	arena_destroy(r->arena);
	free(r);
}

static struct err *remains_open(const struct engine_opts *opts, struct engine_run **ret)
{
	struct remains_run *r = xcalloc(1, sizeof(*r));
	const struct dif_env env = clause_env(r);
	uint32_t strings = 2 * (opts->layout->facts.nstrings + 16) * (opts->layout->strsize + 16);
	uint32_t scratch = opts->layout->opts.scratchsize + strings + SCRATCH_LEAST;

	r->m = opts->remains->m;
	r->layout = opts->layout;
	r->arena = arena_create();
	r->machine = dif_machine_create(
		&env, &(struct dif_machine_opts){.strsize = opts->layout->strsize,
						 .scratch_size = scratch,
						 .dynvarsize = opts->layout->opts.dynvarsize});
	r->stops_when_full = opts->stops_when_full;
	r->strings = hashmap_create();
	r->stacks = hashmap_create();
	r->names = hashmap_create();
	r->text_buf = xcalloc(1, MAX(opts->layout->strsize, 1u));
	r->wake_fd = -1;
	r->run = (struct engine_run){
		.engine = &engine_remains,
		.control = opts->control,
		.ncpus = 1,
		.wake_fds = &r->wake_fd,
		.wake_fd = -1,
		.bufsize = opts->bufsize,
		.scratch_size = scratch,
		.aggs = r,
	};
	if (!r->run.control)
		r->run.control =
			arena_alloc(r->arena, sizeof(struct rt_control) + sizeof(struct rt_cpu));
	maps_create(r);
	specs_open(r);
	*ret = &r->run;
	return NULL;
}

const struct engine engine_remains = {
	.name = "remains",
	.takes = remains_takes,
	.open = remains_open,
	.close = remains_close,
	.load = remains_load,
	.ready = remains_ready,
	.settle = remains_settle,
	.unload = remains_unload,
	.attach = remains_attach,
	.missed = remains_missed,
	.links_missed = remains_links_missed,
	.run = remains_do_run,
	.fire = remains_fire,
	.drop_process = remains_drop_process,
	.detach = remains_detach,
	.drain = remains_drain,
	.fill = remains_fill,
	.aggs = &remains_aggs,
};
