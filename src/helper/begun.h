/* SPDX-License-Identifier: MIT */
/*
 * When processes have begun: before the session or during it.
 *
 * Units    times in ticks of the clock since boot.
 * Threads  any.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"

uint64_t begun_clock(void);
/* Whether a process has begun after a time; false: earlier, in the same tick, or it has ended. */
bool begun_since(pid_t pid, uint64_t time);
