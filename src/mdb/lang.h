/* SPDX-License-Identifier: MIT */
/*
 * The languages of a target: the helpers that apply to it and describe its values.
 *
 * Owns     nothing: all of it is the debugger's.
 * Errors   struct err *: there is no such language, or the word is no value of one.
 */
#pragma once

#include "mdb/impl.h"
#include "mdb/quote.h"

struct lang_form; /* how values with items are written: lang.c */

struct lang {
	const struct helper *h;
	struct process *p;
	uint32_t part;	    /* index of the helper in replays */
	const char *label;  /* "js" */
	const char *self;   /* "this": the receiver of a frame */
	char quote;	    /* around texts */
	text_quote *quoted; /* writes a text; NULL: what `quote` says */
	const struct lang_form *form;
	const char *task,
		*task_id; /* "process", "pid": what runs in it, and the item that has its id */
};

/* The language of that index; false: its values are not described. */
bool lang_at(struct mdb *m, uint32_t part, struct lang *ret);
/* "ruby", "js": as probes have it. */
const char *lang_name(const struct lang *l);
/* Why there is none: what a helper said, or that no helper knows the process. */
MUST_CHECK struct err *lang_missing_err(const struct mdb *m);
/* The language of which the word is a value. */
MUST_CHECK struct err *lang_of_word(struct mdb *m, uint64_t word, struct lang *ret);

/* erlang.c: adds a string, or an atom, which has quotes only if it needs them. */
void erlang_quote(struct strbuf *out, const char *s, size_t len, bool is_atom);
/*
 * The languages of which a census has the objects, by number: the name of one, as probes have it
 * ("js", "python"). NULL behind the last.
 */
const char *census_language(struct mdb *m, uint32_t i);
/* An object that a census has found. */
struct census_object {
	uint64_t word, bytes;
	const char *shape;    /* "Point: x, y" */
	const char *language; /* its number and name */
	uint32_t number;
};
/* *at is 0 before the first call; *ret_is_over: there is none any more. */
MUST_CHECK struct err *census_object_next(struct mdb *m, uint64_t *at, struct census_object *ret,
					  bool *ret_is_over);

/* The text of a frame in its parts: "leaf", and "/srv/obj.js, line 27". */
void lang_frame_split(const char *text, struct strbuf *name, struct strbuf *file);

#define LANG_TOTAL 100000u

/* How a value is written. What would exceed the total is left out, and said to be. */
struct value_style {
	uint32_t depth; /* levels of values in values; 0: only what it is */
	uint64_t items; /* most of one value */
	uint64_t text;	/* most characters of a text */
	uint64_t total; /* most bytes of all that is written; 0: LANG_TOTAL */
	bool is_one_line;
	bool with_addrs; /* of values that have items */
};
/* Adds the member "a.b.0" of a value in one line; false: it has none. */
bool lang_member_add(struct mdb *m, const struct lang *l, uint64_t word, const char *path,
		     struct strbuf *out);
void lang_value_add(struct mdb *m, const struct lang *l, uint64_t word,
		    const struct value_style *style, struct strbuf *out);
/*
 * A value within a line: what it is if it is no more than that; of one that has items, the word and
 * the class, unless the language writes values in a line.
 */
void lang_value_add_short(struct mdb *m, const struct lang *l, uint64_t word, struct strbuf *out);
/* The same of what has been said of an item that has no word. */
void lang_said_add(struct mdb *m, const struct lang *l, const struct value_said *said,
		   const struct value_style *style, struct strbuf *out);

/* census.c: adds the objects of classes of these kinds, if the helper has such. */
MUST_CHECK struct err *census_kind_add(struct mdb *m, uint32_t part, uint32_t kinds,
				       value_words *ret);
/* Adds a value: a text as it is, another value as it is written. False: the word is none. */
bool lang_text_add(struct mdb *m, const struct lang *l, uint64_t word,
		   const struct value_style *style, struct strbuf *out);
/* The same of the member "a.b.0" of a value. False: there is no such member. */
bool lang_member_text_add(struct mdb *m, const struct lang *l, uint64_t word, const char *path,
			  const struct value_style *style, struct strbuf *out);
