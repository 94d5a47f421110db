/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: the numbers of processes and threads in dtrace's own PID namespace, for a
 * dtrace that is not in the first one.
 *
 * pid, task: addresses of the kernel's struct pid and struct task_struct.
 *
 * Errors   0: the task has no number in that namespace, or cannot be read.
 * Facts    struct upid, struct pid: Linux include/linux/pid.h.
 */
#pragma once

#include "rt/rt.h"

#ifndef NS
#define NS (cfg.pidns)
#endif

INLINE u64 pid_number(u64 pid)
{
	struct {
		u32 number, pad;
		u64 ns;
	} at; /* struct upid */
	u32 level;

	if (bpf_probe_read_kernel(&level, sizeof(level), pid + NS.pid_level) || level < NS.level ||
	    bpf_probe_read_kernel(&at, sizeof(at), pid + NS.pid_numbers + NS.level * RT_UPID_SIZE))
		return 0;
	return at.ns == NS.ns ? at.number : 0;
}

INLINE u64 thread_number(u64 task)
{
	u64 pid = 0;

	bpf_probe_read_kernel(&pid, sizeof(pid), task + NS.task_pid);
	return pid ? pid_number(pid) : 0; /* a thread that has ended has no struct pid */
}

INLINE u64 process_number(u64 task)
{
	u64 leader = 0;

	bpf_probe_read_kernel(&leader, sizeof(leader), task + NS.task_leader);
	return leader ? thread_number(leader) : 0;
}
