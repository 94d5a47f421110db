/* SPDX-License-Identifier: MIT */
/* Passes records to callbacks, and text to the handler of buffered output. */
#include "render/api.h"

#include "dif/shape.h"
#include "render/impl.h"

/* ---- callbacks ----------------------------------------------------------------------------- */

void printer_set_callbacks(struct printer *p, const struct print_callbacks *cb)
{
	p->api.cb = *cb;
	p->api.has_callbacks = cb->probe || cb->rec;
}

bool printer_in_callback(const struct printer *p)
{
	return p->api.ncalls > 0;
}

const dtrace_probedata_t *printer_record(const struct printer *p)
{
	return p->api.has_record ? &p->api.data : NULL;
}

void api_deinit(struct printer *p)
{
	vec_deinit(&p->api.recs);
	vec_deinit(&p->api.datums);
	strbuf_deinit(&p->api.bytes);
	arena_destroy(p->api.rows);
	err_destroy(p->api.err);
}

void api_begin(struct printer *p)
{
	p->api.is_direct = !p->fp || p->api.has_callbacks;
	p->api.has_record = p->api.is_refused = false;
	p->has_columns = !p->api.has_callbacks;
}

static struct err *answer_check(int answer, const char *what, bool *ret_is_taken)
{
	switch (answer) {
	case DTRACE_CONSUME_THIS:
	case DTRACE_CONSUME_NEXT: *ret_is_taken = answer == DTRACE_CONSUME_THIS; return NULL;
	case DTRACE_CONSUME_ABORT:
		return err_code(err_new("the %s callback has ended consuming", what), EDT_DIRABORT);
	case DTRACE_CONSUME_ERROR:
		return err_code(err_new("the %s callback has failed", what), EDT_DIRABORT);
	default:
		return err_code(err_new("the %s callback has returned %d, which is no answer", what,
					answer),
				EDT_BADRVAL);
	}
}

/* ---- descriptions of a record -------------------------------------------------------------- */

static void conv_text(struct strbuf *out, const struct prog_conv *c)
{
	static const char flags[] = "-+ #0'@";

	for (uint32_t i = 0; i < c->literal_len; i++)
		strbuf_addf(out, c->literal[i] == '%' ? "%%%%" : "%c", c->literal[i]);
	if (!c->conv)
		return;
	strbuf_addc(out, '%');
	for (uint32_t i = 0; flags[i]; i++)
		if (c->flags & (1u << i))
			strbuf_addc(out, flags[i]);
	if (c->flags & CONV_WIDTH_ARG)
		strbuf_addc(out, '*');
	else if (c->width >= 0)
		strbuf_addf(out, "%d", c->width);
	if (c->flags & CONV_PREC_ARG)
		strbuf_adds(out, ".*");
	else if (c->prec >= 0)
		strbuf_addf(out, ".%d", c->prec);
	strbuf_addf(out, "%.*s%c", (int)sizeof(c->size), c->size, c->conv);
}

/* Returns the format string of action i; NULL: the action has none. */
static const char *format_of(struct printer *p, uint32_t clause, uint32_t i)
{
	const struct prog_clause *c = p->layout->clauses[clause].clause;
	const struct prog_fmt *fmt = act_fmt(&c->acts[i]);
	struct strbuf text = {0};

	if (!fmt)
		return NULL;
	if (!p->api.formats)
		p->api.formats = ARENA_NEW_N(p->arena, const char **, p->layout->nclauses);
	if (!p->api.formats[clause])
		p->api.formats[clause] = ARENA_NEW_N(p->arena, const char *, c->nacts);
	if (!p->api.formats[clause][i]) {
		for (uint32_t j = 0; j < fmt->nconvs; j++)
			conv_text(&text, &fmt->convs[j]);
		p->api.formats[clause][i] = arena_strdup(p->arena, strbuf_text(&text));
		strbuf_deinit(&text);
	}
	return p->api.formats[clause][i];
}

