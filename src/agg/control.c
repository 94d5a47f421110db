/* What programs do to aggregations when a record is consumed: clear, trunc, normalize. */
#include "agg/impl.h"

#include "dtrace.h"

static struct elem *elem_of(struct agg_elem *e)
{
	return CONTAINER_OF(e, struct elem, pub);
}

static struct agg_slot *slot_of(struct aggs *a, uint32_t agg_id)
{
	return agg_id >= 1 && agg_id <= a->nslots ? &a->slots[agg_id - 1] : NULL;
}

static struct err *bad_id(uint32_t agg_id)
{
	return err_code(err_new("aggregation %u does not exist", agg_id), EDT_BADAGGVAR);
}

typedef struct err *key_func(void *ctx, uint32_t agg, const void *key);

/* Applies func to every kernel element behind e. */
static struct err *elem_each_key(struct aggs *a, uint32_t index, struct agg_elem *e, key_func *func)
{
	struct err *err = NULL;

	if (!a->slots[index].view.layout->key_size)
		return a->io->zero(a->ctx, index, NULL); /* an array's element cannot go */
	for (struct raw_key *k = elem_of(e)->raws; k && !err; k = k->next)
		err = func(a->ctx, index, k->data);
	return err;
}

struct err *aggs_clear(struct aggs *a, uint32_t agg_id)
{
	struct agg_slot *slot = slot_of(a, agg_id);

	if (!slot)
		return bad_id(agg_id);
	for (uint32_t i = 0; i < slot->view.nelems; i++) {
		struct agg_elem *e = slot->view.elems[i];
		struct err *err = elem_each_key(a, agg_id - 1, e, a->io->zero);

		if (err)
			return err_wrap(err, "cannot clear '@%s'", slot->view.agg->name);
		agg_state_init(slot->view.layout, e->state);
		e->touched = false;
	}
	slot->was_cleared = true;
	return NULL;
}

/* Takes the elements [from, to) of a sorted view out. */
static struct err *remove_range(struct aggs *a, uint32_t agg_id, uint32_t from, uint32_t to)
{
	struct agg_slot *slot = slot_of(a, agg_id);
	struct agg_view *v = &slot->view;

	for (uint32_t i = from; i < to; i++) {
		struct err *err = elem_each_key(a, agg_id - 1, v->elems[i], a->io->remove);

		if (err)
			return err_wrap(err, "cannot truncate '@%s'", v->agg->name);
	}
	if (from < to) {
		memmove(v->elems + from, v->elems + to, sizeof(struct agg_elem *) * (v->nelems - to));
		slot->is_seen = false;
	}
	v->nelems -= to - from;
	return NULL;
}

struct err *aggs_trunc(struct aggs *a, uint32_t agg_id, int64_t n, const struct agg_sort *how)
{
	/* Largest and smallest are meant by value, whatever order printing has. */
	struct agg_sort by_value = {.keypos = how->keypos, .pos = how->pos};
	struct agg_slot *slot = slot_of(a, agg_id);
	uint64_t keep = n < 0 ? -(uint64_t)n : (uint64_t)n;
	uint32_t nelems;

	if (!slot)
		return bad_id(agg_id);
	nelems = slot->view.nelems;
	if (keep >= nelems)
		return NULL;
	agg_view_sort(&slot->view, &by_value);
	if (n > 0)
		return remove_range(a, agg_id, 0, nelems - (uint32_t)keep);
	return remove_range(a, agg_id, (uint32_t)keep, nelems);
}

struct err *aggs_normalize(struct aggs *a, uint32_t agg_id, uint64_t factor)
{
	struct agg_slot *slot = slot_of(a, agg_id);

	if (!slot)
		return bad_id(agg_id);
	slot->view.normal = factor ? factor : 1;
	if (!factor)
		return err_code(err_new("Invalid normalization"), EDT_BADNORMAL);
	return NULL;
}

void aggs_denormalize(struct aggs *a, uint32_t agg_id)
{
	struct agg_slot *slot = slot_of(a, agg_id);

	if (slot)
		slot->view.normal = 1;
}
