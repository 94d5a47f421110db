/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: script text, as a file or a command-line text, with script arguments. The last byte
 * chooses among these, so that scripts are seeds as they are (a newline: a file with arguments).
 */
#include "../unit/d/parse_env.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What parses must print, and print as D text that parses to the same tree. */
static void check_round_trip(enum source_kind kind, const struct ast *ast)
{
	struct strbuf tree = {0}, again = {0}, d = {0};
	struct test_env t;

	ast_print(ast, &tree);
	ast_print_d(ast, &d);
	test_env_init(&t, kind, "again.d", strbuf_text(&d), d.len);
	t.in.allow_empty = true;
	ast_print(parse_program(&t.in), &again);
	if (diags_count(t.diags) != 0 || strcmp(strbuf_text(&tree), strbuf_text(&again)) != 0)
		BUG("trees differ");
	test_env_deinit(&t);
	strbuf_deinit(&tree);
	strbuf_deinit(&again);
	strbuf_deinit(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *argv[] = {"fuzz.d", "-5", "0x10u", "name", "two words", "int", "9z"};
	uint8_t flags = size ? data[size - 1] : 0;
	enum source_kind kind = flags & 1 ? SOURCE_STRING : SOURCE_FILE;
	struct strbuf out = {0};
	struct test_env t;
	struct ast *ast;

	if (!size)
		return 0;
	test_env_init(&t, kind, "fuzz.d", (const char *)data, size - 1);
	t.in.argc = flags & 2 ? (int)ARRAY_LEN(argv) : 1;
	t.in.argv = argv;
	t.in.context = flags & 4 ? SPEC_CTX_FUNCTION : SPEC_CTX_NAME;
	ast = parse_program(&t.in);
	diags_format(t.diags, flags & 8, &out);
	/* Macro variables in descriptions become texts that need not be descriptions again. */
	if (diags_count(t.diags) == 0 && t.in.context == SPEC_CTX_NAME && !memchr(data, '$', size))
		check_round_trip(kind, ast);
	strbuf_deinit(&out);
	test_env_deinit(&t);
	return 0;
}
