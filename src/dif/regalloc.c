/* SPDX-License-Identifier: MIT */
/*
 * Register allocation over forward-only code: liveness, webs, linear scan.
 *
 * Webs. Going forward, every live virtual register has a current segment; a write begins a new one,
 * and where control joins, the arriving segments are united. Example, %r1 on both paths:
 *
 *     0  tst %r2           1: segment A of %r1 begins at 3 (the write of instruction 1)
 *     1  ... -> %r1        3: segment B begins at 7
 *     2  ba 4              4: A arrives from 2, B from 3: one web {A, B}, positions 3..8
 *     3  ... -> %r1
 *     4  ret %r1
 *
 * A web is allocated as one interval from its first to its last position. Holes in it (a branch in
 * which the value is dead) are not used: in compiled D they are short.
 */
#include "dif/regalloc.h"

#include <stdlib.h>

#define SEG_NONE UINT32_MAX

struct seg {
	uint32_t parent; /* union-find */
	uint32_t first, last;
	uint32_t ndefs;
	bool is_uninit; /* live at the beginning of the object */
	struct ra_loc loc;
};

struct ra {
	struct arena *a;
	const struct ra_insn *insns;
	uint32_t n, nvregs, nwords;
	const struct ra_opts *opts;
	uint64_t *live_in; /* n + 1 sets of nwords words */
	uint32_t *
		*arriving; /* by instruction: segments of the virtual registers at branches to it */
	struct seg *segs;
	uint32_t nsegs;
	uint32_t **read_seg, **write_seg;
	uint32_t *nclobbers; /* number of clobbering instructions before i */
	uint32_t rng;
};

static uint64_t *set_at(const struct ra *r, uint32_t i)
{
	return r->live_in + (size_t)i * r->nwords;
}

static bool set_has(const uint64_t *set, uint32_t v)
{
	return set[v / 64] >> (v % 64) & 1;
}

static void set_add(uint64_t *set, uint32_t v)
{
	set[v / 64] |= 1ull << (v % 64);
}

static void set_del(uint64_t *set, uint32_t v)
{
	set[v / 64] &= ~(1ull << (v % 64));
}

static void live_out(const struct ra *r, uint32_t i, uint64_t *out)
{
	const struct ra_insn *in = &r->insns[i];

	for (uint32_t w = 0; w < r->nwords; w++)
		out[w] = (in->ends ? 0 : set_at(r, i + 1)[w]) |
			 (in->target == RA_NONE ? 0 : set_at(r, in->target)[w]);
}

/* establishes: live_in of every instruction. */
static void liveness_find(struct ra *r)
{
	r->live_in = ARENA_NEW_N(r->a, uint64_t, (size_t)(r->n + 1) * r->nwords);
	for (uint32_t i = r->n; i-- > 0;) {
		const struct ra_insn *in = &r->insns[i];
		uint64_t *set = set_at(r, i);

		live_out(r, i, set);
		for (uint32_t k = 0; k < in->nwrites; k++)
			set_del(set, in->writes[k]);
		for (uint32_t k = 0; k < in->nreads; k++)
			if (in->reads[k] != RA_ZERO)
				set_add(set, in->reads[k]);
	}
}

static uint32_t seg_find(struct ra *r, uint32_t s)
{
	while (r->segs[s].parent != s) {
		r->segs[s].parent = r->segs[r->segs[s].parent].parent;
		s = r->segs[s].parent;
	}
	return s;
}

static uint32_t seg_new(struct ra *r, uint32_t pos)
{
	uint32_t s = r->nsegs++;

	r->segs[s] = (struct seg){.parent = s, .first = pos, .last = pos};
	return s;
}

static uint32_t seg_unite(struct ra *r, uint32_t s, uint32_t t)
{
	struct seg *a, *b;

	if (s == SEG_NONE)
		return seg_find(r, t);
	s = seg_find(r, s);
	t = seg_find(r, t);
	if (s == t)
		return s;
	a = &r->segs[s];
	b = &r->segs[t];
	b->parent = s;
	a->first = MIN(a->first, b->first);
	a->last = MAX(a->last, b->last);
	a->ndefs += b->ndefs;
	a->is_uninit |= b->is_uninit;
	return s;
}

