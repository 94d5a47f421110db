/* SPDX-License-Identifier: MIT */
/* Conversions of printf and default formats (d-language.md 6.2, 6.3, B.1, B.8, B.9). */
#include <arpa/inet.h>
#include <netdb.h>
#include <time.h>

#include "render/fix.h"
#include "tap.h"

static struct fix f;

/* ---- integers -------------------------------------------------------------------------------- */

static const struct {
	const char *fmt;
	uint32_t size;
	bool is_signed;
	int64_t value;
	const char *want;
} ints[] = {
	/* B.9 */
	{"%d", 4, true, -1, "-1"},
	{"%u", 4, true, -1, "4294967295"},
	{"%d", 8, true, 4294967295, "4294967295"},
	{"%x", 1, true, -1, "ff"},
	{"%5d", 4, true, 42, "   42"},
	{"%-5d|", 4, true, 42, "42   |"},
	{"%05d", 4, true, 42, "00042"},
	{"%p", 4, true, 255, "ff"},
	{"%?p", 4, true, 255, "              ff"},
	{"%c", 4, true, 65, "A"},
	/* sizes and signs */
	{"%d", 1, true, -128, "-128"},
	{"%d", 1, false, 0xff, "255"},
	{"%i", 1, false, 0xff, "255"},
	{"%i", 2, true, -2, "-2"},
	{"%d", 2, false, 0xfffe, "65534"},
	{"%d", 4, false, 0xfffffffe, "4294967294"},
	{"%d", 8, false, -1, "18446744073709551615"},
	{"%d", 8, true, INT64_MIN, "-9223372036854775808"},
	{"%u", 8, true, -1, "18446744073709551615"},
	{"%u", 2, true, -1, "65535"},
	{"%u", 1, true, -1, "255"},
	{"%x", 8, true, -1, "ffffffffffffffff"},
	{"%X", 4, true, -1, "FFFFFFFF"},
	{"%o", 2, true, -1, "177777"},
	{"%o", 8, false, 0, "0"},
	{"%hd", 2, true, -5, "-5"},
	{"%hu", 2, false, 5, "5"},
	{"%hx", 2, false, 0xabcd, "abcd"},
	{"%hX", 2, false, 0xabcd, "ABCD"},
	{"%ho", 2, false, 8, "10"},
	{"%hi", 2, true, -5, "-5"},
	{"%ld", 8, true, -5, "-5"},
	{"%li", 8, true, -5, "-5"},
	{"%lu", 8, false, 5, "5"},
	{"%lo", 8, false, 8, "10"},
	{"%lx", 8, false, 0xabcdef0123, "abcdef0123"},
	{"%lld", 8, true, -5, "-5"},
	{"%llu", 8, false, 1ll << 40, "1099511627776"},
	{"%llx", 8, false, 1ll << 40, "10000000000"},
	{"%llX", 8, false, 0xfeed, "FEED"},
	/* flags */
	{"%+d", 4, true, 7, "+7"},
	{"%+d", 4, true, -7, "-7"},
	{"%+d", 4, true, 0, "+0"},
	{"% d", 4, true, 7, " 7"},
	{"% d", 4, true, -7, "-7"},
	{"% +d", 4, true, 7, "+7"},
	{"%+d", 4, false, 7, "7"},
	{"%#x", 4, false, 255, "0xff"},
	{"%#X", 4, false, 255, "0XFF"},
	{"%#x", 4, false, 0, "0"},
	{"%#o", 4, false, 8, "010"},
	{"%#o", 4, false, 0, "0"},
	{"%#p", 8, false, 0x1000, "0x1000"},
	{"%#08x", 4, false, 255, "0x0000ff"},
	{"%#8x", 4, false, 255, "    0xff"},
	{"%#-8x|", 4, false, 255, "0xff    |"},
	{"%-05d|", 4, true, 42, "42   |"},
	{"%05d", 4, true, -42, "-0042"},
	{"%+05d", 4, true, 42, "+0042"},
	{"%016x", 8, false, 0xdeadbeef, "00000000deadbeef"},
	{"%'d", 4, true, 1234567, "1,234,567"},
	{"%'d", 4, true, -123456, "-123,456"},
	{"%'d", 4, true, 999, "999"},
	{"%'u", 8, false, -1, "18,446,744,073,709,551,615"},
	{"%'12d", 4, true, 1234567, "   1,234,567"},
	/* precision */
	{"%.5d", 4, true, 42, "00042"},
	{"%.5d", 4, true, -42, "-00042"},
	{"%8.5d", 4, true, 42, "   00042"},
	{"%-8.5d|", 4, true, 42, "00042   |"},
	{"%08.5d", 4, true, 42, "   00042"},
	{"%.0d", 4, true, 0, "0"}, /* a precision of 0 is dropped */
	{"%.8x", 4, false, 0xabc, "00000abc"},
	{"%#.8x", 4, false, 0xabc, "0x00000abc"},
	{"%#.4o", 4, false, 8, "0010"},
	{"%.1d", 4, true, 12345, "12345"},
	/* characters */
	{"%3c|", 1, true, 'x', "  x|"},
	{"%-3c|", 1, true, 'x', "x  |"},
	{"%C", 1, true, 'x', "x"},
	{"%C", 1, true, '\n', "\\n"},
	{"%C", 1, true, 0, "\\0"},
	{"%C", 1, true, 1, "\\001"},
	{"%C", 1, true, -1, "\\377"},
	{"%C", 1, true, '"', "\""},
	{"%4C|", 1, true, '\t', "  \\t|"},
	{"%lc", 4, true, 0xe9, "\xc3\xa9"},
	{"%wc", 4, true, 0x20ac, "\xe2\x82\xac"},
	{"%lc", 4, true, 'A', "A"},
	{"%wc", 4, true, 0x1f600, "\xf0\x9f\x98\x80"},
	/* times, in UTC */
	{"%Y", 8, false, 0, "1970 Jan  1 00:00:00"},
	{"%Y", 8, true, 123787200ll * 1000000000, "1973 Dec  3 17:20:00"},
	{"%T", 8, false, 0, "Thu, 01 Jan 1970 00:00:00 UTC"},
	/* its ISO week belongs to 2026 */
	{"%T", 8, false, 1798761600ll * 1000000000, "Fri, 01 Jan 2027 00:00:00 UTC"},
	{"%24Y", 8, false, 0, "    1970 Jan  1 00:00:00"},
	/* addresses without symbols, ports */
	{"%a", 8, false, 0xffffffff81000010, "0xffffffff81000010"},
	{"%A", 8, false, 0x401000, "0x401000"},
	{"%20a|", 8, false, 0x401000, "            0x401000|"},
	{"%-20a|", 8, false, 0x401000, "0x401000            |"},
	{"%P", 2, false, 64999, "64999"},
	{"%6P", 2, false, 64999, " 64999"},
	/* literals */
	{"a%%b %d%%", 4, true, 1, "a%b 1%"},
	{"%d\n", 4, true, 1, "1\n"},
	{"%d and no more", 4, true, 1, "1 and no more"},
};

