/* SPDX-License-Identifier: MIT */
/* Probes in files that processes map while they are traced. */
#include "provider/arrivals.h"

#include <errno.h>

#include "provider/pid.h"

static struct pid_state *state_of(struct provider_env *env)
{
	return probes_state(env->probes, &provider_pid, sizeof(struct pid_state));
}

static struct code_process *target_find(struct provider_env *env, const struct proc_id *id)
{
	struct code_process *t = code_process_known(&state_of(env)->code, id->pid);

	return t && t->id.start == id->start ? t : NULL;
}

static const struct proc_id *process_described(struct provider_env *env,
					       const struct probe_desc *desc, uint32_t i)
{
	const struct code_process *t;
	struct err *e;
	pid_t pid;

	if (desc->id || !provider_concerns(&provider_pid, desc))
		return NULL;
	e = pid_of(env, desc, i, &pid);
	t = e || !pid ? NULL : code_process_known(&state_of(env)->code, pid);
	err_destroy(e); /* a process that cannot be found has no probes */
	return t ? &t->id : NULL;
}

static bool process_is_described(struct provider_env *env, const struct probe_desc *desc,
				 const struct proc_id *id)
{
	const struct proc_id *p;

	for (uint32_t i = 0; (p = process_described(env, desc, i)); i++)
		if (p->pid == id->pid && p->start == id->start)
			return true;
	return false;
}

static bool library_is_awaited(struct provider_env *env, const struct probe_desc *desc,
			       const struct proc_id *id)
{
	const struct code_process *t = target_find(env, id);

	if (strcmp(desc->func, "-") == 0)
		return false;
	if (!t || !*desc->mod || !glob_is_literal(desc->mod))
		return t != NULL;
	for (uint32_t i = 0; i < t->objects.len; i++)
		if (code_file_matches(t->objects.data[i], desc->mod))
			return false;
	return true;
}

/*
 * Moves an object to the present batch, as if it were new, if it is mapped now and either vanished
 * before it could be opened, or the links to its probes were closed.
 */
static void renew_objects(const struct code_probes *st, struct code_process *t)
{
	for (uint32_t i = 0; i < t->objects.len; i++) {
		struct code_file *o = t->objects.data[i];
		bool is_missed = !o->file.opened && o->refused && err_get_sys(o->refused) == ENOENT;

		if (!(o->is_stale || is_missed) || !code_file_is_mapped(t, o))
			continue;
		if (is_missed) {
			err_destroy(o->refused);
			o->refused = NULL;
		}
		o->is_stale = false;
		o->batch = st->batch;
	}
}

static bool has_files(const struct code_process *t, uint32_t batch)
{
	for (uint32_t i = 0; i < t->objects.len; i++)
		if (t->objects.data[i]->batch == batch)
			return true;
	return false;
}

static struct err *process_look(struct provider_env *env, const struct proc_id *id,
				const struct proc_id *at, bool is_other, uint32_t *ret_batch)
{
	struct code_probes *st = &state_of(env)->code;
	struct code_process *t = target_find(env, id);
	struct err *e;

	*ret_batch = 0;
	if (!t)
		return NULL;
	t->at = at->pid;
	code_batch_begin(env, st);
	for (uint32_t i = 0; i < t->objects.len && is_other; i++)
		t->objects.data[i]->is_stale = true;
	e = code_process_look(st, t);
	if (!e)
		renew_objects(st, t);
	if (!e && has_files(t, st->batch))
		*ret_batch = st->batch;
	else
		batches_drop(&st->batches, st->batch);
	return e;
}

/* ---- what goes ------------------------------------------------------------------------------- */

static void process_end(struct provider_env *env, const struct proc_id *id,
			const struct proc_id *at)
{
	struct code_probes *st = &state_of(env)->code;
	const struct code_process *t = target_find(env, id);

	st->nlooks++;
	for (uint32_t i = 0; t && i < t->objects.len; i++)
		code_file_leave(st, t->objects.data[i], at->pid);
}

static bool batch_is_unused(struct provider_env *env, uint32_t batch, uint64_t *ret_since)
{
	const struct code_probes *st = &state_of(env)->code;
	const struct batch *b = batches_find(&st->batches, batch);

	*ret_since = 0;
	for (uint32_t i = 0; i < st->processes.len; i++) {
		const struct code_process *t = st->processes.data[i];

		for (uint32_t k = 0; k < t->objects.len; k++) {
			const struct code_file *o = t->objects.data[k];

			if (o->batch != batch)
				continue;
			if (o->users.len)
				return false;
			*ret_since = MAX(*ret_since, o->unused_at);
		}
	}
	return b && !code_batch_has_types(b, true);
}

static void sites_forget(const struct batch *b)
{
	for (uint32_t i = 0; i < b->probes.len; i++) {
		struct code_probe *pp = code_probe(b->probes.data[i]);

		if (pp->batch != b->number)
			continue;
		vec_deinit(&pp->code.sites);
		pp->batch =
			UINT32_MAX; /* no batch has this number: the next one renews the probe */
	}
}

static void batch_retire(struct provider_env *env, uint32_t batch)
{
	const struct code_probes *st = &state_of(env)->code;
	const struct batch *b = batches_find(&st->batches, batch);

	if (b)
		sites_forget(b);
	for (uint32_t i = 0; i < st->processes.len; i++) {
		struct code_process *t = st->processes.data[i];
		uint32_t n = 0;

		for (uint32_t k = 0; k < t->objects.len; k++) {
			struct code_file *o = t->objects.data[k];

			if (o->batch == batch)
				code_file_destroy(o);
			else
				t->objects.data[n++] = o;
		}
		t->objects.len = n;
	}
}

static bool probe_leave(struct provider_env *env, struct probe *pr, bool keeps_names)
{
	if (!code_probe_leave(code_probe(pr)) || keeps_names)
		return false;
	pid_probe_destroy(state_of(env), pid_probe(pr));
	pr->data = 0;
	return true;
}

static void batch_free(struct provider_env *env, uint32_t batch, bool keeps_names)
{
	batches_free(&state_of(env)->code.batches, env, batch, keeps_names, probe_leave);
}

/* ---- what came ------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
	const struct probe *const *x = a, *const *y = b;

	return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

static struct err *batch_match(struct provider_env *env, const struct probe_desc *desc,
			       struct probe_list *out)
{
	struct err *e = pid_collect_new(env, desc, out);
	uint32_t n = 0;

	if (e || !out->probes.len)
		return e;
	qsort(out->probes.data, out->probes.len, sizeof(*out->probes.data), by_id);
	for (uint32_t i = 0; i < out->probes.len; i++)
		if (!n || out->probes.data[n - 1] != out->probes.data[i])
			out->probes.data[n++] = out->probes.data[i];
	out->probes.len = n;
	return NULL;
}

/* ---- children -------------------------------------------------------------------------------- */

void pid_have_children(struct provider_env *env)
{
	state_of(env)->has_children = true;
}

static const struct process_arrivals processes = {
	.described = process_described,
	.is_described = process_is_described,
	.waits_for_library = library_is_awaited,
	.look_again = process_look,
	.ended = process_end,
	.is_unused = batch_is_unused,
	.retire = batch_retire,
};

const struct provider_arrivals pid_arrivals = {
	.match_new = batch_match,
	.free = batch_free,
	.processes = &processes,
};
