/* SPDX-License-Identifier: MIT */
/*
 * Processes that end before their helpers are attached: what their files fix is learned all the
 * same, so that the next process of the same files has its frames from its first stack on.
 *
 * A program may live less than a millisecond. When a walk's request for it is read, its memory is
 * gone; but its files are there, and which these were was told when it mapped them. The clauses of
 * attach run over them as the dynamic linker leaves them (target_ended()). Nothing is learned where
 * such clauses read memory that the process could write, or that depends on other files, as words
 * do that the linker finds by a symbol: there is no process to compare it with.
 *
 * Owns     the mappings of code of the processes that have executed a program last, of as many as
 *          DEPARTED_MAX.
 * Errors   none: of what cannot be learned, stacks of the next process say that frames are missing.
 * Threads  the consumer's.
 */
#pragma once

#include "base/base.h"

struct departed;
struct sym_map;
struct ustacks;

#define DEPARTED_MAX 128

struct departed *departed_create(const struct ustacks *u); /* u outlives it */
void departed_destroy(struct departed *d);		   /* NULL is allowed */
/*
 * The process executes a program; what it maps from now on is its. time: ns of CLOCK_MONOTONIC when
 * it did, since the news may be late.
 */
void departed_execed(struct departed *d, uint64_t pid, uint64_t time);
void departed_mapped(struct departed *d, uint64_t pid, const struct sym_map *m);
/*
 * So many of its stacks, of the program that it executes now, were recorded before it was known
 * which helpers it has.
 */
void departed_bare(struct departed *d, uint64_t pid, uint64_t n);
/* The same, and a walk has asked for the helpers of the process, which has ended. */
void departed_want(struct departed *d, uint64_t pid, uint64_t nbare);
/*
 * Learns from those that are wanted, and forgets them; a program is tried once with the files that
 * helpers are for, unless they could not be read. It takes a tenth of the time at most, and what is
 * wanted waits. To be called now and then; is_last: nothing is learned any more. Returns how many
 * stacks were without frames of a language since the last call: of these, of those that were
 * learned from before, and of those for which there was no room.
 */
uint64_t departed_learn(struct departed *d, struct ustacks *u, bool is_last);
