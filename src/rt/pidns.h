/* SPDX-License-Identifier: MIT */
/*
 * dtrace's own PID namespace (kernel/pidns.h finds it), whose process numbers clauses see. In the
 * first namespace, level is 0 and nothing else is filled: the numbers that the kernel's helpers
 * return are right there. In any other, byte offsets say where the kernel keeps the numbers of a
 * task in each namespace.
 */
#pragma once

#include "base/ints.h"

struct rt_pidns {
	u64 ns; /* address of its struct pid_namespace */
	u32 level;
	u32 task_leader, task_pid, task_parent; /* group_leader, thread_pid, real_parent */
	u32 pid_level, pid_numbers;
};
#define RT_UPID_SIZE 16 /* of an element of pid_numbers */
