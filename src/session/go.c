/* Starting a run: everything between compiled programs and firing probes. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <time.h>

#include "provider/providers.h"
#include "proc/control.h"
#include "session/later.h"
#include "consume/latest.h"
#include "consume/rings.h"
#include "session/session.h"
#include "consume/spec.h"
#include "session/unwind.h"
#include "sym/sym.h"
#include "watch/watch.h"

#define UNWIND_LOAD_NS 100000000 /* of the start may be spent on unwind tables */

/* ---- checks --------------------------------------------------------------------------------- */

static struct err *check_destructive(const dtrace_hdl_t *h)
{
	for (uint32_t i = 0; i < h->clauses.len; i++)
		if (clause_counts(&h->clauses.data[i]) && h->clauses.data[i].clause->destructive &&
		    !opt_flag(&h->opts, OPT_destructive))
			return err_hint(err_code(err_new("Destructive actions not allowed"),
						 EDT_DESTRUCTIVE),
					"add -w");
	return NULL;
}

/* Rates outside their limits are moved, with a notice. */
static void clamp_rate(dtrace_hdl_t *h, enum opt_id id, const char *what, int64_t min_ns,
		       int64_t max_ns)
{
	int64_t ns = h->opts.val[id], to = MIN(MAX(ns, min_ns), max_ns);

	if (ns == to)
		return;
	h->opts.val[id] = to;
	if (to <= 1000000000)
		report_adjusted(&h->report, "%s %s to %lld hz", what,
				to > ns ? "reduced" : "increased", 1000000000LL / (long long)to);
	else
		report_adjusted(&h->report, "%s %s to once every %lld seconds", what,
				to > ns ? "reduced" : "increased", (long long)to / 1000000000LL);
}

/* ---- layout, maps --------------------------------------------------------------------------- */

/* Does any program read this built-in variable? Decides which kernel fields are looked up. */
static bool difo_reads(const struct difo *d, uint32_t var)
{
	for (uint32_t i = 0; d && i < d->code_len; i++)
		if (DIF_INSN_OP(d->code[i]) == DIF_OP_LDGS && DIF_INSN_INDEX(d->code[i]) == var)
			return true;
	return false;
}

bool session_reads(const dtrace_hdl_t *h, uint32_t var)
{
	for (uint32_t i = 0; i < h->clauses.len; i++) {
		const struct prog_clause *cl = h->clauses.data[i].clause;

		if (!clause_counts(&h->clauses.data[i]))
			continue;
		if (difo_reads(cl->pred, var))
			return true;
		for (uint32_t j = 0; j < cl->nacts; j++)
			for (uint32_t k = 0; k < cl->acts[j].nargs; k++)
				if (difo_reads(cl->acts[j].args[k], var))
					return true;
	}
	return false;
}

static bool difo_has(const struct difo *d, enum subr_fx effect)
{
	for (uint32_t i = 0; d && i < d->code_len; i++)
		if (DIF_INSN_OP(d->code[i]) == DIF_OP_CALL &&
		    dif_subr_row(DIF_INSN_INDEX(d->code[i]))->fx & effect)
			return true;
	return false;
}

static bool clause_has(const struct prog_clause *cl, enum subr_fx effect)
{
	if (difo_has(cl->pred, effect))
		return true;
	for (uint32_t j = 0; j < cl->nacts; j++)
		for (uint32_t k = 0; k < cl->acts[j].nargs; k++)
			if (difo_has(cl->acts[j].args[k], effect))
				return true;
	return false;
}

/* Subroutines that not every kernel allows. */
static struct err *check_features(const dtrace_hdl_t *h)
{
	for (uint32_t i = 0; i < h->clauses.len; i++) {
		const struct prog_clause *cl = h->clauses.data[i].clause;

		if (clause_counts(&h->clauses.data[i]) && clause_has(cl, FX_WRITES_USER) &&
		    !feat_has(FEAT_WRITE_USER))
			return err_hint(err_code(err_new("copyout() and copyoutstr(): this kernel "
							 "refuses %s",
							 feat_what(FEAT_WRITE_USER)),
						 EDT_NOTSUP),
					"it is forbidden under kernel lockdown, and some kernels "
					"are built without it");
	}
	return NULL;
}

/*
 * What print() records: enough for the option, and for what setopt() will make of it where that is
 * known.
 */
