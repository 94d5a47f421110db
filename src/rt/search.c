/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: the searches index, rindex, strstr, strchr and strrchr.
 *
 * A search for a text (the needle) of up to 8 bytes compares one masked word at each position, and
 * skips eight positions when the needle's first byte occurs in none of them. Longer needles are
 * found by the algorithm of Knuth, Morris and Pratt, whose table of borders bounds the time: a
 * naive search for 32 KiB of 'a' in 64 KiB of 'a' could take a billion steps inside a probe.
 */
#include "rt/rt.h"

#define WORD 8

struct search_work {
	u64 i, j;
	u64 end; /* short needles: last position to try; long ones: where the text ends */
	u64 needle_len;
	u64 needle, mask; /* the first 8 bytes of the needle, and a mask of those that it has */
	s64 found;	  /* position, -1: not found yet */
	u64 wants_last;
};

static long find_short_step(u64 it, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct search_work *w = WORK(p, struct search_work);
	u64 i = w->i, word;

	if (i > w->end || i > cfg.strsize)
		return 1;
	word = *(u64 *)(p + cfg.text_a + i);
	if (((word ^ w->needle) & w->mask) == 0) {
		w->found = i;
		return 1;
	}
	/* The shift brings in a zero byte, which never equals the first byte of a needle. */
	w->i = i + (zero_bytes((word >> 8) ^ BYTES(w->needle & 0xff)) ? 1 : WORD);
	return 0;
}

static long find_short_back_step(u64 it, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct search_work *w = WORK(p, struct search_work);
	u64 i = w->i;

	if (i > cfg.strsize)
		return 1;
	if (((*(u64 *)(p + cfg.text_a + i) ^ w->needle) & w->mask) == 0) {
		w->found = i;
		return 1;
	}
	w->i = i - 1; /* below 0 the number wraps around, and the next step ends the loop */
	return 0;
}

/*
 * One step of building the table: table[n] = longest proper border of the needle's first n bytes.
 */
static long borders_step(u64 it, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct search_work *w = WORK(p, struct search_work);
	char *needle = p + cfg.text_b;
	u32 *table = (u32 *)(p + cfg.table_off);
	u64 i = w->i, j = w->j;

	if (i >= w->needle_len || i >= cfg.strsize || j >= cfg.strsize)
		return 1;
	if (needle[i] == needle[j]) {
		j++;
		table[i + 1] = j;
		w->i = i + 1;
	} else if (j) {
		j = table[j];
	} else {
		table[i + 1] = 0;
		w->i = i + 1;
	}
	w->j = j;
	return 0;
}

static long find_long_step(u64 it, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct search_work *w = WORK(p, struct search_work);
	u32 *table = (u32 *)(p + cfg.table_off);
	u64 i = w->i, j = w->j;

	if (i >= w->end || i >= cfg.strsize || j >= cfg.strsize)
		return 1;
	if (p[cfg.text_a + i] == p[cfg.text_b + j]) {
		w->i = i + 1;
		if (j + 1 == w->needle_len) {
			w->found = i - j;
			if (!w->wants_last)
				return 1;
			j = table[j + 1];
		} else {
			j++;
		}
	} else if (j) {
		j = table[j];
	} else {
		w->i = i + 1;
	}
	w->j = j;
	return 0;
}

/*
 * Finds the k bytes in text_b among the n bytes in text_a, and returns the first position from
 * `from` on, or with wants_last the last position up to `from`; -1 if there is none. The caller
 * ensures that 0 < k <= n and from <= n - k, and that 8 zero bytes follow both texts (text_end()).
 */
INLINE s64 text_find(char *p, u64 n, u64 k, u64 from, int wants_last)
{
	struct search_work *w = WORK(p, struct search_work);

	u64 head = MIN(k, WORD);

	w->found = -1;
	w->needle_len = k;
	w->wants_last = wants_last;
	w->mask = head == WORD ? ~0ull : (1ull << 8 * head) - 1;
	w->needle = *(u64 *)(p + cfg.text_b) & w->mask;
	w->i = from;
	w->end = n - k;
	if (k <= WORD && wants_last) {
		loop_run(from + 1, find_short_back_step, p);
		return w->found;
	}
	if (!wants_last) {
		/*
		 * For a long needle this finds the first 8 bytes: where they do not occur, no table
		 * is built.
		 */
		loop_run(n - k - from + 1, find_short_step, p);
		if (k <= WORD || w->found < 0)
			return w->found;
		from = w->found;
		w->found = -1;
	}
	((u32 *)(p + cfg.table_off))[1] = 0;
	w->i = 1;
	w->j = 0;
	loop_run(2 * k, borders_step, p);
	w->i = wants_last ? 0 : from;
	w->j = 0;
	w->end = wants_last ? from + k : n;
	loop_run(2 * n, find_long_step, p);
	return w->found;
}

