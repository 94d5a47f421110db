/*
 * Provider profile: profile-N on every CPU, tick-N on one (providers.md, 5).
 *
 * Each probe is a cpu-clock perf event with a fixed period in ns; a frequency would make the kernel
 * adapt the period. A probe's key is its place among the profile probes of the registry.
 */
#include <errno.h>
#include <inttypes.h>
#include <strings.h>

#include "bpf/kernel.h"
#include "provider/providers.h"

#define MIN_PERIOD_NS 200000 /* faster requests are silently no probes */
#define MAX_PROBES    1000

struct profile_probe {
	uint64_t period_ns;
	uint32_t key;
	bool is_tick;
};

struct profile_state {
	uint32_t nprobes;
};

static const struct {
	const char *prefix;
	bool is_tick;
} kinds[] = {
	{"profile-", false},
	{"tick-", true},
};

/* clang-format off */
static const struct {
	const char *suffix;
	uint64_t ns;
} units[] = {
	{ "ns", 1 },                    { "nsec", 1 },
	{ "us", 1000 },                 { "usec", 1000 },
	{ "ms", 1000000 },              { "msec", 1000000 },
	{ "s", 1000000000 },            { "sec", 1000000000 },
	{ "m", 60000000000 },           { "min", 60000000000 },
	{ "h", 3600000000000 },         { "hour", 3600000000000 },
	{ "d", 86400000000000 },        { "day", 86400000000000 },
};
/* clang-format on */

static const char *const precreated[PROFILE_ID_COUNT] = {
	"profile-97",	"profile-199",	"profile-499", "profile-997", "profile-1999",
	"profile-4001", "profile-4999", "tick-1",      "tick-10",     "tick-100",
	"tick-500",	"tick-1000",	"tick-5000",
};

bool profile_period_parse(const char *text, uint64_t *ret_period_ns)
{
	uint64_t n = 0, period = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *p - '0', &n))
			return false;
	if (p == text || !n)
		return false;
	if (!*p || strcasecmp(p, "hz") == 0)
		period = 1000000000 / n;
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (strcasecmp(p, units[i].suffix) == 0 &&
		    __builtin_mul_overflow(n, units[i].ns, &period))
			return false;
	if (period < MIN_PERIOD_NS || period > INT64_MAX)
		return false;
	*ret_period_ns = period;
	return true;
}

/* What a probe of this name would be; NULL when there can be none. */
static struct profile_probe *profile_probe_create(struct probes *ps, const struct provider *pv,
						  const char *name)
{
	struct profile_state *st = probes_state(ps, pv, sizeof(*st));

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		size_t len = strlen(kinds[i].prefix);
		struct profile_probe *pp;
		uint64_t period_ns;

		if (strncmp(name, kinds[i].prefix, len) != 0 ||
		    !profile_period_parse(name + len, &period_ns))
			continue;
		pp = ARENA_NEW(probes_arena(ps), struct profile_probe);
		*pp = (struct profile_probe){.period_ns = period_ns, .is_tick = kinds[i].is_tick};
		pp->key = st->nprobes++;
		return pp;
	}
	return NULL;
}

static const struct profile_probe *profile_probe(const struct probe *pr)
{
	return (const struct profile_probe *)(uintptr_t)pr->data;
}

uint64_t profile_period_ns(const struct probe *pr)
{
	return profile_probe(pr)->period_ns;
}

static struct err *profile_provide(struct probes *ps, const struct provider *pv)
{
	for (uint32_t i = 0; i < PROFILE_ID_COUNT; i++) {
		struct profile_probe *pp = profile_probe_create(ps, pv, precreated[i]);

		probes_add_at(ps, pv, i, "", "", precreated[i], (uintptr_t)pp);
	}
	return NULL;
}

static struct err *profile_provide_desc(struct probes *ps, const struct provider *pv,
					const struct probe_desc *desc)
{
	struct profile_state *st = probes_state(ps, pv, sizeof(*st));
	struct profile_probe *pp;

	if (!*desc->name || !glob_is_literal(desc->name) || !glob_match(desc->mod, "") ||
	    !glob_match(desc->func, ""))
		return NULL;
	for (uint32_t i = 0; i < PROFILE_ID_COUNT; i++)
		if (strcmp(desc->name, precreated[i]) == 0)
			return NULL;
	if (st->nprobes >= MAX_PROBES)
		return err_new("more than %d probes", MAX_PROBES);
	pp = profile_probe_create(ps, pv, desc->name);
	if (pp)
		probes_add(ps, pv, "", "", desc->name, (uintptr_t)pp);
	return NULL;
}

