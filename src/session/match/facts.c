/* SPDX-License-Identifier: MIT */
/* What the clauses of a session read and call. */
#include "session/match/match.h"

bool match_reads(const struct match *m, uint32_t var)
{
	for (uint32_t i = 0; i < m->nused; i++)
		if (clause_reads(m->used[i], var))
			return true;
	return false;
}

static bool difo_calls(const struct difo *d, enum subr_fx effect)
{
	for (uint32_t i = 0; i < d->code_len; i++)
		if (DIF_INSN_OP(d->code[i]) == DIF_OP_CALL &&
		    dif_subr_row(DIF_INSN_INDEX(d->code[i]))->fx & effect)
			return true;
	return false;
}

bool match_calls(const struct match *m, enum subr_fx effect)
{
	struct prog_difo at = {0};

	while (prog_each_difo(m->used, m->nused, &at))
		if (difo_calls(at.in.difo, effect))
			return true;
	return false;
}

static bool difo_loads_user(const struct difo *d)
{
	for (uint32_t i = 0; i < d->code_len; i++) {
		enum dif_op op = DIF_INSN_OP(d->code[i]);

		if (op >= DIF_OP_ULDSB && op <= DIF_OP_ULDX)
			return true;
	}
	return false;
}

bool match_reads_user(const struct match *m)
{
	struct prog_difo at = {0};

	while (prog_each_difo(m->used, m->nused, &at))
		if (difo_loads_user(at.in.difo))
			return true;
	return match_calls(m, FX_READS_USER);
}

bool match_is_destructive(const struct match *m)
{
	for (uint32_t i = 0; i < m->nused; i++)
		if (m->used[i]->destructive)
			return true;
	return false;
}
