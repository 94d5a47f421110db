/* SPDX-License-Identifier: MIT */
/*
 * Arguments of programs' own probes: operands of notes (usdt/operand.h) as values in the frame that
 * the stub has saved.
 */
#pragma once

#include "native/gen.h"
#include "usdt/operand.h"

/* Where the value of argument n is, or what it is; RA_UNUSED: operand_load() computes it. */
struct ra_loc operand_home(const struct usdt_operands *ops, uint32_t n);
/* rax = the value of argument n; destroys rcx. */
void operand_load(struct ngen *g, const struct usdt_operands *ops, uint32_t n);
