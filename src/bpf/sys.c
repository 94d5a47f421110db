/*
 * System calls that can fail, with failure injection.
 */
#include "bpf/sys.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* Calls until the one that fails, 0 = none. Of the process, because the whole process is tested. */
static unsigned int fail_countdown;
static bool fail_asked;

void sys_fail_set(unsigned int n)
{
	fail_countdown = n;
	fail_asked = true;
}

bool sys_fail_pending(void)
{
	return fail_countdown > 0;
}

static bool is_to_fail(void)
{
	if (!fail_asked) {
		const char *env = getenv("FATHOM_FAIL");

		sys_fail_set(env ? (unsigned int)strtoul(env, NULL, 10) : 0);
	}
	return fail_countdown && --fail_countdown == 0;
}

int sys_bpf(int cmd, void *attr, unsigned int size)
{
	if (is_to_fail()) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_bpf, cmd, attr, size);
}

int sys_perf_event_open(void *attr, int pid, int cpu, int group_fd, unsigned long flags)
{
	if (is_to_fail()) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags);
}

void *sys_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	if (is_to_fail()) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return mmap(addr, len, prot, flags, fd, off);
}

int sys_ioctl(int fd, unsigned long request, unsigned long arg)
{
	if (is_to_fail()) {
		errno = EINVAL;
		return -1;
	}
	return ioctl(fd, request, arg);
}
