/* SPDX-License-Identifier: MIT */
/*
 * The inside of inproc.h: files with the windows in them, the process, the code in it.
 *
 * A site is surveyed once, in the unit as the session has made it. When the session has divided its
 * units, the engine finds the sites of its own unit again, by file, offset and probe.
 *
 * Owns     struct inproc owns all of it.
 * Threads  the one of the session.
 */
#pragma once

#include "arch/stub.h"
#include "flow/flow.h"
#include "image/ehframe.h"
#include "image/segments.h"
#include "inproc/inproc.h"
#include "native/data.h"
#include "native/native.h"
#include "patch/patch.h"
#include "target/maps.h"

/* A place at which a probe fires. */
struct inproc_site {
	const struct unit *unit; /* which was surveyed */
	uint32_t probe;		 /* the index of its probe there */
	uint32_t index;		 /* of the site among all of that unit */
	uint64_t off;		 /* in the file */
	uint32_t key, rel;	 /* of its probe, and in its function */
	bool is_entry;
	const struct usdt_operands *operands; /* of a program's own probe, else NULL */
	uint64_t counter_off;		      /* the same; 0: it has no counter */
	const struct flow_window *window;     /* the last one of its windows; NULL: it has none */
	uint32_t nwindows;		      /* one at each way to a return (flow/ways.c) */
	/* These are set when the unit that the engine runs is loaded. */
	const struct unit *owner; /* that unit; NULL: the site is a uprobe */
	uint64_t func;		  /* address of the code that the stub calls; of a relay: or 0 */
	uint32_t number;	  /* and what it is passed */
	uint32_t reads, destroys; /* as those of struct native_entry */
	taddr counter;		  /* of CPU 0: the stub only counts; 0: it calls */
	uint32_t slot;		  /* of a relay: 1 + its number */
	uint32_t ntests;	  /* what its stub tests before it calls */
	struct stub_test tests[STUB_TESTS_MAX];
};

/* A part of a file that the process has mapped once more, and executes there, too (copies.c). */
struct inproc_copy {
	uint64_t lo, hi; /* addresses of the file */
	uint64_t bias;	 /* what is added to them there */
	bool is_served;	 /* a jump reaches the mirror of the region with this shift */
	uint64_t shift;
};
struct inproc_copied;

/*
 * A counter of who is at a program's own probe. The kernel increments it as long as a uprobe of
 * ours is at an instruction that is never executed (counter.c).
 */
struct inproc_counter {
	uint64_t off;	   /* of the counter, in the file */
	uint32_t idle;	   /* number of the piece of padding (flow_idle_find()), */
	uint64_t idle_off; /* and where the uprobe is, in the file */
};

/* A file of the process, and the windows in it. */
struct inproc_file {
	struct file_inode inode;
	const char *name;
	struct gate_file *opened; /* the file's owner's */
	const char *lack;	  /* why it has no windows at all; NULL: it may have some */
	struct image_segments segs;
	struct flow *flow;
	struct flow_plan plan;
	VEC(uint32_t) groups; /* of the plan's windows: those of one site; 0: it is alone */
	VEC(struct inproc_site) sites;
	VEC(struct flow_site) flow_sites; /* the same, for flow_plan() */
	VEC(uint32_t) by_off;		  /* sites by ascending offset */
	uint64_t bias;
	VEC(uint64_t) nops; /* addresses of the nops of its own probes, ascending */
	VEC(struct inproc_counter) counters;
	bool has_frames; /* somebody has asked where the frames of functions are: */
	struct unwind_lazy *lazy;
	struct unwind_rows frames; /* all of them, if lazy is NULL */
	VEC(struct inproc_copy) copies;
	bool is_late_told;		  /* that copies have come */
	bool is_unserved_told;		  /* that there is one without windows */
	uint32_t nunserved;		  /* places in such copies, at the last look */
	const struct unit *unserved_unit; /* with which they were counted */
	bool is_odd;			  /* some of its code is mapped writable or shared */
	bool is_odd_told;
	/* The region is too far away, and stubs of the file are in a mirror (reach.c): */
	bool is_apart;
	uint64_t shift;	       /* of the mirror; 0: the region itself is near */
	taddr gate;	       /* the address of its switch there */
	bool is_far;	       /* no jump reaches from here to the region, or to a mirror */
	VEC(uint64_t) uprobes; /* addresses, ascending, while windows are checked */
};

/* A mirror of the region that has stubs of files. */
struct inproc_mirror {
	uint64_t shift;
	taddr gate; /* the address of their switch */
};

