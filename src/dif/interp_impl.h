/* SPDX-License-Identifier: MIT */
/*
 * The inside of a DIF machine (interp.h), for the files interp*.c only.
 *
 * Owns     the machine owns its scratch memory, variables and texts. Addresses that programs see
 *          are host addresses of its regions, or addresses that struct dif_env reads.
 * Errors   a mistake of the program is a fault (dif_fault()), which ends its run. Those functions
 *          of memory that return false or NULL have raised none: their caller does.
 * Threads  one machine belongs to one thread.
 */
#pragma once

#include "base/hashmap.h"
#include "base/vec.h"
#include "dif/asm.h"
#include "dif/interp.h"

/* Host memory that programs can address. */
struct region {
	const uint8_t *start;
	uint32_t size;
	bool is_writable;
};

/* A block that alloca(), copyin() or memref() returned: offsets in scratch memory. */
struct block {
	uint32_t start, end;
};
#define TOK_DONE   1u /* no address: strtok() has nothing left */
#define BLOCK_HEAD 8u /* bytes before a block that no one may use: the kernel's struct rt_block */

struct tuple_elem {
	uint64_t value;
	uint64_t size; /* is_ref, not string */
	bool is_ref;
	bool is_string;
};

struct dif_machine {
	struct dif_env env;
	uint32_t strsize;
	uint64_t thread;
	/* memory */
	VEC(struct region) regions; /* ascending, disjoint */
	struct arena *arena;	    /* dif_machine_string() */
	uint8_t *scratch;
	uint32_t scratch_size, scratch_top;
	VEC(struct block) blocks; /* ascending */
	char *text[3]; /* strsize bytes each: operands and result of the subroutine that runs */
	/* variables: key -> struct slot */
	struct hashmap *vars;	/* global, thread, elements */
	struct hashmap *locals; /* this-> of this firing */
	struct strbuf key;	/* scratch for building keys */
	uint64_t dyn_used, dyn_max, drops;
	/*
	 * strtok() of this firing: the address of the text that is left, 0 when no text was given,
	 * or TOK_DONE; and a copy of that text, if it was in the scratch memory of a clause that
	 * has ended
	 */
	uint64_t tok_rest;
	char *tok_text; /* scratch_size + 1 bytes */
	/* the DIFO that runs */
	const struct difo *d;
	uint32_t pc; /* of the next instruction */
	uint64_t regs[256];
	struct tuple_elem tuple[DIF_MAX_TUPLE];
	uint32_t ntuple;
	int cmp_signed, cmp_unsigned; /* the flags: <0, 0, >0 */
	bool done;
	uint64_t value;
	enum dif_fault fault;
	uint64_t fault_value;
};

/* Records the first fault of a run. Returns 0, so that functions can end with it. */
uint64_t dif_fault(struct dif_machine *m, enum dif_fault kind, uint64_t value);

/* ---- memory: interp_mem.c -------------------------------------------------------------------- */

void mem_add_region(struct dif_machine *m, const void *start, uint32_t size, bool is_writable);
void mem_remove_region(struct dif_machine *m, const void *start);

enum space { SPACE_KERNEL, SPACE_USER };
/* Loads size bytes; false: not all of them may be read. */
bool mem_load(struct dif_machine *m, enum space space, uint64_t addr, void *buf, uint64_t size);
/*
 * Loads at most max characters, and a NUL, into buf; touches at most max + 1 bytes of memory.
 * False: the text cannot be read to its end.
 */
bool mem_load_text(struct dif_machine *m, enum space space, uint64_t addr, char *buf, uint32_t max,
		   uint32_t *ret_len);
/* Returns the host address of size bytes that the program may write; NULL when it may not. */
void *mem_writable(struct dif_machine *m, uint64_t addr, uint64_t size);
/* The same for scratch memory only. */
void *mem_in_scratch(struct dif_machine *m, uint64_t addr, uint64_t size);
/* Allocates scratch memory, until the clause ends; 0 after a fault when there is no room. */
uint64_t mem_alloc(struct dif_machine *m, uint64_t size);
/* The same for a block, of which each access is checked against its bounds. */
uint64_t mem_alloc_block(struct dif_machine *m, uint64_t size);

static inline void *mem_host(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

static inline uint64_t mem_addr(const void *host)
{
	return (uint64_t)(uintptr_t)host;
}

/* ---- variables: interp_var.c ----------------------------------------------------------------- */

void vars_init(struct dif_machine *m);
void vars_deinit(struct dif_machine *m);
void vars_forget_locals(struct dif_machine *m);
/* var: an entry of the running DIFO's table; arrays take their key from the tuple stack. */
uint64_t var_load(struct dif_machine *m, const struct dif_var *var);
void var_store(struct dif_machine *m, const struct dif_var *var, uint64_t value);

/* ---- subroutines: interp_subr*.c ------------------------------------------------------------- */

/* Calls a subroutine with the tuple stack as its arguments; does not empty the stack. */
uint64_t subr_call(struct dif_machine *m, uint32_t subr);

/* A subroutine: v has as many values as the row of the table allows at most. */
typedef uint64_t (*subr_fn)(struct dif_machine *m, const uint64_t *v);

/* Reads a string into m->text[n]; false after a fault (str() of interp_subr.c). */
bool subr_text(struct dif_machine *m, uint64_t addr, int n, uint32_t *ret_len);
/* Makes a result string in scratch memory; 0 after a fault when there is no room. */
uint64_t subr_result(struct dif_machine *m, const char *text, size_t len);

/* The references of the rows of subrs.def, defined in interp_subr*.c. */
#define SUBR(id, name, code, result, args, optional, fx, addresses, helpers, reference, ...)       \
	uint64_t subr_##reference(struct dif_machine *m, const uint64_t *v);
#include "dif/subrs.def"
#define SUBR_ATTACH(id, name, ...) uint64_t subr_##name(struct dif_machine *m, const uint64_t *v);
#define SUBR_WALK(id, name, code, result, args, optional, addresses, what, reference, ...)         \
	uint64_t subr_##reference(struct dif_machine *m, const uint64_t *v);
#include "dif/helper_subrs.def"
#define SUBR_REMAINS(id, name, ...) uint64_t subr_##name(struct dif_machine *m, const uint64_t *v);
#include "dif/remains_subrs.def"
