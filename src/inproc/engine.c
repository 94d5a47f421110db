/* SPDX-License-Identifier: MIT */
/* The engine: units in the process, their windows, and what they have recorded. */
#include <errno.h>
#include <inttypes.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "dtrace.h"
#include "base/text.h"
#include "inproc/impl.h"
#include "inproc/run.h"
#include "patch/stub.h"
#include "target/turn.h"

/*
 * How often it is looked whether exit() was called in the process, or whether a buffer fills: the
 * clauses there can wake nobody.
 */
#define POLL_NS	   50000000
#define CLOCK_NS   500000000 /* between two corrections of the clock */
#define SWEEP_NS   10000000000
#define STUB_ALIGN 16u

static bool inproc_takes(const struct unit *u, const char **ret_why)
{
	*ret_why =
		"only probes in the code of processes that descriptions name, with option inproc";
	return u->is_inproc;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* The sites of a unit: for the compiler, and as we know them. */
struct unit_sites {
	VEC(struct native_site) natives;
	VEC(struct inproc_site *) list;
};

static struct err *sites_list(const struct inproc *p, const struct unit *u, struct unit_sites *ret)
{
	for (uint32_t i = 0; i < u->nprobes; i++)
		for (uint32_t k = 0; k < u->probes[i].code->sites.len; k++) {
			const struct place_site *s = &u->probes[i].code->sites.data[k];
			struct inproc_site *site = inproc_site_find(p, &u->probes[i], s);
			struct native_site native = {.probe = i,
						     .rel = s->rel,
						     .is_tail = s->is_tail,
						     .operands = s->operands};

			if (!site || !site->window)
				return err_new("'%s' has no window at offset %" PRIx64,
					       s->file->name, s->off);
			if (site->is_entry || site->window->target)
				native.pushed = site->window->pushed;
			vec_push(&ret->list, site);
			vec_push(&ret->natives, native);
		}
	return NULL;
}

static struct native_target target_of(const struct inproc_run *r)
{
	const struct inproc *p = r->p;
	int64_t rseq = 0;
	bool has_rseq = patch_rseq_offset(p->patch, &rseq);

	return (struct native_target){
		.code = inproc_place_next(p),
		.blob = p->blob,
		.data = patch_data_addr(p->patch),
		.plan = p->plan,
		.layout = p->layout,
		.pid = (uint32_t)p->opts.pid,
		.has_children = p->opts.has_children,
		.ncpus = p->layout->opts.ncpus,
		.has_rseq = has_rseq,
		.rseq_cpu_off = (int32_t)rseq,
		.has_tid = p->has_tid,
		.tid_off = p->tid_off,
		.has_frames = p->frames.size != 0,
		.checks_fs = p->checks_fs,
		.stops_when_full = r->stops_when_full,
		.only_cpu = r->only_cpu,
		.is_sampled = p->is_sampled,
	};
}

/* Whether stubs reach all of the data part with a distance of 32 bits. */
static bool is_data_near(const struct inproc *p)
{
	taddr code = patch_code_addr(p->patch), data = patch_data_addr(p->patch);
	uint64_t lo = MIN(code, data);
	uint64_t hi = MAX(code + patch_code_size(p->patch), data + p->plan->size);

	return hi - lo < INT32_MAX;
}

/*
 * Gives a site a counter if it only counts, and that of its probe if that has one. Not where it has
 * to look at more than the switch first: whether exit() was called in the process, on which CPU it
 * is, whether the thread has a block.
 */
static void site_count(const struct inproc_run *r, struct inproc_site *s,
		       const struct native_entry *entry, taddr *of_probe)
{
	const struct inproc *p = r->p;
	uint32_t n;

	s->counter = 0;
	if (!entry->ncounts || s->slot || p->exits || p->checks_fs || r->only_cpu >= 0 ||
	    r->stops_when_full || !is_data_near(p))
		return;
	s->counter = *of_probe;
	if (s->counter || !ndata_counter_make(p->data, &n))
		return;
	for (uint32_t i = 0; i < entry->ncounts; i++)
		ndata_counter_add(p->data, n, entry->counts[i].map, entry->counts[i].key);
	s->counter = patch_data_addr(p->patch) + p->plan->counters_off + n * 8ull;
	*of_probe = s->counter;
}

struct site_place {
	uint64_t off;
	uint32_t i;
};

static int by_off(const void *pa, const void *pb)
{
	const struct site_place *a = pa, *b = pb;

	return a->off != b->off ? (a->off > b->off) - (a->off < b->off)
				: (a->i > b->i) - (a->i < b->i);
}

/*
 * Gives sites their counters by ascending place: those of a function, and of its neighbours, are in
 * the same lines of the cache.
 */
static void sites_count(const struct inproc_run *r, const struct unit *u,
			const struct unit_sites *s, const struct native_code *code)
{
	CLEANUP(free) struct site_place *places = xcalloc(MAX(s->list.len, 1u), sizeof(*places));
	CLEANUP(free) taddr *of_probes = xcalloc(MAX(u->nprobes, 1u), sizeof(*of_probes));

	for (uint32_t i = 0; i < s->list.len; i++)
		places[i] = (struct site_place){s->list.data[i]->off, i};
	qsort(places, s->list.len, sizeof(*places), by_off);
	for (uint32_t k = 0; k < s->list.len; k++) {
		uint32_t i = places[k].i;

		site_count(r, s->list.data[i], &code->entries[i],
			   &of_probes[s->natives.data[i].probe]);
	}
}

/* The words of arguments of a function in struct native_frame: SysV AMD64 ABI 3.2.3. */
#define ARG_WORD(name) (uint8_t)(offsetof(struct native_frame, name) / 8)
static const uint8_t arg_words[] = {ARG_WORD(rdi), ARG_WORD(rsi), ARG_WORD(rdx),
				    ARG_WORD(rcx), ARG_WORD(r8),  ARG_WORD(r9)};

static struct stub_test test_make(const struct inproc *p, const struct native_test *t)
{
	taddr data = patch_data_addr(p->patch), samples = data + p->plan->samples_off;
	struct stub_test ret = {.reg = arg_words[t->arg]};

	switch (t->kind) {
	case NATIVE_TEST_CALL:
		ret.kind = STUB_TEST_WORD;
		ret.addr = samples + offsetof(struct blob_samples, ncalls);
		break;
	case NATIVE_TEST_PAGE:
		ret.kind = STUB_TEST_BYTE;
		ret.addr = samples + offsetof(struct blob_samples, pages);
		break;
	case NATIVE_TEST_BYTES:
		ret.kind = STUB_TEST_LEFT;
		ret.addr = data + p->plan->cpus_off + offsetof(struct blob_cpu, sample_left);
		ret.shift = (uint8_t)__builtin_ctzll(sizeof(struct blob_cpu));
		ret.times = t->times ? arg_words[t->times - 1] + 1 : 0;
		break;
	}
	return ret;
}

/* What the stub of a relay tests by itself, where it reaches what it has to look at. */
static void site_test(struct inproc *p, struct inproc_site *s, const struct native_entry *entry)
{
	s->ntests = s->func && s->slot && is_data_near(p) ? entry->ntests : 0;
	p->ntested += s->ntests > 0;
	for (uint32_t i = 0; i < s->ntests; i++)
		s->tests[i] = test_make(p, &entry->tests[i]);
}

static struct err *unit_compile(const struct inproc_run *r, const struct unit *u,
				struct unit_sites *s)
{
	const struct native_target t = target_of(r);
	struct native_code code = {0};
	uint64_t at = 0;
	struct err *e =
		u->is_relay ? native_filter_compile(u, &t, s->natives.data, s->natives.len, &code)
			    : native_compile(u, &t, s->natives.data, s->natives.len, &code);

	if (e)
		return e;
	if (code.size)
		e = inproc_place(r->p, code.bytes, code.size, &at);
	for (uint32_t i = 0; i < s->list.len && !e; i++) {
		s->list.data[i]->func =
			code.entries[i].func == NATIVE_NO_FILTER ? 0 : at + code.entries[i].func;
		s->list.data[i]->number = code.entries[i].site;
		s->list.data[i]->reads = code.entries[i].reads;
		s->list.data[i]->destroys = code.entries[i].destroys;
		s->list.data[i]->owner = u;
		site_test(r->p, s->list.data[i], &code.entries[i]);
	}
	if (!e)
		sites_count(r, u, s, &code);
	native_code_deinit(&code);
	return e;
}

static bool unit_records(const struct unit *u)
{
	for (uint32_t i = 0; i < u->nclauses; i++) {
		const struct prog_clause *c = u->clauses[i].layout->clause;

		for (uint32_t k = 0; k < c->nacts; k++)
			if (act_is_recording(c->acts[k].kind) && c->acts[k].kind != ACT_EXIT)
				return true;
	}
	return false;
}

/* Nothing fires yet. That it fails makes records slower, and no more. */
static void rings_make(struct inproc_run *r, const struct unit *u)
{
	struct err *e;

	if (r->has_rings || !unit_records(u))
		return;
	r->has_rings = true;
	e = ndata_rings_make(r->p->data);
	if (e)
		inproc_debug(r->p, "the pages of the buffers are made later", e);
	err_destroy(e);
}

static struct err *inproc_load(struct engine_run *er, const struct unit *u, struct loaded **ret,
			       uint32_t *ret_span)
{
	struct inproc_run *r = inproc_run_of(er);
	struct unit_sites sites = {0};
	struct err *e = sites_list(r->p, u, &sites);
	struct loaded *l;

	(void)ret_span; /* what it refuses is about no place of the text */
	if (!e)
		e = unit_compile(r, u, &sites);
	vec_deinit(&sites.natives);
	vec_deinit(&sites.list);
	if (e)
		return err_hint(e, "-x inproc=off");
	l = xcalloc(1, sizeof(*l));
	l->unit = u;
	l->next = r->units;
	r->units = l;
	if (!u->is_relay)
		inproc_note_fires(r->p, u);
	rings_make(r, u);
	*ret = l;
	return NULL;
}

static bool is_attached_alone(const struct inproc_run *r, const struct loaded *l)
{
	for (const struct loaded *other = r->units; other; other = other->next)
		if (other != l && other->states)
			return false;
	return true;
}

/* What fails is left to patch_close() and to the keeper. */
static void windows_take_back(const struct inproc_run *r, struct loaded *l)
{
	uint32_t ncopied = inproc_copies_count(r->p, l->unit), n;
	CLEANUP(free)
	taddr *addrs = xcalloc(MAX(l->windows.len + ncopied, 1u), sizeof(*addrs));
	struct err *e = NULL;

	n = inproc_copies_drop(r->p, l->unit, addrs);
	/* there are no states when the stubs could not be made */
	for (uint32_t i = 0; l->states && i < l->windows.len; i++)
		if (l->states[i] == PATCH_IN)
			addrs[n++] = l->windows.data[i].addr;
	if (n && !patch_is_gone(r->p->patch)) {
		if (is_attached_alone(r, l))
			e = patch_switch(r->p->patch, false);
		if (!e)
			e = patch_take_back(r->p->patch, addrs, n);
	}
	if (e)
		inproc_debug(r->p, "windows stay for now", e);
	err_destroy(e);
	if (is_attached_alone(r, l))
		inproc_counters_drop(r->p);
	vec_deinit(&l->windows);
	vec_deinit(&l->firsts);
	vec_deinit(&l->returns);
	vec_deinit(&l->tails);
	vec_deinit(&l->files);
	vec_deinit(&l->biases);
	free(l->states);
	l->states = NULL;
}

static void inproc_unload(struct engine_run *er, struct loaded *l)
{
	struct loaded **at = &inproc_run_of(er)->units;

	if (!l)
		return;
	windows_take_back(inproc_run_of(er), l);
	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	free(l);
}

static struct err *inproc_ready(struct engine_run *r)
{
	(void)r;
	return NULL;
}

static void inproc_settle(struct engine_run *r, struct loaded *l)
{
	(void)r, (void)l;
}

/* ---- attaching ------------------------------------------------------------------------------- */

/*
 * The unit that writes a window, which may have bodies of two: a function's entry may have code in
 * the process, and its return be relayed. It is that of the former, for which windows may be in
 * groups (groups_find()): a group is written in place all or none by one unit only.
 */
static const struct unit *window_unit(const struct inproc_file *f, const struct flow_window *w)
{
	const struct unit *u = NULL;

	for (uint32_t i = 0; i < w->nbodies; i++) {
		const struct inproc_site *s = &f->sites.data[w->bodies[i].site];

		if (s->owner && (!u || u->is_relay))
			u = s->owner;
	}
	return u;
}

/* How far the owner thread's counters are from those of CPU 0. */
static uint64_t owner_words(const struct inproc *p)
{
	return (uint64_t)plan_ncounter_blocks(p->plan->ncpus) << p->plan->counters_shift;
}

/*
 * The window of a unit with the bodies of all units, and what they call; none if it is another's.
 * All units are loaded before the first one is attached.
 */
static struct flow_window bodies_of(const struct inproc *p, const struct inproc_file *f,
				    const struct unit *u, const struct flow_window *w,
				    const struct inproc_at *at, struct stub_body *bodies,
				    uint32_t *ret_nleft)
{
	const struct unit *owner = window_unit(f, w);
	struct flow_window own = *w;

	own.nbodies = 0;
	for (uint32_t i = 0; i < w->nbodies; i++) {
		const struct inproc_site *s = &f->sites.data[w->bodies[i].site];
		const struct flow_site *fs = &f->flow_sites.data[w->bodies[i].site];

		*ret_nleft += at->is_mirrored && s->slot && s->owner == u;
		if (owner != u || !s->owner || (at->is_mirrored && s->slot))
			continue;
		bodies[own.nbodies] =
			(struct stub_body){.kind = s->counter ? STUB_COUNT : STUB_CALL,
					   .is_exit = fs->kind == FLOW_EXIT,
					   .counter = s->counter ? s->counter + at->shift : 0,
					   .own = s->counter
							  ? s->counter + at->shift + owner_words(p)
							  : 0,
					   .func = s->func ? s->func + at->shift : 0,
					   .site = s->number,
					   .reads = s->reads,
					   .destroys = s->destroys,
					   .pc = at->bias + fs->addr};
		if (s->slot) {
			bodies[own.nbodies].kind = STUB_RELAY;
			bodies[own.nbodies].slot = inproc_slot_addr(p, s);
			bodies[own.nbodies].pushed = s->is_entry || w->target ? w->pushed : 0;
			bodies[own.nbodies].ntests = (uint8_t)s->ntests;
			memcpy(bodies[own.nbodies].tests, s->tests, sizeof(s->tests));
		}
		own.bodies[own.nbodies++] = w->bodies[i];
	}
	return own;
}

struct stub_env inproc_stub_env(const struct inproc *p, const struct inproc_at *at)
{
	int64_t rseq = 0;
	bool has_rseq = patch_rseq_offset(p->patch, &rseq);

	return (struct stub_env){.switch_addr = at->switch_addr,
				 .cpu = has_rseq ? STUB_CPU_RSEQ : STUB_CPU_THREAD,
				 .rseq_cpu = (int32_t)rseq,
				 .cpu_mask = plan_ncounter_blocks(p->plan->ncpus) - 1,
				 .cpu_shift = (uint8_t)p->plan->counters_shift,
				 .owner_addr = patch_owner_addr(at->switch_addr),
				 .tests_switch = at->switch_addr != patch_switch_addr(p->patch),
				 .locked_func = p->locked,
				 .has_shadow_stack = p->has_shadow_stack};
}

/* Adds a word with the address of the stub that comes next, and returns the word's own. */
static uint64_t word_add(struct inproc_stubs *to)
{
	uint64_t word = to->base + to->code.len, code = word + STUB_ALIGN;

	strbuf_add(&to->code, (const char *)&code, sizeof(code));
	while (to->code.len % STUB_ALIGN)
		strbuf_addc(&to->code, '\xcc');
	return word;
}

/* Makes the slots of those bodies that are relays. */
static struct err *slots_make(struct inproc *p, const struct inproc_file *f,
			      const struct flow_window *own, const struct stub *stub, taddr code)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < own->nbodies && !e; i++) {
		const struct inproc_site *s = &f->sites.data[own->bodies[i].site];

		if (s->slot)
			e = inproc_slot_make(p, s, code + stub->goes_on[i]);
	}
	return e;
}

