/* SPDX-License-Identifier: MIT */
/* Actions with format strings: printf(), printa(), system(), freopen(). */
#include "d/check/check_impl.h"
#include "base/text.h"
#include "d/check/fmt.h"

/* ---- formats and their arguments -------------------------------------------------------- */

/* Parses the format, which must be a string literal; NULL after reporting. */
static struct prog_fmt *format_arg(struct check *c, const char *func, struct expr *e, bool empty_ok)
{
	if (e->kind != EXPR_STR) {
		e = check_expr(c, e);
		if (!expr_is_bad(e))
			check_error(c, D_PRINTF_ARG_FMT, e->span,
				    "%s( ) argument #1 is incompatible with prototype:\n"
				    "\tprototype: string constant\n\t argument: %s",
				    func, type_text(c, e->type));
		return NULL;
	}
	if (!e->str.len && !empty_ok) {
		check_error(c, D_PRINTF_FMT_EMPTY, e->span, "%s( ) format string is empty", func);
		return NULL;
	}
	return fmt_parse(c, e->str.p, e->str.len, e->span);
}

/* The arguments of a call, while the conversions of its format consume them one by one. */
struct fmt_args {
	const char *func;
	struct prog_act *act;
	struct expr **args; /* after the format */
	uint32_t nargs, next;
	uint32_t conv;	/* number of the conversion, from 1 */
	uint32_t index; /* of the conversion in the format, which counts literals, too */
	struct span at;
	const struct expr *call;
};

static bool arg_take_dynamic(struct check *c, struct fmt_args *f, const char *what)
{
	struct expr *e;

	if (f->next == f->nargs) {
		check_error(
			c, D_PRINTF_DYN_PROTO, f->at,
			"%s( ) prototype mismatch: conversion #%u is missing its \"%s\" argument",
			f->func, f->conv, what);
		return false;
	}
	e = check_expr(c, f->args[f->next++]);
	if (expr_is_bad(e))
		return false;
	if (!type_is_integer(c->types, e->type)) {
		check_error(c, D_PRINTF_DYN_TYPE, e->span,
			    "%s( ) argument #%u is incompatible with conversion #%u prototype:\n"
			    "\tconversion: %%*\n\t prototype: int\n\t  argument: %s",
			    f->func, f->next + 1, f->conv, type_text(c, e->type));
		return false;
	}
	(void)check_convert(c, &e, TYPE_INT);
	act_arg(c, f->act, e, DATUM_INT);
	return true;
}

/* The type of a datum as D names it: the DIF object of a stack or an address yields an integer. */
static type_id datum_type(type_id type, enum datum_kind kind)
{
	switch (kind) {
	case DATUM_INT:
	case DATUM_STRING:
	case DATUM_BYTES:
	case DATUM_MEMORY:
	case DATUM_STRUCT: return type;
	case DATUM_STACK:
	case DATUM_USTACK:
	case DATUM_STACKID: return TYPE_STACK;
	case DATUM_SYM:
	case DATUM_MOD: return TYPE_SYMADDR;
	case DATUM_USYM:
	case DATUM_UMOD:
	case DATUM_UADDR: return TYPE_USYMADDR;
	}
	BUG("datum kind %d", (int)kind);
}

static void fail_arg_type(struct check *c, const char *func, uint32_t argno, uint32_t convno,
			  const struct prog_conv *conv, struct span at, type_id type)
{
	check_error(c, D_PRINTF_ARG_TYPE, at,
		    "%s( ) argument #%u is incompatible with conversion #%u prototype:\n"
		    "\tconversion: %s\n\t prototype: %s\n\t  argument: %s",
		    func, argno, convno, fmt_conv_text(conv, c->arena), fmt_conv_wants(conv),
		    type_text(c, type));
}

static bool arg_take_value(struct check *c, struct fmt_args *f, const struct prog_conv *conv)
{
	enum datum_kind kind;
	struct expr *e, *key;
	struct span at;

	if (f->next == f->nargs) {
		check_error(c, D_PRINTF_ARG_PROTO, f->at,
			    "%s( ) prototype mismatch: conversion #%u (%s) is missing its value "
			    "argument",
			    f->func, f->conv, fmt_conv_text(conv, c->arena));
		return false;
	}
	e = f->args[f->next++];
	at = e->span;
	key = check_key_call(c, e, &kind);
	e = key ? key : xlate_address(c, check_any(c, e));
	if (expr_is_dynamic(e)) {
		fail_arg_type(c, f->func, f->next + 1, f->conv, conv, e->span, e->type);
		hint_dynamic(c, e);
		return false;
	}
	e = check_value(c, e);
	if (expr_is_bad(e))
		return false;
	if (!key) {
		if (strchr("paA", conv->conv) && type_kind(c->types, e->type) == TK_ARRAY)
			e = expr_cast(c, e,
				      type_of_variable(c, e->type)); /* the address of an array */
		kind = datum_kind_of(c, e->type);
	}
	if (!fmt_conv_accepts(conv, c->types, e->type, kind)) {
		fail_arg_type(c, f->func, f->next + 1, f->conv, conv, e->span,
			      datum_type(e->type, kind));
		return false;
	}
	/*
	 * %A of a number is an address in the process that fires, so the process is recorded, too
	 */
	if (conv->conv == 'A' && kind == DATUM_INT)
		kind = DATUM_UADDR;
	shell_arg_note(c, f->call, f->act, f->index, e, at);
	act_arg(c, f->act, e, kind);
	return true;
}

