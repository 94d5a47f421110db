/* SPDX-License-Identifier: MIT */
/*
 * Followed processes: reads the events of the BPF programs, takes the steps of states.c, and calls
 * the subscribers.
 */
#include "watch/procs.h"

#include <errno.h>

#include "arch/arch.h"
#include "base/str.h"
#include "base/text.h"
#include "keeper/stopped.h"
#include "keeper/keeper.h"
#include "kernel/kernel.h"
#include "target/maps.h"
#include "target/rtld.h"
#include "target/target.h"
#include "files/gate.h"
#include "sym/sym.h"
#include "watch/children.h"
#include "watch/follow.h"
#include "watch/states.h"

#define TEND_NS 200000000 /* least time between two searches for ended processes and children */
/*
 * About how long a sweep of children takes, and what each breakpoint adds. Sweeps may take one part
 * in SWEEP_SHARE of the time.
 */
#define SWEEP_NS       50000000
#define SWEEP_PLACE_NS 50000
#define SWEEP_SHARE    20

struct file_key {
	uint64_t dev, ino;
};

struct watch_proc {
	struct proc_id id, root; /* root has no pidfd */
	enum watch_state state;
	uint32_t flags;	  /* WATCH_STOPS ... */
	bool waits;	  /* with WATCH_SPARED: one of its events has stopped it */
	bool was_waiting; /* before the event that is attended to */
	bool is_let_go;	  /* the keeper has resumed it before that was attended to */
	uint64_t time;	  /* of the event that is attended to; 0: there is none */
	/* A uprobe in the dynamic linker, which is the file `linker`, reports libraries. */
	bool has_linker;
	struct file_key linker;
	VEC(struct file_key) files; /* mapped code that subscribers know of; ascending */
	struct children *children;  /* NULL until they are searched for */
};

struct procs {
	const struct watch_hooks *hooks;
	const struct subscribers *subs;
	struct watch_following opts;
	struct follow *follow;
	VEC(struct watch_proc *) list;
	VEC(struct proc_id) roots; /* processes of watch_follow(); ended ones stay here */
	VEC(pid_t) ended;	   /* processes whose links are to be taken off: ended_flush() */
	bool is_over, is_full_told, is_lost_told;
	char *told;	       /* the last message of procs_failed() */
	struct keeper *keeper; /* that has the events; NULL: nobody is stopped */
	uint64_t nlet_go;      /* as keeper_nresumed() has said, and the user was told */
	uint64_t tend_at;
};

static bool is_same(const struct proc_id *id, uint32_t pid, uint64_t start)
{
	return id->pid == (pid_t)pid && id->start == start;
}

static struct watch_proc *proc_find(const struct procs *ps, uint32_t pid, uint64_t start)
{
	for (uint32_t i = 0; i < ps->list.len; i++)
		if (is_same(&ps->list.data[i]->id, pid, start))
			return ps->list.data[i];
	return NULL;
}

/* Takes over the descriptor of id. */
static struct watch_proc *proc_create(const struct proc_id *id, const struct proc_id *root,
				      uint32_t flags)
{
	struct watch_proc *p = xcalloc(1, sizeof(*p));

	p->id = *id;
	p->root = *root;
	p->root.pidfd = -1;
	p->flags = flags;
	return p;
}

static void proc_destroy(struct watch_proc *p)
{
	proc_id_close(&p->id);
	children_destroy(p->children);
	vec_deinit(&p->files);
	free(p);
}

bool watch_proc_lives(const struct watch_proc *p)
{
	return !proc_id_has_ended(&p->id);
}

const struct proc_id *watch_id(const struct watch_proc *p)
{
	return &p->id;
}

const struct proc_id *watch_root(const struct watch_proc *p)
{
	return &p->root;
}

static struct watch_subject subject_of(struct watch_proc *p)
{
	return (struct watch_subject){.pid = (uint64_t)p->id.pid,
				      .time = p->time ? p->time : now_ns(),
				      .proc = p,
				      .runs_on = p->is_let_go ||
						 ((p->flags & WATCH_SPARED) && !p->waits)};
}

/*
 * Returns true if the process still has memory: a process that ends gives up its memory some time
 * before it counts as ended. Mappings are read by the id, not through a target, because their
 * number is all that counts, and whose they were is asked afterwards.
 */
