/* SPDX-License-Identifier: MIT */
/*
 * The compiler's own declarations, shared by helper_code.c and helper_insn.c only.
 *
 * Registers in the function step(): r6 the state of the machine, r7 the value computed last, r8
 * instructions that are not yet counted, r9 the machine state of the firing.
 */
#pragma once

#include "kernel/emit.h"
#include "bpf/helper_code.h"
#include "rt/helper.h"

#define NO_LABEL UINT32_MAX
#define NO_REG	 UINT32_MAX

#define STATE(field) ((int32_t)offsetof(struct rt_hwork, field))
#define FAULT_KIND   ((int32_t)(offsetof(struct rt_mach, fault) + offsetof(struct rt_fault, kind)))
#define FAULT_VALUE  ((int32_t)(offsetof(struct rt_mach, fault) + offsetof(struct rt_fault, value)))

/* Code behind the function: the end of an instruction that has faulted, or of a load. */
struct late {
	uint32_t entry, back; /* labels; back NO_LABEL: a fault */
	uint32_t word;	      /* of the instruction, and */
	uint32_t after;	      /* the next one */
};

struct compiler {
	struct emitter e;
	const struct helper_code *c;
	uint32_t *labels; /* by instruction that is jumped to; NO_LABEL: none is */
	bool *is_head;	  /* the loop may go on with it */
	uint32_t again, stop, fault, spent;
	uint32_t word;	 /* the present instruction */
	uint32_t cached; /* the register of the machine whose value is in r7, or NO_REG */
	uint32_t due;	 /* instructions that r8 does not count yet */
	VEC(struct late) late;
	bool is_strange; /* an instruction that cannot be compiled */
};

/* ---- helper_insn.c --------------------------------------------------------------------------- */

/* Emits the present instruction. */
void insn_compile(struct compiler *k, uint64_t in);
/*
 * Counts the instructions since the last call; to be called before each place where paths part or
 * meet.
 */
void count_due(struct compiler *k);
/* Calls a run-time function whose arguments are in r2, r3, ... */
void call_rt(struct compiler *k, const char *name);
/* The code behind the function; in it, r5 is still the address of a load. */
void late_compile(struct compiler *k);
