/* SPDX-License-Identifier: MIT */
/*
 * Decodes the code of a file, each function from its first byte to its last, and what is between
 * functions.
 */
#include "arch/x86_64/form.h"
#include "base/sorted.h"
#include "flow/jumps.h"

#define OP_LEA	 0x8d
#define INSN_MAX 15 /* bytes: Intel SDM vol. 2, 2.3.11 */

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
	struct trail trail;
	uint32_t func; /* index of the function that is decoded, or UINT32_MAX */
	uint64_t start, end;
	VEC(struct flow_table) leas; /* addresses that the function takes */
	bool jumps;		     /* to an address in a register, */
	bool computes;		     /* which it has computed, */
	bool lists;		     /* or taken from a list of addresses in memory */
	uint64_t xbegin;	     /* the transaction that has begun; 0: none */
	uint64_t norigins;	     /* jumps to registers that may still be looked at */
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

/* The same of a common instruction. */
static enum flow_insn form_kind(const struct form *f)
{
	if (f->is_0f)
		return f->is_distance	   ? CODE_JCC
		       : f->opcode == 0x0b ? CODE_STOP
		       : f->opcode == 0x1f ? CODE_NOP
					   : CODE_PLAIN;
	switch (f->opcode) {
	case 0x70 ... 0x7f: return CODE_JCC;
	case 0x90: return CODE_NOP;
	case 0xc3: return CODE_RET;
	case 0xcc: return CODE_INT3;
	case 0xe8: return CODE_CALL;
	case 0xe9:
	case 0xeb: return CODE_JMP;
	case 0xff: return (f->modrm >> 3 & 7) == 2 ? CODE_CALL : CODE_PLAIN;
	default: return CODE_PLAIN;
	}
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

/* Somebody takes the address of a function, or calls it. */
static void func_note_called(const struct flow *f, uint64_t addr)
{
	struct flow_func *fn = func_at(f, addr);

	if (fn)
		fn->flags |= FUNC_CALLED;
}

/* Processors differ in how many bytes a jump with 16-bit operands has: Intel SDM vol. 2, Jcc. */
static bool is_plain_jump(const ZydisDecodedInstruction *in, enum flow_insn kind)
{
	return (kind == CODE_JMP || kind == CODE_JCC) &&
	       !(in->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE);
}

static void distance_mark(const struct decoding *d, uint64_t to, bool is_plain)
{
	if (is_plain)
		flow_mark_jump(d->f, to);
	else
		flow_mark(d->f, to);
}

/* A function takes an address into a register. */
static void address_note(struct decoding *d, uint64_t addr, uint32_t reg)
{
	if (flow_mark(d->f, addr))
		func_note_called(d->f, addr);
	vec_push(&d->leas, (struct flow_table){addr, d->func, (uint8_t)(reg + 1)});
}

static void addresses_mark(struct decoding *d, const ZydisDecodedInstruction *in, uint64_t next,
			   enum flow_insn kind)
{
	if (in->raw.imm[0].is_relative)
		distance_mark(d, next + (uint64_t)in->raw.imm[0].value.s, is_plain_jump(in, kind));
	else if (d->m->is_fixed)
		number_mark(d, in);
	if (in->mnemonic == ZYDIS_MNEMONIC_LEA && is_rip_relative(in))
		address_note(d, next + (uint64_t)in->raw.disp.value,
			     in->raw.modrm.reg | (uint32_t)in->raw.rex.R << 3);
}

/* ---- jumps and calls ------------------------------------------------------------------------- */

static void jump_note(struct decoding *d, const ZydisDecodedInstruction *in, uint64_t at)
{
	uint32_t reg = in->raw.modrm.rm | (uint32_t)in->raw.rex.B << 3;
	struct flow_jump j = {.at = at};
	enum origin origin = ORIGIN_COMPUTED;

	if (in->raw.modrm.mod != 3) {
		/* by a number from a list, and not from one whose address is in the instruction */
		d->lists |= in->raw.modrm.rm == 4 && in->raw.sib.index != 4 &&
			    !(in->raw.modrm.mod == 0 && in->raw.sib.base == 5);
		return;
	}
	if (d->norigins) {
		d->norigins--;
		origin = jump_origin(&d->trail, at, (ZydisRegister)(ZYDIS_REGISTER_RAX + (int)reg),
				     &j);
	}
	d->jumps = true;
	d->computes |= origin == ORIGIN_COMPUTED;
	d->lists |= origin == ORIGIN_LISTED;
	j.func = d->func;
	j.is_unsure = origin == ORIGIN_OPEN;
	if (d->func != UINT32_MAX && (j.is_unsure || origin == ORIGIN_COMPUTED))
		vec_push(&d->m->jumps, j);
}

/* A branch out of the function, or a call. */
static void branch_note(struct decoding *d, enum flow_insn kind, uint64_t to)
{
	const struct flow_func *funcs = d->f->funcs.data;
	const struct flow_func *fn;

	if (kind == CODE_CALL) {
		func_note_called(d->f, to);
		return;
	}
	if (d->func == UINT32_MAX || (to >= d->start && to < d->end) ||
	    section_at(d->f, to) != section_at(d->f, d->start))
		return;
	fn = func_in(funcs, d->f->funcs.len, to);
	if (fn)
		vec_push(&d->m->edges,
			 (struct flow_edge){d->func, (uint32_t)(fn - funcs), fn->addr == to});
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
	addresses_mark(d, in, next, kind);
	if (kind == CODE_CALL)
		flow_mark(d->f, next);
	if (kind == CODE_ENDBR) /* it says that a jump or call may come from anywhere */
		flow_mark(d->f, at);
	if (kind == CODE_JMP_TO)
		jump_note(d, in, at);
	if (in->raw.imm[0].is_relative)
		branch_note(d, kind, next + (uint64_t)in->raw.imm[0].value.s);
	if (in->mnemonic == ZYDIS_MNEMONIC_XBEGIN || in->mnemonic == ZYDIS_MNEMONIC_XEND)
		transaction_note(d, in, at);
	if (in->mnemonic == ZYDIS_MNEMONIC_XABORT) /* the transaction has begun elsewhere */
		flow_bar_add(d->f, at, next, FLOW_TRANSACTION);
	d->trail.recent[d->trail.n++ % BACK_MAX] = at;
}

/* The same of a common instruction. */
static void form_note(struct decoding *d, const struct form *f, const uint8_t *code, uint64_t at)
{
	uint64_t next = at + f->len;
	enum flow_insn kind = form_kind(f);
	int64_t distance;

	d->area->map[at - d->area->addr] = (uint8_t)(f->len | (unsigned int)kind << 4);
	if (f->is_distance) {
		uint64_t to = next + (uint64_t)form_distance(f, code);

		distance_mark(d, to, kind != CODE_CALL);
		branch_note(d, kind, to);
	}
	if (!f->is_0f && f->opcode == OP_LEA && form_has_rip(f, code, &distance))
		address_note(d, next + (uint64_t)distance,
			     (f->modrm >> 3 & 7) | (f->rex & 4u) << 1);
	if (kind == CODE_CALL)
		flow_mark(d->f, next);
	d->trail.recent[d->trail.n++ % BACK_MAX] = at;
}

/* Numbers of a program that is loaded where its addresses say are looked at by the library. */
static bool form_is_enough(const struct decoding *d, const struct form *f)
{
	return !d->m->is_fixed || f->is_distance || f->imm < 4;
}

/* Decodes the instruction at an address, up to an end; returns its size. */
static uint32_t insn_decode(struct decoding *d, uint64_t at, uint64_t end)
{
	uint64_t i = at - d->area->addr, size = MIN(end - at, (uint64_t)INSN_MAX);
	const uint8_t *code = d->area->code + i;
	ZydisDecodedInstruction in;
	struct form f;

	if (form_read(code, size, &f) && form_is_enough(d, &f)) {
		form_note(d, &f, code, at);
		return f.len;
	}
	if (ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d->trail.decoder, NULL, code, size, &in))) {
		insn_note(d, &in, at);
		return in.length;
	}
	d->area->map[i] = 1 | CODE_BAD << 4;
	return 1;
}

