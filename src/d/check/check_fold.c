/* SPDX-License-Identifier: MIT */
/*
 * Arithmetic on constants: 64 bits wide as DIF computes at run time, without truncation before a
 * conversion (d-language.md 2.3).
 */
#include "d/check/check_impl.h"

/* In C INT64_MIN / -1 overflows; DIF gives INT64_MIN, with remainder 0. */
static uint64_t fold_div(uint64_t l, uint64_t r, bool is_signed)
{
	if (!is_signed)
		return l / r;
	return r == UINT64_MAX ? 0 - l : (uint64_t)((int64_t)l / (int64_t)r);
}

static uint64_t fold_rem(uint64_t l, uint64_t r, bool is_signed)
{
	if (!is_signed)
		return l % r;
	return r == UINT64_MAX ? 0 : (uint64_t)((int64_t)l % (int64_t)r);
}

static bool is_less(uint64_t l, uint64_t r, bool is_signed)
{
	return is_signed ? (int64_t)l < (int64_t)r : l < r;
}

/* Shift counts are taken modulo 64, as DIF's instructions take them. */
static uint64_t fold_shr(uint64_t l, uint64_t r, bool is_signed)
{
	return is_signed ? (uint64_t)((int64_t)l >> (r & 63)) : l >> (r & 63);
}

uint64_t fold(enum expr_op op, uint64_t l, uint64_t r, bool is_signed)
{
	switch (op) {
	case OP_MUL: return l * r;
	case OP_DIV: return fold_div(l, r, is_signed);
	case OP_MOD: return fold_rem(l, r, is_signed);
	case OP_ADD: return l + r;
	case OP_SUB: return l - r;
	case OP_SHL: return l << (r & 63);
	case OP_SHR: return fold_shr(l, r, is_signed);
	case OP_LT: return is_less(l, r, is_signed);
	case OP_LE: return !is_less(r, l, is_signed);
	case OP_GT: return is_less(r, l, is_signed);
	case OP_GE: return !is_less(l, r, is_signed);
	case OP_EQ: return l == r;
	case OP_NE: return l != r;
	case OP_AND: return l & r;
	case OP_XOR: return l ^ r;
	case OP_OR: return l | r;
	case OP_LAND: return l && r;
	case OP_LXOR: return !l != !r;
	case OP_LOR: return l || r;
	case OP_PLUS: return l;
	case OP_NEG: return 0 - l;
	case OP_BITNOT: return ~l;
	case OP_NOT: return !l;
	case OP_NONE:
	case OP_DEREF:
	case OP_ADDROF:
	case OP_PREINC:
	case OP_PREDEC:
	case OP_POSTINC:
	case OP_POSTDEC: break;
	}
	BUG("operator %d has no constant result", (int)op);
}
