/* SPDX-License-Identifier: MIT */
/*
 * The processor: registers, calling conventions, stack frames, ELF files, system calls and
 * instructions.
 *
 * One struct arch is compiled in. It contains all facts that hold for one architecture only, but
 * for those of which code for the kernel (rt) is made: they are in headers.
 *
 * To add an architecture, whose name is that which Meson has for the processor's family, and
 * uname(2) for the machine:
 * 1. the folder arch/NAME: arch.c fills struct arch, and struct arch_insns, struct arch_sites
 *    and struct arch_stubs where it has them; meson.build lists the files;
 * 2. there regs.h and frame.h, for the walk of stacks here and in the kernel (arch/frame.h);
 * 3. there syscalls.def, the table of its system calls (tools/gen_syscalls.py);
 * 4. the folder dlib/NAME: regs.d, the names of registers in uregs[], and syscall.d.
 * No other file knows the processor (the test "arch" looks). tests/unit/arch/dummy is an invented
 * one, for which this is shown. What is made for one processor on purpose stays: the patterns of
 * machine code in dlib/helpers and of memprof (objects_python.c), which finds none elsewhere, and
 * lib/usdt, a library of its own whose stub.h has its code.
 *
 * Units    byte offsets in struct pt_regs, unless another unit is named. The kernel's struct
 *          pt_regs begins with what PTRACE_GETREGSET gives for NT_PRSTATUS.
 */
#pragma once

#include <sys/types.h>

#include "arch/insn.h"
#include "arch/sites.h"
#include "arch/stub.h"
#include "base/base.h"

struct arch_note {
	const void *data;
	size_t size;
};

/* ELF files of the architecture: gABI 4.1 and its processor supplement. */
struct arch_elf {
	uint16_t machine, machine_32; /* EM_*; machine_32 0: there are no 32-bit programs */
	/*
	 * relocation types: a function's address, an address of data, the result of a resolver, an
	 * address in the file, the address of a symbol
	 */
	uint32_t jump_slot, glob_dat, irelative, relative, absolute;
	uint32_t vector_note; /* NT_* of all floating point and vector registers; 0: none */
	/*
	 * The note .note.gnu.property of an object without code. It declares that the object
	 * supports the protection of control flow, which a linker enables only if all objects
	 * support it. Size 0: the architecture needs no such note.
	 */
	struct arch_note property, property_32;
	/* number of bytes of an entry of .plt and .plt.sec, and of .plt.got */
	uint32_t stub_size, stub_size_got;
	/*
	 * Returns the address of the word through which a stub of the procedure linkage table
	 * jumps; 0 if the code, at address addr, is no stub.
	 */
	uint64_t (*stub_word)(const uint8_t *code, size_t len, uint64_t addr);
};

/* The facts for unwinding with DWARF call frame information; registers have DWARF numbers. */
struct arch_unwind {
	uint32_t nregs;	 /* columns: the registers from which CFAs are computed, and ra */
	uint32_t sp, fp; /* stack pointer, frame pointer */
	uint32_t ra;	 /* column of the return address */
	/*
	 * distance from the CFA to the return address; 0: it stands above the caller's frame
	 * pointer, wherever that is
	 */
	int32_t ra_off;
	bool has_link;	      /* a call leaves the return address in the register ra */
	const uint8_t *words; /* [nregs]: index of the register's word in struct pt_regs */
	uint32_t signal_sp;   /* bytes from the stack pointer in a signal frame to the saved one */
	/* [nregs]: 1 + index of a callee-saved register in rules (arch/rule.h); 0: it is none */
	const uint8_t *saved;
	uint32_t carried; /* the carried one of them (arch/rule.h) */
	/*
	 * True for the expression that linkers write for the procedure linkage table: CFA = sp + 8,
	 * or + 16 from byte *ret_n of an entry on. NULL: they write none.
	 */
	bool (*is_plt_expr)(const uint8_t *expr, size_t len, int64_t *ret_n);
};

/* The registers of a thread that unwinding and helpers know. */
#define ARCH_NREGS_MAX 40
struct arch_regs {
	uint64_t words[ARCH_NREGS_MAX]; /* those of struct pt_regs: arch.nregs */
	uint64_t thread_pointer; /* where thread-local variables are counted from; 0: not known */
};

struct arch {
	const char *name; /* as uname(2) has it */
	const char *cpp;  /* option for the C preprocessor, the one that other DTraces pass */
	struct arch_elf elf;
	struct arch_unwind unwind;
	const struct arch_insns *insns;

