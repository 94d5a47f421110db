/*
 * The provider of programs' own probes (USDT): the data and functions that its files share.
 *
 *     usdt.c       finds the probes that a description matches
 *     usdt_args.c  finds where arguments are, and their types
 *     usdt_code.c  adds the probes that are declared in D over functions of programs
 */
#pragma once

#include "provider/pid.h"
#include "usdt/note.h"
#include "usdt/operand.h"

struct usdt_object;
struct usdt_elements;
struct usdt_kinds;

struct usdt_probe_data {
	struct usdt_object *object;
	/* of a probe that is declared in D, which has no note and no operands; else NULL */
	const struct derived_info *declared;
	const struct usdt_note *note; /* the note of its first instruction */
	const struct usdt_operands *operands;
	uint32_t spot; /* enum uprobe_place */
	uint32_t key;
	struct place_code code;
	const struct usdt_elements *elements; /* of args[]; NULL until asked for */
};

/* The notes of a file that a process has mapped. */
struct usdt_object {
	struct pid_target *target;
	struct pid_object *file;
	struct usdt_notes notes;
	VEC(struct probe *) probes;
	struct usdt_kinds *kinds; /* for the types of arguments; NULL until asked for */
};

struct usdt_state {
	struct pid_state pids;
	VEC(struct usdt_object *) objects;
	VEC(struct usdt_probe_data *) probes;
	VEC(struct usdt_operands *) operands; /* an index in this list is the operands' number */
	bool are_all_read;		      /* the notes of all processes were read */
	/* for each process of pids: how many of the sources declared in D it was searched for */
	VEC(uint32_t) ncodes;
	struct dwarf_import *types;  /* NULL until a type is asked for */
	struct hashmap *debug_types; /* file and type -> struct debug_type, or NULL */
};

static inline struct usdt_probe_data *usdt_probe(const struct probe *pr)
{
	return (struct usdt_probe_data *)(uintptr_t)pr->data;
}

/* ---- usdt.c ---------------------------------------------------------------------------------- */

/* Adds a file to those that are known; its notes are read by the caller. */
struct usdt_object *usdt_object_add(struct usdt_state *st, struct pid_target *t,
				    struct pid_object *file);
/* Makes the data of a probe in the file. */
struct usdt_probe_data *usdt_probe_create(struct probes *ps, struct usdt_state *st,
					  struct usdt_object *o);

/* ---- usdt_code.c ----------------------------------------------------------------------------- */

/*
 * Adds the probes that are declared in D over functions of programs, in the processes that have
 * been read so far.
 */
void usdt_code_add(struct probes *ps, struct usdt_state *st);

/* ---- usdt_args.c ----------------------------------------------------------------------------- */

/* Parses the operands of a note of the file. */
void usdt_note_operands(struct gate_elf *g, const struct usdt_note *note, bool is_32bit,
			struct usdt_operands *ret);
void usdt_kinds_destroy(struct usdt_kinds *kinds); /* NULL is allowed */
/* The members of struct provider. */
uint32_t usdt_arg_types(struct probes *ps, const struct probe *pr, const char *const **ret_types);
type_id usdt_arg_type(struct probes *ps, const struct probe *pr, uint32_t index, struct types *t,
		      struct argplace *ret_place);
bool usdt_attrs(struct probes *ps, const struct probe *pr, struct attr *ret);
const char *usdt_arg_refused(struct probes *ps, const struct probe *pr, uint32_t raw);
