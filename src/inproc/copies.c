/* SPDX-License-Identifier: MIT */
/*
 * Code of a file that a process has mapped once more, and executes there, too: V8 maps its builtins
 * near the code that it compiles, for each isolate.
 *
 * Every copy gets the windows of the file's plan that lie in it, with stubs of their own: what is
 * moved has other distances there. They call the same code, and count in the same words, in a
 * mirror of the region (patch/patch.h) that lies near the copy.
 *
 * A copy that comes while the session runs is written when it is seen (inproc_maps_have_changed()).
 * When a copy is unmapped, the room of its stubs is used again: no thread comes back to a place
 * that is not mapped.
 */
#include <inttypes.h>

#include "inproc/impl.h"
#include "base/text.h"
#include "target/code.h"

#define COPY_NEAR      256u   /* bytes within which the window of a site lies, and its pad */
#define COPIES_LATER   15u    /* copies for which room is kept beside those that are there */
#define WINDOWS_LATER  32768u /* windows for which it is, at most, if there are none yet */
#define STANDING_TRIED 8u

/* The windows of one unit in one copy. */
struct inproc_copied {
	const struct unit *unit;
	const struct inproc_file *file;
	struct inproc_copy copy;
	VEC(struct patch_window) windows;
	enum patch_state *states;
	taddr gate;	   /* their switch */
	uint64_t at, size; /* of their stubs, in the region */
	uint32_t nleft;	   /* places of the file that are not among the windows */
	uint32_t ntries;   /* of those that were held back */
	void (*notice)(void *ctx, const char *msg); /* as in struct attach_opts */
	void *notice_ctx;
	bool is_idle; /* it was unmapped, and nothing stands */
	/* It has other bounds now, and other windows for them; threads may be in these stubs. */
	bool is_left;
};

/* ---- where ----------------------------------------------------------------------------------- */

static void copy_add(struct inproc_file *f, const struct inproc_copy *c)
{
	for (uint32_t i = 0; i < f->copies.len; i++) {
		struct inproc_copy *have = &f->copies.data[i];

		if (have->bias == c->bias && have->hi >= c->lo && have->lo <= c->hi) {
			have->lo = MIN(have->lo, c->lo);
			have->hi = MAX(have->hi, c->hi);
			return;
		}
	}
	vec_push(&f->copies, *c);
}

void inproc_copies_find(const struct inproc *p, struct inproc_file *f,
			const struct image_segments *segs)
{
	for (uint32_t i = 0; i < p->maps.maps.len; i++) {
		const struct proc_map *m = &p->maps.maps.data[i];
		uint64_t bias, end = m->off + (m->end - m->start);

		if (!proc_map_is_code(m) || !proc_map_is_of(m, &f->inode) ||
		    (segments_bias(segs, m->start, m->off, true, &bias) && bias == f->bias))
			continue;
		for (uint32_t k = 0; k < segs->list.len; k++) {
			const struct image_segment *s = &segs->list.data[k];
			uint64_t lo = MAX(m->off, s->off), hi = MIN(end, s->off + s->size);

			if (!s->is_exec || lo >= hi)
				continue;
			copy_add(f, &(struct inproc_copy){.lo = s->addr + (lo - s->off),
							  .hi = s->addr + (hi - s->off),
							  .bias = m->start + (s->off - m->off) -
								  s->addr});
		}
	}
}

/* Whether the mapping ends so near the address that the window of a site there may be cut. */
static bool is_cut_near(const struct image_segments *segs, uint64_t edge, uint64_t addr)
{
	bool is_inside = segments_at(segs, edge - 1, 2) != NULL;

	return is_inside && addr + COPY_NEAR > edge && addr < edge + COPY_NEAR;
}

bool inproc_copies_cut(const struct inproc_file *f, uint64_t addr)
{
	for (uint32_t i = 0; i < f->copies.len; i++)
		if (is_cut_near(&f->segs, f->copies.data[i].lo, addr) ||
		    is_cut_near(&f->segs, f->copies.data[i].hi, addr))
			return true;
	return false;
}

bool inproc_is_copied(const struct inproc_file *f, uint64_t addr)
{
	for (uint32_t i = 0; i < f->copies.len; i++)
		if (addr >= f->copies.data[i].lo && addr < f->copies.data[i].hi)
			return true;
	return false;
}

