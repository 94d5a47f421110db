/*
 * Taking elements out of the kernel's maps without losing what was counted since the snapshot.
 *
 * Probes go on while the consumer works. trunc() deletes an element, clear() of min() and max() writes its neutral
 * value; what a probe adds to it between the snapshot and then would be gone. So an element is read and
 * deleted in one step (BPF_MAP_LOOKUP_AND_DELETE_ELEM), and what it has beyond the snapshot is put back. A probe
 * that makes the element anew in between wins: then it is taken once more, and both parts are put back.
 *
 * What remains: an increment in the instant of the deletion itself, one at most on each CPU. Of min() and max(), a
 * value since the snapshot counts if it is a new extreme; one that is not cannot be told from those before.
 */
#include "agg/impl.h"

#define TRIES_MAX 8 /* a probe that fires this often in so short a time keeps its own part only */

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

/* Leaves what came since the snapshot: before is the state it had there. */
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

/* As the kernel stores it: bpf/layout.h. */
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

struct err *raw_take(struct aggs *a, const struct agg_layout *l, const void *key,
		     const int64_t *before, bool keeps_key)
{
	CLEANUP(free) uint8_t *raw = xcalloc(1, a->layout->agg_maps[l->map].val_size);
	CLEANUP(free) int64_t *state = xmalloc(raw_state_size(l));
	size_t stride = ROUND_UP((size_t)a->layout->agg_maps[l->map].val_size, (size_t)8);
	bool is_done = false;
	struct err *e = NULL;

	raw_state_init(l, state);
	for (int i = 0; i < TRIES_MAX && !is_done && !e; i++) {
		const uint8_t *values = NULL;
		uint32_t ncpus = 0;

		e = a->io->take(a->ctx, l->map, key, &values, &ncpus);
		for (uint32_t cpu = 0; cpu < ncpus; cpu++)
			raw_state_add(l, state, values + cpu * stride);
		if (i == 0 && values)
			state_less(l, state, before);
		is_done = e || (is_none(l, state) && (!keeps_key || !values));
		if (is_done)
			break;
		state_encode(l, state, raw);
		e = a->io->put(a->ctx, l->map, key, raw, &is_done);
	}
	return e;
}
