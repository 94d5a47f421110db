/* SPDX-License-Identifier: MIT */
/*
 * Code generation: declarations shared by its files. bpf_gen_unit() (unit.h, entry.c) is the entry.
 *
 * Machine registers in generated code
 *     r9      machine state (struct rt_mach and the areas behind it): a map value
 *     r10     stack; the frame is below
 *     r6-r8   values of expressions that live across calls
 *     r3-r5   values that do not
 *     r0-r2   scratch; the result of an expression is in r0
 * In the entry function r6 is the context and r7 the dispatch element until the clauses begin.
 *
 * Frame of every function that contains clauses. The kernel allows 512 bytes for a chain of calls;
 * the longest chain is entry, clauses, fault handler with ERROR clauses, run-time function, its
 * helpers:
 *
 *     -8   FRAME_TMP    helpers read to here
 *     -16  FRAME_KEY    u32 key of an array lookup
 *     -24  FRAME_CTX    context
 *     -32  FRAME_TLS    thread-local block of the task: a map value or NULL
 *     -40  FRAME_MASK   enabled clauses of the group
 *     -48  FRAME_VAL    value of an aggregating function
 *     -56  FRAME_SPILL  values without a register, down to -128
 *     -136 FRAME_BEGIN  when a timer's firing began, where that is counted (entry.c)
 *
 * Code that is rarely executed (faults, first use of a key) is emitted behind the clause by
 * gen_cold().
 */
#pragma once

#include "base/err.h"
#include "kernel/emit.h"
#include "dif/regalloc.h"
#include "bpf/unit.h"

#define FRAME_TMP    (-8)
#define FRAME_KEY    (-16)
#define FRAME_CTX    (-24)
#define FRAME_TLS    (-32)
#define FRAME_MASK   (-40)
#define FRAME_VAL    (-48)
#define FRAME_SPILL  (-56)
#define FRAME_NSPILL 10
#define FRAME_BEGIN  (-136)

/* Offset of an argument of the probe in the machine state. */
#define ARG_OFF(n) ((uint32_t)offsetof(struct rt_mach, arg) + 8 * (n))

/* Linux include/uapi/linux/bpf.h, enum bpf_func_id: helpers that older headers do not have. */
enum {
	HELPER_TASK_STORAGE_GET = 156,
	HELPER_GET_CURRENT_TASK_BTF = 158,
	HELPER_GET_ATTACH_COOKIE = 174,
	HELPER_TASK_PT_REGS = 175,
};

struct gen;

/* Code that is emitted behind the clause: emit(g, c) is called there, after c->entry was placed. */
struct cold {
	void (*emit)(struct gen *g, const struct cold *c);
	uint32_t entry, back;	       /* labels */
	uint32_t kind, action, offset; /* of a fault; kind 0: a run-time function has set it */
	struct ra_loc value;
	const void *arg;
	uint32_t span;
};

/* A property of a DIF object, found once. */
struct flags_use {
	const struct difo *difo;
	bool branches_follow; /* each conditional branch stands right behind its comparison */
};

/* The size of a clause's code. */
struct clause_cost {
	uint32_t insns, branches;
};

/* A function that is called by clauses; emit(g, arg) makes its body. */
struct late_func {
	const char *name;
	void (*emit)(struct gen *g, uint32_t arg);
	uint32_t arg;
};

/* Data of the firing that the code of clauses needs: the entry function supplies it. */
struct needs {
	uint32_t args;	/* bit n: argN */
	uint32_t names; /* bit n: probeprov, mod, func, name */
	bool probe, probe_idx, epid, err, timestamp, comm, scratch, token, tls, faults;
	bool ctx;     /* the context, from which stacks are walked */
	bool helpers; /* ustack helpers, which name the frames of a stack */
	bool exits;   /* exit() may be called */
	bool lang;    /* the innermost frame of a language */
};

