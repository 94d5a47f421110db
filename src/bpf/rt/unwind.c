/*
 * Run-time library: the walk of a user stack, with or without frame pointers.
 *
 * From the registers with which the task entered the kernel, each frame leads to its caller's by a
 * rule (abi.h) that depends on where in the code the frame stands:
 *
 *     CFA = rsp + 48              what rsp was before the call of this function
 *     return address at CFA - 8   where the caller stands; its rsp is the CFA
 *     rbp at CFA - 16             if the function saved it, for callers whose CFA is told from rbp
 *
 * Rules come from .eh_frame (sym/ehframe.h) through MAP_UFILES and MAP_UBLOCKS, so nothing has to
 * be known of a process: which file is mapped at an address is read from the task's own tree of
 * mappings. bpf_find_vma() would need a lock, which it can release only once an interrupt; and a
 * table of mappings would be stale for new processes and after mmap(). The tree is a maple tree
 * (Linux Documentation/core-api/maple_tree.rst, lib/maple_tree.c, v6.1 on), which readers walk
 * under RCU, as BPF programs are. Nothing that is read is trusted: the worst that a concurrent
 * mmap() of another thread can do is a walk that ends early.
 *
 * Most frames are found in MAP_UCACHE, whose key is an address in an address space: a hash lookup a
 * frame, and a read of user memory every few frames. What it says may be wrong after an unmapping:
 * the consumer counts rt_control.epoch up now and then, which forgets everything.
 *
 * Code without rows (generated code; assembler) is walked by frame pointer, if rbp is plausible and
 * what it leads to is executable.
 *
 * Not done: uretprobes of other tracers replace return addresses, and a walk ends there (Fathom
 * probes return instructions instead). Language helpers run during a walk: frame_add() is where a
 * frame is known and the next one is not, so a hook there may add frames and set w->pc, sp and bp.
 */
#include "bpf/rt/rt.h"

static long (*const bpf_ringbuf_output)(void *ring, const void *data, u64 size,
					u64 flags) = (void *)130;

extern char map_ufiles, map_ublocks, map_ucache, map_ureq;
#define K (cfg.k)

/* Words of struct pt_regs, x86-64. */
enum { REGS_BP = 4, REGS_IP = 16, REGS_CS = 17, REGS_SP = 19, REGS_N = 21 };
#define CS_64 0x33 /* Linux arch/x86/include/asm/segment.h, __USER_CS */
/* ucontext_t: rbp, rsp, rip */
enum { UC_BP = 120, UC_SP = 160, UC_IP = 168 };

#define PF_KTHREAD 0x200000 /* Linux include/linux/sched.h */
#define VM_EXEC	   4

/* lib/maple_tree.c, include/linux/maple_tree.h */
enum { MAPLE_LEAF = 1, MAPLE_RANGE = 2, MAPLE_ARANGE = 3 };
#define MAPLE_NODE(e)	    ((e) & ~255ull)
#define MAPLE_TYPE(e)	    ((e) >> 3 & 15)
#define MAPLE_ROOT(e)	    (((e)&3) == 2 && (e) > 4096)
#define MAPLE_RANGE_PIVOTS  15
#define MAPLE_ARANGE_PIVOTS 9
/* of 10 each, at least half full, and a leaf of 16: far more than any process has */
#define MAPLE_DEPTH 7

#define WINDOW 128 /* words of the stack that are read at once: several frames' */

enum walk_end { WALK_ON, WALK_COMPLETE, WALK_CUT };

