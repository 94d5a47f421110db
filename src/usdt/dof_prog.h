/* SPDX-License-Identifier: MIT */
/*
 * Ustack helpers as DOF: what programs carry that were linked with an object of dtrace -G.
 *
 * An image has a section ECBDESC for each clause, which leads to its description, its predicate and
 * its actions, and to the DIF of these. DTrace's own actions there are expressions only (kind
 * DIFEXPR); the other actions of our helpers have kinds of their own, and other systems refuse an
 * image that has them. An action with several arguments has an ACTDESC for each, of which the first
 * gives their number. uarg is the line in the text of the helper; the section COMMENTS names that
 * text.
 *
 * Programs are not trusted: after reading, each DIF object has passed difo_verify(), uses registers
 * below DOF_PROG_REGS, and none before it has a value; jumps and loops lead to where the compiler's
 * could lead; and everything is bounded. What a helper may do with all that is checked when it is
 * translated (helper/hcode.h).
 *
 * Owns     nothing: all memory is the caller's arena.
 * Errors   struct err *: an image that is damaged, too large, or needs what is not there.
 * Facts    d-language.md 12.2, 12.3.
 */
#pragma once

#include "dif/prog.h"
#include "usdt/dof.h"

#define DOF_PROG_REGS 27
#define DOF_PROG_SIZE (1u << 20) /* bytes of the images of a file at most */

/* Spans of clauses and actions are lines of the text. */
struct dof_prog {
	const char *file; /* what the text is called; NULL: unknown */
	struct prog prog;
	struct prog_vars vars; /* what the clauses use */
};

/* The line of a span of a program that is written. */
typedef uint32_t dof_line_fn(void *ctx, uint32_t span);

/* Adds an image that has the clauses, which have passed the check of a helper. */
void dof_prog_write(struct prog_clause *const *clauses, uint32_t n, const char *file,
		    dof_line_fn *line, void *ctx, struct dof_image *out);
/* Whether some image has clauses, which may be damaged, or of no helper. */
bool dof_has_clauses(const uint8_t *bytes, size_t size);
/* Reads the helpers of all images, one for each image that has clauses; there may be none. */
MUST_CHECK struct err *dof_progs_read(const uint8_t *bytes, size_t size, struct arena *a,
				      struct dof_prog **ret, uint32_t *ret_n);
