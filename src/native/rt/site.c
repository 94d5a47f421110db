/* SPDX-License-Identifier: MIT */
/*
 * The place of the innermost frame of a language (struct blob_frames).
 *
 * These are the only loads through pointers of the program. The thread reads its own context, and
 * frames that lie within the stack which that context has; nothing that a frame leads to is read.
 * A pointer that is null or misaligned, and a frame outside of the stack, end the search.
 *
 * The context is there because the probe is in a function of the runtime that uses it: a thread
 * that has ended may keep the address of one that was freed, and still run the C library. The
 * tracer lets this be called from no other place, and has read the same words of each thread that
 * has a context before (inproc/frames.c).
 */
#include "native/rt/rt.h"

#define ADDR_END  (1ull << 47)
#define WORDS_MAX (1ull << 28) /* of a stack: 2 GB */

static inline u64 word_at(u64 addr)
{
	return word_load((const u64 *)addr);
}

static inline int is_place(u64 addr)
{
	return addr && !(addr & 7) && addr < ADDR_END;
}

FUNC void blob_site(struct blob_data *d, u64 fs, u64 *to)
{
	const struct blob_frames *f = &blob_conf.frames;
	u64 context, stack, words, frame, end;

	to[0] = to[1] = 0;
	context = f->size ? word_at(fs + (u64)f->context) : 0;
	if (!is_place(context))
		return;
	stack = word_at(context + f->stack);
	words = word_at(context + f->words);
	frame = word_at(context + f->top);
	if (!is_place(stack) || !is_place(frame) || words > WORDS_MAX || words * 8 < f->size)
		return;
	end = stack + words * 8 - f->size; /* the outermost frame is a dummy */
	for (u32 i = 0; i < f->depth && frame >= stack && frame < end; i++, frame += f->size) {
		u64 code = word_at(frame + f->code), at = code ? word_at(frame + f->at) : 0;

		if (!at)
			continue;
		to[0] = code;
		to[1] = at;
		return;
	}
}
