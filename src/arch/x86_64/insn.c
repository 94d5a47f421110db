/* SPDX-License-Identifier: MIT */
/* Instructions of x86-64: their lengths, which leave a function, which can be probed. */
#include <Zydis/Zydis.h>

#include "arch/x86_64/form.h"
#include "arch/x86_64/x86_64.h"

#define INSN_MAX     15 /* bytes: Intel SDM vol. 2, 2.3.11 */
#define OP_INT3	     0xcc
#define OP_CALL	     0xe8
#define OP_JMP	     0xe9
#define OP_JMP_SHORT 0xeb
#define OP_GROUP5    0xff /* among others, call and jmp through memory */
#define ENDBR_LEN    4
#define NOP5_LEN     5
#define TABLE_BACK   4 /* the most instructions between the add of a switch and its jump */

static bool is_nop_prefix(uint8_t byte)
{
	return byte == 0x66 || byte == 0x2e || byte == 0x3e || byte == 0x26 || byte == 0x36 ||
	       byte == 0x64 || byte == 0x65;
}

/* True if a nop of 5 bytes begins at code: 66 66 66 66 90, 0f 1f 44 00 00, 66 0f 1f 40 00, ... */
static bool is_nop5(const uint8_t *code, size_t size)
{
	uint32_t at = 0, modrm;

	if (size < NOP5_LEN)
		return false;
	while (at < NOP5_LEN - 1 && is_nop_prefix(code[at]))
		at++;
	if (code[at] == 0x90)
		return at == NOP5_LEN - 1;
	if (at > 2 || code[at] != 0x0f || code[at + 1] != 0x1f)
		return false;
	modrm = code[at + 2];
	at += (modrm & 7) == 4 ? 4 : 3;	      /* a SIB byte */
	at += (modrm & 0xc0) == 0x40 ? 1 : 0; /* an offset of 1 byte */
	return at == NOP5_LEN && modrm < 0x80 && (modrm & 0xc7) != 5;
}

static bool is_push(const uint8_t *code, size_t size)
{
	if (size >= 2 && code[0] == 0x41)
		code++;
	return size >= 1 && code[0] >= 0x50 && code[0] <= 0x57;
}

/* True for vector instructions with a VEX, EVEX or XOP prefix (AVX and its relatives). */
static bool is_vector(const uint8_t *code, size_t size)
{
	return code[0] == 0xc4 || code[0] == 0xc5 || code[0] == 0x62 ||
	       (code[0] == 0x8f && size > 1 && (code[1] & 0x1f) >= 8);
}

/* True for call, jmp and jcc to an address that is given as a distance. */
static bool is_relative(const uint8_t *code)
{
	return code[0] == 0xe8 || code[0] == 0xe9 || code[0] == 0xeb || (code[0] & 0xf0) == 0x70 ||
	       (code[0] == 0x0f && (code[1] & 0xf0) == 0x80);
}

/*
 * Linux arch/x86/kernel/uprobes.c: is_prefix_bad(), good_insns_64[], branch_setup_xol_ops().
 *
 * Vector instructions are refused by us, although the kernel accepts some. It ignores their prefix
 * and takes the opcode for that of another instruction, which it emulates: 7x for a conditional
 * jump, 5x for a push, e8 for a call; only 6e and 6f it refuses. (Measured on 6.18: strchrnul(),
 * which begins with vpbroadcastb, found nothing any more in a probed process.)
 *
 * cpuid is refused by us, too. In a virtual machine the hypervisor executes it, and some
 * hypervisors lose the trap of the single step with which the kernel runs it for a uprobe: the
 * process would go on behind the copy of the instruction, in what is no code.
 */
