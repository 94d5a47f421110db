/* SPDX-License-Identifier: MIT */
/*
 * The processor's part in changing the code of a process that is held: the bytes of jumps, the
 * registers of threads, and the code with which a thread calls the kernel for us.
 *
 * A thread that makes a call for us has other registers meanwhile. If we are killed then, the
 * kernel lets it run on with these. So the code that makes the call goes on with a second one,
 * which returns from a signal handler: it restores all registers, and the mask of signals, from a
 * frame that was written before. Normally the thread is stopped between the two.
 *
 * Threads  all functions are async-signal-safe.
 * Facts    the frame of a signal: Linux arch/x86/include/asm/sigframe.h, sigcontext.h, and
 *          arch/x86/kernel/signal_64.c; restarts of system calls: arch/x86/kernel/signal.c.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"

#define ARCH_JUMP_MAX  8     /* bytes of a jump */
#define ARCH_FRAME_MAX 16384 /* bytes of the frame that restores a thread */
#define ARCH_WORDS_MAX 32

/* All general registers of a thread, as ptrace(2) has them. */
struct arch_words {
	uint64_t words[ARCH_WORDS_MAX];
};

struct arch_patch {
	/* ---- jumps */
	uint8_t jump_size, short_size;
	uint8_t breakpoint; /* the first byte of one, which the jumps do not have */
	/* False: it does not reach. */
	bool (*jump_make)(taddr from, taddr to, uint8_t *ret_code);
	bool (*short_make)(taddr from, taddr to, uint8_t *ret_code);
	uint8_t jump_byte, short_byte; /* their first bytes */
	/*
	 * Where the jump at an address leads, by the distance in its bytes: of all jumps and calls
	 * that end with such a distance, which is all but the first byte.
	 */
	taddr (*jump_target)(taddr from, const uint8_t *code);
	taddr (*short_target)(taddr from, const uint8_t *code);
	/*
	 * Whether the bytes may be what compilers and linkers fill with between functions: fillers,
	 * and nops of any size, beginning anywhere in one.
	 */
	bool (*is_padding)(const uint8_t *code, uint32_t size);

	/* ---- registers of a thread that the caller has stopped; false with errno */
	bool (*words_read)(pid_t tid, struct arch_words *ret);
	bool (*words_write)(pid_t tid, const struct arch_words *w);
	taddr (*pc)(const struct arch_words *w);
	taddr (*sp)(const struct arch_words *w);
	void (*pc_set)(struct arch_words *w, taddr pc);
	bool (*is_narrow)(const struct arch_words *w); /* it executes 32-bit code */
	uint32_t red_zone; /* bytes below the stack pointer that functions use */

	/* ---- frames of signals on a stack */
	/* A word of the frame is mark, but for the bits that are not in mask. */
	uint64_t frame_mark, frame_mask;
	uint32_t frame_sp; /* the saved stack pointer is so many words before it */

	/* ---- calls */
	const uint8_t *call_code; /* the two calls; may stand anywhere */
	uint32_t call_size;
	uint32_t frame_align;
	/*
	 * Makes the frame that restores w, the mask, and the vector registers that the thread has.
	 * A system call that was interrupted is begun anew. Returns its size; 0: it does not fit.
	 */
	uint32_t (*frame_make)(pid_t tid, const struct arch_words *w, uint64_t mask, taddr at,
			       uint8_t *to, uint32_t size);
	/* The registers with which the call begins: code at an address, the frame at another. */
	void (*call_make)(const struct arch_words *w, taddr code, taddr frame, long nr,
			  const uint64_t args[6], struct arch_words *ret);
	int64_t (*call_value)(const struct arch_words *w); /* what it has returned */
};

extern const struct arch_patch *const arch_patch; /* NULL: nobody has written it yet */
