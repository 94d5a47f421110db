/* SPDX-License-Identifier: MIT */
/*
 * The owner thread: who counts in words of its own, without a lock (patch.h).
 *
 * Stubs know it by its thread pointer, which the owner words beside the switches have. That is
 * exact as long as no other thread runs with this thread pointer. All thread pointers are looked at
 * when the region is entered, and the threads are held. Later there is one way to a second thread
 * with one of them that a program may go unknowingly: clone() with CLONE_VM, and without
 * CLONE_SETTLS. A program in the kernel (prog_watch_twin() of rt/watch.c) counts these, and stops
 * the maker. While it stands, the new thread alone has the thread pointer, also where it is between
 * the comparison and the increment; the owner words become 0, and the maker goes on. The keeper
 * does that, also while we wait for who reads our output, or are stopped ourselves
 * (keeper/owned.h).
 *
 * An owner is for good: another one could not begin to count in the same words before the first one
 * has left a stub in which it may be.
 */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "keeper/keeper.h"
#include "kernel/capabilities.h"
#include "kernel/code.h"
#include "kernel/kernel.h"
#include "kernel/map.h"
#include "kernel/pidns.h"
#include "kernel/program.h"
#include "kernel/sys.h"
#include "patch/patch_impl.h"
#include "rt/follow.h"
#include "target/ident.h"
#include "target/seize.h"

#define OWNER_AT   8	       /* bytes behind the begin of a page of switches */
#define PROGRAM_NS 1000000     /* longer than the program in the kernel takes */
#define CHOOSE_NS  1000000000u /* for which threads are compared, if there are several */

struct candidate {
	pid_t tid;
	taddr pointer;
	uint64_t cpu_ns; /* that it had used when the process was entered */
};

struct owner {
	struct proc_id id;
	struct keeper *keeper;
	int fds[MAP_NCLASSES], prog_fd, link_fd;
	bool stops;	 /* makers are stopped */
	bool is_written; /* the words of the journal have its pointer */
	VEC(struct candidate) candidates;
	uint64_t choose_at; /* 0: threads are not compared yet */
	taddr pointer;	    /* of the owner; 0: there is none */
};

/* ---- the program in the kernel --------------------------------------------------------------- */

static struct err *cfg_create(struct owner *o)
{
	struct rt_watch_cfg cfg = {.boot_offset = proc_boot_offset(), .tick = PROC_TICK_NS};
	struct err *e = pidns_find(&cfg.ns);

	/* the kernel refuses to stop it: Linux kernel/trace/bpf_trace.c, is_global_init() */
	if (!e && !cfg.ns.level && o->id.pid == 1)
		return err_new("the system's first process cannot be stopped");
	if (!e)
		e = kfield_offset("task_struct", "group_leader", &cfg.task_leader);
	if (!e)
		e = kfield_offset("task_struct", "start_boottime", &cfg.task_start);
	if (!e)
		e = kfield_offset("task_struct", "flags", &cfg.task_flags);
	return e ? e : map_create_const("owner", &cfg, (uint32_t)sizeof(cfg), &o->fds[MAP_WATCH]);
}

static struct err *maps_create(struct owner *o)
{
	const struct map_spec process =
		{BPF_MAP_TYPE_HASH, "owner_process", 4, sizeof(struct rt_watched), 1, .flags = 0};
	const struct map_spec twins = {BPF_MAP_TYPE_ARRAY, "owner_twins", 4, 8, 1, .flags = 0};
	const struct map_spec events = {BPF_MAP_TYPE_RINGBUF,
					"owner_events",
					0,
					0,
					(uint32_t)sysconf(_SC_PAGESIZE),
					.flags = 0};
	struct err *e = map_create(&process, &o->fds[MAP_WATCHED]);

	if (!e)
		e = map_create(&events, &o->fds[MAP_WATCH_EVENTS]);
	return e ? e : map_create(&twins, &o->fds[MAP_WATCH_LOST]);
}

/* From now on its twins are counted; with RT_WATCHED_STOPS the makers are stopped, too. */
static int process_set(const struct owner *o, uint32_t flags)
{
	uint32_t key = (uint32_t)o->id.pid;
	struct rt_watched value = {.flags = flags, .root = key, .start = o->id.start};

	return map_put(o->fds[MAP_WATCHED], &key, &value);
}

static bool has_twins(const struct owner *o)
{
	uint32_t zero = 0;
	uint64_t n = 0;

	return !map_get(o->fds[MAP_WATCH_LOST], &zero, &n) || n;
}

static struct err *program_start(struct owner *o)
{
	struct err *e = cfg_create(o);
	int sys;

