/* SPDX-License-Identifier: MIT */
/* Decides who walks user stacks, and loads what the walks need (stacks.h). */
#include "stacks/stacks.h"

#include <dirent.h>

#include "base/str.h"
#include "base/text.h"
#include "image/debugfile.h"
#include "image/image.h"
#include "kernel/kernel.h"
#include "record/layout.h"
#include "stacks/impl.h"
#include "target/ident.h"
#include "target/target.h"

/*
 * CPU time at the start for processes that are not targets, and time of the clock on a busy
 * machine: for those of runtimes, whose first stacks would have no frames of the language, so that
 * a sixteenth of a CPU is enough; and for the rest, which walks ask for.
 */
#define RUNTIMES_NS	 500000000
#define RUNTIMES_WAIT_NS 8000000000
#define OTHERS_NS	 100000000
#define OTHERS_WAIT_NS	 400000000
#define UNWIND_SLICE_NS	 5000000

/* ---- who walks, and how deep ---------------------------------------------------------------- */

/* Returns the most frames that the kernel walks. */
static uint32_t kernel_max_frames(void)
{
	CLEANUP(file) FILE *f = fopen("/proc/sys/kernel/perf_event_max_stack", "re");
	unsigned int n;

	return f && fscanf(f, "%u", &n) == 1 && n ? n : STACK_FRAMES_DEFAULT;
}

static void walker_choose(struct stacks *s)
{
	struct strbuf text = {0};
	struct err *e;

	if (!s->opts.needs.has_walks || !feat_has(FEAT_TASK_BTF))
		return;
	e = kfields_walk(NULL);
	s->walks_here = !e;
	if (!e)
		return;
	strbuf_addf(&text,
		    "user stacks are found by frame pointers only, because %s: without them, "
		    "frames are missing",
		    err_text(e));
	s->opts.notice(s->opts.ctx, strbuf_text(&text));
	strbuf_deinit(&text);
	err_destroy(e);
}

uint64_t stacks_tables_size(const struct stacks *s)
{
	return s->walks_here ? MAX(s->opts.unwindsize, 1u) : 0;
}

uint32_t stacks_max_uframes(const struct stacks *s)
{
	int64_t opt = s->opts.max_frames;

	if (!s->walks_here)
		return 0;
	return opt > 0 ? (uint32_t)MIN(opt, PROG_FRAMES_MAX) : PROG_FRAMES_MAX;
}

uint32_t stacks_max_frames(const struct stacks *s)
{
	const struct stack_needs *needs = &s->opts.needs;
	uint32_t asked = s->walks_here ? needs->frames : MAX(needs->frames, needs->uframes);
	uint32_t kernel = kernel_max_frames();
	struct strbuf text = {0};

	if (s->opts.max_frames > 0 && s->opts.max_frames < kernel)
		return (uint32_t)s->opts.max_frames;
	if (asked > kernel) {
		strbuf_addf(&text,
			    "stacks of %u frames are cut to %u, the limit of this kernel "
			    "(sysctl kernel.perf_event_max_stack raises it)",
			    asked, kernel);
		s->opts.adjusted(s->opts.ctx, strbuf_text(&text));
		strbuf_deinit(&text);
	}
	return kernel;
}

/* ---- tables and helpers --------------------------------------------------------------------- */

static void helper_adjusted(void *ctx, const char *msg)
{
	const struct stacks *s = ctx;

	s->opts.adjusted(s->opts.ctx, msg);
}

static void helper_debug(void *ctx, const char *msg)
{
	const struct stacks *s = ctx;

	s->opts.debug(s->opts.ctx, msg);
}

/* A helper of the process restores callee-saved registers. */
static void helper_saves(void *ctx, pid_t pid)
{
	unwinds_load_saved(((struct stacks *)ctx)->tables, pid);
}

static struct err *helpers_create(struct stacks *s)
{
	struct ustack_opts opts = s->opts.helpers;

	opts.ctx = s;
	opts.notice = helper_adjusted;
	opts.saves = helper_saves;
	opts.debug = s->opts.debug ? helper_debug : NULL;
	if (s->walks_here && s->opts.needs.has_names)
		return ustacks_create(&opts, &s->helpers);
	if (opts.file && *opts.file)
		s->opts.notice(s->opts.ctx,
			       "option helper: no clause records a user stack that is walked by "
			       "its unwind information");
	return NULL;
}

bool stacks_has_helpers(const struct stacks *s)
{
	return s && s->helpers;
}

bool stacks_has_tables(const struct stacks *s)
{
	return s && s->tables;
}

bool stacks_has_frames(const struct stacks *s)
{
	return stacks_has_tables(s) && (s->opts.needs.uframes || s->opts.needs.has_names);
}

