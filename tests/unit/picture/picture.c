/* SPDX-License-Identifier: MIT */
/* Pictures: what goes in comes out, whatever has to be merged or left out for its size. */
#include <unistd.h>

#include "picture/flame.h"
#include "picture/folded.h"
#include "picture/heat.h"
#include "tap.h"

/* ---- text ---------------------------------------------------------------------------------- */

static const char *json_of(const char *text, size_t len)
{
	static struct strbuf o;

	o.len = 0;
	page_json(&o, text, len);
	return o.data;
}

static const char *text_of(const char *text, size_t len)
{
	static struct strbuf o;

	o.len = 0;
	page_text(&o, text, len);
	return o.data;
}

static void test_text(void)
{
	is_str(json_of("</script>&'", 11), "\"\\u003c/script\\u003e\\u0026\\u0027\"",
	       "JSON has no markup");
	is_str(json_of("a\"\\\n\0b", 6), "\"a\\\"\\\\\\u000a\\u0000b\"", "nor control characters");
	is_str(json_of("\xe2\x80\xa8\xff\xc3\xa9", 6), "\"\\u2028\\ufffd\xc3\xa9\"",
	       "line separators, broken and whole UTF-8");
	is_str(text_of("<a b='\"'>&", 10), "&lt;a b=&#39;&quot;&#39;&gt;&amp;", "text of XML");
	is_str(text_of("\x01\x1b\xef\xbf\xbf\xc2\x85z", 8),
	       "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz", "what XML forbids is replaced");
}

/* ---- flame graphs -------------------------------------------------------------------------- */

/* Adds up number `column` of the rows of the first list behind key. */
static int64_t sum_of(const char *page, const char *key, int width, int column, uint32_t *ret_n)
{
	const char *at = strstr(page, key);
	int64_t sum = 0;
	uint32_t n = 0;

	if (!at)
		return -1;
	for (at += strlen(key); *at && *at != ']'; n++) {
		char *end;
		long long v = strtoll(at, &end, 10);

		if (end == at)
			return -1;
		if ((int)(n % (uint32_t)width) == column)
			sum += v;
		at = end + (*end == ',');
	}
	*ret_n = n / (uint32_t)width;
	return sum;
}

static uint32_t random_next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static struct flame_page *flame_of(uint32_t nstacks, uint32_t max_bytes, int64_t *ret_sum)
{
	struct flame_page *f = flame_create(&(struct flame_opts){.max_bytes = max_bytes});
	uint32_t seed = 1;

	*ret_sum = 0;
	flame_set_begin(f, &(struct flame_set_info){"@x", "count", "", 0, 1});
	for (uint32_t i = 0; i < nstacks; i++) {
		uint32_t names[40], n = 1 + random_next(&seed) % 40;

		for (uint32_t k = 0; k < n; k++) {
			char name[40];
			int len = snprintf(name, sizeof(name), "function_%u",
					   random_next(&seed) % (4 + 2 * k));

			names[k] = flame_name(f, FRAME_NATIVE, name, (size_t)len);
		}
		flame_add(f, names, n, 1 + i % 7, false);
		*ret_sum += 1 + i % 7;
	}
	flame_set_end(f);
	return f;
}

static void test_flame(void)
{
	struct strbuf all = {0}, part = {0};
	uint32_t nall, npart;
	int64_t sum;
	struct flame_page *f = flame_of(3000, 0, &sum);

	flame_write(f, "a<b", &all);
	is_int(sum_of(all.data, "\"tree\":[", 3, 2, &nall), sum, "values of all stacks");
	ok(!strstr(all.data, "left out"), "nothing is left out");
	flame_destroy(f);
	f = flame_of(3000, 60000, &sum);
	flame_write(f, "a<b", &part);
	is_int(sum_of(part.data, "\"tree\":[", 3, 2, &npart), sum,
	       "frames that are left out leave their values to those below them");
	ok(npart < nall / 4 && strstr(part.data, "left out, to keep the file small"),
	   "there are fewer frames, and the page says so");
	flame_destroy(f);
	strbuf_deinit(&all);
	strbuf_deinit(&part);
}

static void test_names(void)
{
	struct flame_page *f = flame_create(&(struct flame_opts){0});
	char long_name[1000];
	const char *text;
	uint32_t a = flame_name(f, FRAME_KERNEL, "a", 1);
	size_t len;

	is_int(flame_name(f, FRAME_KERNEL, "a", 1), a, "a name is there once");
	ok(flame_name(f, FRAME_NATIVE, "a", 1) != a, "each kind has names of its own");
	is_int(flame_name_any(f, "b", 1), flame_name(f, FRAME_NATIVE, "b", 1),
	       "a new name of no kind is native");
	is_int(flame_name_any(f, "b", 1), flame_name_any(f, "b", 1), "and is found again");
	memset(long_name, 'x', sizeof(long_name));
	text = flame_name_text(f, flame_name(f, FRAME_KEY, long_name, sizeof(long_name)), &len);
	ok(len == 403 && memcmp(text + 400, "\xe2\x80\xa6", 3) == 0, "a long name is cut, visibly");
	flame_destroy(f);
}

