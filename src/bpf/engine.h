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
#include "bpf/unit.h"
#include "kernel/kernel.h"
#include "probe/engine.h"

/* ---- maps (maps.c) --------------------------------------------------------------------------- */

struct ring {
	int fd;
};

struct kmaps {
	int fd[MAP_NCLASSES];	/* the classes with one map; -1 = not needed */
	int *agg_fds, *arr_fds; /* of layout.agg_maps, layout.arr_maps */
	uint32_t naggs, narrs;
	int *ring_fds;	/* by CPU; -1: the CPU was offline */
	int spare_fd;	/* ring of all those that were offline; -1: none was */
	uint32_t ncpus; /* possible CPUs */
	uint32_t ring_size, spare_size;
	struct rt_control *control; /* shared with the kernel */
	size_t control_size;
	char *strtab; /* of MAP_STRTAB with room, shared with the kernel; else NULL */
	size_t strtab_size, strtab_len; /* with room; as far as it is filled */
	uint64_t *spec; /* words of MAP_SPEC, shared with the kernel; NULL when there are none */
	size_t spec_size;
};

struct kmaps_opts {
	uint32_t bufsize; /* per CPU, bytes; rounded up to a power of two of pages */
	bool need_tls;
	/*
	 * ranges [start, end) of the kernel's tracing code, two words each, ascending: what caller
	 * and stackdepth leave out; NULL = none
	 */
	const uint64_t *tracing;
	uint32_t ntracing;
	/*
	 * user stacks are walked by our own means (unwind.h); NULL = by the kernel's, where they
	 * are
	 */
	const struct rt_ukernel *ukernel;
	struct rt_pidns pidns; /* pidns.h */
	uint64_t unwindsize;   /* bytes of unwind tables */
	uint32_t strtab_room;  /* bytes, for strings that are added while programs run */
};

MUST_CHECK struct err *kmaps_create(const struct layout *l, const struct kmaps_opts *opts,
				    struct kmaps **ret_maps);
void kmaps_destroy(struct kmaps *m); /* NULL is allowed */
/* Takes over what was added to the session's string table; false: there is no room for it. */
bool kmaps_add_strings(struct kmaps *m, const struct strtab *t);
/* Before probes that fire in interrupts: see warm.c. */
void kmaps_warm(const struct kmaps *m, const struct layout *l);

/* ---- linking and loading (link.c, load.c) ---------------------------------------------------- */

/* What the longest chain of calls of a program takes: budget.h. */
struct call_budget {
	uint32_t calls, stack; /* functions; bytes */
};

struct loaded {
	const struct unit *unit;
	int prog_fd, dispatch_fd;
	struct call_budget budget;
};

/*
 * Links code with the run-time functions it calls, creates and fills the unit's dispatch map,
 * loads. A refusal by the verifier becomes a message that names the clause's source offset
 * (*ret_span, 0 when unknown) and one sentence; the whole log goes to log when that is not NULL.
 */
MUST_CHECK struct err *unit_load(const struct unit *u, const struct bpf_code *code, struct kmaps *m,
				 const struct layout *l, FILE *log, struct loaded *ret_loaded,
				 uint32_t *ret_span);

/* Probes of the process fire no more, whatever links there are. */
MUST_CHECK struct err *unit_drop_process(const struct unit *u, const struct loaded *l,
					 uint32_t tgid);

/* ---- the engine (engine_bpf.c) --------------------------------------------------------------- */

extern const struct engine engine_bpf;
/* For who fills unwind tables (session/unwind.c). NULL: another engine's. */
struct kmaps *engine_bpf_maps(const struct engine_run *r);