static bool arg_take(struct check *c, struct fmt_args *f, const struct prog_conv *conv)
{
	f->conv++;
	if (conv->flags & CONV_AGG) {
		check_error(c, D_PRINTF_AGG_CONV, f->at,
			    "%s( ) conversion #%u (%s) is only allowed in printa( )", f->func,
			    f->conv, fmt_conv_text(conv, c->arena));
		return false;
	}
	if ((conv->flags & CONV_WIDTH_ARG) && !arg_take_dynamic(c, f, "width"))
		return false;
	if ((conv->flags & CONV_PREC_ARG) && !arg_take_dynamic(c, f, "precision"))
		return false;
	return arg_take_value(c, f, conv);
}

static bool args_take(struct check *c, struct fmt_args *f, const struct prog_fmt *fmt)
{
	bool good = true;

	for (f->index = 0; f->index < fmt->nconvs; f->index++)
		if (!(fmt->convs[f->index].flags & CONV_NOARG))
			good = arg_take(c, f, &fmt->convs[f->index]) && good;
	if (good && f->next < f->nargs) {
		check_error(c, D_PRINTF_ARG_EXTRA, f->args[f->next]->span,
			    "%s( ) prototype mismatch: only %u argument%s required by this format "
			    "string",
			    f->func, f->next, PLURAL(f->next));
		return false;
	}
	return good;
}

static bool check_formatted(struct check *c, struct expr *call, struct prog_act *act, bool empty_ok)
{
	const struct subr *subr = call_subr(c, call);
	struct fmt_args f = {.func = subr->name, .act = act, .at = call->span, .call = call};

	if (!check_arg_count(c, subr, call))
		return false;
	act->fmt = format_arg(c, subr->name, call->call.args[0], empty_ok);
	if (!act->fmt)
		return false;
	f.args = call->call.args + 1;
	f.nargs = call->call.nargs - 1;
	return args_take(c, &f, act->fmt);
}

bool act_check_printf(struct check *c, struct expr *call, struct prog_act *act)
{
	return check_formatted(c, call, act, false);
}

/*
 * freopen("") returns to the original output. Other DTraces encode that as the file name ".", which
 * therefore cannot be used as a name; it cannot here, either.
 */
bool act_check_freopen(struct check *c, struct expr *call, struct prog_act *act)
{
	const struct expr *name = call->call.nargs ? call->call.args[0] : NULL;

	if (name && name->kind == EXPR_STR && strcmp(name->str.p, ".") == 0) {
		check_error(c, D_FREOPEN_INVALID, name->span,
			    "freopen( ) argument #1 cannot be \".\"");
		return false;
	}
	return check_formatted(c, call, act, true);
}

/* ---- printa ----------------------------------------------------------------------------- */

/* The result of count() is unsigned, the others are signed (d-language.md 6.4.5). */
static type_id agg_value_type(const struct prog_agg *agg)
{
	return agg->func == AGGFUNC_COUNT ? TYPE_UINT64 : TYPE_INT64;
}

static bool check_key_conv(struct check *c, const struct ident *agg, const struct prog_conv *conv,
			   uint32_t convno, uint32_t *key, struct span at)
{
	uint32_t n = *key;

	*key += 1 + !!(conv->flags & CONV_WIDTH_ARG) + !!(conv->flags & CONV_PREC_ARG);
	if (*key > agg->nkeys) {
		check_error(c, D_PRINTF_ARG_PROTO, at,
			    "printa( ) prototype mismatch: conversion #%u (%s) is missing its key: "
			    "@%s has %u",
			    convno, fmt_conv_text(conv, c->arena), agg->name, agg->nkeys);
		return false;
	}
	for (; n < *key - 1; n++) {
		if (type_is_integer(c->types, agg->keys[n]))
			continue;
		check_error(c, D_PRINTF_DYN_TYPE, at,
			    "printa( ) key #%u of @%s is no width: it is of type \"%s\"", n + 1,
			    agg->name, type_text(c, agg->keys[n]));
		return false;
	}
	if (fmt_conv_accepts(conv, c->types, agg->keys[n], agg->agg->key_kinds[n]))
		return true;
	fail_arg_type(c, "printa", n + 1, convno, conv, at,
		      datum_type(agg->keys[n], agg->agg->key_kinds[n]));
	return false;
}

