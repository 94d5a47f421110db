/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: what is counted, noted and marked when a ustack helper faults, or has used up
 * the instructions of a walk.
 *
 * A clause on `uthread' looks for the state of its runtime in the data of the runtime's file.
 * Nothing that runs here can wait for a page. So reading a page that the process has not touched
 * yet is a fault, although the runtime has only not begun, and no frame of the language is missing.
 * Reading a page that is swapped out, or is just moved, is the same fault, and frames are missing.
 * The stack tells the two apart, because frames of a language stand behind native frames of their
 * runtime. Such a fault is put off until the walk comes to a frame in the code of that file, where
 * it becomes an error. If the walk comes to the outermost frame without one, the stack is whole,
 * and nobody is told.
 *
 * A runtime that prepares itself executes its own code before it touches its state. In a process
 * that is younger than the session, such a fault is no error either until a walk has read the state
 * once: what has begun has touched it, and nothing that young is swapped out.
 */
/* This file uses the struct of arch/frame.h, and none of its steps. */
#pragma clang diagnostic ignored "-Wundefined-internal"
#include "rt/mapping.h"

static long (*const bpf_get_current_comm)(void *buf, u32 size) = (void *)16;

/* Notes what could not be done at a word of MAP_HCODE, unless an earlier note was not read yet. */
INLINE void note_put(struct rt_mach *m, struct rt_helper_note *note, u64 word, u64 kind, u64 value)
{
	u64 pid;

	if (*(volatile u64 *)&note->word != RT_NOTE_FREE ||
	    __sync_val_compare_and_swap(&note->word, RT_NOTE_FREE, RT_NOTE_BUSY) != RT_NOTE_FREE)
		return;
	pid = cfg.pidns.level ? rt_pid_tgid(m) : bpf_get_current_pid_tgid();
	note->value = value;
	note->kind = kind;
	note->pid = pid >> 32;
	bpf_get_current_comm(note->comm, sizeof(note->comm));
	__sync_val_compare_and_swap(&note->word, RT_NOTE_BUSY, RT_NOTE_WORD + word);
}

/* The fault of the instruction at a word is an error, which is marked behind the present frame. */
INLINE void fault_count(struct rt_mach *m, struct unwind_work *w, u64 word, u64 kind, u64 value)
{
	u32 cpu = m->cpu;

	if (cpu >= cfg.ncpus)
		return;
	__sync_fetch_and_add(&val_control.cpu[cpu].helper_faults, 1);
	note_put(m, &val_control.notes[RT_NOTE_FAULT], word, kind, value);
	w->mark = RT_USTACK_FAULT;
}

/* ---- faults that are put off ----------------------------------------------------------------- */

/*
 * Returns the struct file of what is mapped at an address; of memory without a file, where its
 * mapping begins, with bit 0; 0: nothing is mapped. It is a function of its own because of what the
 * verifier takes for the tree, and of the room on the stack (kernel/budget.h).
 */
u64 rt_walk_file(struct rt_mach *m, u64 addr)
{
	struct unwind_work *w = work_of(m);
	u64 insn, vma, file;

	if (!w)
		return 0;
	insn = w->f.insn;
	w->f.insn = addr;
	vma = range_find(w, 0);
	w->f.insn = insn;
	if (!vma)
		return 0;
	file = read_word(vma + K.vma_file);
	return file ? file : read_word(vma + K.vma_start) | 1;
}

/* The inode of such a file; 0: there is none. */
INLINE u64 inode_of(u64 file)
{
	return !file || (file & 1) ? 0 : read_word(file + K.file_inode);
}

/* What lies behind a mapping of a file, without a file, is its memory that begins as zeros. */
INLINE u64 data_inode(struct rt_mach *m, u64 addr)
{
	u64 file = rt_walk_file(m, addr);

	return inode_of(file & 1 ? rt_walk_file(m, file - 2) : file);
}

/* How far behind an address that attach clauses have found: 16 KB. */
#define NEAR_SHIFT 14

/*
 * Whether the address was found by attach clauses: it is in a global variable of the helpers. There
 * is no branch in the loop, so the verifier follows one path through it.
 */
INLINE u64 address_is_found(const struct rt_hwork *h, u64 addr)
{
	u64 is_found = 0;

#pragma clang loop unroll(disable)
	for (u64 i = 0; i < RT_HELPER_GLOBALS; i++) {
		u64 d = addr - h->regs[HREG_GLOBALS + i];

		d >>= NEAR_SHIFT;
		OPAQUE(d);
		is_found |= (d - 1) >> 63; /* d is 0 */
	}
	return is_found;
}

/*
 * Puts a fault of clauses on `uthread' off, in memory of a file that is not the present frame's; or
 * for good, if the runtime has not begun.
 */
