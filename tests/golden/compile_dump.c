/*
 * Compiles one script on a system with a few made-up probes: the program to stdout, or the
 * diagnosis to stderr with exit status 1.
 *
 *     compile_dump FILE
 */
#include "../unit/d/check_env.h"

#include <sys/stat.h>

#define ARGS_MAX 16

static char *file_read(const char *path, size_t *ret_len)
{
	CLEANUP(file) FILE *f = fopen(path, "r");
	struct stat st;
	char *text;

	if (!f || fstat(fileno(f), &st) < 0)
		return NULL;
	text = xcalloc(1, (size_t)st.st_size + 1);
	*ret_len = fread(text, 1, (size_t)st.st_size, f);
	return text;
}

/* The words after "@@name:" up to the end of the line or comment; NULL when there is none. */
static char *directive(const char *text, const char *name)
{
	const char *p = strstr(text, name);
	size_t len;

	if (!p)
		return NULL;
	p += strlen(name);
	p += strspn(p, " ");
	len = strcspn(p, "*\n");
	while (len && p[len - 1] == ' ')
		len--;
	return strndup(p, len);
}

static int words(char *text, char **ret, int n, int max)
{
	for (char *p = text, *save = NULL; n < max && (p = strtok_r(p, " ", &save)); p = NULL)
		ret[n++] = p;
	return n;
}

static void set_options(struct check_env *t, char *text)
{
	char *opts[ARGS_MAX];
	int n = text ? words(text, opts, 0, ARGS_MAX) : 0;

	for (int i = 0; i < n; i++) {
		char *value = strchr(opts[i], '=');

		if (value)
			*value++ = '\0';
		err_destroy(
			fake_set_option(t, opts[i], value)); /* a test with a mistake will fail */
	}
}

static enum spec_context context_of(const char *kind, enum source_kind *ret_kind)
{
	static const char *const kinds[] = {"provider", "module", "function", "string"};

	*ret_kind = kind ? SOURCE_STRING : SOURCE_FILE;
	for (uint32_t i = 0; kind && i < ARRAY_LEN(kinds); i++)
		if (strcmp(kinds[i], kind) == 0)
			return (enum spec_context)i;
	return SPEC_CTX_NAME;
}

int main(int argc, char **argv)
{
	CLEANUP(free) char *text = NULL;
	CLEANUP(free) char *args = NULL;
	CLEANUP(free) char *kind_text = NULL;
	CLEANUP(free) char *opts = NULL;
	char *script_argv[ARGS_MAX] = {argc > 1 ? argv[1] : NULL};
	struct strbuf out = {0};
	enum source_kind kind;
	struct prog *prog;
	struct check_env t;
	struct err *e;
	size_t len;
	int n = 1;

	if (argc != 2 || !(text = file_read(argv[1], &len))) {
		fprintf(stderr, "usage: compile_dump FILE\n");
		return 2;
	}
	args = directive(text, "@@args:");
	kind_text = directive(text, "@@kind:");
	opts = directive(text, "@@opts:");
	check_env_init(&t);
	set_options(&t, opts);
	if (args)
		n = words(args, script_argv, n, ARGS_MAX);
	enum spec_context ctx = context_of(kind_text, &kind);

	e = dsession_compile(t.session, &t.opts, &t.env, kind, kind == SOURCE_FILE ? argv[1] : "",
			     text, len, ctx, n, script_argv, &prog);
	if (e)
		fprintf(stderr, "%s\n", err_text(e));
	else
		prog_print(prog, &out);
	fputs(strbuf_text(&out), stdout);
	strbuf_deinit(&out);
	check_env_deinit(&t);
	if (!e)
		return 0;
	err_destroy(e);
	return 1;
}
