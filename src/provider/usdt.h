/* SPDX-License-Identifier: MIT */
/*
 * The provider of programs' own probes (USDT): the data and functions that its files share.
 *
 *     usdt.c       finds the probes that a description matches
 *     usdt_file.c  reads the notes of files, each file once however many processes map it
 *     usdt_scan.c  finds out which processes have mapped which of these files
 *     usdt_arrivals.c adds the files that processes map while they are traced
 *     usdt_args.c  finds where arguments are, and their types
 *     usdt_debug.c finds types of arguments in debug information
 *     usdt_code.c  adds the probes that are declared in D over functions of programs
 *     usdt_place.c finds out whether instructions begin where notes say
 *     usdt_harm.c  finds the probes that are known to harm the program, which are left out
 *
 * Objects   a file with notes, found by its image (image/image.h). That a file has no notes is
 *           remembered there, too, so that it is not read again.
 * Groups    the instructions of a file that have one provider, function and name.
 * Probes    a group has one probe that fires in all processes: with one link a file, whatever the
 *           number of processes. The name of its provider ends with the id of the process that
 *           fires it (probe.has_pid). A description that names a process gets another probe, whose
 *           links the kernel filters by process, unless a pattern of the session makes the probe
 *           of all processes anyway: then that one is used, so that clauses run in their order.
 *
 * Owns     the state owns objects; an object owns its file, notes, groups, their probes' data.
 */
#pragma once

#include <elfutils/libdw.h>

#include "base/hashmap.h"
#include "d/compile.h"
#include "image/ehframe.h"
#include "image/insn.h"
#include "provider/code/code.h"
#include "provider/providers.h"
#include "target/maps.h"
#include "usdt/note.h"
#include "usdt/operand.h"

struct usdt_group;
struct usdt_object;
struct usdt_elements;
struct usdt_kinds;
struct unwind_rows;

struct usdt_probe_data {
	struct code_probe
		probe; /* code.pid 0: it fires in all processes; the group owns the sites */
	struct usdt_group *group;
	struct usdt_object *object;
	/* of a probe that is declared in D, which has no note and no operands; else NULL */
	const struct derived_info *declared;
	const struct usdt_note *note; /* the note of its first instruction */
	const struct usdt_operands *operands;
	const struct usdt_elements *elements; /* of args[]; NULL until asked for */
};

/* A row of the table of probes that harm, whose conditions a file meets. */
struct usdt_harm {
	const struct harm *row;
	bool is_said; /* the user was told that the probes are left out */
};

struct usdt_group {
	struct usdt_object *object;
	struct usdt_harm *harm; /* NULL: the probe is not known to harm */
	const char *prov, *func, *name;
	const struct derived_info *declared; /* as in struct usdt_probe_data */
	uint32_t source;		     /* of a declared probe: struct code_source.number */
	enum code_kind kind;		     /* of that source */
	/*
	 * An earlier group is the same probe, at other instructions of the function: the sources
	 * of a declared probe may be the entry of a function and its return.
	 */
	bool is_again;
	const struct usdt_note *note; /* of its first instruction */
	const struct usdt_operands *operands;
	enum code_spot spot;
	struct place_code code;		  /* its sites */
	struct usdt_group *next_namesake; /* the next group with this provider and name */
};

/* A file with notes. */
struct usdt_object {
	struct code_process *target; /* stands for the process through which the file was opened */
	struct code_file *file;
	struct usdt_notes notes;
	uint64_t bytes;		 /* of the notes, as they are counted in the set of images */
	VEC(const char *) provs; /* the providers in the notes, each once */
	struct arena *arena;	 /* names of probes and of their functions */
	uint32_t batch;		 /* in which it was read */
	uint32_t nprobes;	 /* of its groups */
	uint32_t survey;	 /* number of the last survey that found it mapped */
	bool is_gone;		 /* it is not probed any more */
	bool is_changed;	 /* the file was overwritten, and the user told */
	bool has_groups;
	uint32_t ncodes; /* how many of the sources declared in D are among provs and groups */
	/* The last request (usdt.c), and whether it asks for probes of all, of each process. */
	uint32_t request;
	bool is_for_all, is_for_each;
	VEC(struct usdt_group *) groups; /* empty until has_groups */
	VEC(struct usdt_harm) harms;	 /* empty until has_harms */
	bool has_harms;
	struct usdt_kinds *kinds; /* for the types of arguments; NULL until asked for */
	struct unwind_rows *rows; /* the same */
};

