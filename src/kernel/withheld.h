/* SPDX-License-Identifier: MIT */
/*
 * Files that a process with the capabilities of its file must not open for its user.
 *
 * That process opens what its user names with the rights of the user. In /proc, though, the
 * kernel also asks who opens: it shows a process its own /proc/self/maps, which the user must not
 * read, because the process may not be dumped; and it lets it write the names of its own threads
 * (task/TID/comm), by which the sessions of a user tell each other what they have taken (quota.h).
 * So what the user names is no file of /proc. Links there, as /proc/self/fd/3, lead to files that
 * are elsewhere, and these may be opened.
 *
 * Errors   one that names the file, the reason and the remedy. None in a process that holds no
 *          capabilities (kernel/capabilities.h).
 * Threads  all functions may be called by any.
 * Facts    Linux fs/proc/task_mmu.c and kernel/fork.c, mm_access(); fs/proc/base.c,
 *          proc_tid_comm_permission().
 */
#pragma once

#include "base/err.h"

/* Asks about a file that is open and has not been read or written yet; path: for the message. */
MUST_CHECK struct err *withheld_check(int fd, const char *path);
