/* SPDX-License-Identifier: MIT */
/* Aggregations: '@name[keys] = function(arguments)' and references from actions. */
#include "d/check/check_impl.h"

/* ---- constant parameters of histograms (d-language.md 5.5) ------------------------------ */

/* Reads an argument that must be an integer constant from min to max; false after reporting. */
static bool const_param(struct check *c, const char *func, const char *what, struct expr *call,
			uint32_t i, enum dtag not_int, enum dtag out_of_range, int64_t min,
			int64_t max, int64_t *ret)
{
	struct expr *e = call->call.args[i] = check_expr(c, call->call.args[i]);

	if (expr_is_bad(e))
		return false;
	if (!expr_is_const(c, e)) {
		check_error(c, not_int, e->span,
			    "%s( ) argument #%u (%s) must be an integer constant", func, i + 1,
			    what);
		return false;
	}
	*ret = (int64_t)e->ival.val;
	if (*ret >= min && *ret <= max)
		return true;
	if (min == INT64_MIN)
		check_error(c, out_of_range, e->span,
			    "%s( ) argument #%u (%s) must be at most %lld", func, i + 1, what,
			    (long long)max);
	else
		check_error(c, out_of_range, e->span,
			    "%s( ) argument #%u (%s) must be from %lld to %lld", func, i + 1, what,
			    (long long)min, (long long)max);
	return false;
}

#define LQUANT_MAX 65535 /* step and number of levels */

static bool lquantize_params(struct check *c, struct expr *call, int64_t *p)
{
	int64_t base, limit, step = 1, levels;

	if (!const_param(c, "lquantize", "base", call, 1, D_LQUANT_BASETYPE, D_LQUANT_BASEVAL,
			 INT32_MIN, INT32_MAX, &base) ||
	    !const_param(c, "lquantize", "limit", call, 2, D_LQUANT_LIMTYPE, D_LQUANT_LIMVAL,
			 INT32_MIN, INT32_MAX, &limit))
		return false;
	if (limit <= base) {
		check_error(c, D_LQUANT_MISMATCH, call->span,
			    "lquantize( ) base (%lld) must be less than its limit (%lld)",
			    (long long)base, (long long)limit);
		return false;
	}
	if (call->call.nargs > 3 && !const_param(c, "lquantize", "step", call, 3, D_LQUANT_STEPTYPE,
						 D_LQUANT_STEPVAL, INT64_MIN, LQUANT_MAX, &step))
		return false;
	if (step <= 0) {
		check_error(c, D_LQUANT_STEPTYPE, call->call.args[3]->span,
			    "lquantize( ) argument #4 (step) must be a positive integer constant");
		return false;
	}
	levels = (limit - base) / step;
	if (levels == 0) {
		check_error(c, D_LQUANT_STEPLARGE, call->span,
			    "lquantize( ) step (%lld) is larger than the range from base to limit",
			    (long long)step);
		return false;
	}
	if (levels > LQUANT_MAX) {
		check_error(c, D_LQUANT_STEPSMALL, call->span,
			    "lquantize( ) step (%lld) is too small: %lld levels, at most %d",
			    (long long)step, (long long)levels, LQUANT_MAX);
		return false;
	}
	p[0] = base;
	p[1] = levels;
	p[2] = step;
	return true;
}

#define LLQUANT_MAX 65535 /* of each parameter: the classic encoding has 16 bits for each */

/* factor ^ n; 0 when the result has more than 63 bits. */
static uint64_t int_power(uint64_t factor, int64_t n)
{
	uint64_t v = 1;

	for (; n > 0; n--) {
		if (v > (uint64_t)INT64_MAX / factor)
			return 0;
		v *= factor;
	}
	return v;
}

/*
 * The buckets of an order of magnitude are of equal width, so `steps` divides the factor or is a
 * multiple of it. The bounds of buckets are integers: `steps` must divide the first power of the
 * factor that is not below it, unless that power lies within the lowest order; then smaller powers
 * have buckets of width one, and larger ones are multiples of that power.
 */
