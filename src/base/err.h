/* SPDX-License-Identifier: MIT */
/*
 * Errors that come from outside (kernel, file, permission, corrupt input): a message, a remedy, a
 * cause.
 *
 * NULL is success. Each caller that knows more adds a phrase with err_wrap(); only the outermost
 * caller prints the error.
 *
 * Owns     an error owns its text; whoever prints or drops the error calls err_destroy().
 */
#pragma once

#include "base/base.h"

struct err;

PRINTF_LIKE(1, 2) MUST_CHECK struct err *err_new(const char *fmt, ...);
/* Appends ": " and the text of errno value sys. */
PRINTF_LIKE(2, 3) MUST_CHECK struct err *err_sys(int sys, const char *fmt, ...);
/* Prefixes "phrase: "; takes e over and returns it. */
PRINTF_LIKE(2, 3) MUST_CHECK struct err *err_wrap(struct err *e, const char *fmt, ...);
/* Adds what the user should do next; takes e over and returns it. The innermost hint wins. */
PRINTF_LIKE(2, 3) MUST_CHECK struct err *err_hint(struct err *e, const char *fmt, ...);
/* Gives the error a library error code (EDT_*); takes e over and returns it. */
MUST_CHECK struct err *err_code(struct err *e, int code);

const char *err_text(const struct err *e);
const char *err_get_hint(const struct err *e); /* NULL when there is none */
int err_get_sys(const struct err *e);	       /* errno value, 0 when it was not a system error */
int err_get_code(const struct err *e);	       /* 0 when none was given */
void err_destroy(struct err *e);	       /* NULL is allowed */
