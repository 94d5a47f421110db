/* SPDX-License-Identifier: MIT */
/*
 * The renderer of the live view (option oformat=live): aggregations as tables that are redrawn in
 * the terminal, as top does, with what the program prints as text in the last lines.
 *
 *     records, aggregations --> tables of rows, lines of text --> printer_tick(): a screen
 *
 * A table shows an aggregation as printa() has last printed it; one that the program does not print
 * is read once a second. Rows are kept apart from the snapshot, so that keys of the user sort them
 * at any time. Standard output that is no terminal receives text, as with oformat=text.
 *
 * When the run ends, the terminal is as it was before, and the last tables are printed there.
 */
#include <inttypes.h>

#include "base/text.h"
#include "picture/page.h"
#include "render/frames.h"
#include "render/picture.h"
#include "render/screen.h"
#include "sym/sym.h"

#define REDRAW_NS 1000000000ull /* between two readings of aggregations */
#define LOG_LINES 200
#define ROWS_MAX  5000 /* of a table; the rest is counted */

struct live_row {
	char *keys;
	char *block;	 /* a histogram or a stack, lines below the keys; or NULL */
	int64_t *values; /* of the aggregations side by side */
	int64_t weight;	 /* for sorting */
};

struct live_table {
	uint32_t id; /* of the first aggregation */
	char *title;
	char *text; /* rows of a printa() with a format; or NULL */
	uint32_t nvalues;
	uint64_t nmore; /* rows that are not kept */
	VEC(struct live_row) rows;
};

struct live_form {
	struct screen *screen; /* NULL: it has ended */
	VEC(struct live_table) tables;
	struct live_table *now; /* the one that is being filled */
	char *log[LOG_LINES];	/* a ring */
	uint64_t nlog, nlog_paused;
	struct strbuf line; /* of the log, not ended yet */
	uint64_t began, drawn_at;
	uint64_t nnotices;
	char *notice; /* the last one */
	bool by_key, ascending, is_paused, is_dirty;
};

static struct live_form *form_of(struct printer *p)
{
	return p->form;
}

static void live_open(struct printer *p)
{
	struct live_form *f;
	struct screen *screen = screen_open();

	if (!screen) {
		p->render = &render_text;
		return;
	}
	f = xcalloc(1, sizeof(*f));
	f->screen = screen;
	f->began = now_ns();
	f->is_dirty = true;
	p->form = f;
	p->is_screen = true;
}

static void rows_clear(struct live_table *t)
{
	for (uint32_t i = 0; i < t->rows.len; i++) {
		free(t->rows.data[i].keys);
		free(t->rows.data[i].block);
		free(t->rows.data[i].values);
	}
	t->rows.len = 0;
	t->nmore = 0;
	free(t->text);
	t->text = NULL;
}

static void live_close(struct printer *p)
{
	struct live_form *f = form_of(p);

	screen_close(f->screen);
	for (uint32_t i = 0; i < f->tables.len; i++) {
		rows_clear(&f->tables.data[i]);
		vec_deinit(&f->tables.data[i].rows);
		free(f->tables.data[i].title);
	}
	vec_deinit(&f->tables);
	for (size_t i = 0; i < LOG_LINES; i++)
		free(f->log[i]);
	strbuf_deinit(&f->line);
	free(f->notice);
	free(f);
}

/* ---- text ---------------------------------------------------------------------------------- */

static void log_line(struct live_form *f)
{
	char **at = &f->log[f->nlog++ % LOG_LINES];

	free(*at);
	*at = text_clean(xstrdup(strbuf_text(&f->line)));
	f->line.len = 0;
	f->is_dirty = true;
}

static void log_add(struct live_form *f, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n')
			log_line(f);
		else if (text[i] == '\t')
			strbuf_pad(&f->line, ' ', 8 - f->line.len % 8);
		else
			strbuf_addc(&f->line, text[i]);
	}
}