static bool has_memory(const struct watch_proc *p)
{
	struct proc_maps maps;
	struct err *e = proc_maps_read(p->id.pid, &maps);
	bool any = e ? err_get_sys(e) != ESRCH : maps.maps.len > 0;

	if (!e)
		proc_maps_deinit(&maps);
	err_destroy(e);
	return any && watch_proc_lives(p);
}

/* Whether the fence has ended the process, or does so (keeper/fence.h), which is told elsewhere. */
static bool is_fenced(const struct procs *ps, const struct watch_proc *p)
{
	struct keeper *k = NULL;
	struct err *e = ps->hooks->keeper(ps->hooks->ctx, &k);

	err_destroy(e); /* without a keeper there are no breakpoints, and no fence */
	return k && keeper_has_fenced(k, p->id.pid);
}

/*
 * There is no notice for a process that ends: its part of the run ends with it; nor after a signal
 * that ends the session.
 */
void procs_failed(struct procs *ps, const struct watch_proc *p, const char *what, struct err *e)
{
	struct strbuf text = {0};

	strbuf_addf(&text, "process %d has other code now: %s: %s", (int)p->id.pid, what,
		    err_text(e));
	if (!ps->opts.is_silent && err_get_sys(e) != EINTR &&
	    (!ps->told || strcmp(ps->told, strbuf_text(&text)) != 0) && !is_fenced(ps, p) &&
	    has_memory(p)) {
		ps->hooks->notice(ps->hooks->ctx, strbuf_text(&text));
		free(ps->told);
		ps->told = xstrdup(strbuf_text(&text));
	}
	strbuf_deinit(&text);
	err_destroy(e);
}

/* ---- mapped files --------------------------------------------------------------------------- */

/* A file, and the first mapping of its code in memory. */
struct found {
	struct file_key key;
	const struct proc_map *map;
};

typedef VEC(struct found) found_vec;

static int key_compare(const struct file_key *a, const struct file_key *b)
{
	if (a->dev != b->dev)
		return a->dev < b->dev ? -1 : 1;
	return (a->ino > b->ino) - (a->ino < b->ino);
}

static int by_file(const void *pa, const void *pb)
{
	const struct found *a = pa, *b = pb;
	int order = key_compare(&a->key, &b->key);

	return order ? order : (a->map > b->map) - (a->map < b->map);
}

static void files_collect(const struct proc_maps *maps, found_vec *ret)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < maps->maps.len; i++) {
		const struct proc_map *m = &maps->maps.data[i];

		if (m->is_exec && m->ino)
			vec_push(ret, (struct found){{m->dev, m->ino}, m});
	}
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), by_file);
	for (uint32_t i = 0; i < ret->len; i++)
		if (!n || key_compare(&ret->data[n - 1].key, &ret->data[i].key) != 0)
			ret->data[n++] = ret->data[i];
	ret->len = n;
}

static void tell_mapped(const struct procs *ps, const struct watch_subject *s,
			const struct proc_map *m)
{
	const struct sym_map map = {.start = m->start,
				    .len = m->end - m->start,
				    .off = m->off,
				    .dev = m->dev,
				    .ino = m->ino,
				    .path = m->path,
				    .is_exec = true};

	SUBSCRIBERS_TELL(ps->subs, WATCH_FOLLOWED, mapped, s, &map);
}

/* Reports the differences between p->files and now; both lists are ascending. */
static void files_compare(const struct procs *ps, struct watch_proc *p, const found_vec *now)
{
	struct watch_subject s = subject_of(p);
	uint32_t i = 0, k = 0;

	while (i < p->files.len || k < now->len) {
		int order = i == p->files.len ? 1
			    : k == now->len   ? -1
					      : key_compare(&p->files.data[i], &now->data[k].key);

		if (order < 0)
			SUBSCRIBERS_TELL(ps->subs, WATCH_FOLLOWED, unmapped, &s,
					 p->files.data[i].dev, p->files.data[i].ino);
		else if (order > 0)
			tell_mapped(ps, &s, now->data[k].map);
		i += order <= 0;
		k += order >= 0;
	}
	vec_clear(&p->files);
	for (k = 0; k < now->len; k++)
		vec_push(&p->files, now->data[k].key);
}