static uint32_t max_printsize(const dtrace_hdl_t *h)
{
	int64_t most = h->opts.val[OPT_printsize];

	for (uint32_t i = 0; i < h->clauses.len; i++) {
		const struct prog_clause *cl = h->clauses.data[i].clause;

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

static struct layout *make_layout(dtrace_hdl_t *h, uint32_t ncpus)
{
	const struct layout_opts opts = {
		.strsize = (uint32_t)h->opts.val[OPT_strsize],
		.aggsize = (uint64_t)h->opts.val[OPT_aggsize],
		.dynvarsize = (uint64_t)h->opts.val[OPT_dynvarsize],
		.ncpus = ncpus,
		.max_frames = session_max_frames(h),
		.max_uframes = session_max_uframes(h),
		.nspec = (uint32_t)h->opts.val[OPT_nspec],
		.specsize = (uint64_t)h->opts.val[OPT_specsize],
		.counts_vtime = session_reads(h, DIF_VAR_VTIMESTAMP),
		.scratchsize = (uint32_t)h->opts.val[OPT_scratchsize],
		.printsize = max_printsize(h),
	};
	struct prog_clause **list =
		ARENA_NEW_N(h->arena, struct prog_clause *, MAX(h->clauses.len, 1u));

	for (uint32_t i = 0; i < h->clauses.len; i++)
		list[i] = h->clauses.data[i].clause;
	return layout_create(h->arena, list, h->clauses.len, dsession_vars(h->compiler.dsession),
			     dsession_aggs(h->compiler.dsession), h->strtab, &opts);
}

static int64_t wall_offset(void)
{
	struct timespec wall;
	uint64_t before = now_ns();

	(void)clock_gettime(CLOCK_REALTIME, &wall); /* cannot fail */
	return wall.tv_sec * 1000000000LL + wall.tv_nsec - (int64_t)((before + now_ns()) / 2);
}

/* ---- programs ------------------------------------------------------------------------------- */

static struct err *blame_source(const dtrace_hdl_t *h, struct err *e, uint32_t span)
{
	struct source_loc loc;

	if (span == SOURCE_NOWHERE)
		return e;
	loc = source_locate(dsession_sources(h->compiler.dsession), span);
	if (!loc.src || (loc.src->kind == SOURCE_STRING && !loc.text_len))
		return e;
	if (loc.src->kind == SOURCE_STRING)
		return err_wrap(e, "'%.*s'", (int)MIN(loc.text_len, 60u), loc.text);
	return err_wrap(e, "%s:%u", loc.file, loc.line);
}

static bool dumps_bpf(const dtrace_hdl_t *h)
{
	const char *dump = h->opts.str[OPT_dump];
	bool is_listed = opt_flag(&h->opts, OPT_verbose) && (h->opts.val[OPT_disasm] & DISASM_BPF);

	return h->report.dump && (is_listed || (dump && strstr(dump, "bpf")));
}

static struct err *load_unit(dtrace_hdl_t *h, struct session_unit *u, const struct gen_env *env)
{
	FILE *log =
		opt_flag(&h->opts, OPT_bpflog) ? (h->report.dump ? h->report.dump : stderr) : NULL;
	struct bpf_code code = {0};
	uint32_t span = SOURCE_NOWHERE;
	struct err *e = bpf_gen_unit(&u->unit, env, &code);

	if (!e && dumps_bpf(h)) {
		struct strbuf text = {0};

		bpf_code_print(&code, &text);
		(void)fputs(strbuf_text(&text), h->report.dump); /* a listing for people */
		strbuf_deinit(&text);
	}
	if (!e)
		e = unit_load(&u->unit, &code, h->maps, h->layout, log, &u->loaded, &span);
	if (e)
		e = blame_source(h, e, span);
	else
		report_debug(
			&h->report,
			"BPF program '%s': %u instructions, %u probes, calls %u deep, %u bytes of stack",
			u->unit.name, code.insns.len, u->unit.nprobes, u->loaded.budget.calls,
			u->loaded.budget.stack);
	bpf_code_deinit(&code);
	return e;
}

/* Option cpu, -1 = all. */
static int only_cpu(const dtrace_hdl_t *h)
{
	return h->opts.val[OPT_cpu] == OPT_UNSET ? -1 : (int)h->opts.val[OPT_cpu];
}

static struct err *check_cpu(const dtrace_hdl_t *h)
{
	int cpu = only_cpu(h);

	if (cpu < (int)h->maps->ncpus && (cpu < 0 || h->maps->ring_fds[cpu] >= 0))
		return NULL;
	return err_code(err_new("CPU %d is not there (option 'cpu')", cpu), EDT_BADOPTVAL);
}

struct err *session_load_unit(dtrace_hdl_t *h, struct session_unit *u)
{
	const struct gen_env env = {
		.layout = h->layout,
		.kfields = &h->kfields,
		.pidns = h->pidns,
		.ncpus = h->maps->ncpus,
		.use_task_btf = feat_has(FEAT_TASK_BTF),
		.unwinds = h->unwinds_here,
		.only_cpu = (uint32_t)(only_cpu(h) + 1),
		.stops_when_full = h->opts.val[OPT_bufpolicy] == BUFPOLICY_FILL,
	};

	return load_unit(h, u, &env);
}

static struct err *load_units(dtrace_hdl_t *h)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < h->units.len && !e; i++)
		e = session_load_unit(h, h->units.data[i]);
	return e;
}

