/* What processes map while they are traced. */
#include "provider/pid_come.h"

#include <errno.h>

#include "provider/pid.h"

static struct pid_state *state_of(struct probes *ps)
{
	return probes_state(ps, &provider_pid, sizeof(struct pid_state));
}

static struct pid_target *target_of_pid(struct probes *ps, pid_t pid)
{
	const struct pid_state *st = state_of(ps);

	for (uint32_t i = 0; i < st->targets.len; i++)
		if (st->targets.data[i]->pid == pid)
			return st->targets.data[i];
	return NULL;
}

static struct pid_target *target_find(struct probes *ps, const struct proc_id *id)
{
	struct pid_target *t = target_of_pid(ps, id->pid);

	return t && t->id.start == id->start ? t : NULL;
}

const struct proc_id *pid_described(struct probes *ps, const struct probe_desc *desc, uint32_t i)
{
	const struct pid_target *t;
	struct err *e;
	pid_t pid;

	if (desc->id || !provider_concerns(&provider_pid, desc))
		return NULL;
	e = pid_of(ps, desc, i, &pid);
	t = e || !pid ? NULL : target_of_pid(ps, pid);
	err_destroy(e); /* no process, no probes */
	return t ? &t->id : NULL;
}

bool pid_is_described(struct probes *ps, const struct probe_desc *desc, const struct proc_id *id)
{
	const struct proc_id *p;

	for (uint32_t i = 0; (p = pid_described(ps, desc, i)); i++)
		if (p->pid == id->pid && p->start == id->start)
			return true;
	return false;
}

bool pid_waits_for_library(struct probes *ps, const struct probe_desc *desc,
			   const struct proc_id *id)
{
	const struct pid_target *t = target_find(ps, id);

	if (strcmp(desc->func, "-") == 0)
		return false;
	if (!t || !*desc->mod || !glob_is_literal(desc->mod))
		return t != NULL;
	for (uint32_t i = 0; i < t->objects.len; i++)
		if (pid_object_matches(t->objects.data[i], desc->mod))
			return false;
	return true;
}

/*
 * One that was gone before it could be opened, or whose links have died, is as good as new when it
 * is there.
 */
static void renew_objects(const struct pid_state *st, struct pid_target *t)
{
	for (uint32_t i = 0; i < t->objects.len; i++) {
		struct pid_object *o = t->objects.data[i];
		bool is_missed = !o->file.opened && o->refused && err_get_sys(o->refused) == ENOENT;

		if (!(o->is_stale || is_missed) || !pid_object_is_mapped(t, o))
			continue;
		if (is_missed) {
			err_destroy(o->refused);
			o->refused = NULL;
		}
		o->is_stale = false;
		o->batch = st->batch;
	}
}

struct err *pid_look_again(struct probes *ps, const struct proc_id *id, const struct proc_id *at,
			   bool is_other, bool *ret_any)
{
	struct pid_state *st = state_of(ps);
	struct pid_target *t = target_find(ps, id);
	struct err *e;

	*ret_any = false;
	if (!t)
		return NULL;
	t->at = at->pid;
	st->batch++;
	probes_reset_code_keys(ps);
	for (uint32_t i = 0; i < t->objects.len && is_other; i++)
		t->objects.data[i]->is_stale = true;
	e = pid_target_look(st, t);
	if (e)
		return e;
	renew_objects(st, t);
	for (uint32_t i = 0; i < t->objects.len; i++)
		*ret_any |= t->objects.data[i]->batch == st->batch;
	return NULL;
}

static int by_id(const void *a, const void *b)
{
	const struct probe *const *x = a, *const *y = b;

	return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

struct err *pid_match_new(struct probes *ps, const struct probe_desc *desc, struct probe_list *out)
{
	struct err *e = pid_collect_new(ps, desc, out);
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

void pid_have_children(struct probes *ps)
{
	state_of(ps)->has_children = true;
}
