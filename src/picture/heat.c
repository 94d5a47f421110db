/* SPDX-License-Identifier: MIT */
/* Collects and writes heat maps (heat.h). */
#include "picture/heat.h"

#include <inttypes.h>

#include "base/hashmap.h"

#define WIDTH	  1200
#define LEFT	  96
#define PAD	  12
#define HEAD	  76
#define STEPS	  9
#define STILL_MAX 6000 /* cells of the static drawing */
#define NS_PER_MS 1000000

struct cell {
	uint32_t col, row;
	int64_t n;
};

struct series {
	char *title;
	uint32_t track;
	int64_t *before; /* counts of the intervals before, since the restart */
	bool is_seen;
	VEC(struct cell) cells; /* sorted by interval, except within the last one */
};

struct track {
	char *what, *unit;
	struct heat_bounds *bounds;
	uint32_t nbounds;
	VEC(uint64_t) ends; /* ns since 1970 */
	uint32_t ncols;	    /* intervals that have ended */
	uint32_t factor;    /* how many of the program's intervals are one */
	uint32_t npart;	    /* of these, in the last interval */
};

struct heat_page {
	bool as_html;
	struct page_facts facts;
	struct page_notes notes;
	VEC(struct track) tracks; /* by number; nbounds 0: there is none */
	VEC(struct series *) series;
	struct hashmap *by_title; /* track and title -> struct series */
	uint64_t ncells, nskipped;
};

struct heat_page *heat_create(bool as_html)
{
	struct heat_page *h = xcalloc(1, sizeof(*h));

	h->as_html = as_html;
	h->by_title = hashmap_create();
	page_facts_init(&h->facts);
	return h;
}

void heat_destroy(struct heat_page *h)
{
	if (!h)
		return;
	for (uint32_t i = 0; i < h->series.len; i++) {
		struct series *s = h->series.data[i];

		free(s->title);
		free(s->before);
		vec_deinit(&s->cells);
		free(s);
	}
	for (uint32_t i = 0; i < h->tracks.len; i++) {
		struct track *t = &h->tracks.data[i];

		free(t->what);
		free(t->unit);
		free(t->bounds);
		vec_deinit(&t->ends);
	}
	vec_deinit(&h->series);
	vec_deinit(&h->tracks);
	hashmap_destroy(h->by_title);
	page_notes_deinit(&h->notes);
	free(h);
}

struct page_notes *heat_notes(struct heat_page *h)
{
	return &h->notes;
}

/* ---- tracks -------------------------------------------------------------------------------- */

void heat_track(struct heat_page *h, uint32_t track, const char *what, const char *unit,
		const struct heat_bounds *bounds, uint32_t nbounds)
{
	struct track *t;

	while (h->tracks.len <= track)
		vec_push(&h->tracks, (struct track){0});
	t = &h->tracks.data[track];
	if (t->nbounds)
		return;
	t->what = xstrdup(what);
	t->unit = xstrdup(unit);
	t->bounds = xcalloc(nbounds, sizeof(*bounds));
	memcpy(t->bounds, bounds, nbounds * sizeof(*bounds));
	t->nbounds = nbounds;
	t->factor = 1;
}

bool heat_has_track(const struct heat_page *h, uint32_t track)
{
	return track < h->tracks.len && h->tracks.data[track].nbounds;
}

/* Makes one interval of each two of a track. */
static void track_halve(struct heat_page *h, uint32_t track)
{
	struct track *t = &h->tracks.data[track];
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->ncols; i += 2)
		t->ends.data[n++] = t->ends.data[MIN(i + 1, t->ncols - 1)];
	/* when an interval is left over, it is half full */
	t->npart = (t->ncols & 1 ? t->factor : 0) + t->npart;
	t->factor *= 2;
	t->ncols = t->npart ? n - 1 : n;
	t->ends.len = n;
	for (uint32_t i = 0; i < h->series.len; i++) {
		struct series *s = h->series.data[i];
		uint32_t to = 0;

		if (s->track != track)
			continue;
		for (uint32_t k = 0; k < s->cells.len; k++) {
			struct cell c = s->cells.data[k];
			uint32_t at = to;

			c.col /= 2;
			while (at > 0 && s->cells.data[at - 1].col == c.col &&
			       s->cells.data[at - 1].row != c.row)
				at--;
			if (at > 0 && s->cells.data[at - 1].col == c.col)
				s->cells.data[at - 1].n += c.n;
			else
				s->cells.data[to++] = c;
		}
		h->ncells -= s->cells.len - to;
		s->cells.len = to;
	}
}