struct unwind_work {
	u64 pc, sp, bp; /* of the frame */
	u64 look;	/* an address in the instruction that the frame executes */
	u64 rule;	/* of the frame */
	u64 cfa;
	u64 pair[2]; /* what stands below the CFA */
	u64 at, nframes, max, is_unmarked;
	u64 exact;    /* RT_USTACK_EXACT, or 0 when that is not wanted */
	u64 is_first; /* the registers of regs are this frame's */
	u64 is_doubtful, end;
	u64 mm, tag; /* tag: of the address space in keys of MAP_UCACHE */
	/* the mapping found last: */
	u64 map_start, map_end, map_off;
	u64 map_rule; /* of all its code; 0: the tree says */
	u64 tree, nlevels, block;
	struct rt_ureq req;
	u64 regs[REGS_N];
	u64 node_type, nend, slot, node[32];
	u64 window_at, window[WINDOW + 2]; /* of the stack, from window_at on */
};
_Static_assert(sizeof(struct unwind_work) <= RT_WORK_SIZE, "RT_WORK_SIZE");

struct walk {
	struct rt_mach *m;
	char *scratch;
	char *mach;
};

INLINE struct unwind_work *work_of(struct rt_mach *m)
{
	char *scratch = m ? slot_of(m) : NULL;

	return scratch ? WORK(scratch, struct unwind_work) : NULL;
}

INLINE u64 read_word(u64 addr)
{
	u64 v = 0;

	bpf_probe_read_kernel(&v, 8, addr);
	return v;
}

INLINE u32 read_half(u64 addr)
{
	u32 v = 0;

	bpf_probe_read_kernel(&v, 4, addr);
	return v;
}

/* ---- the mapping of an address ------------------------------------------------------------ */

/* a < b, for both below 2^63, without a branch: the verifier then sees one way
 * through a node. */
INLINE u64 is_less(u64 a, u64 b)
{
	u64 d = a - b;

	OPAQUE(d);
	return d >> 63;
}

/*
 * How many pivots of the node in w->node, which has w->nend of them, are less than addr. In halves,
 * because a pivot may be all ones; all but that are odd, and addr is the start of a page.
 */
INLINE u64 maple_pivots_below(const struct unwind_work *w, u64 addr)
{
	u64 n = 0, nend = w->nend;

	addr >>= 1;
#pragma clang loop unroll(disable)
	for (u64 i = 0; i < MAPLE_RANGE_PIVOTS; i++)
		n += is_less(i, nend) & is_less(w->node[1 + i] >> 1, addr);
	return n;
}

/*
 * Number of pivots, first slot: by way of memory, after which the verifier need not follow each
 * kind of node for itself.
 */
INLINE void maple_shape(struct unwind_work *w, u64 type)
{
	u64 n;

	if (type == MAPLE_ARANGE) {
		n = ((u8 *)w->node)[K.arange_meta];
		w->nend = MIN(n, (u64)MAPLE_ARANGE_PIVOTS);
		w->slot = K.arange_slot / 8;
	} else {
		n = ((u8 *)w->node)[K.range_meta];
		w->nend = w->node[MAPLE_RANGE_PIVOTS] ? MAPLE_RANGE_PIVOTS : n;
		w->slot = K.range_slot / 8;
	}
}

/*
 * The struct vm_area_struct whose range in the tree holds w->look, or 0. It is inline, because a
 * function of its own would be the ninth in the longest chain of calls: bpf/budget.h.
 */
INLINE u64 vma_find(struct unwind_work *w)
{
	u64 e, type, slot;

	e = read_word(w->mm + K.mm_root);
	if (!MAPLE_ROOT(e))
		return 0;
#pragma clang loop unroll(disable)
	for (u32 depth = 0; depth < MAPLE_DEPTH; depth++) {
		type = MAPLE_TYPE(e);
		w->node_type = type;
		if (type - MAPLE_LEAF > MAPLE_ARANGE - MAPLE_LEAF ||
		    bpf_probe_read_kernel(w->node, sizeof(w->node), MAPLE_NODE(e)))
			return 0;
		maple_shape(w, w->node_type);
		slot = w->slot + maple_pivots_below(w, w->look & ~4095ull);
		OPAQUE(slot);
		e = w->node[slot & 31];
		if (w->node_type == MAPLE_LEAF)
			return e & 3 ? 0 : e;
	}
	return 0;
}

