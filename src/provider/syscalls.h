/*
 * The table of system calls, and what is known about them beyond their names.
 *
 * Facts    numbers and types: tools/gen_syscalls.py. Other systems' names: providers.md 4.4.
 */
#pragma once

#include "base/arena.h"
#include "base/hashmap.h"
#include "bpf/unit.h"

#define SYSF_NEW 0x1 /* younger than Linux 6.1: its existence is always asked for */

struct syscall_row {
	const char *name;
	int16_t nr64, nr32; /* -1 = not in that table */
	uint16_t flags;
	const char *tracefs; /* name of its event */
	const char *types;   /* of the arguments, separated by '|'; NULL = unknown */
};

extern const struct syscall_row syscall_rows[];
extern const uint32_t syscall_nrows;
const struct syscall_row *syscall_find(const char *name); /* header name; NULL when unknown */

/* A call, or one variant of it, that does the work of another. */
struct syscall_view {
	const char *call; /* of Linux */
	const char *as;	  /* whose arguments it shows: a call, or an alias ("lwp_create") */
	uint32_t variant;
	struct sys_view sys;
};
extern const struct syscall_view syscall_views[];
extern const uint32_t syscall_nviews;
bool syscall_view_moves_args(const struct syscall_view *v);

/*
 * What name stands for, beside the call of that name: calls or forms (syscall_view.as), separated
 * by blanks. NULL = nothing.
 */
const char *syscall_targets(const char *name);
/*
 * Targets of the other names that pattern matches, one name a call; *at begins at 0. NULL = no
 * more.
 */
const char *syscall_targets_next(const char *pattern, uint32_t *at);
/* A call that has no counterpart; *ret_instead: what programs call here, or NULL. */
bool syscall_is_absent(const char *name, const char **ret_instead);

/* syscall.c: probes, registered when they are not yet. view: place in syscall_views. */
struct probes;
struct provider;
struct probe *syscall_probe(struct probes *ps, const struct provider *pv, uint32_t row,
			    bool is_return);
struct probe *syscall_view_probe(struct probes *ps, const struct provider *pv, uint32_t view,
				 bool is_return);
struct probe *syscall_raw_probe(struct probes *ps, const struct probe *native);
bool syscall_row_exists(struct probes *ps, const struct provider *pv, const struct syscall_row *r);
/* True the first time it is asked about name. */
bool syscall_note(struct probes *ps, const struct provider *pv, const char *name);
/* The call of a probe that syscall_probe() gave; NULL for the other two. */
const struct syscall_row *syscall_of_probe(const struct probe *pr);

/* syscall_names.c: other names, for struct provider. */
#define SYSCALL_LX "lx-syscall"
struct probe_desc;
struct probe_list;
struct err *syscall_expand(struct probes *ps, const struct provider *pv,
			   const struct probe_desc *desc, struct probe_list *found);
const char *syscall_hint(struct probes *ps, const struct provider *pv,
			 const struct probe_desc *desc);

/* Which of them the running kernel has (syscall_kernel.c). */
struct syscall_kernel {
	struct hashmap *names; /* tracefs names, or those in BTF; NULL = not known */
	bool is_btf;	       /* names are from BTF: calls without arguments are missing */
	bool has_compat;       /* runs 32-bit programs */
};
void syscall_kernel_init(struct syscall_kernel *k);
void syscall_kernel_deinit(struct syscall_kernel *k);
bool syscall_kernel_has(const struct syscall_kernel *k, const struct syscall_row *row);
