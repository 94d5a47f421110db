/* SPDX-License-Identifier: MIT */
/*
 * Units: makes the entry function, the functions that contain its clauses, and the fault handler.
 *
 *     entry(ctx)              key -> probe -> machine state -> arguments -> clauses -> release
 *     clause(ctx, m, mask)    one clause, or up to 64 of them when a unit has very many
 *     fault(ctx, m)           record of a fault, then the ERROR clauses
 *
 * A large unit is generated twice: the first attempt finds out how large its clauses are.
 *
 * The kernel allows 256 functions in a program, the run-time library's included.
 *
 * Registers in the entry: r6 context, r7 the task or its registers (system calls), r8 the key and
 * then the dispatch element, r9 the machine state.
 */
#include "bpf/entry.h"
#include "bpf/engine.h"

#define MAX_GROUPS   100
#define MAX_FUNCS    170  /* of a large unit */
#define MAX_BRANCHES 3000 /* a unit with more of them is large: gen_parts.c */
#define MASK_BITS    64u
#define INLINE_MAX   2 /* up to so many clauses are part of the entry itself */
#define MAX_COMPARED 4 /* up to so many keys of one probe are compared, not looked up */
#define CLAUSE_NONE  UINT32_MAX

/* ---- probe -> dispatch element -------------------------------------------------------------- */

static void probe_find(struct entry *en)
{
	struct emitter *e = &en->g->e;

	if (en->has_one_probe) {
		if (en->keeps_key)
			em_store(e, 8, R10, FRAME_VAL, R8);
		return;
	}
	em_store(e, 4, R10, FRAME_KEY, R8);
	em_addr(e, R2, R10, (uint32_t)FRAME_KEY);
	em_map(e, R1, MAP_REF(MAP_DISPATCH, 0));
	em_helper(e, BPF_FUNC_map_lookup_elem);
	em_jmp_imm(e, BPF_JEQ, R0, 0, en->missed);
	em_mov(e, R8, R0);
	em_load(e, 4, R0, R8, offsetof(struct rt_dispatch, probe));
	em_jmp_imm(e, BPF_JEQ, R0, 0, en->missed);
}

/*
 * dst = the key of a system call. It comes from the dispatch element, where it is just a number to
 * the verifier of the kernel, which otherwise follows the program once for each key that it knows.
 */
void entry_key_load(struct entry *en, int dst)
{
	if (en->has_one_probe)
		em_load(&en->g->e, 8, dst, R10, FRAME_VAL);
	else
		em_load(&en->g->e, 4, dst, R8, offsetof(struct rt_dispatch, key));
}

/*
 * Leaves if this is not the process of the probe but one that shares its memory, between vfork()
 * and exec.
 */
static void process_check(struct entry *en)
{
	struct emitter *e = &en->g->e;
	uint32_t any = em_label(e);

	if (!en->traits->is_in_process)
		return;
	if (en->g->env->pidns.level) {
		em_imm(e, R1, 0); /* no machine state has been claimed yet */
		em_call_rt(e, "rt_pid_tgid");
	} else {
		em_helper(e, BPF_FUNC_get_current_pid_tgid);
	}
	em_alu_imm(e, BPF_RSH, R0, 32);
	em_load(e, 4, R1, R8, offsetof(struct rt_dispatch, tgid));
	em_jmp_imm(e, BPF_JEQ, R1, 0, any);
	em_jmp_reg(e, BPF_JNE, R0, R1, en->quit);
	em_here(e, any);
}

static void state_check(struct entry *en)
{
	struct emitter *e = &en->g->e;

	if (en->g->u->is_begin_end)
		return;
	em_map_value(e, R1, MAP_REF(MAP_CONTROL, 0), offsetof(struct rt_control, state));
	em_load(e, 4, R1, R1, 0);
	em_jmp_imm(e, BPF_JNE, R1, RT_STATE_ON, en->quit);
}

/* ---- machine state -------------------------------------------------------------------------- */

#define OWNER_BIT (1 << 30) /* above all thread ids */

/*
 * Whether the busy word of a machine state says which thread has claimed it. A program that yields
 * does not fire in what a program of ours calls; but where another thread has preempted that
 * program, it fires.
 */
static bool has_owner(const struct entry *en)
{
	return en->traits->is_preemptible && en->traits->yields;
}

/* r7 = the busy word of states that this thread claims */
static void owner_load(struct entry *en)
{
	struct emitter *e = &en->g->e;

	if (!has_owner(en))
		return;
	em_helper(e, BPF_FUNC_get_current_pid_tgid);
	em_mov32(e, R7, R0);
	em_alu_imm(e, BPF_OR, R7, OWNER_BIT);
}

