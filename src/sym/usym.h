/* SPDX-License-Identifier: MIT */
/*
 * Names in processes: from an address to its mapping, its file, its symbol.
 *
 *     uproc.c   what each process has mapped
 *     ufile.c   the files, and their symbols (image/elfsym.h, image/debugfile.h)
 *     perfmap.c code that a just-in-time compiler in the process has generated
 *
 * Owns     processes, files and names. A name that is returned is valid until what is kept is
 *          bounded again (ufiles_bound_memory()).
 * Errors   false: nothing is known of the address; is_denied, is_forgotten and is_given_up say why.
 * Threads  one.
 */
#pragma once

#include "sym/uproc.h"

struct usyms {
	struct uprocs procs;
	uint64_t time;	/* when the addresses looked up were recorded; UINT64_MAX: unknown */
	bool is_raw;	/* names stay mangled */
	bool is_denied; /* the last lookup failed because we may not read the process or its file */
	/* the last lookup failed because what is known of processes is bounded */
	bool is_forgotten;
	bool is_given_up; /* the last lookup has no name because the names of the file were shed */
};

void usyms_init(struct usyms *u);
void usyms_deinit(struct usyms *u);
/* Finds the object of an address, and its symbol if it has one. */
bool usyms_find(struct usyms *u, uint64_t pid, taddr addr, struct sym_name *ret);
/* Finds the source line; false also if the file has no debug information. */
bool usyms_line(struct usyms *u, uint64_t pid, taddr addr, struct sym_line *ret);
/* Returns where the symbol, or the object, of an address begins; the address if that is unknown. */
taddr usyms_start(struct usyms *u, uint64_t pid, taddr addr, bool of_object);
