/* SPDX-License-Identifier: MIT */
/* Walks the stacks of all threads of a target. */
#include "helper/dump.h"

#include <inttypes.h>

#include "base/text.h"
#include "target/maps.h"
#include "image/debugfile.h"
#include "sym/sym.h"
#include "helper/ustack.h"

/* More than any stack has: what is not bounded would not end in a damaged process. */
#define FRAMES_MAX 1000000u
#define TEXT_MAX   (256u << 20)

void dump_deinit(struct dump *d)
{
	for (uint32_t i = 0; i < d->threads.len; i++) {
		free(d->threads.data[i].missing);
		replay_frames_deinit(&d->threads.data[i].frames);
	}
	vec_deinit(&d->threads);
	strbuf_deinit(&d->notes);
	free(d->args);
	*d = (struct dump){0};
}

/* ---- what is said of a target ---------------------------------------------------------------- */

void dump_stale_tell(struct target *t, struct strbuf *out)
{
	const struct proc_maps *maps = target_maps(t);
	const struct proc_map *last = NULL; /* the mappings of a file are mostly neighbours */

	for (uint32_t i = 0; i < maps->maps.len; i++) {
		const struct proc_map *m = &maps->maps.data[i];
		char *name;

		if (!m->is_stale || m->off || (last && proc_map_is_same_file(m, last)))
			continue;
		last = m;
		name = text_clean(xstrdup(m->path));
		strbuf_addf(out,
			    "'%s' is not the file that the process had: its build id is another "
			    "one. Frames in it have no names, and the stack may be cut there\n",
			    name);
		free(name);
	}
}

void dump_signal_tell(struct target *t, struct strbuf *out)
{
	const char *name;
	siginfo_t si;

	if (!target_signal(t, &si))
		return;
	name = sigabbrev_np(si.si_signo);
	strbuf_addf(out, "the process got %s%s", name ? "SIG" : "signal ", name ? name : "");
	if (!name)
		strbuf_addf(out, "%d", si.si_signo);
	if (si.si_code > 0 && (si.si_signo == SIGSEGV || si.si_signo == SIGBUS ||
			       si.si_signo == SIGILL || si.si_signo == SIGFPE))
		strbuf_addf(out, " at address 0x%" PRIx64, (uint64_t)(uintptr_t)si.si_addr);
	strbuf_addc(out, '\n');
}

/* ---- the threads ----------------------------------------------------------------------------- */

static void thread_walk(struct replay *r, const struct target_who *who, struct dump *d)
{
	struct dump_thread t = {.tid = who->tid, .inner = who->inner, .state = who->state};
	struct arch_regs regs;
	struct err *e = who->state == 'Z' ? err_new("it has ended")
					  : target_regs(r->target, who->tid, &regs);

	(void)snprintf(t.name, sizeof(t.name), "%s", who->name);
	if (e) {
		t.missing = xstrdup(err_text(e));
		err_destroy(e);
	} else {
		r->regs = &regs;
		r->thread = replay_thread_of(who);
		replay_walk(r);
		t.frames = r->frames;
		r->frames = (replay_frames){0};
		t.is_cut = r->is_cut;
		t.is_full = r->is_full;
	}
	vec_push(&d->threads, t);
}

static void threads_walk(struct ustacks *u, struct target *target, pid_t only, struct dump *d)
{
	struct walk_target *walk = walk_target_open(target, ustacks_files(u));
	struct helper *list[USTACK_HELPERS_MAX];
	struct replay r = {.target = target,
			   .helpers = list,
			   .files = ustacks_files(u),
			   .space = walk_target_space(walk),
			   .max_frames = FRAMES_MAX,
			   .strsize = TEXT_MAX,
			   .max_actions = REPLAY_ACTIONS_DEEP};
	target_tids tids = {0};
	struct target_who who;

	r.nhelpers = ustacks_of_target(u, target, list);
	replay_begin(&r);
	target_threads(target, &tids);
	for (uint32_t i = 0; i < tids.len; i++) {
		if ((only && tids.data[i] != only) || !target_who(target, tids.data[i], &who))
			continue;
		thread_walk(&r, &who, d);
		if (who.state == 'Z' && who.tid == who.pid)
			strbuf_adds(&d->notes,
				    "the first thread of the process has ended, and with it what "
				    "the kernel tells of its memory: stacks are cut and have no "
				    "names\n");
	}
	replay_end(&r);
	vec_deinit(&tids);
	walk_target_close(walk);
}

/*
 * Reads what a walk of the process needs of files, while it runs: then it stands still only while
 * memory and registers are read.
 */
static void files_prepare(struct ustacks *u, pid_t pid)
{
	struct helper *list[USTACK_HELPERS_MAX];
	struct target *t;
	struct err *e = target_live_open(pid, ustacks_files(u)->gate, &t);

	if (!e) {
		(void)ustacks_of_target(u, t, list);
		target_close(t);
	}
	err_destroy(e);
}

struct err *ustacks_dump(struct ustacks *u, const struct dump_opts *opts, struct dump *ret)
{
	struct gate *gate = ustacks_files(u)->gate;
	struct target *t = NULL;
	struct target_who who;
	uint64_t since;
	struct err *e;

	*ret = (struct dump){0};
	if (!opts->core)
		files_prepare(u, opts->tid);
	since = now_ns();
	e = opts->core ? target_core_open(opts->core, gate, &t) : target_hold(opts->tid, gate, &t);
	if (e)
		return e;
	ret->pid = target_pid(t);
	ret->named = syms_target(opts->syms, t);
	if (target_who(t, opts->core ? ret->pid : opts->tid, &who))
		ret->args = text_clean(xstrdup(*who.args ? who.args : who.name));
	dump_signal_tell(t, &ret->notes);
	dump_stale_tell(t, &ret->notes);
	threads_walk(u, t, opts->only ? opts->only : opts->tid == ret->pid ? 0 : opts->tid, ret);
	if (opts->held && ret->threads.len && (!opts->tid || opts->tid == ret->pid))
		opts->held(opts->ctx, t);
	target_close(t);
	ret->held_ns = opts->core ? 0 : now_ns() - since;
	if (ret->threads.len)
		return NULL;
	e = err_new("there is no thread %d in process %d",
		    (int)(opts->only ? opts->only : opts->tid), (int)ret->pid);
	dump_deinit(ret);
	return e;
}
