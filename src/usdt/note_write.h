/* SPDX-License-Identifier: MIT */
/*
 * Writes the notes of probes (format stapsdt) into an object file that is being changed.
 *
 * Owns     a note_section is at first all zero; note_section_finish() frees it.
 * Errors   none here: struct elfedit keeps the first one (elfedit.h).
 * Facts    the layout of a note: note.h. A note says how far the section .stapsdt.base has moved,
 *          so that addresses are right in files that were prelinked.
 */
#pragma once

#include "usdt/elfedit.h"
#include "usdt/usdt.h"

struct note_section {
	struct strbuf bytes;
	elfedit_relocs relocs;
};

/* Where the instruction of a probe is, and what the note says about it. */
struct note_site {
	const struct usdt_provider *provider;
	const struct usdt_probe *probe;
	uint32_t symbol; /* of the code, and the distance from it */
	int64_t off;
	uint32_t counter;	/* symbol */
	uint32_t stack_of_args; /* the offset from the stack pointer of the first argument there */
};

/*
 * Returns the symbol of the byte that all notes refer to, which is in a section of its own; it is
 * appended if the file does not have it.
 */
uint32_t note_base_symbol(struct elfedit *e);
/* Appends the note of one site. base: what note_base_symbol() has returned. */
void note_section_add(struct elfedit *e, struct note_section *n, const struct note_site *site,
		      uint32_t base);
/* Appends the section to the file, as a member of a group if group is not 0; frees its memory. */
void note_section_finish(struct elfedit *e, struct note_section *n, size_t group);