static void range_decode(struct decoding *d, uint64_t start, uint64_t end, uint32_t func)
{
	d->start = start;
	d->end = end;
	d->func = func;
	d->jumps = d->computes = d->lists = false;
	d->xbegin = 0;
	d->trail.area = d->area;
	d->trail.end = end;
	d->trail.n = 0;
	vec_clear(&d->leas);
	for (uint64_t at = start; at < end;)
		at += insn_decode(d, at, end);
	if (d->xbegin)
		flow_bar_add(d->f, d->xbegin, end, FLOW_TRANSACTION);
	/* where no list is taken the address of, the list is not in the file */
	d->lists &= !d->leas.len && !d->m->is_fixed;
	if (func == UINT32_MAX) {
		if (d->computes || d->lists)
			flow_bar_add(d->f, start, end, FLOW_UNKNOWN_JUMP);
	} else {
		d->f->funcs.data[func].flags |= d->jumps ? FUNC_JUMPS : 0;
		if (d->lists)
			vec_push(&d->m->jumps, (struct flow_jump){.at = start, .func = func});
	}
	for (uint32_t i = 0; (d->jumps || func != UINT32_MAX) && i < d->leas.len; i++)
		vec_push(&d->m->tables, d->leas.data[i]);
}

/* Returns the first function that begins at or behind an address. */
static uint32_t func_from(const struct flow *f, uint64_t addr)
{
	return sorted_below(f->funcs.data, f->funcs.len, addr, addr);
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
	ZydisDecoderInit(&d.trail.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (uint32_t i = 0; i < m->f->code.len; i++)
		section_decode(&d, &m->f->code.data[i]);
	vec_deinit(&d.leas);
}
