/* SPDX-License-Identifier: MIT */
/* Keeps the latest records of each CPU. */
#include "consume/latest.h"

struct kept {
	struct kept *next;
	uint64_t seq; /* number of the record among those of all CPUs */
	uint32_t len;
	_Alignas(8) uint8_t rec[];
};

struct queue {
	struct kept *first, **last;
	uint64_t bytes;
};

struct latest {
	uint64_t size, seq;
	uint32_t ncpus;
	struct queue queues[];
};

struct latest *latest_create(uint32_t ncpus, uint64_t size)
{
	struct latest *l = xcalloc(1, sizeof(*l) + ncpus * sizeof(l->queues[0]));

	l->size = size;
	l->ncpus = ncpus;
	for (uint32_t i = 0; i < ncpus; i++)
		l->queues[i].last = &l->queues[i].first;
	return l;
}

static void forget_first(struct queue *q)
{
	struct kept *k = q->first;

	q->first = k->next;
	if (!q->first)
		q->last = &q->first;
	q->bytes -= ROUND_UP(k->len, 8u);
	free(k);
}

void latest_destroy(struct latest *l)
{
	for (uint32_t i = 0; l && i < l->ncpus; i++)
		while (l->queues[i].first)
			forget_first(&l->queues[i]);
	free(l);
}

void latest_add(struct latest *l, const struct rt_rec *rec, uint32_t len, uint32_t cpu)
{
	struct queue *q = &l->queues[MIN(cpu, l->ncpus - 1)];
	struct kept *k = xmalloc(sizeof(*k) + len);

	k->next = NULL;
	k->seq = l->seq++;
	k->len = len;
	memcpy(k->rec, rec, len);
	*q->last = k;
	q->last = &k->next;
	q->bytes += ROUND_UP(len, 8u);
	while (q->bytes > l->size && q->first != k)
		forget_first(q);
}

/* The CPU whose first record is the oldest; ncpus when there is none. */
static uint32_t oldest(const struct latest *l)
{
	uint64_t seq = UINT64_MAX;
	uint32_t cpu = l->ncpus;

	for (uint32_t i = 0; i < l->ncpus; i++)
		if (l->queues[i].first && l->queues[i].first->seq < seq) {
			seq = l->queues[i].first->seq;
			cpu = i;
		}
	return cpu;
}

struct err *latest_drain(struct latest *l, engine_record_f *func, void *ctx)
{
	struct err *e = NULL;
	uint32_t cpu;

	while (!e && (cpu = oldest(l)) < l->ncpus) {
		const struct kept *k = l->queues[cpu].first;

		e = func(ctx, (const struct rt_rec *)(const void *)k->rec, k->len, cpu,
			 k->next ? (const struct rt_rec *)(const void *)k->next->rec : NULL);
		forget_first(&l->queues[cpu]);
	}
	return e;
}
