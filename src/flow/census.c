/* SPDX-License-Identifier: MIT */
/* The functions of a file and their exits, and how many of them have windows. */
#include "flow/impl.h"

void flow_each(const struct flow *f, void (*func)(void *ctx, uint64_t addr, uint64_t size),
	       void *ctx)
{
	for (uint32_t i = 0; i < f->funcs.len; i++)
		if (!(f->funcs.data[i].flags & FUNC_PART))
			func(ctx, f->funcs.data[i].addr, f->funcs.data[i].size);
}

/* Its distance is its last 4 bytes, or its last one. */
uint64_t jump_target(const uint8_t *code, uint64_t addr, uint32_t size)
{
	int32_t distance;

	if (size < FLOW_JUMP)
		return addr + size + (uint64_t)(int64_t)(int8_t)code[size - 1];
	memcpy(&distance, code + size - 4, sizeof(distance));
	return addr + size + (uint64_t)(int64_t)distance;
}

/*
 * Whether a jump at an address out of a function leads to another one, perhaps by the linkage
 * table, and not to a part of it.
 */
static bool target_is_other(const struct flow *f, uint64_t from, uint64_t addr)
{
	const struct flow_func *to = func_in(f->funcs.data, f->funcs.len, addr);

	return !to || section_at(f, from) != section_at(f, addr) ||
	       (to->addr == addr && !(to->flags & FUNC_PART));
}

static void exits_add(const struct flow *f, const struct flow_func *fn, flow_sites *ret)
{
	const struct flow_area *a = area_at(f, fn->addr);
	uint64_t i = a ? fn->addr - a->addr : 0;
	uint64_t end = a ? MIN(i + fn->size, a->size) : 0;

	while (i < end && a->map[i]) {
		uint64_t addr = a->addr + i;
		uint32_t size = insn_size(a->map[i]);
		enum flow_insn kind = insn_kind(a->map[i]);
		bool is_exit = kind == CODE_RET;

		if (kind == CODE_JMP) {
			uint64_t to = jump_target(a->code + i, addr, size);

			is_exit = (to < fn->addr || to - fn->addr >= fn->size) &&
				  target_is_other(f, addr, to);
		}
		if (is_exit)
			vec_push(ret, (struct flow_site){addr, FLOW_EXIT});
		i += size;
	}
}

void flow_exits(const struct flow *f, uint64_t addr, flow_sites *ret)
{
	const struct flow_func *fn = func_in(f->funcs.data, f->funcs.len, addr);

	if (fn)
		exits_add(f, fn, ret);
}

/* ---- the table of a file -------------------------------------------------------------------- */

#define SHORT ((enum flow_lack)FLOW_NLACKS) /* of a site that fits with a short jump */

/* Plans for sites, and sets lacks, where SHORT stands for FLOW_FITS with a short jump. */
static struct err *sites_count(const struct flow *f, const flow_sites *sites,
			       struct flow_counts *ret, struct flow_plan *plan)
{
	struct err *e = flow_plan(f, sites->data, sites->len, NULL, plan);

	if (e)
		return e;
	for (uint32_t i = 0; i < plan->windows.len; i++) {
		const struct flow_window *w = &plan->windows.data[i];

		for (uint32_t k = 0; w->jump == FLOW_JUMP_SHORT && k < w->nbodies; k++)
			plan->lacks[w->bodies[k].site] = SHORT;
	}
	ret->n = sites->len;
	for (uint32_t i = 0; i < sites->len; i++)
		if (plan->lacks[i] == SHORT)
			ret->nshort++;
		else
			ret->lacks[plan->lacks[i]]++;
	return NULL;
}

/* Counts what fits at the first instruction itself. */
static void at_entry_count(const struct flow *f, uint64_t addr, struct flow_counts *ret)
{
	const struct flow_area *a = area_at(f, addr);
	struct flow_range bounds;
	struct flow_window w;

	if (!a)
		return;
	bounds = flow_around(f, a, addr);
	if (insn_kind(a->map[addr - a->addr]) == CODE_ENDBR)
		addr += insn_size(a->map[addr - a->addr]);
	ret->n++;
	ret->lacks[window_try(f, &bounds, addr, FLOW_JUMP, addr, &w)]++;
}

static struct err *entries_count(const struct flow *f, const flow_sites *entries,
				 struct flow_census *ret)
{
	struct flow_plan plan;
	struct err *e = sites_count(f, entries, &ret->entries, &plan);

	if (e)
		return e;
	for (uint32_t i = 0; i < plan.windows.len; i++)
		if (plan.windows.data[i].jump == FLOW_JUMP) {
			ret->nbehind++;
			ret->nargs += plan.windows.data[i].changed_args == 0;
		}
	flow_plan_deinit(&plan);
	return NULL;
}

/* ends: for each function, the number of exits up to its last one. */
static struct err *exits_count(const struct flow *f, const flow_sites *exits, const uint32_t *ends,
			       uint32_t nfuncs, struct flow_census *ret)
{
	struct flow_plan plan;
	struct err *e = sites_count(f, exits, &ret->exits, &plan);

	if (e)
		return e;
	for (uint32_t i = 0, k = 0; i < nfuncs; i++) {
		bool is_full = true, is_full_short = true;

		for (; k < ends[i]; k++) {
			is_full &= plan.lacks[k] == FLOW_FITS;
			is_full_short &= plan.lacks[k] == FLOW_FITS || plan.lacks[k] == SHORT;
		}
		ret->nfull += is_full;
		ret->nfull_short += is_full_short;
	}
	flow_plan_deinit(&plan);
	return NULL;
}

static void marks_count(const struct flow *f, struct flow_census *ret)
{
	for (uint32_t i = 0; i < f->areas.len; i++) {
		const struct flow_area *a = &f->areas.data[i];

		ret->code += a->size;
		for (uint64_t k = 0; k <= a->size / 64; k++)
			ret->nmarks += (uint32_t)__builtin_popcountll(a->marks[k]);
	}
}

struct err *flow_census(const struct flow *f, struct flow_census *ret)
{
	flow_sites entries = {0}, exits = {0}, all = {0};
	VEC(uint32_t) ends = {0};
	struct flow_plan plan;
	struct err *e;

	*ret = (struct flow_census){.has_symbols = f->has_symbols,
				    .ntables = f->ntables,
				    .nlandings = f->nlandings,
				    .npointers = f->npointers};
	marks_count(f, ret);
	for (uint32_t i = 0; i < f->funcs.len; i++) {
		const struct flow_func *fn = &f->funcs.data[i];

		ret->nunknown += (fn->flags & FUNC_LOST) != 0;
		if (fn->flags & FUNC_PART)
			continue;
		at_entry_count(f, fn->addr, &ret->at_entry);
		vec_push(&entries, (struct flow_site){fn->addr, FLOW_ENTRY});
		vec_push(&all, *vec_last(&entries));
		exits_add(f, fn, &exits);
		for (uint32_t k = ends.len ? *vec_last(&ends) : 0; k < exits.len; k++)
			vec_push(&all, exits.data[k]);
		vec_push(&ends, exits.len);
	}
	e = entries_count(f, &entries, ret);
	if (!e)
		e = exits_count(f, &exits, ends.data, ends.len, ret);
	if (!e) {
		e = sites_count(f, &all, &ret->all, &plan);
		if (!e)
			flow_plan_deinit(&plan);
	}
	vec_deinit(&entries);
	vec_deinit(&exits);
	vec_deinit(&all);
	vec_deinit(&ends);
	return e;
}
