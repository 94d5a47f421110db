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
 * with "[D_IDENT_UNDEF] ".
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "d/source.h"

#define DIAG_MAX 20

enum dtag {
#define D_TAG(name) D_##name,
#include "d/tags.def"
#undef D_TAG
	D_NTAGS
};

/* Where in a clause an error of a string program lies: chooses the words of the location. */
enum diag_where { DIAG_NOWHERE, DIAG_IN_PREDICATE, DIAG_IN_ACTIONS };

/* An error of another room that a tag stands for: its code (err_code()). */
#define DTAG_CODE(tag) (100000 + (int)(tag))

struct diags;

struct diags *diags_create(struct arena *a, struct source_map *map);
PRINTF_LIKE(4, 5)
void diag_error(struct diags *d, enum dtag tag, struct span at, const char *fmt, ...);
/* Adds a hint to the latest error, if there is one. */
PRINTF_LIKE(2, 3) void diag_hint(struct diags *d, const char *fmt, ...);
/* Gives each error without a hint the remedy of its tag. */
void diags_add_remedies(struct diags *d);
void diag_set_where(struct diags *d, enum diag_where where);
uint32_t diags_count(const struct diags *d);
enum dtag diags_first_tag(const struct diags *d); /* only when diags_count() > 0 */
/* Forgets errors after the first n: for trying something that may be retried differently. */
void diags_truncate(struct diags *d, uint32_t n);
/* The message of the first error behind n others, without its place; "" if there is none. */
const char *diags_first_text(const struct diags *d, uint32_t n);
/* Everything, in order of appearance; no trailing newline. */
void diags_format(const struct diags *d, bool errtags, struct strbuf *out);
const char *dtag_name(enum dtag tag);	/* "D_IDENT_UNDEF" */
const char *dtag_remedy(enum dtag tag); /* what helps in general; every tag has one */

/* The candidate nearest to name by edit distance if it is near enough to suggest, else NULL. */
const char *diag_nearest(const char *name, const char *const *candidates, uint32_t n);
