/* SPDX-License-Identifier: MIT */
/* How languages write texts: between which quotes, with which escapes. */
#pragma once

#include "base/base.h"

struct strbuf;

/*
 * Adds the text, which is UTF-8, with its quotes. before: what was said in front of it; is_bytes:
 * it was said with one byte a character, and its characters up to U+00FF are these bytes.
 */
typedef void text_quote(struct strbuf *out, const char *s, size_t len, const char *before,
			bool is_bytes);

text_quote ruby_quote, lua_quote, php_quote, perl_quote;
