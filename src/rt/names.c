/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: flags as text, by the table flag_names[] of dif/names.h in the string table.
 */
#include "rt/rt.h"

struct flag_row { /* as struct flag_name of dif/names.h */
	u32 mask, value;
	char name[24];
};

struct flags_work {
	u64 row;  /* address of the next row */
	u64 top;  /* offset of the text in scratch memory */
	u64 len;  /* length of the text; may exceed strsize by the length of one name */
	u32 rest; /* flags without a name so far */
	u32 mask, value;
};

/* Returns a pointer behind the text; NULL if the text already has strsize characters. */
INLINE char *text_at(char *p, struct flags_work *w)
{
	u64 top = w->top, len = w->len;

	OPAQUE(top);
	OPAQUE(len);
	if (top > cfg.scratch_size || len >= cfg.strsize)
		return NULL;
	p += top;
	OPAQUE(p);
	return p + len;
}

INLINE void char_put(char *p, struct flags_work *w, char c)
{
	char *at = text_at(p, w);

	if (!at)
		return;
	*at = c;
	w->len++;
}

static long flag_step(u64 it, void *ctx)
{
	char *p = ((struct loop *)ctx)->p, *at;
	struct flags_work *w = WORK(p, struct flags_work);
	u64 row = w->row;
	s64 n;

	if (w->len >= cfg.strsize || bpf_probe_read_kernel(&w->mask, 8, row))
		return 1;
	w->row = row + sizeof(struct flag_row);
	if ((w->rest & w->mask) != w->value)
		return 0;
	w->rest &= ~w->mask;
	if (w->len)
		char_put(p, w, '|');
	at = text_at(p, w);
	if (!at)
		return 1;
	n = bpf_probe_read_kernel_str(at, sizeof(((struct flag_row *)0)->name),
				      row + __builtin_offsetof(struct flag_row, name));
	if (n > 0)
		w->len += n - 1;
	return 0;
}

static long hex_step(u64 i, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct flags_work *w = WORK(p, struct flags_work);
	u32 shift = 28 - 4 * (i & 7), digit = w->rest >> shift & 15;

	if (shift && w->rest >> shift == 0)
		return 0;
	char_put(p, w, digit < 10 ? '0' + digit : 'a' - 10 + digit);
	return 0;
}

u64 rt_strflags(struct rt_mach *m, u64 rows, u64 flags, u64 table, u64 nrows)
{
	u64 first = rows >> 16, n = rows & 0xffff, top, len;
	struct flags_work *w;
	char *p;

	if (!m)
		return 0;
	p = slot_of(m);
	if (!p)
		return 0;
	if (first > nrows || n > nrows - first)
		return fault(m, FAULT_ILLOP, 0);
	if (!scratch_top(m, &top) || !string_take(m, top))
		return 0;
	w = WORK(p, struct flags_work);
	w->row = m->strtab + table + first * sizeof(struct flag_row);
	w->top = top;
	w->len = 0;
	w->rest = flags;
	loop_run(n, flag_step, p);
	if (w->rest || !w->len) {
		if (w->len)
			char_put(p, w, '|');
		if (w->rest) {
			char_put(p, w, '0');
			char_put(p, w, 'x');
		}
		loop_run(8, hex_step, p);
	}
	len = w->len;
	if (len > cfg.strsize - 1)
		len = cfg.strsize - 1;
	OPAQUE(len);
	if (len < cfg.strsize && top <= cfg.scratch_size)
		p[top + len] = 0;
	return m->scratch + top;
}
