/* SPDX-License-Identifier: MIT */
/*
 * Diagnostics: what is wrong with a D program, where, and what to type instead.
 *
 * A message is the reference's text with its D_ tag; it is shown with file, line, column, the
 * source line and a caret. At most DIAG_MAX errors of one compile are kept. A poisoned node
 * (EXPR_BAD, TYPE_ERROR) never causes a second message.
 *
 *     line 3: failed to resolve foo: Unknown variable name
 *       --> x.d:3:11 [D_IDENT_UNDEF]
 *         3 |         trace(foo);
 *           |               ^~~
 *       hint: did you mean 'fob'?
 *
 * The first line is what other DTraces print (d-language.md 3.7); with option errtags it starts
 * with "[D_IDENT_UNDEF] ". A warning has the same form, begins with "warning: ", and is shown only if
 * the program has compiled; it changes nothing.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "d/text/source.h"

#define DIAG_MAX 20

enum dtag {
#define D_TAG(name) D_##name,
#include "d/text/tags.def"
#undef D_TAG
	D_NTAGS
};

/*
 * The part of a clause in which an error lies. A program without a file (-n) has no line numbers:
 * messages say "in predicate" or "in action list" instead.
 */
enum diag_where { DIAG_NOWHERE, DIAG_IN_PREDICATE, DIAG_IN_ACTIONS };

/* The err_code() of an error from outside d/ that is to be reported under a tag. */
#define DTAG_CODE(tag) (100000 + (int)(tag))

struct diags;

struct diags *diags_create(struct arena *a, struct source_map *map);
PRINTF_LIKE(4, 5)
void diag_error(struct diags *d, enum dtag tag, struct span at, const char *fmt, ...);
/* Reports what is allowed and probably wrong; its hint is the remedy of its tag. */
PRINTF_LIKE(4, 5)
void diag_warn(struct diags *d, enum dtag tag, struct span at, const char *fmt, ...);
/* The i-th warning, as diags_format() writes an error; false: there are no more. */
bool diags_format_warning(const struct diags *d, uint32_t i, bool errtags, struct strbuf *out);
/* Adds a hint to the latest error, if there is one. */
PRINTF_LIKE(2, 3) void diag_hint(struct diags *d, const char *fmt, ...);
/* Gives each error without a hint the remedy of its tag. */
void diags_add_remedies(struct diags *d);
void diag_set_where(struct diags *d, enum diag_where where);
uint32_t diags_count(const struct diags *d);
enum dtag diags_first_tag(const struct diags *d); /* only when diags_count() > 0 */
/* Keeps the first n errors: what was tried after them has been given up. */
void diags_truncate(struct diags *d, uint32_t n);
/*
 * Notes whether nobody will see the reports that follow, whose hints, which take long to find, are
 * not wanted then; returns what was noted before.
 */
bool diags_drop(struct diags *d, bool are_dropped);
bool diags_are_dropped(const struct diags *d);
/* The message of the first error behind n others, without location; "" if there is none. */
const char *diags_first_text(const struct diags *d, uint32_t n);
/* All errors, in the order in which they were reported; no trailing newline. */
void diags_format(const struct diags *d, bool errtags, struct strbuf *out);
const char *dtag_name(enum dtag tag);	/* "D_IDENT_UNDEF" */
const char *dtag_remedy(enum dtag tag); /* general advice for the tag; every tag has some */

/* The candidate nearest to name by edit distance if it is near enough to suggest, else NULL. */
const char *diag_nearest(const char *name, const char *const *candidates, uint32_t n);
