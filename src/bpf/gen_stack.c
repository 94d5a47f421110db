/* SPDX-License-Identifier: MIT */
/*
 * Generates code that writes a stack into a record or a key's slot, or computes a built-in variable
 * from a stack. bpf_get_stack() walks kernel stacks, our own walker (rt/unwind.c) user stacks.
 *
 * Where the program runs inside the traced function (tracepoints), the kernel's walk begins in the
 * program itself: its own functions are known and skipped by number. The kernel's functions between
 * the traced function and the program depend on the kernel and on other tracers, so they are left
 * out by name, when the stack is printed (sym/), or by address range (rt/stack.c). A timer's stack
 * begins at the instruction that the timer has interrupted.
 */
#include "bpf/entry.h"
#include "rt/helper.h"

/* r0 = bytes of addresses at r2, at most size; not negative */
static void get_stack(struct gen *g, uint32_t size, bool is_user)
{
	struct emitter *e = &g->e;
	uint32_t good = em_label(e);

	em_load(e, 8, R1, R10, FRAME_CTX);
	em_imm(e, R3, size);
	em_imm(e, R4, is_user ? BPF_F_USER_STACK : g->depth);
	em_helper(e, BPF_FUNC_get_stack);
	em_jmp_imm(e, BPF_JSGE, R0, 0, good);
	em_imm(e, R0, 0); /* a kernel thread has no user stack, user mode no kernel stack */
	em_here(e, good);
}

/* The offset of a stack in the machine state: off, plus r7 when has_r7. */
struct stack_at {
	uint32_t off;
	bool has_r7;
};

static void at_load(struct gen *g, int dst, const struct stack_at *at)
{
	em_imm(&g->e, dst, at->off);
	if (at->has_r7)
		em_alu_reg(&g->e, BPF_ADD, dst, R7);
}

#define WALK_ENV FRAME_KEY /* and FRAME_TMP: struct helper_env of rt/helper.c, two words */

/*
 * helper(ctx, m, index): a tail call of the compiled helper. If there is one, it returns to the
 * caller of this function, with 0 when it has walked the stack. Otherwise this function returns a
 * number that the verifier does not know, and that is not 0.
 */
static void emit_helper_call(struct gen *g, uint32_t unused)
{
	struct emitter *e = &g->e;

	em_map(e, R2, MAP_REF(MAP_HPROGS, 0));
	em_helper(e, BPF_FUNC_tail_call);
	em_helper(e, BPF_FUNC_get_current_task);
	em_exit(e);
}

/*
 * Runs the compiled helper, if there is one and this function can call it: the kernel allows 256
 * bytes of stack above a function with a tail call, and none from programs that belong to one
 * function of its own (fentry). r0 = the result of rt_walk_begin().
 */
static void call_compiled(struct gen *g, uint32_t walked)
{
	struct emitter *e = &g->e;
	uint32_t machine = em_label(e);

	if (!g->env->calls_helpers || g->is_cut || g->is_error_clause ||
	    place_table[g->u->place.kind].target)
		return;
	em_jmp_imm(e, BPF_JEQ, R0, 1, machine);
	em_load(e, 8, R1, R10, FRAME_CTX);
	em_mov(e, R2, R9);
	em_mov(e, R3, R0);
	em_alu_imm(e, BPF_ADD, R3, -2);
	em_call_func(e, gen_func(g, "helper", emit_helper_call, 0));
	em_jmp_imm(e, BPF_JEQ, R0, 0, walked);
	em_here(e, machine);
}

/*
 * r0 = bytes of at most `frames` frames of the user stack and of their names, written to the offset
 * in r2 of the machine state's entry. The flags RT_USTACK_ONLY_LANG and RT_USTACK_UNMARKED may be
 * added to the frames. If the process has ustack helpers, the helper machine (rt/helper.h) walks
 * the stack; it is called here, and not by a run-time function, because the kernel bounds how many
 * functions call one another (budget.h).
 */