static void seg_touch(struct ra *r, uint32_t s, uint32_t pos)
{
	struct seg *seg = &r->segs[seg_find(r, s)];

	seg->last = MAX(seg->last, pos);
}

/*
 * Computes in cur, which has the segments behind the instruction before, those with which
 * instruction i begins.
 */
static void insn_enter(struct ra *r, uint32_t i, uint32_t *cur)
{
	const uint64_t *in = set_at(r, i);
	bool falls = i > 0 && !r->insns[i - 1].ends;

	for (uint32_t v = 0; v < r->nvregs; v++) {
		uint32_t s = falls && set_has(in, v) ? cur[v] : SEG_NONE;

		cur[v] = SEG_NONE;
		if (!set_has(in, v))
			continue;
		if (r->arriving[i] && r->arriving[i][v] != SEG_NONE)
			s = seg_unite(r, s, r->arriving[i][v]);
		if (s == SEG_NONE) {
			s = seg_new(r, 2 * i);
			r->segs[s].is_uninit = true;
		}
		seg_touch(r, s, 2 * i);
		cur[v] = s;
	}
}

static void branch_leave(struct ra *r, uint32_t target, const uint32_t *cur)
{
	const uint64_t *in = set_at(r, target);
	uint32_t *arr = r->arriving[target];

	if (!arr) {
		arr = r->arriving[target] = ARENA_NEW_N(r->a, uint32_t, r->nvregs);
		for (uint32_t v = 0; v < r->nvregs; v++)
			arr[v] = SEG_NONE;
	}
	for (uint32_t v = 0; v < r->nvregs; v++)
		if (set_has(in, v) && cur[v] != SEG_NONE)
			arr[v] = seg_unite(r, arr[v], cur[v]);
}

static void insn_walk(struct ra *r, uint32_t i, uint32_t *cur)
{
	const struct ra_insn *in = &r->insns[i];
	uint64_t out[RA_MAX_VREGS / 64];

	insn_enter(r, i, cur);
	r->read_seg[i] = ARENA_NEW_N(r->a, uint32_t, in->nreads);
	r->write_seg[i] = ARENA_NEW_N(r->a, uint32_t, in->nwrites);
	for (uint32_t k = 0; k < in->nreads; k++) {
		r->read_seg[i][k] = SEG_NONE;
		if (in->reads[k] == RA_ZERO)
			continue;
		r->read_seg[i][k] = cur[in->reads[k]];
		if (in->keeps_reads)
			seg_touch(r, cur[in->reads[k]], 2 * i + 1);
	}
	live_out(r, i, out);
	for (uint32_t k = 0; k < in->nwrites; k++) {
		uint32_t v = in->writes[k];

		cur[v] = SEG_NONE;
		if (set_has(out, v)) {
			cur[v] = seg_new(r, 2 * i + 1);
			r->segs[cur[v]].ndefs = 1;
		}
		r->write_seg[i][k] = cur[v];
	}
	for (uint32_t v = 0; v < r->nvregs; v++)
		if (set_has(out, v) && cur[v] != SEG_NONE)
			seg_touch(r, cur[v], 2 * i + 1);
	if (in->target != RA_NONE)
		branch_leave(r, in->target, cur);
}

/* requires: live_in. establishes: segs; the segment of every read and write. */
static void webs_find(struct ra *r)
{
	uint32_t cur[RA_MAX_VREGS], max = r->nvregs;

	for (uint32_t i = 0; i < r->n; i++)
		max += r->insns[i].nwrites;
	r->segs = ARENA_NEW_N(r->a, struct seg, max);
	r->arriving = ARENA_NEW_N(r->a, uint32_t *, r->n + 1);
	r->read_seg = ARENA_NEW_N(r->a, uint32_t *, r->n);
	r->write_seg = ARENA_NEW_N(r->a, uint32_t *, r->n);
	for (uint32_t v = 0; v < r->nvregs; v++)
		cur[v] = SEG_NONE;
	for (uint32_t i = 0; i < r->n; i++)
		insn_walk(r, i, cur);
}

static const struct ra_loc zero_loc = {.kind = RA_CONST};