struct gen {
	struct emitter e;
	struct arena *tmp; /* one expression */
	const struct unit *u;
	const struct gen_env *env;
	const struct layout *l;
	const struct mach *mach;
	struct err *err; /* the first */
	VEC(struct cold) cold;
	/* for the current clause */
	const struct unit_clause *uc;
	bool is_error_clause;
	uint32_t depth;	      /* number of functions of this program on the kernel stack there */
	bool has_fixed_order; /* all clauses run for all probes of the unit */
	/* functions of clauses are global, long clauses are cut into parts (gen_parts.c) */
	bool is_large;
	bool is_cut;	/* the current clause is cut */
	uint32_t out;	/* label: the end of the clause */
	uint32_t fault; /* label: m->fault describes a fault, except for the clause */
	bool fault_used;
	uint32_t span;
	struct needs needs;	/* of all clauses of the unit */
	struct flags_use flags; /* gen_scmp.c */
	uint32_t *nlookups;	/* by map of aggregations, then of arrays: number of lookups */
	uint32_t *nupdates;	/* by layout.aggs: number of actions */
	bool *uses_var;		/* by layout.vars: a clause of the unit reads or writes it */
	/* by clause of the unit: instructions of its predicate that the clause before has, too */
	uint32_t *shared;
	/* functions behind those of the clauses, in order; the index of the first one */
	VEC(struct late_func) late;
	uint32_t first_late;
	/* by clause, ERROR's behind the unit's: the first attempt at generating finds them out */
	struct clause_cost *costs;
	VEC(uint32_t) parts; /* of the current clause: the actions with which they begin */
	uint32_t first_part; /* number of parts of earlier clauses */
	bool parts_fault;    /* a part of the current clause returns PART_FAULT */
};

/* ---- functions by file ---------------------------------------------------------------------- */

/* needs.c */
void needs_of_clause(struct needs *n, const struct layout *l,
		     const struct clause_layout *cl); /* adds to n */
void needs_of_difo(struct needs *n, const struct layout *l, const struct difo *d);
/* Whether the instruction reads memory of the kernel, and cannot fault: struct difo. */
bool difo_is_trusted_load(const struct difo *d, uint32_t i);
/* Whether the instruction reads args[*ret_arg], one of those that machine states have. */
bool difo_arg_index(const struct difo *d, uint32_t i, uint32_t *ret_arg);
bool clause_reads_tls_early(const struct layout *l, const struct prog_clause *c);

/* gen.c: small helpers */
PRINTF_LIKE(2, 3) void gen_fail(struct gen *g, const char *fmt, ...);
/* Puts code off until gen_flush_cold(); returns the label at which it will begin. */
uint32_t gen_cold(struct gen *g, struct cold c);
/* Emits the code that was put off, except the first `first` pieces. */
void gen_flush_cold(struct gen *g, uint32_t first);
/* A label that reports a fault of the kind (enum dif_fault; 0: m->fault has it already). */
uint32_t gen_fault(struct gen *g, uint32_t kind, uint32_t action, uint32_t offset,
		   struct ra_loc value);
/*
 * The index of the function whose body emit(g, arg) makes. It is made only when something calls it:
 * the kernel refuses functions that nothing calls.
 */
uint32_t gen_func(struct gen *g, const char *name, void (*emit)(struct gen *g, uint32_t arg),
		  uint32_t arg);
/* control.cpu[this CPU].field++; destroys r0-r2 */
void gen_count(struct gen *g, uint32_t field_off);
void gen_mach_load(struct gen *g, uint32_t size, int dst, uint32_t off);
void gen_mach_store(struct gen *g, uint32_t size, uint32_t off, int src);
/* Calls a run-time function, whose arguments are in r2, r3, ... */
void gen_rt(struct gen *g, const char *name);
/* r0 = process << 32 | thread, in dtrace's PID namespace */
void gen_pid_tgid(struct gen *g);
/* Zeroes the few bytes [from, to) of a key in the machine state, in steps that are aligned. */
void gen_key_pad(struct gen *g, uint32_t from, uint32_t to);
/* Zeroes size bytes at r9 + off; destroys r0-r5 */
void gen_mach_zero(struct gen *g, uint32_t off, uint32_t size);
/*
 * Zeroes the clause-local variables that clauses of the unit use, by layout.vars: those of `only`
 * (NULL: all), which are integers, without those of `kept` (NULL: none).
 */
