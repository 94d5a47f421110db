/*
 * x86-64: struct pt_regs of Linux arch/x86/include/asm/ptrace.h (r15 first, then r14 r13 r12 bp bx
 * r11 r10 r9 r8 ax cx dx si di orig_ax ip cs flags sp ss), the same since 2.6.
 */
#include "bpf/arch.h"

enum {
	AX = 80,
	R11_ = 48,
	R10_ = 56,
	R9_ = 64,
	R8_ = 72,
	CX = 88,
	DX = 96,
	SI = 104,
	DI = 112,
	BX = 40,
	BP = 32
};

/* Twelve words of struct pt_regs for uregs[], the first lowest. */
/* clang-format off */
#define UREGS(a, b, c, d, e, f, g, h, i, j, k, l)                                                  \
	((uint64_t)(a) | (uint64_t)(b) << 5 | (uint64_t)(c) << 10 | (uint64_t)(d) << 15 |           \
	 (uint64_t)(e) << 20 | (uint64_t)(f) << 25 | (uint64_t)(g) << 30 | (uint64_t)(h) << 35 |    \
	 (uint64_t)(i) << 40 | (uint64_t)(j) << 45 | (uint64_t)(k) << 50 | (uint64_t)(l) << 55)
/* clang-format on */
#define NONE 31

/* clang-format off */
const struct arch arch = {
	.sys_args = {DI, SI, DX, R10_, R8_, R9_},
	.compat_args = {BX, CX, DX, SI, DI, BP},
	.sys_nr = 120, /* orig_ax */
	.func_args = {DI, SI, DX, CX, R8_, R9_},
	.func_value = AX,
	/* Go src/cmd/compile/abi-internal.md */
	.go_args = {AX, BX, CX, DI, SI, R8_, R9_, R10_, R11_},
	.sp = 152,
	.pc = 128,
	.mode = 136,		  /* cs */
	.user_mode = 3,		  /* its privilege level */
	.compat_status = 2,	  /* TS_COMPAT: arch/x86/include/asm/thread_info.h */
	/*
	 * in the order of dlib/regs.d: r15 to r12, r11 to r8, rdi rsi rbp rbx, rdx rcx rax, trapno
	 * err, rip cs rfl rsp ss, segments and their bases; err is orig_ax
	 */
	.uregs = {UREGS(0, 1, 2, 3, 6, 7, 8, 9, 14, 13, 4, 5),
		  UREGS(12, 11, 10, NONE, 15, 16, 17, 18, 19, 20, NONE, NONE),
		  UREGS(NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE)},
	/* struct thread_struct of Linux arch/x86/include/asm/processor.h */
	.task_regs = {{15, 8, "thread.trap_nr"},
		      {22, 2, "thread.fsindex"},
		      {23, 2, "thread.gsindex"},
		      {24, 2, "thread.es"},
		      {25, 2, "thread.ds"},
		      {26, 8, "thread.fsbase"},
		      {27, 8, "thread.gsbase"}},
	.nr_abi_bit = 0x40000000, /* __X32_SYSCALL_BIT */
};
/* clang-format on */
