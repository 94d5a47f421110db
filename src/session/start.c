/* SPDX-License-Identifier: MIT */
/* Takes a run from compiled programs to firing probes, and back (run.h). */
#include <errno.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <time.h>

#include "arch/arch.h"
#include "provider/providers.h"
#include "target/control.h"
#include "target/target.h"
#include "target/touch.h"
#include "helper/ustack.h"
#include "session/prewatch.h"
#include "session/arrivals.h"
#include "consume/wait.h"
#include "session/run.h"
#include "unwind/unwind.h"
#include "files/gate.h"
#include "sym/sym.h"
#include "watch/watch.h"

/* CPU time at the start that unwind tables may take, and time of the clock on a busy machine. */
#define UNWIND_LOAD_NS	100000000
#define UNWIND_WAIT_NS	400000000
#define UNWIND_SLICE_NS 5000000

/* ---- checks --------------------------------------------------------------------------------- */

static struct err *check_destructive(const struct run *run)
{
	if (!match_is_destructive(run->match) || opt_flag(run->opts, OPT_destructive))
		return NULL;
	return err_hint(err_code(err_new("Destructive actions not allowed"), EDT_DESTRUCTIVE),
			"add -w");
}

/* Returns an error for a subroutine that this kernel does not allow. */
static struct err *check_features(const struct run *run)
{
	if (!match_calls(run->match, FX_WRITES_USER) || feat_has(FEAT_WRITE_USER))
		return NULL;
	return err_hint(err_code(err_new("copyout() and copyoutstr(): this kernel refuses %s",
					 feat_what(FEAT_WRITE_USER)),
				 EDT_NOTSUP),
			"it is forbidden under kernel lockdown, and some kernels are built without "
			"it");
}

/* ---- layout --------------------------------------------------------------------------------- */

/*
 * Returns how many bytes print() records: enough for the option, and for values that setopt() will
 * give it, where these are known.
 */
static uint32_t max_printsize(const struct run *run)
{
	int64_t most = run->opts->val[OPT_printsize];

	for (uint32_t i = 0; i < run->match->clauses.len; i++) {
		const struct prog_clause *cl = run->match->clauses.data[i].clause;

		for (uint32_t j = 0; j < cl->nacts; j++) {
			const struct prog_act *act = &cl->acts[j];
			const char *name =
				act->kind == ACT_SETOPT ? difo_is_strconst(act->args[0]) : NULL;
			const char *value =
				name && act->nargs > 1 ? difo_is_strconst(act->args[1]) : NULL;

			if (value && strcmp(name, opt_descs[OPT_printsize].name) == 0)
				most = MAX(most, opt_size_of(OPT_printsize, value));
		}
	}
	return (uint32_t)most;
}

static void notice_unwind(void *ctx, const char *msg)
{
	report_adjusted(((struct run *)ctx)->report, "%s", msg);
}

static void debug_helpers(void *ctx, const char *msg)
{
	report_debug(((struct run *)ctx)->report, "%s", msg);
}

/* The files whose names ustack helpers may use. */
static const char *const *helper_preludes(struct run *run, const char *library)
{
	const char **paths = ARENA_NEW_N(run->arena, const char *, 3);

	paths[0] = arena_printf(run->arena, "%s/%s/regs.d", library, arch.name);
	paths[1] = arena_printf(run->arena, "%s/helpers/prelude/prelude.d", library);
	return paths;
}

/* The folders of ustack helpers: below those of libraries. */
static const char *const *helper_dirs(struct run *run)
{
	const char **dirs = ARENA_NEW_N(run->arena, const char *, run->opts->libdirs.len);

	for (uint32_t i = 0; i < run->opts->libdirs.len; i++)
		dirs[i] = arena_printf(run->arena, "%s/helpers",
				       (const char *)run->opts->libdirs.data[i]);
	return dirs;
}

static void saves_process(void *ctx, pid_t pid)
{
	unwinds_load_saved(((struct run *)ctx)->unwinds, pid);
}

void run_ustack_opts(struct run *run, struct ustack_opts *ret)
{
	const char *library = library_system_dir(run->opts->str[OPT_syslibdir]);

	*ret = (struct ustack_opts){
		.file = run->opts->str[OPT_helper],
		.preludes = helper_preludes(run, library),
		.dirs = helper_dirs(run),
		.ndirs = run->opts->libdirs.len,
		.system_dir = arena_printf(run->arena, "%s/helpers", library),
		.compile = &run->compiler->compile_opts,
		.files = &run->names->file_opts,
		.ctx = run,
		.notice = notice_unwind,
		.saves = saves_process,
		.debug = report_is_debugging(run->report) ? debug_helpers : NULL,
	};
}

