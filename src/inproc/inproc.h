/* SPDX-License-Identifier: MIT */
/*
 * The engine in the process: clauses of probes in code run in the traced process itself, which
 * jumps to them instead of trapping (doc/inproc.md).
 *
 * A session that may use it makes a struct inproc, and asks it about each unit of code before
 * engines are chosen:
 *
 *     inproc_create()          for each process that descriptions name
 *     inproc_survey()          which sites of a unit a jump can be written at
 *     inproc_reach()           which of all units one region reaches
 *     inproc_takes_clause()    which of its clauses have code there
 *     inproc_enter()           enters the process; fails where that is refused
 *
 * Sites that go there are a unit of their own (match_divide_unit()), which the engine takes. It is
 * opened once for each process; the session gives the list of all to its open()
 * (engine_opts.inprocs), and each open engine knows its own process only.
 *
 *     survey.c    files, control flow, windows: what a site lacks
 *     later.c     files that come while the session runs, and where they are when they come again
 *     copies.c    code that the process has mapped more than once
 *     children.c  children with the jumps of their parent, which are switched on, or taken out
 *     relay.c     sites that are handed to the engine in the kernel, by a uprobe in the region
 *     hidden.c    windows that breakpoints of other tools hide
 *     frames.c    where a runtime keeps the frames of its language
 *     process.c   the process: region, layout of code and data, windows written and taken back
 *     engine.c    struct engine
 *     follow.c    files that the process has unmapped, or mapped again
 *
 * Owns     struct inproc owns the hold on the process, the windows and the region; it lives from
 *          before engines are chosen until they are closed.
 * Errors   struct err *: why the process is refused, with the remedy.
 * Threads  the one of the session.
 */
#pragma once

#include <stdatomic.h>

#include "base/vec.h"
#include "native/data.h"
#include "probe/engine.h"
#include "record/layout.h"

struct gate;
struct inproc;
struct keeper;

/* Values of option inproc. */
enum inproc_mode { INPROC_OFF, INPROC_AUTO, INPROC_ALL };

extern const struct engine engine_inproc;

/* Where a runtime keeps the frames of its language, as its helper says. */
struct inproc_extent {
	uint64_t addr, size;
};
#define INPROC_UNLOCKED_MAX 64u
struct inproc_frames {
	uint64_t module, variable; /* of the thread-local variable with the context of a thread */
	bool is_proven;		   /* they need not be compared with a context */
	struct blob_frames frames; /* the context's place is found here */
	/*
	 * Only the runtime's own functions use the context, all but some: an address in its file,
	 * and these.
	 */
	uint64_t inside;
	struct inproc_extent unlocked[INPROC_UNLOCKED_MAX];
	uint32_t nunlocked;
};
struct inproc_sites {
	/* False: *ret_why says why not, a phrase that follows "places "; it is static. */
	bool (*find)(void *ctx, pid_t pid, struct inproc_frames *ret, const char **ret_why);
	/* As ndata_hooks.site(), for a process. */
	const struct ndata_site *(*site)(void *ctx, pid_t pid, uint64_t code, uint64_t at,
					 bool is_new);
	void *ctx;
};

struct inproc_opts {
	enum inproc_mode mode;
	pid_t pid;
	bool is_early;	   /* the process has not run yet: threads may have no thread block */
	bool has_children; /* children are followed */
	struct gate *gate;
	uint32_t bufsize;
	const atomic_int *is_interrupted; /* as in struct attach_opts; NULL is allowed */
	/* Asked if a clause counts under lines of a language; without functions: it knows none. */
	struct inproc_sites sites;
	/* Receives lines for debugging, without newline; may be NULL. */
	void (*debug)(void *ctx, const char *msg);
	void *ctx;
};
#define INPROC_BUFSIZE_MAX (64u << 20)

/* The processes of a session. */
struct inproc_list {
	VEC(struct inproc *) of;
};

struct inproc *inproc_create(const struct inproc_opts *opts);
pid_t inproc_pid(const struct inproc *p);
/* The one of this process; NULL: there is none. */
struct inproc *inproc_list_find(const struct inproc_list *l, pid_t pid);
void inproc_list_leave(const struct inproc_list *l); /* inproc_leave() of all */
void inproc_list_deinit(struct inproc_list *l);	     /* destroys all */
/*
 * Takes all windows back. After all units are unloaded, and while the keeper is there that
 * inproc_enter() was given. NULL is allowed.
 */
