/* SPDX-License-Identifier: MIT */
/*
 * Engines: attach clauses to the places of their probes, run them there, and record.
 *
 * A session opens an engine with the layout of everything that its clauses read and write, loads
 * its units (probe/unit.h), attaches them, and drains what they have recorded; a snapshot reads the
 * aggregations. The first engine is the kernel (bpf/engine_bpf.c). Records, keys and values have
 * one format in all engines, which the layout (record/layout.h) and record/format.h describe.
 *
 * To add an engine:
 * 1. a room for it above bpf/ in the list of rooms, with a file that ends in one const struct
 *    engine; its run begins with a struct engine_run, which open() fills;
 * 2. takes() says which units it can run, and why not; a kind of place of its own gets a row of
 *    traits (probe/place.c);
 * 3. a row in engine_list (session/engines/engines.c), before the engines that it is preferred
 *    to;
 * 4. a test that runs the same scripts in it and in another engine, and in both at once:
 *    tests/unit/session/engine.c.
 *
 * A session runs in as many engines as its units need: each unit goes to the first engine of the
 * list that takes it and all units with which it shares memory (session/match/together.h). The
 * engines know nothing of each other. They have one control block, so that exit() in one of them
 * ends the session; records are merged by time (consume/merge.h), aggregations are added up
 * (agg/merge.h).
 *
 * Owns     a run owns everything that its units need; a loaded unit belongs to its run.
 * Errors   struct err *: what the engine refuses, with the remedy.
 * Units    sizes in bytes, times in ns of CLOCK_MONOTONIC.
 * Threads  a run belongs to one thread.
 */
#pragma once

#include <stdatomic.h>
#include <stdio.h>

#include "base/str.h"
#include "probe/unit.h"
#include "record/format.h"

struct attachments;
struct engine;
struct inproc_list;
struct layout;
struct remains;
struct stack_tables;
struct syms;
struct privileges; /* privilege/privilege.h */
struct loaded;	   /* a unit that is loaded: the engine's own */

/* ---- running --------------------------------------------------------------------------------- */

struct engine_opts {
	const struct layout *layout;
	/* The session's control block; NULL: this engine makes it. */
	struct rt_control *control;
	/* The units of the session, for open() alone; others may come while it runs. */
	const struct unit *const *units;
	uint32_t nunits;
	struct remains
		*remains; /* what the session is over (remains/remains.h); NULL: the system */
	/* Of the engine in the process (inproc/inproc.h): all processes, or NULL; and which one. */
	const struct inproc_list *inprocs;
	uint32_t process;
	/* Whose processes probes fire in, and which memory is read; NULL: all. */
	const struct privileges *privileges;
	struct syms *syms;    /* what names addresses (sym/sym.h), until the run is closed */
	uint32_t bufsize;     /* size of the buffer of each CPU; may be rounded up */
	uint32_t strtab_room; /* for strings that are added while probes fire */
	int cpu; /* probes other than BEGIN and END fire on this CPU only; -1 = on all */
	bool stops_when_full; /* a record that finds no room ends the run */
	/*
	 * User stacks are walked with unwind tables of at most so many bytes (unwind/tables.h); 0:
	 * by frame pointers, or as the engine likes.
	 */
	uint64_t tables_size;
	FILE *dump; /* receives a listing of the code, or NULL */
	FILE *log;  /* receives the reasons when a unit is refused, or NULL */
	/* Receives lines for debugging, without newline; may be NULL. */
	void (*debug)(void *ctx, const char *msg);
	void *ctx;
};

