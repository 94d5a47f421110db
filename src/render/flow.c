/* SPDX-License-Identifier: MIT */
/* Flow indent (d-language.md 6.8): how deep the functions of a CPU have called one another. */
#include "render/impl.h"

#define MAX_CPUS 65536u

static bool has_suffix(const char *s, const char *suffix)
{
	size_t len = strlen(s), n = strlen(suffix);

	return len >= n && memcmp(s + len - n, suffix, n) == 0;
}

static enum flow flow_of(const struct probe *pr)
{
	if (strcmp(pr->name, "entry") == 0 || has_suffix(pr->name, "-entry"))
		return FLOW_ENTRY;
	if (strcmp(pr->name, "return") == 0 || has_suffix(pr->name, "-return"))
		return FLOW_RETURN;
	return FLOW_NONE;
}

/*
 * When several clauses of one probe record, the indent grows only at the first one of an entry, and
 * shrinks only at the last one of a return.
 */
static enum flow flow_of_record(const struct flow_cpu *fc, const struct probe *pr,
				const struct rt_rec *rec, const struct rt_rec *next)
{
	enum flow flow = flow_of(pr);

	if (flow == FLOW_ENTRY && fc->has_last && fc->last_probe == rec->probe &&
	    fc->last_clause != rec->clause)
		return FLOW_NONE;
	if (flow == FLOW_RETURN && next && next->clause != RT_REC_FAULT &&
	    next->probe == rec->probe && next->clause != rec->clause)
		return FLOW_NONE;
	return flow;
}

static struct flow_cpu *flow_cpu_get(struct printer *p, uint32_t cpu)
{
	cpu = MIN(cpu, MAX_CPUS - 1);
	while (p->flow.len <= cpu)
		vec_push(&p->flow, (struct flow_cpu){0});
	return &p->flow.data[cpu];
}

static const char *flow_prefix(enum flow flow, const struct probe *pr)
{
	bool is_syscall = strcmp(pr->prov, "syscall") == 0;

	switch (flow) {
	case FLOW_ENTRY: return is_syscall ? " => " : " -> ";
	case FLOW_RETURN: return is_syscall ? " <= " : " <- ";
	case FLOW_NONE: return "| ";
	}
	BUG("flow %d", (int)flow);
}

void flow_advance(struct printer *p, uint32_t cpu, const struct probe *pr,
		  const struct rt_rec *next)
{
	struct flow_cpu *fc = flow_cpu_get(p, cpu);
	enum flow flow = flow_of_record(fc, pr, p->rec, next);

	if (flow == FLOW_RETURN)
		fc->indent -= MIN(fc->indent, 2u);
	p->flow_step = (struct flow_step){flow, fc->indent, flow_prefix(flow, pr)};
	if (flow == FLOW_ENTRY && fc->indent < 1000)
		fc->indent += 2;
	fc->has_last = true;
	fc->last_probe = p->rec->probe;
	fc->last_clause = p->rec->clause;
}
