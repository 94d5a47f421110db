/* SPDX-License-Identifier: MIT */
/*
 * The renderer of rows (option oformat=rows): an object of JSON a line, for each record and for
 * each row of an aggregation, whose members have the names that option rownames gives.
 *
 *     {"time": "2026-11-22T14:03:12.250100Z", "pid": 4711, "program": "cat", "calls": 12}
 *
 * The values of a record are the arguments of printf() and what other actions show, in their order;
 * those of a row are its keys, then one of each aggregation of the printa(). The text of formats
 * is left out, as are records without values. A value without a name is called by its number.
 */
#include <inttypes.h>
#include <time.h>

#include "base/text.h"
#include "render/json.h"

/* ---- names --------------------------------------------------------------------------------- */

/* Adds the name of value i of a record or row, and a colon. */
static void name_add(const struct printer *p, struct strbuf *o, uint32_t i)
{
	const char *name = p->opts->rownames ? p->opts->rownames : "";
	uint32_t left = i;

	while (left && *name) {
		name += strcspn(name, ",");
		name += *name == ',';
		left--;
	}
	strbuf_adds(o, ", ");
	if (*name && *name != ',') {
		json_quote(o, name, strcspn(name, ","));
		strbuf_adds(o, ": ");
	} else {
		strbuf_addf(o, "\"value%" PRIu32 "\": ", i + 1);
	}
}

/* Begins an object with the date of a record's time, in UTC. */
static void object_begin(struct printer *p, struct strbuf *o, uint64_t time)
{
	uint64_t wall = time + (uint64_t)p->wall_offset;
	time_t secs = (time_t)(wall / 1000000000);
	char date[32] = "";
	struct tm tm;

	if (gmtime_r(&secs, &tm))
		(void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	strbuf_addf(o, "{\"time\": \"%s.%06" PRIu64 "Z\"", date, wall % 1000000000 / 1000);
}

static void datum_add(struct printer *p, struct strbuf *o, const struct datum *d)
{
	struct strbuf text = {0};
	uint64_t pid, addr;

	if (json_is_plain(d)) {
		json_plain(o, d);
		return;
	}
	switch (d->kind) {
	case DATUM_INT:
	case DATUM_STRING:
	case DATUM_BYTES:
	case DATUM_STRUCT:
	case DATUM_MEMORY: json_hex(o, d->bytes, d->bytes ? d->size : 0); return;
	case DATUM_STACK:
	case DATUM_USTACK: json_frames(p, o, d); return;
	case DATUM_SYM:
	case DATUM_MOD:
	case DATUM_USYM:
	case DATUM_UMOD:
	case DATUM_UADDR:
		addr_of_datum(d, &pid, &addr);
		addr_text(p, &text, pid, addr, addr_form_of(d->kind));
		json_quote(o, text.data, text.len);
		strbuf_deinit(&text);
		return;
	case DATUM_STACKID: break; /* act_datum() makes a stack of it */
	}
	BUG("datum kind %d", (int)d->kind);
}

/* ---- records ------------------------------------------------------------------------------- */

static void rows_record_begin(struct printer *p, const struct probe_text *pt, uint32_t cpu,
			      const struct rt_rec *next)
{
	json_of(p)->row.len = 0;
	json_of(p)->nitems = 0;
}

/* Writes the values of the record so far. */
static void record_flush(struct printer *p)
{
	if (!json_of(p)->nitems)
		return;
	object_begin(p, &p->out, p->rec->time);
	strbuf_add(&p->out, json_of(p)->row.data, json_of(p)->row.len);
	strbuf_adds(&p->out, "}\n");
	json_of(p)->row.len = 0;
	json_of(p)->nitems = 0;
}

static void rows_record_end(struct printer *p, bool is_quiet)
{
	record_flush(p);
}

/* Begins the next value of the record. */
static struct strbuf *item_begin(struct printer *p)
{
	name_add(p, &json_of(p)->row, json_of(p)->nitems++);
	return &json_of(p)->row;
}

static void rows_value(struct printer *p, const struct datum *d)
{
	datum_add(p, item_begin(p), d);
}

static void rows_memory(struct printer *p, const char *action, const struct datum *d)
{
	json_hex(item_begin(p), d->bytes, d->bytes ? d->size : 0);
}

static void rows_typed(struct printer *p, const struct shape *shape, const struct datum *d)
{
	json_shape(p, item_begin(p), shape, d);
}

static struct err *rows_message(struct printer *p, const struct act_layout *al,
				const struct fmt *fmt)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < al->nfields && !e; i++) {
		struct datum d;

		e = act_datum(p, al, i, &d);
		if (!e)
			rows_value(p, &d);
	}
	return e;
}

