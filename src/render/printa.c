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

void table_show(struct printer *p, const struct agg_table *t)
{
	struct agg_view *v = t->views[0];

	if (p->render->table_begin(p, t))
		return;
	for (uint32_t i = 0; i < v->nelems; i++)
		row_show(p, t, &v->elems[i]);
	p->render->table_end(p, t);
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

static void walk_single(struct printer *p, const struct agg_table *t)
{
	const struct agg_sort how = table_order(p);

	agg_view_sort(t->views[0], &how);
	table_show(p, t);
}

static void walk_joined(struct printer *p, const struct agg_table *t)
{
	const struct agg_sort how = table_order(p);
	struct agg_row *rows;
	uint32_t nrows;

	agg_join(t->views, t->nviews, &how, p->scratch, &rows, &nrows);
	if (p->render->table_begin(p, t))
		return;
	for (uint32_t i = 0; i < nrows; i++)
		row_show(p, t, rows[i].elems);
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