bool inproc_copy_has(const struct inproc_copy *c, const struct flow_window *w)
{
	return w->addr >= c->lo && w->addr + MAX(w->len, w->jump) <= c->hi &&
	       (!w->pad || (w->pad >= c->lo && w->pad + FLOW_JUMP <= c->hi)) &&
	       (!w->tail.len || (w->tail.addr >= c->lo && w->tail.addr + w->tail.len <= c->hi));
}

static uint32_t copy_count(const struct inproc_file *f, const struct inproc_copy *c)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->plan.windows.len; i++)
		n += inproc_copy_has(c, &f->plan.windows.data[i]);
	return n;
}

uint32_t inproc_copies_room(const struct inproc *p, uint32_t nsites)
{
	uint64_t room = 0, most = 0;

	for (uint32_t i = 0; i < p->files.len; i++)
		for (uint32_t k = 0; k < p->files.data[i]->copies.len; k++) {
			const struct inproc_file *f = p->files.data[i];
			uint32_t n = copy_count(f, &f->copies.data[k]);

			room += n;
			most = MAX(most, n);
		}
	room += COPIES_LATER * most;
	return (uint32_t)MIN(MAX(room, WINDOWS_LATER), (uint64_t)nsites * (COPIES_LATER + 1));
}

/* ---- reach ----------------------------------------------------------------------------------- */

/* Whether the mapping of a copy is there; if that cannot be read, it is not. */
static bool copy_is_there(struct inproc *p, const struct inproc_copy *c)
{
	struct err *e = inproc_maps_renew(p);
	bool is_there = !e && proc_maps_find(&p->maps, c->lo + c->bias);

	err_destroy(e);
	return is_there;
}

static struct err *copy_reach(struct inproc *p, struct inproc_copy *c)
{
	struct err *e =
		c->is_served ? NULL : inproc_mirror(p, c->lo + c->bias, c->hi + c->bias, &c->shift);

	c->is_served = !e;
	return e;
}

void inproc_copies_reach(struct inproc *p, struct inproc_file *f)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->copies.len; i++) {
		struct inproc_copy *c = &f->copies.data[i];
		struct err *e = copy_count(f, c) ? copy_reach(p, c) : NULL;

		if (e)
			inproc_debug(p, "code that is mapped once more", e);
		if (e && p->is_stuck)
			p->nstuck += copy_count(f, c);
		if (!e || copy_is_there(p, c)) /* or it has gone meanwhile, which is the reason */
			f->copies.data[n++] = *c;
		err_destroy(e);
	}
	f->copies.len = n;
}

/* Refuses the sites of a window; true: there are some. */
static bool window_refuse(const struct inproc_file *f, const struct flow_window *w,
			  const struct unit *u, const char **lacks)
{
	bool has_changed = false;

	for (uint32_t k = 0; k < w->nbodies; k++) {
		const struct inproc_site *s = &f->sites.data[w->bodies[k].site];

		if (s->unit != u || lacks[s->index])
			continue;
		lacks[s->index] = "in code that is mapped once more, too far away";
		has_changed = true;
	}
	return has_changed;
}

/* Refuses the sites of a file that no jump reaches in one of its copies; true: there are some. */
bool inproc_copies_refuse(const struct inproc_file *f, const struct unit *u, const char **lacks)
{
	bool has_changed = false;

	for (uint32_t i = 0; i < f->copies.len; i++) {
		const struct inproc_copy *c = &f->copies.data[i];

		for (uint32_t k = 0; k < f->plan.windows.len && !c->is_served; k++)
			if (inproc_copy_has(c, &f->plan.windows.data[k]))
				has_changed |= window_refuse(f, &f->plan.windows.data[k], u, lacks);
	}
	return has_changed;
}

/* ---- windows --------------------------------------------------------------------------------- */

static void copied_destroy(struct inproc *p, struct inproc_copied *cd)
{
	if (cd->gate && p->patch)
		patch_gate_free(p->patch, cd->gate);
	vec_deinit(&cd->windows);
	free(cd->states);
	free(cd);
}

