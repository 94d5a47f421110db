/* SPDX-License-Identifier: MIT */
/*
 * Filters that are false whenever sample(), sampled() and followed() are: "/sample(arg0, 1000)/",
 * "/arg0 && followed(arg0)/". What makes these true is told by a word or a byte of the data part,
 * at which a stub can look with two or three registers, so that only a firing which may be one of
 * the sample is worth the call of the filter's function.
 *
 * Each predicate is followed on all of its ways, with 0 as the result of such calls. It may be left
 * to tests if all ways end with 0, and if all of them have counted the same bytes, or none.
 */
#include "native/quick.h"

#include "native/builtin.h"

#define STEPS_MAX 64u /* instructions that are followed, on all ways together */

/* What is known of a register of the predicate. */
struct value {
	enum { VALUE_ANY, VALUE_CONST, VALUE_ARG, VALUE_PRODUCT } kind;
	uint8_t a, b; /* numbers of arguments; of a product both */
	uint64_t n;
};

/* The state of one way. */
struct way {
	struct value regs[DIF_MAX_REGS + 1], tuple[2], compared;
	uint32_t depth;
	bool has_counted; /* sample() was called */
};

struct quick {
	const struct ngen *g;
	const struct difo *d;
	const struct group *grp;
	uint32_t nsteps;
	bool is_odd;		    /* it is more than tests can tell */
	bool has_ended, has_counts; /* some way has; and whether it has called sample() */
	struct native_test *tests;
	uint32_t ntests;
};

static const struct value zero = {.kind = VALUE_CONST};

/* Registers that stubs use for tests cannot be tested: arguments 2 and 3 are in such. */
static bool arg_is_usable(uint32_t arg)
{
	return arg < NATIVE_NARGS && arg != 2 && arg != 3;
}

static void test_add(struct quick *q, struct native_test t)
{
	for (uint32_t i = 0; i < q->ntests; i++)
		if (q->tests[i].kind == t.kind && q->tests[i].arg == t.arg &&
		    q->tests[i].times == t.times)
			return;
	if (q->ntests == NATIVE_TESTS_MAX) {
		q->is_odd = true;
		return;
	}
	q->tests[q->ntests++] = t;
}

/* sample(): the mean must be the same wherever one is named, because the test does not look. */
static void sample_follow(struct quick *q, struct way *w)
{
	const struct value *bytes = &w->tuple[0];
	bool is_product = bytes->kind == VALUE_PRODUCT;

	if (w->has_counted || (bytes->kind != VALUE_ARG && !is_product) ||
	    !arg_is_usable(bytes->a) || (is_product && !arg_is_usable(bytes->b))) {
		q->is_odd = true;
		return;
	}
	w->has_counted = true;
	test_add(q, (struct native_test){.kind = NATIVE_TEST_BYTES,
					 .arg = bytes->a,
					 .times = is_product ? (uint8_t)(bytes->b + 1) : 0});
}

static void call_follow(struct quick *q, struct way *w, uint32_t subr)
{
	const struct value *addr = &w->tuple[0];

	if (w->depth != (subr == DIF_SUBR_SAMPLE ? 2u : 1u))
		q->is_odd = true;
	else if (subr == DIF_SUBR_SAMPLE)
		sample_follow(q, w);
	else if (subr == DIF_SUBR_SAMPLED)
		test_add(q, (struct native_test){.kind = NATIVE_TEST_CALL});
	else if (subr == DIF_SUBR_FOLLOWED && addr->kind == VALUE_ARG && arg_is_usable(addr->a))
		test_add(q, (struct native_test){.kind = NATIVE_TEST_PAGE, .arg = addr->a});
	else
		q->is_odd = true;
	w->depth = 0;
}

static struct value builtin_value(const struct quick *q, uint32_t id)
{
	if (q->grp->spot == SPOT_ENTRY && id >= DIF_VAR_ARG0 && id < DIF_VAR_ARG0 + NATIVE_NARGS)
		return (struct value){.kind = VALUE_ARG, .a = (uint8_t)(id - DIF_VAR_ARG0)};
	return (struct value){0};
}

static struct value product_make(const struct value *a, const struct value *b)
{
	if (a->kind != VALUE_ARG || b->kind != VALUE_ARG)
		return (struct value){0};
	return (struct value){.kind = VALUE_PRODUCT, .a = a->a, .b = b->a};
}

/* Follows an instruction that does not jump. */
static void insn_follow(struct quick *q, struct way *w, dif_insn insn)
{
	struct value v = {0};

	switch ((int)DIF_INSN_OP(insn)) {
	case DIF_OP_TST: w->compared = w->regs[DIF_INSN_R1(insn)]; return;
	case DIF_OP_CMP:
	case DIF_OP_SCMP: w->compared = v; return;
	case DIF_OP_PUSHTR: q->is_odd = true; return;
	case DIF_OP_PUSHTV:
		if (w->depth == ARRAY_LEN(w->tuple))
			q->is_odd = true;
		else
			w->tuple[w->depth++] = w->regs[DIF_INSN_RS(insn)];
		return;
	case DIF_OP_POPTS: q->is_odd = true; return;
	case DIF_OP_FLUSHTS: w->depth = 0; return;
	case DIF_OP_SETX:
		v = (struct value){.kind = VALUE_CONST, .n = q->d->ints[DIF_INSN_INDEX(insn)]};
		break;
	case DIF_OP_MOV: v = w->regs[DIF_INSN_R1(insn)]; break;
	case DIF_OP_LDGS: v = builtin_value(q, DIF_INSN_INDEX(insn)); break;
	case DIF_OP_MUL:
		v = product_make(&w->regs[DIF_INSN_R1(insn)], &w->regs[DIF_INSN_R2(insn)]);
		break;
	case DIF_OP_CALL:
		if (ngen_subr_samples(DIF_INSN_INDEX(insn))) {
			call_follow(q, w, DIF_INSN_INDEX(insn));
			v = zero;
		}
		w->depth = 0;
		break;
	default: break;
	}
	if (dif_insn_uses(insn).writes)
		w->regs[dif_insn_uses(insn).writes] = v;
}

