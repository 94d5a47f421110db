/* SPDX-License-Identifier: MIT */
/*
 * Guards that clauses share.
 *
 * The probes of a provider of the library often hang on one place, and their guards begin alike:
 *
 *     clause 0   received(args[0]) && protocol == 6
 *     clause 1   received(args[0]) && protocol == 1
 *     clause 2   received(args[0]) && protocol == 1 && type == 8
 *
 * Each clause has a copy of its whole guard, and the kernel takes some microseconds to verify each
 * read of a member. So what neighbours begin with is executed once, before the first of them:
 *
 *     if (!received(args[0])) goto 3
 *     if (protocol != 6) goto 1
 *     ... actions of clause 0
 *  1: if (protocol != 1) goto 3
 *     ... actions of clause 1
 *     if (type != 8) goto 3
 *     ... actions of clause 2
 *  3:
 *
 * The predicates of two neighbours are compared in DIF, from their first instruction on. They share
 * the instructions that are equal, up to a cut: an instruction before which no value is in a
 * register, and over which no branch leads but those that end the predicate as false. Values that
 * are used on both sides of a cut are in clause-local variables.
 *
 * A clause must not see the difference. The instructions are those of trusted guards (struct
 * difo), cannot fault, and read only what stays the same for a firing: arguments, memory of the
 * kernel, and clause-local integers. They are not shared over a clause that writes one of these
 * integers outside of them. The integers are zeroed before the shared instructions, and kept when
 * the clause-local variables of the next declared probe begin at zero.
 */
#include "bpf/gen.h"
#include "dif/asm.h"

/* Instructions that are shared up to `end`, and the label to which they jump. */
struct guard_level {
	uint32_t end, fail;
};

struct guards {
	uint32_t from, to; /* clauses */
	const struct unit_clause *ucs;
	const uint32_t *shared; /* gen.shared; the first clause shares nothing here */
	VEC(struct guard_level) open;
	bool *kept, *fresh; /* by layout.vars */
};

/* ---- tests ---------------------------------------------------------------------------------- */

static bool is_branch(dif_insn insn)
{
	return dif_op_form(DIF_INSN_OP(insn)) == DIF_FORM_LABEL;
}

/* Whether the object ends with "setx 1, %r; ba 4; mov %r0, %r; ret %r", as lower_truth() does. */
bool difo_test_find(const struct difo *d, struct difo_test *ret)
{
	uint32_t end = d->code_len - 4, r;

	if (d->code_len < 4)
		return false;
	r = DIF_INSN_RD(d->code[end + 3]);
	if (DIF_INSN_OP(d->code[end]) != DIF_OP_SETX || !d->ints[DIF_INSN_INDEX(d->code[end])] ||
	    DIF_INSN_RD(d->code[end]) != r || d->code[end + 1] != dif_branch(DIF_OP_BA, end + 3) ||
	    d->code[end + 2] != dif_rrr(DIF_OP_MOV, 0, 0, r) ||
	    DIF_INSN_OP(d->code[end + 3]) != DIF_OP_RET)
		return false;
	for (uint32_t i = 0; i < end; i++)
		if (DIF_INSN_OP(d->code[i]) == DIF_OP_RET ||
		    (is_branch(d->code[i]) && DIF_INSN_LABEL(d->code[i]) > end &&
		     DIF_INSN_LABEL(d->code[i]) != end + 2))
			return false;
	*ret = (struct difo_test){end, end + 2};
	return true;
}

/* ---- what can be shared --------------------------------------------------------------------- */

/* Whether a built-in variable is the same for all clauses of a firing, and cannot fault. */
static bool is_fixed_builtin(uint32_t id)
{
	return (id >= DIF_VAR_ARG0 && id <= DIF_VAR_ARG9) || id == DIF_VAR_CURTHREAD ||
	       id == DIF_VAR_PID || id == DIF_VAR_TID || id == DIF_VAR_CPU;
}

static bool op_calculates(enum dif_op op)
{
	return (op >= DIF_OP_OR && op <= DIF_OP_MUL) || op == DIF_OP_SRA || op == DIF_OP_NOT ||
	       op == DIF_OP_MOV || op == DIF_OP_CMP || op == DIF_OP_TST || op == DIF_OP_SETX ||
	       op == DIF_OP_PUSHTV || op == DIF_OP_NOP;
}

