/* SPDX-License-Identifier: MIT */
/*
 * Makes the constants of a program readable before the program itself reads them.
 *
 * A probe cannot wait until a page of a file is in memory. So it could not read a string constant
 * whose page the process has not used yet, such as the path with which it is about to call open().
 * This reads a byte of each 64 KB of the files that the process has mapped as data, for the kernel
 * maps the neighbours of a page that are in memory together with it (fault_around_bytes,
 * Linux 3.15 and later). The process must be held, so that nobody maps something else meanwhile.
 *
 * Only files on file systems that answer by themselves are touched (gate.h).
 */
#pragma once

struct target; /* target/target.h */

#define TOUCH_MAX (8u << 20) /* bytes of a process's files; the program's own comes first */

/* Reads the constants of a held process; skips memory that cannot be read. */
void touch_constants(struct target *t);
