/* SPDX-License-Identifier: MIT */
/* Values in the locations that register allocation chose: loads, stores and passes them. */
#include "bpf/gen.h"

static int32_t stack_off(const struct ra_loc *p)
{
	return FRAME_SPILL - 8 * (int32_t)p->n;
}

void ra_loc_load(struct gen *g, int reg, const struct ra_loc *p)
{
	switch (p->kind) {
	case RA_UNUSED: break;
	case RA_REG: em_mov(&g->e, reg, (int)p->n); break;
	case RA_STACK: em_load(&g->e, 8, reg, R10, stack_off(p)); break;
	case RA_MACH: em_load(&g->e, 8, reg, R9, (int32_t)p->n); break;
	case RA_CONST: em_imm(&g->e, reg, p->value); break;
	case RA_STR:
		gen_mach_load(g, 8, reg, offsetof(struct rt_mach, strtab));
		if (p->n)
			em_alu_imm(&g->e, BPF_ADD, reg, (int32_t)p->n);
		break;
	}
}

int ra_loc_use(struct gen *g, const struct ra_loc *p, int scratch)
{
	if (p->kind == RA_REG)
		return (int)p->n;
	ra_loc_load(g, scratch, p);
	return scratch;
}

int ra_loc_dst(const struct ra_loc *p, int scratch)
{
	return p->kind == RA_REG ? (int)p->n : scratch;
}

void ra_loc_put(struct gen *g, const struct ra_loc *p, int reg)
{
	switch (p->kind) {
	case RA_REG: em_mov(&g->e, (int)p->n, reg); break;
	case RA_STACK: em_store(&g->e, 8, R10, stack_off(p), reg); break;
	case RA_MACH: em_store(&g->e, 8, R9, (int32_t)p->n, reg); break;
	case RA_UNUSED:
	case RA_CONST:
	case RA_STR: break; /* made again at each use */
	}
}

bool ra_loc_same(const struct ra_loc *a, const struct ra_loc *b)
{
	return a->kind == b->kind && a->n == b->n && a->value == b->value;
}

bool ra_loc_is_zero(const struct ra_loc *v)
{
	return v->kind == RA_CONST && v->value == 0;
}

bool ra_loc_is_nonzero(const struct ra_loc *v, uint32_t size)
{
	return v->kind == RA_CONST && v->value << (64 - 8 * size);
}

/* A parallel move: every source is read before its location is overwritten. r0 breaks cycles. */
void ra_loc_args(struct gen *g, const struct ra_loc *locs, uint32_t n)
{
	struct ra_loc src[4];
	bool done[4] = {false};
	uint32_t left = n;

	assert(n <= ARRAY_LEN(src));
	for (uint32_t k = 0; k < n; k++)
		src[k] = locs[k];
	while (left) {
		uint32_t pick = n;

		for (uint32_t k = 0; k < n && pick == n; k++) {
			bool is_read = false;

			for (uint32_t j = 0; j < n; j++)
				is_read |= j != k && !done[j] && src[j].kind == RA_REG &&
					   src[j].n == R2 + k;
			if (!done[k] && !is_read)
				pick = k;
		}
		if (pick < n) {
			ra_loc_load(g, R2 + (int)pick, &src[pick]);
			done[pick] = true;
			left--;
			continue;
		}
		/* only cycles are left: free the first destination */
		for (pick = 0; done[pick]; pick++)
			continue;
		em_mov(&g->e, R0, R2 + (int)pick);
		for (uint32_t j = 0; j < n; j++)
			if (!done[j] && src[j].kind == RA_REG && src[j].n == R2 + pick)
				src[j].n = R0;
	}
}
