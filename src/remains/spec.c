/* SPDX-License-Identifier: MIT */
/* Speculations: which ids are active, and which records belong to them (record/format.h). */
#include "remains/impl.h"

void specs_open(struct remains_run *r)
{
	uint32_t n = MAX(r->layout->nspec, 1u);

	if (!r->layout->facts.speculates)
		return;
	r->spec = arena_alloc(r->arena, n * sizeof(*r->spec));
	r->spec_bytes = arena_alloc(r->arena, n * sizeof(*r->spec_bytes));
	if (!r->layout->nspec)
		r->spec[0] = RT_SPEC_NONE;
	r->run.spec = r->spec;
}

uint64_t spec_take(struct remains_run *r)
{
	for (uint32_t i = 0; i < r->layout->nspec; i++) {
		if (RT_SPEC_STATE(r->spec[i]) != RT_SPEC_FREE)
			continue;
		r->spec[i] += RT_SPEC_ACTIVE;
		r->spec_bytes[i] = 0;
		return i + 1;
	}
	r->run.control->cpu[0].spec_unavail++;
	return 0;
}

/* The index of an id, which is an int; no speculation has 0. False: there is no such id. */
static bool id_check(const struct remains_run *r, uint64_t id, uint32_t *ret)
{
	*ret = (uint32_t)id - 1;
	return !(uint32_t)id || *ret < MAX(r->layout->nspec, 1u);
}

/* Whether the speculation of that index is active; of the id 0 none is. */
static bool is_active(const struct remains_run *r, uint32_t i)
{
	return i < MAX(r->layout->nspec, 1u) && RT_SPEC_STATE(r->spec[i]) == RT_SPEC_ACTIVE;
}

/* The room that a record must find: that of the largest that the clause could make. */
static uint64_t room_needed(const struct remains_run *r)
{
	const struct clause_layout *cl = r->clause->layout;
	uint64_t most = MAX(r->layout->opts.specsize & ~7ull, (uint64_t)cl->heap_off);

	return ROUND_UP(MIN((uint64_t)cl->max_size, most), 8u);
}

bool spec_begin(struct remains_run *r, uint64_t id, bool *ret_fault)
{
	struct rt_spec_tag tag = {.id = (uint32_t)id};
	uint32_t i;

	*ret_fault = !id_check(r, id, &i);
	if (*ret_fault || !is_active(r, i))
		return false;
	if (r->spec_bytes[i] + room_needed(r) > r->layout->opts.specsize) {
		r->run.control->cpu[0].spec_drops++;
		return false;
	}
	tag.word = r->spec[i];
	memcpy(r->rec.data + r->clause->layout->spec_off, &tag, sizeof(tag));
	return true;
}

void spec_count(struct remains_run *r)
{
	struct rt_spec_tag tag;

	if (!r->clause->layout->spec_off)
		return;
	memcpy(&tag, r->rec.data + r->clause->layout->spec_off, sizeof(tag));
	if (tag.word)
		r->spec_bytes[tag.id - 1] += ROUND_UP(r->rec.len, 8u);
}

bool spec_end(struct remains_run *r, uint64_t id, bool is_committed, struct rt_spec_tag *ret)
{
	uint32_t i;

	if (!id_check(r, id, &i))
		return false;
	if (!is_active(r, i))
		return true;
	if (is_committed)
		*ret = (struct rt_spec_tag){.word = r->spec[i], .id = (uint32_t)id};
	r->spec[i] = RT_SPEC_NEXT(r->spec[i]);
	return true;
}
