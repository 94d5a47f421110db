/* SPDX-License-Identifier: MIT */
/*
 * Inside of image/ehframe.h: what is read of the sections (ehframe.c) is run (ehframe_run.c).
 *
 * Owns     nothing: sections are the file's, rows and FDEs the reader's.
 * Errors   none; entries that are damaged are marked is_bad, or left out.
 */
#pragma once

#include "image/bytes.h"
#include "image/ehframe.h"
#include "image/segments.h"

#define PADDING	 16 /* bytes before a function that only align it and are never executed */
#define GAPS_MAX 64 /* pieces of code without FDEs whose instructions are looked at */

struct frames { /* the section .eh_frame, or .debug_frame if is_debug */
	const uint8_t *data, *end;
	uint64_t addr; /* virtual address of data */
	bool is_debug;
};

struct cie {
	uint64_t off; /* offset of the entry in its section, UINT64_MAX = no CIE was read yet */
	const struct frames *in;
	uint64_t code_align;
	int64_t data_align;
	uint8_t pointers; /* DW_EH_PE_* of addresses in FDEs */
	uint8_t lsda;	  /* the same of where tables of landing pads are */
	bool has_data;	  /* FDEs have augmentation data */
	bool is_signal;
	bool is_bad;
	struct bytes insns;
};

struct fde {
	uint64_t pc, size;
	uint64_t cie;
	const struct frames *in;
	struct bytes insns;
	uint64_t lsda; /* 0: none */
	bool is_signal;
};

struct reader {
	const struct image_pause *pause; /* NULL: none */
	uint32_t nparts;		 /* entries read since the last pause */
	struct frames eh, debug;
	struct cie cie;
	VEC(struct fde) fdes;
	struct image_segments code;
	struct unwind_rows *out;
	uint64_t limit;		/* largest size in bytes of the list of FDEs, and of the rows */
	uint64_t work;		/* bytes of instructions that may still be run */
	uint32_t end_off;	/* file offset behind the code of the last FDE */
	bool is_saved;		/* rows of UNWIND_SAVED are wanted */
	bool needs_carried;	/* a CFA is counted from the carried register */
	bool carries;		/* rows of UNWIND_CARRY are wanted */
	struct gate_file *file; /* NULL: a file in memory */
	uint32_t ngaps;		/* pieces of code without FDEs that may still be looked at */
};

/*
 * Charges for instructions that are about to run; false if the file makes more work than its size
 * justifies.
 */
bool frame_work_take(struct reader *r, uint64_t bytes);
/* Fills r->cie with the CIE whose entry begins at off in the section. */
const struct cie *frame_cie_read(struct reader *r, const struct frames *in, uint64_t off);
/* File offset minus address of the code at [pc, pc + size); false when no segment holds it. */
bool frame_code_find(const struct reader *r, uint64_t pc, uint64_t size, uint64_t *ret);

/* Adds the rows of the code before the first FDE, which begins at pc: _init. */
void frame_begin_run(struct reader *r, uint64_t pc);
/* Adds the rows of an FDE, and of code behind it; the next FDE begins there, UINT64_MAX: none. */
void frame_fde_run(struct reader *r, const struct fde *f, uint64_t next_pc);
/* Ends the rows behind the last function. */
void frame_rows_end(struct reader *r);
