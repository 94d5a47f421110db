/*
 * D library files that are made from what this machine is, instead of being read (libmachine.c).
 */
#pragma once

#include "base/str.h"

struct libmachine {
	/* of the file, for depends_on; a real one of that name comes first */
	const char *name;
	const char *defines[4]; /* NULL-terminated */
	void (*make)(struct strbuf *out);
};

extern const struct libmachine libmachine_files[]; /* ends with a row without a name */