/* Jumps if the state is this thread's, or if that is not known; r1 = its busy word, not 0. */
static void owner_yield(struct entry *en, uint32_t yield)
{
	struct emitter *e = &en->g->e;

	em_jmp_reg(e, BPF_JEQ, R1, R7, yield);
	em_jmp_imm(e, BPF_JLT, R1, OWNER_BIT, yield);
}

/* Counts a firing that leaves the interrupted one alone. */
static void yield_count(struct entry *en)
{
	gen_count(en->g, offsetof(struct rt_cpu, yields));
	em_ja(&en->g->e, en->quit);
}

static void emit_yield(struct gen *g, const struct cold *c)
{
	(void)g;
	yield_count((struct entry *)(uintptr_t)c->arg);
}

/* r9 = machine state of the slot at FRAME_KEY, r1 = its busy word */
static void mach_load(struct entry *en)
{
	struct emitter *e = &en->g->e;

	em_addr(e, R2, R10, (uint32_t)FRAME_KEY);
	em_map(e, R1, MAP_REF(MAP_MACH, 0));
	em_helper(e, BPF_FUNC_map_lookup_elem);
	em_jmp_imm(e, BPF_JEQ, R0, 0, en->quit);
	em_mov(e, R9, R0);
	if (has_owner(en)) {
		em_imm(e, R0, 0);
		em_cmpxchg32(e, R9, offsetof(struct rt_mach, busy), R7);
		em_mov(e, R1, R0);
	} else if (en->traits->is_preemptible) {
		em_imm(e, R1, 1);
		em_xchg32(e, R9, offsetof(struct rt_mach, busy), R1);
	} else {
		gen_mach_load(en->g, 4, R1, offsetof(struct rt_mach, busy));
	}
}

/* The interrupted firing has the first level: tries the others. */
static void emit_next_levels(struct gen *g, const struct cold *c)
{
	struct entry *en = (struct entry *)(uintptr_t)c->arg;
	struct emitter *e = &g->e;
	uint32_t yield = em_label(e);

	for (uint32_t level = 1; level < RT_LEVELS; level++) {
		if (has_owner(en))
			owner_yield(en, yield);
		em_load(e, 4, R1, R10, FRAME_KEY);
		em_alu_imm(e, BPF_ADD, R1, 1);
		em_store(e, 4, R10, FRAME_KEY, R1);
		mach_load(en);
		em_jmp_imm(e, BPF_JEQ, R1, 0, en->claimed);
	}
	gen_count(g, offsetof(struct rt_cpu, nest_drops));
	em_ja(e, en->quit);
	if (has_owner(en)) {
		em_here(e, yield);
		yield_count(en);
	}
}

/* Sets up a slot that is used for the first time. Storing a map pointer makes it a number. */
static void emit_make_ready(struct gen *g, const struct cold *c)
{
	struct entry *en = (struct entry *)(uintptr_t)c->arg;
	struct emitter *e = &g->e;
	uint32_t have = em_label(e);

	em_addr(e, R2, R10, (uint32_t)FRAME_KEY);
	em_map(e, R1, MAP_REF(MAP_SCRATCH, 0));
	em_helper(e, BPF_FUNC_map_lookup_elem);
	em_jmp_imm(e, BPF_JNE, R0, 0, have);
	em_store_imm(e, 4, R9, offsetof(struct rt_mach, busy), 0);
	em_ja(e, en->quit);
	em_here(e, have);
	gen_mach_store(g, 8, offsetof(struct rt_mach, scratch), R0);
	gen_mach_store(g, 8, offsetof(struct rt_mach, self), R9);
	em_map_value(e, R1, MAP_REF(MAP_STRTAB, 0), 0);
	gen_mach_store(g, 8, offsetof(struct rt_mach, strtab), R1);
	if (g->l->gvars_size) {
		em_map_value(e, R1, MAP_REF(MAP_GVARS, 0), 0);
		gen_mach_store(g, 8, offsetof(struct rt_mach, gvars), R1);
	}
	em_load(e, 4, R1, R10, FRAME_KEY);
	gen_mach_store(g, 4, offsetof(struct rt_mach, slot), R1);
	em_alu_imm(e, BPF_DIV, R1, RT_LEVELS);
	gen_mach_store(g, 4, offsetof(struct rt_mach, cpu), R1);
	em_store_imm(e, 4, R9, offsetof(struct rt_mach, ready), 1);
	em_ja(e, en->ready);
}

