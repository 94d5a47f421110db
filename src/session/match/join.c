/* SPDX-License-Identifier: MIT */
/*
 * Joins clauses of a unit that do the same.
 *
 * A clause with several descriptions becomes a clause for each of them: "syscall::read:entry,
 * syscall::write:entry { ... }" is two. A probe that is declared in D is made of sources, and a
 * clause on it becomes one clause for each of them. Those of system calls differ by the call only:
 *
 *     clause 0   read:return    self->file != NULL    @[probename] = count()     fsinfo:::read
 *     clause 1   readv:return   self->file != NULL    @[probename] = count()     fsinfo:::read
 *     clause 2   lseek:return   self->file != NULL    @[probename] = count()     fsinfo:::seek
 *
 * A call fires clause 0 or clause 1, so clause 0 is enough, if it runs for both calls: the verifier
 * of the kernel takes some 40 microseconds for each clause, and a firing asks for each of a unit's
 * clauses whether it is meant. Joined are
 *
 * - clauses of one declared probe whose DIF is the same;
 * - clauses that were one in the text, on probes that are not declared in D, where the EPID stays
 *   easy to find;
 * - clauses of which only the guard is executed, because it notes something and is never true: also
 *   those of several declared probes, as no name of a probe can be seen there.
 *
 * A firing must do the same as before, in the same order. So clause B is not joined to an earlier
 * clause A if a probe of B also fires A (it would run once instead of twice), or a clause between
 * the two (B would run before it). Clause-local variables begin at
 * zero where the declared probe changes (gen_identity() in bpf/gen_clause.c). So when clauses of
 * two declared probes are joined, no clause of these may follow in the same firing.
 */
#include "session/match/impl.h"

/*
 * A clause is compared with those before it, at all probes; programs of so many clauses need not be
 * fast.
 */
#define MAX_CLAUSES 256
#define MAX_STEPS   (1u << 26)

/* ---- comparing ------------------------------------------------------------------------------ */

static bool is_same_memory(const void *a, const void *b, uint32_t n, size_t size)
{
	return !n || memcmp(a, b, n * size) == 0;
}

static bool is_same_type(const struct dif_type *a, const struct dif_type *b)
{
	return a->kind == b->kind && a->flags == b->flags && a->is_signed == b->is_signed &&
	       a->size == b->size;
}

static bool is_same_difo(const struct difo *a, const struct difo *b)
{
	if (!a || !b)
		return a == b;
	if (a->code_len != b->code_len || a->ints_len != b->ints_len ||
	    a->strs_size != b->strs_size || a->vars_len != b->vars_len ||
	    a->trusted_len != b->trusted_len || !a->trusts != !b->trusts ||
	    !is_same_type(&a->ret, &b->ret))
		return false;
	for (uint32_t i = 0; i < a->vars_len; i++)
		if (a->vars[i].id != b->vars[i].id || a->vars[i].kind != b->vars[i].kind ||
		    a->vars[i].scope != b->vars[i].scope ||
		    !is_same_type(&a->vars[i].type, &b->vars[i].type))
			return false;
	if (a->trusts && !is_same_memory(a->trusts, b->trusts, a->code_len, sizeof(*a->trusts)))
		return false;
	return is_same_memory(a->code, b->code, a->code_len, sizeof(*a->code)) &&
	       is_same_memory(a->ints, b->ints, a->ints_len, sizeof(*a->ints)) &&
	       is_same_memory(a->strs, b->strs, a->strs_size, 1);
}

/* Two actions of the same text; their formats are the same if their arguments are. */
static bool is_same_act(const struct prog_act *a, const struct prog_act *b)
{
	if (a->kind != b->kind || a->nargs != b->nargs || a->number != b->number)
		return false;
	for (uint32_t i = 0; i < a->nargs; i++)
		if (a->arg_kinds[i] != b->arg_kinds[i] || !is_same_difo(a->args[i], b->args[i]))
			return false;
	switch (act_holds(a->kind)) {
	case HOLDS_NOTHING:
	case HOLDS_FORMAT: return true;
	case HOLDS_AGG: return a->agg == b->agg;
	case HOLDS_TARGET: return a->target == b->target;
	case HOLDS_MEMORY:
		return a->memory.size == b->memory.size && a->memory.len_arg == b->memory.len_arg;
	case HOLDS_SHAPE: return a->shape == b->shape;
	case HOLDS_LOOP: return false; /* of ustack helpers only */
	}
	BUG("an action holds %d", (int)act_holds(a->kind));
}

