/*
 * Code generation: what its files share. The way in is bpf_gen_unit() (unit.h, entry.c).
 *
 * Machine registers in generated code
 *     r9      machine state (struct rt_mach and the areas behind it): a map value
 *     r10     stack; the frame is below
 *     r6-r8   values of expressions that live across calls
 *     r3-r5   values that do not
 *     r0-r2   scratch; the result of an expression is in r0
 * In the entry function r6 is the context and r7 the dispatch element until the clauses begin.
 *
 * Frame of every function that holds clauses. The kernel allows 512 bytes for a chain of calls; the
 * longest is entry, clauses, fault handler with ERROR clauses, run-time function, its helpers:
 *
 *     -8   FRAME_TMP    what helpers read to
 *     -16  FRAME_KEY    u32 key of an array lookup
 *     -24  FRAME_CTX    context
 *     -32  FRAME_TLS    thread-local block of the task: a map value or NULL
 *     -40  FRAME_MASK   enabled clauses of the group
 *     -48  FRAME_VAL    value of an aggregating function
 *     -56  FRAME_SPILL  values that found no register, down to -128
 *
 * Code that is rarely executed (faults, first use of a key) is emitted behind the clause:
 * gen_cold().
 */
#pragma once

#include "base/err.h"
#include "bpf/emit.h"
#include "bpf/regalloc.h"
#include "bpf/unit.h"

#define FRAME_TMP    (-8)
#define FRAME_KEY    (-16)
#define FRAME_CTX    (-24)
#define FRAME_TLS    (-32)
#define FRAME_MASK   (-40)
#define FRAME_VAL    (-48)
#define FRAME_SPILL  (-56)
#define FRAME_NSPILL 10

/* Linux include/uapi/linux/bpf.h, enum bpf_func_id: helpers that old build headers do not name. */
enum {
	HELPER_TASK_STORAGE_GET = 156,
	HELPER_GET_CURRENT_TASK_BTF = 158,
	HELPER_GET_ATTACH_COOKIE = 174,
	HELPER_TASK_PT_REGS = 175,
};

struct gen;

/* Code for later: emit(g, c) is called behind the clause, with c->entry to be placed first. */
struct cold {
	void (*emit)(struct gen *g, const struct cold *c);
	uint32_t entry, back;	       /* labels */
	uint32_t kind, action, offset; /* of a fault; kind 0: the run-time function has set it */
	struct ra_place value;
	const void *arg;
	uint32_t span;
};

/* Of a DIF object, found once. */
struct flags_use {
	const struct difo *difo;
	bool branches_follow; /* each conditional branch its comparison */
};

/* What a clause's code amounts to. */
struct clause_cost {
	uint32_t insns, branches;
};

/* A function that clauses call: emit(g, arg) makes its body. */
struct late_func {
	const char *name;
	void (*emit)(struct gen *g, uint32_t arg);
	uint32_t arg;
};

/* What a clause's code needs from the entry. */
struct needs {
	uint32_t args;	/* bit n: argN */
	uint32_t names; /* bit n: probeprov, mod, func, name */
	bool probe, probe_idx, epid, err, timestamp, comm, scratch, token, tls, faults;
	bool ctx;   /* stacks are walked from it */
	bool exits; /* exit() may be called */
};

struct gen {
	struct emitter e;
	struct arena *tmp; /* one expression */
	const struct unit *u;
	const struct gen_env *env;
	const struct layout *l;
	struct err *err; /* the first */
	VEC(struct cold) cold;
	/* of the clause in work */
	const struct unit_clause *uc;
	bool is_error_clause;
	uint32_t depth;	      /* functions of this program on the kernel stack there */
	bool has_fixed_order; /* all clauses run for all probes of the unit */
	/* functions of clauses are global, long clauses cut into parts (gen_parts.c) */
	bool is_large;
	bool is_cut;	/* the clause in work is */
	uint32_t out;	/* label: the clause ends */
	uint32_t fault; /* label: a fault is described in m->fault but for the clause */
	bool fault_used;
	uint32_t span;
	struct needs needs;	/* of the unit */
	struct flags_use flags; /* gen_scmp.c */
	uint32_t *nlookups;	/* by map of aggregations, then of arrays: lookups in the unit */
	/* functions behind those of the clauses, in order; the first one's index */
	VEC(struct late_func) late;
	uint32_t first_late;
	/* of the unit's clauses and ERROR's: the first attempt finds them */
	struct clause_cost *costs;
	VEC(uint32_t) parts; /* of the clause in work: the actions they begin with */
	uint32_t first_part; /* parts of the clauses before */
	bool parts_fault;    /* one of the clause in work returns PART_FAULT */
};

