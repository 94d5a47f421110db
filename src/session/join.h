/* SPDX-License-Identifier: MIT */
/*
 * Joins clauses of a unit that do the same at different probes (join.c has the rules).
 *
 * A clause that is joined to another one has no code. What a firing does is the same; its records
 * have the number of the other clause, and run_clause_for() says which one it is.
 */
#pragma once

#include "session/run.h"

/* The unit has all its clauses and points, and is not yet given to an engine. */
void unit_join_clauses(struct run *run, struct session_unit *u);