/* Describes an action without its values. */
static dtrace_recdesc_t act_describe(struct printer *p, uint32_t clause, uint32_t i)
{
	const struct prog_act *act = &p->layout->clauses[clause].clause->acts[i];
	dtrace_recdesc_t rec = {.dtrd_action = api_action(act->kind, DATUM_INT),
				.dtrd_format = format_of(p, clause, i),
				.dtrd_alignment = 1};

	if (act_holds(act->kind) == HOLDS_SHAPE)
		rec.dtrd_type = act->shape->type;
	if (act_holds(act->kind) == HOLDS_FORMAT && act->naggs) {
		uint32_t *ids = ARENA_NEW_N(p->scratch, uint32_t, act->naggs);

		for (uint32_t j = 0; j < act->naggs; j++)
			ids[j] = act->aggs[j]->id;
		rec.dtrd_aggs = ids;
		rec.dtrd_naggs = act->naggs;
	}
	return rec;
}

/* Adds a description for each value of the action, or one without a value. */
static struct err *act_values(struct printer *p, uint32_t clause, uint32_t i)
{
	const struct prog_act *act = &p->layout->clauses[clause].clause->acts[i];
	const struct act_layout *al = &p->layout->clauses[clause].acts[i];
	dtrace_recdesc_t rec = act_describe(p, clause, i);
	struct datum d;

	if (!al->nfields) {
		vec_push(&p->api.recs, rec);
		vec_push(&p->api.datums, (dtrace_datum_t){0});
	}
	for (uint32_t f = 0; f < al->nfields; f++) {
		struct err *e = act_datum(p, al, f, &d);
		dtrace_datum_t datum;

		if (e)
			return e;
		datum = api_datum(p, p->scratch, &d);
		rec.dtrd_action = api_action(act->kind, d.kind);
		rec.dtrd_nvals = al->nfields - f;
		api_bytes_add(&p->api.bytes, &datum, &rec);
		vec_push(&p->api.recs, rec);
		vec_push(&p->api.datums, datum);
	}
	return NULL;
}

static struct err *record_values(struct printer *p)
{
	const struct clause_layout *cl = &p->layout->clauses[p->rec->clause];
	struct err *e = NULL;

	vec_clear(&p->api.recs);
	vec_clear(&p->api.datums);
	strbuf_clear(&p->api.bytes);
	for (uint32_t i = 0; i < cl->clause->nacts && !e; i++)
		if (act_was_executed(p, cl, i))
			e = act_values(p, p->rec->clause, i);
	return e;
}

static dtrace_flowkind_t flow_kind(enum flow flow)
{
	switch (flow) {
	case FLOW_ENTRY: return DTRACEFLOW_ENTRY;
	case FLOW_RETURN: return DTRACEFLOW_RETURN;
	case FLOW_NONE: return DTRACEFLOW_NONE;
	}
	BUG("flow %d", (int)flow);
}

struct err *api_record(struct printer *p, const struct probe_text *pt, uint32_t cpu,
		       bool *ret_is_taken)
{
	const struct rt_rec *rec = p->rec;
	struct api *a = &p->api;
	struct err *e = record_values(p);
	uint32_t clause = rec->clause, epid = 0;
	int answer;

	*ret_is_taken = true;
	if (e)
		return e;
	if (p->hooks.epid)
		epid = p->hooks.epid(p->hooks.ctx, &clause, rec->probe);
	a->pdesc = (dtrace_probedesc_t){rec->probe, printer_provider(p, pt->probe, a->prov),
					pt->probe->mod, pt->func, pt->probe->name};
	a->edesc = (dtrace_eprobedesc_t){
		.dtepd_epid = epid,
		.dtepd_probeid = rec->probe,
		.dtepd_uarg = clause,
		.dtepd_size = (uint32_t)a->bytes.len,
		.dtepd_nrecs = (int)a->recs.len,
		.dtepd_rec = a->recs.data,
	};
	a->data = (dtrace_probedata_t){
		.dtpda_handle = a->cb.hdl,
		.dtpda_edesc = &a->edesc,
		.dtpda_pdesc = &a->pdesc,
		.dtpda_cpu = (int)cpu,
		.dtpda_data = strbuf_text(&a->bytes),
		.dtpda_flow = DTRACEFLOW_NONE,
		.dtpda_timestamp = rec->time,
	};
	if (p->opts->flowindent) {
		a->data.dtpda_flow = flow_kind(p->flow_step.flow);
		a->data.dtpda_prefix = p->flow_step.prefix;
		a->data.dtpda_indent = (int)p->flow_step.indent;
	}
	a->has_record = true;
	if (!a->cb.probe)
		return NULL;
	a->ncalls++;
	answer = a->cb.probe(&a->data, a->cb.arg);
	a->ncalls--;
	return answer_check(answer, "probe", ret_is_taken);
}

