/* SPDX-License-Identifier: MIT */
/*
 * Entry functions of units: what entry.c and the kinds of places (places.c) share. An entry
 * function finds the probe that fires, claims a machine state and fills the arguments.
 *
 * Registers in the entry: r6 context, r7 the task or its registers (system calls), r8 the key and
 * then the dispatch element, r9 the machine state.
 *
 * Errors   code generation has none; target() and attach() return what the kernel refuses.
 */
#pragma once

#include "bpf/gen.h"

struct entry;

struct attachments;
struct attach_opts;

/* The table of the kinds of places has one such row a kind. */
struct place_ops {
	enum bpf_prog_type prog_type;
	void (*key)(struct entry *en); /* emits: r8 = key of the probe, or a jump to quit */
	void (*args)(struct entry *en);
	uint32_t args_filled; /* bit n: argN is filled; all others read 0 */
	bool fills_err;
	/* The kernel stack seen by a helper begins in this program, not where the probe fired. */
	bool is_on_stack;
	/* it does not, but in the kernel's functions between the probe and the program */
	bool is_traced;
	/* programs that one link attaches to many instructions have this type of attachment */
	uint32_t multi_type;
	enum feature multi_feature; /* what the kernel must have for such links */
	bool has_key_late;	    /* args() needs the key: entry_key_load() */
	/* the program is called by a piece of code of the kernel, which is a frame of its stack */
	bool has_trampoline;
	/* This kind is tried first for a unit that it suits(); PLACE_TEST_RUN: there is none. */
	enum place_kind faster;
	bool (*suits)(const struct unit *u);
	/* Program i of the unit's nprobes programs is for one function; NULL: the unit has one. */
	struct err *(*target)(const struct unit *u, uint32_t i, struct prog_target *ret);
	/* Hangs a loaded unit's programs on its place; NULL: BPF_PROG_TEST_RUN runs the unit. */
	struct err *(*attach)(const struct unit *u, const int *progs,
			      const struct attach_opts *opts, struct attachments *ret);
};

struct entry {
	struct gen *g;
	const struct place_ops *ops;
	const struct place_traits *traits;
	uint32_t quit;	    /* label: leaves before a machine state is claimed */
	uint32_t missed;    /* label: leaves because no probe of the unit is meant */
	uint32_t selected;  /* label: r8 is one of the keys of a unit with few keys */
	bool has_one_probe; /* all keys stand for one probe with one mask */
	bool has_compat;
	/* a probe of the unit fires whatever the task is, and what it takes is counted */
	bool fires_at_any;
	bool keeps_key; /* entry_key_load() is called until the arguments are filled */
	uint32_t claimed, ready;
	uint64_t *always;	  /* clauses that are enabled on every probe of the unit */
	VEC(uint32_t) group_ends; /* clause indexes; empty: the clauses are part of the entry */
};

extern const struct place_ops place_table[PLACE_NKINDS];

/* entry.c: loads the key of the system call, if en->keeps_key; r8 is the dispatch element. */
void entry_key_load(struct entry *en, int dst);
/* Leaves if the task is none of the session's user, in units that fire in tasks of this user. */
void entry_owner_check(struct entry *en);
/* The label en->missed: counts what tasks of others lose there, in such units. */
uint32_t entry_missed_label(struct entry *en);
/* Adds the time that a timer, which fires at any task, has taken from this one since that check. */
void entry_others_end(struct entry *en);

/* places.c: the mask of arguments that a clause reads and the kind fills. */
uint32_t sys_args_used(const struct entry *en);
/* Takes the task in r7; leaves in r7 its registers at the boundary to user mode. */
void sys_load_regs(struct entry *en);

/* The number of arguments of a function that a probe can read: arg0 to arg9. */
#define NFUNC_ARGS 10
/* The first n arguments are in registers, the others on the stack above the return address. */
void entry_args_fill(struct entry *en, uint32_t used, const uint32_t *regs, uint32_t n);
void args_zero(struct entry *en, uint32_t used);

/* places.c: the key is the cookie of the link. */
void cookie_key(struct entry *en);

/* places_kfunc.c: for functions of the kernel, and for few of them. */
void kfunc_key(struct entry *en);
void kfunc_args(struct entry *en);
void kfunc_few_args(struct entry *en);
bool kfunc_few_suits(const struct unit *u);
MUST_CHECK struct err *kfunc_few_target(const struct unit *u, uint32_t i, struct prog_target *ret);

/* entry_view.c. Whether the call of the probe has several keys, one for each variant. */
bool sys_has_variants(const struct unit_probe *p);
/* Adds to the key in r8, of a call, the number of its variant. */
void sys_add_variant(struct entry *en);
/* Fills the arguments of a view. */
void sys_view_args(struct entry *en);
