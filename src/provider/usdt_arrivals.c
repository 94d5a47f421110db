/* SPDX-License-Identifier: MIT */
/* Programs' own probes in files that processes map while they are traced. */
#include "provider/arrivals.h"
#include "provider/usdt.h"
#include "sym/sym.h"

#define ARRIVALS_MAX 4096 /* of more, all processes are searched */

/* ---- processes that are followed ------------------------------------------------------------- */

static bool is_about_us(const struct probe_desc *desc)
{
	return !desc->id && provider_concerns(&provider_usdt, desc);
}

/*
 * A pattern means the process of -c as well, whose libraries are found before their constructors
 * run; all other processes are found when they have mapped a file.
 */
static const struct proc_id *process_described(struct provider_env *env,
					       const struct probe_desc *desc, uint32_t i)
{
	const struct code_process *t;
	pid_t pid = 0;

	if (i || !is_about_us(desc))
		return NULL;
	pid = (pid_t)usdt_only_in(desc);
	if (!pid && usdt_wants_all(env, desc))
		pid = env->created;
	t = pid ? code_process_known(&usdt_state(env)->code, pid) : NULL;
	return t ? &t->id : NULL;
}

static bool process_is_described(struct provider_env *env, const struct probe_desc *desc,
				 const struct proc_id *id)
{
	const struct proc_id *p;

	if (!is_about_us(desc))
		return false;
	if (usdt_wants_all(env, desc))
		return true;
	p = process_described(env, desc, 0);
	return p && p->pid == id->pid && p->start == id->start;
}

static bool library_is_awaited(struct provider_env *env, const struct probe_desc *desc,
			       const struct proc_id *id)
{
	const struct usdt_state *st = usdt_state(env);

	if (!*desc->mod || !glob_is_literal(desc->mod))
		return true;
	for (uint32_t i = 0; i < st->uses.len; i++)
		if (st->uses.data[i].pid == id->pid &&
		    code_file_matches(st->uses.data[i].object->file, desc->mod))
			return false;
	return true;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Returns the number of the batch that was begun; drops it and returns 0 if nothing is in it. */
static uint32_t batch_end(struct usdt_state *st)
{
	uint32_t number = st->code.batch;

	for (uint32_t i = st->objects.len; i-- > 0;)
		if (st->objects.data[i]->batch == number)
			return number;
	for (uint32_t i = st->uses.len; i-- > 0;)
		if (st->uses.data[i].batch == number)
			return number;
	batches_drop(&st->code.batches, number);
	return 0;
}

/* Takes the uses out for which the function is true. */
static void uses_drop(struct usdt_state *st, bool (*func)(const struct usdt_use *use, uint32_t arg),
		      uint32_t arg)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < st->uses.len; i++) {
		const struct usdt_use *use = &st->uses.data[i];
		const uint64_t key[2] = {(uint64_t)use->pid, (uintptr_t)use->object};

		if (func(use, arg))
			hashmap_remove(st->used, key, sizeof(key));
		else
			st->uses.data[n++] = *use;
	}
	st->uses.len = n;
}

static bool use_is_of_process(const struct usdt_use *use, uint32_t pid)
{
	return (uint32_t)use->pid == pid;
}

static bool use_is_of_batch(const struct usdt_use *use, uint32_t batch)
{
	return use->batch == batch || use->object->is_gone;
}

static struct err *process_look(struct provider_env *env, const struct proc_id *id,
				const struct proc_id *at, bool is_other, uint32_t *ret_batch)
{
	struct usdt_state *st = usdt_state(env);
	const struct code_process *t = code_process_known(&st->code, id->pid);
	struct err *e;

	*ret_batch = 0;
	if (!t || t->id.start != id->start || at->pid != id->pid)
		return NULL;
	if (is_other)
		uses_drop(st, use_is_of_process, (uint32_t)id->pid);
	code_batch_begin(env, &st->code);
	e = usdt_scan_process(env, st, id->pid);
	*ret_batch = batch_end(st);
	return e;
}

static struct err *batch_match(struct provider_env *env, const struct probe_desc *desc,
			       struct probe_list *out)
{
	if (is_about_us(desc))
		usdt_collect_new(env, desc, out);
	return NULL;
}

/* ---- all processes --------------------------------------------------------------------------- */

void usdt_arrivals_clear(struct usdt_state *st)
{
	for (uint32_t i = 0; i < st->arrivals.len; i++)
		free((char *)(uintptr_t)st->arrivals.data[i].map.path);
	vec_clear(&st->arrivals);
	st->has_missed = false;
}

static void process_born(struct provider_env *env, uint64_t pid, uint64_t parent)
{
	struct usdt_births *b = &usdt_state(env)->births;
	uint32_t i = b->n++ % ARRAY_LEN(b->list);

	b->list[i].pid = (pid_t)pid;
	b->list[i].parent = (pid_t)parent;
}

static pid_t parent_of(const struct usdt_births *b, pid_t pid)
{
	for (uint32_t i = 1; i <= MIN(b->n, (uint32_t)ARRAY_LEN(b->list)); i++) {
		uint32_t at = (b->n - i) % ARRAY_LEN(b->list);

		if (b->list[at].pid == pid)
			return b->list[at].parent;
	}
	return 0;
}

