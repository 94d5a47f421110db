/* SPDX-License-Identifier: MIT */
/*
 * Helper processes that are cloned from the tracer and keep nothing of it: no descriptors, no heap.
 *
 * One thread may make the clone while other threads hold locks of the C library. Until it ends, the
 * clone may therefore make only async-signal-safe calls: no malloc(), no stdio streams.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"

/*
 * Clones the calling process without going through the C library's handlers. Returns as fork()
 * does; the clone is reported to no wait() without __WCLONE, and sends no signal when it ends.
 */
pid_t apart_clone(void);
/*
 * The clone of process parent calls this first. It then blocks all signals but SIGKILL and SIGSTOP,
 * is in a session of its own, has closed all descriptors but the n kept ones (at most 8), maps no
 * BPF map, has freed its copy of the heap, and shows name as its name.
 */
void apart_begin(const char *name, pid_t parent, const int *kept, uint32_t n);