/* The clause-local integer that the instruction reads or writes; NULL: none. */
static const struct var_layout *local_integer(const struct layout *l, dif_insn insn)
{
	enum dif_op op = DIF_INSN_OP(insn);
	const struct var_layout *vl;

	if (op != DIF_OP_LDLS && op != DIF_OP_STLS)
		return NULL;
	vl = layout_var(l, DIF_SCOPE_LOCAL, DIF_INSN_INDEX(insn));
	return vl && !vl->is_elem && !var_is_byref(vl) && vl->size <= 8 ? vl : NULL;
}

static bool insn_can_be_shared(const struct layout *l, const struct difo *d, uint32_t i)
{
	dif_insn insn = d->code[i];
	enum dif_op op = DIF_INSN_OP(insn);
	uint32_t arg;

	return op_calculates(op) || is_branch(insn) || difo_is_trusted_load(d, i) ||
	       difo_arg_index(d, i, &arg) || local_integer(l, insn) ||
	       (op == DIF_OP_LDGS && is_fixed_builtin(DIF_INSN_INDEX(insn))) ||
	       (op == DIF_OP_CALL && !dif_subr_row(DIF_INSN_INDEX(insn))->fx);
}

/* The number of instructions with which a predicate begins that can be shared. */
static uint32_t shareable_len(const struct layout *l, const struct difo *d,
			      const struct difo_test *test)
{
	uint32_t i = 0, most = MIN(d->trusted_len, test->end);

	while (i < most && insn_can_be_shared(l, d, i))
		i++;
	return i;
}

static bool is_same_insn(const struct difo *a, const struct difo_test *at, const struct difo *b,
			 const struct difo_test *bt, uint32_t i)
{
	dif_insn x = a->code[i], y = b->code[i];

	if (is_branch(x) && is_branch(y) && DIF_INSN_LABEL(x) == at->is_false &&
	    DIF_INSN_LABEL(y) == bt->is_false)
		return DIF_INSN_OP(x) == DIF_INSN_OP(y);
	if (DIF_INSN_OP(x) == DIF_OP_SETX && DIF_INSN_OP(y) == DIF_OP_SETX)
		return DIF_INSN_RD(x) == DIF_INSN_RD(y) &&
		       a->ints[DIF_INSN_INDEX(x)] == b->ints[DIF_INSN_INDEX(y)];
	return x == y && (!is_branch(x) ||
			  (DIF_INSN_LABEL(x) != at->is_false && DIF_INSN_LABEL(y) != bt->is_false));
}

/* ---- cuts ----------------------------------------------------------------------------------- */

#define NWORDS 4 /* of a set of registers; bit 0 stands for the flags, because %r0 is constant */

static void live_add(uint64_t *set, uint32_t r)
{
	set[r / 64] |= 1ull << (r % 64);
}

/* Changes the set of what is live behind an instruction to what is live before it. */
static void live_before(uint64_t *set, dif_insn insn)
{
	enum dif_form form = dif_op_form(DIF_INSN_OP(insn));
	struct dif_uses uses = dif_insn_uses(insn);

	if (uses.writes)
		set[uses.writes / 64] &= ~(1ull << (uses.writes % 64));
	if (form == DIF_FORM_CMP || form == DIF_FORM_TST)
		set[0] &= ~1ull;
	for (uint32_t k = 0; k < uses.nreads; k++)
		live_add(set, uses.reads[k]);
	if (dif_op_is_cond(DIF_INSN_OP(insn)))
		live_add(set, 0);
}