/* Reports files that were mapped and unmapped; reported() follows when all are reported. */
static void files_tell(struct procs *ps, struct watch_proc *p)
{
	struct proc_maps maps;
	struct watch_subject s;
	found_vec now = {0};
	struct err *e = proc_maps_read(p->id.pid, &maps);

	if (e) {
		procs_failed(ps, p, "its functions are not probed", e);
		return;
	}
	if (maps.maps.len && watch_proc_lives(p)) { /* otherwise maps may be of another process */
		files_collect(&maps, &now);
		files_compare(ps, p, &now);
		s = subject_of(p);
		SUBSCRIBERS_TELL(ps->subs, WATCH_FOLLOWED, reported, &s);
	}
	vec_deinit(&now);
	proc_maps_deinit(&maps);
}

/* ---- dynamic linkers ------------------------------------------------------------------------ */

static struct err *keeper_of(const struct procs *ps, struct keeper **ret)
{
	return ps->hooks->keeper(ps->hooks->ctx, ret);
}

static void links_drop(struct procs *ps, const struct watch_proc *p, bool waits)
{
	struct keeper *k;
	struct err *e = keeper_of(ps, &k);

	if (!e)
		e = keeper_drop(k, p->id.pid, waits);
	if (e)
		procs_failed(ps, p, "functions may be counted twice", e);
}

/*
 * Takes off the links of all processes that have ended: a fork of the keeper does it, and one for
 * each process would take longer than all else.
 */
static void ended_flush(struct procs *ps)
{
	struct keeper *k;
	struct err *e = ps->ended.len ? keeper_of(ps, &k) : NULL;

	if (ps->ended.len && !e)
		e = keeper_drop_all(k, ps->ended.data, ps->ended.len);
	vec_clear(&ps->ended);
	err_destroy(e); /* the keeper is gone, which keeper_check() reports; or the session ends */
}

/* The links that are made next for this process id are those of another process. */
static void ended_flush_pid(struct procs *ps, pid_t pid)
{
	for (uint32_t i = 0; i < ps->ended.len; i++)
		if (ps->ended.data[i] == pid) {
			ended_flush(ps);
			return;
		}
}

static struct err *linker_link(struct procs *ps, const struct watch_proc *p, const struct rtld *r)
{
	struct keeper *k;
	struct err *e;

	if (!gate_file_is_probed(r->file))
		return err_new("a program may be the server of its dynamic linker's file system; "
			       "to probe that needs proc_owner");
	e = keeper_of(ps, &k);
	return e ? e
		 : follow_linker(ps->follow, k, &p->id, gate_file_fd(r->file), r->hook_off,
				 r->state);
}

/*
 * Attaches to the dynamic linker of the process. If it is the same file as before, the old link
 * serves on. A static program has no dynamic linker, and leaves the link to the program after it.
 */
static void linker_watch(struct procs *ps, struct watch_proc *p)
{
	struct target *t = NULL;
	struct rtld r;
	struct err *e = target_live_open(p->id.pid, ps->hooks->gate, &t);
	bool is_known, is_found = !e && rtld_find(t, &r);

	err_destroy(e); /* it has ended */
	target_close(t);
	if (!is_found)
		return;
	e = NULL;
	is_known = p->has_linker && key_compare(&p->linker, &(struct file_key){r.dev, r.ino}) == 0;
	if (!is_known && watch_proc_lives(p))
		e = linker_link(ps, p, &r);
	if (!e) {
		p->has_linker = true;
		p->linker = (struct file_key){r.dev, r.ino};
		follow_linker_note(ps->follow, &p->id, r.dev, r.ino);
	} else {
		procs_failed(ps, p, "libraries that it opens are not probed", e);
	}
	rtld_deinit(&r);
}

/* ---- actions -------------------------------------------------------------------------------- */

static void act_none(struct procs *ps, struct watch_proc *p)
{
}

static void act_follow(struct procs *ps, struct watch_proc *p)
{
	if (ps->opts.wants_libraries)
		linker_watch(ps, p);
	if (p->flags & WATCH_LOOKS)
		files_tell(ps, p);
}

static void act_adopt(struct procs *ps, struct watch_proc *p)
{
	struct watch_subject s = subject_of(p);

	SUBSCRIBERS_TELL(ps->subs, WATCH_FOLLOWED, forked, &s, (uint64_t)p->root.pid);
	if (ps->opts.wants_libraries)
		linker_watch(ps, p);
	files_tell(ps, p);
}

