/*
 * The PID namespace whose numbers a session shows, takes and compares: that of dtrace itself.
 *
 * Errors   struct err *: what the kernel refuses.
 * Cost     in the first namespace one look at /proc; in another one a program is loaded and run.
 */
#pragma once

#include "base/err.h"
#include "bpf/rt/abi.h"

/*
 * Ours, as the kernel's side needs it; level 0: the first one, where the kernel's helpers know the
 * numbers.
 */
MUST_CHECK struct err *pidns_find(struct rt_pidns *ret);
