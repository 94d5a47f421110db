/* SPDX-License-Identifier: MIT */
/*
 * Forgets processes and files, so that a session may last for months without growing.
 *
 *     processes that have ended,   when there are too many, or the lists of their mappings take too
 *     address spaces that were     much memory, those that ended first are forgotten
 *     given up by an exec
 *     processes that we take to    when there are many, /proc is asked which of them are there
 *       live                       still: the end of a process may have been lost, or nothing
 *                                  reports ends
 *     files                        when there are twice as many as after the last sweep, those that
 *                                  no process is known to map or to have mapped are forgotten
 *     memory for names             ubudget.c
 *     tables of generated code     when too many processes that have ended have one, the oldest
 *                                  tables are closed, because each needs a descriptor
 *
 * An address that is looked up in a process that was forgotten has no name; uproc_is_forgotten()
 * says that this is the reason.
 */
#include <time.h>

#include "target/ident.h"
#include "sym/uproc.h"

#define ENDS_MAX       65536	  /* processes that are kept after their end */
#define EXECS_MAX      262144	  /* ends of processes and of address spaces */
#define ENDS_MAPS_MAX  (1u << 20) /* what they have mapped: some 50 MB */
#define FILES_FEW      1024	  /* so many files are kept, mapped or not */
#define FILES_MAX      16384 /* beyond, processes that have ended are forgotten for their files */
#define ENDED_JITS_MAX 256   /* tables of generated code, of processes that have ended */
#define PROCS_FEW      4096  /* so many processes are taken to live without asking */

/* ---- processes that have ended --------------------------------------------------------------- */

static struct uproc *proc_find(const struct uprocs *u, uint64_t pid)
{
	return hashmap_find(u->procs, &pid, sizeof(pid));
}

static void proc_forget(struct uprocs *u, struct uproc *p)
{
	if (p->space) {
		u->nforgotten++;
		u->forgotten_until = MAX(u->forgotten_until, p->ended);
	}
	uproc_destroy(p);
}

void uproc_forget_before(struct uprocs *u, struct uproc *p)
{
	struct uproc *old = p->before;

	p->before = NULL;
	while (old) {
		struct uproc *before = old->before;

		proc_forget(u, old);
		old = before;
	}
}

/*
 * Forgets the address space whose end has this number, unless its process was forgotten earlier.
 * What a process has given up is forgotten in this order, too, so the space is the first one.
 */
static void past_forget(struct uprocs *u, const struct uend *end)
{
	struct uproc *p = proc_find(u, end->pid);

	while (p && !(p->past.len && p->past.data[0].end_number == end->number))
		p = p->before;
	if (!p)
		return;
	u->nforgotten++;
	u->forgotten_until = MAX(u->forgotten_until,
				 p->past.len > 1 ? p->past.data[1].space->since : p->space->since);
	p->is_past_cut = true;
	uspace_put(p->past.data[0].space);
	p->past.len--;
	memmove(p->past.data, p->past.data + 1, p->past.len * sizeof(*p->past.data));
}

/* Forgets the process whose end has this number, and the processes that had its id before. */
static void end_forget(struct uprocs *u, const struct uend *end)
{
	struct uproc *p = proc_find(u, end->pid), *next = NULL;

	u->ended_maps -= end->nmaps;
	u->nended -= !end->is_exec;
	if (end->is_exec) {
		past_forget(u, end);
		return;
	}
	for (; p && p->end_number != end->number; p = p->before)
		next = p;
	if (!p)
		return; /* the process lives after all, or was forgotten earlier */
	if (next) {
		uproc_forget_before(u, next);
		return;
	}
	uproc_forget_before(u, p);
	hashmap_remove(u->procs, &p->pid, sizeof(p->pid));
	proc_forget(u, p);
}

/* Forgets the n processes and address spaces that ended first. */
static void ends_forget(struct uprocs *u, uint32_t n)
{
	n = MIN(n, u->ends.len - u->first_end);
	for (uint32_t i = 0; i < n; i++)
		end_forget(u, &u->ends.data[u->first_end + i]);
	u->first_end += n;
	if (u->first_end <= u->ends.len / 2)
		return;
	u->ends.len -= u->first_end;
	memmove(u->ends.data, u->ends.data + u->first_end, u->ends.len * sizeof(*u->ends.data));
	u->first_end = 0;
}

/* The tables of processes that ended long ago go: each has a descriptor, and may be large. */
static void ended_jits_bound(struct uprocs *u)
{
	uint32_t kept = 0;

	if (u->nended_maps <= ENDED_JITS_MAX)
		return;
	for (uint32_t i = u->ends.len; i-- > u->first_end;) {
		const struct uend *end = &u->ends.data[i];
		struct uproc *p = proc_find(u, end->pid);

		while (p && p->end_number != end->number)
			p = p->before;
		if (!p || !p->jit || !p->jit->perfmap)
			continue;
		if (kept < ENDED_JITS_MAX / 2) {
			kept++;
			continue;
		}
		ujit_destroy(p->jit);
		p->jit = NULL;
	}
	u->nended_maps = kept;
}

