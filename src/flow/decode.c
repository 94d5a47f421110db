/* SPDX-License-Identifier: MIT */
/*
 * Decodes the code of a file, each function from its first byte to its last, and what is between
 * functions.
 */
#include <Zydis/Zydis.h>

#include "flow/impl.h"

#define INSN_MAX 15 /* bytes: Intel SDM vol. 2, 2.3.11 */
#define BACK_MAX 32 /* instructions that are looked at before a jump to a register */

/*
 * Jumps to registers whose value is followed back: programs have one in some thousand bytes of
 * code. In a hostile file with more, those that are left count as computed.
 */
#define ORIGINS_MIN  65536
#define ORIGINS_EACH 64 /* bytes of code */

struct decoding {
	struct making *m;
	struct flow *f;
	struct flow_area *area;
	ZydisDecoder decoder;
	uint32_t func; /* index of the function that is decoded, or UINT32_MAX */
	uint64_t start, end;
	VEC(uint64_t) leas;	   /* addresses of data that the function takes */
	bool jumps;		   /* to an address in a register, */
	bool computes;		   /* which it has computed, */
	bool lists;		   /* or taken from a list of addresses in memory */
	bool labels;		   /* the function takes addresses inside of itself */
	uint64_t xbegin;	   /* the transaction that has begun; 0: none */
	uint64_t recent[BACK_MAX]; /* the last instructions */
	uint32_t nrecent;
	uint64_t norigins; /* jumps to registers that may still be looked at */
};

/* ---- kinds ---------------------------------------------------------------------------------- */

static enum flow_insn branch_kind(const ZydisDecodedInstruction *in, enum flow_insn direct,
				  enum flow_insn indirect)
{
	if (in->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return CODE_FIXED;
	return in->raw.imm[0].is_relative ? direct : indirect;
}

static enum flow_insn kind_of(const ZydisDecodedInstruction *in, const uint8_t *code)
{
	switch ((int)in->mnemonic) {
	case ZYDIS_MNEMONIC_RET: return branch_kind(in, CODE_RET, CODE_RET);
	case ZYDIS_MNEMONIC_JMP: return branch_kind(in, CODE_JMP, CODE_JMP_TO);
	case ZYDIS_MNEMONIC_CALL: return branch_kind(in, CODE_CALL, CODE_CALL);
	case ZYDIS_MNEMONIC_SYSCALL:
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_INT1: return CODE_SYSCALL;
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT: return CODE_STOP;
	case ZYDIS_MNEMONIC_INT3: return CODE_INT3;
	case ZYDIS_MNEMONIC_NOP: return CODE_NOP;
	case ZYDIS_MNEMONIC_ENDBR64: return CODE_ENDBR;
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
	case ZYDIS_MNEMONIC_JCXZ:
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_JRCXZ:
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_SYSEXIT: return CODE_FIXED;
	default: break;
	}
	if (in->meta.category == ZYDIS_CATEGORY_COND_BR)
		return in->raw.imm[0].is_relative ? CODE_JCC : CODE_FIXED;
	if (in->length == 2 && code[0] == 0x66 && code[1] == 0x90)
		return CODE_NOP;
	return CODE_PLAIN;
}

/* ---- addresses that instructions have ------------------------------------------------------- */

static bool is_rip_relative(const ZydisDecodedInstruction *in)
{
	return (in->attributes & ZYDIS_ATTRIB_HAS_MODRM) && in->raw.modrm.mod == 0 &&
	       in->raw.modrm.rm == 5;
}

/* A number in an instruction of a program that is loaded where its addresses say. */
static void number_mark(const struct decoding *d, const ZydisDecodedInstruction *in)
{
	for (uint32_t i = 0; i < 2; i++)
		if (in->raw.imm[i].size >= 32 && !in->raw.imm[i].is_relative)
			flow_mark(d->f, in->raw.imm[i].value.u);
}

static void addresses_mark(struct decoding *d, const ZydisDecodedInstruction *in, uint64_t next)
{
	if (in->raw.imm[0].is_relative)
		flow_mark(d->f, next + (uint64_t)in->raw.imm[0].value.s);
	else if (d->m->is_fixed)
		number_mark(d, in);
	if (in->mnemonic == ZYDIS_MNEMONIC_LEA && is_rip_relative(in)) {
		uint64_t addr = next + (uint64_t)in->raw.disp.value;

		flow_mark(d->f, addr);
		vec_push(&d->leas, addr);
		d->labels |= addr > d->start && addr < d->end;
	}
}

/* ---- jumps to computed addresses ------------------------------------------------------------ */

static ZydisRegister whole_register(ZydisRegister r)
{
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
}

enum origin {
	ORIGIN_OPEN,	 /* not from this instruction */
	ORIGIN_POINTER,	 /* from memory, or the address of code */
	ORIGIN_LISTED,	 /* from a list of pointers in memory, by a number */
	ORIGIN_COMPUTED, /* a sum, or a number of less than 64 bits */
};

/*
 * Where an instruction takes the value from that it gives the register *reg; if that is another
 * register, *reg becomes it.
 */
static enum origin origin_of(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *ops,
			     ZydisRegister *reg)
{
	const ZydisDecodedOperand *to = &ops[0], *from = &ops[1];

	if (in->operand_count_visible == 0 || to->type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    whole_register(to->reg.value) != *reg ||
	    !(to->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		return ORIGIN_OPEN;
	switch ((int)in->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		if (to->size != 64)
			return ORIGIN_COMPUTED;
		if (from->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    from->mem.index != ZYDIS_REGISTER_NONE && from->mem.base != ZYDIS_REGISTER_NONE)
			return ORIGIN_LISTED;
		if (from->type != ZYDIS_OPERAND_TYPE_REGISTER)
			return ORIGIN_POINTER;
		*reg = whole_register(from->reg.value);
		return ORIGIN_OPEN;
	case ZYDIS_MNEMONIC_LEA:
		return from->mem.base == ZYDIS_REGISTER_RIP ? ORIGIN_POINTER : ORIGIN_COMPUTED;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_IMUL:
	case ZYDIS_MNEMONIC_SHL: return ORIGIN_COMPUTED;
	default: return ORIGIN_POINTER; /* pop; xor and ror of a pointer that is guarded */
	}
}

/* Returns the number in d->recent of the last branch before `from` to one of these addresses. */
static uint32_t branch_find(struct decoding *d, uint32_t from, uint32_t n, uint64_t start,
			    uint64_t end)
{
	ZydisDecodedInstruction in;

	for (uint32_t i = from; i <= n; i++) {
		uint64_t at = d->recent[(d->nrecent - i) % BACK_MAX], to;

		if (ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d->decoder, NULL,
							       d->area->code + (at - d->area->addr),
							       MIN(d->end - at, (uint64_t)INSN_MAX),
							       &in)) &&
		    in.raw.imm[0].is_relative) {
			to = at + in.length + (uint64_t)in.raw.imm[0].value.s;
			if (to >= start && to <= end)
				return i;
		}
	}
	return n + 1;
}

/*
 * Follows the value of a register back from the jump to it, also to a branch that leads to the
 * jump's block. What is not found is a pointer that the function has from its caller, or loaded
 * long before.
 */
static enum origin jump_origin(struct decoding *d, uint64_t jump, ZydisRegister reg)
{
	ZydisDecodedInstruction in;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	uint32_t n = MIN(d->nrecent, (uint32_t)BACK_MAX);