/* Fills w->req.key; false when no file stands behind the mapping. */
INLINE u64 file_key(struct unwind_work *w, u64 vma)
{
	struct rt_ufile_key *key = &w->req.key;
	u64 file = read_word(vma + K.vma_file), inode;

	key->ino = key->size = key->mtime = key->dev = 0;
	if (!file) {
		key->ino = RT_UFILE_VDSO;
		return read_word(w->mm + K.mm_vdso) == w->map_start;
	}
	inode = read_word(file + K.file_inode);
	key->ino = read_word(inode + K.inode_ino);
	key->size = read_word(inode + K.inode_size);
	key->mtime = read_word(inode + K.inode_mtime);
	key->dev = read_half(read_word(inode + K.inode_sb) + K.sb_dev);
	return inode != 0;
}

/* The first who meets a file asks for its tree; false: not one that dtrace cannot see. */
INLINE u64 file_ask(struct rt_mach *m, struct unwind_work *w)
{
	u64 pid = cfg.pidns.level ? m->pid : bpf_get_current_pid_tgid() >> 32;
	struct rt_ufile pending;

	if (cfg.pidns.level && !pid)
		return 0;
	pending.tree = pending.used = 0;
	pending.nlevels = RT_UTREE_PENDING;
	if (bpf_map_update_elem(&map_ufiles, &w->req.key, &pending, BPF_NOEXIST))
		return 1;
	w->req.start = w->map_start;
	w->req.end = w->map_end;
	w->req.pid = pid;
	if (bpf_ringbuf_output(&map_ureq, &w->req, sizeof(w->req), 0))
		bpf_map_delete_elem(&map_ufiles, &w->req.key);
	return 1;
}

/* Makes w->map_* those of w->look. */
INLINE void mapping_load(struct rt_mach *m, struct unwind_work *w)
{
	u64 vma = vma_find(w);
	struct rt_ufile *f;

	w->map_rule = RT_RULE_NO_CODE;
	w->map_start = w->map_end = 0;
	if (!vma || bpf_probe_read_kernel(w->pair, 16, vma + K.vma_start) || w->look < w->pair[0] ||
	    w->look >= w->pair[1])
		return;
	w->map_start = w->pair[0];
	w->map_end = w->pair[1];
	if (!(read_word(vma + K.vma_flags) & VM_EXEC))
		return;
	w->map_off = read_word(vma + K.vma_pgoff) << 12;
	w->map_rule = RT_RULE_NO_TABLE;
	if (!file_key(w, vma))
		return;
	f = bpf_map_lookup_elem(&map_ufiles, &w->req.key);
	if (!f && !file_ask(m, w))
		return;
	if (!f || f->nlevels == RT_UTREE_PENDING) {
		w->map_rule = RT_RULE_PENDING;
		return;
	}
	f->used = val_control.epoch;
	if (f->nlevels == 0)
		return;
	if (w->req.key.ino == RT_UFILE_VDSO && !w->req.key.dev)
		w->map_off = 0;
	w->map_rule = 0;
	w->tree = f->tree;
	w->nlevels = f->nlevels;
}

/* ---- rules -------------------------------------------------------------------------------- */

/* The last entry of the block whose offset is not above off, as the first one's is. */
INLINE u64 block_slot(const struct rt_ublock *b, u64 off)
{
	u64 i = 0, at;

#pragma unroll
	for (u32 step = RT_UBLOCK / 2; step; step >>= 1) {
		at = i + step;
		OPAQUE(at); /* else the mask is left out, and Linux 6.1 loses the bounds */
		i += is_less(b->off[at & (RT_UBLOCK - 1)], off + 1) * step;
	}
	OPAQUE(i);
	return i & (RT_UBLOCK - 1);
}

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
			return RT_RULE_NO_TABLE;
		i = block_slot(b, off);
		if (level == 0)
			return b->rule[i];
		n = n * RT_UBLOCK + i;
	}
	return RT_RULE_NO_TABLE;
}

