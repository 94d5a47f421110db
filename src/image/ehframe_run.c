/* SPDX-License-Identifier: MIT */
/* Runs the programs of call frame information, and makes unwind rows of what they say. */
#include "image/ehframe_impl.h"

#include <dwarf.h>

#include "arch/arch.h"
#include "files/gate.h"
#include "image/nocfi.h"

#define STATES_MAX 16 /* DW_CFA_remember_state */
/* the largest distance to the CFA in a rule of UNWIND_CARRY, which has 14 bits for words */
#define CARRY_CFA_MAX (8 * ((1 << 13) - 1))

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

/* Reads DW_OP_bregREG 0, times 8, plus what was there before; false: something else follows. */
static bool get_index(struct bytes *b, uint8_t *ret_word)
{
	const uint8_t reg = get_u8(b) - DW_OP_breg0;
	uint8_t first, second;

	if (reg >= arch.unwind.nregs || get_sleb(b) != 0)
		return false;
	*ret_word = arch.unwind.words[reg];
	first = get_u8(b);
	second = get_u8(b);
	return ((first == DW_OP_lit8 && second == DW_OP_mul) ||
		(first == DW_OP_lit3 && second == DW_OP_shl)) &&
	       get_u8(b) == DW_OP_plus && *ret_word < RULE_NO_REG;
}

/* The CFA *(sp or fp + off + 8 * register) + plus, of which the last two may be missing. */
static enum unwind_cfa deref_kind(struct bytes b, int64_t *ret_cfa)
{
	const uint8_t reg = get_u8(&b) - DW_OP_breg0;
	const int64_t off = get_sleb(&b);
	uint64_t plus = 0;
	uint8_t word = RULE_NO_REG;

	if (reg != arch.unwind.sp && reg != arch.unwind.fp)
		return UNWIND_NONE;
	if (b.p < b.end && *b.p != DW_OP_deref && !get_index(&b, &word))
		return UNWIND_NONE;
	if (get_u8(&b) != DW_OP_deref)
		return UNWIND_NONE;
	if (b.p < b.end && get_u8(&b) == DW_OP_plus_uconst)
		plus = get_uleb(&b);
	if (b.is_bad || b.p != b.end || off % 8 || plus % 8 || plus > RULE_DEREF_PLUS_MAX ||
	    off < -RULE_DEREF_OFF_MAX || off > RULE_DEREF_OFF_MAX)
		return UNWIND_NONE;
	*ret_cfa = RULE_DEREF(word, plus, off) & 0xfffff;
	return reg == arch.unwind.sp ? UNWIND_SP_DEREF : UNWIND_FP_DEREF;
}

static enum unwind_cfa expr_kind(const struct machine *m, int64_t *ret_off)
{
	static const uint8_t deref[] = {DW_OP_deref};
	const struct bytes *b = &m->s.expr;

	if (arch.unwind.is_plt_expr &&
	    arch.unwind.is_plt_expr(b->p, (size_t)(b->end - b->p), ret_off))
		return UNWIND_PLT;
	if (m->cie->is_signal && is_breg(*b, arch.unwind.sp, ret_off, deref, sizeof(deref)) &&
	    *ret_off == arch.unwind.signal_sp)
		return UNWIND_SIGNAL;
	return deref_kind(*b, ret_off);
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
	m->is_bad |= !frame_work_take(m->r, (uint64_t)(b.end - b.p));
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

void frame_begin_run(struct reader *r, uint64_t pc)
{
	const struct image_segment *s = segments_at(&r->code, pc, 1);

	if (s && pc > s->addr)
		(void)gap_run(r, s->addr, pc, s->off - s->addr);
}

void frame_fde_run(struct reader *r, const struct fde *f, uint64_t next_pc)
{
	struct machine m = {.r = r, .cie = frame_cie_read(r, f->in, f->cie), .pc = f->pc};
	uint64_t end = f->pc + f->size;
	const struct image_segment *s;
	bool is_last;

	if (!frame_code_find(r, f->pc, f->size, &m.off) || end + m.off >= UINT32_MAX)
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

void frame_rows_end(struct reader *r)
{
	if (r->out->rows.len && vec_last(&r->out->rows)->kind != UNWIND_NONE)
		row_add(r, (struct unwind_row){
				   .off = MAX(r->end_off, vec_last(&r->out->rows)->off + 1)});
}