/*
 * An interrupt between the test of busy and its setting claims and releases the same slot, so no
 * atomic operation is needed while preemption is off, as it is in programs of raw tracepoints and
 * perf events. A uprobe's program only stays on its CPU and may be preempted: there test and set
 * are one atomic operation.
 */
static void mach_claim(struct entry *en)
{
	struct emitter *e = &en->g->e;
	uint32_t only_cpu = en->g->env->only_cpu;

	em_helper(e, BPF_FUNC_get_smp_processor_id);
	if (only_cpu && !en->g->u->is_begin_end)
		em_jmp_imm(e, BPF_JNE, R0, (int32_t)only_cpu - 1, en->quit);
	em_alu_imm(e, BPF_MUL, R0, RT_LEVELS);
	em_store(e, 4, R10, FRAME_KEY, R0);
	owner_load(en);
	mach_load(en);
	if (en->traits->yields && !has_owner(en))
		em_jmp_imm(e, BPF_JNE, R1, 0,
			   gen_cold(en->g, (struct cold){.emit = emit_yield, .arg = en}));
	else
		em_jmp_imm(e, BPF_JNE, R1, 0,
			   gen_cold(en->g, (struct cold){.emit = emit_next_levels, .arg = en}));
	em_here(e, en->claimed);
	if (!en->traits->is_preemptible)
		em_store_imm(e, 4, R9, offsetof(struct rt_mach, busy), 1);
	gen_mach_load(en->g, 4, R1, offsetof(struct rt_mach, ready));
	em_jmp_imm(e, BPF_JEQ, R1, 0,
		   gen_cold(en->g, (struct cold){.emit = emit_make_ready, .arg = en}));
	em_here(e, en->ready);
}

static void mach_set(struct gen *g, uint32_t off, uint32_t value)
{
	em_store_imm(&g->e, 4, R9, (int32_t)off, (int32_t)value);
}

static void dispatch_copy(struct gen *g, uint32_t mach_off, uint32_t off)
{
	em_load(&g->e, 4, R1, R8, (int32_t)off);
	gen_mach_store(g, 4, mach_off, R1);
}

/* Stores the identity of the probe, as far as clauses read it. */
static void identity_fill(struct entry *en)
{
	struct gen *g = en->g;
	const struct needs *n = &g->needs;
	static const struct unit_identity no_probe;
	const struct unit_identity *id = en->has_one_probe ? &g->u->probes->id : &no_probe;

	if (n->probe && en->has_one_probe)
		mach_set(g, offsetof(struct rt_mach, probe), id->probe);
	else if (n->probe)
		dispatch_copy(g, offsetof(struct rt_mach, probe),
			      offsetof(struct rt_dispatch, probe));
	if (n->probe_idx && en->has_one_probe)
		mach_set(g, offsetof(struct rt_mach, probe_idx), id->probe_idx);
	else if (n->probe_idx)
		dispatch_copy(g, offsetof(struct rt_mach, probe_idx),
			      offsetof(struct rt_dispatch, probe_idx));
	for (uint32_t k = 0; k < ARRAY_LEN(id->names); k++) {
		uint32_t off = (uint32_t)offsetof(struct rt_mach, names) + 4 * k;

		if (!(n->names >> k & 1))
			continue;
		if (en->has_one_probe)
			mach_set(g, off, id->names[k]);
		else
			dispatch_copy(g, off,
				      (uint32_t)offsetof(struct rt_dispatch, names) + 4 * k);
	}
}

/*
 * Stores for walks of the user stack where in the function the probe is: at the first and last
 * instructions of a function the return address is on top of the stack.
 */
static void spot_fill(struct entry *en)
{
	struct gen *g = en->g;

	if (!g->needs.ctx || (!g->env->unwinds && !gen_has_calls(g)))
		return;
	if (g->env->unwinds && g->env->pidns.level) {
		gen_pid_tgid(g);
		em_alu_imm(&g->e, BPF_RSH, R0, 32);
		gen_mach_store(g, 4, offsetof(struct rt_mach, pid), R0);
	}
	if (!en->traits->is_in_process)
		mach_set(g, offsetof(struct rt_mach, spot), SPOT_INSN);
	else if (en->has_one_probe)
		mach_set(g, offsetof(struct rt_mach, spot), g->u->probes[0].spot);
	else
		dispatch_copy(g, offsetof(struct rt_mach, spot),
			      offsetof(struct rt_dispatch, spot));
}

