/* SPDX-License-Identifier: MIT */
/*
 * Writes flame graphs: the frames of a set in preorder for flame.js, which has the format, and a
 * static drawing of the first set.
 *
 * A frame is kept if its value is at least a threshold, which is the least one with which the
 * file's part for the set is not exceeded. A child's value is at most its parent's, so what is kept
 * is a tree.
 */
#include <inttypes.h>

#include "base/hash.h"
#include "base/text.h"
#include "picture/flame_impl.h"

#define WIDTH	    1200
#define PAD	    12
#define HEAD	    70
#define ROW	    19
#define CHAR_WIDTH  7.23
#define STILL_MIN   3.0	 /* pixels: the narrowest frame of the static drawing */
#define STILL_MAX   1500 /* frames of the static drawing */
#define NODE_BYTES  10	 /* of a frame in the file, about */
#define SHARE_LEAST 20000

struct encoder {
	struct flame_page *f;
	const struct flame_tree *t;
	int64_t *total, *before; /* with the values of all frames above */
	uint32_t *kept;		 /* nodes, sorted by parent and name */
	uint32_t nkept;
	uint32_t *first; /* by node: index in kept of the first child; first[n] = end */
	uint32_t *rank;	 /* by name: its place in the order of texts */
};

static int64_t weight_of(const struct encoder *e, uint32_t i)
{
	return e->before ? MAX(e->total[i], e->before[i]) : e->total[i];
}

static int64_t sum_clamped(int64_t a, int64_t b)
{
	return __builtin_add_overflow(a, b, &a) ? INT64_MAX : a;
}

static void totals_make(struct encoder *e)
{
	uint32_t n = e->t->nodes.len;

	e->total = xcalloc(n, sizeof(*e->total));
	if (e->t->has_before)
		e->before = xcalloc(n, sizeof(*e->before));
	for (uint32_t i = n; i-- > 0;) {
		const struct flame_node *node = &e->t->nodes.data[i];

		e->total[i] = sum_clamped(e->total[i], node->self);
		if (e->before)
			e->before[i] = sum_clamped(e->before[i], node->before);
		if (i == 0)
			break;
		e->total[node->parent] = sum_clamped(e->total[node->parent], e->total[i]);
		if (e->before)
			e->before[node->parent] =
				sum_clamped(e->before[node->parent], e->before[i]);
	}
}

/* Returns how many bytes the frames that are worth at least least take in the file. */
static uint64_t size_from(const struct encoder *e, int64_t least, uint32_t *ret_n)
{
	struct flame_page *f = e->f;
	uint64_t size = 0;
	uint32_t n = 0;
	uint8_t *seen = xcalloc(f->names.len, 1);

	for (uint32_t i = 0; i < e->t->nodes.len; i++) {
		uint32_t name = e->t->nodes.data[i].name;

		if (weight_of(e, i) < least && i > 0)
			continue;
		n++;
		size += NODE_BYTES + (e->before ? 4 : 0);
		if (!f->names.data[name].out && !seen[name]) {
			seen[name] = 1;
			size += f->names.data[name].len + 4;
		}
	}
	free(seen);
	*ret_n = n;
	return size;
}

/* The least value a frame must have so that the set has its part of the file. */
static int64_t threshold_of(const struct encoder *e, uint64_t room)
{
	int64_t low = 1, high;
	uint32_t n;

	if (size_from(e, low, &n) <= room)
		return low;
	for (high = 2; high < INT64_MAX / 2 && size_from(e, high, &n) > room; high *= 2)
		low = high;
	while (low + 1 < high) {
		int64_t mid = low + (high - low) / 2;

		if (size_from(e, mid, &n) > room)
			low = mid;
		else
			high = mid;
	}
	return high;
}

/* ---- order --------------------------------------------------------------------------------- */

static int text_compare(const void *a, const void *b, void *arg)
{
	const struct flame_page *f = arg;
	const struct flame_text *s = &f->names.data[*(const uint32_t *)a];
	const struct flame_text *t = &f->names.data[*(const uint32_t *)b];
	int c = memcmp(f->texts.data + s->off + 1, f->texts.data + t->off + 1,
		       MIN(s->len, t->len) - 1);

	return c ? c : s->len != t->len ? (s->len < t->len ? -1 : 1) : 0;
}

static void ranks_make(struct encoder *e)
{
	uint32_t n = e->f->names.len, *order = xcalloc(n, sizeof(*order));

	e->rank = xcalloc(n, sizeof(*e->rank));
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), text_compare, e->f);
	for (uint32_t i = 0; i < n; i++)
		e->rank[order[i]] = i;
	free(order);
}

