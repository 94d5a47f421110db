/* SPDX-License-Identifier: MIT */
/*
 * Counters of who is at a program's own probe (semaphores of USDT): the program executes the probe
 * only while its counter is not 0.
 *
 * A uprobe on the probe's nop names the counter, and the kernel increments it in the process as
 * long as the breakpoint is there. A window replaces that uprobe, but nobody could take back an
 * increment of ours when tracer and keeper are killed, and it would race those of the kernel for
 * other tracers, which are no locked instructions. So the kernel counts for us, too: a uprobe
 * without effect is placed at an instruction that is never executed, in padding between functions,
 * and names the counter:
 *
 *     file                              kernel                             process
 *     nop of the probe                                                     nop; jump to the stub
 *     semaphore                         uprobe at the padding, ref_ctr     1
 *     ret; padding                                                         ret; int3
 *
 * The keeper holds the link. Whoever dies, the kernel closes it, removes the breakpoint, and
 * decrements the counter.
 *
 * One instruction of a file has one counter in the kernel. Tracers that choose the same padding for
 * two of them are told so (EINVAL), and take the next one; they begin at a place that depends on
 * the counter, so that this is rare. The breakpoint is safe also where code is executed that nobody
 * knows of: it is a uprobe like others.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <unistd.h>

#include "files/gate.h"
#include "inproc/impl.h"
#include "keeper/keeper.h"
#include "kernel/insn.h"
#include "kernel/kernel.h"
#include "target/code.h"

/* The group of a process's links in the keeper: batches count from 1, others are above. */
#define GROUP(pid) (0x40000000u | (uint32_t)(pid))
#define TRIES	   16 /* at other places when the kernel refuses one */
/* Linux include/linux/errno.h: the kernel cannot probe the instruction */
#define KERNEL_ENOTSUPP 524

static struct inproc_counter *counter_find(const struct inproc_file *f, uint64_t off)
{
	for (uint32_t i = 0; i < f->counters.len; i++)
		if (f->counters.data[i].off == off)
			return &f->counters.data[i];
	return NULL;
}

/* ---- places ---------------------------------------------------------------------------------- */

static bool is_in_window(const struct inproc_file *f, uint64_t addr, uint32_t size)
{
	for (uint32_t i = 0; i < f->plan.windows.len; i++) {
		const struct flow_window *w = &f->plan.windows.data[i];

		if ((addr < w->addr + MAX(w->len, w->jump) && w->addr < addr + size) ||
		    (w->pad && addr < w->pad + FLOW_JUMP && w->pad < addr + size))
			return true;
	}
	return false;
}

static bool idle_is_used(const struct inproc_file *f, uint32_t idle)
{
	for (uint32_t i = 0; i < f->counters.len; i++)
		if (f->counters.data[i].idle == idle)
			return true;
	return false;
}

/* Whether a uprobe can be at this piece of padding, which nothing else uses; sets the place. */
static bool idle_try(const struct inproc_file *f, struct code_check *check, uint32_t idle,
		     struct inproc_counter *ret)
{
	uint64_t addr;
	uint32_t size;
	const uint8_t *code;

	if (idle_is_used(f, idle) || !flow_idle_find(f->flow, idle, &addr, &size) ||
	    is_in_window(f, addr, size) || !segments_off(&f->segs, addr, &ret->idle_off))
		return false;
	code = flow_code(f->flow, addr, size);
	if (!code || code_check_at(check, addr + f->bias, code, size) != CODE_SAME)
		return false;
	ret->idle = idle;
	return true;
}

/* Finds the next place for a counter, behind piece `from` of the padding; false: there is none. */
static bool counter_place(const struct inproc_file *f, struct code_check *check, uint32_t from,
			  struct inproc_counter *ret)
{
	uint32_t n = flow_idle_count(f->flow);

	for (uint32_t i = 0; i < n; i++)
		if (idle_try(f, check, (from + i) % n, ret))
			return true;
	return false;
}

/* Counters lie one behind the other, of two bytes each. */
static uint32_t idle_first(const struct inproc_file *f, uint64_t off)
{
	return (uint32_t)(off / 2 * 7 % MAX(flow_idle_count(f->flow), 1u));
}

void inproc_counters_place(struct inproc *p, struct inproc_file *f, const char **lacks)
{
	struct code_check check;

	code_check_init(&check, p->opts.pid);
	for (uint32_t i = 0; i < f->sites.len; i++) {
		const struct inproc_site *s = &f->sites.data[i];
		struct inproc_counter c = {.off = s->counter_off};

		if (!c.off || lacks[s->index] || counter_find(f, c.off))
			continue;
		if (counter_place(f, &check, idle_first(f, c.off), &c))
			vec_push(&f->counters, c);
		else
			lacks[s->index] = "have a counter, and there is no place for its uprobe";
	}
	code_check_deinit(&check);
}

/* ---- raising --------------------------------------------------------------------------------- */

/* The counters of one file that a unit needs. */
typedef VEC(struct inproc_counter *) counter_vec;

