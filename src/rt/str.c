/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: string subroutines that need no search: they compute lengths, compare, take
 * substrings, join strings and change case.
 */
#include "rt/rt.h"

u64 rt_sub_strlen(struct rt_mach *m, u64 s)
{
	char *p;
	s64 n;

	if (!m)
		return 0;
	p = slot_of(m);
	if (!p)
		return 0;
	n = text_read(m, p + cfg.text_a, s);
	return n < 0 ? 0 : n;
}

u64 rt_sub_strjoin(struct rt_mach *m, u64 s, u64 t)
{
	u64 top;
	s64 n;
	char *p;

	if (!m)
		return 0;
	p = slot_of(m);
	if (!p || !scratch_top(m, &top))
		return 0;
	n = text_read(m, p + top, s);
	if (n < 0 || text_read(m, p + top + n, t) < 0)
		return 0;
	if (!string_take(m, top))
		return 0;
	p[top + cfg.strsize - 1] = 0;
	return m->scratch + top;
}

/* No sum below overflows: the operands have different signs, or both are below strsize. */
u64 rt_sub_substr(struct rt_mach *m, u64 s, u64 index, u64 length)
{
	s64 i = index, len = length, n;
	u64 top;
	char *p;

	if (!m)
		return 0;
	p = slot_of(m);
	if (!p || !scratch_top(m, &top))
		return 0;
	n = text_read(m, p + top, s);
	if (n < 0 || !string_take(m, top))
		return 0;
	if (i < 0) {
		i += n;
		if (i < 0) {
			len = len > 0 && len + i > 0 ? len + i : 0;
			i = len ? 0 : n;
		}
	}
	if (i > n)
		i = n;
	if (len < 0)
		len += n - i;
	if (len < 0)
		len = 0;
	if (len > n - i)
		len = n - i;
	OPAQUE(i);
	OPAQUE(len);
	if ((u64)i > cfg.strsize || (u64)len > cfg.strsize)
		return 0;
	p[top + i + len] = 0;
	return m->scratch + top + i;
}

/* ---- comparison ------------------------------------------------------------------------- */

struct cmp_work {
	u64 off;
	u64 a, b; /* the first words that differ; both 0 if none does */
};

static long cmp_step(u64 i, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct cmp_work *w = WORK(p, struct cmp_work);
	u64 off = w->off, a, b;

	if (off > cfg.strsize)
		return 1;
	a = *(u64 *)(p + cfg.text_a + off);
	b = *(u64 *)(p + cfg.text_b + off);
	w->off = off + 8;
	if (a == b)
		return 0;
	w->a = a;
	w->b = b;
	return 1;
}

/*
 * Compares eight bytes of each text as strcmp() does: the byte with the lowest address decides
 * first.
 */
INLINE s64 words_compare(u64 a, u64 b)
{
	a = __builtin_bswap64(a);
	b = __builtin_bswap64(b);
	return a < b ? -1 : a > b;
}

/* In D, the string NULL equals "". */
u64 rt_strcmp(struct rt_mach *m, u64 s, u64 t)
{
	char *p, *a, *b;
	s64 na = 0, nb = 0;
	struct cmp_work *w;
	u64 wa, wb;

	if (!m)
		return 0;
	p = slot_of(m);
	if (!p)
		return 0;
	a = p + cfg.text_a;
	b = p + cfg.text_b;
	if (s) {
		na = text_read(m, a, s);
		if (na < 0)
			return 0;
	}
	if (t) {
		nb = text_read(m, b, t);
		if (nb < 0)
			return 0;
	}
	text_end(a, na);
	text_end(b, nb);
	wa = *(u64 *)a;
	wb = *(u64 *)b;
	if (wa != wb)
		return words_compare(wa, wb);
	if (na < 8) /* both texts end inside these equal words */
		return 0;
	w = WORK(p, struct cmp_work);
	w->off = 8;
	w->a = w->b = 0;
	loop_run(na / 8, cmp_step, p);
	return words_compare(w->a, w->b);
}

