/* SPDX-License-Identifier: MIT */
/*
 * The renderer of heat maps (option oformat=heatmap): histograms over time.
 *
 * Each printa() of an aggregation ends an interval, as does the end of the run. Counts that no
 * clear() or trunc() has taken off are those of all intervals before, and are taken off here.
 */
#include "picture/heat.h"

#include "render/frames.h"
#include "render/picture.h"

struct heat_form {
	struct heat_page *page;
	struct picture_rest rest;
	bool at_end;
	uint64_t ntables;
};

static struct heat_form *form_of(struct printer *p)
{
	return p->form;
}

static void heat_open(struct printer *p)
{
	struct heat_form *f = xcalloc(1, sizeof(*f));

	f->page = heat_create(p->opts->picture == PRINT_PICTURE_HTML);
	p->form = f;
}

static void heat_close(struct printer *p)
{
	heat_destroy(form_of(p)->page);
	free(p->form);
}

static struct picture_rest *heat_rest(struct printer *p)
{
	return &form_of(p)->rest;
}

static struct page_notes *heat_form_notes(struct printer *p)
{
	return heat_notes(form_of(p)->page);
}

static void heat_aggs_begin(struct printer *p)
{
	form_of(p)->at_end = true;
}

static void heat_aggs_end(struct printer *p)
{
	form_of(p)->at_end = false;
}

static void heat_printa_begin(struct printer *p, const struct agg_table *t)
{
}

/* ---- tables -------------------------------------------------------------------------------- */

static void track_make(struct printer *p, const struct agg_view *v)
{
	const struct agg_layout *l = v->layout;
	struct heat_bounds *bounds = ARENA_NEW_N(p->scratch, struct heat_bounds, l->nbuckets);

	for (uint32_t row = 0; row < l->nbuckets; row++) {
		struct hist_bounds b = hist_bounds_of(l, row);

		bounds[row] = (struct heat_bounds){b.has_min, b.has_max, b.min, b.max};
	}
	heat_track(form_of(p)->page, v->agg->id, aggfunc_name(v->agg->func), value_unit(p, v->agg),
		   bounds, l->nbuckets);
}

static bool heat_table_begin(struct printer *p, const struct agg_table *t)
{
	const struct agg_view *v = t->views[0];
	struct heat_form *f = form_of(p);

	if (!agg_is_histogram(v->agg)) {
		f->rest.ntables += v->nelems > 0;
		return true;
	}
	if (f->at_end && !v->nelems)
		return true;
	f->ntables++;
	track_make(p, v);
	return false;
}

/* The title of a series: the aggregation with its keys; a stack is told by its innermost frame. */
static void title_add(struct printer *p, struct strbuf *o, const struct agg_view *v,
		      const struct agg_elem *e)
{
	strbuf_addf(o, "@%s", v->agg->name);
	if (!e->nkeys)
		return;
	strbuf_addc(o, '[');
	for (uint32_t i = 0; i < e->nkeys; i++) {
		strbuf_adds(o, i ? ", " : "");
		if (e->keys[i].datum == DATUM_STACK || e->keys[i].datum == DATUM_USTACK)
			stack_label(p, o, &e->keys[i]);
		else
			key_label(p, o, &e->keys[i]);
	}
	strbuf_addc(o, ']');
}

static void heat_row(struct printer *p, const struct agg_table *t, struct agg_elem *const *elems)
{
	const struct agg_view *v = t->views[0];
	int64_t *counts = xcalloc(v->layout->nbuckets, sizeof(*counts));
	struct strbuf title = {0};

	for (uint32_t row = 0; row < v->layout->nbuckets; row++)
		counts[row] = hist_count(v->layout, elems[0]->state, row);
	title_add(p, &title, v, elems[0]);
	heat_add(form_of(p)->page, v->agg->id, title.data, counts, v->normal);
	strbuf_deinit(&title);
	free(counts);
}

static void heat_table_end(struct printer *p, const struct agg_table *t)
{
	struct heat_form *f = form_of(p);
	uint64_t when = f->at_end ? now_ns() : p->rec->time;

	heat_interval_end(f->page, t->views[0]->agg->id, when + (uint64_t)p->wall_offset);
}

/* After clear() and trunc(): keys that the aggregation has no more, or whose counts are 0. */
static void heat_cleared(struct printer *p, const struct agg_view *v, bool is_all)
{
	struct heat_form *f = form_of(p);

	if (!agg_is_histogram(v->agg) || !heat_has_track(f->page, v->agg->id))
		return;
	if (is_all) {
		heat_restart(f->page, v->agg->id);
		return;
	}
	for (uint32_t i = 0; i < v->nelems; i++) {
		struct strbuf title = {0};

		title_add(p, &title, v, v->elems[i]);
		heat_keep(f->page, v->agg->id, title.data);
		strbuf_deinit(&title);
	}
	heat_restart_others(f->page, v->agg->id);
}

static void heat_finish(struct printer *p)
{
	struct heat_form *f = form_of(p);
	struct strbuf name = {0};

	if (printer_redirect(p))
		return; /* text of freopen() */
	if (!f->ntables)
		page_note(
			heat_notes(f->page), true,
			"There is no picture: no histogram was printed, as of @ = quantize(...).");
	picture_rest_note(p, &f->rest, heat_notes(f->page));
	picture_title(p, &name);
	heat_write(f->page, name.data, &p->out);
	strbuf_deinit(&name);
}

const struct renderer render_heat = {
	PICTURE_CALLS,
	.open = heat_open,
	.close = heat_close,
	.rest = heat_rest,
	.notes = heat_form_notes,
	.aggs_begin = heat_aggs_begin,
	.aggs_end = heat_aggs_end,
	.printa_begin = heat_printa_begin,
	.table_begin = heat_table_begin,
	.row = heat_row,
	.table_end = heat_table_end,
	.aggregation_cleared = heat_cleared,
	.finish = heat_finish,
};
