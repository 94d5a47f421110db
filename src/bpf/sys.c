/*
 * System calls that can fail, with failure injection.
 */
#include "bpf/sys.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* Process state on purpose: it is a test of the whole process. */
static struct {
	bool is_asked;
	unsigned int countdown; /* calls until the one that fails, 0 = none */
	int sys;		/* its errno, 0 = that of the kind of call */
} fail;

void sys_fail_set(unsigned int n)
{
	fail.is_asked = true;
	fail.countdown = n;
	fail.sys = 0;
}

bool sys_fail_pending(void)
{
	return fail.countdown > 0;
}

/* "n" or "n:ERRNO" */
static void fail_ask(void)
{
	static const struct {
		const char *name;
		int sys;
	} names[] = {{"EPERM", EPERM},	 {"ENOMEM", ENOMEM}, {"EINVAL", EINVAL},
		     {"EMFILE", EMFILE}, {"E2BIG", E2BIG},   {"EBUSY", EBUSY},
		     {"ENODEV", ENODEV}};
	const char *env = getenv("FATHOM_FAIL");
	char *end = NULL;

	sys_fail_set(env ? (unsigned int)strtoul(env, &end, 10) : 0);
	for (uint32_t i = 0; end && *end == ':' && i < ARRAY_LEN(names); i++)
		if (strcmp(end + 1, names[i].name) == 0)
			fail.sys = names[i].sys;
}

/* Tells a test, through the file FATHOM_FAIL_LOG, that the n-th call came and which it was. */
static void fail_log(const char *call, long number)
{
	const char *path = getenv("FATHOM_FAIL_LOG");
	CLEANUP(file) FILE *f = path ? fopen(path, "ae") : NULL;

	if (f)
		fprintf(f, "%s %ld\n", call, number);
}

/* With errno set when the call is the one to fail. */
static bool is_to_fail(const char *call, long number, int sys)
{
	if (!fail.is_asked)
		fail_ask();
	if (!fail.countdown || --fail.countdown)
		return false;
	fail_log(call, number);
	errno = fail.sys ? fail.sys : sys;
	return true;
}

bool sys_fails(const char *call, long number)
{
	return is_to_fail(call, number, EINVAL);
}

int sys_bpf(int cmd, void *attr, unsigned int size)
{
	if (is_to_fail("bpf", cmd, EINVAL))
		return -1;
	return (int)syscall(SYS_bpf, cmd, attr, size);
}

int sys_perf_event_open(void *attr, int pid, int cpu, int group_fd, unsigned long flags)
{
	if (is_to_fail("perf_event_open", cpu, EINVAL))
		return -1;
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags);
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