void inproc_leave(struct inproc *p);
struct patch_left;
/* Jumps that could not be taken back then (patch/patch.h). */
const struct patch_left *inproc_left(const struct inproc *p);
void inproc_destroy(struct inproc *p); /* NULL is allowed */
/*
 * Takes jumps back that a tracer has left in a process, which was killed together with its keeper;
 * *ret_n: how many. Before anything is placed there: a uprobe inside of one would be the death of
 * the process. Where there are none it reads the mappings of the process, and no more. It stops
 * early when *is_interrupted is not 0 (NULL is allowed).
 */
MUST_CHECK struct err *inproc_remove_leftovers(pid_t pid, struct gate *g,
					       const atomic_int *is_interrupted, uint32_t *ret_n);
/* Whether no jump of ours is in the process: its places may get uprobes. */
bool inproc_is_out(const struct inproc *p);
/* Whether the process was entered, and has not ended or executed another program since. */
bool inproc_is_entered(const struct inproc *p);
/* Whether it has done so since it was entered. */
bool inproc_is_gone(const struct inproc *p);
uint32_t inproc_count(const struct inproc *p); /* jumps in the process */
/* Places without their jumps, for good or for a time, each time that they were said to be. */
uint32_t inproc_nleft_out(const struct inproc *p);
/* Drops in the process, as far as they were handed over to the session's counters. */
void inproc_drops(const struct inproc *p, struct ndata_drops *ret);
/* As ndata_nbad_lives(). */
uint64_t inproc_nbad_lives(const struct inproc *p);

/*
 * Finds out at which sites of a unit a jump can be written. ret_lacks[i], a site each, in the order
 * of the unit's probes and their sites: NULL: it can; else why not, a static text.
 */
MUST_CHECK struct err *inproc_survey(struct inproc *p, const struct unit *u,
				     const char **ret_lacks);
/* A unit of code; lacks as inproc_survey() and others have filled it, NULL: all are uprobes. */
struct inproc_choice {
	const struct unit *unit;
	const char **lacks;
};
/*
 * One region serves what a jump can reach. Of a process whose code is in several parts of its
 * address space, the part with the most windows has the region, and the others have mirrors of it,
 * which inproc_enter() makes; with children that are followed, sites there get a lack. list: all
 * units that were surveyed.
 */
void inproc_reach(struct inproc *p, const struct inproc_choice *list, uint32_t n);
/*
 * A uprobe inside of a window would be the death of the process: sites whose window has one get a
 * lack, too. list: all units of code, as far as decided. Returns true if a site got one.
 */
bool inproc_keep_apart(struct inproc *p, const struct inproc_choice *list, uint32_t n);
/*
 * After inproc_enter(): sites from which no jump reaches our code, or of which that is so in code
 * that the process has mapped once more, get a lack. Returns true if a site got one.
 */
bool inproc_check_reach(struct inproc *p, const struct inproc_choice *list, uint32_t n);
/* Whether clause i of the unit can run in the process; else *ret_why says why not (static). */
bool inproc_takes_clause(const struct inproc *p, const struct unit *u, uint32_t i,
			 const struct layout *l, const char **ret_why);
/*
 * Enters the process, with room for the code of so many sites, of INPROC_LATER more if has_later,
 * for relays if there are some or may be some when it is known what the process lacks, and for what
 * the clauses use of the layout, which must live as long as p. clauses: by index, whether code of
 * it goes there, or may later. keeper: takes everything back if we are killed.
 */
MUST_CHECK struct err *inproc_enter(struct inproc *p, const struct layout *l, uint32_t nsites,
				    bool has_relays, bool has_later, const bool *clauses,
				    struct keeper *keeper);
#define INPROC_LATER 8192u
/*
 * Why clauses cannot count under lines of a language there, after it was entered, as a phrase that
 * follows "places " (static). NULL: they can, or none does.
 */
