/* SPDX-License-Identifier: MIT */
/*
 * A function of a language: its name, its place, where its source is.
 *
 * Owns     what is read, until function_free() and sources_free().
 * Errors   none: what a runtime does not know is empty.
 */
#pragma once

#include "base/hashmap.h"
#include "mdb/lang.h"

/* The lines of sources that were met; zero-initialised. */
struct sources {
	struct hashmap *by_word;
	uint64_t nread; /* bytes */
};
void sources_free(struct sources *all);

struct function {
	struct strbuf name, file;
	int64_t line;	/* 0: not known */
	int64_t before; /* lines of the file before its source */
	bool has_source, has_extent;
	uint64_t source;     /* the word of the text */
	uint64_t begin, end; /* characters of the source */
};
/* all: NULL, or where lines are counted. False: the word is no function; *ret is to be freed. */
bool function_read(struct sources *all, const struct lang *l, uint64_t word, struct function *ret);
/* Sets the line to that of a character of the source, if the source is there. */
void function_line_at(struct sources *all, const struct lang *l, struct function *f, uint64_t unit);
void function_free(struct function *f);
/* Adds "/srv/app.js line 27". */
void function_place_add(const struct function *f, struct strbuf *out);
