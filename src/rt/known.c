/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: whether what a followed process maps is known already, so that it need not wait
 * for dtrace (rt/watch.c): the files of its code have their unwind tables, and its runtimes their
 * helpers.
 *
 * The maps are those of the session's engine (unwind/tables.h), which walks read. What is true here
 * may be false in a moment, when a table makes room for another one: the walk asks for it then.
 */
/* This file uses the struct of arch/frame.h, and none of its steps. */
#pragma clang diagnostic ignored "-Wundefined-internal"
#include "rt/follow.h"
#include "rt/runtimes.h"

extern char map_watch_work;

/* Memory for looking at a process: an element of MAP_WATCH_WORK, one for each CPU. */
struct known_work {
	u64 is_busy;
	struct unwind_work walk; /* its mm, f.insn, range_end, node and req are used */
	u64 linker_ino, linker_dev;
	u64 state; /* RT_KNOWN_* */
	u64 text[RT_NAME_WORDS];
	struct rt_hfound found;
};
_Static_assert(sizeof(struct known_work) <= RT_KNOWN_SIZE, "RT_KNOWN_SIZE");

/* Notes a file: is it the dynamic linker, and has it a table? */
INLINE void table_note(struct known_work *k)
{
	const struct rt_ufile_key *key = &k->walk.req.key;
	const struct rt_ufile *f = bpf_map_lookup_elem(&map_ufiles, key);

	if (!f || f->nlevels == RT_UTREE_PENDING)
		k->state &= ~(u64)RT_KNOWN_TABLES;
	if (key->ino == k->linker_ino && key->dev == k->linker_dev)
		k->state |= RT_KNOWN_LINKER;
}

/* Goes on to the next range of the tree of mappings; 1: there is none. */
INLINE long range_next(struct unwind_work *w)
{
	w->f.insn = w->range_end + 1;
	return w->f.insn == 0;
}

static long table_step(u64 i, void *ctx)
{
	struct known_work *k = (struct known_work *)((struct loop *)ctx)->p;
	u64 vma = range_find(&k->walk, 1);

	if (vma && code_file_key(&k->walk, vma))
		table_note(k);
	return range_next(&k->walk);
}

static long helper_step(u64 i, void *ctx)
{
	struct known_work *k = (struct known_work *)((struct loop *)ctx)->p;
	u64 vma = range_find(&k->walk, 1), file = vma ? code_file_key(&k->walk, vma) : 0;

	if (file) {
		table_note(k);
		(void)runtime_note(&k->found, k->text, &k->walk, file, 1);
	}
	return range_next(&k->walk);
}

/* Returns the memory of this CPU; NULL: somebody else looks at a process with it. */
INLINE struct known_work *work_begin(u64 linker_ino, u64 linker_dev)
{
	u32 zero = 0;
	struct known_work *k = bpf_map_lookup_elem(&map_watch_work, &zero);

	if (!k || __sync_lock_test_and_set(&k->is_busy, 1))
		return NULL;
	k->walk.mm = read_word(bpf_get_current_task() + K.task_mm);
	k->walk.f.insn = k->walk.is_saved = 0;
	k->linker_ino = linker_ino;
	k->linker_dev = linker_dev;
	k->state = RT_KNOWN_TABLES;
	return k;
}

INLINE u64 work_end(struct known_work *k)
{
	u64 state = k->state;

	if (k->walk.f.insn) /* there are more ranges */
		state &= ~(u64)RT_KNOWN_TABLES;
	__sync_lock_test_and_set(&k->is_busy, 0);
	return state;
}

u64 rt_known_tables(struct rt_mach *unused, u64 linker_ino, u64 linker_dev)
{
	struct known_work *k = work_begin(linker_ino, linker_dev);

	(void)unused;
	if (!k)
		return 0;
	loop_run(RT_HRANGES, table_step, (char *)k);
	return work_end(k);
}

u64 rt_known_helpers(struct rt_mach *unused)
{
	struct known_work *k = work_begin(0, 0);

	(void)unused;
	if (!k)
		return 0;
	runtimes_begin(&k->found);
	loop_run(RT_HRANGES, helper_step, (char *)k);
	k->found.has_strangers |= k->walk.f.insn;
	if (k->found.nnames && !runtimes_constants(&k->found))
		k->state |= k->found.nnames << RT_KNOWN_SHIFT;
	return work_end(k);
}