static void exec_tell(struct procs *ps, struct watch_proc *p, bool is_other_task)
{
	struct watch_subject s = subject_of(p);

	s.is_other_task = is_other_task;
	vec_clear(&p->files);
	SUBSCRIBERS_TELL(ps->subs, WATCH_FOLLOWED, execed, &s);
	linker_watch(ps, p);
	files_tell(ps, p);
}

static void act_exec(struct procs *ps, struct watch_proc *p)
{
	exec_tell(ps, p, false);
}

/*
 * Takes off the old link in the dynamic linker. Beside the new one it would report each event a
 * second time, and the process would be resumed a second time: perhaps when it has gone on to open
 * another library, and waits for the probes of that.
 */
static void linker_drop(struct procs *ps, const struct watch_proc *p)
{
	struct keeper *k;
	struct err *e = keeper_of(ps, &k);

	if (!e)
		e = follow_linker_drop(k, &p->id);
	if (e)
		procs_failed(ps, p, "functions of libraries that it opens may be missed", e);
}

/*
 * When the process has become another task, the kernel makes no breakpoints for its old links, but
 * the old links still fire at breakpoints that new links make (Linux 6.18
 * kernel/trace/bpf_trace.c, uprobe_multi_link_filter()). If children have links of their own, all
 * old links of the process are taken off here; otherwise the subscribers take care of theirs. The
 * link in the dynamic linker is dead even if the program has no dynamic linker, but executes one
 * later that has the same.
 */
static void act_renew(struct procs *ps, struct watch_proc *p)
{
	if (ps->opts.has_children)
		links_drop(ps, p, true);
	else if (p->has_linker)
		linker_drop(ps, p);
	p->has_linker = false;
	follow_linker_forget(ps->follow, &p->id);
	exec_tell(ps, p, true);
}

static void act_look(struct procs *ps, struct watch_proc *p)
{
	files_tell(ps, p);
}

/* Whether the keeper has resumed the process of the event that was read last (keeper/held.h). */
static bool is_let_go(const struct procs *ps)
{
	if (!ps->keeper)
		return false;
	keeper_events_seen(ps->keeper, follow_seen(ps->follow));
	return keeper_events_resumed(ps->keeper) >= follow_position(ps->follow);
}

/*
 * The keeper may resume the process while its event is attended to. It answers this event only: who
 * has waited before is resumed by us.
 */
static void let_go_renew(const struct procs *ps, struct watch_proc *p)
{
	if (p->time && !p->was_waiting)
		p->is_let_go = is_let_go(ps);
}

static void act_resume(struct procs *ps, struct watch_proc *p)
{
	let_go_renew(ps, p);
	if (!p->is_let_go && (p->flags & WATCH_STOPS) && (p->waits || !(p->flags & WATCH_SPARED)))
		proc_id_resume(&p->id);
	p->waits = p->was_waiting = p->is_let_go = false;
}

/* The links of an ended process keep its remains in memory, and fire no more: takes them off. */
static void act_bury(struct procs *ps, struct watch_proc *p)
{
	struct watch_subject s = subject_of(p);

	follow_leave(ps->follow, &p->id);
	vec_push(&ps->ended, p->id.pid);
	SUBSCRIBERS_TELL(ps->subs, WATCH_FOLLOWED, ended, &s);
}

static void act_forget(struct procs *ps, struct watch_proc *p)
{
	follow_leave(ps->follow, &p->id);
	proc_resume_exact(p->id.pid, p->id.start);
}

static void (*const actions[WATCH_NACTIONS])(struct procs *ps, struct watch_proc *p) = {
	[WATCH_ACT_NONE] = act_none,	 [WATCH_ACT_FOLLOW] = act_follow,
	[WATCH_ACT_ADOPT] = act_adopt,	 [WATCH_ACT_EXEC] = act_exec,
	[WATCH_ACT_RENEW] = act_renew,	 [WATCH_ACT_LOOK] = act_look,
	[WATCH_ACT_RESUME] = act_resume, [WATCH_ACT_BURY] = act_bury,
	[WATCH_ACT_FORGET] = act_forget,
};

static void proc_step(struct procs *ps, struct watch_proc *p, enum watch_event ev)
{
	struct watch_step step = watch_step(p->state, ev);

	let_go_renew(ps, p);
	p->state = step.next;
	actions[step.action](ps, p);
}

/* Removes ended processes from the list. */
static void list_clean(struct procs *ps)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < ps->list.len; i++) {
		struct watch_proc *p = ps->list.data[i];

		if (p->state == WATCH_STATE_ENDED)
			proc_destroy(p);
		else
			ps->list.data[n++] = p;
	}
	ps->list.len = n;
}

