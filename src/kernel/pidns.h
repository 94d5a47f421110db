/* SPDX-License-Identifier: MIT */
/*
 * The PID namespace of dtrace itself, whose process numbers a session shows, accepts and compares.
 *
 * Errors   struct err *: what the kernel refuses.
 * Cost     in the first namespace a file of /proc is read; in others the first call loads a
 *          program and runs it.
 * Threads  any.
 */
#pragma once

#include "base/err.h"
#include "rt/pidns.h"

/*
 * Describes the namespace for code in the kernel. level 0: the first one, whose numbers the
 * kernel's helpers return.
 */
MUST_CHECK struct err *pidns_find(struct rt_pidns *ret);
