/* SPDX-License-Identifier: MIT */
/*
 * Children of the process, with the option follow.
 *
 * A child of fork() has the jumps in its memory, with all that they lead to, and a switch that
 * is off. The watch holds it before it executes anything. It gets a data part of its own then,
 * which is read together with that of its parent (native/data_kin.c), its code learns its
 * process id, and the switch is turned on. A child that is refused has its jumps taken out, and
 * only after that it gets uprobes: one in the middle of a jump would be the death of it. A child
 * of vfork() has the memory of its parent, whose jumps fire there, until it executes another
 * program.
 */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inproc/impl.h"
#include "inproc/run.h"
#include "target/ident.h"

#define LEAVE_NS 100000000 /* until a thread has left the stub in which it was */

struct inproc_child {
	struct inproc *p;
	pid_t pid;
	struct patch_child *patch; /* NULL: it has ended, or has no jumps any more */
	struct ndata *data;
	int data_fd;
	uint64_t ended_at; /* ns; 0: it has not */
};

static bool is_free(const struct inproc *p, pid_t child)
{
	for (uint32_t i = 0; i < p->children.len; i++)
		if (p->children.data[i] == child)
			return true;
	return false;
}

static struct inproc_child *child_find(const struct inproc *p, pid_t pid)
{
	for (uint32_t i = 0; i < p->followed.len; i++)
		if (p->followed.data[i]->pid == pid && p->followed.data[i]->patch)
			return p->followed.data[i];
	return NULL;
}

/* ---- beginning ------------------------------------------------------------------------------- */

static bool child_allows(void *ctx, uint32_t clause, uint32_t probe)
{
	const struct inproc_child *c = ctx;

	return inproc_allows(c->p, clause, probe);
}

static bool child_thread_is_alive(void *ctx, uint32_t tid)
{
	const struct inproc_child *c = ctx;

	return syscall(SYS_tgkill, c->pid, (pid_t)tid, 0) == 0 || errno != ESRCH;
}

/* Its code is its own, so that it can have numbers of its own there. */
static struct err *conf_write(const struct inproc_child *c)
{
	size_t size;
	CLEANUP(free) struct blob_conf *conf = ndata_conf(c->data, &size);

	return patch_child_write(c->patch, c->p->blob + blob_code_size, conf,
				 offsetof(struct blob_conf, ncpus));
}

static struct err *child_fill(struct inproc_child *c)
{
	const struct inproc *p = c->p;
	const struct ndata_hooks hooks = {.allows = child_allows,
					  .is_alive = p->has_our_ids ? child_thread_is_alive : NULL,
					  .ctx = c,
					  .pid = (uint32_t)c->pid,
					  .has_no_clock = p->no_clock};
	struct err *e;

	c->data_fd = patch_child_take_data(c->patch);
	e = ndata_kin_create(p->data, c->data_fd, &hooks, p->state, &c->data);
	if (!e)
		e = conf_write(c);
	return e ? e : patch_child_switch(c->patch, p->state == RT_STATE_ON);
}

/* Each has two descriptors, and all of them together half of what this process may have. */
static uint32_t children_max(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) || rl.rlim_cur / 4 >= INPROC_CHILDREN_MAX)
		return INPROC_CHILDREN_MAX;
	return (uint32_t)rl.rlim_cur / 4;
}

/* Why no child has jumps; NULL: it may have. */
static const char *children_lack(const struct inproc *p)
{
	if (p->plan->live_off)
		return "live() follows the objects of one process";
	if (p->frames.size)
		return "lines of a language are read in one process";
	if (p->has_own_probes)
		return "probes of the program's own are of one process";
	if (!p->run || inproc_windows_are_due(p))
		return "some jumps of its parent are still to be written";
	if (p->followed.len >= children_max())
		return "too many children have jumps";
	return NULL;
}

static void child_free(struct inproc_child *c)
{
	patch_child_close(c->patch);
	if (c->data)
		ndata_kin_end(c->p->data, c->data, c->p->run->run.control);
	if (c->data_fd >= 0)
		(void)close(c->data_fd);
	free(c);
}

static struct err *child_follow(struct inproc *p, pid_t pid)
{
	const struct patch_child_opts o = {.all = p->has_late_windows,
					   .has_tid = p->has_tid,
					   .tid_off = p->tid_off};
	struct inproc_child *c;
	const char *lack;
	struct err *e;

	if (p->run && p->followed.len >= children_max())
		inproc_children_reap(p);
	lack = children_lack(p);
	if (lack)
		return err_new("%s", lack);
	c = xcalloc(1, sizeof(*c));
	*c = (struct inproc_child){.p = p, .pid = pid, .data_fd = -1};
	e = patch_child_open(p->patch, pid, &o, &c->patch);
	if (!e)
		e = child_fill(c);
	if (e) {
		child_free(c);
		return e;
	}
	vec_push(&p->followed, c);
	p->counts.nfollowed++;
	return NULL;
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void child_end(struct inproc_child *c)
{
	if (c->ended_at)
		return;
	c->ended_at = now_ns();
	patch_child_close(c->patch);
	c->patch = NULL;
}

void inproc_children_reap(struct inproc *p)
{
	uint64_t now = now_ns();
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->followed.len; i++) {
		struct inproc_child *c = p->followed.data[i];
		bool is_gone = c->patch && !patch_child_is_there(c->patch);

		if (is_gone)
			child_end(c);
		/* of one that runs on without jumps, threads may still be in stubs */
		if ((is_gone || (c->ended_at && now - c->ended_at > LEAVE_NS)) &&
		    ndata_kin_is_drained(c->data))
			child_free(c);
		else
			p->followed.data[n++] = c;
	}
	p->followed.len = n;
}

