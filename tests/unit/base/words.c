/* SPDX-License-Identifier: MIT */
/* Words of a command line: quotes and backslashes as sh has them, and what cannot be split. */
#include "base/str.h"
#include "base/words.h"
#include "tap.h"

/* Words in angle brackets, or the text of the error. */
static char *split(const char *text)
{
	struct strbuf s = {0};
	struct words w;
	struct err *e = words_split(text, &w);

	if (e) {
		strbuf_adds(&s, err_text(e));
		err_destroy(e);
		return s.data;
	}
	strbuf_adds(&s, "");
	for (uint32_t i = 0; i < w.list.len - 1; i++)
		strbuf_addf(&s, "<%s>", w.list.data[i]);
	ok(!w.list.data[w.list.len - 1], "a NULL ends the words of: %s", text);
	words_deinit(&w);
	return s.data;
}

/* clang-format off */
static const struct {
	const char *text, *want;
} rows[] = {
	{"", ""}, {" \t\n ", ""}, {"\\\n", ""}, {" \\\n ls \\\n -l", "<ls><-l>"},
	{"ls -l  /tmp\t/var\n/usr ", "<ls><-l></tmp></var></usr>"},
	{"sh -c 'echo hi there'", "<sh><-c><echo hi there>"},
	{"sh -c \"echo hi there\"", "<sh><-c><echo hi there>"},
	{"a\\ b a\\\\b \\'a\\' \\\"b\\\"", "<a b><a\\b><'a'><\"b\">"},
	{"'a\\ b' 'a\"b' \"a'b\"", "<a\\ b><a\"b><a'b>"},
	{"\"\\$HOME \\` \\\" \\\\ \\n\"", "<$HOME ` \" \\ \\n>"},
	{"'' \"\" x''y", "<><><xy>"}, {"a'b c'\"d e\"f", "<ab cd ef>"},
	{"$HOME *.c ~ `id` #x; y|z >f", "<$HOME><*.c><~><`id`><#x;><y|z><>f>"},
	{"a\\\nb \"a\\\nb\" 'a\\\nb'", "<ab><ab><a\\\nb>"}, {"'a\nb'", "<a\nb>"},
	{"'it'\\''s'", "<it's>"},
	{"echo it's", "the ' in column 8 is not closed"},
	{"echo \"a b", "the \" in column 6 is not closed"},
	{"echo \"a\\\"", "the \" in column 6 is not closed"},
	{"echo '", "the ' in column 6 is not closed"},
	{"echo a\\", "a backslash ends the command"},
};
/* clang-format on */

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *got = split(rows[i].text);

		is_str(got ? got : "", rows[i].want, rows[i].text);
		free(got);
	}
	return tap_done();
}