static bool check_llquantize_steps(struct check *c, struct span at, const int64_t *p)
{
	int64_t factor = p[0], steps = p[3];
	uint64_t divided = int_power((uint64_t)factor, p[1] + 1);

	if (steps < factor && factor % steps != 0) {
		check_error(c, D_LLQUANT_FACTORNSTEPS, at,
			    "llquantize( ) steps (%lld) must divide the factor (%lld) or be a "
			    "multiple of it",
			    (long long)steps, (long long)factor);
		return false;
	}
	while (divided < (uint64_t)steps)
		divided *= (uint64_t)factor;
	if (steps > factor && (steps % factor != 0 || divided % (uint64_t)steps != 0)) {
		check_error(c, D_LLQUANT_FACTOREVEN, at,
			    "llquantize( ) steps (%lld) must be a multiple of the factor (%lld) "
			    "and divide %llu",
			    (long long)steps, (long long)factor, (unsigned long long)divided);
		return false;
	}
	return true;
}

static bool llquantize_params(struct check *c, struct expr *call, int64_t *p)
{
	static const char func[] = "llquantize";

	if (!const_param(c, func, "factor", call, 1, D_LLQUANT_FACTORTYPE, D_LLQUANT_FACTORVAL, 0,
			 LLQUANT_MAX, &p[0]) ||
	    !const_param(c, func, "low magnitude", call, 2, D_LLQUANT_LOWTYPE, D_LLQUANT_LOWVAL, 0,
			 LLQUANT_MAX, &p[1]) ||
	    !const_param(c, func, "high magnitude", call, 3, D_LLQUANT_HIGHTYPE, D_LLQUANT_HIGHVAL,
			 0, LLQUANT_MAX, &p[2]) ||
	    !const_param(c, func, "steps", call, 4, D_LLQUANT_NSTEPTYPE, D_LLQUANT_NSTEPVAL, 1,
			 LLQUANT_MAX, &p[3]))
		return false;
	if (p[2] < p[1]) {
		check_error(c, D_LLQUANT_MAGRANGE, call->span,
			    "llquantize( ) high magnitude (%lld) must not be less than the low one "
			    "(%lld)",
			    (long long)p[2], (long long)p[1]);
		return false;
	}
	if (p[0] < 2) {
		check_error(c, D_LLQUANT_FACTORSMALL, call->span,
			    "llquantize( ) factor (%lld) must be two or more", (long long)p[0]);
		return false;
	}
	if (int_power((uint64_t)p[0], p[2] + 1) == 0) {
		check_error(c, D_LLQUANT_MAGTOOBIG, call->span,
			    "llquantize( ) %lld to the power of %lld does not fit 63 bits",
			    (long long)p[0], (long long)p[2] + 1);
		return false;
	}
	return check_llquantize_steps(c, call->span, p);
}

static bool no_params(struct check *c, struct expr *call, int64_t *p)
{
	return true;
}

/* What messages call a parameter that differs from the one of an earlier use of the aggregation. */
struct param_match {
	enum dtag tag;
	const char *what;
};

static const struct param_match no_match[4];
/* clang-format off */
static const struct param_match lquantize_match[4] = {
	{D_LQUANT_MATCHBASE, "base"}, {D_LQUANT_MATCHLIM, "limit"}, {D_LQUANT_MATCHSTEP, "step"}};
static const struct param_match llquantize_match[4] = {{D_LLQUANT_FACTORMATCH, "factor"},
						       {D_LLQUANT_LOWMATCH, "low magnitude"},
						       {D_LLQUANT_HIGHMATCH, "high magnitude"},
						       {D_LLQUANT_NSTEPMATCH, "steps"}};

