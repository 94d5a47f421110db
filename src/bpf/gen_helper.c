/*
 * Generates the code of ustack helpers: D clauses that run between two steps of the walk of a user
 * stack, and name its frames.
 *
 *     clause          rt_walk_begin(m, at, frames, strsize); if there is a frame, bpf_loop(frames,
 *                     step, &m) and rt_walk_end(m)
 *     step(i, &m)     the clauses of the helpers, in order; the text that the last one has computed
 *                     goes to rt_walk_name(m, text); returns 1 when rt_walk_next(m) finds no frame
 *
 * The helpers' code is part of step, which the kernel counts as one function: in functions of their
 * own, helpers that call string subroutines would exceed the budget of calls (budget.h) where an
 * ERROR clause records a stack.
 *
 * The state of the walk has an area of its own (rt/unwind.c), and a helper's arguments have members
 * of their own in struct rt_mach, so that the helper overwrites nothing of the clause that records
 * the stack. For each frame the helper gets the scratch memory that the clause has left.
 *
 * A fault ends the helpers' work for the frame, which then has no name; the fault is counted.
 */
#include "bpf/gen.h"

#define FAULT_KIND ((uint32_t)(offsetof(struct rt_mach, fault) + offsetof(struct rt_fault, kind)))

void helper_needs(struct needs *n, const struct layout *l)
{
	struct needs h = {0};

	for (uint32_t i = 0; i < l->opts.nhelpers; i++) {
		const struct prog_clause *c = l->opts.helpers[i];

		if (c->pred)
			needs_of_difo(&h, l, c->pred);
		for (uint32_t k = 0; k < c->nacts; k++)
			needs_of_difo(&h, l, c->acts[k].args[0]);
	}
	n->comm |= h.comm;
}

/* FRAME_VAL = address of the text that the clause computes, 0 when its last value is no string. */
static void helper_clause(struct gen *g, const struct prog_clause *c)
{
	uint32_t out = em_label(&g->e);

	g->e.span = c->span;
	if (c->pred) {
		gen_difo(g, c->pred, 0);
		em_jmp_imm(&g->e, BPF_JEQ, R0, 0, out);
	}
	for (uint32_t i = 0; i < c->nacts; i++) {
		const struct difo *d = c->acts[i].args[0];

		g->e.span = c->acts[i].span ? c->acts[i].span : c->span;
		gen_difo(g, d, c->acts[i].number);
		if (d->ret.kind == DIF_KIND_STRING)
			em_store(&g->e, 8, R10, FRAME_VAL, R0);
		else
			em_store_imm(&g->e, 8, R10, FRAME_VAL, 0);
	}
	em_here(&g->e, out);
}

static void emit_step(struct gen *g, uint32_t unused)
{
	struct emitter *e = &g->e;
	uint32_t first_cold = g->cold.len, next = em_label(e), stop = em_label(e);

	g->is_helper = true;
	g->fault = em_label(e);
	g->fault_used = false;
	em_load(e, 8, R9, R2, 0);
	em_store_imm(e, 8, R10, FRAME_VAL, 0);
	for (uint32_t i = 0; i < g->l->opts.nhelpers && !g->err; i++)
		helper_clause(g, g->l->opts.helpers[i]);
	em_load(e, 8, R2, R10, FRAME_VAL);
	em_jmp_imm(e, BPF_JEQ, R2, 0, next);
	gen_rt(g, "rt_walk_name");
	gen_mach_load(g, 4, R0, FAULT_KIND);
	em_jmp_imm(e, BPF_JNE, R0, 0, g->fault);
	em_here(e, next);
	gen_rt(g, "rt_walk_next");
	em_jmp_imm(e, BPF_JEQ, R0, 0, stop);
	em_imm(e, R0, 0);
	em_exit(e);
	em_here(e, stop);
	em_imm(e, R0, 1);
	em_exit(e);
	gen_flush_cold(g, first_cold);
	em_here(e, g->fault);
	gen_count(g, offsetof(struct rt_cpu, helper_faults));
	em_store_imm(e, 4, R9, (int32_t)FAULT_KIND, 0);
	em_ja(e, next);
	g->is_helper = false;
}

void gen_helper_walk(struct gen *g, uint32_t frames, uint32_t strsize)
{
	struct emitter *e = &g->e;
	uint32_t done = em_label(e);

	em_imm(e, R3, frames);
	em_imm(e, R4, strsize);
	gen_rt(g, "rt_walk_begin");
	em_jmp_imm(e, BPF_JEQ, R0, 0, done);
	em_store(e, 8, R10, FRAME_TMP, R9);
	em_imm(e, R1, frames);
	em_func_addr(e, R2, gen_func(g, "helpers", emit_step, 0));
	em_addr(e, R3, R10, (uint32_t)FRAME_TMP);
	em_imm(e, R4, 0);
	em_helper(e, BPF_FUNC_loop);
	gen_rt(g, "rt_walk_end");
	em_here(e, done);
}
