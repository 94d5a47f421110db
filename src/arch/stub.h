/* SPDX-License-Identifier: MIT */
/*
 * Stubs: the code that a window of a traced program jumps to.
 *
 * A window is the bytes that a jump overwrites, and the whole instructions that these belong to.
 * Its stub has the bodies of probes, the moved instructions, and a jump to what is behind the
 * window:
 *
 *     window:  jmp stub               stub:   body: count, or call of a function
 *              ...                            push %rbp
 *     behind:  sub $8, %rsp                   mov %rdi, 0x1234(%rip)    same target, new distance
 *                                             jmp behind
 *
 * The moved instructions leave registers, flags and memory as those of the window would, with the
 * original addresses: a call pushes the address behind the window, so that no active frame ever
 * returns into a stub. A fault finds the same state, but for the program counter (stub_origin()).
 *
 * A body uses no vector register, keeps all registers and, where they may be alive, the flags and
 * the red zone. It tests the switch, a byte that is 0 in a child of fork(), and then does nothing.
 *
 * A relay (STUB_RELAY) is a body that hands the firing to a uprobe: to a nop in memory of its own,
 * the relay's slot, which the body reaches with all registers and flags as they are at the site.
 *
 *     stub:    switch? filter? restore; jmp slot      slot:    nop               <-- uprobe
 *     goes on: ...                                             jmp goes on
 *
 * A relay may have tests (struct stub_test), which nearly always tell that it has nothing to do:
 * then its function is called only if one of them is true. They take two or three registers.
 *
 * Stack    below the red zone: 32 bytes by STUB_COUNT, 176 and what the function needs by
 *          STUB_CALL and STUB_RELAY.
 * Threads  pure functions.
 */
#pragma once

#include "base/base.h"

#define STUB_INSNS_MAX	16
#define STUB_SIZE_MAX	1024	    /* no stub is longer */
#define STUB_STACK_MAX	(128 + 176) /* of STUB_CALL, the red zone included */
#define STUB_BODIES_MAX 4
#define STUB_SLOT_SIZE	8 /* bytes of a relay's slot */

enum stub_kind {
	STUB_COUNT, /* adds 1 to a word of the CPU, or of the owner thread */
	/*
	 * Calls void func(struct native_frame *, uint32_t site), which may read the words of the
	 * frame and destroy the registers that the body says, and the flags, but for the direction
	 * flag, which may be 1. Its stack has no alignment.
	 */
	STUB_CALL,
	/*
	 * Jumps to the slot of the relay, if the function says so: uint64_t func(struct
	 * native_frame *, uint32_t site), which may read all of the frame, destroy all registers
	 * but the stack pointer, and expects the direction flag to be 0. Not 0: yes. Without a
	 * function (0) always.
	 */
	STUB_RELAY,
};

/*
 * Indices of the 64-bit words of struct native_frame (native/native.h), whose address a stub passes
 * to the function of STUB_CALL. Words 0 to 14 are the general registers but for the stack pointer,
 * in the order of the kernel's struct pt_regs.
 */
enum { STUB_FRAME_PC = 15, STUB_FRAME_SP, STUB_FRAME_FLAGS, STUB_FRAME_NWORDS };
#define STUB_FRAME_ALL ((1u << STUB_FRAME_NWORDS) - 1)

enum stub_test_kind {
	STUB_TEST_WORD, /* the u32 is not 0 */
	STUB_TEST_BYTE, /* of 65,536 bytes, that for bits 12 to 27 of the register is not 0 */
	/*
	 * The register (times another one, if there is one) is at least the u64 of the CPU; a
	 * smaller value is subtracted from that u64. Nothing is tested while the switch is off.
	 * Always true if the CPU has no number (stub_env.cpu). The last test of a body.
	 */
	STUB_TEST_LEFT,
};
#define STUB_TESTS_MAX 3

struct stub_test {
	enum stub_test_kind kind;
	uint8_t reg;   /* its word in struct native_frame; not rax, rcx, rdx */
	uint8_t times; /* 1 + that of the other one; 0: there is none */
	uint8_t shift; /* STUB_TEST_LEFT: the words of two CPUs are 1 << shift bytes apart */
	taddr addr;    /* in the target, of the word or bytes; of CPU 0 */
};

