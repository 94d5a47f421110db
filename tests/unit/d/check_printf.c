/* SPDX-License-Identifier: MIT */
/* Formats: what each conversion takes (d-language.md 6.3, B.9), how a format is taken apart. */
#include "check_env.h"
#include "tap.h"

static struct prog *compile(struct check_env *t, const char *script, struct err **ret_err)
{
	struct prog *prog = NULL;

	check_env_init(t);
	*ret_err = check_env_compile(t, script, &prog);
	return prog;
}

/* clang-format off */
/* The types a row's value can have, and which conversions take it. */
static const struct { const char *value, *accepts; } accepted[] = {
	{ "(char)1",		"d i o u x X c C p a A" },
	{ "(unsigned char)1",	"d i o u x X c C p a A" },
	{ "(short)1",		"d i o u x X c C p a A hd hi ho hu hx hX P" },
	{ "(uint16_t)1",	"d i o u x X c C p a A hd hi ho hu hx hX P" },
	{ "1",			"d i o u x X c C p a A lc wc" },
	{ "1u",			"d i o u x X c C p a A lc wc" },
	{ "1l",			"d i o u x X p a A ld li lo lu lx lX lld lli llo llu llx llX T Y" },
	{ "1ull",		"d i o u x X p a A ld li lo lu lx lX lld lli llo llu llx llX T Y" },
	{ "timestamp",		"d i o u x X p a A ld li lo lu lx lX lld lli llo llu llx llX T Y" },
	{ "E1",			"d i o u x X c C p a A lc wc" },
	{ "curthread",		"p a A" },
	{ "(char *)arg0",	"p a A" },
	{ "\"text\"",		"s S I" },
	{ "execname",		"s S I" },
	{ "v.text",		"s S p a A" },
	{ "v.wide",		"ls ws p a A" },
	{ "v.f",		"e E f g G Le LE Lf Lg LG" },
	{ "v",			"" },
};

static const char *const convs[] = {
	"d", "i", "o", "u", "x", "X", "c", "C", "p", "a", "A", "k", "s", "S", "I", "P", "T", "Y", "hd", "hi", "ho",
	"hu", "hx", "hX", "ld", "li", "lo", "lu", "lx", "lX", "lld", "lli", "llo", "llu", "llx", "llX", "lc",
	"wc", "ls", "ws", "e", "E", "f", "g", "G", "Le", "LE", "Lf", "Lg", "LG",
};

/* B.9 and neighbours: the tag, or NULL when it compiles. */
static const struct { const char *call, *tag; } calls[] = {
	{ "printf(\"%d\", -1)", NULL },
	{ "printf(\"%5d|%-5d|%05d\", 42, 42, 42)", NULL },
	{ "printf(\"%p\", 255)", NULL },
	{ "printf(\"%?p\", 255)", NULL },
	{ "printf(\"%.3s\", \"abcdef\")", NULL },
	{ "printf(\"%S\", \"a\\n\")", NULL },
	{ "printf(\"%Y\", (uint64_t)0)", NULL },
	{ "printf(\"100%%\")", NULL },
	{ "printf(\"%*d %-*d %.*s\", 5, 1, 6, 2, 3, \"abc\")", NULL },
	{ "printf(\"%s\", 1)", "D_PRINTF_ARG_TYPE" },
	{ "printf(\"%d\")", "D_PRINTF_ARG_PROTO" },
	{ "printf(\"x\", 1)", "D_PRINTF_ARG_EXTRA" },
	{ "printf(\"\")", "D_PRINTF_FMT_EMPTY" },
	{ "printf(\"%d%\", 1)", "D_SYNTAX" },
	{ "printf()", "D_PROTO_LEN" },
	{ "system(\"ls %d\", pid)", NULL },
	{ "system(\"ls %d\")", "D_PRINTF_ARG_PROTO" },
	{ "freopen(\"\")", NULL },
	{ "freopen(\"/tmp/%s\", execname)", NULL },
	{ "@a[1, \"x\"] = count(); printa(@a)", NULL },
	{ "@a[1, \"x\"] = count(); printa(\"%d %s %@d\\n\", @a)", NULL },
	{ "@a[1, \"x\"] = count(); printa(\"%@d\", @a)", NULL },
	{ "@a[1, \"x\"] = count(); printa(\"%*s %@u\", @a)", NULL },
	{ "@a[1] = count(); @b[2] = sum(1); printa(\"%d %@d %@d %@d\", @a, @b)", NULL },
	{ "@a[1] = count(); printa(\"%s %@d\", @a)", "D_PRINTF_ARG_TYPE" },
	{ "@a[\"x\", 1] = count(); printa(\"%*d %@d\", @a)", "D_PRINTF_DYN_TYPE" },
	{ "@a[1] = count(); printa(\"%@Y\", @a)", NULL },
	{ "@a[1] = count(); printa(\"%@c\", @a)", "D_PRINTF_ARG_TYPE" },
};
/* clang-format on */

