/* SPDX-License-Identifier: MIT */
/* JSON of aggregations. */
#include <inttypes.h>

#include "render/json.h"

/* Aggregations printed at the end of tracing stand behind all records: they are kept until then. */
static struct strbuf *aggs_out(struct printer *p)
{
	return json_of(p)->at_end && !json_is_lines(p) ? &json_doc_now(p)->aggs : &p->out;
}

void json_aggs_begin(struct printer *p)
{
	struct json_doc *doc = json_doc_now(p);

	json_of(p)->at_end = true;
	doc->naggs = 0;
	doc->aggs.len = 0;
}

void json_aggs_end(struct printer *p)
{
	json_of(p)->at_end = false;
}

/* Writes the text that printa()'s format makes of the rows; the rows follow as data. */
void json_printa_begin(struct printer *p, const struct agg_table *t)
{
	struct strbuf saved = p->out, text;

	if (!t->fmt)
		return;
	p->out = (struct strbuf){0};
	p->render = &render_text;
	p->api.is_held = true;
	walk_table(p, t);
	p->api.is_held = false;
	p->render = &render_json;
	text = p->out;
	p->out = saved;
	json_item_text(p, "message", text.data, text.len);
	strbuf_deinit(&text);
}

bool json_table_begin(struct printer *p, const struct agg_table *t)
{
	struct json_doc *doc = json_doc_now(p);

	if (!json_of(p)->at_end)
		json_item(p);
	else if (doc->naggs++ && !json_is_lines(p))
		strbuf_adds(&doc->aggs, ",\n");
	strbuf_adds(aggs_out(p), "{\"aggregation-data\": [");
	json_of(p)->nrows = 0;
	return false;
}

static void json_keys(struct printer *p, struct strbuf *o, const struct agg_elem *e)
{
	strbuf_adds(o, "\"keys\": [");
	for (uint32_t i = 0; i < e->nkeys; i++) {
		struct datum d = datum_of_key(&e->keys[i]);

		if (i)
			strbuf_adds(o, ", ");
		if (json_is_plain(&d)) {
			json_plain(o, &d);
		} else {
			strbuf_addc(o, '{');
			json_pair(p, o, &d);
			strbuf_addc(o, '}');
		}
	}
	strbuf_addc(o, ']');
}

static void bucket_range(struct strbuf *o, const struct hist_bounds *b)
{
	if (b->has_min)
		strbuf_addf(o, ", \"min\": %" PRId64, b->min);
	if (b->has_max)
		strbuf_addf(o, ", \"max\": %" PRId64, b->max);
}

void json_buckets(struct strbuf *o, const struct agg_view *v, const struct agg_elem *e)
{
	const struct agg_layout *l = v->layout;
	uint32_t first, last;

	hist_range(l, e->state, &first, &last);
	strbuf_addc(o, '[');
	for (uint32_t row = first; row <= last; row++) {
		int64_t count = normalized(hist_count(l, e->state, row), v->normal);
		struct hist_bounds b = hist_bounds_of(l, row);

		strbuf_addf(o, "%s{\"value\": %" PRId64 ", \"count\": %" PRId64,
			    row == first ? "" : ", ", b.label, count);
		bucket_range(o, &b);
		strbuf_addc(o, '}');
	}
	strbuf_addc(o, ']');
}

/* What a row of live() has beside its bytes. */
static void live_pairs(struct strbuf *o, const struct agg_elem *e)
{
	strbuf_addf(o, ", \"objects\": %" PRId64 ", \"age\": %" PRId64, e->state[LIVE_COUNT],
		    e->state[LIVE_AGE]);
	if (e->state[LIVE_LOST])
		strbuf_addf(o, ", \"not-followed\": %" PRId64 ", \"bytes-not-followed\": %" PRId64,
			    e->state[LIVE_LOST], e->state[LIVE_LOST_BYTES]);
}

static void agg_pair(struct strbuf *o, const struct agg_view *v, const struct agg_elem *e)
{
	if (agg_is_histogram(v->agg)) {
		strbuf_adds(o, "\"buckets\": ");
		json_buckets(o, v, e);
		return;
	}
	strbuf_addf(o, "\"%s\": ", aggfunc_name(v->agg->func));
	json_int(o, (uint64_t)agg_value(v, e), v->agg->func != AGGFUNC_STDDEV);
	if (v->agg->func == AGGFUNC_LIVE)
		live_pairs(o, e);
}

void json_row(struct printer *p, const struct agg_table *t, struct agg_elem *const *elems)
{
	const struct agg_view *v = t->views[0];
	const struct agg_elem *e = elems[0];
	struct strbuf *o = aggs_out(p);

	strbuf_adds(o, json_of(p)->nrows++ ? ", {" : "{");
	json_keys(p, o, e);
	strbuf_adds(o, ", ");
	agg_pair(o, v, e);
	for (uint32_t cpu = 0; cpu < e->ncpus; cpu++) {
		struct agg_elem one = agg_elem_of_cpu(v, e, cpu);

		strbuf_addf(o, "%s{\"cpu\": %" PRIu32 ", ", cpu ? ", " : ", \"cpus\": [", cpu);
		agg_pair(o, v, &one);
		strbuf_adds(o, cpu == e->ncpus - 1 ? "}]" : "}");
	}
	strbuf_addc(o, '}');
}

void json_table_end(struct printer *p, const struct agg_table *t)
{
	struct strbuf *o = aggs_out(p);

	strbuf_addc(o, ']');
	json_member(o, "aggregation-name", t->views[0]->agg->name);
	json_member(o, "aggregation-function", aggfunc_name(t->views[0]->agg->func));
	strbuf_addc(o, '}');
	if (json_of(p)->at_end && json_is_lines(p))
		strbuf_addc(o, '\n');
}
