/* SPDX-License-Identifier: MIT */
/* Finds out which stacks clauses ask for. */
#include "stacks/stacks.h"

#include "record/layout.h"

static bool difo_walks(const struct difo *d, bool *ret_has_names)
{
	bool walks = false;

	for (uint32_t i = 0; i < d->code_len; i++) {
		uint32_t var = DIF_INSN_INDEX(d->code[i]);

		if (DIF_INSN_OP(d->code[i]) != DIF_OP_LDGS)
			continue;
		walks |= var == DIF_VAR_UCALLER || var == DIF_VAR_USTACKDEPTH || var_is_lang(var);
		*ret_has_names |= var_is_lang(var);
	}
	return walks;
}

static bool is_user_address(const struct clause_difo *at)
{
	return clause_difo_is(at, DATUM_USTACK) || clause_difo_is(at, DATUM_USYM) ||
	       clause_difo_is(at, DATUM_UMOD) || clause_difo_is(at, DATUM_UADDR);
}

static void needs_of_stack(const struct clause_difo *at, struct stack_needs *ret)
{
	if (clause_difo_is(at, DATUM_STACK))
		ret->frames = MAX(ret->frames, difo_stack_frames(at->difo));
	if (!clause_difo_is(at, DATUM_USTACK))
		return;
	ret->has_walks = true;
	ret->has_names |= difo_stack_strsize(at->difo) != 0;
	ret->uframes = MAX(ret->uframes, difo_stack_frames(at->difo));
}

/* The stacks that are values: the addresses in them are named, too. */
static void needs_of_values(const struct difo *d, struct stack_needs *ret)
{
	uint32_t at = 0;
	uint64_t how;

	while (difo_each_stackid(d, &at, &how)) {
		if (!(how & PROG_STACK_USER)) {
			ret->frames = MAX(ret->frames, PROG_STACK_FRAMES(how));
			continue;
		}
		ret->has_walks = ret->has_addresses = true;
		ret->has_names |= PROG_STACK_STRSIZE(how) != 0;
		ret->uframes = MAX(ret->uframes, PROG_STACK_FRAMES(how));
	}
}

/* Whether an object returns 0 when it goes on at an instruction: mov %r0, %rN; ret %rN. */
static bool is_zero_from(const struct difo *d, uint32_t at)
{
	return at + 1 < d->code_len &&
	       d->code[at] == dif_rrr(DIF_OP_MOV, 0, 0, DIF_INSN_RD(d->code[at])) &&
	       d->code[at + 1] == dif_rrr(DIF_OP_RET, 0, 0, DIF_INSN_RD(d->code[at]));
}

/* Whether a predicate begins with pid == NUMBER, by which it is 0 in all other processes. */
static bool pred_names_process(const struct difo *d)
{
	const dif_insn *code = d->code;

	return d->code_len >= 4 && DIF_INSN_OP(code[0]) == DIF_OP_LDGS &&
	       DIF_INSN_INDEX(code[0]) == DIF_VAR_PID && DIF_INSN_OP(code[1]) == DIF_OP_SETX &&
	       code[2] == dif_rrr(DIF_OP_CMP, DIF_INSN_RD(code[0]), DIF_INSN_RD(code[1]), 0) &&
	       DIF_INSN_OP(code[3]) == DIF_OP_BNE && is_zero_from(d, DIF_INSN_LABEL(code[3]));
}

/* Whether the probes are those of a process: pid123, plockstat123. */
static bool desc_names_process(const struct probe_desc *desc)
{
	size_t len = strlen(desc->prov);

	return len && desc->prov[len - 1] >= '0' && desc->prov[len - 1] <= '9';
}

/* Whether a clause may record stacks with names in a process that the session was not told of. */
static bool clause_reaches_others(struct prog_clause *const *clause)
{
	const struct prog_clause *c = *clause;
	struct prog_difo at = {0};
	struct stack_needs needs = {0};

	if (desc_names_process(&c->desc) || (c->pred && pred_names_process(c->pred)))
		return false;
	while (prog_each_difo(clause, 1, &at)) {
		needs_of_stack(&at.in, &needs);
		needs_of_values(at.in.difo, &needs);
		(void)difo_walks(at.in.difo, &needs.has_names);
	}
	return needs.has_names;
}

void stack_needs_find(struct prog_clause *const *clauses, uint32_t n, struct stack_needs *ret)
{
	struct prog_difo at = {0};

	*ret = (struct stack_needs){0};
	for (uint32_t i = 0; i < n && !ret->reaches_others; i++)
		ret->reaches_others = clause_reaches_others(&clauses[i]);
	while (prog_each_difo(clauses, n, &at)) {
		needs_of_stack(&at.in, ret);
		needs_of_values(at.in.difo, ret);
		ret->has_walks |= difo_walks(at.in.difo, &ret->has_names);
		ret->has_addresses |= is_user_address(&at.in);
	}
}
