/* SPDX-License-Identifier: MIT */
/* Files that a process unmaps, and maps again: their windows are forgotten, and written anew. */
#include <inttypes.h>

#include "inproc/run.h"
#include "base/text.h"
#include "target/turn.h"

#define ONE_TRY_NS     1u
#define RETRY_NS       500000000ull
#define RETRY_LATER_NS 10000000000ull
#define STANDING_TRIED 8u /* a mapping comes and goes as a whole: so many windows say it of all */

/* The windows of a file that a unit has; they lie behind one another. */
struct stretch {
	struct loaded *l;
	uint32_t from, to;
};

static struct stretch stretch_find(struct loaded *l, const struct inproc_file *f)
{
	struct stretch s = {l, 0, l->states ? l->windows.len : 0};

	while (s.from < s.to && l->files.data[s.from] != f)
		s.from++;
	while (s.from < s.to && l->files.data[s.to - 1] != f)
		s.to--;
	return s;
}

/*
 * Whether the file is elsewhere than its windows were made for. A stop that fails may have kept
 * some units from being moved, and others not.
 */
static bool stretch_has_moved(const struct stretch *s, const struct inproc_file *f)
{
	return s->from < s->to && s->l->biases.data[s->from] != f->bias;
}

static bool stretch_stands(const struct inproc_run *r, const struct stretch *s)
{
	uint32_t step = MAX((s->to - s->from) / STANDING_TRIED, 1u);

	for (uint32_t i = s->from; i < s->to; i += step)
		if (s->l->states[i] == PATCH_IN &&
		    !patch_stands(r->p->patch, &s->l->windows.data[i]))
			return false;
	return true;
}

static bool stretch_is_written(const struct stretch *s)
{
	for (uint32_t i = s->from; i < s->to; i++)
		if (s->l->states[i] == PATCH_OUT)
			return false;
	return true;
}

/* Windows of which nothing stands are out: their memory was unmapped. */
static void stretch_forget(const struct inproc_run *r, const struct stretch *s)
{
	patch_forget(r->p->patch, &s->l->windows.data[s->from], s->to - s->from);
	for (uint32_t i = s->from; i < s->to; i++)
		if (s->l->states[i] == PATCH_IN &&
		    !patch_stands(r->p->patch, &s->l->windows.data[i]))
			s->l->states[i] = PATCH_OUT;
}

static int by_addr(const void *pa, const void *pb)
{
	const taddr *a = pa, *b = pb;

	return (*a > *b) - (*a < *b);
}

/* The addresses of moved windows at first instructions, in place of the old ones. */
static void firsts_move(const struct stretch *s, const struct loaded *moved)
{
	uint32_t n = 0, nold = s->to - s->from;
	CLEANUP(free) taddr *old = xcalloc(MAX(nold, 1u), sizeof(*old));
	struct loaded *l = s->l;

	for (uint32_t i = 0; i < nold; i++)
		old[i] = l->windows.data[s->from + i].addr;
	qsort(old, nold, sizeof(*old), by_addr);
	for (uint32_t i = 0; i < l->firsts.len; i++)
		if (!bsearch(&l->firsts.data[i], old, nold, sizeof(*old), by_addr))
			l->firsts.data[n++] = l->firsts.data[i];
	l->firsts.len = n;
	for (uint32_t i = 0; i < moved->firsts.len; i++)
		vec_push(&l->firsts, moved->firsts.data[i]);
}

/*
 * Makes the stubs anew, for where the file is now. The old ones stay as they are: a thread may be
 * in one of them.
 */
