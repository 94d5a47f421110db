/* SPDX-License-Identifier: MIT */
/*
 * System calls that can fail, in one place, so that tests can make the n-th one fail.
 *
 * FATHOM_FAIL=n or n:ERRNO in the environment, or sys_fail_set(n): the n-th call from then on (1 =
 * the next one) returns -1 (sys_mmap: MAP_FAILED) without being made, with ERRNO (EPERM, ENOMEM,
 * EINVAL, EMFILE, E2BIG or EBUSY; default: EINVAL, sys_mmap: ENOMEM); 0 = none. The call is then
 * named in the file FATHOM_FAIL_LOG, if set.
 *
 * A process that holds capabilities (capabilities.h) raises them for sys_bpf() and
 * sys_perf_event_open(), and for no other of these calls.
 *
 * Threads  the counter belongs to the process: calls of all threads count, and one of them fails.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"

int sys_bpf(int cmd, void *attr, unsigned int size);
/*
 * BPF_PROG_LOAD. The kernel gives up (EAGAIN) when the thread has a signal to take, so it takes
 * none meanwhile, and what cannot be kept off (SIGSTOP, a debugger) has the program loaded once
 * more.
 */
int sys_bpf_load(void *attr, unsigned int size);
int sys_perf_event_open(void *attr, int pid, int cpu, int group_fd, unsigned long flags);
void *sys_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off);
int sys_ioctl(int fd, unsigned long request, unsigned long arg);
/* For requests that change a process that we hold. */
long sys_ptrace(int request, pid_t tid, void *addr, void *data);
ssize_t sys_pread(int fd, void *to, size_t size, uint64_t off);
ssize_t sys_pwrite(int fd, const void *from, size_t size, uint64_t off);

/* Whether this call is to fail; then errno is set. For calls that another process makes for us. */
bool sys_fails(const char *call, long number);

void sys_fail_set(unsigned int n);
/* The n-th call kills this process by SIGKILL instead, and places count, too, that cannot fail. */
void sys_kill_set(unsigned int n);
void sys_point(void);
/* Whether the n-th call is still to come. A test that finds it so has tried every n. */
bool sys_fail_pending(void);
