/* SPDX-License-Identifier: MIT */
/*
 * A unit: the clauses of all probes on one place, as an engine gets them.
 *
 * When the place is reached, the engine finds the probe from data (system call number, attach
 * cookie), and runs the unit's clauses that are enabled on the probe, in program order.
 */
#pragma once

#include "arch/spot.h"
#include "base/ints.h"
#include "probe/place.h"

struct clause_layout; /* record/layout.h */

/* What clauses see of the probe that they run for. */
struct unit_identity {
	uint32_t probe, probe_idx;
	uint32_t names[4]; /* string table offsets: probeprov and so on */
};

struct unit_clause {
	const struct clause_layout *layout;
	/* The probes it is enabled on, as probe_idx values, ascending; rank + first_epid = epid. */
	const uint32_t *probe_idxs;
	uint32_t nprobes;
	/*
	 * The derived probe that the clause sees as its own, with its names; NULL: the unit's
	 * probe. Clauses of one derived probe are neighbours.
	 */
	const struct unit_identity *as;
	uint32_t tgid; /* the clause runs in this process only, whatever its probes say; 0 = all */
	/* NULL, or each probe's rank: the clause also runs for others (session/match/join.c). */
	const uint32_t *ranks;
};

/* The rank of the clause's probe i. */
static inline uint32_t unit_clause_rank(const struct unit_clause *uc, uint32_t i)
{
	return uc->ranks ? uc->ranks[i] : i;
}

/*
 * How many of the clause's probes from i on are in arithmetic progression, with ranks that follow
 * one another.
 */
static inline uint32_t unit_clause_run(const struct unit_clause *uc, uint32_t i)
{
	const uint32_t *p = uc->probe_idxs + i;
	uint32_t n = 1;

	while (i + n < uc->nprobes && p[n] - p[n - 1] == p[1] - p[0] &&
	       unit_clause_rank(uc, i + n) == unit_clause_rank(uc, i) + n)
		n++;
	return n;
}

struct unit_probe {
	uint32_t key;
	const struct sys_view *view; /* for the VIEW kinds; NULL = the call in its own form */
	struct unit_identity id;
	uint32_t tgid;			 /* the one process it fires in, 0 = all */
	enum code_spot spot;		 /* for PLACE_UPROBE, PLACE_KFUNC */
	const struct place_code *code;	 /* for kinds that are in code */
	const struct place_timer *timer; /* for PLACE_TIMER */
	const struct place_event *event; /* for PLACE_EVENT */
	const struct place_func *kfunc;	 /* for PLACE_KFUNC */
	/*
	 * The address in the process of the site for which it fires, where that is not the address
	 * of its code: of a relay (inproc/relay.c). All probes of a unit have one, or none has.
	 */
	uint64_t relay_pc;
	uint64_t *mask;
};

/* Slots of relays, in a file: the i-th one is at (first + i) * size, for the site at pcs[i]. */
struct relay_slots {
	const struct place_file *file;
	uint32_t first, size;
	const uint64_t *pcs; /* in the process */
};

struct unit {
	const char *name; /* of the kind of place (place_traits.name), for messages */
	struct place place;
	/* Another unit of the session shares its aggregations and may interrupt it. */
	bool can_nest;
	bool is_begin_end; /* it runs in every control.state */
	/* The engine in the process can have all sites of its probes (src/inproc/inproc.h). */
	bool is_inproc;
	uint32_t inproc_pid; /* that process; 0: is_inproc is false */
	/* It relays its sites to another unit, which has the same clauses and runs them. */
	bool is_relay;
	/*
	 * It is the one that runs the clauses of such a unit, and the process has asked sample():
	 * a firing whose predicate has it is one of the sample.
	 */
	bool is_sampled;
	struct unit_clause *clauses;
	uint32_t nclauses, nwords;
	struct unit_probe *probes;
	uint32_t nprobes;
	/* The enabled ERROR clauses of the session, which run inside this unit after a fault. */
	struct unit_clause *error_clauses;
	uint32_t nerror_clauses;
	struct unit_identity error_id; /* dtrace:::ERROR */
};