/* Moves what the renderer of text has added to the output into the log. */
static void text_take(struct printer *p, size_t at)
{
	if (printer_redirect(p) || !form_of(p)->screen)
		return;
	log_add(form_of(p), strbuf_text(&p->out) + at, p->out.len - at);
	p->out.len = at;
}

static void live_record_begin(struct printer *p, const struct probe_text *pt, uint32_t cpu,
			      const struct rt_rec *next)
{
	size_t at = p->out.len;

	render_text.record_begin(p, pt, cpu, next);
	text_take(p, at);
}

static void live_record_end(struct printer *p, bool is_quiet)
{
	size_t at = p->out.len;

	render_text.record_end(p, is_quiet);
	text_take(p, at);
}

static void live_value(struct printer *p, const struct datum *d)
{
	size_t at = p->out.len;

	render_text.value(p, d);
	text_take(p, at);
}

static void live_memory(struct printer *p, const char *action, const struct datum *d)
{
	size_t at = p->out.len;

	render_text.memory(p, action, d);
	text_take(p, at);
}

static void live_typed(struct printer *p, const struct shape *shape, const struct datum *d)
{
	size_t at = p->out.len;

	render_text.typed(p, shape, d);
	text_take(p, at);
}

static struct err *live_message(struct printer *p, const struct act_layout *al,
				const struct fmt *fmt)
{
	size_t at = p->out.len;
	struct err *e = render_text.message(p, al, fmt);

	text_take(p, at);
	return e;
}

static void live_command(struct printer *p, const char *command, const struct strbuf *text,
			 int status)
{
	size_t at = p->out.len;

	strbuf_add(&p->out, strbuf_text(text), text->len);
	text_take(p, at);
}

static void live_notice(struct printer *p, const struct print_notice *n)
{
	struct live_form *f = form_of(p);

	free(f->notice);
	f->notice = xstrdup(n->msg);
	f->notice[strcspn(f->notice, "\n")] = '\0';
	text_clean(f->notice);
	f->nnotices++;
	f->is_dirty = true;
}

/* ---- tables -------------------------------------------------------------------------------- */

static struct live_table *table_get(struct live_form *f, const struct agg_table *t)
{
	uint32_t id = t->views[0]->agg->id;
	struct strbuf title = {0};

	for (uint32_t i = 0; i < f->tables.len; i++)
		if (f->tables.data[i].id == id && f->tables.data[i].nvalues == t->nviews)
			return &f->tables.data[i];
	for (uint32_t i = 0; i < t->nviews; i++)
		strbuf_addf(&title, "%s@%s %s()", i ? ", " : "", t->views[i]->agg->name,
			    aggfunc_name(t->views[i]->agg->func));
	vec_push(&f->tables,
		 (struct live_table){.id = id, .title = title.data, .nvalues = t->nviews});
	return vec_last(&f->tables);
}

/* The rows of a printa() with a format are text. */
static void live_printa_begin(struct printer *p, const struct agg_table *t)
{
	struct live_form *f = form_of(p);
	struct live_table *table;
	size_t at = p->out.len;

	if (!t->fmt && !printer_redirect(p))
		return;
	p->render = &render_text;
	walk_table(p, t);
	p->render = &render_live;
	if (printer_redirect(p))
		return;
	if (!f->is_paused) {
		table = table_get(f, t);
		rows_clear(table);
		strbuf_addc(&p->out, '\0');
		table->text = xstrdup(p->out.data + at);
		f->is_dirty = true;
	}
	p->out.len = at;
}

static bool live_table_begin(struct printer *p, const struct agg_table *t)
{
	struct live_form *f = form_of(p);

	if (t->fmt || printer_redirect(p) || f->is_paused)
		return true;
	f->now = table_get(f, t);
	rows_clear(f->now);
	f->is_dirty = true;
	return false;
}

