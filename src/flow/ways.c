/* SPDX-License-Identifier: MIT */
/*
 * Windows at all ways to a return that has no room itself.
 *
 * A return of one byte to which jumps lead, and behind which other code begins, cannot be
 * overwritten. But control comes to it from a few places only, and there the body can run:
 *
 *         cmpq $0, (%rsi)
 *         mov $1, %eax       <- window: body and a copy of the return are in its stub
 *         je 2f
 *     1:  ret                <- stays as it is
 *     2:  test %al, %al
 *         jne 1b             <- window: body, if it jumps
 *         ...
 *         jl 1b              <- 6 bytes: the distance is changed, as that of a call
 *
 * Each jump that leads to the return is one way, and the instruction before it another, if control
 * goes on behind that. The return must be entered by nothing else: by no table, pointer or symbol
 * (flow_area.odd), and it must be in a function whose jumps are all known. Either all ways of a
 * return get the body, or none: half of its firings would be a lie. As the return stays, a way that
 * was not seen could at most cost a firing, and no program its life.
 *
 * A return without room may have a few instructions before it to which the jumps lead:
 *
 *         cmp $5, %r15b
 *         je 2f          <- window: if it jumps, its stub goes on with a copy of what is at 2,
 *         ...               in which the body is before the return
 *     2:  mov %r9, %rax  <- both stay as they are
 *         ret
 *     3:  ...
 *
 * They are the tail of the windows at these jumps (struct flow_tail), and the return is probed at
 * all ways to the first of them.
 *
 * An exit that is itself a jump with a distance of 4 bytes needs none of that: its own distance is
 * changed.
 */
#include "base/sorted.h"
#include "flow/planning.h"

#define WAYS_MAX 64 /* jumps to one return */

struct way {
	uint64_t to, from; /* where control comes to a return, and a jump that leads there */
};

struct undo {
	uint32_t window;
	bool is_new;
	struct flow_window old;
};

struct finding {
	struct planning *p;
	uint32_t nsorted;    /* the first windows of the plan are sorted; these were there before */
	VEC(uint64_t) exits; /* where control comes to returns without windows, ascending */
	VEC(struct way) ways;
	VEC(struct undo) undo; /* what the present return has changed */
};

/* ---- finding ways ---------------------------------------------------------------------------- */

static int address_compare(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return (*a > *b) - (*a < *b);
}

static int way_compare(const void *pa, const void *pb)
{
	const struct way *a = pa, *b = pb;

	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return (a->from > b->from) - (a->from < b->from);
}

/*
 * Finds the instructions up to a return from the place to which jumps lead: the return itself, or
 * plain ones that are too short for a jump.
 */
static void tail_find(const struct flow *f, const struct flow_area *a, uint64_t addr,
		      struct flow_tail *ret)
{
	struct flow_range bounds = flow_around(f, a, addr);
	uint64_t end = addr + insn_size(a->map[addr - a->addr]), at = addr;

	for (uint32_t n = 1; !is_marked(a, at) && n < FLOW_TAIL_INSNS; n++) {
		uint64_t before = insn_before(f, &bounds, at);
		enum flow_insn kind = before ? insn_kind(a->map[before - a->addr]) : CODE_BAD;

		if ((kind != CODE_PLAIN && kind != CODE_NOP) || end - before > FLOW_TAIL_MAX)
			break;
		at = before;
	}
	at = is_marked(a, at) ? at : addr;
	*ret = (struct flow_tail){.addr = at, .len = (uint8_t)(end - at)};
	memcpy(ret->old, a->code + (at - a->addr), ret->len);
	for (; at < end; at += insn_size(a->map[at - a->addr]))
		ret->ins[ret->nins++] = (uint8_t)(at - ret->addr);
}

/* Whether all ways to a return can be known; *ret: what they lead to. */
static bool exit_is_closed(const struct planning *p, const struct flow_area *a, uint64_t addr,
			   struct flow_tail *ret)
{
	const struct flow *f = p->f;
	const struct flow_func *fn = func_in(f->funcs.data, f->funcs.len, addr);
	const struct flow_bar *bar;

	if (!fn || (fn->flags & FUNC_LOST) || insn_kind(a->map[addr - a->addr]) != CODE_RET)
		return false;
	/* Prefixes can make a return longer than a tail. */
	if (insn_size(a->map[addr - a->addr]) > FLOW_TAIL_MAX)
		return false;
	tail_find(f, a, addr, ret);
	bar = bar_from(f, ret->addr);
	return !is_odd(a, ret->addr) && !(bar && bar->start <= addr) &&
	       (ret->nins == 1 ||
		(range_is_free(p, ret->addr, ret->len) && !has_nop(p, ret->addr, ret->len)));
}

