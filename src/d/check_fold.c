/*
 * Arithmetic on constants, at 64 bits as the reference asks (d-language.md 2.3) and as DIF computes
 * at run time: no truncation before a conversion.
 */
#include "d/check_impl.h"

/* INT64_MIN / -1 overflows; the machine gives INT64_MIN, remainder 0. */
static uint64_t divide(uint64_t l, uint64_t r, bool is_signed)
{
	if (!is_signed)
		return l / r;
	return r == UINT64_MAX ? 0 - l : (uint64_t)((int64_t)l / (int64_t)r);
}

static uint64_t remainder_of(uint64_t l, uint64_t r, bool is_signed)
{
	if (!is_signed)
		return l % r;
	return r == UINT64_MAX ? 0 : (uint64_t)((int64_t)l % (int64_t)r);
}

static bool is_less(uint64_t l, uint64_t r, bool is_signed)
{
	return is_signed ? (int64_t)l < (int64_t)r : l < r;
}

/* Shift counts are taken modulo 64, as the instructions do. */
static uint64_t shift_right(uint64_t l, uint64_t r, bool is_signed)
{
	return is_signed ? (uint64_t)((int64_t)l >> (r & 63)) : l >> (r & 63);
}

uint64_t fold(enum expr_op op, uint64_t l, uint64_t r, bool is_signed)
{
	switch (op) {
	case OP_MUL: return l * r;
	case OP_DIV: return divide(l, r, is_signed);
	case OP_MOD: return remainder_of(l, r, is_signed);
	case OP_ADD: return l + r;
	case OP_SUB: return l - r;
	case OP_SHL: return l << (r & 63);
	case OP_SHR: return shift_right(l, r, is_signed);
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
