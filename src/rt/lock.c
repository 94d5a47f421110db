/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: subroutines that read kernel objects (processes, locks), and chill().
 */
#include "rt/numbers.h"

/* ---- processes -------------------------------------------------------------------------- */

u64 rt_pid_tgid(struct rt_mach *m)
{
	u64 task = bpf_get_current_task();

	return process_number(task) << 32 | thread_number(task);
}

u64 rt_ppid(struct rt_mach *m)
{
	u64 parent = 0;

	bpf_probe_read_kernel(&parent, sizeof(parent), bpf_get_current_task() + NS.task_parent);
	return process_number(parent);
}

#define PID_DIGITS 10

struct provider_work {
	u64 top, len; /* the text in scratch memory */
	u32 pid, power;
};

/* Appends the next digit, without leading zeros. */
static long digit_step(u64 it, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct provider_work *w = WORK(p, struct provider_work);
	u32 power = w->power;
	u64 top = w->top, len = w->len;

	w->power = power / 10;
	if (w->pid < power)
		return 0;
	OPAQUE(top);
	OPAQUE(len);
	if (top > cfg.scratch_size || len >= cfg.strsize - 1 || !power)
		return 1;
	p[top + len] = '0' + w->pid / power % 10;
	w->len = len + 1;
	return 0;
}

u64 rt_provider(struct rt_mach *m, u64 name)
{
	struct provider_work *w;
	u64 top, len;
	char *p;
	s64 n;

	if (!m)
		return 0;
	if (!(name & RT_NAME_PID))
		return m->strtab + name;
	p = slot_of(m);
	if (!p || !scratch_top(m, &top))
		return 0;
	n = text_read(m, p + top, m->strtab + (name & ~(u64)RT_NAME_PID));
	if (n < 0 || !string_take(m, top))
		return 0;
	w = WORK(p, struct provider_work);
	w->top = top;
	w->len = n;
	w->pid = NS.level ? process_number(bpf_get_current_task())
			  : bpf_get_current_pid_tgid() >> 32;
	w->power = 1000000000;
	loop_run(PID_DIGITS, digit_step, p);
	len = w->len;
	OPAQUE(len);
	if (len < cfg.strsize && top <= cfg.scratch_size)
		p[top + len] = 0;
	return m->scratch + top;
}

#define MAX_ANCESTORS 4096

struct family {
	u64 task, parent_off, tgid_off;
	s32 pid, is_found;
};

static long family_step(u64 it, void *ctx)
{
	struct family *f = ctx;
	u64 parent = 0;
	s32 tgid = 0;

	if (bpf_probe_read_kernel(&tgid, sizeof(tgid), f->task + f->tgid_off) ||
	    bpf_probe_read_kernel(&parent, sizeof(parent), f->task + f->parent_off))
		return 1;
	if (NS.level)
		tgid = process_number(f->task);
	if (tgid == f->pid) {
		f->is_found = 1;
		return 1;
	}
	if (parent == 0 || parent == f->task) /* the first task is its own parent */
		return 1;
	f->task = parent;
	return 0;
}

u64 rt_progenyof(struct rt_mach *m, u64 pid, u64 parent_off, u64 tgid_off)
{
	struct family f = {bpf_get_current_task(), parent_off, tgid_off, pid, 0};

	if (!m)
		return 0;
	bpf_loop(MAX_ANCESTORS, family_step, &f, 0);
	return f.is_found;
}

/* ---- locks ------------------------------------------------------------------------------ */

u64 rt_lock_word(struct rt_mach *m, u64 addr, u64 size)
{
	u64 word = 0;

	if (!m)
		return 0;
	if (size == 4 ? bpf_probe_read_kernel(&word, 4, addr)
		      : bpf_probe_read_kernel(&word, 8, addr))
		return fault(m, FAULT_BADADDR, addr);
	return word;
}

/* ---- chill ------------------------------------------------------------------------------ */

#define CHILL_INTERVAL 1000000000ull /* ns */
#define CHILL_MAX      500000000ull  /* in that time */

static long chill_step(u64 it, void *ctx)
{
	u64 *until = ctx;

	return bpf_ktime_get_ns() >= *until;
}

u64 rt_chill(struct rt_mach *m, u64 ns)
{
	u64 now = bpf_ktime_get_ns(), until = now + ns;
	struct rt_cpu *c;
	u32 cpu;

	if (!m)
		return 0;
	cpu = m->cpu;
	if (cpu >= cfg.ncpus)
		return 0;
	c = &val_control.cpu[cpu];
	if (now - c->chill_from > CHILL_INTERVAL) {
		c->chill_from = now;
		c->chilled = 0;
	}
	if (ns > CHILL_MAX || c->chilled + ns > CHILL_MAX)
		return fault(m, FAULT_ILLOP, 0);
	/* a loop ends after 8 million steps: with this many of them half a second is waited in any
	 * case */
	for (int i = 0; i < 16 && bpf_ktime_get_ns() < until; i++)
		bpf_loop(1 << 23, chill_step, &until, 0);
	c->chilled += ns;
	m->timestamp = bpf_ktime_get_ns();
	return 0;
}