static void row_keys(struct printer *p, struct live_row *row, const struct agg_elem *e)
{
	struct strbuf keys = {0}, block = {0};

	for (uint32_t i = 0; i < e->nkeys; i++) {
		struct datum d = datum_of_key(&e->keys[i]);

		if (d.kind == DATUM_STACK || d.kind == DATUM_USTACK) {
			print_stack(p, &block, &d, 6);
			continue;
		}
		strbuf_adds(&keys, keys.len ? "  " : "");
		key_label(p, &keys, &e->keys[i]);
	}
	row->keys = xstrdup(strbuf_text(&keys));
	row->block = block.data;
	strbuf_deinit(&keys);
}

static void live_row(struct printer *p, const struct agg_table *t, struct agg_elem *const *elems)
{
	const struct agg_elem *keyed = agg_row_keys(elems, t->nviews);
	struct live_form *f = form_of(p);
	struct live_row row = {0};
	struct strbuf block = {0};

	if (f->now->rows.len >= ROWS_MAX) {
		f->now->nmore++;
		return;
	}
	row_keys(p, &row, keyed);
	row.values = xcalloc(t->nviews, sizeof(*row.values));
	strbuf_adds(&block, row.block ? row.block : "");
	for (uint32_t i = 0; i < t->nviews; i++) {
		if (agg_is_histogram(t->views[i]->agg)) {
			print_histogram(p, &block, t->views[i], elems[i]);
			row.values[i] = elems[i] ? weight_of_row(t->views[i], elems[i]) : 0;
		} else {
			row.values[i] = elems[i] ? agg_value(t->views[i], elems[i]) : 0;
		}
	}
	free(row.block);
	row.block = block.len ? block.data : NULL;
	if (!block.len)
		strbuf_deinit(&block);
	row.weight = row.values[MIN(p->opts->sort.pos, t->nviews - 1)];
	vec_push(&f->now->rows, row);
}

static void live_table_end(struct printer *p, const struct agg_table *t)
{
}

/* ---- the screen ---------------------------------------------------------------------------- */

static int row_compare(const void *a, const void *b, void *arg)
{
	const struct live_row *r = a, *s = b;
	const struct live_form *f = arg;
	int c = f->by_key ? strverscmp(r->keys, s->keys)
			  : (r->weight > s->weight) - (r->weight < s->weight);

	if (!f->by_key && !f->ascending)
		c = -c; /* the greatest first */
	if (f->by_key && f->ascending)
		c = -c;
	return c ? c : strcmp(r->keys, s->keys);
}

static void table_line(struct strbuf *o, const struct live_table *t, const struct live_row *r,
		       int64_t most, size_t keys_width)
{
	static const struct spec number = {0, 16, -1};
	const struct spec keys = {CONV_LEFT, (int)keys_width, (int)keys_width};

	strbuf_adds(o, "  ");
	out_text(o, &keys, r->keys, strlen(r->keys));
	for (uint32_t i = 0; i < t->nvalues; i++)
		out_signed(o, &number, r->values[i]);
	if (!r->block && t->nvalues == 1 && most > 0 && r->weight > 0) {
		strbuf_adds(o, "  ");
		strbuf_pad(o, '#', (size_t)(20.0 * (double)r->weight / (double)most + 0.5));
	}
	strbuf_addc(o, '\n');
	if (r->block)
		strbuf_adds(o, r->block + (*r->block == '\n'));
}

/* Adds the rows of a table, sorted. */
static void table_text(const struct live_form *f, struct live_table *t, struct strbuf *o)
{
	size_t width = 8;
	int64_t most = 0;

	if (t->text) {
		strbuf_adds(o, t->text);
		return;
	}
	qsort_r(t->rows.data, t->rows.len, sizeof(*t->rows.data), row_compare, (void *)f);
	for (uint32_t i = 0; i < t->rows.len; i++) {
		width = MAX(width,
			    text_columns(t->rows.data[i].keys, strlen(t->rows.data[i].keys)));
		most = MAX(most, t->rows.data[i].weight);
	}
	for (uint32_t i = 0; i < t->rows.len; i++)
		table_line(o, t, &t->rows.data[i], most, MIN(width, 60u));
	if (t->nmore)
		strbuf_addf(o, "  %" PRIu64 " more row%s\n", t->nmore, PLURAL(t->nmore));
}