	if (!e)
		e = maps_create(o);
	if (!e)
		e = program_load("prog_watch_twin", PROGRAM_TRACEPOINT, o->fds, &o->prog_fd);
	if (!e)
		e = attach_raw_tracepoint(o->prog_fd, "task_newtask", &o->link_fd);
	if (e)
		return e;
	sys = process_set(o, 0);
	return sys ? err_sys(sys, "cannot follow process %d", (int)o->id.pid) : NULL;
}

/* A program that runs on another CPU just now may not have seen what was set. */
static void program_await(void)
{
	(void)nanosleep(&(struct timespec){.tv_nsec = PROGRAM_NS}, NULL);
}

/* The keeper does not answer: it was killed, or nobody waits for it any more. */
static void maker_resume(const struct owner *o, struct windows_owner *w)
{
	if (!has_twins(o) || __atomic_load_n(&w->is_ended, __ATOMIC_ACQUIRE))
		return;
	proc_id_resume(&o->id);
	__atomic_store_n(&w->is_resumed, true, __ATOMIC_RELEASE);
}

/* Nobody is stopped any more, and who is goes on. The words are 0. */
static void makers_free(const struct patch *p, struct owner *o)
{
	struct err *e;

	(void)process_set(o, 0);
	program_await();
	e = keeper_disowned(o->keeper, p->journal->id);
	if (e)
		maker_resume(o, &p->journal->owner);
	err_destroy(e);
	o->stops = false;
}

static void owner_free(const struct patch *p, struct owner *o)
{
	if (o->stops)
		makers_free(p, o);
	if (o->link_fd >= 0)
		(void)close(o->link_fd);
	if (o->prog_fd >= 0)
		(void)close(o->prog_fd);
	for (uint32_t i = 0; i < MAP_NCLASSES; i++)
		if (o->fds[i] >= 0)
			(void)close(o->fds[i]);
	proc_id_close(&o->id);
	vec_deinit(&o->candidates);
	free(o);
}

/* The maker of a twin stands still until the words are 0. */
void owner_destroy(struct patch *p)
{
	struct owner *o = p->owner;

	if (!o)
		return;
	p->owner = NULL;
	if (o->stops)
		owner_write(p);
	owner_free(p, o);
}

void owner_create(struct patch *p)
{
	struct owner *o;
	struct err *e;

	/* whom it stops it must be able to let go, and the keeper, when we are killed */
	if (!p->keeper || !capabilities_signal_all())
		return;
	o = xcalloc(1, sizeof(*o));
	memset(o->fds, 0xff, sizeof(o->fds));
	o->prog_fd = o->link_fd = o->id.pidfd = -1;
	o->keeper = p->keeper;
	e = proc_id_open(p->pid, &o->id);
	if (!e)
		e = program_start(o);
	if (e)
		owner_free(p, o);
	else
		p->owner = o;
	err_destroy(e); /* all threads count with a lock */
}

/* ---- whom there is --------------------------------------------------------------------------- */

static uint64_t cpu_time(pid_t pid, pid_t tid)
{
	CLEANUP(file) FILE *f = NULL;
	unsigned long long ns = 0;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%llu", &ns) != 1)
		ns = 0;
	return ns;
}

static int by_pointer(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;

	return (a->pointer > b->pointer) - (a->pointer < b->pointer);
}

/* What stubs compare is the first word of the block, which is the thread pointer itself. */
static bool candidate_find(const struct patch *p, pid_t tid, struct candidate *ret)
{
	struct arch_regs regs;
	taddr word = 0;

	if (!arch.regs_read(tid, &regs) || !regs.thread_pointer ||
	    sys_pread(p->mem_fd, &word, sizeof(word), regs.thread_pointer) !=
		    (ssize_t)sizeof(word) ||
	    word != regs.thread_pointer)
		return false;
	*ret = (struct candidate){tid, word, cpu_time(p->pid, tid)};
	return true;
}

void owner_find(struct patch *p, const struct seized *held)
{
	struct owner *o = p->owner;
	bool is_sound = true;

	if (!o)
		return;
	vec_clear(&o->candidates);
	for (uint32_t i = 0; i < held->n && is_sound; i++) {
		struct candidate c;

		is_sound = candidate_find(p, held->threads[i].tid, &c);
		if (is_sound)
			vec_push(&o->candidates, c);
	}
	if (o->candidates.len)
		qsort(o->candidates.data, o->candidates.len, sizeof(*o->candidates.data),
		      by_pointer);
	for (uint32_t i = 1; i < o->candidates.len; i++)
		is_sound &= o->candidates.data[i].pointer != o->candidates.data[i - 1].pointer;
	if (!is_sound)
		vec_clear(&o->candidates);
}

/* ---- who it is ------------------------------------------------------------------------------- */

