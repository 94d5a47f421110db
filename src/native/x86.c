/* SPDX-License-Identifier: MIT */
/* The assembler: encodings of instructions. */
#include "native/x86.h"

#define REX   0x40
#define REX_W 0x48
#define REX_R 4
#define REX_X 2
#define REX_B 1

static bool fits_s32(uint64_t v)
{
	return (int64_t)v == (int32_t)v;
}

void x86_deinit(struct x86 *x)
{
	vec_deinit(&x->code);
	vec_deinit(&x->labels);
	vec_deinit(&x->fixups);
}

static void reg_write(struct x86 *x, enum x86_reg reg)
{
	x->written |= 1u << reg;
}

static void byte_add(struct x86 *x, uint32_t b)
{
	vec_push(&x->code, (uint8_t)b);
}

void x86_data(struct x86 *x, const void *data, uint32_t size)
{
	const uint8_t *p = data;

	for (uint32_t i = 0; i < size; i++)
		vec_push(&x->code, p[i]);
}

static void le32_add(struct x86 *x, uint32_t v)
{
	for (uint32_t i = 0; i < 4; i++)
		byte_add(x, v >> 8 * i & 0xff);
}

static void imm_add(struct x86 *x, uint32_t size, int32_t value)
{
	for (uint32_t i = 0; i < size; i++)
		byte_add(x, (uint32_t)value >> 8 * i & 0xff);
}

void x86_align(struct x86 *x, uint32_t align)
{
	while (x->code.len % align)
		byte_add(x, 0x90);
}

uint32_t x86_label(struct x86 *x)
{
	vec_push(&x->labels, UINT32_MAX);
	return x->labels.len - 1;
}

void x86_here(struct x86 *x, uint32_t label)
{
	assert(x->labels.data[label] == UINT32_MAX);
	x->labels.data[label] = x->code.len;
}

void x86_finish(struct x86 *x)
{
	for (uint32_t i = 0; i < x->fixups.len; i++) {
		const struct x86_fixup *f = &x->fixups.data[i];
		uint32_t rel = x->labels.data[f->label] + (uint32_t)f->disp - f->end;

		assert(x->labels.data[f->label] != UINT32_MAX);
		for (uint32_t k = 0; k < 4; k++)
			x->code.data[f->at + k] = (uint8_t)(rel >> 8 * k);
	}
	vec_clear(&x->fixups);
}

/* ---- operands -------------------------------------------------------------------------------- */

static bool fits_s8(int32_t v)
{
	return v >= INT8_MIN && v <= INT8_MAX;
}

/* A displacement from the end of the instruction, which has imm more bytes behind it, to addr. */
static void rel_addr_add(struct x86 *x, uint64_t addr, uint32_t imm)
{
	uint64_t rel = addr - (x->addr + x->code.len + 4 + imm);

	x->is_too_far |= !fits_s32(rel);
	le32_add(x, (uint32_t)rel);
}

static void rel_label_add(struct x86 *x, uint32_t label, int32_t disp, uint32_t imm)
{
	vec_push(&x->fixups, (struct x86_fixup){x->code.len, x->code.len + 4 + imm, label, disp});
	le32_add(x, 0);
}

static void modrm_add(struct x86 *x, uint32_t mod, uint32_t reg, uint32_t rm)
{
	byte_add(x, mod << 6 | (reg & 7) << 3 | (rm & 7));
}

/* ModRM, SIB and displacement; imm: the bytes of the instruction that follow. */
static void mem_add(struct x86 *x, uint32_t reg, const struct x86_mem *m, uint32_t imm)
{
	uint32_t scale = m->scale == 8 ? 3 : m->scale == 4 ? 2 : m->scale == 2 ? 1 : 0, mod;

	switch (m->kind) {
	case X86_FS: /* no base, no index */
		modrm_add(x, 0, reg, 4);
		byte_add(x, 0x25);
		le32_add(x, (uint32_t)m->disp);
		return;
	case X86_ADDR:
		modrm_add(x, 0, reg, 5);
		rel_addr_add(x, m->addr, imm);
		return;
	case X86_LABEL:
		modrm_add(x, 0, reg, 5);
		rel_label_add(x, m->label, m->disp, imm);
		return;
	case X86_BASE:
	case X86_INDEX: break;
	}
	if (m->base == R15 && m->disp >= 0 && m->disp < 32 * 8)
		x->r15_words |= 1u << m->disp / 8;
	/* without a displacement, rbp and r13 as base would mean something else */
	mod = m->disp == 0 && (m->base & 7) != RBP ? 0 : fits_s8(m->disp) ? 1 : 2;
	if (m->kind == X86_INDEX) {
		modrm_add(x, mod, reg, 4);
		byte_add(x, scale << 6 | (m->index & 7u) << 3 | (m->base & 7u));
	} else {
		modrm_add(x, mod, reg, m->base);
		if ((m->base & 7) == RSP)
			byte_add(x, 0x24);
	}
	if (mod)
		imm_add(x, mod == 1 ? 1 : 4, m->disp);
}

