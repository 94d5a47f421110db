/* SPDX-License-Identifier: MIT */
/*
 * Kin: the data parts of children of a process, which execute its code. Each has records, tables
 * and variables of its own. Records are drained, and elements read and taken, as if all were one
 * data part; counters of sites are the words of all, added up. What kin has counted is kept when
 * its process has ended.
 */
#include "native/data_impl.h"

struct err *ndata_member_err(struct ndata *d, struct ndata *x, struct err *e)
{
	if (!e || x == d)
		return e;
	err_destroy(e);
	if (!x->is_cut_off)
		d->lost[0]++; /* so that it is told */
	x->is_cut_off = true;
	return NULL;
}

struct err *ndata_kin_create(struct ndata *d, int fd, const struct ndata_hooks *hooks,
			     uint32_t state, struct ndata **ret)
{
	CLEANUP(free) struct blob_data *head = xcalloc(1, sizeof(*head));
	struct ndata *x;
	struct err *e = ndata_create(d->plan, d->layout, (uint8_t *)head, fd, 0, hooks, &x);

	if (e)
		return e;
	x->grace_ns = d->grace_ns;
	x->final_ns = d->final_ns;
	head->state = (uint8_t)state;
	if (d->clock.mult)
		clock_copy(x, d, head);
	e = ndata_write(x, 0, head, sizeof(*head));
	if (e) {
		ndata_destroy(x);
		return e;
	}
	vec_push(&d->kin, x);
	*ret = x;
	return NULL;
}

bool ndata_kin_is_drained(struct ndata *x)
{
	return x->is_cut_off || rings_are_empty(x);
}

void ndata_kin_end(struct ndata *d, struct ndata *x, struct rt_control *control)
{
	uint64_t nlost = 0;
	struct err *e;

	for (uint32_t i = 0; i < d->kin.len; i++)
		if (d->kin.data[i] == x)
			d->kin.data[i] = d->kin.data[--d->kin.len];
	/* what it has dropped since it was counted last, and what the drain has given up of it */
	e = ndata_member_count(x, control, &d->dropped);
	if (!e)
		e = counters_absorb(d, x);
	if (!e)
		e = maps_absorb(d, x, &nlost);
	err_destroy(ndata_member_err(d, x, e));
	for (uint32_t i = 0; i < d->plan->ncpus; i++)
		d->lost[i] += x->lost[i]; /* of one whose memory cannot be read */
	d->nbad += x->nbad;
	d->dropped.aggs += nlost;
	if (nlost && control->ncpus)
		(void)__atomic_fetch_add(&control->cpu[0].agg_drops, nlost, __ATOMIC_RELAXED);
	ndata_destroy(x);
}
