/* SPDX-License-Identifier: MIT */
/*
 * Instructions of x86-64 moved to another address, where they do the same.
 *
 * Most are copied. These depend on where they stand:
 *
 *     operands relative to rip     a new distance
 *     jcc, jmp rel8, rel32         the same with rel32
 *     loop, jrcxz                  rel8 only: they jump over a jump, to a jump with rel32
 *     call                         push of the original return address, jmp; the last one
 *     xbegin, syscall, int, ...    refused: the kernel or the processor goes back to them, or knows
 *                                  their address
 *
 * The address that a call pushes is a word behind the code, because push of a word in memory is the
 * one instruction that stores 8 bytes at once and changes neither a register nor a flag. A call
 * through memory first reads its target in a way that leaves the stack pointer alone: if the read
 * faults, nothing has been pushed.
 *
 * Facts    Intel SDM vol. 2: 2.2.1.6 (rip-relative addressing), CALL, JMP, Jcc, LOOP.
 */
#include "arch/x86_64/emit.h"

#include <Zydis/Zydis.h>

#define OP_PUSH_MEM  0x35 /* ModRM of ff /6, relative to rip */
#define OP_JRCXZ     0xe3
#define REG_SP	     4
#define REG_BASE_SIB 4 /* ModRM.rm: a SIB byte follows */

void code_bytes(struct emit *e, const void *bytes, uint32_t n)
{
	if (e->is_full || n > e->size - e->n) {
		e->is_full = true;
		return;
	}
	memcpy(e->buf + e->n, bytes, n);
	e->n += n;
}

void code_u32(struct emit *e, uint32_t v)
{
	code_bytes(e, &v, sizeof(v));
}

static bool distance_fits(taddr from, taddr to, int32_t *ret)
{
	int64_t d = (int64_t)(to - from);

	if (d < INT32_MIN || d > INT32_MAX)
		return false;
	*ret = (int32_t)d;
	return true;
}

void code_distance(struct emit *e, taddr to, uint32_t after)
{
	int32_t d = 0;

	if (!distance_fits(e->code + e->n + 4 + after, to, &d))
		e->is_far = true;
	code_u32(e, (uint32_t)d);
}

void code_const_distance(struct emit *e, uint64_t value)
{
	if (e->nconsts == EMIT_CONSTS_MAX) {
		e->is_full = true;
		return;
	}
	e->consts[e->nconsts++] = (struct emit_const){.at = e->n, .value = value};
	code_u32(e, 0);
}

void code_consts(struct emit *e)
{
	while (e->nconsts && e->n % 8 && !e->is_full)
		EMIT(e, 0xcc);
	for (uint32_t i = 0; i < e->nconsts; i++) {
		uint32_t d = e->n - e->consts[i].at - 4;

		code_bytes(e, &e->consts[i].value, 8);
		if (!e->is_full)
			memcpy(e->buf + e->consts[i].at, &d, 4);
	}
}

void code_jump(struct emit *e, taddr to)
{
	EMIT(e, 0xe9);
	code_distance(e, to, 0);
}

uint32_t code_forward(struct emit *e)
{
	EMIT(e, 0);
	return e->n;
}

uint32_t code_forward32(struct emit *e)
{
	code_u32(e, 0);
	return e->n;
}

void code_arrive32(struct emit *e, uint32_t forward)
{
	uint32_t d = e->n - forward;

	if (!e->is_full)
		memcpy(e->buf + forward - 4, &d, 4);
}

void code_arrive(struct emit *e, uint32_t forward)
{
	uint32_t d = e->n - forward;

	if (d > INT8_MAX)
		e->is_full = true;
	if (!e->is_full)
		e->buf[forward - 1] = (uint8_t)d;
}

/* ---- kinds of instructions ------------------------------------------------------------------- */

static bool is_pc_relative(const ZydisDecodedInstruction *in)
{
	return (in->attributes & ZYDIS_ATTRIB_HAS_MODRM) && in->raw.modrm.mod == 0 &&
	       in->raw.modrm.rm == 5;
}

/* Processors differ in branches with 16-bit operands: Intel SDM vol. 2, Jcc; AMD APM vol. 3. */
static bool is_16bit(const ZydisDecodedInstruction *in)
{
	return (in->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) && !in->raw.rex.W;
}

