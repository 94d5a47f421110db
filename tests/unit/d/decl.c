/* SPDX-License-Identifier: MIT */
/* Declarations: each refusal of d-language.md 2.7 and 2.9 by its tag, and what good ones declare.
 */
#include "alone.h"
#include "d/types/types.h"
#include "tap.h"

static const struct compile_opts opts = {.strsize = 256, .empty = true};

static struct err *compile(struct dsession *s, const char *text)
{
	struct prog *prog;

	return alone_compile(s, &opts, text, &prog);
}

/* clang-format off */
static const struct { const char *d, *tag; } refused[] = {
	{ "short char c;", "D_DECL_CHARATTR" },
	{ "long char c;", "D_DECL_CHARATTR" },
	{ "unsigned void *v;", "D_DECL_VOIDATTR" },
	{ "long void *v;", "D_DECL_VOIDATTR" },
	{ "unsigned float f;", "D_DECL_SIGNINT" },
	{ "struct s { int x; }; unsigned struct s y;", "D_DECL_SIGNINT" },
	{ "signed unsigned int x;", "D_DECL_SIGNINT" },
	{ "long float f;", "D_DECL_LONGINT" },
	{ "long string s;", "D_DECL_LONGINT" },
	{ "short double d;", "D_DECL_LONGINT" },
	{ "short long int x;", "D_DECL_LONGINT" },
	{ "int char x;", "D_DECL_COMBO" },
	{ "struct s { int x; } int y;", "D_DECL_COMBO" },
	{ "static int x;", "D_DECL_BADCLASS" },
	{ "auto int x;", "D_DECL_BADCLASS" },
	{ "register int x;", "D_DECL_BADCLASS" },
	{ "extern self int x;", "D_DECL_CLASS" },
	{ "int;", "D_DECL_USELESS" },
	{ "self;", "D_DECL_USELESS" },
	{ "static x;", "D_DECL_BADCLASS" },
	{ "this x[int];", "D_DECL_LOCASSC" },
	{ "foo_t x;", "D_DECL_IDENT" },
	{ "self foo_t x;", "D_DECL_IDENT" },
	{ "struct s { foo_t x; };", "D_DECL_IDENT" },
	{ "inline foo_t x = 1;", "D_DECL_IDENT" },
	{ "int a[0];", "D_DECL_ARRSUB" },
	{ "int a[-1];", "D_DECL_ARRSUB" },
	{ "int a[];", "D_DECL_ARRNULL" },
	{ "int a[0x40000000];", "D_DECL_ARRBIG" },
	{ "int a[5000];", "D_DECL_ARRBIG" },
	{ "void a[3];", "D_DECL_VOIDOBJ" },
	{ "void v;", "D_DECL_VOIDOBJ" },
	{ "this void v;", "D_DECL_VOIDOBJ" },
	{ "void v[int];", "D_DECL_VOIDOBJ" },
	{ "this int a[int];", "D_DECL_LOCASSC" },
	{ "int (*a[int])[string][3];", "D_DECL_DYNOBJ" },
	{ "struct s x;", "D_DECL_INCOMPLETE" },
	{ "struct s { struct s x; };", "D_DECL_INCOMPLETE" },
	{ "struct s x[3];", "D_DECL_INCOMPLETE" },
	{ "struct s { int x; }; struct s { int y; };", "D_DECL_TYPERED" },
	{ "enum e { A }; enum e { B };", "D_DECL_TYPERED" },
	{ "typedef int t; typedef int t;", "D_DECL_IDRED" },
	{ "enum e { A, A };", "D_DECL_IDRED" },
	{ "struct s { int x; int x; };", "D_DECL_IDRED" },
	{ "struct s { int; };", "D_DECL_MNAME" },
	{ "struct s { void v; };", "D_DECL_VOIDOBJ" },
	{ "struct s { int f(int); };", "D_DECL_VOIDOBJ" },
	{ "union u { int (f[2])(int); };", "D_DECL_VOIDOBJ" },
	{ "struct s { int x : 0; };", "D_DECL_BFCONST" },
	{ "struct s { int x : -1; };", "D_DECL_BFCONST" },
	{ "int n; struct s { int x : n; };", "D_DECL_BFCONST" },
	{ "struct s { int *x : 3; };", "D_DECL_BFTYPE" },
	{ "struct s { int x : 33; };", "D_DECL_BFSIZE" },
	{ "enum e { A = 0x80000000 };", "D_DECL_ENOFLOW" },
	{ "enum e { A = 0x7fffffff, B };", "D_DECL_ENOFLOW" },
	{ "int n; enum e { A = n };", "D_DECL_ENCONST" },
	{ "int f(void, int);", "D_DECL_PROTO_VOID" },
	{ "int f(void x);", "D_DECL_PROTO_NAME" },
	{ "int f(static int x);", "D_DECL_PARMCLASS" },
	{ "struct a`b { int x; };", "D_DECL_SCOPE" },
	{ "typedef int a`b;", "D_DECL_SCOPE" },
};

