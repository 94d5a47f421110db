/* SPDX-License-Identifier: MIT */
/*
 * The engine in the kernel: maps, linking with the run-time library, loading. A session uses it
 * as any engine (probe/engine.h); the functions below are what it is made of.
 *
 * Owns     struct kmaps owns its map descriptors and mappings; a loaded program is a descriptor
 *          that the caller closes. Nothing is pinned: closing everything (or dying) removes
 *          everything.
 * Errors   what the kernel refused, why, and the remedy (missing capability, CONFIG, lockdown).
 * Units    sizes in bytes.
 */
#pragma once

#include "base/err.h"
#include "bpf/alarm.h"
#include "bpf/mach.h"
#include "bpf/unit.h"
#include "kernel/budget.h"
#include "kernel/kernel.h"
#include "kernel/linker.h"
#include "probe/engine.h"

/* ---- maps (maps.c) --------------------------------------------------------------------------- */

/* Compiled ustack helpers that programs of one type can call (helper_code.h). */
struct helper_array {
	uint32_t prog_type, attach_type;
	int fd;
};
#define HELPER_ARRAYS 16u

struct kmaps {
	int fd[MAP_NCLASSES];	/* of classes with one map; -1 = not needed */
	int *agg_fds, *arr_fds; /* by index in layout.agg_maps, layout.arr_maps */
	uint32_t naggs, narrs;
	int *ring_fds;	     /* by CPU; -1: the CPU was offline */
	int spare_fd;	     /* ring of the CPUs that were offline; -1: none was */
	uint32_t ncpus;	     /* possible CPUs */
	uint32_t stack_size; /* of a value of MAP_STACKS */
	uint32_t ring_size, spare_size;
	struct rt_control *control; /* shared with the kernel */
	size_t control_size;
	struct alarm alarm; /* nothing where MAP_ALARM is not needed */
	char *strtab; /* MAP_STRTAB, shared with the kernel, if it has room to grow; else NULL */
	size_t strtab_size, strtab_len; /* with the room; used so far */
	uint64_t *hcode; /* MAP_HCODE, shared with the kernel; NULL: no helpers run */
	struct helper_array helper_arrays[HELPER_ARRAYS];
	uint32_t nhelper_arrays;
	uint64_t *spec; /* words of MAP_SPEC, shared with the kernel; NULL when there are none */
	size_t spec_size;
};

struct kmaps_opts {
	const struct mach *mach; /* of the layout; kmaps_create() reads it only */
	uint32_t bufsize;	 /* per CPU, bytes; rounded up to a power of two of pages */
	bool need_tls;
	/*
	 * Ranges [start, end) of the kernel's tracing code, two words each, ascending, which caller
	 * and stackdepth leave out; NULL = none.
	 */
	const uint64_t *tracing;
	uint32_t ntracing;
	/*
	 * What the kernel looks like to rt/unwind.c, which then walks user stacks (unwind.h); NULL:
	 * the kernel's helper walks them.
	 */
	const struct rt_ukernel *ukernel;
	struct rt_pidns pidns; /* pidns.h */
	uint64_t unwindsize;   /* bytes of unwind tables */
	uint32_t strtab_room;  /* bytes, for strings that are added while programs run */
};

/* Ring buffers that a program names: one a CPU; when there are many, an array of ring buffers. */
#define KMAPS_RINGS_NAMED 24
/* How many maps of elements a program can use beside the others (layout_opts.max_maps). */
uint32_t kmaps_max_elem_maps(uint32_t ncpus);
MUST_CHECK struct err *kmaps_create(const struct layout *l, const struct kmaps_opts *opts,
				    struct kmaps **ret_maps);
void kmaps_destroy(struct kmaps *m); /* NULL is allowed */
/* Links code with the session's maps, and with its own: NULL = it has none (kernel/linker.h). */
MUST_CHECK struct err *kmaps_link_code(const struct kmaps *m, const struct bpf_code *code,
				       const struct own_maps *own, struct linked *ret);
/* The array of compiled helpers for programs of the type; makes it if there is none. */
MUST_CHECK struct err *kmaps_helper_array(struct kmaps *m, uint32_t prog_type, uint32_t attach_type,
					  int *ret_fd);
/* Copies strings that were added to the session's string table; false: there is no room. */
bool kmaps_add_strings(struct kmaps *m, const struct strtab *t);
/* To be called before probes fire in interrupts: warm.c says why. */
void kmaps_warm(const struct kmaps *m, const struct layout *l);

/* ---- loading (load.c) ----------------------------------------------------------------------- */

struct loaded {
	const struct unit *unit; /* as the session gave it */
	struct unit as;		 /* as it is loaded: perhaps at a faster kind of place */
	int prog_fd, dispatch_fd;
	int *progs; /* all programs, of which prog_fd is the first */
	uint32_t nprogs;
	struct call_budget budget;
	uint64_t quota_bytes; /* of the quota of memory, for its tables */
};

/*
 * Links code with the run-time functions that it calls, creates and fills the unit's dispatch map,
 * and loads the program. A refusal by the verifier becomes a message of one sentence with the
 * source offset of the clause (*ret_span, 0 when unknown); the verifier's log goes to `log` if not
 * NULL.
 */
MUST_CHECK struct err *unit_load(const struct unit *u, const struct bpf_code *code, struct kmaps *m,
				 const struct layout *l, FILE *log, struct loaded *ret_loaded,
				 uint32_t *ret_span);

/* Closes the unit's tables and gives back their memory of the quota; there may be none. */
void unit_close_tables(struct loaded *l);

/* Makes the probes of a process fire no more, though their links stay. */
MUST_CHECK struct err *unit_drop_process(const struct unit *u, const struct loaded *l,
					 uint32_t tgid);
/* The same for all probes of the unit. */
MUST_CHECK struct err *unit_silence(const struct unit *u, const struct loaded *l);

/* ---- the engine (engine_bpf.c) --------------------------------------------------------------- */

extern const struct engine engine_bpf;
