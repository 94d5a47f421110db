/* SPDX-License-Identifier: MIT */
/* User stacks of a session: who walks them, how deep, with which tables and helpers. */
#include "helper/ustack.h"

#include "arch/arch.h"
#include "consume/wait.h"
#include "session/live/live.h"
#include "sym/sym.h"
#include "target/control.h"
#include "unwind/unwind.h"
#include "watch/watch.h"

/* CPU time at the start that unwind tables may take, and time of the clock on a busy machine. */
#define UNWIND_LOAD_NS	100000000
#define UNWIND_WAIT_NS	400000000
#define UNWIND_SLICE_NS 5000000

/* ---- which stacks are asked for ------------------------------------------------------------- */

/* Returns the most frames that the kernel walks. */
static uint32_t kernel_max_frames(void)
{
	CLEANUP(file) FILE *f = fopen("/proc/sys/kernel/perf_event_max_stack", "re");
	unsigned int n;

	return f && fscanf(f, "%u", &n) == 1 && n ? n : STACK_FRAMES_DEFAULT;
}

/* Returns the most frames that an enabled clause wants of a stack that the kernel walks. */
static uint32_t frames_asked(const struct live *live)
{
	struct prog_difo at = {0};
	uint32_t most = 0;

	while (prog_each_difo(live->match->used, live->match->nused, &at))
		if (clause_difo_is(&at.in, DATUM_STACK) ||
		    (!live->unwinds_here && clause_difo_is(&at.in, DATUM_USTACK)))
			most = MAX(most, difo_stack_frames(at.in.difo));
	return most;
}

uint32_t live_max_uframes(const struct live *live)
{
	int64_t opt = live->opts->val[OPT_maxframes];

	if (!live->unwinds_here)
		return 0;
	return opt > 0 ? (uint32_t)MIN(opt, PROG_FRAMES_MAX) : PROG_FRAMES_MAX;
}

uint32_t live_max_frames(struct live *live)
{
	int64_t opt = live->opts->val[OPT_maxframes];
	uint32_t kernel = kernel_max_frames(), asked = frames_asked(live);

	if (opt > 0 && opt < kernel)
		return (uint32_t)opt;
	if (asked > kernel)
		report_adjusted(live->report,
				"stacks of %u frames are cut to %u, the limit of this kernel "
				"(sysctl kernel.perf_event_max_stack raises it)",
				asked, kernel);
	return kernel;
}

static bool difo_walks(const struct difo *d)
{
	for (uint32_t i = 0; i < d->code_len; i++) {
		uint32_t var = DIF_INSN_INDEX(d->code[i]);

		if (DIF_INSN_OP(d->code[i]) == DIF_OP_LDGS &&
		    (var == DIF_VAR_UCALLER || var == DIF_VAR_USTACKDEPTH))
			return true;
	}
	return false;
}

/* Whether the object, or what is recorded for it, needs a walk of the user stack. */
static bool is_walk(const struct clause_difo *at)
{
	return clause_difo_is(at, DATUM_USTACK) || difo_walks(at->difo);
}

static bool is_user_address(const struct clause_difo *at)
{
	return clause_difo_is(at, DATUM_USTACK) || clause_difo_is(at, DATUM_USYM) ||
	       clause_difo_is(at, DATUM_UMOD) || clause_difo_is(at, DATUM_UADDR);
}

static bool has_room(const struct clause_difo *at)
{
	return clause_difo_is(at, DATUM_USTACK) && difo_stack_strsize(at->difo);
}

/* Whether the enabled clauses have such an object. */
static bool any_difo(const struct live *live, bool (*is)(const struct clause_difo *at))
{
	struct prog_difo at = {0};

	while (prog_each_difo(live->match->used, live->match->nused, &at))
		if (is(&at.in))
			return true;
	return false;
}

static void plan_walks(struct live *live)
{
	struct err *e;

	live->unwinds_here = false;
	if (!any_difo(live, is_walk) || !feat_has(FEAT_TASK_BTF))
		return;
	e = kfields_walk(&live->ukernel);
	live->unwinds_here = !e;
	if (e)
		report_notice(
			live->report,
			"user stacks are found by frame pointers only, because %s: without them, "
			"frames are missing",
			err_text(e));
	err_destroy(e);
}

bool live_has_user_addresses(const struct live *live)
{
	return any_difo(live, is_user_address);
}

/* ---- helpers -------------------------------------------------------------------------------- */

static void notice_unwind(void *ctx, const char *msg)
{
	report_adjusted(((struct live *)ctx)->report, "%s", msg);
}

static void debug_helpers(void *ctx, const char *msg)
{
	report_debug(((struct live *)ctx)->report, "%s", msg);
}

/* The folders of ustack helpers: below those of libraries. */
static const char *const *helper_dirs(struct live *live)
{
	const char **dirs = ARENA_NEW_N(live->arena, const char *, live->opts->libdirs.len);

	for (uint32_t i = 0; i < live->opts->libdirs.len; i++)
		dirs[i] = arena_printf(live->arena, "%s/helpers",
				       (const char *)live->opts->libdirs.data[i]);
	return dirs;
}

static void saves_process(void *ctx, pid_t pid)
{
	unwinds_load_saved(((struct live *)ctx)->unwinds, pid);
}

