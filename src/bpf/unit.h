/* SPDX-License-Identifier: MIT */
/*
 * A unit as a BPF program.
 *
 * The entry function finds out which probe fires, claims a machine state, fills the arguments that
 * its clauses use, and runs those clauses that are enabled on the probe. bpf_gen_unit() makes the
 * code; engine.h links and loads it.
 */
#pragma once

#include "kernel/code.h"
#include "bpf/mach.h"
#include "record/layout.h"
#include "rt/abi.h"
#include "kernel/kernel.h"
#include "probe/unit.h"

/*
 * Bits 0-31: key; 32-62: offset of the instruction; 63: it is a tail call, so there is no result.
 */
#define UPROBE_COOKIE(key, offset, is_tail)                                                        \
	((uint64_t)(is_tail) << 63 | ((uint64_t)(offset)&0x7fffffff) << 32 | (key))

/* A value of MAP_DISPATCH. probe 0: the key is not selected. */
struct rt_dispatch {
	u32 probe, probe_idx;
	u32 names[4]; /* string table offsets of the probe's names */
	u32 tgid;     /* the process in which it fires, 0 = all */
	union {
		u32 spot; /* enum code_spot */
		u32 key;  /* of a system call */
	};
	u64 pc;	    /* unit_probe.relay_pc */
	u64 mask[]; /* bit i: clause i of the unit runs; unit.nwords words */
};

struct gen_env {
	const struct layout *layout;
	const struct mach *mach; /* of the layout */
	const struct kfields *kfields;
	struct rt_pidns pidns;
	bool signals_own; /* stop() and raise() reach processes of the user uid only */
	uint32_t uid;
	/* Probes fire in processes of this user and group only (rt_task_own()) */
	bool fires_own;
	uint32_t own_uid, own_gid, own_userns; /* and in the user namespace with this inode */
	bool has_alarm; /* there is MAP_ALARM for what tasks of others lose */
	uint32_t ncpus;
	bool unwinds;	      /* user stacks are walked by rt_ustack() */
	bool calls_helpers;   /* tail calls of compiled ustack helpers work here */
	bool use_task_btf;    /* bpf_get_current_task_btf() works here */
	uint32_t only_cpu;    /* 1 + the CPU on which probes fire, except BEGIN and END; 0 = all */
	bool stops_when_full; /* a record that finds no room ends the run */
	uint32_t shuffle;     /* for tests: not 0 chooses registers at random and spills often */
};

/* places.c: for load.c, the type of program of a kind of place, and its attach type. */
enum bpf_prog_type place_prog_type(enum place_kind kind);
uint32_t place_attach_type(enum place_kind kind);
/* The kind to try first for a unit: its own, or a faster one that means the same. */
enum place_kind place_preferred(const struct unit *u);
/* The kernel function for which a program of type tracing is loaded (fentry, fexit). */
struct prog_target {
	uint32_t attach_type, btf_id;
	int btf_fd; /* the module's types, which the caller closes; 0: the kernel's */
};
/* How many programs a unit has, and what program i is for (btf_id 0: for no function). */
uint32_t place_nprogs(const struct unit *u);
MUST_CHECK struct err *place_target(const struct unit *u, uint32_t i, struct prog_target *ret);

/* Generates the code of a unit. */
MUST_CHECK struct err *bpf_gen_unit(const struct unit *u, const struct gen_env *env,
				    struct bpf_code *ret_code);