/* A process that has mapped an object. */
struct usdt_use {
	pid_t pid;
	uint32_t batch; /* in which that was seen first, or again after its links were closed */
	uint32_t since; /* number of the survey since which it is not mapped; 0: it is */
	struct usdt_object *object;
};

/* Code that a process has mapped, of a file that is not known yet. */
struct usdt_arrival {
	pid_t pid, parent;   /* parent 0: not known */
	struct proc_map map; /* owns the path */
};

/* The last children of processes, the newest at index n - 1 modulo the size. */
struct usdt_births {
	struct {
		pid_t pid, parent;
	} list[1024];
	uint32_t n;
};

struct usdt_state {
	struct code_probes code;
	VEC(struct usdt_object *) objects;
	struct image_set *images; /* of which files were noted (IMAGE_USDT); NULL: none was */
	struct hashmap *seen;	  /* struct file_inode of a mapping -> struct usdt_seen */
	VEC(struct usdt_use) uses;
	struct hashmap *used;	/* process id and object -> a value that is not NULL, for uses */
	struct hashmap *probes; /* group and process id -> struct probe */
	VEC(struct usdt_arrival) arrivals;
	struct usdt_births births;
	bool is_late;	 /* descriptions are matched against the present batch only */
	bool has_missed; /* there were too many arrivals */
	uint32_t nsurveys;
	VEC(struct usdt_operands *) operands; /* an index in this list is the operands' number */
	struct hashmap *by_operands;	      /* struct usdt_operands -> number + 1 */
	VEC(struct probe_desc) patterns;      /* of the session's programs */
	bool has_literals;		      /* some description has named a process */
	struct types *table;		      /* into which types are imported */
	struct hashmap *debug_types;	      /* file and type -> struct debug_type, or NULL */
	uint32_t nrequests;
	uint32_t ncodes, ncodes_scanned; /* sources that are declared in D; at the last scan */
	uint64_t scanned_at;		 /* ns; 0: processes were not scanned */
	/* the last source by bytes that a user with levels may not probe; NULL: none */
	const struct code_source *unproved;
	/* the last probe whose note is left out: no instruction is known to begin there */
	const struct usdt_note *unplaced;
	bool may_be_placed; /* with proc_owner it would not be left out */
};

static inline struct usdt_probe_data *usdt_probe(const struct probe *pr)
{
	return (struct usdt_probe_data *)code_probe(pr);
}

/* The state, whose tables exist. */
struct usdt_state *usdt_state(struct provider_env *env);

/* ---- usdt_file.c ----------------------------------------------------------------------------- */

/*
 * Returns the object of a file that the process has mapped; NULL if the file has no notes, or
 * cannot be opened. A file that was read before is not opened again. If the process has ended, the
 * file may be found where its parent sees it (parent 0: that is not known).
 */
struct usdt_object *usdt_object_find(struct provider_env *env, struct usdt_state *st, pid_t pid,
				     pid_t parent, const struct proc_map *m);
/* Makes the object's groups, once. */
void usdt_object_group(struct provider_env *env, struct usdt_state *st, struct usdt_object *o);
/* True if the file was read and has not changed since. */
bool usdt_file_is_known(struct provider_env *env, const struct usdt_state *st, uint64_t dev,
			uint64_t ino, const char *path, struct usdt_object **ret);
/* True if the file was read at some time; *ret: NULL if it has no notes. */
bool usdt_file_was_read(const struct usdt_state *st, uint64_t dev, uint64_t ino,
			const struct usdt_object **ret);
/* Forgets the file: when it is mapped again, it counts as a new one. */
void usdt_object_forget(struct usdt_state *st, struct usdt_object *o);
/* Frees an object that has no probes, and takes its file for one without notes. */
void usdt_object_ignore(struct usdt_state *st, struct usdt_object *o);
void usdt_object_destroy(struct usdt_state *st, struct usdt_object *o);
void usdt_objects_destroy(struct usdt_state *st);

/* Adds a group without instructions. prov and name must live as long as the object. */
struct usdt_group *usdt_group_add(struct usdt_object *o, const char *prov, const char *func,
				  const char *name);
/* Adds a provider to those of the object, once. */
void usdt_prov_add(struct usdt_object *o, const char *prov);

/* ---- usdt_place.c ---------------------------------------------------------------------------- */

enum usdt_place {
	USDT_PLACE_BEGIN,   /* an instruction begins there */
	USDT_PLACE_INSIDE,  /* it is inside of an instruction */
	USDT_PLACE_UNKNOWN, /* no function is known around it, or it has data in its code */
};

