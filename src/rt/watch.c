/* SPDX-License-Identifier: MIT */
/*
 * The programs that report when a followed process changes its code, and when it has a child
 * (watch/follow.h).
 *
 * Each function here is a complete BPF program, which is loaded unchanged (kernel/program.h) and
 * shares nothing with the units of a session.
 */
#include "rt/follow.h"
#include "rt/others.h"
#include "rt/rt.h"

extern char map_watched, map_watch_events, map_watch_linkers, map_alarm;
extern u64 val_watch_lost;
extern const volatile struct rt_watch_cfg val_watch;
#define W val_watch

#define NS (val_watch.ns)
#include "rt/numbers.h"

#define SIGSTOP 19

struct raw_args { /* the context of a raw tracepoint */
	u64 arg[3];
};

/* ---- processes -------------------------------------------------------------------------- */

/* Returns the id of the current process; 0 if it has none in our PID namespace. */
INLINE u32 current_number(void)
{
	if (W.ns.level)
		return process_number(bpf_get_current_task());
	return bpf_get_current_pid_tgid() >> 32;
}

INLINE u32 child_number(u64 task)
{
	u32 tgid = 0;

	if (W.ns.level)
		return process_number(task);
	bpf_probe_read_kernel(&tgid, sizeof(tgid), task + W.task_tgid);
	return tgid;
}

/* Returns when the task began, in ticks. */
INLINE u64 start_of(u64 task)
{
	u64 ns = 0;

	bpf_probe_read_kernel(&ns, sizeof(ns), task + W.task_start);
	return (ns + W.boot_offset) / W.tick;
}

/*
 * True if the current process is the followed one. If it is another process that got the id of a
 * followed one, the followed process has ended, and is removed from the map.
 */
INLINE int is_same(u32 pid, const struct rt_watched *p)
{
	u64 leader = 0;

	bpf_probe_read_kernel(&leader, sizeof(leader), bpf_get_current_task() + W.task_leader);
	if (start_of(leader) == p->start)
		return 1;
	bpf_map_delete_elem(&map_watched, &pid);
	return 0;
}

/* ---- telling ---------------------------------------------------------------------------- */

/*
 * Reserves an event in the ring buffer; NULL if there is no room. The event is then lost, and the
 * process is not stopped.
 */
INLINE struct rt_watch_event *event_begin(u32 pid, const struct rt_watched *p, u32 kind)
{
	struct rt_watch_event *ev = bpf_ringbuf_reserve(&map_watch_events, sizeof(*ev), 0);

	if (ev)
		*ev = (struct rt_watch_event){.pid = pid,
					      .kind = kind,
					      .root = p->root,
					      .start = p->start,
					      .time = bpf_ktime_get_ns()};
	return ev;
}

/*
 * Whether the tracer can make the current process run on: kill(2) asks for the user of its first
 * thread, whichever other threads have.
 */
INLINE int is_resumable(void)
{
	u64 leader = 0, cred = 0;
	u32 uid = 0;

	if (!W.stops_own)
		return 1;
	return !bpf_probe_read_kernel(&leader, sizeof(leader),
				      bpf_get_current_task() + W.task_leader) &&
	       !bpf_probe_read_kernel(&cred, sizeof(cred), leader + W.task_cred) &&
	       !bpf_probe_read_kernel(&uid, sizeof(uid), cred + W.cred_uid) && uid == W.uid;
}

/*
 * Stops the process, if that is wanted and can be undone, and submits the event. The process is
 * stopped first, because the reader of the event sends SIGCONT, which must come after the stop.
 */
INLINE void event_end(struct rt_watch_event *ev, u32 flags)
{
	if ((flags & RT_WATCHED_STOPS) && is_resumable()) {
		ev->stops = 1;
		bpf_send_signal(SIGSTOP);
	}
	bpf_ringbuf_submit(ev, BPF_RB_FORCE_WAKEUP);
}

INLINE void event_lost(void)
{
	__sync_fetch_and_add(&val_watch_lost, 1);
}

/* ---- what others lose ------------------------------------------------------------------- */

/*
 * A program that runs at each system call of everybody, as emit_missed() of bpf/entry_owner.c:
 * where the budget of the CPU is overdrawn, the alarm ends the session.
 */
INLINE void others_count(const struct raw_args *ctx)
{
	struct rt_cpu *c;
	u64 taken;
	u32 cpu;

	if (bpf_get_prandom_u32() % RT_MISSED_EACH || (u32)bpf_get_current_uid_gid() == W.uid)
		return;
	cpu = bpf_get_smp_processor_id();
	if (cpu >= W.ncpus)
		return;
	c = &val_control.cpu[cpu];
	__sync_fetch_and_add(&c->others_ns, RT_MISSED_EACH * RT_REFUSAL_NS);
	taken = *(volatile u64 *)&c->others_ns;
	if (taken > c->others_most)
		bpf_perf_event_output(ctx, &map_alarm, BPF_F_CURRENT_CPU, &taken, sizeof(taken));
}