struct inproc {
	struct inproc_opts opts;
	struct proc_maps maps; /* as they were when the first unit was surveyed */
	bool has_maps;
	bool has_shadow_stack; /* the processor compares return addresses: no call is moved */
	VEC(struct inproc_file *) files;
	VEC(struct inproc_copied *) copied; /* the windows in copies */
	VEC(struct inproc_mirror) mirrors;
	long code_kib; /* size of all mappings of code, when they were looked at */
	/* Code was mapped, and its jumps could not be written yet; and since when that is so. */
	bool is_behind;
	uint32_t ngroups; /* numbers of groups of windows */
	bool is_stuck;	  /* its threads did not stop at this try */
	uint32_t nstuck;  /* places for which they were to stop */
	bool is_stuck_told;
	uint64_t behind_since;
	uint32_t nleft_out; /* places that were said to be left out */
	/* These are set when the process is entered. */
	const struct layout *layout;
	struct patch *patch;
	struct patch_left left; /* when it was left */
	struct blob_plan *plan;
	struct ndata *data;
	struct keeper *keeper;
	bool has_counters;  /* some are raised */
	uint64_t blob;	    /* the address of the blob */
	uint64_t locked;    /* stub_env.locked_func */
	uint64_t code_used; /* bytes of the code part */
	bool has_tid;
	int32_t tid_off;
	bool checks_fs;		   /* threads may have no thread block */
	struct blob_frames frames; /* frames of a language; size 0: they are not known, */
	const char *no_frames;	   /* and why not (static); NULL: nobody has asked */
	struct inproc_frames said; /* of the runtime, by its helper, if they are known */
	/* children.c: those whose memory has no jumps any more; and those whose jumps fire */
	VEC(pid_t) children;
	VEC(struct inproc_child *) followed;
	struct inproc_children counts;
	char *why;
	const char *no_clock;  /* why clauses there cannot note the time (static); NULL: they can */
	enum rt_state state;   /* of the session, as set last */
	bool has_late_windows; /* some were written after the first ones */
	bool has_own_probes;   /* some probes are of this process, and not of its children */
	bool has_our_ids;      /* threads have for themselves the ids that we have for them */
	struct inproc_run *run; /* the open engine; NULL: there is none */
	bool exits;		/* clauses there may call exit(), after which nothing is counted */
	bool is_sampled;	/* filters ask sample() and what belongs to it */
	bool *clauses; /* by index: those for which there is room; NULL: it was not entered */
	struct place_file relays; /* the file of the slots */
	struct strbuf slots;	  /* their code, as it is written there */
	uint32_t nslots;	  /* given to sites */
	uint32_t ntested;	  /* of these, how many have stubs with tests */
	/* Which clauses fire on which probes there: allows() of clause and probe, ascending. */
	VEC(uint64_t) fires;
};

/* ---- survey.c -------------------------------------------------------------------------------- */

struct inproc_file *inproc_file_find(const struct inproc *p, const struct file_inode *inode);
void inproc_files_destroy(struct inproc *p);
/* Finds where the file is mapped now: its bias and copies. Why it has no windows there, or NULL. */
const char *inproc_file_place(const struct inproc *p, struct inproc_file *f);
void inproc_file_destroy(struct inproc_file *f);
/* Where the first and the last window of a file are in the process; false: it has none. */
bool inproc_file_span(const struct inproc_file *f, taddr *ret_lo, taddr *ret_hi);
/* Finds the site of a unit's probe among those that were surveyed; NULL: it was not. */
struct inproc_site *inproc_site_find(const struct inproc *p, const struct unit_probe *pr,
				     const struct place_site *s);

/* Where the lack of a site is; NULL: its unit was decided earlier, and gets no uprobes any more. */
const char **inproc_lack_of(const struct inproc_choice *list, uint32_t n,
			    const struct inproc_site *s);

/* ---- reach.c --------------------------------------------------------------------------------- */

/*
 * patch_mirror(), tried more than once: a thread that makes our calls may end in the middle of one.
 * p->is_stuck: threads do not stop.
 */
MUST_CHECK struct err *inproc_mirror(struct inproc *p, taddr lo, taddr hi, uint64_t *ret_shift);
/*
 * Finds the region or a mirror that the file's jumps reach, where the file is mapped now; the
 * process was entered. False: there is none, and the file is_far.
 */
