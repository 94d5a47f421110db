/* SPDX-License-Identifier: MIT */
/*
 * Capabilities of this process that it holds, and raises for single calls.
 *
 * A process may have capabilities in its permitted set only, because its file has them or because
 * whoever started it gave them. While its effective set is empty the kernel treats it as it treats
 * any process of its user: the files that it opens, what it traces by ptrace(), whom it sends
 * signals to and what its children execute are the user's own affair. capabilities_hold() brings
 * this process into that state, and from then on the few calls that need capabilities stand between
 * capabilities_raise() and capabilities_lower(): bpf() and perf_event_open() (kernel/sys.c, and the
 * keeper, which makes its own calls). No path that a caller has named is opened between the two but
 * the path of a uprobe, which the kernel itself looks up; CAP_BPF and CAP_PERFMON open no file and
 * pass no directory.
 *
 * A process that does not hold capabilities (root, and a process whose capabilities are effective
 * all the time) makes these calls as it is: the functions then do nothing.
 *
 * Threads  capabilities_hold() and capabilities_give_up() come before the first other thread, and
 *          concern the process. Raising concerns the calling thread only, and a signal handler that
 *          interrupts it there: handlers open nothing.
 * Facts    capabilities(7). A change of the effective set alone keeps the attribute "dumpable" and
 *          the signal at the end of the parent: Linux kernel/cred.c, commit_creds(). execve() of a
 *          file without capabilities empties the permitted set of whoever is not root.
 */
#pragma once

#include "base/base.h"

/* Sets of capabilities have bit CAP_... for each capability. */
struct capability_sets {
	uint64_t permitted, effective, inheritable, ambient;
};

static inline uint64_t capability_bit(unsigned int cap)
{
	return (uint64_t)1 << cap;
}

/* The sets of this thread; false: the kernel does not say, because a filter forbids capget(). */
bool capabilities_read(struct capability_sets *ret);

/* Whether this process may send signals to all processes. */
bool capabilities_signal_all(void);

/*
 * Reduces the permitted set to `mask`, and empties the other sets. False with errno: nothing has
 * changed, or the kernel has not even permitted these; then the process must give up.
 */
bool capabilities_hold(uint64_t mask);
/*
 * Makes the capabilities of `mask` effective for good, and gives up all others. False with
 * errno.
 */
bool capabilities_keep(uint64_t mask);
/* Gives up all capabilities for good. It does not return if the kernel refuses. */
void capabilities_give_up(void);
/* Whether this process holds capabilities that are raised for single calls. */
bool capabilities_are_held(void);

/*
 * Makes what this process holds effective, and takes it back; errno stays. Between the two the
 * caller makes one system call. Both are async-signal-safe.
 */
void capabilities_raise(void);
void capabilities_lower(void);

/*
 * A variable of the environment that changes what the library does or trusts; NULL: it is not set,
 * or this process holds capabilities, and whoever has set the variable has not.
 */
const char *trusted_getenv(const char *name);