static uint32_t lines_count(const struct strbuf *text)
{
	uint32_t n = 0;

	for (size_t i = 0; i < text->len; i++)
		n += text->data[i] == '\n';
	return n;
}

static void head_draw(struct live_form *f)
{
	struct strbuf s = {0};
	uint64_t secs = (now_ns() - f->began) / 1000000000;

	strbuf_addf(&s, " dtrace  %" PRIu64 ":%02" PRIu64 ":%02" PRIu64 "  by %s, %s first%s",
		    secs / 3600, secs / 60 % 60, secs % 60, f->by_key ? "key" : "value",
		    f->by_key == f->ascending ? "greatest" : "least",
		    f->is_paused ? "  PAUSED" : "");
	screen_line(f->screen, SCREEN_HEAD, strbuf_text(&s));
	screen_line(f->screen, SCREEN_PALE,
		    " s: sort by key or value   r: reverse   space: pause   q: quit");
	if (f->nnotices) {
		s.len = 0;
		strbuf_addf(&s, " %" PRIu64 " lost or wrong, last: %s", f->nnotices, f->notice);
		screen_line(f->screen, SCREEN_BAD, strbuf_text(&s));
	}
	strbuf_deinit(&s);
}

/* Draws the lines of a table that fit into room lines, with its title. */
static void table_draw(struct live_form *f, const struct live_table *t, const struct strbuf *text,
		       uint32_t room)
{
	const char *at = strbuf_text(text);
	uint32_t all = lines_count(text);

	screen_line(f->screen, SCREEN_TITLE, t->title);
	for (uint32_t i = 0; i + 1 < room && *at; i++) {
		size_t len = strcspn(at, "\n");
		char *line = strndup(at, len);

		if (!line)
			oom();
		screen_line(f->screen, SCREEN_PLAIN, text_clean(line));
		free(line);
		at += len + (at[len] == '\n');
	}
	if (*at && all + 1 > room) {
		struct strbuf s = {0};

		strbuf_addf(&s, "  ... %u more line%s", all + 1 - room, PLURAL(all + 1 - room));
		screen_line(f->screen, SCREEN_PALE, s.data);
		strbuf_deinit(&s);
	}
}

/* While it is paused, the lines stay, unless so many came that theirs were used again. */
static void log_draw(const struct live_form *f, uint32_t n)
{
	uint64_t end = f->is_paused ? f->nlog_paused : f->nlog;

	for (uint64_t i = end - MIN(end, (uint64_t)n); i < end; i++)
		screen_line(f->screen, SCREEN_PLAIN, f->log[i % LOG_LINES]);
}

static void tables_draw(struct live_form *f, uint32_t room)
{
	struct strbuf *texts = xcalloc(MAX(f->tables.len, 1u), sizeof(*texts));
	uint32_t left = f->tables.len;

	for (uint32_t i = 0; i < f->tables.len; i++)
		table_text(f, &f->tables.data[i], &texts[i]);
	for (uint32_t i = 0; i < f->tables.len && room > 2; i++, left--) {
		/* a title, a line that tells of more, and an equal part of what is left */
		uint32_t want = lines_count(&texts[i]) + 2, part = MAX(room / left, 3u);

		want = i + 1 == f->tables.len ? MIN(want, room) : MIN(want, part);
		table_draw(f, &f->tables.data[i], &texts[i], want > 1 ? want - 1 : 1);
		room -= MIN(want, room);
	}
	for (uint32_t i = 0; i < f->tables.len; i++)
		strbuf_deinit(&texts[i]);
	free(texts);
}

static void live_draw(struct live_form *f)
{
	uint32_t rows = screen_begin(f->screen), head = 3 + (f->nnotices > 0);
	uint32_t log = f->tables.len ? (uint32_t)MIN(f->nlog, (uint64_t)rows / 4) : rows;

	head_draw(f);
	if (rows > head + log)
		tables_draw(f, rows - head - log);
	log_draw(f, f->tables.len ? log : rows - MIN(rows, head));
	screen_end(f->screen);
	f->is_dirty = false;
}

