/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: the walk of a user stack, with or without frame pointers.
 *
 * The walk begins with the registers with which the task entered the kernel. arch/frame.h defines
 * the step from one frame to the next. This file provides what that step needs: user memory, and
 * the rule of an address.
 *
 * Rules come from .eh_frame (image/ehframe.h) through MAP_UFILES and MAP_UBLOCKS, so nothing has to
 * be known of a process: which file is mapped at an address is read from the task's own tree of
 * mappings (mapping.h).
 *
 * The rules of most frames are found in MAP_UCACHE, whose key is an address in an address space: a
 * frame costs a hash lookup, and a read of user memory every few frames. What the cache says may be
 * wrong after an unmapping: the consumer counts rt_control.epoch up now and then, which makes all
 * entries void.
 *
 * Code that a JIT compiler has made may be no code at the moment: some make their memory writable
 * instead of executable while they write to it, and the frames that called the compiler return to
 * that memory. But most words that look like return addresses into such memory are none: it is the
 * heap, too. So a frame there is recorded only if a helper knows it, and says so with unwind(): the
 * frame is added, its clauses run, and it is taken back if they have not (frame_take_back()). The
 * rule is not remembered in MAP_UCACHE, because the memory is executable again soon.
 *
 * Uretprobes, of other tracers and of sources `returned' (provider/usdt_code.c), replace return
 * addresses. The kernel makes that of a call that has begun at a breakpoint even where the
 * breakpoint is this session's and the uretprobe another process's. The address that was replaced
 * is in the task's list of such calls (return_restore()).
 */
#include "rt/mapping.h"

extern char map_ublocks, map_ucache, map_hprocs;

#define PF_KTHREAD 0x200000 /* Linux include/linux/sched.h, "I am a kernel thread" */

#define FAR_AWAY (~0ull >> 1) /* no address of a stack is near this one */

/* The stack that is walked is the current task's; m is the machine state of this firing. */
struct frame_env {
	struct rt_mach *m;
	char *scratch;
	char *mach;
};

INLINE struct unwind_work *frame_work(struct frame *f)
{
	return (struct unwind_work *)f;
}

/* Fills env for the machine state; false if it has none, which does not happen. */
INLINE u64 env_fill(struct frame_env *env, struct rt_mach *m)
{
	u32 slot;

	if (!m)
		return 0;
	env->m = m;
	env->scratch = slot_of(m);
	slot = m->slot;
	env->mach = bpf_map_lookup_elem(&map_mach, &slot);
	return env->scratch && env->mach;
}

/* Appends a word to the recorded stack. */
INLINE u64 word_put(struct frame_env *env, struct unwind_work *w, u64 word)
{
	u64 at = w->at;

	if (at > cfg.mach_size - 8)
		return 0;
	*(u64 *)(env->mach + at) = word;
	w->at = at + 8;
	return 1;
}

/* ---- rules -------------------------------------------------------------------------------- */

/*
 * Returns the last entry of the block whose offset is not above off. The offset of the first entry
 * is not.
 */
INLINE u64 block_slot(const struct rt_ublock *b, u64 off)
{
	u64 i = 0, at;

#pragma unroll
	for (u32 step = RT_UBLOCK / 2; step; step >>= 1) {
		at = i + step;
		/*
		 * Without this, clang omits the mask, and the verifier of Linux 6.1 loses the
		 * bounds.
		 */
		OPAQUE(at);
		i += is_less(b->off[at & (RT_UBLOCK - 1)], off + 1) * step;
	}
	OPAQUE(i);
	return i & (RT_UBLOCK - 1);
}

/* Returns the rule at the file offset, from the tree that mapping_load() has found. */
INLINE u64 tree_rule(struct unwind_work *w, u64 off)
{
	struct rt_ublock *b;
	u64 n = 0, i;

#pragma clang loop unroll(disable)
	for (u32 level = RT_UTREE_LEVELS; level-- > 0;) {
		if (level >= w->nlevels)
			continue;
		w->block = RT_UBLOCK_KEY(w->tree, level, n);
		b = bpf_map_lookup_elem(&map_ublocks, &w->block);
		if (!b || b->off[0] > off)
			return RULE_NO_TABLE;
		i = block_slot(b, off);
		if (level == 0)
			return b->rule[i];
		n = n * RT_UBLOCK + i;
	}
	return RULE_NO_TABLE;
}

u64 rt_unwind_rule(struct rt_mach *m)
{
	struct unwind_work *w = work_of(m);
	u64 rule, off;

	if (!w)
		return RULE_NO_CODE;
	return_restore(w);
	if (w->is_saved)
		w->map_start = w->map_end = 0;
	if (w->f.insn < w->map_start || w->f.insn >= w->map_end)
		mapping_load(m, w);
	rule = w->map_rule;
	if (rule == 0) {
		off = w->f.insn - w->map_start + w->map_off;
		rule = off >> 32 ? RULE_NO_TABLE : tree_rule(w, off);
	}
	if (w->is_saved) {
		w->map_start = w->map_end = 0; /* the mapping has the other tree */
		return rule;
	}
	return frame_rule(NULL, &w->f, rule);
}

/* Returns a number that changes, as good as always, when code is mapped. */
INLINE u64 mappings_stamp(const struct unwind_work *w)
{
	return read_word(w->mm + K.mm_exec_vm) << 32 | read_half(w->mm + K.mm_map_count);
}

/*
 * Returns the rule at f->insn, from the cache if it is there. Where there is no code, some may be
 * mapped a moment later: that is remembered as long as the process maps what it mapped before.
 */
INLINE u64 rule_cached(struct frame_env *env, struct frame *f, u64 tag)
{
	u64 insn = f->insn, key = (insn ^ tag) * 0x9e3779b97f4a7c15ull, rule, stamp;
	struct rt_urule *e;
	u32 slot;

	key ^= key >> 29;
	slot = key & (RT_UCACHE - 1);
	e = bpf_map_lookup_elem(&map_ucache, &slot);
	if (!e)
		return RULE_NO_CODE;
	rule = e->rule;
	if ((e->check ^ rule) == key && rule)
		return rule;
	stamp = mappings_stamp(frame_work(f));
	if (rule == RULE_NO_CODE && (e->check ^ rule ^ stamp) == key)
		return rule;
	rule = rt_unwind_rule(env->m);
	if (RULE_KIND(rule) == RULE_DATA)
		return WALK(env->scratch)->asks ? RULE_DATA : RULE_NO_CODE;
	if (RULE_KIND(rule) != RULE_PENDING && f->insn == insn) {
		e->rule = rule;
		e->check = key ^ rule ^ (rule == RULE_NO_CODE ? stamp : 0);
	}
	return rule;
}

INLINE u64 env_rule(struct frame_env *env, struct frame *f)
{
	return rule_cached(env, f, frame_work(f)->tag);
}

/* ---- user memory -------------------------------------------------------------------------- */

INLINE u64 env_read(struct frame_env *env, u64 *dst, u64 addr, u32 size)
{
	return bpf_probe_read_user(dst, size, addr) == 0;
}

/*
 * Most pairs lie in the window that was read for an earlier frame. The mask changes nothing: it
 * shows the verifier the bounds of i.
 */
INLINE u64 env_read_pair(struct frame_env *env, struct frame *f, u64 addr)
{
	struct unwind_work *w = frame_work(f);
	u64 i = addr - w->window_at;

	if (i > 8 * (WINDOW - 2) || (i & 7)) {
		if (!env_read(env, w->window, addr, 8 * WINDOW)) {
			w->window_at = FAR_AWAY;
			return env_read(env, f->pair, addr, 16);
		}
		w->window_at = addr;
		i = 0;
	}
	i = i / 8 & (WINDOW - 1);
	OPAQUE(i);
	i &= WINDOW - 1;
	f->pair[0] = w->window[i];
	f->pair[1] = w->window[i + 1];
	return 1;
}

u64 rt_unwind_odd(struct rt_mach *m, u64 rule)
{
	struct unwind_work *w = work_of(m);

	return w ? frame_rare_cfa(NULL, &w->f, rule) : 0;
}

INLINE u64 env_rare_cfa(struct frame_env *env, struct frame *f, u64 rule)
{
	return rt_unwind_odd(env->m, rule);
}

/* ---- from frame to frame ------------------------------------------------------------------ */

/* Returns the bit that marks the word of an exact frame, if the stack is to have such marks. */
INLINE u64 frame_mark(struct frame *f)
{
	return frame_is_exact(f) ? frame_work(f)->exact : 0;
}

/* Writes the word of a frame. */
INLINE u64 word_add(struct frame_env *env, struct unwind_work *w, u64 word)
{
	if (!word_put(env, w, word))
		return 0;
	w->nframes++;
	w->left--;
	return 1;
}

/* Writes the word of a native frame, which is counted if only those of the language are wanted. */
INLINE u64 native_add(struct frame_env *env, struct unwind_work *w, u64 word)
{
	return w->only_lang ? ++w->nframes < RT_WALK_MOST : word_add(env, w, word);
}

/* Writes the frame to which a step led, and says whether the walk goes on. */
INLINE enum walk_end frame_add(struct frame_env *env, struct frame *f, u64 word)
{
	struct unwind_work *w = frame_work(f);

	if (!native_add(env, w, word))
		return WALK_CUT;
	return w->left ? WALK_ON : WALK_COMPLETE;
}

INLINE enum walk_end walk_go(struct frame_env *env, struct unwind_work *w)
{
	enum walk_end end = frame_step(env, &w->f);

	if (end == WALK_ON)
		end = frame_add(env, &w->f, w->f.pc | frame_mark(&w->f));
	w->end = end;
	return end;
}

static long walk_step(u64 i, void *ctx)
{
	struct frame_env *env = ctx;

	return walk_go(env, WALK(env->scratch)) != WALK_ON;
}

/* True if the probe is on the first instruction of a function or on its ret. */
INLINE u64 is_edge(const struct rt_mach *m)
{
	return m->spot != SPOT_INSN && m->spot != SPOT_USDT && m->spot != SPOT_RETURNED &&
	       m->spot != SPOT_CALL;
}

u64 rt_unwind_first(struct rt_mach *m)
{
	struct unwind_work *w = work_of(m);

	return w ? frame_first_rule(NULL, &w->f, is_edge(m)) : RULE_NO_CODE;
}

/* Steps to the next frame of a 32-bit task. */
INLINE enum walk_end walk32_go(struct frame_env *env, struct unwind_work *w)
{
	enum walk_end end = frame32_step(env, &w->f, is_edge(env->m));

	if (end == WALK_ON)
		end = frame_add(env, &w->f, w->f.pc);
	w->end = end;
	return end;
}

static long walk32_step(u64 i, void *ctx)
{
	struct frame_env *env = ctx;

	return walk32_go(env, WALK(env->scratch)) != WALK_ON;
}

/* ---- the walk ----------------------------------------------------------------------------- */

#define XOL_SLOT 128 /* Linux include/linux/uprobes.h, UPROBE_XOL_SLOT_BYTES */

/*
 * A thread that was interrupted while it steps over an instruction with a uprobe executes a copy of
 * it, in a page of the kernel's that no file and no unwind table has. The walk begins at the
 * instruction itself.
 */
INLINE void walk_leave_copy(struct unwind_work *w)
{
	u64 utask = K.task_utask ? read_word(w->task + K.task_utask) : 0, at;

	if (!utask)
		return;
	at = w->f.regs[FRAME_PC] - read_word(utask + K.utask_xol);
	if (at < XOL_SLOT)
		w->f.regs[FRAME_PC] = read_word(utask + K.utask_vaddr) + at;
}

/* Fills w->f; false when the task has no user registers. */
u64 rt_unwind_start(struct rt_mach *m)
{
	struct unwind_work *w = work_of(m);
	u64 task = bpf_get_current_task_btf(), regs = bpf_task_pt_regs(task);

	if (!w)
		return 0;
	w->task = task;
	w->mm = read_word(task + K.task_mm);
	if (!w->mm || (read_half(task + K.task_flags) & PF_KTHREAD) ||
	    bpf_probe_read_kernel(w->f.regs, sizeof(w->f.regs), regs))
		return 0;
	/*
	 * The kernel soon uses the struct mm_struct of a process that has ended for another one:
	 * where the stack begins, at random, tells the two apart.
	 */
	w->key = w->mm ^ read_word(w->mm + K.mm_arg_start) << 20;
	w->tag = w->key ^ (u64)val_control.epoch << 44;
	walk_leave_copy(w);
	if (m->pc)
		w->f.regs[FRAME_PC] = m->pc;
	frame_begin(&w->f);
	w->map_start = w->map_end = 0;
	w->window_at = FAR_AWAY;
	return 1;
}

/* Finds where the stack begins; NULL if the task has no user stack. */
INLINE struct unwind_work *walk_begin(struct frame_env *env, struct rt_mach *m, u64 at, u64 n)
{
	struct unwind_work *w;

	if (!env_fill(env, m))
		return NULL;
	w = WALK(env->scratch);
	w->left = n & ~(RT_USTACK_UNMARKED | RT_USTACK_ONLY_LANG);
	w->is_unmarked = n & RT_USTACK_UNMARKED;
	w->only_lang = n & RT_USTACK_ONLY_LANG;
	w->exact = n & RT_USTACK_UNMARKED ? 0 : RT_USTACK_EXACT;
	w->at = w->from = w->old_at = at;
	w->nframes = w->is_early = w->is_unknown = 0;
	if (!w->left || !rt_unwind_start(m))
		return NULL;
	w->is_32 = frame_is_32(&w->f);
	w->saves = w->is_saved = w->is_late = w->asks = w->ends_early = w->mark = w->is_marked = 0;
	return w;
}

/* Finds the rule of the first frame. */
INLINE void walk_first_rule(struct frame_env *env, struct unwind_work *w)
{
	w->end = WALK_CUT;
	if (w->is_32) {
		frame32_begin(&w->f);
		w->f.rule = 0;
		return;
	}
	w->f.rule = env_rule(env, &w->f);
	w->is_bare = RULE_KIND(w->f.rule) == RULE_NO_TABLE;
	/*
	 * In the middle of an execve(), the registers are those of the former program, of which
	 * nothing is mapped any more: the task has no user stack.
	 */
	if (w->f.rule == RULE_NO_CODE && !rt_walk_file(env->m, w->f.sp)) {
		w->left = 0;
		w->end = WALK_COMPLETE;
	}
	if (RULE_KIND(w->f.rule) == RULE_PENDING || RULE_KIND(w->f.rule) == RULE_NO_TABLE)
		w->f.rule = rt_unwind_first(env->m);
}

/* Writes the first frame; false if the next frame cannot be found. */
INLINE u64 walk_first(struct frame_env *env, struct unwind_work *w)
{
	return native_add(env, w, w->f.pc | w->exact) && w->f.rule != RULE_NO_CODE;
}

/* Steps to all further frames. */
INLINE void walk_all(struct frame_env *env, struct unwind_work *w)
{
	if (!w->left || !walk_first(env, w))
		return;
	if (w->is_32)
		bpf_loop(w->left, walk32_step, env, 0);
	else
		bpf_loop(w->left, walk_step, env, 0);
}

/* Counts a stack that is cut because a table was not there yet, and returns its last word. */
INLINE u64 late_word(struct frame_env *env)
{
	u32 cpu = env->m->cpu;

	if (cpu < cfg.ncpus)
		__sync_fetch_and_add(&val_control.cpu[cpu].late_stacks, 1);
	return RT_USTACK_LATE;
}

/*
 * Adds the word RT_USTACK_CUT if the stack has more frames, or may have. The walk is still on if
 * the loop of the helper machine has ended before it.
 */
INLINE void walk_mark(struct frame_env *env, struct unwind_work *w)
{
	u64 is_late;

	if (w->is_unmarked || !w->left)
		return;
	if (w->end == WALK_COMPLETE && !w->f.is_doubtful)
		return;
	if (w->nframes == 1 && !w->is_32 && frame_is_newborn(env, &w->f))
		return;
	/* stacks of 32-bit tasks, which have no tables here, are always doubtful */
	is_late = w->is_late || (w->f.is_doubtful && !w->is_32);
	word_put(env, w, is_late ? late_word(env) : RT_USTACK_CUT);
}

u64 rt_ustack(struct rt_mach *m, u64 at, u64 n)
{
	struct frame_env env;
	struct unwind_work *w = walk_begin(&env, m, at, n);

	if (!w)
		return 0;
	walk_first_rule(&env, w);
	walk_all(&env, w);
	walk_mark(&env, w);
	return w->at - at;
}

/* ---- a walk with helpers ----------------------------------------------------------------------
 *
 * The loop is that of the helper machine (helper.c), which executes the helpers' clauses between
 * two steps.
 */

/* Passes the frame to the helpers as arguments, and the scratch memory that the clause has left. */
INLINE void helper_prepare(struct frame_env *env, struct unwind_work *w)
{
	struct rt_hwork *h = HELPER(env->scratch);

	h->regs[HREG_ARGS + RT_HELPER_PC] = w->f.pc;
	h->regs[HREG_ARGS + RT_HELPER_FP] = w->f.fp;
	h->regs[HREG_ARGS + RT_HELPER_SP] = w->f.sp;
	h->regs[HREG_ARGS + RT_HELPER_FRAME] = w->nframes ? w->nframes - 1 : 0;
	h->regs[HREG_ARGS + RT_HELPER_BARE] = w->is_bare;
	h->regs[HREG_ARGS + RT_HELPER_DATA] = RULE_KIND(w->f.rule) == RULE_DATA;
	*(u64 *)&env->m->scratch_top = w->top;
}

u64 rt_walk_begin(struct rt_mach *m, u64 at, u64 n, u64 strsize)
{
	struct frame_env env;
	struct unwind_work *w = walk_begin(&env, m, at, n);
	u64 how;

	if (!w)
		return 0;
	w->text_left = strsize;
	w->top = *(u64 *)&m->scratch_top;
	walk_first_rule(&env, w);
	how = rt_walk_enter(m);
	if (!how && w->only_lang)
		w->left = 0;
	else if (!how)
		walk_all(&env, w);
	/* where there is a helper for any process, the walk has not been made yet */
	if (w->is_unknown)
		rt_walk_bare(m);
	if (!how)
		return 0;
	w->asks = 1;
	helper_prepare(&env, w);
	return how;
}

/*
 * Prepares a walk that records frames of the program's language only (RT_USTACK_ONLY_LANG): native
 * frames are visited without being counted, so it may execute more instructions of helpers.
 */
INLINE void helper_extend(struct unwind_work *w, struct rt_hwork *h)
{
	const struct rt_hproc *p = (const struct rt_hproc *)&h->regs[HREG_PROC];

	w->ends_early = !p->names;
	h->fuel += 1000 * RT_HELPER_SKIPPED;
}

/* Notes that the state of the process's runtimes is there: from now on, faults at it are errors. */
INLINE void state_note(struct rt_hwork *h)
{
	struct rt_hproc *p;

	if (!((const struct rt_hproc *)&h->regs[HREG_PROC])->is_new || h->is_unread)
		return;
	p = bpf_map_lookup_elem(&map_hprocs, &h->key);
	if (p)
		p->is_new = 0;
}

u64 rt_walk_first(struct rt_mach *m)
{
	struct frame_env env;
	struct unwind_work *w;

	if (!env_fill(&env, m))
		return 0;
	w = WALK(env.scratch);
	if (!w->left)
		return 0;
	state_note(HELPER(env.scratch));
	if (w->only_lang)
		helper_extend(w, HELPER(env.scratch));
	if (walk_first(&env, w))
		w->end = w->left ? WALK_ON : WALK_COMPLETE;
	helper_prepare(&env, w);
	return 1;
}

/* Makes the frame that a helper has chosen the next one. */
INLINE void walk_steer(struct frame_env *env, struct unwind_work *w, struct rt_hwork *h)
{
	struct frame *f = &w->f;

	h->is_steered = 0;
	f->pc = h->next[0];
	f->sp = h->next[1];
	f->fp = h->next[2];
	f->insn = f->pc - 1;
	f->is_first = 0;
	f->known = f->carried_sp = 0;
	w->end = WALK_COMPLETE;
	if (!f->pc)
		return;
	f->rule = env_rule(env, f);
	w->end = f->rule == RULE_NO_CODE ? WALK_CUT : frame_add(env, f, f->pc);
}

/* Learns before a step where this frame has saved the registers of its caller. */
INLINE void walk_keep(struct frame_env *env, struct unwind_work *w)
{
	u64 saved;

	w->is_saved = w->saves;
	saved = rule_cached(env, &w->f, ~w->tag);
	w->is_saved = 0;
	w->is_late |= RULE_KIND(saved) == RULE_PENDING;
	frame_keep(&w->f, saved);
}

u64 rt_walk_restore(struct rt_mach *m)
{
	struct frame_env env;
	struct unwind_work *w;

	if (!env_fill(&env, m))
		return 0;
	w = WALK(env.scratch);
	frame_restore(&env, &w->f);
	return 0;
}

/*
 * Takes the present frame back, and what the helper has added to it, if it lies in memory that is
 * not executable, and the helper does not know where its caller is.
 */
INLINE u64 frame_take_back(struct unwind_work *w, const struct rt_hwork *h)
{
	if (RULE_KIND(w->f.rule) != RULE_DATA || h->is_steered)
		return 0;
	w->f.rule = RULE_NO_CODE;
	w->at = w->old_at;
	w->nframes = w->old_nframes;
	w->left = w->old_left;
	w->end = WALK_CUT;
	return 1;
}

/*
 * Writes the mark that frames of the language are missing behind the present frame. If all frames
 * that were wanted are there, none is.
 */
INLINE void mark_flush(struct frame_env *env, struct unwind_work *w)
{
	u64 mark = w->mark;

	w->mark = 0;
	if (!mark || w->is_marked || w->is_unmarked || !w->left)
		return;
	w->is_marked = 1;
	word_put(env, w, mark);
}

u64 rt_walk_next(struct rt_mach *m)
{
	struct frame_env env;
	struct unwind_work *w;
	struct rt_hwork *h;
	u64 n;

	if (!env_fill(&env, m))
		return 0;
	w = WALK(env.scratch);
	h = HELPER(env.scratch);
	if (frame_take_back(w, h))
		return 0;
	mark_flush(&env, w);
	n = w->nframes;
	w->old_at = w->at;
	w->old_nframes = n;
	w->old_left = w->left;
	if (!w->left)
		w->end = WALK_COMPLETE;
	if (w->end == WALK_ON && h->is_steered)
		walk_steer(&env, w, h);
	else if (w->end == WALK_ON && w->is_32)
		(void)walk32_go(&env, w);
	else if (w->end == WALK_ON) {
		if (w->saves)
			walk_keep(&env, w);
		(void)walk_go(&env, w);
		if (w->saves)
			rt_walk_restore(m);
	}
	if (h->nroots)
		rt_fault_meet(m);
	w->is_bare = RULE_KIND(w->f.rule) == RULE_NO_TABLE;
	helper_prepare(&env, w);
	return w->nframes > n;
}

/* Stores the text in MAP_STRINGS, as the strings of keys are; 0 if there is no room. */
INLINE u64 name_add(u64 word, const struct rt_keystr *ks)
{
	if (bpf_map_update_elem(&map_strings, &word, ks, BPF_NOEXIST) == 0)
		return word;
	/* BPF_NOEXIST fails if another CPU has added the string since it was looked up. */
	return bpf_map_lookup_elem(&map_strings, &word) ? word : 0;
}

/*
 * Stores the text once in MAP_STRINGS under a hash of its content; the hash is the word. The text
 * is also in cfg.text_a.
 */
INLINE u64 name_word(char *scratch, u64 text, u64 n)
{
	struct rt_keystr *ks = (struct rt_keystr *)(scratch + cfg.text_b);
	u64 word = text_hash(scratch, n) >> 3 | RT_USTACK_NAME;

	if (bpf_map_lookup_elem(&map_strings, &word))
		return word;
	if (bpf_probe_read_kernel_str(ks->data, cfg.strsize, text) < 1)
		return 0;
	ks->len = n;
	return name_add(word, ks);
}

/* Counts a name that found no room, which is marked behind the present frame. */
INLINE u64 name_drop(struct rt_mach *m, struct unwind_work *w)
{
	u32 cpu = m->cpu;

	if (cpu < cfg.ncpus)
		__sync_fetch_and_add(&val_control.cpu[cpu].helper_drops, 1);
	if (!w->mark)
		w->mark = RT_USTACK_FULL;
	return 0;
}

/* The same of a text of n bytes in h->text, which cfg.strsize has room for. */
INLINE u64 name_word_made(struct rt_hwork *h, u64 n)
{
	u64 word = text_hash_short(h->text, n) >> 3 | RT_USTACK_NAME;

	if (bpf_map_lookup_elem(&map_strings, &word))
		return word;
	h->name_len = n;
	return name_add(word, (const struct rt_keystr *)&h->name_len);
}

/* Moves the word at shift_at up by one; 1 when it was the first one of the native frame. */
INLINE long word_shift(struct frame_env *env, struct unwind_work *w)
{
	u64 at = w->shift_at;

	if (at > cfg.mach_size - 16)
		return 1;
	*(u64 *)(env->mach + at + 8) = *(u64 *)(env->mach + at);
	w->shift_at = at - 8;
	return at <= w->old_at;
}

static long shift_step(u64 i, void *ctx)
{
	struct frame_env *env = ctx;

	return word_shift(env, WALK(env->scratch));
}

/*
 * Where only frames of the language are wanted, the name of a native frame is one. It stands before
 * the frames that the helper has added behind the native one, the last of which makes room for it
 * if there is none. Returns how many words have to move up; -1: the stack is complete without it.
 */
INLINE s64 name_room(struct unwind_work *w)
{
	u64 n = (w->at - w->old_at) / 8;

	if (!w->left) {
		if (!n)
			return -1;
		w->at -= 8;
		w->left = 1;
		n--;
	}
	w->shift_at = w->at - 8;
	return n;
}

INLINE void name_insert(struct frame_env *env, struct unwind_work *w, u64 word)
{
	u64 at = w->old_at;

	if (at > cfg.mach_size - 8)
		return;
	*(u64 *)(env->mach + at) = word | RT_USTACK_LANG;
	w->at += 8;
	w->left--;
}

/* Records the word of the present frame's name, which has n bytes and begins with `first`. */
INLINE u64 name_put(struct frame_env *env, struct unwind_work *w, u64 word, u64 n, char first)
{
	s64 nmoved;

	if (!word)
		return 0;
	if (w->only_lang) {
		nmoved = first == RT_USTACK_STUB ? -1 : name_room(w);
		if (nmoved > 0)
			bpf_loop(nmoved, shift_step, env, 0);
		if (nmoved >= 0)
			name_insert(env, w, word);
	} else if (!word_put(env, w, word)) {
		return 0;
	}
	w->text_left -= n + 1;
	words_note(HELPER(env->scratch), word);
	return 1;
}

/* Records the name of the present frame; an empty name is not recorded. */
u64 rt_walk_name(struct rt_mach *m, u64 text)
{
	u64 to = cfg.helper_off + __builtin_offsetof(struct rt_hwork, text), word = 0;
	u64 is_dropped = 0; /* and counted */
	struct frame_env env;
	struct unwind_work *w;
	char first;
	s64 n = 0;

	if (!env_fill(&env, m))
		return 0;
	w = WALK(env.scratch);
	if (w->ends_early) /* a string in the middle of clauses, where the walk has ended */
		return 0;
	if (cfg.strsize == RT_HELPER_STRSIZE)
		n = rt_helper_copy(m, to, text);
	if (n > 0) {
		n--;
		if (!n)
			return 0;
		first = HELPER(env.scratch)->text[0];
		if ((u64)n < w->text_left) {
			HELPER(env.scratch)->text_len = n;
			word = rt_walk_text(m);
			HELPER(env.scratch)->text_len = 0;
			is_dropped = !word;
		}
	} else {
		n = text_read(m, env.scratch + cfg.text_a, text);
		if (n <= 0)
			return 0;
		first = *(env.scratch + cfg.text_a);
		if ((u64)n < w->text_left)
			word = name_word(env.scratch, text, n);
	}
	if (name_put(&env, w, word, n, first))
		return 1;
	HELPER(env.scratch)->known = 0;
	return is_dropped ? 0 : name_drop(m, w);
}

/*
 * Records once more the name of the present frame. In what is remembered it stands behind all that
 * the native frame has added, at most RT_HMEMO_WORDS frames.
 */
INLINE u64 name_again(struct frame_env *env, struct unwind_work *w, u64 word,
		      const struct rt_keystr *ks)
{
	s64 nmoved;

	if (!w->only_lang)
		return word_put(env, w, word);
	nmoved = ks->data[0] == RT_USTACK_STUB ? -1 : name_room(w);
	if (nmoved < 0)
		return 1;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < RT_HMEMO_WORDS; i++)
		if (i >= nmoved || word_shift(env, w))
			break;
	name_insert(env, w, word);
	return 1;
}

/*
 * Ends a walk that wants no more frames: the instructions of its helpers are used up, and what the
 * native frame would still have added is not remembered.
 */
INLINE void walk_end_early(struct unwind_work *w, struct rt_hwork *h)
{
	if (!w->ends_early || w->left || RULE_KIND(w->f.rule) == RULE_DATA)
		return;
	h->known = 0;
	h->is_spent = 1;
	h->fuel = -1;
}

/*
 * Whether the texts of h->again are in MAP_STRINGS, if this walk reads the text that it finds
 * (rt/lang.c). The consumer makes room there by removing those that it has read.
 */
INLINE u64 texts_are_there(struct unwind_work *w, struct rt_hwork *h)
{
	u64 key;

	if (!w->only_lang || !w->is_unmarked)
		return 1;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < RT_HMEMO_WORDS; i++) {
		key = h->again[i] & ~RT_USTACK_LANG;
		if (!key)
			break;
		if (!bpf_map_lookup_elem(&map_strings, &key))
			return 0;
	}
	return 1;
}

/*
 * Records once more what uknown() has found: names, and frames of the language; 0: it is not there
 * any more.
 */
u64 rt_walk_again(struct rt_mach *m)
{
	struct frame_env env;
	struct unwind_work *w;
	struct rt_hwork *h;

	if (!env_fill(&env, m))
		return 0;
	w = WALK(env.scratch);
	h = HELPER(env.scratch);
	if (!texts_are_there(w, h)) {
		h->known = 0; /* the frame was noted */
		return 0;
	}
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < RT_HMEMO_WORDS; i++) {
		u64 word = h->again[i];
		struct rt_keystr *ks;

		if (!word)
			break;
		if (word & RT_USTACK_LANG) {
			if (w->left)
				(void)word_add(&env, w, word);
			continue;
		}
		ks = bpf_map_lookup_elem(&map_strings, &h->again[i]);
		if (ks && ks->len < w->text_left && name_again(&env, w, word, ks))
			w->text_left -= ks->len + 1;
		else
			(void)name_drop(m, w);
	}
	walk_end_early(w, h);
	return 1;
}

/*
 * Records the word of a frame of the language; 0: the stack has all the frames that were asked for.
 */
u64 rt_walk_add(struct rt_mach *m, u64 word)
{
	struct frame_env env;
	struct unwind_work *w;

	if (!env_fill(&env, m))
		return 0;
	w = WALK(env.scratch);
	if (!w->left || !word_add(&env, w, word | RT_USTACK_LANG))
		return 0;
	walk_end_early(w, HELPER(env.scratch));
	return 1;
}

/*
 * Returns the word of a frame of the language with the text of the helper machine, which has less
 * than RT_HELPER_STRSIZE bytes; 0: it is empty, or found no room.
 */
u64 rt_walk_text(struct rt_mach *m)
{
	struct frame_env env;
	struct rt_hwork *h;
	u64 word, n;

	if (!env_fill(&env, m))
		return 0;
	h = HELPER(env.scratch);
	if (cfg.strsize > RT_HELPER_STRSIZE) { /* an entry of the map is longer than this text */
		u64 text = m->scratch + cfg.helper_off + __builtin_offsetof(struct rt_hwork, text);
		s64 len = text_read(m, env.scratch + cfg.text_a, text);

		if (len <= 0)
			return 0;
		word = name_word(env.scratch, text, len);
		return word ? word : name_drop(m, WALK(env.scratch));
	}
	n = MIN(h->text_len, (u64)cfg.strsize - 1);
	OPAQUE(n);
	if (!n || n > RT_HELPER_STRSIZE - 1)
		return 0;
	word = name_word_made(h, n);
	return word ? word : name_drop(m, WALK(env.scratch));
}

/*
 * Adds the word RT_USTACK_EARLY behind all frames: where those of the language would stand, only
 * helpers know.
 */
INLINE void early_mark(struct frame_env *env, struct unwind_work *w)
{
	if (w->is_early && !w->is_unmarked)
		word_put(env, w, RT_USTACK_EARLY);
}

u64 rt_walk_end(struct rt_mach *m)
{
	struct frame_env env;
	struct unwind_work *w;

	if (!env_fill(&env, m))
		return 0;
	w = WALK(env.scratch);
	early_mark(&env, w);
	if (!w->nframes)
		return w->at - w->from;
	(void)frame_take_back(w, HELPER(env.scratch));
	*(u64 *)&m->scratch_top = w->top;
	if (HELPER(env.scratch)->nroots)
		rt_fault_last(m);
	mark_flush(&env, w);
	walk_mark(&env, w);
	return w->at - w->from;
}
