/* SPDX-License-Identifier: MIT */
/*
 * Hints for probe descriptions that mean something else in D than their writer thought.
 *
 * Owns     hints live in the caller's arena.
 * Errors   none: NULL means that there is no hint.
 */
#pragma once

#include "base/arena.h"

/* For a description in the syntax of another tracer ("kprobe:vfs_read"): the same probe in D. */
const char *desc_foreign_hint(struct arena *a, const char *text);
/* Whether text is the beginning ("uprobe:") of another tracer's description with a path in it. */
bool desc_has_path(const char *text);
/*
 * For a description with too many fields: how to write the name of a C++ or Rust function, which
 * contains "::". has_name: the last field is the name of a probe, as it is with -n.
 */
const char *desc_colons_hint(struct arena *a, const char *text, bool has_name);
