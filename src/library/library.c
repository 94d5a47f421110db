/* SPDX-License-Identifier: MIT */
/* Finds, orders and compiles the files of the D library (library.h). */
#include "library/library.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/hashmap.h"
#include "base/vec.h"
#include "d/text/diag.h"
#include "dtrace.h"
#include "kernel/withheld.h"
#include "library/libdir.h"
#include "library/libmachine.h"
#include "library/libscan.h"
#include "probe/probe.h"

#define LIBRARY_MAX_SIZE (16u << 20) /* bytes of one file */
#define TABLE_NAME	 "harmful.d"

enum lib_state { LIB_WAITING, LIB_VISITING, LIB_LOADED, LIB_LEFT_OUT };

struct lib_file {
	char *path;
	const char *name; /* last component of path */
	struct strbuf text;
	VEC(char *) deps;
	char *module;	  /* of the kernel, that the file depends on; NULL: of none */
	const char *lack; /* why the file is left out */
	enum lib_state state;
	bool is_lazy;
	enum d_layer layer;
	const struct libmachine *made; /* the text is made when needed; NULL: it was read */
};

/* A lazy file that defines a name; the files that do are linked in the order of their scans. */
struct definer {
	struct lib_file *file;
	struct definer *next;
};

struct library {
	struct arena *arena; /* given by library_create()'s caller */
	struct library_hooks hooks;
	struct library_opts opts;
	const char *refused; /* the path of a file that replaces one of the system; NULL: none */
	VEC(struct lib_file *) list;
	struct hashmap *by_name; /* file name -> struct lib_file */
	struct hashmap *defines; /* name -> the first struct definer, in the arena */
	/* to be compiled after the file under way, which defines what they add to: translators */
	VEC(struct lib_file *) waiting;
	uint32_t depth;	     /* number of files whose compiles are under way, one inside another */
	bool has_dirs;	     /* the -L folders have been read */
	bool has_system;     /* the system folder has been read, or was not found */
	bool is_missing;     /* the system folder was not found */
	struct err *trouble; /* a file could not be compiled, so the program cannot, either */
};

struct library *library_create(struct arena *a, const struct library_hooks *hooks)
{
	struct library *lib = xcalloc(1, sizeof(*lib));

	lib->arena = a;
	lib->hooks = *hooks;
	lib->by_name = hashmap_create();
	lib->defines = hashmap_create();
	return lib;
}

void library_set_opts(struct library *lib, const struct library_opts *opts)
{
	lib->opts = *opts;
}

void library_destroy(struct library *lib)
{
	if (!lib)
		return;
	for (uint32_t i = 0; i < lib->list.len; i++) {
		struct lib_file *l = lib->list.data[i];

		for (uint32_t k = 0; k < l->deps.len; k++)
			free(l->deps.data[k]);
		vec_deinit(&l->deps);
		strbuf_deinit(&l->text);
		free(l->module);
		free(l->path);
		free(l);
	}
	vec_deinit(&lib->list);
	vec_deinit(&lib->waiting);
	hashmap_destroy(lib->by_name);
	hashmap_destroy(lib->defines);
	err_destroy(lib->trouble);
	free(lib);
}

static struct err *text_read(const char *path, struct strbuf *out)
{
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	struct err *e;
	char buf[8192];
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) != 0)
		return err_sys(errno, "cannot read the D library file '%s'", path);
	e = withheld_check(fd, path);
	if (e)
		return e;
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

static void dep_note(void *ctx, const char *name, size_t len)
{
	struct lib_file *l = ctx;
	char *dep = strndup(name, len);

	if (!dep)
		oom();
	vec_push(&l->deps, dep);
}

static void module_note(void *ctx, const char *name, size_t len)
{
	struct lib_file *l = ctx;

	free(l->module);
	l->module = strndup(name, len);
	if (!l->module)
		oom();
}

struct noter {
	struct library *lib;
	struct lib_file *file;
};

