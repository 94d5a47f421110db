/*
 * Whole programs of the run-time library (bpf/rt): those that need no unit.
 *
 * Owns     nothing: the descriptor is the caller's to close.
 * Errors   struct err *: the kernel refuses.
 */
#pragma once

#include "base/err.h"
#include "bpf/code.h"
#include "probe/place.h"

/*
 * Loads the function `name` for a kind of place. fds: the maps that it uses, by map class; those of
 * other classes may be anything.
 */
MUST_CHECK struct err *program_load(const char *name, enum place_kind kind,
				    const int fds[MAP_NCLASSES], int *ret_fd);
