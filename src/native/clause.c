/* SPDX-License-Identifier: MIT */
/* Code generation: a clause of a group. */
#include "native/gen.h"

/* The labels of the clause's actions, and of what is behind the last one. */
static void act_emit(struct ngen *g, uint32_t i, const uint32_t *labels)
{
	const struct prog_act *act = &g->uc->layout->clause->acts[i];

	switch (act->kind) {
	case ACT_EXPR: ngen_difo(g, act->args[0], act->number); return;
	case ACT_AGG: ngen_agg(g, act); return;
	case ACT_DEAD: ngen_dead(g, act); return;
	case ACT_BRZ: ngen_difo_test(g, act->args[0], act->number, labels[act->target]); return;
	case ACT_JMP: x86_jmp(&g->x, labels[act->target]); return;
#define ACT_RECORD(id, ...) case ACT_##id:
#include "dif/acts.def"
		ngen_record_act(g, i);
		return;
	case ACT_LOOP:
	case ACT_AGAIN:
	case ACT_UFRAME:
	case ACT_UNWIND:
	case ACT_SPECULATE:
	case ACT_COMMIT:
	case ACT_DISCARD:
	case ACT_STOP:
	case ACT_RAISE:
	case ACT_CHILL:
#define ACT_VALUE(id, ...) case ACT_##id:
#include "dif/acts.def"
		break;
	}
	BUG("action kind %d in the process", (int)act->kind);
}

static void acts_emit(struct ngen *g, const struct prog_clause *c)
{
	uint32_t *labels = xcalloc(c->nacts + 1, sizeof(*labels));

	for (uint32_t i = 0; i <= c->nacts; i++)
		labels[i] = x86_label(&g->x);
	for (uint32_t i = 0; i < c->nacts; i++) {
		x86_here(&g->x, labels[i]);
		ngen_record_mark(g, i);
		act_emit(g, i, labels);
	}
	x86_here(&g->x, labels[c->nacts]);
	free(labels);
}

/*
 * The clauses of a declared probe begin with clause-local variables that are zero, which the
 * clauses of another one, or of the site's own probe, may have set.
 */
static void locals_reset(struct ngen *g, const struct unit_clause *before)
{
	const struct unit_identity *as = g->uc->as;

	if (!as || !before || (before->as && before->as->probe == as->probe) || !g->stack.this_size)
		return;
	ngen_zero(g, g->stack.this, g->stack.this + g->stack.this_size);
}

void ngen_clause(struct ngen *g, uint32_t i)
{
	const struct clause_layout *cl;
	const struct prog_clause *c;
	struct ngen_needs n = {0};

	g->uc = g->grp->clauses[i];
	g->clause = i;
	g->out = x86_label(&g->x);
	g->fault = x86_label(&g->x);
	g->fault_used = false;
	cl = g->uc->layout;
	c = cl->clause;
	ngen_needs(&n, g->l, cl);
	locals_reset(g, i ? g->grp->clauses[i - 1] : NULL);
	if (n.tls)
		ngen_tls_find(g);
	if (c->pred)
		ngen_difo_test(g, c->pred, 0, g->out);
	if (c->records)
		ngen_record_begin(g);
	acts_emit(g, c);
	if (c->records)
		ngen_record_end(g);
	if (g->cold.len)
		x86_jmp(&g->x, g->out);
	/* a fault's record is dropped by code that comes later */
	ngen_flush_cold(g);
	ngen_fault_tail(g);
	ngen_flush_cold(g);
	x86_here(&g->x, g->out);
}