static uint32_t mem_rex(const struct x86_mem *m)
{
	if (m->kind != X86_BASE && m->kind != X86_INDEX)
		return 0;
	return (m->base >= R8 ? REX_B : 0) | (m->kind == X86_INDEX && m->index >= R8 ? REX_X : 0);
}

/*
 * Prefixes of an instruction whose operand has size bytes: rex are bits for registers; byte_reg: a
 * register whose low byte is used, of which spl to dil need a prefix.
 */
static void prefix_add(struct x86 *x, uint32_t size, uint32_t rex, int byte_reg)
{
	if (size == 2)
		byte_add(x, 0x66);
	if (size == 8)
		rex |= 8;
	if (rex || (byte_reg >= RSP && byte_reg <= RDI))
		byte_add(x, REX | rex);
}

static uint32_t reg_rex(enum x86_reg reg, uint32_t bit)
{
	return reg >= R8 ? bit : 0;
}

/* opcode of one byte, register and memory operand of size bytes */
static void op_mem(struct x86 *x, uint32_t size, uint32_t opcode, enum x86_reg reg,
		   const struct x86_mem *m, uint32_t imm)
{
	if (m->kind == X86_FS)
		byte_add(x, 0x64);
	prefix_add(x, size, mem_rex(m) | reg_rex(reg, REX_R), opcode == 0x88 ? (int)reg : -1);
	byte_add(x, opcode);
	mem_add(x, reg, m, imm);
}

/* opcode of two bytes, 0f first */
static void op2_mem(struct x86 *x, uint32_t size, uint32_t opcode, enum x86_reg reg,
		    const struct x86_mem *m)
{
	if (m->kind == X86_FS)
		byte_add(x, 0x64);
	prefix_add(x, size, mem_rex(m) | reg_rex(reg, REX_R), -1);
	byte_add(x, 0x0f);
	byte_add(x, opcode);
	mem_add(x, reg, m, 0);
}

/* opcode of one byte with two registers: rm is the first operand of most of them */
static void op_regs(struct x86 *x, uint32_t size, uint32_t opcode, uint32_t reg, enum x86_reg rm)
{
	prefix_add(x, size, (reg >= R8 ? REX_R : 0) | reg_rex(rm, REX_B), -1);
	byte_add(x, opcode);
	modrm_add(x, 3, reg, rm);
}

static void op2_regs(struct x86 *x, uint32_t size, uint32_t opcode, uint32_t reg, enum x86_reg rm,
		     int byte_reg)
{
	prefix_add(x, size, (reg >= R8 ? REX_R : 0) | reg_rex(rm, REX_B), byte_reg);
	byte_add(x, 0x0f);
	byte_add(x, opcode);
	modrm_add(x, 3, reg, rm);
}

/* ---- moves ----------------------------------------------------------------------------------- */

void x86_mov(struct x86 *x, enum x86_reg dst, enum x86_reg src)
{
	reg_write(x, dst);
	if (dst != src)
		op_regs(x, 8, 0x89, src, dst);
}

void x86_extend(struct x86 *x, uint32_t size, bool is_signed, enum x86_reg dst, enum x86_reg src)
{
	reg_write(x, dst);
	if (size == 8)
		x86_mov(x, dst, src);
	else if (size == 4 && is_signed)
		op_regs(x, 8, 0x63, dst, src); /* movsxd */
	else if (size == 4)
		op_regs(x, 4, 0x89, src, dst);
	else
		op2_regs(x, is_signed ? 8 : 4, (is_signed ? 0xbe : 0xb6) + (size == 2), dst, src,
			 size == 1 ? (int)src : -1);
}

