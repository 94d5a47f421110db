/*
 * The session's side of the kernel: maps, linking with the run-time library, loading, attaching.
 *
 * Owns     struct kmaps owns its map descriptors and mappings; a loaded program is a descriptor
 *          that the caller closes. Nothing is pinned: closing everything (or dying) removes
 *          everything.
 * Errors   what the kernel refused, why, and the remedy (missing capability, CONFIG, lockdown).
 * Units    sizes in bytes.
 */
#pragma once

#include "base/err.h"
#include "bpf/sys.h"
#include "bpf/unit.h"

/* ---- features (feat.c): asked once, cached in the process; tests can force each absent ------- */

enum feature {
#define FEAT(name, what) FEAT_##name,
#include "bpf/features.def"
#undef FEAT
	FEAT_NFEATURES
};
bool feat_has(enum feature f);
const char *feat_what(enum feature f);
/*
 * What needs f has ended with e: when it failed and the kernel lacks f, an error that says so, else
 * e.
 */
MUST_CHECK struct err *feat_explain(enum feature f, struct err *e);
void feat_force_absent(enum feature f, bool absent); /* also env FATHOM_NO_FEATURE=name,name */
/*
 * First thing a session does: privilege, BTF, bpf(2), ring buffers. NULL = this kernel and user
 * will do.
 */
MUST_CHECK struct err *kernel_check(void);
/* Mount point of tracefs, mounting it when that is possible. */
MUST_CHECK struct err *tracefs_path(const char **ret_path);

/* ---- kernel types (kfield.c): reads /sys/kernel/btf/vmlinux only when called ----------------- */

/* Byte offset of a member path ("se.sum_exec_runtime") in a struct. Errors name what is missing. */
MUST_CHECK struct err *kfield_offset(const char *strct, const char *path, uint32_t *ret_off);
/* need_compat: units on system calls, which tell 32-bit tasks apart. */
MUST_CHECK struct err *kfields_fill(struct kfields *kf, bool need_parent, bool need_compat);

/* What a walk of user stacks reads of the kernel. */
MUST_CHECK struct err *kfields_walk(struct rt_ukernel *ret);

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

/* ---- attaching (attach.c) -------------------------------------------------------------------- */

MUST_CHECK struct err *attach_raw_tracepoint(int prog_fd, const char *name, int *ret_fd);
/*
 * cpu-clock event on one CPU, every period_ns; the program sees cookie. Two descriptors: event,
 * link.
 */
MUST_CHECK struct err *attach_cpu_clock(int prog_fd, int cpu, uint64_t period_ns, uint64_t cookie,
					int *ret_event_fd, int *ret_link_fd);
/*
 * BPF_LINK_CREATE for uprobes, newer than the headers we are built with (Linux 89ae89f53d20, v6.6):
 * keeper.h.
 */
#define ATTACH_UPROBE_MULTI 48 /* enum bpf_attach_type */
struct uprobe_multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, pad;
};
/* For feature checks: asks with an array of places that cannot be read. -1 and errno. */
int uprobe_multi_try(int prog_fd, const char *path, pid_t pid);
/* Runs a raw tracepoint type program once with args[0] = key, on this thread. */
MUST_CHECK struct err *prog_test_run(int prog_fd, uint64_t key);
