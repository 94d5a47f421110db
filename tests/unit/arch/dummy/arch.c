/* SPDX-License-Identifier: MIT */
/*
 * An invented processor, on which Fathom could run: it has other registers than x86-64, calls leave
 * the return address in a register, arguments in memory begin at the stack pointer, thread-local
 * variables lie above the thread pointer, and there are no 32-bit programs. Its instructions have 8
 * bytes.
 */
#include "arch/arch.h"

#include <elf.h>
#include <errno.h>

#include "arch/machine/regs.h"

#define R(n)	 (8u * (n))
#define INSN_LEN 8
#define TLS_HEAD 16 /* bytes between the thread pointer and the first variable */

/* r0 to r7 have the DWARF numbers 0 to 7, then come fp, link, sp. */
static const uint8_t dwarf_words[] = {0, 1, 2, 3, 4, 5, 6, 7, FRAME_FP, FRAME_LINK, FRAME_SP};
static const uint8_t saved_index[ARRAY_LEN(dwarf_words)] = {[5] = 1, [6] = 2, [7] = 3};
static const int8_t arg_index[] = {0, 1, 2, 3, -1};

static bool register_find(const char *name, size_t len, uint32_t *ret_off, uint32_t *ret_size)
{
	if (len != 2 || name[0] != 'r' || name[1] < '0' || name[1] > '7')
		return false;
	*ret_off = R((uint32_t)(name[1] - '0'));
	*ret_size = 8;
	return true;
}

static bool is_vector(const char *name, size_t len)
{
	return len && name[0] == 'v';
}

static uint64_t stub_word(const uint8_t *code, size_t len, uint64_t addr)
{
	return 0;
}

static bool regs_read(pid_t tid, struct arch_regs *ret)
{
	errno = ESRCH;
	return false;
}

static bool regs_of_core(const void *pr_reg, size_t size, struct arch_regs *ret)
{
	if (size < 8 * FRAME_NREGS)
		return false;
	memcpy(ret->words, pr_reg, 8 * FRAME_NREGS);
	ret->thread_pointer = 0; /* it is in a note of its own */
	return true;
}

static bool reg_read(pid_t tid, uint32_t off, uint64_t *ret)
{
	errno = ESRCH;
	return false;
}

static bool reg_write(pid_t tid, uint32_t off, uint64_t value)
{
	errno = ESRCH;
	return false;
}

static bool call_find(pid_t tid, bool is_32bit, taddr *ret)
{
	errno = ESRCH;
	return false;
}

/* Variant I of ELF Handling For Thread-Local Storage. */
static uint64_t tls_distance(uint64_t addr, uint64_t size, uint64_t align)
{
	align = MAX(align, (uint64_t)1);
	return (TLS_HEAD + align - 1) / align * align + addr;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static void decoder_start(struct insn_decoder *d, bool is_32bit, bool is_begin)
{
	(void)d;
}

static bool insn_decode(struct insn_decoder *d, const uint8_t *code, uint32_t size, uint32_t off,
			struct insn *ret)
{
	if (off >= size || size - off < INSN_LEN)
		return false;
	*ret = (struct insn){.off = off, .len = INSN_LEN};
	return true;
}

static bool insn_never(const uint8_t *code, size_t size)
{
	return false;
}

static uint32_t no_skip(const uint8_t *code, size_t size)
{
	return 0;
}

static enum insn_patch patch_kind(const uint8_t *file, const uint8_t *mem, size_t len)
{
	return INSN_PATCH_OTHER;
}

static const struct arch_insns insns = {
	.max_len = INSN_LEN,
	.start = decoder_start,
	.decode = insn_decode,
	.is_refused = insn_never,
	.is_nop5 = insn_never,
	.entry_skip = no_skip,
	.go_entry_skip = no_skip,
	.patch = patch_kind,
};

/* clang-format off */
const struct arch arch = {
	.name = "dummy",
	.cpp = "-D__dummy",
	.elf = {.machine = 0xdddd, .stub_word = stub_word},
	.unwind = {
		.nregs = ARRAY_LEN(dwarf_words),
		.sp = 10,
		.fp = 8,
		.ra = 9,
		.has_link = true,
		.words = dwarf_words,
		.saved = saved_index,
		.carried = 5,
		.signal_sp = 8,
	},
	.insns = &insns,
	.sys_args = {R(0), R(1), R(2), R(3), R(4), R(5)},
	.sys_nr = R(7),
	.sys_prefix = "__dummy_sys_",
	.func_args = {R(0), R(1), R(2), R(3), R(4), R(5)},
	.func_value = R(0),
	.stack_args = 0,
	.go_args = {R(0), R(1), R(2), R(3), R(4), R(5), R(6), R(7), R(8)},
	.arg_index = arg_index,
	.narg_index = ARRAY_LEN(arg_index),
	.nint_args = 4,
	.nfloat_args = 4,
	.register_find = register_find,
	.is_vector = is_vector,
	.thread_prefix = "tp:",
	.thread_base = "thread.tp",
	.nregs = FRAME_NREGS,
	.sp = R(FRAME_SP),
	.pc = R(FRAME_PC),
	.uregs = {UINT64_MAX, UINT64_MAX, UINT64_MAX},
	.user_bits = 48,
	.tls_distance = tls_distance,
	.traps = {{.code = 0xcc, .signal = 5}, {.code = 0xcc, .signal = 5}},
	.regs_read = regs_read,
	.regs_of_core = regs_of_core,
	.reg_read = reg_read,
	.reg_write = reg_write,
	.call_return = call_find,
	.call_argument = call_find,
	.interrupt_prefix = "dummy_irq_",
};
/* clang-format on */
