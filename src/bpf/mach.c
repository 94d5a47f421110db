/* SPDX-License-Identifier: MIT */
/*
 * Where things are in a machine state, and how much scratch memory there is.
 *
 * A machine state (an entry of MAP_MACH) has this order. A load or store reaches the first 32 KiB
 * with one instruction, so what may be large comes last:
 *
 *     struct rt_mach | save | kaddr | spill | keys | live | zero | this-> block | record | stacks
 */
#include "bpf/mach.h"

#include "base/base.h"
#include "rt/abi.h"

#define MAX_KEY_STRINGS 64
#define SPILL_SPARE	64
#define SAVE_SIZE	128
#define SCRATCH_MIN	8192
#define SCRATCH_MAX	(1u << 20)
#define SLOTTED_MAX	16		     /* most arrays with slots */
#define SLOTTED_MIN	(4u << RT_SLOT_BITS) /* elements of the smallest array with slots */

_Static_assert(sizeof(struct rt_block) == LAYOUT_BLOCK_HEAD, "the layout counts heads of blocks");

/* ---- slots ---------------------------------------------------------------------------------- */

/*
 * Which arrays have slots: those of numbers with short keys of which elements are removed. Where
 * nothing is removed, elements soon fill any number of slots. A small array has none, so that the
 * number of its elements is what dynvarsize says. Arrays of stacks have none, because slots have
 * their keys in a form that a reader of the map would have to undo (mapio.c).
 */
static bool var_is_slotted(const struct layout *l, const struct var_layout *vl)
{
	uint32_t key_size = vl->key_size - (vl->owner ? 8 : 0);

	return vl->is_removed && !var_has_stacks(vl->var) && !var_is_byref(vl) &&
	       vl->var->nkeys > 0 && key_size <= 16 && l->arr_maps[vl->map].val_size == 8 &&
	       vl->max_entries >= SLOTTED_MIN;
}

static void slots_lay_out(struct mach *m, const struct layout *l)
{
	uint32_t n = 0, pos = MAX(RT_GVARS_VALUE(l), 1u);

	m->slots_off = xcalloc(MAX(l->nvars, 1u), sizeof(*m->slots_off));
	for (uint32_t i = 0; i < l->nvars && n < SLOTTED_MAX; i++) {
		if (!l->vars[i].is_elem || !var_is_slotted(l, &l->vars[i]))
			continue;
		m->slots_off[i] = ROUND_UP(pos, 64u);
		pos = m->slots_end = m->slots_off[i] + RT_SLOTS_SIZE;
		n++;
	}
}

uint32_t mach_slots_off(const struct mach *m, const struct layout *l, const struct var_layout *vl)
{
	return m->slots_off ? m->slots_off[vl - l->vars] : 0;
}

/* ---- machine state -------------------------------------------------------------------------- */

static uint32_t area_take(uint32_t *pos, uint32_t size)
{
	uint32_t off = *pos;

	*pos += ROUND_UP(size, 8u);
	return off;
}

static uint32_t stack_keys(const struct agg_layout *al)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < al->nkeys; k++)
		n += al->keys[k].repr == KEY_STACK;
	return n;
}

static uint32_t key_stack_words(const struct layout *l, const struct difo *d, enum datum_kind datum)
{
	bool is_user = datum == DATUM_USTACK;

	return stack_words(layout_frames(l, d, is_user), layout_strsize(&l->opts, d, is_user));
}

/* The most words of a stack that is a key in the clauses. */
static uint32_t key_words(const struct layout *l)
{
	uint32_t max = 0;

	for (uint32_t c = 0; c < l->nclauses; c++)
		for (uint32_t i = 0; i < l->clauses[c].clause->nacts; i++) {
			const struct prog_act *act = &l->clauses[c].clause->acts[i];
			const struct agg_layout *al =
				act->kind == ACT_AGG ? &l->aggs[act->agg->id - 1] : NULL;

			for (uint32_t k = 0; al && k < al->nkeys; k++)
				if (al->keys[k].repr == KEY_STACK &&
				    act->arg_kinds[k] != DATUM_STACKID)
					max = MAX(max, key_stack_words(l, act->args[k],
								       act->arg_kinds[k]));
		}
	return max;
}

