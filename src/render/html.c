/* SPDX-License-Identifier: MIT */
/*
 * The renderer of reports (option oformat=html): everything that a program prints, as one page.
 *
 * Text stands as it is, aggregations are tables that sort, histograms are bars, and aggregations
 * with stacks are flame graphs. The page is written as the records come, so that a long run needs
 * no memory; what is known at the end, such as lost records, stands last in the file, and first on
 * the screen, by an order of the style.
 *
 * In a file of freopen(), text is text.
 */
#include <inttypes.h>
#include <math.h>

#include "render/frames.h"
#include "base/text.h"
#include "render/picture.h"
#include "sym/sym.h"

#define ROWS_SHOWN  200	    /* of a table; a button shows the rest */
#define FLAME_BYTES 2000000 /* of a flame graph in the page */

struct html_notice {
	int kind, cpu;
	uint64_t total, times;
	char *msg;
};

struct html_form {
	struct page_facts facts;
	bool is_begun, in_pre, at_end;
	uint64_t nrecords, ntables, nnotices;
	VEC(struct html_notice) notices;
	/* of the present table */
	uint32_t nrows;
	int64_t most;
	struct flame_page *flame;
	struct frames frames;
	uint64_t nnegative;
};

static struct html_form *form_of(struct printer *p)
{
	return p->form;
}

static void html_open(struct printer *p)
{
	struct html_form *f = xcalloc(1, sizeof(*f));

	page_facts_init(&f->facts);
	p->form = f;
}

static void html_close(struct printer *p)
{
	struct html_form *f = form_of(p);

	for (uint32_t i = 0; i < f->notices.len; i++)
		free(f->notices.data[i].msg);
	vec_deinit(&f->notices);
	free(f);
}

/* ---- the page ------------------------------------------------------------------------------ */

static void programs_write(struct printer *p)
{
	for (const struct print_program *prog = p->programs; prog; prog = prog->next) {
		strbuf_adds(&p->out, "<details><summary>Program ");
		page_texts(&p->out, prog->name);
		strbuf_adds(&p->out, "</summary><pre>");
		page_texts(&p->out, prog->text);
		strbuf_adds(&p->out, "</pre></details>\n");
	}
}

static void page_open(struct printer *p)
{
	const struct picture_file *const styles[] = {&picture_report_css, &picture_flame_css};
	const struct picture_file *const scripts[] = {&picture_report_js, &picture_flame_js};
	struct html_form *f = form_of(p);
	struct strbuf title = {0};

	if (f->is_begun)
		return;
	f->is_begun = true;
	picture_title(p, &title);
	page_html_begin(&p->out, title.data, styles, ARRAY_LEN(styles), scripts,
			ARRAY_LEN(scripts));
	strbuf_adds(&p->out, "<main>\n<header><h1>");
	page_texts(&p->out, title.data);
	strbuf_deinit(&title);
	strbuf_adds(&p->out, "</h1>\n<p class=\"facts\">");
	page_texts(&p->out, f->facts.host);
	strbuf_adds(&p->out, ", Linux ");
	page_texts(&p->out, f->facts.kernel);
	strbuf_addf(&p->out, " (%s), since ", f->facts.machine);
	page_date(&p->out, f->facts.began);
	strbuf_adds(&p->out, "</p>\n");
	programs_write(p);
	strbuf_adds(&p->out, "</header>\n");
}

static void pre_close(struct printer *p)
{
	struct html_form *f = form_of(p);

	if (f->in_pre)
		strbuf_adds(&p->out, "</pre>\n");
	f->in_pre = false;
}

/* Begins text; returns where it begins in the output, for text_end(). */
static size_t text_begin(struct printer *p)
{
	struct html_form *f = form_of(p);

	if (printer_redirect(p))
		return 0;
	page_open(p);
	if (!f->in_pre)
		strbuf_adds(&p->out, "<pre>\n"); /* HTML leaves the first newline out */
	f->in_pre = true;
	return p->out.len;
}

/* Escapes what the renderer of text has added. */
static void text_end(struct printer *p, size_t at)
{
	struct strbuf text = {0};

	if (printer_redirect(p))
		return;
	strbuf_add(&text, p->out.data + at, p->out.len - at);
	p->out.len = at;
	page_text(&p->out, strbuf_text(&text), text.len);
	strbuf_deinit(&text);
}

