/*
 * Entry functions: what entry.c shares with the kinds of attach points (entry_kinds.c).
 *
 * Registers in the entry: r6 context, r7 the task or its registers (system calls), r8 the key and then
 * the dispatch element, r9 the machine state.
 */
#pragma once

#include "bpf/gen.h"

#define ARG_OFF(n) ((uint32_t)offsetof(struct rt_mach, arg) + 8 * (n))

struct entry;

/* One row a kind of attach point. */
struct entry_kind_ops {
	enum bpf_prog_type prog_type;
	void (*key)(struct entry *en); /* r8 = key, or to quit */
	void (*args)(struct entry *en);
	uint32_t args_filled; /* bit n: argN; all others read 0 */
	bool fills_err;
	/* The kernel stack begins in this program, not where the probe fired. */
	bool is_on_stack;
};

struct entry {
	struct gen *g;
	const struct entry_kind_ops *ops;
	uint32_t quit;	    /* label: nothing is claimed */
	uint32_t selected;  /* label: r8 is one of the few keys */
	bool has_one_probe; /* all keys stand for one probe with one mask */
	bool has_compat;
	uint32_t claimed, ready;
	uint64_t *always; /* clauses enabled on every probe of the unit */
	uint32_t ngroups, per_group;
};

extern const struct entry_kind_ops entry_kinds[ENTRY_NKINDS];