static void name_note(void *ctx, const char *name, size_t len)
{
	struct noter *n = ctx;
	struct definer *d = hashmap_find(n->lib->defines, name, len), *add;

	while (d && d->next)
		d = d->next;
	if (d && d->file == n->file)
		return;
	add = ARENA_NEW(n->lib->arena, struct definer);
	add->file = n->file;
	if (d)
		d->next = add;
	else
		hashmap_set(n->lib->defines, name, len, add);
}

/*
 * Whether the name of a file is taken. A file of an -L folder that replaces one of the system
 * folder must also be visible to the other files of the system folder; whoever may not decide what
 * these mean cannot replace any.
 */
static bool name_is_taken(struct library *lib, const char *name, bool is_system)
{
	struct lib_file *l = hashmap_finds(lib->by_name, name);

	if (l && is_system && lib->opts.is_fixed && l->layer != LAYER_SYSTEM)
		lib->refused = lib->refused ? lib->refused : l->path;
	else if (l && is_system)
		l->layer = LAYER_SYSTEM;
	return l;
}

static struct err *file_add(struct library *lib, const char *dir, const char *name, bool is_system)
{
	struct noter n = {.lib = lib};
	struct err *e;
	struct lib_file *l;

	if (name_is_taken(lib, name, is_system))
		return NULL;
	l = xcalloc(1, sizeof(*l));
	vec_push(&lib->list, l);
	if (asprintf(&l->path, "%s/%s", dir, name) < 0)
		oom();
	l->name = strrchr(l->path, '/') + 1;
	hashmap_sets(lib->by_name, name, l);
	l->layer = is_system ? LAYER_SYSTEM : LAYER_LIBDIR;
	e = text_read(l->path, &l->text);
	if (e)
		return e;
	libscan_deps(strbuf_text(&l->text), l->text.len, "library", dep_note, l);
	libscan_deps(strbuf_text(&l->text), l->text.len, "module", module_note, l);
	n.file = l;
	l->is_lazy = is_system &&
		     libscan_names(strbuf_text(&l->text), l->text.len, name_note, &n) &&
		     !libscan_has_harms(strbuf_text(&l->text), l->text.len);
	return NULL;
}

static void made_add(struct library *lib, const struct libmachine *made)
{
	struct noter n = {.lib = lib};
	struct lib_file *l;

	if (name_is_taken(lib, made->name, true))
		return;
	l = n.file = xcalloc(1, sizeof(*l));
	vec_push(&lib->list, l);
	l->path = xstrdup(made->name);
	l->name = l->path;
	l->is_lazy = true;
	l->layer = LAYER_SYSTEM;
	l->made = made;
	hashmap_sets(lib->by_name, made->name, l);
	for (const char *const *name = made->defines; *name; name++)
		name_note(&n, *name, strlen(*name));
}

static int is_library_name(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return len > 2 && strcmp(d->d_name + len - 2, ".d") == 0;
}

static struct err *dir_add(struct library *lib, const char *dir, bool is_system, bool must_exist)
{
	struct dirent **names;
	struct err *e = NULL;
	int n = scandir(dir, &names, is_library_name, alphasort);

