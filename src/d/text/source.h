/* SPDX-License-Identifier: MIT */
/*
 * Source texts of a session, and where in them something stands.
 *
 * All texts share one range of global offsets. Every token and node carries a span, a global offset
 * and a length; source_locate() turns an offset into file, line, column and the text of its line,
 * and follows `#line`.
 *
 * Owns     copies of the texts, in the arena given to source_map_create().
 */
#pragma once

#include "base/arena.h"

/* The global offset of something outside every text (script arguments); texts begin behind it. */
#define SOURCE_NOWHERE 0u
/* The longest text that source_add() takes: the caller, who reads the file, checks its size. */
#define SOURCE_MAX (256u << 20)

struct span {
	uint32_t off, len; /* bytes; len >= 1 except at end of input */
};

enum source_kind {
	SOURCE_FILE,   /* a script or library file: messages say 'line N' or '"file", line N' */
	SOURCE_STRING, /* -n and friends: messages say 'in action list' or 'in predicate' */
};

struct source {
	enum source_kind kind;
	const char *name; /* as shown; "" for a string */
	const char *text;
	uint32_t len, base; /* base: global offset of text[0] */
	bool is_library;
};

struct source_map;

struct source_map *source_map_create(struct arena *a);
const struct source *source_add(struct source_map *m, enum source_kind kind, const char *name,
				const char *text, size_t len, bool is_library);
/*
 * Called by the lexer for '# N "file"': from the global offset `off` on, lines count from `line`,
 * in the file `file` (NULL: the file stays the same; "": the name of the source itself again).
 */
void source_line_mark(struct source_map *m, uint32_t off, uint32_t line, const char *file);

struct source_loc {
	const struct source *src; /* NULL for SOURCE_NOWHERE */
	const char *file;	  /* as #line names it */
	bool is_marked;		  /* `file` comes from a #line */
	uint32_t line, col;	  /* 1-based; col counts bytes */
	const char *text;	  /* start of the line in the source, whatever #line says */
	uint32_t text_len;
};
struct source_loc source_locate(const struct source_map *m, uint32_t off);
