/* SPDX-License-Identifier: MIT */
/*
 * Chooses windows for a set of sites.
 *
 * Sites are taken in the order of addresses, so that only the last window can be in the way of the
 * next: a site whose instruction that window moves anyway gets a body there, and one shortly behind
 * makes it longer. Jumps of 5 bytes come first, for all sites. What is left gets short jumps to
 * padding that is still free. Last, returns that have no room get windows at all ways to them
 * (ways.c).
 *
 * First instructions. Other tools put breakpoints on the first instruction of a function. The
 * kernel executes the file's instruction then, goes on behind it, or where it jumps to, and writes
 * its first byte back when the breakpoint goes. So a window begins behind it, with two exceptions:
 * a return of one byte, as in empty functions, and a jump with the same first byte as ours, as in
 * functions that are nothing but a call of another one. Nothing is destroyed there, but the stub is
 * not reached while the breakpoint is there, and behind a return that was written back not
 * afterwards either (flow_window.is_first_jump, is_first_return).
 */
#include "flow/planning.h"

/* ---- bytes in use --------------------------------------------------------------------------- */

bool range_is_free(const struct planning *p, uint64_t addr, uint32_t size)
{
	const struct flow_area *a = area_at(p->f, addr);
	const uint64_t *bits;

	if (!a || size > a->size - (addr - a->addr))
		return false;
	bits = p->taken[a - p->f->areas.data].bits;
	for (uint64_t i = addr - a->addr, end = i + size; i < end; i++)
		if (bits[i / 64] >> (i % 64) & 1)
			return false;
	return true;
}

static bool range_take(const struct planning *p, uint64_t addr, uint32_t size)
{
	const struct flow_area *a = area_at(p->f, addr);
	uint64_t *bits;

	if (!a || size > a->size - (addr - a->addr))
		return false;
	bits = p->taken[a - p->f->areas.data].bits;
	for (uint64_t i = addr - a->addr, end = i + size; i < end; i++)
		bits[i / 64] |= (uint64_t)1 << (i % 64);
	return true;
}

/* Returns the first nop of a program's own probe at an address or behind it; UINT64_MAX: none. */
static uint64_t nop_from(const struct planning *p, uint64_t addr)
{
	uint32_t lo = 0, hi = p->opts->nnops;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (p->opts->nops[mid] < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < p->opts->nnops ? p->opts->nops[lo] : UINT64_MAX;
}

bool has_nop(const struct planning *p, uint64_t addr, uint32_t size)
{
	return nop_from(p, addr) - addr < size;
}

uint32_t window_size(const struct flow_window *w)
{
	return MAX(w->len, w->jump);
}

bool window_take(const struct planning *p, const struct flow_window *w)
{
	return range_take(p, w->addr, window_size(w)) &&
	       (w->jump == FLOW_JUMP || range_take(p, w->pad, FLOW_JUMP));
}

/* Whether all of a jump is written at once, and never in part. */
static bool is_on_page(uint64_t addr, uint32_t size)
{
	return addr / FLOW_PAGE == (addr + size - 1) / FLOW_PAGE;
}

/* Finds free padding that a short jump at addr reaches; 0: there is none. */
static uint64_t pad_find(const struct planning *p, uint64_t addr)
{
	uint64_t from = addr + FLOW_JUMP_SHORT - MIN(addr + FLOW_JUMP_SHORT, 128u);
	uint64_t to = addr + FLOW_JUMP_SHORT + 127;
	uint32_t lo = 0, hi = p->f->runs.len;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct flow_run *r = &p->f->runs.data[mid];

		if (r->addr + r->size < from + FLOW_JUMP)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < p->f->runs.len && p->f->runs.data[lo].addr <= to; lo++) {
		const struct flow_run *r = &p->f->runs.data[lo];
		uint64_t last = MIN(to, r->addr + r->size - FLOW_JUMP);

		for (uint64_t at = MAX(from, r->addr); at <= last; at++)
			if (is_on_page(at, FLOW_JUMP) && range_is_free(p, at, FLOW_JUMP) &&
			    !has_nop(p, at, FLOW_JUMP))
				return at;
	}
	return 0;
}

/* ---- bodies --------------------------------------------------------------------------------- */

