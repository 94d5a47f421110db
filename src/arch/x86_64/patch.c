/* SPDX-License-Identifier: MIT */
/* Jumps of x86-64, and calls of the kernel by threads of others. */
#include "arch/patch.h"

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/uio.h>
#include <sys/user.h>

#define CS_USER	      0x33 /* 64-bit code */
#define FXSAVE_SIZE   512
#define XSTATE_MIN    (FXSAVE_SIZE + 64) /* with the header of xsave */
#define XSTATE_TILES  18		 /* the component that a thread must ask for */
#define SW_OFFSET     464		 /* of struct _fpx_sw_bytes in the fxsave area */
#define ALTSTACK_BAD  0x7fffffff	 /* sigaltstack() refuses it, and leaves what is set */
#define RESTARTSYS    (-512)		 /* Linux include/linux/errno.h */
#define RESTARTNOINTR (-513)
#define RESTARTNOHAND (-514)
#define RESTART_BLOCK (-516)
#define SYSCALL_INSN  2 /* bytes of the instruction */
/* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS: Linux uapi/asm/ucontext.h */
#define UC_FLAGS 7
#define UC_SIZE	 (offsetof(ucontext_t, uc_sigmask) + sizeof(uint64_t)) /* the kernel's */

static inline struct user_regs_struct *user_of(struct arch_words *w)
{
	_Static_assert(sizeof(struct user_regs_struct) <= sizeof(*w), "ARCH_WORDS_MAX");
	return (struct user_regs_struct *)w->words;
}

static inline const struct user_regs_struct *user_in(const struct arch_words *w)
{
	return (const struct user_regs_struct *)w->words;
}

/* ---- jumps ----------------------------------------------------------------------------------- */

static bool jump_make(taddr from, taddr to, uint8_t *ret_code)
{
	int64_t distance = (int64_t)(to - from - 5);
	int32_t near = (int32_t)distance;

	if (near != distance)
		return false;
	ret_code[0] = 0xe9;
	memcpy(ret_code + 1, &near, sizeof(near));
	return true;
}

static bool short_make(taddr from, taddr to, uint8_t *ret_code)
{
	int64_t distance = (int64_t)(to - from - 2);
	int8_t near = (int8_t)distance;

	if (near != distance)
		return false;
	ret_code[0] = 0xeb;
	memcpy(ret_code + 1, &near, sizeof(near));
	return true;
}

static taddr jump_target(taddr from, const uint8_t *code)
{
	int32_t near;

	memcpy(&near, code + 1, sizeof(near));
	return from + 5 + (taddr)(int64_t)near;
}

static taddr short_target(taddr from, const uint8_t *code)
{
	return from + 2 + (taddr)(int64_t)(int8_t)code[1];
}

/* "66 2e 0f 1f 84 00" is, but not "0f 84 90 00 00", which is a jump. */
static bool is_padding(const uint8_t *code, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++) {
		uint8_t before = i ? code[i - 1] : 0;

		switch (code[i]) {
		case 0x00:
		case 0x2e:
		case 0x66:
		case 0x90:
		case 0xcc: break;
		case 0x0f:
			if (i + 1 < size && code[i + 1] != 0x1f)
				return false;
			break;
		case 0x1f:
			if (i && before != 0x0f)
				return false;
			break;
		case 0x40:
		case 0x44:
		case 0x80:
		case 0x84:
			if (i && before != 0x1f)
				return false;
			break;
		default: return false;
		}
	}
	return true;
}

/* ---- registers ------------------------------------------------------------------------------- */

static bool words_read(pid_t tid, struct arch_words *ret)
{
	return ptrace(PTRACE_GETREGS, tid, NULL, ret->words) == 0;
}

static bool words_write(pid_t tid, const struct arch_words *w)
{
	return ptrace(PTRACE_SETREGS, tid, NULL, w->words) == 0;
}

static taddr words_pc(const struct arch_words *w)
{
	return user_in(w)->rip;
}

static taddr words_sp(const struct arch_words *w)
{
	return user_in(w)->rsp;
}

static void pc_set(struct arch_words *w, taddr to)
{
	user_of(w)->rip = to;
}

static bool is_narrow(const struct arch_words *w)
{
	return user_in(w)->cs != CS_USER;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* syscall; mov $SYS_rt_sigreturn, %eax; syscall */
static const uint8_t call_code[] = {0x0f, 0x05, 0xb8, SYS_rt_sigreturn, 0, 0, 0, 0x0f, 0x05};

/*
 * Cuts the state of a component off that sigreturn(2) accepts only of threads that have asked for
 * it, where this one has not.
 */
static void xstate_cut(const uint8_t *state, uint64_t *features, uint32_t *size)
{
	uint64_t used;
	unsigned int a, b, c, d;

	memcpy(&used, state + FXSAVE_SIZE, sizeof(used));
	if (!(*features & (1ull << XSTATE_TILES)) || used & (1ull << XSTATE_TILES))
		return;
	if (!__get_cpuid_count(0xd, XSTATE_TILES, &a, &b, &c, &d) || b < XSTATE_MIN || b > *size)
		return;
	*features &= ~(1ull << XSTATE_TILES);
	*size = b;
}

/* Writes the state of all vector registers as sigreturn(2) wants it; returns its size. */
static uint32_t xstate_make(pid_t tid, uint8_t *to, uint32_t size)
{
	struct iovec io = {to, (size - sizeof(uint32_t)) & ~63ull}; /* whole words */
	struct _fpx_sw_bytes sw = {.magic1 = FP_XSTATE_MAGIC1};
	const uint32_t magic2 = FP_XSTATE_MAGIC2;
	uint64_t features;
	uint32_t n;

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_X86_XSTATE, &io) != 0)
		return 0;
	n = (uint32_t)io.iov_len;
	if (n < XSTATE_MIN || n >= (size & ~63u) - 64) /* else it may have been cut off */
		return 0;
	memcpy(&features, to + SW_OFFSET, sizeof(features));
	xstate_cut(to, &features, &n);
	sw.extended_size = n + (uint32_t)sizeof(magic2);
	sw.xstate_bv = features;
	sw.xstate_size = n;
	memcpy(to + SW_OFFSET, &sw, sizeof(sw));
	memcpy(to + n, &magic2, sizeof(magic2));
	return n + (uint32_t)sizeof(magic2);
}