/* ---- records ------------------------------------------------------------------------------- */

static void html_record_begin(struct printer *p, const struct probe_text *pt, uint32_t cpu,
			      const struct rt_rec *next)
{
	size_t at;

	form_of(p)->nrecords++;
	if (p->opts->quiet && !p->opts->flowindent)
		return;
	at = text_begin(p);
	render_text.record_begin(p, pt, cpu, next);
	text_end(p, at);
}

/* The newline behind a table would begin a block of text with nothing in it. */
static void html_record_end(struct printer *p, bool is_quiet)
{
	if (printer_redirect(p) || form_of(p)->in_pre)
		render_text.record_end(p, is_quiet);
}

static void html_value(struct printer *p, const struct datum *d)
{
	size_t at = text_begin(p);

	render_text.value(p, d);
	text_end(p, at);
}

static void html_memory(struct printer *p, const char *action, const struct datum *d)
{
	size_t at = text_begin(p);

	render_text.memory(p, action, d);
	text_end(p, at);
}

static void html_typed(struct printer *p, const struct shape *shape, const struct datum *d)
{
	size_t at = text_begin(p);

	render_text.typed(p, shape, d);
	text_end(p, at);
}

static struct err *html_message(struct printer *p, const struct act_layout *al,
				const struct fmt *fmt)
{
	size_t at = text_begin(p);
	struct err *e = render_text.message(p, al, fmt);

	text_end(p, at);
	return e;
}

static void html_command(struct printer *p, const char *command, const struct strbuf *text,
			 int status)
{
	size_t at;

	if (!text->len)
		return;
	at = text_begin(p);
	strbuf_add(&p->out, text->data, text->len);
	text_end(p, at);
}

static void html_notice(struct printer *p, const struct print_notice *n)
{
	struct html_form *f = form_of(p);

	f->nnotices++;
	for (uint32_t i = 0; i < f->notices.len && n->kind >= 0; i++) {
		struct html_notice *known = &f->notices.data[i];

		if (known->kind != n->kind || known->cpu != n->cpu)
			continue;
		known->total = n->total;
		known->times++;
		return;
	}
	if (f->notices.len < PAGE_NOTES)
		vec_push(&f->notices,
			 (struct html_notice){n->kind, n->cpu, n->total, 1, xstrdup(n->msg)});
}

static void html_leave(struct printer *p)
{
	if (!printer_redirect(p))
		pre_close(p);
}

static void html_emptied(struct printer *p)
{
	if (!printer_redirect(p))
		form_of(p)->is_begun = form_of(p)->in_pre = false;
}

/* ---- tables -------------------------------------------------------------------------------- */

static void html_aggs_begin(struct printer *p)
{
	form_of(p)->at_end = true;
}

static void html_aggs_end(struct printer *p)
{
	form_of(p)->at_end = false;
}

/* With a format, the rows are text. */
static void html_printa_begin(struct printer *p, const struct agg_table *t)
{
	size_t at;

	if (!t->fmt && !printer_redirect(p))
		return;
	at = text_begin(p);
	p->render = &render_text;
	render_text.printa_begin(p, t);
	walk_table(p, t);
	p->render = &render_html;
	text_end(p, at);
}

static void heading_write(struct printer *p, const struct agg_table *t)
{
	struct html_form *f = form_of(p);

	strbuf_addf(&p->out, "<section id=\"t%" PRIu64 "\"><h2>", ++f->ntables);
	for (uint32_t i = 0; i < t->nviews; i++) {
		strbuf_addf(&p->out, "%s@", i ? ", " : "");
		page_texts(&p->out, t->views[i]->agg->name);
	}
	strbuf_adds(&p->out, "<small>");
	if (t->nviews == 1)
		strbuf_addf(&p->out, "%s() ", aggfunc_name(t->views[0]->agg->func));
	if (!f->at_end) {
		page_time(&p->out, p->rec->time + (uint64_t)p->wall_offset);
		strbuf_adds(&p->out, " UTC");
	}
	strbuf_adds(&p->out, "</small></h2>\n");
}