/* The files whose names ustack helpers may use. */
static const char *const *helper_preludes(struct live *live, const char *library)
{
	const char **paths = ARENA_NEW_N(live->arena, const char *, 3);

	paths[0] = arena_printf(live->arena, "%s/%s/regs.d", library, arch.name);
	paths[1] = arena_printf(live->arena, "%s/helpers/prelude/prelude.d", library);
	return paths;
}

void live_ustack_opts(struct live *live, struct ustack_opts *ret)
{
	const char *library = library_system_dir(live->opts->str[OPT_syslibdir]);

	*ret = (struct ustack_opts){
		.file = live->opts->str[OPT_helper],
		.preludes = helper_preludes(live, library),
		.dirs = helper_dirs(live),
		.ndirs = live->opts->libdirs.len,
		.system_dir = arena_printf(live->arena, "%s/helpers", library),
		.compile = &live->compiler->compile_opts,
		.files = &live->names->file_opts,
		.ctx = live,
		.notice = notice_unwind,
		.saves = saves_process,
		.debug = report_is_debugging(live->report) ? debug_helpers : NULL,
	};
}

static struct err *make_helpers(struct live *live)
{
	struct ustack_opts opts;

	live_ustack_opts(live, &opts);
	if (live->unwinds_here && any_difo(live, has_room))
		return ustacks_create(&opts, &live->ustacks);
	if (opts.file && *opts.file)
		report_notice(live->report,
			      "option helper: no clause records a user stack that is walked by its "
			      "unwind information");
	return NULL;
}

struct err *live_plan_stacks(struct live *live)
{
	plan_walks(live);
	return make_helpers(live);
}

/* ---- tables --------------------------------------------------------------------------------- */

static void between_unwinds(void *ctx)
{
	struct live *live = ctx;

	watch_drain(live->watch);
}

static void denied_unwind(void *ctx, uint64_t pid)
{
	names_denied(((struct live *)ctx)->names, pid);
}

static void met_process(void *ctx, uint64_t key, uint64_t pid)
{
	ustacks_meet(((struct live *)ctx)->ustacks, key, (pid_t)pid);
}

/*
 * Loads the tables of all targets, and those of other processes, first those that run, until
 * UNWIND_LOAD_NS is used up.
 */
static struct err *make_unwinds(struct live *live)
{
	uint64_t from, until;
	const struct unwind_hooks hooks = {live, notice_unwind, denied_unwind, met_process,
					   between_unwinds};
	struct err *e = unwinds_create(engines_tables(&live->engines),
				       (uint64_t)live->opts->val[OPT_unwindsize],
				       &live->names->file_opts, &hooks, &live->unwinds);

	if (!e)
		e = waiter_listen(live->waiter, unwinds_fd(live->unwinds));
	if (!e)
		e = ustacks_begin(live->ustacks, engines_tables(&live->engines));
	if (e)
		return e;
	for (uint32_t i = 0; i < live->targets->procs.len; i++)
		unwinds_load_process(live->unwinds, proc_pid(live->targets->procs.data[i]));
	unwinds_scan(live->unwinds);
	until = now_ns() + UNWIND_WAIT_NS;
	from = worked_ns();
	while (!live->is_interrupted && worked_ns() - from < UNWIND_LOAD_NS && now_ns() < until)
		if (!unwinds_work(live->unwinds, now_ns() + UNWIND_SLICE_NS))
			break;
	return NULL;
}

struct err *live_begin_stacks(struct live *live)
{
	return engines_tables(&live->engines) ? make_unwinds(live) : NULL;
}

/* ---- subscribers of the watch --------------------------------------------------------------- */

static void tables_mapped(void *ctx, const struct watch_subject *s, const struct sym_map *m)
{
	if (m->ino)
		unwinds_mapped(ctx, s->pid, m);
}

static void helpers_mapped(void *ctx, const struct watch_subject *s, const struct sym_map *m)
{
	ustacks_mapped(ctx, s->pid, m, s->time);
}

static void helpers_gone(void *ctx, const struct watch_subject *s)
{
	ustacks_gone(ctx, s->pid, s->time);
}

/* A runtime may be a library that a process opens late. */
static const struct watch_subscriber helpers_of_all = {
	.name = "ustack helpers",
	.scope = WATCH_ALL,
	.mapped = helpers_mapped,
	.execed = helpers_gone,
	.ended = helpers_gone,
};

/* Opens a file that any process maps, and reads it before files that a scan has queued. */
static const struct watch_subscriber tables_of_all = {
	.name = "unwind tables",
	.scope = WATCH_ALL,
	.mapped = tables_mapped,
};

static void tables_settled(void *ctx, const struct watch_subject *s)
{
	unwinds_load_process(ctx, (pid_t)s->pid);
}

/* Loads the unwind tables of a followed process before its first stack. */
static const struct watch_subscriber tables_of_followed = {
	.name = "unwind tables of followed processes",
	.scope = WATCH_FOLLOWED,
	.settled = tables_settled,
};

void live_watch_stacks(struct live *live)
{
	if (live->unwinds && live_has_user_addresses(live))
		watch_subscribe(live_watch(live), &tables_of_all, live->unwinds);
	if (live->ustacks)
		watch_subscribe(live_watch(live), &helpers_of_all, live->ustacks);
}

void live_watch_followed_stacks(struct live *live)
{
	if (live->unwinds)
		watch_subscribe(live_watch(live), &tables_of_followed, live->unwinds);
}