bool body_add(struct flow_window *w, const struct spot *s, uint32_t site)
{
	uint32_t at = w->nbodies, off = (uint32_t)(s->at - w->addr);

	if (w->nbodies == FLOW_BODIES_MAX ||
	    (s->tail && w->tail.len && w->tail.addr != s->tail->addr))
		return false;
	if (s->tail)
		w->tail = *s->tail;
	for (; at && w->bodies[at - 1].off > off; at--)
		w->bodies[at] = w->bodies[at - 1];
	w->bodies[at] =
		(struct flow_body){.off = (uint8_t)off, .has_tail = s->tail != NULL, .site = site};
	w->nbodies++;
	if (s->is_entry) {
		w->pushed = s->prologue.pushed;
		w->changed_args = s->prologue.changed_args;
	}
	w->has_red_zone |= s->prologue.has_red_zone;
	w->has_flags |= window_has_flags(w, off);
	return true;
}

bool window_join(const struct planning *p, struct flow_window *w, const struct spot *s,
		 uint32_t site)
{
	struct flow_window longer;
	bool is_extended;

	if (!w || s->at < w->addr || w->nbodies == FLOW_BODIES_MAX ||
	    (w->target && !s->goes_back) ||
	    (s->tail && w->tail.len && w->tail.addr != s->tail->addr))
		return false;
	if (s->at < w->addr + w->len) {
		for (uint32_t i = 0; i < w->nins; i++)
			if (w->addr + w->ins[i] == s->at)
				return body_add(w, s, site);
		return false;
	}
	longer = *w;
	is_extended = s->is_copied
			      ? window_extend_copy(p->f, &s->bounds, &longer, s->entered, s->at)
			      : window_extend(p->f, &s->bounds, &longer, s->at);
	if (!is_extended || has_nop(p, w->addr, window_size(&longer)) ||
	    !range_is_free(p, w->addr + window_size(w), window_size(&longer) - window_size(w)))
		return false;
	*w = longer;
	(void)window_take(p, w);
	return body_add(w, s, site);
}

/* Joins the last window of this round. */
static bool window_join_last(const struct planning *p, const struct spot *s, uint32_t site)
{
	struct flow_window *w =
		p->plan->windows.len > p->first ? vec_last(&p->plan->windows) : NULL;

	return window_join(p, w, s, site);
}

/* ---- windows -------------------------------------------------------------------------------- */

enum flow_lack window_put(const struct planning *p, struct flow_window *w, const struct spot *s,
			  uint32_t site)
{
	if (!is_on_page(w->target ? w->addr + w->len - FLOW_JUMP : w->addr, w->jump))
		return FLOW_PAGES;
	if (has_nop(p, w->addr, window_size(w)))
		return FLOW_OTHER_NOP;
	if (!range_is_free(p, w->addr, window_size(w)))
		return FLOW_OVERLAPS;
	if (w->jump == FLOW_JUMP_SHORT) {
		const uint8_t *old;

		w->pad = pad_find(p, w->addr);
		if (!w->pad)
			return FLOW_NO_PAD;
		old = flow_code(p->f, w->pad, FLOW_JUMP);
		memcpy(w->old_pad, old, FLOW_JUMP);
	}
	(void)window_take(p, w);
	(void)body_add(w, s, site);
	vec_push(&p->plan->windows, *w);
	return FLOW_FITS;
}

#define JUMP_REL32 0xe9 /* Intel SDM vol. 2A, JMP */

static bool is_our_jump(const struct flow_area *a, uint64_t addr)
{
	uint8_t entry = a->map[addr - a->addr];

	return (insn_kind(entry) == CODE_JMP || insn_kind(entry) == CODE_JMP_TO) &&
	       insn_size(entry) == FLOW_JUMP && a->code[addr - a->addr] == JUMP_REL32;
}

static bool is_lone_return(const struct flow_area *a, uint64_t addr)
{
	uint8_t entry = a->map[addr - a->addr];

	return insn_kind(entry) == CODE_RET && insn_size(entry) == 1;
}

/* Whether a window of an exit is at a first instruction where it could not stay. */
static bool is_at_first(const struct planning *p, const struct spot *s, const struct flow_window *w)
{
	return w->addr == s->bounds.start && s->goes_back && !p->opts->at_entry &&
	       !w->is_first_jump && !w->is_first_return;
}

/*
 * Tries the starts from the site back to where its block begins: the latest one that has room.
 * Returns what the first one lacks, or where they all would do but for padding, that.
 */