/* sorted: NULL, or the word of ARIA for the order in which the column's values are. */
static void head_cell(struct strbuf *o, bool is_number, const char *text, const char *unit,
		      const char *sorted)
{
	strbuf_adds(o, is_number ? "<th scope=\"col\" class=\"n\"" : "<th scope=\"col\"");
	if (sorted)
		strbuf_addf(o, " aria-sort=\"%s\"", sorted);
	strbuf_addc(o, '>');
	page_texts(o, text);
	if (*unit)
		strbuf_addf(o, " (%s)", unit);
	strbuf_adds(o, "</th>");
}

/* Whether a key's column is sorted as numbers. */
static bool key_is_number(const struct agg_view *v, uint32_t i)
{
	return v->nelems && v->elems[0]->keys[i].datum == DATUM_INT && !v->elems[0]->keys[i].bytes;
}

/* Whether column i, of n keys or of n values, is the one by which the table is sorted. */
static const char *sorted_word(const struct agg_sort *how, bool is_key, uint32_t i, uint32_t n)
{
	uint32_t pos = is_key ? how->keypos : how->pos;

	if (is_key != how->key || i != (pos < n ? pos : 0))
		return NULL;
	return how->rev || how->greatest_first ? "descending" : "ascending";
}

static void head_write(struct printer *p, const struct agg_table *t)
{
	const struct prog_agg *agg = t->views[0]->agg;
	const struct agg_sort how = table_order(p);
	struct strbuf name = {0};

	strbuf_adds(&p->out, "<div class=\"scroll\"><table class=\"sort\"><thead><tr>");
	for (uint32_t i = 0; i < agg->nkeys; i++) {
		name.len = 0;
		strbuf_adds(&name, "key");
		if (agg->nkeys > 1)
			strbuf_addf(&name, " %u", i + 1);
		head_cell(&p->out, key_is_number(t->views[0], i), name.data, "",
			  sorted_word(&how, true, i, agg->nkeys));
	}
	for (uint32_t i = 0; i < t->nviews; i++) {
		const struct prog_agg *a = t->views[i]->agg;
		const char *unit = a->func == AGGFUNC_COUNT ? "" : value_unit(p, a);

		name.len = 0;
		if (t->nviews > 1)
			strbuf_addf(&name, "@%s", a->name);
		else
			strbuf_adds(&name, aggfunc_name(a->func));
		if (agg_is_histogram(a))
			strbuf_addf(&p->out, "<th scope=\"col\" class=\"nosort\">%s%s%s%s</th>",
				    name.data, *unit ? " (" : "", unit, *unit ? ")" : "");
		else
			head_cell(&p->out, true, name.data, unit,
				  sorted_word(&how, false, i, t->nviews));
	}
	strbuf_adds(&p->out, "</tr></thead><tbody>\n");
	strbuf_deinit(&name);
}

static bool is_flame(const struct agg_table *t)
{
	const struct prog_agg *agg = t->views[0]->agg;

	return t->nviews == 1 && agg_has_stacks(agg) && !agg_is_histogram(agg) &&
	       weight_kind_of(agg) != WEIGHT_NONE;
}

static void flame_begin(struct printer *p, const struct agg_view *v)
{
	struct html_form *f = form_of(p);
	struct strbuf title = {0};

	strbuf_addf(&title, "@%s", v->agg->name);
	f->flame = flame_create(&(struct flame_opts){.is_part = true,
						     .icicle = p->opts->icicle,
						     .max_bytes = FLAME_BYTES});
	frames_init(&f->frames, p, f->flame);
	flame_set_begin(f->flame, &(struct flame_set_info){.title = title.data,
							   .what = weight_text(v->agg),
							   .unit = weight_unit(p, v->agg),
							   .nsets = 1});
	strbuf_deinit(&title);
}

static bool html_table_begin(struct printer *p, const struct agg_table *t)
{
	struct html_form *f = form_of(p);

	if (t->fmt || printer_redirect(p))
		return true;
	page_open(p);
	pre_close(p);
	heading_write(p, t);
	f->nrows = 0;
	f->most = 0;
	f->nnegative = 0;
	for (uint32_t i = 0; i < t->views[0]->nelems && !agg_is_histogram(t->views[0]->agg); i++)
		f->most = MAX(f->most, agg_value(t->views[0], t->views[0]->elems[i]));
	if (is_flame(t))
		flame_begin(p, t->views[0]);
	else
		head_write(p, t);
	return false;
}