static const char *profile_hint(struct probes *ps, const struct provider *pv,
				const struct probe_desc *desc)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strncmp(desc->name, kinds[i].prefix, strlen(kinds[i].prefix)) != 0)
			continue;
		return "a rate is a number with ns, us, ms, s, m, h, d or hz (the default): "
		       "tick-5s, "
		       "profile-997; at most 5000hz";
	}
	return NULL;
}

static uint32_t profile_points(const struct probe *pr, struct probe_point *ret)
{
	ret[0] = (struct probe_point){.kind = ENTRY_PERF, .key = profile_probe(pr)->key};
	return 1;
}

/* CPUs that are online, as "0-3,5" in sysfs. An unreadable file means CPU 0 alone. */
static void cpus_online(uint32_t **ret_cpus, uint32_t *ret_n)
{
	CLEANUP(file) FILE *f = fopen("/sys/devices/system/cpu/online", "re");
	uint32_t *cpus = NULL, n = 0, cap = 0;
	unsigned int lo, hi;

	while (f && fscanf(f, "%u", &lo) == 1) {
		if (fscanf(f, "-%u", &hi) != 1)
			hi = lo;
		for (unsigned int cpu = lo; cpu <= hi; cpu++) {
			cpus = vec_grow(cpus, &cap, n + 1, sizeof(*cpus));
			cpus[n++] = cpu;
		}
		if (fgetc(f) != ',')
			break;
	}
	if (!n) {
		cpus = xcalloc(1, sizeof(*cpus));
		n = 1;
	}
	*ret_cpus = cpus;
	*ret_n = n;
}

static struct err *attach_one(int prog_fd, uint32_t cpu, const struct probe *pr,
			      struct attachments *ret)
{
	const struct profile_probe *pp = profile_probe(pr);
	int event_fd, link_fd;
	struct err *e;

	e = attach_cpu_clock(prog_fd, (int)cpu, pp->period_ns, pp->key, &event_fd, &link_fd);
	if (e)
		return err_wrap(e, "cannot enable '%s' on CPU %" PRIu32, pr->name, cpu);
	attachments_add(ret, link_fd);
	attachments_add(ret, event_fd);
	return NULL;
}

/*
 * A tick on the first CPU that takes it, others on all. A CPU may have gone offline since the list was read: what it would
 * have counted comes again with it (session/cpus.c). An error when not a single one is left.
 */
static struct err *attach_online(int prog_fd, const uint32_t *cpus, uint32_t ncpus, const struct probe *pr,
				 struct attachments *ret)
{
	struct err *e = NULL, *offline = NULL;
	uint32_t nattached = 0, want = profile_probe(pr)->is_tick ? 1 : ncpus;

	for (uint32_t i = 0; i < ncpus && nattached < want && !e; i++) {
		e = attach_one(prog_fd, cpus[i], pr, ret);
		if (e && err_get_sys(e) == ENODEV) {
			err_destroy(offline);
			offline = e;
			e = NULL;
		} else {
			nattached++;
		}
	}
	if (!e && !nattached)
		return offline;
	err_destroy(offline);
	return e;
}

static struct err *profile_attach(const struct provider *pv, enum entry_kind kind, int prog_fd,
				  struct probe *const *probes, uint32_t n,
				  const struct attach_opts *opts, struct attachments *ret)
{
	CLEANUP(free) uint32_t *cpus = NULL;
	uint32_t ncpus;
	struct err *e = NULL;

	cpus_online(&cpus, &ncpus);
	for (uint32_t i = 0; i < n && !e; i++)
		e = opts->cpu >= 0 ? attach_one(prog_fd, (uint32_t)opts->cpu, probes[i], ret)
				   : attach_online(prog_fd, cpus, ncpus, probes[i], ret);
	return e;
}

const struct provider provider_profile = {
	.name = "profile",
	.id_base = PROFILE_ID_BASE,
	.id_count = PROFILE_ID_COUNT,
	.attr = {ATTR_EEC, ATTR_UUU, ATTR_PPU, ATTR_EEC, ATTR_EEC},
	.provide = profile_provide,
	.provide_desc = profile_provide_desc,
	.hint = profile_hint,
	.points = profile_points,
	.attach = profile_attach,
};