enum flow_lack starts_try(const struct planning *p, const struct spot *s, uint32_t jump,
			  uint32_t site)
{
	const struct flow_area *a = area_at(p->f, s->at);
	enum flow_lack first = FLOW_NLACKS;

	for (uint64_t start = s->at; a;) {
		struct flow_window w;
		enum flow_lack lack =
			s->is_copied ? window_try_copy(p->f, &s->bounds, start, jump, s->entered,
						       s->at, &w)
				     : window_try(p->f, &s->bounds, start, jump, s->at, &w);

		w.is_first_jump =
			lack == FLOW_FITS && start == s->bounds.start && is_our_jump(a, start);
		if (w.is_first_jump && jump != FLOW_JUMP)
			lack = FLOW_PAGES; /* its first byte would not be the file's */
		w.is_first_return =
			lack == FLOW_FITS && start == s->bounds.start && is_lone_return(a, start);
		if (lack == FLOW_FITS)
			lack = is_at_first(p, s, &w) ? FLOW_FIRST : window_put(p, &w, s, site);
		if (lack == FLOW_FITS)
			return FLOW_FITS;
		if (first == FLOW_NLACKS || (first == FLOW_SHORT && lack == FLOW_FIRST))
			first = lack;
		if (lack == FLOW_NO_PAD)
			return lack;
		if (lack == FLOW_NO_CODE || !s->goes_back ||
		    (is_marked(a, start) && !(s->is_copied && start == s->entered)))
			break;
		start = insn_before(p->f, &s->bounds, start);
		if (!start || s->at - start >= FLOW_WINDOW_MAX)
			break;
	}
	return first;
}

/*
 * Finds the place behind the nop of a program's own probe: behind its neighbours, too, which may be
 * in no window. Control must come there from the nop alone.
 */
static enum flow_lack nop_leave(const struct planning *p, const struct flow_area *a, struct spot *s)
{
	s->prologue.has_red_zone = true;
	do {
		uint8_t entry = a->map[s->at - a->addr];

		if (insn_kind(entry) != CODE_NOP)
			return entry ? FLOW_NO_NOP : FLOW_NO_CODE;
		s->at += insn_size(entry);
		if (s->at >= s->bounds.end)
			return FLOW_SHORT;
		if (is_marked(a, s->at))
			return FLOW_JOINS;
	} while (nop_from(p, s->at) == s->at);
	return FLOW_FITS;
}

static enum flow_lack spot_find(const struct planning *p, const struct flow_site *site,
				bool at_entry, struct spot *ret)
{
	const struct flow_area *a = area_at(p->f, site->addr);

	*ret = (struct spot){.at = site->addr,
			     .is_entry = site->kind == FLOW_ENTRY,
			     .goes_back = site->kind != FLOW_ENTRY && site->kind != FLOW_NOP};
	if (!a || !a->map[site->addr - a->addr])
		return FLOW_NO_CODE;
	ret->bounds = flow_around(p->f, a, site->addr);
	if (site->kind == FLOW_NOP)
		return nop_leave(p, a, ret);
	if (ret->goes_back) {
		ret->prologue.has_red_zone = insn_kind(a->map[site->addr - a->addr]) != CODE_RET;
		return FLOW_FITS;
	}
	if (at_entry) { /* the landing of an indirect call is no instruction to jump over */
		if (insn_kind(a->map[site->addr - a->addr]) == CODE_ENDBR)
			ret->at += insn_size(a->map[site->addr - a->addr]);
		return FLOW_FITS;
	} else {
		enum flow_lack lack = prologue_read(p->f, &ret->bounds, site->addr, &ret->prologue);

		ret->at = ret->prologue.behind;
		return lack == FLOW_JUMPS && (is_our_jump(a, ret->at) || is_lone_return(a, ret->at))
			       ? FLOW_FITS
			       : lack;
	}
}

/*
 * Changes where a call leads, or a jump. The call may be in the window of another site already; a
 * jump that has no room for a distance of 4 bytes gets a window as any other instruction.
 */
static enum flow_lack call_try(const struct planning *p, uint32_t site)
{
	struct spot s = {.at = p->sites[site].addr, .goes_back = true};
	struct flow_window w;
	enum flow_lack lack = target_try(p->f, s.at, &w);

	/* no caller keeps anything below the stack pointer when it calls */
	s.prologue.has_red_zone = !w.pushed;
	if (window_join_last(p, &s, site))
		return FLOW_FITS;
	return lack == FLOW_FITS ? window_put(p, &w, &s, site) : lack;
}