/* How each aggregating function treats the arguments behind the value. */
static const struct param_rule {
	bool (*read)(struct check *c, struct expr *call, int64_t *params);
	const struct param_match *match; /* [4] */
	uint32_t increment;		 /* number of the argument that is the increment; 0 = none */
} param_rules[] = {
/* clang-format on */
/* clang-format off */
#define AGGFUNC(id, name, proto, words, update, bucket, params, increment, ...) \
	[AGGFUNC_##id] = {params##_params, params##_match, increment},
#include "dif/aggfuncs.def"
	/* clang-format on */
};

/* Parameters are compared in this order: a changed step also changes the number of levels. */
static bool check_params_match(struct check *c, const struct prog_agg *agg, struct span at,
			       const int64_t *params)
{
	static const uint8_t order[] = {0, 2, 1, 3};
	const struct param_rule *rule = &param_rules[agg->func];

	for (uint32_t i = 0; i < ARRAY_LEN(order); i++) {
		uint8_t n = order[i];

		if (agg->param[n] == params[n])
			continue;
		check_error(c, rule->match[n].tag, at, "%s( ) %s is not that of the previous @%s",
			    aggfunc_name(agg->func), rule->match[n].what, agg->name);
		return false;
	}
	return true;
}

/* ---- keys ------------------------------------------------------------------------------- */

/* Checks the keys; returns how the consumer shows each. NULL after reporting. */
static enum datum_kind *check_agg_keys(struct check *c, const char *what, struct expr *l)
{
	enum datum_kind *kinds = ARENA_NEW_N(c->session->arena, enum datum_kind, l->agg.nkeys + 1);
	bool *is_call = ARENA_NEW_N(c->arena, bool, l->agg.nkeys + 1);

	for (uint32_t i = 0; i < l->agg.nkeys; i++) {
		struct expr *key = check_key_call(c, l->agg.keys[i], &kinds[i]);

		is_call[i] = key != NULL;
		if (key)
			l->agg.keys[i] = key;
	}
	if (!check_keys(c, what, l->agg.keys, l->agg.nkeys))
		return NULL;
	for (uint32_t i = 0; i < l->agg.nkeys; i++)
		if (!is_call[i])
			kinds[i] = datum_kind_of(c, l->agg.keys[i]->type);
	return kinds;
}

static bool is_stack_kind(enum datum_kind kind)
{
	return kind == DATUM_STACK || kind == DATUM_USTACK || kind == DATUM_STACKID;
}

bool key_kinds_match(enum datum_kind a, enum datum_kind b)
{
	return a == b || (is_stack_kind(a) && is_stack_kind(b));
}

static bool check_kinds(struct check *c, const struct prog_agg *agg, const enum datum_kind *kinds,
			const struct expr *l)
{
	for (uint32_t i = 0; i < agg->nkeys; i++) {
		bool plain = kinds[i] < DATUM_STACK && agg->key_kinds[i] < DATUM_STACK;

		if (plain || key_kinds_match(kinds[i], agg->key_kinds[i]))
			continue;
		check_error(c, D_PROTO_ARG, l->agg.keys[i]->span,
			    "@%s[ ] key #%u is incompatible with prototype: it was a different "
			    "kind of key",
			    agg->name, i + 1);
		return false;
	}
	return true;
}

/* ---- the aggregation -------------------------------------------------------------------- */

static struct ident *agg_create(struct check *c, const struct expr *l, enum aggfunc func,
				const int64_t *params, enum datum_kind *kinds)
{
	struct dsession *s = c->session;
	struct ident *id = ident_create(c, IDENT_AGG, l->agg.name, l->span, TYPE_DYNAMIC);
	struct prog_agg *agg = ARENA_NEW(s->arena, struct prog_agg);
	uint32_t n = l->agg.nkeys;

	id->agg = agg;
	agg->name = id->name;
	agg->id = s->aggs.len + 1;
	agg->func = func;
	memcpy(agg->param, params, sizeof(agg->param));
	agg->nkeys = n;
	agg->key_kinds = kinds;
	agg->key_types = ARENA_NEW_N(s->arena, struct dif_type, n + 1);
	for (uint32_t i = 0; i < n; i++)
		agg->key_types[i] = dif_type_of(c->types, l->agg.keys[i]->type);
	vec_push(&s->aggs, agg);
	s->aggs_view = (struct prog_aggs){s->aggs.data, s->aggs.len};
	session_bind(s, s->agg_idents, id->name, id);
	return id;
}

static bool check_same_func(struct check *c, const struct ident *id, const struct expr *e,
			    enum aggfunc func)
{
	struct source_loc loc;

	if (id->agg->func == func)
		return true;
	loc = source_locate(c->session->sources, id->span.off);
	check_error(c, D_AGG_REDEF, e->span,
		    "aggregation redefined: @%s\n\t current: @%s = %s( )\n\tprevious: @%s = %s( ) "
		    ": line %u",
		    id->name, id->name, aggfunc_name(func), id->name, aggfunc_name(id->agg->func),
		    loc.line);
	return false;
}

/* ---- the function ----------------------------------------------------------------------- */

static void nameless_call_note(struct expr **child, void *arg)
{
	struct expr **found = arg, *e = *child;

	if (e->kind == EXPR_CALL && e->call.fn->kind != EXPR_IDENT)
		*found = e;
	else if (!*found)
		expr_each_child(e, nameless_call_note, found);
}

/* A call whose function is not a name: @ = tick-1() reads as tick - (1()). NULL: there is none. */
static struct expr *nameless_call_find(struct expr *e)
{
	struct expr *found = NULL;

	nameless_call_note(&e, &found);
	return found;
}

/* The aggregating function on the right side; NULL after reporting. */
static const struct subr *agg_func_of(struct check *c, const char *name, struct expr *r)
{
	const struct subr *subr = call_subr(c, r);

	if (subr && subr->class == SUBR_AGGFUNC)
		return subr;
	if (r->kind == EXPR_CALL && !subr) {
		(void)check_call(c, r); /* reports the unknown function */
		return NULL;
	}
	if (nameless_call_find(r))
		(void)check_call(c, nameless_call_find(r));
	else if (r->kind != EXPR_BAD) {
		const struct subr *bare = r->kind == EXPR_IDENT ? subr_find(r->ident.name) : NULL;

		check_error(c, D_AGG_FUNC, r->span,
			    "%s must be assigned the result of an aggregating function", name);
		if (bare && bare->class == SUBR_AGGFUNC)
			diag_hint(c->diags, "a call has parentheses: %s", call_simplest(c, bare));
	}
	return NULL;
}

/* The n-th argument as a 64-bit integer; NULL after reporting. */
static struct expr *agg_value(struct check *c, const struct subr *subr, struct expr *call,
			      uint32_t n)
{
	enum dtag tag = n ? D_PROTO_ARG : D_AGG_SCALAR;
	struct expr *e = call->call.args[n] = check_expr_or(c, call->call.args[n], tag);

	if (expr_is_bad(e))
		return NULL;
	if (!type_is_scalar(c->types, e->type)) {
		check_error(c, tag, e->span,
			    "%s( ) argument #%u%s must be of scalar type, not \"%s\"", subr->name,
			    n + 1,
			    !n				 ? ""
			    : subr->code == AGGFUNC_LIVE ? " (bytes)"
							 : " (increment)",
			    type_text(c, e->type));
		return NULL;
	}
	return check_convert(c, &e, TYPE_INT64) ? e : expr_cast(c, e, TYPE_INT64);
}

/* Adds the value, and the increment of functions that have one, as arguments of the action. */
static bool agg_values_add(struct check *c, const struct subr *subr, struct expr *call,
			   struct prog_act *act)
{
	const struct param_rule *rule = &param_rules[subr->code];
	struct expr *e;

	if (call->call.nargs == 0)
		return true; /* count() */
	e = agg_value(c, subr, call, 0);
	if (!e)
		return false;
	act_arg(c, act, e, DATUM_INT);
	if (!rule->increment || call->call.nargs <= rule->increment)
		return true;
	e = agg_value(c, subr, call, rule->increment);
	if (e)
		act_arg(c, act, e, DATUM_INT);
	return e != NULL;
}

static bool agg_bind(struct check *c, struct expr *e, const struct subr *subr,
		     const int64_t *params, struct prog_act *act)
{
	struct expr *l = e->binary.l;
	struct ident *id = hashmap_finds(c->session->agg_idents, l->agg.name);
	const char *what = arena_printf(c->arena, "@%s[ ]", l->agg.name);
	enum datum_kind *kinds;

	if (id && id->type != TYPE_ERROR && !check_same_func(c, id, e, (enum aggfunc)subr->code))
		return false;
	kinds = check_agg_keys(c, what, l);
	if (id && id->type == TYPE_ERROR)
		return false; /* poison: the clause that defines the aggregation has failed */
	if (!kinds || (id && !check_params_match(c, id->agg, e->span, params)))
		return false;
	if (!id) {
		wide_agg_keys(c, l->agg.name, l->agg.keys, l->agg.nkeys);
		id = agg_create(c, l, (enum aggfunc)subr->code, params, kinds);
	}
	if (!check_signature(c, id, what, l->span, l->agg.keys, l->agg.nkeys) ||
	    !check_kinds(c, id->agg, kinds, l))
		return false;
	act->kind = ACT_AGG;
	act->agg = id->agg;
	for (uint32_t i = 0; i < l->agg.nkeys; i++)
		act_arg(c, act, l->agg.keys[i],
			is_stack_kind(kinds[i]) ? kinds[i] : id->agg->key_kinds[i]);
	return true;
}

bool check_agg_assign(struct check *c, struct expr *e, struct prog_act *act)
{
	struct expr *l = e->binary.l, *call = e->binary.r;
	int64_t params[4] = {0};
	const struct param_rule *rule;
	const struct subr *subr;

	if (l->kind == EXPR_INDEX) {
		(void)check_index(c, l); /* reports the second list of keys */
		return false;
	}
	if (e->binary.op != OP_NONE) {
		check_error(c, D_AGG_FUNC, e->span, "@%s can only be assigned with =", l->agg.name);
		if (e->binary.op == OP_ADD)
			diag_hint(c->diags, "@name = sum(value) adds a value");
		return false;
	}
	subr = agg_func_of(c, arena_printf(c->arena, "@%s", l->agg.name), call);
	if (!subr || !check_arg_count(c, subr, call))
		return false;
	rule = &param_rules[subr->code];
	if (!rule->read(c, call, params))
		return false;
	return agg_bind(c, e, subr, params, act) && agg_values_add(c, subr, call, act) &&
	       subr_use(c, subr, call->span);
}

bool act_check_dead(struct check *c, struct expr *call, struct prog_act *act)
{
	const struct subr *subr = call_subr(c, call);
	struct expr *e;

	if (!check_arg_count(c, subr, call))
		return false;
	for (uint32_t i = 0; i < call->call.nargs; i++) {
		e = agg_value(c, subr, call, i);
		if (!e)
			return false;
		act_arg(c, act, e, DATUM_INT);
	}
	return true;
}

/* ---- references ------------------------------------------------------------------------- */

static void hint_agg(struct check *c, const char *name)
{
	struct hashmap *m = c->session->agg_idents;
	const char **names = ARENA_NEW_N(c->arena, const char *, hashmap_count(m) + 1), *nearest;
	uint32_t n = 0;
	size_t pos = 0;
	struct ident *id;

	while ((id = hashmap_next(m, &pos, NULL, NULL)))
		if (id->type != TYPE_ERROR)
			names[n++] = id->name;
	nearest = diag_nearest(name, names, n);
	if (nearest)
		diag_hint(c->diags, "did you mean '@%s'?", nearest);
}

struct ident *check_agg_arg(struct check *c, const char *func, uint32_t argno, struct expr *e,
			    enum dtag not_agg, enum dtag undefined)
{
	struct ident *id;

	if (e->kind != EXPR_AGG) {
		if (e->kind != EXPR_BAD)
			check_error(c, not_agg, e->span,
				    "%s( ) argument #%u must be an aggregation", func, argno);
		return NULL;
	}
	if (e->agg.has_keys) {
		check_error(c, not_agg, e->span,
			    "%s( ) argument #%u must be a whole aggregation: @%s without keys",
			    func, argno, e->agg.name);
		return NULL;
	}
	id = hashmap_finds(c->session->agg_idents, e->agg.name);
	if (id)
		return id->type == TYPE_ERROR ? NULL : id;
	check_error(c, undefined, e->span, "undefined aggregation: @%s", e->agg.name);
	hint_agg(c, e->agg.name);
	agg_poison(c, e->agg.name, e->span);
	return NULL;
}
