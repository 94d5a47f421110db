/* Text and integers in fields, with padding. */
#pragma once

#include <signal.h>
#include <stdio.h>

#include "base/str.h"

/* How a text or number lies in its field. Flags are enum conv_flag; width, prec < 0: none. */
struct spec {
	uint32_t flags;
	int width, prec;
};

/*
 * Justified by CONV_LEFT. Width and precision are columns of a terminal: for ASCII that is bytes.
 */
void out_text(struct strbuf *o, const struct spec *s, const char *text, size_t len);
/* Decimal, by CONV_LEFT, SIGN, SPACE, ZERO, GROUP; prec is the least number of digits. */
void out_signed(struct strbuf *o, const struct spec *s, int64_t v);
/* Base 8, 10, 16; also CONV_ALT. digits: "0123456789abcdef" or the capitals. */
void out_unsigned(struct strbuf *o, const struct spec *s, uint64_t v, unsigned int base,
		  bool is_upper);
/* " %*lld" and the like without a format. */
void out_int(struct strbuf *o, int width, uint64_t v, bool is_signed);

/* width.c: columns of UTF-8; a byte that is none is a column. */
size_t text_columns(const char *text, size_t len);
/*
 * How many bytes of text lie in max columns: whole characters, with the marks that belong to them.
 */
size_t text_fit(const char *text, size_t len, size_t max, size_t *ret_columns);

/*
 * sink.c: writes all, behind what fp holds already; 0 or errno. interrupts: of signals that end the
 * run; at the second one it gives up a write that blocks. NULL: it never does.
 */
int sink_write(FILE *fp, const char *data, size_t len, const volatile sig_atomic_t *interrupts);
