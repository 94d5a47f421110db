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

void stack_needs_find(struct prog_clause *const *clauses, uint32_t n, struct stack_needs *ret)
{
	struct prog_difo at = {0};

	*ret = (struct stack_needs){0};
	while (prog_each_difo(clauses, n, &at)) {
		needs_of_stack(&at.in, ret);
		needs_of_values(at.in.difo, ret);
		ret->has_walks |= difo_walks(at.in.difo, &ret->has_names);
		ret->has_addresses |= is_user_address(&at.in);
	}
}
