/* SPDX-License-Identifier: MIT */
/*
 * Names in processes: from an address to its mapping, its file, its symbol.
 *
 *     uproc.c   what each process has mapped
 *     ufile.c   the files, and their symbols (elfsym.c, debugfile.c)
 *     perfmap.c code that a just-in-time compiler in the process has generated
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
bool usyms_find(struct usyms *u, uint64_t pid, taddr addr, struct sym_name *ret);
bool usyms_line(struct usyms *u, uint64_t pid, taddr addr, struct sym_line *ret);
taddr usyms_start(struct usyms *u, uint64_t pid, taddr addr, bool of_object);