void gen_this_reset(struct gen *g, const bool *only, const bool *kept);

/* location.c: values in their locations */
void ra_loc_load(struct gen *g, int reg, const struct ra_loc *p);
/* The register that has the value: its own, or scratch, to which the value is loaded. */
int ra_loc_use(struct gen *g, const struct ra_loc *p, int scratch);
/* The register in which to compute the value: its own, or scratch; then call ra_loc_put(). */
int ra_loc_dst(const struct ra_loc *p, int scratch);
void ra_loc_put(struct gen *g, const struct ra_loc *p, int reg);
/* Loads values into r2, r3, ... at once; n <= 4; destroys r0 */
void ra_loc_args(struct gen *g, const struct ra_loc *places, uint32_t n);
bool ra_loc_same(const struct ra_loc *a, const struct ra_loc *b);
bool ra_loc_is_zero(const struct ra_loc *v);
/*
 * Whether v is a constant whose low size bytes are not all zero: then no test is emitted, which the
 * kernel would only remove again.
 */
bool ra_loc_is_nonzero(const struct ra_loc *v, uint32_t size);

/* gen_dif.c: expressions. The result is in r0; all but r9 and the frame is destroyed. */
void gen_difo(struct gen *g, const struct difo *d, uint32_t action);
/*
 * An object whose result is 1 at the end of these instructions, and 0 where a branch leads to the
 * instruction is_false.
 */
struct difo_test {
	uint32_t end, is_false;
};
bool difo_test_find(const struct difo *d, struct difo_test *ret);
/*
 * Jumps to out when the result of d is 0; the instructions before `from` have been executed.
 * Returns false if it always is.
 */
bool gen_difo_test(struct gen *g, const struct difo *d, uint32_t action, uint32_t from,
		   uint32_t out);
/* The same for the instructions [from, to) only, which use no values of others. */
bool gen_difo_part(struct gen *g, const struct difo *d, uint32_t action,
		   const struct difo_test *test, uint32_t from, uint32_t to, uint32_t out);
/*
 * Whether d is `... copyinstr(x)'. If so, generates the code of x instead; *ret_offset is the DIF
 * offset of the call.
 */
bool gen_difo_copyinstr(struct gen *g, const struct difo *d, uint32_t action, uint32_t *ret_offset);

/* The DIF instruction for which code is generated. */
struct dif_at {
	const struct difo *d;
	uint32_t i; /* instruction */
	dif_insn insn;
	const struct ra_loc *reads, *writes;
	uint32_t nreads, nwrites;
	uint32_t action;
	uint32_t depth;		  /* number of tuple entries */
	const uint8_t *is_string; /* by tuple entry: a string that pushtr has pushed */
};
static inline uint32_t dif_at_offset(const struct dif_at *at)
{
	return at->i * (uint32_t)sizeof(dif_insn);
}
uint32_t at_fault(struct gen *g, const struct dif_at *at, uint32_t kind, struct ra_loc value);
/* Jumps to a fault always, but in a form in which the verifier sees a way on. */
void at_fault_always(struct gen *g, const struct dif_at *at, uint32_t kind, uint64_t value);
/* To be called after a run-time function that can fault. */
void at_check_rt(struct gen *g, const struct dif_at *at);

/*
 * gen_live.c: live() and dead(). r0 = this CPU's state of the element, r6 = the address, r8 = the
 * bytes; the key is in the machine state
 */
void gen_live_follow(struct gen *g, const struct agg_layout *al);
/* The address in r6 is in use again, and what it is now cannot be followed. */
void gen_live_replaced(struct gen *g);
void gen_dead(struct gen *g, const struct prog_act *act);

