/* SPDX-License-Identifier: MIT */
/*
 * The inside of match.h: units, and which clauses run in them.
 *
 * Owns     units belong to struct match, until match_undo(); they point to clauses and probes,
 *          which do not.
 * Errors   none: what the user has got wrong was found before.
 */
#pragma once

#include "session/match/match.h"

/* Returns true if the clause is enabled on the probe of this id, from the beginning. */
bool clause_has_probe(const struct session_clause *sc, uint32_t id);
/* Returns the process that a clause is about, if one of its probes fires in others, too; else 0. */
uint32_t clause_process(const struct prog_clause *cl, struct probe *const *probes, uint32_t n);

/* ---- units.c -------------------------------------------------------------------------------- */

/* Makes an empty unit of a place, behind the others of the match. */
struct session_unit *unit_create(struct match *m, const struct place *place);
/* Frees a unit that the match has forgotten. */
void unit_destroy(struct session_unit *u);
/* Enables the unit's last clause on a point of a probe; idx: the probe's number. */
void unit_enable(struct match *m, struct session_unit *u, const struct probe *pr, uint32_t idx,
		 const struct probe_point *pt);
/* Fills in the members of the unit that an engine reads. */
void unit_finish(struct match *m, struct session_unit *u);
/* Returns true if another unit that updates the same aggregation can interrupt u. */
bool unit_can_nest(const struct match *m, const struct session_unit *u);

/* ---- join.c --------------------------------------------------------------------------------- */

/*
 * Joins clauses of a unit that do the same at different probes (join.c has the rules). The unit has
 * all its clauses and points, and is not yet given to an engine.
 *
 * A clause that is joined to another one has no code. What a firing does is the same; its records
 * have the number of the other clause, and match_clause_for() says which one it is.
 */
void unit_join_clauses(struct match *m, struct session_unit *u);
/* Removes the unit's clauses that are gone (by number), and their bits in its points' masks. */
void unit_pack_clauses(struct session_unit *u, const bool *gone);
