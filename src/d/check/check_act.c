/* SPDX-License-Identifier: MIT */
/* Actions without format strings: checks their arguments and makes their DIF expressions. */
#include <inttypes.h>

#include "base/text.h"
#include "d/check/check_impl.h"

void act_arg(struct check *c, struct prog_act *act, struct expr *e, enum datum_kind kind)
{
	struct act_build *b = act_build(act);

	if (act->nargs == b->cap) {
		uint32_t cap = b->cap ? b->cap * 2 : 4;
		struct expr **exprs = ARENA_NEW_N(c->arena, struct expr *, cap);
		enum datum_kind *kinds = ARENA_NEW_N(c->arena, enum datum_kind, cap);

		if (act->nargs) {
			memcpy(exprs, b->exprs, act->nargs * sizeof(*exprs));
			memcpy(kinds, act->arg_kinds, act->nargs * sizeof(*kinds));
		}
		b->exprs = exprs;
		act->arg_kinds = kinds;
		b->cap = cap;
	}
	b->exprs[act->nargs] = e;
	act->arg_kinds[act->nargs++] = kind;
}

enum datum_kind datum_kind_of(struct check *c, type_id type)
{
	if (type_is_string(c->types, type))
		return DATUM_STRING;
	if (type_is_sou(c->types, type))
		return DATUM_STRUCT;
	if (type_is_stack(c->types, type))
		return DATUM_STACKID;
	return type_is_byref(c->types, type) ? DATUM_BYTES : DATUM_INT;
}

/* Checks argument i of a call in place. */
static struct expr *call_arg_check(struct check *c, struct expr *call, uint32_t i)
{
	return call->call.args[i] = check_expr(c, call->call.args[i]);
}

bool act_check_proto(struct check *c, struct expr *call, struct prog_act *act)
{
	const struct subr *subr = call_subr(c, call);

	if (!check_proto_args(c, subr, call))
		return false;
	for (uint32_t i = 0; i < call->call.nargs; i++)
		act_arg(c, act, call->call.args[i], datum_kind_of(c, call->call.args[i]->type));
	return true;
}

/* ---- trace() and its kin ---------------------------------------------------------------- */

struct expr *check_recorded(struct check *c, struct expr *call, const struct value_tags *tags)
{
	const struct subr *subr = call_subr(c, call);
	struct expr *e;

	if (!check_arg_count(c, subr, call))
		return NULL;
	e = xlate_address(c, check_any(c, call->call.args[0]));
	if (expr_is_bad(e))
		return NULL;
	if (e->kind == EXPR_AGG) {
		check_error(c, tags->is_agg, e->span, "%s( ) may not be applied to an aggregation",
			    subr->name);
		diag_hint(c->diags, "use printa(@%s)", e->agg.name);
		return NULL;
	}
	if (e->kind == EXPR_XLATE) {
		check_error(c, tags->is_dynamic, e->span,
			    "%s( ) may not be applied to a translated value of type \"%s\"",
			    subr->name, type_text(c, e->type));
		return NULL;
	}
	e = check_value(c, e);
	if (expr_is_bad(e))
		return NULL;
	(void)type_complete(c->types, e->type); /* the size of an incomplete type is 0 */
	if (type_size(c->types, e->type) == 0 || type_kind(c->types, e->type) == TK_FUNC) {
		check_error(c, tags->is_void, e->span,
			    "%s( ) may not be applied to an expression of type \"%s\"", subr->name,
			    type_text(c, e->type));
		return NULL;
	}
	return e;
}

/* Warns of trace("a" + 1): a string counts as an address there, which trace() shows. */
static void sum_warn(struct check *c, const struct expr *e)
{
	if (e->kind != EXPR_BINARY || e->binary.op != OP_ADD ||
	    (!type_is_string(c->types, e->binary.l->type) &&
	     !type_is_string(c->types, e->binary.r->type)))
		return;
	diag_warn(c->diags, D_TRACE_SUM, e->span,
		  "trace( ) prints the address that \"+\" makes of a string and a number");
}

bool act_check_trace(struct check *c, struct expr *call, struct prog_act *act)
{
	static const struct value_tags tags = {D_TRACE_VOID, D_TRACE_DYN, D_TRACE_AGG};
	struct expr *e = check_recorded(c, call, &tags);

	if (!e)
		return false;
	sum_warn(c, e);
	act_arg(c, act, e, datum_kind_of(c, e->type));
	return true;
}

static bool is_address_like(struct check *c, const struct expr *e)
{
	return type_is_pointer(c->types, e->type) || type_is_integer(c->types, e->type) ||
	       type_is_string(c->types, e->type);
}

bool expr_is_positive(struct check *c, const struct expr *e)
{
	return expr_is_const(c, e) && (int64_t)e->ival.val > 0;
}

