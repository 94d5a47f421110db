/* SPDX-License-Identifier: MIT */
/*
 * Provider profile: profile-N on every CPU, tick-N on one (providers.md 5).
 *
 * Each probe is a cpu-clock perf event with a fixed period in ns; with a frequency the kernel would
 * vary the period. The key of a probe is its number among the profile probes of the registry.
 */
#include <inttypes.h>
#include <strings.h>

#include "provider/providers.h"

#define MIN_PERIOD_NS 200000 /* a shorter period makes no probe, without a message */
#define MAX_PROBES    1000

struct profile_probe {
	struct place_timer timer;
	uint32_t key;
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

static const char *const precreated[profile_ID_COUNT] = {
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

/* Makes the data of a probe of this name; NULL when no probe can have the name. */
static struct profile_probe *profile_probe_create(struct provider_env *env,
						  const struct provider *pv, const char *name)
{
	struct profile_state *st = probes_state(env->probes, pv, sizeof(*st));

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		size_t len = strlen(kinds[i].prefix);
		struct profile_probe *pp;
		uint64_t period_ns;

		if (strncmp(name, kinds[i].prefix, len) != 0 ||
		    !profile_period_parse(name + len, &period_ns))
			continue;
		pp = ARENA_NEW(env->arena, struct profile_probe);
		*pp = (struct profile_probe){
			.timer = {.name = arena_strdup(env->arena, name),
				  .period_ns = period_ns,
				  .is_single = kinds[i].is_tick},
			.key = st->nprobes++,
		};
		return pp;
	}
	return NULL;
}

static const struct profile_probe *profile_probe(const struct probe *pr)
{
	return (const struct profile_probe *)(uintptr_t)pr->data;
}

static struct err *profile_provide(struct provider_env *env, const struct provider *pv)
{
	for (uint32_t i = 0; i < profile_ID_COUNT; i++) {
		struct profile_probe *pp = profile_probe_create(env, pv, precreated[i]);

		probes_add_at(env->probes, pv, i, "", "", precreated[i], (uintptr_t)pp);
	}
	return NULL;
}

static struct err *profile_provide_desc(struct provider_env *env, const struct provider *pv,
					const struct probe_desc *desc)
{
	struct profile_state *st = probes_state(env->probes, pv, sizeof(*st));
	struct profile_probe *pp;

	if (!*desc->name || !glob_is_literal(desc->name) || !glob_match(desc->mod, "") ||
	    !glob_match(desc->func, ""))
		return NULL;
	for (uint32_t i = 0; i < profile_ID_COUNT; i++)
		if (strcmp(desc->name, precreated[i]) == 0)
			return NULL;
	if (st->nprobes >= MAX_PROBES)
		return err_new("more than %d probes", MAX_PROBES);
	pp = profile_probe_create(env, pv, desc->name);
	if (pp)
		probes_add(env->probes, pv, "", "", desc->name, (uintptr_t)pp);
	return NULL;
}

static const char *profile_hint(struct provider_env *env, const struct provider *pv,
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
	const struct profile_probe *pp = profile_probe(pr);

	ret[0] = (struct probe_point){.place = {.kind = PLACE_TIMER},
				      .key = pp->key,
				      .timer = &pp->timer};
	return 1;
}

const struct provider provider_profile = {
	.name = "profile",
	PROVIDER_IDS(profile),
	.attr = {ATTR_EEC, ATTR_UUU, ATTR_PPU, ATTR_EEC, ATTR_EEC},
	.provide = profile_provide,
	.provide_desc = profile_provide_desc,
	.hint = profile_hint,
	.points = profile_points,
};
