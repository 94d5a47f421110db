/* SPDX-License-Identifier: MIT */
/* Prints each element on one line: options agghist and aggpack (d-language.md 6.4.2). */
#include "render/impl.h"

#define RULE "------------- Distribution -------------"

/* ---- keys ---------------------------------------------------------------------------------- */

static int packed_width(const struct agg_key *k)
{
	return k->bytes ? 16 : int_width(k->size);
}

static int keys_width(const struct agg_elem *e)
{
	int width = 0;

	for (uint32_t i = 0; i < e->nkeys; i++)
		width += packed_width(&e->keys[i]) + 1;
	return width;
}

static void packed_text(struct printer *p, struct strbuf *o, const struct datum *d)
{
	struct spec s = {0, 16, -1};

	if (d->kind == DATUM_STRUCT && datum_is_int(d)) {
		out_int(o, 16, datum_int(d), true);
	} else if (d->kind == DATUM_STRING || d->kind == DATUM_BYTES || d->kind == DATUM_STRUCT) {
		datum_text_add(p, o, &s, d, d->bytes, strnlen(d->bytes, d->size));
	} else if (d->kind == DATUM_STACK || d->kind == DATUM_USTACK) {
		print_stack(p, o, d, p->opts->stackindent);
	} else {
		struct strbuf text = {0};
		uint64_t pid, addr;

		addr_of_datum(d, &pid, &addr);
		addr_text(p, &text, pid, addr, addr_form_of(d->kind));
		out_text(o, &s, text.data, text.len);
		strbuf_deinit(&text);
	}
}

static void packed_keys(struct printer *p, struct strbuf *o, const struct agg_elem *e)
{
	for (uint32_t i = 0; i < e->nkeys; i++) {
		struct datum d = datum_of_key(&e->keys[i]);

		strbuf_addc(o, ' ');
		if (d.bytes)
			packed_text(p, o, &d);
		else
			out_int(o, packed_width(&e->keys[i]), d.ival, d.is_signed);
	}
}

/* ---- agghist ------------------------------------------------------------------------------- */

static bool has_bar_value(const struct prog_agg *agg)
{
	return agg->func == AGGFUNC_COUNT || agg->func == AGGFUNC_LIVE ||
	       agg->func == AGGFUNC_SUM || agg->func == AGGFUNC_AVG || agg->func == AGGFUNC_STDDEV;
}

static void print_agghist(struct printer *p, struct strbuf *o, const struct agg_view *v)
{
	long double highest = 0;
	struct bars b = {0};

	for (uint32_t i = 0; i < v->nelems; i++) {
		int64_t value = agg_value(v, v->elems[i]);
		long double mag = value < 0 ? -(long double)value : (long double)value;

		bars_add(&b, value);
		highest = MAX(highest, mag);
	}
	if (p->opts->aggzoom)
		bars_zoom(&b, highest);
	strbuf_addf(o, "\n%*s %41s %-9s\n", keys_width(v->elems[0]), "key", RULE, "count");
	for (uint32_t i = 0; i < v->nelems; i++) {
		packed_keys(p, o, v->elems[i]);
		strbuf_addc(o, ' ');
		print_bar(p, o, &b, agg_value(v, v->elems[i]), 1); /* the value is normalized */
	}
}

/* ---- aggpack ------------------------------------------------------------------------------- */

static bool has_utf8(const struct print_opts *opts)
{
	static const char *const plain[] = {"sun", "sun-color", "dumb"};
	const char *term = getenv("TERM");

	if (opts->encoding != PRINT_ENCODING_UNSET)
		return opts->encoding == PRINT_ENCODING_UTF8;
	for (size_t i = 0; term && i < ARRAY_LEN(plain); i++)
		if (strcmp(term, plain[i]) == 0)
			return false;
	return true;
}

static unsigned int level(int64_t count, long double total, unsigned int highest)
{
	long double mag = count < 0 ? -(long double)count : (long double)count;
	long double at = total > 0 ? mag * highest / total + 0.5L : 0;

	return at >= highest ? highest : (unsigned int)at;
}

static void print_cell(struct strbuf *o, int64_t count, long double total, bool is_utf8)
{
	static const char up[] = "__xxxxXX", down[] = "vvvvVV";

	if (count == 0)
		strbuf_addc(o, ' ');
	else if (count < 0)
		strbuf_addc(o, down[level(count, total, sizeof(down) - 2)]);
	else if (is_utf8)
		strbuf_addf(o, "\xe2\x96%c", (char)(0x81 + level(count, total, 7)));
	else
		strbuf_addc(o, up[level(count, total, sizeof(up) - 2)]);
}

struct pack_range { /* the rows that all elements need, and the widths of the outer labels */
	uint32_t first, last;
	int min_width, max_width;
};

static int digits(int64_t v)
{
	return snprintf(NULL, 0, "%lld", (long long)v);
}

static struct pack_range pack_range_of(const struct agg_view *v)
{
	struct pack_range r = {.first = UINT32_MAX};

	for (uint32_t i = 0; i < v->nelems; i++) {
		uint32_t first, last;

		hist_range(v->layout, v->elems[i]->state, &first, &last);
		r.first = MIN(r.first, first);
		r.last = MAX(r.last, last);
	}
	r.min_width = MAX(digits(agg_bucket_label(v->layout, r.first)), 3);
	r.max_width = MAX(digits(agg_bucket_label(v->layout, r.last)), 3);
	return r;
}

static void pack_row(struct printer *p, struct strbuf *o, const struct agg_view *v,
		     const struct agg_elem *e, const struct pack_range *r)
{
	bool is_utf8 = has_utf8(p->opts);
	long double total = 0, highest = 0;
	uint64_t sum = 0;

	for (uint32_t row = r->first; row <= r->last; row++) {
		int64_t count = e->state[row];
		long double mag = count < 0 ? -(long double)count : (long double)count;

		total += mag;
		highest = MAX(highest, mag);
		sum += (uint64_t)count;
	}
	if (p->opts->aggzoom)
		total = highest * (1 / 0.95L);
	packed_keys(p, o, e);
	strbuf_addf(o, " %*lld :", r->min_width, (long long)agg_bucket_label(v->layout, r->first));
	for (uint32_t row = r->first; row <= r->last; row++)
		print_cell(o, e->state[row], total, is_utf8);
	strbuf_addf(o, ": %*lld | %lld\n", -r->max_width,
		    (long long)agg_bucket_label(v->layout, r->last),
		    (long long)normalized((int64_t)sum, v->normal));
}

static void print_aggpack(struct printer *p, struct strbuf *o, const struct agg_view *v)
{
	struct pack_range r = pack_range_of(v);
	int width = keys_width(v->elems[0]);

	strbuf_addf(o, "\n%*s %*s .", width, width ? "key" : "", r.min_width, "min");
	strbuf_pad(o, '-', r.last - r.first + 1);
	strbuf_addf(o, ". %*s | count\n", -r.max_width, "max");
	for (uint32_t i = 0; i < v->nelems; i++)
		pack_row(p, o, v, v->elems[i], &r);
}

bool print_view_packed(struct printer *p, struct strbuf *o, const struct agg_view *v)
{
	bool is_flat_hist = v->agg->func == AGGFUNC_QUANTIZE || v->agg->func == AGGFUNC_LQUANTIZE;

	if (v->nelems == 0)
		return false;
	if (p->opts->agghist && has_bar_value(v->agg))
		print_agghist(p, o, v);
	else if (p->opts->aggpack && is_flat_hist)
		print_aggpack(p, o, v);
	else
		return false;
	return true;
}
