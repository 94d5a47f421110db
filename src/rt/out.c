/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: writing to user memory. This unit is linked only if the kernel has the helper.
 */
#include "rt/rt.h"

struct out_work {
	u64 from, to, left;
	u64 bad; /* address that could not be read or written */
	u32 has_failed;
};

/*
 * Returns size if it is between 1 and strsize, else 0, in a form from which the verifier learns
 * both bounds: Linux 6.1 learns nothing from a comparison with 0, so size - 1 is compared instead.
 */
INLINE u64 size_bounded(u64 size)
{
	u64 less = size - 1;

	OPAQUE(less);
	if (less >= cfg.strsize)
		return 0;
	less++;
	OPAQUE(less);
	return less;
}

/* Copies one piece of up to strsize bytes by way of a text area. */
static long out_step(u64 it, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct out_work *w = WORK(p, struct out_work);
	u64 n = w->left;

	if (n > cfg.strsize)
		n = cfg.strsize;
	n = size_bounded(n);
	if (n == 0)
		return 1;
	w->has_failed = 1;
	w->bad = w->from;
	if (bpf_probe_read_kernel(p + cfg.text_a, n, w->from))
		return 1;
	w->bad = w->to;
	if (bpf_probe_write_user(w->to, p + cfg.text_a, n))
		return 1;
	w->has_failed = 0;
	w->from += n;
	w->to += n;
	w->left -= n;
	return 0;
}

#define PIECES_MAX 65536

u64 rt_sub_copyout(struct rt_mach *m, u64 from, u64 to, u64 size)
{
	struct out_work *w;
	char *p;

	if (!m)
		return 0;
	p = slot_of(m);
	if (!p)
		return 0;
	if (!may_read(m, from, size))
		return 0;
	w = WORK(p, struct out_work);
	*w = (struct out_work){from, to, size, 0, 0};
	loop_run(PIECES_MAX, out_step, p);
	if (w->has_failed)
		return fault(m, FAULT_BADADDR, w->bad == w->to ? to : from);
	return w->left ? fault(m, FAULT_ILLOP, 0) : 0;
}

/*
 * Writes the string with its NUL if that fits into max bytes, else its first max bytes without a
 * NUL.
 */
u64 rt_sub_copyoutstr(struct rt_mach *m, u64 s, u64 to, u64 max)
{
	u64 size;
	char *p;
	s64 n;

	n = text_arg(m, s, &p);
	if (n < 0)
		return 0;
	size = n + 1;
	if (size > max)
		size = max;
	size = size_bounded(size);
	if (size == 0)
		return 0;
	if (bpf_probe_write_user(to, p + cfg.text_a, size))
		return fault(m, FAULT_BADADDR, to);
	return 0;
}
