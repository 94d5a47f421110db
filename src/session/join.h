/*
 * Joins clauses of a unit that do the same at different probes (join.c has the rules).
 *
 * A clause that is joined to another one has no code and no enabled-probe id in records; what a
 * firing does is the same.
 */
#pragma once

#include "session/run.h"

/* The unit has all its clauses and points, and is not yet given to an engine. */
void unit_join_clauses(struct session_unit *u);
