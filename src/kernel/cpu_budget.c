/* SPDX-License-Identifier: MIT */
/* Computes what a session may take of the CPU time of others (cpu_budget.h). */
#include "kernel/cpu_budget.h"

#define SECOND_NS   1000000000ull
#define CAP_S	    4
#define WHOLE	    10000 /* 100 % */
#define GROW_MAX_NS (3600 * SECOND_NS)

void cpu_budget_begin(struct cpu_budget *b, uint32_t ncpus, uint64_t now)
{
	*b = (struct cpu_budget){now, ncpus, xcalloc(MAX(ncpus, 1u), sizeof(*b->cpus))};
	cpu_budget_restart(b, now);
}

void cpu_budget_restart(struct cpu_budget *b, uint64_t now)
{
	b->at = now;
	for (uint32_t i = 0; i < b->ncpus; i++)
		b->cpus[i] = (struct cpu_left){.left = -CPU_BUDGET_RESERVE_NS, .full_at = now};
}

static int64_t budget_cap(uint64_t share, uint64_t n)
{
	return MAX((int64_t)(CAP_S * SECOND_NS * share / WHOLE / n), CPU_BUDGET_BEGIN_NS);
}

void cpu_budget_grow(struct cpu_budget *b, uint64_t now, uint64_t share, uint64_t n)
{
	uint64_t past = MIN(now - b->at, GROW_MAX_NS);
	int64_t cap = budget_cap(share, n);

	b->at = now;
	for (uint32_t i = 0; i < b->ncpus; i++) {
		struct cpu_left *c = &b->cpus[i];

		c->left += (int64_t)(past * share / WHOLE / n);
		if (c->left < cap && c->taken)
			continue;
		c->left = MIN(c->left, cap);
		c->full_at = now;
		c->taken_at_full = c->taken;
	}
}

void cpu_budget_take(struct cpu_budget *b, uint32_t cpu, uint64_t taken)
{
	struct cpu_left *c = &b->cpus[cpu];

	if (taken < c->taken)
		c->taken = c->taken_at_full = 0;
	c->left -= (int64_t)(taken - c->taken);
	c->taken = taken;
}

static const struct cpu_left *least_find(const struct cpu_budget *b)
{
	const struct cpu_left *c = &b->cpus[0];

	for (uint32_t i = 1; i < b->ncpus; i++)
		if (b->cpus[i].left < c->left)
			c = &b->cpus[i];
	return c;
}

int64_t cpu_budget_least(const struct cpu_budget *b)
{
	return least_find(b)->left;
}

bool cpu_budget_is_full(const struct cpu_budget *b, uint64_t share, uint64_t n)
{
	return cpu_budget_least(b) >= budget_cap(share, n);
}

uint64_t cpu_budget_share(const struct cpu_budget *b)
{
	const struct cpu_left *c = least_find(b);
	uint64_t past = MAX(b->at - c->full_at, 1u);

	return (uint64_t)MIN((double)(c->taken - c->taken_at_full) * WHOLE / (double)past,
			     (double)WHOLE);
}

uint64_t cpu_budget_wait_ns(const struct cpu_budget *b, int64_t least, uint64_t share, uint64_t n)
{
	int64_t missing = least - cpu_budget_least(b);

	return missing <= 0 ? 0 : (uint64_t)missing * n * WHOLE / MAX(share, 1u) + 1;
}
