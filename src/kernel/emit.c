/* SPDX-License-Identifier: MIT */
/* Emits eBPF instructions. */
#include "kernel/emit.h"

void em_init(struct emitter *e, struct bpf_code *code)
{
	*e = (struct emitter){.code = code, .last_here = -1};
}

void em_deinit(struct emitter *e)
{
	vec_deinit(&e->labels);
	vec_deinit(&e->fixups);
}

static uint32_t em_insn(struct emitter *e, struct bpf_insn in)
{
	vec_push(&e->code->insns, in);
	vec_push(&e->code->spans, e->span);
	return e->code->insns.len - 1;
}

uint32_t em_label(struct emitter *e)
{
	vec_push(&e->labels, -1);
	return e->labels.len - 1;
}

/*
 * Drops a jump to the next instruction. The kernel would remove it, too, but by walking over the
 * whole program.
 */
static void jump_drop(struct emitter *e, uint32_t label)
{
	struct bpf_code *c = e->code;
	const struct em_fixup *last = e->fixups.len ? vec_last(&e->fixups) : NULL;

	if (!last || last->label != label || last->insn + 1 != c->insns.len ||
	    c->insns.data[last->insn].code != (BPF_JMP | BPF_JA) ||
	    e->last_here == (int32_t)c->insns.len)
		return;
	e->fixups.len--;
	c->insns.len--;
	c->spans.len = MIN(c->spans.len, c->insns.len);
}

void em_here(struct emitter *e, uint32_t label)
{
	assert(e->labels.data[label] == -1);
	jump_drop(e, label);
	e->last_here = e->labels.data[label] = (int32_t)e->code->insns.len;
}

bool em_is_used(const struct emitter *e, uint32_t label)
{
	for (uint32_t i = 0; i < e->fixups.len; i++)
		if (e->fixups.data[i].label == label)
			return true;
	return false;
}

void em_resolve(struct emitter *e)
{
	for (uint32_t i = 0; i < e->fixups.len; i++) {
		struct em_fixup f = e->fixups.data[i];
		int32_t to = e->labels.data[f.label], dist = to - (int32_t)f.insn - 1;

		if (to < 0)
			BUG("label %u was never placed", f.label);
		if (dist < INT16_MIN || dist > INT16_MAX)
			e->too_far = true;
		e->code->insns.data[f.insn].off = (int16_t)dist;
	}
	vec_clear(&e->fixups);
}

static void em_jump(struct emitter *e, struct bpf_insn in, uint32_t label)
{
	uint32_t insn = em_insn(e, in);

	vec_push(&e->fixups, (struct em_fixup){insn, label});
	e->nbranches += BPF_OP(in.code) != BPF_JA;
}

void em_ja(struct emitter *e, uint32_t label)
{
	em_jump(e, INSN_GOTO(0), label);
}

void em_jmp_imm(struct emitter *e, int op, int dst, int32_t imm, uint32_t label)
{
	em_jump(e, INSN_JMP_IMM(op, dst, imm, 0), label);
}

void em_jmp_reg(struct emitter *e, int op, int dst, int src, uint32_t label)
{
	em_jump(e, INSN_JMP(op, dst, src, 0), label);
}

void em_jmp32_imm(struct emitter *e, int op, int dst, int32_t imm, uint32_t label)
{
	em_jump(e, INSN_JMP32_IMM(op, dst, imm, 0), label);
}

void em_alu_imm(struct emitter *e, int op, int dst, int32_t imm)
{
	em_insn(e, INSN_ALU_IMM(op, dst, imm));
}

void em_alu_reg(struct emitter *e, int op, int dst, int src)
{
	em_insn(e, INSN_ALU(op, dst, src));
}

void em_mov(struct emitter *e, int dst, int src)
{
	if (dst != src)
		em_insn(e, INSN_MOV(dst, src));
}

void em_mov32(struct emitter *e, int dst, int src)
{
	em_insn(e, INSN_MOV32(dst, src));
}

static void em_ld_imm64(struct emitter *e, int dst, int kind, uint32_t lo, uint32_t hi)
{
	em_insn(e, INSN_IMM64_LOW(dst, kind, lo));
	em_insn(e, INSN_IMM64_HIGH(hi));
}

void em_imm(struct emitter *e, int dst, uint64_t value)
{
	if (fits_s32(value))
		em_insn(e, INSN_MOV_IMM(dst, value));
	else if (value <= UINT32_MAX)
		em_insn(e, INSN_MOV32_IMM(dst, value));
	else
		em_ld_imm64(e, dst, 0, (uint32_t)value, (uint32_t)(value >> 32));
}

void em_neg(struct emitter *e, int dst)
{
	em_insn(e, INSN_NEG(dst));
}

void em_to_be(struct emitter *e, int dst, int bits)
{
	em_insn(e, INSN_TO_BE(dst, bits));
}

