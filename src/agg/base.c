/*
 * What clear() has taken off: for functions that add up, clearing writes nothing to the kernel.
 *
 * Increments go on while a record is consumed, so that zeroing the kernel's values would lose those
 * since the snapshot. Instead the state that clear() saw is kept beside the element's keys and
 * subtracted from every later snapshot. min and max cannot be subtracted; they are taken out
 * (take.c).
 */
#include "agg/impl.h"

bool agg_is_additive(const struct prog_agg *agg)
{
	return agg->func != AGGFUNC_MIN && agg->func != AGGFUNC_MAX;
}

/* to += sign * from, one state */
static void block_move(const struct agg_layout *l, int64_t *to, const int64_t *from, bool is_minus)
{
	if (l->agg->func == AGGFUNC_STDDEV) { /* words 2 and 3 are one number */
		unsigned __int128 a, b;

		memcpy(&a, to + 2, sizeof(a));
		memcpy(&b, from + 2, sizeof(b));
		a = is_minus ? a - b : a + b;
		memcpy(to + 2, &a, sizeof(a));
	}
	for (uint32_t i = 0, n = l->agg->func == AGGFUNC_STDDEV ? 2 : agg_state_len(l); i < n; i++)
		to[i] = (int64_t)(is_minus ? (uint64_t)to[i] - (uint64_t)from[i]
					   : (uint64_t)to[i] + (uint64_t)from[i]);
}

void agg_state_sub(const struct agg_layout *l, int64_t *state, const int64_t *less)
{
	block_move(l, state, less, true);
}

/* The merged state, and those of the CPUs if there are any. */
static void state_move(const struct agg_slot *slot, const struct agg_elem *e, int64_t *to,
		       const int64_t *from, bool is_minus)
{
	const struct agg_layout *l = slot->view.layout;
	uint32_t len = agg_state_len(l);

	for (uint32_t i = 0; i <= e->ncpus; i++)
		block_move(l, to + (size_t)i * len, from + (size_t)i * len, is_minus);
}

static int64_t *base_find(const struct agg_slot *slot, const struct agg_elem *e,
			  struct strbuf *canon)
{
	strbuf_clear(canon);
	agg_keys_canon(e, canon);
	return slot->base ? hashmap_find(slot->base, strbuf_text(canon), canon->len) : NULL;
}

void agg_base_add(struct agg_slot *slot, struct agg_elem *e)
{
	const struct agg_layout *l = slot->view.layout;
	struct strbuf canon = {0};
	int64_t *base = base_find(slot, e, &canon);

	if (!base) {
		if (!slot->base)
			slot->base = hashmap_create();
		base = xcalloc((size_t)agg_state_len(l) * (1 + e->ncpus), sizeof(*base));
		hashmap_set(slot->base, strbuf_text(&canon), canon.len, base);
	}
	state_move(slot, e, base, e->state, false);
	strbuf_deinit(&canon);
}

void agg_base_remove(struct agg_slot *slot, struct agg_elem *e)
{
	struct strbuf canon = {0};
	int64_t *base = base_find(slot, e, &canon);

	if (base) {
		hashmap_remove(slot->base, strbuf_text(&canon), canon.len);
		free(base);
	}
	strbuf_deinit(&canon);
}

void agg_base_apply(struct agg_slot *slot, struct agg_elem *e)
{
	const struct agg_layout *l = slot->view.layout;
	struct strbuf canon = {0};
	int64_t *base = base_find(slot, e, &canon);

	if (base) {
		state_move(slot, e, e->state, base, true);
		e->touched = false;
		for (uint32_t i = 0, n = agg_state_len(l); i < n && !e->touched; i++)
			e->touched = e->state[i] != 0;
	}
	strbuf_deinit(&canon);
}

void agg_base_deinit(struct agg_slot *slot)
{
	const void *key;
	size_t pos = 0, len;
	int64_t *base;

	if (!slot->base)
		return;
	while ((base = hashmap_next(slot->base, &pos, &key, &len)))
		free(base);
	hashmap_destroy(slot->base);
	slot->base = NULL;
}
