/* SPDX-License-Identifier: MIT */
/*
 * The operators of D, by the table in ops.def: how they are spelled, how strongly they bind, what
 * their operands must be, and which DIF instruction computes them.
 *
 * To add an operator: a row in ops.def, its token in tokens.def, a case in fold() (check_fold.c).
 */
#pragma once

#include "d/parse/lex.h"
#include "dif/dif.h"

/* What the operands of an operator must be. */
enum op_rule {
	OPR_NONE, /* OP_NONE: no operator */
	OPR_PREFIX,
	OPR_POSTFIX,
	OPR_ARITH,
	OPR_ADDRESS, /* numbers, or an address and an integer */
	OPR_INTEGER,
	OPR_BITS, /* integers; each bit of the result comes from that bit of the operands */
	OPR_SHIFT,
	OPR_COMPARE,
	OPR_LOGIC,
};

struct op_row {
	enum tok tok, compound;
	enum op_rule rule;
	const char *dumped; /* unary operators: the name in a dumped tree */
	uint32_t prec;	    /* binary operators: from 1 (binds least) to OP_PREC_MAX */
	enum expr_op negated;
	enum dif_op if_unsigned, if_signed;
};

#define OP_PREC_MAX 11

extern const struct op_row op_rows[]; /* by enum expr_op */

/* "+"; "++" or "--" for both forms of the operator; "" for OP_NONE. */
const char *op_text(enum expr_op op);
/* The operator that a token means before, behind and between operands; OP_NONE: none. */
enum expr_op op_prefix(enum tok tok);
enum expr_op op_postfix(enum tok tok);
enum expr_op op_binary(enum tok tok);
/* Whether the token assigns. *ret: the operator of a compound assignment, OP_NONE for '='. */
bool op_assigns(enum tok tok, enum expr_op *ret);

static inline bool op_is_compare(enum expr_op op)
{
	return op_rows[op].rule == OPR_COMPARE;
}

static inline bool op_is_incdec(enum expr_op op)
{
	return op == OP_PREINC || op == OP_PREDEC || op == OP_POSTINC || op == OP_POSTDEC;
}

static inline bool op_is_postfix(enum expr_op op)
{
	return op_rows[op].rule == OPR_POSTFIX;
}
