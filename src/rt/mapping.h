/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: which file is mapped at an address of the current task, and whether the walk of
 * a user stack (unwind.c) has its unwind table.
 *
 * It is read from the task's own tree of mappings. bpf_find_vma() would need a lock, which it can
 * release only once an interrupt; and a table of mappings would be stale for new processes and
 * after mmap(). The tree is a maple tree (Linux Documentation/core-api/maple_tree.rst,
 * lib/maple_tree.c, v6.1 on), which readers walk under RCU, as BPF programs are. Nothing that is
 * read is trusted: the worst that a concurrent mmap() of another thread can do is a walk that ends
 * early.
 */
#pragma once

#include "rt/walk.h"

static long (*const bpf_ringbuf_output)(void *ring, const void *data, u64 size,
					u64 flags) = (void *)130;

extern char map_ufiles, map_ureq;
#define K (cfg.k)

#define VM_EXEC	  4 /* Linux include/linux/mm.h */
#define VM_SHARED 8 /* the same: a shared mapping of a file that is open for writing */
#define PAGE_MASK (~((1ull << FRAME_PAGE_SHIFT) - 1))

/*
 * Nodes of a maple tree. An entry of a node is the address of a lower node with the type of that
 * node in bits 3 to 6, and in a leaf the value. Linux include/linux/maple_tree.h (enum maple_type,
 * MAPLE_RANGE64_SLOTS, MAPLE_ARANGE64_SLOTS), lib/maple_tree.c (mte_to_node(), mte_node_type(),
 * ma_data_end()), include/linux/xarray.h (xa_is_node(): a root that is a node ends with the bits
 * 10).
 */
enum { MAPLE_LEAF = 1, MAPLE_RANGE = 2, MAPLE_ARANGE = 3 };
#define MAPLE_NODE(e)	    ((e) & ~255ull)
#define MAPLE_TYPE(e)	    ((e) >> 3 & 15)
#define MAPLE_ROOT(e)	    (((e)&3) == 2 && (e) > 4096)
#define MAPLE_RANGE_PIVOTS  15
#define MAPLE_ARANGE_PIVOTS 9
/*
 * Levels of a tree. A node has 10 entries, of which half are used, and a leaf 16: seven levels hold
 * 120,000 mappings, and a process has at most 65,530 (sysctl vm.max_map_count).
 */
#define MAPLE_DEPTH 7

INLINE u64 read_word(u64 addr)
{
	u64 v = 0;

	bpf_probe_read_kernel(&v, 8, addr);
	return v;
}

INLINE u32 read_half(u64 addr)
{
	u32 v = 0;

	bpf_probe_read_kernel(&v, 4, addr);
	return v;
}

/* ---- the tree of mappings ----------------------------------------------------------------- */

/*
 * Returns a < b for numbers below 2^63. There is no branch in it, so the verifier follows one path
 * through a node.
 */
INLINE u64 is_less(u64 a, u64 b)
{
	u64 d = a - b;

	OPAQUE(d);
	return d >> 63;
}

/*
 * Returns how many of the w->nend pivots of the node in w->node are less than addr, the start of a
 * page. A pivot is the last address of a range: it is odd, or all ones. So both numbers can be
 * halved to fit is_less() without a change of the result.
 */
INLINE u64 maple_pivots_below(const struct unwind_work *w, u64 addr)
{
	u64 n = 0, nend = w->nend;

	addr >>= 1;
#pragma clang loop unroll(disable)
	for (u64 i = 0; i < MAPLE_RANGE_PIVOTS; i++)
		n += is_less(i, nend) & is_less(w->node[1 + i] >> 1, addr);
	return n;
}

/*
 * Fills in the number of pivots and the first entry of the node. Both go through memory, of whose
 * contents the verifier knows nothing: so it does not follow each kind of node on a path of its
 * own.
 */
INLINE void maple_shape(struct unwind_work *w, u64 type)
{
	u64 n;

	if (type == MAPLE_ARANGE) {
		n = ((u8 *)w->node)[K.arange_meta];
		w->nend = MIN(n, (u64)MAPLE_ARANGE_PIVOTS);
		w->slot = K.arange_slot / 8;
	} else {
		n = ((u8 *)w->node)[K.range_meta];
		w->nend = w->node[MAPLE_RANGE_PIVOTS] ? MAPLE_RANGE_PIVOTS : n;
		w->slot = K.range_slot / 8;
	}
}

