/*
 * Parses one script: its tree to stdout, or its errors to stderr with exit status 1.
 *
 *     ast_dump [-d] FILE      -d: as D text
 */
#include "../unit/d/parse_env.h"

#include <sys/stat.h>

static char *file_read(const char *path, size_t *ret_len)
{
	CLEANUP(file) FILE *f = fopen(path, "r");
	struct stat st;
	char *text;

	if (!f || fstat(fileno(f), &st) < 0)
		return NULL;
	text = xmalloc((size_t)st.st_size + 1);
	*ret_len = fread(text, 1, (size_t)st.st_size, f);
	return text;
}

int main(int argc, char **argv)
{
	bool as_d = argc > 1 && strcmp(argv[1], "-d") == 0;
	const char *path = argv[argc - 1];
	CLEANUP(free) char *text = NULL;
	struct strbuf out = {0};
	char *script_argv[16];
	struct test_env t;
	struct ast *ast;
	bool failed;
	size_t len;

	if (argc < 2 || !(text = file_read(path, &len))) {
		fprintf(stderr, "usage: ast_dump [-d] FILE\n");
		return 2;
	}
	test_env_init(&t, SOURCE_FILE, path, text, len);
	test_env_directives(&t, script_argv, (int)ARRAY_LEN(script_argv));
	ast = parse_program(&t.in);
	failed = diags_count(t.diags) > 0;
	if (failed)
		diags_format(t.diags, false, &out);
	else if (as_d)
		ast_print_d(ast, &out);
	else
		ast_print(ast, &out);
	fprintf(failed ? stderr : stdout, "%s%s", strbuf_text(&out), failed ? "\n" : "");
	strbuf_deinit(&out);
	test_env_deinit(&t);
	return failed;
}