static void test_ints(void)
{
	for (size_t i = 0; i < ARRAY_LEN(ints); i++) {
		fix_act(&f, ACT_PRINTF, ints[i].fmt);
		fix_int(&f, ints[i].size, ints[i].is_signed, ints[i].value);
		is_str(fix_fire(&f), ints[i].want, ints[i].fmt);
	}
}

/* Which services have names is a file's matter. */
static void test_port(void)
{
	struct servent *sv = getservbyport(htons(22), NULL);

	fix_act(&f, ACT_PRINTF, "%P");
	fix_int(&f, 2, false, 22);
	is_str(fix_fire(&f), sv ? sv->s_name : "22", "%P of a known port");
}

/* Every combination of flags, width, precision and value against the C library. */
static void test_against_libc(void)
{
	static const int64_t values[] = {0, 1, -1, 7, 8, 42, -12345, INT64_MAX, INT64_MIN};
	static const char *const sizes[] = {"", "5", "24"}, *const precs[] = {"", ".1", ".12"};
	uint32_t bad = 0, n = 0;

	for (uint32_t mask = 0; mask < 32; mask++)
		for (size_t w = 0; w < ARRAY_LEN(sizes); w++)
			for (size_t p = 0; p < ARRAY_LEN(precs); p++)
				for (const char *c = "duxXo"; *c; c++)
					for (size_t v = 0; v < ARRAY_LEN(values); v++) {
						char fmt[32], libc_fmt[32], want[128],
							flags[8] = "";

						for (int b = 0; b < 5; b++)
							if (mask >> b & 1)
								snprintf(flags + strlen(flags), 2,
									 "%c", "-+ #0"[b]);
						if (*c == 'd' || *c == 'u') /* undefined in C */
							if (strchr(flags, '#'))
								continue;
						snprintf(fmt, sizeof(fmt), "%%%s%s%s%c|", flags,
							 sizes[w], precs[p], *c);
						snprintf(libc_fmt, sizeof(libc_fmt),
							 "%%%s%s%sll%c|", flags, sizes[w], precs[p],
							 *c);
						snprintf(want, sizeof(want), libc_fmt,
							 (long long)values[v]);
						fix_act(&f, ACT_PRINTF, fmt);
						fix_int(&f, 8, *c == 'd', values[v]);
						n++;
						if (strcmp(fix_fire(&f), want) != 0 && bad++ < 5)
							printf("# %s of %lld: '%s', libc '%s'\n",
							       fmt, (long long)values[v], f.text,
							       want);
						arena_reset(f.arena);
					}
	is_int(bad, 0, "integers as the C library prints them");
	ok(n > 5000, "%u combinations", n);
}