static void live_pause(struct live_form *f)
{
	f->is_paused = !f->is_paused;
	f->nlog_paused = f->nlog;
}

static void keys_obey(struct printer *p)
{
	struct live_form *f = form_of(p);
	int key;

	while ((key = screen_key(f->screen)) >= 0) {
		f->is_dirty = true;
		if (key == 's')
			f->by_key = !f->by_key;
		else if (key == 'r')
			f->ascending = !f->ascending;
		else if (key == ' ')
			live_pause(f);
		else if (key == 'q' && p->hooks.exit)
			p->hooks.exit(p->hooks.ctx, 0);
	}
}

/* Reads the aggregations that the program does not print itself. */
static struct err *tables_refresh(struct printer *p)
{
	struct err *e = p->hooks.snap ? p->hooks.snap(p->hooks.ctx) : NULL;

	if (e)
		return e;
	if (p->syms)
		syms_at(p->syms, SYMS_ANY_TIME);
	for (uint32_t id = 1; id <= p->layout->naggs; id++) {
		struct agg_view *v = aggs_view(p->aggs, id);

		if (v && !v->printed && v->nelems)
			walk_view(p, v);
	}
	return NULL;
}

static struct err *live_tick(struct printer *p)
{
	struct live_form *f = form_of(p);
	uint64_t now = now_ns();
	struct err *e = NULL;

	if (!f->screen)
		return NULL;
	keys_obey(p);
	if (now - f->drawn_at >= REDRAW_NS) {
		f->drawn_at = now;
		f->is_dirty = true;
		if (!f->is_paused && !printer_redirect(p))
			e = tables_refresh(p);
	}
	if (!e && (f->is_dirty || screen_is_resized(f->screen)))
		live_draw(f);
	arena_reset(p->scratch);
	return e;
}

/* ---- the end ------------------------------------------------------------------------------- */

/* Gives the terminal back; what follows is text. */
static void live_leave_screen(struct printer *p)
{
	struct live_form *f = form_of(p);
	struct strbuf text = {0};

	if (!f->screen)
		return;
	screen_close(f->screen);
	f->screen = NULL;
	p->is_screen = false;
	for (uint64_t i = f->nlog - MIN(f->nlog, (uint64_t)LOG_LINES); i < f->nlog; i++)
		strbuf_addf(&text, "%s\n", f->log[i % LOG_LINES]);
	for (uint32_t i = 0; i < f->tables.len; i++) {
		const struct agg_view *v = aggs_view(p->aggs, f->tables.data[i].id);

		if (!v || !v->printed)
			continue; /* the end of the run prints it */
		strbuf_addf(&text, "\n%s\n", f->tables.data[i].title);
		table_text(f, &f->tables.data[i], &text);
	}
	strbuf_add(&p->out, strbuf_text(&text), text.len);
	strbuf_deinit(&text);
}

static void live_aggs_begin(struct printer *p)
{
	live_leave_screen(p);
	render_text.aggs_begin(p);
	p->render = &render_text;
}

static void live_aggs_end(struct printer *p)
{
}

static void live_finish(struct printer *p)
{
	if (!printer_redirect(p))
		live_leave_screen(p);
}

const struct renderer render_live = {
	.open = live_open,
	.close = live_close,
	.record_begin = live_record_begin,
	.record_end = live_record_end,
	.value = live_value,
	.memory = live_memory,
	.typed = live_typed,
	.message = live_message,
	.joins = true,
	.aggs_begin = live_aggs_begin,
	.aggs_end = live_aggs_end,
	.printa_begin = live_printa_begin,
	.table_begin = live_table_begin,
	.row = live_row,
	.table_end = live_table_end,
	.command = live_command,
	.notice = live_notice,
	.tick = live_tick,
	.finish = live_finish,
};