/* gen_var.c: variables */
void gen_ldv(struct gen *g, const struct dif_at *at);
void gen_stv(struct gen *g, const struct dif_at *at);
void gen_lda(struct gen *g, const struct dif_at *at);
/* FRAME_TLS = the task's thread-local block */
void gen_tls_lookup(struct gen *g);
/* r0 = that block, which is made if it does not exist, or NULL */
void gen_tls_create(struct gen *g);

/* The variable that the instruction loads or stores; NULL, and an error, when it has no storage. */
const struct var_layout *gen_var_of(struct gen *g, const struct dif_at *at);
/* dst = the pointer in src, as a number for the verifier */
void gen_pointer_to_number(struct gen *g, int dst, int src);
/* dst = the value of a scalar at base + off */
void gen_value_load(struct gen *g, const struct var_layout *vl, int dst, int base, int32_t off);
/* Faults if what gen_ref_copy_in() will read is in scratch memory that was not allocated. */
void gen_source_check(struct gen *g, const struct dif_at *at, const struct var_layout *vl);
/* gen_var.c: makes the address in dst, of a value in a hash map, one that clauses may read. */
void gen_elem_own(struct gen *g, const struct dif_at *at, const struct var_layout *vl, int dst);
/* Copies the memory to which the value points to the map pointer in r1. */
void gen_ref_copy_in(struct gen *g, const struct dif_at *at, const struct var_layout *vl);

/* gen_array.c: elements of arrays. Tuple entries are reads, the first of a store is its value. */
void gen_ldaa(struct gen *g, const struct dif_at *at);
void gen_staa(struct gen *g, const struct dif_at *at);
/* tuple: the values of the keys; NULL where there are none */
void gen_elem_load(struct gen *g, const struct dif_at *at, const struct var_layout *vl,
		   const struct ra_loc *tuple);
void gen_elem_store(struct gen *g, const struct dif_at *at, const struct var_layout *vl,
		    const struct ra_loc *tuple);

/* gen_vtime.c: r0 = vtimestamp; FRAME_TLS must be filled */
void gen_vtimestamp(struct gen *g);
/* The first and last code of a firing with a machine state, which measure the time between them. */
void gen_vtime_begin(struct gen *g);
void gen_vtime_end(struct gen *g);

/* gen_builtin.c: built-in variables */
struct builtin_gen {
	/* value in r0; may destroy r1-r5 if clobbers */
	void (*emit)(struct gen *g, const struct builtin_gen *b);
	bool clobbers;
	uint32_t arg;
	void (*need)(struct needs *n, const struct builtin_gen *b);
};
/* NULL: the variable is not available, and reading it is a fault (ILLOP). */
const struct builtin_gen *builtin_gen_find(const struct layout *l, uint32_t id);
/* r0 = m->timestamp, which is read from the clock if it is not set */
void gen_timestamp(struct gen *g);
/* r0 = 8 bytes at address r0 + off in kernel memory, 0 if that fails; destroys r1-r5 */
void gen_read_kernel_u64(struct gen *g, uint32_t off);
/* Stores the 16 bytes of the task's name at r9 + off */
void gen_comm(struct gen *g, uint32_t off);

/* gen_task.c: the current process */
void gen_getf(struct gen *g, const struct dif_at *at);
/* Jumps unless the current task is one of the session's user (rt/privilege.c). Keeps r6 to r9. */
void gen_task_own(struct gen *g, uint32_t otherwise);
void gen_d_path(struct gen *g, const struct dif_at *at);
void gen_uregs(struct gen *g, const struct dif_at *at);
/* r0 = text of DIF_VAR_CWD, ROOT or EXECARGS, or a fault in m; destroys r1-r5 */
void gen_task_text(struct gen *g, uint32_t var);

/*
 * gen_scmp.c: scmp. Signed and unsigned branches alike must see how the strings compare: the flags
 * are SCMP_EQUAL for equal strings, else SCMP_EQUAL plus -255..255.
 */
#define SCMP_EQUAL 1024
void gen_scmp(struct gen *g, const struct dif_at *at);

/* gen_subr.c: subroutines */
void gen_call(struct gen *g, const struct dif_at *at);