/* Leaves windows out of whose group not all are in the copy. */
static void groups_drop(struct inproc_copied *cd, const bool *is_cut)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < cd->windows.len; i++)
		if (is_cut[cd->windows.data[i].group])
			cd->nleft++;
		else
			cd->windows.data[n++] = cd->windows.data[i];
	cd->windows.len = n;
}

/* Makes the stubs, for where they will be placed. */
static void stubs_make(struct inproc *p, struct inproc_copied *cd, struct inproc_stubs *to)
{
	const struct inproc_file *f = cd->file;
	const struct inproc_at at = {.bias = cd->copy.bias,
				     .shift = cd->copy.shift,
				     .switch_addr = cd->gate,
				     .is_mirrored = true};

	CLEANUP(free) bool *is_cut = xcalloc(p->ngroups + 1, sizeof(*is_cut)); /* by group */

	vec_clear(&cd->windows);
	cd->nleft = 0;
	for (uint32_t i = 0; i < f->plan.windows.len; i++) {
		const struct flow_window *w = &f->plan.windows.data[i];
		struct inproc_made made;
		struct err *e;

		if (!inproc_copy_has(&cd->copy, w)) {
			cd->nleft += w->addr + MAX(w->len, w->jump) > cd->copy.lo &&
				     w->addr < cd->copy.hi;
			is_cut[f->groups.data[i]] = true;
			continue;
		}
		e = inproc_window_make(p, f, w, cd->unit, &at, to, &made);
		cd->nleft += made.nleft;
		if (!e && made.is_made)
			vec_push(&cd->windows, made.window);
		is_cut[f->groups.data[i]] |= e || made.nleft;
		err_destroy(e); /* counted: what it refers to is not where the copy is */
	}
	is_cut[0] = false; /* those that are alone */
	groups_drop(cd, is_cut);
}

/*
 * Room that a copy has left behind which is not there any more. A child of fork() may have the copy
 * still, and its jumps, and executes what is in that room.
 */
static struct inproc_copied *idle_find(const struct inproc *p, const struct inproc_copied *cd)
{
	bool has_idle = false;

	for (uint32_t i = 0; i < p->copied.len; i++)
		has_idle |= p->copied.data[i]->is_idle;
	if (!has_idle || patch_has_children(p->patch))
		return NULL;
	for (uint32_t i = 0; i < p->copied.len; i++) {
		struct inproc_copied *other = p->copied.data[i];

		if (other->is_idle && other->unit == cd->unit && other->file == cd->file)
			return other;
	}
	return NULL;
}

static void idle_take(struct inproc *p, const struct inproc_copied *idle)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->copied.len; i++)
		if (p->copied.data[i] != idle)
			p->copied.data[n++] = p->copied.data[i];
		else
			copied_destroy(p, p->copied.data[i]);
	p->copied.len = n;
}

/* Makes the stubs, and places them: where an old copy had its own, or in new room. */
static struct err *copied_place(struct inproc *p, struct inproc_copied *cd)
{
	struct inproc_copied *idle = idle_find(p, cd);
	uint64_t shift = cd->copy.shift;
	struct inproc_stubs stubs = {.base = (idle ? idle->at : inproc_place_next(p)) + shift};
	struct err *e;

	stubs_make(p, cd, &stubs);
	if (cd->windows.len > patch_room(p->patch)) {
		strbuf_deinit(&stubs.code);
		return NULL; /* the caller does not use it, so nothing is taken of the region */
	}
	if (idle && stubs.code.len <= idle->size) {
		cd->at = idle->at;
		cd->size = idle->size;
		idle_take(p, idle);
		e = patch_code_write(p->patch, cd->at - patch_code_addr(p->patch), stubs.code.data,
				     stubs.code.len);
		strbuf_deinit(&stubs.code);
		return e;
	}
	if (idle) {
		strbuf_deinit(&stubs.code);
		stubs = (struct inproc_stubs){.base = inproc_place_next(p) + shift};
		stubs_make(p, cd, &stubs);
	}
	cd->size = stubs.code.len;
	e = inproc_place(p, stubs.code.data, stubs.code.len, &cd->at);
	strbuf_deinit(&stubs.code);
	return e;
}

static uint32_t copied_count(const struct inproc_copied *cd, enum patch_state state)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < cd->windows.len; i++)
		n += cd->states[i] == state;
	return n;
}