bool act_check_tracemem(struct check *c, struct expr *call, struct prog_act *act)
{
	uint32_t n = call->call.nargs;
	struct expr *addr, *size, *dsize;

	if (n > 3) {
		check_error(c, D_TRACEMEM_ARGS, call->span,
			    "tracemem( ) takes at most 3 arguments, not %u", n);
		return false;
	}
	if (!check_arg_count(c, call_subr(c, call), call))
		return false;
	addr = call_arg_check(c, call, 0);
	size = call_arg_check(c, call, 1);
	dsize = n > 2 ? call_arg_check(c, call, 2) : NULL;
	if (expr_is_bad(addr) || expr_is_bad(size) || (dsize && expr_is_bad(dsize)))
		return false;
	if (!is_address_like(c, addr)) {
		check_error(c, D_TRACEMEM_ADDR, addr->span,
			    "tracemem( ) argument #1 must be a pointer or an integer, not \"%s\"",
			    type_text(c, addr->type));
		return false;
	}
	if (!expr_is_positive(c, size) || size->ival.val > UINT32_MAX) {
		check_error(c, D_TRACEMEM_SIZE, size->span,
			    "tracemem( ) argument #2 must be a positive integer constant");
		return false;
	}
	if (dsize && !type_is_scalar(c->types, dsize->type)) {
		check_error(c, D_TRACEMEM_DYNSIZE, dsize->span,
			    "tracemem( ) argument #3 must be of scalar type, not \"%s\"",
			    type_text(c, dsize->type));
		return false;
	}
	act->memory.size = (uint32_t)size->ival.val;
	act->memory.len_arg = dsize ? 1 : PROG_NO_ARG;
	act_arg(c, act, addr, DATUM_MEMORY);
	if (dsize)
		act_arg(c, act, dsize, DATUM_INT);
	return true;
}

/* ((struct sk_buff *)skb)->name */
static struct expr *skb_member(struct check *c, struct expr *skb, const char *name)
{
	struct expr *e = expr_new(c, EXPR_MEMBER, skb->span, TYPE_NONE);

	e->member.base = skb;
	e->member.name = name;
	e->member.arrow = true;
	return check_expr(c, e);
}

/*
 * The bytes of a packet that lie at its data pointer: len - data_len; the others are in pages of
 * their own. `first` is evaluated before skb.
 */
static struct expr *skb_linear(struct check *c, struct expr *first, struct expr *skb)
{
	struct expr *e = expr_new(c, EXPR_BINARY, skb->span, TYPE_NONE);

	e->binary.op = OP_SUB;
	e->binary.l = skb_member(c, first, "len");
	e->binary.r = skb_member(c, skb, "data_len");
	return check_expr(c, e);
}

/* Adds what pcap() records of a packet, in the order of enum pcap_arg; false after reporting. */
static bool packet_record(struct check *c, struct expr *addr, struct expr *proto,
			  struct prog_act *act)
{
	type_id skb_type = types_find_tag(c->types, TK_STRUCT, "sk_buff");
	struct expr *first, *skb, *linear, *len, *data;

	if (skb_type == TYPE_NONE)
		skb_type = type_forward(c->types, TK_STRUCT, "sk_buff");
	if (!type_complete(c->types, skb_type)) {
		check_error(c, D_PCAP_ADDR, addr->span,
			    "pcap( ) needs \"struct sk_buff\", which is unknown here");
		return false;
	}
	first = expr_cast(c, addr, type_pointer(c->types, skb_type));
	skb = expr_keep(c, &first);
	linear = skb_linear(c, first, skb);
	len = skb_member(c, skb, "len");
	data = skb_member(c, skb, "data");
	if (expr_is_bad(linear) || expr_is_bad(len) || expr_is_bad(data))
		return false;
	act_arg(c, act, linear, DATUM_INT);
	act_arg(c, act, len, DATUM_INT);
	act_arg(c, act, proto, DATUM_INT);
	act_arg(c, act, data, DATUM_MEMORY);
	return true;
}

bool act_check_pcap(struct check *c, struct expr *call, struct prog_act *act)
{
	struct expr *addr, *proto;

	act->memory.size = c->opts->pcapsize;
	act->memory.len_arg = PCAP_ARG_LINEAR;
	if (call->call.nargs != 2) {
		check_error(c, D_PCAP_PROTO, call->span,
			    "pcap( ) prototype mismatch: a packet and a protocol expected");
		return false;
	}
	addr = call_arg_check(c, call, 0);
	proto = call_arg_check(c, call, 1);
	if (expr_is_bad(addr) || expr_is_bad(proto))
		return false;
	if (!type_is_scalar(c->types, addr->type)) {
		check_error(c, D_PCAP_ADDR, addr->span, "pcap( ) argument #1 must be a pointer");
		return false;
	}
	if (!type_is_integer(c->types, proto->type)) {
		check_error(c, D_PCAP_PROTO, proto->span, "pcap( ) argument #2 must be an integer");
		return false;
	}
	return packet_record(c, addr, proto, act);
}

