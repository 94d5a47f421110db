/* SPDX-License-Identifier: MIT */
/*
 * What clauses are before anything fires: the probes that they are enabled on, numbers for both,
 * and units, which an engine can load. It is data: no kernel and no option is asked.
 *
 *     match_add_program()    the clauses of a program, enabled or not
 *     match_find_probes()    the probes of an enabled program's clauses (clauses.c)
 *     match_number()         numbers of probes and names
 *     match_note_used()      the clauses that fire, or may fire later
 *     match_make_layout()    the layout of their data, with numbers of enablings
 *     match_make_units()     the clauses of each place (units.c), joined (join.c)
 *     match_make_late_unit() a unit of probes that are added while the session runs (added.c)
 *     match_divide_unit()    a unit's sites in two units, for two engines (divide.c)
 *     match_relay_unit()     the unit to which another one relays its sites (relay.c)
 *     units_find_groups()    which share memory, so that one engine must run them (together.h)
 *
 * probe_idx    index of a probe among the session's enabled ones, ascending probe id.
 * epid         number of an enabling, from 1: in program order, within a clause by ascending probe
 *              id. A clause has first_epid, to which a probe's rank in the clause's list is added.
 * unit         all clauses of the probes on one place. ERROR clauses are in every unit, because
 *              they run inside it after a fault.
 *
 * Owns     clauses, units, the string table and the layout, until match_undo(); the probes are the
 *          registry's, the programs the compiler's.
 * Errors   struct err *, of a provider that cannot list its probes.
 * Threads  one.
 */
#pragma once

#include "base/hashmap.h"
#include "probe/probe.h"
#include "probe/unit.h"
#include "record/layout.h"

struct engine_run; /* an engine that is open, and a unit in it (probe/engine.h) */
struct loaded;

struct session_unit {
	struct unit unit;
	const struct place_traits *traits; /* traits of unit.place */
	struct engine_run *engine;	   /* in which it is, or is to be, loaded; NULL: none yet */
	struct loaded *loaded;		   /* NULL until the unit is loaded */
	VEC(struct unit_clause) clauses;
	VEC(struct unit_probe) points;
	struct hashmap *by_key;	 /* key -> index in points, + 1 */
	struct hashmap *by_call; /* the same for keys without variants */
	/* place_site.rel of the operands of its points -> not NULL; how many operands they have */
	struct hashmap *by_operands;
	uint32_t noperands;
	struct arena *arena; /* the match's, or its own if the unit was added later */
	uint32_t group;	     /* group of its attachments; 0: the unit was there at the start */
	/* Of a unit in a process: the kernel's unit with the same sites, for its children; NULL. */
	struct session_unit *twin;
	bool is_for_children; /* it is such a one */
	uint32_t ntaken; /* probes of the quota (kernel/quota.h) that it has; 0: not attached */
	bool is_void;	 /* its twin has its sites in all processes: it is not loaded any more */
};

/* A probe on which a clause was enabled while the session runs. */
struct late_enabling {
	uint32_t probe, epid;
};

/* A clause of any compiled program, and the probes it is enabled on. */
struct session_clause {
	struct prog_clause *clause;
	struct probe **probes; /* ascending id; the registry's */
	uint32_t *probe_idxs;  /* their indices in match.enabled, ascending */
	uint32_t n;
	struct probe **sources; /* of a derived clause: the probes on whose places it runs */
	uint32_t nsources;
	bool is_expanded; /* its description also means views of calls by other names */
	bool is_open;	  /* probes may be added while the session runs (arrivals.h) */
	VEC(struct late_enabling) late; /* the probes that were added */
	VEC(uint32_t) joined;		/* clauses for whose probes it runs, too (join.c) */
};

/* Returns true if the clause has probes, or may get some later. */
static inline bool clause_counts(const struct session_clause *sc)
{
	return sc->n || sc->is_open;
}

/* Probes that were added to a clause while the session runs, ascending id. */
struct late_clause {
	uint32_t clause;
	struct probe_list list;
};

/* The numbers that a unit for added probes is given. */
struct late_numbers {
	uint32_t idx, epid; /* the first free probe_idx and EPID; both are advanced */
	uint32_t group;	    /* group of the unit's attachments */
};