/* The thread that has used a CPU most since the process was entered; all ids are those of then. */
static const struct candidate *busiest_find(const struct patch *p)
{
	const struct owner *o = p->owner;
	const struct candidate *best = NULL;
	uint64_t most = 0;

	for (uint32_t i = 0; i < o->candidates.len; i++) {
		const struct candidate *c = &o->candidates.data[i];
		uint64_t now = cpu_time(p->pid, c->tid), used = now - MIN(now, c->cpu_ns);

		if (!best || used > most) {
			best = c;
			most = used;
		}
	}
	return best;
}

/* Chooses the owner, if it is time. False: there is none, now or for good. */
static bool owner_choose(struct patch *p)
{
	struct owner *o = p->owner;
	uint64_t now = now_ns();

	if (!o->candidates.len || has_twins(o)) {
		owner_destroy(p);
		return false;
	}
	if (!o->choose_at)
		o->choose_at = now + (o->candidates.len > 1 ? CHOOSE_NS : 0);
	if (!o->pointer && now >= o->choose_at)
		o->pointer = busiest_find(p)->pointer;
	return o->pointer;
}

/* ---- the words ------------------------------------------------------------------------------- */

taddr patch_owner_addr(taddr switch_addr)
{
	return switch_addr - switch_addr % PATCH_PAGE + OWNER_AT;
}

/* Adds the words of mirrors that are new; false: there are none. */
static bool words_add(const struct patch *p)
{
	struct windows_owner *w = &p->journal->owner;
	bool any = false;

	_Static_assert(WINDOWS_OWN_MAX > PATCH_MIRRORS_MAX, "the region, and mirrors");
	for (uint32_t i = 0; i <= p->nmirrors; i++) {
		taddr at = patch_owner_addr(mirrors_switch_addr(p, i));
		bool is_known = false;

		for (uint32_t k = 0; k < w->nwords && !is_known; k++)
			is_known = w->words[k] == at;
		if (is_known)
			continue;
		w->words[w->nwords] = at;
		__atomic_store_n(&w->nwords, w->nwords + 1, __ATOMIC_RELEASE);
		any = true;
	}
	return any;
}

/* Words that the process has unmapped, or that have ended with it, are no error. */
static void words_clear(const struct patch *p)
{
	const struct windows_owner *w = &p->journal->owner;
	taddr zero = 0;

	if (!windows_is_there(p->journal, p->mem_fd))
		return;
	for (uint32_t i = 0; i < w->nwords; i++)
		(void)!pwrite(p->mem_fd, &zero, sizeof(zero), (off_t)w->words[i]);
}

/* The keeper writes the pointer, and nothing when it has seen a twin. */
static void words_write(const struct patch *p)
{
	struct owner *o = p->owner;
	struct err *e;

	if (!words_add(p) && o->is_written)
		return;
	__atomic_store_n(&p->journal->owner.pointer, o->pointer, __ATOMIC_SEQ_CST);
	e = keeper_owner_words(o->keeper, p->journal->id);
	o->is_written = !e;
	err_destroy(e); /* all threads count with a lock, unless the keeper does it later */
}

void owner_write(const struct patch *p)
{
	if (patch_has_owner(p) && p->is_on) {
		words_write(p);
		return;
	}
	if (p->owner)
		p->owner->is_written = false;
	__atomic_store_n(&p->journal->owner.pointer, 0, __ATOMIC_SEQ_CST);
	words_clear(p);
}

bool patch_has_owner(const struct patch *p)
{
	return p->owner && p->owner->stops;
}

/*
 * Stops makers first: a twin that was made before is counted, and there is no owner then. The
 * keeper knows the process as long as makers are stopped.
 */
static void owner_begin(struct patch *p)
{
	struct owner *o = p->owner;
	struct err *e = keeper_owned(o->keeper, p->journal->id, o->id.pidfd,
				     o->fds[MAP_WATCH_EVENTS], o->fds[MAP_WATCHED]);
	int sys = e ? 0 : process_set(o, RT_WATCHED_STOPS);

	o->stops = !e;
	if (!e && !sys)
		program_await(); /* one that stops nobody yet counts its twin */
	if (e || sys || has_twins(o))
		owner_destroy(p);
	else
		owner_write(p);
	err_destroy(e); /* all threads count with a lock */
}

void owner_switch(struct patch *p)
{
	if (!p->owner)
		return;
	if (p->is_on) {
		if (owner_choose(p))
			owner_begin(p);
	} else if (p->owner->stops) {
		owner_write(p);
		makers_free(p, p->owner);
	}
}

void patch_owner_tend(struct patch *p)
{
	struct owner *o = p->owner;

	if (!o)
		return;
	if (patch_is_gone(p))
		owner_destroy(p);
	else if (!o->stops && p->is_on)
		owner_switch(p);
	else if (has_twins(o))
		owner_destroy(p);
}