static bool check_part(struct check *c, const struct ident *agg, const struct prog_conv *conv,
		       uint32_t convno, struct span at)
{
	if (agg->agg->func == AGGFUNC_LIVE)
		return true;
	check_error(c, D_PRINTF_ARG_TYPE, at,
		    "printa( ) conversion #%u (%s) is only for live( ): @%s is of %s( )", convno,
		    fmt_conv_text(conv, c->arena), agg->name, aggfunc_name(agg->agg->func));
	return false;
}

/*
 * The n-th '@' conversion shows the n-th aggregation; further ones show the last aggregation. Those
 * of a part, as %@age, show it of the aggregation of the conversion before.
 */
static bool check_printa_format(struct check *c, const struct prog_fmt *fmt,
				struct ident *const *aggs, uint32_t naggs, struct span at)
{
	uint32_t convno = 0, key = 0, next = 0;
	bool good = true;

	for (uint32_t i = 0; good && i < fmt->nconvs; i++) {
		const struct prog_conv *conv = &fmt->convs[i];
		type_id type;

		if (conv->flags & CONV_NOARG)
			continue;
		convno++;
		if (!(conv->flags & CONV_AGG)) {
			good = check_key_conv(c, aggs[0], conv, convno, &key, at);
			continue;
		}
		if (conv->part != CONV_PART_VALUE) {
			good = check_part(c, aggs[MIN(MAX(next, 1u), naggs) - 1], conv, convno, at);
			continue;
		}
		type = agg_value_type(aggs[MIN(next, naggs - 1)]->agg);
		next++;
		good = fmt_conv_accepts(conv, c->types, type, DATUM_INT);
		if (!good)
			fail_arg_type(c, "printa", MIN(next, naggs) + 1, convno, conv, at, type);
	}
	return good;
}

/* False after reporting that aggregations printed together have different keys. */
static bool check_same_keys(struct check *c, const struct ident *a, const struct ident *b,
			    struct span at)
{
	if (a->nkeys != b->nkeys) {
		check_error(c, D_PRINTA_AGGKEY, at,
			    "printa( ): @%s and @%s cannot be printed together: number of keys %u "
			    "and %u",
			    a->name, b->name, a->nkeys, b->nkeys);
		return false;
	}
	for (uint32_t i = 0; i < a->nkeys; i++) {
		if (key_kinds_match(a->agg->key_kinds[i], b->agg->key_kinds[i]) &&
		    type_same(c->types, a->keys[i], b->keys[i]))
			continue;
		check_error(
			c, D_PRINTA_AGGPROTO, at,
			"printa( ): key #%u of @%s is incompatible with that of @%s:\n\t%s\n\t%s",
			i + 1, b->name, a->name, type_text(c, b->keys[i]),
			type_text(c, a->keys[i]));
		return false;
	}
	return true;
}

bool act_check_printa(struct check *c, struct expr *call, struct prog_act *act)
{
	uint32_t n = call->call.nargs, first = 0;
	struct expr **args = call->call.args;
	struct ident **aggs = ARENA_NEW_N(c->arena, struct ident *, n + 1);

	if (n && args[0]->kind != EXPR_AGG) {
		if (args[0]->kind != EXPR_STR && n == 1) {
			check_error(c, D_PRINTA_AGGARG, args[0]->span,
				    "printa( ) argument #1 must be an aggregation or a format");
			return false;
		}
		act->fmt = format_arg(c, "printa", args[0], false);
		if (!act->fmt)
			return false;
		first = 1;
	}
	if (n <= first) {
		check_error(c, D_PRINTA_PROTO, call->span,
			    "printa( ) prototype mismatch: at least one aggregation expected");
		return false;
	}
	act->naggs = n - first;
	act->aggs = ARENA_NEW_N(c->arena, struct prog_agg *, act->naggs);
	for (uint32_t i = 0; i < act->naggs; i++) {
		struct expr *arg = args[first + i];

		aggs[i] = check_agg_arg(c, "printa", first + i + 1, arg, D_PRINTA_AGGARG,
					D_PRINTA_AGGBAD);
		if (!aggs[i] || (i && !check_same_keys(c, aggs[0], aggs[i], arg->span)))
			return false;
		act->aggs[i] = aggs[i]->agg;
	}
	return !act->fmt || check_printa_format(c, act->fmt, aggs, act->naggs, args[0]->span);
}