static const struct { const char *d, *expr; long long want; } accepted[] = {
	{ "", "sizeof (unsigned)", 4 },
	{ "", "sizeof (long long)", 8 },
	{ "", "sizeof (short int)", 2 },
	{ "", "sizeof (signed char)", 1 },
	{ "", "sizeof (int long unsigned)", 8 },
	{ "", "sizeof (long double)", 16 },
	{ "", "sizeof (NULL)", 8 },
	{ "struct s { unsigned a:3, b:7; char c; int d:20, e:20; };", "sizeof (struct s) * 100 + offsetof(struct s, c)", 1202 },
	{ "", "sizeof (char *[3])", 24 },
	{ "", "sizeof (int [2][3])", 24 },
	{ "", "sizeof (int (*)[3])", 8 },
	{ "struct s { char c; int i : 3; struct s *next; struct { short a, b; }; };", "sizeof (struct s)", 24 },
	{ "struct s { char c; int i : 3; struct s *next; struct { short a, b; }; };", "offsetof(struct s, b)", 18 },
	{ "union u { char c[7]; int i; };", "sizeof (union u)", 8 },
	{ "struct f; struct g { struct f *p; }; struct f { int x[4]; };", "sizeof (struct f)", 16 },
	{ "enum e { A, B = 7, C, D = A - 1 };", "B * 100 + C * 10 + D", 779 },
	{ "enum e { A = 3 }; int x[A];", "sizeof (x)", 12 },
	{ "typedef struct { int x, y; } point_t; typedef point_t *pp;", "sizeof (point_t) + sizeof (pp)", 16 },
	{ "struct s { unsigned a : 4; unsigned : 0; unsigned b : 4; };", "sizeof (struct s)", 8 },
	{ "int f(const char *, int a[], ...);", "1", 1 },
	{ "string s[int, string]; self int q[int]; this int t;", "1", 1 },
	{ "self x, *p, a[int]; this x; extern x; const c;", "sizeof (c)", 4 },
	{ "typedef t; t x;", "sizeof (x)", 4 },
	{ "struct s { const x; long y; };", "sizeof (struct s)", 16 },
	{ "struct { int x; }; union { int x; }; enum { A };", "1", 1 },
	{ "extern int t[]; extern char *u[][2];", "1", 1 },
	{ "int strlen(const char *); extern int pid; extern string execname;", "1", 1 },
	{ "extern int pid; extern long pid;", "1", 1 },
};
/* clang-format on */

static int count_messages(const char *text)
{
	int n = 0;

	for (const char *p = text; (p = strstr(p, "[D_")); p++)
		n++;
	return n;
}

static void test_refused(void)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct dsession *s = dsession_create(&opts);
		struct err *e = compile(s, refused[i].d);
		char want[64];

		snprintf(want, sizeof(want), "[%s]", refused[i].tag);
		if (!ok(e && strstr(err_text(e), want), "%s: %s", refused[i].tag, refused[i].d))
			printf("# got: %s\n", e ? err_text(e) : "no error");
		if (e && !ok(count_messages(err_text(e)) == 1, "  one mistake, one message"))
			printf("# got: %s\n", err_text(e));
		err_destroy(e);
		dsession_destroy(s);
	}
}

/* The expression is an array dimension, so that its value shows as a size. */
static void test_accepted(void)
{
	for (size_t i = 0; i < ARRAY_LEN(accepted); i++) {
		struct dsession *s = dsession_create(&opts);
		struct strbuf text = {0};
		struct err *e;
		type_id id;

		strbuf_addf(&text, "%s struct result { char c[%s]; };", accepted[i].d,
			    accepted[i].expr);
		e = compile(s, strbuf_text(&text));
		id = types_find_tag(dsession_types(s), TK_STRUCT, "result");
		if (!ok(!e && id && type_size(dsession_types(s), id) == accepted[i].want, "%s %s",
			accepted[i].d, accepted[i].expr))
			printf("# got: %s\n", e ? err_text(e) : "another value");
		err_destroy(e);
		strbuf_deinit(&text);
		dsession_destroy(s);
	}
}

/* What a program that failed has declared is gone, so that it can be given again, corrected. */
static void test_rollback(void)
{
	struct dsession *s = dsession_create(&opts);
	struct err *e =
		compile(s, "struct s { int x; }; typedef int t; enum e { A }; int v; int v[3];");

	ok(e, "a program with an error at its end");
	err_destroy(e);
	e = compile(s, "struct s { int x; }; typedef int t; enum e { A }; int v;");
	if (!ok(!e, "the same without the error"))
		printf("# got: %s\n", err_text(e));
	err_destroy(e);
	dsession_destroy(s);
}

int main(void)
{
	test_refused();
	test_accepted();
	test_rollback();
	return tap_done();
}
