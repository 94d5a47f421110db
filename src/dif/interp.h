/* SPDX-License-Identifier: MIT */
/*
 * The DIF interpreter: a machine with variables and scratch memory that runs verified DIF objects.
 *
 * It serves the property tests as the reference for code in the kernel; helpers over a core file
 * and a debugger can use it, too. Callbacks (struct dif_env) supply memory and built-in variables.
 *
 * Semantics that every executor of DIF shares (subroutines: interp_subr.c)
 *
 *   Registers  64 bits, zero when a DIFO begins. Arithmetic wraps. Shift counts are taken modulo
 *              64; sra is arithmetic. sdiv, srem truncate towards zero; INT64_MIN / -1 = INT64_MIN,
 *              % = 0. A divisor of 0: DIVZERO(0).
 *   Flags      after cmp r1, r2 a conditional branch is taken as the signed (bg bge bl ble) or
 *              unsigned (bgu bgeu blu bleu) 64-bit comparison of r1 with r2 says, without overflow;
 *              tst r1 is cmp r1, %r0. scmp r1, r2 sets them so that signed and unsigned branches
 *              alike say how the strings compare.
 *   scmp       both are read as str() of interp_subr.c, first r1, then r2, except that address 0 is
 *              the empty string; the texts are compared as unsigned bytes, the shorter of equals is
 *              less.
 *   Loads      any alignment. ld* and rld* from kernel memory, uld* from user memory; ldsb ldsh
 *              ldsw extend the sign. Not readable: BADADDR(address).
 *              Of scratch memory: only what this clause was given ("in scratch", interp_subr.c).
 *   Stores     stb, sth, stw, stx to such scratch memory, or to the storage of a by-reference
 *              variable; all bytes inside, else BADADDR(address); then the address must be a
 *              multiple of the size, else BADALIGN(address).
 *   allocs     as subroutine alloca.
 *   copys      size 0: nothing. Destination as for stores (no alignment), else
 *              BADADDR(destination); source from kernel memory, else BADADDR(source). Overlap:
 *              undefined content.
 *   ldga       the built-in array element; ldgs of a built-in its value. What they fault with is up
 *              to the environment.
 *   Variables  ids from DIF_VAR_USER on, typed by the variable table. By value: a store keeps the
 *              low type.size bytes, a load extends them by type.is_signed. By reference: a load
 *              gives the address of the storage; a store of address a reads type.size bytes there
 *              (strings: text up to NUL, cut to type.size - 1; user memory if DIF_TF_BYUREF),
 *              BADADDR(a) if that fails; a store of 0 zeroes the storage.
 *              Global and clause-local scalars exist from the start, zeroed (a by-reference one has
 *              an address then too). Thread-local scalars and elements of arrays do not: they read
 *              as 0, are made by a store of something else than 0 and freed by a store of 0 (for
 *              by-value: 0 after cutting to the size). No room: the store is dropped and counted.
 *   Keys       the tuple stack, first pushed first; not emptied by the access. pushtv: 64 bits.
 *              pushtr of a string: its text by str(), address 0 is "" (so "" and 0 are one key);
 *              nothing is read before the access. pushtr of type 0: r2 bytes at the address, more
 *              than DIF_MAX_STATIC: BADSIZE(r2), unreadable: BADADDR(address). Thread arrays: the
 *              thread is part of the key.
 *   Tuples     popts of an empty stack does nothing. More than DIF_MAX_TUPLE: TUPOFLOW(0). call
 *              takes the pushed 64 bits as arguments, whatever the type, and empties the stack.
 *   Faults     the first one ends the DIFO: value 0, kind, value and DIF offset (4 * instruction
 *              index).
 *
 * Memory   the machine's own memory (scratch, variables, string tables of the DIFOs that were run,
 *          dif_machine_string()) has its host addresses; every other address is the environment's.
 *          So an environment must have nothing at the host addresses of this process.
 * Owns     its variables and scratch. A DIFO that was run must live as long as the machine.
 * Threads  one machine belongs to one thread.
 */
