/* SPDX-License-Identifier: MIT */
/*
 * Renders text as d-language.md 6 describes it: header, CPU and probe columns (6.1, 6.8),
 * rows of aggregations (6.4).
 */
#include <inttypes.h>
#include <unistd.h>

#include "base/text.h"
#include "render/impl.h"

/* ---- text of others -------------------------------------------------------------------------- */

/* Asks once for each file between two flushes: a record takes less time than the question. */
static bool goes_to_terminal(struct printer *p)
{
	FILE *fp = printer_fp(p, p->fp);

	if (fp && p->asked.fp != fp) {
		p->asked.fp = fp;
		p->asked.is_terminal = isatty(fileno(fp));
	}
	return fp && p->asked.is_terminal;
}

/* Whether text of others is escaped where text goes now. */
static bool is_escaping(struct printer *p)
{
	enum print_oformat form = p->opts->oformat;
	bool is_here = !printer_redirect(p);

	if (form == PRINT_JSON || form == PRINT_JSONL || form == PRINT_ROWS)
		return false; /* the text becomes a string of JSON */
	if (p->is_screen && is_here)
		return true;
	switch (p->opts->escape) {
	case PRINT_ESCAPE_ALWAYS: return true;
	case PRINT_ESCAPE_NEVER: return false;
	case PRINT_ESCAPE_AUTO: break;
	}
	return (form == PRINT_HTML && is_here) || goes_to_terminal(p);
}

/* ---- lines --------------------------------------------------------------------------------- */

static void print_flow_column(struct printer *p, const struct probe_text *pt)
{
	const struct flow_step *step = &p->flow_step;
	size_t start = p->out.len, used;

	strbuf_pad(&p->out, ' ', step->indent);
	strbuf_adds(&p->out, step->prefix);
	strbuf_adds(&p->out, pt->func);
	if (step->flow == FLOW_NONE) {
		strbuf_addc(&p->out, ':');
		strbuf_adds(&p->out, pt->probe->name);
	}
	used = text_columns(p->out.data + start, p->out.len - start);
	if (used < 41)
		strbuf_pad(&p->out, ' ', 41 - used);
	strbuf_addc(&p->out, ' ');
}

static void print_header(struct printer *p)
{
	if (p->header_done || p->opts->quiet)
		return;
	p->header_done = true;
	if (!p->opts->is_testing)
		strbuf_addf(&p->out, "%3s ", "CPU");
	if (p->opts->flowindent)
		strbuf_addf(&p->out, "%-41s\n", "FUNCTION");
	else if (p->opts->is_testing)
		strbuf_addf(&p->out, "%32s\n", "FUNCTION:NAME");
	else
		strbuf_addf(&p->out, "%6s %32s\n", "ID", "FUNCTION:NAME");
}

static void text_record_begin(struct printer *p, const struct probe_text *pt, uint32_t cpu,
			      const struct rt_rec *next)
{
	uint32_t skip = p->opts->is_testing ? pt->func_off : 0;

	if (!p->has_columns)
		return;
	print_header(p);
	if (p->opts->quiet && !p->opts->flowindent)
		return;
	if (!p->opts->is_testing) {
		out_int(&p->out, 3, cpu, false);
		strbuf_addc(&p->out, ' ');
	}
	if (!p->opts->flowindent) {
		strbuf_add(&p->out, pt->column + skip, pt->len - skip);
		return;
	}
	print_flow_column(p, pt);
}

static void text_record_end(struct printer *p, bool is_quiet)
{
	if (p->has_columns && !is_quiet)
		strbuf_addc(&p->out, '\n');
}

/* ---- values -------------------------------------------------------------------------------- */

static void text_value(struct printer *p, const struct datum *d)
{
	p->escapes = is_escaping(p);
	print_trace(p, &p->out, d);
	p->escapes = false;
}

static void text_memory(struct printer *p, const char *action, const struct datum *d)
{
	print_raw(&p->out, d->bytes, d->size);
}

static void text_typed(struct printer *p, const struct shape *shape, const struct datum *d)
{
	print_shape(p, &p->out, shape, d);
}

static struct err *text_message(struct printer *p, const struct act_layout *al,
				const struct fmt *fmt)
{
	struct err *e;

	p->escapes = is_escaping(p);
	e = act_format(p, &p->out, al, fmt);
	p->escapes = false;
	return e;
}

/* ---- rows without format --------------------------------------------------------------------- */

