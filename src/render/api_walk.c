/* SPDX-License-Identifier: MIT */
/* Walks over aggregations for the callbacks of a program (dtrace_aggregate_walk() and its kin). */
#include "render/api.h"

#include "render/impl.h"
#include "sym/sym.h"

struct walk {
	struct printer *p;
	struct arena *arena; /* holds the row's description */
	dtrace_aggregate_f *func;
	dtrace_aggregate_walk_joined_f *joined;
	void *arg;
};

/* ---- return values of callbacks ------------------------------------------------------------- */

static struct err *answer_apply(struct walk *w, const dtrace_aggdata_t *row, int answer)
{
	struct aggs *aggs = w->p->aggs;
	struct agg_view *v;
	struct agg_elem *e;

	printer_row_of(row, &v, &e);
	switch (answer) {
	case DTRACE_AGGWALK_NEXT: return NULL;
	case DTRACE_AGGWALK_CLEAR: return aggs_clear_elem(aggs, v->agg->id, e);
	case DTRACE_AGGWALK_REMOVE: return aggs_remove_elem(aggs, v->agg->id, e);
	case DTRACE_AGGWALK_NORMALIZE: return aggs_normalize(aggs, v->agg->id, row->dtada_normal);
	case DTRACE_AGGWALK_DENORMALIZE: aggs_denormalize(aggs, v->agg->id); return NULL;
	case DTRACE_AGGWALK_ABORT:
		return err_code(err_new("the callback has ended the walk"), EDT_DIRABORT);
	case DTRACE_AGGWALK_ERROR:
		return err_code(err_new("the callback of the walk has failed"), EDT_DIRABORT);
	default:
		return err_code(err_new("the callback of the walk has returned %d, which is no "
					"answer",
					answer),
				EDT_BADRVAL);
	}
}

/* ---- rows ---------------------------------------------------------------------------------- */

static struct err *row_visit(struct walk *w, struct agg_view *v, struct agg_elem *e)
{
	const dtrace_aggdata_t *row;
	int answer;

	arena_reset(w->arena);
	row = api_row(w->p, w->arena, v, e);
	w->p->api.ncalls++;
	answer = w->func(row, w->arg);
	w->p->api.ncalls--;
	return answer_apply(w, row, answer);
}

/* Passes the elements of one row in all views to the callback; NULL: a view has no such element. */
static struct err *joined_visit(struct walk *w, struct agg_view *const *views, uint32_t n,
				struct agg_elem *const *elems)
{
	const dtrace_aggdata_t **rows;
	struct err *e = NULL;
	int answer;

	arena_reset(w->arena);
	rows = ARENA_NEW_N(w->arena, const dtrace_aggdata_t *, n);
	for (uint32_t i = 0; i < n; i++)
		if (elems[i])
			rows[i] = api_row(w->p, w->arena, views[i], elems[i]);
	w->p->api.ncalls++;
	answer = w->joined(rows, (int)n, w->arg);
	w->p->api.ncalls--;
	for (uint32_t i = 0; i < n && !e; i++)
		if (rows[i])
			e = answer_apply(w, rows[i], answer);
	return e;
}

/* Visits one aggregation; how NULL: in the order it was read. The callback may change the view. */
static struct err *view_visit(struct walk *w, struct agg_view *v, const struct agg_sort *how)
{
	uint32_t n = v->nelems;
	CLEANUP(free) struct agg_elem **elems = xcalloc(n, sizeof(struct agg_elem *));
	struct err *e = NULL;

	if (how)
		agg_view_sort(v, how);
	if (n)
		memcpy(elems, v->elems, sizeof(struct agg_elem *) * n);
	for (uint32_t i = 0; i < n && !e; i++)
		e = row_visit(w, v, elems[i]);
	return e;
}

static struct err *views_visit(struct walk *w, const struct agg_sort *how)
{
	struct err *e = NULL;

	for (uint32_t id = 1; id <= w->p->layout->naggs && !e; id++) {
		struct agg_view *v = aggs_view(w->p->aggs, id);

		if (v)
			e = view_visit(w, v, how);
	}
	return e;
}

/* ---- rows of several aggregations ------------------------------------------------------------ */

/* Visits the rows of one key, one after another, or together for a joined callback. */
static struct err *keys_visit(struct walk *w, struct agg_view *const *views, uint32_t n,
			      struct agg_elem *const *elems, bool is_rev)
{
	struct err *e = NULL;

	if (w->joined)
		return joined_visit(w, views, n, elems);
	for (uint32_t i = 0; i < n && !e; i++) {
		uint32_t at = is_rev ? n - 1 - i : i;

		if (elems[at])
			e = row_visit(w, views[at], elems[at]);
	}
	return e;
}

static struct err *keyed_visit(struct walk *w, struct agg_view *const *views, uint32_t n,
			       const struct agg_sort *how)
{
	struct arena *arena = arena_create();
	struct err *e = NULL;
	struct agg_row *rows;
	uint32_t nrows;

	agg_join(views, n, how, arena, &rows, &nrows);
	for (uint32_t i = 0; i < nrows && !e; i++)
		e = keys_visit(w, views, n, rows[i].elems, how->rev);
	arena_destroy(arena);
	return e;
}

