/*
 * What generated code has to know of the processor: where system call arguments and the program
 * counter are.
 *
 * Units    byte offsets in struct pt_regs. One arch_<name>.c is compiled in.
 */
#pragma once

#include "base/base.h"

struct arch {
	uint32_t sys_args[6];	 /* 64-bit system calls */
	uint32_t compat_args[6]; /* 32-bit ones: zero-extend */
	uint32_t sys_nr;	 /* number, while the call returns */
	uint32_t func_args[6];	 /* arguments of a function, at its first instruction */
	uint32_t func_value;	 /* what it returns, at its last */
	uint32_t go_args[9];	 /* arguments of a function of Go, and what it returns */
	uint32_t sp;
	uint32_t pc;
	uint32_t mode,
		user_mode;	/* u64 at mode: a bit of user_mode set = interrupted in user mode */
	uint32_t compat_status; /* bits of thread_info.status that mark a 32-bit call */
	/* uregs[]: by index a word of struct pt_regs, 5 bits each, 12 a word; 31 = none */
	uint64_t uregs[3];
	/*
	 * Elements of uregs[] that are no words of struct pt_regs: fields of struct task_struct,
	 * size bytes each. They are what the kernel noted when the thread last left its CPU.
	 */
	struct arch_task_reg {
		uint32_t index, size;
		const char *field; /* NULL ends the list */
	} task_regs[8];
	uint32_t nr_abi_bit; /* bit of a number that selects a variant ABI with the same calls; 0 =
				none */
};

extern const struct arch arch;