/* gen_record.c: records */
#define HEAP_OFF ((uint32_t)offsetof(struct rt_mach, heap))
void gen_record_begin(struct gen *g);
void gen_record_act(struct gen *g, uint32_t act);
void gen_record_mark(struct gen *g, uint32_t act); /* notes that it and the rest of its block ran */
void gen_record_end(struct gen *g);
/* Changes the session's state from ON to EXITING: only END fires from now on; destroys r0, r1 */
void gen_end_run(struct gen *g);
/*
 * Makes the record of this firing part of the speculation whose id is args[0]; ends the clause when
 * that is not possible.
 */
void gen_speculate(struct gen *g, const struct prog_act *act);
/*
 * In a session with blocks of scratch memory: faults when the size bytes at addr are scratch memory
 * that the clause has not allocated; destroys r0 to r5.
 */
void at_check_readable(struct gen *g, const struct dif_at *at, const struct ra_loc *addr,
		       uint32_t size);
/*
 * Copies size bytes from the address in r0 to r9 + off, or faults; destroys r6. needed: how many of
 * the bytes must be allocated by the clause if they are in scratch memory.
 */
void gen_read_bytes(struct gen *g, uint32_t off, uint32_t size, bool is_user, uint32_t needed,
		    uint32_t action);
/* Stores u64 process id and u64 address (in r0) at r9 + off; destroys r6 */
void gen_user_addr(struct gen *g, uint32_t off);
/* *(u32 *)(r9 + off) = string table offset of the name of a probe, or constant, that d yields */
void gen_strid(struct gen *g, uint32_t off, const struct difo *d);

/* gen_stack.c: stacks */
/* Appends a stack to the record; off: of its struct rt_str in the machine state */
void gen_record_stack(struct gen *g, const struct rec_field *f, uint32_t off);
/* r0 = the stack that a constant describes, as a value (PROG_STACK_USER); 0: the table is full */
void gen_stack_value(struct gen *g, uint64_t constant);
/* r0 = hash of the stack that d describes; the stack stays in a slot of the stack area */
void gen_key_stack(struct gen *g, const struct difo *d, enum datum_kind datum, uint32_t slot);
/* r0 = the variable (DIF_VAR_CALLER ...); destroys r1-r5 */
void gen_stack_var(struct gen *g, uint32_t var);
/* Whether the unit has probes at calls (SPOT_CALL). */
bool gen_has_calls(const struct gen *g);
/* r0 = lfile, lline or lfunc (enum rt_lang_part), or a fault in m; destroys r1-r5 */
void gen_lang_var(struct gen *g, uint32_t part);

/* lookup.c: elements of MAP_AGG and MAP_ARR */
void lookups_count(struct gen *g);
/* Whether what looks up an element in the map is done in place, not by a call. */
bool lookup_is_inplace(struct gen *g, uint32_t map_ref);
/* r0 = the element with the key in the machine state, or with an array's index; NULL: none */
void gen_lookup(struct gen *g, uint32_t map_ref);
void gen_lookup_index(struct gen *g, uint32_t map_ref, uint32_t index);
/* r1 = the map, r2 = address of the key in the machine state */
void gen_map_and_key(struct gen *g, uint32_t map_ref);

/* gen_agg.c: aggregations */
void gen_agg(struct gen *g, const struct prog_act *act);
/* Whether a function of the unit updates the aggregation. */
bool agg_has_function(const struct gen *g, const struct agg_layout *al);

/* guard.c: guards with which neighbouring clauses begin, executed once for all of them */
struct guards;
/*
 * What guards_open() and guards_close() keep while the code of the clauses from `from` on, up to
 * but without `to`, is generated; to be freed by guards_destroy(). NULL for ERROR clauses, which
 * share no guards; the functions below take it, too.
 */
struct guards *guards_create(struct gen *g, const struct unit_clause *ucs, uint32_t from,
			     uint32_t to);
