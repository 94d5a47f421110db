/* SPDX-License-Identifier: MIT */
/*
 * Which units of a session must run in one engine: the rule.
 *
 * Aggregations are added up, records are put in order by their times, and exit() ends the session
 * wherever it is called; so the same clause may run in several engines, for different probes. What
 * engines do not share is memory of clauses. Together stay
 *
 * - units whose clauses use the same global or thread-local variable, also an associative array;
 * - units with speculations: their ids are given out by one engine;
 * - units with live() and dead(): what is alive is in the table of one engine.
 *
 * Thread-local variables of a unit of the engine in the process, and what is alive there, are not
 * shared with other units: it is made so that no other one fires in the same process and uses them
 * (live/inproc.c).
 *
 * Clause-local variables last for one firing, which belongs to one unit. The ERROR clauses run
 * inside every unit, so a variable of theirs binds all units. Units that relay run no clause
 * (unit.is_relay), and are bound to no other.
 *
 * Threads  that of the caller.
 */
#pragma once

#include "probe/unit.h"
#include "record/layout.h"

/* Whether a clause uses memory that binds it to the engine of others, also of itself elsewhere. */
bool clause_shares(const struct prog_clause *c, const struct layout *l);
/* Whether the clause calls live() or dead(). */
bool clause_is_about_alive(const struct prog_clause *c);
/* Whether some of that memory is not of one process, with its threads and what is alive there. */
bool clause_shares_globals(const struct prog_clause *c, const struct layout *l);
/* ret[i]: the least number of a unit that must run in the engine of unit i, at most i itself. */
void units_find_groups(const struct unit *const *units, uint32_t n, const struct layout *l,
		       uint32_t *ret);
