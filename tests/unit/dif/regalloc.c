/* SPDX-License-Identifier: MIT */
/*
 * Register allocation: random code is executed on virtual registers and on the places chosen, along
 * every way that random branches take; whatever is read must be what was written.
 */
#include "../tap.h"

#include "dif/regalloc.h"

#define MAX_INSNS  60
#define MAX_READS  4
#define NSTACK	   3
#define MACH_OFF   1000
#define MACH_SLOTS 64
#define HOME_MACH  8 /* memory that never changes */

static uint32_t rng = 1;

static uint32_t rnd(uint32_t n)
{
	rng = rng * 1664525u + 1013904223u;
	return (rng >> 8) % n;
}

struct code {
	struct ra_insn insns[MAX_INSNS];
	uint16_t reads[MAX_INSNS][MAX_READS];
	uint32_t n, nvregs;
};

static void random_reads(struct code *c, uint32_t i, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++)
		c->reads[i][k] = rnd(8) ? (uint16_t)rnd(c->nvregs) : RA_ZERO;
	c->insns[i].reads = c->reads[i];
	c->insns[i].nreads = n;
}

static void random_insn(struct code *c, uint32_t i)
{
	struct ra_insn *in = &c->insns[i];

	*in = (struct ra_insn){.target = RA_NONE,
			       .clobbers = rnd(4) == 0,
			       .keeps_reads = rnd(4) == 0};
	random_reads(c, i, rnd(MAX_READS + 1));
	in->nwrites = rnd(RA_MAX_WRITES + 1);
	for (uint32_t k = 0; k < in->nwrites; k++)
		in->writes[k] = (uint16_t)((rnd(c->nvregs) & ~1u) + k) % (uint16_t)c->nvregs;
	switch (rnd(6)) {
	case 0: /* branch */
		in->nwrites = 0;
		if (i + 2 < c->n) {
			in->target = i + 1 + rnd(c->n - i - 1);
			in->ends = rnd(4) == 0;
		}
		break;
	case 1: /* copy */
		random_reads(c, i, in->nwrites);
		in->copies = true;
		in->clobbers = false;
		break;
	case 2: /* something known */
		random_reads(c, i, 0);
		if (in->nwrites)
			in->home = rnd(2) ? (struct ra_loc){RA_CONST, 0, 4711}
					  : (struct ra_loc){RA_MACH, HOME_MACH, 0};
		break;
	default: break;
	}
}

static void random_code(struct code *c)
{
	bool reached[MAX_INSNS + 1] = {true};

	c->n = 2 + rnd(MAX_INSNS - 1);
	c->nvregs = 2 + rnd(24);
	for (uint32_t i = 0; i < c->n; i++) {
		random_insn(c, i);
		if (!reached[i])
			c->insns[i] = (struct ra_insn){.target = RA_NONE, .ends = true};
		else if (c->insns[i].target != RA_NONE)
			reached[c->insns[i].target] = true;
		reached[i + 1] |= reached[i] && !c->insns[i].ends;
	}
	c->insns[c->n - 1].ends = true;
}

struct machine {
	uint64_t regs[11], stack[NSTACK], mach[MACH_SLOTS], vregs[64];
};

static uint64_t *place_at(struct machine *m, const struct ra_loc *p)
{
	switch (p->kind) {
	case RA_REG: return &m->regs[p->n];
	case RA_STACK: return &m->stack[p->n];
	case RA_MACH: return &m->mach[(p->n - MACH_OFF) / 8];
	case RA_UNUSED:
	case RA_CONST:
	case RA_STR: break;
	}
	return NULL;
}

static uint64_t home_value(const struct ra_loc *p)
{
	return p->kind == RA_CONST ? p->value : 0x40e;
}

static bool is_home(const struct ra_loc *p)
{
	return p->kind == RA_CONST || (p->kind == RA_MACH && p->n == HOME_MACH);
}

static uint64_t place_get(struct machine *m, const struct ra_loc *p)
{
	return is_home(p) ? home_value(p) : p->kind == RA_UNUSED ? 0xdead : *place_at(m, p);
}

static uint64_t vreg_get(const struct machine *m, uint16_t v)
{
	return v == RA_ZERO ? 0 : m->vregs[v];
}

static bool reads_hold(struct machine *m, const struct ra_insn *in, const struct ra_loc *places)
{
	for (uint32_t k = 0; k < in->nreads; k++)
		if (place_get(m, &places[k]) != vreg_get(m, in->reads[k]))
			return false;
	return true;
}

