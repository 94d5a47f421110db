/* SPDX-License-Identifier: MIT */
/*
 * A process of the test's own program, whose code providers read: it does one thing after another
 * when it is told to, and says when that is done.
 *
 * Owns     child_end() ends the process.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int tell, hear;
};

/* False if there is none. */
bool child_begin(struct child *c);
/* Has it map the code of a file, which it does before this returns. */
bool child_map(const struct child *c, const char *path);
/* Has it unmap what it has mapped last. */
bool child_unmap(const struct child *c);
void child_end(struct child *c);
/* Copies the test's own program; false: it cannot. */
bool program_copy(const char *path);