static void cells_bound(struct heat_page *h)
{
	bool can_shrink = true;

	while (h->ncells > HEAT_CELLS && can_shrink) {
		can_shrink = false;
		for (uint32_t i = 0; i < h->tracks.len; i++)
			if (h->tracks.data[i].ncols > 1) {
				track_halve(h, i);
				can_shrink = true;
			}
	}
}

void heat_interval_end(struct heat_page *h, uint32_t track, uint64_t when)
{
	struct track *t = &h->tracks.data[track];

	if (t->ends.len > t->ncols)
		t->ends.data[t->ncols] = when;
	else
		vec_push(&t->ends, when);
	if (++t->npart == t->factor) {
		t->npart = 0;
		t->ncols++;
	}
	heat_restart_others(h, track);
	cells_bound(h);
}

/* ---- series -------------------------------------------------------------------------------- */

static struct series *series_find(struct heat_page *h, uint32_t track, const char *title)
{
	struct strbuf key = {0};
	struct series *s;

	strbuf_addf(&key, "%u %s", track, title);
	s = hashmap_find(h->by_title, key.data, key.len);
	strbuf_deinit(&key);
	return s;
}

static struct series *series_get(struct heat_page *h, uint32_t track, const char *title)
{
	struct series *s = series_find(h, track, title);
	struct strbuf key = {0};

	if (s)
		return s;
	if (h->series.len >= HEAT_SERIES)
		return NULL;
	s = xcalloc(1, sizeof(*s));
	s->title = xstrdup(title);
	s->track = track;
	s->before = xcalloc(h->tracks.data[track].nbounds, sizeof(*s->before));
	vec_push(&h->series, s);
	strbuf_addf(&key, "%u %s", track, title);
	hashmap_set(h->by_title, key.data, key.len, s);
	strbuf_deinit(&key);
	return s;
}

static void series_restart(const struct heat_page *h, struct series *s)
{
	memset(s->before, 0, h->tracks.data[s->track].nbounds * sizeof(*s->before));
}

static void cell_add(struct heat_page *h, struct series *s, uint32_t col, uint32_t row, int64_t n)
{
	for (uint32_t i = s->cells.len; i > 0 && s->cells.data[i - 1].col == col; i--)
		if (s->cells.data[i - 1].row == row) {
			s->cells.data[i - 1].n += n;
			return;
		}
	vec_push(&s->cells, (struct cell){col, row, n});
	h->ncells++;
}

void heat_add(struct heat_page *h, uint32_t track, const char *title, const int64_t *counts,
	      uint64_t normal)
{
	const struct track *t = &h->tracks.data[track];
	struct series *s = series_get(h, track, title);

	if (!s) {
		h->nskipped++;
		return;
	}
	s->is_seen = true;
	for (uint32_t i = 0; i < t->nbounds; i++)
		if (counts[i] < s->before[i]) { /* the key was removed, and came again */
			series_restart(h, s);
			break;
		}
	for (uint32_t i = 0; i < t->nbounds; i++) {
		uint64_t n = (uint64_t)(counts[i] - s->before[i]) / MAX(normal, 1u);

		if (n && counts[i] > 0)
			cell_add(h, s, t->ncols, i, (int64_t)n);
		s->before[i] = counts[i];
	}
}

void heat_restart(struct heat_page *h, uint32_t track)
{
	for (uint32_t i = 0; i < h->series.len; i++)
		if (h->series.data[i]->track == track)
			series_restart(h, h->series.data[i]);
}

