/* SPDX-License-Identifier: MIT */
/* Loads the BPF programs that report what followed processes do, and reads their events. */
#include "watch/follow.h"

#include <errno.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "arch/arch.h"
#include "kernel/map.h"
#include "kernel/program.h"
#include "kernel/quota.h"
#include "kernel/ringbuf.h"
#include "kernel/capabilities.h"
#include "keeper/stopped.h"
#include "keeper/keeper.h"
#include "kernel/kernel.h"

#define RING_SIZE 131072u /* events stay in it until they were attended to */
/* The keeper's group of the links to a process's dynamic linker; those of batches count from 1. */
#define LINKER_GROUP(pid) (0x80000000u | (uint32_t)(pid))

struct follow {
	int fds[MAP_NCLASSES];			  /* the maps of the watch; -1 = not used here */
	const int *known_fds;			  /* as in struct watch_following */
	int exec_fd, linker_fd, fork_fd, born_fd; /* programs */
	int exec_link, fork_link, born_link;
	struct ringbuf ring;
	uint64_t pos;	/* in the ring, of what follow_read() reads next */
	uint64_t seen;	/* so far there were events */
	uint64_t nlost; /* what follow_lost() has counted already */
};

/* ---- maps ----------------------------------------------------------------------------------- */

static struct err *cfg_create(struct follow *f, const struct rt_pidns *ns)
{
	struct rt_watch_cfg cfg = {.ns = *ns,
				   .pc = arch.pc,
				   .boot_offset = proc_boot_offset(),
				   .tick = PROC_TICK_NS,
				   .stops_own = !capabilities_signal_all(),
				   .uid = geteuid(),
				   .ncpus = cpus_possible()};
	struct err *e = kfield_offset("task_struct", "group_leader", &cfg.task_leader);

	if (!e)
		e = kfield_offset("task_struct", "start_boottime", &cfg.task_start);
	if (!e)
		e = kfield_offset("task_struct", "tgid", &cfg.task_tgid);
	if (!e)
		e = kfield_offset("task_struct", "real_cred", &cfg.task_cred);
	if (!e)
		e = kfield_offset("cred", "uid", &cfg.cred_uid);
	return e ? e : map_create_const("watch", &cfg, (uint32_t)sizeof(cfg), &f->fds[MAP_WATCH]);
}

static struct err *maps_create(struct follow *f, uint32_t max)
{
	/* clang-format off */
	const struct {
		enum map_class class;
		struct map_spec spec;
	} maps[] = {
		{MAP_WATCHED,	   {BPF_MAP_TYPE_HASH, "watched", 4, sizeof(struct rt_watched), max, .flags = 0}},
		{MAP_WATCH_EVENTS, {BPF_MAP_TYPE_RINGBUF, "watch_events", 0, 0, RING_SIZE, .flags = 0}},
		{MAP_WATCH_LOST,   {BPF_MAP_TYPE_ARRAY, "watch_lost", 4, 8, 1, .flags = 0}},
		{MAP_WATCH_LINKERS, {BPF_MAP_TYPE_HASH, "watch_linkers", 4, sizeof(struct rt_watch_linker), max, .flags = 0}},
		{MAP_WATCH_WORK,   {BPF_MAP_TYPE_PERCPU_ARRAY, "watch_work", 4, RT_KNOWN_SIZE, 1, .flags = 0}},
	};
	/* clang-format on */
	struct err *e = NULL;

	for (size_t i = 0; i < ARRAY_LEN(maps) && !e; i++)
		e = map_create(&maps[i].spec, &f->fds[maps[i].class]);
	return e;
}

struct err *follow_add(struct follow *f, const struct proc_id *id, uint32_t flags)
{
	uint32_t key = (uint32_t)id->pid;
	struct rt_watched value = {flags, key, id->start, RT_WATCH_STOPS_MAX, .nruntimes = 0};
	int sys = map_put(f->fds[MAP_WATCHED], &key, &value);

	return sys ? err_sys(sys, "cannot follow process %d", (int)id->pid) : NULL;
}

/*
 * If another process was added under the same process id, its element stays. (The element could be
 * deleted wrongly only if a child with that process id were born between the two system calls.)
 */