/* Whether the probes of the unit fire for sites that are elsewhere. */
static bool is_relayed(const struct entry *en)
{
	return en->g->u->nprobes && en->g->u->probes[0].relay_pc;
}

/* Between two firings rt_mach.pc is 0, so that other units need not know of it. */
static void relay_begin(struct entry *en)
{
	struct emitter *e = &en->g->e;

	if (!is_relayed(en))
		return;
	em_load(e, 8, R1, R8, offsetof(struct rt_dispatch, pc));
	gen_mach_store(en->g, 8, offsetof(struct rt_mach, pc), R1);
}

static void relay_end(struct entry *en)
{
	if (is_relayed(en))
		em_store_imm(&en->g->e, 8, R9, offsetof(struct rt_mach, pc), 0);
}

/* Leaves nothing for strtok() to go on with. */
static void token_reset(struct gen *g)
{
	em_store_imm(&g->e, 8, R9, offsetof(struct rt_mach, tok_rest), 0);
}

/* Resets what an earlier firing left in the machine state and clauses read. */
static void mach_reset(struct entry *en)
{
	struct gen *g = en->g;
	uint32_t unfilled = g->needs.args & ~en->ops->args_filled;

	if (g->needs.timestamp && !g->l->counts_vtime)
		em_store_imm(&g->e, 8, R9, offsetof(struct rt_mach, timestamp), 0);
	if (g->needs.comm)
		mach_set(g, offsetof(struct rt_mach, has_comm), 0);
	if (g->needs.lang)
		mach_set(g, offsetof(struct rt_mach, has_lang), 0);
	if (g->needs.err && !en->ops->fills_err)
		mach_set(g, offsetof(struct rt_mach, err), 0);
	if (g->needs.exits)
		mach_set(g, offsetof(struct rt_mach, exits), 0);
	if (g->needs.token)
		token_reset(g);
	if (g->l->facts.has_blocks)
		em_store_imm(&g->e, 8, R9, offsetof(struct rt_mach, scratch_top),
			     0); /* and block */
	for (uint32_t k = 0; k < 10; k++)
		if (unfilled >> k & 1)
			em_store_imm(&g->e, 8, R9, (int32_t)ARG_OFF(k), 0);
	gen_this_reset(g, NULL, NULL);
}

/* ---- clauses -------------------------------------------------------------------------------- */

static bool is_always(const struct entry *en, uint32_t clause)
{
	return en->always[clause / 64] >> (clause % 64) & 1;
}

static bool are_always(const struct entry *en, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		if (!is_always(en, i))
			return false;
	return true;
}

/* dst = the word of the mask that has the bit of the clause */
static void mask_load(struct entry *en, int dst, uint32_t clause)
{
	const struct unit *u = en->g->u;

	if (en->has_one_probe)
		em_imm(&en->g->e, dst, u->probes[0].mask[clause / 64]);
	else
		em_load(&en->g->e, 8, dst, R8,
			(int32_t)(offsetof(struct rt_dispatch, mask) + clause / 64 * 8));
}

static void groups_call(struct entry *en)
{
	struct gen *g = en->g;
	struct emitter *e = &g->e;
	uint32_t done = em_label(e);

	for (uint32_t i = 0, func = 1; i < g->u->nclauses; func++) {
		uint32_t end = en->group_ends.data[func - 1], skip = em_label(e);

		mask_load(en, R3, i);
		if (end == i + 1 && !is_always(en, i)) {
			em_mov(e, R0, R3);
			em_alu_imm(e, BPF_RSH, R0, (int32_t)(i % 64));
			em_alu_imm(e, BPF_AND, R0, 1);
			em_jmp_imm(e, BPF_JEQ, R0, 0, skip);
		}
		em_mov(e, R1, R6);
		em_mov(e, R2, R9);
		em_call_func(e, func);
		if (end < g->u->nclauses && clauses_may_exit(g, g->u->clauses, i, end))
			gen_jump_if_exited(g, done);
		em_here(e, skip);
		i = end;
	}
	em_here(e, done);
}

void gen_func_begin(struct gen *g, const char *name, uint32_t clause, uint32_t id)
{
	vec_push(&g->e.code->funcs, (struct bpf_func){.start = g->e.code->insns.len,
						      .name = name,
						      .clause = clause,
						      .id = id});
}