static struct err *make_helpers(struct run *run)
{
	struct ustack_opts opts;

	run_ustack_opts(run, &opts);
	if (run->unwinds_here && run_names_frames(run))
		return ustacks_create(&opts, &run->ustacks);
	if (opts.file && *opts.file)
		report_notice(run->report,
			      "option helper: no clause records a user stack that is walked by its "
			      "unwind information");
	return NULL;
}

static void make_layout(struct run *run, uint32_t ncpus)
{
	const struct prog_vars *vars = dsession_vars(run->compiler->dsession);
	const struct prog_aggs *aggs = dsession_aggs(run->compiler->dsession);
	struct layout_opts opts = {
		.strsize = (uint32_t)run->opts->val[OPT_strsize],
		.aggsize = aggs->len ? run_map_size(run, OPT_aggsize, "aggregation size") : 0,
		.dynvarsize =
			vars->len ? run_map_size(run, OPT_dynvarsize, "dynamic variable size") : 0,
		.ncpus = ncpus,
		.max_frames = run_max_frames(run),
		.max_uframes = run_max_uframes(run),
		.nspec = (uint32_t)run->opts->val[OPT_nspec],
		.specsize = (uint64_t)run->opts->val[OPT_specsize],
		.counts_vtime = match_reads(run->match, DIF_VAR_VTIMESTAMP),
		.scratchsize = (uint32_t)run->opts->val[OPT_scratchsize],
		.printsize = max_printsize(run),
		.has_pids = match_has_pids(run->match) || later_has_pids(run),
		.max_maps = engines_max_maps(run->engine_choice, ncpus),
	};

	opts.has_helpers = run->ustacks;
	match_make_layout(run->match, vars, aggs, &opts);
}

static int64_t wall_offset(void)
{
	struct timespec wall;
	uint64_t before = now_ns();

	(void)clock_gettime(CLOCK_REALTIME, &wall); /* cannot fail */
	return wall.tv_sec * 1000000000LL + wall.tv_nsec - (int64_t)((before + now_ns()) / 2);
}

/* ---- programs ------------------------------------------------------------------------------- */

static struct err *blame_source(const struct run *run, struct err *e, uint32_t span)
{
	struct source_loc loc;

	if (span == SOURCE_NOWHERE)
		return e;
	loc = source_locate(dsession_sources(run->compiler->dsession), span);
	if (!loc.src || (loc.src->kind == SOURCE_STRING && !loc.text_len))
		return e;
	if (loc.src->kind == SOURCE_STRING)
		return err_wrap(e, "'%.*s'", (int)MIN(loc.text_len, 60u), loc.text);
	return err_wrap(e, "%s:%u", loc.file, loc.line);
}

int run_cpu(const struct run *run)
{
	return run->opts->val[OPT_cpu] == OPT_UNSET ? -1 : (int)run->opts->val[OPT_cpu];
}

static struct err *check_cpu(const struct run *run)
{
	int cpu = run_cpu(run);

	if (cpu < (int)run->engine->ncpus && (cpu < 0 || run->engine->wake_fds[cpu] >= 0))
		return NULL;
	return err_code(err_new("CPU %d is not there (option 'cpu')", cpu), EDT_BADOPTVAL);
}

struct err *run_load_unit(struct run *run, struct session_unit *u)
{
	uint32_t span = SOURCE_NOWHERE;
	struct err *e = u->engine->engine->load(u->engine, &u->unit, &u->loaded, &span);

	return e ? blame_source(run, e, span) : NULL;
}

void run_unload_unit(struct run *run, struct session_unit *u)
{
	if (u->loaded)
		u->engine->engine->unload(u->engine, u->loaded);
	u->loaded = NULL;
}

static struct err *load_units(struct run *run)
{
	struct err *e = NULL;

	report_begin(run->report, "loading programs", run->match->units.len);
	for (uint32_t i = 0; i < run->match->units.len && !e; i++) {
		report_progress(run->report, i);
		e = run->is_interrupted ? err_sys(EINTR, "a signal came before tracing began")
					: run_load_unit(run, run->match->units.data[i]);
	}
	report_end(run->report);
	return e;
}