void follow_leave(const struct follow *f, const struct proc_id *id)
{
	uint32_t key = (uint32_t)id->pid;
	struct rt_watched value;

	if (map_get(f->fds[MAP_WATCHED], &key, &value) && value.start == id->start) {
		map_remove(f->fds[MAP_WATCHED], &key);
		map_remove(f->fds[MAP_WATCH_LINKERS], &key);
	}
}

/* ---- links ---------------------------------------------------------------------------------- */

/*
 * Loads a program of the watch that asks the engine's maps, or, without these, and where the kernel
 * refuses it, the one that asks nobody: processes wait more often then.
 */
static struct err *asking_load(const struct follow *f, const char *asking, const char *plain,
			       enum program_kind kind, int *ret_fd)
{
	struct err *e = err_new("no maps to ask");
	int fds[MAP_NCLASSES];

	for (uint32_t i = 0; f->known_fds && i < MAP_NCLASSES; i++)
		fds[i] = f->fds[i] >= 0 ? f->fds[i] : f->known_fds[i];
	if (f->known_fds) {
		err_destroy(e);
		e = program_load(asking, kind, fds, ret_fd);
	}
	if (!e)
		return NULL;
	err_destroy(e);
	return program_load(plain, kind, f->fds, ret_fd);
}

static struct err *follow_execs(struct follow *f)
{
	struct err *e = asking_load(f, "prog_known_exec", "prog_watch_exec", PROGRAM_TRACEPOINT,
				    &f->exec_fd);

	return e ? e : attach_raw_tracepoint(f->exec_fd, "sched_process_exec", &f->exec_link);
}

/*
 * Loads the program that runs at each return of everybody from a system call. In a session with a
 * quota of CPU time it counts what others lose by that.
 */
static struct err *born_load(struct follow *f)
{
	int fds[MAP_NCLASSES];

	memcpy(fds, f->fds, sizeof(fds));
	if (!quota_counts_cpu())
		return program_load("prog_watch_born", PROGRAM_TRACEPOINT, fds, &f->born_fd);
	if (!quota_maps(&fds[MAP_CONTROL], &fds[MAP_ALARM]))
		return err_new("there are no counters of what others lose");
	return program_load("prog_others_born", PROGRAM_TRACEPOINT, fds, &f->born_fd);
}

struct err *follow_forks(struct follow *f)
{
	struct err *e = program_load("prog_watch_fork", PROGRAM_TRACEPOINT, f->fds, &f->fork_fd);

	if (!e)
		e = born_load(f);
	if (!e)
		e = attach_raw_tracepoint(f->born_fd, "sys_exit", &f->born_link);
	return e ? e : attach_raw_tracepoint(f->fork_fd, "sched_process_fork", &f->fork_link);
}

/* Whether the engine runs ustack helpers. */
static bool has_helpers(const struct follow *f)
{
	return f->known_fds && f->known_fds[MAP_HFILES] >= 0;
}

struct err *follow_linker(struct follow *f, struct keeper *k, const struct proc_id *id, int file_fd,
			  uint64_t off, int64_t state)
{
	uint64_t cookie = (uint64_t)state;
	const struct uprobe_sites site = {.offsets = &off, .cookies = &cookie, .n = 1};
	struct err *e = NULL;

	if (f->linker_fd < 0)
		e = asking_load(f, has_helpers(f) ? "prog_lang_linker" : "prog_known_linker",
				"prog_watch_linker", PROGRAM_CODE, &f->linker_fd);
	if (e)
		return e;
	keeper_set_group(k, LINKER_GROUP(id->pid));
	keeper_set_process(k, id->pid, id->start);
	if (!feat_has(FEAT_UPROBE_MULTI))
		e = keeper_uprobe(k, f->linker_fd, file_fd, id->pid, off, cookie, 0, false);
	else
		e = keeper_uprobe_multi(k, f->linker_fd, file_fd,
					feat_has(FEAT_UPROBE_TGID) ? id->pid : 0, &site);
	keeper_set_process(k, 0, 0);
	keeper_set_group(k, 0);
	return e;
}

