/* SPDX-License-Identifier: MIT */
/*
 * Takes elements out of the kernel's maps without losing increments since the snapshot.
 *
 * Probes fire while the consumer works. trunc() deletes an element, clear() of min() and max()
 * writes its neutral value; what a probe adds between the snapshot and that moment would be lost.
 * So an element is read and deleted in one step (BPF_MAP_LOOKUP_AND_DELETE_ELEM), and what it holds
 * beyond the snapshot is put back. If a probe has created the element again in between, that
 * remainder is kept here and added to every later snapshot (base.c).
 *
 * An increment can still be lost in the instant of the deletion, at most one on each CPU: a probe
 * has found the element and not yet added to it. So elements that were in use a moment ago are not
 * deleted where their use can be known (control.c, snap.c). Of min() and max(), a
 * value since the snapshot counts if it is a new extreme; others cannot be told from values before
 * the snapshot.
 */
#include "agg/impl.h"

static bool is_extreme(const struct agg_layout *l)
{
	return !agg_is_additive(l->agg);
}

static uint32_t nwords(const struct agg_layout *l)
{
	return l->is_sparse ? 1 : agg_state_len(l);
}

size_t raw_state_size(const struct agg_layout *l)
{
	return nwords(l) * sizeof(int64_t);
}

void raw_state_init(const struct agg_layout *l, int64_t *state)
{
	memset(state, 0, raw_state_size(l));
	if (is_extreme(l))
		state[0] = agg_neutral(l);
}

void raw_state_add(const struct agg_layout *l, int64_t *state, const uint8_t *raw)
{
	int64_t word;

	if (!l->is_sparse) {
		agg_state_add_raw(l, state, raw);
		return;
	}
	memcpy(&word, raw, sizeof(word));
	state[0] = (int64_t)((uint64_t)state[0] + (uint64_t)word);
}

/* Leaves of a state what was added since the snapshot; before: the state in the snapshot. */
static void state_less(const struct agg_layout *l, int64_t *state, const int64_t *before)
{
	if (is_extreme(l)) {
		if (state[0] == before[0])
			raw_state_init(l, state);
	} else if (l->is_sparse) {
		state[0] = (int64_t)((uint64_t)state[0] - (uint64_t)before[0]);
	} else {
		agg_state_sub(l, state, before);
	}
}

static bool is_none(const struct agg_layout *l, const int64_t *state)
{
	if (is_extreme(l))
		return state[0] == agg_neutral(l);
	for (uint32_t i = 0; i < nwords(l); i++)
		if (state[i])
			return false;
	return true;
}

/* Encodes a state as the kernel stores it (record/layout.h). */
static void state_encode(const struct agg_layout *l, const int64_t *state, uint8_t *raw)
{
	static const int64_t touched = 1;
	int64_t extreme;

	memcpy(raw, state, raw_state_size(l));
	if (is_extreme(l)) {
		extreme = state[0] ^ agg_neutral(l);
		memcpy(raw, &extreme, sizeof(extreme));
	}
	if (!l->key_size && !is_none(l, state))
		memcpy(raw + l->touched_off, &touched, sizeof(touched));
}

/* Adds the values of all CPUs. */
static void values_add(const struct aggs *a, const struct agg_layout *l, int64_t *state,
		       const uint8_t *values, uint32_t ncpus)
{
	size_t stride = elem_map_stride(&a->layout->agg_maps[l->map]);

	for (uint32_t cpu = 0; cpu < ncpus; cpu++)
		raw_state_add(l, state, values + cpu * stride);
}

/* Takes out one kernel element; before: its state in the snapshot. */
static struct err *raw_take(struct aggs *a, struct agg_slot *slot, struct agg_elem *e,
			    const void *key, const int64_t *before, bool keeps_key)
{
	const struct agg_layout *l = slot->view.layout;
	CLEANUP(free) uint8_t *raw = xcalloc(1, a->layout->agg_maps[l->map].val_size);
	CLEANUP(free) int64_t *state = xmalloc(raw_state_size(l));
	const uint8_t *values = NULL;
	bool is_done = false;
	uint32_t ncpus = 0, bucket = 0;
	struct err *err;

	raw_state_init(l, state);
	err = a->io->take(a->ctx, l->map, key, &values, &ncpus);
	if (err || !values)
		return err;
	values_add(a, l, state, values, ncpus);
	state_less(l, state, before);
	if (is_none(l, state) && !keeps_key)
		return NULL;
	state_encode(l, state, raw);
	err = a->io->put(a->ctx, l->map, key, raw, &is_done);
	if (err || is_done || is_none(l, state))
		return err;
	if (l->is_sparse)
		memcpy(&bucket, (const uint8_t *)key + l->key_size - sizeof(bucket),
		       sizeof(bucket));
	agg_base_carry(slot, e, state, bucket);
	return NULL;
}

struct err *elem_take(struct aggs *a, struct agg_slot *slot, struct agg_elem *e, bool keeps_key)
{
	const struct agg_layout *l = slot->view.layout;
	struct err *err = NULL;

	if (!l->key_size)
		return raw_take(a, slot, e, &l->elem, e->state, keeps_key);
	for (struct raw_key *k = elem_of(e)->raws; k && !err; k = k->next)
		err = raw_take(a, slot, e, k->data, k->state, keeps_key);
	return err;
}

struct err *elem_is_active(struct aggs *a, const struct agg_slot *slot, struct agg_elem *e,
			   bool *ret_active)
{
	const struct agg_layout *l = slot->view.layout;
	CLEANUP(free) int64_t *state = xmalloc(raw_state_size(l));
	struct err *err = NULL;

	*ret_active = false;
	for (struct raw_key *k = elem_of(e)->raws; k && !err && !*ret_active; k = k->next) {
		const uint8_t *values = NULL;
		uint32_t ncpus = 0;

		err = a->io->peek(a->ctx, l->map, k->data, &values, &ncpus);
		raw_state_init(l, state);
		values_add(a, l, state, values, ncpus);
		*ret_active = !err && values && memcmp(state, k->state, raw_state_size(l)) != 0;
	}
	return err;
}
