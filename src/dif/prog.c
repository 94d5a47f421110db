/* SPDX-License-Identifier: MIT */
/* Properties of a compiled program that need no back end: kinds of actions, and a dump. */
#include "dif/prog.h"

#include "dif/asm.h"
#include "dif/shape.h"

static const struct {
	const char *name;
	bool is_recording;
	enum act_holds holds;
} act_kinds[] = {
/* clang-format off */
#define ACT_INNER(id, name, what) [ACT_##id] = {#name, false, HOLDS_##what},
#define ACT_RECORD(id, name, proto, flags, what, ...) [ACT_##id] = {#name, true, HOLDS_##what},
#define ACT_PROBE(id, name, ...) [ACT_##id] = {#name, false, HOLDS_NOTHING},
#define ACT_VALUE(id, name, ...) [ACT_##id] = {#name, false, HOLDS_NOTHING},
#include "dif/acts.def"
	/* clang-format on */
};

static const struct {
	const char *name;
	uint32_t words;
} aggfuncs[] = {
#define AGGFUNC(id, name, proto, words, ...) [AGGFUNC_##id] = {#name, words},
#include "dif/aggfuncs.def"
};

static const char *const datum_names[] = {
	[DATUM_INT] = "int",	     [DATUM_STRING] = "string", [DATUM_BYTES] = "bytes",
	[DATUM_STRUCT] = "struct",   [DATUM_STACK] = "stack",	[DATUM_USTACK] = "ustack",
	[DATUM_STACKID] = "stackid", [DATUM_SYM] = "sym",	[DATUM_MOD] = "mod",
	[DATUM_USYM] = "usym",	     [DATUM_UMOD] = "umod",	[DATUM_UADDR] = "uaddr",
	[DATUM_MEMORY] = "memory",
};

/* clang-format off */
static const char *const scope_names[] = {
	[DIF_SCOPE_GLOBAL] = "", [DIF_SCOPE_THREAD] = "self->", [DIF_SCOPE_LOCAL] = "this->"};

bool act_is_recording(enum act_kind kind)
{
	return act_kinds[kind].is_recording;
}
/* clang-format on */

enum act_holds act_holds(enum act_kind kind)
{
	return act_kinds[kind].holds;
}

const char *aggfunc_name(enum aggfunc func)
{
	return aggfuncs[func].name;
}

uint32_t aggfunc_words(enum aggfunc func)
{
	return aggfuncs[func].words;
}

bool clause_each_difo(const struct prog_clause *cl, struct clause_difo *at)
{
	if (!at->difo && cl->pred) {
		at->difo = cl->pred;
		return true;
	}
	if (at->act && ++at->arg < at->act->nargs) {
		at->difo = at->act->args[at->arg];
		return true;
	}
	while (at->next < cl->nacts) {
		at->act = &cl->acts[at->next++];
		at->arg = 0;
		if (at->act->nargs) {
			at->difo = at->act->args[0];
			return true;
		}
	}
	return false;
}

/* The constant in a register at instruction i: the compiler sets it just before it is used. */
static bool const_find(const struct difo *d, uint32_t i, uint32_t reg, uint64_t *ret)
{
	while (i-- > 0) {
		dif_insn insn = d->code[i];

		if (dif_insn_uses(insn).writes != reg)
			continue;
		if (DIF_INSN_OP(insn) != DIF_OP_SETX || DIF_INSN_INDEX(insn) >= d->ints_len)
			return false;
		*ret = d->ints[DIF_INSN_INDEX(insn)];
		return true;
	}
	return false;
}

bool difo_each_stackid(const struct difo *d, uint32_t *at, uint64_t *ret_how)
{
	while (++*at < d->code_len) {
		dif_insn call = d->code[*at], push = d->code[*at - 1];

		if (DIF_INSN_OP(call) == DIF_OP_CALL && DIF_INSN_INDEX(call) == DIF_SUBR_STACKID &&
		    DIF_INSN_OP(push) == DIF_OP_PUSHTV &&
		    const_find(d, *at - 1, DIF_INSN_RS(push), ret_how))
			return true;
	}
	return false;
}

static bool difo_reads(const struct difo *d, uint32_t var)
{
	for (uint32_t i = 0; i < d->code_len; i++)
		if (DIF_INSN_OP(d->code[i]) == DIF_OP_LDGS && DIF_INSN_INDEX(d->code[i]) == var)
			return true;
	return false;
}

bool clause_reads(const struct prog_clause *c, uint32_t var)
{
	struct clause_difo at = {0};

	while (clause_each_difo(c, &at))
		if (difo_reads(at.difo, var))
			return true;
	return false;
}

bool prog_each_difo(struct prog_clause *const *clauses, uint32_t n, struct prog_difo *at)
{
	for (; at->clause < n; at->clause++) {
		if (clause_each_difo(clauses[at->clause], &at->in))
			return true;
		at->in = (struct clause_difo){0};
	}
	return false;
}

