/* SPDX-License-Identifier: MIT */
/* Finds out at which sites of the process a jump can be written, and why not at others. */
#include <inttypes.h>

#include "files/gate.h"
#include "image/gocode.h"
#include "image/segments.h"
#include "image/text.h"
#include "inproc/impl.h"
#include "patch/stub.h"
#include "target/code.h"

/* How far a stub is from its window when it is tried whether one can be made. */
#define STUB_NEAR 0x1000000u

/* ---- files ----------------------------------------------------------------------------------- */

struct inproc_file *inproc_file_find(const struct inproc *p, const struct file_inode *inode)
{
	for (uint32_t i = 0; i < p->files.len; i++)
		if (file_inode_equal(&p->files.data[i]->inode, inode))
			return p->files.data[i];
	return NULL;
}

void inproc_file_destroy(struct inproc_file *f)
{
	flow_plan_deinit(&f->plan);
	flow_destroy(f->flow);
	vec_deinit(&f->groups);
	vec_deinit(&f->sites);
	vec_deinit(&f->flow_sites);
	vec_deinit(&f->by_off);
	vec_deinit(&f->uprobes);
	vec_deinit(&f->copies);
	vec_deinit(&f->counters);
	inproc_operands_deinit(f);
	segments_deinit(&f->segs);
	free(f);
}

void inproc_files_destroy(struct inproc *p)
{
	for (uint32_t i = 0; i < p->files.len; i++)
		inproc_file_destroy(p->files.data[i]);
	vec_deinit(&p->files);
	if (p->has_maps)
		proc_maps_deinit(&p->maps);
	p->has_maps = false;
}

/* Mappings of a file that lie as far from each other as in the file. */
struct group {
	uint64_t bias, size;
};
typedef VEC(struct group) group_vec;

static void group_add(group_vec *v, uint64_t bias, uint64_t size)
{
	for (uint32_t i = 0; i < v->len; i++)
		if (v->data[i].bias == bias) {
			v->data[i].size += size;
			return;
		}
	vec_push(v, (struct group){bias, size});
}

static bool is_of_file(const struct proc_map *m, const struct inproc_file *f)
{
	return m->is_exec && proc_map_is_of(m, &f->inode);
}

static const char odd_why[] = "in code that is mapped writable or shared";

/* The larger group; of two equal ones the nearer to where the file was, because stubs reach it. */
static bool group_is_better(const struct group *g, const struct group *best, uint64_t was)
{
	uint64_t here = g->bias - was, there = best->bias - was;

	return g->size != best->size ? g->size > best->size : MIN(here, -here) < MIN(there, -there);
}

/*
 * Finds where the file's code is in the process: windows are written in the largest group of
 * mappings. What the others have are copies of a part of it.
 *
 * Nothing is written into mappings that are writable, whose code changes, or shared, which would
 * write into the file. A file that has windows stays where it is while something of it is there.
 */
static const char *file_place(const struct inproc *p, struct inproc_file *f,
			      const struct image_segments *segs, bool has_windows)
{
	group_vec groups = {0};
	const char *why = "in a file that is not mapped";
	const struct group *best = NULL;
	bool is_here = false, is_odd_here = false;

	f->is_odd = false;
	for (uint32_t i = 0; i < p->maps.maps.len; i++) {
		const struct proc_map *m = &p->maps.maps.data[i];
		bool is_code = proc_map_is_code(m);
		uint64_t bias;

		if (!is_of_file(m, f))
			continue;
		f->is_odd |= !is_code;
		why = "in code that is no segment of its file";
		if (!segments_bias(segs, m->start, m->off, true, &bias))
			continue;
		if (is_code)
			group_add(&groups, bias, m->end - m->start);
		is_here |= bias == f->bias;
		is_odd_here |= !is_code && bias == f->bias;
	}
	for (uint32_t i = 0; i < groups.len; i++)
		if (!best || group_is_better(&groups.data[i], best, f->bias))
			best = &groups.data[i];
	if (best && !(has_windows && is_here))
		f->bias = best->bias;
	if (has_windows ? is_odd_here || (f->is_odd && !best) : f->is_odd)
		why = odd_why;
	else if (best)
		why = NULL;
	vec_deinit(&groups);
	if (!why || is_odd_here)
		inproc_copies_find(p, f, segs);
	return why;
}

