/* SPDX-License-Identifier: MIT */
/* The sets of capabilities of this process, by the system calls themselves. */
#include "kernel/capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/*
 * Process state on purpose: capabilities are the process's. It is written once, before there are
 * other threads; the keeper and the reader, which are clones, have copies.
 */
static uint64_t held;

bool capabilities_read(struct capability_sets *ret)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};

	*ret = (struct capability_sets){0};
	if (syscall(SYS_capget, &head, data) != 0)
		return false;
	ret->permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
	ret->effective = data[0].effective | (uint64_t)data[1].effective << 32;
	ret->inheritable = data[0].inheritable | (uint64_t)data[1].inheritable << 32;
	for (unsigned int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) == 1)
			ret->ambient |= capability_bit(cap);
	return true;
}

bool capabilities_signal_all(void)
{
	struct capability_sets sets;

	return capabilities_read(&sets) ? sets.effective & capability_bit(CAP_KILL)
					: geteuid() == 0;
}

/* Sets the permitted and the effective set, and empties the inheritable and the ambient one. */
static bool capabilities_set(uint64_t permitted, uint64_t effective)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
		{.effective = (uint32_t)effective, .permitted = (uint32_t)permitted},
		{.effective = (uint32_t)(effective >> 32),
		 .permitted = (uint32_t)(permitted >> 32)},
	};

	return syscall(SYS_capset, &head, data) == 0;
}

bool capabilities_hold(uint64_t mask)
{
	if (!capabilities_set(mask, 0))
		return false;
	held = mask;
	return true;
}

bool capabilities_keep(uint64_t mask)
{
	return capabilities_set(mask, mask);
}

/* A process that cannot get rid of its capabilities must not go on. */
static void lower_or_end(uint64_t permitted)
{
	static const char text[] = "fathom: the kernel does not take capabilities back\n";

	if (capabilities_set(permitted, 0))
		return;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(1);
}

void capabilities_give_up(void)
{
	held = 0;
	lower_or_end(0);
}

bool capabilities_are_held(void)
{
	return held != 0;
}

void capabilities_raise(void)
{
	int saved = errno;

	if (held)
		(void)capabilities_set(held, held); /* the call that follows says EPERM */
	errno = saved;
}

void capabilities_lower(void)
{
	int saved = errno;

	if (held)
		lower_or_end(held);
	errno = saved;
}

const char *trusted_getenv(const char *name)
{
	return held ? NULL : getenv(name);
}
