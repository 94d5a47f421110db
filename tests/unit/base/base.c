/* SPDX-License-Identifier: MIT */
/* Unit tests of the base room: arena, vectors, strings, hash map, errors. */
#include <errno.h>

#include "base/exponential.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/hashmap.h"
#include "base/sorted.h"
#include "base/str.h"
#include "base/text.h"
#include "base/vec.h"
#include "tap.h"

static void test_arena(void)
{
	struct arena *a = arena_create();
	char *text = arena_printf(a, "%d-%s", 42, "x");
	bool aligned = true, zeroed = true;

	is_str(text, "42-x", "arena_printf");
	for (size_t size = 1; size < 100000; size = size * 3 + 1) {
		unsigned char *p = arena_alloc(a, size);

		aligned &= (uintptr_t)p % 16 == 0;
		for (size_t i = 0; i < size; i++)
			zeroed &= p[i] == 0;
		memset(p, 0xff, size);
	}
	ok(aligned, "allocations are aligned to 16");
	ok(zeroed, "allocations are zero");
	is_str(text, "42-x", "earlier allocations stay");
	arena_reset(a);
	ok(((unsigned char *)arena_alloc(a, 64))[63] == 0, "memory after a reset is zero again");
	is_str(arena_strndup(a, "abcdef", 3), "abc", "arena_strndup");
	arena_destroy(a);
	arena_destroy(NULL);
}

static void test_vec(void)
{
	VEC(int) v = {0};
	long sum = 0;

	for (int i = 0; i < 1000; i++)
		vec_push(&v, i);
	for (uint32_t i = 0; i < v.len; i++)
		sum += v.data[i];
	is_int(v.len, 1000, "vec length");
	is_int(sum, 499500, "vec content");
	is_int(*vec_last(&v), 999, "vec_last");
	vec_deinit(&v);
	ok(v.data == NULL && v.cap == 0, "vec_deinit leaves an empty vector");
}

static void test_strtab(void)
{
	struct strtab *t = strtab_create();
	char name[16];
	bool same = true, text = true;
	uint32_t off;

	is_int(strtab_adds(t, ""), 0, "the empty string is offset 0");
	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		off = strtab_adds(t, name);
		same &= strtab_adds(t, name) == off;
		text &= strcmp(strtab_get(t, off), name) == 0;
	}
	ok(same, "equal strings have equal offsets");
	ok(text, "offsets lead to the text");
	ok(!strtab_find(t, "absent", 6, &off), "an absent string is not found");
	ok(strtab_find(t, "s123", 4, &off) && strcmp(strtab_get(t, off), "s123") == 0,
	   "a present one is");
	is_int(strtab_add(t, "ab\0cd", 5), strtab_adds(t, "ab"), "an embedded NUL ends the string");
	strtab_destroy(t);
}

static void test_strbuf(void)
{
	struct strbuf b = {0};

	is_str(strbuf_text(&b), "", "an empty buffer is text");
	strbuf_addf(&b, "%s=%d", "x", 7);
	strbuf_addc(&b, ';');
	strbuf_add(&b, "yz!", 2);
	is_str(strbuf_text(&b), "x=7;yz", "strbuf text");
	strbuf_clear(&b);
	is_str(strbuf_text(&b), "", "strbuf_clear");
	for (int i = 0; i < 1000; i++)
		strbuf_addf(&b, "%d", i % 10);
	is_int(b.len, 1000, "strbuf grows");
	strbuf_deinit(&b);
}

static void test_hashmap(void)
{
	struct hashmap *m = hashmap_create();
	char keys[300][8];
	bool all = true, order = true;
	size_t pos = 0, len;
	const void *key;

	for (int i = 0; i < 300; i++) {
		snprintf(keys[i], sizeof(keys[i]), "k%d", i);
		hashmap_sets(m, keys[i], keys[i]);
	}
	for (int i = 0; i < 300; i++)
		all &= hashmap_finds(m, keys[i]) == keys[i];
	ok(all, "every key is found");
	for (int i = 0; i < 300; i++)
		order &= hashmap_next(m, &pos, &key, &len) == keys[i] && len == strlen(keys[i]);
	ok(order && !hashmap_next(m, &pos, NULL, NULL), "iteration is in order of insertion");
	for (int i = 0; i < 300; i += 2)
		hashmap_remove(m, keys[i], strlen(keys[i]));
	is_int(hashmap_count(m), 150, "count after removal");
	ok(!hashmap_finds(m, "k0") && hashmap_finds(m, "k1") == keys[1],
	   "only the removed are gone");
	hashmap_sets(m, "k1", keys[0]);
	ok(hashmap_finds(m, "k1") == keys[0], "set replaces");
	for (int i = 0; i < 300; i += 2)
		hashmap_sets(m, keys[i], keys[i]);
	is_int(hashmap_count(m), 300, "removed keys can come back");
	hashmap_destroy(m);
}