static void copy_share(struct ra *r, uint32_t i, uint32_t k)
{
	uint32_t s, d;
	struct seg *src, *dst;
	bool is_fixed, is_last;

	if (r->write_seg[i][k] == SEG_NONE)
		return;
	d = seg_find(r, r->write_seg[i][k]);
	dst = &r->segs[d];
	if (dst->ndefs != 1 || dst->is_uninit)
		return;
	if (r->read_seg[i][k] == SEG_NONE) {
		dst->loc = zero_loc;
		return;
	}
	s = seg_find(r, r->read_seg[i][k]);
	src = &r->segs[s];
	if (s == d)
		return;
	is_fixed = src->ndefs == 1 && !src->is_uninit;
	/* sharing is also correct if the source is neither read nor written any more */
	is_last = src->last <= 2 * i;
	if (!is_fixed && !is_last)
		return;
	dst->ndefs = 0; /* the copy does not define a new value */
	seg_unite(r, s, d);
}

/* requires: webs. establishes: webs with a known or copied value have a location already. */
static void locs_share(struct ra *r)
{
	for (uint32_t i = 0; i < r->n; i++) {
		const struct ra_insn *in = &r->insns[i];

		if (in->home.kind != RA_UNUSED && r->write_seg[i][0] != SEG_NONE) {
			struct seg *s = &r->segs[seg_find(r, r->write_seg[i][0])];

			if (s->ndefs == 1 && !s->is_uninit)
				s->loc = in->home;
		}
		for (uint32_t k = 0; in->copies && k < in->nwrites; k++)
			copy_share(r, i, k);
	}
}

static bool crosses_clobber(const struct ra *r, const struct seg *s)
{
	/* clobbering instructions i with first <= 2i and 2i + 1 <= last */
	uint32_t from = (s->first + 1) / 2, to = (s->last + 1) / 2;

	return to > from && r->nclobbers[to] != r->nclobbers[from];
}

static uint32_t rng_next(struct ra *r, uint32_t n)
{
	r->rng = r->rng * 1664525u + 1013904223u;
	return (r->rng >> 8) % n;
}

#define REGS_ANY  (1u << 3 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 7 | 1u << 8)
#define REGS_KEPT (1u << 6 | 1u << 7 | 1u << 8)

static uint32_t reg_pick(struct ra *r, uint32_t mask)
{
	uint32_t skip = r->opts->seed ? rng_next(r, (uint32_t)__builtin_popcount(mask)) : 0;

	while (skip--)
		mask &= mask - 1;
	return (uint32_t)__builtin_ctz(mask);
}

/* The web, in a register of mask, that is needed longest, if longer than until `last`. */
static uint32_t victim_pick(struct ra *r, const uint32_t *active, uint32_t nactive, uint32_t mask,
			    uint32_t last)
{
	uint32_t best = RA_NONE;

	for (uint32_t k = 0; k < nactive; k++) {
		const struct seg *t = &r->segs[active[k]];

		if (!(mask >> t->loc.n & 1) || t->last <= last)
			continue;
		last = t->last;
		best = k;
	}
	return best;
}

