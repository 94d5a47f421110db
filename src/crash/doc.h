/* SPDX-License-Identifier: MIT */
/*
 * A report that is written in two forms at once: text for people, and JSON.
 *
 * Owns     both texts, until doc_deinit().
 * Errors   none: memory only. Foreign texts are escaped: in the text as base/text.h says, in JSON
 *          also the characters that HTML has a meaning for.
 */
#pragma once

#include "base/str.h"

struct doc {
	struct strbuf text, json;
	bool has_one; /* the open object or list has an element */
};

void doc_deinit(struct doc *d);
/* JSON. name: NULL in lists. */
void doc_open(struct doc *d, const char *name, char bracket);
void doc_close(struct doc *d, char bracket);
void doc_str(struct doc *d, const char *name, const char *text);
void doc_bytes(struct doc *d, const char *name, const char *text, size_t len);
void doc_int(struct doc *d, const char *name, int64_t number);
void doc_addr(struct doc *d, const char *name, uint64_t addr);
void doc_bool(struct doc *d, const char *name, bool is);
/* Text: of the report's own, and a foreign one. */
PRINTF_LIKE(2, 3) void doc_say(struct doc *d, const char *fmt, ...);
void doc_tell(struct doc *d, const char *text, size_t len);
void doc_tells(struct doc *d, const char *text);