static void print_difo(const char *what, const struct difo *d, struct strbuf *out)
{
	strbuf_addf(out, "%s returns ", what);
	dif_type_print(&d->ret, out);
	strbuf_addc(out, '\n');
	difo_print_rows(d, out);
	strbuf_addc(out, '\n');
}

/* Prints the conversions: for each, the text before it, then "%", flags, width and letter. */
static void print_fmt(const struct prog_fmt *fmt, struct strbuf *out)
{
	for (uint32_t i = 0; i < fmt->nconvs; i++) {
		const struct prog_conv *c = &fmt->convs[i];

		strbuf_adds(out, i ? ", " : "\n  format ");
		dif_quote(out, c->literal, c->literal_len);
		if (!c->conv)
			continue;
		strbuf_addf(out, " %%%.3s%c", c->size, c->conv);
		if (c->flags)
			strbuf_addf(out, " flags=0x%x", c->flags);
		if (c->width >= 0)
			strbuf_addf(out, " width=%d", c->width);
		if (c->prec >= 0)
			strbuf_addf(out, " prec=%d", c->prec);
	}
}

static void print_agg_use(const struct prog_agg *agg, struct strbuf *out)
{
	strbuf_addf(out, " @%s", agg->name);
}

static void print_held(const struct prog_act *act, struct strbuf *out)
{
	switch (act_holds(act->kind)) {
	case HOLDS_NOTHING: return;
	case HOLDS_AGG:
		print_agg_use(act->agg, out);
		strbuf_addf(out, " = %s", aggfunc_name(act->agg->func));
		return;
	case HOLDS_TARGET: strbuf_addf(out, " to %u", act->target); return;
	case HOLDS_LOOP:
		strbuf_addf(out, " %u: to %u, most %u", act->loop.depth, act->loop.head,
			    act->loop.most);
		return;
	case HOLDS_MEMORY: strbuf_addf(out, " size %u", act->memory.size); return;
	case HOLDS_SHAPE: strbuf_addf(out, " of %s", act->shape->type); return;
	case HOLDS_FORMAT:
		for (uint32_t i = 0; i < act->naggs; i++)
			print_agg_use(act->aggs[i], out);
		return;
	}
}

static void print_act(const struct prog_act *act, uint32_t index, struct strbuf *out)
{
	strbuf_addf(out, "action %u: %s", index, act_kinds[act->kind].name);
	print_held(act, out);
	if (act->nargs)
		strbuf_addf(out, " number %u", act->number);
	if (act_fmt(act))
		print_fmt(act_fmt(act), out);
	strbuf_addc(out, '\n');
	for (uint32_t i = 0; i < act->nargs; i++) {
		char what[64];

		snprintf(what, sizeof(what), "argument %u%s%s", i, act->arg_kinds ? " " : "",
			 act->arg_kinds ? datum_names[act->arg_kinds[i]] : "");
		print_difo(what, act->args[i], out);
	}
}

static void print_clause(const struct prog_clause *c, struct strbuf *out)
{
	strbuf_addf(out, "clause %u: ", c->index);
	if (c->desc.id)
		strbuf_addf(out, "%u", c->desc.id);
	else
		strbuf_addf(out, "%s:%s:%s:%s", c->desc.prov, c->desc.mod, c->desc.func,
			    c->desc.name);
	strbuf_addf(out, "%s%s%s\n", c->is_default ? " default" : "", c->records ? " records" : "",
		    c->destructive ? " destructive" : "");
	if (c->pred)
		print_difo("predicate", c->pred, out);
	for (uint32_t i = 0; i < c->nacts; i++)
		print_act(&c->acts[i], i, out);
	strbuf_addc(out, '\n');
}

void prog_print(const struct prog *prog, struct strbuf *out)
{
	for (uint32_t i = 0; i < prog->nclauses; i++)
		print_clause(prog->clauses[i], out);
}

void prog_vars_print(const struct prog_vars *vars, struct strbuf *out)
{
	for (uint32_t i = 0; i < vars->len; i++) {
		const struct prog_var *v = vars->vars[i];

		strbuf_addf(out, "variable 0x%x %s%s ", v->id, scope_names[v->scope], v->name);
		dif_type_print(&v->type, out);
		for (uint32_t k = 0; k < v->nkeys; k++) {
			strbuf_adds(out, k ? ", " : " key ");
			dif_type_print(&v->keys[k], out);
		}
		strbuf_addc(out, '\n');
	}
}

void prog_aggs_print(const struct prog_aggs *aggs, struct strbuf *out)
{
	for (uint32_t i = 0; i < aggs->len; i++) {
		const struct prog_agg *a = aggs->aggs[i];

		strbuf_addf(out, "aggregation %u @%s = %s %lld %lld %lld %lld", a->id, a->name,
			    aggfunc_name(a->func), (long long)a->param[0], (long long)a->param[1],
			    (long long)a->param[2], (long long)a->param[3]);
		for (uint32_t k = 0; k < a->nkeys; k++) {
			strbuf_addf(out, "%s%s ", k ? ", " : " key ", datum_names[a->key_kinds[k]]);
			dif_type_print(&a->key_types[k], out);
		}
		strbuf_addc(out, '\n');
	}
}
