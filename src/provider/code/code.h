/* SPDX-License-Identifier: MIT */
/*
 * What the providers pid and USDT share: probes in the code of programs and libraries.
 *
 *     process.c  reads which files a process has mapped, and opens these
 *     spot.c     finds where in a function its probes are
 *     probe.c    keeps the probes, their keys and instructions
 *     batch.c    keeps which probes the files that come later have
 *
 * A provider's state has a struct code_probes. What it knows of one probe begins with a struct
 * code_probe, to which probe.data points.
 *
 * Owns     a process owns its files, a file its reference to an image; all live as long as the
 *          registry, unless they are destroyed with their batch.
 */
#pragma once

#include "arch/spot.h"
#include "image/funcs.h"
#include "image/image.h"
#include "probe/probe.h"
#include "provider/code/batch.h"
#include "target/ident.h"

struct proc_map; /* target/maps.h */
struct target;	 /* target/target.h */

/* A file whose code a process has mapped. */
struct code_file {
	/* opened is NULL until code_file_take(); the struct owns name (of the module) and path */
	struct place_file file;
	struct image *image; /* of the open file, pinned; NULL: it is not open */
	uint32_t batch;	     /* in which it was seen first, or again after its links were closed */
	uint32_t look;	     /* number of the last reading of mappings that found it */
	VEC(pid_t) users;    /* followed processes that have it mapped */
	uint64_t unused_at;  /* number of the reading since which users is empty */
	bool is_main;	     /* it is the program that the process executes */
	bool is_stale;	     /* the links to its probes were closed */
	/* the image's, and how often they are held; NULL: they are not (code_file_hold()) */
	const struct funcs *funcs;
	uint32_t nholds;
	bool has_doubted;    /* a debug file of it is not used (struct debug_trust) */
	bool has_types;	     /* types were imported: the image's debug information is held */
	struct err *refused; /* why it cannot be probed */
	/* address in the file -> the function name that its probes have; NULL: no entry yet */
	struct hashmap *code_names; /* owns the names */
};

struct code_process {
	pid_t pid;
	struct proc_id id; /* identity of the process that had pid when it was first read */
	/*
	 * The process whose mappings are read: pid itself, or a child whose calls fire its probes.
	 * Who looks again after an arrival (provider/arrivals.h) knows the identity of that one.
	 */
	pid_t at;
	struct provider_env *env; /* for notices, and how files are read */
	struct target *target;	  /* `at', running; NULL: it could not be looked at, or has ended */
	VEC(struct code_file *) objects;
};

/* What is known of one probe; the first member of the provider's own struct for it. */
struct code_probe {
	uint32_t index;	   /* in the state's list */
	uint32_t batch;	   /* the batch of key and code; the code of earlier ones is attached */
	uint32_t nbatches; /* number of batches in which the probe is attached */
	bool is_of_start;  /* one of these batches is the one of the start */
	uint32_t key;
	enum code_spot spot;
	/*
	 * A probe has several instructions if several functions have its name, or if its function
	 * returns at several instructions.
	 */
	struct place_code code;
};

struct code_probes {
	VEC(struct code_process *) processes; /* that descriptions name by their ids */
	VEC(struct code_probe *) probes;
	uint32_t batch; /* 0: the files that are mapped at the start; each later one adds 1 */
	struct batches batches;	    /* the later ones that have files */
	uint32_t nlooks;	    /* how often mappings were read */
	struct dwarf_import *types; /* NULL until a type is asked for */
};

static inline struct code_probe *code_probe(const struct probe *pr)
{
	return (struct code_probe *)(uintptr_t)pr->data;
}

static inline struct code_file *code_file_of(const struct place_file *file)
{
	return (struct code_file *)((uintptr_t)file - offsetof(struct code_file, file));
}

/* Frees processes, batches and types, and the list of probes, but no probe. */
void code_probes_deinit(struct code_probes *st);
/* Returns what imports types of debug information; it is made by the first call. */
struct dwarf_import *code_types(struct code_probes *st);

/* ---- process.c ------------------------------------------------------------------------------- */

/* Returns the process; the first call for a process id reads its mappings. */
MUST_CHECK struct err *code_process_get(struct provider_env *env, struct code_probes *st, pid_t pid,
					struct code_process **ret);
