/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: what a walk with helpers finds of the process that it walks, its entry in
 * MAP_HPROCS.
 *
 * The consumer makes the entry when a walk has asked, or when the session begins. A process that no
 * walk has met yet gets one here, if all that its helpers' attach clauses would find is fixed by
 * the files that it maps (MAP_HFILES, MAP_HCONSTS).
 */
/* This file uses the struct of arch/frame.h, and none of its steps. */
#pragma clang diagnostic ignored "-Wundefined-internal"
#include "rt/runtimes.h"

extern char map_hprocs;
extern u64 val_hcode[];

/*
 * Writes the key under which the process was attached if it ran when the session began. What is
 * read goes through the request, because the chain of calls leaves little room on the stack
 * (kernel/budget.h).
 */
INLINE void begun_key_write(struct unwind_work *w, u64 pid)
{
	bpf_probe_read_kernel(&w->req.start, 8, w->task + K.task_leader);
	bpf_probe_read_kernel(&w->req.start, 8, w->req.start + K.task_start);
	bpf_probe_read_kernel(&w->req.end, 8, w->mm + K.mm_arg_start);
	w->req.start =
		rt_helper_begun_key(pid, (w->req.start + (u64)K.boot_offset) / K.tick, w->req.end);
}

/* Where a file of MAP_HFILES is mapped is kept in a register that no helper uses yet. */
#define FILE_BASE(h, number) ((h)->regs[HREG_LOCALS + ((number)&RT_HFILES_MAX)])
_Static_assert(RT_HFILES_MAX < RT_HELPER_LOCALS, "registers for the files");

/* Notes the file whose code is mapped in a range. */
INLINE void file_note(struct unwind_work *w, struct rt_hwork *h, u64 vma)
{
	u64 file = code_file_key(w, vma), number;
	struct rt_hfile *f;

	if (!file)
		return;
	f = runtime_note(&h->found, (u64 *)h->text, w, file, !h->found.nnames);
	if (!f)
		return;
	number = f->number & RT_HFILES_MAX;
	OPAQUE(number);
	number &= RT_HFILES_MAX;
	FILE_BASE(h, number) =
		read_word(vma + K.vma_start) - (read_word(vma + K.vma_pgoff) << FRAME_PAGE_SHIFT);
}

static long file_step(u64 i, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct unwind_work *w = WALK(p);
	u64 vma = range_find(w, 1);

	if (vma)
		file_note(w, HELPER(p), vma);
	w->f.insn = w->range_end + 1;
	return w->f.insn == 0;
}

/* Computes values that are in files from where these are mapped. */
INLINE void values_place(struct rt_hwork *h, const struct rt_hconst *c)
{
	u64 number;

#pragma clang loop unroll(disable)
	for (u64 i = 0; i < RT_HELPER_GLOBALS; i++) {
		number = c->file_of[i] & RT_HFILES_MAX;
		OPAQUE(number);
		number &= RT_HFILES_MAX;
		if (number)
			h->regs[HREG_GLOBALS + i] += FILE_BASE(h, number);
	}
}

/*
 * Makes the entry of a process of what is known of the files that it maps; false if that is not
 * all. The entry is in the registers then.
 */
INLINE u64 hproc_make(char *p)
{
	struct unwind_work *w = WALK(p);
	struct rt_hwork *h = HELPER(p);
	u64 insn = w->f.insn;
	struct rt_hconst *c;

	runtimes_begin(&h->found);
	if (!val_control.has_constants && !val_control.nnames)
		return 0;
	w->f.insn = 0;
	loop_run(RT_HRANGES, file_step, p);
	h->found.has_strangers |= w->f.insn; /* there are more ranges */
	w->f.insn = insn;
	c = runtimes_constants(&h->found);
	if (!c ||
	    bpf_probe_read_kernel(&h->regs[HREG_PROC], sizeof(struct rt_hproc), (u64)&c->proc))
		return 0;
	values_place(h, c);
	return 1;
}