/* ---- one process ----------------------------------------------------------------------------- */

/* Whether it has the memory of a child that is followed. */
static bool shares_memory(const struct inproc *p, pid_t pid)
{
	for (uint32_t i = 0; i < p->followed.len; i++)
		if (p->followed.data[i]->patch &&
		    proc_memory_compare(p->followed.data[i]->pid, pid) != MEMORY_OTHER)
			return true;
	return false;
}

/* Takes the jumps out of a child that was not entered, or whose jumps do not stand any more. */
static struct err *child_release(struct inproc *p, pid_t child, struct err *why)
{
	struct err *e = patch_child(p->patch, child, false);

	if (!p->why)
		p->why = xstrdup(err_text(why));
	inproc_debug(p, "a child has uprobes", why);
	err_destroy(why);
	p->counts.nfreed++;
	return e;
}

struct err *inproc_take_child(struct inproc *p, pid_t child, bool *ret_may)
{
	struct inproc_child *c = child_find(p, child);
	struct err *why, *e = NULL;

	*ret_may = true;
	/* a child may have the jumps although its parent has gone, as that of daemon(3) */
	if (!p->patch || is_free(p, child) || (child == p->opts.pid && !inproc_is_entered(p)))
		return NULL;
	*ret_may = child != p->opts.pid && proc_memory_compare(p->opts.pid, child) == MEMORY_OTHER;
	if (!*ret_may || !patch_is_in(p->patch, child))
		return NULL;
	if (c && !patch_child_is_there(c->patch)) { /* another process has its id now */
		child_end(c);
		c = NULL;
	}
	if (c && patch_child_stands(c->patch)) {
		*ret_may = false;
		return NULL;
	}
	if (c) { /* it has unmapped code, and perhaps mapped it once more */
		err_destroy(patch_child_switch(c->patch, false));
		child_end(c);
		why = err_new("process %d has mapped code anew", (int)child);
	} else if (shares_memory(p, child)) {
		*ret_may = false;
		return NULL;
	} else {
		why = child_follow(p, child);
	}
	*ret_may = why;
	if (!why)
		return NULL;
	e = child_release(p, child, why);
	if (e)
		*ret_may = false;
	else
		vec_push(&p->children, child);
	return e;
}

void inproc_forget_child(struct inproc *p, pid_t child)
{
	struct inproc_child *c = child_find(p, child);

	if (c)
		child_end(c);
	for (uint32_t i = p->children.len; i-- > 0;)
		if (p->children.data[i] == child)
			p->children.data[i] = p->children.data[--p->children.len];
}

/* ---- all ------------------------------------------------------------------------------------- */

void inproc_children_set(struct inproc *p, enum rt_state state)
{
	p->state = state;
	for (uint32_t i = 0; i < p->followed.len; i++)
		err_destroy(ndata_set_state(p->followed.data[i]->data, state));
}

bool inproc_children_exit(const struct inproc *p)
{
	uint32_t state = RT_STATE_OFF;

	for (uint32_t i = 0; i < p->followed.len && state != RT_STATE_EXITING; i++)
		err_destroy(ndata_state(p->followed.data[i]->data, &state));
	return state == RT_STATE_EXITING;
}

void inproc_children_tend(const struct inproc *p, bool corrects, bool sweeps)
{
	for (uint32_t i = 0; i < p->followed.len; i++) {
		const struct inproc_child *c = p->followed.data[i];
		struct err *e = NULL;

		if (c->patch && corrects)
			e = ndata_clock_correct(c->data);
		if (c->patch && sweeps && !e)
			e = ndata_sweep(c->data);
		err_destroy(e); /* it has cut off its data: what was read stays */
	}
}

void inproc_children_leave(struct inproc *p)
{
	for (uint32_t i = 0; i < p->followed.len; i++)
		p->followed.data[i]->patch = NULL;
}

void inproc_children_destroy(struct inproc *p)
{
	for (uint32_t i = 0; i < p->followed.len; i++) {
		ndata_destroy(p->followed.data[i]->data);
		(void)close(p->followed.data[i]->data_fd);
		free(p->followed.data[i]);
	}
	vec_deinit(&p->followed);
	vec_deinit(&p->children);
	free(p->why);
}

struct inproc_children inproc_children_of(const struct inproc *p)
{
	struct inproc_children counts = p->counts;

	counts.why = p->why;
	return counts;
}

void inproc_note_places(struct inproc *p, uint32_t nplaces, uint32_t nuprobes)
{
	p->counts.nplaces = nplaces;
	p->counts.nuprobes = nuprobes;
}
