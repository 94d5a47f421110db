/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: content hashes.
 *
 * Keys of aggregations and associative arrays hold a string's hash instead of its text, so two
 * texts with one hash would become one key. The hash has 64 bits, which makes that improbable, and
 * starts from a seed of the session that traced programs do not know, so they cannot construct such
 * texts.
 */
#pragma once

#include "rt/rt.h"

#define PRIME_1 0x9e3779b97f4a7c15ull
#define PRIME_2 0xd6e8feb86659fd93ull

INLINE u64 hash_word(u64 h, u64 w)
{
	h = (h ^ w * PRIME_1) * PRIME_2;
	return h ^ h >> 29;
}

INLINE u64 hash_block(u64 h, const u64 *w)
{
	h = hash_word(h, w[0]);
	h = hash_word(h, w[1]);
	h = hash_word(h, w[2]);
	return hash_word(h, w[3]);
}

INLINE u64 hash_end(u64 h, u64 len)
{
	h = hash_word(h, len);
	h *= PRIME_1;
	return h ^ h >> 32;
}

struct hash_work {
	u64 h, off;
	u64 src, left; /* rt_byteshash(): address of the next byte, bytes not yet hashed */
	u64 block[4];
};

#define BLOCK 32u /* bytes; at most RT_TEXT_PAD, because zeros behind a text are hashed with it */

__attribute__((unused)) static long hash_text_step(u64 i, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct hash_work *w = WORK(p, struct hash_work);
	u64 off = w->off;

	if (off > cfg.strsize)
		return 1;
	w->h = hash_block(w->h, (u64 *)(p + cfg.text_a + off));
	w->off = off + BLOCK;
	return 0;
}

/*
 * Returns the hash of the n bytes of text in cfg.text_a, behind which BLOCK bytes are overwritten.
 * Most texts that are keys have fewer than 32 bytes, and are hashed without a loop.
 */
INLINE u64 text_hash(char *p, u64 n)
{
	char *text = p + cfg.text_a;
	u64 *end = (u64 *)(text + n);
	struct hash_work *w;

	end[0] = end[1] = end[2] = end[3] = 0;
	if (n < BLOCK)
		return hash_end(hash_block(cfg.hash_seed, (u64 *)text), n);
	w = WORK(p, struct hash_work);
	w->h = cfg.hash_seed;
	w->off = 0;
	loop_run((n + BLOCK - 1) / BLOCK, hash_text_step, p);
	return hash_end(w->h, n);
}

/*
 * The same for a text of at most 255 bytes elsewhere, which has room for BLOCK bytes behind it.
 */
INLINE u64 text_hash_short(char *text, u64 n)
{
	u64 *end = (u64 *)(text + n), h = cfg.hash_seed;

	end[0] = end[1] = end[2] = end[3] = 0;
#pragma clang loop unroll(disable)
	for (u32 at = 0; at < 256; at += BLOCK) {
		h = hash_block(h, (u64 *)(text + at));
		if (at + BLOCK >= n)
			break;
	}
	return hash_end(h, n);
}