void x86_imm(struct x86 *x, enum x86_reg dst, uint64_t value)
{
	reg_write(x, dst);
	if (value == 0) {
		op_regs(x, 4, 0x31, dst, dst); /* xor */
	} else if (value <= UINT32_MAX) {
		prefix_add(x, 4, reg_rex(dst, REX_B), -1);
		byte_add(x, 0xb8 | (dst & 7));
		le32_add(x, (uint32_t)value);
	} else if (fits_s32(value)) {
		op_regs(x, 8, 0xc7, 0, dst);
		le32_add(x, (uint32_t)value);
	} else {
		prefix_add(x, 8, reg_rex(dst, REX_B), -1);
		byte_add(x, 0xb8 | (dst & 7));
		le32_add(x, (uint32_t)value);
		le32_add(x, (uint32_t)(value >> 32));
	}
}

void x86_load(struct x86 *x, uint32_t size, bool is_signed, enum x86_reg dst, struct x86_mem m)
{
	reg_write(x, dst);
	if (size == 8 || (size == 4 && !is_signed))
		op_mem(x, size, 0x8b, dst, &m, 0);
	else if (size == 4)
		op_mem(x, 8, 0x63, dst, &m, 0);
	else
		op2_mem(x, is_signed ? 8 : 4, (is_signed ? 0xbe : 0xb6) + (size == 2), dst, &m);
}

void x86_store(struct x86 *x, uint32_t size, struct x86_mem m, enum x86_reg src)
{
	op_mem(x, size, size == 1 ? 0x88 : 0x89, src, &m, 0);
}

void x86_store_imm(struct x86 *x, uint32_t size, struct x86_mem m, int32_t value)
{
	uint32_t imm = MIN(size, 4u);

	op_mem(x, size, size == 1 ? 0xc6 : 0xc7, RAX, &m, imm);
	imm_add(x, imm, value);
}

void x86_lea(struct x86 *x, enum x86_reg dst, struct x86_mem m)
{
	assert(m.kind != X86_FS);
	reg_write(x, dst);
	op_mem(x, 8, 0x8d, dst, &m, 0);
}

void x86_push(struct x86 *x, enum x86_reg src)
{
	prefix_add(x, 4, reg_rex(src, REX_B), -1);
	byte_add(x, 0x50 | (src & 7));
}