/* ---- the programs ----------------------------------------------------------------------- */

/*
 * Whether a process that has executed a program may run on: its files have their tables, and the
 * breakpoint in its dynamic linker, which is the one that it had, will stop it for its libraries.
 */
INLINE int exec_is_known(u32 pid, const struct rt_watched *p)
{
	const struct rt_watch_linker *l = bpf_map_lookup_elem(&map_watch_linkers, &pid);
	const u64 wanted = RT_KNOWN_TABLES | RT_KNOWN_LINKER;

	return l && l->start == p->start &&
	       (rt_known_tables(NULL, l->ino, l->dev) & wanted) == wanted;
}

INLINE int exec_report(const struct raw_args *ctx, int asks)
{
	u32 pid = current_number(), tgid = bpf_get_current_pid_tgid() >> 32;
	struct rt_watched *p = bpf_map_lookup_elem(&map_watched, &pid);
	struct rt_watch_event *ev;

	if (!p || !is_same(pid, p))
		return 0;
	ev = event_begin(pid, p, RT_WATCH_EXEC);
	if (!ev) {
		event_lost();
		return 0;
	}
	ev->is_other = (u32)ctx->arg[1] != tgid;
	p->stops = RT_WATCH_STOPS_MAX;
	p->nruntimes = 0;
	ev->runs_on =
		asks && (p->flags & RT_WATCHED_SPARED) && !ev->is_other && exec_is_known(pid, p);
	event_end(ev, ev->runs_on ? p->flags & ~RT_WATCHED_STOPS : p->flags);
	return 0;
}

/* sched_process_exec(task, old pid, binary); the old pid is one of the first PID namespace. */
int prog_watch_exec(const struct raw_args *ctx)
{
	return exec_report(ctx, 0);
}

/* The same in a session with unwind tables, for which processes wait. */
int prog_known_exec(const struct raw_args *ctx)
{
	return exec_report(ctx, 1);
}

/* The tables that a session needs of a process whose dynamic linker reports. */
enum linker_asks { LINKER_NOTHING, LINKER_TABLES, LINKER_HELPERS };

/* Whether all that it has mapped is known, by files or because it has waited for that before. */
INLINE int libraries_are_known(struct rt_watched *p, enum linker_asks asks)
{
	u64 state = 0, nruntimes;
	int is_known;

	if (asks == LINKER_TABLES)
		state = rt_known_tables(NULL, 0, 0);
	else if (asks == LINKER_HELPERS)
		state = rt_known_helpers(NULL);
	nruntimes = state >> RT_KNOWN_SHIFT;
	is_known = (state & RT_KNOWN_TABLES) && nruntimes <= p->nruntimes;
	p->nruntimes = nruntimes;
	return is_known;
}

/* Returns the flags of a process whose dynamic linker reports, after which it may run on. */
INLINE u32 linker_flags(struct rt_watched *p, enum linker_asks asks)
{
	if (!(p->flags & RT_WATCHED_SPARED))
		return p->flags;
	if (!p->stops || libraries_are_known(p, asks))
		return p->flags & ~RT_WATCHED_STOPS;
	p->stops--;
	return p->flags;
}

/*
 * A uprobe on the function that a dynamic linker calls for debuggers. The cookie is the distance
 * from this function to the linker's state, 0 if that is unknown. While the state is not 0, the
 * linker has not finished, and nothing is reported.
 */
INLINE int linker_report(void *ctx, enum linker_asks asks)
{
	u32 pid = current_number(), state = 0, flags;
	struct rt_watched *p = bpf_map_lookup_elem(&map_watched, &pid);
	struct rt_watch_event *ev;
	u64 to_state, pc = 0;

	if (!p)
		return 0;
	to_state = bpf_get_attach_cookie(ctx);
	if (to_state) {
		bpf_probe_read_kernel(&pc, sizeof(pc), (u64)ctx + W.pc);
		bpf_probe_read_user(&state, sizeof(state), pc + to_state);
	}
	if (state || !is_same(pid, p))
		return 0;
	if (p->flags & RT_WATCHED_SKIPS) {
		p->flags &= ~RT_WATCHED_SKIPS;
		if (p->flags & RT_WATCHED_SPARED)
			(void)libraries_are_known(p, asks);
		return 0;
	}
	ev = event_begin(pid, p, RT_WATCH_MAPPED);
	if (!ev) {
		event_lost();
		return 0;
	}
	flags = linker_flags(p, asks);
	ev->runs_on = !(flags & RT_WATCHED_STOPS);
	event_end(ev, flags);
	return 0;
}