/* ---- this file's neighbours, one section each ----------------------------------------------- */

/* needs.c */
void needs_of_clause(struct needs *n, const struct layout *l,
		     const struct clause_layout *cl); /* adds to n */
void needs_of_difo(struct needs *n, const struct difo *d);
bool clause_reads_tls_early(const struct prog_clause *c);

/* gen.c: small things */
PRINTF_LIKE(2, 3) void gen_fail(struct gen *g, const char *fmt, ...);
/* The label of code emitted later. */
uint32_t gen_cold(struct gen *g, struct cold c);
/* Emits what was put off since there were first of them. */
void gen_flush_cold(struct gen *g, uint32_t first);
/* A label that reports a fault of the given kind (enum dif_fault, or 0: already in m->fault). */
uint32_t gen_fault(struct gen *g, uint32_t kind, uint32_t action, uint32_t offset,
		   struct ra_place value);
/* Index of the function that emit(g, arg) makes; it is made when it is asked for, since the kernel
 * refuses functions that nothing calls. */
uint32_t gen_func(struct gen *g, const char *name, void (*emit)(struct gen *g, uint32_t arg),
		  uint32_t arg);
/* control.cpu[this CPU].field++; r0-r2 */
void gen_count(struct gen *g, uint32_t field_off);
void gen_mach_load(struct gen *g, uint32_t size, int dst, uint32_t off);
void gen_mach_store(struct gen *g, uint32_t size, uint32_t off, int src);
/* Calls a run-time function; its arguments are in r2... */
void gen_rt(struct gen *g, const char *name);
/* r0 = process << 32 | thread, in dtrace's PID namespace */
void gen_pid_tgid(struct gen *g);
/* Zeroes the few bytes [from, to) of a key in the machine state, with what alignment allows. */
void gen_key_pad(struct gen *g, uint32_t from, uint32_t to);
/* Zeroes size bytes at r9 + off; r0-r5 */
void gen_mach_zero(struct gen *g, uint32_t off, uint32_t size);

/* place.c: values in places */
void ra_place_load(struct gen *g, int reg, const struct ra_place *p);
/* The register that holds the value: its own, or scratch after loading it there. */
int ra_place_use(struct gen *g, const struct ra_place *p, int scratch);
/* A register to compute the value in: its own, or scratch; ra_place_put() afterwards. */
int ra_place_dst(const struct ra_place *p, int scratch);
void ra_place_put(struct gen *g, const struct ra_place *p, int reg);
/* places into r2, r3, ... at once; n <= 4; r0 is used */
void ra_place_args(struct gen *g, const struct ra_place *places, uint32_t n);
bool ra_place_same(const struct ra_place *a, const struct ra_place *b);

/* gen_dif.c: expressions. Result in r0; everything but r9 and the frame is destroyed. */
void gen_difo(struct gen *g, const struct difo *d, uint32_t action);
/* d is `... copyinstr(x)': its result is x, and *ret_offset the DIF offset of the call; false: it
 * is not. */
bool gen_difo_copyinstr(struct gen *g, const struct difo *d, uint32_t action, uint32_t *ret_offset);

/* One DIF instruction in work. */
struct dif_at {
	const struct difo *d;
	uint32_t i; /* instruction */
	dif_insn insn;
	const struct ra_place *reads, *writes;
	uint32_t nreads, nwrites;
	uint32_t action;
	uint32_t depth;		  /* tuple entries */
	const uint8_t *is_string; /* by tuple entry: pushed with pushtr of a string */
};
static inline uint32_t dif_at_offset(const struct dif_at *at)
{
	return at->i * (uint32_t)sizeof(dif_insn);
}
uint32_t at_fault(struct gen *g, const struct dif_at *at, uint32_t kind, struct ra_place value);
/* Jumps to a fault, always (but in a form that lets the verifier see a way on). */
void at_fault_always(struct gen *g, const struct dif_at *at, uint32_t kind, uint64_t value);
/* After a run-time function that can fault. */
void at_check_rt(struct gen *g, const struct dif_at *at);

