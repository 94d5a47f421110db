/* SPDX-License-Identifier: MIT */
/*
 * The check that the code in a process's memory is the code of its file.
 *
 * The kernel reads the instruction under a uprobe from the file, and executes that copy instead of
 * the one in memory. In a page that the process has changed, this would be another instruction than
 * the program meant (measured: the process dies).
 *
 * Owns     two descriptors.
 * Facts    bits of /proc/PID/pagemap: Linux Documentation/admin-guide/mm/pagemap.rst.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"

enum code_state {
	CODE_SAME,	 /* the code is the file's; also if its page is not in memory yet */
	CODE_CHANGED,	 /* the process has changed it */
	CODE_BREAKPOINT, /* a debugger has placed a breakpoint */
	CODE_MOVED,	 /* a jump of another tracer leads around the instruction */
};

/* How far before an instruction a jump may be that leads around it. */
#define CODE_BEFORE_MAX 32

struct code_check {
	int mem_fd, pagemap_fd;
	bool is_traced; /* a debugger is attached */
	uint64_t first; /* number of the first page in bits[] */
	uint32_t nbits;
	uint64_t bits[512];
};

void code_check_init(struct code_check *c, pid_t pid);
void code_check_deinit(struct code_check *c);
/*
 * Compares the memory at addr with code, the bytes of that instruction, or window, in the file: at
 * most CODE_BEFORE_MAX.
 */
enum code_state code_check_at(struct code_check *c, taddr addr, const uint8_t *code, size_t len);
/*
 * Whether the instruction at addr is executed in a copy elsewhere: another tracer has written a
 * jump before it, to code that goes on behind it or does not come back. file: the bytes of the file
 * from `before` bytes before the instruction, at most CODE_BEFORE_MAX, to its end.
 */
bool code_is_moved(struct code_check *c, taddr addr, const uint8_t *file, uint32_t before,
		   uint32_t len);
/* Returns the number in a field of /proc/PID/status; -1 if there is none. */
long proc_status_field(pid_t pid, const char *name);
/* Whether a field of /proc/PID/status is there and has a word; "": whether it is there. */
bool proc_status_has(pid_t pid, const char *name, const char *word);
