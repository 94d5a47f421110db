/* SPDX-License-Identifier: MIT */
/*
 * Expressions of the debugger's language: text to a number of 64 bits.
 *
 *     expr    = unary { operator unary }
 *     unary   = ( "-" | "~" | "#" | "*" | "%" ) unary | primary
 *     primary = number | "." | "+" | "^" | "&" | "(" expr ")" | "<" name | symbol | "'" bytes "'"
 *     symbol  = [ object "`" ] name, or "`" name for a name that would be a number
 *
 * Numbers are hexadecimal; 0t, 0o, 0i and 0x begin decimal, octal, binary and hexadecimal ones. The
 * binary operators, those that bind most first:
 *
 *     *  %  #      product, quotient, the left side rounded up to a multiple of the right one
 *     +  -
 *     << >>
 *     == !=        1 or 0
 *     &
 *     ^
 *     |
 *
 * Between parentheses, "/" is a quotient, too; outside of them it begins a format. An expression is
 * computed while it is read, because a word of the target may be part of it.
 *
 * Owns     nothing.
 * Errors   struct err *: what is no expression, a name that is not known, memory that cannot be
 *          read, a division by zero. The cursor stays where the error is.
 * Facts    Oracle, "Modular Debugger Guide", chapter "Language Syntax".
 */
#pragma once

#include "base/err.h"

/* How expressions find symbols, registers and memory. A function may be NULL: none are found. */
struct expr_env {
	void *ctx;
	/* what ".", "+", "^" and "&" are */
	uint64_t dot, next, previous, last;
	/* The address of a symbol; object NULL: of any object. */
	bool (*symbol)(void *ctx, const char *object, const char *name, uint64_t *ret);
	bool (*has_object)(void *ctx, const char *object);
	/* A register or variable. */
	bool (*variable)(void *ctx, const char *name, uint64_t *ret);
	bool (*read)(void *ctx, taddr addr, void *to, size_t size);
};

#define EXPR_NAME_MAX 4096 /* bytes of a name */

/* Whether an expression may begin with this text. */
bool expr_begins(const char *at);
/* Reads the longest expression at *at, and moves *at behind it. */
MUST_CHECK struct err *expr_read(const char **at, const struct expr_env *env, uint64_t *ret);
/* The same for a text that is one expression and nothing else. */
MUST_CHECK struct err *expr_eval(const char *text, const struct expr_env *env, uint64_t *ret);
/* Whether a character can be part of a name. */
bool expr_is_name_char(char c);