/* Returns the mappings that are kept for one of the processes that share the address space. */
static uint32_t space_share_count(const struct uspace *s)
{
	return 1 + (s ? s->maps.len / s->refs : 0);
}

/* Adds an end, and forgets the first ones if there are too many. */
static void end_add(struct uprocs *u, const struct uend *end)
{
	u->ended_maps += end->nmaps;
	u->nended += !end->is_exec;
	vec_push(&u->ends, *end);
	while (u->nended > ENDS_MAX || u->ends.len - u->first_end > EXECS_MAX ||
	       (u->ended_maps > ENDS_MAPS_MAX && u->ends.len - u->first_end > 1))
		ends_forget(u, 1);
}

void uproc_gave_up(struct uprocs *u, struct uproc *p, struct uspace *s)
{
	struct uend end = {p->pid, u->nends + 1, space_share_count(s), true};

	if (!s)
		return;
	vec_push(&p->past, (struct upast){s, ++u->nends});
	end_add(u, &end);
}

void uproc_end(struct uprocs *u, struct uproc *p, uint64_t time)
{
	struct uend end = {p->pid, u->nends + 1, space_share_count(p->space), false};

	if (p->ended || !time)
		return;
	p->ended = time;
	p->end_number = ++u->nends;
	u->nended_maps += uproc_perfmap(u, p) != NULL;
	end_add(u, &end);
	ended_jits_bound(u);
}

bool uproc_is_forgotten(const struct uprocs *u, const struct uproc *p, uint64_t time)
{
	if (!u->nforgotten || (time != UINT64_MAX && time > u->forgotten_until))
		return false;
	return !p || !uproc_space(p, time);
}

/* ---- processes whose end nobody reported ----------------------------------------------------- */

void uprocs_bound(struct uprocs *u)
{
	VEC(struct uproc *) gone = {0};
	uint64_t now = uprocs_now(u), start;
	struct uproc *p;
	size_t pos = 0;

	if (hashmap_count(u->procs) < MAX(u->check_at, PROCS_FEW))
		return;
	while ((p = hashmap_next(u->procs, &pos, NULL, NULL)))
		if (!p->ended && !p->is_target &&
		    (p->pid > INT32_MAX || !proc_started((pid_t)p->pid, &start)))
			vec_push(&gone, p);
	for (uint32_t i = 0; i < gone.len; i++)
		uproc_end(u, gone.data[i], now);
	vec_deinit(&gone);
	u->check_at = 2 * (uint32_t)hashmap_count(u->procs);
}

/* ---- files that nothing maps any more -------------------------------------------------------- */

static void space_mark(struct uprocs *u, struct uspace *s)
{
	if (!s || s->swept == u->sweep)
		return;
	s->swept = u->sweep;
	for (uint32_t i = 0; i < s->maps.len; i++)
		if (s->maps.data[i].file)
			s->maps.data[i].file->swept = u->sweep;
}

static void proc_mark(struct uprocs *u, struct uproc *p)
{
	space_mark(u, p->space);
	for (uint32_t i = 0; i < p->past.len; i++)
		space_mark(u, p->past.data[i].space);
}

static uint32_t files_sweep(struct uprocs *u)
{
	struct uproc *p;
	size_t pos = 0;

	u->sweep++;
	while ((p = hashmap_next(u->procs, &pos, NULL, NULL)))
		for (; p; p = p->before)
			proc_mark(u, p);
	ufiles_sweep(&u->files, u->sweep);
	return (uint32_t)hashmap_count(u->files.files);
}

/* Marks what living processes map. */
static void living_mark(struct uprocs *u)
{
	struct uproc *p;
	size_t pos = 0;

	u->sweep++;
	while ((p = hashmap_next(u->procs, &pos, NULL, NULL)))
		if (!p->ended)
			space_mark(u, p->space);
}

static uint64_t cpu_ns(void)
{
	struct timespec ts = {0};

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void deleted_bound(struct uprocs *u)
{
	uint64_t since;

	if (!ufiles_check_is_due(&u->files))
		return;
	since = cpu_ns();
	living_mark(u);
	ufiles_bound_deleted(&u->files, u->sweep);
	ufiles_checked(&u->files, cpu_ns() - since);
}

void ufiles_bound(struct uprocs *u)
{
	uint32_t n;

	ufiles_bound_memory(&u->files);
	deleted_bound(u);

	if (hashmap_count(u->files.files) < MAX(u->sweep_at, FILES_FEW))
		return;
	n = files_sweep(u);
	while (n > FILES_MAX / 2 && u->ends.len > u->first_end) {
		ends_forget(u, (u->ends.len - u->first_end + 1) / 2);
		n = files_sweep(u);
	}
	u->sweep_at = 2 * n;
}