/* Returns the process if code_process_get() was called for its id; else NULL. */
struct code_process *code_process_known(const struct code_probes *st, pid_t pid);
void code_process_destroy(struct code_process *p);
/* Reads what the process has mapped now; files that are new belong to st's batch. */
MUST_CHECK struct err *code_process_look(struct code_probes *st, struct code_process *p);
/* Makes the file of a mapping, in st's batch. It is not opened. */
struct code_file *code_file_create(const struct code_probes *st, const struct proc_map *m);
void code_file_destroy(struct code_file *o);
/* Takes over a reference to the image of the file, which is open from then on. */
void code_file_take(struct code_file *o, struct image *i);
/* Notes that the process has the file no longer mapped. */
void code_file_leave(const struct code_probes *st, struct code_file *o, pid_t pid);
/*
 * Returns the name of the module: the last part of the path, or the name that memfd_create() was
 * given. A colon cannot be written in a probe description, so "memfd:" is not part of the name.
 */
const char *code_module_name(const char *path);
bool code_file_is_mapped(const struct code_process *p, const struct code_file *o);
/*
 * Opens the file, once, and holds the functions of its image, which makes o->funcs and the image's
 * text valid until as many calls of code_file_rest(). The file owns the error, after which nothing
 * is held.
 */
const struct err *code_file_hold(struct code_process *p, struct code_file *o);
void code_file_rest(struct code_file *o);
/*
 * Returns the debug information of the file's image; NULL if there is none, or the file is not
 * open. It is valid until another file is read; who keeps pointers into it calls
 * code_file_keep_types().
 */
struct dwarf_file *code_file_dwarf(const struct code_process *p, const struct code_file *o);
void code_file_keep_types(struct code_file *o);
/*
 * Whether the file says that a function, or a part of one, begins at the address: by a symbol or by
 * an entry of .eh_frame. An address from elsewhere may be the middle of an instruction.
 */
bool code_file_begins_at(const struct code_process *p, const struct code_file *o, uint64_t addr);
/*
 * Finds the implementation that the process has chosen for the indirect function fn: *ret is that
 * function, with fn's name. False if the process has not chosen one yet, or if the address that it
 * has in its memory is not where a function of the file begins: memory is not trusted.
 */
bool code_file_chosen(struct code_process *p, struct code_file *o, const struct func *fn,
		      struct func *ret);
/*
 * Returns the function name that probes on the code of fn have. The implementation of an indirect
 * function has a name of its own, and several indirect functions may have chosen it; its probes
 * have the name under which it was found first.
 */
const char *code_file_code_name(struct code_file *o, const struct func *fn);
/*
 * True if the module field of a description means the file: "a.out", "libc" for libc.so.6,
 * "LM0`libc.so.6", or a pattern.
 */
bool code_file_matches(const struct code_file *o, const char *pattern);

/* ---- spot.c ---------------------------------------------------------------------------------- */

#define CODE_ENTRY_BYTES 48u /* the bytes of a function in which its entry probe is looked for */

/* How arguments are found at the entry of a function, and its result at the return. */
enum code_spot code_entry_spot(const struct code_file *o, const struct func *fn);
enum code_spot code_return_spot(const struct code_file *o, const struct func *fn);
/*
 * *ret_skip is the number of bytes between the function's start and the instruction of its entry
 * probe. False: there is no such instruction, or the code cannot be read.
 */
bool code_entry_find(struct code_file *o, const struct func *fn, uint32_t *ret_skip);
/* True if no probe may be placed on the instruction at code: INSN_NOP5, on kernels that do that. */
bool code_is_harmful_nop(const struct code_file *o, const uint8_t *code, size_t size);

/* ---- probe.c --------------------------------------------------------------------------------- */

/*
 * Adds a probe, zeroed but for its spot and code, to the state's list. batch: to which it belongs.
 * The caller owns p.
 */
void code_probe_add(struct provider_env *env, struct code_probes *st, struct code_probe *p,
		    uint32_t batch);
/* Gives a probe of an earlier batch a new key, in the present batch. */
void code_probe_renew(struct provider_env *env, const struct code_probes *st, struct code_probe *p);
/* Takes a probe out of the list; its instructions stay the caller's. */
void code_probe_drop(struct code_probes *st, const struct code_probe *p);
/* Adds the probe to the present batch. */
void code_batch_add(const struct code_probes *st, struct probe *pr);
/* The probe is in one batch less: false if it is still in others. */
bool code_probe_leave(struct code_probe *p);
/* Fills in the one place of a probe; tgid: the process in which it fires, 0: in any. */
uint32_t code_probe_point(const struct code_probe *p, pid_t tgid, struct probe_point *ret);
/* Begins a batch, whose number is st->batch from then on. */
void code_batch_begin(struct provider_env *env, struct code_probes *st);
/*
 * True if clauses take the types of arguments from this batch: they take them from a probe that
 * existed at the start. is_latest: only one that has no code of a later batch counts.
 */
bool code_batch_has_types(const struct batch *b, bool is_latest);
