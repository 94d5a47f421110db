/* SPDX-License-Identifier: MIT */
/*
 * Lookups of elements of aggregations and arrays: in place, or by a function when a unit has many
 * lookups in a map.
 *
 * The kernel replaces each lookup in place by the code of the lookup, and each time moves and walks
 * over the whole program (Linux kernel/bpf/core.c, bpf_patch_insn_single()): with thousands of them
 * loading takes seconds. A function contains one lookup.
 */
#include "bpf/gen.h"

#define INPLACE_MAX 16 /* most lookups in place for one map in a unit */

/* ---- counting lookups ----------------------------------------------------------------------- */

static uint32_t *lookup_counter(struct gen *g, uint32_t ref)
{
	bool is_agg = ref >> 16 == MAP_AGG;

	return &g->nlookups[(ref & 0xffff) + (is_agg ? 0 : g->l->nagg_maps)];
}

static void difo_count(struct gen *g, const struct difo *d)
{
	for (uint32_t i = 0; i < d->code_len; i++) {
		enum dif_op op = DIF_INSN_OP(d->code[i]);
		const struct var_layout *vl;

		if (op != DIF_OP_LDTS && op != DIF_OP_STTS && op != DIF_OP_LDLS &&
		    op != DIF_OP_STLS && (op < DIF_OP_LDGAA || op > DIF_OP_STTAA))
			continue;
		vl = layout_var(g->l, (enum dif_scope)dif_op_scope(op), DIF_INSN_INDEX(d->code[i]));
		if (vl)
			g->uses_var[vl - g->l->vars] = true;
		if (vl && vl->is_elem)
			++*lookup_counter(g, MAP_REF(MAP_ARR, vl->map));
	}
}

static void clause_count(struct gen *g, const struct prog_clause *c)
{
	struct clause_difo at = {0};

	while (clause_each_difo(c, &at))
		difo_count(g, at.difo);
	for (uint32_t i = 0; i < c->nacts; i++)
		if (c->acts[i].kind == ACT_AGG)
			g->nupdates[c->acts[i].agg->id - 1]++;
}

void lookups_count(struct gen *g)
{
	g->nlookups = xcalloc(g->l->nagg_maps + g->l->narr_maps + 1, sizeof(*g->nlookups));
	g->nupdates = xcalloc(g->l->naggs + 1, sizeof(*g->nupdates));
	g->uses_var = xcalloc(g->l->nvars + 1, sizeof(*g->uses_var));
	for (uint32_t i = 0; i < g->u->nclauses; i++)
		clause_count(g, g->u->clauses[i].layout->clause);
	for (uint32_t i = 0; i < g->u->nerror_clauses; i++)
		clause_count(g, g->u->error_clauses[i].layout->clause);
	for (uint32_t i = 0; i < g->l->naggs; i++)
		*lookup_counter(g, MAP_REF(MAP_AGG, g->l->aggs[i].map)) +=
			agg_has_function(g, &g->l->aggs[i]) ? 1 : g->nupdates[i];
}

/* ---- code ----------------------------------------------------------------------------------- */

/* find(m): returns the element with the key in the machine state. */
static void emit_find(struct gen *g, uint32_t ref)
{
	bool is_agg = ref >> 16 == MAP_AGG;

	em_mov(&g->e, R2, R1);
	em_alu_imm(&g->e, BPF_ADD, R2, (int32_t)(is_agg ? g->mach->key_off : g->mach->arr_key_off));
	em_map(&g->e, R1, ref);
	em_helper(&g->e, BPF_FUNC_map_lookup_elem);
	em_exit(&g->e);
}

/* find(index): returns the element of an array. */
static void emit_find_index(struct gen *g, uint32_t ref)
{
	em_store(&g->e, 4, R10, FRAME_KEY, R1);
	em_addr(&g->e, R2, R10, (uint32_t)FRAME_KEY);
	em_map(&g->e, R1, ref);
	em_helper(&g->e, BPF_FUNC_map_lookup_elem);
	em_exit(&g->e);
}

bool lookup_is_inplace(struct gen *g, uint32_t ref)
{
	return *lookup_counter(g, ref) <= INPLACE_MAX;
}

void gen_lookup(struct gen *g, uint32_t ref)
{
	if (!lookup_is_inplace(g, ref)) {
		em_mov(&g->e, R1, R9);
		em_call_func(&g->e, gen_func(g, "find", emit_find, ref));
		return;
	}
	gen_map_and_key(g, ref);
	em_helper(&g->e, BPF_FUNC_map_lookup_elem);
}

void gen_lookup_index(struct gen *g, uint32_t ref, uint32_t index)
{
	if (!lookup_is_inplace(g, ref)) {
		em_imm(&g->e, R1, index);
		em_call_func(&g->e, gen_func(g, "find", emit_find_index, ref));
		return;
	}
	em_store_imm(&g->e, 4, R10, FRAME_KEY, (int32_t)index);
	em_addr(&g->e, R2, R10, (uint32_t)FRAME_KEY);
	em_map(&g->e, R1, ref);
	em_helper(&g->e, BPF_FUNC_map_lookup_elem);
}

void gen_map_and_key(struct gen *g, uint32_t ref)
{
	bool is_agg = ref >> 16 == MAP_AGG;

	em_addr(&g->e, R2, R9, is_agg ? g->mach->key_off : g->mach->arr_key_off);
	em_map(&g->e, R1, ref);
}
