/*
 * Loads whole programs of the run-time library (bpf/rt), which need no unit.
 *
 * Owns     nothing: the descriptor is the caller's to close.
 * Errors   struct err *: the kernel refused the program.
 */
#pragma once

#include "base/err.h"
#include "bpf/code.h"
#include "probe/place.h"

/*
 * Loads the function `name` for a kind of place. fds: the maps that the function uses, by map
 * class; the other elements are ignored.
 */
MUST_CHECK struct err *program_load(const char *name, enum place_kind kind,
				    const int fds[MAP_NCLASSES], int *ret_fd);