	if (n < 0 && (must_exist || errno != ENOENT))
		return err_sys(errno, "cannot read the D library folder '%s'", dir);
	for (int i = 0; i < n; i++) {
		if (!e)
			e = file_add(lib, dir, names[i]->d_name, is_system);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return e;
}

static struct err *lib_load(struct library *lib, struct lib_file *l);

static struct err *lib_load_deps(struct library *lib, struct lib_file *l)
{
	for (uint32_t i = 0; i < l->deps.len; i++) {
		struct lib_file *dep = hashmap_finds(lib->by_name, l->deps.data[i]);
		struct err *e;

		if (!dep)
			return err_code(err_new("Invalid library dependency in %s: %s", l->path,
						l->deps.data[i]),
					EDT_COMPILER);
		if (dep->state == LIB_VISITING)
			return err_code(err_new("Cyclic dependency detected: %s => %s", l->name,
						dep->name),
					EDT_COMPILER);
		e = lib_load(lib, dep);
		if (e)
			return e;
		if (dep->state == LIB_LEFT_OUT) {
			l->state = LIB_LEFT_OUT;
			l->lack = dep->lack;
		}
	}
	return NULL;
}

/* Whether a file lists a module: lines of modules.builtin end with '/NAME.ko', '-' for '_'. */
static bool module_is_listed(const char *path, const char *name)
{
	CLEANUP(file) FILE *f = fopen(path, "re");
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		char *base = strrchr(line, '/'), *end = base ? strstr(base, ".ko") : NULL;

		if (!end)
			continue;
		*end = '\0';
		for (char *c = ++base; *c; c++)
			*c = *c == '-' ? '_' : *c;
		if (strcmp(base, name) == 0)
			return true;
	}
	return false;
}

/*
 * Why nothing of a module is there. /sys/module has a folder for each module that is loaded, with
 * its state, and for those of the kernel's own that have parameters; modules.builtin has the latter
 * all, where the kernel's package is installed.
 */
static const char *module_lack(const struct library *lib, const char *name)
{
	char folder[128], state[160], list[128];
	struct utsname uts;

	(void)snprintf(folder, sizeof(folder), "/sys/module/%s", name);
	(void)snprintf(state, sizeof(state), "%s/initstate", folder);
	if (access(state, F_OK) == 0)
		return arena_printf(
			lib->arena,
			"it is about the kernel's module '%s', which is loaded, but has "
			"neither type information (/sys/kernel/btf/%s) nor events in "
			"tracefs",
			name, name);
	(void)uname(&uts);
	(void)snprintf(list, sizeof(list), "/lib/modules/%s/modules.builtin", uts.release);
	if (access(folder, F_OK) == 0 || module_is_listed(list, name))
		return arena_printf(
			lib->arena,
			"it is about the kernel's module '%s', which is built into this "
			"kernel, but has no events in tracefs (/sys/kernel/tracing), "
			"where those of such modules are told apart",
			name);
	return arena_printf(lib->arena,
			    "it is about the kernel's module '%s', which is not loaded: modprobe "
			    "%s",
			    name, name);
}

/* Why a file is left out whose compile has failed with e; NULL: it is not. */
static const char *lack_text(const struct library *lib, const struct lib_file *l,
			     const struct err *e)
{
	const char *text = err_text(e);

	if (err_get_code(e) == EDT_NOMOD && !l->module)
		return arena_printf(lib->arena, "%s of the D library is left out: %.*s", l->name,
				    (int)strcspn(text, "\n"), text);
	if (err_get_code(e) == EDT_NOMOD)
		return module_lack(lib, l->module);
	/* modules change: what is told of one must not take the rest of the library away */
	if (l->module && l->layer == LAYER_SYSTEM && !lib->trouble)
		return arena_printf(lib->arena,
				    "the kernel's module '%s' has no type information "
				    "(/sys/kernel/btf/%s), or other types than %s expects: %.*s",
				    l->module, l->module, l->name, (int)strcspn(text, "\n"), text);
	return NULL;
}

static struct err *lib_compile(struct library *lib, struct lib_file *l)
{
	struct err *e;

	if (l->made)
		l->made->make(&l->text);
	e = lib->hooks.compile(lib->hooks.ctx, l->layer, l->path, strbuf_text(&l->text),
			       l->text.len);
	l->lack = e ? lack_text(lib, l, e) : NULL;
	if (l->lack) {
		err_destroy(e);
		l->state = LIB_LEFT_OUT;
		return NULL;
	}
	if (e)
		return err_wrap(e, "failed to compile the D library");
	l->state = LIB_LOADED;
	return NULL;
}

/* Compiles a file behind the files it depends on; in the outermost call, also waiting files. */
static struct err *lib_load(struct library *lib, struct lib_file *l)
{
	struct err *e;

