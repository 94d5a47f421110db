/* SPDX-License-Identifier: MIT */
/*
 * Parts: cuts a clause that is too large for one function.
 *
 * A jump reaches 32767 instructions, and the kernel's verifier keeps at most 8192 branches that it
 * has still to follow (BPF_COMPLEXITY_LIMIT_JMP_SEQ in Linux kernel/bpf/verifier.c). These add up
 * over the functions of a program, except global ones, each of which is verified by itself. So the
 * clauses of a large unit are global functions, and a long clause is cut between two of its
 * actions:
 *
 *     u64 part(ctx, m, from)      begins with action from; returns the action to go on with, or
 *                                 PART_DONE, or PART_FAULT
 *     u64 clause(ctx, m)          next = 0; for each part: if next is before its end, next =
 *                                 part(.., next); after PART_FAULT: fault(ctx, m)
 *
 * Between actions all state is in the machine state, except the thread-local block, which each part
 * looks up again.
 *
 * A part that faults returns before the ERROR clauses run: they may walk a user stack, which takes
 * three calls below them, and the kernel allows eight functions in a chain (budget.h). If the part
 * called the fault function itself, the chain would be one too long.
 */
#include "bpf/gen.h"

#define PART_INSNS    8192
#define PART_BRANCHES 1500
#define PART_FAULT    INT32_MAX /* this and PART_DONE are higher than every action's number */
#define PART_DONE     (INT32_MAX - 1)

bool part_is_full(uint32_t insns, uint32_t branches)
{
	return insns > PART_INSNS || branches > PART_BRANCHES;
}

static void part_begin(struct gen *g, struct acts *a, uint32_t begin)
{
	a->begin = begin;
	a->insns = g->e.code->insns.len;
	a->branches = g->e.nbranches;
	for (uint32_t i = begin; i <= a->c->nacts; i++) {
		a->labels[i] = em_label(&g->e);
		a->entries[i] |= a->targets[i];
		a->targets[i] = false;
	}
	if (g->is_cut)
		vec_push(&g->parts, begin);
}

void acts_init(struct gen *g, struct acts *a, bool needs_tls)
{
	uint32_t n = g->uc->layout->clause->nacts + 1;

	g->parts_fault = false;
	*a = (struct acts){.c = g->uc->layout->clause, .needs_tls = needs_tls};
	a->labels = xcalloc(n, sizeof(*a->labels));
	a->reached = xcalloc(n, sizeof(*a->reached));
	a->targets = xcalloc(n, sizeof(*a->targets));
	a->entries = xcalloc(n, sizeof(*a->entries));
	a->reached[0] = true;
	vec_clear(&g->parts);
	part_begin(g, a, 0);
}

void acts_deinit(struct acts *a)
{
	free(a->labels);
	free(a->reached);
	free(a->targets);
	free(a->entries);
}

/* Jumps to the action, one of [begin, end), with which the part is to go on. */
static void emit_resume(struct gen *g, const struct acts *a, uint32_t end)
{
	struct emitter *e = &g->e;

	em_here(e, a->resume);
	for (uint32_t i = a->begin + 1; i < end; i++)
		if (a->entries[i])
			em_jmp_imm(e, BPF_JEQ, R6, (int32_t)i, a->labels[i]);
	em_ja(e, a->labels[a->begin]);
}

static void part_leave(struct gen *g, int32_t next)
{
	em_imm(&g->e, R0, (uint64_t)next);
	em_exit(&g->e);
}

static void part_end(struct gen *g, struct acts *a, uint32_t end, uint32_t first_cold)
{
	if (a->c->acts[end - 1].kind != ACT_JMP)
		part_leave(g, (int32_t)end);
	for (uint32_t i = end; i <= a->c->nacts; i++) {
		if (!a->targets[i])
			continue;
		em_here(&g->e, a->labels[i]);
		part_leave(g, (int32_t)i);
	}
	if (a->begin)
		emit_resume(g, a, end);
	gen_clause_tail(g, first_cold);
	if (em_is_used(&g->e, g->out) || (g->fault_used && g->is_error_clause)) {
		em_here(&g->e, g->out);
		part_leave(g, PART_DONE);
	}
}

void gen_part_fault(struct gen *g)
{
	part_leave(g, PART_FAULT);
	g->parts_fault = true;
}

void acts_cut(struct gen *g, struct acts *a, uint32_t next, uint32_t first_cold)
{
	struct emitter *e = &g->e;

	if (!g->is_cut || !a->reached[next] ||
	    !part_is_full(e->code->insns.len - a->insns, e->nbranches - a->branches))
		return;
	part_end(g, a, next, first_cold);
	gen_func_begin(g, "part", a->c->index, gen_part_id(g, g->parts.len));
	gen_func_frame(g);
	em_mov(e, R6, R3);
	if (a->needs_tls)
		gen_tls_lookup(g);
	g->out = em_label(e);
	g->fault = em_label(e);
	g->fault_used = false;
	part_begin(g, a, next);
	a->resume = em_label(e);
	em_jmp_imm(e, BPF_JNE, R6, (int32_t)next, a->resume);
}

void acts_end(struct gen *g, struct acts *a)
{
	if (a->begin)
		emit_resume(g, a, a->c->nacts + 1);
}

void gen_parts_caller(struct gen *g, uint32_t clause, uint32_t id)
{
	struct emitter *e = &g->e;

	gen_func_begin(g, "clause", clause, id);
	gen_func_frame(g);
	em_mov(e, R6, R1);
	em_imm(e, R7, 0);
	for (uint32_t i = 0; i < g->parts.len; i++) {
		uint32_t skip = em_label(e);
		bool is_last = i + 1 == g->parts.len;

		if (i)
			em_jmp_imm(e, BPF_JGE, R7,
				   is_last ? PART_DONE : (int32_t)g->parts.data[i + 1], skip);
		em_mov(e, R1, R6);
		em_mov(e, R2, R9);
		em_mov(e, R3, R7);
		em_call_func(e, gen_part_id(g, i));
		em_mov(e, R7, R0);
		em_here(e, skip);
	}
	if (g->parts_fault) {
		uint32_t done = em_label(e);

		em_jmp_imm(e, BPF_JNE, R7, PART_FAULT, done);
		em_mov(e, R1, R6);
		gen_fault_call(g);
		em_here(e, done);
	}
	em_imm(e, R0, 0);
	em_exit(e);
	g->first_part += g->parts.len;
}