static const char preamble[] =
	"struct s { char text[8]; int wide[4]; double f; };\nstruct s v;\nenum e { E1 };\n";

static bool in_list(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; (p = strstr(p, word)); p++)
		if ((p == list || p[-1] == ' ') && (p[len] == ' ' || !p[len]))
			return true;
	return false;
}

static void test_accepted(const char *value, const char *list)
{
	for (uint32_t i = 0; i < ARRAY_LEN(convs); i++) {
		struct strbuf script = {0};
		bool want = in_list(list, convs[i]);
		struct check_env t;
		struct err *e;

		strbuf_addf(&script, "%sBEGIN { printf(\"%%%s\", %s); }", preamble, convs[i],
			    value);
		(void)compile(&t, strbuf_text(&script), &e);
		ok((e == NULL) == want, "%%%s %s %s", convs[i], want ? "takes" : "refuses", value);
		if (e && want)
			printf("# %s\n", err_text(e));
		if (e && !want)
			ok(strstr(err_text(e), "D_PRINTF_ARG_TYPE") != NULL, "with the right tag");
		err_destroy(e);
		check_env_deinit(&t);
		strbuf_deinit(&script);
	}
}

static void test_call(const char *call, const char *tag)
{
	struct strbuf script = {0};
	struct check_env t;
	struct err *e;

	strbuf_addf(&script, "BEGIN { %s; }", call);
	(void)compile(&t, strbuf_text(&script), &e);
	ok(tag ? e && strstr(err_text(e), tag) : !e, "%s: %s", call, tag ? tag : "compiles");
	if (e && !tag)
		printf("# %s\n", err_text(e));
	err_destroy(e);
	check_env_deinit(&t);
	strbuf_deinit(&script);
}

static void test_parse(void)
{
	static const struct prog_conv want[] = {
		{.literal = "a",
		 .conv = 'd',
		 .flags = CONV_LEFT | CONV_SIGN,
		 .width = 12,
		 .prec = 3},
		{.literal = " 5% ",
		 .conv = 'x',
		 .size = "ll",
		 .flags = CONV_ZERO | CONV_ALT,
		 .width = 8,
		 .prec = -1},
		{.literal = "",
		 .conv = 's',
		 .flags = CONV_WIDTH_ARG | CONV_PREC_ARG,
		 .width = -1,
		 .prec = -1},
		{.literal = "", .conv = 'p', .flags = 0, .width = 16, .prec = -1},
		{.literal = "",
		 .conv = 'd',
		 .flags = CONV_GROUP | CONV_SPACE,
		 .width = -1,
		 .prec = -1},
		{.literal = "", .conv = 'd', .flags = CONV_ZERO, .width = 5, .prec = -1},
		{.literal = "end\n", .conv = 0, .flags = CONV_NOARG, .width = -1, .prec = -1},
	};
	struct check_env t;
	struct err *e;
	struct prog *prog =
		compile(&t,
			"BEGIN { printf(\"a%-+12.3d 5%% %#08llx%*.*s%?p%' d%-05.0dend\\n\", "
			"1, 2l, 3, 4, \"s\", 5, 6, 7); }",
			&e);
	const struct prog_fmt *fmt = prog ? prog->clauses[0]->acts[0].fmt : NULL;

	ok(fmt != NULL, "a format with everything");
	if (e)
		printf("# %s\n", err_text(e));
	is_int(fmt ? fmt->nconvs : 0, ARRAY_LEN(want), "number of conversions");
	for (uint32_t i = 0; fmt && i < fmt->nconvs; i++) {
		const struct prog_conv *c = &fmt->convs[i];

		is_str(c->literal, want[i].literal, "literal");
		is_int(c->literal_len, strlen(want[i].literal), "its length");
		is_int(c->conv, want[i].conv, "conversion");
		is_str(c->size, want[i].size, "size");
		is_int(c->flags, want[i].flags, "flags");
		is_int(c->width, want[i].width, "width");
		is_int(c->prec, want[i].prec, "precision");
	}
	is_int(prog ? prog->clauses[0]->acts[0].nargs : 0, 8,
	       "one argument per conversion and '*'");
	err_destroy(e);
	check_env_deinit(&t);
}

int main(void)
{
	for (uint32_t i = 0; i < ARRAY_LEN(accepted); i++)
		test_accepted(accepted[i].value, accepted[i].accepts);
	for (uint32_t i = 0; i < ARRAY_LEN(calls); i++)
		test_call(calls[i].call, calls[i].tag);
	test_parse();
	return tap_done();
}
