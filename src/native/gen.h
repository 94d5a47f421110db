/* SPDX-License-Identifier: MIT */
/*
 * Code generation: declarations shared by its files. native_compile() (native.h, compile.c) is the
 * entry.
 *
 * Machine registers in generated code
 *     r15          struct native_frame
 *     r14          the data part
 *     r13          the row of the site: the numbers that differ from site to site
 *     rbx rbp r12  values of expressions that live across calls of the blob
 *     r8-r10       values that do not
 *     rax rcx rdx rsi rdi r11    scratch; the result of an expression is in rax
 *     rsp          fixed within a function: everything on the stack has a constant offset from it
 *
 * Stack, from rsp upwards: struct ngen_stack.
 *
 * Strings are never read in the process. A register that holds a string has its offset in the
 * session's table of strings, in which equal texts are one entry; NULL is 0, and units with strings
 * that have this offset are refused. So strings can be compared for equality and be keys.
 */
#pragma once

#include "base/err.h"
#include "dif/regalloc.h"
#include "native/blob.h"
#include "native/native.h"
#include "native/x86.h"

/* The words of a row. */
enum row_word {
	ROW_PROBE,
	ROW_NAME0, /* to ROW_NAME0 + 3: probeprov, probemod, probefunc, probename */
	ROW_REL = ROW_NAME0 + 4,
	ROW_PUSHED,
	ROW_EPID, /* ROW_EPID + i: epid of the group's clause i */
};

/* Offsets from rsp. Words of 8 bytes, unless something else is said. */
struct ngen_stack {
	uint32_t time;	/* timestamp of the firing; 0: not read yet */
	uint32_t tls;	/* address of the thread's block, or 0 */
	uint32_t cpu;	/* slot of the CPU */
	uint32_t exits; /* u32: not 0: exit() was called */
	uint32_t val;	/* value of an aggregating function, or the number of its bucket */
	uint32_t incr;	/* its increment, or the bytes of live() */
	uint32_t site;	/* two words: what SITE has stored */
	uint32_t key, this, this_size, rec;
	uint32_t spill; /* the last area: its size is known when the function is done */
};
#define NSPILL_MAX 48u

/* Sites whose clauses and arguments are the same: one function. */
struct group {
	const struct unit_clause **clauses; /* enabled ones, in program order */
	uint32_t nclauses;
	enum code_spot spot;
	bool is_tail;
	const struct usdt_operands *operands; /* of SPOT_USDT */
	VEC(uint32_t) sites;		      /* indices of those passed to native_compile() */
	int32_t row_off[ROW_EPID];	      /* of a word in the row; -1: it is not needed */
	int32_t *epid_off;		      /* by clause of the group */
	uint32_t row_size;
	uint32_t rows;		  /* label */
	uint32_t func;		  /* offset in the code */
	uint32_t reads, destroys; /* struct native_entry */
};

struct ngen;

/* Code that is emitted behind the clause: emit(g, c) is called there. */
struct ngen_cold {
	void (*emit)(struct ngen *g, const struct ngen_cold *c);
	uint32_t entry, back; /* labels */
	uint32_t kind, action, offset;
};

struct ngen {
	struct x86 x;
	struct arena *tmp; /* one expression */
	const struct unit *u;
	const struct native_target *t;
	const struct layout *l;
	struct err *err; /* the first */
	VEC(struct ngen_cold) cold;
	struct group *grp;
	const struct unit_clause *uc;
	uint32_t clause; /* index in the group */
	struct ngen_stack stack;
	uint32_t nspill; /* slots of the area for spills that the function uses */
	uint32_t out;	 /* label: the end of the clause */
	uint32_t fault;	 /* label: the fault is described in the record, except for the clause */
	bool fault_used;
	bool has_tls; /* the thread's block has been looked up */
	bool has_cpu; /* and so has the CPU's slot */
};

/* ---- what clauses need (needs.c) ------------------------------------------------------------- */

struct ngen_needs {
	uint32_t args;		 /* bit n: argN */
	uint32_t names;		 /* bit n: probeprov, mod, func, name */
	uint32_t compared_names; /* those that are more than a key or a field of a record */
	bool probe, epid, time, tls, faults, exits, cpu, tid, ucaller, this_vars, records, pushed,
		site;
	bool slot;     /* of the CPU, also where nothing seldom happens */
	uint32_t regs; /* bit n: uregs[n] */
	uint32_t key_size, rec_size;
};