	if (l->state != LIB_WAITING)
		return NULL;
	l->state = LIB_VISITING;
	e = lib_load_deps(lib, l);
	if (e || l->state == LIB_LEFT_OUT)
		return e;
	lib->depth++;
	e = lib_compile(lib, l);
	lib->depth--;
	while (!e && !lib->depth && lib->waiting.len)
		e = lib_load(lib, lib->waiting.data[--lib->waiting.len]);
	return e;
}

/* The folder that option syslibdir names, or NULL. */
static const char *asked_dir(const struct library *lib)
{
	return lib->opts.system_dir && *lib->opts.system_dir ? lib->opts.system_dir : NULL;
}

const char *library_system_dir(const char *asked)
{
	return asked && *asked ? asked : FATHOM_LIBDIR;
}

static const char *system_dir(const struct library *lib)
{
	return library_system_dir(lib->opts.system_dir);
}

/*
 * Option nolibs leaves the library out, but not its table of probes that harm (d/parse/harm.h):
 * those must not be enabled unawares.
 */
static struct err *table_load(struct library *lib)
{
	const char *path = arena_printf(lib->arena, "%s/%s", system_dir(lib), TABLE_NAME);
	struct err *e;

	if (hashmap_finds(lib->by_name, TABLE_NAME) || access(path, R_OK) != 0)
		return NULL;
	e = file_add(lib, system_dir(lib), TABLE_NAME, true);
	return e ? e : lib_load(lib, hashmap_finds(lib->by_name, TABLE_NAME));
}

static struct err *system_read(struct library *lib)
{
	struct err *e = NULL;

	if (lib->has_system)
		return NULL;
	lib->has_system = true;
	lib->is_missing = access(system_dir(lib), F_OK) != 0;
	e = dir_add(lib, system_dir(lib), true, asked_dir(lib) != NULL);
	if (!e)
		e = dir_add(lib, arena_printf(lib->arena, "%s/%s", system_dir(lib), arch.name),
			    true, false);
	for (const struct libmachine *made = libmachine_files; made->name; made++)
		made_add(lib, made);
	if (!e && lib->refused)
		e = err_hint(
			err_code(err_new("'%s' has the name of a file of the system's D library, "
					 "which a session with levels cannot replace",
					 lib->refused),
				 EDT_ACCESS),
			"give the file another name");
	for (uint32_t i = 0; !e && i < lib->list.len; i++)
		if (!lib->list.data[i]->is_lazy)
			e = lib_load(lib, lib->list.data[i]);
	return e;
}

/* A folder that the user has named must exist, even if no program needs it. */
static struct err *system_check(const struct library *lib)
{
	const char *dir = asked_dir(lib);

	if (!dir || access(dir, R_OK | X_OK) == 0)
		return NULL;
	return err_hint(
		err_sys(errno, "cannot read the D library folder '%s'", dir),
		"the option syslibdir, or DTRACE_OPT_SYSLIBDIR in the environment, names it");
}

struct err *library_explain(const struct library *lib, struct err *e)
{
	if (!e || !lib->is_missing)
		return e;
	return err_hint(
		e,
		"the folder of the D library, %s, is missing: without it, many types, constants and "
		"variables are unknown; -x syslibdir=FOLDER names another one",
		system_dir(lib));
}

struct err *library_load(struct library *lib)
{
	struct err *e;

	if (lib->has_dirs || lib->opts.is_off)
		return NULL;
	e = system_check(lib);
	if (e)
		return e;
	lib->has_dirs = true;
	if (!lib->opts.ndirs)
		return NULL;
	for (uint32_t i = 0; !e && i < lib->opts.ndirs; i++)
		e = dir_add(lib, lib->opts.dirs[i], false, true);
	/* files of -L folders may depend on files of the system folder */
	if (!e)
		e = system_read(lib);
	if (!lib->trouble)
		return e;
	err_destroy(e);
	return library_trouble(lib);
}

