/* Probes that come while a session runs. */
#include "session/later.h"

#include <errno.h>
#include <signal.h>

#include "keeper/keeper.h"
#include "proc/control.h"
#include "proc/rtld.h"
#include "provider/pid_later.h"
#include "consume/rings.h"
#include "session/unwind.h"
#include "keeper/herd.h"
#include "watch/children.h"
#include "watch/follow.h"

/* Room for names of probes that come: for those of patterns, for those of given functions. */
#define NAMES_ROOM_MANY (2u << 20)
#define NAMES_ROOM_FEW	(64u << 10)

#define CHILDREN_NS 200000000 /* between two looks at children, at least */
/* about what it takes to sweep, and for each place; it may take this share */
#define SWEEP_NS       50000000
#define SWEEP_PLACE_NS 50000
#define SWEEP_SHARE    20

struct later_proc {
	/* root: the process that clauses are about: itself, or whose child it is */
	pid_t pid, root;
	struct proc_id id;
	bool stops;	 /* it waits for us when it tells of something */
	bool has_linker; /* its dynamic linker, which is this file, tells of libraries */
	uint64_t dev, ino;
	struct children *children; /* NULL until it has probes */
};

struct later {
	struct follow *follow; /* NULL until later_start() */
	VEC(struct later_proc) procs;
	bool wants_libraries, wants_patterns, wants_children, is_full;
	uint32_t next_idx, next_epid;
	const char *told;     /* the last message */
	uint64_t children_at; /* when children are looked at */
};

/* ---- before the start ----------------------------------------------------------------------- */

static struct later_proc *proc_find(const struct later *l, pid_t pid)
{
	for (uint32_t i = 0; i < l->procs.len; i++)
		if (l->procs.data[i].pid == pid)
			return &l->procs.data[i];
	return NULL;
}

static void plan_clause(struct run *run, struct session_clause *sc, pid_t pid)
{
	const struct probe_desc *desc = &sc->clause->desc;
	struct later *l;

	if (!run->later)
		run->later = xcalloc(1, sizeof(*run->later));
	l = run->later;
	sc->is_open = true;
	l->wants_libraries |= pid_waits_for_library(run->probes, desc, pid);
	l->wants_patterns |= !*desc->func || !glob_is_literal(desc->func);
	if (!proc_find(l, pid))
		vec_push(&l->procs, (struct later_proc){.pid = pid, .root = pid, .id.pidfd = -1});
}

static bool wants_children(const struct run *run)
{
	return run->opts->val[OPT_follow] == FOLLOW_OPT_FORK;
}

struct err *later_check(struct run *run)
{
	if (!wants_children(run))
		return NULL;
	if (!feat_has(FEAT_UPROBE_TGID))
		return err_hint(err_new("option follow: this kernel lacks %s",
					feat_what(FEAT_UPROBE_TGID)),
				"without it children cannot be told from their parents");
	pid_have_children(run->probes);
	return NULL;
}

void later_plan(struct run *run)
{
	uint32_t nepids = 0;

	for (uint32_t i = 0; i < run->compiler->progs.len; i++) {
		const struct prog *p = run->compiler->progs.data[i]->prog;

		for (uint32_t k = 0; run->compiler->progs.data[i]->is_enabled && k < p->nclauses;
		     k++) {
			struct session_clause *sc = &run->clauses.data[p->clauses[k]->index];
			pid_t pid;

			for (uint32_t n = 0;
			     (pid = pid_described(run->probes, &p->clauses[k]->desc, n)); n++)
				plan_clause(run, sc, pid);
			nepids += sc->n;
		}
	}
	if (!run->later && wants_children(run))
		report_notice(
			run->report,
			"option follow changes nothing: no clause is about functions of a process "
			"(provider pid)");
	if (!run->later)
		return;
	run->later->wants_children = wants_children(run);
	run->later->next_idx = run->nenabled;
	run->later->next_epid = nepids + 1;
}

uint32_t later_strtab_room(const struct run *run)
{
	if (!run->later)
		return 0;
	return run->later->wants_patterns ? NAMES_ROOM_MANY : NAMES_ROOM_FEW;
}