static bool copied_is_written(const struct inproc_copied *cd)
{
	return copied_count(cd, PATCH_OUT) == 0;
}

static bool copied_stands(const struct inproc *p, const struct inproc_copied *cd, uint32_t tried)
{
	uint32_t step = MAX(cd->windows.len / tried, 1u);

	for (uint32_t i = 0; i < cd->windows.len; i += step)
		if (cd->states[i] == PATCH_IN && !patch_stands(p->patch, &cd->windows.data[i]))
			return false;
	return true;
}

/* Windows of which nothing stands are out: their memory was unmapped. */
static void copied_forget(const struct inproc *p, struct inproc_copied *cd)
{
	patch_forget(p->patch, cd->windows.data, cd->windows.len);
	for (uint32_t i = 0; i < cd->windows.len; i++)
		if (cd->states[i] != PATCH_IN || !patch_stands(p->patch, &cd->windows.data[i]))
			cd->states[i] = PATCH_OUT;
}

/* Says that places of a copy are not probed although the process executes them. */
static void copied_tell(struct inproc *p, const struct inproc_copied *cd, uint32_t n,
			const char *why)
{
	struct strbuf text = {0};

	p->nleft_out += n;
	if (!n || !cd->notice)
		return;
	strbuf_addf(&text,
		    "%" PRIu32 " place%s of '%s' %s left out where process %d has mapped its code "
		    "once more: %s",
		    n, PLURAL(n), cd->file->name, WORD_FOR(n, "is", "are"), (int)p->opts.pid, why);
	cd->notice(cd->notice_ctx, strbuf_text(&text));
	strbuf_deinit(&text);
}

static struct err *copied_write(struct inproc *p, struct inproc_copied *cd,
				const struct attach_opts *opts)
{
	taddr at = cd->copy.lo + cd->copy.bias;
	struct err *e;

	/* entries and returns begin together there, too */
	patch_gate_open(p->patch, cd->gate, false);
	e = patch_write(p->patch, cd->windows.data, cd->windows.len, opts->is_interrupted,
			cd->states);
	if (!e)
		patch_gate_open(p->patch, cd->gate, true);
	cd->ntries = 0;
	if (!e && copied_count(cd, PATCH_REFUSED))
		e = inproc_maps_renew(p);
	if (e || !proc_maps_find(&p->maps, at)) /* it was unmapped meanwhile */
		return e;
	copied_tell(p, cd,
		    cd->nleft + copied_count(cd, PATCH_DIFFERS) + copied_count(cd, PATCH_REFUSED) +
			    copied_count(cd, PATCH_BEYOND),
		    "no jump can be written there");
	return NULL;
}

/* A copy that cannot be probed is said, once for each file. */
static void unserved_tell(const struct inproc *p, struct inproc_file *f,
			  const struct attach_opts *opts)
{
	struct strbuf text = {0};

	if (f->is_unserved_told || !opts->notice)
		return;
	f->is_unserved_told = true;
	strbuf_addf(&text,
		    "process %d has mapped code of '%s' once more where no jump can be written: "
		    "probes that jump do not fire there",
		    (int)p->opts.pid, f->name);
	opts->notice(opts->notice_ctx, strbuf_text(&text));
	strbuf_deinit(&text);
}

static void late_tell(const struct inproc *p, struct inproc_file *f, const struct attach_opts *opts)
{
	struct strbuf text = {0};

	if (f->is_late_told || !opts->notice)
		return;
	f->is_late_told = true;
	strbuf_addf(
		&text,
		"process %d has mapped code of '%s' once more: probes that jump fire there from "
		"the moment on at which such a copy is seen",
		(int)p->opts.pid, f->name);
	opts->notice(opts->notice_ctx, strbuf_text(&text));
	strbuf_deinit(&text);
}

