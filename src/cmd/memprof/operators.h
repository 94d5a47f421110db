/* SPDX-License-Identifier: MIT */
/*
 * Operators new and delete of an allocator's file (operators.c), for the D program of memprof
 * malloc.
 *
 * Owns     operators_deinit() releases what operators_read() has filled.
 * Errors   what is not found is noted in struct operators.
 * Threads  one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

#define NOPERATORS 8u
#define NDELETES   12u
#define TAIL_BYTES 32u

/*
 * Operators new of C++: of an object and an array, nothrow, aligned. Their numbers are made of the
 * bits below.
 */
extern const char *const operators_new[NOPERATORS];
#define OPERATOR_NOTHROW 2
#define OPERATOR_ALIGNED 4

/* Where an operator returns that has ended with a jump. */
struct tail {
	char *name; /* of a function, whose returns these are; NULL: */
	uint8_t bytes[TAIL_BYTES];
	uint32_t nbytes; /* the code from the return on, which is there once in the file */
};

struct operator_new {
	bool is_there;
	bool returns;  /* it has a return itself */
	bool calls;    /* it calls a function whose blocks are followed */
	uint64_t addr; /* in the file */
};

struct operators {
	bool is_known;	 /* the file could be read */
	bool is_partial; /* a way out of an operator new leads to where is not known */
	bool is_sampled; /* the caller's: a sample of the blocks is followed */
	struct operator_new news[NOPERATORS];
	bool has_delete[NDELETES];
	struct tail *tails;
	uint32_t ntails;
};

/*
 * Reads which operators a module of the process has, and where operators new return. is_followed()
 * says whether blocks of a function of that name are. *nsearched counts bytes of code that were
 * searched, and is 0 before the first file: after too many, what needs a search is partial. False:
 * the file cannot be read.
 */
bool operators_read(pid_t pid, const char *module, bool (*is_followed)(const char *name),
		    uint64_t *nsearched, struct operators *ret);
void operators_deinit(struct operators *o);
/* Whether there are probes at bytes, which a user without proc_owner may not have. */
bool operators_have_bytes(const struct operators *o);
/* Whether blocks of operator new number k are followed at its own returns. */
bool operator_is_probed(const struct operators *o, size_t k);
/* Whether those of any are. */
bool operators_are_probed(const struct operators *o);
/* Adds the declarations of probes of a provider, in which number tells the module from others. */
void operators_declare(struct strbuf *d, const struct operators *o, const char *module,
		       uint32_t number);
/*
 * Adds the clauses of all operators. entry_add() adds that of an entry, with its predicate: it sets
 * self->size, and self->entered to the stack pointer. The caller's clauses set self->entered to 0
 * when an operator is left by an exception, or has its block from a function that is followed.
 */
void operators_trace(struct strbuf *d, const struct operators *o, const char *module,
		     uint32_t number,
		     void (*entry_add)(struct strbuf *d, const char *probe, const void *arg),
		     const void *arg);