/*
 * Returns the address of the struct vm_area_struct whose range in the tree contains w->f.insn, or
 * 0. With wants_end, it fills in the last address of the range, which may also be one without a
 * mapping: all ones behind the last mapping. The function is inline because it would be the ninth
 * in the longest chain of calls (kernel/budget.h).
 */
INLINE u64 range_find(struct unwind_work *w, u64 wants_end)
{
	u64 e, type, slot, n;

	if (wants_end)
		w->range_end = ~0ull;
	e = read_word(w->mm + K.mm_root);
	if (!MAPLE_ROOT(e))
		return 0;
#pragma clang loop unroll(disable)
	for (u32 depth = 0; depth < MAPLE_DEPTH; depth++) {
		type = MAPLE_TYPE(e);
		w->node_type = type;
		if (type - MAPLE_LEAF > MAPLE_ARANGE - MAPLE_LEAF ||
		    bpf_probe_read_kernel(w->node, sizeof(w->node), MAPLE_NODE(e)))
			return 0;
		maple_shape(w, w->node_type);
		n = maple_pivots_below(w, w->f.insn & PAGE_MASK);
		if (wants_end && n < w->nend)
			w->range_end = w->node[(1 + n) & 31];
		slot = w->slot + n;
		OPAQUE(slot);
		e = w->node[slot & 31];
		if (w->node_type == MAPLE_LEAF)
			return e & 3 ? 0 : e;
	}
	return 0;
}

INLINE u64 vma_find(struct unwind_work *w)
{
	return range_find(w, 0);
}

/* ---- the mapping of an address ------------------------------------------------------------ */

/*
 * The flag FMODE_BACKING: the first of these bits up to Linux 6.13, the second one since. Each has
 * had another meaning in the other kernels.
 */
#define FILE_BACKING (1u << 25 | 1u << 24)

/*
 * Puts the inode whose device /proc/PID/maps shows for a mapped file into w->req.key.dev, where
 * that of the file stands. A file of overlayfs maps another one, its backing file, which lies on
 * the file system of a layer; its inode has the same size and time. The bits alone do not say that
 * there is one.
 */
INLINE void inode_shown(struct unwind_work *w, u64 file)
{
	if (!K.backing_dentry || !(read_half(file + K.file_mode) & FILE_BACKING))
		return;
	file = read_word(read_word(file + K.backing_dentry) + K.dentry_inode);
	if (file && read_word(file + K.inode_size) == w->req.key.size &&
	    read_word(file + K.inode_mtime) == w->req.key.mtime)
		w->req.key.dev = file;
}

/*
 * Fills w->req.key with what the inode of the mapped file says, and the device that /proc shows;
 * false if no file is mapped.
 */
INLINE u64 file_key(struct unwind_work *w, u64 vma)
{
	struct rt_ufile_key *key = &w->req.key;
	u64 file = read_word(vma + K.vma_file), inode;

	key->ino = key->size = key->mtime = key->dev = 0;
	if (!file) {
		key->ino = RT_UFILE_VDSO;
		key->dev = w->is_saved;
		return read_word(w->mm + K.mm_vdso) == w->map_start;
	}
	inode = read_word(file + K.file_inode);
	if (!inode)
		return 0;
	key->ino = read_word(inode + K.inode_ino);
	key->size = read_word(inode + K.inode_size);
	key->mtime = read_word(inode + K.inode_mtime);
	key->dev = inode;
	inode_shown(w, read_word(vma + K.vma_file));
	key->dev = read_half(read_word(key->dev + K.inode_sb) + K.sb_dev) | w->is_saved;
	return 1;
}

/* The same for a private mapping of a file's code. Returns the file; 0: it is another mapping. */
INLINE u64 code_file_key(struct unwind_work *w, u64 vma)
{
	u64 flags = read_word(vma + K.vma_flags), file = read_word(vma + K.vma_file);

	if (!(flags & VM_EXEC) || (flags & VM_SHARED) || !file || !file_key(w, vma))
		return 0;
	return file;
}

