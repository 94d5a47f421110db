/* SPDX-License-Identifier: MIT */
/* Code generation: arguments of programs' own probes. */
#include "native/operand.h"

#include "arch/arch.h"

#define REG_PART 8u /* a register of a note is a byte offset: of all of it, or of its second byte */

static const struct usdt_operand *operand_get(const struct usdt_operands *ops, uint32_t n)
{
	static const struct usdt_operand none = {.kind = USDT_OPERAND_NONE};

	return ops && n < ops->n ? &ops->list[n] : &none;
}

/* Finds a register of struct pt_regs, or a part of it, in struct native_frame. */
static bool register_find(uint32_t reg, uint32_t *ret)
{
	uint32_t part = reg % REG_PART, whole = reg - part;

	if (whole < offsetof(struct native_frame, pc))
		*ret = reg; /* the order is that of struct pt_regs */
	else if (whole == arch.sp && !part)
		*ret = offsetof(struct native_frame, rsp);
	else if (whole == arch.pc && !part)
		*ret = offsetof(struct native_frame, pc);
	else
		return false;
	return true;
}

/* Whether all registers of an address are in the frame. */
static bool address_is_known(const struct usdt_operand *o)
{
	uint32_t off;

	return !o->is_thread && (!o->has_base || register_find(o->base, &off)) &&
	       (!o->has_index || register_find(o->index, &off)) && o->disp == (int32_t)o->disp;
}

enum native_operand native_operand_of(const struct usdt_operand *o)
{
	uint32_t off;

	switch ((enum usdt_operand_kind)o->kind) {
	case USDT_OPERAND_NONE:
	case USDT_OPERAND_CONST: return NATIVE_OPERAND_VALUE;
	case USDT_OPERAND_REGISTER:
		return register_find(o->base, &off) ? NATIVE_OPERAND_VALUE : NATIVE_OPERAND_FAR;
	case USDT_OPERAND_ADDRESS:
		return address_is_known(o) ? NATIVE_OPERAND_VALUE : NATIVE_OPERAND_FAR;
	case USDT_OPERAND_MEMORY:
		return address_is_known(o) && o->has_base && o->base == arch.sp && !o->has_index &&
				       !o->is_32bit
			       ? NATIVE_OPERAND_STACK
			       : NATIVE_OPERAND_FAR;
	}
	return NATIVE_OPERAND_FAR;
}

static uint64_t number_extend(const struct usdt_operand *o)
{
	uint32_t unused = 64 - 8u * o->size;
	uint64_t v = (uint64_t)o->disp << unused;

	return o->is_signed ? (uint64_t)((int64_t)v >> unused) : v >> unused;
}

struct ra_loc operand_home(const struct usdt_operands *ops, uint32_t n)
{
	const struct usdt_operand *o = operand_get(ops, n);
	uint32_t off;

	if (o->kind == USDT_OPERAND_NONE)
		return (struct ra_loc){.kind = RA_CONST};
	if (o->kind == USDT_OPERAND_CONST)
		return (struct ra_loc){.kind = RA_CONST, .value = number_extend(o)};
	if (o->kind == USDT_OPERAND_REGISTER && o->size == 8 && register_find(o->base, &off) &&
	    off % REG_PART == 0)
		return (struct ra_loc){.kind = RA_MACH, .n = LOC_FRAME(off)};
	return (struct ra_loc){0};
}

/* rax = the address of an operand; destroys rcx */
static void address_load(struct ngen *g, const struct usdt_operand *o)
{
	uint32_t off = 0;

	x86_imm(&g->x, RAX, (uint64_t)o->disp);
	if (o->has_index && register_find(o->index, &off)) {
		x86_load(&g->x, 8, false, RCX, x86_at(R15, off));
		x86_mul_imm(&g->x, RCX, RCX, o->scale);
		x86_alu(&g->x, X86_ADD, RAX, RCX);
	}
	if (o->has_base && register_find(o->base, &off))
		x86_alu_load(&g->x, X86_ADD, RAX, x86_at(R15, off));
	if (o->is_32bit)
		x86_extend(&g->x, 4, false, RAX, RAX);
}

void operand_load(struct ngen *g, const struct usdt_operands *ops, uint32_t n)
{
	const struct usdt_operand *o = operand_get(ops, n);
	uint32_t off = 0;

	if (native_operand_of(o) == NATIVE_OPERAND_FAR) {
		ngen_fail(g, "argument %u of a probe is in memory that only the kernel reads", n);
		return;
	}
	switch ((enum usdt_operand_kind)o->kind) {
	case USDT_OPERAND_NONE:
	case USDT_OPERAND_CONST: break;
	case USDT_OPERAND_REGISTER:
		(void)register_find(o->base, &off);
		x86_load(&g->x, o->size, o->is_signed, RAX, x86_at(R15, off));
		return;
	case USDT_OPERAND_ADDRESS:
		address_load(g, o);
		x86_extend(&g->x, o->size, o->is_signed, RAX, RAX);
		return;
	case USDT_OPERAND_MEMORY:
		x86_load(&g->x, 8, false, RAX, x86_at(R15, offsetof(struct native_frame, rsp)));
		x86_load(&g->x, o->size, o->is_signed, RAX, x86_at(RAX, o->disp));
		return;
	}
	BUG("operand kind %d of argument %u has a home", (int)o->kind, n);
}
