/* SPDX-License-Identifier: MIT */
/* Provider dtrace: BEGIN, END and ERROR (providers.md 3). */
#include "provider/providers.h"

static const char *const probe_names[] = {
	[DTRACE_KEY_BEGIN] = "BEGIN",
	[DTRACE_KEY_END] = "END",
	[DTRACE_KEY_ERROR] = "ERROR",
	NULL,
};

static struct err *dtrace_provide(struct provider_env *env, const struct provider *pv)
{
	for (uint32_t key = 0; probe_names[key]; key++)
		probes_add_at(env->probes, pv, key, "", "", probe_names[key], key);
	return NULL;
}

/* ERROR has no place: every unit contains the clauses on it. */
static uint32_t dtrace_points(const struct probe *pr, struct probe_point *ret)
{
	if (pr->data == DTRACE_KEY_ERROR)
		return 0;
	ret[0] = (struct probe_point){.place = {.kind = PLACE_TEST_RUN}, .key = (uint32_t)pr->data};
	return 1;
}

const struct provider provider_dtrace = {
	.name = "dtrace",
	PROVIDER_IDS(dtrace),
	.names = probe_names,
	.attr = {ATTR_STABLE, ATTR_PPU, ATTR_PPU, ATTR_STABLE, ATTR_STABLE},
	.provide = dtrace_provide,
	.points = dtrace_points,
};
