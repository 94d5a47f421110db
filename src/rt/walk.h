/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: the state of a walk of a user stack, which the walk itself (unwind.c) and the
 * machine that runs ustack helpers (helper.c) share.
 *
 * Owns     the state lies in the scratch memory of the CPU's machine state, and is valid during one
 *          walk; behind it lies the state of the helper machine.
 * Units    addresses of the task's own memory; map_start, map_end and map_off in bytes.
 * Threads  one walk at a time in a machine state.
 */
#pragma once

#include "rt/hash.h"
#include "rt/helper.h"
#include "arch/step.h"

#define WINDOW 128 /* words of the stack that are read at once: those of several frames */

struct unwind_work {
	struct frame f;	   /* first, so that the frame's address is the struct's */
	u64 at;		   /* where the next word goes, in the entry of MAP_MACH */
	u64 nframes, left; /* frames so far, language and native; how many are still wanted */
	u64 is_unmarked, is_32;
	u64 only_lang; /* native frames are neither recorded nor wanted (RT_USTACK_ONLY_LANG) */
	u64 exact;     /* RT_USTACK_EXACT, or 0 when that is not wanted */
	u64 end;       /* enum walk_end */
	/* of a walk with helpers: */
	u64 from;      /* where the first word of the stack is, in the entry of MAP_MACH */
	u64 text_left; /* bytes that are left for the names of frames */
	u64 top;       /* rt_mach.scratch_top and rt_mach.block as the clause has left them */
	u64 task;      /* address of the task */
	u64 is_bare;   /* no unwind table covers the frame's address */
	u64 saves;     /* RT_UFILE_SAVED: callee-saved registers are restored; else 0 */
	u64 is_saved;  /* saves, while rt_unwind_rule() is to find the rule of UNWIND_SAVED */
	u64 is_late;   /* such a rule was not there yet */
	u64 mark;      /* enum rt_ustack_mark, to be written behind the present frame; 0: none */
	u64 is_marked; /* such a mark was written: one is enough, and there is room for one */
	u64 is_early; /* the process's helpers are not attached yet, and it maps a runtime's file */
	u64 is_unknown; /* they are not attached yet */
	u64 is_runtime; /* a frame of the stack is in the file of a runtime, or in no file */
	u64 asks;	/* helpers are asked about frames of RULE_DATA */
	/* at, nframes and left before the present native frame was added */
	u64 old_at, old_nframes, old_left;
	u64 ends_early; /* the walk is over when no frame is wanted, in the middle of a clause */
	u64 shift_at;	/* of the word that makes room for a name */
	/* key: of the address space; tag: the same with the epoch, in keys of MAP_UCACHE */
	u64 mm, key, tag;
	/* the mapping found last: */
	u64 map_start, map_end, map_off;
	u64 map_rule; /* of all its code; 0: the tree says */
	u64 tree, nlevels, block;
	struct rt_ureq req;
	u64 range_end; /* the last address of the range that was looked up last */
	u64 node_type, nend, slot, node[32];
	u64 window_at, window[WINDOW + 2]; /* of the stack, from window_at on */
};
_Static_assert(sizeof(struct unwind_work) <= RT_WALK_SIZE, "RT_WALK_SIZE");
#define WALK(scratch) ((struct unwind_work *)((scratch) + cfg.walk_off))

/* Returns the state of the walk; NULL: the CPU has no scratch memory. */
INLINE struct unwind_work *work_of(struct rt_mach *m)
{
	char *scratch = m ? slot_of(m) : NULL;

	return scratch ? WALK(scratch) : NULL;
}

#define HELPER(scratch) ((struct rt_hwork *)((scratch) + cfg.helper_off))

/* Notes a word that the native frame has added to the stack, if that is to be remembered. */
INLINE void words_note(struct rt_hwork *h, u64 word)
{
	u64 n = h->nwords;

	if (!h->known)
		return;
	OPAQUE(n);
	if (n >= RT_HMEMO_WORDS) {
		h->known = 0;
		return;
	}
	h->words[n] = word;
	h->nwords = n + 1;
}

/* Returns the word of HOP_FRAMES of the process's program. */
INLINE u32 helper_frames(const struct rt_hwork *h)
{
	return ((const struct rt_hproc *)&h->regs[HREG_PROC])->frames;
}

/* Returns the state of the helper machine (helper.h); NULL: the CPU has no scratch memory. */
INLINE struct rt_hwork *helper_of(struct rt_mach *m)
{
	char *scratch = m ? slot_of(m) : NULL;

	return scratch ? HELPER(scratch) : NULL;
}
