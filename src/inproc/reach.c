/* SPDX-License-Identifier: MIT */
/*
 * The files that jumps reach: the region lies near those files that have the most windows. Files
 * that are far from it, as the program is from its libraries, have stubs in a mirror of the region
 * near them (patch/patch.h), which work on the same memory.
 *
 * A child that is followed has data of its own in the region alone. So with children that are
 * followed there are no mirrors for files, and sites in files that are far are uprobes.
 */
#include "inproc/impl.h"

#define SPAN_MAX    (PATCH_REACH / 2)
#define REACH_TRIED 3u
#define REACH_NS    250000000ull /* a try in which threads do not stop takes longer */

static const char far_why[] = "too far from the others";

static bool are_near(const struct inproc_file *a, const struct inproc_file *b)
{
	taddr lo, hi, from, to;

	return inproc_file_span(a, &lo, &hi) && inproc_file_span(b, &from, &to) &&
	       MAX(hi, to) - MIN(lo, from) < SPAN_MAX;
}

/* The file near which most windows are; NULL: there are none. */
static const struct inproc_file *files_find_middle(const struct inproc *p)
{
	const struct inproc_file *best = NULL;
	uint32_t most = 0;

	for (uint32_t i = 0; i < p->files.len; i++) {
		uint32_t n = 0;

		for (uint32_t k = 0; k < p->files.len; k++)
			if (are_near(p->files.data[i], p->files.data[k]))
				n += p->files.data[k]->plan.windows.len;
		if (n > most) {
			most = n;
			best = p->files.data[i];
		}
	}
	return best;
}

/* Refuses the sites of a file that no jump reaches; true: some had no lack yet. */
static bool file_refuse(const struct inproc_file *f, const struct inproc_choice *list, uint32_t n)
{
	bool has_changed = false;

	for (uint32_t k = 0; k < f->sites.len && f->is_far; k++) {
		const char **lack = inproc_lack_of(list, n, &f->sites.data[k]);

		if (!lack || *lack)
			continue;
		*lack = far_why;
		has_changed = true;
	}
	return has_changed;
}

void inproc_reach(struct inproc *p, const struct inproc_choice *list, uint32_t n)
{
	const struct inproc_file *middle = files_find_middle(p);

	for (uint32_t i = 0; i < p->files.len && middle; i++) {
		struct inproc_file *f = p->files.data[i];

		f->is_apart = !are_near(middle, f);
		f->is_far = f->is_apart && p->opts.has_children;
		(void)file_refuse(f, list, n);
	}
}

/* ---- mirrors --------------------------------------------------------------------------------- */

struct err *inproc_mirror(struct inproc *p, taddr lo, taddr hi, uint64_t *ret_shift)
{
	uint64_t until = now_ns() + REACH_NS;
	struct err *e = NULL;

	for (uint32_t i = 0; i < REACH_TRIED && now_ns() < until; i++) {
		err_destroy(e);
		e = patch_mirror(p->patch, lo, hi, p->opts.is_interrupted, ret_shift);
		if (!e)
			return NULL;
	}
	p->is_stuck |= e && now_ns() >= until;
	return e ? e : err_new("process %d has no time for a mirror", (int)p->opts.pid);
}

/* The switch of all files near a mirror, which is on whenever that of the region is; 0: none. */
static taddr switch_find(struct inproc *p, uint64_t shift)
{
	struct inproc_mirror m = {.shift = shift};

	for (uint32_t i = 0; i < p->mirrors.len; i++)
		if (p->mirrors.data[i].shift == shift)
			return p->mirrors.data[i].gate;
	if (!patch_gate_take(p->patch, shift, &m.gate))
		return 0;
	patch_gate_open(p->patch, m.gate, true);
	vec_push(&p->mirrors, m);
	return m.gate;
}

/* Whether the jumps of a file reach the region. */
static bool file_is_near(const struct inproc *p, const struct inproc_file *f)
{
	taddr code = patch_code_addr(p->patch), lo, hi;

	return inproc_file_span(f, &lo, &hi) &&
	       MAX(hi, code + patch_code_size(p->patch)) - MIN(lo, code) < PATCH_REACH;
}

bool inproc_file_reach(struct inproc *p, struct inproc_file *f)
{
	taddr lo, hi;
	struct err *e;

	f->shift = f->gate = 0;
	f->is_apart = !file_is_near(p, f);
	f->is_far = f->is_apart && p->opts.has_children;
	if (!f->is_apart || f->is_far || !inproc_file_span(f, &lo, &hi))
		return !f->is_far;
	e = inproc_mirror(p, lo, hi, &f->shift);
	if (e)
		inproc_debug(p, "code that is far away", e);
	f->gate = !e && f->shift ? switch_find(p, f->shift) : 0;
	f->is_far = e || (f->shift && !f->gate);
	err_destroy(e);
	return !f->is_far;
}

bool inproc_check_reach(struct inproc *p, const struct inproc_choice *list, uint32_t n)
{
	bool has_changed = false;

	for (uint32_t i = 0; i < p->files.len && p->patch; i++) {
		const struct inproc_file *f = p->files.data[i];

		has_changed |= file_refuse(f, list, n);
		for (uint32_t k = 0; k < n; k++)
			if (list[k].lacks)
				has_changed |= inproc_copies_refuse(f, list[k].unit, list[k].lacks);
	}
	return has_changed;
}

/* ---- files that come later ------------------------------------------------------------------- */

void inproc_file_fit(struct inproc *p, struct inproc_file *f, const char **lacks)
{
	const char *why = NULL;

	if (!inproc_file_reach(p, f))
		why = far_why;
	else if (f->plan.windows.len > patch_room(p->patch))
		why = "for which the process has no room left";
	if (!f->is_far) {
		inproc_copies_reach(p, f);
		(void)inproc_copies_refuse(f, f->sites.data[0].unit, lacks);
	}
	for (uint32_t i = 0; i < f->sites.len && why; i++)
		if (!lacks[f->sites.data[i].index])
			lacks[f->sites.data[i].index] = why;
}
