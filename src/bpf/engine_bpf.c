/* SPDX-License-Identifier: MIT */
/* The engine in the kernel: units become BPF programs, which record into BPF maps. */
#include <errno.h>
#include <linux/capability.h>
#include <sched.h>

#include "bpf/attach.h"
#include "base/text.h"
#include "bpf/engine.h"
#include "bpf/entry.h"
#include "bpf/mapio.h"
#include "bpf/rings.h"
#include "bpf/tables.h"
#include "kernel/pidns.h"
#include "kernel/task_own.h"
#include "privilege/privilege.h"
#include "sym/sym.h"
#include "target/ident.h"

struct bpf_run {
	struct engine_run run;
	struct engine_opts opts;
	struct rt_pidns pidns;	   /* whose process numbers clauses see: dtrace's own */
	uint32_t userns;	   /* the inode of dtrace's user namespace, if it is asked */
	struct rt_ukernel ukernel; /* for walks with unwind tables: opts.tables_size */
	struct mach *mach;
	struct kmaps *maps;
	struct rings *rings;
	struct map_io *io;
	struct tables *tables; /* of user stacks; NULL: we do not walk them */
	bool is_warm;	       /* kmaps_warm() */
	int code_prog; /* for uprobes: attachments_sweep() needs any program; -1 = there is none */
};

static struct bpf_run *run_of(const struct engine_run *r)
{
	return CONTAINER_OF(r, struct bpf_run, run);
}

