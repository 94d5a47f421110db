/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: scratch memory, copies into it, checked stores.
 *
 * D programs may write to three windows: the scratch memory that they allocated in this clause
 * (struct rt_block), the global variables, and the this-> variables. Map values are large enough
 * (struct rt_cfg, RT_GVARS_VALUE, RT_MACH_VALUE) that the sum of any offset in a window and any
 * size up to the window's stays inside the value.
 */
#include "rt/helper.h"
#include "rt/rt.h"

/*
 * Allocates n bytes of scratch memory and returns their offset; -1 and a fault if there is no room.
 */
INLINE s64 scratch_take(struct rt_mach *m, u64 n)
{
	u64 top = m->scratch_top, limit = cfg.scratch_size;

	if (top > limit || n > limit - top) {
		fault(m, FAULT_NOSCRATCH, 0);
		return -1;
	}
	m->scratch_top = ROUND_UP(top + n, 8);
	return top;
}

/*
 * Allocates a block of n bytes and returns the offset of the bytes; -1 and a fault if there is no
 * room.
 */
INLINE s64 block_take(struct rt_mach *m, u64 n)
{
	u64 top = m->scratch_top, limit = cfg.scratch_size, head = sizeof(struct rt_block);
	struct rt_block *b;
	char *p = slot_of(m);

	if (!p || top > limit || head > limit - top || n > limit - top - head) {
		fault(m, FAULT_NOSCRATCH, 0);
		return -1;
	}
	OPAQUE(top);
	if (top > limit)
		return -1;
	b = (struct rt_block *)(p + top);
	b->older = m->block;
	b->end = top + head + n;
	m->block = top + head;
	m->scratch_top = ROUND_UP(top + head + n, 8);
	return top + head;
}

u64 rt_block_keep(struct rt_mach *m)
{
	u64 at, end = 0, head = sizeof(struct rt_block);
	char *p;

	if (!m)
		return 0;
	p = slot_of(m);
	at = m->block - head; /* of the block's head; without a block it is far outside */
	OPAQUE(at);
	if (p && at <= RT_SCRATCH_KEPT - head)
		end = ROUND_UP((u64)((struct rt_block *)(p + at))->end, 8);
	if (end > RT_SCRATCH_KEPT)
		end = 0;
	if (!end)
		m->block = 0;
	m->scratch_top = end;
	return 0;
}

struct block_work {
	u64 off, end; /* the bytes that the program wants to access */
	u64 at;	      /* offset of the bytes of the block to examine next */
	u64 is_bad;
};
#define BLOCK_WORK(p) ((struct block_work *)((p) + cfg.work_off + RT_WORK_SIZE))

/*
 * Examines one block, the newest first. The search ends when the wanted bytes lie inside the block,
 * which is right, or when they touch the block, its head or its padding otherwise, which is a
 * fault.
 */
static long block_step(u64 it, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct block_work *w = BLOCK_WORK(p);
	u64 at = w->at, head = sizeof(struct rt_block), end;
	struct rt_block *b;

	OPAQUE(at);
	if (at < head || at > cfg.scratch_size)
		return 1;
	b = (struct rt_block *)(p + at - head);
	end = b->end;
	if (w->off >= at && w->end <= end)
		return 1;
	if (w->off < ROUND_UP(end, 8) && w->end > at - head) {
		w->is_bad = 1;
		return 1;
	}
	w->at = b->older;
	return 0;
}

/*
 * True if the n bytes at off of scratch memory were allocated in this clause, and lie inside one
 * block or outside all.
 */
INLINE int scratch_has(struct rt_mach *m, u64 off, u64 n)
{
	u64 top = m->scratch_top;
	struct block_work *w;
	char *p;

	if (off > top || n > top - off)
		return 0;
	if (m->block == 0)
		return 1;
	p = slot_of(m);
	if (!p)
		return 0;
	w = BLOCK_WORK(p);
	w->off = off;
	w->end = off + n;
	w->at = m->block;
	w->is_bad = 0;
	loop_run(cfg.scratch_size / sizeof(struct rt_block), block_step, p);
	return !w->is_bad;
}

/* Whether [addr, addr + n) lies in the size bytes at base. */
INLINE int range_has(u64 base, u64 size, u64 addr, u64 n)
{
	u64 off = addr - base;

	return off < size && n <= size - off;
}

/*
 * Whether the memory is D's own: scratch memory of this firing, variables that are strings or
 * structures, string constants, the name of the task. Variables that are numbers or pointers
 * lie before these, and are not read by address: they may hold addresses of the kernel. A
 * string that begins there may be read as far as strings go: what follows belongs to the
 * session, too (kmaps_create()).
 */
