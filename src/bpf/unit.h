/*
 * A unit: one BPF program that serves all probes of one place.
 *
 * The entry function finds the probe from data (system call number, attach cookie), claims a
 * machine state, fills the arguments its clauses use, and runs those of its clauses that are
 * enabled on the probe, in program order. bpf_gen_unit() makes its code, link.h and load.h bring it
 * into the kernel.
 */
#pragma once

#include "bpf/code.h"
#include "bpf/layout.h"
#include "kernel/kernel.h"
#include "probe/place.h"

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

struct unit_identity {
	uint32_t probe, probe_idx;
	uint32_t names[4]; /* string table offsets: probeprov and so on */
};

struct unit_clause {
	const struct clause_layout *layout;
	/* probes it is enabled on, as probe_idx values ascending; rank + first_epid = epid */
	const uint32_t *probe_idxs;
	uint32_t nprobes;
	/*
	 * The probe that it fires as, which is made of the unit's; NULL: as the unit's. Those of
	 * one probe stand together.
	 */
	const struct unit_identity *as;
};

struct unit_probe {
	uint32_t key;
	const struct sys_view *view; /* of the VIEW kinds; NULL = the call in its own form */
	uint32_t probe, probe_idx;
	uint32_t prov, mod, func, name;	 /* string table offsets: probeprov and so on */
	uint32_t tgid;			 /* the one process it fires in, 0 = all */
	enum uprobe_place spot;		 /* of PLACE_UPROBE */
	const struct place_code *code;	 /* of kinds that are in code */
	const struct place_timer *timer; /* of PLACE_TIMER */
	uint64_t *mask;
};

struct unit {
	const char *name; /* of the BPF program, at most 15 characters */
	struct place place;
	/* another unit of the session shares its aggregations and may interrupt it */
	bool can_nest;
	bool is_begin_end; /* runs whatever control.state is */
	struct unit_clause *clauses;
	uint32_t nclauses, nwords;
	struct unit_probe *probes;
	uint32_t nprobes;
	/* enabled ERROR clauses of the session: run in place after a fault */
	struct unit_clause *error_clauses;
	uint32_t nerror_clauses;
	uint32_t error_probe, error_probe_idx;
	uint32_t error_names[4]; /* string table offsets of dtrace, "", "", ERROR */
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