static bool bpf_takes(const struct unit *u, const char **ret_why)
{
	*ret_why = "the kernel's engine has no code for such places";
	return place_table[u->place.kind].key != NULL;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void bpf_close(struct engine_run *r)
{
	struct bpf_run *b = run_of(r);

	map_io_destroy(b->io);
	tables_destroy(b->tables);
	rings_destroy(b->rings);
	kmaps_destroy(b->maps);
	mach_destroy(b->mach);
	if (b->code_prog >= 0)
		(void)close(b->code_prog);
	free(b);
}

/*
 * Whether clauses may see addresses of the kernel's tracing code: only stacks of tracepoints begin
 * there, those of timers do not.
 */
static bool sees_tracing(const struct engine_opts *opts)
{
	const struct layout *l = opts->layout;
	bool has_tracepoints = false, reads = false;

	for (uint32_t i = 0; i < opts->nunits; i++)
		has_tracepoints |= !place_traits(opts->units[i]->place.kind)->is_timer;
	for (uint32_t i = 0; i < l->nclauses && has_tracepoints; i++)
		reads |= clause_reads(l->clauses[i].clause, DIF_VAR_CALLER) ||
			 clause_reads(l->clauses[i].clause, DIF_VAR_STACKDEPTH);
	return reads;
}

static struct err *maps_open(struct bpf_run *b, const struct engine_opts *opts)
{
	struct kmaps_opts map_opts = {.mach = b->mach,
				      .bufsize = opts->bufsize,
				      .need_tls = opts->layout->tls_size > 0,
				      .unwindsize = opts->tables_size,
				      .strtab_room = opts->strtab_room};
	struct err *e = pidns_find(&b->pidns);

	if (!e && privileges_lack(opts->privileges, LEVEL_PROC_OWNER))
		e = task_own_userns(&b->userns);
	map_opts.pidns = b->pidns;
	if (!e && opts->tables_size) {
		e = kfields_walk(&b->ukernel);
		b->ukernel.tick = PROC_TICK_NS;
		b->ukernel.boot_offset = proc_boot_offset();
		map_opts.ukernel = &b->ukernel;
	}
	if (sees_tracing(opts))
		map_opts.tracing = syms_tracing(opts->syms, &map_opts.ntracing);
	if (!e)
		e = kmaps_create(opts->layout, &map_opts, &b->maps);
	if (!e && opts->tables_size)
		e = tables_create(b->maps, &b->tables);
	return e;
}

static struct err *bpf_open(const struct engine_opts *opts, struct engine_run **ret)
{
	struct mach *mach = mach_create(opts->layout);
	struct bpf_run *b = xcalloc(1, sizeof(*b));
	const struct kmaps *m;
	struct err *e;

	b->opts = *opts;
	b->opts.units = NULL;
	b->mach = mach;
	b->code_prog = -1;
	e = maps_open(b, opts);
	if (e) {
		bpf_close(&b->run);
		return e;
	}
	m = b->maps;
	b->io = map_io_create(opts->layout, m);
	b->run = (struct engine_run){.engine = &engine_bpf,
				     .control = m->control,
				     .ncpus = m->ncpus,
				     .wake_fds = m->ring_fds,
				     .wake_fd = m->spare_fd,
				     .bufsize = m->ring_size,
				     .scratch_size = mach->scratch_size,
				     .spec = m->spec,
				     .aggs = b->io,
				     .tables = b->tables ? tables_public(b->tables) : NULL};
	*ret = &b->run;
	return NULL;
}

static struct err *bpf_ready(struct engine_run *r)
{
	struct bpf_run *b = run_of(r);
	const struct kmaps *m = b->maps;

	return rings_create(&(struct ring_fds){m->ring_fds, m->ncpus, m->ring_size, m->spare_fd,
					       m->spare_size},
			    &b->rings);
}

static bool bpf_add_strings(struct engine_run *r)
{
	return kmaps_add_strings(run_of(r)->maps, run_of(r)->opts.layout->strtab);
}

/* ---- units ----------------------------------------------------------------------------------- */

static void code_dump(const struct bpf_code *c, FILE *to)
{
	struct strbuf text = {0};

	bpf_code_print(c, &text);
	(void)fputs(strbuf_text(&text), to); /* a listing for people */
	strbuf_deinit(&text);
}

static void unit_debug(const struct bpf_run *b, const struct loaded *l, const struct bpf_code *c)
{
	struct strbuf text = {0};

	if (!b->opts.debug)
		return;
	strbuf_addf(
		&text,
		"BPF program '%s': %u instructions, %u probe%s, calls %u deep, %u bytes of stack",
		l->as.name, c->insns.len, l->as.nprobes, PLURAL(l->as.nprobes), l->budget.calls,
		l->budget.stack);
	b->opts.debug(b->opts.ctx, strbuf_text(&text));
	strbuf_deinit(&text);
}

/* Whether one of the clauses that the unit may run reads the variable. */
static bool unit_reads(const struct unit *u, uint32_t var)
{
	for (uint32_t i = 0; i < u->nclauses; i++)
		if (clause_reads(u->clauses[i].layout->clause, var))
			return true;
	for (uint32_t i = 0; i < u->nerror_clauses; i++)
		if (clause_reads(u->error_clauses[i].layout->clause, var))
			return true;
	return false;
}

static struct err *unit_make(struct bpf_run *b, struct loaded *l, uint32_t *ret_span)
{
	const struct unit *u = &l->as;
	const struct place_traits *traits = place_traits(u->place.kind);
	struct kfields kfields;
	const struct gen_env env = {
		.layout = b->opts.layout,
		.mach = b->mach,
		.kfields = &kfields,
		.pidns = b->pidns,
		.signals_own = !kernel_has_cap(CAP_KILL),
		.uid = geteuid(),
		.fires_own = privileges_lack(b->opts.privileges, LEVEL_PROC_OWNER),
		.own_uid = b->opts.privileges ? b->opts.privileges->uid : 0,
		.own_gid = b->opts.privileges ? b->opts.privileges->gid : 0,
		.own_userns = b->userns,
		.has_alarm = b->maps->fd[MAP_ALARM] >= 0,
		.ncpus = b->maps->ncpus,
		.use_task_btf = feat_has(FEAT_TASK_BTF),
		.unwinds = b->opts.tables_size > 0,
		.calls_helpers = b->opts.layout->opts.has_helpers && feat_has(FEAT_TAIL_CALL),
		.only_cpu = (uint32_t)(b->opts.cpu + 1),
		.stops_when_full = b->opts.stops_when_full,
	};
	const struct kfields_needs needs = {
		.parent = unit_reads(u, DIF_VAR_PPID),
		.compat = traits->is_syscall,
		/* not worth reading the kernel's types for what fires seldom */
		.comm = !traits->is_begin_end && !traits->is_timer && env.use_task_btf &&
			unit_reads(u, DIF_VAR_EXECNAME),
	};
	struct bpf_code code = {0};
	struct err *e = kfields_fill(&kfields, &needs);

	if (!e)
		e = bpf_gen_unit(u, &env, &code);
	if (!e && b->opts.dump)
		code_dump(&code, b->opts.dump);
	if (!e)
		e = unit_load(u, &code, b->maps, b->opts.layout, b->opts.log, l, ret_span);
	if (!e)
		unit_debug(b, l, &code);
	bpf_code_deinit(&code);
	return e;
}

/* Makes and loads the unit for places of the kind, which may be a faster one than its own. */
static struct err *unit_make_at(struct bpf_run *b, enum place_kind kind, struct loaded *l,
				uint32_t *ret_span)
{
	l->as = *l->unit;
	if (kind != l->unit->place.kind) {
		const struct place_traits *traits = place_traits(kind);

		l->as.place.kind = kind;
		l->as.name = traits->name;
		l->as.can_nest |= traits->is_preemptible;
	}
	return unit_make(b, l, ret_span);
}

static void progs_close(const struct bpf_run *b, struct loaded *l)
{
	if (l->prog_fd >= 0 && l->prog_fd != b->code_prog)
		(void)close(l->prog_fd);
	for (uint32_t i = 1; i < l->nprogs; i++)
		(void)close(l->progs[i]);
	l->prog_fd = -1;
	l->nprogs = 0;
}

static void bpf_unload(struct engine_run *r, struct loaded *l)
{
	if (!l)
		return;
	progs_close(run_of(r), l);
	unit_close_tables(l);
	free(l->progs);
	free(l);
}

static struct err *bpf_load(struct engine_run *r, const struct unit *u, struct loaded **ret,
			    uint32_t *ret_span)
{
	const struct place_traits *traits = place_traits(u->place.kind);
	struct bpf_run *b = run_of(r);
	struct loaded *l = xcalloc(1, sizeof(*l));
	struct err *e;

	*ret_span = 0;
	*l = (struct loaded){.unit = u, .prog_fd = -1, .dispatch_fd = -1};
	if (traits->interrupts && !b->is_warm) {
		kmaps_warm(b->maps, b->opts.layout);
		b->is_warm = true;
	}
	e = unit_make_at(b, place_preferred(u), l, ret_span);
	if (e && l->as.place.kind != u->place.kind) {
		err_destroy(e);
		e = unit_make_at(b, u->place.kind, l, ret_span);
	}
	if (e) {
		bpf_unload(r, l);
		return e;
	}
	if (traits->is_in_process && b->code_prog < 0)
		b->code_prog = l->prog_fd;
	*ret = l;
	return NULL;
}

/* Closes the program's descriptor: the links keep the program, and there may be many libraries. */
static void bpf_settle(struct engine_run *r, struct loaded *l)
{
	progs_close(run_of(r), l);
}

/* Loads and attaches the unit in its own form, after the faster one was refused. */
static struct err *attach_plainly(struct bpf_run *b, struct loaded *l,
				  const struct attach_opts *opts, struct attachments *ret)
{
	uint32_t span;
	struct err *e;

	progs_close(b, l);
	free(l->progs);
	l->progs = NULL;
	unit_close_tables(l);
	e = unit_make_at(b, l->unit->place.kind, l, &span);
	return e ? e : unit_attach(&l->as, l->progs, opts, ret);
}

static struct err *bpf_attach(struct engine_run *r, struct loaded *l,
			      const struct attach_opts *opts, struct attachments *ret)
{
	uint32_t had = attachments_count(ret);
	struct err *e = unit_attach(&l->as, l->progs, opts, ret);

	if (!e || l->as.place.kind == l->unit->place.kind)
		return e;
	if (run_of(r)->opts.debug)
		run_of(r)->opts.debug(run_of(r)->opts.ctx, err_text(e));
	err_destroy(e);
	attachments_close_from(ret, had);
	return attach_plainly(run_of(r), l, opts, ret);
}

static struct err *bpf_drop_process(struct engine_run *r, struct loaded *l, uint32_t tgid)
{
	(void)r;
	return unit_drop_process(l->unit, l, tgid);
}

static struct err *bpf_detach(struct engine_run *r, struct loaded *l, struct attachments *a,
			      uint32_t group)
{
	struct err *e = unit_silence(l->unit, l);

	(void)r;
	return e ? e : attachments_drop(a, group);
}

static struct err *bpf_add_child(struct engine_run *r, struct attachments *a, pid_t pid,
				 pid_t child, const struct attach_opts *opts)
{
	(void)r;
	return attachments_add_child(a, pid, child, opts);
}

static void bpf_forget_child(struct engine_run *r, struct attachments *a, pid_t child)
{
	(void)r;
	attachments_forget_child(a, child);
}

static uint32_t bpf_nplaces(struct engine_run *r, const struct attachments *a, pid_t pid)
{
	(void)r;
	return attachments_nplaces(a, pid);
}

static struct err *bpf_sweep(struct engine_run *r, struct attachments *a, pid_t pid)
{
	return attachments_sweep(a, pid, run_of(r)->code_prog);
}

static uint64_t bpf_missed(struct engine_run *r, const struct loaded *l)
{
	uint64_t n = 0;

	(void)r;
	for (uint32_t i = 0; i < l->nprogs; i++)
		n += prog_missed(l->progs[i]);
	return n;
}

static uint64_t bpf_links_missed(struct engine_run *r, const struct attachments *a)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < r->ncpus; i++)
		n += __atomic_load_n(&r->control->cpu[i].yields, __ATOMIC_RELAXED);
	return n + attachments_sum(a, link_missed);
}