/*
 * r9 = the machine state, in a global function. Its argument is memory that may be NULL for the
 * verifier, which before v6.2 refuses such memory as the key of a map (check_reg_type() in Linux
 * kernel/bpf/verifier.c), so the state is looked up again. Keeps r1 and r3.
 */
static void mach_find_again(struct gen *g)
{
	struct emitter *e = &g->e;
	uint32_t none = em_label(e), have = em_label(e);

	em_jmp_imm(e, BPF_JEQ, R2, 0, none);
	em_mov(e, R6, R1);
	em_mov(e, R7, R3);
	em_load(e, 4, R0, R2, offsetof(struct rt_mach, slot));
	em_store(e, 4, R10, FRAME_KEY, R0);
	em_addr(e, R2, R10, (uint32_t)FRAME_KEY);
	em_map(e, R1, MAP_REF(MAP_MACH, 0));
	em_helper(e, BPF_FUNC_map_lookup_elem);
	em_jmp_imm(e, BPF_JNE, R0, 0, have);
	em_here(e, none);
	em_imm(e, R0, 0);
	em_exit(e);
	em_here(e, have);
	em_mov(e, R9, R0);
	em_mov(e, R1, R6);
	em_mov(e, R3, R7);
}

void gen_func_frame(struct gen *g)
{
	struct emitter *e = &g->e;

	if (g->needs.faults || g->needs.ctx)
		em_store(e, 8, R10, FRAME_CTX, R1);
	if (g->is_large) {
		vec_last(&g->e.code->funcs)->is_global = true;
		mach_find_again(g);
	} else {
		em_mov(e, R9, R2);
	}
}

/*
 * The body of a function with the clauses [from, end) of ucs. When its only clause is cut, the
 * function is the first part of the clause, and the function that calls all parts follows it.
 */
static void gen_group(struct gen *g, const struct unit_clause *ucs, uint32_t from, uint32_t end,
		      const uint64_t *always)
{
	struct bpf_func *f = vec_last(&g->e.code->funcs);
	const struct clause_cost *cost = clause_cost(g, ucs, from);
	uint32_t id = f->id, depth = g->depth, clause = ucs[from].layout->clause->index;

	g->is_cut = g->is_large && part_is_full(cost->insns, cost->branches);
	if (g->is_cut) {
		f->id = gen_part_id(g, 0);
		f->name = "part";
		g->depth += place_table[g->u->place.kind].is_on_stack;
	}
	gen_func_frame(g);
	if (end > from + 1)
		em_store(&g->e, 8, R10, FRAME_MASK, R3);
	gen_clauses(g, ucs, from, end, always);
	em_imm(&g->e, R0, 0);
	em_exit(&g->e);
	if (g->is_cut)
		gen_parts_caller(g, clause, id);
	g->is_cut = false;
	g->depth = depth;
}

static void gen_groups(struct entry *en)
{
	struct gen *g = en->g;

	for (uint32_t i = 0, func = 1; i < g->u->nclauses && !g->err; func++) {
		uint32_t end = en->group_ends.data[func - 1];

		gen_func_begin(g, "clause", g->u->clauses[i].layout->clause->index, func);
		/* the caller has tested the mask for a clause that is alone in its group */
		gen_group(g, g->u->clauses, i, end, end > i + 1 ? en->always : NULL);
		i = end;
	}
}

static void clauses_inline(struct entry *en)
{
	struct gen *g = en->g;
	struct emitter *e = &g->e;

	if (g->needs.faults || g->needs.ctx)
		em_store(e, 8, R10, FRAME_CTX, R6);
	if (!are_always(en, 0, g->u->nclauses)) {
		mask_load(en, R0, 0);
		em_store(e, 8, R10, FRAME_MASK, R0);
	}
	gen_clauses(g, g->u->clauses, 0, g->u->nclauses, en->always);
}

/*
 * exit() takes effect when its firing ends: the record with the exit status is then in the buffer,
 * where the consumer, who sees the new state, finds it.
 */
static void gen_exit(struct gen *g)
{
	uint32_t goes_on = em_label(&g->e), exited = em_label(&g->e);

	if (!g->needs.exits)
		return;
	gen_jump_if_exited(g, exited);
	em_ja(&g->e, goes_on);
	em_here(&g->e, exited);
	gen_end_run(g);
	em_here(&g->e, goes_on);
}

