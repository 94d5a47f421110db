/* SPDX-License-Identifier: MIT */
/* Finds out which data clauses need, so that the functions supply just those. */
#include "native/builtin.h"
#include "native/gen.h"

static bool is_branch_target(const struct difo *d, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (dif_op_form(DIF_INSN_OP(d->code[k])) == DIF_FORM_LABEL &&
		    DIF_INSN_LABEL(d->code[k]) == i)
			return true;
	return false;
}

bool ngen_const_index(const struct difo *d, uint32_t i, uint64_t *ret_index)
{
	dif_insn insn = d->code[i], before = i ? d->code[i - 1] : 0;

	if (DIF_INSN_OP(insn) != DIF_OP_LDGA)
		return false;
	*ret_index = 0;
	if (!DIF_INSN_R2(insn))
		return true;
	if (DIF_INSN_OP(before) != DIF_OP_SETX || DIF_INSN_RD(before) != DIF_INSN_R2(insn) ||
	    is_branch_target(d, i))
		return false;
	*ret_index = d->ints[DIF_INSN_INDEX(before)];
	return true;
}

static void builtin_need(struct ngen_needs *n, uint32_t id)
{
	if (id >= DIF_VAR_ARG0 && id <= DIF_VAR_ARG9)
		n->args |= 1u << (id - DIF_VAR_ARG0);
	else if (id >= DIF_VAR_PROBEPROV && id <= DIF_VAR_PROBENAME)
		n->names |= 1u << (id - DIF_VAR_PROBEPROV);
	n->probe |= id == DIF_VAR_ID;
	n->epid |= id == DIF_VAR_EPID;
	n->time |= id == DIF_VAR_TIMESTAMP;
	n->tid |= id == DIF_VAR_TID;
	n->cpu |= id == DIF_VAR_CPU;
	n->pushed |= id == DIF_VAR_UCALLER;
}

static void array_need(struct ngen_needs *n, const struct difo *d, uint32_t i)
{
	uint64_t index;

	if (!ngen_const_index(d, i, &index))
		return;
	if (DIF_INSN_R1(d->code[i]) == DIF_VAR_ARGS && index < 10)
		n->args |= 1u << index;
	if (DIF_INSN_R1(d->code[i]) != DIF_VAR_UREGS || index >= DIF_NUREGS)
		return;
	n->regs |= 1u << index;
	n->pushed |= index == UREG_SP;
}

static void element_need(struct ngen_needs *n, const struct layout *l, dif_insn insn)
{
	enum dif_scope scope = (enum dif_scope)dif_op_scope(DIF_INSN_OP(insn));
	const struct var_layout *vl = layout_var(l, scope, DIF_INSN_INDEX(insn));

	n->tid |= scope == DIF_SCOPE_THREAD;
	if (vl)
		n->key_size = MAX(n->key_size, l->arr_maps[vl->map].key_size);
}

/* What it reads that is no variable of the program. */
static void difo_need_builtins(struct ngen_needs *n, const struct difo *d)
{
	bool is_name =
		difo_is_builtin(d) >= DIF_VAR_PROBEPROV && difo_is_builtin(d) <= DIF_VAR_PROBENAME;
	uint32_t before = n->names;

	n->names = 0;
	for (uint32_t i = 0; i < d->code_len; i++) {
		dif_insn insn = d->code[i];

		if (DIF_INSN_OP(insn) == DIF_OP_LDGS && DIF_INSN_INDEX(insn) < DIF_VAR_USER)
			builtin_need(n, DIF_INSN_INDEX(insn));
		if (DIF_INSN_OP(insn) == DIF_OP_LDGA)
			array_need(n, d, i);
	}
	n->compared_names |= is_name ? 0 : n->names;
	n->names |= before;
}

static void difo_need(struct ngen_needs *n, const struct layout *l, const struct difo *d)
{
	difo_need_builtins(n, d);
	for (uint32_t i = 0; i < d->code_len; i++) {
		dif_insn insn = d->code[i];
		enum dif_op op = DIF_INSN_OP(insn);

		if (op >= DIF_OP_LDGAA && op <= DIF_OP_STTAA) {
			element_need(n, l, insn);
			n->slot = true;
		}
		n->tls |= op == DIF_OP_LDTS || op == DIF_OP_STTS;
		n->this_vars |= op == DIF_OP_LDLS || op == DIF_OP_STLS;
		n->faults |= op >= DIF_OP_SDIV && op <= DIF_OP_UREM;
	}
}

bool ngen_act_has_site(const struct prog_act *act)
{
	bool has_one = false;

	for (uint32_t k = 0; act->kind == ACT_AGG && k < act->agg->nkeys; k++)
		has_one |= var_is_site(difo_is_builtin(act->args[k]));
	return has_one;
}

