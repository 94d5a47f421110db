/* SPDX-License-Identifier: MIT */
/*
 * Format strings of printf() and printa(): parses them and says which types a conversion takes.
 *
 * To add a conversion: a row in fmt.c, its letter in dif/prog.h, its output in render/format.c.
 *
 * Facts    d-language.md 6.3.
 */
#pragma once

#include "d/check/check.h"

/* Parses the text of a string literal; `at` is the span of the literal. NULL after reporting. */
struct prog_fmt *fmt_parse(struct check *c, const char *text, uint32_t len, struct span at);
/* A conversion without flags, width and precision: "%lld" for "%-5lld". Lives in the arena. */
const char *fmt_conv_text(const struct prog_conv *conv, struct arena *a);
/* The words with which messages name the types that a conversion takes. */
const char *fmt_conv_wants(const struct prog_conv *conv);
bool fmt_conv_accepts(const struct prog_conv *conv, const struct types *t, type_id type,
		      enum datum_kind kind);