	/* ---- system calls */
	uint32_t sys_args[6];	 /* arguments of 64-bit system calls */
	uint32_t compat_args[6]; /* arguments of 32-bit system calls, to be zero-extended */
	uint32_t sys_nr;	 /* the number of the call, also while it returns */
	uint32_t compat_status;	 /* bits of thread_info.status that mark a 32-bit call */
	/* bit of a number that selects a variant ABI with the same calls; 0 = none */
	uint32_t nr_abi_bit;
	const char *sys_prefix;	 /* prefix of the kernel's functions that implement system calls */
	const char *compat_knob; /* a file that exists if 32-bit programs can run */
	/* number of uprobe(2), by which the kernel optimizes probes on nops; 0 = it has none */
	uint32_t nr_uprobe;
	const struct arch_sites *sites; /* NULL: calls of probes cannot be replaced */
	const struct arch_stubs *stubs; /* NULL: code of processes cannot be patched */

	/* ---- functions */
	uint32_t func_args[6]; /* arguments, at the first instruction of a function */
	uint32_t func_value;   /* return value, at the last instruction */
	/*
	 * Distance from the stack pointer to the arguments in memory, at the first instruction, in
	 * 64-bit programs and the kernel, and in 32-bit programs, which have all of them there.
	 */
	uint32_t stack_args, stack_args_32;
	uint32_t go_args[9]; /* arguments of a Go function at its begin, results at its end */
	/* DWARF number of a register -> its index in func_args; -1 = it passes no argument */
	const int8_t *arg_index;
	uint32_t narg_index;
	uint32_t nint_args, nfloat_args; /* registers that pass integers, floating-point numbers */

	/* ---- struct pt_regs */
	/*
	 * Finds the offset and the number of bytes of the register that assembler text calls by
	 * this name ("eax", "r12w"); false if struct pt_regs has no such register.
	 */
	bool (*register_find)(const char *name, size_t len, uint32_t *ret_off, uint32_t *ret_size);
	/* True for the name of a vector or floating-point register, which pt_regs does not have. */
	bool (*is_vector)(const char *name, size_t len);
	/*
	 * The prefix by which assembler text of 64-bit programs marks addresses that count from
	 * the thread's base, and the member of struct task_struct with the base.
	 */
	const char *thread_prefix, *thread_base;
	uint32_t nregs; /* words of it */
	uint32_t sp, pc;
	uint32_t mode,
		user_mode; /* u64 at mode: a bit of user_mode set = interrupted in user mode */
	/*
	 * For each index of uregs[] the index of a word of struct pt_regs, 31 = none: 5 bits each,
	 * 12 in each element.
	 */
	uint64_t uregs[3];
	/*
	 * Elements of uregs[] that are fields of struct task_struct of size bytes, instead of words
	 * of struct pt_regs. The kernel saved these fields when the thread last left its CPU.
	 */
	struct arch_task_reg {
		uint32_t index, size;
		const char *field; /* NULL ends the list */
	} task_regs[8];

	/* ---- threads that the caller traces with ptrace(2), and that are stopped */
	/*
	 * Instructions of one byte that raise a signal: written over the first byte of another
	 * instruction, they stop a thread there. The first of them is preferred, because uprobes
	 * are not made of it, and so the kernel leaves it alone.
	 */
	struct arch_trap {
		uint8_t code;
		uint8_t signal; /* which the kernel sends to the thread */
		uint8_t past;	/* bytes of the trap that the thread has then executed */
	} traps[2];
	/* Reads and writes the register at a byte offset in struct pt_regs; false with errno. */
	bool (*reg_read)(pid_t tid, uint32_t off, uint64_t *ret);
	bool (*reg_write)(pid_t tid, uint32_t off, uint64_t value);
	/*
	 * At the first instruction of a function: read its return address, and its first argument
	 * if that is an address. False with errno.
	 */
	bool (*call_return)(pid_t tid, bool is_32bit, taddr *ret);
	bool (*call_argument)(pid_t tid, bool is_32bit, taddr *ret);
	/* Reads all registers; those of a 32-bit thread have the same layout. False with errno. */
	bool (*regs_read)(pid_t tid, struct arch_regs *ret);
	/*
	 * Takes them from size bytes of a core file, pr_reg of struct elf_prstatus; false: these
	 * are too few.
	 */
	bool (*regs_of_core)(const void *pr_reg, size_t size, struct arch_regs *ret);

	/* ---- memory of processes */
	uint32_t user_bits; /* addresses are below 1 << user_bits */
	/*
	 * Returns the distance from the thread pointer to a thread-local variable of the program
	 * itself, which is at addr in its PT_TLS of that size and alignment.
	 */
	uint64_t (*tls_distance)(uint64_t addr, uint64_t size, uint64_t align);

	/* ---- the kernel's code */
	/* prefix of the functions at which an interrupt enters the kernel */
	const char *interrupt_prefix;
};

extern const struct arch arch;
