/* SPDX-License-Identifier: MIT */
/*
 * The server that the kernel connects to for each crash, if core_pattern is "@@/path": the capturer,
 * started by a socket of systemd, or by us where there is none.
 *
 * Errors   struct err *.
 * Facts    coredump.h of the kernel; Linux 6.17. SO_PEERCRED names who has called listen().
 */
#pragma once

#include "crash/install.h"

#define CRASH_SOCKET	  "/run/fathom-crash-capture.socket"
#define CRASH_SOCKET_UNIT "fathom-crash-capture.socket"
#define CRASH_SERVER_UNIT "fathom-crash-capture.service"

/* Checks that nobody but root can put another socket in the place of this one. */
MUST_CHECK struct err *crash_socket_check(const char *path);
/* Has a server listen at a path. Notes say what remains to be done for the next boot. */
MUST_CHECK struct err *crash_server_start(const struct crash_paths *p, const char *path,
					  crash_notes *notes);
/* Ends it; without one, nothing happens. */
MUST_CHECK struct err *crash_server_stop(const struct crash_paths *p, const char *path);
/* Whether somebody listens there. */
bool crash_server_listens(const char *path);
