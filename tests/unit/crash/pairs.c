/* SPDX-License-Identifier: MIT */
/* Pairs of keys and values: what is written is read again; what is damaged is left out. */
#include "crash/pairs.h"

#include "base/text.h"
#include "tap.h"
#include "crash/entries.h"

static void texts_parse(void)
{
	static const char text[] =
		"# a comment\n\na=1\nb=x=y\\x0a\\x\\x4\\xzz\\x00\n=no key\nnothing\na=2\nn=-7\nm=7x";
	struct pairs p;

	pairs_parse(text, sizeof(text) - 1, &p);
	is_int(p.list.len, 5, "five pairs");
	is_int(p.nbad, 2, "two lines are none");
	is_str(pairs_find(&p, "a"), "1", "the first one of a key");
	is_str(pairs_find(&p, "b"), "x=y\n\\x\\x4\\xzz\\x00",
	       "escapes, and what only looks like one");
	is_int(pairs_int(&p, "n", 3), -7, "a number");
	is_int(pairs_int(&p, "m", 3), 3, "no number");
	is_int(pairs_int(&p, "missing", 3), 3, "no pair");
	ok(!pairs_find(&p, "missing"), "a key that is missing");
	pairs_deinit(&p);
}

/* Values of all bytes but NUL, in all lengths, and of bytes that look like escapes. */
static void values_return(void)
{
	static const char chosen[] = "\\x0\xc3\xa4\n=#\x1b\x7f\xc2\x9b\xff";
	uint32_t seed = 1, nbad = 0, nunsafe = 0;

	for (int round = 0; round < 5000; round++) {
		char value[64];
		size_t len = (size_t)round % (sizeof(value) - 1);
		struct strbuf out = {0};
		struct pairs p;

		for (size_t i = 0; i < len; i++) {
			seed = seed * 1103515245 + 12345;
			value[i] = round % 2 ? chosen[(seed >> 16) % (sizeof(chosen) - 1)]
					     : (char)((seed >> 16) % 255 + 1);
		}
		value[len] = '\0';
		pair_write(&out, "key", value);
		for (size_t i = 0; i + 1 < out.len; i++)
			nunsafe += (unsigned char)out.data[i] < ' ' || out.data[i] == 0x7f;
		for (size_t i = 0, n; i < out.len; i += n) {
			n = utf8_get(out.data + i, out.len - i, NULL);
			nunsafe += !n;
			n += !n;
		}
		pairs_parse(strbuf_text(&out), out.len, &p);
		nbad += p.list.len != 1 || p.nbad || strcmp(pairs_find(&p, "key"), value) != 0;
		pairs_deinit(&p);
		strbuf_deinit(&out);
	}
	is_int(nbad, 0, "all values are read as they were written");
	is_int(nunsafe, 0, "lines have valid text without control characters");
}

static void limits_hold(void)
{
	struct strbuf text = {0};
	struct pairs p;

	for (int i = 0; i < PAIRS_MAX + 10; i++)
		strbuf_addf(&text, "k%d=v\n", i);
	pairs_parse(strbuf_text(&text), text.len, &p);
	is_int(p.list.len, PAIRS_MAX, "so many pairs");
	is_int(p.nbad, 10, "and no more");
	pairs_deinit(&p);
	strbuf_deinit(&text);
	pairs_parse("a\0b=1\nc=2\n", 10, &p);
	is_int(p.list.len, 1, "a line with a NUL is none");
	pairs_deinit(&p);
}

static void ids_check(void)
{
	static const char *const good[] = {"20261127T122621-30725-9f03a1",
					   "20261127T122621-1-000000"};
	static const char *const bad[] = {"",
					  ".",
					  "..",
					  "20261127T122621-30725-9f03a",
					  "20261127T122621-30725-9f03a1/",
					  "20261127T122621-30725-9F03A1",
					  "20261127T122621--9f03a1",
					  "20261127 122621-30725-9f03a1",
					  "20261127T122621-12345678901-9f03a1",
					  ".20261127T122621-30725-9f03a1"};

	for (uint32_t i = 0; i < ARRAY_LEN(good); i++)
		ok(crash_id_is_good(good[i]), "'%s' is an id", good[i]);
	for (uint32_t i = 0; i < ARRAY_LEN(bad); i++)
		ok(!crash_id_is_good(bad[i]), "'%s' is none", bad[i]);
}

int main(void)
{
	texts_parse();
	values_return();
	limits_hold();
	ids_check();
	return tap_done();
}