/* An engine that a session has opened. These members stay the same until it is closed. */
struct engine_run {
	const struct engine *engine;
	uint32_t process; /* it runs units of this process only (unit.inproc_pid); 0: of all */
	/*
	 * The state of the session, and counters of lost records; running clauses use both. It is
	 * the same memory in all engines of a session.
	 */
	struct rt_control *control;
	uint32_t ncpus; /* possible CPUs: each has counters, and states of aggregations */
	/*
	 * wake_fds[cpu] becomes readable when a clause wants its records to be read at once; -1:
	 * the CPU was not there when the engine was opened. wake_fd serves such CPUs, or is -1.
	 */
	const int *wake_fds;
	int wake_fd;
	uint32_t bufsize;      /* the actual size of each CPU's buffer */
	uint32_t scratch_size; /* scratch memory of a firing */
	const uint64_t
		*spec; /* words of the speculations (record/format.h); NULL = there are none */
	void *aggs;    /* argument ctx of the functions of engine->aggs */
	/* What walks of user stacks need (unwind/tables.h); NULL: nothing, or there are none. */
	const struct stack_tables *tables;
};

/* Groups of attached timers: those that fire on one CPU, whichever it is; and those of each CPU. */
#define TIMERS_SINGLE  1
#define TIMERS_OF(cpu) ((cpu) + 2)

struct attach_opts {
	int cpu;	     /* probes fire on this CPU only; -1 = on all */
	uint32_t max_places; /* how many instructions may be probed at once */
	bool has_children;   /* children are attached as well: add_child() */
	/*
	 * attach(): the process itself has the unit's clauses by another engine, so it is attached
	 * by add_child() only. add_child(): units of that kind are left out.
	 */
	bool only_children;
	uint64_t child_start; /* add_child(): as in struct proc_id; 0: whoever has the id */
	uint32_t group;	      /* detach() detaches a group together; 0: attached until the end */
	uint32_t timers;      /* of a unit of timers: attaches this group only; 0: all of them */
	/* Set by a signal: attaching may stop, and leave the rest. */
	const atomic_int *is_interrupted;
	/* Receives messages for the user, without newline; may be NULL. */
	void (*notice)(void *ctx, const char *msg);
	void *notice_ctx;
};

/* ---- records --------------------------------------------------------------------------------- */

/* Handles a record. next: the record after it on the same CPU, or NULL. An error ends the drain. */
typedef struct err *engine_record_f(void *ctx, const struct rt_rec *rec, uint32_t len, uint32_t cpu,
				    const struct rt_rec *next);
#define ENGINE_EVERYTHING UINT64_MAX

/* ---- aggregations ---------------------------------------------------------------------------- */

/*
 * Called for an element of a map: its key, and the values of ncpus CPUs, elem_map_stride() apart.
 * If they are of several engines (agg/merge.h), ncpus is a multiple of the number of CPUs.
 * The key of an array's element is its u32 index.
 */
typedef void agg_each_f(void *arg, const uint8_t *key, const uint8_t *values, uint32_t ncpus);

/* The tables beside the aggregations: a key contains only the hash of a string or a stack. */
enum agg_side {
	AGG_SIDE_STRINGS,
	AGG_SIDE_STACKS, /* struct rt_stack */
	AGG_NSIDES,
};

/* Called for an entry of such a table: the text of a key string, or a key stack. */
typedef void agg_text_f(void *arg, uint64_t hash, const char *text, size_t len);

/* Called for an entry of the table of live(). */
typedef void agg_alive_f(void *arg, const struct rt_live_key *key, const struct rt_live *entry);

/* Called for a stack that a variable has, by its hash; it may be called several times for one. */
typedef void agg_root_f(void *arg, uint64_t hash);