/* mov $15, %rax; syscall: rt_sigreturn(), of C libraries that do not describe it. */
INLINE u64 is_sigreturn(struct unwind_work *w)
{
	w->pair[0] = w->pair[1] = 0;
	return bpf_probe_read_user(w->pair, 9, w->pc) == 0 && w->pair[0] == 0x0f0000000fc0c748ull &&
	       w->pair[1] == 0x05;
}

/*
 * mov %rbx, %rsp; mov (%rsp), %rdi: where a function of makecontext() returns to. Its row says that
 * it was called.
 */
INLINE u64 is_start_context(struct unwind_work *w)
{
	w->pair[0] = 0;
	return bpf_probe_read_user(w->pair, 8, w->pc) == 0 && w->pair[0] == 0x48243c8b48dc8948ull;
}

u64 rt_unwind_rule(struct rt_mach *m)
{
	struct unwind_work *w = work_of(m);
	u64 rule, off;

	if (!w)
		return RT_RULE_NO_CODE;
	if (w->look < w->map_start || w->look >= w->map_end)
		mapping_load(m, w);
	rule = w->map_rule;
	if (rule == 0) {
		off = w->look - w->map_start + w->map_off;
		rule = off >> 32 ? RT_RULE_NO_TABLE : tree_rule(w, off);
	}
	if (RT_RULE_KIND(rule) == RT_UNWIND_NONE)
		rule = RT_RULE_NO_TABLE;
	if (RT_RULE_KIND(rule) == RT_RULE_NO_TABLE && is_sigreturn(w))
		rule = RT_UNWIND_SIGNAL;
	else if (w->look != w->pc && is_start_context(w))
		rule = RT_UNWIND_END;
	return rule;
}

/* The rule at w->look, from the cache if it is there. */
INLINE u64 rule_find(struct rt_mach *m, struct unwind_work *w)
{
	u64 key = (w->look ^ w->tag) * 0x9e3779b97f4a7c15ull, rule;
	struct rt_urule *e;
	u32 slot;

	key ^= key >> 29;
	slot = key & (RT_UCACHE - 1);
	e = bpf_map_lookup_elem(&map_ucache, &slot);
	if (!e)
		return RT_RULE_NO_CODE;
	rule = e->rule;
	if ((e->check ^ rule) == key && rule)
		return rule;
	rule = rt_unwind_rule(m);
	if (RT_RULE_KIND(rule) != RT_RULE_PENDING) {
		e->rule = rule;
		e->check = key ^ rule;
	}
	return rule;
}

/* ---- from frame to frame ------------------------------------------------------------------ */

INLINE u64 read_user(u64 *dst, u64 addr, u32 size)
{
	return bpf_probe_read_user(dst, size, addr) == 0;
}

/* The two words at addr. The mask is for the verifier. */
INLINE u64 read_pair(struct unwind_work *w, u64 addr)
{
	u64 i = addr - w->window_at;

	if (i > 8 * (WINDOW - 2) || (i & 7)) {
		if (!read_user(w->window, addr, 8 * WINDOW)) {
			w->window_at = ~0ull >> 1; /* far from everything */
			return read_user(w->pair, addr, 16);
		}
		w->window_at = addr;
		i = 0;
	}
	i = i / 8 & (WINDOW - 1);
	OPAQUE(i);
	i &= WINDOW - 1;
	w->pair[0] = w->window[i];
	w->pair[1] = w->window[i + 1];
	return 1;
}

/* What was interrupted by a signal: its registers are in the ucontext at rsp. */
INLINE u64 signal_frame(struct unwind_work *w)
{
	u64 uc = w->sp;

	if (!read_user(&w->bp, uc + UC_BP, 8) || !read_user(w->pair, uc + UC_SP, 16))
		return 0;
	w->sp = w->pair[0];
	w->pc = w->look = w->pair[1];
	return w->pc != 0;
}

