/* SPDX-License-Identifier: MIT */
/*
 * Files of the D library that are made from facts of the machine instead of being read; the head of
 * libmachine.c lists them and what they define.
 *
 * Errors   none: a fact that cannot be found out has a value that says so (0, "").
 *
 * To add a file: a function that writes its text, and a row in libmachine_files.
 */
#pragma once

#include "base/str.h"

struct libmachine {
	/* name of the file, for depends_on; a real file of that name takes its place */
	const char *name;
	const char *defines[8];		  /* names, NULL-terminated */
	void (*make)(struct strbuf *out); /* appends the text of the file */
};

extern const struct libmachine libmachine_files[]; /* ends with a row without a name */