/* ---- what has come -------------------------------------------------------------------------- */

static bool has_ended(const struct run *run, pid_t pid)
{
	const struct later_proc *p = proc_find(run->later, pid);

	return p ? proc_id_has_ended(&p->id) : kill(pid, 0) != 0 && errno == ESRCH;
}

/* A process that has ended is no failure: so has its part of the run. What lasts is told once. */
static void failed(struct run *run, pid_t pid, const char *what, struct err *e)
{
	struct strbuf text = {0};

	strbuf_addf(&text, "process %d has other code now: %s: %s", (int)pid, what, err_text(e));
	if ((!run->later->told || strcmp(run->later->told, text.data) != 0) &&
	    !has_ended(run, pid)) {
		report_adjusted(run->report, "%s", text.data);
		run->later->told = arena_strdup(run->arena, text.data);
	}
	strbuf_deinit(&text);
	err_destroy(e);
}

static bool difo_reads_args(const struct difo *d)
{
	for (uint32_t i = 0; d && i < d->code_len; i++)
		if (DIF_INSN_OP(d->code[i]) == DIF_OP_LDGA &&
		    DIF_INSN_R1(d->code[i]) == DIF_VAR_ARGS)
			return true;
	return false;
}

static bool clause_reads_args(const struct prog_clause *cl)
{
	if (difo_reads_args(cl->pred))
		return true;
	for (uint32_t i = 0; i < cl->nacts; i++)
		for (uint32_t k = 0; k < cl->acts[i].nargs; k++)
			if (difo_reads_args(cl->acts[i].args[k]))
				return true;
	return false;
}

/* A clause that uses args[] was compiled for the types of its first probe. */
static void keep_typed(struct run *run, const struct session_clause *sc, struct probe_list *l)
{
	uint32_t n = 0;

	if (!l->probes.len || !sc->n || !clause_reads_args(sc->clause))
		return;
	for (uint32_t i = 0; i < l->probes.len; i++)
		if (probes_have_same_args(run->probes, sc->probes[0], l->probes.data[i]))
			l->probes.data[n++] = l->probes.data[i];
	if (n < l->probes.len)
		report_adjusted(
			run->report,
			"%u functions of '%s' that have come to '%s' are not probed: their args[] are of "
			"other types than those the clause was compiled for",
			l->probes.len - n, l->probes.data[n]->mod,
			probe_desc_text(run->arena, &sc->clause->desc));
	l->probes.len = n;
}

/* The probes of each open clause about the process, in what is new there. */
static uint32_t match_clauses(struct run *run, pid_t pid, struct late_clause *late)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < run->clauses.len; i++) {
		const struct session_clause *sc = &run->clauses.data[i];
		struct late_clause *lc = &late[n];
		struct err *e;

		if (!sc->is_open || !pid_is_described(run->probes, &sc->clause->desc, pid))
			continue;
		*lc = (struct late_clause){.clause = i};
		e = pid_match_new(run->probes, &sc->clause->desc, &lc->list);
		if (e)
			failed(run, pid, probe_desc_text(run->arena, &sc->clause->desc), e);
		else
			keep_typed(run, sc, &lc->list);
		if (lc->list.probes.len && !e)
			n++;
		else
			vec_deinit(&lc->list.probes);
	}
	return n;
}

/* One that is loaded: any will do for sweep(). -1 = there is none. */
static int any_program(const struct run *run)
{
	for (uint32_t i = 0; i < run->units.len; i++)
		if (run->units.data[i]->traits->is_in_process &&
		    run->units.data[i]->loaded.prog_fd >= 0)
			return run->units.data[i]->loaded.prog_fd;
	return -1;
}

static struct err *place(struct run *run, const struct late_clause *late, uint32_t n)
{
	struct session_unit *u =
		session_make_late_unit(run, late, n, &run->later->next_idx, &run->later->next_epid);
	struct err *e;