/* ---- folded stacks ------------------------------------------------------------------------- */

static void row_take(void *ctx, const char *const *names, const size_t *lens, uint32_t n,
		     int64_t value)
{
	for (uint32_t i = 0; i < n; i++)
		strbuf_addf(ctx, "%s%.*s", i ? "|" : "", (int)lens[i], names[i]);
	strbuf_addf(ctx, "=%lld ", (long long)value);
}

static struct err *folded_of(const char *text, struct folded **ret)
{
	char path[] = "/tmp/unit_picture_XXXXXX";
	int fd = mkstemp(path);
	struct err *e;

	ok(write(fd, text, strlen(text)) == (ssize_t)strlen(text), "a file");
	(void)close(fd);
	e = folded_open(path, ret);
	(void)unlink(path);
	return e;
}

static void test_folded(void)
{
	static const char *const bad[] = {"a;b\n", "a;b x\n", " 5\n", "a 99999999999999999999\n",
					  "a 5\nnothing"};
	struct strbuf rows = {0}, name = {0};
	struct folded *f = NULL;

	ok(!folded_of("a;b c;d 12\n\nlast 9223372036854775807", &f), "a good file");
	folded_walk(f, row_take, &rows);
	is_str(rows.data, "a|b c|d=12 last=9223372036854775807 ", "its rows");
	folded_close(f);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err *e = folded_of(bad[i], &f);

		ok(e && strstr(err_text(e), "is no folded stack"), "line %zu is refused", i);
		err_destroy(e);
	}
	folded_name(&name, "a;b\nc", 5);
	is_str(name.data, "a:b c", "a name has no separators");
	strbuf_deinit(&rows);
	strbuf_deinit(&name);
}

/* ---- heat maps ----------------------------------------------------------------------------- */

#define RANGES 1000

static void test_heat(void)
{
	static struct heat_bounds bounds[RANGES];
	static int64_t counts[RANGES];
	struct heat_page *h = heat_create(false);
	struct strbuf page = {0};
	int64_t total = 0;
	uint32_t n;

	for (uint32_t i = 0; i < RANGES; i++)
		bounds[i] = (struct heat_bounds){true, true, i, i};
	heat_track(h, 1, "lquantize", "", bounds, RANGES);
	for (uint64_t t = 0; t < 701; t++) {
		for (uint32_t i = 0; i < RANGES; i++) {
			int64_t more = 1 + (int64_t)(t * i) % 3;

			counts[i] = t % 100 == 0 ? more : counts[i] + more;
			total += more;
		}
		if (t % 100 == 0)
			heat_restart(h, 1);
		heat_add(h, 1, "@x", counts, 1);
		heat_interval_end(h, 1, (1000 + t) * 1000000);
	}
	heat_write(h, "a<b", &page);
	is_int(sum_of(page.data, "\"cells\":[", 3, 2, &n), total,
	       "each value once, whatever was cleared and merged");
	ok(n <= HEAT_CELLS && n > HEAT_CELLS / 4, "cells are merged: %u", n);
	ok(strstr(page.data, "intervals of the program are one here"), "the page says so");
	heat_destroy(h);
	strbuf_deinit(&page);
}

static void test_heat_keys(void)
{
	const struct heat_bounds bounds[] = {{false, true, 0, 0}, {true, false, 1, 0}};
	struct heat_page *h = heat_create(true);
	struct strbuf page = {0};
	uint32_t n;

	heat_track(h, 3, "lquantize", "ns", bounds, 2);
	heat_add(h, 3, "@x[1]", (const int64_t[]){2, 5}, 1);
	heat_interval_end(h, 3, 1);
	heat_interval_end(h, 3, 2); /* the key was not there: it begins anew */
	heat_add(h, 3, "@x[1]", (const int64_t[]){3, 5}, 1);
	heat_interval_end(h, 3, 3);
	heat_add(h, 3, "@x[1]", (const int64_t[]){1, 6}, 1); /* less than before */
	heat_interval_end(h, 3, 4);
	heat_write(h, "a<b", &page);
	is_int(sum_of(page.data, "\"cells\":[", 3, 2, &n), 7 + 8 + 7, "keys that went and came");
	for (int i = 0; i < (int)HEAT_SERIES + 10; i++) {
		char title[20];

		(void)snprintf(title, sizeof(title), "@y[%d]", i);
		heat_add(h, 3, title, (const int64_t[]){1, 1}, 1);
	}
	page.len = 0;
	heat_write(h, "a<b", &page);
	ok(strstr(page.data, "there were 11 histograms of them"), "keys beyond the limit are told");
	heat_destroy(h);
	strbuf_deinit(&page);
}

int main(void)
{
	test_text();
	test_flame();
	test_names();
	test_folded();
	test_heat();
	test_heat_keys();
	return tap_done();
}