bool stacks_has_helper(const struct stacks *s, const char *path)
{
	return s && ustacks_has_name(s->helpers, path);
}

static void tables_denied(void *ctx, uint64_t pid)
{
	const struct stacks *s = ctx;

	s->opts.denied(s->opts.ctx, pid);
}

static void tables_between(void *ctx, bool is_nested)
{
	struct stacks *s = ctx;

	if (!is_nested && !s->is_naming)
		s->opts.between(s->opts.ctx);
	requests_take_between(s, !is_nested);
}

/*
 * The symbols of a large program take as long as a tenth of a second, on a busy machine some
 * seconds: who prints frames of the first stack of a process is not to keep its later ones bare.
 */
static void symbols_between(void *ctx)
{
	struct stacks *s = ctx;
	bool was_naming = s->is_naming;

	s->is_naming = true;
	requests_take_between(s, false);
	s->is_naming = was_naming;
}

struct err *stacks_begin(struct stacks *s, const struct stack_tables *engine)
{
	const struct unwind_hooks hooks = {s, helper_adjusted, tables_denied, tables_between};

	s->engine = engine;
	s->tables = unwinds_create(engine, s->opts.unwindsize, s->opts.helpers.files, &hooks);
	s->opts.helpers.files->images->pause = (struct image_pause){symbols_between, s};
	return ustacks_begin(s->helpers, engine);
}

/* ---- processes that run --------------------------------------------------------------------- */

/* What may be done for them before any probe fires. */
struct allowance {
	const atomic_int *is_interrupted;
	uint64_t worked, now; /* ends of it: of worked_ns(), and of now_ns() */
};

static struct allowance allowance_begin(const atomic_int *is_interrupted, uint64_t ns,
					uint64_t wait_ns)
{
	return (struct allowance){is_interrupted, worked_ns() + ns, now_ns() + wait_ns};
}

static bool allowance_is_over(const struct allowance *a)
{
	return *a->is_interrupted || worked_ns() >= a->worked || now_ns() >= a->now;
}

/* For the option debug: what was prepared since then, helpers or tables. */
static void prepare_debug(const struct stacks *s, const char *whose, const char *what, uint32_t n,
			  uint64_t since, uint64_t worked_since)
{
	struct strbuf text = {0};

	if (!s->opts.debug)
		return;
	strbuf_addf(&text, "%s: %s of %u process%s in %.2f ms, %.2f ms of a CPU", whose, what, n,
		    WORD_FOR(n, "", "es"), (double)(now_ns() - since) / 1e6,
		    (double)(worked_ns() - worked_since) / 1e6);
	s->opts.debug(s->opts.ctx, strbuf_text(&text));
	strbuf_deinit(&text);
}

/* Which processes are prepared. */
enum wanted {
	WANT_RUNNING = 1, /* those that use a CPU */
	WANT_RUNTIME = 2, /* those that map a file of a runtime's name */
};

/* Processes whose helpers are attached, and whose tables are still to be loaded. */
typedef VEC(pid_t) pid_list;

/* Attaches the helpers of a process that was not met; true: it has some. */
static bool process_prepare(struct stacks *s, pid_t pid, unsigned int wanted)
{
	struct target *t = NULL;
	bool is_attached = false;
	uint64_t key;
	struct err *e;

	if (ustacks_has_met(s->helpers, pid) || ((wanted & WANT_RUNNING) && !proc_is_running(pid)))
		return false;
	key = ustacks_begun_key(pid);
	if (!key)
		return false;
	e = target_live_open(pid, s->opts.helpers.files->gate, &t);
	if (!e && (!(wanted & WANT_RUNTIME) || ustacks_has_file(s->helpers, target_maps(t))))
		is_attached = ustacks_attach(s->helpers, key, t, false);
	err_destroy(e); /* it has ended, or we may not look at it */
	target_close(t);
	return is_attached;
}

/* Prepares all processes that are wanted, and adds those that have helpers now. */
static void processes_prepare(struct stacks *s, const struct allowance *a, unsigned int wanted,
			      pid_list *ret)
{
	DIR *d = opendir("/proc");
	const struct dirent *de;

	while (d && !allowance_is_over(a) && (de = readdir(d))) {
		long pid = strtol(de->d_name, NULL, 10);

		if (pid > 0 && process_prepare(s, (pid_t)pid, wanted))
			vec_push(ret, (pid_t)pid);
	}
	if (d)
		(void)closedir(d);
}

/*
 * Loads the tables of processes with helpers: walks find the frames of other languages behind those
 * of the runtime. All helpers come first, because the tables of one large file may take as long as
 * the helpers of a hundred processes. Returns of how many the tables are loaded.
 */