static bool is_refused(const uint8_t *code, size_t size)
{
	/* es cs ss ds lock */
	static const bool prefixes[256] =
		{[0x26] = true, [0x2e] = true, [0x36] = true, [0x3e] = true, [0xf0] = true};
	static const bool skipped[256] = {[0x64 ... 0x67] = true, [0xf2 ... 0xf3] = true};
	static const bool opcodes[256] =
		{[0x6c ... 0x6f] = true, [0xcc ... 0xcd] = true, [0xcf] = true,
		 [0xd4] = true,		 [0xd6] = true,		 [0xe4 ... 0xe7] = true,
		 [0xec] = true,		 [0xed ... 0xef] = true, [0xf1] = true,
		 [0xf4] = true,		 [0xfa ... 0xfb] = true};
	bool is_16bit = false;

	while (size && skipped[code[0]]) {
		is_16bit |= code[0] == 0x66;
		code++;
		size--;
	}
	if (!size || is_vector(code, size) || prefixes[code[0]])
		return true;
	if (size > 1 && (code[0] & 0xf0) == 0x40)
		code++; /* REX */
	if (is_16bit && size > 1 && is_relative(code))
		return true;
	if (size > 1 && code[0] == 0x0f && code[1] == 0xa2)
		return true; /* cpuid */
	return opcodes[code[0]];
}

/* ---- one instruction ------------------------------------------------------------------------- */

struct decoder {
	ZydisDecoder zydis;
	bool is_32bit;
	/* These members tell a switch from a tail call. */
	uint32_t age;	 /* number of instructions since the last add to a register */
	uint8_t add_reg; /* that register */
	/*
	 * The function has, or may have, pushed a register or reserved memory on the stack since
	 * its begin.
	 */
	bool has_frame;
};

static void note_frame(struct decoder *d, const struct form *f)
{
	bool is_push = (f->opcode & 0xf8) == 0x50;
	/* from the stack pointer */
	bool is_sub = (f->opcode == 0x81 || f->opcode == 0x83) && f->modrm == 0xec && !(f->rex & 1);

	d->has_frame |= !f->is_0f && (is_push || is_sub);
}

/* Notes the number of the register that an add writes. */
static void note_add(struct decoder *d, const struct form *f)
{
	bool to_rm = f->opcode == 0x01, to_reg = f->opcode == 0x03;

	d->age++;
	if (f->is_0f || (!to_rm && !to_reg) || f->modrm < 0xc0)
		return;
	d->age = 0;
	d->add_reg = (uint8_t)(to_rm ? (f->modrm & 7) | (f->rex & 1) << 3
				     : (f->modrm >> 3 & 7) | (f->rex & 4) << 1);
}

/*
 * True if a jump such as jmp *8(%rdx,%rax,8) leads to another function, whose address is a member
 * of an array of structs. A function can only be left in this way while it has no frame on the
 * stack. With a frame, the jump goes through a table of addresses inside the function, as
 * interpreters have them.
 */
static bool is_member_call(const struct decoder *d, const ZydisDecodedInstruction *z)
{
	bool has_base = z->raw.modrm.mod != 0 || z->raw.sib.base != 5;

	return has_base && z->raw.disp.value != 0 && !d->has_frame;
}

/*
 * Tells a switch from a tail call. A switch either adds the address of its table to a distance that
 * it has read from the table, or indexes the table in the jump itself. Any other indirect jump
 * leads to a function.
 */
static enum insn_kind indirect_kind(const struct decoder *d, const ZydisDecodedInstruction *z)
{
	bool is_notrack = false;

	for (uint8_t i = 0; i < z->raw.prefix_count; i++)
		is_notrack |= z->raw.prefixes[i].value == 0x3e;
	if (is_notrack)
		return INSN_JMP_TABLE;
	if (z->raw.modrm.mod == 3) {
		uint8_t reg = (uint8_t)(z->raw.modrm.rm | z->raw.rex.B << 3);

		return d->age < TABLE_BACK && d->add_reg == reg ? INSN_JMP_TABLE : INSN_JMP_TAIL;
	}
	if (z->raw.modrm.rm == 4 && (z->raw.sib.index != 4 || z->raw.rex.X))
		return is_member_call(d, z) ? INSN_JMP_TAIL : INSN_JMP_TABLE;
	return INSN_JMP_TAIL;
}

