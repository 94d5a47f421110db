/* SPDX-License-Identifier: MIT */
/* Run-time library: hashes of keys, the one copy of each key string. */
#include "rt/hash.h"

/*
 * Returns 1 and the hash of a text of fewer than BLOCK bytes that lies in scratch memory, as what
 * subroutines return does; 0 for others. To copy such a text takes longer than to hash it.
 */
INLINE int short_hash(struct rt_mach *m, const char *p, u64 s, u64 *ret_hash)
{
	u64 h = cfg.hash_seed, off = s - m->scratch, end = 0, n = 0;

	if (cfg.strsize < BLOCK || off > cfg.scratch_size)
		return 0;
#pragma clang loop unroll(full)
	for (u32 k = 0; k < BLOCK / 8; k++) {
		u64 w = end ? 0 : *(const u64 *)(p + off + 8 * k);

		if (!end) {
			end = zero_bytes(w);
			if (end) {
				w &= ((end & -end) >> 7) - 1;
				n = 8 * k + zero_first(end);
			}
		}
		h = hash_word(h, w);
	}
	*ret_hash = hash_end(h, n);
	return end != 0;
}

u64 rt_strhash(struct rt_mach *m, u64 s)
{
	char *p;
	s64 n = 0;
	u64 hash;

	if (!m)
		return 0;
	p = slot_of(m);
	if (!p)
		return 0;
	if (s && (cfg.reads & RT_READS_OWN) && !may_read(m, s, 1))
		return 0;
	if (s && short_hash(m, p, s, &hash))
		return hash;
	if (s) {
		n = text_read(m, p + cfg.text_a, s);
		if (n < 0)
			return 0;
	}
	return text_hash(p, n);
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