static void notice_attach(void *ctx, const char *msg)
{
	report_notice(ctx, "%s", msg);
}

struct attach_opts session_attach_opts(dtrace_hdl_t *h)
{
	return (struct attach_opts){
		.cpu = only_cpu(h),
		.max_places = (uint32_t)h->opts.val[OPT_maxplaces],
		.has_children = h->opts.val[OPT_follow] == FOLLOW_OPT_FORK,
		.is_interrupted = &h->is_interrupted,
		.notice = notice_attach,
		.notice_ctx = &h->report,
	};
}

struct err *session_attach_unit(dtrace_hdl_t *h, struct session_unit *u, struct attachments *ret)
{
	const struct attach_opts opts = session_attach_opts(h);

	return unit_attach(&u->unit, u->loaded.prog_fd, &opts, ret);
}

static struct err *attach_units(dtrace_hdl_t *h)
{
	for (uint32_t i = 0; i < h->units.len && !h->is_interrupted; i++) {
		struct session_unit *u = h->units.data[i];
		struct err *e =
			session_has_timers(u) ? NULL : session_attach_unit(h, u, &h->attachments);

		if (e)
			return e;
		report_debug(&h->report, "'%s': attached", u->unit.name);
	}
	return h->is_interrupted ? NULL : session_start_timers(h);
}

/*
 * Moves this thread to the CPU of the option, for a moment. Where it may not run there, because of
 * a cpuset, BEGIN and END fire where it does. The program is not sent to the CPU instead
 * (BPF_F_TEST_RUN_ON_CPU): it would interrupt some other task there, whose pid and execname its
 * clauses would see.
 */
static cpu_set_t *move_to_cpu(const dtrace_hdl_t *h, size_t *ret_size)
{
	int cpu = only_cpu(h), ncpus = (int)h->maps->ncpus;
	size_t size = CPU_ALLOC_SIZE(ncpus);
	cpu_set_t *old, *one;

	if (cpu < 0)
		return NULL;
	old = CPU_ALLOC((size_t)ncpus);
	one = CPU_ALLOC((size_t)ncpus);
	if (!old || !one)
		oom();
	CPU_ZERO_S(size, one);
	CPU_SET_S((size_t)cpu, size, one);
	if (sched_getaffinity(0, size, old) || sched_setaffinity(0, size, one)) {
		report_debug(&h->report, "cannot run on CPU %d: %s", cpu, strerror(errno));
		CPU_FREE(old);
		old = NULL;
	}
	CPU_FREE(one);
	*ret_size = size;
	return old;
}

static struct err *program_fire(const dtrace_hdl_t *h, int prog_fd, uint32_t key)
{
	size_t size = 0;
	cpu_set_t *old = move_to_cpu(h, &size);
	struct err *e = prog_test_run(prog_fd, key);

	if (old)
		(void)sched_setaffinity(0, size, old); /* it was so before */
	CPU_FREE(old);
	return feat_explain(FEAT_TEST_RUN, e);
}

/* Fires BEGIN or END, if a clause is enabled on it. */
struct err *session_fire(dtrace_hdl_t *h, uint32_t key)
{
	for (uint32_t i = 0; i < h->units.len; i++) {
		const struct session_unit *u = h->units.data[i];

		if (!u->unit.is_begin_end)
			continue;
		for (uint32_t j = 0; j < u->points.len; j++)
			if (u->points.data[j].key == key)
				return program_fire(h, u->loaded.prog_fd, key);
	}
	return NULL;
}

/* ---- consumer ------------------------------------------------------------------------------- */

static void hook_exit(void *ctx, int status)
{
	dtrace_hdl_t *h = ctx;

	h->exit_status = status; /* the last one counts */
	h->exit_seen = true;
}

static struct err *hook_setopt(void *ctx, const char *name, const char *value)
{
	return options_set(&((dtrace_hdl_t *)ctx)->opts, name, value, true);
}

static void hook_fault(void *ctx, uint32_t clause, uint32_t probe, const char *text)
{
	session_report_library_fault(ctx, clause, probe, text);
}