/*
 * Tells the consumer of a process that no walk has met yet. Its entry is a copy of that which was
 * made when the session began, or is made of what its files fix. Else it is empty, so that only the
 * first walk asks, and its values are not read until the consumer has filled them.
 */
INLINE void hproc_ask(const struct rt_mach *m, char *p)
{
	struct unwind_work *w = WALK(p);
	struct rt_hwork *h = HELPER(p);
	u64 pid = cfg.pidns.level ? m->pid : bpf_get_current_pid_tgid() >> 32;
	struct rt_hproc *begun;
	u64 program = 0;
	long failed;

	if (cfg.pidns.level && !pid)
		return;
	begun_key_write(w, pid);
	begun = bpf_map_lookup_elem(&map_hprocs, &w->req.start);
	if (begun) {
		program = begun->program;
		failed = bpf_map_update_elem(&map_hprocs, &h->key, begun, BPF_NOEXIST);
	} else {
		w->req.start = 0;
		if (hproc_make(p)) {
			program = ((struct rt_hproc *)&h->regs[HREG_PROC])->program;
		} else {
			h->regs[HREG_PROC] = 0;
			((struct rt_hproc *)&h->regs[HREG_PROC])->names = h->found.nnames != 0;
		}
		failed =
			bpf_map_update_elem(&map_hprocs, &h->key, &h->regs[HREG_PROC], BPF_NOEXIST);
	}
	if (failed)
		return;
	w->req.key.ino = h->key;
	w->req.key.size = program;
	w->req.end = 0;
	w->req.pid = pid;
	w->map_start = w->map_end = 0;
	if (bpf_ringbuf_output(&map_ureq, &w->req, sizeof(w->req), 0))
		bpf_map_delete_elem(&map_hprocs, &h->key);
}

/*
 * Counts a stack of a process whose helpers are not known yet. The count has an entry of its own,
 * because the consumer replaces the one of the process.
 */
INLINE void bare_count(struct unwind_work *w, struct rt_hwork *h)
{
	struct rt_hproc *count;

	h->key = RT_HELPER_BARE_KEY(w->key);
	h->regs[HREG_PROC] = h->regs[HREG_GLOBALS] = 0;
	count = bpf_map_lookup_elem(&map_hprocs, &h->key);
	if (!count) {
		(void)bpf_map_update_elem(&map_hprocs, &h->key, &h->regs[HREG_PROC], BPF_NOEXIST);
		count = bpf_map_lookup_elem(&map_hprocs, &h->key);
	}
	if (count)
		__sync_fetch_and_add(&count->globals[0], 1);
}

#define LINKER_NAME 0x2d646cull /* how the names of dynamic linkers begin: "ld-" */

struct words {
	char *mach, *p;
};

/*
 * Looks at the frames from the outermost one on, and ends the loop, with is_runtime set, at one in
 * a runtime's file, or in code without a file. In a program that the dynamic linker is preparing,
 * nothing of a runtime has begun; and a runtime all of whose language runs in generated code has no
 * frame of the language behind its own files.
 */
static long runtime_step(u64 i, void *ctx)
{
	struct words *words = ctx;
	struct unwind_work *w = WALK(words->p);
	u64 at = w->at - 8 * (i + 1), vma, file, name;
	struct rt_hfile *f;

	if (at < w->from || at > cfg.mach_size - 8)
		return 1;
	w->f.insn = *(u64 *)(words->mach + at) & ~RT_USTACK_EXACT;
	vma = range_find(w, 0);
	file = vma ? read_word(vma + K.vma_file) : 0;
	if (file && file_key(w, vma)) {
		name = read_word(read_word(file + K.file_dentry) + K.dentry_name);
		if (i == 0 && (read_word(name) & 0xffffff) == LINKER_NAME)
			return 1;
		f = bpf_map_lookup_elem(&map_hfiles, &w->req.key);
		if (f && !f->is_runtime)
			return 0;
		name = name_find((u64 *)HELPER(words->p)->text, file);
		if (name ? val_control.generated >> ((name - 1) & 63) & 1 : !f)
			return 0;
	}
	w->is_runtime = 1;
	return 1;
}