void follow_linker_note(const struct follow *f, const struct proc_id *id, uint64_t dev,
			uint64_t ino)
{
	uint32_t key = (uint32_t)id->pid;
	const struct rt_watch_linker value = {
		.start = id->start,
		.ino = ino,
		/* as Linux include/linux/kdev_t.h has it */
		.dev = (uint64_t)major(dev) << 20 | minor(dev),
	};

	(void)map_put(f->fds[MAP_WATCH_LINKERS], &key, &value); /* else it waits when it executes */
}

void follow_linker_forget(const struct follow *f, const struct proc_id *id)
{
	uint32_t key = (uint32_t)id->pid;

	map_remove(f->fds[MAP_WATCH_LINKERS], &key);
}

struct err *follow_linker_drop(struct keeper *k, const struct proc_id *id)
{
	return keeper_drop_group(k, LINKER_GROUP(id->pid), true);
}

/* ---- reading -------------------------------------------------------------------------------- */

uint64_t follow_lost(struct follow *f)
{
	uint32_t zero = 0;
	uint64_t n = 0, before = f->nlost;

	if (!map_get(f->fds[MAP_WATCH_LOST], &zero, &n))
		return 0;
	f->nlost = n;
	return n - before;
}

/* The event at *pos, and the position behind it; NULL: there is none. */
static const struct rt_watch_event *event_next(struct follow *f, uint64_t *pos)
{
	const void *at;
	uint32_t len;

	do
		at = ringbuf_next(&f->ring, pos, &len);
	while (at && len < sizeof(struct rt_watch_event));
	f->seen = MAX(f->seen, *pos);
	return at;
}

static void events_see(struct follow *f)
{
	uint64_t pos = f->pos;

	while (event_next(f, &pos))
		;
}

bool follow_read(struct follow *f, struct rt_watch_event *ret)
{
	const struct rt_watch_event *ev;

	ringbuf_give_up(&f->ring, f->pos);
	ev = event_next(f, &f->pos);
	if (!ev)
		return false;
	*ret = *ev;
	events_see(f);
	return true;
}

bool follow_has_more(struct follow *f, const struct rt_watch_event *ev)
{
	const struct rt_watch_event *other;
	uint64_t pos = f->pos;

	while ((other = event_next(f, &pos)))
		if (other->pid == ev->pid && other->start == ev->start &&
		    other->kind != RT_WATCH_FULL)
			return true;
	return false;
}

uint64_t follow_position(const struct follow *f)
{
	return f->pos;
}

uint64_t follow_seen(const struct follow *f)
{
	return f->seen;
}

int follow_procs(const struct follow *f)
{
	return f->fds[MAP_WATCHED];
}

int follow_fd(const struct follow *f)
{
	return f->fds[MAP_WATCH_EVENTS];
}

/* ---- beginning and end ---------------------------------------------------------------------- */

static struct err *ring_open(struct follow *f)
{
	int sys = ringbuf_map(f->fds[MAP_WATCH_EVENTS], true, &f->ring);

	return sys ? err_sys(sys, "cannot map the events of processes") : NULL;
}

struct err *follow_create(uint32_t max, const struct rt_pidns *ns, const int *known_fds,
			  struct follow **ret_follow)
{
	struct follow *f = xcalloc(1, sizeof(*f));
	struct err *e;

	memset(f->fds, 0xff, sizeof(f->fds));
	f->exec_fd = f->linker_fd = f->fork_fd = f->born_fd = -1;
	f->exec_link = f->fork_link = f->born_link = -1;
	f->known_fds = known_fds;
	e = cfg_create(f, ns);
	if (!e)
		e = maps_create(f, max);
	if (!e)
		e = ring_open(f);
	if (!e)
		e = follow_execs(f);
	if (e) {
		follow_destroy(f);
		return e;
	}
	*ret_follow = f;
	return NULL;
}

static void fds_close(const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
}

void follow_destroy(struct follow *f)
{
	if (!f)
		return;
	if (f->fds[MAP_WATCHED] >= 0)
		stopped_map_release(f->fds[MAP_WATCHED]);
	ringbuf_unmap(&f->ring);
	fds_close((const int[]){f->exec_link, f->fork_link, f->born_link, f->exec_fd, f->fork_fd,
				f->born_fd, f->linker_fd},
		  7);
	fds_close(f->fds, ARRAY_LEN(f->fds));
	free(f);
}