const char *inproc_file_place(const struct inproc *p, struct inproc_file *f)
{
	vec_clear(&f->copies);
	return file_place(p, f, &f->segs, true);
}

static const char *file_read(struct inproc *p, struct inproc_file *f, struct gate_file *opened,
			     struct image_segments *segs)
{
	struct gate_elf elf;
	struct go_code go = {0};
	const char *why;
	struct err *e;

	gate_elf_open(opened, GATE_LIMIT_DEFAULT, &elf);
	segments_read_code(segs, elf.elf);
	why = file_place(p, f, segs, false);
	if (!why && elf.elf)
		go_code_read(&go, &elf, false);
	if (!why && go.abi != GO_NONE) /* of a library, too: its functions run on small stacks */
		why = "in Go code, which moves its stacks";
	if (!why)
		why = inproc_nops_read(f, &elf);
	gate_elf_close(&elf);
	if (why)
		return why;
	e = flow_create(opened, GATE_LIMIT_DEFAULT * GATE_DEBUG_FACTOR, &f->flow);
	if (!e)
		return NULL;
	if (p->opts.debug)
		p->opts.debug(p->opts.ctx, err_text(e));
	err_destroy(e);
	return "in a file whose control flow cannot be read";
}

/* ---- sites ----------------------------------------------------------------------------------- */

/* Returns why a probe of this kind is a uprobe; NULL: sites of it have a kind for flow_plan(). */
static const char *spot_lack(enum code_spot spot, enum flow_kind *ret)
{
	*ret = FLOW_OFFSET;
	switch (spot) {
	case SPOT_ENTRY: *ret = FLOW_ENTRY; return NULL;
	case SPOT_RETURN:
	case SPOT_RETURN_NONE: *ret = FLOW_EXIT; return NULL;
	case SPOT_INSN: return NULL;
	case SPOT_CALL: *ret = FLOW_TARGET; return NULL;
	case SPOT_ENTRY32: return "in 32-bit code";
	case SPOT_ENTRY_STACK:
	case SPOT_ENTRY_GO:
	case SPOT_RETURN_GO: return "in Go code, which moves its stacks";
	case SPOT_ENTRY_NONE: return "at functions whose arguments are not known";
	case SPOT_RETURNED: return "behind calls";
	case SPOT_USDT: *ret = FLOW_NOP; return NULL;
	case SPOT_COUNT: break;
	}
	BUG("spot %d of a probe", (int)spot);
}

static const char *probe_lack(const struct inproc *p, const struct unit_probe *pr,
			      enum flow_kind *ret)
{
	const struct place_code *c = pr->code;

	if (c->pid != p->opts.pid || c->at != p->opts.pid)
		return "in other processes";
	return spot_lack(pr->spot, ret);
}

/* Adds a site to the list of its file; returns why it is a uprobe, or NULL. */
static const char *site_add(struct inproc *p, const struct inproc_site *site,
			    const struct place_site *s, enum flow_kind kind)
{
	struct inproc_file *f = inproc_file_find(p, &s->file->inode);
	struct image_segments segs = {0};
	uint64_t addr;
	const char *why;

	if (s->is_returned)
		return "behind calls";
	if (f && f->plan.lacks)
		return "in a file whose windows are chosen";
	if (!f) {
		f = xcalloc(1, sizeof(*f));
		f->inode = s->file->inode;
		f->name = s->file->name;
		f->opened = s->file->opened;
		vec_push(&p->files, f);
		f->lack = file_read(p, f, s->file->opened, &segs);
		f->segs = segs;
	}
	why = f->lack;
	if (!why && !segments_addr(&f->segs, s->off, &addr))
		why = "outside of all segments";
	if (!why && inproc_copies_cut(f, addr))
		why = "near the end of code that is mapped once more";
	if (why)
		return why;
	vec_push(&f->sites, *site);
	vec_push(&f->flow_sites, (struct flow_site){addr, kind});
	return NULL;
}

