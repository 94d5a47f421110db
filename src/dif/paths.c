/* SPDX-License-Identifier: MIT */
#include "dif/paths.h"

static void regs_merge(struct paths_regs *to, const struct paths_regs *from)
{
	for (uint32_t i = 0; i < ARRAY_LEN(to->of); i++)
		to->of[i] |= from->of[i];
}

void paths_branch(struct paths *p, uint32_t target)
{
	if (p->is_dead || target >= p->d->code_len)
		return;
	if (!p->arrived)
		p->arrived = xcalloc(p->d->code_len, sizeof(struct paths_regs *));
	if (!p->arrived[target])
		p->arrived[target] = xcalloc(1, sizeof(struct paths_regs));
	regs_merge(p->arrived[target], &p->regs);
}

void paths_arrive(struct paths *p, uint32_t at)
{
	const struct paths_regs *from = p->arrived ? p->arrived[at] : NULL;

	if (!from)
		return;
	if (p->is_dead)
		p->regs = (struct paths_regs){0};
	p->is_dead = false;
	regs_merge(&p->regs, from);
}

void paths_deinit(struct paths *p)
{
	for (uint32_t i = 0; p->arrived && i < p->d->code_len; i++)
		free(p->arrived[i]);
	free(p->arrived);
	p->arrived = NULL;
}
