/*
 * Provider pid: what its files share.
 *
 *     pid.c         descriptions to probes
 *     pid_target.c  processes, the files they have mapped
 *     pid_types.c   types of arguments
 *     pid_come.c    what processes map while they are traced
 *
 * Owns     a target owns its objects, an object its descriptor and functions; all live as long as
 *          the registry.
 */
#pragma once

#include "proc/funcs.h"
#include "proc/ident.h"
#include "proc/maps.h"
#include "proc/text.h"
#include "provider/providers.h"

/* A file whose code a process has mapped. */
struct pid_object {
	/* opened: NULL until pid_object_open(); name: of the module; both texts are the object's */
	struct place_file file;
	uint32_t batch;	    /* in which it was seen first, or again after its links had died */
	uint32_t look;	    /* the last look at a process that had it mapped */
	VEC(pid_t) users;   /* followed processes that have it mapped */
	uint64_t unused_at; /* since which look that is none */
	bool is_main;
	bool is_stale; /* what was placed in it is dead */
	struct funcs *funcs;
	struct text text;
	struct err *refused;	  /* why it cannot be probed */
	struct dwarf_file *dwarf; /* NULL: none, or not looked for (has_dwarf) */
	bool has_dwarf;
	/* address in the file -> the name its probes have; NULL until one is given */
	struct hashmap *code_names;
};

struct pid_target {
	pid_t pid;
	struct proc_id id; /* of the process that had that process id at the first look */
	/*
	 * the process that is looked at: it, or a child whose calls fire its probes. Who asks for
	 * the look knows its identity (pid_look_again()).
	 */
	pid_t at;
	struct probes *ps;     /* for notices */
	char *prov;	       /* "pid123" */
	struct proc_maps maps; /* of `at' */
	VEC(struct pid_object *) objects;
};

struct pid_probe {
	struct pid_target *target;
	uint32_t index;	   /* in the state's list */
	uint32_t batch;	   /* which key and code are of: those of earlier ones are in place */
	uint32_t nbatches; /* in which it is in place */
	bool is_of_start;  /* one of them is what was there at the start */
	uint32_t key;
	enum uprobe_place place;
	/*
	 * It has several instructions if several functions have its name, or a function several
	 * ends.
	 */
	struct place_code code;
};

/* What came in one look: files, which are the target's, and probes that are in them. */
struct pid_batch {
	uint32_t number;
	VEC(struct probe *) probes;
};

struct pid_state {
	VEC(struct pid_target *) targets;
	VEC(struct pid_probe *) probes;
	uint32_t batch; /* 0: what is there at the start; then, one for each look */
	VEC(struct pid_batch *) batches; /* later ones in which something came */
	uint32_t nlooks;
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

/* The process, looked into when it is asked for first. */
MUST_CHECK struct err *pid_target_get(struct probes *ps, struct pid_state *st, pid_t pid,
				      struct pid_target **ret);
void pid_target_destroy(struct pid_target *t);
void pid_object_destroy(struct pid_object *o);
/* The process maps the object no more. */
void pid_object_leave(const struct pid_state *st, struct pid_object *o, pid_t pid);
/* Looks at what it has mapped now; files that were not there before are of st's batch. */
MUST_CHECK struct err *pid_target_look(struct pid_state *st, struct pid_target *t);
bool pid_object_is_mapped(const struct pid_target *t, const struct pid_object *o);
/* Opens the file, once. The error stays the object's. */
const struct err *pid_object_open_file(struct pid_target *t, struct pid_object *o);
/* Opens it and reads its functions, once. */
const struct err *pid_object_open(struct pid_target *t, struct pid_object *o);
/* Does a module field mean it? "a.out", "libc" for libc.so.6, "LM0`libc.so.6", patterns. */
/*
 * An indirect function stands for the implementation the process has chosen: *ret is that one,
 * under fn's name. False when nothing was chosen yet.
 */
bool pid_object_chosen(struct pid_target *t, struct pid_object *o, const struct func *fn,
		       struct func *ret);
/*
 * Under which name the code of fn is probed: the implementation that an indirect function has
 * chosen has a name of its own and may have been chosen under several. It keeps the one that was
 * given to it first.
 */
const char *pid_object_code_name(struct pid_object *o, const struct func *fn);
bool pid_object_matches(const struct pid_object *o, const char *pattern);

/* ---- pid.c ----------------------------------------------------------------------------------- */

/*
 * A process that desc names, counted from 0, of which there may be several; 0 = there are no more.
 */
MUST_CHECK struct err *pid_of(const struct probes *ps, const struct probe_desc *desc, uint32_t i,
			      pid_t *ret);
/* The batch that is being filled, which is not that of the start. */
struct pid_batch *pid_batch_now(const struct pid_state *st);
void pid_probe_destroy(struct pid_state *st, struct pid_probe *pp);
void pid_batch_destroy(struct pid_state *st, struct pid_batch *b);
/* The probes that desc means in files of this batch. */
MUST_CHECK struct err *pid_collect_new(struct probes *ps, const struct probe_desc *desc,
				       struct probe_list *out);

/* ---- pid_inline.c ---------------------------------------------------------------------------- */

/*
 * Why no function of the file matches func, if the compiler has inlined one that would; else NULL.
 */
const char *pid_inlined_hint(struct probes *ps, struct pid_target *t, struct pid_object *o,
			     const char *func);

/* ---- pid_types.c ----------------------------------------------------------------------------- */

/* Debug information of the file, read when it is asked for first; NULL: none. */
struct dwarf_file *pid_object_dwarf(const struct probes *ps, struct pid_object *o);
/* struct provider: none without debug information. */
uint32_t pid_arg_types(struct probes *ps, const struct probe *pr, const char *const **ret_types);
type_id pid_arg_type(struct probes *ps, const struct probe *pr, uint32_t index, struct types *t,
		     struct argplace *ret_place);
const char *pid_arg_refused(struct probes *ps, const struct probe *pr, uint32_t raw);