static void test_err(void)
{
	struct err *e = err_sys(ENOENT, "cannot open '%s'", "x");

	is_str(err_text(e), "cannot open 'x': No such file or directory", "err_sys");
	e = err_wrap(e, "loading %d", 3);
	is_str(err_text(e), "loading 3: cannot open 'x': No such file or directory", "err_wrap");
	e = err_hint(err_hint(e, "inner"), "outer");
	is_str(err_get_hint(e), "inner", "the innermost hint wins");
	is_int(err_get_sys(e), ENOENT, "errno is kept");
	e = err_code(e, 1001);
	is_int(err_get_code(e), 1001, "code");
	err_destroy(e);
	err_destroy(NULL);
}

static void test_sorted(void)
{
	static const struct {
		uint32_t size;
		uint64_t addr;
	} rows[] = {{1, 10}, {2, 20}, {3, 20}, {4, 30}};
	uint32_t ncalls = 0;

	is_int((int)sorted_below(rows, 0, addr, 5ull), 0, "of none, none is below");
	is_int((int)sorted_below(rows, 4, addr, 10ull), 0, "none is below the first");
	is_int((int)sorted_below(rows, 4, addr, 20ull), 1, "below two that are equal");
	is_int((int)sorted_upto(rows, 4, addr, 20ull), 3, "up to the last of them");
	is_int((int)sorted_upto(rows, 4, addr, 29), 3, "between two");
	is_int((int)sorted_upto(rows, 4, addr, UINT64_MAX), 4, "all");
	is_int((int)sorted_upto(rows, 4, size, 2u + ncalls++), 2, "by another member");
	is_int((int)ncalls, 1, "the key is evaluated once");
}

static void test_begins(void)
{
	static const char *const words[] = {"lib", "ld-", "lua5"};

	ok(text_begins("ld-linux.so", words, 3), "a text begins with one of the words");
	ok(text_begins("lib", words, 3), "or is one");
	ok(!text_begins("li", words, 3) && !text_begins("", words, 3), "but not with a part of it");
	ok(!text_begins("lua5", words, 2), "only so many words are compared");
}

static void test_clean(void)
{
	char good[] = "naïve <漢字>::\xf0\x9f\x98\x80", bad[] = "a\x1b[2J\x7f\xc2\x9b"
								"b\xff\xe6\xbc";

	is_str(text_clean(good), "naïve <漢字>::\xf0\x9f\x98\x80",
	       "text that is none of a terminal's business");
	is_str(text_clean(bad), "a?[2J???b???", "controls, broken characters");
}