static void helped_walk(struct gen *g, uint32_t frames, uint32_t strsize)
{
	struct emitter *e = &g->e;
	uint32_t done = em_label(e);

	em_imm(e, R3, frames);
	em_imm(e, R4, strsize);
	gen_rt(g, "rt_walk_begin");
	em_jmp_imm(e, BPF_JEQ, R0, 0, done);
	call_compiled(g, done);
	if (!g->is_error_clause) {
		gen_rt(g, "rt_helper_run");
		em_here(e, done);
		gen_rt(g, "rt_walk_end");
		return;
	}
	gen_mach_load(g, 4, R0, offsetof(struct rt_mach, slot));
	em_store(e, 4, R10, FRAME_KEY, R0);
	em_map(e, R1, MAP_REF(MAP_SCRATCH, 0));
	em_addr(e, R2, R10, (uint32_t)FRAME_KEY);
	em_helper(e, BPF_FUNC_map_lookup_elem);
	em_jmp_imm(e, BPF_JEQ, R0, 0, done);
	em_store(e, 8, R10, WALK_ENV, R0);
	em_store(e, 8, R10, WALK_ENV + 8, R9);
	em_imm(e, R1, RT_HELPER_MOST);
	em_rt_addr(e, R2, "rtcb_helper_step");
	em_addr(e, R3, R10, (uint32_t)WALK_ENV);
	em_imm(e, R4, 0);
	em_helper(e, BPF_FUNC_loop);
	em_here(e, done);
	gen_rt(g, "rt_walk_end");
}

/*
 * r0 = bytes of at most `frames` addresses of the user stack, which are written to `at`; with
 * strsize, names of frames follow the addresses. If the kernel does not show what our own walker
 * (rt/unwind.c) needs, the kernel walks the stack by frame pointer. flags: RT_USTACK_UNMARKED, and
 * RT_USTACK_ONLY_LANG, with which there are no frames if no helper can run.
 */
static void get_user_stack(struct gen *g, uint32_t frames, uint32_t strsize, struct stack_at at,
			   uint32_t flags)
{
	struct emitter *e = &g->e;
	uint32_t good = em_label(e);
	uint32_t most = 8 * stack_words(frames, strsize);

	at_load(g, R2, &at);
	if (g->env->unwinds && strsize) {
		helped_walk(g, frames | flags, strsize);
	} else if (flags & RT_USTACK_ONLY_LANG) {
		em_imm(e, R0, 0);
	} else if (g->env->unwinds) {
		em_imm(e, R3, frames | flags);
		gen_rt(g, "rt_ustack");
	} else {
		em_alu_reg(e, BPF_ADD, R2, R9);
		get_stack(g, 8 * frames, true);
	}
	em_jmp_imm(e, BPF_JLE, R0, (int32_t)most, good); /* always true: for the verifier */
	em_imm(e, R0, 0);
	em_here(e, good);
}

/* Whether a kernel stack begins with tracing code: the program runs inside the function. */
static bool is_traced(const struct gen *g)
{
	return g->depth || place_table[g->u->place.kind].is_traced;
}

static uint32_t traced_flag(const struct gen *g, bool is_user)
{
	return is_traced(g) && !is_user ? RT_STACK_TRACED : 0;
}

/* The flags in struct rt_stack.frames. */
static uint32_t stack_flags(const struct gen *g, bool is_user)
{
	return is_user ? RT_STACK_USER : traced_flag(g, false);
}

/* r0 = process id */
static void get_pid(struct gen *g)
{
	gen_pid_tgid(g);
	em_alu_imm(&g->e, BPF_RSH, R0, 32);
}