INLINE u64 fault_put_off(struct rt_mach *m, struct unwind_work *w, struct rt_hwork *h)
{
	u64 n = h->nroots, inode;

	if (m->fault.kind != FAULT_BADADDR || h->on_fault > helper_frames(h) ||
	    n >= RT_HELPER_ROOTS || !address_is_found(h, m->fault.value))
		return 0;
	inode = data_inode(m, m->fault.value);
	if (!inode)
		return 0;
	if (((const struct rt_hproc *)&h->regs[HREG_PROC])->is_new) {
		h->is_unread = 1;
		return 1;
	}
	if (inode == inode_of(rt_walk_file(m, w->f.insn)))
		return 0;
	n &= RT_HELPER_ROOTS - 1;
	OPAQUE(n);
	n &= RT_HELPER_ROOTS - 1;
	h->roots[n].file = inode;
	h->roots[n].word = h->pc - 1;
	h->roots[n].value = m->fault.value;
	h->nroots = n + 1;
	return 1;
}

/* A fault that was put off has become an error; one of a walk is enough. */
INLINE void fault_put_on(struct rt_mach *m, struct unwind_work *w, struct rt_hwork *h, u64 i)
{
	i &= RT_HELPER_ROOTS - 1;
	OPAQUE(i);
	i &= RT_HELPER_ROOTS - 1;
	h->nroots = 0;
	fault_count(m, w, h->roots[i].word, FAULT_BADADDR, h->roots[i].value);
}

/*
 * The instruction before the machine's pc has faulted. Registers that are not known because a table
 * is still being read are no error. Nor is a frame that is none, or lies in memory whose protection
 * the kernel is changing.
 */
u64 rt_fault_take(struct rt_mach *m)
{
	struct unwind_work *w = work_of(m);
	struct rt_hwork *h = helper_of(m);

	if (!w || !h || w->is_late || RULE_KIND(w->f.rule) == RULE_DATA)
		return 0;
	if (!fault_put_off(m, w, h))
		fault_count(m, w, h->pc - 1, m->fault.kind, m->fault.value);
	return 0;
}

/* The walk has come to another frame, while faults are put off: is it in code of such a file? */
u64 rt_fault_meet(struct rt_mach *m)
{
	struct unwind_work *w = work_of(m);
	struct rt_hwork *h = helper_of(m);
	u64 inode, at = RT_HELPER_ROOTS;

	if (!w || !h)
		return 0;
	inode = inode_of(rt_walk_file(m, w->f.insn));
#pragma clang loop unroll(disable)
	for (u64 i = 0; i < RT_HELPER_ROOTS; i++)
		if (i < h->nroots && h->roots[i].file == inode)
			at = i;
	if (at < RT_HELPER_ROOTS)
		fault_put_on(m, w, h, at);
	return 0;
}

/* The walk has ended, while faults are put off: maybe before it has come to such a frame. */
u64 rt_fault_last(struct rt_mach *m)
{
	struct unwind_work *w = work_of(m);
	struct rt_hwork *h = helper_of(m);

	if (w && h && (w->end != WALK_COMPLETE || w->f.is_doubtful))
		fault_put_on(m, w, h, 0);
	return 0;
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* The instructions of the walk are used up. */
u64 rt_fault_spent(struct rt_mach *m)
{
	struct unwind_work *w = work_of(m);
	struct rt_hwork *h = helper_of(m);
	u32 cpu = m ? m->cpu : 0;

	if (!w || !h || cpu >= cfg.ncpus)
		return 0;
	__sync_fetch_and_add(&val_control.cpu[cpu].spent_stacks, 1);
	note_put(m, &val_control.notes[RT_NOTE_SPENT], h->pc, m->fault.kind, m->fault.value);
	w->mark = RT_USTACK_SPENT;
	return 0;
}
