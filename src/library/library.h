/*
 * The D library: files of constants, types, translators and providers that programs may use.
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
 * Owns     texts of files and what is known of them. What they declare is the compiler's.
 * Errors   of a file that a name needs are kept until library_trouble() asks: the compile that
 *          asked for the name goes on to its end.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "d/layer.h"

struct library;
struct probe_desc;

struct library_opts {
	const char *const *dirs; /* of -L, in order; the caller's */
	uint32_t ndirs;
	const char *system_dir; /* NULL or empty: that of the installation */
	bool is_off;		/* option nolibs */
};

struct library_hooks {
	void *ctx;
	/* Compiles the text of a file into the layer. EDT_NOMOD: what it needs is not here. */
	struct err *(*compile)(void *ctx, enum d_layer layer, const char *path, const char *text,
			       size_t len);
};

/* a: outlives it. */
struct library *library_create(struct arena *a, const struct library_hooks *hooks);
void library_destroy(struct library *l); /* NULL is allowed */
void library_set_opts(struct library *l, const struct library_opts *opts);

/* Before the first program is compiled: compiles the files of -L folders, once. */
MUST_CHECK struct err *library_load(struct library *l);
/* Compiles the files of the system folder that define the name; false: there are none. */
bool library_define(struct library *l, const char *name, size_t len);
/* Compiles the files of the system folder that declare providers or probes of the description. */
void library_define_providers(struct library *l, const struct probe_desc *desc);
/* What went wrong with those two, or NULL; to be asked once after each compile. */
MUST_CHECK struct err *library_trouble(struct library *l);
/* The name most like this one that the system folder defines, or NULL. */
const char *library_nearest(struct library *l, const char *name);
/* Adds to the error of a compile, which may be NULL, that the library's folder is not there. */
MUST_CHECK struct err *library_explain(const struct library *l, struct err *e);