static bool is_visited(const struct definer *d)
{
	for (; d; d = d->next)
		if (d->file->state == LIB_VISITING)
			return true;
	return false;
}

/* Compiles the files that are not compiled yet; *ret_any: whether there were any. */
static struct err *definers_load(struct library *lib, const struct definer *d, bool *ret_any)
{
	bool is_early = is_visited(d);

	for (; d; d = d->next) {
		struct lib_file *l = d->file;
		bool is_new = l->state == LIB_WAITING;
		struct err *e;

		if (is_early) {
			vec_push(&lib->waiting, l);
			continue;
		}
		e = lib_load(lib, l);
		if (e)
			return e;
		*ret_any |= is_new && l->state == LIB_LOADED;
	}
	return NULL;
}

bool library_define(struct library *lib, const char *name, size_t len)
{
	const struct definer *d;
	bool any = false;
	struct err *e;

	if (lib->opts.is_off || lib->trouble)
		return false;
	e = system_read(lib);
	d = e ? NULL : hashmap_find(lib->defines, name, len);
	if (d)
		e = definers_load(lib, d, &any);
	if (lib->trouble)
		err_destroy(e); /* the error of an earlier file, which this one needed, is kept */
	else
		lib->trouble = e;
	return any && !lib->trouble;
}

typedef VEC(const char *) key_vec;

/* Adds the keys of the names that match the pattern, which have this prefix. */
static void keys_find(struct library *lib, const char *prefix, const char *pattern, key_vec *ret)
{
	size_t prefix_len = strlen(prefix), pos = 0, len;
	const void *key;

	if (*pattern && glob_is_literal(pattern)) { /* "" matches all */
		vec_push(ret, arena_printf(lib->arena, "%s%s", prefix, pattern));
		return;
	}
	while (hashmap_next(lib->defines, &pos, &key, &len)) {
		const char *text;

		if (len < prefix_len || memcmp(key, prefix, prefix_len) != 0)
			continue;
		text = arena_strndup(lib->arena, key, len);
		if (glob_match(pattern, text + prefix_len))
			vec_push(ret, text);
	}
}

void library_define_providers(struct library *lib, const struct probe_desc *desc)
{
	key_vec keys = {0};

	if (!lib->trouble)
		lib->trouble = lib->opts.is_off ? table_load(lib) : system_read(lib);
	if (lib->opts.is_off)
		return;
	if (!lib->trouble && *desc->prov)
		keys_find(lib, LIBSCAN_PROVIDER, desc->prov, &keys);
	else if (!lib->trouble)
		keys_find(lib, LIBSCAN_PROBE, desc->name, &keys);
	for (uint32_t i = 0; i < keys.len; i++)
		(void)library_define(lib, keys.data[i], strlen(keys.data[i])); /* keeps its error */
	vec_deinit(&keys);
}

const char *library_lack(struct library *lib, const char *prov)
{
	const char *key = arena_printf(lib->arena, LIBSCAN_PROVIDER "%s", prov);
	const struct definer *d = hashmap_finds(lib->defines, key);

	for (; d; d = d->next)
		if (d->file->state == LIB_LEFT_OUT)
			return d->file->lack;
	return NULL;
}

/* Names with two underscores are for the library alone; keys with a blank are of providers. */
static bool is_public(const char *name)
{
	return strncmp(name, "__", 2) != 0 && !strchr(name, ' ');
}

const char *library_nearest(struct library *lib, const char *name)
{
	VEC(const char *) names = {0};
	const char *nearest;
	const void *key;
	size_t pos = 0, len;

	while (hashmap_next(lib->defines, &pos, &key, &len)) {
		const char *text = arena_strndup(lib->arena, key, len);

		if (is_public(text))
			vec_push(&names, text);
	}
	nearest = diag_nearest(name, names.data, names.len);
	vec_deinit(&names);
	return nearest;
}

struct err *library_trouble(struct library *lib)
{
	struct err *e = lib->trouble;

	lib->trouble = NULL;
	return e;
}