/* ---- strings --------------------------------------------------------------------------------- */

static const struct {
	const char *fmt, *value, *want;
} strings[] = {
	{"%s", "hello", "hello"},
	{"%.3s", "abcdef", "abc"},
	{"%8s|", "abc", "     abc|"},
	{"%-8s|", "abc", "abc     |"},
	{"%8.2s|", "abc", "      ab|"},
	{"%2s|", "abc", "abc|"},
	{"%.0s|", "abc", "abc|"},
	{"%s", "", ""},
	{"%s", NULL, ""},
	{"%S", "a\n", "a\\n"},
	{"%S", "q\"b\\", "q\\\"b\\\\"},
	{"%S", "\a\b\f\r\t\v", "\\a\\b\\f\\r\\t\\v"},
	{"%S", "\001\377z", "\\001\\377z"},
	{"%10S|", "a\n", "       a\\n|"},
	{"%I", "not an address", "not an address"},
	{"%I", "192.0.2.77", "192.0.2.77"}, /* TEST-NET-1 has no names */
};

static void test_strings(void)
{
	static const enum rec_kind kinds[] = {REC_STR, REC_STRID, REC_COMM};

	for (size_t i = 0; i < ARRAY_LEN(strings); i++)
		for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
			if (kinds[k] != REC_STR && !strings[i].value)
				continue;
			fix_act(&f, ACT_PRINTF, strings[i].fmt);
			fix_str(&f, kinds[k], strings[i].value);
			is_str(fix_fire(&f), strings[i].want, strings[i].fmt);
		}
	fix_act(&f, ACT_PRINTF, "[%s]");
	fix_str(&f, REC_COMM, "sixteen-bytes-xx");
	is_str(fix_fire(&f), "[sixteen-bytes-xx]", "command name of 16 bytes");
	fix_act(&f, ACT_PRINTF, "[%s]");
	fix_bytes(&f, DATUM_BYTES, "no NUL", 6);
	is_str(fix_fire(&f), "[no NUL]", "char array without NUL");
	fix_act(&f, ACT_PRINTF, "[%s]");
	fix_bytes(&f, DATUM_STRING, "ab\0cd", 5);
	is_str(fix_fire(&f), "[ab]", "char array ends at its NUL");
}