/* gen_var.c: variables. Tuple entries are the reads, from reads[ntuple_from]. */
void gen_ldv(struct gen *g, const struct dif_at *at);
void gen_stv(struct gen *g, const struct dif_at *at);
void gen_lda(struct gen *g, const struct dif_at *at);
void gen_ldaa(struct gen *g, const struct dif_at *at);
void gen_staa(struct gen *g, const struct dif_at *at);
/* FRAME_TLS = the task's thread-local block */
void gen_tls_lookup(struct gen *g);
/* r0 = that block, made if it is not there, or NULL */
void gen_tls_create(struct gen *g);

/* gen_vtime.c: vtimestamp in r0; FRAME_TLS is filled */
void gen_vtimestamp(struct gen *g);
/* First and last thing of a firing that has its machine state: count the time between. */
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
const struct builtin_gen *builtin_gen_find(uint32_t id); /* NULL: not available, ILLOP */
/* r0 = m->timestamp, read when it is not yet */
void gen_timestamp(struct gen *g);
/* r0 = 8 bytes at address r0 + off in kernel memory, 0 if that fails; destroys r1-r5 */
void gen_read_kernel_u64(struct gen *g, uint32_t off);
/* 16 bytes of the task's name to r9 + off */
void gen_comm(struct gen *g, uint32_t off);

/* gen_task.c: the current process */
void gen_getf(struct gen *g, const struct dif_at *at);
void gen_d_path(struct gen *g, const struct dif_at *at);
void gen_uregs(struct gen *g, const struct dif_at *at);
/* r0 = text of DIF_VAR_CWD, ROOT or EXECARGS, or a fault in m; destroys r1-r5 */
void gen_task_text(struct gen *g, uint32_t var);

/* gen_scmp.c: scmp. Signed and unsigned branches alike shall say how strings compare: the flags are
 * SCMP_EQUAL and that plus -255..255. */
#define SCMP_EQUAL 1024
void gen_scmp(struct gen *g, const struct dif_at *at);

/* gen_subr.c: subroutines */
void gen_call(struct gen *g, const struct dif_at *at);

/* gen_record.c: records */
#define HEAP_OFF ((uint32_t)offsetof(struct rt_mach, heap))
void gen_record_begin(struct gen *g);
void gen_record_act(struct gen *g, uint32_t act);
void gen_record_mark(struct gen *g,
		     uint32_t act); /* executed, with those that follow in its block */
void gen_record_end(struct gen *g);
/* The session's state goes from ON to EXITING: no probe but END fires from now on; r0, r1 */
void gen_end_run(struct gen *g);
/* The record of this firing belongs to the speculation whose id args[0] gives; else the clause
 * ends. */
void gen_speculate(struct gen *g, const struct prog_act *act);
/*
 * In a session with blocks of scratch memory: a fault where size bytes at addr are scratch memory
 * that the clause was not given; r0 to r5.
 */
void at_check_readable(struct gen *g, const struct dif_at *at, const struct ra_place *addr,
		       uint32_t size);
/*
 * *(r9 + off) = size bytes at the address in r0, or a fault; destroys r6. needed: of the bytes,
 * those that must have been given to the clause where they lie in scratch memory.
 */
void gen_read_bytes(struct gen *g, uint32_t off, uint32_t size, bool is_user, uint32_t needed,
		    uint32_t action);
/* u64 process id, u64 address (in r0) to r9 + off; destroys r6 */
void gen_user_addr(struct gen *g, uint32_t off);
/* *(u32 *)(r9 + off) = string table offset of what d, a probe name or a constant, gives */
void gen_strid(struct gen *g, uint32_t off, const struct difo *d);

