/*
 * A unit: one BPF program that serves many probes of one kind of attach point.
 *
 * The entry function finds the probe from data (system call number, attach cookie), claims a machine
 * state, fills the arguments its clauses use, and runs those of its clauses that are enabled on the
 * probe, in program order. bpf_gen_unit() makes its code, link.h and load.h bring it into the kernel.
 *
 * To add an entry kind: 1. the enum; 2. a row in the table of entry.c (program type, how the key is
 * found, how arguments are filled); 3. a provider that uses it.
 */
#pragma once

#include "bpf/code.h"
#include "bpf/layout.h"

enum entry_kind {
	ENTRY_TEST_RUN,	 /* BEGIN, END: raw tracepoint type, run by BPF_PROG_TEST_RUN; key = ctx args[0] */
	ENTRY_SYS_ENTER, /* raw tracepoint sys_enter; key = number, + RT_SYS_COMPAT for 32-bit tasks */
	ENTRY_SYS_EXIT,	 /* raw tracepoint sys_exit; arg0 = arg1 = result or -1, errno */
	ENTRY_PERF,	 /* perf event with a cookie: key = cookie; arg0/arg1 = kernel/user PC */
	ENTRY_SYS_ENTER_VIEW, /* as ENTRY_SYS_ENTER; key, arguments: struct sys_view */
	ENTRY_SYS_EXIT_VIEW,  /* as ENTRY_SYS_EXIT; key: struct sys_view */
	ENTRY_SYS_EXIT_RAW,   /* as ENTRY_SYS_EXIT; arg0 = arg1 = result as the kernel has it */
	ENTRY_UPROBE,	 /* uprobes with cookies: UPROBE_COOKIE(key, offset) */
	ENTRY_NKINDS
};

#define RT_SYS_MAX     1024 /* keys of native system calls are below this */
#define RT_SYS_COMPAT  RT_SYS_MAX
#define RT_SYS_VARIANT 2048 /* variant n of a call has n times this in its key */

static inline bool entry_is_sys(enum entry_kind kind)
{
	return kind == ENTRY_SYS_ENTER || kind == ENTRY_SYS_EXIT || kind == ENTRY_SYS_ENTER_VIEW ||
	       kind == ENTRY_SYS_EXIT_VIEW || kind == ENTRY_SYS_EXIT_RAW;
}

/* Which variant a call is: the place, from 1, of the first mask that its flags meet, or 0. */
struct sys_split {
	uint8_t arg;  /* the argument that holds the flags ... */
	bool is_user; /* ... or points to 8 bytes with them */
	/* clone(): a new thread returns in variant 1. What its flags were read from may be gone then. */
	bool is_clone;
	uint32_t masks[2];
};

enum sys_arg_kind { SYS_ARG_NONE, SYS_ARG_REG, SYS_ARG_CONST, SYS_ARG_USER };

/* Nothing (0); the call's argument arg; value; or 8 bytes of user memory at argument arg + value. */
struct sys_arg {
	uint8_t kind, arg;
	uint16_t value;
};

/* A system call, or one variant of it, seen with other arguments. */
struct sys_view {
	const struct sys_split *split; /* NULL = the call has one variant, 0 */
	struct sys_arg args[6];
};

/* Bits 0-31 key, 32-62 offset of the instruction, 63: it is a jump, the function has no value yet. */
#define UPROBE_COOKIE(key, offset, is_tail) \
	((uint64_t)(is_tail) << 63 | ((uint64_t)(offset)&0x7fffffff) << 32 | (key))

/* Value of MAP_DISPATCH. probe 0: not selected. */
struct rt_dispatch {
	u32 probe, probe_idx;
	u32 names[4]; /* string table offsets of the probe's names */
	u32 tgid;     /* the one process it fires in, 0 = all */
	u32 place;    /* enum uprobe_place */
	u64 mask[]; /* bit i: clause i of the unit runs; unit.nwords words */
};

struct unit_clause {
	const struct clause_layout *layout;
	/* probes it is enabled on, as probe_idx values ascending; rank + first_epid = epid */
	const uint32_t *probe_idxs;
	uint32_t nprobes;
};

struct unit_probe {
	uint32_t key;
	const struct sys_view *view; /* of the VIEW kinds; NULL = the call in its own form */
	uint32_t probe, probe_idx;
	uint32_t prov, mod, func, name; /* string table offsets: probeprov and so on */
	uint32_t tgid;		/* the one process it fires in, 0 = all */
	enum uprobe_place place; /* of ENTRY_UPROBE */
	uint64_t *mask;
};

/* Kernel structure offsets the generated code needs; UINT32_MAX when not needed or unknown. */
struct kfields {
	uint32_t task_real_parent, task_tgid, task_pid;
	uint32_t task_thread_info_status; /* x86: TS_COMPAT */
};

struct unit {
	const char *name; /* of the BPF program, at most 15 characters */
	enum entry_kind kind;
	bool can_nest;	/* another unit of the session shares its aggregations and may interrupt it */
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
	uint32_t ncpus;
	bool unwinds;	   /* user stacks are walked by rt_ustack() */
	bool use_task_btf; /* bpf_get_current_task_btf() works here */
	uint32_t only_cpu; /* 1 + the CPU on which probes fire, but for BEGIN and END; 0 = all */
	bool stops_when_full; /* a record that finds no room ends the run */
	uint32_t shuffle;  /* tests: not 0 chooses registers at random and spills often */
};

/* Entry program type and expected context, for load.h. */
enum bpf_prog_type entry_prog_type(enum entry_kind kind);
uint32_t entry_attach_type(enum entry_kind kind);

/* Which builtin variables and argN the unit's clauses read: decides what the entry fills. */
MUST_CHECK struct err *bpf_gen_unit(const struct unit *u, const struct gen_env *env,
				    struct bpf_code *ret_code);
/* Listing for -xdump=bpf and golden tests. */
void bpf_code_print(const struct bpf_code *c, struct strbuf *out);