/* ---- firing ---------------------------------------------------------------------------------- */

static void debug_move(const struct bpf_run *b, const char *why)
{
	char text[128];

	if (!b->opts.debug)
		return;
	(void)snprintf(text, sizeof(text), "cannot run on CPU %d: %s", b->opts.cpu, why);
	b->opts.debug(b->opts.ctx, text);
}

/*
 * Moves this thread to the CPU of the option for a moment. If a cpuset forbids that, BEGIN and END
 * fire on the CPU where the thread runs. BPF_F_TEST_RUN_ON_CPU is not used: the program would
 * interrupt another task on that CPU, whose pid and execname the clauses would see.
 */
static cpu_set_t *move_to_cpu(const struct bpf_run *b, size_t *ret_size)
{
	size_t ncpus = b->maps->ncpus, size = CPU_ALLOC_SIZE(ncpus);
	cpu_set_t *old, *one;

	if (b->opts.cpu < 0)
		return NULL;
	old = CPU_ALLOC(ncpus);
	one = CPU_ALLOC(ncpus);
	if (!old || !one)
		oom();
	CPU_ZERO_S(size, one);
	CPU_SET_S((size_t)b->opts.cpu, size, one);
	if (sched_getaffinity(0, size, old) || sched_setaffinity(0, size, one)) {
		debug_move(b, strerror(errno));
		CPU_FREE(old);
		old = NULL;
	}
	CPU_FREE(one);
	*ret_size = size;
	return old;
}