static void sites_add(struct inproc *p, const struct unit *u, const char **lacks)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < u->nprobes; i++) {
		const struct unit_probe *pr = &u->probes[i];
		enum flow_kind kind = FLOW_OFFSET;
		const char *why = probe_lack(p, pr, &kind);

		for (uint32_t k = 0; k < pr->code->sites.len; k++, n++) {
			const struct place_site *s = &pr->code->sites.data[k];
			const struct inproc_site site = {.unit = u,
							 .probe = i,
							 .index = n,
							 .off = s->off,
							 .key = pr->key,
							 .rel = s->rel,
							 .is_entry = kind == FLOW_ENTRY,
							 .operands = s->operands,
							 .counter_off = s->counter_off};

			lacks[n] = why ? why : site_add(p, &site, s, kind);
		}
	}
}

/* ---- windows --------------------------------------------------------------------------------- */

static uint32_t window_span(const struct flow_window *w)
{
	return MAX(w->len, w->jump);
}

/* What a body's clauses read, and the function has changed before it. */
static const char *body_lack(struct inproc_file *f, const struct flow_window *w, uint32_t b)
{
	const struct inproc_site *s = &f->sites.data[w->bodies[b].site];
	const struct flow_site *fs = &f->flow_sites.data[w->bodies[b].site];
	struct native_reads reads;

	if (fs->kind == FLOW_NOP)
		return inproc_operands_lack(f, s, native_reads_of(s->unit, s->probe).args);
	if (fs->kind != FLOW_ENTRY)
		return NULL;
	reads = native_reads_of(s->unit, s->probe);
	if (reads.args & w->changed_args)
		return "write an argument that the script reads";
	if (reads.regs && w->addr + w->bodies[b].off != fs->addr)
		return "write a register that the script may read";
	return NULL;
}

/* Whether a stub can be made, which is tried with one near by that is never used. */
static const char *stub_lack(const struct inproc *p, const struct inproc_file *f,
			     const struct flow_window *w, uint64_t bias)
{
	const struct stub_env env = {.code = w->addr + bias + STUB_NEAR,
				     .switch_addr = w->addr + bias + STUB_NEAR,
				     .cpu = STUB_CPU_ONE,
				     .has_shadow_stack = p->has_shadow_stack};
	struct stub_body bodies[FLOW_BODIES_MAX];
	uint8_t code[STUB_SIZE_MAX];
	struct stub stub;

	for (uint32_t i = 0; i < w->nbodies; i++)
		bodies[i] =
			(struct stub_body){.kind = STUB_CALL,
					   .is_exit = f->flow_sites.data[w->bodies[i].site].kind ==
						      FLOW_EXIT,
					   .func = env.code,
					   .reads = STUB_FRAME_ALL,
					   .destroys = STUB_FRAME_ALL,
					   .pc = w->addr + bias};
	return stub_make(w, (int64_t)bias, &env, bodies, code, sizeof(code), &stub);
}

/* Compares a window with the memory of the process. */
static bool is_window_same(struct code_check *c, const struct flow_window *w, uint64_t bias)
{
	return code_check_at(c, w->addr + bias, w->old, window_span(w)) == CODE_SAME &&
	       (!w->pad ||
		code_check_at(c, w->pad + bias, w->old_pad, sizeof(w->old_pad)) == CODE_SAME) &&
	       (!w->tail.len ||
		code_check_at(c, w->tail.addr + bias, w->tail.old, w->tail.len) == CODE_SAME);
}