static struct err *stretch_move(struct inproc_run *r, const struct inproc_file *f,
				const struct stretch *s)
{
	struct inproc_stubs stubs = {.base = inproc_place_next(r->p) + f->shift};
	struct loaded moved = {.unit = s->l->unit};
	struct err *e = NULL;
	uint64_t at;

	for (uint32_t k = 0; k < f->plan.windows.len && !e; k++)
		e = inproc_window_add(r->p, f, &f->plan.windows.data[k], &moved, &stubs);
	if (!e)
		e = inproc_place(r->p, stubs.code.data, stubs.code.len, &at);
	if (!e) {
		assert(moved.windows.len == s->to - s->from);
		firsts_move(s, &moved);
		memcpy(&s->l->windows.data[s->from], moved.windows.data,
		       moved.windows.len * sizeof(*moved.windows.data));
		memcpy(&s->l->biases.data[s->from], moved.biases.data,
		       moved.biases.len * sizeof(*moved.biases.data));
	}
	strbuf_deinit(&stubs.code);
	vec_deinit(&moved.firsts);
	vec_deinit(&moved.returns); /* their indices in the unit are what they were */
	vec_deinit(&moved.tails);
	vec_deinit(&moved.windows);
	vec_deinit(&moved.files);
	vec_deinit(&moved.biases);
	return e;
}

static void stretch_tell(const struct inproc_run *r, const struct inproc_file *f,
			 const struct stretch *s, const struct attach_opts *opts)
{
	struct strbuf text = {0};
	uint32_t n = 0;

	for (uint32_t i = s->from; i < s->to; i++)
		n += s->l->states[i] != PATCH_IN && s->l->states[i] != PATCH_HELD;
	strbuf_addf(&text,
		    "%" PRIu32 " place%s of '%s' %s left out: process %d has mapped it anew, and "
		    "cannot be written there",
		    n, PLURAL(n), f->name, WORD_FOR(n, "is", "are"), (int)r->p->opts.pid);
	r->p->nleft_out += n;
	if (n && opts->notice)
		opts->notice(opts->notice_ctx, strbuf_text(&text));
	strbuf_deinit(&text);
}

/* The slots of relays are the process's own since their first uprobe: they lead where they did. */
static bool file_has_slots(const struct inproc_file *f)
{
	for (uint32_t i = 0; i < f->sites.len; i++)
		if (f->sites.data[i].slot)
			return true;
	return false;
}

/* The windows of a file cannot follow it: they are left out from now on. */
static void stretch_leave(const struct inproc_run *r, const struct inproc_file *f,
			  const struct stretch *s, const struct attach_opts *opts)
{
	stretch_forget(r, s);
	stretch_tell(r, f, s, opts);
}

/* The file is where the process has it now: with its windows, or, with why, without. */
static struct err *stretch_follow(struct inproc_run *r, const struct inproc_file *f,
				  const struct stretch *s, const char *why, bool has_moved,
				  const struct attach_opts *opts)
{
	struct err *e = NULL;

	if (s->from == s->to ||
	    (!why && !has_moved && stretch_is_written(s) && stretch_stands(r, s)))
		return NULL;
	stretch_forget(r, s);
	if (why)
		return NULL;
	if (has_moved)
		e = stretch_move(r, f, s);
	if (e)
		return err_wrap(e, "'%s' was mapped anew", f->name);
	r->p->has_late_windows = true;
	e = patch_write(r->p->patch, &s->l->windows.data[s->from], s->to - s->from,
			opts->is_interrupted, &s->l->states[s->from]);
	s->l->ntries = 0;
	if (e)
		inproc_put_off(r->p, s->to - s->from, e);
	else
		stretch_tell(r, f, s, opts);
	return NULL;
}

/*
 * Says once that code of the file is mapped writable or shared. Uprobes are no way out: the kernel
 * places none in such mappings.
 */
static void odd_tell(struct inproc *p, struct inproc_file *f, const struct attach_opts *opts)
{
	struct strbuf text = {0};

	if (!f->is_odd || f->is_odd_told)
		return;
	f->is_odd_told = true;
	strbuf_addf(&text,
		    "process %d has mapped code of '%s' writable or shared: probes fire there only "
		    "as long as jumps that were written before stand",
		    (int)p->opts.pid, f->name);
	if (opts->notice)
		opts->notice(opts->notice_ctx, strbuf_text(&text));
	strbuf_deinit(&text);
}

static struct err *files_follow(struct inproc_run *r, const struct attach_opts *opts)
{
	struct inproc *p = r->p;
	struct err *e = inproc_is_entered(p) ? inproc_maps_renew(p) : NULL;