/* Probes a copy that is new to the unit. */
static struct err *copied_make(struct inproc *p, struct inproc_file *f, const struct inproc_copy *c,
			       const struct unit *u, bool is_late, const struct attach_opts *opts)
{
	struct inproc_copied *cd = xcalloc(1, sizeof(*cd));
	bool is_served;
	struct err *e;

	*cd = (struct inproc_copied){.unit = u,
				     .file = f,
				     .copy = *c,
				     .notice = opts->notice,
				     .notice_ctx = opts->notice_ctx};
	is_served = c->is_served && patch_gate_take(p->patch, c->shift, &cd->gate);
	e = is_served ? copied_place(p, cd) : NULL;
	if (e)
		inproc_debug(p, "code that is mapped once more", e);
	if (e || !is_served || cd->windows.len > patch_room(p->patch)) {
		/* that no mirror could be made may be because the threads do not stop now */
		bool is_tried = !c->is_served && is_late && !f->is_unserved_told;

		err_destroy(e);
		copied_destroy(p, cd);
		f->unserved_unit = f->unserved_unit ? f->unserved_unit : u;
		f->nunserved += f->unserved_unit == u ? copy_count(f, c) : 0; /* once */
		p->is_behind |= is_tried;
		if (!is_tried || inproc_is_late(p))
			unserved_tell(p, f, opts);
		return NULL;
	}
	if (!cd->windows.len && !cd->nleft) {
		copied_destroy(p, cd);
		return NULL;
	}
	cd->states = xcalloc(MAX(cd->windows.len, 1u), sizeof(*cd->states));
	vec_push(&p->copied, cd);
	if (is_late)
		late_tell(p, f, opts);
	e = copied_write(p, cd, opts);
	if (!e || !is_late)
		return e;
	inproc_put_off(p, cd->windows.len, e);
	return NULL;
}

static const struct inproc_copy *copy_of(const struct inproc_file *f,
					 const struct inproc_copied *cd)
{
	for (uint32_t i = 0; i < f->copies.len; i++)
		if (f->copies.data[i].bias == cd->copy.bias &&
		    f->copies.data[i].lo == cd->copy.lo && f->copies.data[i].hi == cd->copy.hi)
			return &f->copies.data[i];
	return NULL;
}

static bool copied_is_used(const struct inproc_copied *cd)
{
	return !cd->is_idle && !cd->is_left;
}

static bool copied_overlaps(const struct inproc_copied *cd, const struct inproc_copy *c)
{
	return cd->copy.bias == c->bias && cd->copy.lo < c->hi && cd->copy.hi > c->lo;
}

static bool is_followed(const struct inproc *p, const struct inproc_file *f,
			const struct inproc_copy *c, const struct unit *u)
{
	for (uint32_t i = 0; i < p->copied.len; i++) {
		const struct inproc_copied *cd = p->copied.data[i];

		if (cd->file == f && cd->unit == u && copied_is_used(cd) && copied_overlaps(cd, c))
			return true;
	}
	return false;
}

/*
 * A part of the copy was unmapped, or mapped otherwise, or it has grown: its windows are taken
 * back, and others made for what is there now. Those in a part that is writable now go, too.
 */
static struct err *copied_leave(struct inproc *p, struct inproc_copied *cd)
{
	CLEANUP(free) taddr *addrs = xcalloc(MAX(cd->windows.len, 1u), sizeof(*addrs));
	uint32_t n = 0;
	struct err *e;

	for (uint32_t i = 0; i < cd->windows.len; i++)
		if (cd->states[i] == PATCH_IN)
			addrs[n++] = cd->windows.data[i].addr;
	patch_gate_open(p->patch, cd->gate, false);
	e = patch_take_back(p->patch, addrs, n);
	if (e)
		return e;
	for (uint32_t i = 0; i < cd->windows.len; i++)
		cd->states[i] = PATCH_OUT;
	cd->is_left = true;
	return NULL;
}

static bool has_other_bounds(const struct inproc_file *f, const struct inproc_copied *cd)
{
	for (uint32_t i = 0; i < f->copies.len; i++)
		if (copied_overlaps(cd, &f->copies.data[i]))
			return true;
	return false;
}

/* A copy that was seen before: is it there, and do its windows stand? */
static struct err *copied_follow(struct inproc *p, struct inproc_copied *cd,
				 const struct attach_opts *opts)
{
	const struct inproc_copy *c = copy_of(cd->file, cd);

	if (c && copied_is_written(cd) && copied_stands(p, cd, STANDING_TRIED))
		return NULL;
	copied_forget(p, cd);
	if (c)
		return copied_write(p, cd, opts);
	if (has_other_bounds(cd->file, cd))
		return copied_leave(p, cd);
	cd->is_idle = copied_count(cd, PATCH_IN) == 0;
	return NULL;
}

