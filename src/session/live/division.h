/* SPDX-License-Identifier: MIT */
/*
 * The decision which sites of probes in code go to a process itself, while it is made: what
 * inproc.c and relay.c share.
 *
 * Owns     a division owns its candidates; the units are the match's.
 */
#pragma once

#include "session/live/live.h"

#define OWNER_NONE UINT32_MAX

struct gate_file;

/* In which way a site is probed. */
enum site_way {
	SITE_UPROBE,
	SITE_NATIVE,  /* its clauses run in the process */
	SITE_RELAYED, /* the process hands its firings to a uprobe of the region */
};

/* A unit of probes in code whose sites are divided. */
struct candidate {
	struct session_unit *unit;
	uint32_t nsites;
	const char **lacks;   /* by site: why it is a uprobe; NULL: a jump is written there */
	const char **relayed; /* by site: why it is relayed; NULL: it is not */
	uint32_t *owners; /* by site: the index of its process; OWNER_NONE: of none, or of all */
	uint8_t *takes;	  /* by site: enum site_way */
	/* By process, and clause of the unit: NULL: it has code there. */
	const char **refusals;
};

/* A process that descriptions name. */
struct division_process {
	struct inproc *inproc; /* NULL: nothing of it is in the process, because of lack */
	pid_t pid;
	const char *lack;
	const char *relay_lack; /* why none of its sites is relayed; NULL: some may be */
	bool has_no_slots;	/* it was entered without room for relays */
};

struct division {
	struct live *live;
	VEC(struct division_process) processes;
	VEC(struct candidate) candidates;
	uint32_t nclauses; /* of the session */
	uint32_t *roots;   /* by clause: the first of those with which it shares variables */
	bool *shares;	   /* by clause: it uses variables that bind it */
	bool *has_globals; /* by root: they are not of threads only */
	bool *spans;	   /* by root: they are not, and it has sites in several processes */
	bool *is_bound;	   /* by root, and process: its clauses must run in the kernel */
	bool *is_later;	   /* by process, and clause: it may get code that is mapped later */
	bool has_changed;
	const char *alive_lack;	   /* division_alive_lack() */
	struct hashmap *libraries; /* by name of the module: 1; 2: it stays (division_alive.c) */
	VEC(struct session_unit *) relaying; /* units of sites that are relayed */
};

/* How many sites of a process are probed in one way (inproc.c). */
uint32_t division_count(const struct division *d, uint32_t process, enum site_way way);

/* ---- live() and dead() (division_alive.c) ---------------------------------------------------- */

/* Why no clause that calls live() or dead() runs in a process; NULL: it may. A static text. */
const char *division_alive_lack(const struct division *d);
/*
 * Whether mappings that come later may be of the clause: modules of a pattern, or one that is not
 * there; for clauses that call live() or dead(), also one that may go and come again.
 */
bool division_may_get_more(const struct division *d, uint32_t clause);
/*
 * Whether the dynamic section of a file has an entry with the tag whose text is the one given, or,
 * if that is NULL, any text: that of the first one is added to ret (NULL is allowed). The owner of
 * the file may have written anything, so the answer is no beyond the first dynamic section, for a
 * section of more than 4096 entries (64 KB), and for texts of PATH_MAX bytes or more.
 */
bool dynamic_find(struct gate_file *file, int64_t tag, const char *text, struct strbuf *ret);

/* ---- relays (relay.c) ------------------------------------------------------------------------ */

void division_begin_relays(struct division *d);
/*
 * Decides about a site at which a jump can be written, and whose clauses have no code in the
 * process: probe i of the unit, its site k, site `site` of the unit. why: the reason for that. The
 * site gets it as the reason why it is relayed, or else gets a lack.
 */
void division_relay(const struct division *d, const struct candidate *c, uint32_t i, uint32_t k,
		    uint32_t site, const char *why);
/* The processes were entered: true if sites that were to be relayed cannot be. */
bool division_check_relays(struct division *d);
/*
 * The sites are decided: finds the processes whose filters answer sample(), sampled() and
 * followed() (native/native.h). That all sites of clauses with such a predicate have filters is
 * necessary, because an address of which the process has not been told is not followed there.
 */
void division_find_samples(const struct division *d);
/* Divides the unit as decided. */
void candidate_divide(struct division *d, struct candidate *c);
/*
 * Makes the units that run the clauses of relays. They are attached after all units with jumps:
 * from its first uprobe on, the process has a page of slots for itself, and sees nothing that is
 * written there later.
 */
void division_make_relays(struct division *d);
