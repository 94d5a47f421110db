/*
 * A unit as a BPF program.
 *
 * The entry function finds the probe, claims a machine state, fills the arguments that the clauses
 * use, and runs those that are enabled on the probe. bpf_gen_unit() makes its code, link.h and
 * load.h bring it into the kernel.
 */
#pragma once

#include "bpf/code.h"
#include "bpf/layout.h"
#include "kernel/kernel.h"
#include "probe/unit.h"

/*
 * Bits 0-31 key, 32-62 offset of the instruction, 63: it is a jump, the function has no value yet.
 */
#define UPROBE_COOKIE(key, offset, is_tail)                                                        \
	((uint64_t)(is_tail) << 63 | ((uint64_t)(offset)&0x7fffffff) << 32 | (key))

/* Value of MAP_DISPATCH. probe 0: not selected. */
struct rt_dispatch {
	u32 probe, probe_idx;
	u32 names[4]; /* string table offsets of the probe's names */
	u32 tgid;     /* the one process it fires in, 0 = all */
	u32 spot;     /* enum uprobe_place */
	u64 mask[];   /* bit i: clause i of the unit runs; unit.nwords words */
};

struct gen_env {
	const struct layout *layout;
	const struct kfields *kfields;
	struct rt_pidns pidns;
	uint32_t ncpus;
	bool unwinds;	      /* user stacks are walked by rt_ustack() */
	bool use_task_btf;    /* bpf_get_current_task_btf() works here */
	uint32_t only_cpu;    /* 1 + the CPU on which probes fire, but for BEGIN and END; 0 = all */
	bool stops_when_full; /* a record that finds no room ends the run */
	uint32_t shuffle;     /* tests: not 0 chooses registers at random and spills often */
};

/*
 * places.c: type of a program for a kind of place, and its expected way of attaching, for load.c.
 */
enum bpf_prog_type place_prog_type(enum place_kind kind);
uint32_t place_attach_type(enum place_kind kind);

/* Which builtin variables and argN the unit's clauses read: decides what the entry fills. */
MUST_CHECK struct err *bpf_gen_unit(const struct unit *u, const struct gen_env *env,
				    struct bpf_code *ret_code);
/* Listing for -xdump=bpf and golden tests. */
void bpf_code_print(const struct bpf_code *c, struct strbuf *out);