struct err *inproc_copies_follow(struct inproc *p, struct inproc_file *f, const struct unit *u,
				 bool is_late, const struct attach_opts *opts)
{
	struct err *e = NULL;

	/* a thread that does not stop now has held up all others for long enough */
	for (uint32_t i = 0; i < p->copied.len && !e && !p->is_stuck; i++) {
		struct inproc_copied *cd = p->copied.data[i];

		if (cd->file == f && cd->unit == u && copied_is_used(cd))
			e = copied_follow(p, cd, opts);
		if (!e || !is_late)
			continue;
		inproc_put_off(p, cd->windows.len, e);
		e = NULL;
	}
	for (uint32_t i = 0; i < f->copies.len && !e && !p->is_stuck; i++)
		if (!is_followed(p, f, &f->copies.data[i], u))
			e = copied_make(p, f, &f->copies.data[i], u, is_late, opts);
	return e;
}

struct err *inproc_copies_attach(struct inproc *p, const struct unit *u,
				 const struct attach_opts *opts)
{
	struct err *e = NULL;

	p->is_stuck = false;
	for (uint32_t i = 0; i < p->files.len && !e; i++)
		if (p->files.data[i]->copies.len && !p->files.data[i]->is_far)
			e = inproc_copies_follow(p, p->files.data[i], u, false, opts);
	return e;
}

static bool copied_is_retried(const struct inproc_copied *cd)
{
	return copied_is_used(cd) && cd->ntries < INPROC_RETRIES && copied_count(cd, PATCH_HELD);
}

bool inproc_copies_are_held(const struct inproc *p)
{
	for (uint32_t i = 0; i < p->copied.len; i++)
		if (copied_is_retried(p->copied.data[i]))
			return true;
	return false;
}

void inproc_copies_retry(struct inproc *p)
{
	for (uint32_t i = 0; i < p->copied.len; i++) {
		struct inproc_copied *cd = p->copied.data[i];
		struct err *e;

		if (!copied_is_retried(cd))
			continue;
		e = inproc_held_write(p, cd->windows.data, cd->windows.len, cd->states);
		if (e)
			inproc_debug(p, "windows are held back", e);
		err_destroy(e);
		if (++cd->ntries == INPROC_RETRIES && copied_count(cd, PATCH_HELD))
			copied_tell(p, cd, copied_count(cd, PATCH_HELD),
				    "a signal handler has interrupted them, and does not return");
	}
}

uint32_t inproc_copies_count(const struct inproc *p, const struct unit *u)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->copied.len; i++)
		if (p->copied.data[i]->unit == u)
			n += p->copied.data[i]->windows.len;
	return n;
}

uint32_t inproc_copies_drop(struct inproc *p, const struct unit *u, taddr *ret_addrs)
{
	uint32_t kept = 0, n = 0;

	for (uint32_t i = 0; i < p->copied.len; i++) {
		struct inproc_copied *cd = p->copied.data[i];

		if (cd->unit != u) {
			p->copied.data[kept++] = cd;
			continue;
		}
		for (uint32_t k = 0; k < cd->windows.len; k++)
			if (cd->states[k] == PATCH_IN)
				ret_addrs[n++] = cd->windows.data[k].addr;
		copied_destroy(p, cd);
	}
	p->copied.len = kept;
	return n;
}

void inproc_copies_deinit(struct inproc *p)
{
	for (uint32_t i = 0; i < p->copied.len; i++)
		copied_destroy(p, p->copied.data[i]);
	vec_deinit(&p->copied);
}

/* ---- when ------------------------------------------------------------------------------------ */

bool inproc_maps_have_changed(struct inproc *p)
{
	long size = proc_status_field(p->opts.pid, "VmLib"); /* of all code but the program's own */
	bool has_changed = size != p->code_kib;

	p->code_kib = size;
	for (uint32_t i = 0; i < p->copied.len && !has_changed; i++)
		has_changed = copied_is_used(p->copied.data[i]) &&
			      !copied_stands(p, p->copied.data[i], 1);
	return has_changed;
}
