/* SPDX-License-Identifier: MIT */
/*
 * What all pictures share: text that is safe in a page, the facts that a page tells, the begin and
 * the end of a file.
 *
 * A picture is one file, SVG or HTML, that refers to nothing outside: style and script are embedded
 * when Fathom is built (tools/embed_text.py), and data stands in elements of type application/json,
 * which no browser executes.
 *
 * Safety   names come from traced processes. As JSON they have no '<', '>' or '&', so that they can
 *          neither end their element nor begin another one; as text they are escaped. A page of
 *          HTML has a policy that lets a browser run our scripts only, which it knows by hash.
 */
#pragma once

#include "base/str.h"
#include "base/vec.h"

/* A file of src/picture/ in the program; hash is that of its bytes, as policies write it. */
struct picture_file {
	const char *text, *hash;
	size_t len;
};
extern const struct picture_file picture_flame_js, picture_flame_css, picture_heat_js,
	picture_heat_css, picture_report_js, picture_report_css;

/* Adds text as content or attribute value of XML and HTML; what XML forbids becomes U+FFFD. */
void page_text(struct strbuf *o, const char *text, size_t len);
void page_texts(struct strbuf *o, const char *text);
/* Adds a string of JSON that may stand in an element of a page. */
void page_json(struct strbuf *o, const char *text, size_t len);
void page_jsons(struct strbuf *o, const char *text);

/* A sentence below a picture; bad: something is missing or was lost. */
struct page_note {
	char *text;
	bool bad;
};
#define PAGE_NOTES 50 /* kept; further ones are counted */

struct page_notes {
	VEC(struct page_note) list;
	uint64_t nmore;
};
PRINTF_LIKE(3, 4) void page_note(struct page_notes *n, bool bad, const char *fmt, ...);
void page_notes_deinit(struct page_notes *n);
/* Adds the notes as a JSON array. */
void page_notes_json(struct strbuf *o, const struct page_notes *n);

/* What a page tells of its session. */
struct page_facts {
	uint64_t began; /* ns since 1970 */
	char host[65], kernel[65], machine[65];
};
void page_facts_init(struct page_facts *f);
/* Adds how long the session has lasted. */
void page_duration(struct strbuf *o, const struct page_facts *f);
/* Adds "host, 2026-01-31 12:00:00 UTC, 10.0 s". */
void page_facts_add(struct strbuf *o, const struct page_facts *f);
/* Adds a time of day, in UTC. */
void page_time(struct strbuf *o, uint64_t ns_since_1970);
void page_date(struct strbuf *o, uint64_t ns_since_1970);

/*
 * The frame of a file with one picture. style, script: what the picture needs; as_html: HTML with
 * an svg element, else SVG. The caller adds the static drawing behind page_begin(), and the data
 * behind page_data_begin().
 */
void page_begin(struct strbuf *o, bool as_html, const char *title, const struct picture_file *style,
		const struct picture_file *script, uint32_t width, uint32_t height);
void page_data_begin(struct strbuf *o, bool as_html, const char *kind);
void page_end(struct strbuf *o, bool as_html, const struct picture_file *script);
/* Begins a page of HTML, up to the begin of its body; only these scripts may run in it. */
void page_html_begin(struct strbuf *o, const char *title, const struct picture_file *const *styles,
		     size_t nstyles, const struct picture_file *const *scripts, size_t nscripts);
/* Adds elements with a style or a script. */
void page_style(struct strbuf *o, const struct picture_file *style);
void page_script(struct strbuf *o, const struct picture_file *script);