	for (uint32_t i = 0; i < p->files.len && inproc_is_entered(p) && !e && !p->is_stuck; i++) {
		struct inproc_file *f = p->files.data[i];
		uint64_t was = f->bias;
		const char *why;
		bool is_lost = false, is_near = true;

		if (f->lack || f->is_far || !f->plan.windows.len)
			continue;
		why = inproc_file_place(p, f);
		odd_tell(p, f, opts);
		if (!why && f->bias != was)
			is_near = inproc_file_reach(p, f);
		inproc_copies_reach(p, f);
		f->nunserved = 0;
		f->unserved_unit = NULL;
		for (struct loaded *l = r->units; l && !p->is_stuck; l = l->next) {
			const struct stretch s = stretch_find(l, f);
			bool has_moved = !why && stretch_has_moved(&s, f);
			bool may = !has_moved || (is_near && !file_has_slots(f));
			struct err *lost = NULL;

			if (may || why)
				lost = stretch_follow(r, f, &s, why, has_moved, opts);
			if (!lost && l->states)
				lost = inproc_copies_follow(p, f, l->unit, true, opts);
			if (!lost && (may || why))
				continue;
			if (lost)
				inproc_debug(p, "windows do not follow their file", lost);
			err_destroy(lost);
			stretch_leave(r, f, &s, opts);
			is_lost = true;
		}
		f->is_far |= is_lost;
		if (why)
			f->bias = was; /* next time it has moved, too */
	}
	return e;
}

void inproc_put_off(struct inproc *p, uint32_t nwindows, struct err *e)
{
	p->is_stuck = true;
	p->nstuck += nwindows;
	inproc_debug(p, "code that was mapped", e);
	err_destroy(e);
}

static void stuck_tell(struct inproc *p, const struct attach_opts *opts)
{
	struct strbuf text = {0};

	p->is_stuck_told = true;
	p->nleft_out += p->nstuck;
	strbuf_addf(&text,
		    "at least %" PRIu32 " place%s in code that process %d has mapped %s left out: "
		    "its threads cannot be stopped now; this is tried again",
		    p->nstuck, PLURAL(p->nstuck), (int)p->opts.pid,
		    WORD_FOR(p->nstuck, "is", "are"));
	if (opts->notice)
		opts->notice(opts->notice_ctx, strbuf_text(&text));
	strbuf_deinit(&text);
}

/*
 * While another tracer changes the code, nothing is written: it is done at a later poll. Threads
 * that do not stop are tried again, too. Each try holds up the others for half a second, in which
 * nobody reads what probes have recorded: so there is one at a time, for a small part of the time.
 */
struct err *inproc_follow_maps(struct engine_run *er, const struct attach_opts *opts)
{
	struct inproc_run *r = inproc_run_of(er);
	struct inproc *p = r->p;
	uint64_t begin = now_ns(), now;
	struct err *e;
	struct turn turn;

	r->has_no_turn = !turn_try(p->opts.pid, false, 0, &turn);
	if (r->has_no_turn)
		return NULL;
	p->is_behind = p->is_stuck = false;
	p->nstuck = 0;
	if (p->patch)
		patch_set_busy(p->patch, ONE_TRY_NS);
	e = files_follow(r, opts);
	if (p->patch)
		patch_set_busy(p->patch, 0);
	turn_end(&turn);
	now = now_ns();
	p->is_behind |= p->is_stuck;
	if (p->is_behind && !p->behind_since)
		p->behind_since = begin;
	if (p->is_stuck && inproc_is_late(p) && !p->is_stuck_told)
		stuck_tell(p, opts);
	r->look_at = now + INPROC_LOOK_NS;
	r->retry_at = now + MAX(INPROC_MAPS_PART * (now - begin),
				inproc_is_late(p) ? RETRY_LATER_NS : RETRY_NS);
	if (!p->is_behind) {
		p->behind_since = 0;
		p->is_stuck_told = false;
	}
	return e;
}