/* The facts with which the windows of one file are compared. */
struct compare {
	struct code_check check;
	struct text text;
};

/* Whether the begin of the window is executed elsewhere, because of a jump before it. */
static bool is_window_moved(struct compare *c, const struct inproc_file *f,
			    const struct flow_window *w, uint64_t bias)
{
	const struct image_segment *s = segments_at(&f->segs, w->addr, w->len);
	uint32_t before = s ? (uint32_t)MIN(w->addr - s->addr, (uint64_t)CODE_BEFORE_MAX) : 0;
	const uint8_t *file =
		before ? text_at(&c->text, s->off + (w->addr - s->addr) - before, before + w->len)
		       : NULL;

	return file && code_is_moved(&c->check, w->addr + bias, file, before, w->len);
}

static const char *window_lack_at(const struct inproc *p, struct compare *c,
				  const struct inproc_file *f, const struct flow_window *w,
				  uint64_t bias)
{
	if (!is_window_same(&c->check, w, bias))
		return "where the process has changed its code";
	if (is_window_moved(c, f, w, bias))
		return "behind a jump of another tracer";
	return stub_lack(p, f, w, bias);
}

/* Why the window cannot be written where the file is, or in a copy. */
static const char *window_lack(const struct inproc *p, struct compare *c,
			       const struct inproc_file *f, const struct flow_window *w)
{
	const char *why = window_lack_at(p, c, f, w, f->bias);

	for (uint32_t i = 0; i < f->copies.len && !why; i++)
		if (inproc_copy_has(&f->copies.data[i], w))
			why = window_lack_at(p, c, f, w, f->copies.data[i].bias);
	return why;
}

static int by_site_off(const void *a, const void *b, void *ctx)
{
	const struct inproc_site *sites = ctx, *x = &sites[*(const uint32_t *)a],
				 *y = &sites[*(const uint32_t *)b];

	return (x->off > y->off) - (x->off < y->off);
}

static void sites_sort(struct inproc_file *f)
{
	for (uint32_t i = 0; i < f->sites.len; i++)
		vec_push(&f->by_off, i);
	qsort_r(f->by_off.data, f->by_off.len, sizeof(uint32_t), by_site_off, f->sites.data);
}

struct inproc_site *inproc_site_find(const struct inproc *p, const struct unit_probe *pr,
				     const struct place_site *s)
{
	struct inproc_file *f = inproc_file_find(p, &s->file->inode);
	uint32_t from = 0, to = f ? f->by_off.len : 0;

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (f->sites.data[f->by_off.data[mid]].off < s->off)
			from = mid + 1;
		else
			to = mid;
	}
	for (; f && from < f->by_off.len; from++) {
		struct inproc_site *site = &f->sites.data[f->by_off.data[from]];

		if (site->off != s->off)
			break;
		if (site->key == pr->key && site->rel == s->rel)
			return site;
	}
	return NULL;
}

static uint32_t root_of(const uint32_t *roots, uint32_t i)
{
	while (roots[i] != i)
		i = roots[i];
	return i;
}

static void window_refuse(const struct inproc_file *f, const struct flow_window *w,
			  const char **lacks)
{
	for (uint32_t k = 0; k < w->nbodies; k++) {
		const char **lack = &lacks[f->sites.data[w->bodies[k].site].index];

		if (!*lack)
			*lack = "at more ways than are written in one stop";
	}
}

/*
 * A return that is probed at all ways to it has several windows. They are written all or none, and
 * with them those of other sites that have a body in one of them.
 */
