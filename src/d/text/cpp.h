/* SPDX-License-Identifier: MIT */
/*
 * Runs the C preprocessor over a script (-C), as d-language.md 1.10 says.
 *
 * Errors   EDT_CPPFORK, EDT_CPPENT, EDT_CPPEXEC, EDT_CPPERR (include/dtrace.h) through err_code().
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define D_VERSION_NEWEST 0x0100d000 /* 1.13, as -V says */

struct cpp_opts {
	const char *path; /* program; NULL = "cpp" */
	/* where #include "..." looks first; NULL = the current directory */
	const char *dir;
	const char *const *args; /* -D, -U, -I, -H and so on, in the order given */
	uint32_t nargs;
	char stdc;	    /* the letter of option -X: 'a', 'c', 's' or 't' */
	uint32_t d_version; /* 0 = the newest; major<<24 | minor<<12 | micro */
};

/*
 * text: the script; a leading '#!' line is skipped. *ret_out receives the output with '# line'
 * marks, without the function definitions of included files.
 */
MUST_CHECK struct err *cpp_run(const struct cpp_opts *opts, const char *text, size_t len,
			       struct strbuf *ret_out);
/* cpp_bodies.c: overwrites C function definitions with blanks; the text keeps its length. */
void cpp_drop_functions(char *text, size_t len);
