/* SPDX-License-Identifier: MIT */
/* Diagnostics: places, excerpts, order, suggestions. */
#include "../tap.h"

#include "d/text/diag.h"

static struct arena *arena;
static struct source_map *map;
static struct diags *diags;

static void start(void)
{
	arena = arena_create();
	map = source_map_create(arena);
	diags = diags_create(arena, map);
}

static void finish(bool errtags, const char *want, const char *name)
{
	struct strbuf out = {0};

	diags_format(diags, errtags, &out);
	is_str(strbuf_text(&out), want, name);
	strbuf_deinit(&out);
	arena_destroy(arena);
}

static const struct source *add(enum source_kind kind, const char *name, const char *text, bool lib)
{
	return source_add(map, kind, name, text, strlen(text), lib);
}

static void test_file(void)
{
	const struct source *s;

	start();
	s = add(SOURCE_FILE, "x.d", "BEGIN\n{\n\ttrace(\tfoo);\n}\n", false);
	diag_error(diags, D_IDENT_UNDEF, (struct span){s->base + 16, 3},
		   "failed to resolve %s: Unknown variable name", "foo");
	diag_hint(diags, "did you mean '%s'?", "fob");
	finish(true,
	       "[D_IDENT_UNDEF] line 3: failed to resolve foo: Unknown variable name\n"
	       "  --> x.d:3:9 [D_IDENT_UNDEF]\n"
	       "    3 | \ttrace(\tfoo);\n"
	       "      | \t      \t^~~\n"
	       "  hint: did you mean 'fob'?",
	       "file: tag, line, column, tabs kept");
}

static void test_library(void)
{
	const struct source *s;

	start();
	s = add(SOURCE_FILE, "/usr/lib64/dtrace/io.d", "a\nbcd", true);
	diag_error(diags, D_SYNTAX, (struct span){s->base + 5, 0}, "end");
	diag_error(diags, D_SYNTAX, (struct span){s->base + 1, 40},
		   "span over the end of the line");
	finish(false,
	       "\"/usr/lib64/dtrace/io.d\", line 1: span over the end of the line\n"
	       "  --> /usr/lib64/dtrace/io.d:1:2 [D_SYNTAX]\n"
	       "    1 | a\n"
	       "      |  ^\n"
	       "\"/usr/lib64/dtrace/io.d\", line 2: end\n"
	       "  --> /usr/lib64/dtrace/io.d:2:4 [D_SYNTAX]\n"
	       "    2 | bcd\n"
	       "      |    ^",
	       "library: quoted name; errors in order of place");
}

static void test_string(void)
{
	const struct source *s;

	start();
	s = add(SOURCE_STRING, "", "BEGIN/x/{y}", false);
	diag_set_where(diags, DIAG_IN_PREDICATE);
	diag_error(diags, D_IDENT_UNDEF, (struct span){s->base + 6, 1}, "no x");
	diag_set_where(diags, DIAG_IN_ACTIONS);
	diag_error(diags, D_IDENT_UNDEF, (struct span){s->base + 9, 1}, "no y");
	diag_set_where(diags, DIAG_NOWHERE);
	diag_error(diags, D_MACRO_UNUSED, (struct span){SOURCE_NOWHERE, 0}, "no place");
	is_int(diags_first_tag(diags), D_MACRO_UNUSED, "first is what is shown first");
	finish(false,
	       "no place\n"
	       "  --> <command line> [D_MACRO_UNUSED]\n"
	       "in predicate: no x\n"
	       "  --> <command line>:1:7 [D_IDENT_UNDEF]\n"
	       "    1 | BEGIN/x/{y}\n"
	       "      |       ^\n"
	       "in action list: no y\n"
	       "  --> <command line>:1:10 [D_IDENT_UNDEF]\n"
	       "    1 | BEGIN/x/{y}\n"
	       "      |          ^",
	       "string: classic words");
}

