/* SPDX-License-Identifier: MIT */
/*
 * The core files that systemd-coredump has kept: a directory whose names say of which process each
 * is, core.COMM.UID.BOOT.PID.TIME and an ending of the compression, with extended attributes
 * user.coredump.* that say more.
 *
 * Names and attributes are not trusted. Only regular files count, and no file is opened here.
 *
 * Owns     nothing.
 * Units    TIME is in µs since 1970.
 * Errors   struct err *: the directory cannot be read, or has no such file.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct out;

#define STORE_FOLDER "/var/lib/systemd/coredump"

/* Adds a row for each core file, the newest first. */
MUST_CHECK struct err *store_list(const char *folder, struct out *o);
/* Finds the newest one of a process; the caller frees *ret_path. */
MUST_CHECK struct err *store_find(const char *folder, pid_t pid, char **ret_path);
