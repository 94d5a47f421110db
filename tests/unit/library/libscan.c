/* SPDX-License-Identifier: MIT */
/*
 * The scan of library files: names of every kind of declaration, dependencies, what it cannot read.
 */
#include "library/libscan.h"

#include "base/str.h"
#include "tap.h"

static void add_name(void *ctx, const char *name, size_t len)
{
	struct strbuf *b = ctx;

	if (b->len)
		strbuf_addc(b, ' ');
	strbuf_add(b, name, len);
}

static void names(const char *text, const char *want)
{
	struct strbuf got = {0};
	bool good = libscan_names(text, strlen(text), add_name, &got);

	is_str(good ? strbuf_text(&got) : "(unknown)", want, "names of a text");
	strbuf_deinit(&got);
}

static void deps(const char *text, const char *want)
{
	struct strbuf got = {0};

	libscan_deps(text, strlen(text), "library", add_name, &got);
	is_str(strbuf_text(&got), want, "what a text depends on");
	strbuf_deinit(&got);
}

int main(void)
{
	names("inline int A = 1; inline string b[int c, char *d] = e(f);", "A b");
	names("inline unsigned long long *p=x?y:z;", "p");
	names("inline string s = \"; inline int no = 1;\"; inline char q = ';';", "s q");
	names("/* inline int a = 1; */ #pragma D option x\ninline int b = 2;", "b");
	names("typedef struct foo { int x; struct bar { int y; } z; } foo_t, *foo_p;",
	      "foo bar foo_t foo_p");
	names("typedef struct foo foo_t; struct s; struct s *v;", "foo_t v");
	names("struct a /* c */ { int x; };", "a");
	names("enum color { RED, GREEN = 1 + 2, BLUE }; enum { X };", "color RED GREEN BLUE X");
	names("union u { struct { int a; } b; int c[4]; };", "u");
	names("int x, y[int, string]; self int t; extern int z;", "x y t z");
	names("typedef int (*fn_t)(int, char *); typedef int arr_t[4];", "fn_t fn_t arr_t");
	names("translator out_t < struct in *I > { a = I->b; c = I->d ? 1 : 2; }; inline int k = 1;",
	      "out_t k");
	names("translator struct out < struct in *I > { a = 1; };", "out");
	names("provider p { probe a(int) : (x_t); probe b(); }; inline int k = 1;",
	      "provider p probe a probe b k");
	names("", "");
	names("inline int a", "(unknown)");
	names("struct a { int b;", "(unknown)");
	names("; ;", "(unknown)");
	deps("#pragma D depends_on library a.d\nx\n  #pragma\tD  depends_on library b.d\r\n",
	     "a.d b.d");
	deps("#pragma D depends_on module m\n#pragma D option library c.d\n", "");
	deps("#pragma D depends_on library", "");
	return tap_done();
}