/* The functions by which aggregations are read and changed while probes fire. */
struct agg_io {
	/*
	 * Calls f for each element. map: index in layout.agg_maps. f may get the same key twice
	 * only when the engine keeps it in two elements.
	 */
	struct err *(*each)(void *ctx, uint32_t map, agg_each_f *f, void *arg);
	/*
	 * Deletes an element and returns the values that *ret_ncpus CPUs had, which are valid until
	 * the next call; 0 CPUs if the element did not exist. The element of an array is not
	 * deleted.
	 */
	struct err *(*take)(void *ctx, uint32_t map, const void *key, const uint8_t **ret_values,
			    uint32_t *ret_ncpus);
	/* Returns the values of an element as take() does, without deleting it. */
	struct err *(*peek)(void *ctx, uint32_t map, const void *key, const uint8_t **ret_values,
			    uint32_t *ret_ncpus);
	/*
	 * Adds an element that has the value on one CPU and zero on the others; *ret_done is false
	 * if the element exists. The element of an array is overwritten.
	 */
	struct err *(*put)(void *ctx, uint32_t map, const void *key, const uint8_t *value,
			   bool *ret_done);
	/* Appends the text of a key string, found by its hash; false when there is none. */
	bool (*string)(void *ctx, uint64_t hash, struct strbuf *out);
	/* Appends a key stack, found by its hash, as struct rt_stack; false: none. May be NULL. */
	bool (*stack)(void *ctx, uint64_t hash, struct strbuf *out);
	/* Calls f for as many entries as can be read at once. May be NULL. */
	void (*texts)(void *ctx, enum agg_side side, agg_text_f *f, void *arg);
	/* Deletes an entry, if there is one. NULL: entries are kept for ever. */
	void (*forget)(void *ctx, enum agg_side side, uint64_t hash);
	/* Returns how many entries the table has room for; 0: there is no table. May be NULL. */
	uint32_t (*room)(void *ctx, enum agg_side side);
	/*
	 * Finds what two numbers mean that a process has stored in place of lfile and lline
	 * (agg_key_site()): *ret_file is valid until the next each(). False: they are no such
	 * numbers, but a text's hash and a line. NULL: the engine has none.
	 */
	bool (*site)(void *ctx, uint64_t code, uint64_t at, const char **ret_file,
		     uint64_t *ret_line);
	/* Calls f for each entry of the table of live(). NULL: the engine has none. */
	struct err *(*alive)(void *ctx, agg_alive_f *f, void *arg);
	/*
	 * Deletes an entry, unless it is a younger one by now. False: it stays, and alive() has it
	 * again. NULL: all stay.
	 */
	bool (*bury)(void *ctx, const struct rt_live_key *key, uint64_t time);
	/* Counts how often an aggregation or a table had no room until now. May be NULL. */
	uint64_t (*drops)(void *ctx);
	/*
	 * Calls f for each stack that a variable has; false: not all could be read. NULL: no
	 * variable has any.
	 */
	bool (*roots)(void *ctx, agg_root_f *f, void *arg);
	/* Counts the stacks that became values and were new in their table. May be NULL. */
	uint64_t (*made)(void *ctx);
};

/* ---- engines --------------------------------------------------------------------------------- */

struct engine {
	const char *name;
	/*
	 * Returns true if the engine can run the unit; else *ret_why says what it cannot do, for a
	 * message. It is asked before the engine is opened.
	 */
	bool (*takes)(const struct unit *u, const char **ret_why);
	/*
	 * It works only with a control block that it has made: it is opened before the others. In a
	 * session there is one such engine at most.
	 */
	bool makes_control;
	/* It is opened only beside an engine that makes the control block. */
	bool needs_control;
	/*
	 * It is opened once for each process that this returns, for i from 0 on; 0: there are no
	 * more. NULL: it is opened once, for all.
	 */
	uint32_t (*process)(const struct engine_opts *opts, uint32_t i);
	/* Into how many maps elements may be divided (layout_opts.max_maps). NULL: any number. */
	uint32_t (*max_maps)(uint32_t ncpus);
	/* Makes room for everything in the layout. ENOMEM, E2BIG: a smaller bufsize may work. */
	struct err *(*open)(const struct engine_opts *opts, struct engine_run **ret);
	/* Frees everything. All units were detached before. */
	void (*close)(struct engine_run *r);

