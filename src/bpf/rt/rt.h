/*
 * What every file of the run-time library needs: kernel helpers, the session's maps, string
 * arguments.
 *
 * Maps are symbols that the linker (bpf/link.c) knows by name: map_<class> is the map, val_<class>
 * the address of its only element. Besides rt_ring_output there are no other external symbols, no
 * data and no .rodata: tools/embed.py refuses them.
 *
 * Loops are bpf_loop() callbacks, so that the time to verify does not depend on strsize. Their
 * state lies in the work area of the scratch map's value, not on the stack: the verifier knows
 * nothing about what it reads from a map, so it has no fixed point to find, and verifiers that look
 * at one iteration only (before v6.8, "bpf: verify callbacks as if they are called unknown number
 * of times") cannot take it for the truth about all. Besides, the 512 bytes of stack belong to the
 * callers. Therefore also: whatever comes from the work area is bounded again before it is used.
 */
#pragma once

#include "bpf/rt/abi.h"

typedef signed short s16;

#define NULL	 ((void *)0)
#define INLINE	 static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

enum { BPF_ANY, BPF_NOEXIST };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };

/* Linux include/uapi/linux/bpf.h, enum bpf_func_id */
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value,
					 u64 flags) = (void *)2;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static u64 (*const bpf_get_current_task)(void) = (void *)35;
static long (*const bpf_probe_write_user)(u64 dst, const void *src, u32 size) = (void *)36;
static long (*const bpf_probe_read_user)(void *dst, u32 size, u64 src) = (void *)112;
static long (*const bpf_probe_read_kernel)(void *dst, u32 size, u64 src) = (void *)113;
static long (*const bpf_probe_read_user_str)(void *dst, u32 size, u64 src) = (void *)114;
static long (*const bpf_probe_read_kernel_str)(void *dst, u32 size, u64 src) = (void *)115;
static u64 (*const bpf_get_current_task_btf)(void) = (void *)158;
static u64 (*const bpf_task_pt_regs)(u64 task) = (void *)175;
static long (*const bpf_loop)(u32 n, void *callback, void *ctx, u64 flags) = (void *)181;

extern char map_mach, map_scratch, map_strings, map_stacks;
extern char val_gvars[];
extern struct rt_control val_control;
extern u64 val_spec[];
extern const volatile struct rt_cfg val_rodata;
#define cfg val_rodata

/* dif/dif.h, enum dif_fault */
enum fault { FAULT_BADADDR = 1, FAULT_BADALIGN = 2, FAULT_ILLOP = 3, FAULT_NOSCRATCH = 5 };

/* Prototypes of all run-time functions. */
#define RT_PROTO_0(name)	     u64 name(struct rt_mach *m)
#define RT_PROTO_1(name)	     u64 name(struct rt_mach *m, u64)
#define RT_PROTO_2(name)	     u64 name(struct rt_mach *m, u64, u64)
#define RT_PROTO_3(name)	     u64 name(struct rt_mach *m, u64, u64, u64)
#define RT_PROTO_4(name)	     u64 name(struct rt_mach *m, u64, u64, u64, u64)
#define RT_FUNC(name, nargs, faults) RT_PROTO_##nargs(name);
#include "bpf/rt/funcs.h"
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
long rt_ring_output(u64 cpu, const void *data, u64 size, u64 flags); /* made by the linker */

/* Keeps the compiler from deducing a bound the verifier cannot see, or from moving a check away. */
#define OPAQUE(x) asm volatile("" : "+r"(x))

#define MIN(a, b)      ((a) < (b) ? (a) : (b))
#define ROUND_UP(x, n) (((x) + (n)-1) & ~((u64)(n)-1))

INLINE u64 fault(struct rt_mach *m, enum fault kind, u64 value)
{
	m->fault.kind = kind;
	m->fault.value = value;
	return 0;
}

/* This firing's value of MAP_SCRATCH: scratch memory, then the areas of struct rt_cfg. */
INLINE char *slot_of(struct rt_mach *m)
{
	u32 slot = m->slot;

	return bpf_map_lookup_elem(&map_scratch, &slot);
}

/*
 * True for an address in MAP_SCRATCH, of whatever slot, or in the page before it, which has the head of the kernel's
 * array.
 */
INLINE int in_scratch_map(struct rt_mach *m, u64 addr)
{
	u64 stride = cfg.scratch_stride, first = m->scratch - m->slot * stride - 4096;

	return addr - first < stride * cfg.ncpus * RT_LEVELS + 4096;
}

/* 0 and a fault where n bytes at addr are scratch memory that the clause was not given. */
INLINE int may_read(struct rt_mach *m, u64 addr, u64 n)
{
	if (!cfg.has_blocks)
		return 1;
	rt_readable(m, addr, n);
	return m->fault.kind == 0;
}

/* What a callback gets: its way to the work area. */
struct loop {
	char *p;
};
#define WORK(p, type) ((type *)((p) + cfg.work_off))

INLINE void loop_run(u32 n, long (*callback)(u64, void *), char *p)
{
	struct loop l = {p};

	bpf_loop(n, callback, &l, 0);
}

/*
 * Copies a string argument to one of the text areas. Its length, 0 .. strsize - 1; negative after a
 * fault. The RT_TEXT_PAD bytes that follow an area may be written: text_end() does.
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
	 * With strsize 1 the verifier knows that all texts are empty, drops the calls of loops, and then
	 * stumbles over their callbacks, which nothing calls ("No program to jit"). What went through memory
	 * is unknown to it.
	 */
	if (cfg.strsize == 1) {
		*(volatile u64 *)&m->fault.value = n;
		n = *(volatile u64 *)&m->fault.value;
		if (n != 0 && n != 1)
			return -1;
	}
	return n;
}

/* Zeroes 8 bytes from the NUL on, so that the text can be read in words. n < strsize. */
INLINE void text_end(char *text, u64 n)
{
	*(u64 *)(text + n) = 0;
}

/*
 * Result strings are often made where the argument was read to: at the top of scratch memory,
 * before it is known that there is room (what follows scratch_size catches the excess). So
 * text_read() goes to slot + *ret_top, then string_take().
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

/* Takes the room of one string at top. 0 and the fault if there is none. */
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

/* The lowest bit set marks the lowest zero byte exactly; higher ones may be false. */
INLINE u64 zero_bytes(u64 w)
{
	return (w - BYTES(1)) & ~w & BYTES(0x80);
}
