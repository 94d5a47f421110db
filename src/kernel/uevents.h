/* SPDX-License-Identifier: MIT */
/*
 * What the kernel reports about its objects (modules, CPUs) to whoever listens.
 *
 * A report is "ACTION@PATH", the path below /sys. In a network namespace of another owner the
 * kernel reports nothing.
 *
 * Errors   -1 when the kernel lets nobody listen.
 */
#pragma once

#include <stddef.h>

enum uevent { UEVENT_NONE, UEVENT_READ, UEVENT_LOST };

/* Returns a descriptor that is readable when there are reports; -1: none. */
int uevents_listen(void);
/*
 * Reads the next report: UEVENT_NONE when there is none, UEVENT_LOST when the kernel had no room
 * for some.
 */
enum uevent uevents_next(int fd, char *text, size_t size);
