/* SPDX-License-Identifier: MIT */
/*
 * The registers, calling conventions and file formats of x86-64.
 *
 * Facts    struct pt_regs of Linux arch/x86/include/asm/ptrace.h: r15 first, then r14 r13 r12 bp
 *          bx r11 r10 r9 r8 ax cx dx si di orig_ax ip cs flags sp ss, the same since 2.6.
 *          SysV AMD64 ABI: 3.2.3 (arguments), 3.6.2 (DWARF register numbers), 4.4.1 (relocations),
 *          5.2 (procedure linkage table).
 */
#include "arch/x86_64/x86_64.h"
#include "arch/x86_64/regs.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>

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
	BX = 8 * FRAME_BX,
	BP = 8 * FRAME_FP,
	IP = 8 * FRAME_PC,
	SP = 8 * FRAME_SP
};

/* One element of arch.uregs[]: the indices of twelve words of struct pt_regs, the first lowest. */
/* clang-format off */
#define UREGS(a, b, c, d, e, f, g, h, i, j, k, l)                                                  \
	((uint64_t)(a) | (uint64_t)(b) << 5 | (uint64_t)(c) << 10 | (uint64_t)(d) << 15 |           \
	 (uint64_t)(e) << 20 | (uint64_t)(f) << 25 | (uint64_t)(g) << 30 | (uint64_t)(h) << 35 |    \
	 (uint64_t)(i) << 40 | (uint64_t)(j) << 45 | (uint64_t)(k) << 50 | (uint64_t)(l) << 55)
/* clang-format on */
#define NONE 31

/* Linux extensions to gABI, .note.gnu.property: GNU_PROPERTY_X86_FEATURE_1_AND, IBT and SHSTK. */
static const uint32_t property[] = {4, 16, 5, 0x00554e47 /* "GNU" */, 0xc0000002, 4, 3, 0};
static const uint32_t property_32[] = {4, 12, 5, 0x00554e47, 0xc0000002, 4, 3};

/* Maps a DWARF register number to a word of struct pt_regs; the last is the return address. */
static const uint8_t dwarf_words[] = {10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16};

/* Callee-saved registers but rbp, in the order of arch/rule.h: r15 r14 r13 r12 rbx. */
static const uint8_t saved_index[ARRAY_LEN(dwarf_words)] =
	{[3] = 5, [12] = 4, [13] = 3, [14] = 2, [15] = 1};

/* Maps a DWARF register number to the index of an argument: rdi rsi rdx rcx r8 r9. */
static const int8_t arg_index[] = {-1, 2, 3, -1, 1, 0, -1, -1, 4, 5};