static void key_cell(struct printer *p, const struct agg_key *k, bool is_number)
{
	struct datum d = datum_of_key(k);
	struct strbuf text = {0};

	if (k->datum == DATUM_STACK || k->datum == DATUM_USTACK)
		print_stack(p, &text, &d, 0);
	else
		key_label(p, &text, k);
	strbuf_adds(&p->out, is_number ? "<td class=\"n\">" : "<td>");
	page_texts(&p->out, strbuf_text(&text) + (text.len && text.data[0] == '\n'));
	strbuf_adds(&p->out, "</td>");
	strbuf_deinit(&text);
}

static void hist_write(struct printer *p, const struct agg_view *v, const struct agg_elem *e)
{
	static const struct spec grouped = {CONV_GROUP, -1, -1};
	const int64_t *state = e ? e->state : NULL;
	uint32_t first, last;
	double most = 1;

	hist_range(v->layout, state, &first, &last);
	for (uint32_t row = first; row <= last; row++)
		most = MAX(most, fabs((double)hist_count(v->layout, state, row)));
	strbuf_adds(&p->out, "<table class=\"hist\"><tbody>");
	for (uint32_t row = first; row <= last; row++) {
		struct hist_bounds b = hist_bounds_of(v->layout, row);
		int64_t n = hist_count(v->layout, state, row);

		strbuf_addf(&p->out, "<tr><td class=\"n\">%s%" PRId64 "</td><td class=\"w\">",
			    !b.has_min	 ? "\xe2\x89\xa4 "
			    : !b.has_max ? "\xe2\x89\xa5 "
					 : "",
			    !b.has_min ? b.max : b.label);
		if (n)
			strbuf_addf(&p->out, "<span class=\"bar%s\" style=\"width:%.1f%%\"></span>",
				    n < 0 ? " neg" : "", 100 * fabs((double)n) / most);
		strbuf_adds(&p->out, "</td><td class=\"n\">");
		out_signed(&p->out, &grouped, normalized(n, v->normal));
		strbuf_adds(&p->out, "</td></tr>\n");
	}
	strbuf_adds(&p->out, "</tbody></table>");
}

static void number_write(struct printer *p, const struct agg_view *v, const struct agg_elem *e,
			 bool has_bar)
{
	static const struct spec grouped = {CONV_GROUP, -1, -1};
	int64_t value = e ? agg_value(v, e) : 0, most = form_of(p)->most;

	if (v->agg->func == AGGFUNC_STDDEV)
		out_unsigned(&p->out, &grouped, (uint64_t)value, 10, false);
	else
		out_signed(&p->out, &grouped, value);
	if (has_bar && most > 0)
		strbuf_addf(&p->out,
			    "<span class=\"cellbar\"><span style=\"width:%.1f%%\"></span></span>",
			    value > 0 ? 100 * (double)value / (double)most : 0.0);
}

static void value_content(struct printer *p, const struct agg_view *v, const struct agg_elem *e,
			  bool has_bar)
{
	if (agg_is_histogram(v->agg))
		hist_write(p, v, e);
	else
		number_write(p, v, e, has_bar);
}

/* A value, and below it those of the CPUs (option aggpercpu). */
static void value_cell(struct printer *p, const struct agg_view *v, const struct agg_elem *e,
		       bool has_bar)
{
	if (agg_is_histogram(v->agg))
		strbuf_adds(&p->out, "<td>");
	else
		strbuf_addf(&p->out, "<td class=\"n\" data-v=\"%" PRId64 "\">",
			    e ? agg_value(v, e) : 0);
	value_content(p, v, e, has_bar);
	for (uint32_t cpu = 0; e && cpu < e->ncpus; cpu++) {
		struct agg_elem one = agg_elem_of_cpu(v, e, cpu);

		strbuf_addf(&p->out, "<div class=\"facts\">CPU %u: ", cpu);
		value_content(p, v, &one, false);
		strbuf_adds(&p->out, "</div>");
	}
	strbuf_adds(&p->out, "</td>");
}

static void flame_row(struct printer *p, const struct agg_view *v, const struct agg_elem *e)
{
	struct html_form *f = form_of(p);
	int64_t value = weight_of_row(v, e);

	if (value < 0) {
		f->nnegative++;
		return;
	}
	frames_of_row(&f->frames, e);
	flame_add(f->flame, f->frames.names.data, f->frames.names.len, value, false);
}

