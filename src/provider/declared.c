/* SPDX-License-Identifier: MIT */
/*
 * Providers that are declared in D, in a script or in a file of the D library (d/check/derive.c,
 * session/derived.c).
 *
 * The session knows these providers, and registers their probes under providers of its own. This
 * provider, which has no name and no probes, asks the session for them.
 */
#include "provider/providers.h"

/* Declared probes have no module and no function; names of processes are no matter here. */
static bool declared_concerns(const struct provider *pv, const struct probe_desc *desc)
{
	return (glob_match(desc->mod, "") || probes_is_kernel_elsewhere(desc->mod)) &&
	       (glob_match(desc->func, "") || probes_has_function_elsewhere(desc));
}

static struct err *declared_collect(struct provider_env *env, const struct provider *pv,
				    const struct probe_desc *desc, struct probe_list *out)
{
	const struct declared_source_fns *fns = &env->declared;

	for (uint32_t i = 0; provider_list[i]; i++) {
		const struct provider *other = provider_list[i];
		bool is_literal = *desc->prov && glob_is_literal(desc->prov);

		if (other->is_shared && (!*desc->name || !glob_is_literal(desc->name)))
			continue;
		if (is_literal && other != pv && provider_concerns(other, desc))
			return NULL;
	}
	return fns->collect ? fns->collect(fns->ctx, desc, out) : NULL;
}

static struct err *declared_provide(struct provider_env *env, const struct provider *pv)
{
	const struct declared_source_fns *fns = &env->declared;
	static const struct probe_desc all = {"", "", "", "", 0, false, 0};
	struct probe_list found = {0};
	struct err *e = fns->collect ? fns->collect(fns->ctx, &all, &found) : NULL;

	vec_deinit(&found.probes);
	return e;
}

static const char *declared_hint(struct provider_env *env, const struct provider *pv,
				 const struct probe_desc *desc)
{
	const struct declared_source_fns *fns = &env->declared;

	return fns->hint ? fns->hint(fns->ctx, desc) : NULL;
}

static const char *declared_absent(struct provider_env *env, const struct provider *pv,
				   const struct probe_desc *desc)
{
	const struct declared_source_fns *fns = &env->declared;

	return fns->absent ? fns->absent(fns->ctx, desc) : NULL;
}

const struct provider provider_declared = {
	.name = "", /* none: probes are registered under those that D gives */
	.concerns = declared_concerns,
	.collect = declared_collect,
	.provide = declared_provide,
	.hint = declared_hint,
	.absent = declared_absent,
};