/* True for the expression rsp + 8 + ((rip & 15) >= n) * 8; *ret_n is its n. */
static bool is_plt_expr(const uint8_t *expr, size_t len, int64_t *ret_n)
{
	static const uint8_t head[] = {DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and};
	static const uint8_t tail[] = {DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
	uint8_t lit;

	if (len != sizeof(head) + 1 + sizeof(tail) || memcmp(expr, head, sizeof(head)) != 0 ||
	    memcmp(expr + sizeof(head) + 1, tail, sizeof(tail)) != 0)
		return false;
	lit = expr[sizeof(head)];
	*ret_n = lit - DW_OP_lit0;
	return lit >= DW_OP_lit0 && lit <= DW_OP_lit15;
}

/*
 * A stub of the procedure linkage table has one of these forms, so it is enough to find the jump:
 *
 *     ff 25 rel32 68 idx32 e9 rel32      jmp *word(%rip); push; jmp      .plt
 *     f3 0f 1e fa f2 ff 25 rel32         endbr64; bnd jmp *word(%rip)    .plt.sec
 *     ff 25 rel32 66 90                  jmp *word(%rip)                 .plt.got
 */
static uint64_t stub_word(const uint8_t *code, size_t len, uint64_t addr)
{
	for (size_t i = 0; i + 6 <= len; i++) {
		int32_t rel;

		if (code[i] != 0xff || code[i + 1] != 0x25)
			continue;
		memcpy(&rel, code + i + 2, sizeof(rel));
		return addr + i + 6 + (uint64_t)(int64_t)rel;
	}
	return 0;
}

struct register_name {
	char name[4];
	uint8_t off, size;
};

/* clang-format off */
#define LEGACY(r, a, b, off) {"r" a, off, 8}, {"e" a, off, 4}, {a, off, 2}, {b, off, 1}
static const struct register_name legacy_registers[] = {
	LEGACY(rax, "ax", "al", AX), LEGACY(rbx, "bx", "bl", BX), LEGACY(rcx, "cx", "cl", CX),
	LEGACY(rdx, "dx", "dl", DX), LEGACY(rsi, "si", "sil", SI), LEGACY(rdi, "di", "dil", DI),
	LEGACY(rbp, "bp", "bpl", BP), LEGACY(rsp, "sp", "spl", SP),
	{"ah", AX + 1, 1}, {"bh", BX + 1, 1}, {"ch", CX + 1, 1}, {"dh", DX + 1, 1},
	{"rip", IP, 8}, {"eip", IP, 4},
};
/* clang-format on */

/* Finds one of the registers r8 to r15, whose low parts have the suffix d, w or b. */
static bool numbered_find(const char *name, size_t len, uint32_t *ret_off, uint32_t *ret_size)
{
	static const uint8_t offs[] = {R8_, R9_, R10_, R11_, 24, 16, 8, 0};
	uint32_t n = 0, i = 1;

	while (i < len && i < 3 && name[i] >= '0' && name[i] <= '9')
		n = n * 10 + (uint32_t)(name[i++] - '0');
	if (name[0] != 'r' || i == 1 || n < 8 || n > 15 || len > i + 1)
		return false;
	*ret_off = offs[n - 8];
	*ret_size = i == len ? 8 : name[i] == 'd' ? 4 : name[i] == 'w' ? 2 : 1;
	return i == len || strchr("dwb", name[i]);
}

static bool register_find(const char *name, size_t len, uint32_t *ret_off, uint32_t *ret_size)
{
	for (size_t i = 0; i < ARRAY_LEN(legacy_registers); i++) {
		const struct register_name *r = &legacy_registers[i];

		if (strnlen(r->name, sizeof(r->name)) == len && memcmp(r->name, name, len) == 0) {
			*ret_off = r->off;
			*ret_size = r->size;
			return true;
		}
	}
	return len > 1 && numbered_find(name, len, ret_off, ret_size);
}

static bool is_vector(const char *name, size_t len)
{
	static const char *const kinds[] = {"xmm", "ymm", "zmm", "mm", "st"};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (len >= strlen(kinds[i]) && strncmp(name, kinds[i], strlen(kinds[i])) == 0)
			return true;
	return false;
}

static bool reg_read(pid_t tid, uint32_t off, uint64_t *ret)
{
	long value;

	errno = 0;
	value = ptrace(PTRACE_PEEKUSER, tid, (void *)(uintptr_t)off, NULL);
	if (errno)
		return false;
	*ret = (uint64_t)value;
	return true;
}

static bool reg_write(pid_t tid, uint32_t off, uint64_t value)
{
	return ptrace(PTRACE_POKEUSER, tid, (void *)(uintptr_t)off, (void *)value) == 0;
}

/* Reads the word of the stack with that number, from the stack pointer on. */
static bool stack_word(pid_t tid, bool is_32bit, uint32_t n, uint64_t *ret)
{
	uint64_t sp;
	long word;

	if (!reg_read(tid, SP, &sp))
		return false;
	errno = 0;
	word = ptrace(PTRACE_PEEKDATA, tid, (void *)(sp + n * (is_32bit ? 4 : 8)), NULL);
	if (errno)
		return false;
	*ret = is_32bit ? (uint32_t)word : (uint64_t)word;
	return true;
}

/* Variant II of ELF Handling For Thread-Local Storage: the program's variables end there. */
static uint64_t tls_distance(uint64_t addr, uint64_t size, uint64_t align)
{
	align = MAX(align, (uint64_t)1);
	return addr - (size + align - 1) / align * align;
}

static bool call_return(pid_t tid, bool is_32bit, taddr *ret)
{
	return stack_word(tid, is_32bit, 0, ret);
}

/* SysV ABI for i386, 2.2.3: arguments are on the stack, above the return address. */
static bool call_argument(pid_t tid, bool is_32bit, taddr *ret)
{
	return is_32bit ? stack_word(tid, true, 1, ret) : reg_read(tid, DI, ret);
}

static void regs_take(const struct user_regs_struct *u, struct arch_regs *ret)
{
	_Static_assert(offsetof(struct user_regs_struct, rbp) == BP &&
			       offsetof(struct user_regs_struct, rip) == IP &&
			       offsetof(struct user_regs_struct, rsp) == SP &&
			       offsetof(struct user_regs_struct, fs_base) == 8 * FRAME_NREGS,
		       "words of struct pt_regs");
	memcpy(ret->words, u, 8 * FRAME_NREGS);
	ret->thread_pointer = u->fs_base;
}

/* Unlike PTRACE_GETREGSET, PTRACE_GETREGS gives registers of a 32-bit thread the same layout. */
static bool regs_read(pid_t tid, struct arch_regs *ret)
{
	struct user_regs_struct u;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &u) != 0)
		return false;
	regs_take(&u, ret);
	return true;
}

