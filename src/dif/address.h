/* SPDX-License-Identifier: MIT */
/*
 * Whether a program records where D's own memory lies.
 *
 * Strings, structures and what alloca() and copyin() return are addresses of the kernel to a
 * program. A session that may not know such addresses may use them, and add to them, but it
 * must not turn them into data: record them, store them in memory, compare them with numbers,
 * or pass them on as numbers, use them as keys, divide by them, ask whether a sum or difference
 * with one is 0, look into the process at one, or let a number that it has calculated of one (by a
 * shift, a mask, a difference) decide anything. No variable that holds an address lies
 * where a pointer reads: rt/mem.c, is_own(). The answer is found by following registers and
 * variables through the DIF of all clauses, as own.h does; what a branch decides is followed no
 * further, which is why comparisons count.
 *
 * Errors   none.
 */
#pragma once

#include "dif/prog.h"

/*
 * Whether a clause does so. *ret_span: the source offset of what does (d/text/source.h), or 0;
 * *ret_how: a phrase for a message, "recorded".
 */
bool addresses_are_told(struct prog_clause *const *clauses, uint32_t nclauses, uint32_t *ret_span,
			const char **ret_how);