void ngen_needs(struct ngen_needs *n, const struct layout *l, const struct clause_layout *cl);
/* Whether an aggregation has the place of a frame of a language in its key. */
bool ngen_act_has_site(const struct prog_act *act);
/* Whether instruction i reads element *ret_index, a constant, of args[] or uregs[]. */
bool ngen_const_index(const struct difo *d, uint32_t i, uint64_t *ret_index);
/* Whether a subroutine is one of those that only filters call. */
static inline bool ngen_subr_samples(uint32_t subr)
{
	return subr == DIF_SUBR_SAMPLE || subr == DIF_SUBR_SAMPLED || subr == DIF_SUBR_FOLLOWED;
}
/* Whether a clause of a unit runs in the process at all. */
static inline bool clause_is_of(const struct unit_clause *uc, uint32_t pid)
{
	return !uc->tgid || uc->tgid == pid;
}

/* ---- filters (filter.c): the result is g->stack.val ------------------------------------------ */

/* native_takes() for a unit of nothing but predicates that become a filter (takes.c). */
bool ngen_filter_takes(const struct unit *u, const struct layout *l);
/*
 * Nothing is known yet: true. False if a clause samples, because what the process has not noted is
 * not followed.
 */
void ngen_filter_begin(struct ngen *g);
void ngen_filter_set(struct ngen *g, bool is_true);
/* Tests the predicates of the group's clauses until one is true. */
void ngen_filter(struct ngen *g);

/* ---- helpers (gen.c) ------------------------------------------------------------------------- */

PRINTF_LIKE(2, 3) void ngen_fail(struct ngen *g, const char *fmt, ...);
/* Puts code off until ngen_flush_cold(); returns the label at which it will begin. */
uint32_t ngen_cold(struct ngen *g, struct ngen_cold c);
void ngen_flush_cold(struct ngen *g);
static inline struct x86_mem on_stack(uint64_t off)
{
	return x86_at(RSP, (int64_t)off);
}
static inline struct x86_mem in_data(uint64_t off)
{
	return x86_at(R14, (int64_t)off);
}
/* Calls a function of the blob; destroys all but the registers that calls keep. */
void ngen_call(struct ngen *g, enum blob_func func);
/*
 * The same from code that seldom runs: destroys rax, rcx, rdx, rsi and rdi only, so that stubs need
 * not save the others because of it.
 */
void ngen_call_rarely(struct ngen *g, enum blob_func func);
/*
 * Stores the slot of the CPU, which is below ncpus, to the stack; without rseq it is one that the
 * thread always has. Destroys rax and rcx.
 */
void ngen_cpu_find(struct ngen *g);
/* rax = blob_key_hash() of the words of a key on the stack; destroys rdx. */
void ngen_hash(struct ngen *g, uint32_t at, uint32_t nwords);
/* rax = blob_thread_hash() of a register's value */
void ngen_thread_hash(struct ngen *g, enum x86_reg thread);
/* rcx = the slot in the table, of CPU 0, at which searching for the hash in rax begins. */
void ngen_slot_find(struct ngen *g, const struct blob_table *t);
/* rax = the time of the firing; may call the blob */
void ngen_time(struct ngen *g);
/* dst = the word of the row, zero-extended */
void ngen_row_load(struct ngen *g, enum x86_reg dst, enum row_word word);
/* dst = the word of this clause's epid */
void ngen_epid_load(struct ngen *g, enum x86_reg dst);
/* Zeroes the bytes [from, to) of the stack; destroys rax when there are many. */
void ngen_zero(struct ngen *g, uint32_t from, uint32_t to);
/* dst = the id of the process */
void ngen_pid_load(struct ngen *g, enum x86_reg dst);
/* dst = the id of the thread */
void ngen_tid_load(struct ngen *g, enum x86_reg dst);
/* dst = BLOB_THREAD() of the thread */
void ngen_thread_load(struct ngen *g, enum x86_reg dst, enum x86_reg scratch);

/* ---- values in their locations (loc.c) ------------------------------------------------------- */

/* What RA_MACH of a location is here: which register, and the offset from it. */
#define LOC_FRAME(off) (1u << 24 | (off)) /* 8 bytes of the native_frame */
#define LOC_ROW(off)   (2u << 24 | (off)) /* 4 bytes of the row */
#define LOC_SROW(off)  (3u << 24 | (off)) /* the same, signed */