struct err *api_ask(struct printer *p, const dtrace_recdesc_t *rec, bool *ret_is_taken)
{
	struct api *a = &p->api;
	int answer;

	*ret_is_taken = true;
	if (!a->cb.rec)
		return NULL;
	a->ncalls++;
	answer = a->cb.rec(&a->data, rec, a->cb.arg);
	a->ncalls--;
	return answer_check(answer, "record", ret_is_taken);
}

struct err *printer_recdata(const struct printer *p, const dtrace_probedata_t *data,
			    const dtrace_recdesc_t *rec, dtrace_datum_t *ret)
{
	const struct api *a = &p->api;

	if (data != &a->data || !a->has_record || !a->recs.len || rec < a->recs.data ||
	    rec > vec_last(&a->recs))
		return err_code(err_new("the description is not one of this record"),
				EDT_DMISMATCH);
	if (!rec->dtrd_nvals)
		return err_code(err_new("the action has no values"), EDT_DMISMATCH);
	*ret = a->datums.data[rec - a->recs.data];
	return NULL;
}

/* ---- text ---------------------------------------------------------------------------------- */

struct err *api_handler_text(struct printer *p)
{
	struct api *a = &p->api;
	const struct text_origin *from = &a->origin;
	dtrace_bufdata_t buf = {.dtbda_handle = a->cb.hdl,
				.dtbda_len = p->out.len,
				.dtbda_probe = printer_record(p),
				.dtbda_recdesc = from->rec,
				.dtbda_flags = from->flags};
	int answer;

	p->out.len = 0;
	if (!buf.dtbda_len || a->is_refused)
		return NULL;
	if (!a->cb.text)
		return err_code(err_new("there is something to show, but neither a file nor a "
					"handler of dtrace_handle_buffered()"),
				EDT_NOBUFFERED);
	*strbuf_room(&p->out, buf.dtbda_len + 1) = p->out.data[0];
	p->out.data[buf.dtbda_len] = '\0';
	buf.dtbda_buffered = p->out.data;
	if (from->elem) {
		if (!a->rows)
			a->rows = arena_create();
		buf.dtbda_aggdata = api_row(p, a->rows, from->view, from->elem);
	}
	a->ncalls++;
	answer = a->cb.text(&buf, a->cb.text_arg);
	a->ncalls--;
	if (a->rows)
		arena_reset(a->rows);
	if (answer == DTRACE_HANDLE_OK)
		return NULL;
	a->is_refused = true;
	return err_code(err_new("the handler of buffered output has ended consuming"),
			EDT_DIRABORT);
}

struct err *api_text(struct printer *p, struct text_origin origin)
{
	struct err *e;

	if (!p->api.is_direct || p->api.is_held || !p->out.len)
		return NULL;
	p->api.origin = origin;
	e = printer_flush(p, p->fp);
	p->api.origin = (struct text_origin){0};
	return e;
}

void api_row_text(struct printer *p, const struct agg_table *t, struct agg_elem *const *elems)
{
	struct text_origin origin = {.rec = p->api.rec,
				     .flags = DTRACE_BUFDATA_AGGKEY | DTRACE_BUFDATA_AGGVAL |
					      DTRACE_BUFDATA_AGGLAST |
					      (t->fmt ? DTRACE_BUFDATA_AGGFORMAT : 0)};
	struct err *e;

	if (!p->api.is_direct || p->api.err)
		return;
	for (uint32_t i = 0; i < t->nviews && !origin.elem; i++) {
		origin.view = t->views[i];
		origin.elem = elems[i];
	}
	e = api_text(p, origin);
	if (e)
		p->api.err = e;
}

struct err *api_err_take(struct printer *p)
{
	struct err *e = p->api.err;

	p->api.err = NULL;
	return e;
}