bool inproc_file_reach(struct inproc *p, struct inproc_file *f);
/* Refuses the sites of a file that has come later, as far as they are out of reach or of room. */
void inproc_file_fit(struct inproc *p, struct inproc_file *f, const char **lacks);

/* ---- copies.c -------------------------------------------------------------------------------- */

/* Finds the copies of a file, whose bias is set. */
void inproc_copies_find(const struct inproc *p, struct inproc_file *f,
			const struct image_segments *segs);
/* Whether an address of the file is in a copy; and whether one ends near by, inside of code. */
bool inproc_is_copied(const struct inproc_file *f, uint64_t addr);
bool inproc_copies_cut(const struct inproc_file *f, uint64_t addr);
/* Whether a window is wholly in a copy. */
bool inproc_copy_has(const struct inproc_copy *c, const struct flow_window *w);
/* For how many windows of copies, of those that are there and of later ones, room is needed. */
uint32_t inproc_copies_room(const struct inproc *p, uint32_t nsites);
/* Has the region mapped near each copy of the file that has windows. */
void inproc_copies_reach(struct inproc *p, struct inproc_file *f);
bool inproc_copies_refuse(const struct inproc_file *f, const struct unit *u, const char **lacks);
/* Writes the windows of a unit into all copies. */
MUST_CHECK struct err *inproc_copies_attach(struct inproc *p, const struct unit *u,
					    const struct attach_opts *opts);
/*
 * Follows the copies of a file, which were found anew: writes what has come, and what does not
 * stand any more. is_late: probes fire already; what cannot be written now is no error then, and
 * p->is_behind.
 */
MUST_CHECK struct err *inproc_copies_follow(struct inproc *p, struct inproc_file *f,
					    const struct unit *u, bool is_late,
					    const struct attach_opts *opts);
/* Tries again to write what was held back; and whether there is such a thing. */
bool inproc_copies_are_held(const struct inproc *p);
void inproc_copies_retry(struct inproc *p);
/* How many windows a unit has in copies. */
uint32_t inproc_copies_count(const struct inproc *p, const struct unit *u);
/* Forgets them; ret_addrs: those that are in place. Returns how many these are. */
uint32_t inproc_copies_drop(struct inproc *p, const struct unit *u, taddr *ret_addrs);
void inproc_copies_deinit(struct inproc *p);
/* Whether the process may have mapped or unmapped code since this was asked last; costs little. */
bool inproc_maps_have_changed(struct inproc *p);

/* ---- engine.c -------------------------------------------------------------------------------- */

/* Stubs that are made before all of them are written together. */
struct inproc_stubs {
	uint64_t base; /* the address of the first one */
	struct strbuf code;
};
/* Where the code is that gets a window, and the memory that its stub works on. */
struct inproc_at {
	uint64_t bias;
	uint64_t shift; /* of the mirror */
	taddr switch_addr;
	bool is_mirrored; /* stubs are in a mirror, where relays have no slots */
};
/* The facts for stubs there, but for their address. */
struct stub_env inproc_stub_env(const struct inproc *p, const struct inproc_at *at);
struct inproc_made {
	bool is_made; /* false: the window has nothing of the unit */
	struct patch_window window;
	uint32_t nleft; /* relays of the unit that were left out */
};
/* Makes the stub of a window, with the slots of its relays, if it belongs to the unit. */
MUST_CHECK struct err *inproc_window_make(struct inproc *p, const struct inproc_file *f,
					  const struct flow_window *w, const struct unit *u,
					  const struct inproc_at *at, struct inproc_stubs *to,
					  struct inproc_made *ret);
/* Tries once more to write those that are PATCH_HELD, as is done so often, now and then. */
#define INPROC_RETRIES 20u
/* Notes that windows cannot be written because the threads do not stop; e is destroyed. */
void inproc_put_off(struct inproc *p, uint32_t nwindows, struct err *e);
/* Whether jumps could not be written for so long that it is to be said. */
#define INPROC_BEHIND_NS 10000000000ull
static inline bool inproc_is_late(const struct inproc *p)
{
	return p->behind_since && now_ns() - p->behind_since >= INPROC_BEHIND_NS;
}
MUST_CHECK struct err *inproc_held_write(struct inproc *p, const struct patch_window *w, uint32_t n,
					 enum patch_state *states);

/* ---- children.c ------------------------------------------------------------------------------ */

