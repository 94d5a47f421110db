/* SPDX-License-Identifier: MIT */
/*
 * Runs compiled code in the DIF interpreter: the first clause of a script, up to its last trace().
 */
#pragma once

#include "check_env.h"
#include "dif/interp.h"

struct eval {
	struct err *e; /* why it did not compile; eval_deinit() releases it */
	struct dif_type type;
	struct dif_result result;
	char text[512]; /* of a string */
	struct check_env env;
	struct dif_machine *machine;
};

/* Built-ins have the value of their id, strings their hexadecimal id. */
static enum dif_fault eval_builtin(void *ctx, uint32_t id, uint64_t index, uint64_t *ret)
{
	struct eval *v = ctx;
	char text[32];

	*ret = id + index;
	if (id == DIF_VAR_EXECNAME || (id >= DIF_VAR_PROBEPROV && id <= DIF_VAR_PROBENAME)) {
		snprintf(text, sizeof(text), "v%x", id);
		*ret = dif_machine_string(v->machine, text);
	}
	return DIF_FAULT_NONE;
}

static inline void eval_clause(struct eval *v, const struct prog_clause *cl)
{
	for (uint32_t i = 0; i < cl->nacts; i++) {
		const struct prog_act *act = &cl->acts[i];
		struct dif_result r = {0};

		if (act->kind == ACT_JMP) {
			i = act->target - 1;
			continue;
		}
		for (uint32_t k = 0; k < act->nargs; k++)
			r = dif_run(v->machine, act->args[k]);
		if (act->kind == ACT_BRZ && !r.value)
			i = act->target - 1;
		if (act->kind == ACT_TRACE) {
			v->result = r;
			v->type = act->args[0]->ret;
		}
		if (r.fault) {
			v->result = r;
			return;
		}
	}
}

static inline void eval(struct eval *v, const char *script)
{
	struct dif_env env = dif_env_none;
	const struct dif_machine_opts opts = {0};
	struct prog *prog;
	uint32_t len;

	memset(v, 0, sizeof(*v));
	check_env_init(&v->env);
	v->e = check_env_compile(&v->env, script, &prog);
	if (v->e)
		return;
	env.ctx = v;
	env.builtin = eval_builtin;
	v->machine = dif_machine_create(&env, &opts);
	dif_machine_begin_firing(v->machine, 1);
	eval_clause(v, prog->clauses[0]);
	if (v->type.kind == DIF_KIND_STRING &&
	    !dif_machine_text(v->machine, v->result.value, v->text, &len))
		snprintf(v->text, sizeof(v->text), "(unreadable)");
}

static inline void eval_deinit(struct eval *v)
{
	dif_machine_destroy(v->machine);
	err_destroy(v->e);
	check_env_deinit(&v->env);
}

/* A value as it is recorded: cut to the type's size, extended by its sign. */
static inline int64_t eval_recorded(const struct eval *v)
{
	uint32_t shift = v->type.size < 8 ? 64 - 8 * v->type.size : 0;
	uint64_t up = v->result.value << shift;

	return v->type.is_signed ? (int64_t)up >> shift : (int64_t)(up >> shift);
}
