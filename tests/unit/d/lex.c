/* SPDX-License-Identifier: MIT */
/* Lexer: tokens of each context, literals, macro arguments. */
#include "../tap.h"
#include "parse_env.h"

#include "d/parse/lex.h"

static struct test_env env;
static struct lexer lx;

static void start(const char *text)
{
	test_env_init(&env, SOURCE_FILE, "t.d", text, strlen(text));
	lex_init(&lx, &env.in);
}

static enum dtag first_tag(void)
{
	return diags_count(env.diags) ? diags_first_tag(env.diags) : D_NTAGS;
}

static void test_outer(void)
{
	struct token t;

	start("pid$target:a.out::*ret?[a-z]!x-1\\*{ 8021q:x/");
	t = lex_next(&lx);
	is_int(t.kind, TOK_WORD, "outer: a specifier is one word");
	is_str(t.text, "pid$target:a.out::*ret?[a-z]!x-1\\*", "outer: with all its characters");
	is_int(lex_next(&lx).kind, TOK_LBRACE, "outer: '{' ends it");
	is_str(lex_next(&lx).text, "8021q:x", "outer: a digit may begin it");
	is_int(lex_next(&lx).kind, TOK_DIV, "outer: '/' ends it");
	is_int(lex_next(&lx).kind, TOK_EOF, "outer: end");
	is_int(lex_next(&lx).kind, TOK_EOF, "outer: end stays the end");
	test_env_deinit(&env);

	start("a\\\nb");
	is_str(lex_next(&lx).text, "a", "outer: a line splice ends a word");
	is_str(lex_next(&lx).text, "b", "outer: and is white space");
	test_env_deinit(&env);
}

/* Every operator and keyword alone, and spans that tile the text. */
static void test_tokens(void)
{
	bool all = true;

	for (int k = TOK_SHL_EQ; k <= TOK_KW_XLATE; k++) {
		struct token t;

		start(tok_text((enum tok)k));
		lx.outer = false;
		t = lex_next(&lx);
		if (t.kind != (enum tok)k || lex_next(&lx).kind != TOK_EOF ||
		    t.span.len != strlen(tok_text((enum tok)k))) {
			all = false;
			printf("# token '%s' gives kind %d\n", tok_text((enum tok)k), (int)t.kind);
		}
		test_env_deinit(&env);
	}
	ok(all, "every operator and keyword is a token of its own");

	for (int k = TOK_KW_AUTO; k < TOK_KW_XLATE; k++)
		if (strcmp(tok_text((enum tok)k), tok_text((enum tok)(k + 1))) >= 0)
			all = false;
	ok(all, "keywords are sorted");
	is_int(keyword_find("int", 2), TOK_IDENT, "a part of a keyword is a name");
	is_int(keyword_find("integer", 7), TOK_IDENT, "a keyword and more is a name");
}

static void test_maximal_munch(void)
{
	static const enum tok want[] = {TOK_INT,      TOK_INC, TOK_ADD,	 TOK_IDENT, TOK_SHR_EQ,
					TOK_GE,	      TOK_XOR, TOK_LXOR, TOK_ARROW, TOK_GT,
					TOK_ELLIPSIS, TOK_DOT, TOK_EOF};
	bool all = true;

	start("1+++x>>=>= ^ ^^->>....");
	lx.outer = false;
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		all &= lex_next(&lx).kind == want[i];
	ok(all, "the longest operator wins");
	test_env_deinit(&env);
}

