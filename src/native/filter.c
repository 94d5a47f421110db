/* SPDX-License-Identifier: MIT */
/*
 * Filters: the predicates of a probe's clauses, as far as the process can tell.
 *
 * A filter is compiled as the functions of clauses are, from clauses that have nothing but their
 * predicates. The function of a group tests them one after the other, and ends with the first that
 * is true:
 *
 *     result = true; no thread block? end. result = false
 *     predicate 1? hit. predicate 2? hit. end
 *     hit: result = true
 */
#include "native/builtin.h"
#include "native/gen.h"

/* ---- what the process can tell --------------------------------------------------------------- */

/* A clause of a unit that has its predicate alone. */
struct bare {
	struct prog_clause clause;
	struct clause_layout layout;
};

static struct unit_clause bare_make(const struct unit_clause *uc, struct bare *to)
{
	struct unit_clause bare = *uc;

	to->clause = *uc->layout->clause;
	to->clause.acts = NULL;
	to->clause.nacts = 0;
	to->clause.records = to->clause.is_default = false;
	to->layout = *uc->layout;
	to->layout.clause = &to->clause;
	to->layout.acts = NULL;
	to->layout.spec_off = to->layout.executed_off = 0;
	bare.layout = &to->layout;
	return bare;
}

/* Whether an instruction has the same result here and, a moment later, in the kernel. */
static bool insn_is_pure(dif_insn insn)
{
	switch (dif_op_form(DIF_INSN_OP(insn))) {
	case DIF_FORM_LDV:
		if (DIF_INSN_OP(insn) != DIF_OP_LDGS || DIF_INSN_INDEX(insn) >= DIF_VAR_USER)
			return false;
		switch (DIF_INSN_INDEX(insn)) {
		case DIF_VAR_TIMESTAMP:
		case DIF_VAR_ERRNO:
		case DIF_VAR_EPID:
		case DIF_VAR_UCALLER: return false;
		default: return true; /* of the others, native_takes() knows those that it has */
		}
	case DIF_FORM_STV:
	case DIF_FORM_LOAD:
	case DIF_FORM_STORE:
	case DIF_FORM_COPYS:
	case DIF_FORM_XLATE: return false;
	case DIF_FORM_RRR:
	case DIF_FORM_RR:
	case DIF_FORM_SETS:
	case DIF_FORM_LDA:
	case DIF_FORM_CALL:
	case DIF_FORM_PUSHTR:
	case DIF_FORM_NONE:
	case DIF_FORM_CMP:
	case DIF_FORM_TST:
	case DIF_FORM_LABEL:
	case DIF_FORM_RET:
	case DIF_FORM_SETX:
	case DIF_FORM_PUSHTV: break;
	}
	return true;
}

/* Whether the predicate of the clause on the probe can be tested in the process. */
static bool predicate_is_pure(const struct unit *u, uint32_t probe, uint32_t clause,
			      const struct layout *l)
{
	const struct difo *d = u->clauses[clause].layout->clause->pred;
	struct bare bare;
	struct unit_clause uc = bare_make(&u->clauses[clause], &bare);
	struct unit_probe pr = u->probes[probe];
	struct ngen_needs n = {0};
	struct unit one = *u;
	uint64_t mask = 1;

	for (uint32_t i = 0; i < d->code_len; i++)
		if (!insn_is_pure(d->code[i]))
			return false;
	pr.mask = &mask;
	one.clauses = &uc;
	one.nclauses = one.nwords = 1;
	one.probes = &pr;
	one.nprobes = 1;
	if (!ngen_filter_takes(&one, l))
		return false;
	ngen_needs(&n, l, uc.layout);
	return !n.faults;
}

static bool is_enabled(const struct unit *u, uint32_t probe, uint32_t clause)
{
	return u->probes[probe].mask[clause / 64] >> (clause % 64) & 1;
}

/* t NULL: what the target lacks is not known yet. */
static bool filter_is_true(const struct unit *u, uint32_t probe, const struct layout *l,
			   const struct native_target *t)
{
	for (uint32_t i = 0; i < u->nclauses; i++) {
		const struct unit_clause *uc = &u->clauses[i];
		struct bare bare;
		struct unit_clause one = bare_make(uc, &bare);
		const struct unit bare_unit = {.clauses = &one, .nclauses = 1};

		if (!is_enabled(u, probe, i) || (t && !clause_is_of(uc, t->pid)))
			continue;
		if (!uc->layout->clause->pred || !predicate_is_pure(u, probe, i, l) ||
		    (t && native_target_lack(&bare_unit, 0, t)) ||
		    (t && !t->is_sampled && native_samples(uc->layout->clause)))
			return true;
	}
	return false;
}

bool native_filter_is_true(const struct unit *u, uint32_t probe, const struct layout *l)
{
	return filter_is_true(u, probe, l, NULL);
}

/* The target as filters see it: the kernel looks at the CPU of option cpu. */
static struct native_target target_for_filters(const struct native_target *t)
{
	struct native_target filter = *t;