static bool code_mapped(struct provider_env *env, uint64_t pid, const struct sym_map *m)
{
	struct usdt_state *st = usdt_state(env);
	struct usdt_object *o;

	if (!m->ino || m->path[0] != '/' ||
	    usdt_file_is_known(env, st, m->dev, m->ino, m->path, &o))
		return false;
	if (st->arrivals.len >= ARRIVALS_MAX) {
		st->has_missed = true;
		return true;
	}
	vec_push(&st->arrivals, (struct usdt_arrival){.pid = (pid_t)pid,
						      .parent = parent_of(&st->births, (pid_t)pid),
						      .map = {.start = m->start,
							      .end = m->start + m->len,
							      .off = m->off,
							      .dev = m->dev,
							      .ino = m->ino,
							      .path = xstrdup(m->path),
							      .is_exec = true}});
	return true;
}

/*
 * Drops the new objects that no pattern means: their files need not be kept open. A description of
 * one process could mean them still.
 */
static void objects_sift(struct provider_env *env, struct usdt_state *st)
{
	for (uint32_t i = st->objects.len; i-- > 0 && !st->has_literals;) {
		struct usdt_object *o = st->objects.data[i];

		if (o->batch != st->code.batch)
			continue;
		usdt_code_add(env, o);
		if (!usdt_object_is_wanted(st, o))
			usdt_object_ignore(st, o);
	}
}

static uint32_t all_look(struct provider_env *env, bool is_scan)
{
	struct usdt_state *st = usdt_state(env);

	code_batch_begin(env, &st->code);
	for (uint32_t i = 0; i < st->arrivals.len; i++) {
		const struct usdt_arrival *a = &st->arrivals.data[i];

		(void)usdt_object_find(env, st, a->pid, a->parent, &a->map);
	}
	if (is_scan || st->has_missed)
		usdt_scan_files(env, st);
	usdt_arrivals_clear(st);
	objects_sift(env, st);
	return batch_end(st);
}

static bool file_state(struct provider_env *env, uint64_t dev, uint64_t ino, const char **ret_name)
{
	const struct usdt_state *st = usdt_state(env);
	const struct usdt_object *o;
	bool is_read = usdt_file_was_read(st, dev, ino, &o);

	*ret_name = is_read && o && o->nprobes ? o->file->file.name : NULL;
	return is_read;
}

/* ---- what goes ------------------------------------------------------------------------------- */

static void process_end(struct provider_env *env, const struct proc_id *id,
			const struct proc_id *at)
{
	struct usdt_state *st = usdt_state(env);

	for (uint32_t i = 0; i < st->uses.len; i++)
		if (st->uses.data[i].pid == at->pid && !st->uses.data[i].since)
			st->uses.data[i].since = st->nsurveys + 1;
}

static void objects_survey(struct provider_env *env)
{
	usdt_survey(env, usdt_state(env));
}

static bool batch_is_unused(struct provider_env *env, uint32_t batch, uint64_t *ret_since)
{
	const struct usdt_state *st = usdt_state(env);
	const struct batch *b = batches_find(&st->code.batches, batch);

	*ret_since = 0;
	for (uint32_t i = 0; i < st->objects.len; i++) {
		const struct usdt_object *o = st->objects.data[i];

		if (o->batch != batch)
			continue;
		if (o->survey == st->nsurveys)
			return false;
		*ret_since = MAX(*ret_since, (uint64_t)o->survey);
	}
	for (uint32_t i = 0; i < st->uses.len; i++) {
		const struct usdt_use *use = &st->uses.data[i];

		if (use->batch != batch)
			continue;
		if (!use->since)
			return false;
		*ret_since = MAX(*ret_since, (uint64_t)use->since);
	}
	return b && !code_batch_has_types(b, false);
}

static void batch_retire(struct provider_env *env, uint32_t batch)
{
	struct usdt_state *st = usdt_state(env);

	for (uint32_t i = 0; i < st->objects.len; i++)
		if (st->objects.data[i]->batch == batch)
			usdt_object_forget(st, st->objects.data[i]);
	uses_drop(st, use_is_of_batch, batch);
}

static bool probe_leave(struct provider_env *env, struct probe *pr, bool keeps_names)
{
	if (!code_probe_leave(code_probe(pr)) || keeps_names)
		return false;
	usdt_probe_destroy(usdt_state(env), pr);
	return true;
}

static void batch_free(struct provider_env *env, uint32_t batch, bool keeps_names)
{
	struct usdt_state *st = usdt_state(env);

	batches_free(&st->code.batches, env, batch, keeps_names, probe_leave);
	for (uint32_t i = st->objects.len; i-- > 0;)
		if (st->objects.data[i]->is_gone && !st->objects.data[i]->nprobes)
			usdt_object_destroy(st, st->objects.data[i]);
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

static const struct file_arrivals files = {
	.wants = usdt_wants_all,
	.born = process_born,
	.mapped = code_mapped,
	.look = all_look,
	.state = file_state,
	.survey = objects_survey,
};

const struct provider_arrivals usdt_arrivals = {
	.match_new = batch_match,
	.free = batch_free,
	.processes = &processes,
	.files = &files,
};