void x86_pop(struct x86 *x, enum x86_reg dst)
{
	reg_write(x, dst);
	prefix_add(x, 4, reg_rex(dst, REX_B), -1);
	byte_add(x, 0x58 | (dst & 7));
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

void x86_alu(struct x86 *x, enum x86_alu op, enum x86_reg dst, enum x86_reg src)
{
	if (op != X86_CMP)
		reg_write(x, dst);
	op_regs(x, 8, (uint32_t)op << 3 | 1, src, dst);
}

static void alu_imm_add(struct x86 *x, uint32_t size, enum x86_alu op, enum x86_reg dst,
			int32_t value)
{
	if (op != X86_CMP)
		reg_write(x, dst);
	op_regs(x, size, fits_s8(value) ? 0x83 : 0x81, op, dst);
	imm_add(x, fits_s8(value) ? 1 : 4, value);
}

void x86_alu_imm(struct x86 *x, enum x86_alu op, enum x86_reg dst, int32_t value)
{
	alu_imm_add(x, 8, op, dst, value);
}

void x86_alu32_imm(struct x86 *x, enum x86_alu op, enum x86_reg dst, int32_t value)
{
	alu_imm_add(x, 4, op, dst, value);
}

void x86_alu_load(struct x86 *x, enum x86_alu op, enum x86_reg dst, struct x86_mem m)
{
	if (op != X86_CMP)
		reg_write(x, dst);
	op_mem(x, 8, (uint32_t)op << 3 | 3, dst, &m, 0);
}

void x86_alu_store(struct x86 *x, enum x86_alu op, struct x86_mem m, enum x86_reg src)
{
	op_mem(x, 8, (uint32_t)op << 3 | 1, src, &m, 0);
}

void x86_alu_mem_imm(struct x86 *x, uint32_t size, enum x86_alu op, struct x86_mem m, int32_t value)
{
	uint32_t imm = fits_s8(value) || size == 1 ? 1 : 4;

	op_mem(x, size, size == 1 ? 0x80 : imm == 1 ? 0x83 : 0x81, (enum x86_reg)op, &m, imm);
	imm_add(x, imm, value);
}

void x86_test(struct x86 *x, enum x86_reg a, enum x86_reg b)
{
	op_regs(x, 8, 0x85, b, a);
}

void x86_shift(struct x86 *x, enum x86_shift op, enum x86_reg dst, uint32_t n)
{
	reg_write(x, dst);
	if (!(n & 63))
		return;
	op_regs(x, 8, 0xc1, op, dst);
	byte_add(x, n & 63);
}

void x86_shift_cl(struct x86 *x, enum x86_shift op, enum x86_reg dst)
{
	reg_write(x, dst);
	op_regs(x, 8, 0xd3, op, dst);
}

void x86_mul(struct x86 *x, enum x86_reg dst, enum x86_reg src)
{
	reg_write(x, dst);
	op2_regs(x, 8, 0xaf, dst, src, -1);
}

void x86_mul_imm(struct x86 *x, enum x86_reg dst, enum x86_reg src, int32_t value)
{
	reg_write(x, dst);
	op_regs(x, 8, fits_s8(value) ? 0x6b : 0x69, dst, src);
	imm_add(x, fits_s8(value) ? 1 : 4, value);
}

void x86_mul_wide(struct x86 *x, enum x86_reg src)
{
	reg_write(x, RAX);
	reg_write(x, RDX);
	op_regs(x, 8, 0xf7, 4, src);
}

void x86_div(struct x86 *x, enum x86_reg src, bool is_signed)
{
	reg_write(x, RAX);
	reg_write(x, RDX);
	op_regs(x, 8, 0xf7, is_signed ? 7 : 6, src);
}

void x86_cqo(struct x86 *x)
{
	reg_write(x, RDX);
	byte_add(x, REX_W);
	byte_add(x, 0x99);
}

void x86_neg(struct x86 *x, enum x86_reg dst)
{
	reg_write(x, dst);
	op_regs(x, 8, 0xf7, 3, dst);
}

void x86_not(struct x86 *x, enum x86_reg dst)
{
	reg_write(x, dst);
	op_regs(x, 8, 0xf7, 2, dst);
}

void x86_bsr(struct x86 *x, enum x86_reg dst, enum x86_reg src)
{
	reg_write(x, dst);
	op2_regs(x, 8, 0xbd, dst, src, -1);
}

void x86_bswap(struct x86 *x, uint32_t size, enum x86_reg dst)
{
	reg_write(x, dst);
	prefix_add(x, size, reg_rex(dst, REX_B), -1);
	byte_add(x, 0x0f);
	byte_add(x, 0xc8 | (dst & 7));
}

/* ---- locked ---------------------------------------------------------------------------------- */

#define LOCK 0xf0

void x86_lock_add(struct x86 *x, struct x86_mem m, enum x86_reg src)
{
	byte_add(x, LOCK);
	x86_alu_store(x, X86_ADD, m, src);
}

void x86_lock_add_imm(struct x86 *x, struct x86_mem m, int32_t value)
{
	byte_add(x, LOCK);
	x86_alu_mem_imm(x, 8, X86_ADD, m, value);
}

void x86_lock_xadd(struct x86 *x, struct x86_mem m, enum x86_reg src)
{
	reg_write(x, src);
	byte_add(x, LOCK);
	op2_mem(x, 8, 0xc1, src, &m);
}

void x86_cmpxchg(struct x86 *x, uint32_t size, struct x86_mem m, enum x86_reg src)
{
	reg_write(x, RAX);
	op2_mem(x, size, 0xb1, src, &m);
}

void x86_lock_cmpxchg(struct x86 *x, uint32_t size, struct x86_mem m, enum x86_reg src)
{
	byte_add(x, LOCK);
	x86_cmpxchg(x, size, m, src);
}

/* ---- control --------------------------------------------------------------------------------- */

void x86_jmp(struct x86 *x, uint32_t label)
{
	byte_add(x, 0xe9);
	rel_label_add(x, label, 0, 0);
}

void x86_jcc(struct x86 *x, enum x86_cond cond, uint32_t label)
{
	byte_add(x, 0x0f);
	byte_add(x, 0x80 | (uint32_t)cond);
	rel_label_add(x, label, 0, 0);
}

void x86_call(struct x86 *x, uint64_t addr)
{
	static const uint8_t regs[] = {RAX, RCX, RDX, RSI, RDI, R8, R9, R10, R11};

	for (uint32_t i = 0; i < ARRAY_LEN(regs); i++)
		reg_write(x, regs[i]);
	byte_add(x, 0xe8);
	rel_addr_add(x, addr, 0);
}

void x86_ret(struct x86 *x)
{
	byte_add(x, 0xc3);
}

void x86_rdfsbase(struct x86 *x, enum x86_reg dst)
{
	reg_write(x, dst);
	byte_add(x, 0xf3);
	prefix_add(x, 8, reg_rex(dst, REX_B), -1);
	byte_add(x, 0x0f);
	byte_add(x, 0xae);
	modrm_add(x, 3, 0, dst);
}