static int child_compare(const void *a, const void *b, void *arg)
{
	const struct encoder *e = arg;
	const struct flame_node *s = &e->t->nodes.data[*(const uint32_t *)a];
	const struct flame_node *t = &e->t->nodes.data[*(const uint32_t *)b];

	if (s->parent != t->parent)
		return s->parent < t->parent ? -1 : 1;
	return e->rank[s->name] < e->rank[t->name] ? -1 : e->rank[s->name] > e->rank[t->name];
}

/* Lists the frames that are kept, but for the root, so that children stand side by side. */
static void kept_make(struct encoder *e, int64_t least)
{
	uint32_t n = e->t->nodes.len;

	e->kept = xcalloc(n, sizeof(*e->kept));
	for (uint32_t i = 1; i < n; i++)
		if (weight_of(e, i) >= least)
			e->kept[e->nkept++] = i;
	ranks_make(e);
	qsort_r(e->kept, e->nkept, sizeof(*e->kept), child_compare, e);
	e->first = xcalloc((size_t)n + 1, sizeof(*e->first));
	for (uint32_t i = 0, k = 0; i <= n; i++) {
		while (k < e->nkept && e->t->nodes.data[e->kept[k]].parent < i)
			k++;
		e->first[i] = k;
	}
}

/* ---- walks in preorder --------------------------------------------------------------------- */

struct walk {
	VEC(uint32_t) stack; /* nodes that are still to be visited */
	VEC(uint32_t) depth;
};

static void walk_push(struct walk *w, uint32_t node, uint32_t depth)
{
	vec_push(&w->stack, node);
	vec_push(&w->depth, depth);
}

static bool walk_next(struct walk *w, uint32_t *ret_node, uint32_t *ret_depth)
{
	if (!w->stack.len)
		return false;
	*ret_node = w->stack.data[--w->stack.len];
	*ret_depth = w->depth.data[--w->depth.len];
	return true;
}

static void walk_children(struct walk *w, const struct encoder *e, uint32_t node, uint32_t depth)
{
	for (uint32_t k = e->first[node + 1]; k-- > e->first[node];)
		walk_push(w, e->kept[k], depth + 1);
}

static void walk_deinit(struct walk *w)
{
	vec_deinit(&w->stack);
	vec_deinit(&w->depth);
}

/* ---- data ---------------------------------------------------------------------------------- */

/* The number of a name in the file. */
static uint32_t name_out(struct flame_page *f, uint32_t name)
{
	struct flame_text *t = &f->names.data[name];

	if (!t->out) {
		strbuf_adds(&f->out_names, f->nout ? "," : "");
		page_json(&f->out_names, f->texts.data + t->off, t->len);
		t->out = ++f->nout;
	}
	return t->out - 1;
}

/* The value of a frame without those of its children that are kept. */
static int64_t self_kept(const struct encoder *e, const int64_t *total, uint32_t node)
{
	int64_t self = total[node];

	for (uint32_t k = e->first[node]; k < e->first[node + 1]; k++)
		self -= total[e->kept[k]];
	return MAX(self, 0);
}

static void frames_write(const struct encoder *e)
{
	struct strbuf *o = &e->f->out_sets;
	uint32_t node, depth, last = 0;
	struct walk w = {0};
	bool is_first = true;

	walk_push(&w, 0, 0);
	while (walk_next(&w, &node, &depth)) {
		uint32_t up = is_first ? 0 : last + 1 - depth;

		if (!is_first)
			strbuf_addc(o, ',');
		is_first = false;
		strbuf_addf(o, "%u,%u,%" PRId64, up, name_out(e->f, e->t->nodes.data[node].name),
			    self_kept(e, e->total, node));
		if (e->before)
			strbuf_addf(o, ",%" PRId64, self_kept(e, e->before, node));
		last = depth;
		walk_children(&w, e, node, depth);
	}
	walk_deinit(&w);
}

static void set_write(struct encoder *e)
{
	const struct flame_set_info *info = &e->f->info;
	struct strbuf *o = &e->f->out_sets;

	strbuf_adds(o, e->f->nsets++ ? ",\n{\"title\":" : "{\"title\":");
	page_jsons(o, info->title);
	strbuf_adds(o, ",\"what\":");
	page_jsons(o, info->what);
	strbuf_adds(o, ",\"unit\":");
	page_jsons(o, info->unit);
	strbuf_adds(o, ",\"when\":\"");
	if (info->when)
		page_time(o, info->when);
	strbuf_addf(o, "\",\"width\":%d,\"notes\":", e->before ? 4 : 3);
	page_notes_json(o, &e->f->set_notes);
	strbuf_adds(o, ",\"tree\":[");
	frames_write(e);
	strbuf_adds(o, "]}");
}

/* ---- the static drawing -------------------------------------------------------------------- */