/*
 * Whether the stack is whole, and none of its frames is of a runtime that has begun. Frames of a
 * language stand behind native ones of their runtime, or behind code that this has made.
 */
INLINE u64 is_without_runtime(struct rt_mach *m, struct unwind_work *w, char *p)
{
	u32 slot = m->slot;
	struct words words = {.mach = bpf_map_lookup_elem(&map_mach, &slot), .p = p};
	u64 insn = w->f.insn;

	if (w->only_lang || w->end != WALK_COMPLETE || w->f.is_doubtful || !words.mach)
		return 0;
	if (w->nframes && !w->left) /* there may be more frames */
		return 0;
	w->is_runtime = 0;
	bpf_loop(RT_WALK_MOST, runtime_step, &words, 0);
	w->f.insn = insn;
	return !w->is_runtime;
}

/*
 * A walk of a process whose helpers are not known yet has ended. If it has found no stack, or one
 * without a frame of a runtime, then no frame of a language is missing.
 */
u64 rt_walk_bare(struct rt_mach *m)
{
	char *p = m ? slot_of(m) : NULL;
	struct unwind_work *w;
	struct rt_hwork *h;

	if (!p)
		return 0;
	w = WALK(p);
	h = HELPER(p);
	if (is_without_runtime(m, w, p)) {
		w->is_early = 0;
		return 0;
	}
	bare_count(w, h);
	return 0;
}

/* Fills h for a walk of the process; 0 if it has no helper, else 1 + rt_hproc.program. */
u64 rt_walk_enter(struct rt_mach *m)
{
	char *p = m ? slot_of(m) : NULL;
	struct rt_hproc *hp;
	struct unwind_work *w;
	struct rt_hwork *h;

	if (!p)
		return 0;
	w = WALK(p);
	h = HELPER(p);
	h->key = w->key;
	hp = bpf_map_lookup_elem(&map_hprocs, &h->key);
	if (!hp) {
		hproc_ask(m, p);
		hp = bpf_map_lookup_elem(&map_hprocs, &h->key);
	}
	if (hp && !hp->entry && !hp->frames) {
		w->is_early = hp->names;
		w->is_unknown = 1;
	}
	if (!hp || !hp->entry) {
		h->key = RT_HELPER_ALWAYS;
		hp = bpf_map_lookup_elem(&map_hprocs, &h->key);
	}
	if (!hp || !hp->entry ||
	    bpf_probe_read_kernel(&h->regs[HREG_PROC], sizeof(struct rt_hproc), (u64)hp))
		return 0;
	h->code = (u64)val_hcode;
	h->entering = hp->program ? w->task : 0;
	h->pc = h->entry = hp->entry;
	h->on_fault = hp->frames;
	h->is_steered = h->nroots = h->is_unread = 0;
	h->result = h->text_len = h->memo = h->known = h->is_spent = 0;
	h->fuel = RT_HELPER_FUEL(w->left);
	h->regs[0] = 0;
	h->regs[HREG_ARGS + RT_HELPER_THREAD] = read_word(w->task + K.task_tls);
	w->saves = hp->saves && !w->is_32 ? RT_UFILE_SAVED : 0;
	/* A read that fails zeroes its destination: Linux kernel/trace/bpf_trace.c. */
	bpf_probe_read_kernel(&h->regs[HREG_LOCALS], 8 * RT_HELPER_LOCALS, 0);
	bpf_probe_read_kernel(h->strings, sizeof(h->strings), 0);
	bpf_probe_read_kernel(h->tags, sizeof(h->tags), 0);
	return 1 + (u64)hp->program;
}