static bool regs_of_core(const void *pr_reg, size_t size, struct arch_regs *ret)
{
	struct user_regs_struct u;

	if (size < sizeof(u))
		return false;
	memcpy(&u, pr_reg, sizeof(u));
	regs_take(&u, ret);
	return true;
}

/* clang-format off */
const struct arch arch = {
	.name = "x86_64",
	.cpp = "-D__amd64",
	.elf = {
		.machine = EM_X86_64,
		.machine_32 = EM_386,
		.jump_slot = R_X86_64_JUMP_SLOT,
		.glob_dat = R_X86_64_GLOB_DAT,
		.irelative = R_X86_64_IRELATIVE,
		.relative = R_X86_64_RELATIVE,
		.absolute = R_X86_64_64,
		.vector_note = NT_X86_XSTATE,
		.property = {property, sizeof(property)},
		.property_32 = {property_32, sizeof(property_32)},
		.stub_size = 16,
		.stub_size_got = 8,
		.stub_word = stub_word,
	},
	.unwind = {
		.nregs = ARRAY_LEN(dwarf_words),
		.sp = 7,
		.fp = 6,
		.ra = 16,
		.ra_off = -8,
		.words = dwarf_words,
		.signal_sp = UCONTEXT_SP,
		.is_plt_expr = is_plt_expr,
		.saved = saved_index,
		.carried = 3,
	},
	.register_find = register_find,
	.is_vector = is_vector,
	.thread_prefix = "%fs:",
	.thread_base = "thread.fsbase",
	.insns = &x86_64_insns,
	.sites = &x86_64_sites,
	.stubs = &x86_64_stubs,
	.sys_args = {DI, SI, DX, R10_, R8_, R9_},
	.compat_args = {BX, CX, DX, SI, DI, BP},
	.sys_nr = 120, /* orig_ax */
	.func_args = {DI, SI, DX, CX, R8_, R9_},
	.func_value = AX,
	.stack_args = 8, /* above the return address */
	.stack_args_32 = 4,
	/* Go src/cmd/compile/abi-internal.md */
	.go_args = {AX, BX, CX, DI, SI, R8_, R9_, R10_, R11_},
	.nregs = FRAME_NREGS,
	.sp = SP,
	.pc = IP,
	.mode = 8 * FRAME_CS,
	.user_mode = 3,		  /* its privilege level */
	.compat_status = 2,	  /* TS_COMPAT: Linux arch/x86/include/asm/thread_info.h */
	/*
	 * in the order of dlib/x86_64/regs.d: r15 to r12, r11 to r8, rdi rsi rbp rbx, rdx rcx rax, trapno
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
	.sys_prefix = "__x64_sys_",
	.compat_knob = "/proc/sys/abi/vsyscall32", /* Linux arch/x86/entry/vdso/vdso32-setup.c */
	.nr_uprobe = 336, /* Linux 56101b69c919, v6.18: arch/x86/entry/syscalls/syscall_64.tbl */
	.arg_index = arg_index,
	.narg_index = ARRAY_LEN(arg_index),
	.nint_args = 6,
	.nfloat_args = 8,
	/* hlt, which only the kernel may execute: a fault; int3: a trap. Intel SDM vol. 3, 6.15 */
	.traps = {{.code = 0xf4, .signal = SIGSEGV}, {.code = 0xcc, .signal = SIGTRAP, .past = 1}},
	.user_bits = 47,
	.tls_distance = tls_distance,
	.reg_read = reg_read,
	.reg_write = reg_write,
	.call_return = call_return,
	.call_argument = call_argument,
	.regs_read = regs_read,
	.regs_of_core = regs_of_core,
	.interrupt_prefix = "asm_", /* Linux arch/x86/include/asm/idtentry.h */
};
/* clang-format on */
