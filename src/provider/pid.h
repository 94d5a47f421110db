/* SPDX-License-Identifier: MIT */
/*
 * Provider pid: the data and functions that its files share.
 *
 *     pid.c         finds the probes that a description matches
 *     pid_target.c  reads which files a process has mapped
 *     pid_types.c   finds the types of arguments
 *     pid_arrivals.c adds the files that processes map while they are traced
 *
 * Owns     a target owns its objects, an object its descriptor and functions; all live as long as
 *          the registry.
 */
#pragma once

#include "image/funcs.h"
#include "target/ident.h"
#include "target/maps.h"
#include "image/text.h"
#include "provider/batch.h"
#include "provider/providers.h"

/* A file whose code a process has mapped. */
struct pid_object {
	/* opened is NULL until pid_object_open(); the object owns name (of the module) and path */
	struct place_file file;
	uint32_t batch;	    /* in which it was seen first, or again after its links were closed */
	uint32_t look;	    /* number of the last reading of mappings that found it */
	VEC(pid_t) users;   /* followed processes that have it mapped */
	uint64_t unused_at; /* number of the reading since which users is empty */
	bool is_main;	    /* it is the program that the process executes */
	bool is_stale;	    /* the links to its probes were closed */
	struct funcs *funcs;
	struct text text;
	struct err *refused;	  /* why it cannot be probed */
	struct dwarf_file *dwarf; /* NULL: there is none, or has_dwarf is false */
	bool has_dwarf;		  /* the debug information was searched for */
	/* address in the file -> the function name that its probes have; NULL: no entry yet */
	struct hashmap *code_names;
};

struct pid_target {
	pid_t pid;
	struct proc_id id; /* identity of the process that had pid when it was first read */
	/*
	 * The process whose mappings are read: pid itself, or a child whose calls fire its probes.
	 * The caller of pid_come.look_again() knows the identity of that process.
	 */
	pid_t at;
	struct provider_env *env; /* for notices */
	char *prov;		  /* "pid123" */
	struct proc_maps maps;	  /* of `at' */
	VEC(struct pid_object *) objects;
};

struct pid_probe {
	struct pid_target *target;
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

struct pid_state {
	VEC(struct pid_target *) targets;
	VEC(struct pid_probe *) probes;
	uint32_t batch; /* 0: the files that are mapped at the start; each later reading adds 1 */
	struct batches batches;	    /* the later batches that have files */
	uint32_t nlooks;	    /* how often mappings were read */
	bool has_children;	    /* children of targets are probed like them: option follow */
	struct dwarf_import *types; /* NULL until a type is asked for */
};

static inline struct pid_probe *pid_probe(const struct probe *pr)
{
	return (struct pid_probe *)(uintptr_t)pr->data;
}

static inline struct pid_object *pid_object_of(const struct place_file *file)
{
	return (struct pid_object *)((uintptr_t)file - offsetof(struct pid_object, file));
}

/* ---- pid_target.c ---------------------------------------------------------------------------- */

/* Returns the process; the first call for a process id reads its mappings. */
MUST_CHECK struct err *pid_target_get(struct provider_env *env, struct pid_state *st, pid_t pid,
				      struct pid_target **ret);
void pid_target_destroy(struct pid_target *t);
void pid_object_destroy(struct pid_object *o);
/* Notes that the process has the object no longer mapped. */
void pid_object_leave(const struct pid_state *st, struct pid_object *o, pid_t pid);
/* Reads what the process has mapped now; files that are new belong to st's batch. */
MUST_CHECK struct err *pid_target_look(struct pid_state *st, struct pid_target *t);
/*
 * Returns the name of the module: the last part of the path, or the name that memfd_create() was
 * given. A colon cannot be written in a probe description, so "memfd:" is not part of the name.
 */
const char *pid_module_name(const char *path);
bool pid_object_is_mapped(const struct pid_target *t, const struct pid_object *o);
/* Opens the file, once. The object owns the error. */
const struct err *pid_object_open_file(struct pid_target *t, struct pid_object *o);
/* Opens the file and reads its functions, once. The object owns the error. */
const struct err *pid_object_open(struct pid_target *t, struct pid_object *o);
/*
 * Finds the implementation that the process has chosen for the indirect function fn: *ret is that
 * function, with fn's name. False if the process has not chosen one yet.
 */
bool pid_object_chosen(struct pid_target *t, struct pid_object *o, const struct func *fn,
		       struct func *ret);
/*
 * Returns the function name that probes on the code of fn have. The implementation of an indirect
 * function has a name of its own, and several indirect functions may have chosen it; its probes
 * have the name under which it was found first.
 */
const char *pid_object_code_name(struct pid_object *o, const struct func *fn);
/*
 * True if the module field of a description means the object: "a.out", "libc" for libc.so.6,
 * "LM0`libc.so.6", or a pattern.
 */
bool pid_object_matches(const struct pid_object *o, const char *pattern);

/* ---- pid.c ----------------------------------------------------------------------------------- */

/*
 * Finds process number i, counted from 0, of the processes that desc names; *ret is 0 if desc names
 * fewer.
 */
MUST_CHECK struct err *pid_of(const struct provider_env *env, const struct probe_desc *desc,
			      uint32_t i, pid_t *ret);
/* How arguments are found at the entry of a function, and its result at the return. */
enum code_spot pid_entry_spot(const struct pid_object *o, const struct func *fn);
enum code_spot pid_return_spot(const struct pid_object *o, const struct func *fn);
/*
 * *ret_skip is the number of bytes between the function's start and the instruction of its entry
 * probe. False: there is no such instruction, or the code cannot be read.
 */
bool pid_entry_find(struct pid_object *o, const struct func *fn, uint32_t *ret_skip);
/* True if no probe may be placed on the instruction at code: INSN_NOP5, on kernels that do that. */
bool pid_is_harmful_nop(const struct pid_object *o, const uint8_t *code, size_t size);
void pid_probe_destroy(struct pid_state *st, struct pid_probe *pp);
/* Adds to out the probes that desc matches in the files of the present batch. */
MUST_CHECK struct err *pid_collect_new(struct provider_env *env, const struct probe_desc *desc,
				       struct probe_list *out);

/* ---- pid_inline.c ---------------------------------------------------------------------------- */

/*
 * Returns a hint if the compiler has inlined the function of the file that func would match; else
 * NULL.
 */
const char *pid_inlined_hint(struct provider_env *env, struct pid_target *t, struct pid_object *o,
			     const char *func);

/* ---- pid_types.c ----------------------------------------------------------------------------- */

/* Returns the debug information of the file, opened at the first call; NULL if there is none. */
struct dwarf_file *pid_object_dwarf(const struct provider_env *env, struct pid_object *o);
/* The members of struct provider; without debug information, probes have no types. */
uint32_t pid_arg_types(struct provider_env *env, const struct probe *pr,
		       const char *const **ret_types);
type_id pid_arg_type(struct provider_env *env, const struct probe *pr, uint32_t index,
		     struct types *t, struct argplace *ret_place);
const char *pid_arg_refused(struct provider_env *env, const struct probe *pr, uint32_t raw);
