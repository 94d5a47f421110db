/* SPDX-License-Identifier: MIT */
/*
 * The question for rt_task_own() (rt/privilege.c): whether the current task is one that a user
 * may look at.
 *
 * Units    user and group ids as the initial user namespace has them; offsets in bytes.
 * Errors   struct err *: this kernel's structures are not known, or /proc does not tell the
 *          namespace.
 * Threads  any.
 */
#pragma once

#include "base/err.h"

/* The arguments of rt_task_own(), in their order. */
struct task_own_args {
	uint64_t task, memory, inum, who;
};

/* The inode number of the user namespace of this process. */
MUST_CHECK struct err *task_own_userns(uint32_t *ret);
/* The arguments for tasks of this user and group in this user namespace. */
MUST_CHECK struct err *task_own_find(uint32_t uid, uint32_t gid, uint32_t userns,
				     struct task_own_args *ret);
