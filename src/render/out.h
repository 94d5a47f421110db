/*
 * The output buffer, and text in fields: padding, integers.
 *
 * Owns     its bytes; out_deinit() releases them.
 */
#pragma once

#include <signal.h>
#include <stdio.h>

#include "base/base.h"

struct out {
	char *data;
	size_t len, cap;
};

void out_grow(struct out *o, size_t more);
void out_deinit(struct out *o);

/* Room for size more bytes; the caller writes there and adds to len what it used. */
static inline char *out_room(struct out *o, size_t size)
{
	if (o->cap - o->len < size)
		out_grow(o, size);
	return o->data + o->len;
}

static inline void out_add(struct out *o, const char *s, size_t len)
{
	if (len)
		memcpy(out_room(o, len), s, len);
	o->len += len;
}

static inline void out_addc(struct out *o, char c)
{
	*out_room(o, 1) = c;
	o->len++;
}

void out_adds(struct out *o, const char *s);
PRINTF_LIKE(2, 3) void out_addf(struct out *o, const char *fmt, ...);
void out_pad(struct out *o, char c, size_t n);

/* How a text or number lies in its field. Flags are enum conv_flag; width, prec < 0: none. */
struct spec {
	uint32_t flags;
	int width, prec;
};

/*
 * Justified by CONV_LEFT. Width and precision are columns of a terminal: for ASCII that is bytes.
 */
void out_text(struct out *o, const struct spec *s, const char *text, size_t len);
/* Decimal, by CONV_LEFT, SIGN, SPACE, ZERO, GROUP; prec is the least number of digits. */
void out_signed(struct out *o, const struct spec *s, int64_t v);
/* Base 8, 10, 16; also CONV_ALT. digits: "0123456789abcdef" or the capitals. */
void out_unsigned(struct out *o, const struct spec *s, uint64_t v, unsigned int base,
		  bool is_upper);
/* " %*lld" and the like without a format. */
void out_int(struct out *o, int width, uint64_t v, bool is_signed);

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