	for (uint32_t i = 1; i <= n; i++) {
		uint64_t at = d->recent[(d->nrecent - i) % BACK_MAX];
		uint64_t k = at - d->area->addr;
		enum flow_insn kind = insn_kind(d->area->map[k]);
		enum origin origin;

		if (kind == CODE_RET || kind == CODE_JMP || kind == CODE_JMP_TO ||
		    kind == CODE_STOP) {
			i = branch_find(d, i + (kind != CODE_JMP), n, at + 1, jump);
			if (i > n)
				break;
			continue;
		}
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d->decoder, d->area->code + k,
							 MIN(d->end - at, (uint64_t)INSN_MAX), &in,
							 ops)))
			break;
		origin = origin_of(&in, ops, &reg);
		if (origin != ORIGIN_OPEN)
			return origin;
	}
	return ORIGIN_POINTER;
}

static void jump_note(struct decoding *d, const ZydisDecodedInstruction *in, uint64_t at)
{
	uint32_t reg = in->raw.modrm.rm | (uint32_t)in->raw.rex.B << 3;
	enum origin origin;

	if (in->raw.modrm.mod != 3) {
		/* by a number from a list, and not from one whose address is in the instruction */
		d->lists |= in->raw.modrm.rm == 4 && in->raw.sib.index != 4 &&
			    !(in->raw.modrm.mod == 0 && in->raw.sib.base == 5);
		return;
	}
	origin = d->norigins ? jump_origin(d, at, (ZydisRegister)(ZYDIS_REGISTER_RAX + (int)reg))
			     : ORIGIN_COMPUTED;
	d->norigins -= d->norigins > 0;
	d->jumps = true;
	d->computes |= origin == ORIGIN_COMPUTED;
	d->lists |= origin == ORIGIN_LISTED;
}