/* z: the same instruction, if it is a jump through memory or a register, which no form is. */
static enum insn_kind kind_one_byte(const struct decoder *d, const struct form *f,
				    const ZydisDecodedInstruction *z)
{
	switch (f->opcode) {
	case 0x70 ... 0x7f: /* jcc */
	case 0xe0 ... 0xe3: /* loop, jrcxz */ return INSN_JCC;
	case 0xe9:
	case 0xeb: return INSN_JMP;
	case 0xc2:
	case 0xc3: return INSN_RET;
	case 0xca: /* far returns, iret */
	case 0xcb:
	case 0xcf:
	case 0xf4: /* hlt */ return INSN_STOP;
	case 0xff:
		return (f->modrm >> 3 & 7) == 4	  ? indirect_kind(d, z)
		       : (f->modrm >> 3 & 7) == 5 ? INSN_STOP
						  : INSN_PLAIN;
	default: return INSN_PLAIN;
	}
}

static enum insn_kind kind_of(const struct decoder *d, const struct form *f,
			      const ZydisDecodedInstruction *z)
{
	if (!f->is_0f)
		return kind_one_byte(d, f, z);
	if ((f->opcode & 0xf0) == 0x80)
		return INSN_JCC;
	return f->opcode == 0x0b || f->opcode == 0xb9 ? INSN_STOP /* ud2, ud1 */ : INSN_PLAIN;
}

/* Takes over the result of the library; opcodes of its other maps are not looked at. */
static struct form form_of(const ZydisDecodedInstruction *z)
{
	struct form f = {.len = z->length};

	if (z->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY ||
	    (z->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT && z->opcode_map != ZYDIS_OPCODE_MAP_0F)) {
		f.is_0f = true;
		return f;
	}
	f.is_0f = z->opcode_map == ZYDIS_OPCODE_MAP_0F;
	f.opcode = z->opcode;
	f.rex = (uint8_t)(z->raw.rex.R << 2 | z->raw.rex.B);
	f.modrm = (uint8_t)(z->raw.modrm.mod << 6 | z->raw.modrm.reg << 3 | z->raw.modrm.rm);
	return f;
}

_Static_assert(sizeof(struct decoder) <= sizeof(struct insn_decoder), "struct decoder");

static bool insn_decode(struct insn_decoder *state, const uint8_t *code, uint32_t size,
			uint32_t off, struct insn *ret)
{
	struct decoder *d = (struct decoder *)state->state;
	enum insn_kind kind;
	int64_t distance;
	struct form f;

	if (off >= size)
		return false;
	if (!d->is_32bit && form_read(code + off, size - off, &f)) {
		kind = kind_of(d, &f, NULL);
		distance = f.is_distance ? form_distance(&f, code + off) : 0;
	} else {
		ZydisDecodedInstruction z;

		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d->zydis, NULL, code + off,
								size - off, &z)))
			return false;
		f = form_of(&z);
		kind = kind_of(d, &f, &z);
		distance = z.raw.imm[0].value.s;
	}
	*ret = (struct insn){.off = off, .len = f.len, .kind = kind};
	ret->is_refused = is_refused(code + off, f.len);
	if (is_nop5(code + off, f.len))
		ret->kind = INSN_NOP5;
	if (ret->kind == INSN_JMP || ret->kind == INSN_JCC)
		ret->target = (int64_t)off + f.len + distance;
	note_add(d, &f);
	note_frame(d, &f);
	return true;
}

