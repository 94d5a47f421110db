/* SPDX-License-Identifier: MIT */
/* Preprocessor: definitions, line marks, large texts, failures. */
#include "../tap.h"

#include <signal.h>

#include "d/text/cpp.h"
#include "dtrace.h"

static struct err *run(const struct cpp_opts *opts, const char *text, struct strbuf *out)
{
	strbuf_clear(out);
	return cpp_run(opts, text, strlen(text), out);
}

static bool succeeds(const struct cpp_opts *opts, const char *text, struct strbuf *out)
{
	struct err *e = run(opts, text, out);

	if (e)
		printf("# %s\n", err_text(e));
	err_destroy(e);
	return !e;
}

static void test_defines(struct strbuf *out)
{
	static const char *const args[] = {"-DX=1", "-UX", "-DY=two"};
	struct cpp_opts opts = {.args = args, .nargs = 3, .d_version = 1 << 24 | 13 << 12};

	ok(succeeds(&opts,
		    "#!/usr/sbin/dtrace -Cs\n"
		    "lx=__linux,__Linux ux=__unix svr4=__SVR4 d=__SUNW_D v=__SUNW_D_VERSION y=Y\n"
		    "#ifdef X\n#error X\n#endif\n#ifdef __GNUC__\n#error GNUC\n#endif\n"
		    "#ifndef __SUNW_D_64\n#error model\n#endif\n"
		    "#pragma D option quiet\nlast line __LINE__\n",
		    out),
	   "runs");
	ok(strstr(strbuf_text(out), "lx=1,1 ux=1 svr4=1 d=1 v=0x0100d000 y=two"), "definitions");
	ok(!strstr(strbuf_text(out), "#!"), "no '#!' line");
	ok(strstr(strbuf_text(out), "#pragma D option quiet"), "pragmas pass through");
	ok(strstr(strbuf_text(out), "last line 13"), "lines keep their numbers");
	ok(strstr(strbuf_text(out), "\"/dev/stdin\""), "marks name the script /dev/stdin");
}

static void test_large(struct strbuf *out)
{
	struct cpp_opts opts = {0};
	struct strbuf text = {0};

	strbuf_adds(&text, "#define X(n) int x##n[n + n + n + n + n];\n");
	for (int i = 0; i < 40000; i++)
		strbuf_addf(&text, "X(%d) /* some filling text here */\n", i);
	ok(succeeds(&opts, strbuf_text(&text), out), "more than fits into pipes");
	ok(out->len > 1000000 && strstr(strbuf_text(out), "int x39999[39999 + 39999"),
	   "is complete");
	strbuf_deinit(&text);
}

static void is_dropped(const char *from, const char *to, const char *what)
{
	char *text = xstrdup(from);

	cpp_drop_functions(text, strlen(text));
	is_str(text, to, what);
	free(text);
}

static void test_functions(void)
{
	is_dropped("# 1 \"a.h\" 1\nint a;int f(int x) { return '}'; }\nint b;\n",
		   "# 1 \"a.h\" 1\nint a;                            \nint b;\n", "a body");
	is_dropped("# 1 \"a.h\" 1\nf()\n{ if (x) {\n\"}\";\n# 7 \"a.h\"\n} }\nint b;",
		   "# 1 \"a.h\" 1\n   \n          \n    \n# 7 \"a.h\"\n   \nint b;",
		   "markers and lines stay");
	is_dropped("# 1 \"a.h\" 1\nstruct s { int (*f)(int); };\nBEGIN /f(x)/ { if (1) { } }\n",
		   "# 1 \"a.h\" 1\nstruct s { int (*f)(int); };\nBEGIN /f(x)/ { if (1) { } }\n",
		   "structs and clauses");
	is_dropped("f() { }\n# 1 \"a.h\" 1\n# 3 \"b.d\" 2\ng() { }\n",
		   "f() { }\n# 1 \"a.h\" 1\n# 3 \"b.d\" 2\ng() { }\n", "only what is included");
	is_dropped("# 1 \"a.h\" 1\nf() { \"", "# 1 \"a.h\" 1\nf() { \"", "an end inside");
	is_dropped("", "", "nothing");
}

static void test_failures(struct strbuf *out)
{
	static const char *const conformance[] = {"-w"};
	struct cpp_opts opts = {.path = "/nonexistent/cpp"};
	struct err *e = run(&opts, "x\n", out);

	ok(e && err_get_code(e) == EDT_CPPENT, "no such program");
	ok(e && err_get_hint(e), "with a remedy");
	err_destroy(e);
	opts.path = "/etc/passwd";
	e = run(&opts, "x\n", out);
	ok(e && err_get_code(e) == EDT_CPPEXEC, "not a program");
	err_destroy(e);
	opts.path = "false";
	e = run(&opts, "x\n", out);
	ok(e && err_get_code(e) == EDT_CPPERR, "it fails");
	is_int(out->len, 0, "and leaves no output");
	err_destroy(e);
	opts = (struct cpp_opts){.args = conformance, .nargs = 1, .stdc = 's'};
	ok(succeeds(&opts, "a/**/b\n", out) && strstr(strbuf_text(out), "ab"),
	   "-Xs is traditional");
	opts.stdc = 'a';
	ok(succeeds(&opts, "linux\n", out) && strstr(strbuf_text(out), "linux"),
	   "-Xa is a standard");
	signal(SIGCHLD, SIG_IGN);
	ok(succeeds(&opts, "x\n", out), "children may be ignored");
	signal(SIGCHLD, SIG_DFL);
	ok(succeeds(&opts, "", out), "an empty script");
	ok(succeeds(&opts, "#!/x", out) && !strstr(strbuf_text(out), "/x"), "nothing but '#!'");
}

int main(void)
{
	struct strbuf out = {0};

	test_defines(&out);
	test_large(&out);
	test_functions();
	test_failures(&out);
	strbuf_deinit(&out);
	return tap_done();
}
