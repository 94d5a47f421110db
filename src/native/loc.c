/* SPDX-License-Identifier: MIT */
/* Code generation: values in the locations that register allocation has chosen. */
#include "native/gen.h"

/* By number of the register allocation: 3 to 5 are destroyed by calls, 6 to 8 are not. */
static const enum x86_reg regs[] = {[3] = R8, [4] = R9, [5] = R10, [6] = RBX, [7] = RBP, [8] = R12};

#define LOC_OFF(n)  ((n)&0xffffff)
#define LOC_BASE(n) ((n) & ~0xffffffu)

static struct x86_mem slot_mem(const struct ngen *g, uint32_t n)
{
	return on_stack(g->stack.spill + 8 * n);
}

bool loc_is_mem(const struct ngen *g, const struct ra_loc *p, struct x86_mem *ret)
{
	if (p->kind == RA_STACK)
		*ret = slot_mem(g, p->n);
	else if (p->kind == RA_MACH && LOC_BASE(p->n) == LOC_FRAME(0))
		*ret = x86_at(R15, LOC_OFF(p->n));
	else
		return false;
	return true;
}

void loc_load(struct ngen *g, enum x86_reg reg, const struct ra_loc *p)
{
	struct x86_mem m;

	switch (p->kind) {
	case RA_UNUSED: return;
	case RA_REG: x86_mov(&g->x, reg, regs[p->n]); return;
	case RA_CONST: x86_imm(&g->x, reg, p->value); return;
	case RA_STR: x86_imm(&g->x, reg, p->n); return;
	case RA_STACK:
	case RA_MACH:
		if (loc_is_mem(g, p, &m))
			x86_load(&g->x, 8, false, reg, m);
		else
			x86_load(&g->x, 4, LOC_BASE(p->n) == LOC_SROW(0), reg,
				 x86_at(R13, LOC_OFF(p->n)));
		return;
	}
	BUG("location %d of a value", (int)p->kind);
}

enum x86_reg loc_use(struct ngen *g, const struct ra_loc *p, enum x86_reg scratch)
{
	if (p->kind == RA_REG)
		return regs[p->n];
	loc_load(g, scratch, p);
	return scratch;
}

enum x86_reg loc_dst(const struct ra_loc *p, enum x86_reg scratch)
{
	return p->kind == RA_REG ? regs[p->n] : scratch;
}

void loc_put(struct ngen *g, const struct ra_loc *p, enum x86_reg reg)
{
	if (p->kind == RA_REG)
		x86_mov(&g->x, regs[p->n], reg);
	else if (p->kind == RA_STACK)
		x86_store(&g->x, 8, slot_mem(g, p->n), reg);
}

bool loc_same(const struct ra_loc *a, const struct ra_loc *b)
{
	return a->kind == b->kind && a->n == b->n && a->value == b->value;
}
