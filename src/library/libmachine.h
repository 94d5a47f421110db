/* SPDX-License-Identifier: MIT */
/*
 * D library files that are made from facts of the machine instead of being read (libmachine.c).
 */
#pragma once

#include "base/str.h"

struct libmachine {
	/* name of the file, for depends_on; a real file of that name takes its place */
	const char *name;
	const char *defines[8]; /* names, NULL-terminated */
	void (*make)(struct strbuf *out);
};

extern const struct libmachine libmachine_files[]; /* ends with a row without a name */