struct err *inproc_window_make(struct inproc *p, const struct inproc_file *f,
			       const struct flow_window *w, const struct unit *u,
			       const struct inproc_at *at, struct inproc_stubs *to,
			       struct inproc_made *ret)
{
	struct stub_body bodies[FLOW_BODIES_MAX];
	uint8_t code[STUB_SIZE_MAX];
	uint32_t nleft = 0;
	struct flow_window own = bodies_of(p, f, u, w, at, bodies, &nleft);
	struct stub_env env = inproc_stub_env(p, at);
	struct stub stub;
	uint64_t word = 0;
	const char *why;

	*ret = (struct inproc_made){.nleft = nleft};
	if (!own.nbodies)
		return NULL;
	while (to->code.len % STUB_ALIGN)
		strbuf_addc(&to->code, '\xcc');
	if (own.target == FLOW_TARGET_WORD)
		word = word_add(to);
	env.code = to->base + to->code.len;
	why = stub_make(&own, (int64_t)at->bias, &env, bodies, code, sizeof(code), &stub);
	if (why) {
		ret->nleft += own.nbodies;
		return err_new("no stub can be made for '%s' at %" PRIx64 ": %s", f->name, w->addr,
			       why);
	}
	strbuf_add(&to->code, (const char *)code, stub.size);
	stub_window(&own, (int64_t)at->bias, &stub, word ? word : env.code, &ret->window);
	ret->window.group = f->groups.data[w - f->plan.windows.data];
	ret->is_made = true;
	return slots_make(p, f, &own, &stub, env.code);
}

