/* SPDX-License-Identifier: MIT */
/* The process: the region in it, its code and its data, and the windows. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "arch/stub.h"
#include "dtrace.h"
#include "base/text.h"
#include "inproc/impl.h"
#include "target/halt.h"

/* Room for code, beside what sites need: functions of clauses, constants. */
#define CODE_ROOM	(1u << 20)
#define CODE_PER_CLAUSE (16u << 10)
#define CODE_PER_SITE	384u /* a stub, and a row of the constants */
#define CODE_ALIGN	64u
#define LOCKED_MAX	128u

#define HWCAP2_FSGSBASE 2u /* Linux arch/x86/include/uapi/asm/hwcap2.h */

struct inproc *inproc_create(const struct inproc_opts *opts)
{
	struct inproc *p = xcalloc(1, sizeof(*p));
	const char *why;

	p->opts = *opts;
	if (!ndata_clock_usable(&why))
		p->no_clock = why;
	return p;
}

pid_t inproc_pid(const struct inproc *p)
{
	return p->opts.pid;
}

struct inproc *inproc_list_find(const struct inproc_list *l, pid_t pid)
{
	for (uint32_t i = 0; i < l->of.len; i++)
		if (l->of.data[i]->opts.pid == pid)
			return l->of.data[i];
	return NULL;
}

static void stops_tell(const struct inproc *p)
{
	const struct patch_stops *s = patch_stops(p->patch);
	struct strbuf text = {0};

	if (!p->opts.debug)
		return;
	strbuf_addf(&text,
		    "process %d stood still for %.3f ms at most, and %.3f ms in all, in %" PRIu32
		    " stop%s",
		    (int)p->opts.pid, (double)s->longest_ns / 1e6, (double)s->total_ns / 1e6, s->n,
		    PLURAL(s->n));
	if (p->nslots)
		strbuf_addf(&text, "; the stubs of %u of %u relays test by themselves", p->ntested,
			    p->nslots);
	inproc_debug(p, strbuf_text(&text), NULL);
	strbuf_deinit(&text);
}

void inproc_leave(struct inproc *p)
{
	if (!p || !p->patch)
		return;
	stops_tell(p);
	err_destroy(patch_switch(p->patch, false)); /* fails if the process has ended */
	patch_leave(p->patch, &p->left);
	if (p->left.kept)
		inproc_debug(p, "memory stays", p->left.kept);
	err_destroy(p->left.kept);
	p->left.kept = NULL;
	inproc_children_leave(p);
	p->patch = NULL;
}

const struct patch_left *inproc_left(const struct inproc *p)
{
	return &p->left;
}

struct err *inproc_remove_leftovers(pid_t pid, struct gate *g, const atomic_int *is_interrupted,
				    uint32_t *ret_n)
{
	*ret_n = 0;
	return patch_lack() ? NULL : patch_leftovers(pid, g, is_interrupted, ret_n);
}

bool inproc_is_entered(const struct inproc *p)
{
	return p->patch && !patch_is_gone(p->patch);
}

bool inproc_is_gone(const struct inproc *p)
{
	return p->patch && patch_is_gone(p->patch);
}

uint32_t inproc_count(const struct inproc *p)
{
	return p->patch ? patch_count(p->patch) : 0;
}

bool inproc_is_out(const struct inproc *p)
{
	return !p->patch || patch_is_gone(p->patch) || patch_count(p->patch) == 0;
}

void inproc_drops(const struct inproc *p, struct ndata_drops *ret)
{
	*ret = p->data ? ndata_dropped(p->data) : (struct ndata_drops){0};
}

uint64_t inproc_nbad_lives(const struct inproc *p)
{
	return p->data ? ndata_nbad_lives(p->data) : 0;
}

void inproc_destroy(struct inproc *p)
{
	if (!p)
		return;
	inproc_leave(p);
	inproc_children_destroy(p);
	ndata_destroy(p->data);
	blob_plan_destroy(p->plan);
	vec_deinit(&p->fires);
	vec_deinit(&p->mirrors);
	free(p->clauses);
	inproc_copies_deinit(p);
	inproc_relays_deinit(p);
	inproc_files_destroy(p);
	free(p);
}

