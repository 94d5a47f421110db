/* SPDX-License-Identifier: MIT */
/*
 * The CPU time that a session may take from tasks of others: on each CPU it grows with the age of
 * the session, and is what the session has not taken of it.
 *
 *     budget
 *       ^                        cap ----------------   four seconds' share
 *       |                      .'                    '.  taken
 *   begin_ns  - - - - - - - .'  probes are attached    '.
 *       0   ------------- .' ----------------------------'. ----> time
 *       |              .'                                  '  the session ends
 *   -reserve  ------ .'
 *
 * So a user who starts sessions one after the other takes no more than one that goes on: each of
 * them must have been there before it may take anything, and nothing need be remembered of those
 * that have ended. The reserve is for what is taken while a session ends.
 *
 * Units    ns; shares in 1/100 % of a CPU.
 * Errors   none.
 * Threads  whoever calls locks.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"

/* A budget begins with so much less than nothing: a session that ends takes as much at most. */
#define CPU_BUDGET_RESERVE_NS 20000000
/* Above this overdraft the kernel ends the session, because nobody else has. */
#define CPU_BUDGET_KILL_NS 10000000
/* Probes are attached when the budget is so large. */
#define CPU_BUDGET_BEGIN_NS 5000000

struct cpu_budget {
	uint64_t at; /* the time of the last cpu_budget_grow() */
	uint32_t ncpus;
	struct cpu_left {
		int64_t left;
		uint64_t taken; /* the counter, when it was looked at last */
		/* when nothing was missing the last time, or nothing had been taken yet */
		uint64_t full_at, taken_at_full;
	} * cpus;
};

/* Begins at the time now. The memory is the budget's, for ever: there is one a process. */
void cpu_budget_begin(struct cpu_budget *b, uint32_t ncpus, uint64_t now);
/* Begins again. */
void cpu_budget_restart(struct cpu_budget *b, uint64_t now);
/* The share of the user is that of n sessions. */
void cpu_budget_grow(struct cpu_budget *b, uint64_t now, uint64_t share, uint64_t n);
/*
 * Takes what the counter of a CPU has grown by; a smaller one than before is a new one. To be
 * called before cpu_budget_grow() of the same look.
 */
void cpu_budget_take(struct cpu_budget *b, uint32_t cpu, uint64_t taken);
/* Returns the rest of the budget on the CPU that has least. */
int64_t cpu_budget_least(const struct cpu_budget *b);
/* Whether the budget of no CPU can grow. */
bool cpu_budget_is_full(const struct cpu_budget *b, uint64_t share, uint64_t n);
/* The share that was taken of the CPU that has least, since nothing was missing. */
uint64_t cpu_budget_share(const struct cpu_budget *b);
/* So long until the budget is `least` at the earliest; 0: it is. */
uint64_t cpu_budget_wait_ns(const struct cpu_budget *b, int64_t least, uint64_t share, uint64_t n);
