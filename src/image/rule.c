/* SPDX-License-Identifier: MIT */
/* Unwind rows in the 32 bits of a rule. */
#include "arch/rule.h"

#include "arch/arch.h"
#include "image/ehframe.h"

static bool bits_fit(int32_t v, uint32_t bits)
{
	return v >= -(1 << (bits - 1)) && v < 1 << (bits - 1);
}

uint32_t unwind_row_rule(const struct unwind_row *row)
{
	uint32_t fp = row->fp == UNWIND_FP_AT_FP ? RULE_AT_FP : (uint32_t)row->fp / 8;
	int32_t cfa = row->cfa / 8;

	if (row->kind == UNWIND_PLT)
		return UNWIND_PLT | (uint32_t)row->cfa << 12;
	if (row->kind == UNWIND_SIGNAL || row->kind == UNWIND_END || row->kind == UNWIND_NONE)
		return row->kind;
	if (row->kind == UNWIND_SAVED)
		return UNWIND_SAVED | (uint32_t)row->cfa << 4;
	if (row->kind == UNWIND_SP_DEREF || row->kind == UNWIND_FP_DEREF)
		return row->fp > 0 && (row->fp % 8 || fp >= RULE_AT_FP)
			       ? UNWIND_NONE
			       : row->kind | fp << 4 | (uint32_t)row->cfa << 12;
	if (row->cfa % 8 || (row->fp > 0 && (row->fp % 8 || fp >= RULE_AT_FP)))
		return UNWIND_NONE;
	if (row->kind == UNWIND_CARRY && !bits_fit(cfa, 14))
		return UNWIND_NONE; /* unwind_row makes none */
	if (row->kind == UNWIND_CARRY)
		return UNWIND_CARRY | fp << 4 | (uint32_t)row->reg << 12 | (uint32_t)cfa << 18;
	if (row->kind != UNWIND_REG && row->kind != UNWIND_IN_REG)
		return bits_fit(cfa, 20) ? row->kind | fp << 4 | (uint32_t)cfa << 12 : UNWIND_NONE;
	if (row->reg >= arch.unwind.nregs || !bits_fit(cfa, 15))
		return UNWIND_NONE;
	return (uint32_t)row->kind | fp << 4 | (uint32_t)arch.unwind.words[row->reg] << 12 |
	       (uint32_t)cfa << 17;
}