static void rows_command(struct printer *p, const char *command, const struct strbuf *text,
			 int status)
{
	struct strbuf *o = item_begin(p);

	strbuf_adds(o, "{\"system\": ");
	json_quote(o, command, strlen(command));
	strbuf_adds(o, ", \"text\": ");
	json_quote(o, text->data, text->len);
	strbuf_addf(o, ", \"status\": %d}", status);
}

/* ---- tables -------------------------------------------------------------------------------- */

static void rows_aggs_begin(struct printer *p)
{
	json_of(p)->at_end = true;
}

static void rows_aggs_end(struct printer *p)
{
	json_of(p)->at_end = false;
}

static void rows_printa_begin(struct printer *p, const struct agg_table *t)
{
}

static bool rows_table_begin(struct printer *p, const struct agg_table *t)
{
	return false;
}

static uint64_t table_time(const struct printer *p)
{
	return json_of(p)->at_end ? now_ns() : p->rec->time;
}

static void rows_row(struct printer *p, const struct agg_table *t, struct agg_elem *const *elems)
{
	const struct agg_elem *keyed = agg_row_keys(elems, t->nviews);
	struct strbuf *o = &p->out;

	object_begin(p, o, table_time(p));
	for (uint32_t i = 0; i < keyed->nkeys; i++) {
		struct datum d = datum_of_key(&keyed->keys[i]);

		name_add(p, o, i);
		datum_add(p, o, &d);
	}
	for (uint32_t i = 0; i < t->nviews; i++) {
		const struct agg_view *v = t->views[i];

		name_add(p, o, keyed->nkeys + i);
		if (!agg_is_histogram(v->agg))
			json_int(o, elems[i] ? (uint64_t)agg_value(v, elems[i]) : 0,
				 v->agg->func != AGGFUNC_STDDEV);
		else if (elems[i])
			json_buckets(o, v, elems[i]);
		else
			strbuf_adds(o, "[]");
	}
	strbuf_adds(o, "}\n");
}

static void rows_table_end(struct printer *p, const struct agg_table *t)
{
}

static void rows_left_out(struct printer *p, const struct agg_table *t, const struct agg_rest *rest)
{
	uint32_t nkeys = t->views[0]->agg->nkeys;
	struct strbuf *o = &p->out;

	object_begin(p, o, table_time(p));
	strbuf_addf(o, ", \"rows_left_out\": %" PRIu32, rest->nrows);
	for (uint32_t i = 0; i < t->nviews; i++) {
		if (!agg_has_sum(t->views[i]->agg))
			continue;
		name_add(p, o, nkeys + i);
		json_int(o, (uint64_t)rest->sums[i], true);
	}
	strbuf_adds(o, "}\n");
}

const struct renderer render_rows = {
	.open = json_open,
	.close = json_close,
	.record_begin = rows_record_begin,
	.record_end = rows_record_end,
	.value = rows_value,
	.memory = rows_memory,
	.typed = rows_typed,
	.message = rows_message,
	.joins = true,
	.aggs_begin = rows_aggs_begin,
	.aggs_end = rows_aggs_end,
	.printa_begin = rows_printa_begin,
	.table_begin = rows_table_begin,
	.row = rows_row,
	.table_end = rows_table_end,
	.left_out = rows_left_out,
	.command = rows_command,
	.leave = record_flush,
};
