/* SPDX-License-Identifier: MIT */
/* Histograms as text: labels and bars (d-language.md 6.4.2). */
#include "render/impl.h"

#define BAR_WIDTH 40
#define RULE	  "------------- Distribution -------------"

/* ---- bars ---------------------------------------------------------------------------------- */

static long double magnitude(int64_t count)
{
	return count < 0 ? -(long double)count : (long double)count;
}

void bars_add(struct bars *b, int64_t count)
{
	b->total += magnitude(count);
	b->has_pos |= count > 0;
	b->has_neg |= count < 0;
}

void bars_zoom(struct bars *b, long double highest)
{
	b->total = highest * (1 / 0.95L);
}

/* Returns the columns of a bar: floor(|count| * width / T + 0.5), in long double. */
static size_t bar_len(const struct bars *b, int64_t count, uint32_t width)
{
	long double len;

	if (b->total <= 0)
		return 0;
	len = magnitude(count) * width / b->total + 0.5L;
	return len >= width ? width : (size_t)len;
}

static void bar_positive(struct strbuf *o, const struct bars *b, int64_t count)
{
	size_t d = bar_len(b, count, BAR_WIDTH);

	strbuf_addc(o, '|');
	strbuf_pad(o, '@', d);
	strbuf_pad(o, ' ', BAR_WIDTH - d);
	strbuf_addc(o, ' ');
}

static void bar_negative(struct strbuf *o, const struct bars *b, int64_t count)
{
	size_t d = bar_len(b, count, BAR_WIDTH);

	strbuf_pad(o, ' ', BAR_WIDTH - d);
	strbuf_pad(o, '@', d);
	strbuf_adds(o, "| ");
}

static void bar_both(struct strbuf *o, const struct bars *b, int64_t count)
{
	size_t half = BAR_WIDTH / 2, d = bar_len(b, count, BAR_WIDTH / 2);

	strbuf_pad(o, ' ', count <= 0 ? half - d : half);
	strbuf_pad(o, '@', count <= 0 ? d : 0);
	strbuf_addc(o, '|');
	strbuf_pad(o, '@', count > 0 ? d : 0);
	strbuf_pad(o, ' ', count > 0 ? half - d : half);
	strbuf_addc(o, ' ');
}

/* U+2588 is a full cell, U+2589 seven eighths, ... U+258F one eighth. */
static void bar_utf8(struct strbuf *o, const struct bars *b, int64_t count)
{
	long double cells = b->total > 0 ? magnitude(count) * BAR_WIDTH / b->total : 0;
	size_t whole = cells >= BAR_WIDTH ? BAR_WIDTH : (size_t)cells;
	unsigned int eighths =
		whole < BAR_WIDTH ? (unsigned int)((cells - (long double)whole) * 8) : 0;

	strbuf_addc(o, '|');
	for (size_t i = 0; i < whole; i++)
		strbuf_adds(o, "\xe2\x96\x88");
	if (eighths)
		strbuf_addf(o, "\xe2\x96%c", (char)(0x88 + (8 - eighths)));
	strbuf_pad(o, ' ', BAR_WIDTH - whole - (eighths != 0));
	strbuf_addc(o, ' ');
}

void print_bar(struct printer *p, struct strbuf *o, const struct bars *b, int64_t count,
	       uint64_t normal)
{
	static const struct spec left9 = {CONV_LEFT, 9, -1};

	if (b->has_neg)
		(b->has_pos ? bar_both : bar_negative)(o, b, count);
	else if (p->opts->encoding == PRINT_ENCODING_UTF8)
		bar_utf8(o, b, count);
	else
		bar_positive(o, b, count);
	out_signed(o, &left9, normalized(count, normal));
	strbuf_addc(o, '\n');
}

/* ---- labels -------------------------------------------------------------------------------- */

static void label_number(struct strbuf *o, int64_t v)
{
	out_int(o, 16, (uint64_t)v, true);
	strbuf_addc(o, ' ');
}

static void label_text(struct strbuf *o, const char *prefix, int64_t v)
{
	char text[40];
	int len = snprintf(text, sizeof(text), "%s%lld", prefix, (long long)v);

	out_text(o, &(struct spec){0, 16, -1}, text, (size_t)len);
	strbuf_addc(o, ' ');
}

static void lquantize_label(struct strbuf *o, const struct agg_layout *l, uint32_t row)
{
	int64_t label = agg_bucket_label(l, row);

	if (row == 0)
		label_text(o, "< ", label);
	else if (row == l->nbuckets - 1)
		label_text(o, ">= ", label);
	else
		label_number(o, label);
}

/* Prints a row's label. first: the first row shown, which tells if there are negative bins. */
static void llquantize_row_label(struct strbuf *o, const struct agg_layout *l, uint32_t row,
				 uint32_t first)
{
	uint32_t centre = l->nbuckets / 2;
	int64_t label = agg_bucket_label(l, agg_row_bucket(l, row)), lowest;

	if (row == 0) {
		label_text(o, "<= ", label);
	} else if (row == l->nbuckets - 1) {
		label_text(o, ">= ", label);
	} else if (row != centre) {
		label_number(o, label);
	} else {
		lowest = agg_bucket_label(l, agg_row_bucket(l, centre + 1));
		if (lowest == 1)
			label_number(o, 0);
		else
			label_text(o, first < centre ? "abs() < " : "< ", lowest);
	}
}

static void row_label(struct strbuf *o, const struct agg_layout *l, uint32_t row, uint32_t first)
{
	if (l->agg->func == AGGFUNC_LQUANTIZE)
		lquantize_label(o, l, row);
	else if (l->agg->func == AGGFUNC_LLQUANTIZE)
		llquantize_row_label(o, l, row, first);
	else
		label_number(o, agg_bucket_label(l, row));
}

void print_histogram(struct printer *p, struct strbuf *o, const struct agg_view *v,
		     const struct agg_elem *e)
{
	const struct agg_layout *l = v->layout;
	const int64_t *state = e ? e->state : NULL;
	long double highest = 0;
	struct bars b = {0};
	uint32_t first, last;

	hist_range(l, state, &first, &last);
	for (uint32_t row = first; row <= last; row++) {
		int64_t count = hist_count(l, state, row);

		bars_add(&b, count);
		highest = MAX(highest, magnitude(count));
	}
	if (p->opts->aggzoom)
		bars_zoom(&b, highest);
	strbuf_addf(o, "\n%16s %41s %-9s\n", "value", RULE, "count");
	for (uint32_t row = first; row <= last; row++) {
		row_label(o, l, row, first);
		print_bar(p, o, &b, hist_count(l, state, row), v->normal);
	}
}
