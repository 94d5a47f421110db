/*
 * The D library: files of constants, types and translators that programs may use.
 *
 * Every file NAME.d of the -L folders and of the system folder; of two with one name the first
 * counts. A file's '#pragma D depends_on library' lines are read beforehand and give the order. A
 * file that depends on a module or provider this system lacks is left out, and so is what depends
 * on it.
 *
 * What a file declares lies in a layer below the program's (d/layer.h): old scripts define
 * constants of their own that the library has, too.
 *
 * Files of -L folders are compiled before the first program. Those of the system folder are
 * compiled when a program mentions a name that they define (libscan.h): nobody waits for what is
 * not used.
 *
 * Facts    d-language.md, 10.2.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hashmap.h"
#include "d/diag.h"
#include "library/libmachine.h"
#include "library/libscan.h"
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
	bool is_lazy;
	enum d_layer layer;
	const struct libmachine *made; /* text is made when it is loaded; NULL: has been read */
};

struct definers {
	VEC(struct lib *) list;
};

struct libs {
	VEC(struct lib *) list;
	struct hashmap *by_name; /* file name -> struct lib */
	struct hashmap *defines; /* what lazy files define -> struct definers */
	/* to be compiled after the file under way, which defines what they add to: translators */
	VEC(struct lib *) waiting;
	uint32_t depth;	     /* of files under way */
	bool has_system;     /* the system folder has been read */
	bool is_missing;     /* ... or would have been, if it were there */
	struct err *trouble; /* a file could not be compiled: the program cannot either */
};

static void definers_destroy(struct hashmap *defines)
{
	struct definers *d;
	size_t pos = 0;

	while ((d = hashmap_next(defines, &pos, NULL, NULL))) {
		vec_deinit(&d->list);
		free(d);
	}
	hashmap_destroy(defines);
}

