/* SPDX-License-Identifier: MIT */
/* The probes in code of a provider: their keys, and the batches in which they have it. */
#include "d/types/import_dwarf.h"
#include "provider/code/code.h"

void code_probes_deinit(struct code_probes *st)
{
	batches_deinit(&st->batches);
	for (uint32_t i = 0; i < st->processes.len; i++)
		code_process_destroy(st->processes.data[i]);
	vec_deinit(&st->processes);
	vec_deinit(&st->probes);
	dwarf_import_destroy(st->types);
}

struct dwarf_import *code_types(struct code_probes *st)
{
	if (!st->types)
		st->types = dwarf_import_create();
	return st->types;
}

void code_probe_add(struct provider_env *env, struct code_probes *st, struct code_probe *p,
		    uint32_t batch)
{
	p->key = env_code_key(env);
	p->batch = batch;
	p->nbatches = 1;
	p->is_of_start = !batch;
	p->index = st->probes.len;
	vec_push(&st->probes, p);
}

void code_probe_renew(struct provider_env *env, const struct code_probes *st, struct code_probe *p)
{
	p->key = env_code_key(env);
	p->batch = st->batch;
	p->nbatches++;
}

void code_probe_drop(struct code_probes *st, const struct code_probe *p)
{
	struct code_probe *last = *vec_last(&st->probes);

	last->index = p->index;
	st->probes.data[p->index] = last;
	st->probes.len--;
}

bool code_probe_leave(struct code_probe *p)
{
	return !--p->nbatches;
}

uint32_t code_probe_point(const struct code_probe *p, pid_t tgid, struct probe_point *ret)
{
	*ret = (struct probe_point){.place = {.kind = PLACE_UPROBE},
				    .key = p->key,
				    .tgid = (uint32_t)tgid,
				    .spot = p->spot,
				    .code = &p->code};
	return 1;
}

void code_batch_begin(struct provider_env *env, struct code_probes *st)
{
	batches_begin(&st->batches, ++st->batch);
	env_reset_code_keys(env);
}

void code_batch_add(const struct code_probes *st, struct probe *pr)
{
	vec_push(&batches_last(&st->batches)->probes, pr);
}

bool code_batch_has_types(const struct batch *b, bool is_latest)
{
	for (uint32_t i = 0; i < b->probes.len; i++) {
		const struct code_probe *p = code_probe(b->probes.data[i]);

		if (p->is_of_start && (!is_latest || p->batch == b->number))
			return true;
	}
	return false;
}
