/* SPDX-License-Identifier: MIT */
/*
 * The base of an element: the part of its state in the kernel that clear() or trunc() has
 * discarded.
 *
 * Probes go on counting while the consumer handles a record, so to write zeros into the kernel's
 * values would lose the increments since the snapshot. Instead the state that clear() or trunc()
 * saw is kept as the element's base and subtracted from every later snapshot. After trunc() the
 * element is hidden until something has been added to it. min and max cannot be subtracted. Their
 * values are taken out of the kernel (take.c), and their base is the opposite: a value that was
 * taken out but must not be lost, and is merged into every later snapshot.
 */
#include "agg/impl.h"

bool agg_is_additive(const struct prog_agg *agg)
{
	return agg->func != AGGFUNC_MIN && agg->func != AGGFUNC_MAX;
}

/* Adds one state to another, or subtracts it. */
static void block_move(const struct agg_layout *l, int64_t *to, const int64_t *from, bool is_minus)
{
	if (l->agg->func == AGGFUNC_STDDEV) { /* words 2 and 3 are one 128-bit number */
		unsigned __int128 a, b;

		memcpy(&a, to + 2, sizeof(a));
		memcpy(&b, from + 2, sizeof(b));
		a = is_minus ? a - b : a + b;
		memcpy(to + 2, &a, sizeof(a));
	}
	for (uint32_t i = l->agg->func == AGGFUNC_LIVE ? LIVE_LOST : 0,
		      n = l->agg->func == AGGFUNC_STDDEV ? 2 : agg_state_len(l);
	     i < n; i++)
		to[i] = (int64_t)(is_minus ? (uint64_t)to[i] - (uint64_t)from[i]
					   : (uint64_t)to[i] + (uint64_t)from[i]);
}

void agg_state_sub(const struct agg_layout *l, int64_t *state, const int64_t *less)
{
	block_move(l, state, less, true);
}

/* Merges a state of min or max into another: the lower or higher one stays. */
static void block_merge(const struct agg_layout *l, int64_t *to, const int64_t *from)
{
	*to = l->agg->func == AGGFUNC_MIN ? MIN(*to, *from) : MAX(*to, *from);
}

/* ---- one key's base ------------------------------------------------------------------------ */

struct base {
	uint64_t hidden_at; /* now_ns(); 0: the element is shown */
	uint64_t since;	    /* when the snapshot began whose state was taken off last */
	int64_t state[];    /* the merged state, then those of the CPUs if they are kept */
};

static struct base *base_find(const struct agg_slot *slot, const struct agg_elem *e,
			      struct strbuf *canon)
{
	strbuf_clear(canon);
	agg_keys_canon(e, canon);
	return slot->base ? hashmap_find(slot->base, strbuf_text(canon), canon->len) : NULL;
}

/* Returns the base of an element; a new one has no effect yet. */
static struct base *base_get(struct agg_slot *slot, const struct agg_elem *e)
{
	const struct agg_layout *l = slot->view.layout;
	size_t nwords = (size_t)agg_state_len(l) * (1 + e->ncpus);
	struct strbuf canon = {0};
	struct base *base = base_find(slot, e, &canon);

	if (!base) {
		struct agg_elem none = {.ncpus = e->ncpus};

		if (!slot->base)
			slot->base = hashmap_create();
		base = xcalloc(1, sizeof(*base) + nwords * sizeof(int64_t));
		none.state = base->state;
		agg_elem_init(l, &none);
		hashmap_set(slot->base, strbuf_text(&canon), canon.len, base);
	}
	strbuf_deinit(&canon);
	return base;
}

void agg_base_add(struct agg_slot *slot, struct agg_elem *e)
{
	const struct agg_layout *l = slot->view.layout;
	struct base *base = base_get(slot, e);
	uint32_t len = agg_state_len(l);

	for (uint32_t i = 0; i <= e->ncpus; i++)
		block_move(l, base->state + (size_t)i * len, e->state + (size_t)i * len, false);
	base->since = slot->snap_at;
}

uint64_t agg_base_since(const struct agg_slot *slot, const struct agg_elem *e)
{
	struct strbuf canon = {0};
	const struct base *base = base_find(slot, e, &canon);
	uint64_t since = base ? base->since : 0;

	strbuf_deinit(&canon);
	return since;
}

void agg_base_hide(struct agg_slot *slot, struct agg_elem *e)
{
	agg_base_add(slot, e);
	base_get(slot, e)->hidden_at = now_ns();
}

void agg_base_carry(struct agg_slot *slot, struct agg_elem *e, const int64_t *state,
		    uint32_t bucket)
{
	const struct agg_layout *l = slot->view.layout;
	struct base *base = base_get(slot, e);
	uint32_t len = agg_state_len(l);

	for (uint32_t i = 0; i <= MIN(e->ncpus, 1u); i++) { /* merged, then the first CPU */
		int64_t *to = base->state + (size_t)i * len;

		if (!agg_is_additive(l->agg))
			block_merge(l, to, state);
		else if (l->is_sparse && bucket < len)
			to[bucket] = (int64_t)((uint64_t)to[bucket] - (uint64_t)state[0]);
		else if (!l->is_sparse)
			block_move(l, to, state, true);
	}
}

void agg_base_remove(struct agg_slot *slot, struct agg_elem *e)
{
	struct strbuf canon = {0};
	struct base *base = base_find(slot, e, &canon);

	if (base) {
		hashmap_remove(slot->base, strbuf_text(&canon), canon.len);
		free(base);
	}
	strbuf_deinit(&canon);
}

/* Subtracts the base, which leaves what was added since clear() or trunc(). */
static void elem_less(const struct agg_layout *l, struct agg_elem *e, const struct base *base)
{
	uint32_t len = agg_state_len(l);

	for (uint32_t i = 0; i <= e->ncpus; i++)
		block_move(l, e->state + (size_t)i * len, base->state + (size_t)i * len, true);
	e->touched = false;
	for (uint32_t i = 0; i < len && !e->touched; i++)
		e->touched = e->state[i] != 0;
}

static void elem_more(const struct agg_layout *l, struct agg_elem *e, const struct base *base)
{
	for (uint32_t i = 0; i <= e->ncpus; i++)
		block_merge(l, e->state + i, base->state + i);
	e->touched |= base->state[0] != agg_neutral(l);
}

uint64_t agg_base_apply(struct agg_slot *slot, struct agg_elem *e)
{
	const struct agg_layout *l = slot->view.layout;
	struct strbuf canon = {0};
	struct base *base = base_find(slot, e, &canon);
	uint64_t hidden_at;

	if (base && agg_is_additive(l->agg))
		elem_less(l, e, base);
	else if (base)
		elem_more(l, e, base);
	if (base && e->touched)
		base->hidden_at = 0;
	hidden_at = base ? base->hidden_at : 0;
	strbuf_deinit(&canon);
	return hidden_at;
}

void agg_base_deinit(struct agg_slot *slot)
{
	const void *key;
	size_t pos = 0, len;
	struct base *base;

	if (!slot->base)
		return;
	while ((base = hashmap_next(slot->base, &pos, &key, &len)))
		free(base);
	hashmap_destroy(slot->base);
	slot->base = NULL;
}