/*
 * Asks the consumer for the tree of a file that no walk has met before. False: the process has no
 * number in dtrace's PID namespace, so the consumer could not find the file.
 */
INLINE u64 file_ask(struct rt_mach *m, struct unwind_work *w)
{
	u64 pid = cfg.pidns.level ? m->pid : bpf_get_current_pid_tgid() >> 32;
	struct rt_ufile pending;

	if (cfg.pidns.level && !pid)
		return 0;
	pending.tree = pending.used = 0;
	pending.nlevels = RT_UTREE_PENDING;
	if (bpf_map_update_elem(&map_ufiles, &w->req.key, &pending, BPF_NOEXIST))
		return 1;
	w->req.start = w->map_start;
	w->req.end = w->map_end;
	w->req.pid = pid;
	if (bpf_ringbuf_output(&map_ureq, &w->req, sizeof(w->req), 0))
		bpf_map_delete_elem(&map_ufiles, &w->req.key);
	return 1;
}

/*
 * Fills w->map_* with the mapping that contains w->f.insn. What a program maps in order to write to
 * it and to share it is memory for code that it makes: programs and libraries are mapped privately.
 * The consumer is not asked for the unwind table of such a file: it has none, and the file's time
 * of modification, which is part of the key under which an answer is kept, changes whenever the
 * program writes to one of its pages for the first time. Such memory, and memory of no file, may be
 * made executable later; while the kernel does so, the tree and the mapping contradict each other
 * for a moment.
 */
INLINE void mapping_load(struct rt_mach *m, struct unwind_work *w)
{
	u64 vma = vma_find(w), flags, is_known;
	struct rt_ufile *f;

	w->map_rule = RULE_NO_CODE;
	w->map_start = w->map_end = 0;
	if (!vma || bpf_probe_read_kernel(w->f.pair, 16, vma + K.vma_start))
		return;
	is_known = w->f.insn >= w->f.pair[0] && w->f.insn < w->f.pair[1];
	if (is_known) {
		w->map_start = w->f.pair[0];
		w->map_end = w->f.pair[1];
	}
	flags = read_word(vma + K.vma_flags);
	if (!is_known || !(flags & VM_EXEC)) {
		if ((flags & VM_SHARED) || !read_word(vma + K.vma_file))
			w->map_rule = RULE_DATA;
		return;
	}
	w->map_off = read_word(vma + K.vma_pgoff) << FRAME_PAGE_SHIFT;
	w->map_rule = RULE_NO_TABLE;
	if ((flags & VM_SHARED) || !file_key(w, vma))
		return;
	f = bpf_map_lookup_elem(&map_ufiles, &w->req.key);
	if (!f && !file_ask(m, w))
		return;
	if (!f || f->nlevels == RT_UTREE_PENDING) {
		w->map_rule = RULE_PENDING;
		return;
	}
	f->used = val_control.epoch;
	if (f->nlevels == 0)
		return;
	if (w->req.key.ino == RT_UFILE_VDSO && w->req.key.dev == w->is_saved)
		w->map_off = 0;
	w->map_rule = 0;
	w->tree = f->tree;
	w->nlevels = f->nlevels;
}

/* ---- return addresses that the kernel has replaced --------------------------------------- */

#define CALLS_MOST 64 /* Linux kernel/events/uprobes.c, MAX_URETPROBE_DEPTH */

/*
 * If the frame returns to the kernel's page to which uretprobes let functions return, puts the
 * address there that stood on the stack before.
 */
INLINE void return_restore(struct unwind_work *w)
{
	u64 at = w->f.sp - (FRAME_RA_ABOVE_FP ? 0 : 8), call, area;

	if (!K.task_utask || w->f.insn == w->f.pc)
		return;
	area = read_word(w->mm + K.mm_xol);
	if (!area || read_word(area + K.xol_vaddr) != w->f.pc)
		return;
	call = read_word(read_word(w->task + K.task_utask) + K.utask_calls);
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < CALLS_MOST && call; i++) {
		if (read_word(call + K.call_stack) == at) {
			w->f.pc = read_word(call + K.call_return);
			w->f.insn = w->f.pc - 1;
			return;
		}
		call = read_word(call + K.call_next);
	}
}
