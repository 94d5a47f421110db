/* SPDX-License-Identifier: MIT */
/*
 * Lowering: turns a checked expression into a DIF object (calling conventions: dif/prog.h).
 *
 * requires:    the properties of a checked expression that check.h lists.
 * establishes: a DIF object that passes difo_verify(), and whose return type describes the recorded
 *              value.
 * Errors       D_NOREG is reported into c->diags; the result is then NULL.
 */
#pragma once

#include "d/check/check.h"

struct difo *lower_expr(struct check *c, struct expr *e);
