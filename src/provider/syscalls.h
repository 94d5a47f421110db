/*
 * The table of system calls, and what is known about them beyond their names.
 *
 * Facts    numbers and types: tools/gen_syscalls.py. Other systems' names: providers.md 4.4.
 */
#pragma once

#include "base/arena.h"
#include "base/hashmap.h"

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

/*
 * A name of another system, or another name of this one. Where the arguments agree it stands for
 * targets, otherwise targets are only suggested.
 */
struct syscall_alias {
	const char *name;
	const char *targets; /* separated by blanks */
	bool same_args;
};
/* NULL when there is none. tmp receives the row when it has to be made up (read_nocancel). */
const struct syscall_alias *syscall_alias_find(const char *name, struct syscall_alias *tmp);

/* Which of them the running kernel has (syscall_kernel.c). */
struct syscall_kernel {
	struct hashmap *names; /* tracefs names, or those in BTF; NULL = not known */
	bool is_btf;	       /* names are from BTF: calls without arguments are missing */
	bool has_compat;       /* runs 32-bit programs */
};
void syscall_kernel_init(struct syscall_kernel *k);
void syscall_kernel_deinit(struct syscall_kernel *k);
bool syscall_kernel_has(const struct syscall_kernel *k, const struct syscall_row *row);
