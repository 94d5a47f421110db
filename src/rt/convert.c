/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: the conversions between numbers and text, lltostr and strtoll.
 */
#include "rt/rt.h"

#define MAX_DIGITS 64

struct digits_work {
	u64 v, base, i;
	char text[MAX_DIGITS + 16]; /* filled from the end of the first MAX_DIGITS + 8 */
};
#define DIGITS_END (MAX_DIGITS + 8)

INLINE void digit_put(struct digits_work *w, char c)
{
	u64 i = w->i - 1;

	if (i >= DIGITS_END)
		return;
	w->text[i] = c;
	w->i = i;
}

static long digits_step(u64 it, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct digits_work *w = WORK(p, struct digits_work);
	u64 v = w->v, base = w->base, d = v % base;

	digit_put(w, d < 10 ? '0' + d : 'a' - 10 + d);
	w->v = v / base;
	return v < base;
}

u64 rt_sub_lltostr(struct rt_mach *m, u64 v, u64 base)
{
	struct digits_work *w;
	u64 top, i, len;
	int is_negative = base == 10 && (s64)v < 0;
	char *p;

	if (!m)
		return 0;
	p = slot_of(m);
	if (!p)
		return 0;
	if (base < 2 || base > 36)
		return fault(m, FAULT_ILLOP, 0);
	if (!scratch_top(m, &top) || !string_take(m, top))
		return 0;
	w = WORK(p, struct digits_work);
	w->v = is_negative ? -v : v;
	w->base = base;
	w->i = DIGITS_END;
	loop_run(MAX_DIGITS, digits_step, p);
	if (is_negative)
		digit_put(w, '-');
	if (base == 16)
		digit_put(w, 'x');
	if (base == 16 || (base == 8 && v != 0))
		digit_put(w, '0');
	i = w->i;
	OPAQUE(i);
	if (i > DIGITS_END)
		return 0;
	len = DIGITS_END - i;
	if (len > cfg.strsize - 1)
		len = cfg.strsize - 1;
	OPAQUE(len);
	if (len > DIGITS_END)
		return 0;
	bpf_probe_read_kernel(p + top, len, (u64)(w->text + i));
	p[top + len] = 0;
	return m->scratch + top;
}

enum strtoll_phase { SPACE, SIGN, PREFIX, DIGITS };

struct strtoll_work {
	u64 i, v, base, phase, is_negative;
};

INLINE u64 digit_value(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'z' ? c - 'a' + 10 : 99;
}

/* Handles one byte of the text. A phase that cannot use the byte hands it to the next phase. */
static long strtoll_step(u64 it, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct strtoll_work *w = WORK(p, struct strtoll_work);
	u64 i = w->i, d;
	unsigned char c;

	if (i > cfg.strsize)
		return 1;
	c = p[cfg.text_a + i];
	if (w->phase == SPACE) {
		if (c == ' ' || (c >= '\t' && c <= '\r')) {
			w->i = i + 1;
			return 0;
		}
		w->phase = SIGN;
	}
	if (w->phase == SIGN) {
		w->phase = PREFIX;
		w->is_negative = c == '-';
		if (c == '-' || c == '+') {
			w->i = i + 1;
			return 0;
		}
	}
	if (w->phase == PREFIX) {
		w->phase = DIGITS;
		if (w->base == 16 && c == '0' && (p[cfg.text_a + i + 1] | 0x20) == 'x') {
			w->i = i + 2;
			return 0;
		}
	}
	d = digit_value(c);
	if (d >= w->base)
		return 1;
	w->v = w->v * w->base + d;
	w->i = i + 1;
	return 0;
}

u64 rt_sub_strtoll(struct rt_mach *m, u64 s, u64 base)
{
	struct strtoll_work *w;
	char *p;
	s64 n;

	n = text_arg(m, s, &p);
	if (n < 0)
		return 0;
	if (base < 2 || base > 36)
		return fault(m, FAULT_ILLOP, 0);
	text_end(p + cfg.text_a, n);
	w = WORK(p, struct strtoll_work);
	w->i = w->v = w->is_negative = 0;
	w->base = base;
	w->phase = SPACE;
	loop_run(n, strtoll_step, p);
	return w->is_negative ? -w->v : w->v;
}
