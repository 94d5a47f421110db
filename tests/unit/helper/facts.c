/* SPDX-License-Identifier: MIT */
/* What the file of a helper says of itself, in the syntax of D: "#pragma D helper". */
#include <unistd.h>

#include "helper/helper.h"
#include "tap.h"

static struct helper *file_open(const char *text)
{
	char path[] = "/tmp/unit-helper-XXXXXX";
	int fd = mkstemp(path);
	struct helper *h = NULL;
	struct err *e;

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return NULL;
	close(fd);
	e = helper_open(path, &h);
	ok(!e, "opened");
	err_destroy(e);
	(void)unlink(path);
	return h;
}

static void test_facts(void)
{
	struct helper *h = file_open("/* a runtime */\n"
				     "#pragma  D\thelper exec /* files */ \"toy*|libtoy*\"\n"
				     "#pragma D helper exec \"second\"\n"
				     "#pragma D helper symbol \"toy_run\"\n"
				     "#pragma D helper registers \"in_r12\"\n"
				     "#pragma D helper fixed \"tables\"\n"
				     "#pragma D helper generated\n"
				     "dtrace:helper:ustack: { \"#pragma D helper exec\" }\n");

	is_str(h->patterns, "toy*|libtoy*", "files: the first that it says, however it is spaced");
	is_str(h->symbols, "toy_run", "symbols");
	ok(h->saves && strcmp(h->saves_if, "in_r12") == 0, "registers, if a variable is not 0");
	ok(h->fixed_if && strcmp(h->fixed_if, "tables") == 0, "what it reads is fixed, likewise");
	ok(h->is_generated, "its language runs in generated code");
	ok(helper_matches(h, "libtoy.so") && !helper_matches(h, "second"), "matches");
	helper_close(h);
}

static void test_defaults(void)
{
	struct helper *h = file_open("int x;\n");

	ok(!h->patterns && !h->symbols && !h->saves && helper_matches(h, "any"), "all processes");
	ok(!h->fixed_if && !h->is_generated, "nothing is fixed, nor generated only");
	helper_close(h);
	h = file_open("#pragma D helper symbol \"toy_run\"\n#pragma D helper registers");
	ok(!helper_matches(h, "any"), "symbols alone: no file by its name");
	ok(h->saves && !h->saves_if, "registers in all, in a line without an end");
	helper_close(h);
}

/* A compile reports these. */
static void test_bad(void)
{
	struct helper *h = file_open("#pragma D helper exec toy\n#pragma D helper exec \"open\n"
				     "#pragma D helper nothing \"x\"\n#pragma D helper\n#\n"
				     "#pragma D helper fixed\n"
				     "#pragma D helper generated \"x\"\n");

	ok(!h->patterns && !h->symbols && !h->saves && !h->fixed_if && !h->is_generated,
	   "what is malformed says nothing");
	helper_close(h);
}

int main(void)
{
	test_facts();
	test_defaults();
	test_bad();
	return tap_done();
}
