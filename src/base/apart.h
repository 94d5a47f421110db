/*
 * Processes of our own that run apart from the tracer: cloned from it, without anything of it.
 *
 * The clone may come from one of several threads while others hold locks of the C library. Until it
 * ends it may therefore make only async-signal-safe calls: no malloc(), no stdio streams.
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
 * What the clone of process parent calls first: it takes no signals but SIGKILL and SIGSTOP, is in
 * a session of its own, keeps open only the n descriptors (at most 8), maps no BPF map, gives its
 * copy of the heap back, and is called name.
 */
void apart_begin(const char *name, pid_t parent, const int *kept, uint32_t n);
