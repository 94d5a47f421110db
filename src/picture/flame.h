/* SPDX-License-Identifier: MIT */
/*
 * Flame graphs: stacks with values are merged to trees of frames, and written as a picture.
 *
 *     page --> sets, one for each table of an aggregation --> rows: frames, and a value
 *
 * A set is encoded when it ends, and its tree is released. What is drawn then, in any browser, is
 * the work of flame.js; a static drawing of the first set is there for viewers without scripts.
 *
 * Limits   frames that are too small for the file's size are left out, and their number is written
 *          below the picture; their values stay in the frames below them. Names of more than 400
 *          bytes are cut, visibly.
 * Owns     everything it was given, as copies.
 */
#pragma once

#include "picture/page.h"

enum frame_kind { /* also the letter before a name in the data of the page */
		  FRAME_KEY = 'r',
		  FRAME_NATIVE = 'n',
		  FRAME_LANGUAGE = 'l',
		  FRAME_KERNEL = 'k',
		  FRAME_CUT = 'x',
};

struct flame_opts {
	bool as_html;
	bool icicle;	    /* the root is the top row */
	bool is_part;	    /* the picture is a part of a page that others begin and end */
	uint32_t max_bytes; /* of the data; 0: 4.5 MB */
};

struct flame_page;
struct flame_page *flame_create(const struct flame_opts *o);
void flame_destroy(struct flame_page *f); /* NULL is allowed */

/* The number of a frame with this name, the same for equal names of a kind. */
uint32_t flame_name(struct flame_page *f, enum frame_kind kind, const char *text, size_t len);

/* The number of a frame of any kind that has the name; else a new one of native code. */
uint32_t flame_name_any(struct flame_page *f, const char *text, size_t len);

/* The text of a name, valid until the next name is made. */
const char *flame_name_text(const struct flame_page *f, uint32_t name, size_t *ret_len);

struct flame_set_info {
	const char *title; /* "@cpu" */
	const char *what;  /* what the widths are: "count" */
	const char *unit;  /* ns, us, ms, bytes, or "" */
	uint64_t when;	   /* ns since 1970; 0: at the end of the run */
	uint32_t nsets;	   /* how many sets share what is left of the file, including this one */
};
void flame_set_begin(struct flame_page *f, const struct flame_set_info *info);
/* Adds a row to the set; value >= 0. is_before: a row of the earlier run, to compare with. */
void flame_add(struct flame_page *f, const uint32_t *names, uint32_t n, int64_t value,
	       bool is_before);
/* The notes of the present set, or of the page when no set has begun. */
struct page_notes *flame_notes(struct flame_page *f);
struct page_notes *flame_page_notes(struct flame_page *f);
void flame_set_end(struct flame_page *f);
uint32_t flame_nsets(const struct flame_page *f);
/* Writes the page, of which a window's title says name; a part of a page has no title. */
void flame_write(struct flame_page *f, const char *name, struct strbuf *out);
