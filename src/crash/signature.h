/* SPDX-License-Identifier: MIT */
/*
 * What makes two crashes equal: the signal, the build of the program, and the innermost frames that
 * are the program's own.
 *
 * Frames of languages count by their function, native ones by their symbol, or where there is none
 * by the offset in their file. What the C library does to end a process, and, where the stack has
 * frames of a language, the runtime's own code, is left out.
 *
 * Owns     a struct signature its texts, until signature_deinit().
 * Errors   none. Of a crash without any frame, the hash is that of signal and build.
 */
#pragma once

#include "mdb/impl.h"

#define SIGNATURE_FRAMES 8
#define SIGNATURE_HASH	 16 /* hex digits */

struct signature {
	char hash[SIGNATURE_HASH + 1];
	VEC(uint32_t) frames; /* indices of those that count */
	struct strbuf where; /* the innermost of them, for a list: "leaf obj.js:27 <- middle ..." */
};

/* stack: NULL, or that of the crashed thread; build: build-id or name of the program. */
void signature_make(struct mdb *m, const struct stack *stack, int signal, const char *build,
		    struct signature *ret);
void signature_deinit(struct signature *s);