void gen_record_stack(struct gen *g, const struct rec_field *f, uint32_t off)
{
	struct emitter *e = &g->e;
	bool is_user = f->datum == DATUM_USTACK;

	gen_mach_load(g, 8, R7, HEAP_OFF);
	/* always true: for the verifier, as in string_field() */
	em_jmp_imm(e, BPF_JGT, R7, (int32_t)(g->uc->layout->max_size - f->size), g->out);
	if (is_user)
		get_pid(g);
	em_addr(e, R2, R9, g->mach->rec_off);
	em_alu_reg(e, BPF_ADD, R2, R7);
	if (is_user) {
		em_store(e, 8, R2, 0, R0);
		get_user_stack(g, f->frames, f->strsize,
			       (struct stack_at){g->mach->rec_off + 8, true},
			       f->is_lang ? RT_USTACK_ONLY_LANG : 0);
		em_alu_imm(e, BPF_ADD, R0, 8);
	} else {
		get_stack(g, f->size, false);
	}
	gen_mach_store(g, 4, off + (uint32_t)offsetof(struct rt_str, off), R7);
	em_alu_reg(e, BPF_ADD, R7, R0);
	if (traced_flag(g, is_user)) {
		em_imm(e, R1, RT_STACK_TRACED);
		em_alu_reg(e, BPF_OR, R0, R1);
	}
	gen_mach_store(g, 4, off + (uint32_t)offsetof(struct rt_str, len), R0);
	gen_mach_store(g, 8, HEAP_OFF, R7);
}

/* r0 = the hash of a stack, which is written to a slot of the stack area */
static void slot_fill(struct gen *g, const struct stack_how *how, uint32_t slot)
{
	struct emitter *e = &g->e;
	uint32_t at = g->mach->stack_off + slot * g->mach->stack_stride;
	uint32_t words = at + (uint32_t)offsetof(struct rt_stack, words);

	if (how->is_user) {
		get_pid(g);
		gen_mach_store(g, 8, words, R0);
		get_user_stack(g, how->frames, how->strsize, (struct stack_at){words + 8, false},
			       how->is_lang ? RT_USTACK_ONLY_LANG : 0);
		em_alu_imm(e, BPF_ADD, R0, 8);
	} else {
		em_addr(e, R2, R9, words);
		get_stack(g, stack_bytes(how->frames), false);
	}
	gen_mach_store(g, 4, at + (uint32_t)offsetof(struct rt_stack, len), R0);
	em_store_imm(e, 4, R9, (int32_t)(at + offsetof(struct rt_stack, frames)),
		     (int32_t)(how->frames | stack_flags(g, how->is_user)));
	em_imm(e, R2, slot);
	gen_rt(g, "rt_stackhash");
}

void gen_key_stack(struct gen *g, const struct difo *d, enum datum_kind datum, uint32_t slot)
{
	struct stack_how how = {.is_user = datum == DATUM_USTACK, .is_lang = difo_stack_is_lang(d)};

	how.frames = layout_frames(g->l, d, how.is_user);
	how.strsize = layout_strsize(&g->l->opts, d, how.is_user);
	slot_fill(g, &how, slot);
}

/* The last slot is that of values: no key has its stack there. */
void gen_stack_value(struct gen *g, uint64_t constant)
{
	struct stack_how how = layout_stack_how(&g->l->opts, constant);
	uint32_t slot = g->mach->stack_nslots - 1, done = em_label(&g->e);

	slot_fill(g, &how, slot);
	em_imm(&g->e, R2, slot);
	em_mov(&g->e, R3, R0);
	gen_rt(g, "rt_stackid");
	em_jmp_imm(&g->e, BPF_JNE, R0, 0, done);
	gen_count(g, offsetof(struct rt_cpu, dyn_drops));
	em_imm(&g->e, R0, 0);
	em_here(&g->e, done);
}

/* r0 = bytes of a stack of so many frames, which is written to the words of the last slot */
static void var_stack(struct gen *g, uint32_t frames, bool is_user)
{
	uint32_t slot = g->mach->stack_off + (g->mach->stack_nslots - 1) * g->mach->stack_stride;

	uint32_t words = slot + (uint32_t)offsetof(struct rt_stack, words);

	if (is_user) {
		get_user_stack(g, frames, 0, (struct stack_at){words, false}, RT_USTACK_UNMARKED);
		return;
	}
	em_addr(&g->e, R2, R9, words);
	get_stack(g, stack_bytes(frames), false);
}

bool gen_has_calls(const struct gen *g)
{
	for (uint32_t i = 0; i < g->u->nprobes; i++)
		if (g->u->probes[i].spot == SPOT_CALL)
			return true;
	return false;
}

