/* SPDX-License-Identifier: MIT */
#include "kernel/confine.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define INITIAL_USERNS_INODE 0xeffffffdu

bool userns_is_initial(void)
{
	CLEANUP(file) FILE *f = fopen("/proc/self/uid_map", "re");
	unsigned long first, outer, n;
	struct stat st;

	if (stat("/proc/self/ns/user", &st) != 0 || st.st_ino != INITIAL_USERNS_INODE)
		return false;
	return f && fscanf(f, "%lu %lu %lu", &first, &outer, &n) == 3 && first == 0 && outer == 0 &&
	       n == UINT32_MAX;
}

bool userns_is_inner(void)
{
	return access("/proc/self/ns/user", F_OK) == 0 && !userns_is_initial();
}

/* A filter that forbids the question sends no answer: then prctl() fails. */
bool filter_is_on(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_DISABLED;
}

struct err *confined_err(const char *call, int sys)
{
	if (sys != EPERM && sys != EACCES && sys != ENOSYS)
		return NULL;
	if (sys != ENOSYS && userns_is_inner())
		return err_hint(
			err_new("the capabilities of this process hold in its user namespace only, "
				"as in a rootless container: to the kernel it is an ordinary user, "
				"who may not trace"),
			"trace on the host, or in a container without one: docker run "
			"--userns=host, sudo podman run, hostUsers: true (Kubernetes)");
	if (filter_is_on())
		return err_hint(err_sys(sys, "a seccomp filter of this process refuses %s", call),
				"a container gets another filter by --security-opt "
				"seccomp=unconfined or =FILE (Docker, Podman), or seccompProfile "
				"(Kubernetes): dtrace-containers(7)");
	return NULL;
}

const char *confined_caps_hint(void)
{
	if (userns_is_inner())
		return "this is a user namespace, whose capabilities do not count: trace on the "
		       "host";
	if (geteuid() != 0)
		return "run as root, try sudo";
	return "this root has not all capabilities; a container gets them by --cap-add=BPF "
	       "--cap-add=PERFMON (Docker, Podman) or capabilities: {add: [BPF, PERFMON]} "
	       "(Kubernetes)";
}
