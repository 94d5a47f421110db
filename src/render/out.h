/* SPDX-License-Identifier: MIT */
/*
 * Adds texts and numbers to a buffer, padded to the fields of printf().
 *
 * Units    width and precision in columns of a terminal; lengths in bytes.
 * Facts    columns of characters: width.def, made of Unicode's tables by tools/gen_width.py.
 */
#pragma once

#include <stdatomic.h>
#include <stdio.h>

#include "base/str.h"

/* The field in which a text or number is printed. flags: enum conv_flag; width, prec < 0: none. */
struct spec {
	uint32_t flags;
	int width, prec;
};

/* Adds a text. Width and precision are columns of a terminal, which for ASCII are bytes. */
void out_text(struct strbuf *o, const struct spec *s, const char *text, size_t len);
/* The same for a text that others have written: unsafe characters are escaped (base/text.h). */
void out_foreign(struct strbuf *o, const struct spec *s, const char *text, size_t len);
/*
 * Adds a decimal number, by the flags CONV_LEFT, SIGN, SPACE, ZERO, GROUP; prec is the least number
 * of digits.
 */
void out_signed(struct strbuf *o, const struct spec *s, int64_t v);
/* The same in base 8, 10 or 16, also by CONV_ALT. */
void out_unsigned(struct strbuf *o, const struct spec *s, uint64_t v, unsigned int base,
		  bool is_upper);
/* Adds a number as " %*lld" does. */
void out_int(struct strbuf *o, int width, uint64_t v, bool is_signed);

/* width.c: the columns of a UTF-8 text; a byte that is not UTF-8 takes one column. */
size_t text_columns(const char *text, size_t len);
/* The number of bytes in the first max columns: whole characters with their combining marks. */
size_t text_fit(const char *text, size_t len, size_t max, size_t *ret_columns);

/*
 * sink.c: writes all data, behind what is buffered in fp; returns 0 or errno. interrupts: counts
 * the signals that ask to end; at the second one a write that blocks is given up. NULL: it never
 * is.
 */
int sink_write(FILE *fp, const char *data, size_t len, const atomic_int *interrupts);