static struct err *all_keyed_visit(struct walk *w, bool is_rev)
{
	const struct agg_sort how = {.key = true, .rev = is_rev};
	uint32_t n = 0;
	CLEANUP(free)
	struct agg_view **views = xcalloc(w->p->layout->naggs, sizeof(struct agg_view *));

	for (uint32_t id = 1; id <= w->p->layout->naggs; id++) {
		views[n] = aggs_view(w->p->aggs, id);
		n += views[n] != NULL;
	}
	return n ? keyed_visit(w, views, n, &how) : NULL;
}

static struct err *walk_end(struct walk *w, struct err *e)
{
	aggs_drop_removed(w->p->aggs);
	arena_destroy(w->arena);
	if (w->p->syms && w->p->api.has_record) /* the record's callback has begun the walk */
		syms_at(w->p->syms, w->p->rec->time);
	return e;
}

static void walk_begin(struct walk *w)
{
	w->arena = arena_create();
	if (w->p->syms)
		syms_at(w->p->syms, SYMS_ANY_TIME);
}

/* ---- entry points ---------------------------------------------------------------------------- */

struct err *printer_walk(struct printer *p, enum walk_order order, dtrace_aggregate_f *func,
			 void *arg)
{
	struct walk w = {.p = p, .func = func, .arg = arg};
	struct err *e = NULL;

	walk_begin(&w);
	switch (order) {
	case WALK_AS_READ: e = views_visit(&w, NULL); break;
	case WALK_BY_OPTIONS: e = views_visit(&w, &p->opts->sort); break;
	case WALK_KEY: e = views_visit(&w, &(struct agg_sort){.key = true}); break;
	case WALK_KEY_REV: e = views_visit(&w, &(struct agg_sort){.key = true, .rev = true}); break;
	case WALK_VALUE: e = views_visit(&w, &(struct agg_sort){0}); break;
	case WALK_VALUE_REV: e = views_visit(&w, &(struct agg_sort){.rev = true}); break;
	case WALK_KEY_ID: e = all_keyed_visit(&w, false); break;
	case WALK_KEY_ID_REV: e = all_keyed_visit(&w, true); break;
	}
	return walk_end(&w, e);
}

struct err *printer_walk_joined(struct printer *p, const dtrace_aggid_t *ids, uint32_t n,
				dtrace_aggregate_walk_joined_f *func, void *arg)
{
	CLEANUP(free) struct agg_view **views = xcalloc(n, sizeof(struct agg_view *));
	struct walk w = {.p = p, .joined = func, .arg = arg};
	struct agg_sort how = p->opts->sort;

	for (uint32_t i = 0; i < n; i++) {
		views[i] = ids[i] >= 1 && ids[i] <= p->layout->naggs ? aggs_view(p->aggs, ids[i])
								     : NULL;
		if (!views[i])
			return err_code(err_new("aggregation %u does not exist", ids[i]),
					EDT_BADAGGVAR);
		if (views[i]->agg->nkeys != views[0]->agg->nkeys)
			return err_code(err_new("'@%s' and '@%s' differ in the number of keys",
						views[0]->agg->name, views[i]->agg->name),
					EDT_BADAGGVAR);
	}
	walk_begin(&w);
	return walk_end(&w, n ? keyed_visit(&w, views, n, &how) : NULL);
}

/* ---- printing in the order of a walk --------------------------------------------------------- */

struct print_row {
	struct agg_view *view;
	struct agg_elem *elem;
};

struct print_rows {
	VEC(struct print_row) rows;
};

static int row_collect(const dtrace_aggdata_t *row, void *arg)
{
	struct print_rows *l = arg;
	struct print_row r;

	printer_row_of(row, &r.view, &r.elem);
	if (!r.view->printed)
		vec_push(&l->rows, r);
	return DTRACE_AGGWALK_NEXT;
}

/* Prints n rows of the same aggregation. */
static void rows_print(struct printer *p, const struct print_row *rows, uint32_t n)
{
	CLEANUP(free) struct agg_elem **elems = xcalloc(n, sizeof(struct agg_elem *));
	struct agg_view view = *rows->view, *views = &view;
	const struct agg_table t = {.views = &views, .nviews = 1};

	for (uint32_t i = 0; i < n; i++)
		elems[i] = rows[i].elem;
	view.elems = elems;
	view.nelems = n;
	table_show(p, &t);
}

struct err *print_aggs_in(struct printer *p, FILE *fp, dtrace_aggregate_walk_f *walk)
{
	struct print_rows l = {0};
	struct err *e = NULL;

	if (walk(p->api.cb.hdl, row_collect, &l) != 0) {
		vec_deinit(&l.rows);
		return err_code(err_new("the walk has failed"), EDT_DIRABORT);
	}
	output_begin(p, fp);
	p->render->aggs_begin(p);
	for (uint32_t i = 0, n; i < l.rows.len && !e; i += n) {
		for (n = 1; i + n < l.rows.len && l.rows.data[i + n].view == l.rows.data[i].view;)
			n++;
		rows_print(p, &l.rows.data[i], n);
		e = api_err_take(p);
	}
	p->render->aggs_end(p);
	vec_deinit(&l.rows);
	return e;
}