static void test_wide(void)
{
	static const uint32_t text[] = {'h', 0xe9, 0x20ac, 0, 'x'};

	fix_act(&f, ACT_PRINTF, "%ls|%8ws|%.3ls");
	for (int i = 0; i < 3; i++)
		fix_bytes(&f, DATUM_BYTES, text, sizeof(text));
	is_str(fix_fire(&f),
	       "h\xc3\xa9\xe2\x82\xac|     h\xc3\xa9\xe2\x82\xac|h\xc3\xa9\xe2\x82\xac",
	       "wide strings");
}

/* Fields are columns of a terminal, whatever the locale is. */
static void test_columns(void)
{
	static const struct {
		const char *fmt, *text, *want;
	} cases[] = {
		{"[%6s]", "h\u00e9", "[    h\u00e9]"},
		{"[%-6s]", "\u6f22\u5b57", "[\u6f22\u5b57  ]"},
		{"[%-4s]", "e\u0301", "[e\u0301   ]"}, /* a mark on the letter before */
		{"[%-4s]", "\U0001f600", "[\U0001f600  ]"},
		{"[%.3s]", "\u6f22\u5b57", "[\u6f22]"}, /* no half character */
		{"[%.1s]", "e\u0301x", "[e\u0301]"},
		{"[%4.2s]", "\u00e9\u00e9\u00e9", "[  \u00e9\u00e9]"},
		{"[%5s]", "\xc3(", "[   \xc3(]"}, /* no UTF-8: a column a byte */
		{"[%5s]", "\xff\xfe", "[   \xff\xfe]"},
		{"[%5s]", "\xe6\xbc", "[   \xe6\xbc]"},
		{"[%5s]", "\xc0\x80", "[   \xc0\x80]"},
		{"[%3s]", "\u6f22\u5b57", "[\u6f22\u5b57]"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		fix_act(&f, ACT_PRINTF, cases[i].fmt);
		fix_bytes(&f, DATUM_STRING, cases[i].text, strlen(cases[i].text));
		is_str(fix_fire(&f), cases[i].want, cases[i].fmt);
	}
}

static void test_args(void)
{
	fix_act(&f, ACT_PRINTF, "%*d|%-*d|%.*s|%*.*s|%*d");
	fix_int(&f, 4, true, 5);
	fix_int(&f, 4, true, 42);
	fix_int(&f, 4, true, 5);
	fix_int(&f, 4, true, 42);
	fix_int(&f, 4, true, 2);
	fix_str(&f, REC_STR, "abc");
	fix_int(&f, 4, true, 4);
	fix_int(&f, 4, true, 1);
	fix_str(&f, REC_STR, "abc");
	fix_int(&f, 4, true, -4);
	fix_int(&f, 4, true, 1);
	is_str(fix_fire(&f), "   42|42   |ab|   a|1   ", "width and precision from arguments");
	fix_act(&f, ACT_PRINTF, "%.*s|%*d");
	fix_int(&f, 8, true, -1);
	fix_str(&f, REC_STR, "abc");
	fix_int(&f, 8, true, INT64_MIN);
	fix_int(&f, 4, true, 1);
	is_int(strlen(fix_fire(&f)), 4 + (1 << 20), "absurd widths are cut");
}

static void test_floats(void)
{
	float flt = 1.5f;
	double dbl = -3.25;
	long double ld = 1e100L;

	fix_act(&f, ACT_PRINTF, "%f %e %E %g %G|%.1f|%10.2f|%-10.2f|%+.1f|%08.2f|%Lg|%f");
	fix_field(&f, REC_INT, DATUM_INT, 8, &dbl);
	fix_field(&f, REC_INT, DATUM_INT, 8, &dbl);
	fix_field(&f, REC_INT, DATUM_INT, 8, &dbl);
	fix_field(&f, REC_INT, DATUM_INT, 8, &dbl);
	fix_field(&f, REC_BYTES, DATUM_BYTES, 8, &dbl);
	for (int i = 0; i < 5; i++)
		fix_field(&f, REC_INT, DATUM_INT, 8, &dbl);
	fix_bytes(&f, DATUM_BYTES, &ld, sizeof(ld));
	fix_field(&f, REC_INT, DATUM_INT, 4, &flt);
	is_str(fix_fire(&f),
	       "-3.250000 -3.250000e+00 -3.250000E+00 -3.25 -3.25|-3.2|     -3.25|-3.25     |-3.2|"
	       "-0003.25|1e+100|1.500000",
	       "floating point");
}

/* Fields of text that is escaped: what is cut is cut between two escapes. */
static void test_foreign(void)
{
	static const struct {
		const char *fmt, *text, *raw, *safe;
	} cases[] = {
		{"[%s]", "a\nb", "[a\nb]", "[a\\nb]"},
		{"[%6s]", "a\nb", "[   a\nb]", "[  a\\nb]"},
		{"[%-6s]", "a\x1b", "[a\x1b    ]", "[a\\033 ]"},
		{"[%.4s]", "a\x1b[x", "[a\x1b[x]", "[a]"},
		{"[%.5s]", "a\x1b[x", "[a\x1b[x]", "[a\\033]"},
		{"[%-5.2s]", "\n\n", "[\n\n   ]", "[\\n   ]"},
		{"[%.3s]", "\u6f22\n", "[\u6f22\n]", "[\u6f22]"},
		{"[%4.1s]", "\n", "[   \n]", "[    ]"},
		{"[%S]", "\n", "[\\n]", "[\\n]"},
		{"[%q]", "it's\n", "['it'\\''s\n']", "['it'\\''s\\n']"},
		{"[%8.2q]", "a'b", "[ 'a'\\''']", "[ 'a'\\''']"},
		{"[%-4q]", "", "[''  ]", "[''  ]"},
	};

	for (int escapes = 0; escapes < 2; escapes++) {
		f.opts.escape = escapes ? PRINT_ESCAPE_ALWAYS : PRINT_ESCAPE_AUTO;
		for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
			fix_act(&f, ACT_PRINTF, cases[i].fmt);
			fix_str(&f, REC_STR, cases[i].text);
			is_str(fix_fire(&f), escapes ? cases[i].safe : cases[i].raw, cases[i].fmt);
		}
		fix_act(&f, ACT_PRINTF, "%c%c");
		fix_int(&f, 1, true, '\n');
		fix_field(&f, REC_INT, DATUM_INT, 1, "\a")->is_own = true;
		is_str(fix_fire(&f), escapes ? "\\n\a" : "\n\a", "a foreign character, an own one");
		fix_act(&f, ACT_PRINTF, "\t%s");
		fix_field(&f, REC_COMM, DATUM_STRING, 16, "own\n\0\0\0\0\0\0\0\0\0\0\0")->is_own =
			true;
		is_str(fix_fire(&f), "\town\n", "an own text");
		fix_act(&f, ACT_TRACE, NULL);
		fix_str(&f, REC_COMM, "a\r");
		is_str(fix_fire(&f), escapes ? "a\\r" : "a\r", "trace()");
	}
	f.opts.escape = PRINT_ESCAPE_AUTO;
}