static void decoder_start(struct insn_decoder *state, bool is_32bit, bool is_begin)
{
	struct decoder *d = (struct decoder *)state->state;

	*d = (struct decoder){.is_32bit = is_32bit, .age = TABLE_BACK, .has_frame = !is_begin};
	/* These calls fail only for modes that do not exist. */
	(void)ZydisDecoderInit(&d->zydis,
			       is_32bit ? ZYDIS_MACHINE_MODE_LONG_COMPAT_32
					: ZYDIS_MACHINE_MODE_LONG_64,
			       is_32bit ? ZYDIS_STACK_WIDTH_32 : ZYDIS_STACK_WIDTH_64);
	(void)ZydisDecoderEnableMode(&d->zydis, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
}

static uint32_t insn_len(const uint8_t *code, size_t size)
{
	struct insn_decoder d;
	struct insn in;

	decoder_start(&d, false, true);
	return insn_decode(&d, code, (uint32_t)MIN(size, (size_t)INSN_MAX), 0, &in) ? in.len : 0;
}

/* ---- the stack ------------------------------------------------------------------------------- */

/* Whether an operand, also one that is not written in the text, is the register, and is changed. */
static bool operand_writes(const ZydisDecodedOperand *o, ZydisRegister reg)
{
	return o->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
	       ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, o->reg.value) == reg;
}

/* The bytes that the first operand and a number are subtracted: rsp by sub, add and lea. */
static bool stack_adjustment(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o,
			     int64_t *ret)
{
	const ZydisDecodedOperand *from = &o[1];

	if (o[0].type != ZYDIS_OPERAND_TYPE_REGISTER || o[0].reg.value != ZYDIS_REGISTER_RSP)
		return false;
	if (z->mnemonic == ZYDIS_MNEMONIC_LEA) {
		*ret = -from->mem.disp.value;
		return from->mem.base == ZYDIS_REGISTER_RSP &&
		       from->mem.index == ZYDIS_REGISTER_NONE;
	}
	*ret = z->mnemonic == ZYDIS_MNEMONIC_SUB ? from->imm.value.s : -from->imm.value.s;
	return from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

static bool stack_effect(const uint8_t *code, size_t size, struct insn_stack *ret)
{
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction z;
	bool writes_sp = false, writes_fp = false, is_fp;
	ZydisDecoder d;
	int64_t by = 8;

	*ret = (struct insn_stack){0};
	(void)ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, code, size, &z, o)))
		return false;
	for (uint8_t i = 0; i < z.operand_count; i++) {
		writes_sp |= operand_writes(&o[i], ZYDIS_REGISTER_RSP);
		writes_fp |= operand_writes(&o[i], ZYDIS_REGISTER_RBP);
	}
	is_fp = o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && o[0].reg.value == ZYDIS_REGISTER_RBP;
	ret->writes_fp = writes_fp;
	if (!writes_sp || z.mnemonic == ZYDIS_MNEMONIC_CALL || z.mnemonic == ZYDIS_MNEMONIC_RET)
		return true;
	switch ((int)z.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH: ret->saves_fp = is_fp; break;
	case ZYDIS_MNEMONIC_POP:
		ret->restores_fp = is_fp;
		ret->writes_fp = writes_fp && !is_fp;
		by = -8;
		break;
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_LEA:
		if (!stack_adjustment(&z, o, &by))
			return false;
		break;
	default: return false;
	}
	ret->pushed = (int32_t)by;
	return by >= INT16_MIN && by <= INT16_MAX && z.operand_width == 64 &&
	       !(z.mnemonic == ZYDIS_MNEMONIC_POP && o[0].reg.value == ZYDIS_REGISTER_RSP);
}

/* ---- calls ---------------------------------------------------------------------------------- */

static uint64_t distance_add(uint64_t from, const uint8_t *at)
{
	int32_t distance;

	memcpy(&distance, at, sizeof(distance));
	return from + (uint64_t)(int64_t)distance;
}

/*
 *     e8 rel32       call f
 *     e9 rel32       jmp f
 *     eb rel8        jmp f
 *     ff 15 rel32    call *word(%rip)
 *     ff 25 rel32    jmp *word(%rip)
 */