/* ---- events --------------------------------------------------------------------------------- */

static enum watch_event event_kind(const struct rt_watch_event *ev)
{
	/* without FEAT_UPROBE_TGID links are not filtered by the process's first thread */
	bool is_other =
		ev->is_other && (!feat_has(FEAT_UPROBE_MULTI) || feat_has(FEAT_UPROBE_TGID));

	switch ((enum rt_watch_kind)ev->kind) {
	case RT_WATCH_EXEC: return is_other ? WATCH_EV_EXEC_OTHER : WATCH_EV_EXEC;
	case RT_WATCH_MAPPED: return WATCH_EV_MAPPED;
	case RT_WATCH_CHILD: return WATCH_EV_BORN;
	case RT_WATCH_FULL:
	case RT_WATCH_TWIN: break;
	}
	return WATCH_EV_LOST;
}

static const struct proc_id *root_find(const struct procs *ps, uint32_t pid)
{
	for (uint32_t i = 0; i < ps->roots.len; i++)
		if (ps->roots.data[i].pid == (pid_t)pid)
			return &ps->roots.data[i];
	return NULL;
}

/* Returns NULL if the child has ended, even if another process has its process id now. */
static struct watch_proc *child_create(struct procs *ps, const struct rt_watch_event *ev)
{
	const struct proc_id *root = root_find(ps, ev->root);
	struct proc_id id;
	struct err *e = root ? proc_id_open((pid_t)ev->pid, &id) : err_new("no such process");
	struct watch_proc *p;

	if (e) {
		err_destroy(e);
		return NULL;
	}
	if (id.start != ev->start) {
		proc_id_close(&id);
		return NULL;
	}
	for (uint32_t i = 0; i < ps->list.len; i++) /* the process id's former owner has ended */
		if (ps->list.data[i]->id.pid == id.pid)
			proc_step(ps, ps->list.data[i], WATCH_EV_END);
	list_clean(ps);
	ended_flush_pid(ps, id.pid);
	p = proc_create(&id, root, WATCH_STOPS | WATCH_OUTLIVES);
	vec_push(&ps->list, p);
	return p;
}

static void full_tell(struct procs *ps, uint32_t parent)
{
	struct strbuf text = {0};

	if (!ps->is_full_told) {
		strbuf_addf(&text,
			    "more than %u children at one time: some, the first of process %u, are "
			    "not probed",
			    FOLLOW_CHILDREN_MAX, parent);
		ps->hooks->notice(ps->hooks->ctx, strbuf_text(&text));
	}
	ps->is_full_told = true;
	strbuf_deinit(&text);
}

/*
 * Ends the following of a process that has ended: links may have been made for another process that
 * has its process id now.
 */
static void end_check(struct procs *ps, struct watch_proc *p)
{
	if (p->state != WATCH_STATE_RUNS || watch_proc_lives(p))
		return;
	proc_step(ps, p, WATCH_EV_END);
	list_clean(ps);
}

static void let_go_tell(struct procs *ps)
{
	uint64_t now = ps->keeper ? keeper_nresumed(ps->keeper) : 0, n = now - ps->nlet_go;
	struct strbuf text = {0};

	ps->nlet_go = now;
	if (!n || ps->opts.is_silent)
		return;
	strbuf_addf(&text,
		    "%llu time%s a process that waited for its probes ran on without them, because "
		    "dtrace did not come by: it was stopped, or busy, or its output was not read",
		    (unsigned long long)n, WORD_FOR(n, "", "s"));
	ps->hooks->notice(ps->hooks->ctx, strbuf_text(&text));
	strbuf_deinit(&text);
}

static void event_attend(struct procs *ps, const struct rt_watch_event *ev)
{
	struct watch_proc unknown = {.id = {(pid_t)ev->pid, -1, ev->start}};
	struct watch_proc *p = proc_find(ps, ev->pid, ev->start);

	if (ev->kind == RT_WATCH_FULL) {
		full_tell(ps, ev->pid);
		return;
	}
	if (!p && ev->kind == RT_WATCH_CHILD && !ps->is_over)
		p = child_create(ps, ev);
	if (!p) {
		unknown.state = WATCH_STATE_ENDED;
		p = &unknown;
	}
	p->was_waiting = p->waits;
	p->waits |= !ev->runs_on;
	p->is_let_go = false;
	p->time = ev->time;
	proc_step(ps, p, event_kind(ev));
	/*
	 * If another of its events is there already, it is resumed after that one: each event that
	 * is attended to resumes it, whatever it has begun to wait for meanwhile.
	 */
	if (!follow_has_more(ps->follow, ev))
		proc_step(ps, p, WATCH_EV_SUBSCRIBERS_DONE);
	p->time = 0;
	end_check(ps, p);
}

