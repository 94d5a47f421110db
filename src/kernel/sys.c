/* SPDX-License-Identifier: MIT */
/*
 * System calls that can fail, with failure injection.
 */
#include "kernel/sys.h"

#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "kernel/capabilities.h"

/* Process state on purpose: it is a test of the whole process, of all its threads. */
static struct {
	pthread_once_t is_asked;
	atomic_uint countdown; /* calls until the one that fails, 0 = none */
	atomic_int sys;	       /* its errno, 0 = that of the kind of call */
	atomic_bool kills;     /* instead of failing, the call ends this process */
} fail = {.is_asked = PTHREAD_ONCE_INIT};

/* "n" or "n:ERRNO" */
static void fail_ask(void)
{
	static const struct {
		const char *name;
		int sys;
	} names[] = {{"EPERM", EPERM}, {"ENOMEM", ENOMEM}, {"EINVAL", EINVAL}, {"EMFILE", EMFILE},
		     {"E2BIG", E2BIG}, {"EBUSY", EBUSY},   {"ENODEV", ENODEV}};
	const char *env = trusted_getenv("FATHOM_FAIL");
	char *end = NULL;

	atomic_store(&fail.countdown, env ? (unsigned int)strtoul(env, &end, 10) : 0);
	for (uint32_t i = 0; end && *end == ':' && i < ARRAY_LEN(names); i++)
		if (strcmp(end + 1, names[i].name) == 0)
			atomic_store(&fail.sys, names[i].sys);
}

void sys_kill_set(unsigned int n)
{
	sys_fail_set(n);
	atomic_store(&fail.kills, n > 0);
}

void sys_fail_set(unsigned int n)
{
	/* what the environment says does not count any more */
	(void)pthread_once(&fail.is_asked, fail_ask);
	atomic_store(&fail.sys, 0);
	atomic_store(&fail.kills, false);
	atomic_store(&fail.countdown, n);
}

bool sys_fail_pending(void)
{
	return atomic_load(&fail.countdown) > 0;
}

/* Tells a test, through the file FATHOM_FAIL_LOG, that the n-th call came and which it was. */
static void fail_log(const char *call, long number)
{
	const char *path = trusted_getenv("FATHOM_FAIL_LOG");
	CLEANUP(file) FILE *f = path ? fopen(path, "ae") : NULL;

	if (f)
		fprintf(f, "%s %ld\n", call, number);
}

/* With errno set when the call is the one to fail. */
static bool is_to_fail(const char *call, long number, int sys)
{
	unsigned int n;

	(void)pthread_once(&fail.is_asked, fail_ask);
	n = atomic_load(&fail.countdown);
	while (n && !atomic_compare_exchange_weak(&fail.countdown, &n, n - 1))
		;
	if (n != 1)
		return false;
	if (atomic_load(&fail.kills))
		(void)kill(getpid(), SIGKILL);
	fail_log(call, number);
	errno = atomic_load(&fail.sys) ? atomic_load(&fail.sys) : sys;
	return true;
}

void sys_point(void)
{
	if (atomic_load(&fail.kills))
		(void)is_to_fail("", 0, 0);
}

bool sys_fails(const char *call, long number)
{
	return is_to_fail(call, number, EINVAL);
}

/*
 * Whoever has the descriptor of a map reads and writes its elements without any capability (Linux
 * kernel/bpf/syscall.c, __sys_bpf(), of the versions that we run on). A session makes many
 * thousands of these calls.
 */
static bool is_map_access(int cmd)
{
	switch (cmd) {
	case BPF_MAP_LOOKUP_ELEM:
	case BPF_MAP_UPDATE_ELEM:
	case BPF_MAP_DELETE_ELEM:
	case BPF_MAP_GET_NEXT_KEY:
	case BPF_MAP_LOOKUP_AND_DELETE_ELEM:
	case BPF_MAP_LOOKUP_BATCH:
	case BPF_MAP_LOOKUP_AND_DELETE_BATCH:
	case BPF_MAP_UPDATE_BATCH:
	case BPF_MAP_DELETE_BATCH: return true;
	default: return false;
	}
}

int sys_bpf(int cmd, void *attr, unsigned int size)
{
	int ret;

	if (is_to_fail("bpf", cmd, EINVAL))
		return -1;
	if (is_map_access(cmd))
		return (int)syscall(SYS_bpf, cmd, attr, size);
	capabilities_raise();
	ret = (int)syscall(SYS_bpf, cmd, attr, size);
	capabilities_lower();
	return ret;
}

#define LOADS_MAX 100 /* each one but the first follows a stop that somebody has made */

/* The verifier asks for signals that are not blocked: Linux c3494801cd17, v4.20. */
int sys_bpf_load(void *attr, unsigned int size)
{
	sigset_t all, before;
	int fd = -1, sys;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	for (uint32_t i = 0; i < LOADS_MAX; i++) {
		fd = sys_bpf(BPF_PROG_LOAD, attr, size);
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	sys = errno;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* now it takes them */
	errno = sys;
	return fd;
}

int sys_perf_event_open(void *attr, int pid, int cpu, int group_fd, unsigned long flags)
{
	int ret;

	if (is_to_fail("perf_event_open", cpu, EINVAL))
		return -1;
	capabilities_raise();
	ret = (int)syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags);
	capabilities_lower();
	return ret;
}

void *sys_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	if (is_to_fail("mmap", (long)off, ENOMEM))
		return MAP_FAILED;
	return mmap(addr, len, prot, flags, fd, off);
}

int sys_ioctl(int fd, unsigned long request, unsigned long arg)
{
	if (is_to_fail("ioctl", (long)request, EINVAL))
		return -1;
	return ioctl(fd, request, arg);
}

long sys_ptrace(int request, pid_t tid, void *addr, void *data)
{
	if (is_to_fail("ptrace", request, EIO))
		return -1;
	return ptrace(request, tid, addr, data);
}

ssize_t sys_pread(int fd, void *to, size_t size, uint64_t off)
{
	if (is_to_fail("pread", (long)size, EIO))
		return -1;
	return pread(fd, to, size, (off_t)off);
}

ssize_t sys_pwrite(int fd, const void *from, size_t size, uint64_t off)
{
	if (is_to_fail("pwrite", (long)size, EIO))
		return -1;
	return pwrite(fd, from, size, (off_t)off);
}
