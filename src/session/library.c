/*
 * The D library: files of constants, types and translators that are compiled before the first
 * program.
 *
 * Every file NAME.d of the -L folders and of the system folder; of two with one name the first
 * counts. A file's '#pragma D depends_on library' lines are read beforehand and give the order. A
 * file that depends on a module or provider this system lacks is left out, and so is what depends
 * on it. Facts    d-language.md, 10.2.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "session/session.h"

#ifndef FATHOM_LIBDIR
#define FATHOM_LIBDIR "/usr/lib/dtrace"
#endif

#define LIBRARY_MAX_SIZE (16u << 20) /* bytes of one file */

enum lib_state { LIB_WAITING, LIB_VISITING, LIB_LOADED, LIB_LEFT_OUT };

struct lib {
	char *path;
	const char *name; /* last component of path */
	struct strbuf text;
	VEC(char *) deps;
	enum lib_state state;
};

struct libs {
	VEC(struct lib *) list;
	struct hashmap *by_name;
};

static void libs_deinit(struct libs *libs)
{
	for (uint32_t i = 0; i < libs->list.len; i++) {
		struct lib *l = libs->list.data[i];

		for (uint32_t k = 0; k < l->deps.len; k++)
			free(l->deps.data[k]);
		vec_deinit(&l->deps);
		strbuf_deinit(&l->text);
		free(l->path);
		free(l);
	}
	vec_deinit(&libs->list);
	hashmap_destroy(libs->by_name);
}

static struct err *read_text(const char *path, struct strbuf *out)
{
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char buf[8192];
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) != 0)
		return err_sys(errno, "cannot read the D library file '%s'", path);
	if (!S_ISREG(st.st_mode) || st.st_size > (off_t)LIBRARY_MAX_SIZE)
		return err_new(
			"'%s' is not a D library file: not a regular file of at most %u bytes",
			path, LIBRARY_MAX_SIZE);
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		strbuf_add(out, buf, (size_t)n);
	if (n < 0)
		return err_sys(errno, "cannot read the D library file '%s'", path);
	return NULL;
}

/* Takes the next blank-separated word of *p; false at the end of the line. */
static bool next_word(const char **p, const char *end, const char **ret_word, size_t *ret_len)
{
	while (*p < end && strchr(" \t", **p))
		++*p;
	*ret_word = *p;
	while (*p < end && !strchr(" \t\r", **p))
		++*p;
	*ret_len = (size_t)(*p - *ret_word);
	return *ret_len > 0;
}

/* The dependency pre-scan: '#pragma D depends_on library NAME' at the start of a line. */
static void scan_deps(struct lib *l)
{
	static const char *const want[] = {"#pragma", "D", "depends_on", "library"};
	const char *line = strbuf_text(&l->text), *end = line + l->text.len;

	while (line < end) {
		const char *eol = memchr(line, '\n', (size_t)(end - line)), *p = line, *word;
		size_t len, i = 0;

		eol = eol ? eol : end;
		while (i < ARRAY_LEN(want) && next_word(&p, eol, &word, &len) &&
		       len == strlen(want[i]) && memcmp(word, want[i], len) == 0)
			i++;
		if (i == ARRAY_LEN(want) && next_word(&p, eol, &word, &len)) {
			char *dep = strndup(word, len);

			if (!dep)
				oom();
			vec_push(&l->deps, dep);
		}
		line = eol + 1;
	}
}

static struct err *add_file(struct libs *libs, const char *dir, const char *name)
{
	struct lib *l;

	if (hashmap_finds(libs->by_name, name))
		return NULL;
	l = xcalloc(1, sizeof(*l));
	vec_push(&libs->list, l);
	if (asprintf(&l->path, "%s/%s", dir, name) < 0)
		oom();
	l->name = strrchr(l->path, '/') + 1;
	hashmap_sets(libs->by_name, name, l);
	return read_text(l->path, &l->text);
}

static int is_library_name(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return len > 2 && strcmp(d->d_name + len - 2, ".d") == 0;
}

static struct err *add_dir(struct libs *libs, const char *dir, bool must_exist)
{
	struct dirent **names;
	struct err *e = NULL;
	int n = scandir(dir, &names, is_library_name, alphasort);

	if (n < 0 && (must_exist || errno != ENOENT))
		return err_sys(errno, "cannot read the D library folder '%s'", dir);
	for (int i = 0; i < n; i++) {
		if (!e)
			e = add_file(libs, dir, names[i]->d_name);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	for (uint32_t i = 0; !e && i < libs->list.len; i++)
		if (!libs->list.data[i]->deps.len)
			scan_deps(libs->list.data[i]);
	return e;
}

static struct err *load(dtrace_hdl_t *h, struct libs *libs, struct lib *l);

static struct err *load_deps(dtrace_hdl_t *h, struct libs *libs, struct lib *l)
{
	for (uint32_t i = 0; i < l->deps.len; i++) {
		struct lib *dep = hashmap_finds(libs->by_name, l->deps.data[i]);
		struct err *e;

		if (!dep)
			return err_code(err_new("Invalid library dependency in %s: %s", l->path,
						l->deps.data[i]),
					EDT_COMPILER);
		if (dep->state == LIB_VISITING)
			return err_code(
				err_new("Cyclic dependency detected: %s => %s", l->name, dep->name),
				EDT_COMPILER);
		e = load(h, libs, dep);
		if (e)
			return e;
		if (dep->state == LIB_LEFT_OUT)
			l->state = LIB_LEFT_OUT;
	}
	return NULL;
}

static struct err *load(dtrace_hdl_t *h, struct libs *libs, struct lib *l)
{
	struct compile_opts opts = h->compile_opts;
	struct prog *prog;
	struct err *e;

	if (l->state != LIB_WAITING)
		return NULL;
	l->state = LIB_VISITING;
	e = load_deps(h, libs, l);
	if (e || l->state == LIB_LEFT_OUT)
		return e;
	opts.is_library = true;
	opts.cpp = false;
	opts.dump_ast = opts.dump_dif = false; /* who dumps wants to see his program */
	e = dsession_compile(h->dsession, &opts, &h->compile_env, SOURCE_FILE, l->path,
			     strbuf_text(&l->text), l->text.len, SPEC_CTX_NAME, 0, NULL, &prog);
	if (e && err_get_code(e) == EDT_NOMOD) { /* a dependency is not met here */
		err_destroy(e);
		l->state = LIB_LEFT_OUT;
		return NULL;
	}
	if (e)
		return err_wrap(e, "failed to compile the D library");
	l->state = LIB_LOADED;
	return NULL;
}

struct err *session_load_libraries(dtrace_hdl_t *h)
{
	const char *sysdir = h->opts.str[OPT_syslibdir];
	struct libs libs = {.by_name = hashmap_create()};
	struct err *e = NULL;

	if (h->libraries_loaded || opt_flag(&h->opts, OPT_nolibs)) {
		hashmap_destroy(libs.by_name);
		return NULL;
	}
	h->libraries_loaded = true;
	for (uint32_t i = 0; !e && i < h->opts.libdirs.len; i++)
		e = add_dir(&libs, h->opts.libdirs.data[i], true);
	if (!e)
		e = add_dir(&libs, sysdir && *sysdir ? sysdir : FATHOM_LIBDIR, sysdir && *sysdir);
	for (uint32_t i = 0; !e && i < libs.list.len; i++)
		e = load(h, &libs, libs.list.data[i]);
	libs_deinit(&libs);
	return e;
}