	/*
	 * Generates and loads the code of a unit. The unit must live as long as it is loaded.
	 * *ret_span: where in the source the cause of an error is; 0 = not known.
	 */
	struct err *(*load)(struct engine_run *r, const struct unit *u, struct loaded **ret,
			    uint32_t *ret_span);
	/*
	 * The session has changed control->state. NULL: the engine's clauses read it there. An
	 * engine whose clauses read a copy sets control->state to EXITING when exit() has changed
	 * the copy.
	 */
	void (*set_state)(struct engine_run *r, enum rt_state state);
	/* After the first units are loaded: prepares for drain(). */
	struct err *(*ready)(struct engine_run *r);
	/* After the last attach() of a unit: frees what only attach() needs. */
	void (*settle)(struct engine_run *r, struct loaded *l);
	/* NULL is allowed. */
	void (*unload)(struct engine_run *r, struct loaded *l);
	/* Attaches a unit; adds to ret what must be closed to detach the unit. */
	struct err *(*attach)(struct engine_run *r, struct loaded *l,
			      const struct attach_opts *opts, struct attachments *ret);
	/*
	 * How often places of the unit were reached and no clause ran, because something else ran
	 * that may not be interrupted by it. a: what attach() has added, not closed yet; of all
	 * units together, with the firings that left a clause of this session alone.
	 */
	uint64_t (*missed)(struct engine_run *r, const struct loaded *l);
	uint64_t (*links_missed)(struct engine_run *r, const struct attachments *a);
	/*
	 * Fires some of the probes that are left to fire, and sets the state EXITING behind the
	 * last one: they fire in this function alone. NULL: they fire by themselves.
	 */
	struct err *(*run)(struct engine_run *r);
	/* Fires a probe that only the session itself fires (BEGIN, END). */
	struct err *(*fire)(struct engine_run *r, struct loaded *l, uint32_t key);
	/* Disables the unit's probes in a process, wherever they are attached. */
	struct err *(*drop_process)(struct engine_run *r, struct loaded *l, uint32_t tgid);
	/*
	 * Disables the unit's probes at once, and takes off what was attached with opts->group some
	 * time after the return.
	 */
	struct err *(*detach)(struct engine_run *r, struct loaded *l, struct attachments *a,
			      uint32_t group);
	/*
	 * These serve the children of a process whose units were attached with opts->has_children.
	 * add_child() attaches to a child, or to the process itself, what is attached to the
	 * process or its other children. forget_child() is called when a child has ended, or when
	 * its links are dead. NULL, as the two below may be: the engine attaches nothing to
	 * processes.
	 */
	struct err *(*add_child)(struct engine_run *r, struct attachments *a, pid_t pid,
				 pid_t child, const struct attach_opts *opts);
	void (*forget_child)(struct engine_run *r, struct attachments *a, pid_t child);
	/*
	 * Children that are not attached inherit breakpoints with the memory. nplaces() returns at
	 * how many instructions of the process; sweep() takes them out of the children.
	 */
	uint32_t (*nplaces)(struct engine_run *r, const struct attachments *a, pid_t pid);
	struct err *(*sweep)(struct engine_run *r, struct attachments *a, pid_t pid);
	/*
	 * The process of the run has mapped or unmapped files, or may have: what is attached at
	 * addresses goes to where the code is now. NULL: the engine attaches to files.
	 */
	struct err *(*follow_maps)(struct engine_run *r, const struct attach_opts *opts);
	/*
	 * Takes over strings that were added to the layout; false: there is no room for them. NULL:
	 * the engine reads the layout's.
	 */
	bool (*add_strings)(struct engine_run *r);

	/*
	 * Hands out the records of all CPUs in the order of their times, up to and including
	 * horizon. With ENGINE_EVERYTHING it waits a little for records that are being written.
	 */
	struct err *(*drain)(struct engine_run *r, uint64_t horizon, engine_record_f *func,
			     void *ctx);
	/* Returns how full the fullest buffer was when the last drain began, in 1/256. */
	uint32_t (*fill)(const struct engine_run *r);
	const struct agg_io *aggs;
};
