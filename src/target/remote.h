/* SPDX-License-Identifier: MIT */
/*
 * System calls that a held thread of another process makes for us.
 *
 * The thread executes code of a few bytes (arch/patch.h) that was written into the process before,
 * with a frame from which it restores itself if we are killed in the middle. All of its signals are
 * blocked meanwhile, but for SIGSYS: with syscall user dispatch, the kernel makes that signal of
 * our call. It is taken away, and the thread knows of nothing. Blocked, it would end the process.
 *
 * Threads  the one that holds the process (target/seize.h); async-signal-safe.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"

struct remote {
	pid_t tid; /* held, at a stop that seize_process() has made */
	int mem_fd;
	taddr code;   /* where arch_patch->call_code is */
	taddr frame;  /* memory that may be changed, a multiple of 64 */
	uint8_t *buf; /* as many bytes of ours: ARCH_FRAME_MAX */
	/*
	 * The last call has failed in the middle: the thread restores itself when it is let go,
	 * for which it needs the code and the frame.
	 */
	bool is_left;
	/* It has failed because the thread handles its system calls itself (SIGSYS). */
	bool is_dispatched;
};

/*
 * False with errno: it has failed, or the thread has ended in it (ENOEXEC: it executes code of
 * another word size). Else *ret is what the kernel has returned; a negative errno is an error.
 */
bool remote_call(struct remote *r, long nr, const uint64_t args[6], int64_t *ret);
/* Writes into the process, also where it may not write itself; the thread is held. */
bool remote_write(pid_t tid, int mem_fd, taddr addr, const void *from, size_t size);
