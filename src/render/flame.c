/* SPDX-License-Identifier: MIT */
/*
 * The renderers of flame graphs (option oformat=flame) and of folded stacks (oformat=folded).
 *
 * Aggregations with stacks among their keys are drawn or listed: those at the end of the run, and
 * those of each printa(), which are pictures of their own. Everything else that the program prints
 * has no place in such a file: it is counted, and the count is told.
 */
#include <inttypes.h>

#include "picture/folded.h"
#include "base/text.h"
#include "render/frames.h"
#include "render/picture.h"

struct flame_form {
	struct flame_page *page;
	struct frames frames;
	struct picture_rest rest;
	bool at_end;
	uint64_t ntables;   /* that were drawn or listed */
	uint32_t nfinal;    /* of these, at the end of the run */
	uint64_t nnegative; /* rows of the present table */
};

static struct flame_form *form_of(struct printer *p)
{
	return p->form;
}

static void flame_open(struct printer *p)
{
	struct flame_form *f = xcalloc(1, sizeof(*f));
	const struct flame_opts opts = {.as_html = p->opts->picture == PRINT_PICTURE_HTML,
					.icicle = p->opts->icicle};

	f->page = flame_create(&opts);
	frames_init(&f->frames, p, f->page);
	f->frames.is_folded = p->opts->oformat == PRINT_FOLDED || p->base;
	p->form = f;
}

static void flame_close(struct printer *p)
{
	struct flame_form *f = form_of(p);

	frames_deinit(&f->frames);
	flame_destroy(f->page);
	free(f);
}

static struct picture_rest *flame_rest(struct printer *p)
{
	return &form_of(p)->rest;
}

static struct page_notes *flame_form_notes(struct printer *p)
{
	return flame_page_notes(form_of(p)->page);
}

/* ---- tables -------------------------------------------------------------------------------- */

/* How many pictures the aggregations at the end make. */
static uint32_t final_count(const struct printer *p)
{
	uint32_t n = 0;

	for (uint32_t id = 1; id <= p->layout->naggs; id++) {
		const struct agg_view *v = aggs_view(p->aggs, id);

		n += v && !v->printed && agg_has_stacks(v->agg) &&
		     weight_kind_of(v->agg) != WEIGHT_NONE && (v->nelems || p->base);
	}
	return n;
}

static void flame_aggs_begin(struct printer *p)
{
	form_of(p)->at_end = true;
}

static void flame_aggs_end(struct printer *p)
{
	form_of(p)->at_end = false;
}

static void flame_printa_begin(struct printer *p, const struct agg_table *t)
{
}

static bool flame_table_begin(struct printer *p, const struct agg_table *t)
{
	struct flame_form *f = form_of(p);
	const struct agg_view *v = t->views[0];
	struct strbuf title = {0};

	if (!agg_has_stacks(v->agg)) {
		f->rest.ntables += v->nelems > 0;
		return true;
	}
	if (weight_kind_of(v->agg) == WEIGHT_NONE) {
		page_note(flame_page_notes(f->page), true,
			  "@%s is not drawn: values of %s() cannot be added up.", v->agg->name,
			  aggfunc_name(v->agg->func));
		return true;
	}
	if (!v->nelems && !p->base)
		return true;
	f->ntables++;
	f->nnegative = 0;
	frames_refresh(&f->frames);
	if (p->opts->oformat == PRINT_FOLDED)
		return false;
	strbuf_addf(&title, "@%s", v->agg->name);
	flame_set_begin(f->page,
			&(struct flame_set_info){
				.title = title.data,
				.what = weight_text(v->agg),
				.unit = weight_unit(p, v->agg),
				.when = f->at_end ? 0 : p->rec->time + (uint64_t)p->wall_offset,
				.nsets = f->at_end ? final_count(p) - f->nfinal++ : 0,
			});
	strbuf_deinit(&title);
	return false;
}

static void flame_row(struct printer *p, const struct agg_table *t, struct agg_elem *const *elems)
{
	struct flame_form *f = form_of(p);
	int64_t value = weight_of_row(t->views[0], elems[0]);

	if (value < 0) {
		f->nnegative++;
		return;
	}
	frames_of_row(&f->frames, elems[0]);
	flame_add(f->page, f->frames.names.data, f->frames.names.len, value, false);
}