/* True for instructions that only work where they are. */
static bool is_bound(const ZydisDecodedInstruction *in)
{
	if (in->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED)
		return true;
	if (in->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return true;
	switch ((int)in->meta.category) {
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_INTERRUPT: return true;
	default: break;
	}
	switch ((int)in->mnemonic) {
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_XEND:
	case ZYDIS_MNEMONIC_XABORT:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_SYSEXIT: return true;
	default: return false;
	}
}

/* Copies the instruction, with the distance of an operand relative to rip set anew. */
static void insn_copy(struct emit *e, const uint8_t *code, const ZydisDecodedInstruction *in,
		      taddr at)
{
	uint32_t disp = in->raw.disp.offset;

	if (!is_pc_relative(in)) {
		code_bytes(e, code, in->length);
		return;
	}
	code_bytes(e, code, disp);
	code_distance(e, at + in->length + (uint64_t)in->raw.disp.value, in->length - disp - 4u);
	code_bytes(e, code + disp + 4, in->length - disp - 4u);
}

/* Writes the instruction with another number in the field reg of its ModRM byte. */
static void insn_copy_as(struct emit *e, const uint8_t *code, const ZydisDecodedInstruction *in,
			 taddr at, uint8_t reg)
{
	uint8_t copy[ZYDIS_MAX_INSTRUCTION_LENGTH];

	memcpy(copy, code, in->length);
	copy[in->raw.modrm.offset] = (uint8_t)((copy[in->raw.modrm.offset] & ~0x38) | reg << 3);
	insn_copy(e, copy, in, at);
}

static const char *call_move(struct emit *e, const uint8_t *code, const ZydisDecodedInstruction *in,
			     taddr at, taddr behind)
{
	if (in->raw.imm[0].is_relative) {
		EMIT(e, 0xff, OP_PUSH_MEM); /* push word(%rip) */
		code_const_distance(e, behind);
		code_jump(e, behind + (uint64_t)in->raw.imm[0].value.s);
		return NULL;
	}
	/* The push moves the stack pointer before the jump uses it. */
	if (in->raw.modrm.mod == 3 ? in->raw.modrm.rm == REG_SP && !in->raw.rex.B
				   : in->raw.modrm.rm == REG_BASE_SIB &&
					     in->raw.sib.base == REG_SP && !in->raw.rex.B)
		return "it calls through the stack pointer";
	if (in->raw.modrm.mod != 3) {
		insn_copy_as(e, code, in, at, 6);      /* push target */
		EMIT(e, 0x48, 0x8d, 0x64, 0x24, 0x08); /* lea 8(%rsp), %rsp */
	}
	EMIT(e, 0xff, OP_PUSH_MEM);
	code_const_distance(e, behind);
	insn_copy_as(e, code, in, at, 4); /* jmp *target */
	return NULL;
}

/* Where a conditional jump goes, and what runs before it arrives. */
struct taken {
	void (*before)(struct emit *e, void *ctx);
	void *ctx;
	taddr target;
};

/* Writes a conditional jump that has rel32, with the condition of opcode & 15. */
static void jcc_move(struct emit *e, uint8_t opcode, const struct taken *t)
{
	uint32_t begin, from;

	begin = e->n;
	EMIT(e, 0x0f, (uint8_t)(0x80 | ((opcode & 15) ^ 1))); /* the opposite, over the body */
	from = code_forward32(e);
	t->before(e, t->ctx);
	if (e->n == from) { /* there is none */
		e->n = begin;
		EMIT(e, 0x0f, (uint8_t)(0x80 | (opcode & 15)));
		code_distance(e, t->target, 0);
		return;
	}
	code_jump(e, t->target);
	code_arrive32(e, from);
}

/*
 * Writes loop, loope, loopne or jrcxz, which have rel8 only. A loop has counted when it jumps: a
 * body would see another register.
 */
static const char *loop_move(struct emit *e, const uint8_t *code, const ZydisDecodedInstruction *in,
			     const struct taken *t)
{
	uint32_t taken, from, begin;

	code_bytes(e, code, in->length - 1u);
	taken = code_forward(e);
	EMIT(e, 0xe9);
	from = code_forward32(e);
	code_arrive(e, taken);
	begin = e->n;
	t->before(e, t->ctx);
	if (e->n != begin && in->opcode != OP_JRCXZ)
		return "a loop that leaves the function";
	code_jump(e, t->target);
	code_arrive32(e, from);
	return NULL;
}

const char *insn_move(struct emit *e, const uint8_t *code, uint32_t len, taddr at, bool is_last,
		      bool has_shadow_stack, void (*before)(struct emit *e, void *ctx), void *ctx,
		      bool *ret_ends)
{
	struct taken t = {.before = before, .ctx = ctx};
	ZydisDecodedInstruction in;
	ZydisDecoder d;

	*ret_ends = false;
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, code, len, &in)) ||
	    in.length != len)
		return "its bytes are no instruction";
	if (is_bound(&in))
		return "an instruction only works where it is";
	if (is_pc_relative(&in) && (in.address_width != 64 || in.raw.disp.size != 32))
		return "an operand has an address of 32 bits";
	t.target = at + len + (uint64_t)in.raw.imm[0].value.s;
	switch ((int)in.meta.category) {
	case ZYDIS_CATEGORY_CALL:
		if (is_16bit(&in))
			return "a call of 16 bits";
		before(e, ctx);
		if (!is_last)
			return "a call is not the last instruction";
		if (has_shadow_stack)
			return "a call, and the processor compares return addresses";
		*ret_ends = true;
		return call_move(e, code, &in, at, at + len);
	case ZYDIS_CATEGORY_COND_BR:
		if (is_16bit(&in))
			return "a jump of 16 bits";
		if (!in.raw.imm[0].is_relative)
			return "an instruction only works where it is";
		if (in.opcode_map == ZYDIS_OPCODE_MAP_0F || (in.opcode & 0xf0) == 0x70)
			jcc_move(e, in.opcode, &t);
		else
			return loop_move(e, code, &in, &t);
		return NULL;
	case ZYDIS_CATEGORY_UNCOND_BR:
		if (is_16bit(&in))
			return "a jump of 16 bits";
		before(e, ctx);
		*ret_ends = true;
		if (in.raw.imm[0].is_relative)
			code_jump(e, t.target);
		else
			insn_copy(e, code, &in, at);
		return NULL;
	case ZYDIS_CATEGORY_RET: *ret_ends = true; break;
	default:
		*ret_ends = in.mnemonic == ZYDIS_MNEMONIC_UD0 ||
			    in.mnemonic == ZYDIS_MNEMONIC_UD1 || in.mnemonic == ZYDIS_MNEMONIC_UD2;
		break;
	}
	before(e, ctx);
	insn_copy(e, code, &in, at);
	return NULL;
}