struct err *inproc_window_add(struct inproc *p, const struct inproc_file *f,
			      const struct flow_window *w, struct loaded *l,
			      struct inproc_stubs *to)
{
	const struct inproc_at at = {.bias = f->bias,
				     .shift = f->shift,
				     .switch_addr =
					     f->shift ? f->gate : patch_switch_addr(p->patch),
				     .is_mirrored = f->shift != 0};
	struct inproc_made made;
	struct err *e = inproc_window_make(p, f, w, l->unit, &at, to, &made);

	if (!made.is_made)
		return e;
	vec_push(&l->windows, made.window);
	if (w->is_first_jump)
		vec_push(&l->firsts, made.window.addr);
	if (w->is_first_return)
		vec_push(&l->returns, l->windows.len - 1);
	if (w->tail.len)
		vec_push(&l->tails, ((struct loaded_tail){l->windows.len - 1, w->tail}));
	vec_push(&l->files, f);
	vec_push(&l->biases, f->bias);
	return e;
}

static struct err *windows_make(struct inproc *p, struct loaded *l)
{
	uint64_t base = inproc_place_next(p), at;
	struct inproc_stubs stubs = {.base = base};
	struct err *e = NULL;

	for (uint32_t i = 0; i < p->files.len && !e; i++) {
		const struct inproc_file *f = p->files.data[i];

		stubs.base = base + f->shift;
		for (uint32_t k = 0; k < f->plan.windows.len && !e; k++)
			e = inproc_window_add(p, f, &f->plan.windows.data[k], l, &stubs);
	}
	if (!e)
		e = inproc_place(p, stubs.code.data, stubs.code.len, &at);
	if (!e)
		e = inproc_slots_write(p);
	strbuf_deinit(&stubs.code);
	return e;
}

