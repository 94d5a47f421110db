/* SPDX-License-Identifier: MIT */
/* Actions on aggregations while records are consumed: clear, trunc, normalize. */
#include "agg/impl.h"

#include "dtrace.h"

static struct agg_slot *slot_by_id(struct aggs *a, uint32_t agg_id)
{
	return agg_id >= 1 && agg_id <= a->nslots ? &a->slots[agg_id - 1] : NULL;
}

static struct err *fail_unknown_agg(uint32_t agg_id)
{
	return err_code(err_new("aggregation %u does not exist", agg_id), EDT_BADAGGVAR);
}

/* Clears an element; one that has not changed since the last time is not written to. */
static struct err *elem_clear(struct aggs *a, struct agg_slot *slot, struct agg_elem *e)
{
	struct err *err = NULL;

	if (!e->touched)
		return NULL;
	if (agg_is_additive(slot->view.agg)) {
		agg_base_add(slot, e);
	} else {
		agg_base_remove(slot, e);
		err = elem_take(a, slot, e, true);
	}
	if (err)
		return err_wrap(err, "cannot clear '@%s'", slot->view.agg->name);
	agg_elem_init(slot->view.layout, e);
	e->touched = false;
	return NULL;
}

struct err *aggs_clear(struct aggs *a, uint32_t agg_id)
{
	struct agg_slot *slot = slot_by_id(a, agg_id);
	struct err *err = NULL;

	if (!slot)
		return fail_unknown_agg(agg_id);
	slot->cleared_at = slot->snap_at;
	for (uint32_t i = 0; i < slot->view.nelems && !err; i++)
		err = elem_clear(a, slot, slot->view.elems[i]);
	slot->was_cleared |= !agg_is_additive(slot->view.agg);
	return err;
}

bool agg_has_room(const struct aggs *a, uint32_t map)
{
	return a->map_elems[map] <= a->layout->agg_maps[map].max_entries / 8;
}

/*
 * Removes an element; the single element of an array can only be cleared. Increments that arrive in
 * the instant in which the kernel deletes an element would be lost. So an element in use stays in
 * the kernel, hidden, with its present state as its base. It is deleted when a snapshot finds that
 * nothing was added for a while (snap.c). A sum() to which only zeros are added looks as if nothing
 * was: it is hidden until then.
 */
static struct err *elem_remove(struct aggs *a, struct agg_slot *slot, struct agg_elem *e)
{
	bool is_active = false;
	struct err *err = NULL;

	slot->is_shown_empty = false;
	if (!slot->view.layout->key_size)
		return elem_clear(a, slot, e);
	if (a->is_final)
		return NULL;
	/* the next snapshot must know when live() was truncated, to leave out what came before */
	if (slot->view.agg->func == AGGFUNC_LIVE ||
	    (agg_is_additive(slot->view.agg) && agg_has_room(a, slot->view.layout->map))) {
		agg_base_hide(slot, e);
		return NULL;
	}
	if (agg_is_additive(slot->view.agg))
		err = elem_is_active(a, slot, e, &is_active);
	if (!err && is_active) {
		agg_base_add(slot, e);
	} else if (!err) {
		agg_base_remove(slot, e);
		err = elem_take(a, slot, e, false);
	}
	return err ? err_wrap(err, "cannot truncate '@%s'", slot->view.agg->name) : NULL;
}

/* Removes the elements [from, to) of a sorted view. */
static struct err *elems_remove(struct aggs *a, struct agg_slot *slot, uint32_t from, uint32_t to)
{
	struct agg_view *v = &slot->view;

	for (uint32_t i = from; i < to; i++) {
		struct err *err = elem_remove(a, slot, v->elems[i]);

		if (err)
			return err;
	}
	if (from < to)
		memmove(v->elems + from, v->elems + to,
			sizeof(struct agg_elem *) * (v->nelems - to));
	v->nelems -= to - from;
	return NULL;
}

struct err *aggs_trunc(struct aggs *a, uint32_t agg_id, int64_t n, const struct agg_sort *how)
{
	/* trunc() goes by value, in whatever order elements are printed. */
	struct agg_sort by_value = {.keypos = how->keypos, .pos = how->pos};
	struct agg_slot *slot = slot_by_id(a, agg_id);
	uint64_t keep = n < 0 ? -(uint64_t)n : (uint64_t)n;
	uint32_t nelems;

	if (!slot)
		return fail_unknown_agg(agg_id);
	nelems = slot->view.nelems;
	if (!n)
		slot->cleared_at = slot->snap_at;
	if (keep >= nelems)
		return NULL;
	agg_view_sort(&slot->view, &by_value);
	if (n > 0)
		return elems_remove(a, slot, 0, nelems - (uint32_t)keep);
	return elems_remove(a, slot, (uint32_t)keep, nelems);
}

struct err *aggs_clear_elem(struct aggs *a, uint32_t agg_id, struct agg_elem *e)
{
	struct agg_slot *slot = slot_by_id(a, agg_id);

	if (!slot)
		return fail_unknown_agg(agg_id);
	slot->was_cleared |= !agg_is_additive(slot->view.agg);
	return elem_clear(a, slot, e);
}

struct err *aggs_remove_elem(struct aggs *a, uint32_t agg_id, struct agg_elem *e)
{
	struct agg_slot *slot = slot_by_id(a, agg_id);

	if (!slot)
		return fail_unknown_agg(agg_id);
	if (e->is_removed)
		return NULL;
	e->is_removed = true;
	slot->has_removed = true;
	return elem_remove(a, slot, e);
}

void aggs_drop_removed(struct aggs *a)
{
	for (uint32_t i = 0; i < a->nslots; i++) {
		struct agg_view *v = &a->slots[i].view;
		uint32_t n = 0;

		for (uint32_t j = 0; j < v->nelems && a->slots[i].has_removed; j++)
			if (!v->elems[j]->is_removed)
				v->elems[n++] = v->elems[j];
		if (a->slots[i].has_removed)
			v->nelems = n;
		a->slots[i].has_removed = false;
	}
}

struct err *aggs_normalize(struct aggs *a, uint32_t agg_id, uint64_t factor)
{
	struct agg_slot *slot = slot_by_id(a, agg_id);

	if (!slot)
		return fail_unknown_agg(agg_id);
	slot->view.normal = factor ? factor : 1;
	if (!factor)
		return err_code(err_new("Invalid normalization"), EDT_BADNORMAL);
	return NULL;
}

void aggs_denormalize(struct aggs *a, uint32_t agg_id)
{
	struct agg_slot *slot = slot_by_id(a, agg_id);

	if (slot)
		slot->view.normal = 1;
}