bool native_has_sites(const struct prog_clause *c)
{
	for (uint32_t i = 0; i < c->nacts; i++)
		if (ngen_act_has_site(&c->acts[i]))
			return true;
	return false;
}

void ngen_needs(struct ngen_needs *n, const struct layout *l, const struct clause_layout *cl)
{
	const struct prog_clause *c = cl->clause;
	struct clause_difo at = {0};
	struct ngen_needs own = {0};

	while (clause_each_difo(c, &at))
		difo_need(&own, l, at.difo);
	for (uint32_t i = 0; i < c->nacts; i++) {
		own.exits |= c->acts[i].kind == ACT_EXIT;
		own.site |= ngen_act_has_site(&c->acts[i]);
		if (c->acts[i].kind == ACT_AGG) {
			uint32_t map = l->aggs[c->acts[i].agg->id - 1].map;

			own.slot = true;
			own.key_size = MAX(own.key_size, l->agg_maps[map].key_size);
			own.time |= c->acts[i].agg->func == AGGFUNC_LIVE && !l->opts.liveorder;
		}
	}
	own.records = c->records;
	if (c->records)
		own.rec_size = cl->heap_off;
	if (own.faults) {
		own.epid = true;
		own.rec_size = MAX(own.rec_size, (uint32_t)sizeof(struct rt_rec_fault));
	}
	own.probe |= own.faults || c->records;
	own.time |= own.probe;
	own.tid |= own.tls;
	own.slot |= own.cpu || own.records || own.faults;

	n->args |= own.args;
	n->names |= own.names;
	n->compared_names |= own.compared_names;
	n->regs |= own.regs;
	n->probe |= own.probe;
	n->epid |= own.epid;
	n->time |= own.time;
	n->tls |= own.tls;
	n->faults |= own.faults;
	n->exits |= own.exits;
	n->cpu |= own.cpu;
	n->slot |= own.slot;
	n->tid |= own.tid;
	n->this_vars |= own.this_vars;
	n->records |= own.records;
	n->pushed |= own.pushed;
	n->site |= own.site;
	n->key_size = MAX(n->key_size, own.key_size);
	n->rec_size = MAX(n->rec_size, own.rec_size);
}

/* Entries of live() have times, also those that it puts in order; dead() takes them out. */
static bool clause_has_entries(const struct prog_clause *c)
{
	bool has_some = false;

	for (uint32_t i = 0; i < c->nacts; i++)
		has_some |= c->acts[i].kind == ACT_DEAD ||
			    (c->acts[i].kind == ACT_AGG && c->acts[i].agg->func == AGGFUNC_LIVE);
	return has_some;
}

bool native_needs_clock(const struct unit *u, const struct layout *l)
{
	struct ngen_needs n = {0};
	bool has_entries = false;

	for (uint32_t i = 0; i < u->nclauses; i++) {
		ngen_needs(&n, l, u->clauses[i].layout);
		has_entries |= clause_has_entries(u->clauses[i].layout->clause);
	}
	return n.time || has_entries;
}

static bool difo_samples(const struct difo *d)
{
	for (uint32_t i = 0; i < d->code_len; i++)
		if (DIF_INSN_OP(d->code[i]) == DIF_OP_CALL &&
		    ngen_subr_samples(DIF_INSN_INDEX(d->code[i])))
			return true;
	return false;
}

bool native_samples(const struct prog_clause *c)
{
	return c->pred && difo_samples(c->pred);
}

/* ---- registers, for the engine --------------------------------------------------------------- */

static bool is_enabled(const struct unit *u, uint32_t probe, uint32_t clause)
{
	return u->probes[probe].mask[clause / 64] >> (clause % 64) & 1;
}

struct native_reads native_reads_of(const struct unit *u, uint32_t probe)
{
	struct native_reads reads = {0};
	bool is_entry = u->probes[probe].spot == SPOT_ENTRY;
	bool is_own = u->probes[probe].spot == SPOT_USDT;

	for (uint32_t i = 0; i < u->nclauses; i++) {
		struct clause_difo at = {0};
		struct ngen_needs n = {0};

		if ((!is_entry && !is_own) || !is_enabled(u, probe, i))
			continue;
		while (clause_each_difo(u->clauses[i].layout->clause, &at))
			difo_need_builtins(&n, at.difo);
		reads.args |= is_own ? n.args : n.args & ((1u << NATIVE_NARGS) - 1);
		if (is_own)
			continue; /* a nop changes no register */
		for (uint32_t k = 0; k < DIF_NUREGS; k++) {
			if (!(n.regs >> k & 1) || k == UREG_SP || k == UREG_PC)
				continue;
			if (ureg_arg(k))
				reads.args |= 1u << (ureg_arg(k) - 1);
			else
				reads.regs = true;
		}
	}
	return reads;
}
