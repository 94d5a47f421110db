/* SPDX-License-Identifier: MIT */
/*
 * Captures a process that is held with ptrace(2), into the store: for those who cannot set the
 * kernel's core_pattern, and for scripts that have stopped a process.
 *
 * The entry has the files that the capturer writes of a process that dies (format.h); its core has
 * the memory that the process has of its own.
 *
 * Owns     nothing. The process stays held.
 * Errors   struct err *: no room, or the process has ended. No entry is left then.
 */
#pragma once

#include <signal.h>

#include "crash/store.h"

struct target;

struct crash_take {
	struct target *held;
	pid_t tid;	      /* the thread that it is about */
	const siginfo_t *why; /* what it is about to die of; NULL: it lives on */
	const char *way;      /* CRASH_KEY_WAY */
	uint64_t held_ns;     /* of now_ns(): since when */
};

/* ret_id has CRASH_ID_MAX + 1 bytes. */
MUST_CHECK struct err *crash_take(const struct crash_store *s, const struct crash_take *what,
				  char *ret_id);