static bool site_is_left(const struct planning *p, uint32_t site)
{
	return p->plan->lacks[site] != FLOW_FITS && p->sites[site].kind == FLOW_EXIT;
}

static void exits_list(struct finding *fi, uint32_t n)
{
	const struct planning *p = fi->p;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t addr = p->sites[i].addr;
		const struct flow_area *a = site_is_left(p, i) ? area_at(p->f, addr) : NULL;
		struct flow_tail tail;

		if (a && exit_is_closed(p, a, addr, &tail))
			vec_push(&fi->exits, tail.addr);
	}
	if (fi->exits.len)
		qsort(fi->exits.data, fi->exits.len, sizeof(uint64_t), address_compare);
}

static bool exit_is_listed(const struct finding *fi, uint64_t addr)
{
	return addr >= fi->exits.data[0] && addr <= *vec_last(&fi->exits) &&
	       bsearch(&addr, fi->exits.data, fi->exits.len, sizeof(uint64_t), address_compare);
}

/* Finds the jumps to the returns that are left, in all code. */
static void ways_find(struct finding *fi)
{
	const struct flow *f = fi->p->f;

	for (uint32_t i = 0; i < f->areas.len; i++) {
		const struct flow_area *a = &f->areas.data[i];

		for (uint64_t k = 0; k < a->size; k += MAX(insn_size(a->map[k]), 1u)) {
			enum flow_insn kind = insn_kind(a->map[k]);
			uint64_t from = a->addr + k, to;

			if (kind != CODE_JMP && kind != CODE_JCC)
				continue;
			to = jump_target(a->code + k, from, insn_size(a->map[k]));
			if (exit_is_listed(fi, to))
				vec_push(&fi->ways, (struct way){to, from});
		}
	}
	if (fi->ways.len)
		qsort(fi->ways.data, fi->ways.len, sizeof(*fi->ways.data), way_compare);
}

/* Returns the first way to an address, or behind all of them. */
static uint32_t way_first(const struct finding *fi, uint64_t to)
{
	return sorted_below(fi->ways.data, fi->ways.len, to, to);
}

enum before { BEFORE_ENDS, BEFORE_GOES_ON, BEFORE_UNKNOWN };

/* Whether control comes to an address from what stands before it, perhaps over padding. */
static enum before before_find(const struct flow *f, const struct flow_area *a,
			       const struct flow_range *bounds, uint64_t addr)
{
	for (uint64_t at = insn_before(f, bounds, addr); at; at = insn_before(f, bounds, at)) {
		enum flow_insn kind = insn_kind(a->map[at - a->addr]);

		if (ends_flow(kind))
			return BEFORE_ENDS;
		if ((kind != CODE_NOP && kind != CODE_INT3) || is_marked(a, at))
			return BEFORE_GOES_ON;
	}
	return BEFORE_UNKNOWN;
}

/* ---- all or nothing -------------------------------------------------------------------------- */

static void window_note(struct finding *fi, uint32_t window)
{
	vec_push(&fi->undo,
		 (struct undo){.window = window, .old = fi->p->plan->windows.data[window]});
}

static void range_give(const struct planning *p, uint64_t addr, uint32_t size)
{
	const struct flow_area *a = area_at(p->f, addr);
	uint64_t *bits = a ? p->taken[a - p->f->areas.data].bits : NULL;

	for (uint64_t i = a ? addr - a->addr : 0, end = i + size; a && i < end; i++)
		bits[i / 64] &= ~((uint64_t)1 << (i % 64));
}

static void changes_undo(struct finding *fi)
{
	struct planning *p = fi->p;

	while (fi->undo.len) {
		const struct undo *u = &fi->undo.data[--fi->undo.len];
		struct flow_window *w = &p->plan->windows.data[u->window];
		uint32_t old = u->is_new ? 0 : window_size(&u->old);

		range_give(p, w->addr + old, window_size(w) - old);
		if (u->is_new && w->pad)
			range_give(p, w->pad, FLOW_JUMP);
		if (u->is_new)
			p->plan->windows.len--; /* it is the last one */
		else
			*w = u->old;
	}
}

/* Notes that a window has been added, if it was. */
static bool window_is_added(struct finding *fi, enum flow_lack lack)
{
	if (lack != FLOW_FITS)
		return false;
	vec_push(&fi->undo, (struct undo){.window = fi->p->plan->windows.len - 1, .is_new = true});
	return true;
}

/* ---- placing --------------------------------------------------------------------------------- */