struct match {
	/* These belong to the handle. */
	struct arena *arena;
	struct probes *probes;

	VEC(struct session_clause) clauses; /* of all programs; index = prog_clause.index */
	struct prog_clause **used;	    /* those of which clause_counts() is true */
	uint32_t nused;
	struct probe **enabled; /* by probe_idx, ascending id */
	uint32_t nenabled;
	struct strtab *strtab;
	struct layout *layout;
	VEC(struct session_unit *) units;
};

void match_init(struct match *m, struct arena *a, struct probes *probes);
/* Frees units and names; all units were unloaded before. */
void match_undo(struct match *m);
void match_deinit(struct match *m);

/* ---- clauses and probes: clauses.c ---------------------------------------------------------- */

void match_add_program(struct match *m, const struct prog *prog);
/*
 * The level of privilege that the session lacks for a probe that a provider places; 0: none. Probes
 * that are declared in D are what the probes are that they are made of (d/check/privileges.c).
 */
uint32_t probe_lacks(const struct provider_env *env, const struct probe *pr);
/* Errors: a probe for which the session lacks a level; the compiler has told of it with a place. */
MUST_CHECK struct err *match_find_probes(struct match *m, const struct prog *prog);
void match_number(struct match *m);
void match_note_used(struct match *m);
void match_make_layout(struct match *m, const struct prog_vars *vars, const struct prog_aggs *aggs,
		       const struct layout_opts *opts);
/*
 * Returns the clause that has run at a probe, where a record has `clause`: itself, or one that was
 * joined to it.
 */
uint32_t match_clause_for(const struct match *m, uint32_t clause, uint32_t probe);
/* Returns the EPID of that clause on the probe; 0: it is not enabled there. */
uint32_t match_epid(const struct match *m, uint32_t clause, uint32_t probe);
/* Returns the clause of an EPID on a probe. */
uint32_t match_clause_of(const struct match *m, uint32_t epid, uint32_t probe);
/* Returns true if a probe may fire in many processes, with the id of each in its name. */
bool match_has_pids(const struct match *m);

/* ---- what clauses do: facts.c --------------------------------------------------------------- */

/* These ask the clauses that match_note_used() has found. */
/* Returns true if one reads this built-in variable, which may need fields of the kernel. */
bool match_reads(const struct match *m, uint32_t var);
/* Returns true if one reads memory of processes. */
bool match_reads_user(const struct match *m);
/* Returns true if one calls a subroutine with such an effect. */
bool match_calls(const struct match *m, enum subr_fx effect);
bool match_is_destructive(const struct match *m);

/* ---- units: units.c, join.c, added.c, divide.c, relay.c ------------------------------------- */

void match_make_units(struct match *m);
/*
 * Makes the unit of added probes, of n clauses: they are in code of processes, on places of one
 * kind.
 */
struct session_unit *match_make_late_unit(struct match *m, const struct late_clause *late,
					  uint32_t n, struct late_numbers *numbers);
/*
 * Divides a unit of code that no engine has yet, for the engine in the process pid. takes: a byte
 * for each site of its points, in their order; 1: it goes there. Returns the unit with these sites,
 * of which unit.is_inproc is true: a new one, or u itself if it has no others; NULL: there are
 * none.
 */
struct session_unit *match_divide_unit(struct match *m, struct session_unit *u,
				       const uint8_t *takes, uint32_t pid);
/* Makes another unit with the same sites, clauses and numbers, which is not in the process. */
void match_make_twin(struct match *m, struct session_unit *u);
/*
 * Makes the unit that runs the clauses of one that relays, which match_divide_unit() has returned
 * and unit.is_relay is set of. Its sites are the slots of those, in their order. Each is a probe of
 * the unit with a key of its own; identity, clauses and arguments are those of the site.
 */
struct session_unit *match_relay_unit(struct match *m, const struct session_unit *of,
				      const struct relay_slots *slots);
/* Takes a unit that was added later, and is unloaded, out of the match, and frees it. */
void match_drop_unit(struct match *m, struct session_unit *u);