static void way_end(struct quick *q, const struct way *w, const struct value *result)
{
	if (result->kind != VALUE_CONST || result->n ||
	    (q->has_ended && q->has_counts != w->has_counted))
		q->is_odd = true;
	q->has_ended = true;
	q->has_counts = w->has_counted;
}

/* Follows a way from instruction i on; at a branch of which nothing is known, both ways. */
static void way_follow(struct quick *q, struct way *w, uint32_t i)
{
	while (!q->is_odd) {
		dif_insn insn = i < q->d->code_len ? q->d->code[i] : 0;
		enum dif_op op = DIF_INSN_OP(insn);

		if (i >= q->d->code_len || ++q->nsteps > STEPS_MAX) {
			q->is_odd = true;
		} else if (op == DIF_OP_RET) {
			way_end(q, w, &w->regs[DIF_INSN_RD(insn)]);
			return;
		} else if (op == DIF_OP_BA) {
			i = DIF_INSN_LABEL(insn);
			continue;
		} else if (!dif_op_is_cond(op)) {
			insn_follow(q, w, insn);
		} else if (w->compared.kind == VALUE_CONST &&
			   (op == DIF_OP_BE || op == DIF_OP_BNE)) {
			if ((w->compared.n == 0) == (op == DIF_OP_BE)) {
				i = DIF_INSN_LABEL(insn);
				continue;
			}
		} else {
			struct way other = *w;

			way_follow(q, &other, DIF_INSN_LABEL(insn));
		}
		i++;
	}
}

/* Whether all calls of sample() in the session name the same mean: all share the bytes left. */
static bool mean_is_one(const struct layout *l)
{
	uint64_t mean = 0;

	for (uint32_t i = 0; i < l->nclauses; i++) {
		const struct difo *d = l->clauses[i].clause->pred;

		for (uint32_t k = 0; d && k < d->code_len; k++) {
			dif_insn before = k >= 3 ? d->code[k - 3] : 0;
			dif_insn push = k >= 1 ? d->code[k - 1] : 0;
			uint64_t n;

			if (DIF_INSN_OP(d->code[k]) != DIF_OP_CALL ||
			    DIF_INSN_INDEX(d->code[k]) != DIF_SUBR_SAMPLE)
				continue;
			if (DIF_INSN_OP(before) != DIF_OP_SETX ||
			    DIF_INSN_OP(push) != DIF_OP_PUSHTV ||
			    DIF_INSN_RS(push) != DIF_INSN_RD(before))
				return false;
			n = d->ints[DIF_INSN_INDEX(before)];
			if (!n || (mean && n != mean))
				return false;
			mean = n;
		}
	}
	return mean != 0;
}

static uint32_t bytes_count(const struct native_test *tests, uint32_t n)
{
	uint32_t nbytes = 0;

	for (uint32_t i = 0; i < n; i++)
		nbytes += tests[i].kind == NATIVE_TEST_BYTES;
	return nbytes;
}

/* Bytes are counted last: only when no other test has the function called, which counts, too. */
static void tests_sort(struct native_test *tests, uint32_t n)
{
	for (uint32_t i = 0; i + 1 < n; i++)
		if (tests[i].kind == NATIVE_TEST_BYTES) {
			struct native_test t = tests[i];

			tests[i] = tests[n - 1];
			tests[n - 1] = t;
		}
}

uint32_t quick_find(const struct ngen *g, const struct group *grp, struct native_test *ret)
{
	uint32_t n = 0, ncounts = 0;

	if (!g->t->is_filter || !g->t->is_sampled || g->t->checks_fs)
		return 0;
	for (uint32_t i = 0; i < grp->nclauses; i++) {
		struct quick q = {.g = g,
				  .d = grp->clauses[i]->layout->clause->pred,
				  .grp = grp,
				  .tests = ret,
				  .ntests = n};
		struct way w = {.regs[0] = {.kind = VALUE_CONST}};

		if (q.d)
			way_follow(&q, &w, 0);
		if (!q.d || q.is_odd)
			return 0;
		ncounts += q.has_counts;
		n = q.ntests;
	}
	/* the slots of CPUs are those of the function only if both have their numbers */
	if (ncounts > 1 || bytes_count(ret, n) != ncounts ||
	    (ncounts && (!g->t->has_rseq || !mean_is_one(g->l))))
		return 0;
	tests_sort(ret, n);
	return n;
}