void loc_load(struct ngen *g, enum x86_reg reg, const struct ra_loc *p);
/* The register that has the value: its own, or scratch, to which the value is loaded. */
enum x86_reg loc_use(struct ngen *g, const struct ra_loc *p, enum x86_reg scratch);
/* The register in which to compute the value: its own, or scratch; then call loc_put(). */
enum x86_reg loc_dst(const struct ra_loc *p, enum x86_reg scratch);
void loc_put(struct ngen *g, const struct ra_loc *p, enum x86_reg reg);
bool loc_same(const struct ra_loc *a, const struct ra_loc *b);
/* Whether the value is 8 bytes of memory; then *ret is the operand. */
bool loc_is_mem(const struct ngen *g, const struct ra_loc *p, struct x86_mem *ret);
static inline bool loc_is_s32(const struct ra_loc *p)
{
	return p->kind == RA_CONST && (int64_t)p->value == (int32_t)p->value;
}

/* ---- expressions (expr.c) -------------------------------------------------------------------- */

/* The DIF instruction for which code is generated. */
struct dif_at {
	const struct difo *d;
	uint32_t i;
	dif_insn insn;
	const struct ra_loc *reads, *writes;
	uint32_t nreads, nwrites, action;
};

/* rax = the value of d; destroys all but r13-r15 and the stack */
void ngen_difo(struct ngen *g, const struct difo *d, uint32_t action);
/* Jumps to out when the value of d is 0. */
void ngen_difo_test(struct ngen *g, const struct difo *d, uint32_t action, uint32_t out);
/* A label that reports a fault of the instruction, with the value 0. */
uint32_t ngen_fault(struct ngen *g, const struct dif_at *at, enum dif_fault kind);
/* The value that a built-in variable always has, or where it is; RA_UNUSED: neither. */
struct ra_loc builtin_home(struct ngen *g, uint32_t id);
struct ra_loc array_home(struct ngen *g, uint32_t id, uint64_t index);
/* rax = a built-in variable, or an element of uregs[] or args[], that has no home */
void ngen_builtin(struct ngen *g, uint32_t id);
void ngen_array(struct ngen *g, uint32_t id, uint64_t index);

/* ---- variables (var.c) ----------------------------------------------------------------------- */

bool var_insn_calls(const struct layout *l, dif_insn insn);
void ngen_var_load(struct ngen *g, const struct dif_at *at);
void ngen_var_store(struct ngen *g, const struct dif_at *at);
void ngen_elem_load(struct ngen *g, const struct dif_at *at);  /* reads: the keys */
void ngen_elem_store(struct ngen *g, const struct dif_at *at); /* reads: the value, then the keys */
/* Looks up the thread's block, once in a function. */
void ngen_tls_find(struct ngen *g);

/* ---- actions (agg.c, record.c, clause.c) ----------------------------------------------------- */

void ngen_agg(struct ngen *g, const struct prog_act *act);
void ngen_dead(struct ngen *g, const struct prog_act *act);
void ngen_record_begin(struct ngen *g);
void ngen_record_act(struct ngen *g, uint32_t act);
void ngen_record_mark(struct ngen *g, uint32_t act);
void ngen_record_end(struct ngen *g);
/* Behind a clause: records the fault that its code has described. */
void ngen_fault_tail(struct ngen *g);
/* The bytes of a key in the table of a map of the layout; fails if there is no such table. */
uint32_t ngen_table_key(struct ngen *g, uint32_t table, uint32_t map_key_size);
/*
 * Stores rax, size bytes of it, to the field at off of a key that begins at `at` on the stack.
 * Where no other field is in the same 8 bytes (next: where the next one begins), all 8 are stored,
 * which are loaded at once when the key is hashed. Returns how far the key is written.
 */
uint32_t ngen_key_store(struct ngen *g, uint32_t at, uint32_t off, uint32_t size, uint32_t next);
/* rax = the number of a string constant, or of a name of the probe. */
void ngen_strid(struct ngen *g, const struct difo *d);
/* Stores to off on the stack the process id and an address in the process: 16 bytes. */
void ngen_user_addr(struct ngen *g, uint32_t off, const struct difo *d, uint32_t action);
/* The code of a clause. */
void ngen_clause(struct ngen *g, uint32_t i);