/* The CFA by a rule of a kind that is neither rsp nor rbp plus a distance; 0: there is none. */
u64 rt_unwind_odd(struct rt_mach *m, u64 rule)
{
	struct unwind_work *w = work_of(m);
	u64 cfa = 0;

	if (!w)
		return 0;
	switch (RT_RULE_KIND(rule)) {
	case RT_UNWIND_RSP_DEREF:
		return read_user(&cfa, w->sp + RT_RULE_CFA(rule), 8) ? cfa + 8 : 0;
	case RT_UNWIND_RBP_DEREF: return read_user(&cfa, w->bp + RT_RULE_CFA(rule), 8) ? cfa : 0;
	case RT_UNWIND_PLT: return w->sp + ((w->pc & 15) * 8 >= (u64)RT_RULE_CFA(rule) ? 16 : 8);
	case RT_UNWIND_REG: {
		u64 reg = RT_RULE_REG(rule);

		if (!w->is_first || reg >= REGS_N)
			return 0;
		return w->regs[reg] + RT_RULE_REG_CFA(rule);
	}
	default: /* by frame pointer */
		w->is_doubtful |= RT_RULE_KIND(rule) == RT_RULE_PENDING;
		return w->bp >= w->sp && !(w->bp & 7) ? w->bp + 16 : 0;
	}
}

/* Reads what the frame below the CFA saved; false when the memory is not there. */
INLINE u64 frame_leave(struct unwind_work *w, u64 rule, u64 cfa)
{
	u64 rbp = RT_RULE_RBP(rule);

	if (RT_RULE_KIND(rule) >= RT_RULE_PENDING)
		rbp = 2;
	if (rbp == 2) { /* just below the return address, as in all code with frame pointers */
		if (!read_pair(w, cfa - 16))
			return 0;
		w->bp = w->pair[0];
	} else {
		if (!read_pair(w, cfa - 16) && !read_user(&w->pair[1], cfa - 8, 8))
			return 0;
		if (rbp && !read_user(&w->bp, rbp == RT_RULE_AT_RBP ? w->bp : cfa - 8 * rbp, 8))
			return 0;
	}
	w->sp = cfa;
	w->pc = w->pair[1];
	w->look = w->pc - 1; /* the call: what follows may belong to something else */
	return 1;
}

/* RT_USTACK_EXACT of the frame: it was interrupted, or a signal handler returns to its start. */
INLINE u64 frame_mark(const struct unwind_work *w)
{
	return w->look == w->pc || RT_RULE_KIND(w->rule) == RT_UNWIND_SIGNAL ? w->exact : 0;
}

/* The walk's next frame is known. A helper would run here. */
INLINE u64 frame_add(struct walk *l, struct unwind_work *w, u64 word)
{
	u64 at = w->at;

	if (at > cfg.mach_size - 8)
		return 0;
	*(u64 *)(l->mach + at) = word;
	w->at = at + 8;
	w->nframes++;
	return 1;
}

INLINE enum walk_end frame_next(struct walk *l, struct unwind_work *w)
{
	u64 rule = w->rule, kind = RT_RULE_KIND(rule), cfa;

	if (kind == RT_UNWIND_END)
		return WALK_COMPLETE;
	if (kind == RT_UNWIND_SIGNAL) {
		if (!signal_frame(w))
			return WALK_CUT;
	} else {
		if (kind == RT_UNWIND_RSP)
			cfa = w->sp + RT_RULE_CFA(rule);
		else if (kind == RT_UNWIND_RBP)
			cfa = w->bp + RT_RULE_CFA(rule);
		else
			cfa = rt_unwind_odd(l->m, rule);
		if (cfa <= w->sp || !frame_leave(w, rule, cfa))
			return kind >= RT_RULE_PENDING && w->bp == 0 ? WALK_COMPLETE : WALK_CUT;
	}
	if (w->pc == 0)
		return WALK_COMPLETE;
	w->is_first = 0;
	w->rule = rule_find(l->m, w);
	if (w->rule == RT_RULE_NO_CODE || !frame_add(l, w, w->pc | frame_mark(w)))
		return WALK_CUT;
	return w->nframes >= w->max ? WALK_COMPLETE : WALK_ON;
}