void inproc_list_leave(const struct inproc_list *l)
{
	for (uint32_t i = 0; i < l->of.len; i++)
		inproc_leave(l->of.data[i]);
}

void inproc_list_deinit(struct inproc_list *l)
{
	for (uint32_t i = 0; i < l->of.len; i++)
		inproc_destroy(l->of.data[i]);
	vec_deinit(&l->of);
}

void inproc_debug(const struct inproc *p, const char *what, const struct err *e)
{
	struct strbuf text = {0};

	if (!p->opts.debug)
		return;
	strbuf_addf(&text, "inproc: %s%s%s", what, e ? ": " : "", e ? err_text(e) : "");
	p->opts.debug(p->opts.ctx, strbuf_text(&text));
	strbuf_deinit(&text);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void blocks_read(struct inproc *p)
{
	struct patch_blocks b;
	bool is_read = patch_blocks_read(p->opts.pid, &b);

	p->has_tid = is_read && b.has_tid; /* else clauses that need the id are uprobes */
	p->tid_off = b.tid_off;
	p->checks_fs = is_read ? b.lacks_one : p->opts.is_early;
}

/* While all threads are held, finds the frames of a language. */
static void frames_find(struct inproc *p)
{
	struct halt h = {0};
	struct err *e = halt_process(p->opts.pid, &h);

	if (e) {
		p->no_frames = "read lines of a process that cannot be held";
		err_destroy(e);
		return;
	}
	inproc_frames_find(p, &h);
	halt_release(&h);
}

struct native_target inproc_target(const struct inproc *p)
{
	int64_t off;

	return (struct native_target){
		.layout = p->layout,
		.pid = (uint32_t)p->opts.pid,
		.has_rseq = patch_rseq_offset(p->patch, &off),
		.has_tid = p->has_tid,
		.has_frames = p->frames.size != 0,
		.only_cpu = -1,
	};
}

const char *inproc_clause_lack(const struct inproc *p, const struct unit *u, uint32_t i,
			       int only_cpu)
{
	struct native_target t;
	const char *why = NULL;

	if (!p->patch)
		return NULL;
	t = inproc_target(p);
	t.only_cpu = only_cpu;
	if (native_has_sites(u->clauses[i].layout->clause))
		why = p->no_frames ? p->no_frames : inproc_frames_lack(p, u, i);
	return why ? why : native_target_lack(u, i, &t);
}

const char *inproc_lines_lack(const struct inproc *p)
{
	return p->no_frames;
}

/* ---- code ------------------------------------------------------------------------------------ */

static uint64_t code_next(const struct inproc *p)
{
	return (p->code_used + CODE_ALIGN - 1) / CODE_ALIGN * CODE_ALIGN;
}

uint64_t inproc_place_next(const struct inproc *p)
{
	return patch_code_addr(p->patch) + code_next(p);
}

struct err *inproc_place(struct inproc *p, const void *code, size_t size, uint64_t *ret)
{
	uint64_t at = code_next(p);

	if (size > patch_code_size(p->patch) - MIN(at, patch_code_size(p->patch)))
		return err_hint(err_code(err_new("the code of the clauses is too large for "
						 "process %d",
						 (int)p->opts.pid),
					 EDT_NOTSUP),
				"-x inproc=off");
	p->code_used = at + size;
	*ret = patch_code_addr(p->patch) + at;
	return patch_code_write(p->patch, at, code, size);
}

/* ---- where ----------------------------------------------------------------------------------- */

/*
 * Where the kernel maps libraries that come later: below those that are there, the last ones in
 * memory.
 */
static taddr libraries_find(const struct inproc *p)
{
	taddr last = 0;

	for (uint32_t i = 0; i < p->maps.maps.len; i++)
		if (proc_map_is_code(&p->maps.maps.data[i]) &&
		    proc_map_has_file(&p->maps.maps.data[i]))
			last = p->maps.maps.data[i].start;
	return last;
}

/* Finds the range of code that the region must reach. */
static void span_find(const struct inproc *p, taddr *lo, taddr *hi)
{
	*lo = UINT64_MAX;
	*hi = 0;
	for (uint32_t i = 0; i < p->files.len; i++) {
		taddr from, to;

		if (p->files.data[i]->is_apart || !inproc_file_span(p->files.data[i], &from, &to))
			continue;
		*lo = MIN(*lo, from);
		*hi = MAX(*hi, to);
	}
	if (*lo > *hi)
		*lo = *hi = libraries_find(p);
}

static bool is_thread_alive(void *ctx, uint32_t tid)
{
	const struct inproc *p = ctx;

	return syscall(SYS_tgkill, p->opts.pid, (pid_t)tid, 0) == 0 || errno != ESRCH;
}

/* Whether threads have for themselves the ids that we have for them: in our namespace they do. */
static bool has_our_ids(pid_t pid)
{
	CLEANUP(file) FILE *f = NULL;
	char line[256], path[64], more;
	bool is_one = false;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "NSpid:", 6) == 0)
			is_one = sscanf(line + 6, "%*d %c", &more) != 1;
	return is_one;
}