/* At a call the first frame is that of the caller: r0 = its word; r1: how many bytes are there. */
static void calling_frame_load(struct gen *g, uint32_t words, uint32_t done)
{
	uint32_t other = em_label(&g->e);

	gen_mach_load(g, 4, R2, offsetof(struct rt_mach, spot));
	em_jmp_imm(&g->e, BPF_JNE, R2, SPOT_CALL, other);
	em_jmp_imm(&g->e, BPF_JLT, R1, 8, done);
	gen_mach_load(g, 8, R0, words);
	em_ja(&g->e, done);
	em_here(&g->e, other);
}

/* r0 = second frame of a user stack, or of a kernel stack that begins where the probe fired */
static void second_frame(struct gen *g, bool is_user)
{
	uint32_t slot = g->mach->stack_off + (g->mach->stack_nslots - 1) * g->mach->stack_stride;
	uint32_t done = em_label(&g->e);

	var_stack(g, 2, is_user);
	em_mov(&g->e, R1, R0);
	em_imm(&g->e, R0, 0);
	if (is_user && gen_has_calls(g))
		calling_frame_load(g, slot + (uint32_t)offsetof(struct rt_stack, words), done);
	em_jmp_imm(&g->e, BPF_JLT, R1, 16, done);
	gen_mach_load(g, 8, R0, slot + (uint32_t)offsetof(struct rt_stack, words) + 8);
	em_here(&g->e, done);
}

void gen_stack_var(struct gen *g, uint32_t var)
{
	uint32_t all = layout_max_frames(&g->l->opts, var == DIF_VAR_USTACKDEPTH);

	switch (var) {
	case DIF_VAR_UCALLER: second_frame(g, true); return;
	case DIF_VAR_CALLER:
		if (!is_traced(g)) {
			second_frame(g, false);
			return;
		}
		var_stack(g, 2, false);
		em_mov(&g->e, R2, R0);
		gen_rt(g, "rt_caller");
		return;
	case DIF_VAR_USTACKDEPTH:
	case DIF_VAR_STACKDEPTH:
		var_stack(g, all, var == DIF_VAR_USTACKDEPTH);
		if (var == DIF_VAR_STACKDEPTH && is_traced(g)) {
			em_mov(&g->e, R2, R0);
			gen_rt(g, "rt_stackdepth");
			return;
		}
		em_alu_imm(&g->e, BPF_RSH, R0, 3);
		return;
	default: BUG("variable %u is not of a stack", var);
	}
}

/* The room for texts: of a frame of a language, and of one that is left out before it. */
#define LANG_STRSIZE (2 * RT_HELPER_STRSIZE)

/* Stores the word of the innermost frame of a language in the machine state, or 0. */
static void lang_find(struct gen *g)
{
	struct emitter *e = &g->e;
	uint32_t words = g->mach->stack_off + (g->mach->stack_nslots - 1) * g->mach->stack_stride +
			 (uint32_t)offsetof(struct rt_stack, words);
	uint32_t none = em_label(e);

	get_user_stack(g, 1, g->l->opts.has_helpers ? LANG_STRSIZE : 0,
		       (struct stack_at){words, false}, RT_USTACK_ONLY_LANG | RT_USTACK_UNMARKED);
	em_mov(e, R1, R0);
	em_imm(e, R0, 0);
	em_jmp_imm(e, BPF_JEQ, R1, 0, none);
	gen_mach_load(g, 8, R0, words);
	em_here(e, none);
	gen_mach_store(g, 8, offsetof(struct rt_mach, lang), R0);
	em_store_imm(e, 4, R9, offsetof(struct rt_mach, has_lang), 1);
}

void gen_lang_var(struct gen *g, uint32_t part)
{
	struct emitter *e = &g->e;
	uint32_t have = em_label(e);

	if (!g->env->unwinds || !g->l->opts.has_helpers) {
		em_imm(e, R0, 0);
		/* the string table begins with the empty text */
		if (part != RT_LANG_LINE)
			gen_mach_load(g, 8, R0, offsetof(struct rt_mach, strtab));
		return;
	}
	gen_mach_load(g, 4, R0, offsetof(struct rt_mach, has_lang));
	em_jmp_imm(e, BPF_JNE, R0, 0, have);
	lang_find(g);
	em_here(e, have);
	em_imm(e, R2, part);
	gen_rt(g, "rt_lang");
}
