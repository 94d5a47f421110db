/* SPDX-License-Identifier: MIT */
/*
 * Whether crashes are captured, and what is wrong where they are not.
 *
 * Owns     a struct crash_status its texts; crash_status_deinit() frees them.
 * Errors   none: what cannot be found out is a problem.
 */
#pragma once

#include "crash/install.h"

struct crash_status {
	bool is_installed;	 /* core_pattern is what install has written */
	char *pattern, *before;	 /* without line feed; before NULL: not known */
	const char *way;	 /* "socket"; "pidfd", "pipe": what the kernel offers */
	char *socket;		 /* NULL: there is none */
	char *keep_core, *chain; /* NULL: not known, none */
	uint32_t captures, unanalysed, unfinished;
	int64_t newest_ns; /* 0: there is none */
	uint64_t store_bytes, budget_bytes, free_bytes;
	crash_notes problems;
};

void crash_status_read(const struct crash_paths *p, struct crash_status *ret);
void crash_status_deinit(struct crash_status *s);