	if (!kmaps_add_strings(run->maps, run->strtab))
		return err_hint(err_new("the names of functions take more than %u bytes",
					later_strtab_room(run)),
				"name modules and functions");
	e = session_load_unit(run, u);
	if (!e)
		e = session_attach_unit(run, u, &run->attachments);
	if (u->loaded.prog_fd >= 0 && any_program(run) != u->loaded.prog_fd &&
	    !run->later->wants_children) {
		/* its links keep it: there may be very many libraries */
		(void)close(u->loaded.prog_fd);
		u->loaded.prog_fd = -1;
	}
	return e;
}

/*
 * The process is another task for the kernel now. Its links are dead or half dead: no breakpoints
 * are made for them, but they are served where others make one (Linux 6.18
 * kernel/trace/bpf_trace.c, uprobe_multi_link_filter()).
 */
static void drop_probes(struct run *run, pid_t pid)
{
	for (uint32_t i = 0; i < run->units.len; i++) {
		const struct session_unit *u = run->units.data[i];
		struct err *e = u->traits->is_in_process && u->loaded.dispatch_fd >= 0
					? unit_drop_process(&u->unit, &u->loaded, (uint32_t)pid)
					: NULL;

		if (e)
			failed(run, pid, "functions may be counted twice", e);
	}
}

/* is_other: what was placed before is dead. */
static void proc_look(struct run *run, const struct later_proc *p, bool is_other)
{
	struct late_clause *late = xcalloc(run->clauses.len, sizeof(*late));
	struct attach_opts opts = session_attach_opts(run);
	uint32_t n = 0;
	bool any;
	struct err *e = pid_look_again(run->probes, p->root, p->pid, is_other, &any);

	if (!e && any)
		n = match_clauses(run, p->root, late);
	if (n)
		e = place(run, late, n);
	if (!e && run->later->wants_children)
		e = attachments_add_child(&run->attachments, p->root, p->pid, &opts);
	if (e)
		failed(run, p->pid, "its functions are not probed", e);
	for (uint32_t i = 0; i < n; i++)
		vec_deinit(&late[i].list.probes);
	free(late);
}

/* ---- dynamic linkers ------------------------------------------------------------------------ */

/* The one it had still tells, unless the kernel's links are dead. A static program has none. */
static void watch_linker(struct run *run, struct later_proc *p, bool is_other)
{
	struct rtld r;
	struct keeper *k;
	struct err *e = NULL;

	if (!rtld_find(p->pid, &r))
		return;
	if (is_other || !p->has_linker || p->dev != r.dev || p->ino != r.ino) {
		e = attachments_keeper(&run->attachments, &k);
		if (!e)
			e = follow_linker(run->later->follow, k, p->pid, r.fd, r.hook_off, r.state);
	}
	rtld_deinit(&r);
	if (e) {
		failed(run, p->pid, "libraries that it opens are not probed", e);
		return;
	}
	p->has_linker = true;
	p->dev = r.dev;
	p->ino = r.ino;
}

/* ---- events --------------------------------------------------------------------------------- */

/* A thread that is not the first has executed: it is the first now, with another task. */
static bool is_other_task(const struct rt_watch_event *ev)
{
	return ev->kind == RT_WATCH_EXEC && ev->is_other &&
	       (!feat_has(FEAT_UPROBE_MULTI) || feat_has(FEAT_UPROBE_TGID));
}

static bool is_over(const struct run *run)
{
	return run->is_stopped || run->exit_seen ||
	       __atomic_load_n(&run->maps->control->state, __ATOMIC_ACQUIRE) != RT_STATE_ON;
}

/*
 * Its links are dead or half dead (see drop_probes()); those of its relatives serve the same
 * probes.
 */
static void drop_links(struct run *run, pid_t pid, bool waits)
{
	struct keeper *k;
	struct err *e = attachments_keeper(&run->attachments, &k);

	attachments_forget_child(&run->attachments, pid);
	if (!e)
		e = keeper_drop(k, pid, waits);
	if (e)
		failed(run, pid, "functions may be counted twice", e);
}

/* A child has ended: its links hold what is left of it, and serve nobody. */
static void proc_bury(struct run *run, struct later_proc *p)
{
	follow_leave(run->later->follow, p->pid);
	drop_links(run, p->pid, false);
	proc_id_close(&p->id);
	*p = run->later->procs.data[--run->later->procs.len];
}