/* ---- memory as text --------------------------------------------------------------------- */

struct memstr_work {
	u64 off, end;
	u64 fill;
};

/*
 * Replaces the zero bytes of eight by fill. Adding 0x7f to the low seven bits of a byte carries
 * into no other byte, so bit 7 of the sum, or of the byte itself, marks exactly the bytes that are
 * not zero.
 */
static long memstr_step(u64 i, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct memstr_work *w = WORK(p, struct memstr_work);
	u64 off = w->off, word, zeros;

	if (off >= w->end || off > cfg.scratch_size)
		return 1;
	word = *(u64 *)(p + off);
	zeros = ~(((word & BYTES(0x7f)) + BYTES(0x7f)) | word) & BYTES(0x80);
	*(u64 *)(p + off) = word | ((zeros >> 7) * 0xff & w->fill);
	w->off = off + 8;
	return 0;
}

#define MEMSTR_MAX 4096

u64 rt_sub_memstr(struct rt_mach *m, u64 addr, u64 c, u64 size)
{
	struct memstr_work *w;
	u64 top;
	char *p;

	if (!m || size == 0)
		return 0;
	if (size > MEMSTR_MAX)
		return fault(m, FAULT_ILLOP, 0);
	p = slot_of(m);
	if (!p || !scratch_top(m, &top))
		return 0;
	if (size > cfg.strsize)
		size = cfg.strsize;
	if (!may_read(m, addr, size))
		return 0;
	if (bpf_probe_read_kernel(p + top, size, addr))
		return fault(m, FAULT_BADADDR, addr);
	if (!string_take(m, top))
		return 0;
	w = WORK(p, struct memstr_work);
	w->off = top;
	w->end = top + size;
	w->fill = BYTES(c & 0xff);
	loop_run((size + 7) / 8, memstr_step, p);
	OPAQUE(size);
	if (size - 1 >= cfg.strsize)
		return 0;
	p[top + size - 1] = 0;
	return m->scratch + top;
}

/* ---- case ------------------------------------------------------------------------------- */

struct case_work {
	u64 off, end;
	u64 first; /* 'A' or 'a' */
};

/*
 * Flips bit 5, which tells upper from lower case, in those of eight bytes that lie between first
 * and first + 25. Adding 0x80 - bound to the low seven bits of a byte sets bit 7 exactly if they
 * are at least bound.
 */
static long case_step(u64 i, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct case_work *w = WORK(p, struct case_work);
	u64 off = w->off, first = w->first & 0x7f, text, low, from, past;

	if (off >= w->end || off > cfg.scratch_size)
		return 1;
	text = *(u64 *)(p + off);
	low = text & BYTES(0x7f);
	from = low + BYTES(0x80 - first);
	past = low + BYTES(0x80 - first - 26);
	*(u64 *)(p + off) = text ^ ((from & ~past & ~text & BYTES(0x80)) >> 2);
	w->off = off + 8;
	return 0;
}

INLINE u64 case_flip(struct rt_mach *m, u64 s, char first)
{
	struct case_work *w;
	u64 top;
	s64 n;
	char *p;

	if (!m)
		return 0;
	p = slot_of(m);
	if (!p || !scratch_top(m, &top))
		return 0;
	n = text_read(m, p + top, s);
	if (n < 0 || !string_take(m, top))
		return 0;
	w = WORK(p, struct case_work);
	w->off = top;
	w->end = top + n;
	w->first = first;
	loop_run((n + 7) / 8, case_step, p);
	return m->scratch + top;
}

u64 rt_sub_toupper(struct rt_mach *m, u64 s)
{
	return case_flip(m, s, 'a');
}

u64 rt_sub_tolower(struct rt_mach *m, u64 s)
{
	return case_flip(m, s, 'A');
}
