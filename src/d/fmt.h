/*
 * Formats of printf() and its kin: parsing, and which types a conversion takes (d-language.md 6.3).
 *
 * To add a conversion: a row in fmt.c, its letter in dif/prog.h, its output in print/.
 */
#pragma once

#include "d/check.h"

/* The format of a literal; at: where the literal stands. NULL after reporting D_SYNTAX. */
struct prog_fmt *fmt_parse(struct check *c, const char *text, uint32_t len, struct span at);
/* "%-5lld" without flags and numbers: "%lld". In the arena. */
const char *fmt_conv_text(const struct prog_conv *conv, struct arena *a);
/* What messages call the types a conversion takes. */
const char *fmt_conv_wants(const struct prog_conv *conv);
bool fmt_conv_accepts(const struct prog_conv *conv, const struct types *t, type_id type,
		      enum datum_kind kind);