static void gen_entry(struct entry *en)
{
	struct gen *g = en->g;
	struct emitter *e = &g->e;

	gen_func_begin(g, "entry", CLAUSE_NONE, 0);
	em_mov(e, R6, R1);
	en->missed = entry_missed_label(en);
	en->ops->key(en);
	probe_find(en);
	state_check(en);
	process_check(en);
	entry_owner_check(en);
	mach_claim(en);
	gen_vtime_begin(g);
	identity_fill(en);
	spot_fill(en);
	relay_begin(en);
	mach_reset(en);
	en->ops->args(en);
	if (en->group_ends.len)
		groups_call(en);
	else
		clauses_inline(en);
	gen_exit(g);
	gen_vtime_end(g);
	relay_end(en);
	em_store_imm(e, 4, R9, offsetof(struct rt_mach, busy), 0);
	entry_others_end(en);
	em_here(e, en->quit);
	em_imm(e, R0, 0);
	em_exit(e);
	gen_flush_cold(g, 0);
}

/* ---- faults --------------------------------------------------------------------------------- */

#define FAULT(field)                                                                               \
	((uint32_t)(offsetof(struct rt_mach, fault) + offsetof(struct rt_fault, field)))
#define NERROR_ARGS 6

/* The words of the machine state that the firing of ERROR overwrites. */
static const uint32_t saved[] = {
	ARG_OFF(0),
	ARG_OFF(1),
	ARG_OFF(2),
	ARG_OFF(3),
	ARG_OFF(4),
	ARG_OFF(5),
	offsetof(struct rt_mach, probe), /* and probe_idx */
	offsetof(struct rt_mach, epid),	 /* and err */
	offsetof(struct rt_mach, names),
	offsetof(struct rt_mach, names) + 8,
};

static void words_copy(struct gen *g, bool is_save)
{
	for (uint32_t k = 0; k < ARRAY_LEN(saved); k++) {
		uint32_t spare = g->mach->save_off + 8 * k;

		gen_mach_load(g, 8, R1, is_save ? saved[k] : spare);
		gen_mach_store(g, 8, is_save ? spare : saved[k], R1);
	}
}

static void error_args_fill(struct gen *g)
{
	static const struct {
		uint32_t off, size;
		bool is_signed;
	} args[NERROR_ARGS - 1] = {
		{offsetof(struct rt_mach, epid), 4, false},
		{FAULT(action), 4, false},
		{FAULT(offset), 4, true},
		{FAULT(kind), 4, false},
		{FAULT(value), 8, false},
	};

	em_store_imm(&g->e, 8, R9, (int32_t)ARG_OFF(0), 0);
	for (uint32_t k = 0; k < ARRAY_LEN(args); k++) {
		gen_mach_load(g, args[k].size, R1, args[k].off);
		if (args[k].is_signed)
			em_extend(&g->e, R1, args[k].size, true);
		gen_mach_store(g, 8, ARG_OFF(k + 1), R1);
	}
	mach_set(g, offsetof(struct rt_mach, probe), g->u->error_id.probe);
	mach_set(g, offsetof(struct rt_mach, probe_idx), g->u->error_id.probe_idx);
	for (uint32_t k = 0; k < 4; k++)
		mach_set(g, (uint32_t)offsetof(struct rt_mach, names) + 4 * k,
			 g->u->error_id.names[k]);
}

/* The function of one ERROR clause of a large unit. */
static void emit_error_clause(struct gen *g, uint32_t i)
{
	g->is_error_clause = true;
	gen_group(g, g->u->error_clauses, i, i + 1, NULL);
	g->is_error_clause = false;
}

static void error_clauses_run(struct gen *g)
{
	struct emitter *e = &g->e;
	uint32_t done = em_label(e);

	if (!g->is_large) {
		g->is_error_clause = true;
		gen_clauses(g, g->u->error_clauses, 0, g->u->nerror_clauses, NULL);
		g->is_error_clause = false;
		return;
	}
	for (uint32_t i = 0; i < g->u->nerror_clauses; i++) {
		em_load(e, 8, R1, R10, FRAME_CTX);
		em_mov(e, R2, R9);
		em_imm(e, R3, 0);
		em_call_func(e, gen_func(g, "ERROR clause", emit_error_clause, i));
		if (clauses_may_exit(g, g->u->error_clauses, i, i + 1))
			gen_jump_if_exited(g, done);
	}
	em_here(e, done);
}

/*
 * Whether ERROR clauses call strtok(). ERROR is a firing of its own, but strtok() has one state a
 * machine state: ERROR's use of it ends the strtok() of the firing that faulted.
 */
static bool errors_have_token(struct gen *g)
{
	struct needs n = {0};

	for (uint32_t i = 0; i < g->u->nerror_clauses; i++)
		needs_of_clause(&n, g->l, g->u->error_clauses[i].layout);
	return n.token;
}