static void counters_collect(const struct inproc *p, struct inproc_file *f, const struct unit *u,
			     counter_vec *ret)
{
	CLEANUP(free) bool *has = xcalloc(MAX(f->counters.len, 1u), sizeof(*has));

	for (uint32_t i = 0; i < u->nprobes; i++)
		for (uint32_t k = 0; k < u->probes[i].code->sites.len; k++) {
			const struct place_site *s = &u->probes[i].code->sites.data[k];
			struct inproc_counter *c =
				s->counter_off && inproc_file_find(p, &s->file->inode) == f
					? counter_find(f, s->counter_off)
					: NULL;

			if (c && !has[c - f->counters.data]) {
				has[c - f->counters.data] = true;
				vec_push(ret, c);
			}
		}
}

/* Whether the kernel has links for many instructions of one process. */
static bool has_multi(void)
{
	return feat_has(FEAT_UPROBE_MULTI) && feat_has(FEAT_UPROBE_TGID);
}

static int program_make(void)
{
	const struct bpf_insn insns[] = {INSNS_RETURN(0)};

	return insns_load(BPF_PROG_TYPE_KPROBE, has_multi() ? ATTACH_UPROBE_MULTI : 0, insns,
			  ARRAY_LEN(insns), "fathom_counter");
}

static struct err *uprobes_place(const struct inproc *p, const struct inproc_file *f, int prog,
				 const counter_vec *list)
{
	CLEANUP(free) uint64_t *offs = xcalloc(list->len, sizeof(*offs));
	CLEANUP(free) uint64_t *cookies = xcalloc(list->len, sizeof(*cookies));
	CLEANUP(free) uint64_t *counters = xcalloc(list->len, sizeof(*counters));
	bool is_multi = has_multi();
	struct err *e = NULL;
	int fd = gate_file_fd(f->opened);

	for (uint32_t i = 0; i < list->len; i++) {
		offs[i] = list->data[i]->idle_off;
		counters[i] = list->data[i]->off;
	}
	for (uint32_t i = 0, n; i < list->len && !e; i += n) {
		struct uprobe_sites sites = {.offsets = offs + i,
					     .cookies = cookies + i,
					     .counters = counters + i};

		n = is_multi ? MIN(list->len - i, (uint32_t)KEEPER_SITES_MAX) : 1;
		sites.n = n;
		if (is_multi)
			e = keeper_uprobe_multi(p->keeper, prog, fd, p->opts.pid, &sites);
		else
			e = keeper_uprobe(p->keeper, prog, fd, p->opts.pid, offs[i], 0, counters[i],
					  false);
	}
	return e;
}

/* Another tracer has one of the instructions for another counter, or the kernel cannot probe it. */
static bool is_about_place(const struct err *e)
{
	return err_get_sys(e) == EINVAL || err_get_sys(e) == KERNEL_ENOTSUPP;
}

/* All get another place: the kernel does not say which one it has refused. */
static bool counters_move(const struct inproc *p, const struct inproc_file *f,
			  const counter_vec *list)
{
	struct code_check check;
	bool is_done = true;

	code_check_init(&check, p->opts.pid);
	for (uint32_t i = 0; i < list->len && is_done; i++)
		is_done = counter_place(f, &check, list->data[i]->idle + 1, list->data[i]);
	code_check_deinit(&check);
	return is_done;
}

static struct err *file_raise(const struct inproc *p, const struct inproc_file *f, int prog,
			      const counter_vec *list)
{
	struct err *e = uprobes_place(p, f, prog, list);

	for (uint32_t i = 0; i < TRIES && e && is_about_place(e); i++) {
		err_destroy(e);
		e = counters_move(p, f, list) ? uprobes_place(p, f, prog, list)
					      : err_new("there is no place for a uprobe");
	}
	if (e && err_get_sys(e) == ESRCH) { /* the process has ended */
		err_destroy(e);
		e = NULL;
	}
	return e ? err_wrap(e, "cannot raise the counters of probes in '%s' of process %d", f->name,
			    (int)p->opts.pid)
		 : NULL;
}

struct err *inproc_counters_raise(struct inproc *p, const struct unit *u)
{
	CLEANUP(fd) int prog = -1;
	struct err *e = NULL;

	for (uint32_t i = 0; i < p->files.len && !e; i++) {
		struct inproc_file *f = p->files.data[i];
		counter_vec list = {0};

		if (f->counters.len)
			counters_collect(p, f, u, &list);
		if (list.len && prog < 0)
			prog = program_make();
		if (list.len && prog < 0)
			e = err_sys(errno, "the kernel refused the program of counters");
		if (list.len && !e) {
			p->has_counters = true;
			keeper_set_group(p->keeper, GROUP(p->opts.pid));
			e = file_raise(p, f, prog, &list);
			keeper_set_group(p->keeper, 0);
		}
		vec_deinit(&list);
	}
	return e;
}

void inproc_counters_drop(struct inproc *p)
{
	struct err *e = NULL;

	if (p->has_counters)
		e = keeper_drop_group(p->keeper, GROUP(p->opts.pid), true);
	if (e)
		inproc_debug(p, "counters", e);
	err_destroy(e); /* the keeper is gone, and its links with it */
	p->has_counters = false;
}