static uint32_t states_count(const struct loaded *l, enum patch_state state)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->windows.len; i++)
		n += l->states[i] == state;
	return n;
}

/* Says which places are not probed although they were to be. */
static void windows_tell(struct inproc *p, const struct loaded *l, const struct attach_opts *opts)
{
	uint32_t ndiffer = states_count(l, PATCH_DIFFERS),
		 nrefused = states_count(l, PATCH_REFUSED) + states_count(l, PATCH_BEYOND);
	struct strbuf text = {0};

	p->nleft_out += ndiffer + nrefused;
	if (!opts->notice || ndiffer + nrefused == 0)
		return;
	if (ndiffer)
		strbuf_addf(&text,
			    "%" PRIu32 " place%s left out: process %d has changed its code "
			    "there, or is being debugged",
			    ndiffer, WORD_FOR(ndiffer, " is", "s are"), (int)p->opts.pid);
	if (nrefused)
		strbuf_addf(&text,
			    "%s%" PRIu32 " place%s left out: process %d cannot be written there",
			    ndiffer ? "; " : "", nrefused, WORD_FOR(nrefused, " is", "s are"),
			    (int)p->opts.pid);
	opts->notice(opts->notice_ctx, strbuf_text(&text));
	strbuf_deinit(&text);
}

