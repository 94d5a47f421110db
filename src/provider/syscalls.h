/* SPDX-License-Identifier: MIT */
/*
 * The table of system calls, and facts about them beyond their names.
 *
 * Facts    numbers and types: tools/gen_syscalls.py. Other systems' names: providers.md 4.4.
 */
#pragma once

#include "base/arena.h"
#include "base/hashmap.h"
#include "probe/place.h"

#define SYSF_NEW 0x1 /* newer than Linux 6.1: the kernel is always asked whether it has the call */

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

/* A Linux call, or one variant of it, that does the work of another call. */
struct syscall_view {
	const char *call; /* the Linux call */
	const char *as;	  /* the call, or alias ("lwp_create"), whose arguments it shows */
	uint32_t variant;
	struct sys_view sys;
};
extern const struct syscall_view syscall_views[];
extern const uint32_t syscall_nviews;
bool syscall_view_moves_args(const struct syscall_view *v);

/*
 * What a name stands for besides the Linux call of that name: calls or views (syscall_view.as),
 * separated by blanks. NULL = nothing else.
 */
const char *syscall_targets(const char *name);
/*
 * The targets of the next name of another system that pattern matches; *at is 0 in the first call.
 * NULL behind the last.
 */
const char *syscall_targets_next(const char *pattern, uint32_t *at);
/* Whether Linux has nothing like a call; *ret_instead: what programs use instead, or NULL. */
bool syscall_is_absent(const char *name, const char **ret_instead);

/* syscall.c: these register a probe if it is not registered yet. view: index in syscall_views. */
struct provider_env;
struct provider;
struct probe *syscall_probe(struct provider_env *env, const struct provider *pv, uint32_t row,
			    bool is_return);
struct probe *syscall_view_probe(struct provider_env *env, const struct provider *pv, uint32_t view,
				 bool is_return);
struct probe *syscall_raw_probe(struct provider_env *env, const struct probe *native);
bool syscall_row_exists(struct provider_env *env, const struct provider *pv,
			const struct syscall_row *r);
/* True in the first call for a name. */
bool syscall_note(struct provider_env *env, const struct provider *pv, const char *name);
/* The call of a probe from syscall_probe(); NULL for other probes. */
const struct syscall_row *syscall_of_probe(const struct probe *pr);

/* syscall_names.c: names of other systems, for struct provider. */
#define SYSCALL_LX "lx-syscall"
struct probe_desc;
struct probe_list;
struct err *syscall_expand(struct provider_env *env, const struct provider *pv,
			   const struct probe_desc *desc, struct probe_list *found);
const char *syscall_absent(struct provider_env *env, const struct provider *pv,
			   const struct probe_desc *desc);
const char *syscall_hint(struct provider_env *env, const struct provider *pv,
			 const struct probe_desc *desc);

/* The system calls that the running kernel has (syscall_kernel.c). */
struct syscall_kernel {
	struct hashmap *names; /* names in tracefs or in BTF; NULL = unknown */
	bool is_btf;	       /* the names are from BTF, which lacks calls without arguments */
	bool has_compat;       /* runs 32-bit programs */
};
void syscall_kernel_init(struct syscall_kernel *k);
void syscall_kernel_deinit(struct syscall_kernel *k);
bool syscall_kernel_has(const struct syscall_kernel *k, const struct syscall_row *row);
