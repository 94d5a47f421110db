/* SPDX-License-Identifier: MIT */
/*
 * Which level of privilege probes, variables, calls and options of D need: the table in needs.def.
 *
 * Errors   none: what the table does not know needs LEVEL_KERNEL.
 * Threads  any; the table is constant.
 */
#pragma once

#include "privilege/privilege.h"

struct need {
	uint32_t level; /* LEVEL_...; 0: none */
	bool is_known;	/* the table has a row for it */
	/* It tells of the current task, or acts on it. */
	bool is_about_task;
	bool is_about_memory; /* the task's memory, too */
	uint32_t args;	      /* of a probe: the arguments, bit by bit, that need no other level */
	bool has_other;	      /* its first argument is a task that must be the user's, too */
	uint32_t own;	      /* the arguments that the library reads of the kernel's memory */
};

/* name: that of a provider of the session: "syscall", "pid", "usdt". */
struct need need_of_provider(const char *name);
/* A probe that the D library declares, by its names with '-': "proc", "exec-success". */
struct need need_of_probe(const char *provider, const char *probe);
struct need need_of_variable(const char *name);
/* A member of a struct that such a variable of the library is, by its tag: "psinfo", "pr_pid". */
struct need need_of_member(const char *tag, const char *member);
/* A function, action or aggregating function. */
struct need need_of_call(const char *name);
/*
 * Whether the provider is the system's: one that the table names, or one of whose probes some need
 * less than dtrace_kernel.
 */
bool need_has_provider(const char *name);
/*
 * The level that an option of the session needs; 0: none, LEVELS_ALL: it is for nobody who lacks
 * one, as is an option that the table does not know.
 */
uint32_t need_of_option(const char *name, bool *ret_is_known);
