/* SPDX-License-Identifier: MIT */
/* Parser: what golden trees do not show: flags, spans, entry points, limits, speed. */
#include "../tap.h"
#include "parse_env.h"

#include <time.h>

static struct test_env env;

static void start(enum source_kind kind, const char *text)
{
	test_env_init(&env, kind, kind == SOURCE_FILE ? "t.d" : "", text, strlen(text));
}

static const char *show_expr(const struct expr *e)
{
	static struct strbuf out;

	strbuf_clear(&out);
	if (e)
		expr_print(e, &out);
	return e ? strbuf_text(&out) : "(null)";
}

static void test_entry_points(void)
{
	struct type_name *t;

	start(SOURCE_STRING, "a + b * 2, c");
	is_str(show_expr(parse_expr(&env.in)), "(, (+ a (* b 2)) c)", "parse_expr");
	test_env_deinit(&env);
	start(SOURCE_STRING, "a b");
	ok(!parse_expr(&env.in) && diags_count(env.diags) == 1, "parse_expr: nothing may follow");
	test_env_deinit(&env);
	start(SOURCE_STRING, "");
	ok(!parse_expr(&env.in) && diags_count(env.diags) == 1,
	   "parse_expr: something must be there");
	test_env_deinit(&env);

	start(SOURCE_STRING, "const struct foo *[3]");
	t = parse_type(&env.in);
	ok(t && t->nderivs == 2 && t->derivs[0].kind == DERIV_PTR &&
		   t->derivs[1].kind == DERIV_ARRAY,
	   "parse_type");
	test_env_deinit(&env);
	start(SOURCE_STRING, "size_t x");
	ok(!parse_type(&env.in) && diags_count(env.diags) == 1, "parse_type: no name");
	test_env_deinit(&env);
	start(SOURCE_STRING, "nosuch_t");
	ok(!parse_type(&env.in) && diags_first_tag(env.diags) == D_SYNTAX,
	   "parse_type: not a type");
	test_env_deinit(&env);
}

static void test_flags(void)
{
	struct ast *ast;
	struct expr *e;

	start(SOURCE_FILE, "BEGIN { ('a' + $pid) * x; }");
	ast = parse_program(&env.in);
	e = ast->decls[0]->clause.body[0]->e;
	ok(e->binary.l->parens && !e->binary.r->parens && !e->parens, "parentheses are remembered");
	ok(e->binary.l->binary.l->ival.is_char && !e->binary.l->binary.l->ival.is_macro,
	   "a character");
	ok(e->binary.l->binary.r->ival.is_macro && !e->binary.l->binary.r->ival.is_char, "a macro");
	is_int(e->height, 3, "height");
	is_int(e->type, TYPE_NONE, "no type yet");
	test_env_deinit(&env);
}

/* "OFFSET+LENGTH" of each span, from the beginning of the text. */
static void test_spans(void)
{
	struct ast *ast;
	const struct decl *d;
	uint32_t base;

	start(SOURCE_FILE, "BEGIN /(x)/ { (a).b = f(1) ; if (c) d; }\nself int z[int];\n");
	base = env.in.src->base;
	ast = parse_program(&env.in);
	d = ast->decls[0];
	is_int(d->clause.pred->span.off - base, 7, "predicate: with its parentheses");
	is_int(d->clause.pred->span.len, 3, "predicate: length");
	is_int(d->clause.body[0]->e->span.off - base, 14, "assignment: begins with its left side");
	is_int(d->clause.body[0]->e->span.len, 12, "assignment: length");
	is_int(d->clause.body[1]->span.off - base, 29, "if");
	is_int(d->clause.body[1]->span.len, 9, "if: length");
	is_int(d->span.off - base, 0, "clause");
	is_int(d->span.len, 40, "clause: length");
	d = ast->decls[1];
	is_int(d->span.off - base, 41, "declaration");
	is_int(d->span.len, 16, "declaration: length");
	is_int(d->vars.names[0]->name_span.off - base, 50, "declared name");
	is_int(d->vars.specs->sc_span.off - base, 41, "storage class");
	test_env_deinit(&env);
}