static void test_text_escape(void)
{
	static const struct {
		const char *text, *want, *shell;
	} rows[] = {
		{"", "", "''"},
		{"plain \\ 'text' \"", "plain \\ 'text' \"", "'plain \\ '\\''text'\\'' \"'"},
		{"a\n\t\r\a\b\f\v\x1b\x7f", "a\\n\\t\\r\\a\\b\\f\\v\\033\\177", NULL},
		{"\u00e4\u6f22\U0001f600\u200d\u200c", "\u00e4\u6f22\U0001f600\u200d\u200c", NULL},
		/* C1, overrides and isolates, separators, what is not seen */
		{"\xc2\x9b\u202e\u2066\u2028\ufeff\U000e0041",
		 "\\302\\233\\342\\200\\256\\342\\201\\246\\342\\200\\250\\357\\273\\277"
		 "\\363\\240\\201\\201",
		 NULL},
		{"x\xff\xe6\xbcy\xc0\x80", "x\\377\\346\\274y\\300\\200", NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct strbuf b = {0};

		text_escape(&b, rows[i].text, strlen(rows[i].text));
		is_str(strbuf_text(&b), rows[i].want, rows[i].want);
		strbuf_clear(&b);
		shell_quote(&b, rows[i].text, strlen(rows[i].text));
		if (rows[i].shell)
			is_str(strbuf_text(&b), rows[i].shell, "a word of a shell");
		strbuf_deinit(&b);
	}
}

static void is_escaped(const char *text, size_t len, const struct escapes *how, const char *want)
{
	struct strbuf b = {0};

	escape_quote(&b, text, len, how);
	is_str(strbuf_text(&b), want, want);
	strbuf_deinit(&b);
}

static bool is_latin(uint32_t ch)
{
	return ch < 0x100;
}

static void test_escapes(void)
{
	static const struct escapes json = {.letters = "\nn\"\"\\\\",
					    .other = "\\u%04x",
					    .broken = "\\ufffd"},
				    safe = {.letters = "\"\"",
					    .other = "\\u%04x",
					    .broken = "\\ufffd",
					    .unit = "\\u%04x"},
				    also = {.letters = "\"\"",
					    .also = "<>",
					    .other = "\\u%04x",
					    .broken = "\\ufffd",
					    .unit = "\\u%04x",
					    .is_unsafe = is_latin};
	struct strbuf b = {0};
	uint32_t ch = 0;

	json_quote(&b, "\b\f\n\r\t\"\\\x7f<\xff\xe2\x80\xae\0", 14);
	is_str(strbuf_text(&b), "\"\\b\\f\\n\\r\\t\\\"\\\\\\u007f<\\ufffd\\u202e\\u0000\"",
	       "a string of JSON");
	strbuf_deinit(&b);

	is_escaped("\xc3\xa4\xc2\x9b\xe2\x80\xae\xf3\xa0\x81\x81", 11, &safe,
		   "\"\xc3\xa4\\u009b\\u202e\\udb40\\udc41\"");

	is_escaped("a<\"\xc3\xa9\xe2\x80\xae\xff", 9, &also,
		   "\"a\\u003c\\\"\\u00e9\xe2\x80\xae\\ufffd\"");
	is_escaped("a\"\\\n\001\0\377 ", 8, &escapes_c, "\"a\\\"\\\\\\n\\001\\0\\377 \"");
	is_escaped("\x01\xc3\xa4\xff\xed\xa0\x80", 7, &json,
		   "\"\\u0001\xc3\xa4\\ufffd\\ufffd\\ufffd\\ufffd\"");
	is_int(utf8_get("\xf0\x9f\x98\x80", 4, &ch), 4, "four bytes");
	is_int(ch, 0x1f600, "... are one character");
	is_int(utf8_get("\xf0\x9f\x98\x80", 3, &ch), 0, "three of them are none");
	is_int(utf8_get("\xc0\x80", 2, &ch), 0, "a character in more bytes than it needs");
	is_int(utf8_get("", 0, &ch), 0, "nothing");
}

static void test_clean_bytes(void)
{
	char text[] = "a\tb\0c\x1b\x9b\xc2\x9b!";

	text_clean_bytes(text, sizeof(text) - 1, "\t", '.');
	is_str(text, "a\tb.c....!", "bytes with a NUL among them, and a tab that is kept");
}

/* ---- exponential.h --------------------------------------------------------------------------- */

static void test_exponential(void)
{
	uint64_t sum = 0, nbeyond = 0, nnear = 0, ntiny = 0, n = 1 << 20;
	bool falls = true;

	/* all of [0, 1) evenly: the mean is 1, and 1 of e is beyond it */
	for (uint64_t i = 0; i < n; i++) {
		uint64_t x = exponential_draw((uint32_t)(i << 12 | 0x800), 1 << 20);

		falls &= !i || x <= exponential_draw((uint32_t)((i - 1) << 12 | 0x800), 1 << 20);
		nbeyond += x > 1 << 20;
		nnear += x <= (1 << 20) / 100;
		ntiny += x <= (1 << 20) / 1000;
		sum += x;
	}
	ok(sum / n > (1 << 20) - 1000 && sum / n < (1 << 20) + 1000, "mean %llu",
	   (unsigned long long)(sum / n));
	ok(nbeyond > 0.365 * (double)n && nbeyond < 0.371 * (double)n, "beyond the mean: %llu",
	   (unsigned long long)nbeyond);
	/* blocks much smaller than the mean are in the sample by their bytes: 1 - exp(-1/100) */
	ok(nnear > 0.009950 * 0.99 * (double)n && nnear < 0.009950 * 1.01 * (double)n,
	   "within a hundredth of the mean: %llu", (unsigned long long)nnear);
	ok(ntiny > 0.0009995 * 0.99 * (double)n && ntiny < 0.0009995 * 1.01 * (double)n,
	   "within a thousandth: %llu", (unsigned long long)ntiny);
	ok(falls, "the larger the number, the smaller the distance");
	is_int(exponential_draw(UINT32_MAX, 1 << 20), 1, "the smallest one");
	is_int(exponential_draw(0, 0), 1, "no mean");
	is_int(exponential_draw(0, UINT64_MAX), exponential_draw(0, EXPONENTIAL_MEAN_MAX),
	       "a mean that is too large");
}

int main(void)
{
	test_sorted();
	test_begins();
	test_clean();
	test_text_escape();
	test_arena();
	test_vec();
	test_strtab();
	test_strbuf();
	test_escapes();
	test_clean_bytes();
	test_hashmap();
	test_err();
	test_exponential();
	return tap_done();
}
