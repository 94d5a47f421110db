/*
 * The processor: registers, calling conventions, how frames are undone, files, system calls and
 * instructions.
 *
 * One struct arch is compiled in. Everything that is true of one architecture only stands behind
 * it; what runs in the kernel (bpf/rt) has its own few constants, because it is compiled for
 * another machine.
 *
 * To add an architecture: 1. arch/NAME.c, which fills struct arch, and arch/NAME_insn.c for the
 * decoder; 2. their row in arch/meson.build; 3. a table of its system calls
 * (tools/gen_syscalls.py); 4. the registers of bpf/rt, the step of
 * sym/frame.h; 5. dlib/regs.d.
 *
 * Units    byte offsets in struct pt_regs, unless another unit is named. The kernel's struct
 *          pt_regs begins with what PTRACE_GETREGSET gives for NT_PRSTATUS.
 */
#pragma once

#include <sys/types.h>

#include "arch/insn.h"
#include "base/base.h"

struct arch_note {
	const void *data;
	size_t size;
};

/* ELF files of the architecture: gABI 4.1 and its processor supplement. */
struct arch_elf {
	uint16_t machine, machine_32; /* EM_*; 32-bit programs: 0 = there are none */
	/* relocations: a function's address, the same for data, and what a resolver returns */
	uint32_t jump_slot, glob_dat, irelative;
	/*
	 * What an object without code says in .note.gnu.property: that it is no obstacle to the
	 * protection of control flow, which a linker turns on only if all objects agree. Size 0:
	 * nothing.
	 */
	struct arch_note property, property_32;
	/* bytes of an entry of .plt and .plt.sec, and of .plt.got */
	uint32_t stub_size, stub_size_got;
	/*
	 * The address of the word through which a stub of the procedure linkage table jumps; 0 if
	 * the code, at address addr, is no stub.
	 */
	uint64_t (*stub_word)(const uint8_t *code, size_t len, uint64_t addr);
};

/* Undoing frames with DWARF call frame information. Registers by their DWARF numbers. */
struct arch_unwind {
	uint32_t nregs;	 /* registers that a CFA may be computed from, and the return address */
	uint32_t sp, fp; /* stack pointer, frame pointer */
	uint32_t ra;	 /* column of the return address */
	int32_t ra_off;	 /* where calls leave the return address, counted from the CFA */
	const uint8_t *words; /* [nregs]: words of struct pt_regs */
	uint32_t signal_sp;   /* bytes from the stack pointer in a signal frame to the saved one */
	/*
	 * True for the expression that linkers write for the procedure linkage table: CFA = sp + 8,
	 * or + 16 from byte *ret_n of an entry on. NULL: they write none.
	 */
	bool (*is_plt_expr)(const uint8_t *expr, size_t len, int64_t *ret_n);
};

struct arch {
	const char *name; /* as uname(2) has it */
	const char *cpp;  /* what the C preprocessor is told, as other DTraces do */
	struct arch_elf elf;
	struct arch_unwind unwind;
	const struct arch_insns *insns;

	/* ---- system calls */
	uint32_t sys_args[6];	 /* 64-bit system calls */
	uint32_t compat_args[6]; /* 32-bit ones: zero-extend */
	uint32_t sys_nr;	 /* number, while the call returns */
	uint32_t compat_status;	 /* bits of thread_info.status that mark a 32-bit call */
	/* bit of a number that selects a variant ABI with the same calls; 0 = none */
	uint32_t nr_abi_bit;
	const char *sys_prefix;	 /* of the kernel's functions that implement system calls */
	const char *compat_knob; /* the file exists when 32-bit programs can run */
	/* number of uprobe(2), by which the kernel optimizes probes on nops; 0 = it has none */
	uint32_t nr_uprobe;

	/* ---- functions */
	uint32_t func_args[6]; /* arguments at the first instruction */
	uint32_t func_value;   /* what it returns, at its last */
	uint32_t go_args[9];   /* arguments of a function of Go, and what it returns */
	/* DWARF number of a register -> its index in func_args; -1 = it passes no argument */
	const int8_t *arg_index;
	uint32_t narg_index;
	uint32_t nint_args, nfloat_args; /* registers that pass integers, floating-point numbers */

	/* ---- struct pt_regs */
	/*
	 * Where the register with this name in assembler text lies ("eax", "r12w"), and how many
	 * bytes it has; false: there is none, or struct pt_regs has not got it.
	 */
	bool (*register_find)(const char *name, size_t len, uint32_t *ret_off, uint32_t *ret_size);
	uint32_t sp, pc;
	uint32_t mode,
		user_mode; /* u64 at mode: a bit of user_mode set = interrupted in user mode */
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

	/* ---- processes that the caller traces with ptrace(2) */
	/* The thread stops before the instruction at addr; 0 = at none. On failure false, errno. */
	bool (*stop_set)(pid_t tid, taddr addr);
	/* Was that what stopped it? Asked once a stop. */
	bool (*stop_hit)(pid_t tid);

	/* ---- the kernel's code */
	/* beginning of the names of functions at which an interrupt enters the kernel */
	const char *interrupt_prefix;
};

extern const struct arch arch;