/* Finds out what the unit's clauses share. */
void guards_find(struct gen *g);
/* The end of the clauses from `from` on, up to `to`, that share guards. */
uint32_t guards_reach(const struct gen *g, uint32_t from, uint32_t to);
/*
 * Before clause i: ends the guards that it does not share. Returns whether some have ended, whose
 * jumps past the clause before lead here.
 */
bool guards_close(struct gen *g, struct guards *gs, uint32_t i);
/* Emits the guards that clause i shares with those behind it. */
void guards_open(struct gen *g, struct guards *gs, uint32_t i);
/* How many instructions of the clause's predicate the open guards are. */
uint32_t guards_decided(const struct guards *gs);
/* The variables that the open guards use, by layout.vars. */
const bool *guards_kept(const struct guards *gs);
/* Ends all guards. */
void guards_destroy(struct gen *g, struct guards *gs);

/* gen_clause.c: clauses */
/* The clauses [from, to) in order, except those that FRAME_MASK excludes. */
void gen_clauses(struct gen *g, const struct unit_clause *ucs, uint32_t from, uint32_t to,
		 const uint64_t *always);
struct clause_cost *clause_cost(struct gen *g, const struct unit_clause *ucs, uint32_t i);
/*
 * Whether exit() may be called in a firing of the clauses [from, to): by them, or after a fault by
 * ERROR clauses.
 */
bool clauses_may_exit(const struct gen *g, const struct unit_clause *ucs, uint32_t from,
		      uint32_t to);
/* Jumps to label when a clause of this firing has called exit(); destroys r0 */
void gen_jump_if_exited(struct gen *g, uint32_t label);
/* Begins a function; id: by which calls refer to it. clause: UINT32_MAX = none. */
void gen_func_begin(struct gen *g, const char *name, uint32_t clause, uint32_t id);
/*
 * The first instructions of a function (ctx, mach, ...) with clauses: sets r9, FRAME_CTX; keeps r3.
 */
void gen_func_frame(struct gen *g);
/* The function that records a fault and runs the ERROR clauses. */
void gen_fault_func(struct gen *g, uint32_t unused);
/* Calls that function; r1 = the context */
void gen_fault_call(struct gen *g);
/*
 * The code behind the clause, which jumps lead to: the pieces put off since first_cold, and the
 * handling of a fault.
 */
void gen_clause_tail(struct gen *g, uint32_t first_cold);
/* r0 = epid of the clause for m->probe_idx; destroys r1 */
void gen_epid(struct gen *g, const struct unit_clause *uc);

/* gen_parts.c: the actions of a clause, and the function that calls the parts of a cut clause */
struct acts {
	const struct prog_clause *c;
	uint32_t *labels;	  /* by action of the current part; one more for the end */
	bool *reached;		  /* by action: the kernel refuses code that nothing reaches */
	bool *targets;		  /* by action: jumps of this part lead to it */
	bool *entries;		  /* by action: jumps of earlier parts lead to it */
	uint32_t begin;		  /* first action of the part */
	uint32_t resume;	  /* label: begin with action r6; in all parts but the first */
	uint32_t insns, branches; /* counts at the beginning of the part */
	bool needs_tls;
};
void acts_init(struct gen *g, struct acts *a, bool needs_tls);
void acts_deinit(struct acts *a);
/* Behind action next - 1: if the part is long enough, ends it and begins another. */
void acts_cut(struct gen *g, struct acts *a, uint32_t next, uint32_t first_cold);
/* Ends the last part; all code emitted from then on is reached by jumps only. */
void acts_end(struct gen *g, struct acts *a);
/* The id of the function of part n of the current clause; no other function has it. */
static inline uint32_t gen_part_id(const struct gen *g, uint32_t n)
{
	return 1u << 20 | (g->first_part + n);
}
/*
 * Ends a part after a fault, which the machine state describes: the caller of the parts handles it.
 */
void gen_part_fault(struct gen *g);
bool part_is_full(uint32_t insns, uint32_t branches);
/* Emits clause(ctx, mach), which calls the parts in turn. */
void gen_parts_caller(struct gen *g, uint32_t clause, uint32_t id);