struct still {
	struct encoder *e;
	struct strbuf *o;
	uint32_t rows, n;
	double *at; /* by depth: where the next frame begins */
};

/* Adds what fits of a name: about one column a character. */
static void still_label(struct strbuf *o, const char *text, size_t len, double width, double x,
			double y)
{
	size_t room = width > 7 ? (size_t)((width - 7) / CHAR_WIDTH) : 0, at = 0, n = 0;
	const char *tick = memchr(text, '`', len);
	const char *place = len && text[len - 1] == ')' ? memrchr(text, '(', len) : NULL;

	if (tick && room < len) {
		len -= (size_t)(tick + 1 - text);
		text = tick + 1;
	} else if (place > text && place[-1] == ' ' && room < len) {
		len = (size_t)(place - 1 - text);
	}
	if (room < 3)
		return;
	while (at < len && n < (room < len ? room - 1 : room)) {
		size_t c = utf8_get(text + at, len - at, NULL);

		at += c ? c : 1;
		n++;
	}
	strbuf_addf(o, "<text class=\"t\" x=\"%.1f\" y=\"%.0f\">", x + 4, y + 13);
	page_text(o, text, MIN(at, len));
	strbuf_adds(o, at < len ? "\xe2\x80\xa6</text>\n" : "</text>\n");
}

/* One of five shades, the same for a name in every picture. */
static unsigned int shade_of(const char *text, size_t len)
{
	uint32_t h = fnv_32(FNV_32, text, len);

	return (h ^ h >> 16) % 5;
}

static void still_frame(struct still *s, uint32_t node, uint32_t depth, double x, double width)
{
	const struct flame_page *f = s->e->f;
	const struct flame_text *t = &f->names.data[s->e->t->nodes.data[node].name];
	const char *text = f->texts.data + t->off;
	uint32_t level = f->opts.icicle ? depth : s->rows - 1 - depth;
	double y = HEAD + (double)level * ROW;

	strbuf_addf(s->o,
		    "<rect class=\"f %c%u\" x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%d\">"
		    "<title>",
		    text[0], shade_of(text, t->len), x, y, MAX(width - 0.6, 0.3), ROW - 1);
	page_text(s->o, text + 1, t->len - 1);
	strbuf_addf(s->o, ": %" PRId64 "</title></rect>\n", s->e->total[node]);
	still_label(s->o, text + 1, t->len - 1, width, x, y);
	s->n++;
}

/* Visits the frames that are wide enough; draws them if does_draw, else counts the rows. */
static void still_walk(struct still *s, bool does_draw)
{
	const struct encoder *e = s->e;
	double scale = e->total[0] > 0 ? (WIDTH - 2 * PAD) / (double)e->total[0] : 0;
	uint32_t node, depth;
	struct walk w = {0};

	s->at[0] = PAD;
	walk_push(&w, 0, 0);
	while (walk_next(&w, &node, &depth)) {
		double width = (double)e->total[node] * scale, x = s->at[depth];

		s->at[depth] = x + width;
		s->at[depth + 1] = x;
		if (width < STILL_MIN || s->n >= STILL_MAX)
			continue;
		s->rows = MAX(s->rows, does_draw ? 0 : depth + 1);
		if (does_draw)
			still_frame(s, node, depth, x, width);
		walk_children(&w, e, node, depth);
	}
	walk_deinit(&w);
}

static void still_make(struct encoder *e)
{
	struct still s = {e, &e->f->still, 0, 0, NULL};
	uint32_t deepest = 0;
	uint32_t *depth = xcalloc(e->t->nodes.len, sizeof(*depth));

	for (uint32_t i = 1; i < e->t->nodes.len; i++) {
		depth[i] = depth[e->t->nodes.data[i].parent] + 1;
		deepest = MAX(deepest, depth[i]);
	}
	free(depth);
	s.at = xcalloc(deepest + 2, sizeof(*s.at));
	still_walk(&s, false);
	strbuf_addf(s.o, "<text class=\"title\" x=\"%d\" y=\"24\">", PAD);
	page_texts(s.o, e->f->info.title);
	strbuf_addf(s.o, "</text>\n<text class=\"sub\" x=\"%d\" y=\"50\">", PAD);
	page_texts(s.o, e->f->info.what);
	strbuf_addf(s.o, ": %" PRId64 "%s%s. ", e->total[0], *e->f->info.unit ? " " : "",
		    e->f->info.unit);
	strbuf_adds(s.o, "A browser with scripts zooms and searches.</text>\n");
	still_walk(&s, true);
	e->f->still_rows = s.rows;
	free(s.at);
}

/* ---- encoding ------------------------------------------------------------------------------ */