static int seg_cmp_first(const void *x, const void *y, void *arg)
{
	const struct seg *segs = arg;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

	if (segs[a].first != segs[b].first)
		return segs[a].first < segs[b].first ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* establishes: RA_REG for webs in registers; RA_UNUSED for those that need a slot. */
static void registers_scan(struct ra *r, const uint32_t *order, uint32_t norder)
{
	uint32_t *active = ARENA_NEW_N(r->a, uint32_t, norder), nactive = 0;

	for (uint32_t k = 0; k < norder; k++) {
		struct seg *s = &r->segs[order[k]];
		uint32_t allowed = crosses_clobber(r, s) ? REGS_KEPT : REGS_ANY, used = 0, keep = 0;
		uint32_t victim;

		for (uint32_t j = 0; j < nactive; j++)
			if (r->segs[active[j]].last >= s->first) {
				used |= 1u << r->segs[active[j]].loc.n;
				active[keep++] = active[j];
			}
		nactive = keep;
		if (r->opts->seed && rng_next(r, 4) == 0)
			continue;
		if (allowed & ~used) {
			s->loc = (struct ra_loc){RA_REG, reg_pick(r, allowed & ~used), 0};
			active[nactive++] = order[k];
			continue;
		}
		victim = victim_pick(r, active, nactive, allowed, s->last);
		if (victim == RA_NONE)
			continue;
		s->loc = r->segs[active[victim]].loc;
		r->segs[active[victim]].loc = (struct ra_loc){0};
		active[victim] = order[k];
	}
}

/* requires: registers are assigned. False when there are too few slots. */
static bool slots_assign(struct ra *r, const uint32_t *order, uint32_t norder, uint32_t *ret_nmach)
{
	uint32_t nslots = r->opts->nstack + r->opts->mach_nslots, nmach = 0;
	int64_t *last = ARENA_NEW_N(r->a, int64_t, nslots);

	for (uint32_t k = 0; k < nslots; k++)
		last[k] = -1;
	for (uint32_t k = 0; k < norder; k++) {
		struct seg *s = &r->segs[order[k]];
		uint32_t slot = 0;

		if (s->loc.kind != RA_UNUSED)
			continue;
		while (slot < nslots && last[slot] >= (int64_t)s->first)
			slot++;
		if (slot == nslots)
			return false;
		last[slot] = s->last;
		if (slot < r->opts->nstack) {
			s->loc = (struct ra_loc){RA_STACK, slot, 0};
			continue;
		}
		slot -= r->opts->nstack;
		nmach = MAX(nmach, slot + 1);
		s->loc = (struct ra_loc){RA_MACH, r->opts->mach_off + 8 * slot, 0};
	}
	*ret_nmach = nmach;
	return true;
}

static struct regalloc *regalloc_finish(struct ra *r, const uint32_t *order, uint32_t norder,
					uint32_t nmach)
{
	struct regalloc *ra = ARENA_NEW(r->a, struct regalloc);

	ra->nmach = nmach;
	ra->reads = ARENA_NEW_N(r->a, struct ra_loc *, r->n);
	ra->writes = ARENA_NEW_N(r->a, struct ra_loc *, r->n);
	for (uint32_t i = 0; i < r->n; i++) {
		const struct ra_insn *in = &r->insns[i];

		ra->reads[i] = ARENA_NEW_N(r->a, struct ra_loc, in->nreads);
		ra->writes[i] = ARENA_NEW_N(r->a, struct ra_loc, in->nwrites);
		for (uint32_t k = 0; k < in->nreads; k++)
			ra->reads[i][k] = r->read_seg[i][k] == SEG_NONE
						  ? zero_loc
						  : r->segs[seg_find(r, r->read_seg[i][k])].loc;
		for (uint32_t k = 0; k < in->nwrites; k++)
			if (r->write_seg[i][k] != SEG_NONE)
				ra->writes[i][k] = r->segs[seg_find(r, r->write_seg[i][k])].loc;
	}
	ra->zeros = ARENA_NEW_N(r->a, struct ra_loc, norder);
	for (uint32_t k = 0; k < norder; k++)
		if (r->segs[order[k]].is_uninit)
			ra->zeros[ra->nzeros++] = r->segs[order[k]].loc;
	return ra;
}

struct regalloc *regalloc_run(struct arena *a, const struct ra_insn *insns, uint32_t n,
			      uint32_t nvregs, const struct ra_opts *opts)
{
	struct ra r = {.a = a,
		       .insns = insns,
		       .n = n,
		       .nvregs = nvregs,
		       .opts = opts,
		       .nwords = (nvregs + 63) / 64,
		       .rng = opts->seed};
	uint32_t *order, norder = 0, nmach = 0;

	assert(nvregs <= RA_MAX_VREGS);
	r.nclobbers = ARENA_NEW_N(a, uint32_t, n + 1);
	for (uint32_t i = 0; i < n; i++)
		r.nclobbers[i + 1] = r.nclobbers[i] + insns[i].clobbers;
	liveness_find(&r);
	webs_find(&r);
	locs_share(&r);
	order = ARENA_NEW_N(a, uint32_t, r.nsegs);
	for (uint32_t s = 0; s < r.nsegs; s++)
		if (r.segs[s].parent == s && r.segs[s].loc.kind == RA_UNUSED)
			order[norder++] = s;
	qsort_r(order, norder, sizeof(order[0]), seg_cmp_first, r.segs);
	registers_scan(&r, order, norder);
	if (!slots_assign(&r, order, norder, &nmach))
		return NULL;
	return regalloc_finish(&r, order, norder, nmach);
}