INLINE int is_own(struct rt_mach *m, u64 addr, u64 n)
{
	return range_has(m->scratch, cfg.scratch_size, addr, n) ||
	       (cfg.tok_off && range_has(m->scratch + cfg.tok_off, cfg.scratch_size, addr, n)) ||
	       (cfg.helper_off && range_has(m->scratch + cfg.helper_off, RT_HWORK_SIZE, addr, n)) ||
	       range_has(m->strtab, cfg.strtab_size, addr, n) ||
	       range_has(m->gvars + cfg.gvars_text, cfg.gvars_size - cfg.gvars_text, addr, n) ||
	       range_has(m->self + cfg.this_off + cfg.this_text, cfg.this_size - cfg.this_text,
			 addr, n) ||
	       range_has(m->self + __builtin_offsetof(struct rt_mach, comm), sizeof(m->comm), addr,
			 n);
}

u64 rt_readable(struct rt_mach *m, u64 addr, u64 n)
{
	u64 off;

	if (!m)
		return 0;
	/* NULL has no memory: who reads there faults, and strtok() goes on with its text */
	if ((cfg.reads & RT_READS_OWN) && addr && !is_own(m, addr, n))
		return fault(m, FAULT_KPRIV, addr);
	if (!in_scratch_map(m, addr))
		return 0;
	off = addr - m->scratch;
	if (scratch_has(m, off, n) || (cfg.tok_off && off - cfg.tok_off <= cfg.scratch_size))
		return 0;
	return fault(m, FAULT_BADADDR, addr);
}

u64 rt_own_copy(struct rt_mach *m, u64 addr, u64 n)
{
	u64 off;
	s64 top;
	char *p;

	if (!m || !addr)
		return 0;
	top = scratch_take(m, n);
	p = slot_of(m);
	off = top;
	OPAQUE(off);
	OPAQUE(n);
	if (!p || top < 0 || off > cfg.scratch_size || n > cfg.scratch_size)
		return 0;
	if (bpf_probe_read_kernel(p + off, n, addr))
		return fault(m, FAULT_BADADDR, addr);
	return m->scratch + off;
}

u64 rt_allocs(struct rt_mach *m, u64 n)
{
	s64 off;

	if (!m)
		return 0;
	off = scratch_take(m, n);
	return off < 0 ? 0 : m->scratch + off;
}

u64 rt_sub_alloca(struct rt_mach *m, u64 n)
{
	s64 off;

	if (!m)
		return 0;
	off = block_take(m, n);
	return off < 0 ? 0 : m->scratch + off;
}

u64 rt_sub_memref(struct rt_mach *m, u64 addr, u64 len)
{
	char *p;
	s64 off;

	if (!m)
		return 0;
	off = block_take(m, 16);
	p = slot_of(m);
	OPAQUE(off);
	if (!p || off < 0 || off > cfg.scratch_size)
		return 0;
	*(u64 *)(p + off) = addr;
	*(u64 *)(p + off + 8) = len;
	return m->scratch + off;
}

/* True when [dst, dst + n) is scratch memory that this clause may use. */
INLINE int in_scratch(struct rt_mach *m, u64 dst, u64 n)
{
	return scratch_has(m, dst - m->scratch, n);
}

enum source { KERNEL, USER };

/*
 * Copies n bytes from src to scratch memory at off, which the caller has allocated. Returns 0, also
 * after a fault.
 */
INLINE int scratch_fill(struct rt_mach *m, u64 off, u64 n, u64 src, enum source source)
{
	char *p = slot_of(m);
	u64 limit = cfg.scratch_size;
	long rc;

	OPAQUE(off);
	OPAQUE(n);
	if (!p || off > limit || n > limit)
		return fault(m, FAULT_NOSCRATCH, 0);
	rc = source == USER ? bpf_probe_read_user(p + off, n, src)
			    : bpf_probe_read_kernel(p + off, n, src);
	if (rc)
		return fault(m, FAULT_BADADDR, src);
	return 0;
}

/*
 * Writes a NUL behind the n bytes of scratch memory at off; the caller has allocated n + 1 bytes.
 */
INLINE void scratch_end(struct rt_mach *m, u64 off, u64 n)
{
	char *p = slot_of(m);
	u64 end = off + n;

	OPAQUE(end);
	if (p && end < cfg.scratch_size)
		p[end] = 0;
}

/*
 * The block has one byte more than was asked for, which is NUL: scripts use the copy as a string as
 * it is, or terminate it themselves with p[n] = '\0'.
 */
u64 rt_sub_copyin(struct rt_mach *m, u64 src, u64 n)
{
	s64 off;

	if (!m)
		return 0;
	off = block_take(m, n + 1 ? n + 1 : n);
	if (off < 0)
		return 0;
	scratch_end(m, off, n);
	if (n > 0)
		scratch_fill(m, off, n, src, USER);
	return m->fault.kind ? 0 : m->scratch + off;
}

/*
 * The fault of a write outside of D's own memory. Who must not know where that is is not told the
 * address: it may be a sum with one, in the lower half of all addresses.
 */