/* ---- what fires ------------------------------------------------------------------------------ */

static uint64_t fires_word(uint32_t clause, uint32_t probe)
{
	return (uint64_t)clause << 32 | probe;
}

static int by_word(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

bool inproc_allows(void *ctx, uint32_t clause, uint32_t probe)
{
	const struct inproc *p = ctx;
	uint64_t word = fires_word(clause, probe);

	return p->fires.len && bsearch(&word, p->fires.data, p->fires.len, sizeof(word), by_word);
}

void inproc_note_fires(struct inproc *p, const struct unit *u)
{
	for (uint32_t i = 0; i < u->nprobes; i++)
		p->has_own_probes |= u->probes[i].tgid != 0;
	for (uint32_t i = 0; i < u->nclauses; i++)
		p->has_own_probes |= u->clauses[i].tgid != 0;
	for (uint32_t i = 0; i < u->nprobes; i++)
		for (uint32_t k = 0; k < u->nclauses; k++) {
			const struct unit_identity *as = u->clauses[k].as;

			if (u->probes[i].mask[k / 64] >> (k % 64) & 1)
				vec_push(&p->fires,
					 fires_word(u->clauses[k].layout->clause->index,
						    as ? as->probe : u->probes[i].id.probe));
		}
	if (p->fires.len)
		qsort(p->fires.data, p->fires.len, sizeof(*p->fires.data), by_word);
}

/* ---- data ------------------------------------------------------------------------------------ */

/* What clauses in the process use of the layout; what others use takes no room there. */
struct used {
	bool *aggs, *arrs; /* by map */
	uint32_t nclauses;
	bool exits;    /* one calls exit() */
	bool has_live; /* one calls live() */
};

static void clause_use(struct used *used, const struct layout *l, const struct prog_clause *c)
{
	struct clause_difo at = {0};

	used->nclauses++;
	for (uint32_t i = 0; i < c->nacts; i++)
		if (c->acts[i].kind == ACT_AGG) {
			used->aggs[l->aggs[c->acts[i].agg->id - 1].map] = true;
			used->has_live |= c->acts[i].agg->func == AGGFUNC_LIVE;
		} else {
			used->exits |= c->acts[i].kind == ACT_EXIT;
		}
	while (clause_each_difo(c, &at))
		for (uint32_t i = 0; i < at.difo->vars_len; i++) {
			const struct dif_var *v = &at.difo->vars[i];
			const struct var_layout *vl =
				v->scope == DIF_SCOPE_LOCAL
					? NULL
					: layout_var(l, (enum dif_scope)v->scope, v->id);

			if (vl && vl->is_elem)
				used->arrs[vl->map] = true;
		}
}

static bool clauses_have_sites(const struct layout *l, const bool *clauses)
{
	for (uint32_t i = 0; i < l->nclauses; i++)
		if (clauses[i] && native_has_sites(l->clauses[i].clause))
			return true;
	return false;
}

static struct err *data_plan(struct inproc *p, const struct layout *l, const bool *clauses,
			     uint32_t nsites, uint32_t *ret_nclauses)
{
	CLEANUP(free) bool *aggs = xcalloc(MAX(l->nagg_maps, 1u), sizeof(*aggs));
	CLEANUP(free) bool *arrs = xcalloc(MAX(l->narr_maps, 1u), sizeof(*arrs));
	struct used used = {.aggs = aggs, .arrs = arrs};
	struct ndata_opts opts = {.layout = l,
				  .ncpus = l->opts.ncpus,
				  .bufsize = p->opts.bufsize,
				  .ncounters = nsites,
				  .agg_used = aggs,
				  .arr_used = arrs};

	for (uint32_t i = 0; i < l->nclauses; i++) {
		if (clauses[i])
			clause_use(&used, l, l->clauses[i].clause);
		opts.has_samples |= native_samples(l->clauses[i].clause);
	}
	*ret_nclauses = used.nclauses;
	p->exits = used.exits;
	opts.has_live = used.has_live;
	return blob_plan_create(&opts, &p->plan);
}

/* Places the blob, with what it knows of the data part. */
static struct err *blob_place(struct inproc *p)
{
	size_t size;
	CLEANUP(free) struct blob_conf *conf = ndata_conf(p->data, &size);
	CLEANUP(free) uint8_t *code = xmalloc(blob_code_size + size);

	memcpy(code, blob_code, blob_code_size);
	memcpy(code + blob_code_size, conf, size);
	return inproc_place(p, code, blob_code_size + size, &p->blob);
}

/* Places the function with which stubs count with a lock. */
static struct err *locked_place(struct inproc *p)
{
	const struct inproc_at at = {.switch_addr = patch_switch_addr(p->patch)};
	struct stub_env env = inproc_stub_env(p, &at);
	uint8_t code[LOCKED_MAX];
	uint32_t size;

	env.code = inproc_place_next(p);
	size = arch.stubs->locked_make(&env, code, sizeof(code));
	return size ? inproc_place(p, code, size, &p->locked)
		    : err_new("no code that counts can be made for process %d", (int)p->opts.pid);
}

static const struct ndata_site *site_find(void *ctx, uint64_t code, uint64_t at, bool is_new)
{
	const struct inproc *p = ctx;

	return p->opts.sites.site(p->opts.sites.ctx, p->opts.pid, code, at, is_new);
}

/* Fills the data part: through a file of ours, of which only what was written is copied. */
static struct err *data_fill(struct inproc *p, const struct layout *l)
{
	const struct ndata_hooks hooks = {.allows = inproc_allows,
					  .is_alive = p->has_our_ids ? is_thread_alive : NULL,
					  .site = p->opts.sites.site ? site_find : NULL,
					  .ctx = p,
					  .pid = (uint32_t)p->opts.pid,
					  .has_no_clock = p->no_clock};
	size_t size = p->plan->size;
	int fd = memfd_create("fathom", MFD_CLOEXEC);
	uint8_t *map = MAP_FAILED;
	struct err *e = NULL;
	off_t at = 0;

	if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
		map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		e = err_sys(errno, "no memory for the data of process %d", (int)p->opts.pid);
	if (!e)
		e = ndata_create(p->plan, l, map, patch_data_fd(p->patch), 0, &hooks, &p->data);
	while (!e && (at = lseek(fd, at, SEEK_DATA)) >= 0) {
		off_t end = lseek(fd, at, SEEK_HOLE);

		if (end <= at)
			break;
		e = patch_data_write(p->patch, (uint64_t)at, map + at, (size_t)(end - at));
		at = end;
	}
	if (map != MAP_FAILED)
		(void)munmap(map, size);
	if (fd >= 0)
		(void)close(fd);
	return e;
}

/* ---- entering -------------------------------------------------------------------------------- */

/*
 * Threads may have no thread block yet. Uprobes see what these do, and our code drops it; with the
 * option all it is asked for, if the kernel lets code ask for blocks.
 */
static struct err *thread_blocks_check(struct inproc *p)
{
	bool may_ask = getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE;

	if (!p->checks_fs || (may_ask && p->opts.mode == INPROC_ALL))
		return NULL;
	return err_hint(err_code(err_new("process %d has not made its thread blocks yet%s",
					 (int)p->opts.pid,
					 may_ask ? ""
						 : ", and this kernel lets no code ask for them"),
				 EDT_NOTSUP),
			"-x inproc=auto or off, or -p once it runs");
}

uint32_t inproc_nleft_out(const struct inproc *p)
{
	uint32_t n = p->nleft_out;

	if (!p->is_stuck_told)
		n += p->nstuck;
	for (uint32_t i = 0; i < p->files.len; i++)
		n += p->files.data[i]->nunserved;
	return n;
}

/* How many windows sites may have beyond the first one of each. */
static uint32_t windows_more(const struct inproc *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->files.len; i++)
		for (uint32_t k = 0; k < p->files.data[i]->sites.len; k++) {
			uint32_t some = p->files.data[i]->sites.data[k].nwindows;

			n += some - MIN(some, 1u);
		}
	return n;
}

