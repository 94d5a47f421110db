/* SPDX-License-Identifier: MIT */
/*
 * Unwind rows from .eh_frame, or .debug_frame for code that has only that (Go; C that is compiled
 * without exceptions in mind).
 *
 * .eh_frame is a list of entries. A CIE says what a group of functions has in common, an FDE which
 * code it covers (function foo at 0x1139, 0x18 bytes) and then, as a small program, how the
 * caller's registers are found in it, here on x86-64:
 *
 *     00000020 FDE cie=00000000 pc=1139..1151             rows (CFA, rbp):
 *       DW_CFA_def_cfa: rsp+8; offset: ra at cfa-8   (CIE)   1139  rsp+8   same
 *       DW_CFA_advance_loc: 1 to 113a
 *       DW_CFA_def_cfa_offset: 16                            113a  rsp+16  at cfa-16
 *       DW_CFA_offset: rbp at cfa-16
 *       DW_CFA_advance_loc: 3 to 113d
 *       DW_CFA_def_cfa_register: rbp                         113d  rbp+16  at cfa-16
 *       DW_CFA_advance_loc: 19 to 1150
 *       DW_CFA_def_cfa: rsp+8                                1150  rsp+8   at cfa-16
 *
 * These programs are run here, once a file, and only what a walk needs is kept: the CFA, and the
 * frame pointer, on which the CFAs of callers depend. Other callee-saved registers, which the
 * helpers of some languages want in outer frames, are in rows of their own (unwind_saved_read()).
 *
 * The return address is where the processor's convention has it in all code that was called
 * (arch_unwind.ra_off); a rule that says otherwise makes the row UNWIND_NONE.
 */
#include "image/ehframe.h"

#include <dwarf.h>

#include "arch/arch.h"
#include "files/gate.h"
#include "image/nocfi.h"
#include "image/segments.h"

#define STATES_MAX	 16  /* DW_CFA_remember_state */
#define PART		 256 /* entries that are read between two calls of struct image_pause */
#define PADDING		 16  /* bytes before a function that only align it and are never executed */
#define GAPS_MAX	 64  /* pieces of code without FDEs whose instructions are looked at */
#define AUGMENTATION_MAX 16  /* letters; real ones have up to five */
/* the largest distance to the CFA in a rule of UNWIND_CARRY, which has 14 bits for words */
#define CARRY_CFA_MAX (8 * ((1 << 13) - 1))
/*
 * Bytes of instructions that may be run, as a multiple of the sections' size. A hostile file can
 * let all its entries share one long CIE, whose instructions run again for each entry.
 */
#define WORK_FACTOR 64
#define WORK_MIN    ((uint64_t)1 << 20)

/* ---- reading bytes that are not trusted ---------------------------------------------------- */

/* A read beyond the end returns zeros and sets is_bad. */
struct bytes {
	const uint8_t *p, *end;
	bool is_bad;
};

static uint64_t get_fixed(struct bytes *b, uint32_t size)
{
	uint64_t v = 0;

	if ((size_t)(b->end - b->p) < size) {
		b->is_bad = true;
		b->p = b->end;
		return 0;
	}
	memcpy(&v, b->p, size); /* little-endian, like us */
	b->p += size;
	return v;
}

static uint8_t get_u8(struct bytes *b)
{
	return (uint8_t)get_fixed(b, 1);
}

