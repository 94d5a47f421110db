/*
 * Entry functions: what entry.c shares with the kinds of places (places.c).
 *
 * Registers in the entry: r6 context, r7 the task or its registers (system calls), r8 the key and
 * then the dispatch element, r9 the machine state.
 */
#pragma once

#include "bpf/gen.h"

#define ARG_OFF(n) ((uint32_t)offsetof(struct rt_mach, arg) + 8 * (n))

struct entry;

struct attachments;
struct attach_opts;

/* One row a kind of place. */
struct place_ops {
	struct place_traits traits;
	enum bpf_prog_type prog_type;
	void (*key)(struct entry *en); /* r8 = key, or to quit */
	void (*args)(struct entry *en);
	uint32_t args_filled; /* bit n: argN; all others read 0 */
	bool fills_err;
	/* The kernel stack begins in this program, not where the probe fired. */
	bool is_on_stack;
	bool has_key_late; /* args() looks at the key at FRAME_VAL */
	/* Hangs a loaded unit on its place; NULL: nothing is to be done. */
	struct err *(*attach)(const struct unit *u, int prog_fd, const struct attach_opts *opts,
			      struct attachments *ret);
};

struct entry {
	struct gen *g;
	const struct place_ops *ops;
	uint32_t quit;	    /* label: nothing is claimed */
	uint32_t selected;  /* label: r8 is one of the few keys */
	bool has_one_probe; /* all keys stand for one probe with one mask */
	bool has_compat;
	bool keeps_key; /* at FRAME_VAL until the arguments are filled */
	uint32_t claimed, ready;
	uint64_t *always;	  /* clauses enabled on every probe of the unit */
	VEC(uint32_t) group_ends; /* clause indexes; none: the clauses are part of the entry */
};

extern const struct place_ops place_table[PLACE_NKINDS];

/* places.c: bit n: a clause reads argN and the kind fills it. */
uint32_t sys_args_used(const struct entry *en);
/* r7 = task; then r7 = its registers at the boundary to user mode. */
void sys_load_regs(struct entry *en);

/* entry_view.c. The call of the probe has several keys. */
bool sys_has_variants(const struct unit_probe *p);
/* r8 = key of a call; makes it that of its variant. */
void sys_add_variant(struct entry *en);
/* FRAME_VAL = key. Fills the arguments. */
void sys_view_args(struct entry *en);
