/* SPDX-License-Identifier: MIT */
/*
 * The exception of a language with which a process has died: its class and message.
 *
 * It is found in the state of the runtime, as helpers describe it (uitem("raised", word) and the
 * like); on the stack, where the runtime throws it (Node.js); or at the end of what the process has
 * written to its log. Where it was found is said, and nothing is guessed: a log may be shared.
 *
 * Owns     texts, until exception_deinit().
 * Errors   none: there is none, or it is not known.
 */
#pragma once

#include "mdb/impl.h"

#define LANGUAGE_MAX 32

enum exception_source { EXCEPTION_NONE, EXCEPTION_STATE, EXCEPTION_STACK, EXCEPTION_LOG };

struct exception {
	enum exception_source source;
	char language[LANGUAGE_MAX]; /* "python", "node", as the helper's file is called */
	enum thrown_state thrown;    /* of the state */
	struct strbuf class, message;
};

/* m, stack: NULL, or the process and the stack of its crashed thread. log: its end. */
void exception_find(struct mdb *m, const struct stack *stack, const char *log, size_t len,
		    struct exception *ret);
/* The exception that the state of a thread has: of one that has not crashed. */
void exception_thread_find(struct mdb *m, const struct stack *stack, struct exception *ret);
void exception_deinit(struct exception *x);
/* What the helper of a frame is called: "python"; "": it has none. */
void language_of(const struct mdb *m, uint32_t part, char ret[LANGUAGE_MAX]);
