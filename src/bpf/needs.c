/* SPDX-License-Identifier: MIT */
/* Finds out which data clauses need, so that the entry function supplies just those. */
#include "bpf/gen.h"

static bool is_load(enum dif_op op)
{
	return dif_op_form(op) == DIF_FORM_LOAD;
}

bool difo_is_trusted_load(const struct difo *d, uint32_t i)
{
	enum dif_op op = DIF_INSN_OP(d->code[i]);

	return difo_trusts(d, i) && is_load(op) && (op < DIF_OP_ULDSB || op > DIF_OP_ULDX);
}

static bool is_branch_target(const struct difo *d, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (dif_op_form(DIF_INSN_OP(d->code[k])) == DIF_FORM_LABEL &&
		    DIF_INSN_LABEL(d->code[k]) == i)
			return true;
	return false;
}

bool difo_arg_index(const struct difo *d, uint32_t i, uint32_t *ret_arg)
{
	dif_insn insn = d->code[i], before = i ? d->code[i - 1] : 0;
	uint64_t index = 0;

	if (DIF_INSN_OP(insn) != DIF_OP_LDGA || DIF_INSN_R1(insn) != DIF_VAR_ARGS)
		return false;
	if (DIF_INSN_R2(insn)) {
		if (!i || DIF_INSN_OP(before) != DIF_OP_SETX ||
		    DIF_INSN_RD(before) != DIF_INSN_R2(insn) || is_branch_target(d, i))
			return false;
		index = d->ints[DIF_INSN_INDEX(before)];
	}
	*ret_arg = (uint32_t)index;
	return index < ARRAY_LEN(((struct rt_mach *)0)->arg);
}

static bool op_divides(enum dif_op op)
{
	return op == DIF_OP_SDIV || op == DIF_OP_UDIV || op == DIF_OP_SREM || op == DIF_OP_UREM;
}

static bool is_thread_scalar(enum dif_op op)
{
	return op == DIF_OP_LDTS || op == DIF_OP_STTS;
}

/* Whether a store or a key by reference, which reads memory, may fault. */
static bool insn_can_fault(const struct layout *l, dif_insn insn)
{
	enum dif_op op = DIF_INSN_OP(insn);
	const struct var_layout *vl;

	if (op != DIF_OP_STGS && op != DIF_OP_STTS && op != DIF_OP_STLS)
		return op >= DIF_OP_LDGAA && op <= DIF_OP_STTAA;
	vl = layout_var(l, (enum dif_scope)dif_op_scope(op), DIF_INSN_INDEX(insn));
	return !vl || vl->is_elem || var_is_byref(vl);
}

static void need_builtin(struct needs *n, const struct layout *l, uint32_t id)
{
	const struct builtin_gen *b = builtin_gen_find(l, id);

	if (b)
		b->need(n, b);
	else
		n->faults = true;
}

void needs_of_difo(struct needs *n, const struct layout *l, const struct difo *d)
{
	for (uint32_t i = 0; i < d->code_len; i++) {
		dif_insn insn = d->code[i];
		enum dif_op op = DIF_INSN_OP(insn);
		uint32_t id = DIF_INSN_INDEX(insn), arg;
		bool has_arg = difo_arg_index(d, i, &arg);

		if (op == DIF_OP_LDGS && id < DIF_VAR_USER)
			need_builtin(n, l, id);
		if (has_arg)
			n->args |= 1u << arg;
		else if (op == DIF_OP_LDGA && DIF_INSN_R1(insn) == DIF_VAR_ARGS)
			n->args |= 0x3ff;
		if (is_thread_scalar(op))
			n->tls = true;
		if (op == DIF_OP_CALL) {
			n->scratch |= dif_subr_row(id)->fx & FX_SCRATCH;
			n->token |= id == DIF_SUBR_STRTOK;
			n->faults |= dif_subr_row(id)->fx & FX_FAULTS;
			n->ctx |= id == DIF_SUBR_STACKID;
		}
		n->scratch |= op == DIF_OP_ALLOCS;
		n->faults |= (is_load(op) && !difo_is_trusted_load(d, i)) || op_divides(op) ||
			     insn_can_fault(l, insn) || dif_op_form(op) == DIF_FORM_STORE ||
			     op == DIF_OP_SCMP || op == DIF_OP_ALLOCS || op == DIF_OP_COPYS ||
			     (op == DIF_OP_LDGA && !has_arg) || op == DIF_OP_LDTA ||
			     op == DIF_OP_XLATE || op == DIF_OP_XLARG;
	}
}

bool clause_reads_tls_early(const struct layout *l, const struct prog_clause *c)
{
	struct needs n = {0};

	if (c->pred)
		needs_of_difo(&n, l, c->pred);
	return n.tls;
}

/* Whether building the key may fault: it does when a string or structure cannot be read. */
static bool key_can_fault(const struct agg_layout *al)
{
	for (uint32_t k = 0; k < al->nkeys; k++)
		if (al->keys[k].repr == KEY_STRHASH || al->keys[k].repr == KEY_BYTES)
			return true;
	return false;
}

static bool record_can_fault(const struct act_layout *al)
{
	for (uint32_t k = 0; k < al->nfields; k++)
		if (al->fields[k].kind == REC_STR || al->fields[k].kind == REC_BYTES)
			return true;
	return false;
}

static bool act_can_fault(const struct layout *l, const struct clause_layout *cl, uint32_t i)
{
	const struct prog_act *act = &cl->clause->acts[i];

	if (act->kind == ACT_AGG)
		return key_can_fault(&l->aggs[act->agg->id - 1]);
	return act->kind == ACT_RAISE || act->kind == ACT_CHILL || act->kind == ACT_SPECULATE ||
	       act->kind == ACT_COMMIT || act->kind == ACT_DISCARD ||
	       record_can_fault(&cl->acts[i]);
}

static bool has_stack(const struct prog_act *act)
{
	for (uint32_t k = 0; act->arg_kinds && k < act->nargs; k++)
		if (act->arg_kinds[k] == DATUM_STACK || act->arg_kinds[k] == DATUM_USTACK)
			return true;
	return false;
}

static bool has_helper_stack(const struct layout *l, const struct prog_act *act)
{
	for (uint32_t k = 0; act->arg_kinds && k < act->nargs; k++)
		if (act->arg_kinds[k] == DATUM_USTACK &&
		    layout_strsize(&l->opts, act->args[k], true))
			return true;
	return false;
}

static bool has_helper_value(const struct layout *l, const struct difo *d)
{
	uint32_t at = 0;
	uint64_t how;

	while (difo_each_stackid(d, &at, &how))
		if (layout_stack_how(&l->opts, how).strsize)
			return true;
	return false;
}

void needs_of_clause(struct needs *n, const struct layout *l, const struct clause_layout *cl)
{
	const struct prog_clause *c = cl->clause;
	struct clause_difo at = {0};

	while (clause_each_difo(c, &at)) {
		needs_of_difo(n, l, at.difo);
		n->helpers |= has_helper_value(l, at.difo);
	}
	for (uint32_t i = 0; i < c->nacts; i++) {
		n->faults |= act_can_fault(l, cl, i);
		n->ctx |= has_stack(&c->acts[i]);
		n->exits |= c->acts[i].kind == ACT_EXIT;
		n->helpers |= has_helper_stack(l, &c->acts[i]);
	}
	n->scratch |= n->helpers; /* which they take what the clause has left of */
	if (c->records)
		n->probe = n->timestamp = true;
	if (n->faults)
		n->probe = n->probe_idx = n->timestamp = true;
}
