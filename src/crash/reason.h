/* SPDX-License-Identifier: MIT */
/*
 * Why a process has died, in words.
 *
 * Facts    sigaction(2); Linux include/uapi/asm-generic/siginfo.h; seccomp(2) for SIGSYS.
 */
#pragma once

#include <signal.h>

#include "base/str.h"

struct proc_maps;

/* "SIGSEGV"; of one without a name, "signal 35". */
void signal_name_add(struct strbuf *out, int signal);
/* "SEGV_MAPERR"; NULL: it is not known. */
const char *signal_code_name(const siginfo_t *si);
/*
 * Adds "address 0x1234 is not mapped". maps: NULL, or those of the process; sp: its stack pointer;
 * sender: the process's own id, of signals that are sent. Paths of maps are not escaped.
 */
struct reason_of {
	const struct proc_maps *maps;
	uint64_t sp; /* of the crashed thread; 0: it is not known */
	int64_t pid;
};
void reason_add(struct strbuf *out, const siginfo_t *si, const struct reason_of *of);
/* Whether the stack has overflowed: the address is just beyond the end of the stack. */
bool reason_is_overflow(const siginfo_t *si, const struct reason_of *of);