void heat_keep(struct heat_page *h, uint32_t track, const char *title)
{
	struct series *s = series_find(h, track, title);

	if (s)
		s->is_seen = true;
}

void heat_restart_others(struct heat_page *h, uint32_t track)
{
	for (uint32_t i = 0; i < h->series.len; i++) {
		struct series *s = h->series.data[i];

		if (s->track == track && !s->is_seen)
			series_restart(h, s);
		if (s->track == track)
			s->is_seen = false;
	}
}

/* ---- the page ------------------------------------------------------------------------------ */

static uint64_t track_begin(const struct heat_page *h, const struct track *t)
{
	return t->ends.len ? MIN(h->facts.began, t->ends.data[0]) : h->facts.began;
}

static void track_write(const struct heat_page *h, struct strbuf *o, const struct track *t)
{
	strbuf_addf(o, "{\"begin\":0,\"ends\":[");
	for (uint32_t i = 0; i < t->ends.len; i++)
		strbuf_addf(o, "%s%" PRIu64, i ? "," : "",
			    (t->ends.data[i] - track_begin(h, t)) / NS_PER_MS);
	strbuf_adds(o, "],\"low\":[");
	for (uint32_t i = 0; i < t->nbounds; i++) {
		strbuf_adds(o, i ? "," : "");
		if (t->bounds[i].has_low)
			strbuf_addf(o, "%" PRId64, t->bounds[i].low);
		else
			strbuf_adds(o, "null");
	}
	strbuf_adds(o, "],\"high\":[");
	for (uint32_t i = 0; i < t->nbounds; i++) {
		strbuf_adds(o, i ? "," : "");
		if (t->bounds[i].has_high)
			strbuf_addf(o, "%" PRId64, t->bounds[i].high);
		else
			strbuf_adds(o, "null");
	}
	strbuf_adds(o, "]}");
}

static void series_write(const struct heat_page *h, struct strbuf *o, const struct series *s)
{
	strbuf_addf(o, "{\"track\":%u,\"title\":", s->track);
	page_jsons(o, s->title);
	strbuf_adds(o, ",\"what\":");
	page_jsons(o, h->tracks.data[s->track].what);
	strbuf_adds(o, ",\"unit\":");
	page_jsons(o, h->tracks.data[s->track].unit);
	strbuf_adds(o, ",\"cells\":[");
	for (uint32_t i = 0; i < s->cells.len; i++)
		strbuf_addf(o, "%s%u,%u,%" PRId64, i ? "," : "", s->cells.data[i].col,
			    s->cells.data[i].row, s->cells.data[i].n);
	strbuf_adds(o, "]}");
}

static void data_write(struct heat_page *h, struct strbuf *o)
{
	struct strbuf facts = {0};

	page_facts_add(&facts, &h->facts);
	strbuf_addf(o, "{\"began\":%" PRIu64 ",\"facts\":", h->facts.began / NS_PER_MS);
	page_jsons(o, facts.data);
	strbuf_adds(o, ",\"notes\":");
	page_notes_json(o, &h->notes);
	strbuf_adds(o, ",\n\"tracks\":[");
	for (uint32_t i = 0; i < h->tracks.len; i++) {
		strbuf_adds(o, i ? "," : "");
		track_write(h, o, &h->tracks.data[i]);
	}
	strbuf_adds(o, "],\n\"series\":[");
	for (uint32_t i = 0; i < h->series.len; i++) {
		strbuf_adds(o, i ? ",\n" : "");
		series_write(h, o, h->series.data[i]);
	}
	strbuf_adds(o, "]}");
	strbuf_deinit(&facts);
}

/* ---- the static drawing -------------------------------------------------------------------- */

static uint32_t number_width(int64_t n)
{
	return n > 0 ? 64 - (uint32_t)__builtin_clzll((uint64_t)n) : 0;
}