/* A lost event has not stopped its process, so the mappings of all processes are read now. */
static void lost_attend(struct procs *ps)
{
	uint64_t n = follow_lost(ps->follow);

	if (!n)
		return;
	if (!ps->is_lost_told && !ps->is_over && !ps->opts.is_silent)
		ps->hooks->notice(
			ps->hooks->ctx,
			"processes did more than could be attended to: code that came in the "
			"meantime was probed late");
	ps->is_lost_told = true;
	for (uint32_t i = 0; i < ps->list.len; i++) {
		proc_step(ps, ps->list.data[i], WATCH_EV_LOST);
		proc_step(ps, ps->list.data[i], WATCH_EV_SUBSCRIBERS_DONE);
	}
}

/* ---- now and then --------------------------------------------------------------------------- */

static uint64_t places_count(const struct procs *ps, const struct watch_subject *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < ps->subs->list.len; i++) {
		const struct subscription *sub = &ps->subs->list.data[i];

		if (sub->sub->nplaces)
			n += sub->sub->nplaces(sub->ctx, s);
	}
	return n;
}

static void children_tend(struct procs *ps, struct watch_proc *p, uint64_t now)
{
	struct watch_subject s = subject_of(p);
	uint64_t n = places_count(ps, &s);

	if (n && !p->children)
		p->children = children_create(&p->id);
	if (!n || !children_look(p->children) || !watch_proc_lives(p))
		return;
	SUBSCRIBERS_TELL(ps->subs, WATCH_FOLLOWED, inherited, &s);
	ps->tend_at = MAX(ps->tend_at, now + (SWEEP_NS + n * SWEEP_PLACE_NS) * SWEEP_SHARE);
}

static void procs_tend(struct procs *ps)
{
	uint64_t now = now_ns();

	if (now < ps->tend_at || ps->is_over)
		return;
	ps->tend_at = now + TEND_NS;
	for (uint32_t i = 0; i < ps->list.len; i++)
		if (!watch_proc_lives(ps->list.data[i]))
			proc_step(ps, ps->list.data[i], WATCH_EV_END);
	list_clean(ps);
	ended_flush(ps);
	/*
	 * If children are followed, all their breakpoints are wanted. On kernels without
	 * FEAT_UPROBE_TGID the first hit takes a breakpoint out of a child.
	 */
	if (ps->opts.has_children || !feat_has(FEAT_UPROBE_TGID))
		return;
	for (uint32_t i = 0; i < ps->list.len; i++)
		children_tend(ps, ps->list.data[i], now);
}

/* When tracing is over, or about to be, lets everything run on. */
static void end_see(struct procs *ps)
{
	if (!ps->is_over && ps->hooks->is_over(ps->hooks->ctx))
		procs_stop(ps);
}

void procs_work(struct procs *ps)
{
	struct rt_watch_event ev;
	bool any = false;

	end_see(ps);
	for (; follow_read(ps->follow, &ev); any = true) {
		event_attend(ps, &ev);
		end_see(ps); /* children may come as fast as they are attended to */
	}
	if (any)
		lost_attend(ps);
	let_go_tell(ps);
	procs_tend(ps);
}

/* ---- beginning and end ---------------------------------------------------------------------- */

/* Whether the next instruction of a held process is the one where its dynamic linker reports. */
static bool is_at_hook(const struct procs *ps, const struct watch_proc *p)
{
	struct target *t = NULL;
	struct arch_regs regs;
	const struct proc_map *m;
	struct rtld r;
	bool is_there = false;
	struct err *e = target_held_open(p->id.pid, ps->hooks->gate, &t);

	if (!e)
		e = target_regs(t, p->id.pid, &regs);
	if (!e && rtld_find(t, &r)) {
		m = proc_maps_find(target_maps(t), regs.words[arch.pc / 8]);
		is_there = m && m->dev == r.dev && m->ino == r.ino &&
			   regs.words[arch.pc / 8] - m->start + m->off == r.hook_off;
		rtld_deinit(&r);
	}
	err_destroy(e); /* it has ended */
	target_close(t);
	return is_there;
}

