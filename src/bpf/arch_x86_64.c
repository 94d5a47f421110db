/*
 * x86-64: struct pt_regs of Linux arch/x86/include/asm/ptrace.h (r15 first, then r14 r13 r12 bp bx
 * r11 r10 r9 r8 ax cx dx si di orig_ax ip cs flags sp ss), the same since 2.6.
 */
#include "bpf/arch.h"

enum { R10_ = 56, R9_ = 64, R8_ = 72, CX = 88, DX = 96, SI = 104, DI = 112, BX = 40, BP = 32 };

const struct arch arch = {
	.sys_args = {DI, SI, DX, R10_, R8_, R9_},
	.compat_args = {BX, CX, DX, SI, DI, BP},
	.sys_nr = 120, /* orig_ax */
	.pc = 128,
	.mode = 136,		  /* cs */
	.user_mode = 3,		  /* its privilege level */
	.compat_status = 2,	  /* TS_COMPAT: arch/x86/include/asm/thread_info.h */
	.nr_abi_bit = 0x40000000, /* __X32_SYSCALL_BIT */
};