static void base_add(void *ctx, const char *const *names, const size_t *lens, uint32_t n,
		     int64_t value)
{
	struct flame_form *f = ctx;

	f->frames.names.len = 0;
	for (uint32_t i = 0; i < n; i++)
		vec_push(&f->frames.names, flame_name_any(f->page, names[i], lens[i]));
	flame_add(f->page, f->frames.names.data, n, value, true);
}

static void flame_table_end(struct printer *p, const struct agg_table *t)
{
	struct flame_form *f = form_of(p);

	if (f->nnegative)
		page_note(flame_notes(f->page), true,
			  "%" PRIu64 " row%s with values below 0 %s not drawn.", f->nnegative,
			  PLURAL(f->nnegative), WORD_FOR(f->nnegative, "is", "are"));
	if (p->base) {
		folded_walk(p->base, base_add, f);
		page_note(flame_notes(f->page), false, "Compared with %s.", p->opts->flamebase);
	}
	flame_set_end(f->page);
}

/* ---- the file ------------------------------------------------------------------------------ */

static void flame_finish(struct printer *p)
{
	struct flame_form *f = form_of(p);
	struct strbuf name = {0};

	if (printer_redirect(p))
		return; /* text of freopen() */
	if (!flame_nsets(f->page))
		page_note(flame_page_notes(f->page), true,
			  "There is no picture: no aggregation has a stack among its keys, as in "
			  "@[ustack()] = count(), or none was printed.");
	picture_rest_note(p, &f->rest, flame_page_notes(f->page));
	picture_title(p, &name);
	flame_write(f->page, name.data, &p->out);
	strbuf_deinit(&name);
}

const struct renderer render_flame = {
	PICTURE_CALLS,
	.open = flame_open,
	.close = flame_close,
	.rest = flame_rest,
	.notes = flame_form_notes,
	.aggs_begin = flame_aggs_begin,
	.aggs_end = flame_aggs_end,
	.printa_begin = flame_printa_begin,
	.table_begin = flame_table_begin,
	.row = flame_row,
	.table_end = flame_table_end,
	.finish = flame_finish,
};

/* ---- folded stacks ------------------------------------------------------------------------- */

static void folded_row(struct printer *p, const struct agg_table *t, struct agg_elem *const *elems)
{
	struct flame_form *f = form_of(p);
	int64_t value = weight_of_row(t->views[0], elems[0]);

	if (value < 0)
		f->nnegative++;
	if (value <= 0)
		return;
	frames_of_row(&f->frames, elems[0]);
	if (!f->frames.names.len)
		return;
	for (uint32_t i = 0; i < f->frames.names.len; i++) {
		size_t len;
		const char *text = flame_name_text(f->page, f->frames.names.data[i], &len);

		if (i)
			strbuf_addc(&p->out, ';');
		folded_name(&p->out, text, len);
	}
	strbuf_addf(&p->out, " %" PRId64 "\n", value);
}

static void folded_table_end(struct printer *p, const struct agg_table *t)
{
	struct flame_form *f = form_of(p);

	if (f->nnegative)
		page_note(flame_page_notes(f->page), true,
			  "@%s: %" PRIu64 " row%s with values below 0 %s not listed.",
			  t->views[0]->agg->name, f->nnegative, PLURAL(f->nnegative),
			  WORD_FOR(f->nnegative, "is", "are"));
}

/* Lines of stacks have no room for sentences: they go to the handler of notices alone. */
static void folded_finish(struct printer *p)
{
	struct flame_form *f = form_of(p);

	if (printer_redirect(p))
		return;
	if (!f->ntables)
		page_note(flame_page_notes(f->page), true,
			  "There are no stacks: no aggregation has a stack among its keys, as in "
			  "@[ustack()] = count(), or none was printed.");
	picture_rest_note(p, &f->rest, flame_page_notes(f->page));
}

const struct renderer render_folded = {
	PICTURE_CALLS,
	.open = flame_open,
	.close = flame_close,
	.rest = flame_rest,
	.notes = flame_form_notes,
	.aggs_begin = flame_aggs_begin,
	.aggs_end = flame_aggs_end,
	.printa_begin = flame_printa_begin,
	.table_begin = flame_table_begin,
	.row = folded_row,
	.table_end = folded_table_end,
	.finish = folded_finish,
};