/* Tries one way: behind the first instruction of a function, or at it. */
static enum flow_lack way_try(const struct planning *p, uint32_t site, uint32_t jump, bool at_entry)
{
	struct spot s;
	enum flow_lack lack = spot_find(p, &p->sites[site], at_entry, &s);

	if (lack != FLOW_FITS)
		return lack;
	return window_join_last(p, &s, site) ? FLOW_FITS : starts_try(p, &s, jump, site);
}

static enum flow_lack site_try(const struct planning *p, uint32_t site, uint32_t jump)
{
	enum flow_lack lack;

	if (p->sites[site].kind == FLOW_TARGET && jump == FLOW_JUMP) {
		lack = call_try(p, site);
		if (lack != FLOW_SHORT)
			return lack;
	}
	lack = way_try(p, site, jump, false);
	if (lack != FLOW_FITS && p->opts->at_entry && p->sites[site].kind == FLOW_ENTRY &&
	    way_try(p, site, jump, true) == FLOW_FITS)
		return FLOW_FITS;
	return lack;
}

/* ---- plans ---------------------------------------------------------------------------------- */

struct order {
	uint64_t addr;
	/*
	 * 0: FLOW_TARGET, because what only changes a call comes first, and others join it. 1: a
	 * function's entry, whose body runs before that of an exit at the same instruction.
	 */
	uint32_t rank;
	uint32_t site;
};

static uint32_t rank_of(enum flow_kind kind)
{
	return kind == FLOW_TARGET ? 0 : kind == FLOW_ENTRY ? 1 : 2;
}

static int order_compare(const void *pa, const void *pb)
{
	const struct order *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return (a->site > b->site) - (a->site < b->site);
}

static int window_compare(const void *pa, const void *pb)
{
	const struct flow_window *a = pa, *b = pb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static void windows_sort(const struct planning *p)
{
	if (p->plan->windows.len)
		qsort(p->plan->windows.data, p->plan->windows.len, sizeof(*p->plan->windows.data),
		      window_compare);
}

static void sites_place(struct planning *p, uint32_t n)
{
	struct order *order = xmalloc(MAX(n, 1u) * sizeof(*order));

	for (uint32_t i = 0; i < n; i++)
		order[i] = (struct order){p->sites[i].addr, rank_of(p->sites[i].kind), i};
	qsort(order, n, sizeof(*order), order_compare);
	for (uint32_t i = 0; i < n; i++)
		p->plan->lacks[order[i].site] = site_try(p, order[i].site, FLOW_JUMP);
	p->first = p->plan->windows.len;
	for (uint32_t i = 0; i < n; i++) {
		enum flow_lack *lack = &p->plan->lacks[order[i].site], left;

		if (*lack == FLOW_FITS)
			continue;
		left = site_try(p, order[i].site, FLOW_JUMP_SHORT);
		if (left == FLOW_FITS || (left == FLOW_NO_PAD && *lack != FLOW_PAGES))
			*lack = left;
	}
	windows_sort(p);
	ways_place(p, n);
	windows_sort(p);
	free(order);
}

struct err *flow_plan(const struct flow *f, const struct flow_site *sites, uint32_t n,
		      const struct flow_opts *opts, struct flow_plan *ret)
{
	static const struct flow_opts none;
	struct planning p = {.f = f, .sites = sites, .opts = opts ? opts : &none, .plan = ret};
	struct err *e = NULL;

	*ret = (struct flow_plan){.lacks = xcalloc(MAX(n, 1u), sizeof(enum flow_lack))};
	p.taken = xcalloc(f->areas.len, sizeof(*p.taken));
	for (uint32_t i = 0; i < f->areas.len; i++)
		p.taken[i].bits = xcalloc(f->areas.data[i].size / 64 + 1, sizeof(uint64_t));
	for (uint32_t i = 0; i < p.opts->ntaken && !e; i++)
		if (!window_take(&p, &p.opts->taken[i]))
			e = err_new("a window of another file");
	if (!e)
		sites_place(&p, n);
	for (uint32_t i = 0; i < f->areas.len; i++)
		free(p.taken[i].bits);
	free(p.taken);
	if (e)
		flow_plan_deinit(ret);
	return e;
}

void flow_plan_deinit(struct flow_plan *p)
{
	vec_deinit(&p->windows);
	free(p->lacks);
	p->lacks = NULL;
}