static struct err *bpf_fire(struct engine_run *r, struct loaded *l, uint32_t key)
{
	size_t size = 0;
	cpu_set_t *old = move_to_cpu(run_of(r), &size);
	struct err *e = prog_test_run(l->prog_fd, key);

	if (old)
		(void)sched_setaffinity(0, size,
					old); /* restores the former CPUs, which were allowed */
	CPU_FREE(old);
	return feat_explain(FEAT_TEST_RUN, e);
}

/* ---- consuming ------------------------------------------------------------------------------- */

static struct err *bpf_drain(struct engine_run *r, uint64_t horizon, engine_record_f *func,
			     void *ctx)
{
	return rings_drain(run_of(r)->rings, horizon, func, ctx);
}

static uint32_t bpf_fill(const struct engine_run *r)
{
	return rings_fill(run_of(r)->rings);
}

const struct engine engine_bpf = {
	.name = "bpf",
	.takes = bpf_takes,
	.makes_control = true,
	.max_maps = kmaps_max_elem_maps,
	.open = bpf_open,
	.close = bpf_close,
	.load = bpf_load,
	.ready = bpf_ready,
	.settle = bpf_settle,
	.unload = bpf_unload,
	.attach = bpf_attach,
	.fire = bpf_fire,
	.drop_process = bpf_drop_process,
	.detach = bpf_detach,
	.missed = bpf_missed,
	.links_missed = bpf_links_missed,
	.add_child = bpf_add_child,
	.forget_child = bpf_forget_child,
	.nplaces = bpf_nplaces,
	.sweep = bpf_sweep,
	.add_strings = bpf_add_strings,
	.drain = bpf_drain,
	.fill = bpf_fill,
	.aggs = &map_io_ops,
};