static long walk_step(u64 i, void *ctx)
{
	struct walk *l = ctx;
	struct unwind_work *w = WORK(l->scratch, struct unwind_work);
	enum walk_end end = frame_next(l, w);

	w->end = end;
	return end != WALK_ON;
}

/* ---- the first frame of code without rows --------------------------------------------------- */

/* mov rsp, rbp, in either encoding; 32-bit code has no prefix */
INLINE u64 is_frame_mov(u64 code, u64 word)
{
	if (word == 8 && (u8)code != 0x48)
		return 0;
	code = word == 8 ? code >> 8 : code;
	return (u16)code == 0xe589 || (u16)code == 0xec8b;
}

/* push rbp, maybe behind endbr, which alone may stand anywhere: setjmp() returns to one */
INLINE u64 is_frame_push(u64 code)
{
	if ((code & 0xfeffffff) == 0xfa1e0ff3)
		code >>= 32;
	return (u8)code == 0x55;
}

/*
 * Where the return address of the first frame is, when the frame pointer does not tell yet, or no
 * longer: in the first instructions of a function, at its ret, and in the 32-bit vDSO's system
 * call. 0: the frame pointer tells.
 */
INLINE u64 first_return(const struct rt_mach *m, struct unwind_work *w, u64 word)
{
	u64 code;

	if (m->place != UPROBE_INSN)
		return w->sp;
	w->pair[0] = 0;
	(void)read_user(w->pair, w->pc, 8);
	code = w->pair[0];
	if (is_frame_push(code) || (u8)code == 0xc3) /* ret */
		return w->sp;
	if (is_frame_mov(code, word))
		return w->sp + word;
	/* pop ebp; pop edx; pop ecx; ret */
	return word == 4 && (u32)code == 0xc3595a5d ? w->sp + 12 : 0;
}

/* Of a frame whose rule is the frame pointer: one that suits its instruction. */
u64 rt_unwind_first(struct rt_mach *m, u64 rule)
{
	struct unwind_work *w = work_of(m);
	u64 at;

	if (!w)
		return rule;
	at = first_return(m, w, 8);
	if (!at)
		return rule;
	w->is_doubtful |= RT_RULE_KIND(rule) == RT_RULE_PENDING;
	return RT_UNWIND_RSP | ((at - w->sp) / 8 + 1) << 12;
}

/* ---- 32-bit tasks: by frame pointer --------------------------------------------------------- */

INLINE enum walk_end frame32_next(struct walk *l, struct unwind_work *w)
{
	u64 at = w->is_first ? first_return(l->m, w, 4) : 0;

	w->is_first = 0;
	w->pair[0] = 0;
	if (at) {
		if (!read_user(w->pair, at, 4))
			return WALK_CUT;
		w->pc = w->pair[0];
		w->sp = at + 4;
	} else {
		if (w->bp < w->sp || !read_user(w->pair, w->bp, 8))
			return WALK_CUT;
		w->sp = w->bp + 8;
		w->bp = (u32)w->pair[0];
		w->pc = w->pair[0] >> 32;
	}
	if (w->pc == 0 || !frame_add(l, w, w->pc))
		return WALK_CUT;
	return w->nframes >= w->max ? WALK_COMPLETE : WALK_ON;
}

static long walk32_step(u64 i, void *ctx)
{
	struct walk *l = ctx;

	return frame32_next(l, WORK(l->scratch, struct unwind_work)) != WALK_ON;
}

