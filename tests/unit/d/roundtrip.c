/* SPDX-License-Identifier: MIT */
/* Property: the D text printed from a tree parses to the same tree, for every script we have. */
#include "../tap.h"
#include "parse_env.h"

#include <dirent.h>

static const char *const folders[] = {
	"tests/golden/ast", "tests/golden/check", "examples", "dlib", "tests/e2e",
};

static char *root; /* of the sources */

static bool read_file(const char *path, struct strbuf *out)
{
	CLEANUP(file) FILE *f = fopen(path, "r");
	char buf[8192];
	size_t n;

	strbuf_clear(out);
	while (f && (n = fread(buf, 1, sizeof(buf), f)) > 0)
		strbuf_add(out, buf, n);
	return f != NULL;
}

/* Types the stand-in does not know would be identifiers; here every name in _t is a type. */
static bool any_t_is_type(void *ctx, const char *name, size_t len)
{
	return test_env_is_type(ctx, name, len) ||
	       (len > 2 && memcmp(name + len - 2, "_t", 2) == 0);
}

/* The tree, or false when the text is wrong. */
static bool tree_of(const char *path, const char *text, size_t len, enum source_kind *kind,
		    bool *is_helper, bool again, struct strbuf *tree, struct strbuf *d)
{
	char *argv[16];
	struct test_env t;
	struct ast *ast;
	bool good;

	test_env_init(&t, *kind, path, text, len);
	t.env.is_type = any_t_is_type;
	if (!again) {
		test_env_directives(&t, argv, (int)ARRAY_LEN(argv));
		*kind = t.in.src->kind;
		*is_helper = t.in.is_helper;
	}
	t.in.is_helper = *is_helper;
	t.in.allow_empty = true;
	t.in.argref = true;
	ast = parse_program(&t.in);
	good = diags_count(t.diags) == 0;
	strbuf_clear(tree);
	ast_print(ast, tree);
	if (d) {
		strbuf_clear(d);
		ast_print_d(ast, d);
	} else if (!good) {
		struct strbuf out = {0};

		diags_format(t.diags, true, &out);
		printf("# %s\n", strbuf_text(&out));
		strbuf_deinit(&out);
	}
	test_env_deinit(&t);
	return good;
}

static bool check_file(const char *path)
{
	struct strbuf text = {0}, first = {0}, second = {0}, d = {0};
	enum source_kind kind = SOURCE_FILE;
	bool is_helper = false;
	bool tested = read_file(path, &text) && tree_of(path, strbuf_text(&text), text.len, &kind,
							&is_helper, false, &first, &d);

	/* Fields of another context than the name's are not printed as such. */
	if (tested && !strstr(strbuf_text(&text), "@@kind: function"))
		ok(tree_of(path, strbuf_text(&d), d.len, &kind, &is_helper, true, &second, NULL) &&
			   strcmp(strbuf_text(&first), strbuf_text(&second)) == 0,
		   "%s", path);
	strbuf_deinit(&text);
	strbuf_deinit(&first);
	strbuf_deinit(&second);
	strbuf_deinit(&d);
	return tested;
}

static uint32_t check_folder(const char *folder)
{
	char *path = NULL;
	struct dirent *ent;
	uint32_t n = 0;
	DIR *dir;

	if (asprintf(&path, "%s/%s", root, folder) < 0)
		oom();
	dir = opendir(path);
	free(path);
	while (dir && (ent = readdir(dir))) {
		size_t len = strlen(ent->d_name);

		if (len < 3 || strcmp(ent->d_name + len - 2, ".d") != 0)
			continue;
		if (asprintf(&path, "%s/%s/%s", root, folder, ent->d_name) < 0)
			oom();
		n += check_file(path);
		free(path);
	}
	if (dir)
		closedir(dir);
	return n;
}

int main(void)
{
	uint32_t n = 0;

	/* The runner starts tests in the source tree, meson somewhere in the build tree. */
	root = access(folders[0], R_OK) == 0 ? xstrdup(".") : xstrdup(__FILE__);
	if (strcmp(root, ".") != 0)
		*strstr(root, "/tests/unit/") = '\0';
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		n += check_folder(folders[i]);
	ok(n >= 20, "%u scripts", n);
	free(root);
	return tap_done();
}