/* Adds a time in the unit that fits: "850ms", "12.3s", "4m10s", "3h02m", "2d04h". */
static void age_add(struct strbuf *o, uint64_t ns)
{
	uint64_t ms = ns / 1000000, s = ms / 1000;

	if (s < 1)
		strbuf_addf(o, "%" PRIu64 "ms", ms);
	else if (s < 60)
		strbuf_addf(o, "%" PRIu64 ".%" PRIu64 "s", s, ms % 1000 / 100);
	else if (s < 3600)
		strbuf_addf(o, "%" PRIu64 "m%02" PRIu64 "s", s / 60, s % 60);
	else if (s < 86400)
		strbuf_addf(o, "%" PRIu64 "h%02" PRIu64 "m", s / 3600, s / 60 % 60);
	else
		strbuf_addf(o, "%" PRIu64 "d%02" PRIu64 "h", s / 86400, s / 3600 % 24);
}

/* Prints "4096 bytes in 4 objects, oldest 12.3s", and what was not followed. */
static void print_alive(struct strbuf *o, const struct agg_view *v, const struct agg_elem *e)
{
	int64_t n = e ? e->state[LIVE_COUNT] : 0, lost = e ? e->state[LIVE_LOST] : 0;

	out_int(o, 16, e ? (uint64_t)agg_value(v, e) : 0, true);
	strbuf_addf(o, " bytes in %" PRId64 " object%s", n, PLURAL(n));
	if (n) {
		strbuf_adds(o, ", oldest ");
		age_add(o, (uint64_t)e->state[LIVE_AGE]);
	}
	if (lost)
		strbuf_addf(o, " (not followed: %" PRId64 ", %" PRId64 " bytes)", lost,
			    e->state[LIVE_LOST_BYTES]);
}

/* Prints a value; e NULL: the zero of the aggregation's kind. */
static void print_one_value(struct printer *p, struct strbuf *o, const struct agg_view *v,
			    const struct agg_elem *e)
{
	if (agg_is_histogram(v->agg)) {
		print_histogram(p, o, v, e);
		return;
	}
	strbuf_addc(o, ' ');
	if (v->agg->func == AGGFUNC_LIVE) {
		print_alive(o, v, e);
		return;
	}
	out_int(o, 16, e ? (uint64_t)agg_value(v, e) : 0, v->agg->func != AGGFUNC_STDDEV);
}

/* Prints the value, and the values of the CPUs if they were kept (option aggpercpu). */
static void print_value(struct printer *p, struct strbuf *o, const struct agg_view *v,
			const struct agg_elem *e)
{
	print_one_value(p, o, v, e);
	for (uint32_t cpu = 0; e && cpu < e->ncpus; cpu++) {
		struct agg_elem one = agg_elem_of_cpu(v, e, cpu);

		strbuf_addf(o, "\n    [CPU %u]", cpu);
		print_one_value(p, o, v, &one);
	}
}

static void print_keys(struct printer *p, struct strbuf *o, const struct agg_elem *e)
{
	for (uint32_t i = 0; i < e->nkeys; i++) {
		struct datum d = datum_of_key(&e->keys[i]);

		print_key(p, o, &d);
	}
}

/* ---- rows with format ------------------------------------------------------------------------ */

/* Arguments of a row's format: the keys of an element, and the views' values; the last repeats. */
struct row_args {
	struct fmt_args args;
	const struct agg_elem *keyed;
	struct agg_view *const *views;
	struct agg_elem *const *elems;
	uint32_t n, next_key, next_value;
};

static bool row_next(struct fmt_args *args, struct datum *ret)
{
	struct row_args *r = CONTAINER_OF(args, struct row_args, args);

	if (r->next_key >= r->keyed->nkeys)
		return false;
	*ret = datum_of_key(&r->keyed->keys[r->next_key++]);
	return true;
}

/* Prints number or age of what live() counts; e NULL: nothing is alive. */
static void print_part(struct printer *p, struct strbuf *o, const struct conv *c,
		       const struct spec *s, const struct agg_elem *e)
{
	struct datum d = {.kind = DATUM_INT, .size = 8};
	struct strbuf age = {0};

	if (c->part == CONV_PART_COUNT) {
		d.ival = e ? (uint64_t)e->state[LIVE_COUNT] : 0;
		c->print(p, o, c, s, &d);
		return;
	}
	age_add(&age, e ? (uint64_t)e->state[LIVE_AGE] : 0);
	out_text(o, s, strbuf_text(&age), age.len);
	strbuf_deinit(&age);
}

