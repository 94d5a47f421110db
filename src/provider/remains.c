/* SPDX-License-Identifier: MIT */
/*
 * Providers mapping, thread, frame, chunk and object: what is left of a process, in a core file or
 * a copy of its memory.
 *
 * They exist in sessions over such a target alone (dtrace_core()). Each probe fires once for each
 * thing of its kind; the order is that of enum remains_key. The languages of provider object are
 * those that the target has: they are looked for when a description could mean one.
 */
#include "provider/providers.h"

static const struct kind {
	const char *prov, *name;
	const char *type;
} kinds[] = {
	[REMAINS_MAPPING] = {"mapping", "entry", "@9 struct __mapping * : mappinginfo_t *"},
	[REMAINS_THREAD] = {"thread", "entry", "@9 struct __thread * : threadinfo_t *"},
	[REMAINS_FRAME] = {"frame", "entry", "@9 struct __frame * : frameinfo_t *"},
	[REMAINS_CALLER] = {"frame", "caller", "@9 struct __frame * : frameinfo_t *"},
	[REMAINS_BUSY] = {"chunk", "busy", "@9 struct __chunk * : chunkinfo_t *"},
	[REMAINS_FREE] = {"chunk", "free", "@9 struct __chunk * : chunkinfo_t *"},
	[REMAINS_OBJECT] = {"object", NULL, "@9 struct __object * : objectinfo_t *"},
};

static const struct kind *kind_of(const struct probe *pr)
{
	return &kinds[MIN(pr->data, (uint64_t)REMAINS_OBJECT)];
}

static bool remains_concerns(const struct provider *pv, const struct probe_desc *desc)
{
	(void)pv;
	for (uint32_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (glob_match(desc->prov, kinds[i].prov))
			return true;
	return false;
}

static struct err *remains_provide(struct provider_env *env, const struct provider *pv)
{
	for (uint32_t i = 0; i < REMAINS_OBJECT; i++)
		(void)probes_add_as(env->probes, pv, kinds[i].prov, "", "", kinds[i].name, i);
	return NULL;
}

static struct err *remains_provide_desc(struct provider_env *env, const struct provider *pv,
					const struct probe_desc *desc)
{
	const struct remains_fns *of = &env->remains;
	const char *language;

	if (!glob_match(desc->prov, kinds[REMAINS_OBJECT].prov))
		return NULL;
	for (uint32_t i = 0; (language = of->language(of->ctx, i)); i++)
		(void)probes_add_as(env->probes, pv, kinds[REMAINS_OBJECT].prov, "", "", language,
				    REMAINS_OBJECT + i);
	return NULL;
}

static const char *remains_hint(struct provider_env *env, const struct provider *pv,
				const struct probe_desc *desc)
{
	const struct remains_fns *of = &env->remains;
	const char *names = "", *name, *why;

	(void)pv;
	for (uint32_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (kinds[i].name && strcmp(kinds[i].prov, desc->prov) == 0)
			names = arena_printf(env->arena, "%s%s%s:::%s", names, *names ? ", " : "",
					     kinds[i].prov, kinds[i].name);
	if (strcmp(desc->prov, kinds[REMAINS_OBJECT].prov) != 0)
		return *names ? arena_printf(env->arena, "there is %s", names) : NULL;
	for (uint32_t i = 0; (name = of->language(of->ctx, i)); i++)
		names = arena_printf(env->arena, "%s%sobject:::%s", names, *names ? ", " : "",
				     name);
	if (*names)
		return arena_printf(env->arena, "of this process there is %s", names);
	why = of->lack(of->ctx);
	return why ? arena_strdup(env->arena, why) : NULL;
}

static uint32_t remains_arg_types(struct provider_env *env, const struct probe *pr,
				  const char *const **ret_types)
{
	(void)env;
	*ret_types = &kind_of(pr)->type;
	return 1;
}

static uint32_t remains_points(const struct probe *pr, struct probe_point *ret)
{
	ret[0] = (struct probe_point){.place = {.kind = PLACE_REMAINS}, .key = (uint32_t)pr->data};
	return 1;
}

const struct provider provider_remains = {
	.name = "",
	.attr = {ATTR_EEC, ATTR_PPU, ATTR_PPU, ATTR_EEC, ATTR_EEC},
	.concerns = remains_concerns,
	.provide = remains_provide,
	.provide_desc = remains_provide_desc,
	.hint = remains_hint,
	.arg_types = remains_arg_types,
	.points = remains_points,
};