/* ---- functions ------------------------------------------------------------------------------ */

static void transaction_note(struct decoding *d, const ZydisDecodedInstruction *in, uint64_t at)
{
	if (in->mnemonic == ZYDIS_MNEMONIC_XBEGIN && !d->xbegin)
		d->xbegin = at;
	if (in->mnemonic != ZYDIS_MNEMONIC_XEND || !d->xbegin)
		return;
	flow_bar_add(d->f, d->xbegin, at + in->length, FLOW_TRANSACTION);
	d->xbegin = 0;
}

static void insn_note(struct decoding *d, const ZydisDecodedInstruction *in, uint64_t at)
{
	uint64_t i = at - d->area->addr, next = at + in->length;
	enum flow_insn kind = kind_of(in, d->area->code + i);

	d->area->map[i] = (uint8_t)(in->length | (unsigned int)kind << 4);
	addresses_mark(d, in, next);
	if (kind == CODE_CALL)
		flow_mark(d->f, next);
	if (kind == CODE_ENDBR) /* it says that a jump or call may come from anywhere */
		flow_mark(d->f, at);
	if (kind == CODE_JMP_TO)
		jump_note(d, in, at);
	if (in->mnemonic == ZYDIS_MNEMONIC_XBEGIN || in->mnemonic == ZYDIS_MNEMONIC_XEND)
		transaction_note(d, in, at);
	if (in->mnemonic == ZYDIS_MNEMONIC_XABORT) /* the transaction has begun elsewhere */
		flow_bar_add(d->f, at, next, FLOW_TRANSACTION);
	d->recent[d->nrecent++ % BACK_MAX] = at;
}

static void range_decode(struct decoding *d, uint64_t start, uint64_t end, uint32_t func)
{
	ZydisDecodedInstruction in;

	d->start = start;
	d->end = end;
	d->func = func;
	d->jumps = d->computes = d->lists = d->labels = false;
	d->xbegin = 0;
	d->nrecent = 0;
	vec_clear(&d->leas);
	for (uint64_t at = start; at < end;) {
		uint64_t i = at - d->area->addr;

		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d->decoder, NULL,
								d->area->code + i,
								MIN(end - at, (uint64_t)INSN_MAX),
								&in))) {
			d->area->map[i] = 1 | CODE_BAD << 4;
			at++;
			continue;
		}
		insn_note(d, &in, at);
		at += in.length;
	}
	if (d->xbegin)
		flow_bar_add(d->f, d->xbegin, end, FLOW_TRANSACTION);
	/* where no list is taken the address of, the list is not in the file */
	d->computes |= d->lists && !d->leas.len && !d->m->is_fixed;
	if (d->computes && func == UINT32_MAX)
		flow_bar_add(d->f, start, end, FLOW_UNKNOWN_JUMP);
	else if (d->computes)
		d->f->funcs.data[func].flags |= FUNC_COMPUTE | (d->labels ? FUNC_LABELS : 0);
	for (uint32_t i = 0; d->jumps && i < d->leas.len; i++)
		vec_push(&d->m->tables, (struct flow_table){d->leas.data[i], func});
}

/* Returns the first function that begins at or behind an address. */
static uint32_t func_from(const struct flow *f, uint64_t addr)
{
	uint32_t lo = 0, hi = f->funcs.len;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (f->funcs.data[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void section_decode(struct decoding *d, const struct flow_range *r)
{
	const struct flow *f = d->f;
	uint64_t at = r->start;

	d->area = area_at(f, r->start);
	for (uint32_t i = func_from(f, at); at < r->end; i++) {
		bool is_last = i >= f->funcs.len || f->funcs.data[i].addr >= r->end;
		uint64_t start = is_last ? r->end : f->funcs.data[i].addr;

		if (at < start)
			range_decode(d, at, start, UINT32_MAX);
		if (is_last)
			return;
		at = MIN(start + f->funcs.data[i].size, r->end);
		range_decode(d, start, at, i);
	}
}

void code_decode(struct making *m)
{
	struct decoding d = {.m = m, .f = m->f, .norigins = ORIGINS_MIN};

	for (uint32_t i = 0; i < m->f->code.len; i++)
		d.norigins += (m->f->code.data[i].end - m->f->code.data[i].start) / ORIGINS_EACH;
	ZydisDecoderInit(&d.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (uint32_t i = 0; i < m->f->code.len; i++)
		section_decode(&d, &m->f->code.data[i]);
	vec_deinit(&d.leas);
}