/* Returns the number of the last window that begins at or before an address; UINT32_MAX: none. */
static uint32_t window_find(const struct finding *fi, uint64_t addr)
{
	const struct flow_window *w = fi->p->plan->windows.data;
	uint32_t lo = sorted_upto(w, fi->nsorted, addr, addr), best;

	best = lo ? lo - 1 : UINT32_MAX;
	for (uint32_t i = fi->nsorted; i < fi->p->plan->windows.len; i++)
		if (w[i].addr <= addr && (best == UINT32_MAX || w[i].addr > w[best].addr))
			best = i;
	return best;
}

static bool way_join(struct finding *fi, const struct spot *s, uint32_t site)
{
	uint32_t i = window_find(fi, s->at);
	struct flow_window *w;

	if (i == UINT32_MAX)
		return false;
	w = &fi->p->plan->windows.data[i];
	if (w->addr < s->bounds.start || w->addr >= s->bounds.end)
		return false;
	window_note(fi, i);
	if (window_join(fi->p, w, s, site))
		return true;
	fi->undo.len--;
	return false;
}

/* Gives the body to a jump that leads to the return, or to the instructions before it. */
static bool jump_place(struct finding *fi, uint64_t from, const struct flow_tail *tail,
		       uint32_t site)
{
	const struct planning *p = fi->p;
	const struct flow_area *a = area_at(p->f, from);
	struct spot s = {.at = from, .goes_back = true, .tail = tail->nins > 1 ? tail : NULL};
	struct flow_window w;

	if (!a || !func_in(p->f->funcs.data, p->f->funcs.len, from))
		return false; /* it may be data */
	s.bounds = flow_around(p->f, a, from);
	s.prologue.has_red_zone = true;
	return way_join(fi, &s, site) ||
	       (target_try(p->f, from, &w) == FLOW_FITS &&
		window_is_added(fi, window_put(p, &w, &s, site))) ||
	       window_is_added(fi, starts_try(p, &s, FLOW_JUMP, site)) ||
	       window_is_added(fi, starts_try(p, &s, FLOW_JUMP_SHORT, site));
}

/* Gives the body to the instructions before the return, and a copy of that. */
static bool before_place(struct finding *fi, const struct spot *s, uint32_t site)
{
	return way_join(fi, s, site) ||
	       window_is_added(fi, starts_try(fi->p, s, FLOW_JUMP, site)) ||
	       window_is_added(fi, starts_try(fi->p, s, FLOW_JUMP_SHORT, site));
}

static bool exit_place(struct finding *fi, uint32_t site)
{
	const struct planning *p = fi->p;
	uint64_t addr = p->sites[site].addr;
	const struct flow_area *a = area_at(p->f, addr);
	uint32_t first, n = 0;
	struct spot s = {.at = addr, .goes_back = true, .is_copied = true};
	struct flow_tail tail;
	enum before before;

	if (!a || !exit_is_closed(p, a, addr, &tail))
		return false;
	first = way_first(fi, tail.addr);
	while (first + n < fi->ways.len && fi->ways.data[first + n].to == tail.addr)
		n++;
	s.entered = tail.addr;
	s.bounds = flow_around(p->f, a, addr);
	before = before_find(p->f, a, &s.bounds, tail.addr);
	if (n > WAYS_MAX || before == BEFORE_UNKNOWN || (!n && before == BEFORE_ENDS))
		return false;
	if (before == BEFORE_GOES_ON && !before_place(fi, &s, site))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!jump_place(fi, fi->ways.data[first + i].from, &tail, site))
			return false;
	return true;
}

/* An exit that is a jump, which says in 4 bytes where it leads. */
static bool tail_place(const struct planning *p, uint32_t site)
{
	uint64_t addr = p->sites[site].addr;
	struct spot s = {.at = addr, .goes_back = true};
	struct flow_window w;

	s.prologue.has_red_zone = true;
	return insn_kind(insn_at(p->f, addr)) == CODE_JMP &&
	       target_try(p->f, addr, &w) == FLOW_FITS && w.target == FLOW_TARGET_CODE &&
	       window_put(p, &w, &s, site) == FLOW_FITS;
}

void ways_place(struct planning *p, uint32_t n)
{
	struct finding fi = {.p = p, .nsorted = p->plan->windows.len};

	exits_list(&fi, n);
	if (fi.exits.len)
		ways_find(&fi);
	for (uint32_t i = 0; i < n; i++) {
		if (!site_is_left(p, i))
			continue;
		fi.undo.len = 0;
		if (exit_place(&fi, i) || tail_place(p, i))
			p->plan->lacks[i] = FLOW_FITS;
		else
			changes_undo(&fi);
	}
	vec_deinit(&fi.exits);
	vec_deinit(&fi.ways);
	vec_deinit(&fi.undo);
}
