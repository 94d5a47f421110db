/* SPDX-License-Identifier: MIT */
/*
 * Probes that a file has itself (USDT): where their nops are, and whether code in the process can
 * read their arguments.
 *
 * An argument in memory is read without any check, because nothing in the process could bear a
 * fault. That is done where the compiler has put it into the stack frame of the function itself:
 * between the stack pointer and the return address all is mapped, whatever the function does.
 * How large that frame is at the probe's instruction is in .eh_frame.
 */
#include "files/gate.h"
#include "inproc/impl.h"
#include "usdt/note.h"

#define RED_ZONE    128 /* SysV AMD64 ABI 3.2.2: bytes below the stack pointer, which stubs keep */
#define RETURN_SIZE 8	/* bytes of a return address, which lies directly below the CFA */

static int by_address(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

const char *inproc_nops_read(struct inproc_file *f, struct gate_elf *g)
{
	struct usdt_notes notes;
	bool has_more;

	usdt_notes_read(g, &notes);
	has_more = notes.has_more;
	for (uint32_t i = 0; i < notes.list.len; i++)
		vec_push(&f->nops, notes.list.data[i].pc);
	if (f->nops.len)
		qsort(f->nops.data, f->nops.len, sizeof(uint64_t), by_address);
	usdt_notes_deinit(&notes);
	return has_more ? "in a file with more probes of its own than are read" : NULL;
}

static const struct unwind_row *row_find(struct inproc_file *f, uint64_t off)
{
	if (off > UINT32_MAX)
		return NULL;
	if (!f->has_frames) {
		f->has_frames = true;
		f->lazy = unwind_lazy_open(f->opened, GATE_LIMIT_DEFAULT, false);
		if (!f->lazy)
			unwind_rows_read(f->opened, GATE_LIMIT_DEFAULT, NULL, &f->frames);
	}
	return f->lazy ? unwind_lazy_find(f->lazy, (uint32_t)off)
		       : unwind_row_find(&f->frames, (uint32_t)off);
}

static bool counts_from_sp(const struct unwind_row *row)
{
	return row->kind == UNWIND_SP ||
	       (row->kind == UNWIND_CARRY && !(row->reg & UNWIND_CARRY_FP));
}

/* Whether an operand at a distance from the stack pointer is in the function's frame. */
static bool is_in_frame(struct inproc_file *f, const struct inproc_site *s,
			const struct usdt_operand *o)
{
	const struct unwind_row *row = row_find(f, s->off);

	return row && counts_from_sp(row) && o->disp >= -RED_ZONE &&
	       o->disp + o->size <= row->cfa - RETURN_SIZE;
}

const char *inproc_operands_lack(struct inproc_file *f, const struct inproc_site *s, uint32_t args)
{
	for (uint32_t i = 0; s->operands && i < s->operands->n; i++) {
		const struct usdt_operand *o = &s->operands->list[i];

		if (!(args >> i & 1))
			continue;
		switch (native_operand_of(o)) {
		case NATIVE_OPERAND_VALUE: continue;
		case NATIVE_OPERAND_STACK:
			if (is_in_frame(f, s, o))
				continue;
			return "have an argument on the stack that may be of another function";
		case NATIVE_OPERAND_FAR: return "have an argument in memory that the kernel reads";
		}
	}
	return NULL;
}

void inproc_operands_deinit(struct inproc_file *f)
{
	vec_deinit(&f->nops);
	unwind_lazy_close(f->lazy);
	unwind_rows_deinit(&f->frames);
}