static bool is_child(const struct later_proc *p)
{
	return p->pid != p->root;
}

/* A child, which is stopped. */
static void child_adopt(struct run *run, const struct rt_watch_event *ev)
{
	struct later_proc p = {.pid = (pid_t)ev->pid, .root = (pid_t)ev->root, .stops = true};
	struct err *e = proc_id_open(p.pid, &p.id);

	if (!e && p.id.start == ev->start)
		vec_push(&run->later->procs, p);
	else
		proc_id_close(&p.id);
	err_destroy(e); /* it has ended already */
}

/* The process that the event is about, a new one if it is a child; NULL: it has ended. */
static struct later_proc *find_subject(struct run *run, const struct rt_watch_event *ev)
{
	struct later_proc *p = proc_find(run->later, (pid_t)ev->pid);

	if (p && is_child(p) && proc_id_has_ended(&p->id)) {
		proc_bury(run, p); /* another process has its number now */
		p = NULL;
	}
	if (!p && ev->kind == RT_WATCH_CHILD) {
		child_adopt(run, ev);
		p = proc_find(run->later, (pid_t)ev->pid);
	}
	if (p && p->id.start == ev->start)
		return p;
	if (!p)
		follow_leave(run->later->follow, (pid_t)ev->pid);
	proc_resume_exact((pid_t)ev->pid, ev->start);
	return NULL;
}

static void tell_full(struct run *run, pid_t parent)
{
	if (!run->later->is_full)
		report_adjusted(
			run->report,
			"more than %u children at one time: some, the first of process %d, are not probed",
			FOLLOW_CHILDREN_MAX, (int)parent);
	run->later->is_full = true;
}

static void event_attend(struct run *run, const struct rt_watch_event *ev)
{
	bool is_other = is_other_task(ev);
	struct later_proc *p;

	if (ev->kind == RT_WATCH_FULL) {
		tell_full(run, (pid_t)ev->pid);
		return;
	}
	p = find_subject(run, ev);
	if (!p)
		return;
	if (is_other && run->later->wants_children)
		drop_links(run, p->pid, true);
	else if (is_other)
		drop_probes(run, p->pid);
	if (!is_over(run)) {
		if (ev->kind == RT_WATCH_EXEC ||
		    (ev->kind == RT_WATCH_CHILD && run->later->wants_libraries))
			watch_linker(run, p, is_other);
		proc_look(run, p, is_other && !run->later->wants_children);
		if (run->unwinds)
			unwinds_load_process(run->unwinds, p->pid); /* before its first stack */
	}
	if (p->stops)
		proc_id_resume(&p->id);
}

/* ---- children ------------------------------------------------------------------------------- */

static void sweep(struct run *run, pid_t pid)
{
	struct err *e = attachments_sweep(&run->attachments, pid, any_program(run));

	err_destroy(e); /* they go on with breakpoints, slower but unharmed */
}

/* On kernels without such links the first hit takes a breakpoint out of a child. */
static void tend_children(struct run *run)
{
	struct later *l = run->later;
	uint64_t now = now_ns();

	if (now < l->children_at || is_over(run) || !feat_has(FEAT_UPROBE_TGID))
		return;
	l->children_at = now + CHILDREN_NS;
	for (uint32_t i = l->procs.len; i-- > 0;)
		if (is_child(&l->procs.data[i]) && proc_id_has_ended(&l->procs.data[i].id))
			proc_bury(run, &l->procs.data[i]);
	if (l->wants_children) /* none has breakpoints that it does not want */
		return;
	for (uint32_t i = 0; i < l->procs.len; i++) {
		struct later_proc *p = &l->procs.data[i];
		uint64_t nplaces = attachments_nplaces(&run->attachments, p->pid);

		if (nplaces && !p->children)
			p->children = children_create(p->pid);
		if (!nplaces || !children_look(p->children))
			continue;
		sweep(run, p->pid);
		l->children_at = MAX(l->children_at,
				     now + (SWEEP_NS + nplaces * SWEEP_PLACE_NS) * SWEEP_SHARE);
	}
}