/* Draws the first series; returns its height. */
static uint32_t still_write(const struct heat_page *h, struct strbuf *o)
{
	const struct series *s = h->series.data[0];
	const struct track *t = &h->tracks.data[s->track];
	uint32_t low = UINT32_MAX, high = 0, most = 1;
	double begin = (double)track_begin(h, t), span, height;

	for (uint32_t i = 0; i < s->cells.len; i++) {
		low = MIN(low, s->cells.data[i].row);
		high = MAX(high, s->cells.data[i].row);
		most = MAX(most, number_width(s->cells.data[i].n));
	}
	if (!s->cells.len || !t->ends.len)
		return 0;
	span = MAX((double)t->ends.data[t->ends.len - 1] - begin, 1.0);
	height = MIN((high - low + 1) * 20.0, 480.0);
	strbuf_addf(o, "<text class=\"title\" x=\"%d\" y=\"24\">", PAD);
	page_texts(o, s->title);
	strbuf_addf(
		o,
		"</text>\n<text class=\"sub\" x=\"%d\" y=\"50\">A browser with scripts shows axes "
		"and numbers.</text>\n",
		PAD);
	for (uint32_t i = 0; i < MIN(s->cells.len, STILL_MAX); i++) {
		const struct cell *c = &s->cells.data[i];
		double from = c->col ? (double)t->ends.data[c->col - 1] - begin : 0;
		double to = (double)t->ends.data[MIN(c->col, t->ends.len - 1)] - begin;
		double row = height / (high - low + 1), scale = (WIDTH - LEFT - PAD) / span;

		strbuf_addf(o,
			    "<rect class=\"c%u\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
			    "height=\"%.1f\"><title>%" PRId64 " to %" PRId64 ": %" PRId64
			    "</title></rect>\n",
			    1 + (number_width(c->n) - 1) * (STEPS - 1) / most, LEFT + from * scale,
			    HEAD + height - (c->row - low + 1) * row, MAX((to - from) * scale, 0.5),
			    row, t->bounds[c->row].low, t->bounds[c->row].high, c->n);
	}
	return (uint32_t)height;
}

static void facts_note(struct heat_page *h)
{
	uint32_t factor = 1, least = UINT32_MAX;

	for (uint32_t i = 0; i < h->tracks.len; i++) {
		factor = MAX(factor, h->tracks.data[i].factor);
		if (h->tracks.data[i].nbounds)
			least = MIN(least, h->tracks.data[i].ends.len);
	}
	if (factor > 1)
		page_note(&h->notes, false,
			  "Each %u intervals of the program are one here, to keep the file small.",
			  factor);
	if (h->nskipped)
		page_note(&h->notes, true,
			  "Keys beyond %u are left out: there were %" PRIu64 " histograms of them.",
			  HEAT_SERIES, h->nskipped);
	if (least == 1)
		page_note(&h->notes, false,
			  "An aggregation was printed once, so it has one interval: a clause like "
			  "tick-1s { printa(@a); } prints it more often.");
}

void heat_write(struct heat_page *h, const char *name, struct strbuf *out)
{
	struct strbuf still = {0}, title = {0};
	uint32_t height = 0;

	facts_note(h);
	if (h->series.len)
		height = still_write(h, &still);
	for (uint32_t i = 0; !h->series.len && i < h->notes.list.len; i++) {
		strbuf_addf(&still, "<text class=\"sub\" x=\"%d\" y=\"%u\">", PAD, 30 + i * 18);
		page_texts(&still, h->notes.list.data[i].text);
		strbuf_adds(&still, "</text>\n");
	}
	strbuf_addf(&title, "%s: heat map", name);
	page_begin(out, h->as_html, title.data, &picture_heat_css, &picture_heat_js, WIDTH,
		   HEAD + height + 60);
	strbuf_add(out, strbuf_text(&still), still.len);
	page_data_begin(out, h->as_html, "heat");
	data_write(h, out);
	page_end(out, h->as_html, &picture_heat_js);
	strbuf_deinit(&title);
	strbuf_deinit(&still);
}