struct stub_body {
	enum stub_kind kind;
	uint8_t off; /* runs before the instruction at this offset in the window */
	/*
	 * The site is a way out of the function: if the instruction is a conditional jump, then
	 * the body runs only if it jumps.
	 */
	bool is_exit;
	/*
	 * The jump leads to the tail of the window, and is the way out: it runs before the last
	 * instruction of a copy of that, in which control goes on.
	 */
	bool has_tail;
	/* STUB_COUNT: the target's address of the word of CPU 0 (stub_env.cpu_mask, .cpu_shift) */
	taddr counter;
	taddr own; /* and that of the owner thread's word (stub_env.owner_addr) */
	/* STUB_CALL, STUB_RELAY: the target's address of the function, the number it is passed */
	taddr func;
	uint32_t site;
	/*
	 * STUB_CALL: bit n: word n of the frame is read by the function; the register of word n,
	 * one of the first 15, is destroyed by it. Other words are not set.
	 */
	uint32_t reads, destroys;
	taddr pc; /* of the site, in the target: what the frame has */
	/*
	 * STUB_RELAY: the target's address of the slot, and how many bytes the stack pointer has
	 * been lowered by since the site, which has it back while the slot is executed.
	 */
	taddr slot;
	int16_t pushed;
	/* STUB_RELAY: if none of them is true, nothing else is done; ntests 0: as if one were */
	uint8_t ntests;
	struct stub_test tests[STUB_TESTS_MAX];
};

/* Where the number of the CPU is read. */
enum stub_cpu {
	STUB_CPU_RSEQ,	 /* at rseq_cpu from the thread pointer (PTRACE_GET_RSEQ_CONFIGURATION) */
	STUB_CPU_THREAD, /* no rseq: a number is made of the thread pointer */
	STUB_CPU_ONE,	 /* threads may have no thread pointer: word 0 for all */
};

struct stub_env {
	taddr code;	   /* the target's address of the stub */
	taddr switch_addr; /* of the switch */
	enum stub_cpu cpu;
	int32_t rseq_cpu;
	uint32_t cpu_mask; /* ANDed to the number of the CPU: a power of 2 less 1 */
	uint8_t cpu_shift; /* the words of two CPUs are 1 << cpu_shift bytes apart */
	/*
	 * STUB_COUNT: of a word that is the thread pointer of the owner thread, or 0, and is 0
	 * where the switch of the process is off. Threads with this thread pointer, of which only
	 * one may run, count in stub_body.own without a lock. 0: there is none. Not with
	 * STUB_CPU_ONE.
	 */
	taddr owner_addr;
	bool tests_switch; /* the owner looks at the switch, too, which may be off for it */
	/*
	 * With an owner: the function of arch_stubs.locked_make() for the same switch and words;
	 * 0: there is none.
	 */
	taddr locked_func;
	bool has_shadow_stack; /* no call can be moved */
};

/* The instructions of a window. */
struct stub_window {
	taddr addr;	     /* in the target */
	const uint8_t *code; /* len bytes, those of the file */
	uint8_t len;	     /* of whole instructions */
	uint8_t nins;
	const uint8_t *ins; /* offsets of the instructions, ascending, the first 0 */
	uint8_t nbodies;
	const struct stub_body *bodies; /* ascending offset */
	/*
	 * The instructions up to a return to which a jump of the window leads (stub_body.has_tail):
	 * as those of the window, at their own address; tail_len 0: there are none.
	 */
	taddr tail;
	const uint8_t *tail_code;
	const uint8_t *tail_ins;
	uint8_t tail_len, tail_nins;
	/* what may be alive where a body runs: bytes below the stack pointer; flags */
	bool has_red_zone, has_flags;
};

struct stub {
	uint16_t size;
	uint8_t nins;
	/*
	 * For each instruction of the window the offset in the stub of the bodies before it, and
	 * then of itself: there a thread goes on that stands at the instruction in the window.
	 */
	uint16_t bounds[STUB_INSNS_MAX];
	/*
	 * Offset of the jump to what is behind the window, and of the rest, which are parts of
	 * bodies; size: there is neither.
	 */
	uint16_t behind;
	/* for each body that is a relay the offset at which the stub goes on behind the slot */
	uint16_t goes_on[STUB_BODIES_MAX];
};

struct arch_stubs {
	/*
	 * Writes the stub to buf, of size bytes. NULL, or why there is none, as a phrase: an
	 * instruction that cannot be moved, an address that is too far away.
	 */
	const char *(*make)(const struct stub_window *w, const struct stub_env *env, uint8_t *buf,
			    uint32_t size, struct stub *ret);
	/*
	 * Writes the slot of a relay, STUB_SLOT_SIZE bytes that will stand at that address; false:
	 * goes_on, where it jumps to, is too far away.
	 */
	bool (*slot_make)(taddr slot, taddr goes_on, uint8_t *buf);
	/*
	 * Writes the function with which all stubs of threads that are not the owner count, to buf,
	 * for env->code. Returns its size; 0: there is no room, or the switch is too far away.
	 */
	uint32_t (*locked_make)(const struct stub_env *env, uint8_t *buf, uint32_t size);
};