INLINE u64 write_fault(struct rt_mach *m, u64 dst)
{
	return fault(m, FAULT_BADADDR, cfg.reads & RT_READS_OWN ? 0 : dst);
}

u64 rt_sub_copyinto(struct rt_mach *m, u64 src, u64 n, u64 dst)
{
	if (!m || n == 0)
		return 0;
	if (!in_scratch(m, dst, n))
		return write_fault(m, dst);
	return scratch_fill(m, dst - m->scratch, n, src, USER);
}

/* Memory that the process has not touched yet is no fault: who asks knows what it means. */
u64 rt_sub_copyinint(struct rt_mach *m, u64 src, u64 otherwise)
{
	s32 value;

	return bpf_probe_read_user(&value, sizeof(value), src) ? otherwise : (u64)(s64)value;
}

u64 rt_sub_bcopy(struct rt_mach *m, u64 src, u64 dst, u64 n)
{
	if (!m || n == 0)
		return 0;
	if (!in_scratch(m, dst, n))
		return write_fault(m, dst);
	if (!may_read(m, src, n))
		return 0;
	return scratch_fill(m, dst - m->scratch, n, src, KERNEL);
}

u64 rt_sub_copyinstr(struct rt_mach *m, u64 src, u64 max)
{
	u64 top, n;
	char *p;

	if (!m)
		return 0;
	p = slot_of(m);
	if (!p || !scratch_top(m, &top) || !string_take(m, top))
		return 0;
	n = max < cfg.strsize ? max + 1 : cfg.strsize;
	OPAQUE(n);
	if (n > cfg.strsize)
		return 0;
	if (bpf_probe_read_user_str(p + top, n, src) < 0)
		return fault(m, FAULT_BADADDR, src);
	return m->scratch + top;
}

/*
 * Where the writable part of a window begins: that of is_own(), where memory of D's own is all that
 * may be read. Whoever could write beside a string could change one byte of a variable that holds
 * an address, and would know by the next read whether the byte was right.
 */
INLINE u64 window_begin(u64 text)
{
	return cfg.reads & RT_READS_OWN ? text : 0;
}

/*
 * The pointer through which a D program may write n bytes at dst; NULL and a fault if it may not.
 * The window decides which map value the verifier checks the pointer against, so each window has
 * its own return.
 *
 * The comparisons do not say 'off + n <= limit': verifiers from 6.11 on track off and off + n
 * together, and if only one value is left for off, those before 6.13 or so deduce contradictory
 * bounds and refuse the program.
 */
INLINE char *window_find(struct rt_mach *m, u64 dst, u64 n)
{
	u64 off = dst - m->gvars, limit = cfg.gvars_size;
	u32 slot = m->slot;
	char *p;

	if (off < limit && n <= limit && off <= limit - n && off >= window_begin(cfg.gvars_text))
		return val_gvars + off;
	off = dst - m->scratch;
	limit = cfg.scratch_size;
	if (off < limit && n <= limit && in_scratch(m, dst, n)) {
		p = slot_of(m);
		if (!p)
			return NULL;
		/*
		 * Else the compiler adds off before the test for NULL, which the verifier refuses.
		 */
		OPAQUE(p);
		return p + off;
	}
	off = dst - m->self - cfg.this_off;
	limit = cfg.this_size;
	if (off < limit && n <= limit && off <= limit - n && off >= window_begin(cfg.this_text)) {
		p = bpf_map_lookup_elem(&map_mach, &slot);
		if (!p)
			return NULL;
		OPAQUE(p);
		return p + cfg.this_off + off;
	}
	write_fault(m, dst);
	return NULL;
}

/* The size is a constant at each use, so that the verifier knows how many bytes are written. */
#define STORE(type, m, dst, value)                                                                 \
	do {                                                                                       \
		char *p = window_find(m, dst, sizeof(type));                                       \
		if (p && (dst & (sizeof(type) - 1)))                                               \
			return fault(m, FAULT_BADALIGN, dst);                                      \
		if (p)                                                                             \
			*(type *)p = value;                                                        \
	} while (0)

u64 rt_store(struct rt_mach *m, u64 dst, u64 value, u64 size)
{
	if (!m)
		return 0;
	if (size == 8)
		STORE(u64, m, dst, value);
	else if (size == 4)
		STORE(u32, m, dst, value);
	else if (size == 2)
		STORE(u16, m, dst, value);
	else
		STORE(u8, m, dst, value);
	return 0;
}

u64 rt_copys(struct rt_mach *m, u64 src, u64 n, u64 dst)
{
	char *p;

	if (!m || n == 0)
		return 0;
	p = window_find(m, dst, n);
	if (p && !may_read(m, src, n))
		return 0;
	if (p && bpf_probe_read_kernel(p, n, src))
		return fault(m, FAULT_BADADDR, src);
	return 0;
}
