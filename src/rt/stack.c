/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: stacks that are part of keys, and those from which caller and stackdepth are
 * computed.
 *
 * Generated code records such stacks to slots of the stack area in the machine state's map value
 * (abi.h).
 */
#include "rt/hash.h"

INLINE struct rt_stack *slot_stack(struct rt_mach *m, u64 k)
{
	u32 slot = m->slot;
	char *p = bpf_map_lookup_elem(&map_mach, &slot);
	u64 stride = cfg.stack_stride;

	if (!p || k >= cfg.stack_nslots)
		return NULL;
	/*
	 * k is the left operand: Linux 6.1 forgets the bounds of a product whose right operand is
	 * no constant.
	 */
	asm volatile("%0 *= %1" : "+r"(k) : "r"(stride));
	return (struct rt_stack *)(p + cfg.stack_off + k);
}

/* ---- content hash ----------------------------------------------------------------------- */

struct stack_loop {
	char *scratch;
	char *stack;
};

struct stack_work {
	u64 h;
	/* State of the binary search for an address among the ranges of tracing code: */
	u64 pc, lo, hi, found;
};

static long hash_step(u64 i, void *ctx)
{
	struct stack_loop *l = ctx;
	struct stack_work *w = WORK(l->scratch, struct stack_work);
	u64 h = w->h, *words;

	if (i >= cfg.stack_stride / RT_STACK_BLOCK)
		return 1;
	words = (u64 *)(l->stack + i * RT_STACK_BLOCK);
#pragma unroll
	for (u32 k = 0; k < RT_STACK_BLOCK / 8; k++)
		h = hash_word(h, words[k]);
	w->h = h;
	return 0;
}

u64 rt_stackhash(struct rt_mach *m, u64 k)
{
	struct stack_loop l;
	struct rt_stack *st;
	u64 len, *end;

	if (!m)
		return 0;
	l.scratch = slot_of(m);
	st = slot_stack(m, k);
	if (!l.scratch || !st)
		return 0;
	l.stack = (char *)st;
	len = st->len;
	if (len > cfg.stack_size - sizeof(*st))
		return 0;
	st->time = 0;
	/* Whole blocks are hashed, so the bytes behind the stack must be the same each time. */
	end = (u64 *)((char *)st->words + (len & ~7ull));
#pragma unroll
	for (u32 i = 0; i < RT_STACK_BLOCK / 8; i++)
		end[i] = 0;
	WORK(l.scratch, struct stack_work)->h = cfg.hash_seed;
	bpf_loop((sizeof(*st) + len + RT_STACK_BLOCK - 1) / RT_STACK_BLOCK, hash_step, &l, 0);
	return WORK(l.scratch, struct stack_work)->h * PRIME_1;
}

enum insert { INSERT_FULL, INSERT_KNOWN, INSERT_MADE };

/* Adds the stack in slot k to the table of stacks. */
INLINE enum insert stack_insert(struct rt_mach *m, u64 k, u64 hash)
{
	struct rt_stack *st;
	u64 key = hash;

	if (bpf_map_lookup_elem(&map_stacks, &key))
		return INSERT_KNOWN;
	st = slot_stack(m, k);
	if (!st)
		return INSERT_FULL;
	/*
	 * A process that executes several programs may map different files at one address: the time
	 * says which of them the stack is in.
	 */
	st->time = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&map_stacks, &key, st, BPF_NOEXIST) == 0)
		return INSERT_MADE;
	/* BPF_NOEXIST fails if another CPU has added the stack since the lookup above. */
	return bpf_map_lookup_elem(&map_stacks, &key) ? INSERT_KNOWN : INSERT_FULL;
}

u64 rt_keystack(struct rt_mach *m, u64 k, u64 hash)
{
	return m && stack_insert(m, k, hash) != INSERT_FULL;
}

/* 0 is no stack. What is made is counted, so that the session knows when to sweep the table. */
u64 rt_stackid(struct rt_mach *m, u64 k, u64 hash)
{
	enum insert done;
	u32 cpu;

	if (!m || !hash)
		return 0;
	done = stack_insert(m, k, hash);
	if (done == INSERT_FULL)
		return 0;
	cpu = m->cpu;
	if (done == INSERT_MADE && cpu < cfg.ncpus)
		__sync_fetch_and_add(&val_control.cpu[cpu].stacks_made, 1);
	return hash;
}

/* ---- frames of the kernel's tracing code -------------------------------------------------- */

struct range {
	u64 start, end;
};

static long range_step(u64 i, void *ctx)
{
	struct stack_work *w = WORK(((struct loop *)ctx)->p, struct stack_work);
	const volatile struct range *r = (const volatile struct range *)(&cfg + 1);
	u64 mid = (w->lo + w->hi) / 2;

	OPAQUE(mid);
	if (w->lo >= w->hi || mid >= cfg.ntracing)
		return 1;
	r += mid;
	OPAQUE(r);
	if (w->pc < r->start) {
		w->hi = mid;
	} else if (w->pc >= r->end) {
		w->lo = mid + 1;
	} else {
		w->found = 1;
		return 1;
	}
	return 0;
}

INLINE u64 is_tracing(char *scratch, u64 pc)
{
	struct stack_work *w = WORK(scratch, struct stack_work);

	w->pc = pc;
	w->lo = w->found = 0;
	w->hi = cfg.ntracing;
	loop_run(32, range_step, scratch);
	return w->found;
}

/*
 * Returns the index of the first of n frames that is not in tracing code. A stack begins with at
 * most RT_STACK_EXTRA frames in tracing code.
 */
INLINE u64 first_frame(struct rt_mach *m, struct rt_stack *st, u64 n)
{
	char *scratch = slot_of(m);
	u64 i;

	if (!scratch || cfg.ntracing == 0)
		return 0;
	for (i = 0; i < RT_STACK_EXTRA; i++)
		if (i >= n || !is_tracing(scratch, st->words[i]))
			break;
	return i;
}

u64 rt_caller(struct rt_mach *m, u64 len)
{
	struct rt_stack *st;
	u64 i;

	if (!m)
		return 0;
	st = slot_stack(m, cfg.stack_nslots - 1);
	if (!st)
		return 0;
	i = first_frame(m, st, len / 8) + 1;
	if (i > RT_STACK_EXTRA + 1 || i >= len / 8)
		return 0;
	return st->words[i];
}

u64 rt_stackdepth(struct rt_mach *m, u64 len)
{
	struct rt_stack *st;

	if (!m)
		return 0;
	st = slot_stack(m, cfg.stack_nslots - 1);
	if (!st)
		return 0;
	return len / 8 - first_frame(m, st, len / 8);
}