static uint32_t tables_prepare(struct stacks *s, const struct allowance *a, const pid_list *list)
{
	uint32_t n = 0;

	for (; n < list->len && !allowance_is_over(a); n++)
		unwinds_load_process(s->tables, list->data[n]);
	return n;
}

/* Of processes with files of a runtime's names, first those that use a CPU. */
static void runtimes_prepare(struct stacks *s, const atomic_int *is_interrupted)
{
	struct allowance a = allowance_begin(is_interrupted, RUNTIMES_NS, RUNTIMES_WAIT_NS);
	uint64_t since = now_ns(), worked_since = worked_ns();
	pid_list list = {0};
	uint32_t n;

	processes_prepare(s, &a, WANT_RUNNING | WANT_RUNTIME, &list);
	processes_prepare(s, &a, WANT_RUNTIME, &list);
	prepare_debug(s, "runtimes", "helpers", list.len, since, worked_since);
	since = now_ns();
	worked_since = worked_ns();
	n = tables_prepare(s, &a, &list);
	prepare_debug(s, "runtimes", "tables", n, since, worked_since);
	vec_deinit(&list);
}

/* Tables of all processes; then the runtimes that programs contain are known by symbols. */
static void others_prepare(struct stacks *s, const atomic_int *is_interrupted)
{
	struct allowance a = allowance_begin(is_interrupted, OTHERS_NS, OTHERS_WAIT_NS);
	pid_list list = {0};

	unwinds_scan(s->tables);
	while (!allowance_is_over(&a))
		if (!stacks_work(s, now_ns() + UNWIND_SLICE_NS))
			break;
	if (!s->opts.needs.reaches_others || !s->helpers)
		return;
	processes_prepare(s, &a, WANT_RUNNING, &list);
	processes_prepare(s, &a, 0, &list);
	(void)tables_prepare(s, &a, &list);
	vec_deinit(&list);
}

/* The same of one that was named; its native frames need tables, too. */
static void named_prepare(struct stacks *s, const struct stack_process *named)
{
	struct target *t = NULL;
	uint64_t key = ustacks_begun_key(named->pid), since, worked_since;
	struct gate *g = s->opts.helpers.files->gate;
	struct err *e = named->is_held ? target_held_open(named->pid, g, &t)
				       : target_live_open(named->pid, g, &t);

	if (!e) {
		unwinds_load_maps(s->tables, named->pid, target_maps(t));
		since = now_ns();
		worked_since = worked_ns();
		prepare_debug(s, "targets", "helpers",
			      ustacks_attach(s->helpers, key, t, named->is_held), since,
			      worked_since);
	}
	err_destroy(e);
	target_close(t);
}

void stacks_prepare(struct stacks *s, const struct stack_process *named, uint32_t n,
		    const atomic_int *is_interrupted)
{
	if (!s || !s->tables)
		return;
	for (uint32_t i = 0; i < n && !*is_interrupted; i++)
		named_prepare(s, &named[i]);
	if (s->opts.needs.reaches_others && s->helpers)
		runtimes_prepare(s, is_interrupted);
	others_prepare(s, is_interrupted);
}

bool stacks_work(struct stacks *s, uint64_t deadline)
{
	uint64_t now;

	if (!s || !s->tables)
		return false;
	do {
		stacks_serve(s);
		now = now_ns();
	} while (now < deadline && unwinds_load_next(s->tables));
	unwinds_tick(s->tables, now);
	ustacks_work(s->helpers);
	return unwinds_are_left(s->tables);
}

/* ---- beginning and end ---------------------------------------------------------------------- */

struct err *stacks_create(const struct stacks_opts *opts, struct stacks **ret)
{
	struct stacks *s = xcalloc(1, sizeof(*s));
	struct err *e;

	s->opts = *opts;
	walker_choose(s);
	e = helpers_create(s);
	if (e) {
		stacks_destroy(s);
		return e;
	}
	*ret = s;
	return NULL;
}

void stacks_destroy(struct stacks *s)
{
	if (!s)
		return;
	if (s->tables)
		s->opts.helpers.files->images->pause = (struct image_pause){0};
	ustacks_destroy(s->helpers);
	unwinds_destroy(s->tables);
	vec_deinit(&s->wanted);
	vec_deinit(&s->meetings);
	vec_deinit(&s->starting);
	free(s);
}

bool stacks_describe(const struct stacks *s, struct strbuf *out)
{
	if (!s || !s->tables)
		return false;
	unwinds_describe(s->tables, out);
	return true;
}

uint64_t stacks_bare(const struct stacks *s)
{
	return s ? ustacks_bare(s->helpers) : 0;
}

bool stacks_note(const struct stacks *s, enum rt_note which, struct strbuf *out)
{
	return s && ustacks_note(s->helpers, which, out);
}