static void row_value(struct fmt_args *args, struct printer *p, struct strbuf *o,
		      const struct conv *c, const struct spec *s)
{
	struct row_args *r = CONTAINER_OF(args, struct row_args, args);
	bool is_part = c->part != CONV_PART_VALUE;
	uint32_t at =
		is_part ? MIN(MAX(r->next_value, 1u), r->n) - 1 : MIN(r->next_value, r->n - 1);
	const struct agg_view *v = r->views[at];
	const struct agg_elem *e = r->elems[at];
	struct datum d = {.kind = DATUM_INT, .size = 8};

	if (is_part) {
		print_part(p, o, c, s, e);
		return;
	}
	r->next_value++;
	if (agg_is_histogram(v->agg)) {
		print_histogram(p, o, v, e);
		return;
	}
	d.is_signed = v->agg->func != AGGFUNC_COUNT;
	d.ival = e ? (uint64_t)agg_value(v, e) : 0;
	c->print(p, o, c, s, &d);
}

static void print_row_fmt(struct printer *p, const struct agg_table *t,
			  struct agg_elem *const *elems)
{
	struct row_args r = {.args = {row_next, row_value},
			     .keyed = agg_row_keys(elems, t->nviews),
			     .views = t->views,
			     .elems = elems,
			     .n = t->nviews};

	fmt_print(p, &p->out, t->fmt, &r.args);
}

static void print_row(struct printer *p, const struct agg_table *t, struct agg_elem *const *elems)
{
	print_keys(p, &p->out, agg_row_keys(elems, t->nviews));
	for (uint32_t i = 0; i < t->nviews; i++)
		print_value(p, &p->out, t->views[i], elems[i]);
	strbuf_addc(&p->out, '\n');
}

/* ---- tables -------------------------------------------------------------------------------- */

static void text_aggs_begin(struct printer *p)
{
	strbuf_addc(&p->out, '\n');
}

static void text_aggs_end(struct printer *p)
{
}

static void text_printa_begin(struct printer *p, const struct agg_table *t)
{
	if (!t->fmt)
		strbuf_addc(&p->out, '\n');
}

static bool text_table_begin(struct printer *p, const struct agg_table *t)
{
	bool is_done;

	p->escapes = is_escaping(p);
	is_done = t->nviews == 1 && !t->fmt && print_view_packed(p, &p->out, t->views[0]);
	p->escapes = false;
	return is_done;
}

static void text_row(struct printer *p, const struct agg_table *t, struct agg_elem *const *elems)
{
	p->escapes = is_escaping(p);
	if (t->fmt)
		print_row_fmt(p, t, elems);
	else
		print_row(p, t, elems);
	p->escapes = false;
}

static void text_table_end(struct printer *p, const struct agg_table *t)
{
}

/*
 * What a format prints behind the value of an aggregation, up to the end of the line: " ms" of
 * "%@d ms\n". at is the number of the value among those of the format. NULL: nothing but blanks.
 */
static const char *unit_find(const struct fmt *f, uint32_t at, int *ret_len)
{
	const struct conv *c;
	size_t len;

	for (uint32_t i = 0; f && i + 1 < f->nconvs; i++) {
		if (!(f->convs[i].spec.flags & CONV_AGG) || at--)
			continue;
		c = &f->convs[i + 1];
		for (len = 0; len < c->literal_len && c->literal[len] != '\n'; len++)
			;
		*ret_len = (int)len;
		return strspn(c->literal, " ") < len ? c->literal : NULL;
	}
	return NULL;
}

/* "... 12 more rows, 4812 ms", or "... 12 more rows, sum 4812": below the rows that are shown. */
static void text_left_out(struct printer *p, const struct agg_table *t, const struct agg_rest *rest)
{
	struct strbuf *o = &p->out;

	strbuf_addf(o, "... %u more row%s", rest->nrows, PLURAL(rest->nrows));
	for (uint32_t i = 0; i < t->nviews; i++) {
		const struct prog_agg *agg = t->views[i]->agg;
		const char *unit;
		int len = 0;

		if (!agg_has_sum(agg))
			continue;
		unit = unit_find(t->fmt, i, &len);
		strbuf_adds(o, unit || agg_is_histogram(agg) ? ", " : ", sum ");
		out_int(o, -1, (uint64_t)rest->sums[i], agg->func != AGGFUNC_COUNT);
		if (agg_is_histogram(agg))
			strbuf_adds(o, rest->sums[i] == 1 ? " value" : " values");
		else if (unit)
			strbuf_add(o, unit, (size_t)len);
	}
	strbuf_addc(o, '\n');
}

const struct renderer render_text = {
	.record_begin = text_record_begin,
	.record_end = text_record_end,
	.value = text_value,
	.memory = text_memory,
	.typed = text_typed,
	.message = text_message,
	.joins = true,
	.aggs_begin = text_aggs_begin,
	.aggs_end = text_aggs_end,
	.printa_begin = text_printa_begin,
	.table_begin = text_table_begin,
	.row = text_row,
	.table_end = text_table_end,
	.left_out = text_left_out,
};