/* The most words of a stack that is a value. */
static uint32_t value_words(const struct layout *l)
{
	uint32_t max = 0;

	for (uint32_t c = 0; c < l->nclauses && l->facts.has_stackid; c++) {
		struct clause_difo in = {0};

		while (clause_each_difo(l->clauses[c].clause, &in)) {
			uint32_t at = 0;
			uint64_t how;

			while (difo_each_stackid(in.difo, &at, &how)) {
				struct stack_how h = layout_stack_how(&l->opts, how);

				max = MAX(max, stack_words(h.frames, h.strsize));
			}
		}
	}
	return max;
}

static void stacks_size(struct mach *m, const struct layout *l)
{
	const struct layout_facts *f = &l->facts;
	uint32_t words = MAX(key_words(l), value_words(l));

	for (uint32_t i = 0; i < l->naggs; i++)
		m->stack_nslots = MAX(m->stack_nslots, stack_keys(&l->aggs[i]));
	m->stack_size = (uint32_t)sizeof(struct rt_stack) + stack_bytes(words);
	if (f->has_caller || f->has_depth || f->has_udepth || f->has_lang || f->has_stackid) {
		m->stack_nslots++;
		words = MAX(words, 2u); /* the second frame is the caller; a frame and its name */
	}
	if (f->has_depth)
		words = MAX(words, layout_max_frames(&l->opts, false));
	if (f->has_udepth)
		words = MAX(words, layout_max_frames(&l->opts, true));
	if (m->stack_nslots)
		m->stack_stride = ROUND_UP((uint32_t)sizeof(struct rt_stack) + stack_bytes(words) +
						   RT_STACK_BLOCK,
					   RT_STACK_BLOCK);
}

static uint32_t scratch_size(const struct layout *l)
{
	const struct layout_facts *f = &l->facts;
	uint64_t string = ROUND_UP(l->strsize, 8u);
	uint64_t need = SCRATCH_MIN + (f->nstrings + 16) * string + ROUND_UP(f->bytes, 8u);

	uint64_t max = 16 * string <= SCRATCH_MAX ? SCRATCH_MAX : (f->nstrings + 2) * string;

	max = MAX(max, SCRATCH_MAX);
	return (uint32_t)MAX(MIN(need, max), ROUND_UP(l->opts.scratchsize, 8u)) +
	       (f->has_blocks ? RT_SCRATCH_KEPT : 0);
}

static void mach_lay_out(struct mach *m, const struct layout *l)
{
	const struct layout_facts *f = &l->facts;
	uint32_t pos = ROUND_UP((uint32_t)sizeof(struct rt_mach), 8u), agg_key = 0, arr_key = 0;

	for (uint32_t i = 0; i < l->nagg_maps; i++) {
		agg_key = MAX(agg_key, ROUND_UP(l->agg_maps[i].key_size, 8u));
		m->zero_size =
			MAX(m->zero_size, elem_map_value_size(&l->agg_maps[i], l->opts.ncpus));
	}
	for (uint32_t i = 0; i < l->narr_maps; i++) {
		arr_key = MAX(arr_key, ROUND_UP(l->arr_maps[i].key_size, 8u));
		m->zero_size = MAX(m->zero_size, l->arr_maps[i].val_size);
	}
	m->save_off = area_take(&pos, SAVE_SIZE);
	m->kaddr_off = area_take(&pos, 8 * MAX_KEY_STRINGS);
	m->spill_nslots = SPILL_SPARE + f->max_reg + 2 * f->max_tuple;
	m->spill_off = area_take(&pos, 8 * m->spill_nslots);
	m->key_size = agg_key + arr_key;
	m->key_off = area_take(&pos, m->key_size);
	m->arr_key_off = m->key_off + agg_key;
	m->live_size = l->live_size ? (uint32_t)sizeof(struct rt_live_key) + l->live_size : 0;
	m->live_off = area_take(&pos, m->live_size);
	m->zero_off = area_take(&pos, m->zero_size);
	m->this_off = area_take(&pos, l->this_size);
	for (uint32_t i = 0; i < l->nclauses; i++)
		m->rec_size = MAX(m->rec_size, l->clauses[i].max_size);
	m->rec_off = area_take(&pos, m->rec_size);
	stacks_size(m, l);
	m->stack_off = area_take(&pos, m->stack_nslots * m->stack_stride);
	m->size = pos;
	m->scratch_size = scratch_size(l);
}

struct mach *mach_create(const struct layout *l)
{
	struct mach *m = xcalloc(1, sizeof(*m));

	slots_lay_out(m, l);
	mach_lay_out(m, l);
	return m;
}

void mach_destroy(struct mach *m)
{
	if (!m)
		return;
	free(m->slots_off);
	free(m);
}