/* By instruction, up to n: whether it can be the first one behind what is shared. */
static bool *cuts_find(struct arena *a, const struct difo *d, const struct difo_test *test,
		       uint32_t n)
{
	bool *cuts = ARENA_NEW_N(a, bool, n + 1);
	uint64_t(*live)[NWORDS] = arena_alloc(a, sizeof(*live) * (test->end + 1));
	uint32_t target = 0, depth = 0;

	memset(live, 0, sizeof(*live) * (test->end + 1)); /* nothing is live where a test ends */
	for (uint32_t i = test->end; i-- > 0;) {
		dif_insn insn = d->code[i];
		uint32_t to = is_branch(insn) ? MIN(DIF_INSN_LABEL(insn), test->end) : i + 1;

		if (DIF_INSN_OP(insn) == DIF_OP_BA)
			memcpy(live[i], live[to], sizeof(*live));
		else
			for (uint32_t w = 0; w < NWORDS; w++)
				live[i][w] = live[i + 1][w] | live[to][w];
		live_before(live[i], insn);
	}
	for (uint32_t i = 0; i <= n; i++) {
		dif_insn insn = d->code[i];

		cuts[i] = !depth && target <= i &&
			  !(live[i][0] | live[i][1] | live[i][2] | live[i][3]);
		if (is_branch(insn) && DIF_INSN_LABEL(insn) != test->is_false)
			target = MAX(target, DIF_INSN_LABEL(insn));
		if (DIF_INSN_OP(insn) == DIF_OP_PUSHTV)
			depth++;
		else if (DIF_INSN_OP(insn) == DIF_OP_CALL)
			depth = 0;
	}
	return cuts;
}

/* ---- variables ------------------------------------------------------------------------------ */

/* Marks the integers that the instructions [from, to) use. */
static void vars_mark(const struct layout *l, const struct difo *d, uint32_t from, uint32_t to,
		      bool *marks)
{
	for (uint32_t i = from; i < to; i++) {
		const struct var_layout *vl = local_integer(l, d->code[i]);

		if (vl)
			marks[vl - l->vars] = true;
	}
}

/* Whether the instructions from `from` on write a marked variable. */
static bool difo_writes(const struct layout *l, const struct difo *d, uint32_t from,
			const bool *marks)
{
	for (uint32_t i = from; i < d->code_len; i++) {
		const struct var_layout *vl = local_integer(l, d->code[i]);

		if (vl && DIF_INSN_OP(d->code[i]) == DIF_OP_STLS && marks[vl - l->vars])
			return true;
	}
	return false;
}

static bool clause_writes(const struct layout *l, const struct prog_clause *c, uint32_t from,
			  const bool *marks)
{
	struct clause_difo at = {0};

	while (clause_each_difo(c, &at))
		if (difo_writes(l, at.difo, at.act ? 0 : from, marks))
			return true;
	return false;
}

/* Whether the clause, behind instruction `from` of its predicate, may change what is before. */
static bool clause_disturbs(struct gen *g, const struct prog_clause *c, uint32_t from, bool *marks)
{
	memset(marks, 0, g->l->nvars * sizeof(*marks));
	vars_mark(g->l, c->pred, 0, from, marks);
	if (clause_writes(g->l, c, from, marks))
		return true;
	for (uint32_t i = 0; i < g->u->nerror_clauses; i++)
		if (clause_writes(g->l, g->u->error_clauses[i].layout->clause, 0, marks))
			return true;
	return false;
}

/* ---- neighbours ----------------------------------------------------------------------------- */

/* The predicate of a clause, and how many of its first instructions neighbours may share. */
struct guard {
	const struct difo *d; /* NULL: it shares nothing */
	struct difo_test test;
	uint32_t len; /* instructions that can be shared */
	bool *cuts;   /* NULL: not found yet */
};

static struct guard guard_of(const struct gen *g, const struct unit_clause *uc)
{
	struct guard a = {.d = uc->layout->clause->pred};

	if (!a.d || !a.d->trusted_len || !uc->as || uc->tgid || !difo_test_find(a.d, &a.test))
		a.d = NULL;
	else
		a.len = shareable_len(g->l, a.d, &a.test);
	return a;
}

static bool is_cut(struct arena *tmp, struct guard *a, uint32_t n)
{
	if (!a->cuts)
		a->cuts = cuts_find(tmp, a->d, &a->test, a->len);
	return a->cuts[n];
}

/* How many instructions of b's predicate clause a, which is before it, can have executed. */
static uint32_t shared_len(struct gen *g, const struct unit_clause *ua, struct guard *a,
			   struct guard *b, bool *marks)
{
	uint32_t most = a->d && b->d ? MIN(a->len, b->len) : 0, n = 0;

	while (n < most && is_same_insn(a->d, &a->test, b->d, &b->test, n))
		n++;
	while (n && (!is_cut(g->tmp, a, n) || !is_cut(g->tmp, b, n) ||
		     clause_disturbs(g, ua->layout->clause, n, marks)))
		n--;
	return n;
}

