/*
 * Run-time library: content hashes of keys, the one copy of each key string.
 *
 * Keys of aggregations and associative arrays hold a string's hash instead of its text, so two
 * texts with one hash would become one key. The hash has 64 bits, which makes that improbable, and
 * starts from a seed of the session that traced programs do not know, so they cannot construct such
 * texts.
 */
#include "bpf/rt/rt.h"

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

static long hash_text_step(u64 i, void *ctx)
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

/* Most texts that are keys have fewer than 32 bytes, and are hashed without a loop. */
u64 rt_strhash(struct rt_mach *m, u64 s)
{
	struct hash_work *w;
	char *p, *text;
	u64 *end;
	s64 n = 0;

	if (!m)
		return 0;
	p = slot_of(m);
	if (!p)
		return 0;
	text = p + cfg.text_a;
	if (s) {
		n = text_read(m, text, s);
		if (n < 0)
			return 0;
	}
	end = (u64 *)(text + n);
	end[0] = end[1] = end[2] = end[3] = 0;
	if (n < BLOCK)
		return hash_end(hash_block(cfg.hash_seed, (u64 *)text), n);
	w = WORK(p, struct hash_work);
	w->h = cfg.hash_seed;
	w->off = 0;
	loop_run((n + BLOCK - 1) / BLOCK, hash_text_step, p);
	return hash_end(w->h, n);
}

static long hash_bytes_step(u64 i, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct hash_work *w = WORK(p, struct hash_work);
	u64 n = w->left;

	if (n > BLOCK)
		n = BLOCK;
	w->block[0] = w->block[1] = w->block[2] = w->block[3] = 0;
	if (bpf_probe_read_kernel(w->block, n, w->src))
		return 1;
	w->h = hash_block(w->h, w->block);
	w->src += n;
	w->left -= n;
	return w->left == 0;
}

u64 rt_byteshash(struct rt_mach *m, u64 addr, u64 size)
{
	struct hash_work *w;
	char *p;

	if (!m || !may_read(m, addr, size))
		return 0;
	p = slot_of(m);
	if (!p)
		return 0;
	w = WORK(p, struct hash_work);
	w->h = cfg.hash_seed;
	w->src = addr;
	w->left = size;
	if (size)
		loop_run((size + BLOCK - 1) / BLOCK, hash_bytes_step, p);
	if (w->left)
		return fault(m, FAULT_BADADDR, addr);
	return hash_end(w->h, size);
}

u64 rt_keystr(struct rt_mach *m, u64 s, u64 hash)
{
	struct rt_keystr *ks;
	u64 key = hash;
	s64 n = 0;
	char *p;

	if (!m)
		return 0;
	if (bpf_map_lookup_elem(&map_strings, &key))
		return 1;
	p = slot_of(m);
	if (!p)
		return 0;
	ks = (struct rt_keystr *)(p + cfg.text_a);
	if (s) {
		n = text_read(m, ks->data, s);
		if (n < 0)
			return 0;
	}
	ks->len = n;
	ks->data[n] = 0;
	if (bpf_map_update_elem(&map_strings, &key, ks, BPF_NOEXIST) == 0)
		return 1;
	/* BPF_NOEXIST fails if another CPU has added the string since the lookup above. */
	return bpf_map_lookup_elem(&map_strings, &key) != NULL;
}
