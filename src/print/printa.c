/* Aggregations as text: printa() and the end of the run (d-language.md 6.4). */
#include "print/impl.h"
#include "sym/sym.h"

/* ---- without format ------------------------------------------------------------------------ */

/* e NULL: 0 of the aggregation's kind */
static void print_one_value(struct printer *p, struct out *o, const struct agg_view *v,
			const struct agg_elem *e)
{
	if (agg_is_histogram(v->agg)) {
		print_histogram(p, o, v, e);
		return;
	}
	out_addc(o, ' ');
	out_int(o, 16, e ? (uint64_t)agg_value(v, e) : 0, v->agg->func != AGGFUNC_STDDEV);
}

/* The value, and those of the CPUs if they were kept (option aggpercpu). */
static void print_value(struct printer *p, struct out *o, const struct agg_view *v,
			const struct agg_elem *e)
{
	print_one_value(p, o, v, e);
	for (uint32_t cpu = 0; e && cpu < e->ncpus; cpu++) {
		struct agg_elem one = agg_elem_of_cpu(v, e, cpu);

		out_addf(o, "\n    [CPU %u]", cpu);
		print_one_value(p, o, v, &one);
	}
}

static void print_keys(struct printer *p, struct out *o, const struct agg_elem *e)
{
	for (uint32_t i = 0; i < e->nkeys; i++) {
		struct datum d = datum_of_key(&e->keys[i]);

		print_key(p, o, &d);
	}
}

void print_view(struct printer *p, struct agg_view *v)
{
	agg_view_sort(v, &p->opts->sort);
	if (print_view_packed(p, &p->out, v))
		return;
	for (uint32_t i = 0; i < v->nelems; i++) {
		print_keys(p, &p->out, v->elems[i]);
		print_value(p, &p->out, v, v->elems[i]);
		out_addc(&p->out, '\n');
	}
}

static const struct agg_elem *keyed_elem(const struct agg_row *row, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (row->elems[i])
			return row->elems[i];
	BUG("a row without elements");
}

/* ---- with format --------------------------------------------------------------------------- */

/* An element's keys, one after another; values of the views, the last one repeating. */
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

static void row_value(struct fmt_args *args, struct printer *p, struct out *o, const struct conv *c,
		      const struct spec *s)
{
	struct row_args *r = CONTAINER_OF(args, struct row_args, args);
	uint32_t at = MIN(r->next_value, r->n - 1);
	const struct agg_view *v = r->views[at];
	const struct agg_elem *e = r->elems[at];
	struct datum d = {.kind = DATUM_INT, .size = 8};

	r->next_value++;
	if (agg_is_histogram(v->agg)) {
		print_histogram(p, o, v, e);
		return;
	}
	d.is_signed = v->agg->func != AGGFUNC_COUNT;
	d.ival = e ? (uint64_t)agg_value(v, e) : 0;
	c->print(p, o, c, s, &d);
}

static void print_row_fmt(struct printer *p, const struct fmt *fmt, struct agg_view *const *views,
			  struct agg_elem *const *elems, uint32_t n)
{
	struct agg_row row = {(struct agg_elem **)(uintptr_t)elems};
	struct row_args r = {.args = {row_next, row_value},
			     .keyed = keyed_elem(&row, n),
			     .views = views,
			     .elems = elems,
			     .n = n};

	fmt_print(p, &p->out, fmt, &r.args);
}

static void print_row(struct printer *p, struct agg_view *const *views, const struct agg_row *row,
		      uint32_t n)
{
	print_keys(p, &p->out, keyed_elem(row, n));
	for (uint32_t i = 0; i < n; i++)
		print_value(p, &p->out, views[i], row->elems[i]);
	out_addc(&p->out, '\n');
}

/* ---- printa() ------------------------------------------------------------------------------ */

static void print_joined(struct printer *p, struct agg_view *const *views, uint32_t n,
			 const struct fmt *fmt)
{
	struct agg_row *rows;
	uint32_t nrows;

	agg_join(views, n, &p->opts->sort, p->scratch, &rows, &nrows);
	for (uint32_t i = 0; i < nrows; i++) {
		if (fmt)
			print_row_fmt(p, fmt, views, rows[i].elems, n);
		else
			print_row(p, views, &rows[i], n);
	}
}

static void print_single(struct printer *p, struct agg_view *v, const struct fmt *fmt)
{
	if (!fmt) {
		print_view(p, v);
		return;
	}
	agg_view_sort(v, &p->opts->sort);
	for (uint32_t i = 0; i < v->nelems; i++)
		print_row_fmt(p, fmt, &v, &v->elems[i], 1);
}

struct err *print_printa(struct printer *p, const struct prog_act *act, const struct fmt *fmt)
{
	struct agg_view **views = ARENA_NEW_N(p->scratch, struct agg_view *, act->naggs);
	struct err *e = printer_snap(p);

	if (e)
		return e;
	for (uint32_t i = 0; i < act->naggs; i++) {
		views[i] = aggs_view(p->aggs, act->aggs[i]->id);
		if (!views[i])
			BUG("printa() of aggregation %u", act->aggs[i]->id);
		views[i]->printed = true;
	}
	if (p->syms)
		syms_at(p->syms, SYMS_ANY_TIME); /* of a key's addresses it is not known when */
	if (!fmt)
		out_addc(&p->out, '\n');
	if (act->naggs == 1)
		print_single(p, views[0], fmt);
	else if (act->naggs > 1)
		print_joined(p, views, act->naggs, fmt);
	if (p->syms)
		syms_at(p->syms, p->rec->time);
	return NULL;
}
