/* SPDX-License-Identifier: MIT */
/*
 * Whose text a string is: the program's own, or that of others.
 *
 * A string that D code computes is the program's own if nothing but constants of the program has
 * gone into it: "\033[1m", a choice between two constants, a variable to which constants alone are
 * assigned. All other strings may have come from a traced process or the kernel (execname, paths,
 * copied memory), and may hold anything. Two rooms ask: render/ shows the program's own text as it
 * is and escapes the rest on terminals, and d/ warns of commands for the shell that others have
 * written.
 *
 * The answer is found by following registers and variables through the DIF of all clauses, until
 * nothing new is found. What it cannot follow (memory, members, arrays) belongs to others.
 *
 * Owns     the result refers to the clauses that it was made of.
 * Errors   none.
 */
#pragma once

#include "dif/prog.h"

struct own_texts;

struct own_texts *own_texts_create(struct prog_clause *const *clauses, uint32_t nclauses);
void own_texts_destroy(struct own_texts *t); /* NULL is allowed */
/*
 * Whether the value that the object yields is the program's own: a string that is made of its
 * constants and of texts that D makes of numbers (lltostr(), inet_ntop()), or a constant number.
 */
bool own_texts_has(const struct own_texts *t, const struct difo *d);
