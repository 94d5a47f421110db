/* SPDX-License-Identifier: MIT */
/*
 * The confines of this process apart from its user and capabilities, as containers have: a user
 * namespace, a seccomp filter. Only messages depend on it, and whether levels hold: the kernel
 * decides what is allowed.
 *
 * Errors   made here: what is refused, and how Docker, Podman and Kubernetes give it.
 * Threads  any.
 * Facts    user_namespaces(7); Linux include/uapi/linux/nsfs.h, USER_NS_INIT_INO; seccomp(2).
 */
#pragma once

#include "base/err.h"

/*
 * Whether the user ids and capabilities of this process are those of the host, and whether they are
 * not. Both are false where it cannot be known, because /proc is not mounted.
 */
bool userns_is_initial(void);
bool userns_is_inner(void);
/* Whether a seccomp filter sees the system calls of this process. */
bool filter_is_on(void);
/*
 * The error of a system call ("bpf(2)") that the kernel has refused with `sys` although the
 * capabilities for it are there. NULL: nothing is known that would explain it.
 */
MUST_CHECK struct err *confined_err(const char *call, int sys);
/* How a container's process gets the capability that it lacks. */
const char *confined_caps_hint(void);