static void notice_attach(void *ctx, const char *msg)
{
	report_notice(ctx, "%s", msg);
}

struct attach_opts run_attach_opts(struct run *run)
{
	return (struct attach_opts){
		.cpu = run_cpu(run),
		.max_places = (uint32_t)run->opts->val[OPT_maxplaces],
		.has_children = run->opts->val[OPT_follow] == FOLLOW_OPT_FORK,
		.is_interrupted = &run->is_interrupted,
		.notice = notice_attach,
		.notice_ctx = run->report,
	};
}

struct err *run_attach_unit(struct run *run, struct session_unit *u, struct attachments *ret)
{
	struct attach_opts opts = run_attach_opts(run);

	opts.group = u->group;
	return u->engine->engine->attach(u->engine, u->loaded, &opts, ret);
}

/* Units of what processes have mapped since the clauses were matched are attached already. */
static struct err *attach_units(struct run *run)
{
	uint64_t done = 0, total = 0;
	struct err *e = NULL;

	for (uint32_t i = 0; i < run->match->units.len; i++)
		total += run->match->units.data[i]->points.len;
	report_begin(run->report, "placing probes", total);
	for (uint32_t i = 0; i < run->match->units.len && !run->is_interrupted && !e; i++) {
		struct session_unit *u = run->match->units.data[i];

		done += u->points.len;
		if (u->group)
			continue;
		if (!unit_has_timers(u))
			e = run_attach_unit(run, u, &run->attachments);
		report_progress(run->report, done);
		if (!e)
			report_debug(run->report, "'%s': attached", u->unit.name);
	}
	report_end(run->report);
	if (e)
		return e;
	return run->is_interrupted ? NULL : run_start_timers(run);
}

/* Fires BEGIN or END, if a clause is enabled on it. */
struct err *run_fire(const struct run *run, uint32_t key)
{
	for (uint32_t i = 0; i < run->match->units.len; i++) {
		const struct session_unit *u = run->match->units.data[i];

		if (!u->unit.is_begin_end)
			continue;
		for (uint32_t j = 0; j < u->points.len; j++)
			if (u->points.data[j].key == key)
				return u->engine->engine->fire(u->engine, u->loaded, key);
	}
	return NULL;
}

/* ---- waiting -------------------------------------------------------------------------------- */

static void between_unwinds(void *ctx)
{
	struct run *run = ctx;

	watch_drain(run->watch);
}

static void denied_unwind(void *ctx, uint64_t pid)
{
	names_denied(((struct run *)ctx)->names, pid);
}

static void met_process(void *ctx, uint64_t key, uint64_t pid)
{
	ustacks_meet(((struct run *)ctx)->ustacks, key, (pid_t)pid);
}

/*
 * Loads the tables of all targets, and those of other processes, first those that run, until
 * UNWIND_LOAD_NS is used up.
 */
static struct err *make_unwinds(struct run *run)
{
	uint64_t from, until;
	const struct unwind_hooks hooks = {run, notice_unwind, denied_unwind, met_process,
					   between_unwinds};
	struct err *e = unwinds_create(engines_tables(&run->engines),
				       (uint64_t)run->opts->val[OPT_unwindsize],
				       &run->names->file_opts, &hooks, &run->unwinds);

	if (!e)
		e = waiter_listen(run->waiter, unwinds_fd(run->unwinds));
	if (!e)
		e = ustacks_begin(run->ustacks, engines_tables(&run->engines));
	if (e)
		return e;
	for (uint32_t i = 0; i < run->targets->procs.len; i++)
		unwinds_load_process(run->unwinds, proc_pid(run->targets->procs.data[i]));
	unwinds_scan(run->unwinds);
	until = now_ns() + UNWIND_WAIT_NS;
	from = worked_ns();
	while (!run->is_interrupted && worked_ns() - from < UNWIND_LOAD_NS && now_ns() < until)
		if (!unwinds_work(run->unwinds, now_ns() + UNWIND_SLICE_NS))
			break;
	return NULL;
}

static struct err *make_waiter(struct run *run)
{
	struct err *e = run->wake_fd < 0 ? err_sys(EMFILE, "cannot wait for buffers")
					 : waiter_create(run->engines.runs, run->engines.n,
							 run->wake_fd, &run->waiter);