/* Reads both arguments into text_a and text_b, as text_find() requires; returns 0 after a fault. */
INLINE int texts_read(struct rt_mach *m, char *p, u64 s, u64 t, s64 *ret_n, s64 *ret_k)
{
	s64 n, k;

	n = text_read(m, p + cfg.text_a, s);
	if (n < 0)
		return 0;
	text_end(p + cfg.text_a, n);
	k = text_read(m, p + cfg.text_b, t);
	if (k < 0)
		return 0;
	text_end(p + cfg.text_b, k);
	*ret_n = n;
	*ret_k = k;
	return 1;
}

u64 rt_sub_index(struct rt_mach *m, u64 s, u64 t, u64 start)
{
	s64 from = start, n, k;
	char *p;

	if (!m)
		return 0;
	p = slot_of(m);
	if (!p || !texts_read(m, p, s, t, &n, &k))
		return 0;
	if (from < 0)
		from = 0;
	if (from > n)
		from = n;
	if (from > n - k)
		return -1;
	return k == 0 ? from : text_find(p, n, k, from, 0);
}

u64 rt_sub_rindex(struct rt_mach *m, u64 s, u64 t, u64 start)
{
	s64 from = start, n, k;
	char *p;

	if (!m)
		return 0;
	p = slot_of(m);
	if (!p || !texts_read(m, p, s, t, &n, &k))
		return 0;
	if (from < 0)
		return k == 0 ? 0 : -1;
	if (from > n - k)
		from = n - k;
	if (from < 0)
		return -1;
	return k == 0 ? from : text_find(p, n, k, from, 1);
}

u64 rt_sub_strstr(struct rt_mach *m, u64 s, u64 t)
{
	s64 n, k, at;
	char *p;

	if (!m)
		return 0;
	p = slot_of(m);
	if (!p || !texts_read(m, p, s, t, &n, &k))
		return 0;
	if (k == 0)
		return s;
	if (k > n)
		return 0;
	at = text_find(p, n, k, 0, 0);
	return at < 0 ? 0 : s + at;
}

/* ---- one character ---------------------------------------------------------------------- */

struct chr_work {
	u64 off;
	u64 bytes;
	u64 hit; /* the word that has the character, xor bytes: the character's byte is zero */
	u64 is_found;
};

static long chr_step(u64 it, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct chr_work *w = WORK(p, struct chr_work);
	u64 off = w->off, word;

	if (off > cfg.strsize)
		return 1;
	word = *(u64 *)(p + cfg.text_a + off) ^ w->bytes;
	if (zero_bytes(word)) {
		w->hit = word;
		w->is_found = 1;
		return 1;
	}
	w->off = off + WORD;
	return 0;
}

static long chr_back_step(u64 it, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct chr_work *w = WORK(p, struct chr_work);
	u64 off = w->off, word;

	if (off > cfg.strsize)
		return 1;
	word = *(u64 *)(p + cfg.text_a + off) ^ w->bytes;
	if (zero_bytes(word)) {
		w->hit = word;
		w->is_found = 1;
		return 1;
	}
	w->off = off - WORD;
	return 0;
}

u64 rt_sub_strchr(struct rt_mach *m, u64 s, u64 c)
{
	struct chr_work *w;
	u64 hit, at;
	char *p;
	s64 n;

	n = text_arg(m, s, &p);
	if (n < 0)
		return 0;
	if ((c & 0xff) == 0)
		return s + n;
	text_end(p + cfg.text_a, n);
	w = WORK(p, struct chr_work);
	w->off = 0;
	w->bytes = BYTES(c & 0xff);
	w->is_found = 0;
	loop_run((n + WORD - 1) / WORD, chr_step, p);
	if (!w->is_found)
		return 0;
	at = w->off;
	hit = zero_bytes(w->hit);
	for (int i = 0; i < WORD - 1 && !(hit & 0x80); i++) {
		hit >>= 8;
		at++;
	}
	return s + at;
}

u64 rt_sub_strrchr(struct rt_mach *m, u64 s, u64 c)
{
	struct chr_work *w;
	u64 hit, at;
	char *p;
	s64 n;

	n = text_arg(m, s, &p);
	if (n < 0)
		return 0;
	if ((c & 0xff) == 0)
		return s + n;
	text_end(p + cfg.text_a, n);
	w = WORK(p, struct chr_work);
	w->off = n & ~(u64)(WORD - 1);
	w->bytes = BYTES(c & 0xff);
	w->is_found = 0;
	loop_run(n / WORD + 1, chr_back_step, p);
	if (!w->is_found)
		return 0;
	/*
	 * Bytes are tested one by one from the top, because only the lowest bit of zero_bytes() is
	 * exact.
	 */
	at = w->off + WORD - 1;
	hit = w->hit;
	for (int i = 0; i < WORD - 1 && hit >> 56; i++) {
		hit <<= 8;
		at--;
	}
	return s + at;
}