/* ---- actions on aggregations ------------------------------------------------------------ */

/* Checks argument #1, an aggregation, and stores it in act; false after reporting. */
static bool check_agg_act(struct check *c, struct expr *call, struct prog_act *act, enum dtag proto,
			  enum dtag not_agg, enum dtag undefined)
{
	const struct subr *subr = call_subr(c, call);
	const struct proto *p = proto_get(c, subr);
	struct ident *id;

	if (call->call.nargs < p->nmin || call->call.nargs > p->nargs) {
		check_error(c, proto, call->span,
			    "%s( ) prototype mismatch: %u argument%s passed, %s%u expected",
			    subr->name, call->call.nargs, PLURAL(call->call.nargs),
			    p->nmin == p->nargs		 ? ""
			    : call->call.nargs < p->nmin ? "at least "
							 : "at most ",
			    call->call.nargs < p->nmin ? p->nmin : p->nargs);
		return false;
	}
	id = check_agg_arg(c, subr->name, 1, call->call.args[0], not_agg, undefined);
	if (!id)
		return false;
	act->aggs = ARENA_NEW(c->arena, struct prog_agg *);
	act->aggs[0] = id->agg;
	act->naggs = 1;
	return true;
}

static bool check_agg_number(struct check *c, struct expr *call, struct prog_act *act,
			     enum dtag not_scalar, type_id type)
{
	struct expr *e;

	if (call->call.nargs < 2)
		return true;
	e = call->call.args[1] = check_expr_or(c, call->call.args[1], not_scalar);
	if (expr_is_bad(e))
		return false;
	if (!type_is_scalar(c->types, e->type)) {
		check_error(c, not_scalar, e->span,
			    "%s( ) argument #2 must be of scalar type, not \"%s\"",
			    call_subr(c, call)->name, type_text(c, e->type));
		return false;
	}
	if (!check_convert(c, &e, type))
		e = expr_cast(c, e, type);
	act_arg(c, act, e, DATUM_INT);
	return true;
}

bool act_check_clear(struct check *c, struct expr *call, struct prog_act *act)
{
	return check_agg_act(c, call, act, D_CLEAR_PROTO, D_CLEAR_AGGARG, D_CLEAR_AGGBAD);
}

bool act_check_trunc(struct check *c, struct expr *call, struct prog_act *act)
{
	return check_agg_act(c, call, act, D_TRUNC_PROTO, D_TRUNC_AGGARG, D_TRUNC_AGGBAD) &&
	       check_agg_number(c, call, act, D_TRUNC_SCALAR, TYPE_INT64);
}

bool act_check_normalize(struct check *c, struct expr *call, struct prog_act *act)
{
	return check_agg_act(c, call, act, D_NORMALIZE_PROTO, D_NORMALIZE_AGGARG,
			     D_NORMALIZE_AGGBAD) &&
	       check_agg_number(c, call, act, D_NORMALIZE_SCALAR, TYPE_UINT64);
}

/* ---- stacks and addresses --------------------------------------------------------------- */

bool act_check_sym(struct check *c, struct expr *call, struct prog_act *act)
{
	const struct subr *subr = call_subr(c, call);

	if (!check_proto_args(c, subr, call))
		return false;
	act_arg(c, act, call->call.args[0], subr->datum);
	return true;
}

/* What an argument of stack(), ustack() and their like may be: a constant from min to max. */
struct stack_param {
	int64_t min, max;
	enum dtag tag;
	const char *what;
};

static const struct stack_param stack_size = {1, PROG_FRAMES_MAX, D_STACK_SIZE, "size"},
				ustack_frames = {1, PROG_FRAMES_MAX, D_USTACK_FRAMES, "frames"},
				ustack_strsize = {0, INT32_MAX, D_USTACK_STRSIZE, "string size"};

/* Reads argument i, deflt when it is not given. Returns false after reporting. */
static bool stack_param(struct check *c, struct expr *call, uint32_t i, const struct stack_param *p,
			uint32_t deflt, int64_t *ret)
{
	struct expr *e;

	*ret = deflt;
	if (call->call.nargs <= i)
		return true;
	e = call_arg_check(c, call, i);
	if (expr_is_bad(e))
		return false;
	if (!expr_is_const(c, e) || (int64_t)e->ival.val < p->min) {
		check_error(c, p->tag, e->span, "%s( ) %s must be a %s integer constant",
			    call_subr(c, call)->name, p->what,
			    p->min ? "positive" : "non-negative");
		return false;
	}
	if ((int64_t)e->ival.val > p->max) {
		check_error(c, p->tag, e->span, "%s( ) %s must be at most %" PRId64,
			    call_subr(c, call)->name, p->what, p->max);
		return false;
	}
	*ret = (int64_t)e->ival.val;
	return true;
}