/* The table of d-language.md 6.3, row by row. */
static void test_table(void)
{
	static const struct {
		const char *convs, *sizes[4];
	} rows[] = {
		{"diouxX", {"h", "l", "ll"}},
		{"c", {"l", "w"}},
		{"eEfgG", {"L"}},
		{"s", {"l", "w"}},
		{"pCSqaAkTYIP", {NULL}},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (const char *c = rows[i].convs; *c; c++) {
			ok(fmt_has_conv(*c, ""), "%%%c", *c);
			for (int k = 0; k < 4 && rows[i].sizes[k]; k++)
				ok(fmt_has_conv(*c, rows[i].sizes[k]), "%%%s%c", rows[i].sizes[k],
				   *c);
		}
	ok(!fmt_has_conv('n', ""), "no %%n");
	ok(!fmt_has_conv('d', "L"), "no %%Ld");
	ok(!fmt_has_conv('p', "l"), "no %%lp");
}

/* ---- trace() --------------------------------------------------------------------------------- */

static const struct {
	uint32_t size;
	bool is_signed;
	int64_t value;
	const char *want, *quiet;
} traces[] = {
	{8, true, -1, "               -1", "-1"},
	{8, false, -1, " 18446744073709551615", "18446744073709551615"},
	{4, true, 10, "       10", "10"},
	{4, false, 0xffffffff, " 4294967295", "4294967295"},
	{2, true, -3, "    -3", "-3"},
	{2, false, 65535, " 65535", "65535"},
	{1, true, -3, "  -3", "-3"},
	{1, false, 200, " 200", "200"},
};

static const char *traced(bool is_quiet)
{
	const char *text;

	f.opts = (struct print_opts){.quiet = is_quiet};
	text = fix_fire(&f);
	if (!is_quiet) {
		f.text[strlen(f.text) - 1] = '\0'; /* the record's newline */
		text = strchr(text, '\n') + 1 +
		       strlen("CPU     ID                    FUNCTION:NAME ");
	}
	f.opts = (struct print_opts){.quiet = true};
	return text;
}

static void test_trace(void)
{
	for (size_t i = 0; i < ARRAY_LEN(traces); i++)
		for (int q = 0; q < 2; q++) {
			fix_act(&f, ACT_TRACE, NULL);
			fix_int(&f, traces[i].size, traces[i].is_signed, traces[i].value);
			is_str(traced(q), q ? traces[i].quiet : traces[i].want,
			       "trace of an integer");
		}
	fix_act(&f, ACT_TRACE, NULL);
	fix_str(&f, REC_STR, "abc");
	is_str(traced(false), "  abc                              ", "trace of a string");
	fix_act(&f, ACT_TRACE, NULL);
	fix_str(&f, REC_STR, "abc");
	is_str(traced(true), "abc", "quiet");
	fix_act(&f, ACT_TRACE, NULL);
	fix_str(&f, REC_STR, "0123456789012345678901234567890123456789");
	is_str(traced(false), "  0123456789012345678901234567890123456789",
	       "longer than its field");
	fix_act(&f, ACT_TRACE, NULL);
	fix_str(&f, REC_STR, NULL);
	is_str(traced(false), "                                   ", "NULL string");
}

#define INDEX "\n             0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f  0123456789abcdef\n"

static const char b8[] =
	INDEX "         0: 4c 69 6e 75 78 20 76 65 72 73 69 6f 6e 20        Linux version \n";
static const char two_lines[] =
	INDEX "         0: 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f  ................\n"
	      "        10: 7e 7f ff                                         ~..\n";

static void test_bytes(void)
{
	static const char text[8] = "abc", mixed[8] = "ab\0c", lead[4] = "\0abc",
			  spaces[] = " \t\n\a\b";
	uint8_t count[19];

	for (uint8_t i = 0; i < 16; i++)
		count[i] = i;
	memcpy(count + 16, "\x7e\x7f\xff", 3);
	fix_act(&f, ACT_TRACE, NULL);
	fix_bytes(&f, DATUM_BYTES, text, sizeof(text));
	is_str(traced(false), "  abc                              ", "text and NULs: a string");
	fix_act(&f, ACT_TRACE, NULL);
	fix_bytes(&f, DATUM_BYTES, text, sizeof(text));
	is_str(traced(true), "abc", "quiet");
	fix_act(&f, ACT_TRACE, NULL);
	fix_bytes(&f, DATUM_BYTES, text, 3);
	is_str(traced(true), "abc", "text without NUL");
	fix_act(&f, ACT_TRACE, NULL);
	fix_bytes(&f, DATUM_BYTES, spaces, 5);
	is_str(traced(true), spaces, "white space, bell and backspace are text");
	fix_act(&f, ACT_TRACE, NULL);
	fix_bytes(&f, DATUM_BYTES, count, sizeof(count));
	is_str(traced(false), two_lines, "raw dump of two lines");
	fix_act(&f, ACT_TRACE, NULL);
	fix_bytes(&f, DATUM_BYTES, mixed, sizeof(mixed));
	is_str(traced(true),
	       INDEX "         0: 61 62 00 63 00 00 00 00                          ab.c....\n",
	       "text after a NUL is none");
	fix_act(&f, ACT_TRACE, NULL);
	fix_bytes(&f, DATUM_BYTES, lead, sizeof(lead));
	is_str(traced(true),
	       INDEX "         0: 00 61 62 63                                      .abc\n",
	       "a NUL first is none");
	fix_act(&f, ACT_TRACE, NULL);
	fix_bytes(&f, DATUM_BYTES, "", 0);
	is_str(traced(true), "", "nothing");
}

/* A dump of as much as there is and was recorded. */
static void test_pcap(void)
{
	static const uint32_t linear[] = {14, 100, 0, UINT32_MAX};
	static const char *const names[] = {"a packet", "cut", "without bytes", "broken"};

	for (uint32_t i = 0; i < ARRAY_LEN(linear); i++) {
		fix_act(&f, ACT_PCAP, NULL);
		fix_int(&f, 4, false, linear[i]);
		fix_int(&f, 4, false, 60);
		fix_int(&f, 4, true, 1);
		fix_bytes(&f, DATUM_BYTES, "Linux version ", 14);
		is_str(fix_fire(&f), linear[i] ? b8 : "", names[i]);
	}
}

static void test_tracemem(void)
{
	fix_act(&f, ACT_TRACEMEM, NULL);
	fix_bytes(&f, DATUM_BYTES, "Linux version ", 14);
	is_str(fix_fire(&f), b8, "tracemem dumps text too (B.8)");
	fix_act(&f, ACT_TRACEMEM, NULL);
	fix_bytes(&f, DATUM_BYTES, "Linux version 6.1", 17);
	fix_int(&f, 4, true, 14);
	is_str(fix_fire(&f), b8, "third argument smaller");
	fix_act(&f, ACT_TRACEMEM, NULL);
	fix_bytes(&f, DATUM_BYTES, "Linux version ", 14);
	fix_int(&f, 4, true, -1);
	is_str(fix_fire(&f), b8, "negative");
	fix_act(&f, ACT_TRACEMEM, NULL);
	fix_bytes(&f, DATUM_BYTES, "Linux version ", 14);
	fix_int(&f, 8, true, 15);
	is_str(fix_fire(&f), b8, "larger");
	fix_act(&f, ACT_TRACEMEM, NULL);
	fix_bytes(&f, DATUM_BYTES, "Linux version ", 14);
	fix_int(&f, 4, true, 0);
	is_str(fix_fire(&f), "", "zero");
	f.opts.rawbytes = true;
	fix_act(&f, ACT_TRACE, NULL);
	fix_bytes(&f, DATUM_BYTES, "Linux version ", 14);
	is_str(fix_fire(&f), b8, "option rawbytes");
	f.opts.rawbytes = false;
}

static void test_stacks(void)
{
	static const uint64_t pcs[] = {0xffffffff81000010, 0x1234, 0, 0x99};
	static const uint64_t user[] = {4711, 0x401000, 0x402000};
	static const uint64_t marked[] = {4711,		  0x401000,	   RT_USTACK_SPENT,
					  0x402000,	  RT_USTACK_FAULT, 0x403000,
					  RT_USTACK_FULL, RT_USTACK_LATE,  RT_USTACK_EARLY};
	static const uint64_t cut[] = {4711, 0x401000, RT_USTACK_CUT};
	static const uint64_t small[] = {4711, RT_USTACK_MARKS, 3}, kernel[] = {RT_USTACK_CUT};
	uint64_t addr[2] = {4711, 0x401000};

	f.opts.stackindent = 14;
	fix_act(&f, ACT_STACK, NULL);
	fix_bytes(&f, DATUM_STACK, pcs, sizeof(pcs));
	is_str(fix_fire(&f), "\n              0xffffffff81000010\n              0x1234\n",
	       "stack()");
	fix_act(&f, ACT_USTACK, NULL);
	fix_bytes(&f, DATUM_USTACK, user, sizeof(user));
	is_str(fix_fire(&f), "\n              0x401000\n              0x402000\n", "ustack()");
	fix_act(&f, ACT_PRINTF, "%k%k%k%k");
	fix_bytes(&f, DATUM_USTACK, marked, sizeof(marked));
	fix_bytes(&f, DATUM_USTACK, cut, sizeof(cut));
	fix_bytes(&f, DATUM_USTACK, small, sizeof(small));
	fix_bytes(&f, DATUM_STACK, kernel, sizeof(kernel));
	is_str(fix_fire(&f),
	       "\n0x401000\n[language frames cut]\n0x402000\n[helper error]\n0x403000\n[names cut]\n"
	       "[no unwind table yet]\n[no language frames yet]\n\n"
	       "0x401000\n[cut]\n\n0x9\n0x3\n\n0x1\n",
	       "marks, and small addresses that are none");
	fix_act(&f, ACT_PRINTF, "%k|%-3k");
	fix_bytes(&f, DATUM_STACK, pcs, sizeof(pcs));
	fix_bytes(&f, DATUM_USTACK, user, sizeof(user));
	is_str(fix_fire(&f), "\n0xffffffff81000010\n0x1234\n|\n   0x401000\n   0x402000\n", "%k");
	fix_act(&f, ACT_SYM, NULL);
	fix_bytes(&f, DATUM_UADDR, addr, sizeof(addr));
	is_str(fix_fire(&f), "  0x401000                                          ", "uaddr()");
	fix_act(&f, ACT_SYM, NULL);
	fix_field(&f, REC_INT, DATUM_SYM, 8, &addr[1]);
	is_str(fix_fire(&f), "  0x401000                                          ", "sym()");
	fix_act(&f, ACT_PRINTF, "%A %s");
	fix_bytes(&f, DATUM_USYM, addr, sizeof(addr));
	fix_field(&f, REC_INT, DATUM_SYM, 8, &addr[1]);
	is_str(fix_fire(&f), "0x401000 0x401000", "%A");
	fix_act(&f, ACT_PRINTF, "%p %p");
	fix_bytes(&f, DATUM_USYM, addr, sizeof(addr));
	fix_field(&f, REC_INT, DATUM_SYM, 8, &addr[1]);
	is_str(fix_fire(&f), "401000 401000", "%p of usym() and sym()");
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	tzset();
	fix_init(&f);
	test_ints();
	test_port();
	test_against_libc();
	test_strings();
	test_wide();
	test_columns();
	test_args();
	test_floats();
	test_foreign();
	test_table();
	test_trace();
	test_bytes();
	test_tracemem();
	test_pcap();
	test_stacks();
	fix_deinit(&f);
	return tap_done();
}