	for (uint32_t i = 0; i < run->targets->procs.len && !e; i++)
		e = waiter_watch(run->waiter, proc_fd(run->targets->procs.data[i]));
	return !e && engines_tables(&run->engines) ? make_unwinds(run) : e;
}

/* ---- the phases ----------------------------------------------------------------------------- */

/* Moves a rate that is outside its limits, with a notice. */
static void clamp_rate(struct run *run, enum opt_id id, const char *what, int64_t min_ns,
		       int64_t max_ns)
{
	int64_t ns = run->opts->val[id], to = MIN(MAX(ns, min_ns), max_ns);

	if (ns == to)
		return;
	run->opts->val[id] = to;
	if (to <= 1000000000)
		report_adjusted(run->report, "%s %s to %lld hz", what,
				to > ns ? "reduced" : "increased", 1000000000LL / (long long)to);
	else
		report_adjusted(run->report, "%s %s to once every %lld seconds", what,
				to > ns ? "reduced" : "increased", (long long)to / 1000000000LL);
}

/* Finds the probes of the enabled programs; clauses of others are known, too. */
static struct err *match_programs(struct run *run)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < run->compiler->progs.len; i++)
		match_add_program(run->match, run->compiler->progs.data[i]->prog);
	e = later_check(run);
	for (uint32_t i = 0; i < run->compiler->progs.len && !e; i++)
		if (run->compiler->progs.data[i]->is_enabled)
			e = match_find_probes(run->match, run->compiler->progs.data[i]->prog);
	if (e)
		return e;
	match_number(run->match);
	later_plan(run);
	match_note_used(run->match);
	return NULL;
}

struct err *run_match(struct run *run)
{
	struct err *e;

	clamp_rate(run, OPT_statusrate, "status rate", 1, 10000000000);
	clamp_rate(run, OPT_cleanrate, "cleaning rate", 200000, 60000000000);
	e = match_programs(run);
	if (!e)
		e = check_destructive(run);
	if (!e)
		e = check_features(run);
	if (!e)
		e = pidns_find(&run->pidns);
	return e ? e : run_check_numbers(run);
}

/* Opens the engines, and fills in the data that its programs need from the beginning. */
static struct err *load_engines(struct run *run)
{
	struct err *e = run_open_engines(run);

	if (!e)
		e = check_cpu(run);
	if (e)
		return e;
	run->engine->control->wall_offset = wall_offset();
	run->engine->control->tracer_pid = getpid();
	return NULL;
}

struct err *run_load(struct run *run)
{
	uint32_t ncpus = cpus_possible();
	struct err *e;

	if (!ncpus)
		return err_sys(errno, "cannot count the CPUs");
	run_plan_walks(run);
	e = make_helpers(run);
	if (e)
		return e;
	make_layout(run, ncpus);
	match_make_units(run->match);
	e = load_engines(run);
	if (!e)
		e = load_units(run);
	if (!e)
		e = engines_ready(&run->engines);
	gate_set_patient(run->names->file_opts.gate, false);
	return e ? e : make_waiter(run);
}

enum rt_state run_state(const struct run *run)
{
	return (enum rt_state)__atomic_load_n(&run->engine->control->state, __ATOMIC_ACQUIRE);
}

static void set_state(struct run *run, enum rt_state state)
{
	__atomic_store_n(&run->engine->control->state, state, __ATOMIC_RELEASE);
}

/* The processes of -c are held: their clauses can read string constants from the beginning. */
static void constants_touch(const struct run *run)
{
	bool reads = match_reads_user(run->match);

	for (uint32_t i = 0; reads && i < run->targets->procs.len; i++) {
		const struct proc *p = run->targets->procs.data[i];
		struct target *t = NULL;

		if (!proc_is_created(p))
			continue;
		err_destroy(target_held_open(proc_pid(p), run->names->file_opts.gate, &t));
		if (t) /* else the process has ended */
			touch_constants(t);
		target_close(t);
	}
}

/*
 * The firings that the kernel has left out so far. To be called before links are closed: they have
 * counters, too.
 */
static uint64_t missed_sum(const struct run *run)
{
	bool has_yielding = false;
	uint64_t n = 0;

	for (uint32_t i = 0; i < run->match->units.len; i++) {
		const struct session_unit *u = run->match->units.data[i];

		has_yielding |= u->traits->yields;
		if (u->loaded)
			n += u->engine->engine->missed(u->engine, u->loaded);
	}
	return has_yielding ? n + engines_links_missed(&run->engines, &run->attachments) : n;
}