/* What was decoded of a file; zeroed before the first question. */
struct usdt_places {
	struct insns insns; /* of the function that was asked about last */
	uint64_t addr, size;
	uint64_t ndecoded; /* bytes so far */
	bool has_function, has_entries;
	unwind_fdes entries; /* by address */
};

/* Says what is at an address of the object, whose functions are held. */
enum usdt_place usdt_place_check(struct usdt_places *p, struct usdt_object *o, struct gate_elf *g,
				 uint64_t pc);
void usdt_places_deinit(struct usdt_places *p);

/* ---- usdt_code.c ----------------------------------------------------------------------------- */

/* Returns how many sources are declared in D so far. */
uint32_t usdt_code_count(struct provider_env *env, struct usdt_state *st);
/* True if one of them, counted from number `from`, is in files of this name. */
bool usdt_code_names(struct provider_env *env, uint32_t from, const char *file);
/* Adds the groups of the sources that the object was not searched for yet. */
void usdt_code_add(struct provider_env *env, struct usdt_object *o);

/* ---- usdt_harm.c ----------------------------------------------------------------------------- */

/* Finds the row of the table of probes that harm for a probe of the object's notes, or NULL. */
struct usdt_harm *usdt_harm_find(struct provider_env *env, struct usdt_object *o, const char *prov,
				 const char *name);
/*
 * True if the group is left out, because it is known to harm and the user does not insist; tells
 * the user, once for each row and file.
 */
bool usdt_harm_leaves_out(struct provider_env *env, struct usdt_group *grp);
/* Returns the hint for a description that matches only a group of probes that is left out. */
const char *usdt_harm_hint(struct provider_env *env, const struct usdt_group *grp);

/* ---- usdt_scan.c ----------------------------------------------------------------------------- */

/* Finds the objects that the process has mapped now, and adds them to the uses. */
MUST_CHECK struct err *usdt_scan_process(struct provider_env *env, struct usdt_state *st,
					 pid_t pid);
/*
 * Finds the objects that all processes have mapped, and makes the uses anew. Processes that end
 * meanwhile, and those whose memory we have no right to read, are skipped.
 */
void usdt_scan_all(struct provider_env *env, struct usdt_state *st);
/* Reads files that are new, and adds no uses. */
void usdt_scan_files(struct provider_env *env, struct usdt_state *st);
/* Begins a survey: marks the objects that processes have mapped. */
void usdt_survey(struct provider_env *env, struct usdt_state *st);

/* ---- usdt.c ---------------------------------------------------------------------------------- */

/* Adds to out the probes that desc matches in the present batch. */
void usdt_collect_new(struct provider_env *env, const struct probe_desc *desc,
		      struct probe_list *out);
/* True if some pattern of the session could mean probes of the object in all processes. */
bool usdt_object_is_wanted(const struct usdt_state *st, const struct usdt_object *o);
/* True if the description is one of all processes. */
bool usdt_wants_all(struct provider_env *env, const struct probe_desc *desc);
/* The process whose number the name or pattern of the provider ends with; 0: none. */
uint32_t usdt_only_in(const struct probe_desc *desc);
void usdt_probe_destroy(struct usdt_state *st, struct probe *pr);

/* ---- usdt_arrivals.c ------------------------------------------------------------------------- */

void usdt_arrivals_clear(struct usdt_state *st);

/* ---- usdt_args.c ----------------------------------------------------------------------------- */

/* Parses the operands of a note of the file. */
void usdt_note_operands(struct gate_elf *g, const struct usdt_note *note, bool is_32bit,
			struct usdt_operands *ret);
/* Destroys what the object has for the types of arguments. */
void usdt_types_deinit(struct usdt_object *o);
/* The members of struct provider. */
uint32_t usdt_arg_types(struct provider_env *env, const struct probe *pr,
			const char *const **ret_types);
type_id usdt_arg_type(struct provider_env *env, const struct probe *pr, uint32_t index,
		      struct types *t, struct arg_origin *ret_origin);
bool usdt_same_args(struct provider_env *env, const struct probe *compiled, const struct probe *pr);
bool usdt_attrs(struct provider_env *env, const struct probe *pr, struct attr *ret);
const char *usdt_arg_refused(struct provider_env *env, const struct probe *pr, uint32_t raw);

/* ---- usdt_debug.c ---------------------------------------------------------------------------- */

/*
 * Returns the C type that operand number index has in all functions that have the probe, whose
 * groups begin with first, and describes it in *ret; NULL if debug information does not tell.
 */
const char *usdt_debug_operand(struct provider_env *env, const struct usdt_group *first,
			       uint32_t index, Dwarf_Die *ret);
