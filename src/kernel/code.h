/* SPDX-License-Identifier: MIT */
/*
 * BPF code before linking: instructions, their relocations, and the source text of each.
 *
 * Owns     its vectors; bpf_code_deinit() releases them.
 */
#pragma once

#include <linux/bpf.h>

#include "base/vec.h"

/* Kinds of maps, of a session or of a unit. */
enum map_class {
	MAP_CONTROL, /* struct rt_control: one element, mmapped, direct value */
	MAP_MACH,
	MAP_SCRATCH,
	MAP_GVARS,    /* one element, direct value */
	MAP_STRTAB,   /* one element, direct value */
	MAP_TLS,      /* task storage */
	MAP_STRINGS,  /* hash -> struct rt_keystr */
	MAP_STACKS,   /* hash -> struct rt_stack */
	MAP_AGG,      /* index in layout.agg_maps */
	MAP_ARR,      /* index in layout.arr_maps */
	MAP_DISPATCH, /* the unit's own: key -> struct rt_dispatch */
	MAP_KFUNCS,   /* the unit's own: struct kfunc_bucket (kfunc_table.h) */
	MAP_RODATA,   /* struct rt_cfg, frozen */
	MAP_UFILES,   /* struct rt_ufile_key -> struct rt_ufile */
	MAP_UBLOCKS,  /* RT_UBLOCK_KEY() -> struct rt_ublock */
	MAP_UCACHE,   /* struct rt_urule */
	MAP_UREQ,     /* ring buffer of struct rt_ureq */
	MAP_HPROCS,   /* key of a process -> struct rt_hproc (rt/helper.h) */
	MAP_HFILES,   /* struct rt_ufile_key -> struct rt_hfile */
	MAP_HCONSTS,  /* bits of files -> struct rt_hconst */
	MAP_HCODE,    /* words of helpers: one element, mmapped, direct value */
	MAP_HMEMO,    /* struct rt_hmemo */
	MAP_HPROGS,   /* the type of program's own: compiled programs of helpers */
	MAP_LIVE,     /* struct rt_live_key -> struct rt_live */
	MAP_SPEC,     /* words of speculations: one element, mmapped, direct value */
	MAP_RINGS,    /* ring buffers by CPU, when there are many CPUs */
	MAP_ALARM,    /* perf events by CPU, in sessions with a quota of CPU time (bpf/alarm.h) */
	/* the watch's own (watch/follow.h), not the session's */
	MAP_WATCH,	   /* struct rt_watch_cfg, frozen */
	MAP_WATCHED,	   /* process id -> struct rt_watched */
	MAP_WATCH_EVENTS,  /* ring buffer of struct rt_watch_event */
	MAP_WATCH_LOST,	   /* one word: number of events that found no room in the buffer */
	MAP_WATCH_LINKERS, /* process id -> struct rt_watch_linker */
	MAP_WATCH_WORK,	   /* memory of rt/known.c, one element a CPU */
	MAP_NCLASSES
};

#define MAP_REF(class, index) ((uint32_t)(class) << 16 | (uint32_t)(index))

enum reloc_kind {
	RELOC_MAP,	 /* ld_imm64: the map itself */
	RELOC_MAP_VALUE, /* ld_imm64: address in element 0; offset in reloc.off */
	RELOC_RT,	 /* call, or address, of a run-time function (reloc.name) */
	RELOC_FUNC,	 /* call of a function of this code: reloc.ref = index in funcs, or id */
};

/*
 * reloc.name of the function that writes to a CPU's ring: r1 = CPU, r2 = data, r3 = size, r4 =
 * flags.
 */
#define RT_RING_OUTPUT "rt_ring_output"

struct bpf_reloc {
	uint32_t insn;
	enum reloc_kind kind;
	uint32_t ref; /* MAP_REF() or function index */
	uint32_t off;
	const char *name;
};

struct bpf_func { /* funcs[0] is the entry; all others are subprograms taking (ctx, mach, number) */
	uint32_t start; /* first instruction */
	const char *name;
	uint32_t clause; /* prog_clause.index; UINT32_MAX for the entry */
	uint32_t id;	 /* calls refer to it by this id until bpf_code_resolve() */
	bool is_global;	 /* the kernel verifies it by itself */
	/* a global function that takes so many numbers instead; 0: (ctx, mach, number) */
	uint32_t nnumbers;
};

struct bpf_code {
	VEC(struct bpf_insn) insns;
	VEC(struct bpf_reloc) relocs;
	VEC(struct bpf_func) funcs;
	/* source offset of each instruction, 0 = none; may be shorter than insns */
	VEC(uint32_t) spans;
	/* the kernel's name for the type of the context that global functions take */
	const char *ctx_type;
};

struct strbuf;

void bpf_code_deinit(struct bpf_code *c);
/* Prints code for -xdump=bpf and golden tests. */
void bpf_code_print(const struct bpf_code *c, struct strbuf *out);
/* Makes calls refer to functions by index, where they did by id. */
void bpf_code_resolve(struct bpf_code *c);