/*
 * Returns how many firings of kernel functions were missed before all probes were attached. No
 * clause would have run for them, so they are not reported as lost. The kernel needs seconds to
 * attach all functions, and calls tens of thousands of them meanwhile.
 */
static uint64_t missed_early(const struct run *run)
{
	for (uint32_t i = 0; i < run->match->units.len; i++)
		if (run->match->units.data[i]->traits->yields)
			return missed_sum(run);
	return 0;
}

static void missed_count(struct run *run)
{
	uint64_t n = missed_sum(run);

	run->nmissed += n - MIN(n, run->nmissed_early);
}

/*
 * BEGIN fires before anything else is attached; when it calls exit(), which turns ON into EXITING,
 * nothing ever is. The rest is attached while the state is OFF, so that all probes begin at the
 * same instant. The watch begins before that, because programs that ask whether their probes are
 * traced know it as soon as the first one is attached. Only children are followed afterwards: they
 * get what is attached to their parents. A signal (dtrace_interrupt()) ends attaching early: then
 * only BEGIN has fired, and END will fire.
 */
struct err *run_start(struct run *run)
{
	struct err *e;

	run->is_active = run->opts->is_active = true;
	set_state(run, RT_STATE_ON);
	e = run_fire(run, DTRACE_KEY_BEGIN);
	if (e)
		return err_wrap(e, "BEGIN");
	if (run_state(run) == RT_STATE_EXITING)
		return NULL;
	set_state(run, RT_STATE_OFF);
	if (!later_has_children(run))
		e = run_watch_processes(run);
	if (!e)
		e = attach_units(run);
	if (!e && run->is_interrupted) {
		run_stop(run);
		return NULL;
	}
	if (!e && later_has_children(run))
		e = run_watch_processes(run);
	if (e)
		return e;
	constants_touch(run);
	run->nmissed_early = missed_early(run);
	set_state(run, RT_STATE_ON);
	return NULL;
}

void run_stop(struct run *run)
{
	if (!run->is_active || run->is_stopped)
		return;
	later_stop(run);
	run->is_stopped = true;
	set_state(run, RT_STATE_OFF);
	watch_stop(run->watch);
	missed_count(run);
	attachments_close_fast(&run->attachments);
	run_end_timers(run);
}

/* ---- while it runs -------------------------------------------------------------------------- */

void run_tend(struct run *run)
{
	watch_work(run->watch);
	later_work(run);
	names_see(run->names, run->targets);
	(void)unwinds_work(run->unwinds, 0); /* serves requests only */
}

/*
 * The record of exit() may be lost to a full buffer. The state shows exit() all the same, and the
 * exit status is then 0.
 */
bool run_is_over(const struct run *run)
{
	return run->is_stopped || run->exit_seen || run_state(run) == RT_STATE_EXITING ||
	       targets_gone(run->targets);
}

/* ---- beginning and end of the run ----------------------------------------------------------- */

void run_init(struct run *run, const struct run *parts)
{
	*run = *parts;
	atomic_init(&run->is_interrupted, 0);
	run->attachments.is_interrupted = &run->is_interrupted;
	run->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void run_interrupt(struct run *run)
{
	static const uint64_t one = 1;
	int saved = errno;

	atomic_fetch_add(&run->is_interrupted, 1);
	/* what fails is a counter that is full: it wakes, too */
	(void)!write(run->wake_fd, &one, sizeof(one));
	errno = saved;
}

void run_deinit(struct run *run)
{
	if (run->wake_fd >= 0)
		(void)close(run->wake_fd);
}

void run_undo(struct run *run)
{
	if (run->engine)
		set_state(run, RT_STATE_OFF);
	watch_destroy(run->watch);
	run->watch = NULL;
	early_end(run);
	attachments_close(&run->attachments);
	run_end_timers(run);
	for (uint32_t i = 0; i < run->match->units.len; i++)
		run_unload_unit(run, run->match->units.data[i]);
	waiter_destroy(run->waiter);
	ustacks_destroy(run->ustacks);
	run->ustacks = NULL;
	later_destroy(run);
	unwinds_destroy(run->unwinds);
	engines_close(&run->engines);
	match_undo(run->match);
	run->waiter = NULL;
	run->unwinds = NULL;
	run->engine = NULL;
	run->is_active = run->opts->is_active = false;
}
