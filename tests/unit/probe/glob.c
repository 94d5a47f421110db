/* SPDX-License-Identifier: MIT */
/* Globbing: d-language.md 1.7. */
#include "probe/probe.h"
#include "tap.h"

static const struct {
	const char *pattern, *text;
	bool matches;
} cases[] = {
	{"", "", true},
	{"", "anything", true},
	{"read", "read", true},
	{"read", "readv", false},
	{"read", "rea", false},
	{"*", "", true},
	{"*", "x", true},
	{"?", "", false},
	{"?", "x", true},
	{"?", "xy", false},
	{"read*", "readlinkat", true},
	{"*read", "pread", true},
	{"*read", "preads", false},
	{"*ea*", "read", true},
	{"r*d*t", "readlinkat", true},
	{"*a*b*c", "aXbXbXc", true},
	{"*a*b*c", "aXcXb", false},
	{"**", "abc", true},
	{"a**c", "abc", true},
	{"[rw]*", "write", true},
	{"[rw]*", "open", false},
	{"[a-f]oo", "foo", true},
	{"[a-f]oo", "goo", false},
	{"[!a-f]oo", "goo", true},
	{"[!a-f]oo", "foo", false},
	{"[]x]", "]", true},
	{"[!]x]", "y", true},
	{"[!]x]", "]", false},
	{"[a-]", "-", true},
	{"[\\]]", "]", true},
	{"[ab", "a", false}, /* not closed */
	{"[", "[", false},
	{"\\*", "*", true},
	{"\\*", "x", false},
	{"a\\?b", "a?b", true},
	{"a\\?b", "axb", false},
	{"tick-[0-9]s", "tick-5s", true},
	{"*-*", "profile-97", true},
	{"abc", "", false},
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		ok(glob_match(cases[i].pattern, cases[i].text) == cases[i].matches, "'%s' %s '%s'",
		   cases[i].pattern, cases[i].matches ? "matches" : "does not match",
		   cases[i].text);
	ok(glob_is_literal("read"), "a word is a literal");
	ok(glob_is_literal("a-b_c.d"), "so is one with - _ .");
	ok(!glob_is_literal("r*"), "* is not");
	ok(!glob_is_literal("r?"), "? is not");
	ok(!glob_is_literal("r[ab]"), "[ is not");
	ok(!glob_is_literal("r\\*"), "a quoted character is not");
	return tap_done();
}
