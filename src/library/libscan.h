/* SPDX-License-Identifier: MIT */
/*
 * Finds the names that a D library file defines, without compiling it.
 *
 * The scan knows the syntax of declarations only. It finds the names of inlines, typedefs,
 * variables, tags and enumerators, the output types of translators, and providers (with a prefix:
 * compile.h). It may find a name that is none, which costs an unneeded compile, but must not miss
 * one: it returns false when it does not understand the text.
 */
#pragma once

#include "base/base.h"
#include "d/compile.h"

#define LIBSCAN_PROVIDER     COMPILE_DEFINE_PROVIDER
#define LIBSCAN_PROBE	     COMPILE_DEFINE_PROBE
#define LIBSCAN_MAX_PROVIDER 128 /* longer names are refused by the compiler, too */

typedef void libscan_fn(void *ctx, const char *name, size_t len);
/* Calls fn for each name. False: only a compile can tell which names the file defines. */
bool libscan_names(const char *text, size_t size, libscan_fn *fn, void *ctx);
/* Calls fn for the NAME of each line '#pragma D depends_on ON NAME'; on: "library", "module". */
void libscan_deps(const char *text, size_t size, const char *on, libscan_fn *fn, void *ctx);
/* True if the text has a line '#pragma D harmful ...' (d/parse/harm.h). */
bool libscan_has_harms(const char *text, size_t size);