void libs_destroy(struct libs *libs)
{
	if (!libs)
		return;
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
	vec_deinit(&libs->waiting);
	hashmap_destroy(libs->by_name);
	definers_destroy(libs->defines);
	err_destroy(libs->trouble);
	free(libs);
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

static void note_dep(void *ctx, const char *name, size_t len)
{
	struct lib *l = ctx;
	char *dep = strndup(name, len);

	if (!dep)
		oom();
	vec_push(&l->deps, dep);
}

struct noter {
	struct libs *libs;
	struct lib *lib;
};

static void note_name(void *ctx, const char *name, size_t len)
{
	struct noter *n = ctx;
	struct definers *d = hashmap_find(n->libs->defines, name, len);

	if (!d) {
		d = xcalloc(1, sizeof(*d));
		hashmap_set(n->libs->defines, name, len, d);
	}
	if (!d->list.len || d->list.data[d->list.len - 1] != n->lib)
		vec_push(&d->list, n->lib);
}

/*
 * A file of an -L folder that takes the place of the system's is for the system's other files to
 * see.
 */
static bool is_taken(struct libs *libs, const char *name, bool is_system)
{
	struct lib *l = hashmap_finds(libs->by_name, name);

	if (l && is_system)
		l->layer = LAYER_SYSTEM;
	return l;
}

static struct err *add_file(struct libs *libs, const char *dir, const char *name, bool is_system)
{
	struct noter n = {.libs = libs};
	struct err *e;
	struct lib *l;

	if (is_taken(libs, name, is_system))
		return NULL;
	l = xcalloc(1, sizeof(*l));
	vec_push(&libs->list, l);
	if (asprintf(&l->path, "%s/%s", dir, name) < 0)
		oom();
	l->name = strrchr(l->path, '/') + 1;
	hashmap_sets(libs->by_name, name, l);
	l->layer = is_system ? LAYER_SYSTEM : LAYER_LIBDIR;
	e = read_text(l->path, &l->text);
	if (e)
		return e;
	libscan_deps(strbuf_text(&l->text), l->text.len, note_dep, l);
	n.lib = l;
	l->is_lazy = is_system && libscan_names(strbuf_text(&l->text), l->text.len, note_name, &n);
	return NULL;
}

static void add_made(struct libs *libs, const struct libmachine *made)
{
	struct noter n = {.libs = libs};
	struct lib *l;

	if (is_taken(libs, made->name, true))
		return;
	l = n.lib = xcalloc(1, sizeof(*l));
	vec_push(&libs->list, l);
	l->path = xstrdup(made->name);
	l->name = l->path;
	l->is_lazy = true;
	l->layer = LAYER_SYSTEM;
	l->made = made;
	hashmap_sets(libs->by_name, made->name, l);
	for (const char *const *name = made->defines; *name; name++)
		note_name(&n, *name, strlen(*name));
}

static int is_library_name(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return len > 2 && strcmp(d->d_name + len - 2, ".d") == 0;
}

static struct err *add_dir(struct libs *libs, const char *dir, bool is_system, bool must_exist)
{
	struct dirent **names;
	struct err *e = NULL;
	int n = scandir(dir, &names, is_library_name, alphasort);

	if (n < 0 && (must_exist || errno != ENOENT))
		return err_sys(errno, "cannot read the D library folder '%s'", dir);
	for (int i = 0; i < n; i++) {
		if (!e)
			e = add_file(libs, dir, names[i]->d_name, is_system);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
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
			return err_code(err_new("Cyclic dependency detected: %s => %s", l->name,
						dep->name),
					EDT_COMPILER);
		e = load(h, libs, dep);
		if (e)
			return e;
		if (dep->state == LIB_LEFT_OUT)
			l->state = LIB_LEFT_OUT;
	}
	return NULL;
}

static struct err *compile(dtrace_hdl_t *h, struct lib *l)
{
	struct compile_opts opts = h->compile_opts;
	struct prog *prog;
	struct err *e;

	if (l->made)
		l->made->make(&l->text);
	opts.layer = l->layer;
	opts.cpp = false;
	opts.dump_ast = opts.dump_dif = false; /* who dumps wants to see his program */
	e = dsession_compile(h->dsession, &opts, &h->compile_env, SOURCE_FILE, l->path,
			     strbuf_text(&l->text), l->text.len, SPEC_CTX_NAME, 0, NULL, &prog);
	report_debug(&h->report, "D library file '%s': %s", l->path,
		     !e				    ? "compiled"
		     : err_get_code(e) == EDT_NOMOD ? "left out"
						    : "failed");
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

/* A file and what it depends on; at the end of the outermost one also what was put off. */
static struct err *load(dtrace_hdl_t *h, struct libs *libs, struct lib *l)
{
	struct err *e;

	if (l->state != LIB_WAITING)
		return NULL;
	l->state = LIB_VISITING;
	e = load_deps(h, libs, l);
	if (e || l->state == LIB_LEFT_OUT)
		return e;
	libs->depth++;
	e = compile(h, l);
	libs->depth--;
	while (!e && !libs->depth && libs->waiting.len)
		e = load(h, libs, libs->waiting.data[--libs->waiting.len]);
	return e;
}

static struct libs *libs_get(dtrace_hdl_t *h)
{
	if (!h->libs) {
		h->libs = xcalloc(1, sizeof(*h->libs));
		h->libs->by_name = hashmap_create();
		h->libs->defines = hashmap_create();
	}
	return h->libs;
}

static const char *system_dir(const dtrace_hdl_t *h)
{
	const char *dir = h->opts.str[OPT_syslibdir];

	return dir && *dir ? dir : FATHOM_LIBDIR;
}

static struct err *need_system(dtrace_hdl_t *h, struct libs *libs)
{
	const char *dir = h->opts.str[OPT_syslibdir];
	struct err *e = NULL;

	if (libs->has_system)
		return NULL;
	libs->has_system = true;
	libs->is_missing = access(system_dir(h), F_OK) != 0;
	e = add_dir(libs, system_dir(h), true, dir && *dir);
	for (const struct libmachine *made = libmachine_files; made->name; made++)
		add_made(libs, made);
	for (uint32_t i = 0; !e && i < libs->list.len; i++)
		if (!libs->list.data[i]->is_lazy)
			e = load(h, libs, libs->list.data[i]);
	return e;
}

/* A folder that was asked for must be there, whether or not a program needs it. */
static struct err *check_system(const dtrace_hdl_t *h)
{
	const char *dir = h->opts.str[OPT_syslibdir];

	if (!dir || !*dir || access(dir, R_OK | X_OK) == 0)
		return NULL;
	return err_hint(
		err_sys(errno, "cannot read the D library folder '%s'", dir),
		"the option syslibdir, or DTRACE_OPT_SYSLIBDIR in the environment, names it");
}

struct err *session_library_lack(dtrace_hdl_t *h, struct err *e)
{
	if (!e || !h->libs || !h->libs->is_missing)
		return e;
	return err_hint(
		e,
		"the folder of the D library, %s, is missing: without it, many types, constants and "
		"variables are unknown; -x syslibdir=FOLDER names another one",
		system_dir(h));
}

struct err *session_load_libraries(dtrace_hdl_t *h)
{
	struct libs *libs;
	struct err *e;

	if (h->libraries_loaded || opt_flag(&h->opts, OPT_nolibs))
		return NULL;
	e = check_system(h);
	if (e)
		return e;
	h->libraries_loaded = true;
	if (!h->opts.libdirs.len)
		return NULL;
	libs = libs_get(h);
	for (uint32_t i = 0; !e && i < h->opts.libdirs.len; i++)
		e = add_dir(libs, h->opts.libdirs.data[i], false, true);
	/* they may depend on files of the system folder */
	if (!e)
		e = need_system(h, libs);
	if (!libs->trouble)
		return e;
	err_destroy(e);
	return session_library_trouble(h);
}

static bool is_visited(const struct definers *d)
{
	for (uint32_t i = 0; i < d->list.len; i++)
		if (d->list.data[i]->state == LIB_VISITING)
			return true;
	return false;
}

/* Compiles those that are not compiled yet; *ret_any: there were such. */
static struct err *load_definers(dtrace_hdl_t *h, struct libs *libs, const struct definers *d,
				 bool *ret_any)
{
	bool is_early = is_visited(d);

	for (uint32_t i = 0; i < d->list.len; i++) {
		struct lib *l = d->list.data[i];
		bool is_new = l->state == LIB_WAITING;
		struct err *e;

		if (is_early) {
			vec_push(&libs->waiting, l);
			continue;
		}
		e = load(h, libs, l);
		if (e)
			return e;
		*ret_any |= is_new && l->state == LIB_LOADED;
	}
	return NULL;
}

bool session_define(void *ctx, const char *name, size_t len)
{
	dtrace_hdl_t *h = ctx;
	struct definers *d;
	struct libs *libs;
	bool any = false;
	struct err *e;

	if (opt_flag(&h->opts, OPT_nolibs))
		return false;
	libs = libs_get(h);
	if (libs->trouble)
		return false;
	e = need_system(h, libs);
	d = e ? NULL : hashmap_find(libs->defines, name, len);
	if (d)
		e = load_definers(h, libs, d, &any);
	if (libs->trouble)
		err_destroy(e); /* a file needed another one, which is to blame */
	else
		libs->trouble = e;
	return any && !libs->trouble;
}

/* The name behind prefix, where the key begins with that; else NULL. */
static const char *key_name(const char *key, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(key, prefix, len) == 0 ? key + len : NULL;
}

void session_define_providers(dtrace_hdl_t *h, const struct probe_desc *desc)
{
	VEC(const char *) keys = {0};
	struct libs *libs;
	const void *key;
	size_t pos = 0, len;

	if (opt_flag(&h->opts, OPT_nolibs))
		return;
	libs = libs_get(h);
	if (!libs->trouble)
		libs->trouble = need_system(h, libs);
	while (!libs->trouble && hashmap_next(libs->defines, &pos, &key, &len)) {
		const char *text = arena_strndup(h->arena, key, len);
		const char *name = key_name(text, *desc->prov ? LIBSCAN_PROVIDER : LIBSCAN_PROBE);

		if (name && glob_match(*desc->prov ? desc->prov : desc->name, name))
			vec_push(&keys, text);
	}
	for (uint32_t i = 0; i < keys.len; i++)
		(void)session_define(h, keys.data[i], strlen(keys.data[i])); /* trouble is kept */
	vec_deinit(&keys);
}

/* Names with two underscores are the library's own; those with a blank are of providers. */
static bool is_public(const char *name)
{
	return strncmp(name, "__", 2) != 0 && !strchr(name, ' ');
}

const char *session_nearest(void *ctx, const char *name)
{
	dtrace_hdl_t *h = ctx;
	VEC(const char *) names = {0};
	const char *nearest;
	const void *key;
	size_t pos = 0, len;

	while (h->libs && hashmap_next(h->libs->defines, &pos, &key, &len)) {
		const char *text = arena_strndup(h->arena, key, len);

		if (is_public(text))
			vec_push(&names, text);
	}
	nearest = diag_nearest(name, names.data, names.len);
	vec_deinit(&names);
	return nearest;
}

struct err *session_library_trouble(dtrace_hdl_t *h)
{
	struct err *e = h->libs ? h->libs->trouble : NULL;

	if (e)
		h->libs->trouble = NULL;
	return e;
}