static void groups_find(struct inproc *p, struct inproc_file *f, const char **lacks)
{
	uint32_t n = f->plan.windows.len;
	CLEANUP(free) uint32_t *roots = xcalloc(MAX(n, 1u), sizeof(*roots));
	CLEANUP(free) uint32_t *sizes = xcalloc(MAX(n, 1u), sizeof(*sizes));
	CLEANUP(free) bool *is_shared = xcalloc(MAX(n, 1u), sizeof(*is_shared));
	CLEANUP(free) uint32_t *firsts = xcalloc(MAX(f->sites.len, 1u), sizeof(*firsts));

	for (uint32_t i = 0; i < n; i++) {
		const struct flow_window *w = &f->plan.windows.data[i];

		roots[i] = i;
		for (uint32_t k = 0; k < w->nbodies; k++) {
			uint32_t *first = &firsts[w->bodies[k].site];

			if (*first)
				roots[root_of(roots, *first - 1)] = root_of(roots, i);
			is_shared[i] |= f->sites.data[w->bodies[k].site].nwindows > 1;
			*first = i + 1;
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		vec_push(&f->groups, is_shared[i] ? 1 + p->ngroups + root_of(roots, i) : 0);
		sizes[root_of(roots, i)]++;
	}
	for (uint32_t i = 0; i < n; i++)
		if (is_shared[i] && sizes[root_of(roots, i)] > PATCH_GROUP_MAX)
			window_refuse(f, &f->plan.windows.data[i], lacks);
	p->ngroups += n;
}

static struct err *file_plan(struct inproc *p, struct inproc_file *f, const char **lacks)
{
	const struct flow_opts opts = {.at_entry = p->opts.mode == INPROC_ALL,
				       .nops = f->nops.data,
				       .nnops = f->nops.len};
	struct compare c = {.text = {.file = f->opened}};
	struct err *e = flow_plan(f->flow, f->flow_sites.data, f->flow_sites.len, &opts, &f->plan);

	if (e)
		return e;
	for (uint32_t i = 0; i < f->sites.len; i++)
		if (f->plan.lacks[i] != FLOW_FITS)
			lacks[f->sites.data[i].index] =
				flow_lack_text((enum flow_lack)f->plan.lacks[i]);
	code_check_init(&c.check, p->opts.pid);
	for (uint32_t i = 0; i < f->plan.windows.len; i++) {
		const struct flow_window *w = &f->plan.windows.data[i];
		const char *why = window_lack(p, &c, f, w);

		for (uint32_t k = 0; k < w->nbodies; k++) {
			struct inproc_site *s = &f->sites.data[w->bodies[k].site];

			s->window = w;
			s->nwindows++;
			if (!lacks[s->index]) /* all windows of a site, or none */
				lacks[s->index] = why ? why : body_lack(f, w, k);
		}
	}
	code_check_deinit(&c.check);
	text_deinit(&c.text);
	groups_find(p, f, lacks);
	inproc_counters_place(p, f, lacks);
	sites_sort(f);
	return NULL;
}

/* Where the first and the last window of a file are in the process; false: it has none. */
bool inproc_file_span(const struct inproc_file *f, taddr *ret_lo, taddr *ret_hi)
{
	uint32_t n = f->plan.windows.len;

	if (!n)
		return false;
	*ret_lo = f->plan.windows.data[0].addr + f->bias;
	*ret_hi = f->plan.windows.data[n - 1].addr + f->bias + FLOW_WINDOW_MAX;
	return true;
}

/*
 * Whether the process has a hardware shadow stack, or may get one while it starts: a field that
 * Linux has from v6.6 on, arch/x86/kernel/cpu/proc.c.
 */
static bool shadow_stack_find(const struct inproc *p)
{
	return proc_status_has(p->opts.pid, "x86_Thread_features", p->opts.is_early ? "" : "shstk");
}

struct err *inproc_survey(struct inproc *p, const struct unit *u, const char **lacks)
{
	struct err *e = NULL;

	if (!p->has_maps) {
		e = inproc_maps_renew(p);
		p->has_shadow_stack = shadow_stack_find(p);
	}
	if (!e)
		sites_add(p, u, lacks);
	for (uint32_t i = 0; i < p->files.len && !e; i++)
		if (p->files.data[i]->sites.len && !p->files.data[i]->plan.lacks)
			e = file_plan(p, p->files.data[i], lacks);
	return e;
}

/* ---- beside uprobes -------------------------------------------------------------------------- */

static int by_offset(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void uprobes_note(struct inproc *p, const struct inproc_choice *c)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->unit->nprobes; i++)
		for (uint32_t k = 0; k < c->unit->probes[i].code->sites.len; k++, n++) {
			const struct place_site *s = &c->unit->probes[i].code->sites.data[k];
			struct inproc_file *f = inproc_file_find(p, &s->file->inode);
			pid_t pid = c->unit->probes[i].code->pid;
			uint64_t addr;

			if (pid && pid != p->opts.pid)
				continue; /* the kernel places it in that process alone */
			if (f && (!c->lacks || c->lacks[n]) &&
			    segments_addr(&f->segs, s->off, &addr))
				vec_push(&f->uprobes, addr);
		}
}

