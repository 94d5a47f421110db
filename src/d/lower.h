/*
 * Lowering: a checked expression to a DIFO (calling conventions: dif/prog.h).
 *
 * requires:    what check.h lists.
 * establishes: a DIFO that passes difo_verify(); its ret type describes the recorded value.
 * Errors       D_NOREG into c->diags, then NULL.
 */
#pragma once

#include "d/check.h"

struct difo *lower_expr(struct check *c, struct expr *e);