static void html_row(struct printer *p, const struct agg_table *t, struct agg_elem *const *elems)
{
	const struct agg_elem *keyed = agg_row_keys(elems, t->nviews);
	struct html_form *f = form_of(p);

	if (f->flame) {
		flame_row(p, t->views[0], elems[0]);
		return;
	}
	strbuf_adds(&p->out, f->nrows++ >= ROWS_SHOWN ? "<tr class=\"more\">" : "<tr>");
	for (uint32_t i = 0; i < keyed->nkeys; i++)
		key_cell(p, &keyed->keys[i], key_is_number(t->views[0], i));
	for (uint32_t i = 0; i < t->nviews; i++)
		value_cell(p, t->views[i], elems[i], t->nviews == 1 && keyed->nkeys);
	strbuf_adds(&p->out, "</tr>\n");
}

static void html_table_end(struct printer *p, const struct agg_table *t)
{
	struct html_form *f = form_of(p);

	if (!f->flame) {
		strbuf_adds(&p->out, "</tbody></table></div></section>\n");
		return;
	}
	if (f->nnegative)
		page_note(flame_notes(f->flame), true,
			  "%" PRIu64 " row%s with values below 0 %s not drawn.", f->nnegative,
			  PLURAL(f->nnegative), WORD_FOR(f->nnegative, "is", "are"));
	flame_set_end(f->flame);
	flame_write(f->flame, "", &p->out);
	strbuf_adds(&p->out, "</section>\n");
	frames_deinit(&f->frames);
	flame_destroy(f->flame);
	f->flame = NULL;
}

/* ---- the end ------------------------------------------------------------------------------- */

static void notice_write(struct strbuf *o, const struct html_notice *n)
{
	struct strbuf msg = {0};

	strbuf_adds(&msg, n->msg);
	while (msg.len && msg.data[msg.len - 1] == '\n')
		msg.data[--msg.len] = '\0';
	strbuf_adds(o, "<li>");
	page_texts(o, strbuf_text(&msg));
	if (n->times > 1)
		strbuf_addf(o, " at first; %" PRIu64 " in all, told %" PRIu64 " times", n->total,
			    n->times);
	strbuf_adds(o, "</li>\n");
	strbuf_deinit(&msg);
}

static void notices_write(struct printer *p)
{
	struct html_form *f = form_of(p);
	uint64_t nlisted = 0;

	strbuf_adds(&p->out, f->nnotices ? "<section class=\"notices\"><h2>Lost or wrong</h2><ul>\n"
					 : "<section class=\"notices fine\"><h2>");
	for (uint32_t i = 0; i < f->notices.len; i++) {
		notice_write(&p->out, &f->notices.data[i]);
		nlisted += f->notices.data[i].times;
	}
	if (f->nnotices > nlisted)
		strbuf_addf(&p->out, "<li>%" PRIu64 " more message%s</li>\n", f->nnotices - nlisted,
			    PLURAL(f->nnotices - nlisted));
	strbuf_adds(&p->out, f->nnotices ? "</ul><p class=\"facts\">" : "Nothing was lost. ");
	strbuf_addf(&p->out, "Records: %" PRIu64 ". Tables: %" PRIu64 ". Time: ", f->nrecords,
		    f->ntables);
	page_duration(&p->out, &f->facts);
	strbuf_adds(&p->out, f->nnotices ? "</p></section>\n" : "</h2></section>\n");
}

static void html_finish(struct printer *p)
{
	if (printer_redirect(p))
		return;
	page_open(p);
	pre_close(p);
	notices_write(p);
	strbuf_adds(&p->out, "</main>\n");
	page_script(&p->out, &picture_report_js);
	page_script(&p->out, &picture_flame_js);
	strbuf_adds(&p->out, "</body>\n</html>\n");
}

const struct renderer render_html = {
	.open = html_open,
	.close = html_close,
	.record_begin = html_record_begin,
	.record_end = html_record_end,
	.value = html_value,
	.memory = html_memory,
	.typed = html_typed,
	.message = html_message,
	.joins = true,
	.greatest_first = true,
	.aggs_begin = html_aggs_begin,
	.aggs_end = html_aggs_end,
	.printa_begin = html_printa_begin,
	.table_begin = html_table_begin,
	.row = html_row,
	.table_end = html_table_end,
	.command = html_command,
	.leave = html_leave,
	.emptied = html_emptied,
	.notice = html_notice,
	.finish = html_finish,
};