int prog_watch_linker(void *ctx)
{
	return linker_report(ctx, LINKER_NOTHING);
}

/* The same in a session with unwind tables, and in one with helpers, too. */
int prog_known_linker(void *ctx)
{
	return linker_report(ctx, LINKER_TABLES);
}

int prog_lang_linker(void *ctx)
{
	return linker_report(ctx, LINKER_HELPERS);
}

/*
 * sched_process_fork(parent, child), in the parent, before the child can run: the child is added,
 * unless it is a thread.
 */
int prog_watch_fork(const struct raw_args *ctx)
{
	u32 pid = current_number(), child = child_number(ctx->arg[1]);
	const struct rt_watched *p = bpf_map_lookup_elem(&map_watched, &pid);
	struct rt_watched value;
	struct rt_watch_event *ev;

	if (!p || !(p->flags & RT_WATCHED_FORKS) || child == pid || !is_same(pid, p))
		return 0;
	value.flags = (p->flags & ~RT_WATCHED_SKIPS) | RT_WATCHED_STOPS | RT_WATCHED_OUTLIVES |
		      RT_WATCHED_BORN;
	value.root = p->root;
	value.start = start_of(ctx->arg[1]);
	value.stops = RT_WATCH_STOPS_MAX;
	value.nruntimes = 0;
	if (!bpf_map_update_elem(&map_watched, &child, &value, BPF_ANY))
		return 0;
	ev = event_begin(pid, p, RT_WATCH_FULL);
	if (ev)
		event_end(ev, 0);
	else
		event_lost();
	return 0;
}

/*
 * sys_exit(registers, result), in the child: its first return from the kernel, with the 0 that
 * fork() gives it. If the ring buffer has no room, the child is reported when it next returns from
 * the kernel with 0.
 */
INLINE int born_report(const struct raw_args *ctx)
{
	struct rt_watch_event *ev;
	struct rt_watched *p;
	u32 pid;

	if (ctx->arg[1])
		return 0;
	pid = current_number();
	p = bpf_map_lookup_elem(&map_watched, &pid);
	if (!p || !(p->flags & RT_WATCHED_BORN) || !is_same(pid, p))
		return 0;
	ev = event_begin(pid, p, RT_WATCH_CHILD);
	if (!ev)
		return 0;
	p->flags &= ~RT_WATCHED_BORN;
	event_end(ev, p->flags);
	return 0;
}

int prog_watch_born(const struct raw_args *ctx)
{
	return born_report(ctx);
}

/* The same in a session with a quota of CPU time. */
int prog_others_born(const struct raw_args *ctx)
{
	others_count(ctx);
	return born_report(ctx);
}

/* ---- thread pointers ------------------------------------------------------------------------ */

/* Linux include/uapi/linux/sched.h, include/linux/sched.h */
#define CLONE_VM     0x100
#define CLONE_VFORK  0x4000
#define CLONE_SETTLS 0x80000
#define PF_IO_WORKER 0x10

/*
 * task_newtask(task, flags), in the maker, before the new task can run: counts those that run
 * beside their maker with its memory and its thread pointer, and stops the maker then, until what
 * belongs to that thread pointer was taken away. A maker that waits for its child (CLONE_VFORK)
 * runs not beside it, and workers of io_uring execute no code of the program. Where there is no
 * room for the event, nobody would resume the maker, so it is not stopped.
 */
int prog_watch_twin(const struct raw_args *ctx)
{
	const struct rt_watched *p;
	struct rt_watch_event *ev;
	u32 pid, flags = 0;

	if ((ctx->arg[1] & (CLONE_VM | CLONE_VFORK | CLONE_SETTLS)) != CLONE_VM)
		return 0;
	pid = current_number();
	p = bpf_map_lookup_elem(&map_watched, &pid);
	if (!p || !is_same(pid, p))
		return 0;
	bpf_probe_read_kernel(&flags, sizeof(flags), ctx->arg[0] + W.task_flags);
	if (flags & PF_IO_WORKER)
		return 0;
	__sync_fetch_and_add(&val_watch_lost, 1);
	if (!(p->flags & RT_WATCHED_STOPS))
		return 0;
	ev = event_begin(pid, p, RT_WATCH_TWIN);
	if (ev)
		event_end(ev, RT_WATCHED_STOPS);
	return 0;
}
