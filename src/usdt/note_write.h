/* SPDX-License-Identifier: MIT */
/*
 * Writes the notes of probes (format stapsdt, see header.c) into an object file.
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
void note_section_add(struct elfedit *e, struct note_section *n, const struct note_site *site,
		      uint32_t base);
/* Appends the section to the file, as a member of a group if group is not 0; frees its memory. */
void note_section_finish(struct elfedit *e, struct note_section *n, size_t group);
