/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: the memory of the process as the helper machine (rt/helper.h) and its
 * subroutines read it: in lines, each of which is read once a walk.
 *
 * Owns     lines and tags lie in struct rt_hwork, and are valid during one walk.
 * Errors   word_load() notes a fault in the machine state; the others return 0.
 */
#pragma once

#include "rt/walk.h"

extern char map_hmemo, map_hprocs;
extern u64 val_hcode[];

#define offsetof(type, member) __builtin_offsetof(type, member)

/* Subroutines by the names that they have in dif/dif.h. */
enum {
#define SUBR(id, name, code, ...)	  DIF_SUBR_##id = (code),
#define SUBR_FOREIGN(id, name, code, ...) DIF_SUBR_##id = (code),
#include "dif/subrs.def"
#define SUBR_HELPER(id, name, code, ...) DIF_SUBR_##id = (code),
#include "dif/helper_subrs.def"
};

#define IS_USER(a) (!((a) >> 63))
_Static_assert(sizeof(struct rt_hwork) <= RT_HWORK_SIZE, "RT_HWORK_SIZE");

#define READ_USER(dst, size, addr) (bpf_probe_read_user(dst, size, addr) == 0)

/* Loads a word; an address of the process is read there, any other one in the kernel. */
INLINE u64 word_load(struct rt_mach *m, struct rt_hwork *h, u64 addr, u32 size)
{
	u64 v = 0;
	long bad;

	size = (size & 15) ? size & 15 : 8;
	if (size > 8)
		size = 8;
	if (IS_USER(addr)) {
		bad = bpf_probe_read_user(&v, size, addr);
	} else {
		/* texts of the helper itself are the session's, but none of D's memory */
		if (!(cfg.reads & RT_READS_OWN) || addr - h->code >= 8 * RT_HCODE)
			rt_readable(m, addr, size);
		bad = m->fault.kind || bpf_probe_read_kernel(&v, size, addr);
	}
	if (bad)
		return fault(m, FAULT_BADADDR, addr);
	return v;
}

/*
 * Finds the line that the address of the process lies in, which is read if it was not read before
 * in this walk. *ret_at becomes the offset of the address in h->lines, at most that of the last
 * line's end. False: there is no such memory.
 */
INLINE u64 line_find(struct rt_hwork *h, u64 addr, u64 *ret_at)
{
	u64 slot = addr / RT_HELPER_LINE, tag = slot + 1, at = addr % RT_HELPER_LINE;

	slot &= RT_HELPER_LINES - 1;
	OPAQUE(slot);
	slot &= RT_HELPER_LINES - 1;
	if (h->tags[slot] != tag) {
		h->tags[slot] = 0;
		if (!READ_USER(h->lines + slot * RT_HELPER_LINE, RT_HELPER_LINE, addr - at))
			return 0;
		h->tags[slot] = tag;
	}
	/* clang makes a | of the sum if it knows the bits; Linux 6.1 forgets the bounds of that */
	slot *= RT_HELPER_LINE;
	OPAQUE(slot);
	*ret_at = at + slot;
	return 1;
}

/* Loads up to 8 bytes of the process from their line. False: they must be read otherwise. */
INLINE u64 line_load(struct rt_hwork *h, u64 addr, u32 size, u64 *ret)
{
	u64 at;

	if (!IS_USER(addr) || addr % RT_HELPER_LINE + size > RT_HELPER_LINE ||
	    !line_find(h, addr, &at))
		return 0;
	*ret = *(u64 *)(h->lines + at);
	return 1;
}

/* Forgets the first n lines, whose memory something else uses. */
INLINE void lines_forget(struct rt_hwork *h, u32 n)
{
	for (u32 i = 0; i < n; i++)
		h->tags[i] = 0;
}

/* Extends a loaded value by the size and sign in c (helper_ops.def). */
INLINE u64 sign_extend(u64 v, u32 c)
{
	u32 shift = 64 - 8 * (c & 15);

	shift &= 63;
	v <<= shift;
	return c & HELPER_SIGNED ? (u64)((s64)v >> shift) : v >> shift;
}
