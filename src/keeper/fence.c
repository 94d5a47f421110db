/* SPDX-License-Identifier: MIT */
/* Loads the program of the fence (rt/privilege.c), and tells it the processes. */
#include "keeper/fence.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>

#include "kernel/code.h"
#include "kernel/kernel.h"
#include "kernel/map.h"
#include "kernel/pidns.h"
#include "kernel/program.h"
#include "kernel/task_own.h"
#include "rt/follow.h"
#include "target/ident.h"

#define FENCED_MAX 4096u /* processes; the ended among them are removed when it is full */

struct fence {
	int fds[MAP_NCLASSES];
	int prog_fd;
};

static struct err *cfg_create(struct fence *f, const struct privileges *p)
{
	struct rt_fence_cfg cfg = {
		.watch = {.boot_offset = proc_boot_offset(), .tick = PROC_TICK_NS}};
	struct task_own_args own;
	uint32_t userns = 0;
	struct err *e = pidns_find(&cfg.watch.ns);

	if (!e)
		e = kfield_offset("task_struct", "group_leader", &cfg.watch.task_leader);
	if (!e)
		e = kfield_offset("task_struct", "start_boottime", &cfg.watch.task_start);
	if (!e)
		e = task_own_userns(&userns);
	if (!e)
		e = task_own_find(p->uid, p->gid, userns, &own);
	if (e)
		return e;
	cfg.task = own.task;
	cfg.memory = own.memory;
	cfg.inum = own.inum;
	cfg.who = own.who;
	return map_create_const("fence", &cfg, (uint32_t)sizeof(cfg), &f->fds[MAP_WATCH]);
}

static struct err *maps_create(struct fence *f)
{
	const struct map_spec fenced = {BPF_MAP_TYPE_HASH,
					"fenced",
					4,
					sizeof(struct rt_watched),
					FENCED_MAX,
					.flags = BPF_F_NO_PREALLOC};
	const struct map_spec ended = {BPF_MAP_TYPE_ARRAY, "fence_ended", 4, 8, 1, .flags = 0};
	struct err *e = map_create(&fenced, &f->fds[MAP_WATCHED]);

	return e ? e : map_create(&ended, &f->fds[MAP_WATCH_LOST]);
}

struct err *fence_create(const struct privileges *p, struct fence **ret, int *ret_link)
{
	struct fence *f = xcalloc(1, sizeof(*f));
	struct err *e;

	memset(f->fds, 0xff, sizeof(f->fds));
	f->prog_fd = -1;
	e = cfg_create(f, p);
	if (!e)
		e = maps_create(f);
	if (!e)
		e = program_load("prog_fence", PROGRAM_TRACEPOINT, f->fds, &f->prog_fd);
	if (!e)
		e = attach_raw_tracepoint(f->prog_fd, "sched_process_exec", ret_link);
	if (e) {
		fence_destroy(f);
		return err_wrap(e, "processes cannot be kept from taking breakpoints into programs "
				   "of others");
	}
	*ret = f;
	return NULL;
}

void fence_destroy(struct fence *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < MAP_NCLASSES; i++)
		if (f->fds[i] >= 0)
			(void)close(f->fds[i]);
	if (f->prog_fd >= 0)
		(void)close(f->prog_fd);
	free(f);
}

/* Removes the processes that have ended; their ids may be others' by now. */
static void ended_remove(const struct fence *f)
{
	uint32_t key, next;
	const uint32_t *last = NULL;

	while (bpf_map_get_next_key(f->fds[MAP_WATCHED], last, &next) == 0) {
		struct rt_watched value;
		uint64_t start;
		bool is_gone =
			!proc_started((pid_t)next, &start) ||
			(map_get(f->fds[MAP_WATCHED], &next, &value) && value.start != start);

		key = next;
		if (!is_gone) {
			last = &key;
			continue;
		}
		map_remove(f->fds[MAP_WATCHED], &key);
		last = NULL;
	}
}

static struct err *ended_err(pid_t pid)
{
	return err_sys(ESRCH, "process %d has ended", (int)pid);
}

static bool is_started_at(pid_t pid, uint64_t start)
{
	uint64_t now;

	return proc_started(pid, &now) && now == start;
}

/* Refuses a process that is not the user's, and one that is not that of the start time any more. */
static struct err *owner_check(const struct privileges *p, pid_t pid, uint64_t start)
{
	if (privileges_own_process(p, pid))
		return NULL;
	return is_started_at(pid, start) ? privileges_check_process(p, pid) : ended_err(pid);
}

/* *ret_is_new: the process was not fenced before. */
static int process_put(const struct fence *f, uint32_t pid, uint64_t start, bool *ret_is_new)
{
	const struct rt_watched value = {.root = pid, .start = start};
	struct rt_watched before;
	int sys;

	*ret_is_new = !map_get(f->fds[MAP_WATCHED], &pid, &before) || before.start != start;
	if (!*ret_is_new)
		return 0;
	sys = map_put(f->fds[MAP_WATCHED], &pid, &value);
	if (sys == E2BIG || sys == ENOMEM) {
		ended_remove(f);
		sys = map_put(f->fds[MAP_WATCHED], &pid, &value);
	}
	return sys;
}

struct err *fence_add(struct fence *f, const struct privileges *p, pid_t pid, uint64_t start,
		      uint64_t *ret_start)
{
	uint32_t key = (uint32_t)pid;
	bool is_new;
	struct err *e;
	int sys;

	if (!proc_started(pid, ret_start) || (start && *ret_start != start))
		return ended_err(pid);
	/* before it is fenced: nobody else's process may be, not even for a moment */
	e = owner_check(p, pid, *ret_start);
	if (e)
		return e;
	sys = process_put(f, key, *ret_start, &is_new);
	if (sys)
		return err_sys(sys, "cannot watch what process %d executes", (int)pid);
	/* whatever it executes from here on is fenced; what it has executed before is seen */
	if (privileges_own_process(p, pid))
		return NULL;
	if (fence_has_ended(f, pid))
		return ended_err(pid);
	if (is_new)
		map_remove(f->fds[MAP_WATCHED], &key);
	return owner_check(p, pid, *ret_start);
}

uint64_t fence_ended(const struct fence *f)
{
	uint32_t zero = 0;
	uint64_t n = 0;

	return f && map_get(f->fds[MAP_WATCH_LOST], &zero, &n) ? n : 0;
}

bool fence_has_ended(const struct fence *f, pid_t pid)
{
	uint32_t key = (uint32_t)pid;
	struct rt_watched value;

	return f && map_get(f->fds[MAP_WATCHED], &key, &value) && (value.flags & RT_WATCHED_FENCED);
}