static void test_marks(void)
{
	const struct source *a, *b;
	struct source_loc loc;

	start();
	a = add(SOURCE_FILE, "a.d", "1\n2\n3\n4\n", false);
	b = add(SOURCE_FILE, "b.d", "1\n2\n3\n", false);
	source_line_mark(map, b->base + 2, 50, NULL);
	source_line_mark(map, a->base + 2, 100, "inc.h");
	source_line_mark(map, a->base + 2, 100, "inc.h");
	source_line_mark(map, a->base + 4, 7, NULL);
	source_line_mark(map, a->base + 6, 9, "");
	loc = source_locate(map, a->base);
	ok(loc.line == 1 && !loc.is_marked && strcmp(loc.file, "a.d") == 0, "before a mark");
	loc = source_locate(map, a->base + 2);
	ok(loc.line == 100 && loc.is_marked && strcmp(loc.file, "inc.h") == 0, "at a mark");
	loc = source_locate(map, a->base + 5);
	ok(loc.line == 7 && strcmp(loc.file, "inc.h") == 0, "a mark without name keeps it");
	loc = source_locate(map, a->base + 7);
	ok(loc.line == 9 && !loc.is_marked && strcmp(loc.file, "a.d") == 0,
	   "an empty name ends it");
	loc = source_locate(map, a->base + 8);
	ok(loc.line == 10 && loc.src == a, "the end of a text is in it");
	loc = source_locate(map, b->base + 4);
	ok(loc.line == 51 && !loc.is_marked && strcmp(loc.file, "b.d") == 0 && loc.col == 1,
	   "another text is another matter");
	ok(!source_locate(map, SOURCE_NOWHERE).src, "nowhere");
	ok(!source_locate(map, b->base + 7).src, "behind everything");
	arena_destroy(arena);
}

static void test_limits(void)
{
	char line[600];
	const struct source *s;
	struct strbuf out = {0};

	start();
	memset(line, 'x', sizeof(line));
	memcpy(line + 300, "\x1b[31m\0\x7f", 7);
	s = source_add(map, SOURCE_FILE, "x.d", line, sizeof(line), false);
	for (uint32_t i = 0; i < DIAG_MAX + 5; i++) {
		diag_error(diags, D_SYNTAX, (struct span){s->base + 300 + i, 1}, "error");
		diag_error(diags, D_SYNTAX, (struct span){s->base + 300 + i, 1}, "error");
		diag_hint(diags, "of nothing");
	}
	is_int(diags_count(diags), DIAG_MAX, "no more than DIAG_MAX, none twice");
	diags_format(diags, false, &out);
	ok(!memchr(strbuf_text(&out), 0x1b, out.len) && !memchr(strbuf_text(&out), 0x7f, out.len) &&
		   strlen(strbuf_text(&out)) == out.len,
	   "nothing that steers a terminal");
	ok(strstr(strbuf_text(&out), "\nmore errors are not shown"), "the rest is mentioned");
	ok(!strstr(strbuf_text(&out), "hint"), "a hint does not go to an older error");
	ok(strlen(strrchr(strbuf_text(&out), '|')) < 200, "long lines are cut");
	strbuf_deinit(&out);
	diags_truncate(diags, 1);
	is_int(diags_count(diags), 1, "truncated");
	diags_truncate(diags, 0);
	finish(false, "", "nothing left");
}

static void test_tags(void)
{
	is_str(dtag_name(D_UNKNOWN), "D_UNKNOWN", "first tag");
	is_str(dtag_name(D_PCAP_SIZE), "D_PCAP_SIZE", "last tag");
	is_str(dtag_name(D_MACRO_UNUSED), "D_MACRO_UNUSED", "one between");
}

static void test_remedies(void)
{
	for (uint32_t tag = 0; tag < D_NTAGS; tag++) {
		const char *text = dtag_remedy((enum dtag)tag);

		ok(text && *text && text[strlen(text) - 1] != '.', "%s has a remedy",
		   dtag_name((enum dtag)tag));
	}
}

static void test_nearest(void)
{
	static const char *const names[] = {"execname", "timestamp", "pid",
					    "ppid",	"tid",	     "walltimestamp"};
	static const struct {
		const char *name, *want;
	} rows[] = {
		{"exename", "execname"},
		{"execanme", "execname"},
		{"timestmap", "timestamp"},
		{"timestampp", "timestamp"},
		{"pidd", "pid"},
		{"xx", NULL},
		{"zzz", NULL},
		{"completely", NULL},
		{"time", NULL},
		{"", NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *got = diag_nearest(rows[i].name, names, ARRAY_LEN(names));

		is_str(got ? got : "(none)", rows[i].want ? rows[i].want : "(none)", rows[i].name);
	}
}

int main(void)
{
	test_file();
	test_library();
	test_string();
	test_marks();
	test_limits();
	test_tags();
	test_remedies();
	test_nearest();
	return tap_done();
}
