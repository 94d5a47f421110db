/* SPDX-License-Identifier: MIT */
/*
 * The D library: files of constants, types, translators and providers that programs may use.
 *
 * The library consists of every file NAME.d in the -L folders and in the system folder; of files
 * with equal names the first one is used. The '#pragma D depends_on library' lines of a file are
 * read beforehand and determine the order. A file that depends on a module or provider that this
 * system lacks is left out, and so are the files that depend on it. A file of the system folder
 * that depends on a module of the kernel is also left out when the module's types are not those
 * that it expects.
 *
 * Declarations of a file are in a layer below the program's (d/types/layer.h), because old scripts
 * define constants that the library has, too.
 *
 * Files of -L folders are compiled before the first program. Files of the system folder are
 * compiled when a program mentions a name that they define (libscan.h), so that unused files cost
 * no time. Those with rows of the table of probes that harm (d/parse/harm.h) are compiled when the
 * folder is read; that table, harmful.d, also with option nolibs.
 *
 * Facts    d-language.md 10.2.
 * Owns     the texts of the files, and their lists of names; the compiler owns their declarations.
 * Errors   in a file that a name needs are kept until library_trouble() is called, because the
 *          compile that needs the name goes on to its end.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "d/types/layer.h"

struct library;
struct probe_desc;

struct library_opts {
	const char *const *dirs; /* arguments of -L, in order; the caller keeps them */
	uint32_t ndirs;
	const char *system_dir; /* NULL or "": the folder of the installation */
	bool is_off;		/* option nolibs */
	bool is_fixed;		/* files of dirs replace none of the system folder */
};

struct library_hooks {
	void *ctx;
	/* Compiles the text of a file into the layer. EDT_NOMOD: a dependency is not met here. */
	struct err *(*compile)(void *ctx, enum d_layer layer, const char *path, const char *text,
			       size_t len);
};

/* The system folder, when the option syslibdir is asked (NULL or "": the installation's). */
const char *library_system_dir(const char *asked);

/* The arena must live longer than the library. */
struct library *library_create(struct arena *a, const struct library_hooks *hooks);
void library_destroy(struct library *l); /* NULL is allowed */
void library_set_opts(struct library *l, const struct library_opts *opts);

/* Before the first program is compiled: compiles the files of -L folders, once. */
MUST_CHECK struct err *library_load(struct library *l);
/* Compiles the files of the system folder that define the name; false: there are none. */
bool library_define(struct library *l, const char *name, size_t len);
/* Compiles the files of the system folder that declare providers or probes of the description. */
void library_define_providers(struct library *l, const struct probe_desc *desc);
/* Why the file of the system folder that declares the provider is left out; NULL: it is not. */
const char *library_lack(struct library *l, const char *prov);
/* The error of these two functions, or NULL; to be called once after each compile. */
MUST_CHECK struct err *library_trouble(struct library *l);
/* The name most like this one that the system folder defines, or NULL. */
const char *library_nearest(struct library *l, const char *name);
/* Adds to the error of a compile, which may be NULL, that the system folder does not exist. */
MUST_CHECK struct err *library_explain(const struct library *l, struct err *e);