/* A stack is recorded by an expression that is a constant: the number of frames (dif/prog.h). */
static void stack_arg_add(struct check *c, const struct expr *call, struct prog_act *act,
			  int64_t frames, int64_t strsize, enum datum_kind datum)
{
	act_arg(c, act,
		expr_int(c, call->span, PROG_STACK((uint64_t)frames, (uint64_t)strsize),
			 TYPE_UINT64),
		datum);
}

bool act_check_stack(struct check *c, struct expr *call, struct prog_act *act)
{
	int64_t frames;

	if (call->call.nargs > 1) {
		check_error(c, D_STACK_PROTO, call->span,
			    "stack( ) prototype mismatch: too many arguments");
		return false;
	}
	if (!stack_param(c, call, 0, &stack_size, c->opts->stackframes, &frames))
		return false;
	stack_arg_add(c, call, act, frames, 0, DATUM_STACK);
	return true;
}

#define JSTACK_FRAMES 50 /* default of the option jstackframes */

static bool check_user_stack(struct check *c, struct expr *call, struct prog_act *act,
			     uint32_t default_frames, uint32_t default_strsize, uint32_t flags)
{
	int64_t frames, strsize;

	if (call->call.nargs > 2) {
		check_error(c, D_USTACK_PROTO, call->span,
			    "%s( ) prototype mismatch: too many arguments",
			    call_subr(c, call)->name);
		return false;
	}
	if (!stack_param(c, call, 0, &ustack_frames, default_frames, &frames))
		return false;
	/* The option is the room for the names of fifty frames; deeper stacks have more. */
	if (frames > JSTACK_FRAMES)
		default_strsize =
			(uint32_t)MIN((uint64_t)default_strsize * (uint64_t)frames / JSTACK_FRAMES,
				      (uint64_t)INT32_MAX);
	if (!stack_param(c, call, 1, &ustack_strsize, default_strsize, &strsize))
		return false;
	stack_arg_add(c, call, act, frames | flags, strsize, DATUM_USTACK);
	return true;
}

bool act_check_ustack(struct check *c, struct expr *call, struct prog_act *act)
{
	return check_user_stack(c, call, act, c->opts->ustackframes, 0, 0);
}

bool act_check_jstack(struct check *c, struct expr *call, struct prog_act *act)
{
	return check_user_stack(c, call, act, c->opts->jstackframes, c->opts->jstackstrsize, 0);
}

bool act_check_lstack(struct check *c, struct expr *call, struct prog_act *act)
{
	return check_user_stack(c, call, act, c->opts->jstackframes, c->opts->jstackstrsize,
				PROG_STACK_ONLY_LANG);
}

struct expr *check_key_call(struct check *c, struct expr *e, enum datum_kind *ret_kind)
{
	const struct subr *subr = e->type == TYPE_NONE ? call_subr(c, e) : NULL;
	struct act_build b = {0};

	if (!subr || !(subr->flags & SUBR_KEY))
		return NULL;
	if (!subr->check(c, e, &b.act) || !subr_use(c, subr, e->span))
		return expr_bad(c, e->span);
	*ret_kind = b.act.arg_kinds[0];
	return b.exprs[0];
}

bool subr_is_stack(const struct subr *subr)
{
	return subr->class == SUBR_ACTION && (subr->flags & SUBR_KEY) &&
	       (subr->datum == DATUM_STACK || subr->datum == DATUM_USTACK);
}

struct expr *check_stack_value(struct check *c, struct expr *e)
{
	static const struct subr stackid = {.name = "stackid",
					    .class = SUBR_FUNC,
					    .proto = "stackid_t(uint64_t)",
					    .code = DIF_SUBR_STACKID};
	enum datum_kind kind;
	struct expr *how = check_key_call(c, e, &kind);

	if (expr_is_bad(how))
		return how;
	if (kind == DATUM_USTACK)
		how = expr_int(c, how->span, how->ival.val | PROG_STACK_USER, how->type);
	e->call.subr = &stackid;
	e->call.args = ARENA_NEW_N(c->arena, struct expr *, 1);
	e->call.args[0] = how;
	e->call.nargs = 1;
	e->type = TYPE_STACK;
	return e;
}

void hint_stack(struct check *c, const struct expr *l, const struct expr *r)
{
	if (!type_is_stack(c->types, l->type) && !type_is_stack(c->types, r->type))
		return;
	diag_hint(c->diags,
		  "a stack can be assigned, compared with another one by == and !=, used as a key, "
		  "and printed with %%k");
}
