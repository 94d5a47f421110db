/* SPDX-License-Identifier: MIT */
/*
 * From which files all processes execute code.
 *
 * A few threads ask /proc/PID/maps, each about another process, while the caller is told what they
 * have found: most of the time goes into the kernel's search through the mappings.
 *
 * Errors   none: processes that end meanwhile, and those whose memory we have no right to read, are
 *          skipped.
 */
#pragma once

#include "target/maps.h"

/* m: as for proc_code_each(). */
typedef void proc_search_fn(void *ctx, pid_t pid, const struct proc_map *m);

/*
 * Calls func in this thread for the code that all processes but our own have mapped, process by
 * process in the order of /proc.
 */
void proc_search(proc_search_fn *func, void *ctx);