static uint64_t get_uleb(struct bytes *b)
{
	uint64_t v = 0;
	uint8_t byte;

	for (uint32_t shift = 0;; shift += 7) {
		byte = get_u8(b);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
}

static int64_t get_sleb(struct bytes *b)
{
	uint64_t v = 0;
	uint32_t shift = 0;
	uint8_t byte;

	do {
		byte = get_u8(b);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && (byte & 0x40))
		v |= UINT64_MAX << shift;
	return (int64_t)v;
}

static void bytes_skip(struct bytes *b, uint64_t n)
{
	if (n > (uint64_t)(b->end - b->p)) {
		b->is_bad = true;
		n = (uint64_t)(b->end - b->p);
	}
	b->p += n;
}

/* Returns the next n bytes as a block of its own, and moves b behind them. */
static struct bytes get_block(struct bytes *b, uint64_t n)
{
	struct bytes block = {.p = b->p};

	bytes_skip(b, n);
	block.end = b->p;
	return block;
}

/* ---- the section -------------------------------------------------------------------------- */

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
 * Reads an address encoded as form (DW_EH_PE_*); DW_EH_PE_indirect, datarel and the like do not
 * occur for code.
 */
static uint64_t get_pointer(const struct frames *in, struct bytes *b, uint8_t form, bool is_size)
{
	uint64_t at = in->addr + (uint64_t)(b->p - in->data), v;

	switch (form & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8: v = get_fixed(b, 8); break;
	case DW_EH_PE_udata4: v = get_fixed(b, 4); break;
	case DW_EH_PE_udata2: v = get_fixed(b, 2); break;
	case DW_EH_PE_sdata4: v = (uint64_t)(int64_t)(int32_t)get_fixed(b, 4); break;
	case DW_EH_PE_sdata2: v = (uint64_t)(int64_t)(int16_t)get_fixed(b, 2); break;
	case DW_EH_PE_uleb128: v = get_uleb(b); break;
	case DW_EH_PE_sleb128: v = (uint64_t)get_sleb(b); break;
	default: b->is_bad = true; return 0;
	}
	if (!is_size && (form & 0x70) == DW_EH_PE_pcrel)
		v += at;
	return v;
}

/* Returns the bytes of the next entry behind its length; false at the end of the list. */
static bool entry_next(struct bytes *b, struct bytes *ret)
{
	uint64_t len;

	if (b->end - b->p < 4)
		return false;
	len = get_fixed(b, 4);
	if (len == UINT32_MAX)
		len = get_fixed(b, 8);
	if (len == 0 || b->is_bad)
		return false;
	*ret = get_block(b, len);
	return !b->is_bad;
}

static void cie_augmentation(struct cie *c, const char *aug, struct bytes *b)
{
	if (*aug != 'z') {
		c->is_bad |= *aug != '\0';
		return;
	}
	c->has_data = true;
	(void)get_uleb(b); /* the length of the data, which follows from the letters */
	for (aug++; *aug && !b->is_bad; aug++) {
		switch (*aug) {
		case 'R': c->pointers = get_u8(b); break;
		case 'L': (void)get_u8(b); break;
		case 'P': (void)get_pointer(c->in, b, get_u8(b), true); break;
		case 'S': c->is_signal = true; break;
		default: c->is_bad = true; return;
		}
	}
}

/*
 * Accepts versions 1 and 3, and in .debug_frame 4, which adds the sizes of addresses and of segment
 * selectors.
 */
static bool is_version_good(const struct frames *in, uint8_t version, struct bytes *b)
{
	if (in->is_debug && version == 4)
		return get_u8(b) == 8 && get_u8(b) == 0;
	return version == 1 || version == 3;
}

/*
 * Charges for instructions that are about to run; false if the file makes more work than its size
 * justifies.
 */
static bool work_take(struct reader *r, uint64_t bytes)
{
	if (bytes > r->work) {
		r->out->is_cut = true;
		return false;
	}
	r->work -= bytes;
	return true;
}

/* Fills r->cie with the CIE whose entry begins at off in the section. */
static const struct cie *cie_read(struct reader *r, const struct frames *in, uint64_t off)
{
	struct bytes b = {.p = in->data, .end = in->end}, e;
	struct cie *c = &r->cie;
	const uint8_t *header;
	const char *aug;
	uint8_t version;

	if (c->off == off && c->in == in)
		return c;
	*c = (struct cie){.off = off, .in = in, .pointers = DW_EH_PE_absptr};
	bytes_skip(&b, off);
	if (b.is_bad || !entry_next(&b, &e) ||
	    get_fixed(&e, 4) != (in->is_debug ? UINT32_MAX : 0)) {
		c->is_bad = true;
		return c;
	}
	version = get_u8(&e);
	aug = (const char *)e.p;
	bytes_skip(&e, strnlen(aug, MIN((size_t)(e.end - e.p), AUGMENTATION_MAX)) + 1);
	if (e.is_bad || e.p[-1] != '\0' || !is_version_good(in, version, &e)) {
		c->is_bad = true;
		return c;
	}
	header = e.p;
	c->code_align = get_uleb(&e);
	c->data_align = get_sleb(&e);
	c->is_bad = (version == 1 ? get_u8(&e) : get_uleb(&e)) != arch.unwind.ra;
	cie_augmentation(c, aug, &e);
	c->is_bad |= e.is_bad || !work_take(r, (uint64_t)(e.p - header));
	c->insns = e;
	return c;
}

/* File offset minus address of the code at [pc, pc + size); false when no segment holds it. */
static bool code_find(const struct reader *r, uint64_t pc, uint64_t size, uint64_t *ret)
{
	const struct image_segment *s = segments_at(&r->code, pc, size);

	if (s)
		*ret = s->off - s->addr;
	return s;
}

static void fde_read(struct reader *r, const struct frames *in, struct bytes *e, uint64_t cie_off)
{
	const struct cie *c = cie_read(r, in, cie_off);
	struct fde f = {.cie = cie_off, .in = in};
	uint64_t off;

	if (c->is_bad)
		return;
	f.pc = get_pointer(in, e, c->pointers, false);
	f.size = get_pointer(in, e, c->pointers, true);
	if (c->has_data)
		bytes_skip(e, get_uleb(e));
	f.insns = *e;
	/*
	 * .debug_frame also has entries for functions that the linker has dropped; no segment holds
	 * those.
	 */
	if (e->is_bad || !f.size || f.pc + f.size <= f.pc || !code_find(r, f.pc, f.size, &off))
		return;
	if (r->fdes.len < r->limit / sizeof(f))
		vec_push(&r->fdes, f);
	else
		r->out->is_cut = true;
}

static void part_done(struct reader *r)
{
	if (++r->nparts < PART)
		return;
	r->nparts = 0;
	image_pause_run(r->pause);
}

/*
 * The word behind an entry's length is the distance back to the CIE in .eh_frame, and the CIE's
 * offset in .debug_frame.
 */
static void entries_read(struct reader *r, const struct frames *in)
{
	struct bytes b = {.p = in->data, .end = in->end}, e;

	while (entry_next(&b, &e)) {
		uint64_t at = (uint64_t)(e.p - in->data), cie = get_fixed(&e, 4);

		part_done(r);
		if (e.is_bad)
			continue;
		if (in->is_debug && cie != UINT32_MAX)
			fde_read(r, in, &e, cie);
		else if (!in->is_debug && cie && cie <= at)
			fde_read(r, in, &e, at - cie);
	}
}

/* ---- the programs ------------------------------------------------------------------------- */

enum rule { CFI_SAME, CFI_OFFSET, CFI_AT_FP, CFI_REGISTER, CFI_UNDEFINED, CFI_ODD };

struct saved {
	enum rule rule;
	/* CFI_OFFSET: from the CFA; CFI_AT_FP: from fp; CFI_REGISTER: number of the register */
	int64_t off;
};

struct state {
	uint64_t reg;
	int64_t off;
	struct bytes expr; /* the CFA when p is not NULL */
	struct saved fp, ra;
	uint32_t regs; /* other callee-saved registers, as the member cfa of UNWIND_SAVED */
};

struct machine {
	struct reader *r;
	const struct cie *cie;
	uint64_t pc;
	struct state s, initial, states[STATES_MAX];
	uint32_t nstates;
	bool is_bad;
	uint64_t off; /* file offset minus address, modulo 2^64 */
};

/*
 * True if the expression is DW_OP_bregREG with any offset, then the operators of tail, and nothing
 * else.
 */
static bool is_breg(struct bytes b, uint8_t reg, int64_t *ret_off, const uint8_t *tail, size_t len)
{
	if (get_u8(&b) != DW_OP_breg0 + reg)
		return false;
	*ret_off = get_sleb(&b);
	return !b.is_bad && (size_t)(b.end - b.p) == len && (!len || memcmp(b.p, tail, len) == 0);
}

static enum unwind_cfa expr_kind(const struct machine *m, int64_t *ret_off)
{
	static const uint8_t deref[] = {DW_OP_deref};
	static const uint8_t deref_8[] = {DW_OP_deref, DW_OP_plus_uconst, 8};
	const struct bytes *b = &m->s.expr;

	if (arch.unwind.is_plt_expr &&
	    arch.unwind.is_plt_expr(b->p, (size_t)(b->end - b->p), ret_off))
		return UNWIND_PLT;
	if (is_breg(*b, arch.unwind.fp, ret_off, deref, sizeof(deref)))
		return UNWIND_FP_DEREF;
	if (is_breg(*b, arch.unwind.sp, ret_off, deref_8, sizeof(deref_8)))
		return UNWIND_SP_DEREF;
	if (m->cie->is_signal && is_breg(*b, arch.unwind.sp, ret_off, deref, sizeof(deref)) &&
	    *ret_off == arch.unwind.signal_sp)
		return UNWIND_SIGNAL;
	return UNWIND_NONE;
}

static bool fp_rule(const struct saved *s, int16_t *ret)
{
	switch (s->rule) {
	case CFI_SAME:
	case CFI_UNDEFINED: *ret = UNWIND_FP_SAME; return true;
	case CFI_AT_FP: *ret = UNWIND_FP_AT_FP; return true;
	case CFI_OFFSET: *ret = (int16_t)-s->off; return s->off < 0 && s->off >= INT16_MIN + 1;
	case CFI_REGISTER:
	case CFI_ODD: break;
	}
	return false;
}

/* True if the return address is in a register, maybe in that in which the call left it. */
static bool is_ra_in_register(const struct saved *ra, int64_t *ret_reg)
{
	*ret_reg = ra->rule == CFI_SAME ? (int64_t)arch.unwind.ra : ra->off;
	return ra->rule == CFI_REGISTER || (ra->rule == CFI_SAME && arch.unwind.has_link);
}

/* The return address is in a register: the walk knows one if nothing else is unusual. */
static struct unwind_row in_reg_row(const struct machine *m, enum unwind_cfa kind, int64_t off,
				    int64_t reg)
{
	if (kind != UNWIND_SP || m->s.fp.rule != CFI_SAME || off < 0 || off > INT16_MAX ||
	    reg >= (int64_t)arch.unwind.nregs)
		return (struct unwind_row){.kind = UNWIND_NONE};
	return (struct unwind_row){.kind = UNWIND_IN_REG, .reg = (uint8_t)reg, .cfa = (int32_t)off};
}

/* True if the return address is in memory, where walks look for it. */
static bool is_ra_where_expected(const struct state *s)
{
	if (s->ra.rule != CFI_OFFSET)
		return false;
	if (arch.unwind.ra_off)
		return s->ra.off == arch.unwind.ra_off;
	return s->fp.rule == CFI_OFFSET && s->ra.off == s->fp.off + 8;
}

static struct unwind_row state_row(const struct machine *m)
{
	struct unwind_row row = {.kind = UNWIND_NONE};
	int64_t off = m->s.off, reg;
	enum unwind_cfa kind = m->s.expr.p		    ? expr_kind(m, &off)
			       : m->s.reg == arch.unwind.sp ? UNWIND_SP
			       : m->s.reg == arch.unwind.fp ? UNWIND_FP
							    : UNWIND_REG;

	if (m->s.ra.rule == CFI_UNDEFINED) {
		row.kind = UNWIND_END;
		return row;
	}
	if (kind == UNWIND_SIGNAL) {
		row.kind = UNWIND_SIGNAL;
		return row;
	}
	if (is_ra_in_register(&m->s.ra, &reg))
		return in_reg_row(m, kind, off, reg);
	if (!is_ra_where_expected(&m->s) || off < INT32_MIN || off > INT32_MAX ||
	    m->s.reg >= arch.unwind.nregs || !fp_rule(&m->s.fp, &row.fp))
		return (struct unwind_row){.kind = UNWIND_NONE};
	row.kind = (uint8_t)kind;
	row.reg = kind == UNWIND_REG ? (uint8_t)m->s.reg : 0;
	row.cfa = (int32_t)off;
	return row;
}

static bool is_same_rule(const struct unwind_row *a, const struct unwind_row *b)
{
	return a->kind == b->kind && a->reg == b->reg && a->fp == b->fp && a->cfa == b->cfa;
}

static void row_add(struct reader *r, struct unwind_row row)
{
	struct unwind_rows *out = r->out;

	if (out->rows.len && row.off < vec_last(&out->rows)->off)
		return; /* segments out of order: rows must be ascending */
	if (out->rows.len && vec_last(&out->rows)->off == row.off)
		out->rows.len--;
	if (out->rows.len ? is_same_rule(vec_last(&out->rows), &row) : row.kind == UNWIND_NONE)
		return;
	if (out->rows.len < r->limit / sizeof(row))
		vec_push(&out->rows, row);
	else
		out->is_cut = true;
}

/* Makes of a row one that also says where the carried register is, if a rule has room for that. */
static void row_carry(const struct machine *m, struct unwind_row *row)
{
	uint32_t i = arch.unwind.saved[arch.unwind.carried] - 1u;
	uint32_t where = m->s.regs >> 5 * i & 31;

	if ((row->kind != UNWIND_SP && row->kind != UNWIND_FP) || where == RULE_SAVED_LOST ||
	    row->cfa < -CARRY_CFA_MAX || row->cfa > CARRY_CFA_MAX)
		return;
	row->reg = (uint8_t)(where | (row->kind == UNWIND_FP ? UNWIND_CARRY_FP : 0));
	row->kind = UNWIND_CARRY;
}

/* Adds a row: the present state holds from m->pc on. */
static void row_emit(struct machine *m)
{
	struct unwind_row row = state_row(m);

	m->r->out->nodd += row.kind == UNWIND_NONE;
	m->r->needs_carried |= row.kind == UNWIND_REG && row.reg == arch.unwind.carried;
	if (m->r->carries)
		row_carry(m, &row);
	if (m->r->is_saved && row.kind != UNWIND_NONE)
		row = (struct unwind_row){.kind = UNWIND_SAVED, .cfa = (int32_t)m->s.regs};
	row.off = (uint32_t)(m->pc + m->off);
	row_add(m->r, row);
}

static void pc_advance(struct machine *m, uint64_t delta, uint64_t end)
{
	delta *= m->cie->code_align;
	if (delta == 0)
		return;
	if (delta > end - m->pc) {
		m->is_bad = true;
		return;
	}
	row_emit(m);
	m->pc += delta;
	m->is_bad |= m->pc == end; /* further instructions would describe no code */
}

/* How a rule (arch/rule.h) says where a callee-saved register is. */
static uint32_t saved_bits(enum rule rule, int64_t off)
{
	int64_t words = -(off / 8);

	if (rule == CFI_SAME)
		return 0;
	if (rule == CFI_OFFSET && off % 8 == 0 && words >= 1 && words <= RULE_SAVED_FAR)
		return (uint32_t)words;
	if (rule == CFI_AT_FP && off % 8 == 0 && words >= 1 &&
	    words < RULE_SAVED_LOST - RULE_SAVED_FAR)
		return RULE_SAVED_FAR + (uint32_t)words;
	return RULE_SAVED_LOST;
}

/* The bits of a callee-saved register in state.regs; 0: it is none. */
static uint32_t saved_mask(uint64_t reg, uint32_t *ret_shift)
{
	uint32_t i = reg < arch.unwind.nregs ? arch.unwind.saved[reg] : 0;

	*ret_shift = i ? 5 * (i - 1) : 0;
	return i ? 31u << *ret_shift : 0;
}

static void rule_set(struct machine *m, uint64_t reg, enum rule rule, int64_t off)
{
	struct saved s = {rule, off};
	uint32_t shift, mask;

	if (reg == arch.unwind.fp) {
		m->s.fp = rule == CFI_AT_FP && off ? (struct saved){CFI_ODD, 0} : s;
		return;
	}
	if (reg == arch.unwind.ra) {
		m->s.ra = s;
		return;
	}
	mask = saved_mask(reg, &shift);
	if (mask)
		m->s.regs = (m->s.regs & ~mask) | saved_bits(rule, off) << shift;
}

static void saved_restore(struct machine *m, uint64_t reg)
{
	uint32_t shift, mask = saved_mask(reg, &shift);

	m->s.regs = (m->s.regs & ~mask) | (m->initial.regs & mask);
}

static void rule_restore(struct machine *m, uint64_t reg)
{
	if (reg == arch.unwind.fp)
		m->s.fp = m->initial.fp;
	else if (reg == arch.unwind.ra)
		m->s.ra = m->initial.ra;
	else
		saved_restore(m, reg);
}

static void rule_expr(struct machine *m, struct bytes *b)
{
	uint64_t reg = get_uleb(b);
	struct bytes expr = get_block(b, get_uleb(b));
	int64_t off;

	if (is_breg(expr, arch.unwind.fp, &off, NULL, 0))
		rule_set(m, reg, CFI_AT_FP, off);
	else
		rule_set(m, reg, CFI_ODD, 0);
}

static void cfa_set(struct machine *m, uint64_t reg, int64_t off)
{
	m->s.reg = reg;
	m->s.off = off;
	m->s.expr.p = NULL;
}

static void state_restore(struct machine *m)
{
	if (m->nstates == 0)
		m->is_bad = true;
	else
		m->s = m->states[--m->nstates];
}

static void state_remember(struct machine *m)
{
	if (m->nstates == STATES_MAX)
		m->is_bad = true;
	else
		m->states[m->nstates++] = m->s;
}

/* Runs an instruction whose operands follow the opcode, instead of being part of it. */
static void insn_run(struct machine *m, struct bytes *b, uint8_t op, uint64_t end)
{
	int64_t align = m->cie->data_align;
	uint64_t reg, from;

	switch (op) {
	case DW_CFA_nop: return;
	case DW_CFA_advance_loc1: pc_advance(m, get_fixed(b, 1), end); return;
	case DW_CFA_advance_loc2: pc_advance(m, get_fixed(b, 2), end); return;
	case DW_CFA_advance_loc4: pc_advance(m, get_fixed(b, 4), end); return;
	case DW_CFA_def_cfa:
		reg = get_uleb(b);
		cfa_set(m, reg, (int64_t)get_uleb(b));
		return;
	case DW_CFA_def_cfa_sf:
		reg = get_uleb(b);
		cfa_set(m, reg, (int64_t)((uint64_t)get_sleb(b) * (uint64_t)align));
		return;
	case DW_CFA_def_cfa_register: cfa_set(m, get_uleb(b), m->s.off); return;
	case DW_CFA_def_cfa_offset: m->s.off = (int64_t)get_uleb(b); return;
	case DW_CFA_def_cfa_offset_sf:
		m->s.off = (int64_t)((uint64_t)get_sleb(b) * (uint64_t)align);
		return;
	case DW_CFA_def_cfa_expression: m->s.expr = get_block(b, get_uleb(b)); return;
	case DW_CFA_undefined: rule_set(m, get_uleb(b), CFI_UNDEFINED, 0); return;
	case DW_CFA_same_value: rule_set(m, get_uleb(b), CFI_SAME, 0); return;
	case DW_CFA_offset_extended:
		reg = get_uleb(b);
		rule_set(m, reg, CFI_OFFSET, (int64_t)(get_uleb(b) * (uint64_t)align));
		return;
	case DW_CFA_offset_extended_sf:
		reg = get_uleb(b);
		rule_set(m, reg, CFI_OFFSET, (int64_t)((uint64_t)get_sleb(b) * (uint64_t)align));
		return;
	case DW_CFA_GNU_negative_offset_extended:
		reg = get_uleb(b);
		rule_set(m, reg, CFI_OFFSET, -(int64_t)(get_uleb(b) * (uint64_t)align));
		return;
	case DW_CFA_restore_extended: rule_restore(m, get_uleb(b)); return;
	case DW_CFA_register:
		reg = get_uleb(b);
		from = get_uleb(b);
		rule_set(m, reg, CFI_REGISTER, (int64_t)MIN(from, (uint64_t)INT32_MAX));
		return;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		reg = get_uleb(b);
		(void)get_uleb(b);
		rule_set(m, reg, CFI_ODD, 0);
		return;
	case DW_CFA_expression: rule_expr(m, b); return;
	case DW_CFA_val_expression:
		reg = get_uleb(b);
		bytes_skip(b, get_uleb(b));
		rule_set(m, reg, CFI_ODD, 0);
		return;
	case DW_CFA_remember_state: state_remember(m); return;
	case DW_CFA_restore_state: state_restore(m); return;
	case DW_CFA_GNU_args_size: (void)get_uleb(b); return;
	default: m->is_bad = true; return;
	}
}

static void insns_run(struct machine *m, struct bytes b, uint64_t end)
{
	m->is_bad |= !work_take(m->r, (uint64_t)(b.end - b.p));
	while (b.p < b.end && !b.is_bad && !m->is_bad) {
		uint8_t op = get_u8(&b), low = op & 0x3f;

		switch (op & 0xc0) {
		case DW_CFA_advance_loc: pc_advance(m, low, end); break;
		case DW_CFA_offset:
			rule_set(m, low, CFI_OFFSET,
				 (int64_t)(get_uleb(&b) * (uint64_t)m->cie->data_align));
			break;
		case DW_CFA_restore: rule_restore(m, low); break;
		default: insn_run(m, &b, op, end); break;
		}
	}
}

/*
 * Adds rows for code between two addresses of which no FDE tells, if its instructions do. `off`:
 * file offset minus address.
 */
static bool gap_run(struct reader *r, uint64_t from, uint64_t to, uint64_t off)
{
	uint8_t code[NOCFI_SIZE_MAX];
	nocfi_rows rows = {0};
	uint64_t size = to - from;
	bool is_followed;

	if (!r->file || r->is_saved || size > sizeof(code) || !r->ngaps || from + off >= UINT32_MAX)
		return false;
	r->ngaps--;
	is_followed = gate_file_read(r->file, code, size, from + off) == (ssize_t)size &&
		      nocfi_rows_add(code, (uint32_t)size, &rows);
	for (uint32_t i = 0; i < rows.len; i++) {
		rows.data[i].off += (uint32_t)(from + off);
		row_add(r, rows.data[i]);
	}
	vec_deinit(&rows);
	return is_followed;
}

/* The code before the first FDE: _init. */
static void begin_run(struct reader *r, uint64_t pc)
{
	const struct image_segment *s = segments_at(&r->code, pc, 1);

	if (s && pc > s->addr)
		(void)gap_run(r, s->addr, pc, s->off - s->addr);
}

static void fde_run(struct reader *r, const struct fde *f, uint64_t next_pc)
{
	struct machine m = {.r = r, .cie = cie_read(r, f->in, f->cie), .pc = f->pc};
	uint64_t end = f->pc + f->size;
	const struct image_segment *s;
	bool is_last;

	if (!code_find(r, f->pc, f->size, &m.off) || end + m.off >= UINT32_MAX)
		return;
	r->out->nfdes++;
	m.s.reg =
		arch.unwind.nregs; /* none: the CFA is undefined until an instruction defines it */
	insns_run(&m, m.cie->insns, f->pc);
	m.initial = m.s;
	insns_run(&m, f->insns, end);
	if (m.pc < end && m.is_bad)
		row_add(r, (struct unwind_row){.off = (uint32_t)(m.pc + m.off)});
	else if (m.pc < end)
		row_emit(&m);
	is_last = next_pc == UINT64_MAX && (s = segments_at(&r->code, end, 1)) != NULL;
	if (is_last)
		next_pc = s->addr + s->size; /* _fini lies behind the last FDE */
	if ((is_last || next_pc - end >= PADDING) && gap_run(r, end, next_pc, m.off))
		end = next_pc;
	else if (next_pc - end >= PADDING)
		row_add(r, (struct unwind_row){.off = (uint32_t)(end + m.off)});
	r->end_off = (uint32_t)(end + m.off);
}

static int fde_compare(const void *pa, const void *pb)
{
	const struct fde *a = pa, *b = pb;

	return a->pc != b->pc	   ? (a->pc < b->pc ? -1 : 1)
	       : a->size > b->size ? -1
				   : a->size < b->size;
}

static bool is_sorted(const struct reader *r)
{
	for (uint32_t i = 1; i < r->fdes.len; i++)
		if (fde_compare(&r->fdes.data[i - 1], &r->fdes.data[i]) > 0)
			return false;
	return true;
}

/*
 * Runs the FDEs in the order of addresses. If two FDEs describe the same code, the first one wins.
 */
static void fdes_run(struct reader *r)
{
	uint64_t end = 0;

	if (!is_sorted(r)) /* the FDEs of nearly all files are sorted */
		qsort(r->fdes.data, r->fdes.len, sizeof(*r->fdes.data), fde_compare);
	if (r->fdes.len)
		begin_run(r, r->fdes.data[0].pc);
	for (uint32_t i = 0; i < r->fdes.len; i++) {
		struct fde *f = &r->fdes.data[i];
		uint64_t next = i + 1 < r->fdes.len ? r->fdes.data[i + 1].pc : UINT64_MAX;

		if (f->pc < end)
			continue;
		end = f->pc + f->size;
		fde_run(r, f, MAX(next, end));
		part_done(r);
	}
	if (r->out->rows.len && vec_last(&r->out->rows)->kind != UNWIND_NONE)
		row_add(r, (struct unwind_row){
				   .off = MAX(r->end_off, vec_last(&r->out->rows)->off + 1)});
}

/* ---- the file ----------------------------------------------------------------------------- */

static void section_read(struct frames *f, struct gate_elf *g, Elf_Scn *scn, const GElf_Shdr *sh)
{
	const Elf_Data *data = gate_raw_data(g, scn);

	if (!data || !data->d_buf)
		return;
	f->addr = sh->sh_addr;
	f->data = data->d_buf;
	f->end = f->data + data->d_size;
}

static void sections_read(struct reader *r, struct gate_elf *g)
{
	Elf_Scn *scn = NULL;
	size_t names;
	GElf_Shdr sh;

	r->debug.is_debug = true;
	if (elf_getshdrstrndx(g->elf, &names))
		return;
	while ((scn = elf_nextscn(g->elf, scn))) {
		const char *name = gelf_getshdr(scn, &sh) ? gate_text(g, names, sh.sh_name) : NULL;

		if (name && strcmp(name, ".eh_frame") == 0)
			section_read(&r->eh, g, scn, &sh);
		else if (name && strcmp(name, ".debug_frame") == 0)
			section_read(&r->debug, g, scn, &sh);
	}
}

static void work_allow(struct reader *r)
{
	r->work = WORK_MIN + WORK_FACTOR * (uint64_t)((r->eh.end - r->eh.data) +
						      (r->debug.end - r->debug.data));
	r->ngaps = GAPS_MAX;
}

/* Makes the rows once more, of the kind UNWIND_CARRY where they can be: few files need that. */
static void rows_carry(struct reader *r)
{
	bool is_cut = r->out->is_cut;

	vec_clear(&r->out->rows);
	r->out->nfdes = r->out->nodd = 0;
	r->carries = true;
	work_allow(r);
	fdes_run(r);
	r->out->is_cut |= is_cut;
}

static void read_frames(struct gate_elf *g, bool is_saved, const struct image_pause *pause,
			struct unwind_rows *out)
{
	struct reader r = {.pause = pause,
			   .is_saved = is_saved,
			   .cie = {.off = UINT64_MAX},
			   .out = out,
			   .limit = g->limit,
			   .file = g->file};

	sections_read(&r, g);
	segments_read_code(&r.code, g->elf);
	work_allow(&r);
	entries_read(&r, &r.eh);
	entries_read(&r, &r.debug);
	fdes_run(&r);
	if (r.needs_carried && !is_saved)
		rows_carry(&r);
	vec_deinit(&r.fdes);
	segments_deinit(&r.code);
}

static bool is_our_kind(Elf *elf)
{
	GElf_Ehdr eh;

	return elf && gelf_getehdr(elf, &eh) && eh.e_machine == arch.elf.machine &&
	       eh.e_ident[EI_CLASS] == ELFCLASS64;
}

/* Reads the rows of an ELF file and closes g. */
static void read_elf(struct gate_elf *g, bool is_saved, const struct image_pause *pause,
		     struct unwind_rows *out)
{
	*out = (struct unwind_rows){0};
	if (is_our_kind(g->elf))
		read_frames(g, is_saved, pause, out);
	out->is_cut |= g->is_cut;
	gate_elf_close(g);
}

void unwind_rows_read(struct gate_file *file, uint64_t limit, const struct image_pause *pause,
		      struct unwind_rows *ret)
{
	struct gate_elf g;

	gate_elf_open(file, limit, &g);
	read_elf(&g, false, pause, ret);
}

void unwind_saved_read(struct gate_file *file, uint64_t limit, const struct image_pause *pause,
		       struct unwind_rows *ret)
{
	struct gate_elf g;

	gate_elf_open(file, limit, &g);
	read_elf(&g, true, pause, ret);
}

static void read_memory(const void *image, size_t size, bool is_saved, struct unwind_rows *ret)
{
	CLEANUP(free) char *copy = xmalloc(size); /* libelf writes to the image */
	struct gate_elf g;

	memcpy(copy, image, size);
	gate_elf_memory(copy, size, GATE_LIMIT_DEFAULT, &g);
	read_elf(&g, is_saved, NULL, ret);
}

void unwind_rows_read_memory(const void *image, size_t size, struct unwind_rows *ret)
{
	read_memory(image, size, false, ret);
}

void unwind_saved_read_memory(const void *image, size_t size, struct unwind_rows *ret)
{
	read_memory(image, size, true, ret);
}

void unwind_rows_deinit(struct unwind_rows *r)
{
	vec_deinit(&r->rows);
}

const struct unwind_row *unwind_row_find(const struct unwind_rows *r, uint32_t off)
{
	uint32_t lo = 0, hi = r->rows.len;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (r->rows.data[mid].off <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &r->rows.data[lo - 1] : NULL;
}
