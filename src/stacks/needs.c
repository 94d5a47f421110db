/* SPDX-License-Identifier: MIT */
/* Finds out which stacks clauses ask for. */
#include "stacks/stacks.h"

#include <stdlib.h>

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

bool stack_pred_pid(const struct difo *pred, uint64_t *ret_pid, bool *ret_is_one)
{
	const dif_insn *code = pred->code;
	uint32_t op;

	if (pred->code_len < 4 || DIF_INSN_OP(code[0]) != DIF_OP_LDGS ||
	    DIF_INSN_INDEX(code[0]) != DIF_VAR_PID || DIF_INSN_OP(code[1]) != DIF_OP_SETX ||
	    DIF_INSN_INDEX(code[1]) >= pred->ints_len ||
	    code[2] != dif_rrr(DIF_OP_CMP, DIF_INSN_RD(code[0]), DIF_INSN_RD(code[1]), 0))
		return false;
	op = DIF_INSN_OP(code[3]);
	*ret_is_one = op == DIF_OP_BNE;
	*ret_pid = pred->ints[DIF_INSN_INDEX(code[1])];
	return (op == DIF_OP_BE || op == DIF_OP_BNE) && is_zero_from(pred, DIF_INSN_LABEL(code[3]));
}

/* Whether the probes are those of a process: pid123, plockstat123. */
static bool desc_names_process(const struct probe_desc *desc, uint64_t *ret_pid)
{
	size_t len = strlen(desc->prov), digits = 0;

	while (digits < len && desc->prov[len - digits - 1] >= '0' &&
	       desc->prov[len - digits - 1] <= '9')
		digits++;
	*ret_pid = strtoull(desc->prov + len - digits, NULL, 10);
	return digits != 0;
}

static void pid_add(struct stack_needs *needs, uint64_t pid)
{
	for (uint32_t i = 0; i < needs->npids; i++)
		if (needs->pids[i] == pid)
			return;
	if (needs->npids < STACK_PIDS_MAX)
		needs->pids[needs->npids++] = pid;
	else
		needs->reaches_others = true;
}

/* Notes whose stacks with names a clause may record. */
static void reach_add(struct prog_clause *const *clause, struct stack_needs *ret)
{
	const struct prog_clause *c = *clause;
	struct prog_difo at = {0};
	struct stack_needs needs = {0};
	bool is_one = true;
	uint64_t pid;

	while (prog_each_difo(clause, 1, &at)) {
		needs_of_stack(&at.in, &needs);
		needs_of_values(at.in.difo, &needs);
		(void)difo_walks(at.in.difo, &needs.has_names);
	}
	if (!needs.has_names)
		return;
	if (desc_names_process(&c->desc, &pid) ||
	    (c->pred && stack_pred_pid(c->pred, &pid, &is_one) && is_one))
		pid_add(ret, pid);
	else
		ret->reaches_others = true;
}

void stack_needs_find(struct prog_clause *const *clauses, uint32_t n, struct stack_needs *ret)
{
	struct prog_difo at = {0};

	*ret = (struct stack_needs){0};
	for (uint32_t i = 0; i < n; i++)
		reach_add(&clauses[i], ret);
	while (prog_each_difo(clauses, n, &at)) {
		needs_of_stack(&at.in, ret);
		needs_of_values(at.in.difo, ret);
		ret->has_walks |= difo_walks(at.in.difo, &ret->has_names);
		ret->has_addresses |= is_user_address(&at.in);
	}
}
