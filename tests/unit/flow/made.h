/* SPDX-License-Identifier: MIT */
/*
 * Makes ELF files of a few functions: code at CODE, data at DATA, and sections that say something
 * about the code.
 *
 * Owns     a struct made the flow, until made_end().
 */
#pragma once

#include <elf.h>

#include "base/str.h"
#include "flow/flow.h"

#define CODE 0x401000u
#define DATA 0x402000u

struct made {
	Elf64_Half type; /* ET_DYN if it is 0 */
	struct strbuf code, data;
	struct strbuf symbols, names; /* of .symtab; the first one is added by itself */
	struct strbuf eh_frame;	      /* at EH_FRAME */
	struct strbuf rela, relr;
	uint64_t rseq_size; /* so many bytes at the begin of data are __rseq_cs */
	struct flow *flow;
};

#define EH_FRAME 0x403000u

/* Adds code; returns its address. */
uint64_t made_code(struct made *m, const void *bytes, size_t size);
/* Fills up with instructions that are no padding. */
void made_pad(struct made *m, size_t align);
uint64_t made_data(struct made *m, const void *bytes, size_t size);
/* Names so many bytes of code. */
void made_symbol(struct made *m, const char *name, uint64_t addr, uint64_t size);
/* Adds a CIE with this augmentation and an FDE; lsda: 0 where there is no L in it. */
void made_frame(struct made *m, const char *augmentation, uint64_t addr, uint64_t size,
		uint64_t lsda);
void made_rela(struct made *m, uint64_t at, uint64_t value);
/* Writes the file, and reads its control flow. */
MUST_CHECK struct err *made_read(struct made *m);
void made_end(struct made *m);