static void pruned_note(const struct encoder *e, int64_t least)
{
	uint32_t nleft = 0, nzero = 0;

	for (uint32_t i = 1; i < e->t->nodes.len; i++) {
		nleft += weight_of(e, i) < least;
		nzero += weight_of(e, i) == 0;
	}
	if (nleft > nzero)
		page_note(&e->f->set_notes, false,
			  "%u frame%s with less than %" PRId64
			  " (%.2g %% of the whole) each %s left out, to keep the file small; the "
			  "frames below %s contain %s.",
			  nleft - nzero, PLURAL(nleft - nzero), least,
			  100 * (double)least / (double)MAX(weight_of(e, 0), 1),
			  WORD_FOR(nleft - nzero, "is", "are"),
			  WORD_FOR(nleft - nzero, "it", "them"),
			  WORD_FOR(nleft - nzero, "its value", "their values"));
	if (nzero)
		page_note(&e->f->set_notes, false, "%u frame%s with the value 0 %s not drawn.",
			  nzero, PLURAL(nzero), WORD_FOR(nzero, "is", "are"));
}

void flame_encode(struct flame_page *f)
{
	struct encoder e = {.f = f, .t = &f->tree};
	uint64_t used = f->out_names.len + f->out_sets.len;
	uint64_t room = f->opts.max_bytes > used ? f->opts.max_bytes - used : 0;
	int64_t least;

	if (room < SHARE_LEAST) {
		f->nskipped++;
		return;
	}
	/* pictures of printa() follow one another, and it is not known how many come */
	room = f->info.when ? room / 8 : room / MAX(f->info.nsets, 1);
	totals_make(&e);
	least = threshold_of(&e, MAX(room, SHARE_LEAST));
	pruned_note(&e, least);
	kept_make(&e, least);
	if (f->nsets == 0)
		still_make(&e);
	set_write(&e);
	free(e.total);
	free(e.before);
	free(e.kept);
	free(e.first);
	free(e.rank);
}

/* ---- the page ------------------------------------------------------------------------------ */

static void data_write(struct flame_page *f, struct strbuf *o)
{
	struct strbuf facts = {0};

	if (f->nskipped)
		page_note(&f->notes, true, "%llu further graph%s left out: the file has %u MB.",
			  (unsigned long long)f->nskipped, WORD_FOR(f->nskipped, " is", "s are"),
			  f->opts.max_bytes / 1000000);
	if (!f->opts.is_part)
		page_facts_add(&facts, &f->facts);
	strbuf_addf(o, "{\"icicle\":%d,\"only\":%d,\"facts\":", f->opts.icicle, !f->opts.is_part);
	page_jsons(o, strbuf_text(&facts));
	strbuf_adds(o, ",\"notes\":");
	page_notes_json(o, &f->notes);
	strbuf_adds(o, ",\n\"names\":[");
	strbuf_add(o, strbuf_text(&f->out_names), f->out_names.len);
	strbuf_adds(o, "],\n\"sets\":[");
	strbuf_add(o, strbuf_text(&f->out_sets), f->out_sets.len);
	strbuf_adds(o, "]}");
	strbuf_deinit(&facts);
}

static void empty_still(struct flame_page *f)
{
	for (uint32_t i = 0; i < f->notes.list.len; i++) {
		strbuf_addf(&f->still, "<text class=\"sub\" x=\"%d\" y=\"%u\">", PAD, 30 + i * 18);
		page_texts(&f->still, f->notes.list.data[i].text);
		strbuf_adds(&f->still, "</text>\n");
	}
}

void flame_write(struct flame_page *f, const char *name, struct strbuf *out)
{
	uint32_t height = HEAD + f->still_rows * ROW + 40 + f->notes.list.len * 16;
	struct strbuf title = {0};

	if (!f->nsets)
		empty_still(f);
	if (f->opts.is_part) {
		strbuf_addf(out,
			    "<svg class=\"flame\" width=\"%d\" height=\"%u\" "
			    "viewBox=\"0 0 %d %u\">\n<rect class=\"bg\" width=\"100%%\" "
			    "height=\"100%%\"/>\n",
			    WIDTH, height, WIDTH, height);
		strbuf_add(out, strbuf_text(&f->still), f->still.len);
		page_data_begin(out, true, "flame");
		data_write(f, out);
		strbuf_adds(out, "</script>\n");
		return;
	}
	strbuf_addf(&title, "%s: flame graph", name);
	page_begin(out, f->opts.as_html, title.data, &picture_flame_css, &picture_flame_js, WIDTH,
		   height);
	strbuf_deinit(&title);
	strbuf_add(out, strbuf_text(&f->still), f->still.len);
	page_data_begin(out, f->opts.as_html, "flame");
	data_write(f, out);
	page_end(out, f->opts.as_html, &picture_flame_js);
}