static struct err *hook_snap(void *ctx)
{
	return session_snap(ctx, false);
}

/* The name is kept, so it must not be made before it is known what the process had mapped. */
static void name_stack(void *ctx, enum datum_kind kind, const char *bytes, uint32_t size,
		       struct strbuf *out)
{
	const dtrace_hdl_t *h = ctx;

	watch_drain(h->watch);
	printer_stack_name(h->printer, kind, bytes, size, out);
}

static void between_unwinds(void *ctx)
{
	dtrace_hdl_t *h = ctx;

	watch_drain(h->watch);
}

static void notice_unwind(void *ctx, const char *msg)
{
	report_adjusted(&((dtrace_hdl_t *)ctx)->report, "%s", msg);
}

/*
 * The targets' tables in any case, those of the rest of the system as far as UNWIND_LOAD_NS goes.
 */
static struct err *make_unwinds(dtrace_hdl_t *h)
{
	const struct unwind_hooks hooks = {h, notice_unwind, session_denied, between_unwinds};
	struct err *e = unwinds_create(h->maps, (uint64_t)h->opts.val[OPT_unwindsize],
				       h->file_opts.limit, &hooks, &h->unwinds);

	if (!e)
		e = rings_listen(h->rings, unwinds_fd(h->unwinds));
	if (e)
		return e;
	for (uint32_t i = 0; i < h->targets.procs.len; i++)
		unwinds_load_process(h->unwinds, proc_pid(h->targets.procs.data[i]));
	unwinds_scan(h->unwinds);
	(void)unwinds_work(h->unwinds, now_ns() + UNWIND_LOAD_NS);
	return NULL;
}

static struct err *make_consumer(dtrace_hdl_t *h)
{
	const struct kmaps *m = h->maps;
	struct err *e = rings_create(&(struct ring_fds){m->ring_fds, m->ncpus, m->ring_size,
							m->spare_fd, m->spare_size},
				     &h->rings);

	for (uint32_t i = 0; i < h->targets.procs.len && !e; i++)
		e = rings_watch(h->rings, proc_fd(h->targets.procs.data[i]));
	if (!e && h->unwinds_here)
		e = make_unwinds(h);
	if (e)
		return e;
	h->print_hooks = (struct print_hooks){
		.ctx = h,
		.exit = hook_exit,
		.setopt = hook_setopt,
		.fault = hook_fault,
		.snap = hook_snap,
		.interrupts = &h->is_interrupted,
	};
	h->specs = specs_create(h->layout, h->maps->spec, (uint64_t)h->opts.val[OPT_specsize]);
	if (h->opts.val[OPT_bufpolicy] == BUFPOLICY_RING)
		h->latest = latest_create(h->maps->ncpus, h->bufsize);
	h->aggs = aggs_create(h->layout, h->maps);
	aggs_keep_percpu(h->aggs, opt_flag(&h->opts, OPT_aggpercpu));
	h->printer = printer_create(h->layout, h->probes, h->aggs, &h->print_opts, &h->print_hooks);
	printer_set_wall(h->printer, h->maps->control->wall_offset);
	h->drops_seen = xcalloc(h->maps->ncpus, sizeof(*h->drops_seen));
	session_refresh_opts(h); /* there may be a target now */
	aggs_set_syms(h->aggs, session_syms(h));
	printer_set_syms(h->printer, session_syms(h));
	if (h->print_opts.stackmerge != PRINT_MERGE_OFF)
		aggs_merge_stacks(h->aggs, name_stack, h);
	session_see_targets(h);
	return NULL;
}

/* ---- the order of things -------------------------------------------------------------------- */

/* Does any of them fire in interrupts? */
static bool has_interrupts(const dtrace_hdl_t *h)
{
	for (uint32_t i = 0; i < h->units.len; i++)
		if (h->units.data[i]->traits->interrupts)
			return true;
	return false;
}

static bool has_sys_unit(const dtrace_hdl_t *h)
{
	for (uint32_t i = 0; i < h->units.len; i++)
		if (h->units.data[i]->traits->is_syscall)
			return true;
	return false;
}

static struct err *prepare(dtrace_hdl_t *h)
{
	struct err *e;
	int ncpus = libbpf_num_possible_cpus();