static bool writes_do(struct machine *m, const struct ra_insn *in, const struct ra_loc *reads,
		      const struct ra_loc *writes, uint64_t unique)
{
	uint64_t vals[RA_MAX_WRITES], copied[RA_MAX_WRITES];

	for (uint32_t k = 0; k < in->nwrites; k++) {
		vals[k] = in->copies ? vreg_get(m, in->reads[k]) : unique + k;
		copied[k] = in->copies ? place_get(m, &reads[k]) : vals[k];
	}
	if (in->nwrites && in->home.kind != RA_UNUSED)
		vals[0] = copied[0] = home_value(&in->home);
	for (uint32_t k = 0; k < in->nwrites; k++) {
		m->vregs[in->writes[k]] = vals[k];
		if (is_home(&writes[k]) && home_value(&writes[k]) != vals[k])
			return false;
		if (!is_home(&writes[k]) && writes[k].kind != RA_UNUSED)
			*place_at(m, &writes[k]) = copied[k];
	}
	return true;
}

/* One way through the code. */
static bool walk(const struct code *c, const struct regalloc *ra)
{
	struct machine m = {0};
	uint64_t unique = 1000;

	for (uint32_t k = 0; k < 11; k++)
		m.regs[k] = 0xbad;
	for (uint32_t k = 0; k < ra->nzeros; k++)
		if (place_at(&m, &ra->zeros[k]))
			*place_at(&m, &ra->zeros[k]) = 0;
	for (uint32_t i = 0; i < c->n;) {
		const struct ra_insn *in = &c->insns[i];

		if (!reads_hold(&m, in, ra->reads[i]))
			return false;
		for (uint32_t r = 0; in->clobbers && r <= 5; r++)
			m.regs[r] = 0xc10bbe5 + unique;
		if (in->keeps_reads && !reads_hold(&m, in, ra->reads[i]))
			return false;
		if (!writes_do(&m, in, ra->reads[i], ra->writes[i], unique += 10))
			return false;
		if (in->target != RA_NONE && (in->ends || rnd(2)))
			i = in->target;
		else if (in->ends)
			break;
		else
			i++;
	}
	return true;
}

static void test_random(uint32_t seed)
{
	struct ra_opts opts = {.nstack = NSTACK,
			       .mach_off = MACH_OFF,
			       .mach_nslots = MACH_SLOTS,
			       .seed = seed};
	struct arena *a = arena_create();
	uint32_t failed = 0;
	struct code c;

	for (uint32_t round = 0; round < 5000 && !failed; round++) {
		uint32_t start = rng;
		struct regalloc *ra;

		random_code(&c);
		ra = regalloc_run(a, c.insns, c.n, c.nvregs, &opts);
		for (uint32_t way = 0; ra && way < 12 && !failed; way++)
			failed += !walk(&c, ra);
		if (!ra || failed)
			printf("# round %u, rng %u\n", round, start);
		failed += !ra;
		arena_reset(a);
	}
	ok(!failed, "random code, %s", seed ? "random choices" : "usual choices");
	arena_destroy(a);
}

static void test_slots(void)
{
	struct arena *a = arena_create();
	struct ra_insn insns[9] = {0};
	uint16_t all[8];
	struct ra_opts opts = {.nstack = 2, .mach_off = MACH_OFF, .mach_nslots = 2};
	struct regalloc *ra;

	for (uint32_t i = 0; i < 8; i++) { /* 8 values across a call: 3 registers, 2 + 3 slots */
		insns[i] =
			(struct ra_insn){.target = RA_NONE, .nwrites = 1, .writes = {(uint16_t)i}};
		all[i] = (uint16_t)i;
	}
	insns[8] = (struct ra_insn){.target = RA_NONE,
				    .ends = true,
				    .clobbers = true,
				    .keeps_reads = true,
				    .nreads = 8,
				    .reads = all};
	ok(!regalloc_run(a, insns, 9, 8, &opts), "no place is left");
	opts.mach_nslots = 3;
	ra = regalloc_run(a, insns, 9, 8, &opts);
	ok(ra && ra->nmach == 3, "all places are used");
	arena_destroy(a);
}

int main(void)
{
	test_slots();
	test_random(0);
	test_random(7);
	return tap_done();
}