void gen_fault_func(struct gen *g, uint32_t unused)
{
	struct emitter *e = &g->e;
	uint32_t exited = em_label(e);
	bool has_token = errors_have_token(g);

	gen_func_frame(g);
	gen_rt(g, "rt_fault_record");
	if (g->u->nerror_clauses && g->needs.exits)
		/* after exit() ERROR does not fire */
		gen_jump_if_exited(g, exited);
	if (g->u->nerror_clauses) {
		words_copy(g, true);
		error_args_fill(g);
		mach_set(g, FAULT(kind), 0);
		if (has_token)
			token_reset(g);
		error_clauses_run(g);
		if (has_token)
			token_reset(g);
		words_copy(g, false);
	}
	em_here(e, exited);
	mach_set(g, FAULT(kind), 0);
	em_imm(e, R0, 0);
	em_exit(e);
}

/* ---- units ---------------------------------------------------------------------------------- */

static void needs_find(struct gen *g)
{
	const struct unit *u = g->u;
	struct needs error = {0};

	for (uint32_t i = 0; i < u->nclauses; i++) {
		needs_of_clause(&g->needs, g->l, u->clauses[i].layout);
		g->needs.probe |= u->clauses[i].as != NULL; /* for gen_identity() */
	}
	if (!g->needs.faults)
		return;
	for (uint32_t i = 0; i < u->nerror_clauses; i++)
		needs_of_clause(&error, g->l, u->error_clauses[i].layout);
	g->needs.args |= error.args & ~((1u << NERROR_ARGS) - 1);
	g->needs.err |= error.err;
	g->needs.comm |= error.comm;
	g->needs.exits |= error.exits;
	g->needs.token |= error.token;
}

static bool is_same_probe(const struct unit *u, const struct unit_probe *a,
			  const struct unit_probe *b)
{
	return a->id.probe == b->id.probe && a->id.probe_idx == b->id.probe_idx &&
	       memcmp(a->mask, b->mask, u->nwords * sizeof(a->mask[0])) == 0;
}

static void probes_analyze(struct entry *en)
{
	const struct unit *u = en->g->u;
	bool is_sys = en->traits->is_syscall;

	/* the probes of a process may be removed from the table: unit_drop_process() */
	en->has_one_probe =
		u->nprobes > 0 && u->nprobes <= MAX_COMPARED && !en->traits->is_in_process;
	for (uint32_t w = 0; w < u->nwords; w++)
		en->always[w] = UINT64_MAX;
	for (uint32_t i = 0; i < u->nprobes; i++) {
		bool is_compat = is_sys && u->probes[i].key & RT_SYS_COMPAT;

		en->has_compat |= is_compat;
		en->has_one_probe &= is_same_probe(u, &u->probes[0], &u->probes[i]) &&
				     u->probes[0].spot == u->probes[i].spot &&
				     u->probes[i].key <= INT32_MAX;
		for (uint32_t w = 0; w < u->nwords; w++)
			en->always[w] &= u->probes[i].mask[w];
	}
	en->keeps_key = en->has_compat || en->ops->has_key_late;
}

/* Whether clause i of a large unit still fits into the group of clauses from `from` on. */
static bool group_has_room(const struct gen *g, uint32_t from, uint32_t i)
{
	uint32_t insns = 0, branches = 0;

	for (uint32_t k = from; k <= i; k++) {
		insns += g->costs[k].insns;
		branches += g->costs[k].branches;
	}
	return !part_is_full(insns, branches);
}

static void groups_plan(struct entry *en)
{
	struct gen *g = en->g;
	uint32_t n = g->u->nclauses, per_group = (n + MAX_GROUPS - 1) / MAX_GROUPS;

	for (uint32_t i = 0; (n > INLINE_MAX || g->is_large) && i < n;) {
		uint32_t end = i + 1, most = MIN(ROUND_UP(i + 1, MASK_BITS), n);

		if (!g->is_large)
			end = MAX(MIN(i + per_group, most), guards_reach(g, i, most));
		else
			while (end < most && group_has_room(g, i, end))
				end++;
		vec_push(&en->group_ends, end);
		i = end;
	}
	if (!g->is_large && en->group_ends.len == 1)
		vec_clear(&en->group_ends);
	g->first_late = 1 + en->group_ends.len;
}

