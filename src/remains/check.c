/* SPDX-License-Identifier: MIT */
/* What clauses cannot do where nothing runs. */
#include "remains/impl.h"

#define NOTHING_RUNS "nothing runs in a core file, or in a copy of a process"

/* Why an action has no meaning here; NULL: it has one. */
static const char *act_refusal(enum act_kind kind)
{
	switch ((int)kind) {
	case ACT_STOP: return "stop(): " NOTHING_RUNS;
	case ACT_RAISE: return "raise(): " NOTHING_RUNS;
	case ACT_CHILL: return "chill(): " NOTHING_RUNS;
	case ACT_DEAD: return "dead(): " NOTHING_RUNS;
	case ACT_STACK:
		return "stack(): no kernel has called these probes; ustack() and jstack() "
		       "are the thread's";
	case ACT_PCAP: return "pcap(): there are no packets";
	default: return NULL;
	}
}

static const char *datum_refusal(enum datum_kind kind)
{
	switch ((int)kind) {
	case DATUM_STACK: return act_refusal(ACT_STACK);
	case DATUM_STACKID:
		return "a stack as a value: nothing keeps stacks here; ustack() as a key or an "
		       "argument of printf() is available";
	case DATUM_SYM:
	case DATUM_MOD:
		return "sym(), func() and mod(): these are names of the kernel; usym(), "
		       "ufunc() and umod() are those of the process";
	default: return NULL;
	}
}

/* The variables that have a value here. */
static bool var_is_known(uint32_t id)
{
	static const uint16_t known[] = {
		DIF_VAR_ARGS,	  DIF_VAR_EPID,	       DIF_VAR_ID,	  DIF_VAR_PID,
		DIF_VAR_TID,	  DIF_VAR_PPID,	       DIF_VAR_UID,	  DIF_VAR_GID,
		DIF_VAR_EXECNAME, DIF_VAR_EXECARGS,    DIF_VAR_TIMESTAMP, DIF_VAR_WALLTIMESTAMP,
		DIF_VAR_UCALLER,  DIF_VAR_USTACKDEPTH, DIF_VAR_LFILE,	  DIF_VAR_LLINE,
		DIF_VAR_LFUNC,
	};

	for (uint32_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i] == id)
			return true;
	return (id >= DIF_VAR_ARG0 && id <= DIF_VAR_ARG9) ||
	       (id >= DIF_VAR_PROBEPROV && id <= DIF_VAR_PROBENAME);
}

static const char *var_name(uint32_t id)
{
	switch (id) {
/* clang-format off */
#define BUILTIN(var, name, ...) case DIF_VAR_##var: return #name;
#include "dif/builtins.def"
	/* clang-format on */
	default: return "a variable";
	}
}

/* The variable that an instruction loads, or UINT32_MAX. */
static uint32_t insn_var(dif_insn i)
{
	enum dif_op op = DIF_INSN_OP(i);

	if (op == DIF_OP_LDGA)
		return DIF_INSN_R1(i);
	return op == DIF_OP_LDGS && DIF_INSN_INDEX(i) < DIF_VAR_USER ? DIF_INSN_INDEX(i)
								     : UINT32_MAX;
}

static struct err *difo_check(const struct difo *d)
{
	for (uint32_t i = 0; i < d->code_len; i++) {
		uint32_t var = insn_var(d->code[i]), subr = DIF_INSN_INDEX(d->code[i]);
		const struct dif_subr_row *row;

		if (var != UINT32_MAX && !var_is_known(var))
			return err_new("%s: " NOTHING_RUNS, var_name(var));
		if (DIF_INSN_OP(d->code[i]) != DIF_OP_CALL || dif_subr_is_interpreted(subr) ||
		    subr == DIF_SUBR_SPECULATION)
			continue;
		row = dif_subr_row(subr);
		return err_new("%s(): " NOTHING_RUNS, row ? row->name : "a subroutine");
	}
	return NULL;
}

static bool reads_lang(const struct difo *d)
{
	for (uint32_t i = 0; i < d->code_len; i++) {
		uint32_t var = insn_var(d->code[i]);

		if (var != UINT32_MAX && var_is_lang(var))
			return true;
	}
	return false;
}

/* How the object is shown: as a key, or as an argument. */
static enum datum_kind difo_datum(const struct clause_difo *at)
{
	if (at->act && at->act->kind == ACT_AGG)
		return at->arg < at->act->agg->nkeys ? at->act->agg->key_kinds[at->arg] : DATUM_INT;
	return at->act && at->act->arg_kinds ? at->act->arg_kinds[at->arg] : DATUM_INT;
}

/* Whether a clause is enabled on a probe that fires for no thread. */
static bool clause_lacks_stack(const struct unit *u, const struct unit_clause *uc)
{
	for (uint32_t i = 0; i < u->nprobes; i++) {
		uint32_t clause = (uint32_t)(uc - u->clauses), key = u->probes[i].key;

		if (u->probes[i].mask[clause / 64] >> (clause % 64) & 1 &&
		    (u->is_begin_end ||
		     (key != REMAINS_THREAD && key != REMAINS_FRAME && key != REMAINS_CALLER)))
			return true;
	}
	return false;
}

static struct err *clause_check(const struct unit *u, const struct unit_clause *uc,
				uint32_t *ret_span)
{
	const struct prog_clause *c = uc->layout->clause;
	struct clause_difo at = {0};

	for (uint32_t i = 0; i < c->nacts; i++) {
		const char *why = act_refusal(c->acts[i].kind);

		*ret_span = c->acts[i].span;
		if (c->acts[i].kind == ACT_AGG && c->acts[i].agg->func == AGGFUNC_LIVE)
			why = "live(): " NOTHING_RUNS;
		if (why)
			return err_new("%s", why);
	}
	while (clause_each_difo(c, &at)) {
		const char *why = datum_refusal(difo_datum(&at));
		struct err *e = why ? err_new("%s", why) : difo_check(at.difo);

		*ret_span = at.act ? at.act->span : c->span;
		if (!e && difo_datum(&at) == DATUM_USTACK && clause_lacks_stack(u, uc))
			e = err_new("ustack(), jstack() and lstack(): a probe that fires for no "
				    "thread has no stack; those of providers frame and thread do");
		if (!e && reads_lang(at.difo) && clause_lacks_stack(u, uc))
			e = err_new("lfile, lline and lfunc: a probe that fires for no thread has "
				    "no stack; those of providers frame and thread do");
		if (e)
			return e;
	}
	return NULL;
}

struct err *unit_check(const struct unit *u, uint32_t *ret_span)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < u->nclauses && !e; i++)
		e = clause_check(u, &u->clauses[i], ret_span);
	return e;
}
