/* SPDX-License-Identifier: MIT */
/*
 * Loads whole programs of the run-time library (rt), which need no unit.
 *
 * Owns     nothing: the descriptor is the caller's to close.
 * Errors   struct err *: the kernel refused the program.
 */
#pragma once

#include "base/err.h"
#include "kernel/code.h"

/* What such a program is attached to. */
enum program_kind {
	PROGRAM_TRACEPOINT, /* a raw tracepoint */
	PROGRAM_CODE,	    /* instructions of files, by the keeper */
};

/*
 * Loads the function `name`. fds: the maps that the function uses, by map class; the other elements
 * are ignored.
 */
MUST_CHECK struct err *program_load(const char *name, enum program_kind kind,
				    const int fds[MAP_NCLASSES], int *ret_fd);
