/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: whether the current task is one that the session's user may look at.
 *
 * The rule is that of ptrace(2) for a tracer without capabilities: all user ids of the task are
 * the user's, all group ids are the group that such a tracer has, no capability is in its
 * permitted set that such a tracer lacks, its memory may be dumped, and both belong to the
 * session's user namespace. The kernel makes memory that of another namespace when the file
 * that is executed cannot be read by who executes it (would_dump() in Linux fs/exec.c). Tasks
 * of the kernel have no memory, and neither has a task that is about to end.
 *
 * execve() replaces the memory first, then the name, then the credentials (begin_new_exec(), same
 * file). An interrupt in between finds a task that is still the user's: with the name of the file
 * that he executes, which anybody may read in /proc, and memory in which there are his arguments
 * and his environment only. The file's segments are mapped after the credentials have changed.
 */
#include "rt/follow.h"
#include "rt/rt.h"

extern char map_watched;
extern u64 val_watch_lost;
extern const volatile struct rt_fence_cfg val_watch;
#define NS (val_watch.watch.ns)
#include "rt/numbers.h"

#define SIGKILL		9
#define PF_KTHREAD	0x200000 /* Linux include/linux/sched.h */
#define DUMPABLE_MASK	3	 /* Linux MMF_DUMPABLE_MASK */
#define DUMPABLE_USER	1	 /* Linux SUID_DUMP_USER */
#define OFFSET_OF(w, i) ((w) >> (16 * (i)) & 0xffff)

/* Members of a cred that follow each other; bpf/gen_task.c checks the kernel's types for that. */
struct cred_ids {
	u32 uid, gid, suid, sgid, euid, egid;
};

INLINE u64 word_at(u64 addr)
{
	u64 word = 0;

	bpf_probe_read_kernel(&word, sizeof(word), addr);
	return word;
}

/* Whether the namespace, which may be NULL, has this inode. */
INLINE int userns_is(u64 ns, u64 inum_off, u32 inum)
{
	u32 of_ns = 0;

	if (!ns || bpf_probe_read_kernel(&of_ns, sizeof(of_ns), ns + inum_off))
		return 0;
	return of_ns == inum;
}

INLINE int ids_are(u64 cred, u64 ids_off, u32 uid, u32 gid)
{
	struct cred_ids ids = {};

	if (bpf_probe_read_kernel(&ids, sizeof(ids), cred + ids_off))
		return 0;
	return ids.uid == uid && ids.euid == uid && ids.suid == uid && ids.gid == gid &&
	       ids.egid == gid && ids.sgid == gid;
}

/*
 * task, memory: offsets, four a word: flags, mm, real_cred of task_struct, uid of cred;
 * cap_permitted, user_ns of cred, flags, user_ns of mm_struct. inum: that of ns.inum in
 * user_namespace; in the upper half the user's group. who: the user; in the upper half the inode of
 * the session's namespace.
 */
INLINE int task_is_own(u64 task_offs, u64 memory_offs, u64 inum, u64 who)
{
	u64 task = bpf_get_current_task(), mm, cred, flags = 0;
	u32 uid = who, gid = inum >> 32, ns = who >> 32;
	u64 inum_off = OFFSET_OF(inum, 0);

	if ((u32)word_at(task + OFFSET_OF(task_offs, 0)) & PF_KTHREAD)
		return 0;
	mm = word_at(task + OFFSET_OF(task_offs, 1));
	cred = word_at(task + OFFSET_OF(task_offs, 2));
	if (!mm || !cred || !ids_are(cred, OFFSET_OF(task_offs, 3), uid, gid))
		return 0;
	if (uid && word_at(cred + OFFSET_OF(memory_offs, 0)))
		return 0;
	if (bpf_probe_read_kernel(&flags, sizeof(flags), mm + OFFSET_OF(memory_offs, 2)) ||
	    (flags & DUMPABLE_MASK) != DUMPABLE_USER)
		return 0;
	return userns_is(word_at(cred + OFFSET_OF(memory_offs, 1)), inum_off, ns) &&
	       userns_is(word_at(mm + OFFSET_OF(memory_offs, 3)), inum_off, ns);
}

u64 rt_task_own(struct rt_mach *unused, u64 task_offs, u64 memory_offs, u64 inum, u64 who)
{
	(void)unused;
	return task_is_own(task_offs, memory_offs, inum, who);
}

/* ---- the fence (keeper/fence.h) -------------------------------------------------------------- */

/*
 * The user owns the namespaces of the containers that he makes, and so may trace all that they
 * hold: what is executed there is not fenced. The file of a program that he must not read brings
 * its memory, though not its credentials, back to the namespace in which he is nobody special. In
 * the session's namespace, a process that was taken as the user's keeps his real user id until
 * after the first program that is not his: one with another real user id has got the id of a
 * process that has ended.
 */
INLINE int is_of_session(u64 task, u64 task_offs, u64 memory_offs, u64 inum, u64 who)
{
	u64 mm = word_at(task + OFFSET_OF(task_offs, 1));
	u64 cred = word_at(task + OFFSET_OF(task_offs, 2));
	u64 inum_off = OFFSET_OF(inum, 0);
	u32 ns = who >> 32, uid = who, real = uid;

	if (!userns_is(word_at(cred + OFFSET_OF(memory_offs, 1)), inum_off, ns))
		return userns_is(word_at(mm + OFFSET_OF(memory_offs, 3)), inum_off, ns);
	bpf_probe_read_kernel(&real, sizeof(real), cred + OFFSET_OF(task_offs, 3));
	return real == uid;
}

/*
 * sched_process_exec, in the process, which has the ids and the memory of the new program and has
 * executed none of its instructions. A process in which the session has breakpoints, and that is
 * none of the user's any more, is ended before it does: the kernel has put these breakpoints into
 * its memory, or will when it maps the file.
 */
int prog_fence(const void *ctx)
{
	u64 task = bpf_get_current_task(), leader = 0, start = 0;
	u64 task_offs = val_watch.task, memory_offs = val_watch.memory;
	u64 inum = val_watch.inum, who = val_watch.who;
	u32 pid = NS.level ? process_number(task) : bpf_get_current_pid_tgid() >> 32;
	struct rt_watched *p = bpf_map_lookup_elem(&map_watched, &pid);

	(void)ctx;
	if (!p)
		return 0;
	bpf_probe_read_kernel(&leader, sizeof(leader), task + val_watch.watch.task_leader);
	bpf_probe_read_kernel(&start, sizeof(start), leader + val_watch.watch.task_start);
	if ((start + val_watch.watch.boot_offset) / val_watch.watch.tick != p->start)
		return 0;
	if (task_is_own(task_offs, memory_offs, inum, who) ||
	    !is_of_session(task, task_offs, memory_offs, inum, who))
		return 0;
	bpf_send_signal(SIGKILL);
	p->flags |= RT_WATCHED_FENCED;
	__sync_fetch_and_add(&val_watch_lost, 1);
	return 0;
}