static void test_int(void)
{
	static const struct {
		const char *text;
		uint64_t val;
		type_id type;
		enum int_error err;
	} rows[] = {
		/* clang-format off */
		{"0", 0, TYPE_INT, INT_OK},
		{"2147483648", 2147483648u, TYPE_LONG, INT_OK},
		{"0x80000000", 0x80000000u, TYPE_UINT, INT_OK},
		{"037777777777", 0xffffffffu, TYPE_UINT, INT_OK},
		{"0xFFFFFFFFFFFFFFFF", UINT64_MAX, TYPE_ULONG, INT_OK},
		{"18446744073709551615", UINT64_MAX, TYPE_NONE, INT_NO_TYPE},
		{"9223372036854775808l", 1ull << 63, TYPE_NONE, INT_NO_TYPE},
		{"9223372036854775808ll", 1ull << 63, TYPE_NONE, INT_NO_TYPE},
		{"18446744073709551615U", UINT64_MAX, TYPE_ULONG, INT_OK},
		{"1ULL", 1, TYPE_ULLONG, INT_OK},
		{"0x8000000000000000ll", 1ull << 63, TYPE_ULLONG, INT_OK},
		{"08", 8, TYPE_NONE, INT_BAD_DIGIT},
		{"99999999999999999999u", 0, TYPE_NONE, INT_OFLOW},
		{"02000000000000000000000", 0, TYPE_NONE, INT_OFLOW},
		/* clang-format on */
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct int_literal lit;
		enum int_error err = int_literal_parse(rows[i].text, strlen(rows[i].text), &lit);

		ok(err == rows[i].err && lit.type == rows[i].type &&
			   (err == INT_OFLOW || lit.val == rows[i].val) &&
			   lit.len == strlen(rows[i].text),
		   "integer %s", rows[i].text);
	}
}

static void test_pred(void)
{
	static const struct {
		const char *text; /* behind a '/' */
		enum tok want;
	} rows[] = {
		{"/ {", TOK_EPRED},	    {"/\n\t{", TOK_EPRED},
		{"/;", TOK_EPRED},	    {"/", TOK_EPRED},
		{"/ /", TOK_EPRED},	    {"/ 2", TOK_DIV},
		{"/ /* c */ 2", TOK_DIV},   {"/ /* c */ {", TOK_EPRED},
		{"/= 2", TOK_DIV_EQ},	    {"/\n# 3 \"f\"\n{", TOK_EPRED},
		{"/ \\\n {", TOK_EPRED},    {"/ (", TOK_DIV},
		{"/\nEND {", TOK_EPRED},    {"/\nEND * 2", TOK_DIV},
		{"/\na:::b\n{", TOK_EPRED},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		start(rows[i].text);
		lx.outer = false;
		lx.in_pred = true;
		ok(lex_next(&lx).kind == rows[i].want, "a '/' in a predicate, case %zu", i);
		test_env_deinit(&env);
	}
}

static void test_errors(void)
{
	static const struct {
		const char *text;
		enum dtag tag;
		enum tok kind; /* of the first token */
	} rows[] = {
		/* clang-format off */
		{"\"abc\n", D_STR_NL, TOK_ERROR},
		{"\"abc\\\n\"", D_STR_NL, TOK_ERROR},
		{"\"abc", D_SYNTAX, TOK_ERROR},
		{"\"abc\\", D_SYNTAX, TOK_ERROR},
		{"'", D_SYNTAX, TOK_ERROR},
		{"'\n'", D_CHR_NL, TOK_ERROR},
		{"''", D_CHR_NULL, TOK_INT},
		{"'123456789'", D_CHR_OFLOW, TOK_INT},
		{"'\\200abcdefg'", D_INT_OFLOW, TOK_INT},
		{"1.0", D_SYNTAX, TOK_INT},
		{"08", D_INT_DIGIT, TOK_INT},
		{"$", D_SYNTAX, TOK_ERROR},
		{"$1", D_MACRO_UNDEF, TOK_INT},
		{"$x", D_MACRO_UNDEF, TOK_INT},
		{"/*", D_SYNTAX, TOK_EOF},
		{"/* /* */ x", D_SYNTAX, TOK_IDENT},
		{"\x80", D_SYNTAX, TOK_ERROR},
		/* clang-format on */
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		enum tok kind;

		start(rows[i].text);
		lx.outer = false;
		kind = lex_next(&lx).kind;
		ok(kind == rows[i].kind && first_tag() == rows[i].tag &&
			   diags_count(env.diags) == 1,
		   "%s", dtag_name(rows[i].tag));
		test_env_deinit(&env);

		start(rows[i].text);
		lx.outer = false;
		lx.quiet = true;
		(void)lex_next(&lx); /* only its silence matters */
		is_int(diags_count(env.diags), 0, "  and not while skipping");
		test_env_deinit(&env);
	}
}

