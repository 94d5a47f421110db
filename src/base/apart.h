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
 * does; the clone is reported to no wait() without __WCLONE, sends no signal when it ends, and
 * blocks all signals but SIGKILL and SIGSTOP from its first instruction on.
 */
pid_t apart_clone(void);
/*
 * The clone of process parent calls this first. It then is in a session of its own, has closed all
 * descriptors but the n kept ones (at most 8), maps no BPF map, has freed its copy of the heap, and
 * shows name as its name.
 */
void apart_begin(const char *name, pid_t parent, const int *kept, uint32_t n);

/*
 * Descriptors that the kernel is slow to close: what the caller closes between begin and end, a
 * clone closes behind it, for it has copies of all descriptors. False: there is no such clone.
 */
struct apart_closing {
	int gate[2]; /* a pipe whose end tells the clone to end */
};
bool apart_closing_begin(struct apart_closing *c);
void apart_closing_end(const struct apart_closing *c);
/* Closes all descriptors but those of two lists. It is async-signal-safe. */
void descriptors_close(const int *kept, uint32_t n, const int *also, uint32_t nalso);