/* Two clauses with the same predicate that were one in the text. */
static bool are_same_acts(const struct prog_clause *a, const struct prog_clause *b)
{
	if (a->text_clause != b->text_clause || a->nacts != b->nacts || a->records != b->records ||
	    a->is_default != b->is_default)
		return false;
	for (uint32_t i = 0; i < a->nacts; i++)
		if (!is_same_act(&a->acts[i], &b->acts[i]))
			return false;
	return true;
}

/* Whether the predicate is never true and cannot fault, so that nobody sees whose it is. */
static bool is_silent(const struct difo *pred)
{
	return pred && pred->trusted_len + 1 >= pred->code_len && difo_is_zero(pred);
}

/* ---- joining -------------------------------------------------------------------------------- */

struct joiner {
	struct match *m;
	struct session_unit *u;
	bool *gone; /* by clause */
};

static bool mask_has(const struct unit_probe *p, uint32_t i)
{
	return p->mask[i / 64] >> (i % 64) & 1;
}

/* Whether no probe of clause `to` has clause `from` or a clause between the two. */
static bool is_order_kept(const struct joiner *j, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < j->u->points.len; i++) {
		const struct unit_probe *p = &j->u->points.data[i];

		if (!mask_has(p, to))
			continue;
		for (uint32_t k = from; k < to; k++)
			if (!j->gone[k] && mask_has(p, k))
				return false;
	}
	return true;
}

/* Whether a clause that fires with clause `to`, and after it, belongs to one of the two probes. */
static bool is_identity_used(const struct joiner *j, uint32_t from, uint32_t to)
{
	const struct unit_clause *cs = j->u->clauses.data;

	for (uint32_t i = 0; i < j->u->points.len; i++) {
		const struct unit_probe *p = &j->u->points.data[i];

		for (uint32_t k = to + 1; mask_has(p, to) && k < j->u->clauses.len; k++)
			if (!j->gone[k] && mask_has(p, k) && cs[k].as &&
			    (cs[k].as->probe == cs[from].as->probe ||
			     cs[k].as->probe == cs[to].as->probe))
				return true;
	}
	return false;
}

/*
 * Makes the list of the probes of both clauses, and of the ranks that make their EPIDs; the arrays
 * have room for all. Returns their number.
 */
static uint32_t epids_merge(const struct unit_clause *a, const struct unit_clause *b,
			    uint32_t *idxs, uint32_t *ranks)
{
	uint32_t distance = b->layout->first_epid - a->layout->first_epid, i = 0, k = 0, n = 0;

	for (; i < a->nprobes || k < b->nprobes; n++) {
		bool is_a =
			k == b->nprobes || (i < a->nprobes && a->probe_idxs[i] <= b->probe_idxs[k]);

		idxs[n] = is_a ? a->probe_idxs[i] : b->probe_idxs[k];
		ranks[n] = is_a ? unit_clause_rank(a, i) : distance + k;
		k += k < b->nprobes && b->probe_idxs[k] == idxs[n];
		i += is_a;
	}
	return n;
}

static uint32_t runs_count(const struct unit_clause *uc)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < uc->nprobes; i += unit_clause_run(uc, i))
		n++;
	return n;
}

/*
 * Whether the EPID is as easy to find as in two clauses. The code for it has a branch for each run
 * of probes: where the entries and returns of thousands of functions are joined, each is one.
 */
static bool are_epids_easy(const struct unit_clause *a, const struct unit_clause *b)
{
	uint32_t room = a->nprobes + b->nprobes + 1;
	CLEANUP(free) uint32_t *idxs = xcalloc(room, sizeof(*idxs));
	CLEANUP(free) uint32_t *ranks = xcalloc(room, sizeof(*ranks));
	struct unit_clause both = {.probe_idxs = idxs, .ranks = ranks};

	both.nprobes = epids_merge(a, b, idxs, ranks);
	/* one probe in the middle of a run cuts it in two */
	return runs_count(&both) <= runs_count(a) + runs_count(b) + 1;
}

