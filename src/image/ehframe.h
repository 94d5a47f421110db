/* SPDX-License-Identifier: MIT */
/*
 * The unwind rows of one ELF file: how to find the caller's frame at each instruction of its code.
 *
 * A row holds from its offset up to that of the next one. Offsets are offsets in the file, because
 * that is what a mapping gives for an address without knowing anything else about the file.
 *
 * Owns     the rows.
 * Errors   none: of a file that is damaged or for another processor, the rows that could be read
 *          are returned, maybe none. Nothing in the file is trusted.
 * Units    bytes.
 * Facts    DWARF 5 6.4 (call frame information), LSB 5 10.6 (.eh_frame).
 */
#pragma once

#include "base/vec.h"
#include "arch/rule.h"
#include "image/pause.h"

/* Where the caller's frame pointer is, as a distance below the CFA. */
#define UNWIND_FP_SAME	0    /* in the register */
#define UNWIND_FP_AT_FP (-1) /* where the frame pointer points to, wherever the CFA is */

#define UNWIND_CARRY_FP 32

struct unwind_row {
	uint32_t off;
	uint8_t kind; /* enum unwind_cfa */
	/*
	 * of UNWIND_REG and UNWIND_IN_REG, a DWARF number; of UNWIND_CARRY, where the carried
	 * register is, and UNWIND_CARRY_FP if the CFA is counted from the frame pointer
	 */
	uint8_t reg;
	int16_t fp;
	/*
	 * of UNWIND_SAVED the registers, as in a rule, without the kind; of UNWIND_SP_DEREF and
	 * UNWIND_FP_DEREF RULE_DEREF()
	 */
	int32_t cfa;
};

struct gate_elf;
struct gate_file;

struct unwind_rows {
	VEC(struct unwind_row) rows; /* ascending; two neighbours differ; the last is UNWIND_NONE */
	uint32_t nfdes, nodd;	     /* functions; rows of them that no rule above can express */
	bool is_cut;		     /* some rows are missing, because of the limit */
};

/*
 * Reads the rows of a file, which the caller keeps. limit bounds the size of each section that
 * is read, and of each table made from it (files/gate.h). pause may be NULL.
 */
void unwind_rows_read(struct gate_file *file, uint64_t limit, const struct image_pause *pause,
		      struct unwind_rows *ret);
/* The same for a file in memory: the vDSO. */
void unwind_rows_read_memory(const void *image, size_t size, struct unwind_rows *ret);
/*
 * The same two functions for rows of the kind UNWIND_SAVED: where the callee-saved registers of the
 * caller are. Few walks need them, so they are rows of their own. UNWIND_NONE: not known.
 */
void unwind_saved_read(struct gate_file *file, uint64_t limit, const struct image_pause *pause,
		       struct unwind_rows *ret);
void unwind_saved_read_memory(const void *image, size_t size, struct unwind_rows *ret);
void unwind_rows_deinit(struct unwind_rows *r);
/* Returns the row that holds at the file offset off; NULL if off is before the first row. */
const struct unwind_row *unwind_row_find(const struct unwind_rows *r, uint32_t off);

/*
 * The same rows, of which only those of the functions are read that are asked about: for few
 * lookups in a large file. The sorted table in .eh_frame_hdr (LSB 5 10.6.2) says where they are.
 */
struct unwind_lazy;
/*
 * Returns NULL if the file has no such table, or .debug_frame as well: then all rows are to be
 * read. is_saved: rows of the kind UNWIND_SAVED.
 */
struct unwind_lazy *unwind_lazy_open(struct gate_file *file, uint64_t limit, bool is_saved);
void unwind_lazy_close(struct unwind_lazy *l); /* NULL is allowed */
/* As unwind_row_find(); the row is valid until unwind_lazy_close(). */
const struct unwind_row *unwind_lazy_find(struct unwind_lazy *l, uint32_t off);

/* What an entry of .eh_frame says of the code that it is for, besides its rows. */
struct unwind_fde {
	uint64_t addr, size;
	uint64_t lsda;	/* address of the table of its landing pads; 0: none */
	bool is_signal; /* a signal handler returns here (the augmentation S) */
};
typedef VEC(struct unwind_fde) unwind_fdes;

/*
 * Adds the entries of .eh_frame in the order of the file, without those that are damaged; false:
 * some are missing because of the limit.
 */
bool unwind_fdes_read(struct gate_elf *g, unwind_fdes *ret);
void unwind_fdes_sort(unwind_fdes *fdes); /* by address */
/* Returns the entry, of sorted ones, that is for the code at an address; NULL: there is none. */
const struct unwind_fde *unwind_fdes_find(const unwind_fdes *fdes, uint64_t addr);

/*
 * Returns the row as a rule (arch/rule.h); UNWIND_NONE if it does not fit into the bits of one.
 */
uint32_t unwind_row_rule(const struct unwind_row *row);