	filter.is_filter = true;
	filter.only_cpu = -1;
	return filter;
}

bool native_filter_is_true_in(const struct unit *u, uint32_t probe, const struct native_target *t)
{
	struct native_target filter = target_for_filters(t);

	return filter_is_true(u, probe, t->layout, &filter);
}

static bool probe_samples(const struct unit *u, uint32_t probe)
{
	for (uint32_t i = 0; i < u->nclauses; i++)
		if (is_enabled(u, probe, i) && native_samples(u->clauses[i].layout->clause))
			return true;
	return false;
}

static bool has_computed_index(const struct prog_clause *c)
{
	struct clause_difo at = {0};
	uint64_t index;

	while (clause_each_difo(c, &at))
		for (uint32_t i = 0; i < at.difo->code_len; i++)
			if (DIF_INSN_OP(at.difo->code[i]) == DIF_OP_LDGA &&
			    !ngen_const_index(at.difo, i, &index))
				return true;
	return false;
}

struct native_reads native_relay_reads(const struct unit *u, uint32_t probe)
{
	struct native_reads reads = native_reads_of(u, probe);

	for (uint32_t i = 0; i < u->nclauses; i++)
		if (is_enabled(u, probe, i) && has_computed_index(u->clauses[i].layout->clause)) {
			reads.args = (1u << NATIVE_NARGS) - 1;
			reads.regs = true;
		}
	return reads;
}

/* ---- code ------------------------------------------------------------------------------------ */

void ngen_filter_set(struct ngen *g, bool is_true)
{
	x86_store_imm(&g->x, 8, on_stack(g->stack.val), is_true);
}

void ngen_filter_begin(struct ngen *g)
{
	bool samples = false;

	for (uint32_t i = 0; i < g->grp->nclauses; i++)
		samples |= native_samples(g->grp->clauses[i]->layout->clause);
	ngen_filter_set(g, !samples);
}

void ngen_filter(struct ngen *g)
{
	uint32_t hit = x86_label(&g->x), end = x86_label(&g->x);

	for (uint32_t i = 0; i < g->grp->nclauses && !g->err; i++) {
		g->uc = g->grp->clauses[i];
		g->clause = i;
		g->out = x86_label(&g->x);
		g->fault = x86_label(&g->x);
		g->fault_used = false;
		ngen_difo_test(g, g->uc->layout->clause->pred, 0, g->out);
		x86_jmp(&g->x, hit);
		ngen_flush_cold(g);
		x86_here(&g->x, g->fault); /* never reached: such predicates are no filters */
		x86_here(&g->x, g->out);
	}
	x86_jmp(&g->x, end);
	x86_here(&g->x, hit);
	ngen_filter_set(g, true);
	x86_here(&g->x, end);
}

struct err *native_filter_compile(const struct unit *u, const struct native_target *t,
				  const struct native_site *sites, uint32_t nsites,
				  struct native_code *ret)
{
	CLEANUP(free) struct bare *bare = xcalloc(u->nclauses + 1, sizeof(*bare));
	CLEANUP(free) struct unit_clause *clauses = xcalloc(u->nclauses + 1, sizeof(*clauses));
	CLEANUP(free) struct unit_probe *probes = xcalloc(u->nprobes + 1, sizeof(*probes));
	CLEANUP(free) struct native_site *some = xcalloc(nsites + 1, sizeof(*some));
	CLEANUP(free) uint32_t *of = xcalloc(nsites + 1, sizeof(*of));
	struct native_target filter = target_for_filters(t);
	struct unit own = *u;
	struct native_code code = {0};
	struct native_entry *entries;
	struct err *e;
	uint32_t n = 0;

	for (uint32_t i = 0; i < u->nclauses; i++)
		clauses[i] = bare_make(&u->clauses[i], &bare[i]);
	own.clauses = clauses;
	own.probes = probes;
	own.nprobes = 0;
	own.nerror_clauses = 0;
	for (uint32_t i = 0, last = 0; i < nsites; i++) {
		uint32_t probe = sites[i].probe;

		if (filter_is_true(u, probe, t->layout, &filter)) {
			if (t->is_sampled && probe_samples(u, probe))
				return err_new("a clause of a probe that samples cannot be tested "
					       "in the process");
			continue;
		}
		if (!own.nprobes || last != probe)
			probes[own.nprobes++] = u->probes[probe];
		last = probe;
		of[n] = i;
		some[n] = sites[i];
		some[n++].probe = own.nprobes - 1;
	}
	e = n ? native_compile(&own, &filter, some, n, &code) : NULL;
	if (e)
		return e;
	entries = xcalloc(nsites + 1, sizeof(*entries));
	for (uint32_t i = 0; i < nsites; i++)
		entries[i].func = NATIVE_NO_FILTER;
	for (uint32_t i = 0; i < n; i++)
		entries[of[i]] = code.entries[i];
	free(code.entries);
	code.entries = entries;
	code.nentries = nsites;
	*ret = code;
	return NULL;
}