void later_work(struct run *run)
{
	struct rt_watch_event ev;

	if (!run->later || !run->later->follow)
		return;
	while (follow_read(run->later->follow, &ev))
		event_attend(run, &ev);
	tend_children(run);
}

/* ---- beginning and end ---------------------------------------------------------------------- */

static const struct proc *proc_of(const struct run *run, pid_t pid)
{
	for (uint32_t i = 0; i < run->targets->procs.len; i++)
		if (proc_pid(run->targets->procs.data[i]) == pid)
			return run->targets->procs.data[i];
	return NULL;
}

/* A process of -c dies with us; another one that stops must run on when we are killed. */
static struct err *plan_stops(struct run *run, struct later_proc *p)
{
	const struct proc *proc = proc_of(run, p->pid);
	struct keeper *k;
	struct err *e = NULL;

	if (!proc || !(proc_is_created(proc) || opt_flag(run->opts, OPT_libstop)))
		return NULL;
	if (!proc_is_created(proc)) {
		e = attachments_keeper(&run->attachments, &k);
		if (!e)
			e = keeper_ward(k, proc_fd(proc));
	}
	p->stops = !e;
	return e;
}

static struct err *start_proc(struct run *run, struct later_proc *p)
{
	const struct proc *proc = proc_of(run, p->pid);
	bool is_ours = proc && proc_is_created(proc);
	uint32_t flags = run->later->wants_children ? RT_WATCHED_FORKS : 0;
	struct err *e = proc_id_open(p->pid, &p->id);

	if (proc && proc_id_has_ended(&(struct proc_id){.pidfd = proc_fd(proc)}))
		proc_id_close(&p->id); /* another one may have its number now */
	if (p->id.pidfd < 0) {
		if (!e || err_get_sys(e) == ESRCH) {
			err_destroy(e);
			return NULL;
		}
		return e;
	}
	e = plan_stops(run, p);
	if (p->stops)
		flags |= is_ours ? RT_WATCHED_STOPS : RT_WATCHED_STOPS | RT_WATCHED_OUTLIVES;
	if (!e)
		e = follow_add(run->later->follow, &p->id, flags);
	if (e || !run->later->wants_libraries)
		return e;
	watch_linker(run, p, false);
	if (!p->stops || !is_ours)
		proc_look(run, p, false); /* what came since it was looked at */
	return NULL;
}

/* The keeper sees to it that no child is left stopped. */
static struct err *start_children(struct run *run)
{
	struct keeper *k;
	struct err *e = attachments_keeper(&run->attachments, &k);

	if (!e)
		e = keeper_herd(k, follow_procs(run->later->follow));
	return e ? e : follow_forks(run->later->follow);
}

void later_start(struct run *run)
{
	struct later *l = run->later;
	struct err *e;

	if (!l)
		return;
	e = follow_create(l->procs.len + (l->wants_children ? FOLLOW_CHILDREN_MAX : 0), &run->pidns,
			  &l->follow);
	if (!e)
		e = rings_listen(run->rings, follow_fd(l->follow));
	if (!e && l->wants_children)
		e = start_children(run);
	for (uint32_t i = 0; i < l->procs.len && !e; i++)
		e = start_proc(run, &l->procs.data[i]);
	if (e)
		report_adjusted(run->report, "what processes map from now on is not probed: %s",
				err_text(e));
	err_destroy(e);
}

void later_stop(struct run *run)
{
	if (run->later && run->later->follow)
		herd_release(follow_procs(run->later->follow));
}

void later_destroy(struct run *run)
{
	struct later *l = run->later;

	if (!l)
		return;
	follow_destroy(l->follow);
	for (uint32_t i = 0; i < l->procs.len; i++) {
		if (l->procs.data[i].stops)
			proc_id_resume(&l->procs.data[i].id);
		proc_id_close(&l->procs.data[i].id);
		children_destroy(l->procs.data[i].children);
	}
	vec_deinit(&l->procs);
	free(l);
	run->later = NULL;
}