static struct err *inproc_attach(struct engine_run *er, struct loaded *l,
				 const struct attach_opts *opts, struct attachments *ret)
{
	struct inproc_run *r = inproc_run_of(er);
	struct err *e = windows_make(r->p, l);

	(void)ret; /* nothing is held by a descriptor */
	if (e)
		return e;
	l->states = xcalloc(MAX(l->windows.len, 1u), sizeof(*l->states));
	l->notice = opts->notice;
	l->notice_ctx = opts->notice_ctx;
	e = inproc_counters_raise(r->p, l->unit);
	if (e && opts->is_interrupted && *opts->is_interrupted) {
		err_destroy(e); /* the keeper is not waited for any more */
		return NULL;
	}
	if (e)
		return e;
	e = patch_write(r->p->patch, l->windows.data, l->windows.len, opts->is_interrupted,
			l->states);
	if (!e)
		windows_tell(r->p, l, opts);
	if (!e)
		e = inproc_copies_attach(r->p, l->unit, opts);
	/* of a unit that comes while the session runs: it may be the first one there */
	if (!e && __atomic_load_n(&r->run.control->state, __ATOMIC_ACQUIRE) == RT_STATE_ON)
		e = patch_switch(r->p->patch, true);
	return e;
}

static struct err *inproc_detach(struct engine_run *er, struct loaded *l, struct attachments *a,
				 uint32_t group)
{
	(void)a, (void)group; /* a unit is of one group */
	windows_take_back(inproc_run_of(er), l);
	return NULL;
}