/* Generates the clauses and the functions that they call. */
static void gen_funcs(struct entry *en)
{
	struct gen *g = en->g;

	g->depth = en->ops->is_on_stack + en->ops->has_trampoline;
	gen_entry(en);
	if (en->group_ends.len) {
		g->depth += en->ops->is_on_stack;
		gen_groups(en);
	}
	g->depth += en->ops->is_on_stack;
	for (uint32_t i = 0; i < g->late.len && !g->err; i++) { /* one may add another */
		gen_func_begin(g, g->late.data[i].name, CLAUSE_NONE, g->first_late + i);
		g->late.data[i].emit(g, g->late.data[i].arg);
	}
	if (g->is_large && !g->err && g->e.code->funcs.len > MAX_FUNCS) {
		gen_fail(g,
			 "%u clauses on one kind of probe make %u functions: a program may have %u",
			 g->u->nclauses, g->e.code->funcs.len, MAX_FUNCS);
		g->err = err_hint(g->err,
				  "split the script: several of them can run at the same time");
	}
}

/* The name of a program's context in its BTF: Linux include/linux/bpf_types.h. */
static const char *ctx_type(enum bpf_prog_type type)
{
	switch ((int)type) {
	case BPF_PROG_TYPE_RAW_TRACEPOINT: return "bpf_raw_tracepoint_args";
	case BPF_PROG_TYPE_PERF_EVENT: return "bpf_perf_event_data";
	case BPF_PROG_TYPE_KPROBE: return "bpf_user_pt_regs_t";
	case BPF_PROG_TYPE_TRACEPOINT:
		return "u64";			  /* the kernel wants none by a name of its own */
	case BPF_PROG_TYPE_TRACING: return "u64"; /* the same */
	default: BUG("program type %d", (int)type);
	}
}

static void gen_unit(struct gen *g)
{
	struct entry en = {.g = g,
			   .ops = &place_table[g->u->place.kind],
			   .traits = place_traits(g->u->place.kind)};

	needs_find(g);
	lookups_count(g);
	en.always = xcalloc(g->u->nwords + 1, sizeof(*en.always));
	probes_analyze(&en);
	g->has_fixed_order = are_always(&en, 0, g->u->nclauses);
	guards_find(g);
	groups_plan(&en);
	en.quit = em_label(&g->e);
	en.selected = em_label(&g->e);
	en.claimed = em_label(&g->e);
	en.ready = em_label(&g->e);
	g->e.code->ctx_type = ctx_type(en.ops->prog_type);
	gen_funcs(&en);
	vec_deinit(&en.group_ends);
	free(en.always);
}

/* costs: for a large unit, what the first attempt found out. */
static struct err *unit_try(const struct unit *u, const struct gen_env *env, bool is_large,
			    struct clause_cost *costs, bool *ret_too_large,
			    struct bpf_code *ret_code)
{
	struct bpf_code code = {0};
	struct gen g = {.u = u,
			.env = env,
			.l = env->layout,
			.mach = env->mach,
			.is_large = is_large,
			.costs = costs};

	g.tmp = arena_create();
	em_init(&g.e, &code);
	gen_unit(&g);
	if (!g.err) {
		em_resolve(&g.e);
		bpf_code_resolve(&code);
		if (is_large && g.e.too_far)
			g.err = err_hint(err_new("an expression or predicate makes more than %d "
						 "instructions",
						 INT16_MAX),
					 "compute parts of it in this-> variables first");
	}
	*ret_too_large =
		g.e.too_far || g.e.nbranches > MAX_BRANCHES || u->nclauses > MASK_BITS * MAX_GROUPS;
	em_deinit(&g.e);
	vec_deinit(&g.cold);
	vec_deinit(&g.late);
	vec_deinit(&g.parts);
	free(g.nlookups);
	free(g.nupdates);
	free(g.uses_var);
	free(g.shared);
	arena_destroy(g.tmp);
	if (g.err) {
		bpf_code_deinit(&code);
		return g.err;
	}
	*ret_code = code;
	return NULL;
}

struct err *bpf_gen_unit(const struct unit *u, const struct gen_env *env, struct bpf_code *ret_code)
{
	CLEANUP(free)
	struct clause_cost *costs = xcalloc(u->nclauses + u->nerror_clauses + 1, sizeof(*costs));
	bool too_large = false;
	struct bpf_code code;
	struct err *e = unit_try(u, env, false, costs, &too_large, &code);

	if (!e && too_large) {
		bpf_code_deinit(&code);
		e = unit_try(u, env, true, costs, &too_large, &code);
	}
	if (!e)
		*ret_code = code;
	return e;
}
