/* SPDX-License-Identifier: MIT */
/* What a session tells its providers. */
#include "probe/env.h"

#include "privilege/privilege.h"
#include "probe/probe.h"

void env_deinit(struct provider_env *env)
{
	vec_deinit(&env->processes);
	vec_deinit(&env->harms);
}

void env_notice(struct provider_env *env, const char *fmt, ...)
{
	va_list ap;

	if (!env->on_notice)
		return;
	va_start(ap, fmt);
	env->on_notice(env->notice_ctx, arena_vprintf(env->arena, fmt, ap));
	va_end(ap);
}

void env_adjusted(struct provider_env *env, const char *fmt, ...)
{
	va_list ap;

	if (!env->on_adjusted)
		return;
	va_start(ap, fmt);
	env->on_adjusted(env->adjusted_ctx, arena_vprintf(env->arena, fmt, ap));
	va_end(ap);
}

struct err *env_need_process(struct provider_env *env, pid_t pid)
{
	struct err *e = privileges_check_process(env->privileges, pid);

	if (e)
		return e;
	return env->on_process ? env->on_process(env->process_ctx, pid) : NULL;
}

void env_will_scan(struct provider_env *env)
{
	if (env->on_scan && !probes_is_listing(env->probes))
		env->on_scan(env->scan_ctx);
}

pid_t env_process(const struct provider_env *env, uint32_t i)
{
	return i < env->processes.len ? env->processes.data[i] : 0;
}

const struct harm *env_harm(const struct provider_env *env, uint32_t i)
{
	return i < env->harms.len ? env->harms.data[i] : NULL;
}

uint32_t env_code_key(struct provider_env *env)
{
	return env->ncode_keys++;
}

void env_reset_code_keys(struct provider_env *env)
{
	env->ncode_keys = 0;
}

void env_add_process(struct provider_env *env, pid_t pid)
{
	vec_push(&env->processes, pid);
	probes_forget(env->probes); /* pid* may match more now */
}

void env_set_view(struct provider_env *env, enum probe_view view)
{
	if (env->view != view)
		probes_forget(env->probes);
	env->view = view;
}

void env_set_harmful(struct provider_env *env, bool is_harmful)
{
	if (env->is_harmful != is_harmful)
		probes_forget(env->probes);
	env->is_harmful = is_harmful;
}

void env_add_harm(struct provider_env *env, const struct harm *row)
{
	struct harm *copy = ARENA_NEW(env->arena, struct harm);

	copy->prov = arena_strdup(env->arena, row->prov);
	copy->name = arena_strdup(env->arena, row->name);
	copy->reason = arena_strdup(env->arena, row->reason);
	copy->nconditions = row->nconditions;
	for (uint32_t i = 0; i < row->nconditions; i++)
		copy->conditions[i] =
			(struct harm_condition){arena_strdup(env->arena, row->conditions[i].fact),
						arena_strdup(env->arena,
							     row->conditions[i].pattern)};
	vec_push(&env->harms, copy);
}