static void test_macro(void)
{
	static char *argv[] = {"t.d",	       "-5",  "+0x10u", "na`me", "two words",
			       "\"quo\\ted\"", "int", "",	"1.5"};
	static const struct {
		const char *text;
		enum tok kind;
		uint64_t ival;
		const char *str;
	} rows[] = {
		/* clang-format off */
		{"$0", TOK_STR, 0, "t.d"},
		{"$3", TOK_IDENT, 0, "na`me"},
		{"$4", TOK_STR, 0, "two words"},
		{"$5", TOK_STR, 0, "quo\ted"},
		{"$$5", TOK_STR, 0, "\"quo\ted\""},
		{"$6", TOK_KW_INT, 0, "int"},
		{"$7", TOK_STR, 0, ""},
		{"$8", TOK_STR, 0, "1.5"},
		{"$pid", TOK_INT, 1234, NULL},
		{"$$pid", TOK_STR, 0, "1234"},
		{"$08", TOK_STR, 0, "1.5"},
		/* clang-format on */
	};
	struct token t;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		start(rows[i].text);
		env.in.argc = ARRAY_LEN(argv);
		env.in.argv = argv;
		lx.outer = false;
		t = lex_next(&lx);
		ok(t.kind == rows[i].kind && t.is_macro && t.ival == rows[i].ival &&
			   (!rows[i].str || strcmp(t.text, rows[i].str) == 0) &&
			   lex_next(&lx).kind == TOK_EOF,
		   "macro %s", rows[i].text);
		test_env_deinit(&env);
	}

	start("$1 $2");
	env.in.argc = ARRAY_LEN(argv);
	env.in.argv = argv;
	lx.outer = false;
	is_int(lex_next(&lx).kind, TOK_SUB, "the sign of an argument is an operator");
	t = lex_next(&lx);
	ok(t.kind == TOK_INT && t.ival == 5 && t.lit_type == TYPE_INT, "behind it the number");
	is_int(lex_next(&lx).kind, TOK_ADD, "plus too");
	t = lex_next(&lx);
	ok(t.ival == 16 && t.lit_type == TYPE_UINT, "base and suffix count");
	ok(!lx.last_arg_used, "the last argument is not used yet");
	test_env_deinit(&env);
}

static void test_control(void)
{
	start("#pragma D option bufsize=4m\n#pragma D option quiet\n x #pragma D option "
	      "strsize=1\n");
	lx.outer = false;
	is_int(lex_next(&lx).kind, TOK_IDENT, "control lines are not tokens");
	is_str(env.last_option, "quiet", "an option is set at once");
	is_str(env.last_value, "(none)", "without a value");
	is_int(lex_next(&lx).kind, TOK_ERROR, "'#' only begins a control line at the beginning");
	is_str(env.last_option, "quiet", "and does nothing elsewhere");
	test_env_deinit(&env);

	start("#pragma D option aggsortkey=\"a b\"\n# 1 \"inc.h\" 1\n#pragma D binding \"1.0\" x\n"
	      "# 9 \"t.c\" 2\ny");
	lx.outer = false;
	(void)lex_next(&lx); /* all before 'y' */
	is_str(env.last_value, "a b", "a quoted value");
	is_int(lx.include_depth, 0, "include depth goes up and down");
	is_int(lx.pragmas.len, 1, "a pragma for the checker");
	ok(lx.pragmas.len && lx.pragmas.data[0]->in_include, "from an included file");
	test_env_deinit(&env);
}

int main(void)
{
	test_outer();
	test_tokens();
	test_maximal_munch();
	test_int();
	test_pred();
	test_errors();
	test_macro();
	test_control();
	return tap_done();
}