/* Whether both see the same declared probe as their own, or both the probe that fires. */
static bool is_same_identity(const struct unit_clause *a, const struct unit_clause *b)
{
	return a->as && b->as ? a->as->probe == b->as->probe : a->as == b->as;
}

static bool can_join(const struct joiner *j, uint32_t from, uint32_t to, bool is_across)
{
	const struct unit_clause *a = &j->u->clauses.data[from], *b = &j->u->clauses.data[to];
	const struct prog_clause *ac = a->layout->clause, *bc = b->layout->clause;

	if (j->gone[from] || !a->as != !b->as || a->tgid != b->tgid ||
	    is_across == is_same_identity(a, b) || !is_same_difo(ac->pred, bc->pred))
		return false;
	if (!a->as && ac->text_clause != bc->text_clause)
		return false;
	if (is_across && (!is_silent(ac->pred) || is_identity_used(j, from, to)))
		return false;
	if (!is_silent(ac->pred) && !are_same_acts(ac, bc))
		return false;
	return is_order_kept(j, from, to) && (a->as || are_epids_easy(a, b));
}

/* Adds the probes of clause b to those of clause a. */
static void epids_add(struct joiner *j, struct unit_clause *a, const struct unit_clause *b)
{
	uint32_t room = a->nprobes + b->nprobes + 1;
	uint32_t *idxs = ARENA_NEW_N(j->u->arena, uint32_t, room);
	uint32_t *ranks = ARENA_NEW_N(j->u->arena, uint32_t, room);

	a->nprobes = epids_merge(a, b, idxs, ranks);
	a->probe_idxs = idxs;
	a->ranks = ranks;
}

/* Notes that records of clause a may be those of clause b. */
static void joined_note(struct match *m, uint32_t a, uint32_t b)
{
	struct session_clause *sc = &m->clauses.data[a];

	for (uint32_t i = 0; i < sc->joined.len; i++)
		if (sc->joined.data[i] == b)
			return; /* in another unit, too */
	vec_push(&sc->joined, b);
}

/* Has clause `from` run for all probes of clause `to`. */
static void clause_join(struct joiner *j, uint32_t from, uint32_t to)
{
	struct unit_clause *a = &j->u->clauses.data[from], *b = &j->u->clauses.data[to];

	if (!a->as) {
		epids_add(j, a, b);
		joined_note(j->m, a->layout->clause->index, b->layout->clause->index);
	}
	for (uint32_t i = 0; i < j->u->points.len; i++) {
		uint64_t *mask = j->u->points.data[i].mask;

		if (!mask_has(&j->u->points.data[i], to))
			continue;
		mask[to / 64] &= ~((uint64_t)1 << (to % 64));
		mask[from / 64] |= (uint64_t)1 << (from % 64);
	}
	j->gone[to] = true;
}

static void clauses_join(struct joiner *j, bool is_across)
{
	for (uint32_t to = 1; to < j->u->clauses.len; to++) {
		uint32_t from = 0;

		if (j->gone[to])
			continue;
		while (from < to && !can_join(j, from, to, is_across))
			from++;
		if (from < to)
			clause_join(j, from, to);
	}
}

void unit_pack_clauses(struct session_unit *u, const bool *gone)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < u->clauses.len; i++) {
		if (gone[i])
			continue;
		u->clauses.data[n] = u->clauses.data[i];
		for (uint32_t k = 0; k < u->points.len && n < i; k++) {
			uint64_t *mask = u->points.data[k].mask;

			mask[n / 64] |= (mask[i / 64] >> (i % 64) & 1) << (n % 64);
			mask[i / 64] &= ~((uint64_t)1 << (i % 64));
		}
		n++;
	}
	u->clauses.len = n;
}

void unit_join_clauses(struct match *m, struct session_unit *u)
{
	struct joiner j = {.m = m, .u = u};
	uint64_t n = u->clauses.len;

	if (n < 2 || n > MAX_CLAUSES || n * n * u->points.len > MAX_STEPS)
		return;
	j.gone = xcalloc(u->clauses.len, sizeof(*j.gone));
	clauses_join(&j, false);
	clauses_join(&j, true);
	unit_pack_clauses(u, j.gone);
	free(j.gone);
}