/* Nobody is stopped whom the keeper does not let go when we do not come by. */
static struct err *events_pass(struct procs *ps)
{
	struct keeper *k;
	struct err *e = keeper_of(ps, &k);

	if (!e)
		e = keeper_events(k, follow_fd(ps->follow));
	if (!e)
		ps->keeper = k;
	return e;
}

static struct err *flags_apply(struct procs *ps, struct watch_proc *p)
{
	bool outlives = p->flags & WATCH_OUTLIVES;
	uint32_t flags = 0;
	struct keeper *k;
	struct err *e = NULL;

	if (p->flags & WATCH_STOPS)
		e = events_pass(ps);
	if (!e && p->flags & WATCH_STOPS && outlives) {
		e = keeper_of(ps, &k);
		if (!e)
			e = keeper_stopped(k, p->id.pidfd);
		if (!e && p->flags & WATCH_SPARED)
			e = keeper_spare(k, &p->id);
	}
	if (e)
		return e;
	if (p->flags & WATCH_STOPS)
		flags = RT_WATCHED_STOPS | (outlives ? RT_WATCHED_OUTLIVES : 0);
	if (p->flags & WATCH_SPARED)
		flags |= RT_WATCHED_SPARED;
	if (ps->opts.has_children)
		flags |= RT_WATCHED_FORKS;
	if ((p->flags & WATCH_KNOWN) && is_at_hook(ps, p))
		flags |= RT_WATCHED_SKIPS;
	return follow_add(ps->follow, &p->id, flags);
}

struct err *procs_follow(struct procs *ps, const struct proc_id *id, uint32_t flags)
{
	struct watch_proc *p;
	struct proc_id copy;
	struct err *e;

	if (proc_id_has_ended(id) || proc_find(ps, (uint32_t)id->pid, id->start))
		return NULL;
	e = proc_id_copy(id, &copy);
	if (e)
		return e;
	ended_flush_pid(ps, id->pid);
	p = proc_create(&copy, &copy, flags);
	e = flags_apply(ps, p);
	if (e) {
		proc_destroy(p);
		return e;
	}
	vec_push(&ps->list, p);
	vec_push(&ps->roots, p->root);
	proc_step(ps, p, WATCH_EV_FOLLOW);
	end_check(ps, p);
	return NULL;
}

void procs_stop(struct procs *ps)
{
	ps->is_over = true;
	stopped_map_release(follow_procs(ps->follow));
	for (uint32_t i = 0; i < ps->list.len; i++)
		proc_step(ps, ps->list.data[i], WATCH_EV_STOP);
}

/* Starts to follow forks. If dtrace is killed, the keeper resumes children that are stopped. */
static struct err *children_start(struct procs *ps)
{
	struct keeper *k;
	struct err *e = keeper_of(ps, &k);

	if (!e)
		e = events_pass(ps);
	if (!e)
		e = keeper_stopped_map(k, follow_procs(ps->follow));
	return e ? e : follow_forks(ps->follow);
}

struct err *procs_create(const struct watch_hooks *hooks, const struct subscribers *subs,
			 const struct watch_following *opts, struct procs **ret, int *ret_fd)
{
	struct procs *ps = xcalloc(1, sizeof(*ps));
	uint32_t max = opts->max + (opts->has_children ? FOLLOW_CHILDREN_MAX : 0);
	struct err *e = follow_create(max, &opts->ns, opts->known_fds, &ps->follow);

	ps->hooks = hooks;
	ps->subs = subs;
	ps->opts = *opts;
	if (!e && opts->has_children)
		e = children_start(ps);
	if (e) {
		procs_destroy(ps);
		return e;
	}
	*ret = ps;
	*ret_fd = follow_fd(ps->follow);
	return NULL;
}

void procs_destroy(struct procs *ps)
{
	if (!ps)
		return;
	follow_destroy(ps->follow);
	for (uint32_t i = 0; i < ps->list.len; i++) {
		act_resume(ps, ps->list.data[i]);
		proc_destroy(ps->list.data[i]);
	}
	vec_deinit(&ps->list);
	vec_deinit(&ps->roots);
	vec_deinit(&ps->ended);
	free(ps->told);
	free(ps);
}