static bool has_uprobe(const struct inproc_file *f, uint64_t addr, uint32_t size)
{
	uint32_t from = 0, to = f->uprobes.len;

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (f->uprobes.data[mid] < addr)
			from = mid + 1;
		else
			to = mid;
	}
	return from < f->uprobes.len && f->uprobes.data[from] - addr < size;
}

const char **inproc_lack_of(const struct inproc_choice *list, uint32_t n,
			    const struct inproc_site *s)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i].unit == s->unit && list[i].lacks)
			return &list[i].lacks[s->index];
	return NULL;
}

bool inproc_keep_apart(struct inproc *p, const struct inproc_choice *list, uint32_t n)
{
	bool has_changed = false;

	for (uint32_t i = 0; i < p->files.len; i++)
		vec_clear(&p->files.data[i]->uprobes);
	for (uint32_t i = 0; i < n; i++)
		uprobes_note(p, &list[i]);
	for (uint32_t i = 0; i < p->files.len; i++) {
		struct inproc_file *f = p->files.data[i];

		if (f->uprobes.len)
			qsort(f->uprobes.data, f->uprobes.len, sizeof(uint64_t), by_offset);
		for (uint32_t k = 0; k < f->plan.windows.len && f->uprobes.len; k++) {
			const struct flow_window *w = &f->plan.windows.data[k];

			if (!has_uprobe(f, w->addr, window_span(w)) &&
			    (!w->pad || !has_uprobe(f, w->pad, FLOW_JUMP)) &&
			    !has_uprobe(f, w->tail.addr, w->tail.len))
				continue;
			for (uint32_t b = 0; b < w->nbodies; b++) {
				const char **lack =
					inproc_lack_of(list, n, &f->sites.data[w->bodies[b].site]);

				if (lack && !*lack) {
					*lack = "have another probe's uprobe in their window";
					has_changed = true;
				}
			}
		}
	}
	return has_changed;
}

/* ---- clauses --------------------------------------------------------------------------------- */

bool inproc_takes_clause(const struct inproc *p, const struct unit *u, uint32_t i,
			 const struct layout *l, const char **ret_why)
{
	CLEANUP(free) struct unit_probe *probes = xcalloc(MAX(u->nprobes, 1u), sizeof(*probes));
	struct unit one = *u;
	uint64_t mask = 1;

	if (u->clauses[i].tgid && u->clauses[i].tgid != (uint32_t)p->opts.pid) {
		*ret_why = "of clauses about another process";
		return false;
	}
	one.clauses = &u->clauses[i];
	one.nclauses = one.nwords = 1;
	one.probes = probes;
	one.nprobes = 0;
	for (uint32_t k = 0; k < u->nprobes; k++)
		if (u->probes[k].mask[i / 64] >> (i % 64) & 1) {
			probes[one.nprobes] = u->probes[k];
			probes[one.nprobes++].mask = &mask;
		}
	if (!native_takes(&one, l, ret_why))
		return false;
	if (!p->no_clock || !native_needs_clock(&one, l))
		return true;
	*ret_why = p->no_clock;
	return false;
}