	if (ncpus < 1)
		return err_sys(-ncpus, "cannot count the CPUs");
	h->strtab = strtab_create();
	e = later_check(h);
	if (!e)
		e = session_match(h);
	if (e)
		return e;
	later_plan(h);
	e = check_destructive(h);
	if (!e)
		e = check_features(h);
	if (e)
		return e;
	e = pidns_find(&h->pidns);
	if (!e)
		e = session_check_numbers(h);
	if (e)
		return e;
	session_plan_walks(h);
	h->layout = make_layout(h, (uint32_t)ncpus);
	session_number_epids(h);
	session_make_units(h);
	e = kfields_fill(&h->kfields, session_reads(h, DIF_VAR_PPID), has_sys_unit(h));
	if (e)
		return e;
	e = session_make_maps(h);
	if (!e)
		e = check_cpu(h);
	if (e)
		return e;
	if (has_interrupts(h))
		kmaps_warm(h->maps, h->layout);
	h->maps->control->wall_offset = wall_offset();
	h->maps->control->tracer_pid = getpid();
	e = load_units(h);
	return e ? e : make_consumer(h);
}

static void set_state(dtrace_hdl_t *h, enum rt_state state)
{
	__atomic_store_n(&h->maps->control->state, state, __ATOMIC_RELEASE);
}

/*
 * BEGIN fires before anything else is attached; when it calls exit(), which turns ON into EXITING,
 * nothing ever is. The rest is attached while the state is OFF, so that all probes begin at the
 * same instant. A signal ends that early (dtrace_interrupt()): then nothing but BEGIN has fired,
 * and END will.
 */
static struct err *start(dtrace_hdl_t *h)
{
	struct err *e;

	set_state(h, RT_STATE_ON);
	e = session_fire(h, DTRACE_KEY_BEGIN);
	if (e)
		return err_wrap(e, "BEGIN");
	if (__atomic_load_n(&h->maps->control->state, __ATOMIC_ACQUIRE) == RT_STATE_EXITING)
		return NULL;
	set_state(h, RT_STATE_OFF);
	e = attach_units(h);
	if (!e && h->is_interrupted) {
		(void)dtrace_stop(h); /* cannot fail */
		return NULL;
	}
	if (!e)
		e = session_watch_processes(h);
	if (e)
		return e;
	later_start(h);
	set_state(h, RT_STATE_ON);
	return NULL;
}

int dtrace_go(dtrace_hdl_t *dtp)
{
	dtrace_hdl_t *h = dtp;
	struct err *e;

	if (h->is_active)
		return report_fail(&h->report,
				   err_code(err_new("Operation illegal when tracing is active"),
					    EDT_ACTIVE));
	clamp_rate(h, OPT_statusrate, "status rate", 1, 10000000000);
	clamp_rate(h, OPT_cleanrate, "cleaning rate", 200000, 60000000000);
	compiler_need_dsession(&h->compiler);
	e = targets_hold(&h->targets);
	if (!e)
		e = prepare(h);
	if (!e) {
		h->is_active = h->opts.is_active = true;
		h->status_at = now_ns() + (uint64_t)h->opts.val[OPT_statusrate];
		e = start(h);
	}
	if (e) {
		session_undo_go(h);
		return report_fail(&h->report, e);
	}
	return 0;
}

static void unit_destroy(struct session_unit *u)
{
	if (u->loaded.prog_fd >= 0)
		(void)close(u->loaded.prog_fd);
	if (u->loaded.dispatch_fd >= 0)
		(void)close(u->loaded.dispatch_fd);
	vec_deinit(&u->clauses);
	vec_deinit(&u->points);
	hashmap_destroy(u->by_key);
	hashmap_destroy(u->by_call);
	free(u);
}

/* Takes everything off and apart; the handle can only be closed afterwards. */
void session_undo_go(dtrace_hdl_t *h)
{
	if (h->maps && h->maps->control)
		set_state(h, RT_STATE_OFF);
	later_destroy(h);
	attachments_close(&h->attachments);
	attachments_close(&h->cpu_watch.timers);
	for (uint32_t i = 0; i < h->units.len; i++)
		unit_destroy(h->units.data[i]);
	vec_deinit(&h->units);
	printer_destroy(h->printer);
	aggs_destroy(h->aggs);
	specs_destroy(h->specs);
	latest_destroy(h->latest);
	watch_destroy(h->watch);
	h->watch = NULL;
	h->latest = NULL;
	rings_destroy(h->rings);
	unwinds_destroy(h->unwinds);
	kmaps_destroy(h->maps);
	strtab_destroy(h->strtab);
	free(h->drops_seen);
	h->printer = NULL;
	h->aggs = NULL;
	h->rings = NULL;
	h->unwinds = NULL;
	h->specs = NULL;
	h->maps = NULL;
	h->strtab = NULL;
	h->drops_seen = NULL;
	h->is_active = h->opts.is_active = false;
}