/*
 * Code that keeps no frame pointers is passed over without a trace, so this is marked in any case.
 */
INLINE void walk32_run(struct walk *l, struct unwind_work *w)
{
	w->is_doubtful = 1;
	w->pc = (u32)w->pc;
	w->sp = (u32)w->sp;
	w->bp = (u32)w->bp;
	if (frame_add(l, w, w->pc | w->exact))
		bpf_loop(w->max - 1, walk32_step, l, 0);
}

/* ---- the walk ----------------------------------------------------------------------------- */

/* Fills w->regs; false when the task has no user registers. */
u64 rt_unwind_start(struct rt_mach *m)
{
	struct unwind_work *w = work_of(m);
	u64 task = bpf_get_current_task_btf(), regs = bpf_task_pt_regs(task);

	if (!w)
		return 0;
	w->mm = read_word(task + K.task_mm);
	if (!w->mm || (read_half(task + K.task_flags) & PF_KTHREAD) ||
	    bpf_probe_read_kernel(w->regs, sizeof(w->regs), regs))
		return 0;
	/* struct mm_struct of processes that end are used again soon; where their stacks begin is
	 * random */
	w->tag = w->mm ^ read_word(w->mm + K.mm_arg_start) << 20 ^ (u64)val_control.epoch << 44;
	w->pc = w->look = w->regs[REGS_IP];
	w->sp = w->regs[REGS_SP];
	w->bp = w->regs[REGS_BP];
	w->map_start = w->map_end = 0;
	w->window_at = ~0ull >> 1;
	w->is_first = 1;
	w->is_doubtful = w->nframes = 0;
	return 1;
}

/* The first frame, then the others. */
INLINE void walk_run(struct walk *l, struct unwind_work *w)
{
	w->rule = rule_find(l->m, w);
	if (RT_RULE_KIND(w->rule) == RT_RULE_PENDING || RT_RULE_KIND(w->rule) == RT_RULE_NO_TABLE)
		w->rule = rt_unwind_first(l->m, w->rule);
	w->end = WALK_CUT;
	if (frame_add(l, w, w->pc | w->exact) && w->rule != RT_RULE_NO_CODE)
		bpf_loop(w->max - 1, walk_step, l, 0);
}

/* The word that says that the stack goes on. */
INLINE void walk_mark(struct walk *l, struct unwind_work *w)
{
	if (w->is_unmarked || w->nframes >= w->max || (w->end != WALK_CUT && !w->is_doubtful))
		return;
	frame_add(l, w, RT_USTACK_CUT);
}

u64 rt_ustack(struct rt_mach *m, u64 at, u64 n)
{
	struct walk l = {.m = m};
	u32 slot;

	if (!m)
		return 0;
	l.scratch = slot_of(m);
	if (!l.scratch)
		return 0;
	WORK(l.scratch, struct unwind_work)->max = n & ~RT_USTACK_UNMARKED;
	WORK(l.scratch, struct unwind_work)->is_unmarked = n & RT_USTACK_UNMARKED;
	WORK(l.scratch, struct unwind_work)->exact = n & RT_USTACK_UNMARKED ? 0 : RT_USTACK_EXACT;
	WORK(l.scratch, struct unwind_work)->at = at;
	if (!(n & ~RT_USTACK_UNMARKED) || !rt_unwind_start(m))
		return 0;
	slot = m->slot;
	l.mach = bpf_map_lookup_elem(&map_mach, &slot);
	if (!l.mach)
		return 0;
	if (WORK(l.scratch, struct unwind_work)->regs[REGS_CS] == CS_64)
		walk_run(&l, WORK(l.scratch, struct unwind_work));
	else
		walk32_run(&l, WORK(l.scratch, struct unwind_work));
	walk_mark(&l, WORK(l.scratch, struct unwind_work));
	return WORK(l.scratch, struct unwind_work)->nframes * 8;
}