#pragma once

#include "dif/dif.h"

struct dif_machine;

/* No callback may be NULL; those of dif_env_none refuse everything. */
struct dif_env {
	void *ctx;
	/* Copies size bytes; false when one of them cannot be read. */
	bool (*load_kernel)(void *ctx, uint64_t addr, void *buf, uint32_t size);
	bool (*load_user)(void *ctx, uint64_t addr, void *buf, uint32_t size);
	/* The value of a built-in; index is 0 for scalars. On a fault *ret is the fault's value. */
	enum dif_fault (*builtin)(void *ctx, uint32_t id, uint64_t index, uint64_t *ret);
	uint32_t (*rand)(void *ctx);
	bool (*progenyof)(void *ctx, int32_t pid);
	/*
	 * Subroutines of ustack helpers that are about the process (FX_ATTACH): v are the
	 * arguments, texts those of them that are strings. *ret_text is the result of one that
	 * returns a string. May be NULL.
	 */
	enum dif_fault (*attach)(void *ctx, uint32_t subr, const uint64_t *v,
				 const char *const *texts, uint64_t *ret, const char **ret_text);
	/*
	 * A subroutine that the interpreter does not have (dif_subr_is_interpreted()), v: its
	 * arguments. May be NULL.
	 */
	enum dif_fault (*missing)(void *ctx, uint32_t subr, const uint64_t *v, uint64_t *ret);
};

extern const struct dif_env dif_env_none;

/* A member that is 0 stands for its default. */
struct dif_machine_opts {
	uint32_t strsize;      /* 1 .. DIF_MAX_STRING; default 256 */
	uint32_t scratch_size; /* bytes; default 64 KiB or 32 strings, whichever is more */
	uint64_t dynvarsize;   /* bytes of thread-locals and array elements; default 1 MiB */
};

/* env is copied. */
struct dif_machine *dif_machine_create(const struct dif_env *env,
				       const struct dif_machine_opts *opts);
void dif_machine_destroy(struct dif_machine *m); /* NULL is allowed */

/*
 * Begins a firing and its first clause: zeroes this-> variables and the state of strtok(). thread:
 * the thread whose self-> variables are used.
 */
void dif_machine_begin_firing(struct dif_machine *m, uint64_t thread);
/* Begins another clause of the firing: frees scratch memory. */
void dif_machine_begin_clause(struct dif_machine *m);

struct dif_result {
	uint64_t value;	      /* 0 on a fault */
	enum dif_fault fault; /* DIF_FAULT_NONE: value is the result */
	uint64_t fault_value;
	uint32_t offset; /* DIF offset of the fault */
};

/* Executes d, which must have passed difo_verify(). */
struct dif_result dif_run(struct dif_machine *m, const struct difo *d);

/* Whether the interpreter has the subroutine; of any other, the environment is asked. */
bool dif_subr_is_interpreted(uint32_t subr);

/* ---- looking at results ---------------------------------------------------------------------- */

/*
 * Copies text, for the life of the machine, to kernel memory; returns its address. For built-ins.
 */
uint64_t dif_machine_string(struct dif_machine *m, const char *text);
/*
 * Reads a string as scmp does (0 is ""), into buf of strsize bytes, with NUL. False: unreadable.
 */
MUST_CHECK bool dif_machine_text(struct dif_machine *m, uint64_t addr, char *buf,
				 uint32_t *ret_len);
/* Copies memory of the machine, or of the kernel as the environment has it. */
MUST_CHECK bool dif_machine_bytes(struct dif_machine *m, uint64_t addr, void *buf, uint32_t size);
uint32_t dif_machine_strsize(const struct dif_machine *m);
/* The number of stores to dynamic variables that found no room. */
uint64_t dif_machine_drops(const struct dif_machine *m);
