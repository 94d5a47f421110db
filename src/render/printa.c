/* SPDX-License-Identifier: MIT */
/* Walks over aggregations, for printa() and at the end of the run (d-language.md 6.4). */
#include "render/impl.h"
#include "sym/sym.h"

const struct agg_elem *agg_row_keys(struct agg_elem *const *elems, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (elems[i])
			return elems[i];
	BUG("a row without elements");
}

static void row_show(struct printer *p, const struct agg_table *t, struct agg_elem *const *elems)
{
	p->render->row(p, t, elems);
	api_row_text(p, t, elems);
}

/* How many of the rows option toprows leaves out. */
static uint32_t rows_left_out(const struct printer *p, uint32_t nrows)
{
	uint32_t top = p->opts->toprows;

	return p->render->left_out && top && nrows > top ? nrows - top : 0;
}

/* The value that a row adds to the sum of the rows left out, before normalization. */
static int64_t row_weight(const struct agg_view *v, const struct agg_elem *e)
{
	int64_t n = 0;

	if (!e || !e->touched)
		return 0;
	if (v->agg->func == AGGFUNC_LIVE)
		return e->state[LIVE_BYTES];
	if (!agg_is_histogram(v->agg))
		return e->state[0];
	for (uint32_t i = 0; i < v->layout->nbuckets; i++)
		n += hist_count(v->layout, e->state, i);
	return n;
}

bool agg_has_sum(const struct prog_agg *agg)
{
	return agg->func == AGGFUNC_COUNT || agg->func == AGGFUNC_SUM ||
	       agg->func == AGGFUNC_LIVE || agg_is_histogram(agg);
}

struct agg_sort table_order(const struct printer *p)
{
	struct agg_sort how = p->opts->sort;

	if (p->render->greatest_first && !how.key) {
		how.greatest_first = true;
		how.rev = false;
	}
	return how;
}

/* Shows n rows of a table; elems has those of each row, one behind the other. */
static void rows_show(struct printer *p, const struct agg_table *t, struct agg_elem **const *rows,
		      uint32_t n)
{
	const struct agg_sort how = table_order(p);
	uint32_t left = rows_left_out(p, n);
	/* the greatest rows are the last ones, unless the order is reversed */
	uint32_t first = how.rev || how.greatest_first ? 0 : left, end = first + n - left;
	int64_t *sums;

	for (uint32_t i = first; i < end; i++)
		row_show(p, t, rows[i]);
	if (!left)
		return;
	sums = ARENA_NEW_N(p->scratch, int64_t, t->nviews);
	for (uint32_t v = 0; v < t->nviews; v++) {
		for (uint32_t i = 0; i < n; i++)
			if (i < first || i >= end)
				sums[v] += row_weight(t->views[v], rows[i][v]);
		sums[v] = normalized(sums[v], t->views[v]->normal);
	}
	p->render->left_out(p, t, &(struct agg_rest){left, sums});
}

void table_show(struct printer *p, const struct agg_table *t)
{
	struct agg_view *v = t->views[0];
	struct agg_elem ***rows;

	if (p->render->table_begin(p, t))
		return;
	rows = ARENA_NEW_N(p->scratch, struct agg_elem **, v->nelems);
	for (uint32_t i = 0; i < v->nelems; i++)
		rows[i] = &v->elems[i];
	rows_show(p, t, rows, v->nelems);
	p->render->table_end(p, t);
}

static void walk_single(struct printer *p, const struct agg_table *t)
{
	const struct agg_sort how = table_order(p);

	agg_view_sort(t->views[0], &how);
	table_show(p, t);
}

static void walk_joined(struct printer *p, const struct agg_table *t)
{
	const struct agg_sort how = table_order(p);
	struct agg_elem ***rows;
	struct agg_row *joined;
	uint32_t nrows;

	agg_join(t->views, t->nviews, &how, p->scratch, &joined, &nrows);
	if (p->render->table_begin(p, t))
		return;
	rows = ARENA_NEW_N(p->scratch, struct agg_elem **, nrows);
	for (uint32_t i = 0; i < nrows; i++)
		rows[i] = joined[i].elems;
	rows_show(p, t, rows, nrows);
	p->render->table_end(p, t);
}

void walk_view(struct printer *p, struct agg_view *v)
{
	walk_single(p, &(struct agg_table){.views = &v, .nviews = 1});
}

void walk_table(struct printer *p, const struct agg_table *t)
{
	if (t->nviews == 1)
		walk_single(p, t);
	else if (t->nviews > 1)
		walk_joined(p, t);
}

/* ---- printa() ------------------------------------------------------------------------------ */

struct err *print_printa(struct printer *p, const struct prog_act *act, const struct fmt *fmt)
{
	struct agg_view **views = ARENA_NEW_N(p->scratch, struct agg_view *, act->naggs);
	const struct agg_table t = {.views = views, .nviews = act->naggs, .fmt = fmt};
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
	p->render->printa_begin(p, &t);
	if (p->render->joins)
		walk_table(p, &t);
	for (uint32_t i = 0; i < act->naggs && !p->render->joins; i++)
		walk_view(p, views[i]);
	if (p->syms)
		syms_at(p->syms, p->rec->time);
	return api_err_take(p);
}
