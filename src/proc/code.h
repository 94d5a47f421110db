/*
 * Is the code of a process what its file says?
 *
 * The kernel takes the instruction under a probe from the file. In a page that the process has
 * changed that would be another one than it executes (measured: the process dies).
 *
 * Owns     two descriptors.
 * Facts    bits of /proc/PID/pagemap: Linux Documentation/admin-guide/mm/pagemap.rst.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"

enum code_state {
	CODE_SAME,	 /* or not looked at yet by the process: then it is the file's */
	CODE_CHANGED,	 /* by the process itself */
	CODE_BREAKPOINT, /* by its debugger */
};

struct code_check {
	int mem_fd, pagemap_fd;
	bool is_traced; /* by a debugger */
	uint64_t first; /* of the pages in bits[] */
	uint32_t nbits;
	uint64_t bits[512];
};

void code_check_init(struct code_check *c, pid_t pid);
void code_check_deinit(struct code_check *c);
/* code: what the file has for the instruction at addr. */
enum code_state code_check_at(struct code_check *c, taddr addr, const uint8_t *code, size_t len);
/* A field of /proc/PID/status that is a number; -1 when there is none. */
long proc_status_field(pid_t pid, const char *name);
