/* SPDX-License-Identifier: MIT */
/* Reports the counters of lost records (drops.h). */
#include "consume/drops.h"

#include "consume/spec.h"

struct drops {
	const struct rt_control *control;
	const struct specs *specs;
	uint32_t ncpus;
	struct rt_cpu *seen; /* [ncpus] */
	uint64_t specs_seen; /* the drops that the consumer counts */
	uint64_t totals[DTRACEDROP_LIVE + 1], counts[DTRACEDROP_LIVE + 1];
};

/* The kind of each counter. A firing that found no free machine state has lost records, too. */
static const struct {
	size_t offset; /* in struct rt_cpu */
	dtrace_dropkind_t kind;
} counters[] = {
	{offsetof(struct rt_cpu, drops), DTRACEDROP_PRINCIPAL},
	{offsetof(struct rt_cpu, nest_drops), DTRACEDROP_PRINCIPAL},
	{offsetof(struct rt_cpu, agg_drops), DTRACEDROP_AGGREGATION},
	{offsetof(struct rt_cpu, dyn_drops), DTRACEDROP_DYNAMIC},
	{offsetof(struct rt_cpu, spec_drops), DTRACEDROP_SPEC},
	{offsetof(struct rt_cpu, spec_busy), DTRACEDROP_SPECBUSY},
	{offsetof(struct rt_cpu, spec_unavail), DTRACEDROP_SPECUNAVAIL},
	{offsetof(struct rt_cpu, dblerrors), DTRACEDROP_DBLERROR},
	{offsetof(struct rt_cpu, helper_drops), DTRACEDROP_STKSTROVERFLOW},
	{offsetof(struct rt_cpu, helper_faults), DTRACEDROP_HELPERERROR},
	{offsetof(struct rt_cpu, live_drops), DTRACEDROP_LIVE},
};

/* The kinds that are reported for each CPU, and those that are reported for all CPUs together. */
static const dtrace_dropkind_t per_cpu[] = {DTRACEDROP_PRINCIPAL, DTRACEDROP_AGGREGATION};
static const dtrace_dropkind_t of_all[] = {DTRACEDROP_DYNAMIC,	   DTRACEDROP_SPEC,
					   DTRACEDROP_SPECBUSY,	   DTRACEDROP_SPECUNAVAIL,
					   DTRACEDROP_DBLERROR,	   DTRACEDROP_STKSTROVERFLOW,
					   DTRACEDROP_HELPERERROR, DTRACEDROP_LIVE};

struct drops *drops_create(const struct rt_control *control, uint32_t ncpus,
			   const struct specs *specs)
{
	struct drops *d = xcalloc(1, sizeof(*d));

	d->control = control;
	d->ncpus = ncpus;
	d->specs = specs;
	d->seen = xcalloc(ncpus, sizeof(*d->seen));
	return d;
}

void drops_destroy(struct drops *d)
{
	if (d)
		free(d->seen);
	free(d);
}

/* Adds the growth of one CPU's counters to the counts of their kinds. */
static void cpu_read(struct drops *d, uint32_t cpu)
{
	const char *now = (const char *)&d->control->cpu[cpu];
	char *seen = (char *)&d->seen[cpu];

	for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
		const uint64_t *counter = (const void *)(now + counters[i].offset);
		uint64_t *old = (void *)(seen + counters[i].offset);
		uint64_t n = __atomic_load_n(counter, __ATOMIC_RELAXED);

		d->counts[counters[i].kind] += n - *old;
		*old = n;
	}
}

static struct err *kind_report(struct drops *d, dtrace_dropkind_t kind, int cpu, drop_f *func,
			       void *ctx)
{
	struct drop drop = {.kind = kind, .cpu = cpu, .count = d->counts[kind]};

	if (!drop.count)
		return NULL;
	d->counts[kind] = 0;
	drop.total = d->totals[kind] += drop.count;
	return func(ctx, &drop);
}

struct err *drops_report(struct drops *d, drop_f *func, void *ctx)
{
	struct err *e = NULL;
	uint64_t specs;

	for (uint32_t cpu = 0; cpu < d->ncpus && !e; cpu++) {
		cpu_read(d, cpu);
		for (size_t i = 0; i < ARRAY_LEN(per_cpu) && !e; i++)
			e = kind_report(d, per_cpu[i], (int)cpu, func, ctx);
	}
	specs = specs_drops(d->specs);
	d->counts[DTRACEDROP_SPEC] += specs - d->specs_seen;
	d->specs_seen = specs;
	for (size_t i = 0; i < ARRAY_LEN(of_all) && !e; i++)
		e = kind_report(d, of_all[i], -1, func, ctx);
	return e;
}
