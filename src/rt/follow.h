/* SPDX-License-Identifier: MIT */
/*
 * Processes that are followed: what the programs in the kernel (rt/watch.c) and those who load them
 * and read their events (watch/follow.h) share.
 *
 * MAP_WATCHED maps process ids to struct rt_watched, MAP_WATCH_EVENTS is a ring buffer of struct
 * rt_watch_event, MAP_WATCH holds constants, MAP_WATCH_LOST counts events for which the ring
 * buffer had no room. MAP_WATCH_LINKERS maps process ids to struct rt_watch_linker, and
 * MAP_WATCH_WORK is the memory of rt/known.c.
 *
 * A process with an owner thread has maps of its own (patch/owner.c): its MAP_WATCH_LOST counts the
 * tasks that were made in its memory with the thread pointer of their maker, and the keeper reads
 * its MAP_WATCH_EVENTS (keeper/owned.h).
 */
#pragma once

#include "rt/pidns.h"

struct rt_watched {
	u32 flags; /* RT_WATCHED_* */
	u32 root;  /* the process that was added: this one, or whose descendant it is */
	u64 start; /* in ticks: distinguishes it from later processes with its id */
	/* With RT_WATCHED_SPARED: how often libraries may still stop its program. */
	u32 stops;
	/* The same: how many mappings of runtimes it had that files alone do not explain. */
	u32 nruntimes;
};
#define RT_WATCH_STOPS_MAX  16u
#define RT_WATCHED_STOPS    1u	 /* it is stopped when an event about it is reported */
#define RT_WATCHED_FORKS    2u	 /* its children are added, with all flags */
#define RT_WATCHED_OUTLIVES 4u	 /* it does not end with the tracer: it must not be left stopped */
#define RT_WATCHED_SKIPS    8u	 /* the next report of its dynamic linker is left out */
#define RT_WATCHED_SPARED   16u	 /* libraries stop it RT_WATCH_STOPS_MAX times, at most */
#define RT_WATCHED_BORN	    128u /* a child that has not run yet */

enum rt_watch_kind {
	RT_WATCH_EXEC,	 /* it executes another program */
	RT_WATCH_MAPPED, /* its dynamic linker has mapped or unmapped libraries */
	RT_WATCH_CHILD,	 /* it was born */
	RT_WATCH_FULL,	 /* it has a child for which MAP_WATCHED has no room */
	RT_WATCH_TWIN,	 /* it has made a task with the thread pointer of the maker */
};

struct rt_watch_event {
	u32 pid;
	u32 kind;     /* enum rt_watch_kind */
	u32 root;     /* as in struct rt_watched */
	u32 is_other; /* of an exec: a thread did it that was not the first of its process */
	u64 start;    /* as in struct rt_watched */
	u64 time;     /* ns of CLOCK_MONOTONIC */
	u32 runs_on;  /* it was not stopped, though it has RT_WATCHED_STOPS: linker_flags() */
	u32 stops;    /* it was, and waits for SIGCONT */
};

struct rt_watch_cfg {
	struct rt_pidns ns; /* whose process ids are used */
	/* byte offsets in struct task_struct: group_leader, start_boottime, tgid */
	u32 task_leader, task_start, task_tgid;
	u32 pc;		 /* byte offset of the instruction pointer in struct pt_regs */
	s64 boot_offset; /* ns to be added to start_boottime, and ns a tick: what /proc shows */
	u64 tick;
	/*
	 * stops_own: the tracer cannot send SIGCONT to processes of others, so that only processes
	 * whose real user is uid, as the initial user namespace has it, are stopped. Byte offsets:
	 * real_cred in struct task_struct, uid in struct cred.
	 */
	u32 stops_own, uid, task_cred, cred_uid;
	u32 ncpus;	/* of struct rt_control; where a program counts what others lose */
	u32 task_flags; /* byte offset of flags in struct task_struct: of prog_watch_twin() only */
};

/*
 * MAP_WATCH_LINKERS: the dynamic linker in which a followed process has a breakpoint, by process
 * id. dev as in struct rt_ufile_key.
 */
struct rt_watch_linker {
	u64 start; /* as in struct rt_watched */
	u64 ino, dev;
};

/* Bits that rt_known_tables() and rt_known_helpers() return about the present process. */
#define RT_KNOWN_TABLES 1u    /* all files of its code have unwind tables */
#define RT_KNOWN_LINKER 2u    /* it maps the dynamic linker that was asked for */
#define RT_KNOWN_SHIFT	2     /* above: mappings of runtimes whose helpers files do not fix */
#define RT_KNOWN_SIZE	2112u /* bytes of an element of MAP_WATCH_WORK */

/*
 * What the program of the fence (keeper/fence.h) is told in MAP_WATCH: the arguments of
 * rt_task_own(). MAP_WATCHED has the processes, whose flags it uses for RT_WATCHED_FENCED;
 * MAP_WATCH_LOST counts those that it has ended.
 */
struct rt_fence_cfg {
	struct rt_watch_cfg watch;
	u64 task, memory, inum, who;
};
#define RT_WATCHED_FENCED 256u /* it was ended, because it has executed a program of others */