static void test_pspec_split(void)
{
	static const struct {
		const char *text;
		enum spec_context ctx;
		const char *prov, *mod, *func, *name; /* prov NULL: refused */
	} rows[] = {
		{"a", SPEC_CTX_NAME, "", "", "", "a"},
		{"a:b", SPEC_CTX_NAME, "", "", "a", "b"},
		{"a:b:c:d", SPEC_CTX_NAME, "a", "b", "c", "d"},
		{":::", SPEC_CTX_NAME, "", "", "", ""},
		{"", SPEC_CTX_NAME, "", "", "", ""},
		{"a:b:c:d:e", SPEC_CTX_NAME, NULL, NULL, NULL, NULL},
		{"a", SPEC_CTX_PROVIDER, "a", "", "", ""},
		{"a:b", SPEC_CTX_PROVIDER, NULL, NULL, NULL, NULL},
		{"a:b", SPEC_CTX_MODULE, "a", "b", "", ""},
		{"b:c", SPEC_CTX_FUNCTION, "", "b", "c", ""},
		{"a:b:c:d", SPEC_CTX_FUNCTION, NULL, NULL, NULL, NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct arena *a = arena_create();
		struct pspec s = {0};
		bool done = pspec_split(a, rows[i].text, rows[i].ctx, &s);

		ok(done == !!rows[i].prov &&
			   (!done ||
			    (!strcmp(s.prov, rows[i].prov) && !strcmp(s.mod, rows[i].mod) &&
			     !strcmp(s.func, rows[i].func) && !strcmp(s.name, rows[i].name))),
		   "description '%s'", rows[i].text);
		arena_destroy(a);
	}
}

static void repeat(struct strbuf *b, const char *s, uint32_t n)
{
	while (n--)
		strbuf_adds(b, s);
}

/* Text nested n deep: parsed when it is shallow, refused with one message when it is not. */
static void check_depth(const char *head, const char *open, const char *mid, const char *close,
			const char *tail, uint32_t n, uint32_t want_errors)
{
	struct strbuf b = {0}, out = {0};
	struct ast *ast;

	strbuf_adds(&b, head);
	repeat(&b, open, n);
	strbuf_adds(&b, mid);
	repeat(&b, close, n);
	strbuf_adds(&b, tail);
	test_env_init(&env, SOURCE_FILE, "t.d", strbuf_text(&b), b.len);
	ast = parse_program(&env.in);
	is_int(diags_count(env.diags), want_errors, open);
	if (want_errors && diags_count(env.diags))
		is_int(diags_first_tag(env.diags), D_SYNTAX, "  its tag");
	ast_print(ast, &out); /* must not overflow the stack either */
	ast_print_d(ast, &out);
	strbuf_deinit(&out);
	strbuf_deinit(&b);
	test_env_deinit(&env);
}

static void test_depth(void)
{
	static const struct {
		const char *head, *open, *mid, *close, *tail;
		uint32_t fine;
	} rows[] = {
		/* clang-format off */
		{"BEGIN { x = ", "(", "1", ")", "; }\n", 900},
		{"BEGIN { x = ", "!", "1", "", "; }\n", 1900},
		{"BEGIN { x = ", "1 + ", "1", "", "; }\n", 1900},
		{"BEGIN { x = ", "(int)", "1", "", "; }\n", 1900},
		{"BEGIN { x = ", "sizeof ", "1", "", "; }\n", 1900},
		{"BEGIN { x = ", "1 ? 2 : ", "1", "", "; }\n", 1900},
		{"BEGIN { x = ", "1 ? ", "1", " : 2", "; }\n", 900},
		{"BEGIN { ", "a = ", "1", "", "; }\n", 1900},
		{"BEGIN { ", "f(", "1", ")", "; }\n", 900},
		{"BEGIN { ", "a[", "1", "]", "; }\n", 900},
		{"BEGIN { x", ".b", "", "", "; }\n", 1900},
		{"BEGIN { x", "++", "", "", "; }\n", 1900},
		{"BEGIN { x", ", y", "", "", "; }\n", 1900},
		{"BEGIN { ", "if (1) ", "x", "", "; }\n", 1900},
		{"BEGIN { ", "if (1) { } else ", "x", "", "; }\n", 1900},
		{"BEGIN { ", "if (1) { ", "x", " }", " }\n", 1900},
		{"int ", "*", "p", "", ";\n", 60},
		{"int ", "(", "p", ")", ";\n", 1900},
		{"int p", "[1]", "", "", ";\n", 60},
		{"int p", "(int ", "", ")", ";\n", 60},
		{"", "struct { ", "int x;", " } y;", "\n", 1900},
		{"int x[", "sizeof (struct { int y[", "1", "];})", "];\n", 200},
		/* clang-format on */
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		check_depth(rows[i].head, rows[i].open, rows[i].mid, rows[i].close, rows[i].tail,
			    rows[i].fine, 0);
		check_depth(rows[i].head, rows[i].open, rows[i].mid, rows[i].close, rows[i].tail,
			    100000, 1);
	}
}

/* 1,000 lines in a few milliseconds; the bound leaves room for sanitizers and a busy machine. */
static void test_speed(void)
{
	struct timespec from, to;
	struct strbuf b = {0};
	double ms;

	for (int i = 0; i < 200; i++)
		strbuf_addf(&b,
			    "syscall::read:entry, syscall::write:entry /* %d */\n"
			    "/pid == %d && execname != \"sh\" && self->in%d / 2 > 1/\n"
			    "{ this->t = timestamp - self->ts[%d, execname];\n"
			    "  @a%d[execname, probefunc, arg0 & 0xff] = quantize(this->t / 1000);\n"
			    "  printf(\"%%d %%s\\n\", ((struct file *)arg1)->f_path.dentry, "
			    "stringof(x)); }\n",
			    i, i, i, i, i);
	test_env_init(&env, SOURCE_FILE, "t.d", strbuf_text(&b), b.len);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	is_int(parse_program(&env.in)->ndecls, 200, "1,000 lines");
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	ms = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
	ok(ms < 100 * (double)tap_patience(), "parsed in %.2f ms on CPU", ms);
	is_int(diags_count(env.diags), 0, "without errors");
	strbuf_deinit(&b);
	test_env_deinit(&env);
}

static void test_unused_argument(void)
{
	static char *argv[] = {"t.d", "one", "two"};

	start(SOURCE_FILE, "BEGIN { $1; }");
	env.in.argc = 3;
	env.in.argv = argv;
	(void)parse_program(&env.in); /* only its errors matter */
	ok(diags_count(env.diags) == 1 && diags_first_tag(env.diags) == D_MACRO_UNUSED,
	   "unused argument");
	test_env_deinit(&env);
	start(SOURCE_FILE, "#pragma D option argref\nBEGIN { $1; }");
	env.in.argc = 3;
	env.in.argv = argv;
	(void)parse_program(&env.in); /* only its errors matter */
	is_int(diags_count(env.diags), 0, "option argref is heeded when set in the text");
	test_env_deinit(&env);
	start(SOURCE_FILE, "tick-$2 { }");
	env.in.argc = 3;
	env.in.argv = argv;
	(void)parse_program(&env.in); /* only its errors matter */
	is_int(diags_count(env.diags), 0, "a description counts as use");
	test_env_deinit(&env);
}

static void test_no_env(void)
{
	start(SOURCE_FILE, "#pragma D option quiet\nBEGIN { x = $1; (y) - 1; }\nint *p;\n");
	env.in.env = NULL;
	env.in.defaultargs = true;
	is_int(parse_program(&env.in)->ndecls, 2, "works without surroundings");
	is_int(diags_count(env.diags), 0, "and without errors");
	test_env_deinit(&env);
}

int main(void)
{
	test_entry_points();
	test_flags();
	test_spans();
	test_pspec_split();
	test_depth();
	test_speed();
	test_unused_argument();
	test_no_env();
	return tap_done();
}