/* The state of the session changes in all children that are followed. */
void inproc_children_set(struct inproc *p, enum rt_state state);
/* Whether exit() was called in one of them, or a record has ended the run. */
bool inproc_children_exit(const struct inproc *p);
/* Corrects their clocks; sweeps: and frees what threads have left that have ended. */
void inproc_children_tend(const struct inproc *p, bool corrects, bool sweeps);
/* Forgets those that have ended, and of which all records were read: after each drain. */
void inproc_children_reap(struct inproc *p);
/* When the process was left: nobody is changed any more. */
void inproc_children_leave(struct inproc *p);
void inproc_children_destroy(struct inproc *p);
/* Whether jumps are still to be written, in the process or in some code of it. */
bool inproc_windows_are_due(const struct inproc *p);

/* ---- later.c --------------------------------------------------------------------------------- */

/* Reads the mappings of the process again. */
MUST_CHECK struct err *inproc_maps_renew(struct inproc *p);

/* ---- relay.c --------------------------------------------------------------------------------- */

void inproc_relays_deinit(struct inproc *p);
/* The address of the slot of a site. */
taddr inproc_slot_addr(const struct inproc *p, const struct inproc_site *s);
/* Makes the slot of a site, for a stub that goes on at this address. */
MUST_CHECK struct err *inproc_slot_make(struct inproc *p, const struct inproc_site *s,
					taddr goes_on);
MUST_CHECK struct err *inproc_slots_write(struct inproc *p);

/* ---- process.c ------------------------------------------------------------------------------- */

/* The facts for native_target_lack(); all CPUs are probed. The process was entered. */
struct native_target inproc_target(const struct inproc *p);
/* The address at which inproc_place() will place the next code. */
uint64_t inproc_place_next(const struct inproc *p);
/* Places code in the region; *ret: its address there. */
MUST_CHECK struct err *inproc_place(struct inproc *p, const void *code, size_t size, uint64_t *ret);
/* Whether a record may be of the clause and the probe: struct ndata_hooks. */
bool inproc_allows(void *ctx, uint32_t clause, uint32_t probe);
/* Adds what a unit fires. */
void inproc_note_fires(struct inproc *p, const struct unit *u);
/* A line for debugging; e may be NULL, and stays the caller's. */
void inproc_debug(const struct inproc *p, const char *what, const struct err *e);

/* ---- frames.c -------------------------------------------------------------------------------- */

struct halt;

/*
 * Finds where the threads of a process, which are held, have the frames of a language, and compares
 * what is said of them with all threads that have some: p->frames, or p->no_frames.
 */
void inproc_frames_find(struct inproc *p, const struct halt *h);
/*
 * Why clause i of the unit cannot read them, at some place that it has (static); NULL: it can. They
 * are known.
 */
const char *inproc_frames_lack(const struct inproc *p, const struct unit *u, uint32_t i);

/* ---- hidden.c -------------------------------------------------------------------------------- */

/*
 * Whether breakpoints of other tools hide windows at these addresses, where functions begin with a
 * jump of the form of ours; *ret says so then.
 */
bool inproc_jumps_hidden(pid_t pid, const taddr *addrs, uint32_t n, struct strbuf *ret);
/*
 * Whether some of the jumps at these addresses, where functions are nothing but a return, are gone
 * because of such a breakpoint; *ret says so then.
 */
bool inproc_returns_lost(pid_t pid, const taddr *addrs, uint32_t n, struct strbuf *ret);
/*
 * Whether other tools have breakpoints at these addresses, which are the instructions of tails of
 * windows that are in place; *ret says so then.
 */
bool inproc_tails_hidden(pid_t pid, const taddr *addrs, uint32_t n, struct strbuf *ret);

/* ---- operand.c ------------------------------------------------------------------------------- */

/* Reads where the nops of the file's own probes are; returns why it has no windows, or NULL. */
const char *inproc_nops_read(struct inproc_file *f, struct gate_elf *g);
/*
 * Why arguments of a program's own probe cannot be read in the process; NULL: they can. args: bit
 * n: argument n.
 */
const char *inproc_operands_lack(struct inproc_file *f, const struct inproc_site *s, uint32_t args);
void inproc_operands_deinit(struct inproc_file *f);

/* ---- counter.c ------------------------------------------------------------------------------- */

/* Finds places for the counters of a file's sites; sites without one get a lack. */
void inproc_counters_place(struct inproc *p, struct inproc_file *f, const char **lacks);
/* Raises the counters of the unit's sites, which were surveyed. */
MUST_CHECK struct err *inproc_counters_raise(struct inproc *p, const struct unit *u);
/* Takes back what inproc_counters_raise() has done; waits until it is done. */
void inproc_counters_drop(struct inproc *p);
