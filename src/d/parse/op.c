/* SPDX-License-Identifier: MIT */
/* The table of operators, and the operator that a token stands for. */
#include "d/parse/op.h"

const struct op_row op_rows[] = {
/* clang-format off */
#define OP_UNARY(id, token, text, how) \
	[OP_##id] = {.tok = TOK_##token, .rule = OPR_##how, .dumped = text},
#define OP_BINARY(id, assign, tightness, how, opposite, plain, with_sign) \
	[OP_##id] = {.tok = TOK_##id, .compound = TOK_##assign, .rule = OPR_##how, .prec = tightness, \
		     .negated = OP_##opposite, .if_unsigned = DIF_OP_##plain, .if_signed = DIF_OP_##with_sign},
#include "d/parse/ops.def"
#undef OP_UNARY
#undef OP_BINARY
	/* clang-format on */
};

const char *op_text(enum expr_op op)
{
	return tok_text(op_rows[op].tok);
}

/* The operator of a token whose rule lies between first and last. */
static enum expr_op op_find(enum tok tok, enum op_rule first, enum op_rule last)
{
	for (size_t i = 0; i < ARRAY_LEN(op_rows); i++)
		if (op_rows[i].tok == tok && op_rows[i].rule >= first && op_rows[i].rule <= last)
			return (enum expr_op)i;
	return OP_NONE;
}

enum expr_op op_prefix(enum tok tok)
{
	return op_find(tok, OPR_PREFIX, OPR_PREFIX);
}

enum expr_op op_postfix(enum tok tok)
{
	return op_find(tok, OPR_POSTFIX, OPR_POSTFIX);
}

enum expr_op op_binary(enum tok tok)
{
	return op_find(tok, OPR_ARITH, OPR_LOGIC);
}

bool op_assigns(enum tok tok, enum expr_op *ret)
{
	*ret = OP_NONE;
	if (tok == TOK_ASSIGN)
		return true;
	for (size_t i = 0; tok != TOK_EOF && i < ARRAY_LEN(op_rows) && !*ret; i++)
		if (op_rows[i].compound == tok)
			*ret = (enum expr_op)i;
	return *ret != OP_NONE;
}