const char *inproc_lines_lack(const struct inproc *p);
/*
 * Why clause i of the unit cannot run in the process, after it was entered: what it reads was not
 * found there (static). NULL: it can. only_cpu: as engine_opts.cpu.
 */
const char *inproc_clause_lack(const struct inproc *p, const struct unit *u, uint32_t i,
			       int only_cpu);

/* ---- children (children.c) ------------------------------------------------------------------- */

/*
 * Prepares a process that descends from p, or p itself, at places where p has jumps. A child
 * that was born just now, and is held, gets a data part of its own, and its jumps are switched
 * on. Where that is not possible, or its jumps have gone since, they are taken out of its
 * memory. *ret_may: it may have uprobes there; false: it has jumps, as p has, or the memory of
 * one that has (vfork()).
 */
MUST_CHECK struct err *inproc_take_child(struct inproc *p, pid_t child, bool *ret_may);
/* The child has ended, or executed another program. */
void inproc_forget_child(struct inproc *p, pid_t child);
#define INPROC_CHILDREN_MAX 256u /* with jumps of one process, at one time */
struct inproc_children {
	uint64_t nfollowed, nfreed; /* with jumps; with uprobes in place of these */
	const char *why;	    /* the first of the latter; as p lives */
	uint32_t nplaces, nuprobes; /* of p, and so of each child */
};
struct inproc_children inproc_children_of(const struct inproc *p);
/* Notes how many places p has in the process, and by uprobes: for messages. */
void inproc_note_places(struct inproc *p, uint32_t nplaces, uint32_t nuprobes);

/* ---- code that comes while the session runs (later.c) ---------------------------------------- */

/* Whether there is code for a clause of which no unit is there yet. */
bool inproc_has_code(const struct inproc *p, uint32_t clause, const struct layout *l);
/* Whether inproc_enter() has kept room for the data of a clause. */
bool inproc_takes_later(const struct inproc *p, uint32_t clause);
/*
 * As inproc_survey(), of a unit of code that the process has mapped since it was entered: what is
 * beyond the reach or the room of the region is a lack, too.
 */
MUST_CHECK struct err *inproc_survey_later(struct inproc *p, const struct unit *u,
					   const char **ret_lacks);
/* Forgets the files of a unit that was surveyed, and is unloaded. */
void inproc_forget_unit(struct inproc *p, const struct unit *u);

/* ---- relays (relay.c) ------------------------------------------------------------------------ */

/*
 * A site is relayed if a jump can be written at it, and its clauses run in the kernel: the jump
 * leads to a stub that tests a filter (native/native.h), and then executes a nop in the region,
 * where the kernel's engine has its uprobe. Two units stand for such sites:
 *
 *     the one that relays    unit.is_relay: has the sites, and is this engine's
 *     the one that runs      has a slot of the region for each of them, and is the kernel's
 *                            (match_relay_unit())
 */

/*
 * Why a site of probe i of the unit, at which a jump can be written, is not relayed: a uprobe at it
 * sees more, or costs no more (static). NULL: it is. Before inproc_enter().
 */
const char *inproc_relay_lack(const struct inproc *p, const struct unit *u, uint32_t i,
			      const struct place_site *s, const struct layout *l);
/*
 * After inproc_enter(): whether there can be relays. *ret_why, which lives as p: why the process
 * has refused them; NULL: it was not asked.
 */
bool inproc_has_relays(const struct inproc *p, const char **ret_why);
/*
 * After inproc_enter(): whether the filter of a probe, an index in u->probes, is always true if the
 * filters of the process answer sample(): it may lack what a predicate reads.
 */
bool inproc_filter_is_true(const struct inproc *p, const struct unit *u, uint32_t probe);
/* Before units are loaded: its filters answer sample() and what belongs to it; is that so? */
void inproc_set_sampled(struct inproc *p);
bool inproc_is_sampled(const struct inproc *p);
/* From now on followed() is true of every address in the process. */
void inproc_end_samples(const struct inproc *p);
/*
 * Gives the sites of a unit that relays their slots, in the order of its probes and their sites;
 * the file lives as long as p. ret_pcs has room for a word a site: ret->pcs.
 */
void inproc_relays_place(struct inproc *p, const struct unit *u, struct relay_slots *ret,
			 uint64_t *ret_pcs);
