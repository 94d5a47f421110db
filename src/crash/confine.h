/* SPDX-License-Identifier: MIT */
/*
 * A process that reads what a crashed program has left, and that may be taken over by it.
 *
 * It has an own user without rights, no network, no new privileges, a bounded address space and
 * time, and a filter of system calls; if that can be made, a cgroup. What it needs was opened
 * before. It may ask for files that its user cannot read: programs and libraries, for their
 * symbols. These are opened with the rights that the crashed process had, and only if they are
 * regular ELF files.
 *
 * Errors   struct err *: it has failed, was killed, or its time is over (ETIMEDOUT).
 * Units    seconds, bytes.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

#define CONFINED_SECONDS 60
#define CONFINED_MEMORY	 (512ull << 20)

struct confined {
	/* Whose rights files are opened with; UINT32_MAX: none are opened. */
	uint32_t fs_uid, fs_gid;
	/* What it does, with a descriptor by which it asks for files; returns an exit status. */
	int (*run)(void *ctx, int asks);
	void *ctx;
	uint32_t seconds; /* 0: CONFINED_SECONDS */
};

MUST_CHECK struct err *confined_run(const struct confined *c);
/* For gate_set_opener(): ctx is a pointer to the descriptor. */
int confined_open(void *ctx, const char *path);
/* The user of such processes: "_fathom-crash" if there is one, else "nobody". */
void confined_user(uid_t *ret_uid, gid_t *ret_gid);
