/* SPDX-License-Identifier: MIT */
/*
 * Crashes for users who cannot open the store.
 *
 * The store is root's. A server, which is root without capabilities, hands the files of an entry,
 * opened for reading, to the user whose process has died; all that interprets them is done by the
 * user. A connection is for one request, and has one answer:
 *
 *     list        a descriptor of a text: pairs (crash/pairs.h), in which each "entry" begins the
 *                 next of that user's crashes
 *     file        a descriptor of a file of an entry
 *
 * Whose a crash is: the kernel would have let the process's own user have its core (dumpable 1),
 * all of its user and group ids were those of one user and one group, it had no capabilities, it
 * was in the initial namespaces of users and processes and in no container, and the end of its log
 * is one that this user can read. Everything else is root's alone, also if the user is right.
 *
 * Errors   struct err *. That there is no such crash, and that it is another's, are one error.
 * Facts    SO_PEERCRED, unix(7): the ids of who has connected are the kernel's.
 */
#pragma once

#include "crash/entries.h"

#define CRASH_USERS_SOCKET "/run/fathom-crash-users.socket"

/* ---- the server ------------------------------------------------------------------------------ */

/* Answers the request of a connection, within some seconds. */
MUST_CHECK struct err *crash_users_answer(const char *store, int fd);
/* Listens at a path, which is removed first, and answers in a process for each connection. */
MUST_CHECK struct err *crash_users_listen(const char *store, const char *path);
/* Whether a crash is that of a user. */
bool crash_is_of_user(const struct crash_store *s, const struct crash_entry *c, uid_t uid);

/* ---- the client ------------------------------------------------------------------------------ */

MUST_CHECK struct err *crash_users_list(const char *socket, crash_entries *ret);
/* Opens a file of an entry; -1 with errno. */
int crash_users_open(const char *socket, const char *id, const char *name);
/* Whether somebody listens there. */
bool crash_users_are_served(const char *socket);