struct err *inproc_enter(struct inproc *p, const struct layout *l, uint32_t nsites, bool has_relays,
			 bool has_later, const bool *clauses, struct keeper *keeper)
{
	uint32_t nclauses, nall = nsites + windows_more(p) + (has_later ? INPROC_LATER : 0),
			   nwindows = nall + inproc_copies_room(p, nall);
	struct patch_opts opts = {.windows = nwindows,
				  .gate = p->opts.gate,
				  .keeper = keeper,
				  .stack_size = STUB_STACK_MAX + NATIVE_STACK_MAX,
				  .wants_owner = !p->opts.is_early,
				  .is_interrupted = p->opts.is_interrupted};
	struct err *e;

	blocks_read(p);
	if (clauses_have_sites(l, clauses))
		frames_find(p);
	if (has_relays || !p->has_tid || p->no_frames)
		opts.slots = nsites;
	e = thread_blocks_check(p);
	if (!e && !p->has_maps)
		e = inproc_maps_renew(p);
	if (!e)
		e = data_plan(p, l, clauses, nsites, &nclauses);
	if (e)
		return e;
	p->plan->frames = p->frames;
	span_find(p, &opts.near_lo, &opts.near_hi);
	opts.data_size = p->plan->size;
	opts.code_size = blob_code_size + sizeof(struct blob_conf) +
			 p->plan->ntables * sizeof(struct blob_table) + CODE_ROOM +
			 (uint64_t)nclauses * CODE_PER_CLAUSE + (uint64_t)nwindows * CODE_PER_SITE;
	p->layout = l;
	p->has_our_ids = has_our_ids(p->opts.pid);
	p->clauses = xcalloc(MAX(l->nclauses, 1u), sizeof(*p->clauses));
	memcpy(p->clauses, clauses, l->nclauses * sizeof(*clauses));
	p->keeper = keeper;
	e = patch_open(p->opts.pid, &opts, &p->patch);
	if (!e)
		e = data_fill(p, l);
	if (!e)
		e = blob_place(p);
	if (!e)
		e = locked_place(p);
	for (uint32_t i = 0; i < p->files.len && !e; i++)
		if (!p->files.data[i]->is_far && inproc_file_reach(p, p->files.data[i]))
			inproc_copies_reach(p, p->files.data[i]);
	if (!e)
		return NULL;
	patch_close(p->patch);
	p->patch = NULL;
	return e;
}
