/*
 * The provider of programs' own probes (USDT): the data and functions that its files share.
 *
 *     usdt.c       finds the probes that a description matches
 *     usdt_args.c  finds where arguments are, and their types
 */
#pragma once

#include "provider/pid.h"
#include "usdt/note.h"
#include "usdt/operand.h"

struct usdt_object;

struct usdt_probe_data {
	struct usdt_object *object;
	const struct usdt_note *note; /* the note of its first instruction */
	const struct usdt_operands *operands;
	uint32_t key;
	struct place_code code;
	const char *const *types; /* NULL until asked for */
};

/* The notes of a file that a process has mapped. */
struct usdt_object {
	struct pid_target *target;
	struct pid_object *file;
	struct usdt_notes notes;
	VEC(struct probe *) probes;
};

struct usdt_state {
	struct pid_state pids;
	VEC(struct usdt_object *) objects;
	VEC(struct usdt_probe_data *) probes;
	VEC(struct usdt_operands *) operands; /* an index in this list is the operands' number */
	bool are_all_read;		      /* the notes of all processes were read */
};

static inline struct usdt_probe_data *usdt_probe(const struct probe *pr)
{
	return (struct usdt_probe_data *)(uintptr_t)pr->data;
}

/* ---- usdt_args.c ----------------------------------------------------------------------------- */

/* Parses the operands of a note of the file. */
void usdt_note_operands(struct gate_elf *g, const struct usdt_note *note, bool is_32bit,
			struct usdt_operands *ret);
/* The members of struct provider. */
uint32_t usdt_arg_types(struct probes *ps, const struct probe *pr, const char *const **ret_types);
const char *usdt_arg_refused(struct probes *ps, const struct probe *pr, uint32_t raw);
