/* SPDX-License-Identifier: MIT */
/*
 * Declarations and functions that every file of the run-time library uses: kernel helpers, the
 * session's maps, string arguments.
 *
 * Maps are symbols that the linker (kernel/linker.c) knows by name: map_<class> is the map,
 * val_<class> the address of its only element. Besides rt_ring_output there are no other external
 * symbols, no data and no .rodata: tools/embed.py refuses them.
 *
 * Loops are bpf_loop() callbacks, so that the time to verify does not depend on strsize. The state
 * of a loop lies in the work area of the scratch map's value, not on the stack, for two reasons.
 * The verifier knows nothing about a value that is read from a map: so it has no fixed point to
 * find, and kernels whose verifier follows one iteration only (before v6.8, "bpf: verify callbacks
 * as if they are called unknown number of times") cannot conclude from the first iteration what
 * holds in all. And the 512 bytes of stack belong to the callers. The price is that each value read
 * from the work area is compared with its bounds again before it is used as an offset or a size.
 */
#pragma once

#include "rt/abi.h"

typedef signed short s16;

#define NULL	 ((void *)0)
#define INLINE	 static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

enum { BPF_ANY, BPF_NOEXIST };
#define BPF_F_CURRENT_CPU 0xffffffffull
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };

/* Linux include/uapi/linux/bpf.h, enum bpf_func_id */
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value,
					 u64 flags) = (void *)2;
static long (*const bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*const bpf_get_prandom_u32)(void) = (void *)7;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void *)14;
static u64 (*const bpf_get_current_uid_gid)(void) = (void *)15;
static long (*const bpf_perf_event_output)(const void *ctx, void *map, u64 flags, const void *data,
					   u64 size) = (void *)25;