/* The registers with which an interrupted call is begun anew. */
static void call_restart(struct user_regs_struct *u)
{
	int64_t value = (int64_t)u->rax;

	if ((int64_t)u->orig_rax < 0 || (value != RESTARTSYS && value != RESTARTNOINTR &&
					 value != RESTARTNOHAND && value != RESTART_BLOCK))
		return;
	u->rax = u->orig_rax;
	u->rip -= SYSCALL_INSN;
}

static uint32_t frame_make(pid_t tid, const struct arch_words *w, uint64_t mask, taddr at,
			   uint8_t *to, uint32_t size)
{
	struct user_regs_struct u = *user_in(w);
	ucontext_t uc = {.uc_flags = UC_FLAGS, .uc_stack = {.ss_flags = ALTSTACK_BAD}};
	greg_t *g = uc.uc_mcontext.gregs;
	const uint32_t head = ROUND_UP((uint32_t)UC_SIZE, 64u);
	uint32_t state;

	if (size < head + XSTATE_MIN)
		return 0;
	state = xstate_make(tid, to + head, size - head);
	if (!state)
		return 0;
	call_restart(&u);
	g[REG_R8] = (greg_t)u.r8;
	g[REG_R9] = (greg_t)u.r9;
	g[REG_R10] = (greg_t)u.r10;
	g[REG_R11] = (greg_t)u.r11;
	g[REG_R12] = (greg_t)u.r12;
	g[REG_R13] = (greg_t)u.r13;
	g[REG_R14] = (greg_t)u.r14;
	g[REG_R15] = (greg_t)u.r15;
	g[REG_RDI] = (greg_t)u.rdi;
	g[REG_RSI] = (greg_t)u.rsi;
	g[REG_RBP] = (greg_t)u.rbp;
	g[REG_RBX] = (greg_t)u.rbx;
	g[REG_RDX] = (greg_t)u.rdx;
	g[REG_RAX] = (greg_t)u.rax;
	g[REG_RCX] = (greg_t)u.rcx;
	g[REG_RSP] = (greg_t)u.rsp;
	g[REG_RIP] = (greg_t)u.rip;
	g[REG_EFL] = (greg_t)u.eflags;
	g[REG_CSGSFS] = (greg_t)((u.cs & 0xffff) | (u.ss & 0xffff) << 48);
	memcpy(&uc.uc_sigmask, &mask, sizeof(mask));
	at += head;
	memcpy(&uc.uc_mcontext.fpregs, &at, sizeof(at));
	memset(to, 0, head);
	memcpy(to, &uc, UC_SIZE);
	return head + state;
}

static void call_make(const struct arch_words *w, taddr code, taddr frame, long nr,
		      const uint64_t args[6], struct arch_words *ret)
{
	struct user_regs_struct *u = user_of(ret);

	*ret = *w;
	u->rax = (uint64_t)nr;
	u->orig_rax = ~0ull; /* it is in no system call that would be begun anew */
	u->rdi = args[0];
	u->rsi = args[1];
	u->rdx = args[2];
	u->r10 = args[3];
	u->r8 = args[4];
	u->r9 = args[5];
	u->rip = code;
	u->rsp = frame;
}

static int64_t call_value(const struct arch_words *w)
{
	return (int64_t)user_in(w)->rax;
}

static const struct arch_patch patch = {
	.jump_size = 5,
	.breakpoint = 0xcc,
	.short_size = 2,
	.jump_make = jump_make,
	.short_make = short_make,
	.jump_byte = 0xe9,
	.short_byte = 0xeb,
	.jump_target = jump_target,
	.short_target = short_target,
	.is_padding = is_padding,
	.words_read = words_read,
	.words_write = words_write,
	.pc = words_pc,
	.sp = words_sp,
	.pc_set = pc_set,
	.is_narrow = is_narrow,
	.red_zone = 128,
	/* the selectors of code and stack: cs, gs, fs, ss (struct sigcontext_64) */
	.frame_mark = 0x002b000000000033,
	.frame_mask = 0xffff00000000ffff,
	.frame_sp = 3,
	.call_code = call_code,
	.call_size = sizeof(call_code),
	.frame_align = 64,
	.frame_make = frame_make,
	.call_make = call_make,
	.call_value = call_value,
};

const struct arch_patch *const arch_patch = &patch;
