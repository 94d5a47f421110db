/*
 * What a D library file defines, found without compiling it.
 *
 * The scan knows the shape of declarations only: names of inlines, typedefs, variables, tags and
 * enumerators, the output types of translators, and providers (with a prefix: compile.h). It may
 * find a name too many, which costs an unneeded compile, but must not miss one: what it does not
 * understand makes it return false.
 */
#pragma once

#include "base/base.h"
#include "d/compile.h"

#define LIBSCAN_PROVIDER     COMPILE_DEFINE_PROVIDER
#define LIBSCAN_PROBE	     COMPILE_DEFINE_PROBE
#define LIBSCAN_MAX_PROVIDER 128 /* longer names are refused by the compiler, too */

typedef void libscan_fn(void *ctx, const char *name, size_t len);
/* Calls fn for each name. False: the file is to be compiled to know what it defines. */
bool libscan_names(const char *text, size_t size, libscan_fn *fn, void *ctx);
/* The dependency pre-scan: '#pragma D depends_on library NAME' at the start of a line. */
void libscan_deps(const char *text, size_t size, libscan_fn *fn, void *ctx);