void em_extend(struct emitter *e, int dst, uint32_t size, bool is_signed)
{
	int shift = 64 - (int)size * 8;

	if (!shift)
		return;
	if (!is_signed && size == 4) {
		em_mov32(e, dst, dst);
		return;
	}
	em_alu_imm(e, BPF_LSH, dst, shift);
	em_alu_imm(e, is_signed ? BPF_ARSH : BPF_RSH, dst, shift);
}

void em_addr(struct emitter *e, int dst, int base, uint32_t off)
{
	em_mov(e, dst, base);
	if (off)
		em_alu_imm(e, BPF_ADD, dst, (int32_t)off);
}

static int size_code(uint32_t size)
{
	switch (size) {
	case 1: return BPF_B;
	case 2: return BPF_H;
	case 4: return BPF_W;
	case 8: return BPF_DW;
	default: BUG("no memory access of %u bytes", size);
	}
}

static bool fits_off(int32_t off)
{
	return off >= INT16_MIN && off <= INT16_MAX;
}

void em_load(struct emitter *e, uint32_t size, int dst, int base, int32_t off)
{
	if (!fits_off(off)) {
		em_addr(e, dst, base, (uint32_t)off);
		base = dst;
		off = 0;
	}
	em_insn(e, INSN_LOAD(size_code(size), dst, base, off));
}

void em_store(struct emitter *e, uint32_t size, int base, int32_t off, int src)
{
	if (!fits_off(off)) {
		int tmp = src == R2 || base == R2 ? R1 : R2;

		em_addr(e, tmp, base, (uint32_t)off);
		base = tmp;
		off = 0;
	}
	em_insn(e, INSN_STORE(size_code(size), base, off, src));
}

void em_store_imm(struct emitter *e, uint32_t size, int base, int32_t off, int32_t imm)
{
	if (!fits_off(off)) {
		em_addr(e, R2, base, (uint32_t)off);
		base = R2;
		off = 0;
	}
	em_insn(e, INSN_STORE_IMM(size_code(size), base, off, imm));
}

void em_atomic(struct emitter *e, int op, int base, int16_t off, int src)
{
	em_insn(e, INSN_ATOMIC(BPF_DW, op, base, off, src));
}

void em_xchg32(struct emitter *e, int base, int16_t off, int src)
{
	em_insn(e, INSN_ATOMIC(BPF_W, BPF_XCHG, base, off, src));
}

void em_cmpxchg32(struct emitter *e, int base, int16_t off, int src)
{
	em_insn(e, INSN_ATOMIC(BPF_W, BPF_CMPXCHG, base, off, src));
}

void em_helper(struct emitter *e, int id)
{
	em_insn(e, INSN_CALL(id));
}

void em_kernel_func(struct emitter *e, uint32_t btf_id)
{
	em_insn(e, INSN_CALL_KERNEL(btf_id));
}

static void em_reloc(struct emitter *e, enum reloc_kind kind, uint32_t ref, uint32_t off,
		     const char *name)
{
	struct bpf_reloc r = {.insn = e->code->insns.len,
			      .kind = kind,
			      .ref = ref,
			      .off = off,
			      .name = name};

	vec_push(&e->code->relocs, r);
}

void em_call_rt(struct emitter *e, const char *name)
{
	em_reloc(e, RELOC_RT, 0, 0, name);
	em_insn(e, INSN_CALL_FUNC(-1));
}

void em_call_func(struct emitter *e, uint32_t func)
{
	em_reloc(e, RELOC_FUNC, func, 0, NULL);
	em_insn(e, INSN_CALL_FUNC(-1));
}

void em_rt_addr(struct emitter *e, int dst, const char *name)
{
	em_reloc(e, RELOC_RT, 0, 0, name);
	em_ld_imm64(e, dst, BPF_PSEUDO_FUNC, 0, 0);
}

void em_func_addr(struct emitter *e, int dst, uint32_t func)
{
	em_reloc(e, RELOC_FUNC, func, 0, NULL);
	em_ld_imm64(e, dst, BPF_PSEUDO_FUNC, 0, 0);
}

void em_map(struct emitter *e, int dst, uint32_t map_ref)
{
	em_reloc(e, RELOC_MAP, map_ref, 0, NULL);
	em_ld_imm64(e, dst, BPF_PSEUDO_MAP_FD, 0, 0);
}

void em_map_value(struct emitter *e, int dst, uint32_t map_ref, uint32_t off)
{
	em_reloc(e, RELOC_MAP_VALUE, map_ref, off, NULL);
	em_ld_imm64(e, dst, BPF_PSEUDO_MAP_VALUE, 0, off);
}

void em_exit(struct emitter *e)
{
	em_insn(e, INSN_EXIT);
}