/* gen_stack.c: stacks */
/* Appends a stack to the record; off: of its struct rt_str in the machine state. */
void gen_record_stack(struct gen *g, const struct rec_field *f, uint32_t off);
/* r0 = hash of the stack that d stands for, which stays in a slot of the stack area. */
void gen_key_stack(struct gen *g, const struct difo *d, enum datum_kind datum, uint32_t slot);
/* r0 = the variable (DIF_VAR_CALLER ...); destroys r1-r5 */
void gen_stack_var(struct gen *g, uint32_t var);

/* lookup.c: elements of MAP_AGG and MAP_ARR */
void lookups_count(struct gen *g);
/* r0 = element of the key in the machine state, or of an array's index; NULL when there is none. */
void gen_lookup(struct gen *g, uint32_t map_ref);
void gen_lookup_index(struct gen *g, uint32_t map_ref, uint32_t index);
/* r1 = map, r2 = the key in the machine state */
void gen_map_and_key(struct gen *g, uint32_t map_ref);

/* gen_agg.c: aggregations */
void gen_agg(struct gen *g, const struct prog_act *act);

/* gen_clause.c: clauses */
/* The clauses [from, to) in order, skipping those that FRAME_MASK leaves out. */
void gen_clauses(struct gen *g, const struct unit_clause *ucs, uint32_t from, uint32_t to,
		 const uint64_t *always);
struct clause_cost *clause_cost(struct gen *g, const struct unit_clause *ucs, uint32_t i);
/*
 * Whether exit() may be called in a firing of the clauses [from, to), by them or by ERROR's after a
 * fault.
 */
bool clauses_may_exit(const struct gen *g, const struct unit_clause *ucs, uint32_t from,
		      uint32_t to);
/* Jumps to label when a clause of this firing has called exit(); r0 */
void gen_jump_if_exited(struct gen *g, uint32_t label);
/* Begins a function; id: what calls name it by. clause: UINT32_MAX = none. */
void gen_func_begin(struct gen *g, const char *name, uint32_t clause, uint32_t id);
/* First instructions of a function (ctx, mach, ...) that holds clauses: r9, FRAME_CTX; r3 stays. */
void gen_func_frame(struct gen *g);
/* The function that records a fault and runs the ERROR clauses. */
void gen_fault_func(struct gen *g, uint32_t unused);
/* Calls that function; r1 = context */
void gen_fault_call(struct gen *g);
/*
 * Code behind the clause, reached by jumps: what was put off since first_cold, what a fault leads
 * to.
 */
void gen_clause_tail(struct gen *g, uint32_t first_cold);
/* r0 = epid of the clause for m->probe_idx; r1 */
void gen_epid(struct gen *g, const struct unit_clause *uc);

/* gen_parts.c: the actions of a clause, and the function that calls the parts of one that is cut */
struct acts {
	const struct prog_clause *c;
	uint32_t *labels;	  /* by action, of the part in work; one more for the end */
	bool *reached;		  /* the kernel refuses code that nothing reaches */
	bool *targets;		  /* jumps of this part lead there */
	bool *entries;		  /* jumps of earlier parts do */
	uint32_t begin;		  /* first action of the part */
	uint32_t resume;	  /* label: begin with action r6; used by all parts but the first */
	uint32_t insns, branches; /* where the part begins */
	bool needs_tls;
};
void acts_init(struct gen *g, struct acts *a, bool needs_tls);
void acts_deinit(struct acts *a);
/* Behind action next - 1: ends the part when it is long enough and begins another. */
void acts_cut(struct gen *g, struct acts *a, uint32_t next, uint32_t first_cold);
/* Behind the last part; what is emitted then is reached by jumps only. */
void acts_end(struct gen *g, struct acts *a);
/* Id of the function of part n of the clause in work; no other function's. */
static inline uint32_t gen_part_id(const struct gen *g, uint32_t n)
{
	return 1u << 20 | (g->first_part + n);
}
/* Ends a part whose fault is described in the machine state: whoever calls the parts handles it. */
void gen_part_fault(struct gen *g);
bool part_is_full(uint32_t insns, uint32_t branches);
/* clause(ctx, mach): calls its parts in turn. */
void gen_parts_caller(struct gen *g, uint32_t clause, uint32_t id);