static bool call_find(const uint8_t *code, size_t size, uint64_t addr, struct insn_call *ret)
{
	switch (code[0]) {
	case OP_CALL:
	case OP_JMP:
		if (size < 5)
			return false;
		*ret = (struct insn_call){.len = 5,
					  .is_jump = code[0] == OP_JMP,
					  .target = distance_add(addr + 5, code + 1)};
		return true;
	case OP_JMP_SHORT:
		if (size < 2)
			return false;
		*ret = (struct insn_call){.len = 2,
					  .is_jump = true,
					  .target = addr + 2 + (uint64_t)(int64_t)(int8_t)code[1]};
		return true;
	case OP_GROUP5:
		if (size < 6 || (code[1] != 0x15 && code[1] != 0x25))
			return false;
		*ret = (struct insn_call){.len = 6,
					  .is_jump = code[1] == 0x25,
					  .is_word = true,
					  .target = distance_add(addr + 6, code + 2)};
		return true;
	default: return false;
	}
}

/* addr32, bnd, notrack, rex.W: linkers pad a call with them that they have made shorter. */
static bool is_call_prefix(const uint8_t *code, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (code[i] != 0x67 && code[i] != 0xf2 && code[i] != 0x3e && code[i] != 0x48)
			return false;
	return true;
}

/* ---- where an entry probe goes --------------------------------------------------------------- */

#define VECTORS_MAX 3

/* True if the instruction writes only vector registers: vmovd, vpxor, vxorps, vpbroadcast*. */
static bool keeps_arguments(const uint8_t *code, uint32_t len)
{
	static const uint8_t opcodes[] = {0x57, 0x58, 0x6e, 0x78, 0x79, 0x7a, 0x7b, 0x7c, 0xef};
	uint32_t opcode = code[0] == 0xc5 ? 2 : code[0] == 0xc4 ? 3 : 4;

	return is_vector(code, len) && code[0] != 0x8f && opcode < len &&
	       memchr(opcodes, code[opcode], sizeof(opcodes));
}

/*
 * Returns the number of bytes of the vector instructions with which a function begins. They cannot
 * be probed, but they leave the arguments unchanged, so the instruction behind them is probed.
 */
static uint32_t skip_vectors(const uint8_t *code, size_t size)
{
	uint32_t skip = 0;

	for (int i = 0; i < VECTORS_MAX && skip < size; i++) {
		uint32_t len = insn_len(code + skip, size - skip);

		if (!len || !keeps_arguments(code + skip, len))
			break;
		skip += len;
	}
	return skip < size && !is_refused(code + skip, size - skip) ? skip : 0;
}

static uint32_t entry_skip(const uint8_t *code, size_t size)
{
	static const uint8_t endbr64[ENDBR_LEN] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint32_t begin = size > ENDBR_LEN && memcmp(code, endbr64, ENDBR_LEN) == 0 ? ENDBR_LEN : 0;
	const uint8_t *next = code + begin;
	uint32_t vectors = skip_vectors(next, size - begin);

	if (vectors)
		return begin + vectors;
	return begin && (is_push(next, size - begin) || is_nop5(next, size - begin)) ? begin : 0;
}

/* ---- code in memory that differs from the file ----------------------------------------------- */

static enum insn_patch patch_kind(const uint8_t *file, const uint8_t *mem, size_t len)
{
	if (mem[0] == OP_INT3 && memcmp(mem + 1, file + 1, len - 1) == 0)
		return INSN_PATCH_BREAKPOINT;
	/* Linux 6.18 arch/x86/kernel/uprobes.c */
	if (mem[0] == OP_CALL && is_nop5(file, len))
		return INSN_PATCH_OPTIMIZED;
	return INSN_PATCH_OTHER;
}

const struct arch_insns x86_64_insns = {
	.max_len = INSN_MAX,
	.start = decoder_start,
	.decode = insn_decode,
	.stack = stack_effect,
	.is_refused = is_refused,
	.call = call_find,
	.is_call_prefix = is_call_prefix,
	.is_nop5 = is_nop5,
	.entry_skip = entry_skip,
	.go_entry_skip = x86_64_go_entry_skip,
	.patch = patch_kind,
};