void guards_find(struct gen *g)
{
	uint32_t n = g->u->nclauses;
	struct guard before = {0};
	bool *marks;

	g->shared = xcalloc(n + 1, sizeof(*g->shared));
	if (!g->has_fixed_order || g->is_large)
		return;
	marks = xcalloc(g->l->nvars + 1, sizeof(*marks));
	arena_reset(g->tmp);
	for (uint32_t i = 0; i < n; i++) {
		struct guard a = guard_of(g, &g->u->clauses[i]);

		if (i)
			g->shared[i] = shared_len(g, &g->u->clauses[i - 1], &before, &a, marks);
		before = a;
	}
	free(marks);
}

uint32_t guards_reach(const struct gen *g, uint32_t from, uint32_t to)
{
	uint32_t end = from + 1;

	while (end < to && g->shared[end])
		end++;
	return end;
}

struct guards *guards_create(struct gen *g, const struct unit_clause *ucs, uint32_t from,
			     uint32_t to)
{
	struct guards *gs;

	if (ucs != g->u->clauses)
		return NULL;
	gs = xcalloc(1, sizeof(*gs));
	*gs = (struct guards){.from = from, .to = to, .ucs = ucs, .shared = g->shared};
	gs->kept = xcalloc(g->l->nvars + 1, sizeof(*gs->kept));
	gs->fresh = xcalloc(g->l->nvars + 1, sizeof(*gs->fresh));
	return gs;
}

/* ---- code ----------------------------------------------------------------------------------- */

uint32_t guards_decided(const struct guards *gs)
{
	return gs && gs->open.len ? vec_last(&gs->open)->end : 0;
}

const bool *guards_kept(const struct guards *gs)
{
	return gs && gs->open.len ? gs->kept : NULL;
}

static void levels_close(struct gen *g, struct guards *gs, uint32_t len)
{
	while (gs->open.len && vec_last(&gs->open)->end > len) {
		em_here(&g->e, vec_last(&gs->open)->fail);
		gs->open.len--;
	}
}

bool guards_close(struct gen *g, struct guards *gs, uint32_t i)
{
	uint32_t before = gs ? gs->open.len : 0;

	if (gs && i == gs->from) /* the clause before is in another function */
		return i && gs->shared[i - 1];
	if (!before)
		return false;
	levels_close(g, gs, gs->shared[i]);
	memset(gs->kept, 0, g->l->nvars * sizeof(*gs->kept));
	vars_mark(g->l, gs->ucs[i].layout->clause->pred, 0, guards_decided(gs), gs->kept);
	return gs->open.len < before;
}

/* The longest part of clause i's predicate, longer than len, that later clauses do not cut. */
static uint32_t level_end(const struct guards *gs, uint32_t i, uint32_t len)
{
	uint32_t end = UINT32_MAX;

	for (uint32_t k = i + 1; k < gs->to && gs->shared[k] > len; k++)
		end = MIN(end, gs->shared[k]);
	return end == UINT32_MAX ? len : end;
}

void guards_open(struct gen *g, struct guards *gs, uint32_t i)
{
	const struct difo *d = gs ? gs->ucs[i].layout->clause->pred : NULL;
	uint32_t from = guards_decided(gs), to = gs && i + 1 < gs->to ? gs->shared[i + 1] : 0;
	struct difo_test test;

	if (to <= from || !difo_test_find(d, &test))
		return;
	memset(gs->fresh, 0, g->l->nvars * sizeof(*gs->fresh));
	vars_mark(g->l, d, from, to, gs->fresh);
	for (uint32_t k = 0; k < g->l->nvars; k++) {
		gs->fresh[k] &= !gs->kept[k];
		gs->kept[k] |= gs->fresh[k];
	}
	if (i)
		gen_this_reset(g, gs->fresh, NULL);
	for (uint32_t end; from < to; from = end) {
		uint32_t fail = em_label(&g->e);

		end = level_end(gs, i, from);
		(void)gen_difo_part(g, d, 0, &test, from, end, fail);
		vec_push(&gs->open, (struct guard_level){end, fail});
	}
}

void guards_destroy(struct gen *g, struct guards *gs)
{
	if (!gs)
		return;
	levels_close(g, gs, 0);
	vec_deinit(&gs->open);
	free(gs->kept);
	free(gs->fresh);
	free(gs);
}