static u64 (*const bpf_get_current_task)(void) = (void *)35;
static long (*const bpf_probe_write_user)(u64 dst, const void *src, u32 size) = (void *)36;
static long (*const bpf_send_signal)(u32 signal) = (void *)109;
static long (*const bpf_probe_read_user)(void *dst, u32 size, u64 src) = (void *)112;
static long (*const bpf_probe_read_kernel)(void *dst, u32 size, u64 src) = (void *)113;
static long (*const bpf_probe_read_user_str)(void *dst, u32 size, u64 src) = (void *)114;
static long (*const bpf_probe_read_kernel_str)(void *dst, u32 size, u64 src) = (void *)115;
static void *(*const bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*const bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;
static u64 (*const bpf_get_current_task_btf)(void) = (void *)158;
static u64 (*const bpf_get_attach_cookie)(void *ctx) = (void *)174;
static u64 (*const bpf_task_pt_regs)(u64 task) = (void *)175;
static long (*const bpf_loop)(u32 n, void *callback, void *ctx, u64 flags) = (void *)181;

extern char map_mach, map_scratch, map_strings, map_stacks;
extern char val_gvars[];
extern struct rt_control val_control;
extern u64 val_spec[];
extern const volatile struct rt_cfg val_rodata;
#define cfg val_rodata

/* The kinds of faults: enum dif_fault of dif/dif.h. */
enum fault {
#define FAULT(id, code, ...) FAULT_##id = (code),
#include "dif/faults.def"
};

/* The prototypes of all run-time functions follow from the rows of funcs.h and dif/subrs.def. */
#define RT_PROTO_0(name)	     u64 name(struct rt_mach *m)
#define RT_PROTO_1(name)	     u64 name(struct rt_mach *m, u64)
#define RT_PROTO_2(name)	     u64 name(struct rt_mach *m, u64, u64)
#define RT_PROTO_3(name)	     u64 name(struct rt_mach *m, u64, u64, u64)
#define RT_PROTO_4(name)	     u64 name(struct rt_mach *m, u64, u64, u64, u64)
#define RT_FUNC(name, nargs, faults) RT_PROTO_##nargs(name);
#include "rt/funcs.h"
#undef RT_FUNC

/* clang-format off */
#define RT_COUNT(...) RT_COUNT_(0, ##__VA_ARGS__, 3, 2, 1, 0)
#define RT_COUNT_(zero, a, b, c, n, ...) n
#define RT_PASTE(a, b) RT_PASTE_(a, b)
#define RT_PASTE_(a, b) a##b
#define RT_ARGS_0
#define RT_ARGS_1 , u64
#define RT_ARGS_2 , u64, u64
#define RT_ARGS_3 , u64, u64, u64
#define NONE
#define OPT(type, value) , u64
#define SUBR(id, name, code, result, args, optional, ...) \
	u64 rt_sub_##name(struct rt_mach *m RT_PASTE(RT_ARGS_, RT_COUNT args) optional);
#define SUBR_INLINE(...)
#include "dif/subrs.def"
/* clang-format on */
long rt_ring_output(u64 cpu, const void *data, u64 size,
		    u64 flags); /* kernel/linker.c generates it */

/*
 * Hides from the compiler what it knows of x. Without this, the compiler deduces bounds that the
 * verifier does not see, drops a comparison as redundant, or makes it on another copy of the value.
 */
#define OPAQUE(x) asm volatile("" : "+r"(x))

#define MIN(a, b)      ((a) < (b) ? (a) : (b))
#define ROUND_UP(x, n) (((x) + (n)-1) & ~((u64)(n)-1))

/* Records a fault, which ends the clause when the function returns to generated code. Returns 0. */
INLINE u64 fault(struct rt_mach *m, enum fault kind, u64 value)
{
	m->fault.kind = kind;
	m->fault.value = value;
	return 0;
}

/*
 * Finds this firing's value of MAP_SCRATCH: scratch memory, then the areas whose offsets struct
 * rt_cfg has. NULL never happens, but the verifier demands that the caller tests for it.
 */
INLINE char *slot_of(struct rt_mach *m)
{
	u32 slot = m->slot;

	return bpf_map_lookup_elem(&map_scratch, &slot);
}

/*
 * True for an address in any slot of MAP_SCRATCH, or in the page before the first slot, where the
 * kernel keeps its own struct bpf_array (Linux kernel/bpf/arraymap.c).
 */
INLINE int in_scratch_map(struct rt_mach *m, u64 addr)
{
	u64 stride = cfg.scratch_stride, first = m->scratch - m->slot * stride - 4096;

	return addr - first < stride * cfg.ncpus * RT_LEVELS + 4096;
}

/*
 * Returns 0 and records a fault if the n bytes at addr are scratch memory that no subroutine of
 * this clause has returned. Sessions without alloca() and its like need no such check.
 */
INLINE int may_read(struct rt_mach *m, u64 addr, u64 n)
{
	if (!cfg.reads)
		return 1;
	rt_readable(m, addr, n);
	return m->fault.kind == 0;
}

/*
 * The context of a bpf_loop() callback: p is the firing's value of MAP_SCRATCH, in which WORK()
 * finds the work area.
 */
struct loop {
	char *p;
};
#define WORK(p, type)                                                                              \
	({                                                                                         \
		_Static_assert(sizeof(type) <= RT_WORK_SIZE, "RT_WORK_SIZE");                      \
		(type *)((p) + cfg.work_off);                                                      \
	})

/* Calls callback up to n times, until it returns 1. */
INLINE void loop_run(u32 n, long (*callback)(u64, void *), char *p)
{
	struct loop l = {p};

	bpf_loop(n, callback, &l, 0);
}

/*
 * Copies a string argument to one of the text areas (cfg.text_a, cfg.text_b) or to scratch memory.
 * Returns its length, 0 .. strsize - 1, or a negative number after a fault. RT_TEXT_PAD bytes
 * follow a text area, so that text_end() may write behind the longest string.
 */
INLINE s64 text_read(struct rt_mach *m, char *dst, u64 addr)
{
	s64 n = bpf_probe_read_kernel_str(dst, cfg.strsize, addr);

	if (n < 1 || n > cfg.strsize) {
		fault(m, FAULT_BADADDR, addr);
		return -1;
	}
	n--;
	/*
	 * With strsize 1 the verifier knows that all texts are empty and removes the calls of loops
	 * as dead code; the kernel then refuses the callbacks, which nothing calls any more ("No
	 * program to jit"). A length that was stored and read back is unknown to the verifier, so
	 * the calls stay.
	 */
	if (cfg.strsize == 1) {
		*(volatile u64 *)&m->fault.value = n;
		n = *(volatile u64 *)&m->fault.value;
		if (n != 0 && n != 1)
			return -1;
	}
	return n;
}

/*
 * Reads the text of a subroutine's argument to cfg.text_a of the scratch memory, which becomes
 * *ret; returns its length, or -1 as text_read(), also where there is no scratch memory.
 */
INLINE s64 text_arg(struct rt_mach *m, u64 addr, char **ret)
{
	char *p = m ? slot_of(m) : NULL;

	if (!p)
		return -1;
	*ret = p;
	return text_read(m, p + cfg.text_a, addr);
}

/*
 * Zeroes the 8 bytes from the NUL on, so that the text can be read in words; n, its length, is
 * below strsize.
 */
INLINE void text_end(char *text, u64 n)
{
	*(u64 *)(text + n) = 0;
}

/*
 * Returns in *ret_top the offset of the first free byte of scratch memory; 0 and a fault if none is
 * free.
 *
 * A subroutine that changes its argument reads it to the place of its result: first scratch_top(),
 * then text_read() to slot + *ret_top, and only then string_take(), which may find that the room
 * does not suffice. A map value is at least strsize bytes longer than scratch memory, so such a
 * read stays inside it.
 */
INLINE int scratch_top(struct rt_mach *m, u64 *ret_top)
{
	u64 top = m->scratch_top;

	if (top > cfg.scratch_size) {
		fault(m, FAULT_NOSCRATCH, 0);
		return 0;
	}
	*ret_top = top;
	return 1;
}

/*
 * Allocates the strsize bytes of one string at offset top of scratch memory. Returns 0 and a fault
 * if they do not fit.
 */
INLINE int string_take(struct rt_mach *m, u64 top)
{
	u64 end = top + ROUND_UP((u64)cfg.strsize, 8);

	if (end > cfg.scratch_size) {
		fault(m, FAULT_NOSCRATCH, 0);
		return 0;
	}
	m->scratch_top = end;
	return 1;
}

/* ---- eight bytes at a time -------------------------------------------------------------- */

#define BYTES(c) ((u64)(c)*0x0101010101010101ull)

/*
 * Sets bit 7 of the zero bytes of a word. The lowest bit that is set marks a zero byte for certain;
 * a higher one may mark a byte of value 1 above a zero byte, because the subtraction borrows.
 */
INLINE u64 zero_bytes(u64 w)
{
	return (w - BYTES(1)) & ~w & BYTES(0x80);
}

/* The number of the first zero byte of a word, of which zero_bytes() has said x; not 0. */
INLINE u64 zero_first(u64 x)
{
	x = ((x & -x) >> 7) - 1;
	return (x & BYTES(1)) * BYTES(1) >> 56;
}
