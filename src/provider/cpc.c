/* SPDX-License-Identifier: MIT */
/*
 * Provider cpc: events that processors and the kernel count, one firing every COUNT of them
 * (providers.md 18.2).
 *
 *     cpc:::EVENT-MODE-COUNT    cpc:::llc_load_misses-user-10000
 *
 * EVENT is a name of the tables below, one of other systems (PAPI_tot_cyc), or raw_0xNNN, a number
 * of the processor's manual. MODE is user, kernel or all. The kernel's own events may be counted
 * one by one; those of the processor at most every 5,000, which keeps the machine usable.
 *
 * Each probe is a perf event on every CPU. Which events the machine has, the kernel says when one
 * is opened.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <strings.h>

#include "d/text/diag.h"
#include "provider/providers.h"

#define MIN_HARDWARE 5000
#define MAX_PROBES   1000
#define CACHE(level, op, result)                                                                   \
	(PERF_COUNT_HW_CACHE_##level | PERF_COUNT_HW_CACHE_OP_##op << 8 |                          \
	 PERF_COUNT_HW_CACHE_RESULT_##result << 16)

struct cpc_probe {
	struct place_timer timer;
	uint32_t key;
};

struct cpc_state {
	uint32_t nprobes;
};

/* clang-format off */
static const struct cpc_event {
	const char *name, *alias; /* alias: as other systems call it, or NULL */
	uint32_t type;
	uint64_t config;
} events[] = {
	{ "page_faults",             NULL,           PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "minor_faults",            NULL,           PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "major_faults",            NULL,           PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "context_switches",        NULL,           PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu_migrations",          NULL,           PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "cpu_cycles",              "PAPI_tot_cyc", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions",            "PAPI_tot_ins", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache_references",        "PAPI_l3_tca",  PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache_misses",            "PAPI_l3_tcm",  PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "branches",                "PAPI_br_ins",  PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch_misses",           "PAPI_br_msp",  PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "bus_cycles",              NULL,           PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES },
	{ "stalled_cycles_frontend", NULL,           PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "stalled_cycles_backend",  "PAPI_res_stl", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "ref_cycles",              NULL,           PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
	{ "l1_dcache_loads",         "PAPI_l1_dca",  PERF_TYPE_HW_CACHE, CACHE(L1D, READ, ACCESS) },
	{ "l1_dcache_load_misses",   "PAPI_l1_dcm",  PERF_TYPE_HW_CACHE, CACHE(L1D, READ, MISS) },
	{ "l1_icache_load_misses",   "PAPI_l1_icm",  PERF_TYPE_HW_CACHE, CACHE(L1I, READ, MISS) },
	{ "llc_loads",               NULL,           PERF_TYPE_HW_CACHE, CACHE(LL, READ, ACCESS) },
	{ "llc_load_misses",         NULL,           PERF_TYPE_HW_CACHE, CACHE(LL, READ, MISS) },
	{ "llc_stores",              NULL,           PERF_TYPE_HW_CACHE, CACHE(LL, WRITE, ACCESS) },
	{ "dtlb_load_misses",        "PAPI_tlb_dm",  PERF_TYPE_HW_CACHE, CACHE(DTLB, READ, MISS) },
	{ "itlb_load_misses",        "PAPI_tlb_im",  PERF_TYPE_HW_CACHE, CACHE(ITLB, READ, MISS) },
};

static const struct {
	const char *name;
	bool no_user, no_kernel;
} modes[] = {
	{ "all", false, false }, { "user", false, true }, { "kernel", true, false },
};
/* clang-format on */

/* ---- names ----------------------------------------------------------------------------------- */

static bool event_find(const char *name, size_t len, struct place_counter *ret)
{
	char text[32], *end;

	if (len >= sizeof(text))
		return false;
	(void)snprintf(text, sizeof(text), "%.*s", (int)len, name);
	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		if (strcasecmp(text, events[i].name) == 0 ||
		    (events[i].alias && strcasecmp(text, events[i].alias) == 0)) {
			ret->type = events[i].type;
			ret->config = events[i].config;
			return true;
		}
	if (strncasecmp(text, "raw_0x", 6) != 0 || !text[6])
		return false;
	ret->type = PERF_TYPE_RAW;
	ret->config = strtoull(text + 6, &end, 16);
	return !*end;
}

/* Parses "EVENT-MODE-COUNT"; NULL, or why no probe has this name. */
static const char *name_parse(const char *name, struct place_counter *ret)
{
	const char *mode = strchr(name, '-'), *count = mode ? strrchr(name, '-') : NULL;
	char *end = NULL;

	*ret = (struct place_counter){0};
	if (!mode || count == mode || count[1] < '0' || count[1] > '9')
		return "a probe is called EVENT-MODE-COUNT: page_faults-user-1, cpu_cycles-all-1000000";
	if (!event_find(name, (size_t)(mode - name), ret))
		return "there is no such event: dtrace -lP cpc lists those that this machine has; raw_0xNNN is a "
		       "number of the processor's manual";
	errno = 0;
	ret->period = strtoull(count + 1, &end, 10);
	if (*end || errno || !ret->period || ret->period > INT64_MAX)
		return "COUNT is a number: an event in COUNT of them fires the probe";
	if (ret->type != PERF_TYPE_SOFTWARE && ret->period < MIN_HARDWARE)
		return "events of the processor can fire at most every 5000: a smaller COUNT would stop the machine";
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		size_t len = strlen(modes[i].name);

		if ((size_t)(count - mode - 1) != len || strncmp(mode + 1, modes[i].name, len) != 0)
			continue;
		ret->no_user = modes[i].no_user;
		ret->no_kernel = modes[i].no_kernel;
		return NULL;
	}
	return "MODE is user, kernel or all; unit masks are part of a raw_0xNNN";
}

/* Whether the machine counts this event. */
static bool event_exists(const struct place_counter *c)
{
	return counter_try(c->type, c->config, c->no_user, c->no_kernel) == 0;
}

/* ---- probes ---------------------------------------------------------------------------------- */

static struct cpc_probe *cpc_probe_create(struct provider_env *env, const struct provider *pv,
					  const char *name, const struct place_counter *counter)
{
	struct cpc_state *st = probes_state(env->probes, pv, sizeof(*st));
	struct arena *a = env->arena;
	struct cpc_probe *cp = ARENA_NEW(a, struct cpc_probe);
	struct place_counter *kept = ARENA_NEW(a, struct place_counter);

	*kept = *counter;
	*cp = (struct cpc_probe){
		.timer = {.name = arena_strdup(a, name), .counter = kept},
		.key = st->nprobes++,
	};
	return cp;
}

/* The probes of a listing: each event that the machine has, as often as makes sense. */
static struct err *cpc_provide(struct provider_env *env, const struct provider *pv)
{
	for (uint32_t i = 0; i < ARRAY_LEN(events); i++) {
		bool is_software = events[i].type == PERF_TYPE_SOFTWARE;
		struct place_counter c = {.type = events[i].type,
					  .config = events[i].config,
					  .period = is_software ? 1 : 1000000000};
		const char *name =
			arena_printf(env->arena, "%s-all-%" PRIu64, events[i].name, c.period);

		if (event_exists(&c))
			probes_add(env->probes, pv, "", "", name,
				   (uintptr_t)cpc_probe_create(env, pv, name, &c));
	}
	return NULL;
}

static struct err *cpc_provide_desc(struct provider_env *env, const struct provider *pv,
				    const struct probe_desc *desc)
{
	struct cpc_state *st = probes_state(env->probes, pv, sizeof(*st));
	struct place_counter c;

	if (!*desc->name || !glob_is_literal(desc->name) || !glob_match(desc->mod, "") ||
	    !glob_match(desc->func, "") || name_parse(desc->name, &c) || !event_exists(&c) ||
	    probes_has(env->probes,
		       &(struct probe_desc){pv->name, "", "", desc->name, 0, false, 0}))
		return NULL;
	if (st->nprobes >= MAX_PROBES)
		return err_new("more than %d probes", MAX_PROBES);
	probes_add(env->probes, pv, "", "", desc->name,
		   (uintptr_t)cpc_probe_create(env, pv, desc->name, &c));
	return NULL;
}

static bool cpc_concerns(const struct provider *pv, const struct probe_desc *desc)
{
	struct place_counter c;

	return glob_match(desc->prov, pv->name) &&
	       ((*desc->prov && glob_is_literal(desc->prov)) || !*desc->name ||
		(glob_is_literal(desc->name) && !name_parse(desc->name, &c)));
}

static const char *cpc_hint(struct provider_env *env, const struct provider *pv,
			    const struct probe_desc *desc)
{
	struct place_counter c;
	const char *why;

	if (strcmp(desc->prov, pv->name) != 0 || !*desc->name || !glob_is_literal(desc->name))
		return NULL;
	why = name_parse(desc->name, &c);
	if (why)
		return why;
	switch (counter_try(c.type, c.config, c.no_user, c.no_kernel)) {
	case ENOENT:
	case EOPNOTSUPP:
		return "this machine does not count that: guests of hypervisors often have no such events; "
		       "dtrace -lP cpc lists those that are there";
	case EACCES:
	case EPERM: return events_need();
	default: return "the kernel refuses this event";
	}
}

static uint32_t cpc_points(const struct probe *pr, struct probe_point *ret)
{
	const struct cpc_probe *cp = (const struct cpc_probe *)(uintptr_t)pr->data;

	ret[0] = (struct probe_point){.place = {.kind = PLACE_COUNTER},
				      .key = cp->key,
				      .timer = &cp->timer};
	return 1;
}

const struct provider provider_cpc = {
	.name = "cpc",
	.attr = {ATTR_EEC, ATTR_PPU, ATTR_PPU, {STAB_EVOLVING, STAB_EVOLVING, DEP_CPU}, ATTR_EEC},
	.concerns = cpc_concerns,
	.provide = cpc_provide,
	.provide_desc = cpc_provide_desc,
	.hint = cpc_hint,
	.points = cpc_points,
};
