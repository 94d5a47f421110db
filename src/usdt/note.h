/* SPDX-License-Identifier: MIT */
/*
 * Notes about probes in an ELF file (the format stapsdt).
 *
 * Owns     names and texts.
 * Errors   none: of a file that is damaged, the notes that could be read are returned. Nothing in
 *          the file is trusted.
 * Units    addresses as in the file, before it is mapped anywhere.
 * Facts    providers.md 20.6.
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "files/gate.h"

#define USDT_NOTES_MAX 65536 /* notes of one file; HotSpot has some 600 */

struct usdt_note {
	const char *provider, *name; /* name: as D has it, with '-' */
	const char *args;	     /* usdt_operands_parse() */
	uint64_t pc;
	uint64_t counter;     /* address of the word that counts its consumers; 0 = none */
	uint64_t counter_off; /* file offset of that word; 0 = the word is not in the file */
};

struct usdt_notes {
	struct arena *arena;
	VEC(struct usdt_note) list;
	VEC(uint8_t) dof; /* the section .SUNW_dof, or nothing */
	bool is_cut;	  /* some are damaged */
	bool has_more;	  /* there are more than USDT_NOTES_MAX */
};

/* Reads all notes and the DOF of a file. */
void usdt_notes_read(struct gate_elf *g, struct usdt_notes *ret);
/* Reads the DOF only, also of a file without notes. */
void usdt_dof_read(struct gate_elf *g, struct usdt_notes *ret);
void usdt_notes_deinit(struct usdt_notes *n);
