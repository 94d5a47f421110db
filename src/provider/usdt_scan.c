/* SPDX-License-Identifier: MIT */
/* Which processes have mapped files with notes about probes. */
#include "provider/usdt.h"

#include "privilege/privilege.h"
#include "target/search.h"

struct scan {
	struct provider_env *env;
	struct usdt_state *st;
	/* whether the process that was asked about last may be looked at */
	pid_t asked;
	bool is_own;
};

/* A process's mappings come one after another. */
static bool scan_may_look(struct scan *s, pid_t pid)
{
	if (s->asked != pid)
		s->is_own = privileges_own_process(s->env->privileges, pid);
	s->asked = pid;
	return s->is_own;
}

static void use_add(struct usdt_state *st, pid_t pid, struct usdt_object *o)
{
	const uint64_t key[2] = {(uint64_t)pid, (uintptr_t)o};

	if (hashmap_find(st->used, key, sizeof(key)))
		return;
	hashmap_set(st->used, key, sizeof(key), o);
	vec_push(&st->uses, (struct usdt_use){.pid = pid, .batch = st->code.batch, .object = o});
}

static void use_scan(void *ctx, pid_t pid, const struct proc_map *m)
{
	struct scan *s = ctx;
	struct usdt_object *o =
		scan_may_look(s, pid) ? usdt_object_find(s->env, s->st, pid, 0, m) : NULL;

	if (!o)
		return;
	use_add(s->st, pid, o);
	if (o->has_groups)
		return;
	usdt_code_add(s->env, o);
	if (usdt_object_is_wanted(s->st, o))
		usdt_object_group(s->env, s->st, o); /* while other processes are searched */
}

static void file_scan(void *ctx, pid_t pid, const struct proc_map *m)
{
	struct scan *s = ctx;

	if (scan_may_look(s, pid))
		(void)usdt_object_find(s->env, s->st, pid, 0, m);
}

static void mapping_survey(void *ctx, pid_t pid, const struct proc_map *m)
{
	const struct scan *s = ctx;
	struct usdt_object *o;

	(void)usdt_file_is_known(s->env, s->st, m->dev, m->ino, m->path, &o);
	if (o)
		o->survey = s->st->nsurveys;
}

struct scan_one {
	struct scan scan;
	pid_t pid;
};

static void use_scan_one(void *ctx, const struct proc_map *m)
{
	struct scan_one *one = ctx;

	use_scan(&one->scan, one->pid, m);
}

struct err *usdt_scan_process(struct provider_env *env, struct usdt_state *st, pid_t pid)
{
	return proc_code_each(pid, use_scan_one, &(struct scan_one){{.env = env, .st = st}, pid});
}

void usdt_scan_all(struct provider_env *env, struct usdt_state *st)
{
	env_will_scan(env);
	vec_clear(&st->uses);
	hashmap_destroy(st->used);
	st->used = hashmap_create();
	proc_search(use_scan, &(struct scan){.env = env, .st = st});
	st->scanned_at = now_ns();
	st->ncodes_scanned = usdt_code_count(env, st);
}

void usdt_scan_files(struct provider_env *env, struct usdt_state *st)
{
	proc_search(file_scan, &(struct scan){.env = env, .st = st});
}

void usdt_survey(struct provider_env *env, struct usdt_state *st)
{
	st->nsurveys++;
	proc_search(mapping_survey, &(struct scan){.env = env, .st = st});
}
