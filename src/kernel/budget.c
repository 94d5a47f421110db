/* SPDX-License-Identifier: MIT */
/* Computes the longest chains of calls of a linked program. */
#include "kernel/budget.h"

#include "base/str.h"

#define STACK_ROUND 32
#define NO_CALL	    UINT32_MAX

/* A function, and the longest chains that begin with it. */
struct node {
	uint32_t start, end;
	uint32_t own;	/* bytes of stack of the function alone */
	uint32_t calls; /* number of functions in the longest chain */
	uint32_t stack; /* bytes of the chain that takes most */
	/* the instructions that call the next function of these two chains, or NO_CALL */
	uint32_t calls_by, stack_by;
	bool is_done;
};

struct graph {
	const struct linked *l;
	struct node *nodes;
};

/* The function that an instruction calls or passes to a helper as a callback; -1: none. */
static int64_t insn_callee(const struct bpf_insn *in, uint32_t at)
{
	if (in->code == (BPF_JMP | BPF_CALL) && in->src_reg == BPF_PSEUDO_CALL)
		return (int64_t)at + in->imm + 1;
	if (in->code == (BPF_LD | BPF_DW | BPF_IMM) && in->src_reg == BPF_PSEUDO_FUNC)
		return (int64_t)at + in->imm + 1;
	return -1;
}

/* The index of the function that begins at an instruction. */
static uint32_t func_at(const struct linked *l, uint32_t insn)
{
	uint32_t lo = 0, hi = l->funcs.len;

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (l->funcs.data[mid].insn_off <= insn)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/*
 * The bytes below r10 that a function uses, through r10 itself or through addresses made from it: a
 * copy of r10 to which a constant is added before the register is written again.
 */
static uint32_t func_stack(const struct linked *l, uint32_t start, uint32_t end)
{
	uint32_t copies = 0; /* bit n: register n is a copy of r10 */
	int32_t lowest = 0;

	for (uint32_t i = start; i < end; i++) {
		const struct bpf_insn *in = &l->insns.data[i];
		uint8_t class = BPF_CLASS(in->code);

		if ((class == BPF_LDX && in->src_reg == BPF_REG_10) ||
		    ((class == BPF_ST || class == BPF_STX) && in->dst_reg == BPF_REG_10))
			lowest = MIN(lowest, in->off);
		if (in->code == (BPF_ALU64 | BPF_ADD | BPF_K) && copies >> in->dst_reg & 1)
			lowest = MIN(lowest, in->imm);
		if (in->code == (BPF_ALU64 | BPF_MOV | BPF_X) && in->src_reg == BPF_REG_10)
			copies |= 1u << in->dst_reg;
		else if (class == BPF_ALU64 || class == BPF_ALU || class == BPF_LDX ||
			 class == BPF_LD)
			copies &= ~(1u << in->dst_reg);
		if (in->code == (BPF_LD | BPF_DW | BPF_IMM))
			i++;
	}
	return ROUND_UP((uint32_t)MAX(-lowest, 1), STACK_ROUND);
}

/* Programs have some hundred functions at most, and no recursion, which the kernel refuses. */
static const struct node *node_fill(struct graph *g, uint32_t func)
{
	struct node *n = &g->nodes[func];

	if (n->is_done)
		return n;
	n->is_done = true;
	n->own = func_stack(g->l, n->start, n->end);
	n->calls = 1;
	n->stack = n->own;
	n->calls_by = n->stack_by = NO_CALL;
	for (uint32_t i = n->start; i < n->end; i++) {
		int64_t to = insn_callee(&g->l->insns.data[i], i);
		const struct node *callee;

		if (to < 0)
			continue;
		callee = node_fill(g, func_at(g->l, (uint32_t)to));
		if (callee->calls + 1 > n->calls) {
			n->calls = callee->calls + 1;
			n->calls_by = i;
		}
		if (callee->stack + n->own > n->stack) {
			n->stack = callee->stack + n->own;
			n->stack_by = i;
		}
	}
	return n;
}

/*
 * Writes the chain from the entry on as text; *ret_insn is the last call in it from the unit's own
 * code.
 */
static void chain_show(const struct graph *g, const struct bpf_code *code, bool is_stack,
		       struct strbuf *text, uint32_t *ret_insn)
{
	uint32_t func = 0, by;

	for (;;) {
		strbuf_adds(text, linked_func_name(g->l, code, g->nodes[func].start));
		by = is_stack ? g->nodes[func].stack_by : g->nodes[func].calls_by;
		if (by == NO_CALL)
			return;
		if (func < g->l->nunit)
			*ret_insn = by;
		strbuf_adds(text, " > ");
		func = func_at(g->l, (uint32_t)insn_callee(&g->l->insns.data[by], by));
	}
}

struct err *budget_check(const struct linked *l, const struct bpf_code *code,
			 struct call_budget *ret, uint32_t *ret_insn)
{
	CLEANUP(free) struct node *nodes = xcalloc(l->funcs.len, sizeof(*nodes));
	struct graph g = {l, nodes};
	const struct node *entry;
	struct strbuf text = {0};
	struct err *e = NULL;

	for (uint32_t i = 0; i < l->funcs.len; i++) {
		nodes[i].start = l->funcs.data[i].insn_off;
		nodes[i].end = i + 1 < l->funcs.len ? l->funcs.data[i + 1].insn_off : l->insns.len;
	}
	entry = node_fill(&g, 0);
	*ret = (struct call_budget){entry->calls, entry->stack};
	if (entry->calls > BUDGET_CALLS) {
		chain_show(&g, code, false, &text, ret_insn);
		e = err_new(
			"this takes %u functions that call one another in the kernel, which allows %d: %s",
			entry->calls, BUDGET_CALLS, strbuf_text(&text));
		e = err_hint(
			e,
			"split the clause into several with the same probe and predicate: one that "
			"is short takes fewer calls");
	} else if (entry->stack > BUDGET_STACK) {
		chain_show(&g, code, true, &text, ret_insn);
		e = err_new("this takes %u bytes of stack in the kernel, which allows %d: %s",
			    entry->stack, BUDGET_STACK, strbuf_text(&text));
		e = err_hint(e, "compute parts of it in this-> variables first");
	}
	strbuf_deinit(&text);
	return e;
}