/* The process executes another program: the windows have gone with its memory. */
static struct err *inproc_drop_process(struct engine_run *r, struct loaded *l, uint32_t tgid)
{
	(void)r, (void)l, (void)tgid;
	return NULL;
}

static uint64_t inproc_missed(struct engine_run *r, const struct loaded *l)
{
	(void)r, (void)l;
	return 0;
}

static uint64_t inproc_links_missed(struct engine_run *r, const struct attachments *a)
{
	(void)r, (void)a;
	return 0;
}

/* ---- state ----------------------------------------------------------------------------------- */

/*
 * All windows are written before the switch is turned on, and taken back after it was turned off:
 * entries and returns begin and end together, whichever batch they are in.
 */
static void inproc_set_state(struct engine_run *er, enum rt_state state)
{
	struct err *e = ndata_set_state(inproc_run_of(er)->p->data, state);

	inproc_children_set(inproc_run_of(er)->p, state);
	if (!e)
		e = patch_switch(inproc_run_of(er)->p->patch, state == RT_STATE_ON);
	if (e)
		inproc_debug(inproc_run_of(er)->p, "the state cannot be set", e);
	err_destroy(e); /* a process that has cut off its data has no probes any more */
}

/* exit() in the process ends the session. */
static void state_follow(const struct inproc_run *r)
{
	uint32_t there = RT_STATE_OFF, on = RT_STATE_ON;
	struct err *e = ndata_state(r->p->data, &there);

	err_destroy(e); /* as above */
	if (there == RT_STATE_EXITING || inproc_children_exit(r->p))
		(void)__atomic_compare_exchange_n(&r->run.control->state, &on, RT_STATE_EXITING,
						  false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* exit() elsewhere stops the clauses in the process. */
static void state_lead(struct inproc_run *r)
{
	uint32_t state = __atomic_load_n(&r->run.control->state, __ATOMIC_ACQUIRE);
	uint32_t there = state;
	struct err *e = ndata_state(r->p->data, &there);

	err_destroy(e);
	if (state != there && state == RT_STATE_EXITING)
		inproc_set_state(&r->run, RT_STATE_EXITING);
}

static void windows_give_up(struct inproc *p, const struct loaded *l)
{
	uint32_t n = states_count(l, PATCH_HELD);
	struct strbuf text = {0};

	p->nleft_out += n;
	if (!l->notice)
		return;
	strbuf_addf(&text,
		    "%" PRIu32 " place%s left out: a signal handler of process %d has "
		    "interrupted %s, and does not return",
		    n, WORD_FOR(n, " is", "s are"), (int)p->opts.pid, WORD_FOR(n, "it", "them"));
	l->notice(l->notice_ctx, strbuf_text(&text));
	strbuf_deinit(&text);
}

/*
 * Tries again to write the windows into which a signal handler was about to return, all in one
 * stop. Their probes fire from then on; what a call that has begun before does is half seen, as at
 * the begin of a session.
 */
struct err *inproc_held_write(struct inproc *p, const struct patch_window *w, uint32_t n,
			      enum patch_state *states)
{
	CLEANUP(free) struct patch_window *list = xcalloc(MAX(n, 1u), sizeof(*list));
	CLEANUP(free) enum patch_state *now = xcalloc(MAX(n, 1u), sizeof(*now));
	uint32_t held = 0;
	struct err *e;

	for (uint32_t i = 0; i < n; i++)
		if (states[i] == PATCH_HELD)
			list[held++] = w[i];
	e = patch_write(p->patch, list, held, p->opts.is_interrupted, now);
	held = 0;
	p->has_late_windows = true;
	for (uint32_t i = 0; i < n; i++)
		if (states[i] == PATCH_HELD && now[held++] != PATCH_OUT)
			states[i] = now[held - 1];
	return e;
}

static bool is_retried(const struct loaded *l)
{
	return l->ntries < INPROC_RETRIES && l->states && states_count(l, PATCH_HELD);
}

bool inproc_windows_are_due(const struct inproc *p)
{
	for (const struct loaded *l = p->run->units; l; l = l->next)
		if (is_retried(l))
			return true;
	return p->is_behind || p->run->has_no_turn || inproc_copies_are_held(p);
}

static void windows_retry(const struct inproc_run *r)
{
	for (struct loaded *l = r->units; l; l = l->next) {
		struct err *e;

		if (!is_retried(l))
			continue;
		e = inproc_held_write(r->p, l->windows.data, l->windows.len, l->states);
		if (e)
			inproc_debug(r->p, "windows are held back", e);
		err_destroy(e);
		if (++l->ntries == INPROC_RETRIES && states_count(l, PATCH_HELD))
			windows_give_up(r->p, l);
	}
}

/* While another tracer changes the code, nothing is tried, and no try is used up. */
static void held_retry(const struct inproc_run *r)
{
	bool is_due = inproc_copies_are_held(r->p);
	struct turn turn;

	for (const struct loaded *l = r->units; l; l = l->next)
		is_due |= is_retried(l);
	if (!is_due || !turn_try(r->p->opts.pid, false, 0, &turn))
		return;
	windows_retry(r);
	inproc_copies_retry(r->p);
	turn_end(&turn);
}

/* Says once that breakpoints of other tools are hidden by windows (hidden.c). */
static void tails_check(struct loaded *l, pid_t pid)
{
	struct strbuf text = {0};
	VEC(taddr) addrs = {0};

	for (uint32_t i = 0; i < l->tails.len && !l->is_tail_told; i++) {
		const struct loaded_tail *t = &l->tails.data[i];

		/* windows with the same tail follow each other */
		if (l->states[t->window] != PATCH_IN ||
		    (i && l->tails.data[i - 1].tail.addr == t->tail.addr && addrs.len))
			continue;
		for (uint32_t k = 0; k < t->tail.nins; k++)
			vec_push(&addrs, t->tail.addr + l->biases.data[t->window] + t->tail.ins[k]);
	}
	if (inproc_tails_hidden(pid, addrs.data, addrs.len, &text)) {
		l->is_tail_told = true;
		l->notice(l->notice_ctx, strbuf_text(&text));
	}
	vec_deinit(&addrs);
	strbuf_deinit(&text);
}

/* Says once what breakpoints of other tools hide (hidden.c). */
static void hidden_check(struct loaded *l, pid_t pid)
{
	struct strbuf text = {0};
	VEC(taddr) returns = {0};

	if (!l->states || !l->notice)
		return;
	for (uint32_t i = 0; i < l->returns.len && !l->is_lost_told; i++)
		if (l->states[l->returns.data[i]] == PATCH_IN)
			vec_push(&returns, l->windows.data[l->returns.data[i]].addr);
	if (!l->is_hidden_told && inproc_jumps_hidden(pid, l->firsts.data, l->firsts.len, &text)) {
		l->is_hidden_told = true;
		l->notice(l->notice_ctx, strbuf_text(&text));
	}
	if (inproc_returns_lost(pid, returns.data, returns.len, &text)) {
		l->is_lost_told = true;
		l->notice(l->notice_ctx, strbuf_text(&text));
	}
	vec_deinit(&returns);
	strbuf_deinit(&text);
	tails_check(l, pid);
}

/*
 * Looks for code that has come or gone without the dynamic linker, which would have been reported.
 * A process that often maps code is looked at for a small part of the time only.
 */
static void maps_look(struct inproc_run *r, uint64_t now)
{
	struct attach_opts opts = {.is_interrupted = r->p->opts.is_interrupted};
	struct err *e;

	for (const struct loaded *l = r->units; l; l = l->next)
		if (l->states) {
			opts.notice = l->notice;
			opts.notice_ctx = l->notice_ctx;
		}
	if (now < r->maps_at || (!inproc_maps_have_changed(r->p) && !r->has_no_turn &&
				 now < r->look_at && !(r->p->is_behind && now >= r->retry_at)))
		return;
	e = inproc_follow_maps(&r->run, &opts);
	if (e)
		inproc_debug(r->p, "code that was mapped", e);
	err_destroy(e); /* it has ended, or does not stop now */
	r->maps_at = now + INPROC_MAPS_PART * (now_ns() - now);
}

static void owner_tend(struct inproc_run *r)
{
	patch_owner_tend(r->p->patch);
	if (r->has_owner == patch_has_owner(r->p->patch))
		return;
	r->has_owner = !r->has_owner;
	inproc_debug(r->p,
		     r->has_owner ? "a thread counts without a lock"
				  : "all threads count with a lock",
		     NULL);
}

/* What has to be done now and then. */
static void run_tend(struct inproc_run *r)
{
	uint64_t now = now_ns();
	struct err *e = NULL;

	owner_tend(r);
	state_follow(r);
	state_lead(r);
	if (!patch_is_gone(r->p->patch))
		maps_look(r, now);
	if (now >= r->clock_at && !patch_is_gone(r->p->patch)) {
		r->clock_at = now + CLOCK_NS;
		e = ndata_clock_correct(r->p->data);
		held_retry(r);
		for (struct loaded *l = r->units; l; l = l->next)
			hidden_check(l, r->p->opts.pid);
	}
	inproc_children_tend(r->p, now >= r->kin_clock_at, now >= r->sweep_at);
	if (now >= r->kin_clock_at)
		r->kin_clock_at = now + CLOCK_NS;
	if (!e && now >= r->sweep_at) {
		r->sweep_at = now + SWEEP_NS;
		e = ndata_sweep(r->p->data);
	}
	if (e)
		inproc_debug(r->p, "data", e);
	err_destroy(e); /* the process has cut off its data: what was read stays */
}

/* ---- consuming ------------------------------------------------------------------------------- */

static struct err *inproc_drain(struct engine_run *er, uint64_t horizon, engine_record_f *func,
				void *ctx)
{
	struct inproc_run *r = inproc_run_of(er);
	struct err *e, *lost;
	uint64_t ticks;

	/* what is read is of no use: that the descriptor can be read has ended the wait */
	(void)!read(r->timer_fd, &ticks, sizeof(ticks));
	run_tend(r);
	e = ndata_drain(r->p->data, horizon, func, ctx);
	inproc_children_reap(r->p);
	/* the drain, and children that end, give records up: the last are to be counted, too */
	lost = ndata_count(r->p->data, r->run.control);
	err_destroy(lost); /* as in run_tend() */
	return e;
}

static uint32_t inproc_fill(const struct engine_run *r)
{
	return ndata_fill(inproc_run_of(r)->p->data);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void inproc_close(struct engine_run *er)
{
	struct inproc_run *r = inproc_run_of(er);

	if (r->timer_fd >= 0)
		(void)close(r->timer_fd);
	r->p->run = NULL;
	free((void *)(uintptr_t)er->wake_fds);
	free(r);
}

/* The processes that were entered; of one that was not, no unit can come. */
static uint32_t inproc_process(const struct engine_opts *opts, uint32_t i)
{
	for (uint32_t k = 0; opts->inprocs && k < opts->inprocs->of.len; k++)
		if (opts->inprocs->of.data[k]->patch && i-- == 0)
			return (uint32_t)opts->inprocs->of.data[k]->opts.pid;
	return 0;
}

static struct err *inproc_open(const struct engine_opts *opts, struct engine_run **ret)
{
	static const struct itimerspec every = {{0, POLL_NS}, {0, POLL_NS}};
	struct inproc_run *r = xcalloc(1, sizeof(*r));
	uint32_t ncpus = opts->layout->opts.ncpus;
	int *fds = xcalloc(MAX(ncpus, 1u), sizeof(*fds));

	for (uint32_t i = 0; i < ncpus; i++)
		fds[i] = -1;
	r->p = inproc_list_find(opts->inprocs, (pid_t)opts->process);
	r->p->run = r;
	r->look_at = now_ns() + INPROC_LOOK_NS;
	r->stops_when_full = opts->stops_when_full;
	r->only_cpu = opts->cpu;
	r->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	r->run = (struct engine_run){.engine = &engine_inproc,
				     .control = opts->control,
				     .ncpus = ncpus,
				     .wake_fds = fds,
				     .wake_fd = r->timer_fd,
				     .bufsize = (uint32_t)r->p->plan->ring_size,
				     .aggs = r->p->data};
	if (r->timer_fd < 0 || timerfd_settime(r->timer_fd, 0, &every, NULL)) {
		struct err *e = err_sys(errno, "no timer");

		inproc_close(&r->run);
		return e;
	}
	*ret = &r->run;
	return NULL;
}

const struct engine engine_inproc = {
	.name = "inproc",
	.takes = inproc_takes,
	.needs_control = true,
	.process = inproc_process,
	.open = inproc_open,
	.close = inproc_close,
	.load = inproc_load,
	.ready = inproc_ready,
	.set_state = inproc_set_state,
	.settle = inproc_settle,
	.unload = inproc_unload,
	.attach = inproc_attach,
	.missed = inproc_missed,
	.links_missed = inproc_links_missed,
	.drop_process = inproc_drop_process,
	.detach = inproc_detach,
	.follow_maps = inproc_follow_maps,
	.drain = inproc_drain,
	.fill = inproc_fill,
	.aggs = &ndata_aggs,
};
