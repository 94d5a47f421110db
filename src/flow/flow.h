/* SPDX-License-Identifier: MIT */
/*
 * The control flow of a file of x86-64: where its code can be entered, and at which places of it a
 * jump can be written in the stead of a trap.
 *
 * A window is the piece of code whose first bytes such a jump overwrites: 5 bytes, or 2 that lead
 * to 5 bytes of padding nearby. The jump leads to a stub, which runs the bodies of probes and the
 * instructions of the window, and goes on behind it. So no control may arrive inside the window.
 * All places at which control can arrive are marked first, in the whole file (marks.c, tables.c):
 *
 *     targets of branches and calls, also in code that belongs to no function
 *     what is behind a call: active frames return there; endbr64
 *     symbols, and where entries of .eh_frame begin; landing pads of exceptions
 *     targets of jump tables; pointers to code in data, and addresses that code computes
 *
 * To mark too much costs a probe its window, to mark too little kills a program. Never in a window:
 * system calls, the code to which signal handlers return, sections of rseq, transactions, and
 * functions whose addresses somebody compares with those of faults (known.def).
 *
 * Owns     a flow owns copies of all it needs, the code included: 2 1/4 bytes for each byte of
 *          code. A plan owns its windows.
 * Errors   no ELF file, not of x86-64, no code, too large. Of a damaged file less is patched.
 * Units    virtual addresses as in the file; bytes.
 * Threads  a flow does not change once it is made: any thread may use it.
 * Facts    the rules of patching: in-process, sections 3, 4.1, 4.2 and 4.6.
 */
#pragma once

#include "base/err.h"
#include "base/vec.h"

struct gate_file;
struct flow;

/*
 * Reads a file, which stays the caller's and need not stay open. limit: of one section, of all
 * code, and of all other segments (files/gate.h).
 */
MUST_CHECK struct err *flow_create(struct gate_file *file, uint64_t limit, struct flow **ret);
void flow_destroy(struct flow *f);	  /* NULL is allowed */
uint64_t flow_size(const struct flow *f); /* the bytes of memory that it takes */
/* Returns the code at an address; NULL: the file does not have all of these bytes as code. */
const uint8_t *flow_code(const struct flow *f, uint64_t addr, uint32_t size);

/* ---- plans (plan.c) ------------------------------------------------------------------------- */

enum flow_kind {
	FLOW_ENTRY,  /* addr: of the function */
	FLOW_EXIT,   /* addr: of a return, or of a jump out of the function */
	FLOW_OFFSET, /* addr: of any instruction */
	/*
	 * addr: of the nop of a program's own probe. The body runs behind it, where registers,
	 * flags and memory are those at the nop.
	 */
	FLOW_NOP,
	FLOW_TARGET, /* addr: of a call or jump that says itself where it leads: that is changed */
};

struct flow_site {
	uint64_t addr;
	enum flow_kind kind;
};

/* Why a site has no window. */
enum flow_lack {
	FLOW_FITS,	/* it has one */
	FLOW_NO_CODE,	/* no instruction of the file begins there */
	FLOW_SHORT,	/* too few bytes before the code ends */
	FLOW_ENTERED,	/* control can enter inside */
	FLOW_LOOP,	/* control comes back behind the first instruction, as to an entry */
	FLOW_JUMPS,	/* the first instruction calls, or jumps or returns in another form */
	FLOW_STACK,	/* the first instruction changes the stack pointer by an unknown amount */
	FLOW_CALL,	/* a call that is not the last instruction */
	FLOW_UNMOVABLE, /* an instruction that only works where it is */
	FLOW_SYSCALL,
	FLOW_SIGRETURN,
	FLOW_RSEQ,
	FLOW_TRANSACTION,
	FLOW_KNOWN,	   /* somebody knows the address (known.def) */
	FLOW_OVERLAPS,	   /* the window of another site is in the way */
	FLOW_NO_PAD,	   /* room for a short jump, but no padding within its reach */
	FLOW_UNKNOWN_JUMP, /* the function jumps to where a table says that was not found */
	FLOW_FIRST,	   /* room only at the first instruction of the function */
	FLOW_PAGES,	   /* the jump would lie on two pages: it could be written only in part */
	FLOW_NO_NOP,	   /* the instruction of a program's own probe is no nop */
	FLOW_JOINS,	   /* control comes to behind the nop from elsewhere, too */
	FLOW_OTHER_NOP,	   /* the nop of a program's own probe would be in the window */
	FLOW_NLACKS,
};

/* Returns words that go on after "uprobe because: ": "control enters inside the first 5 bytes". */
const char *flow_lack_text(enum flow_lack lack);

#define FLOW_WINDOW_MAX 32 /* bytes of moved instructions */
#define FLOW_INSNS_MAX	16
#define FLOW_BODIES_MAX 4
#define FLOW_JUMP	5 /* bytes of jmp rel32, call rel32 */
#define FLOW_JUMP_SHORT 2 /* of jmp rel8 */
#define FLOW_PAGE	4096

#define FLOW_TAIL_MAX	8 /* bytes of a tail: more would have room for a jump */
#define FLOW_TAIL_INSNS 4

struct flow_body {
	uint8_t off;   /* before the moved instruction at this offset the body runs */
	bool has_tail; /* that one jumps to the window's tail, and the body runs at the end of it */
	uint32_t site; /* index in sites[] */
};

/*
 * The instructions to which a jump of a window leads, up to a return that has no room for a jump
 * itself (ways.c): the stub has a copy of them in place of that jump. They stay as they are.
 */
struct flow_tail {
	uint64_t addr;
	uint8_t len; /* 0: there is none */
	uint8_t nins;
	uint8_t ins[FLOW_TAIL_INSNS]; /* offsets, ascending, the first 0; the last one returns */
	uint8_t old[FLOW_TAIL_MAX];   /* what the file has there */
};

/*
 * A call or jump (FLOW_TARGET) keeps all bytes but the 4 that say where it leads: these are the
 * last ones of the instruction, and a distance from its end. The instruction stays what it is,
 * and a call pushes the same address. So nothing is moved out of the program; in the stub, which
 * is called, stands a jump to what the call leads to.
 */
enum flow_target {
	FLOW_TARGET_NONE, /* a window with a jump */
	FLOW_TARGET_CODE, /* call rel32, jmp rel32: it leads to the stub */
	FLOW_TARGET_WORD, /* call *word(%rip), jmp *word(%rip): to a word with the stub's address */
};

struct flow_window {
	uint64_t addr; /* where the jump is written; of a changed call, its begin */
	uint64_t pad;  /* jump == 2: where the jump rel32 is written that it leads to; else 0 */
	uint8_t jump;  /* FLOW_JUMP or FLOW_JUMP_SHORT */
	/*
	 * Bytes of the instructions that are moved. Less than jump only if `ends`, and then the
	 * jump also overwrites padding that nobody executes.
	 */
	uint8_t len;
	uint8_t nins;
	uint8_t ins[FLOW_INSNS_MAX]; /* offsets of the moved instructions, ascending, the first 0 */
	uint8_t nbodies;	     /* 1 or more; ascending offset */
	struct flow_body bodies[FLOW_BODIES_MAX];
	struct flow_tail tail;
	/*
	 * It stands at the first instruction of a function, where other tools put breakpoints,
	 * which is a jump of the same form: while one is there, the stub is not reached.
	 */
	bool is_first_jump;
	/*
	 * It stands at a return of one byte that is the first instruction of a function: a
	 * breakpoint there hides the stub, and leaves the return behind when it goes.
	 */
	bool is_first_return;
	bool ends; /* control does not go on behind it: the last instruction is ret, jmp or ud2 */
	uint8_t target; /* enum flow_target */
	/*
	 * The program may still use the 128 bytes below the stack pointer (the red zone), or the
	 * flags, when a body runs: the stub must keep them.
	 */
	bool has_red_zone, has_flags;
	/*
	 * At an entry (FLOW_ENTRY), what the instructions between the function's begin and the body
	 * do: how many bytes they push (negative: they pop them), and which of the argument
	 * registers rdi, rsi, rdx, rcx, r8, r9 (bits 0 to 5) they write. The stub of a changed call
	 * has the return address pushed.
	 */
	int16_t pushed;
	uint32_t changed_args;
	/* what the file has at addr, max(len, jump) bytes, and at pad */
	uint8_t old[FLOW_WINDOW_MAX];
	uint8_t old_pad[FLOW_JUMP];
};

struct flow_opts {
	bool at_entry; /* windows of entries may begin at the function's first instruction */
	/* windows of earlier plans, whose bytes are in use */
	const struct flow_window *taken;
	uint32_t ntaken;
	/*
	 * The nops of the file's own probes, ascending. No window has one: other tracers write
	 * breakpoints there.
	 */
	const uint64_t *nops;
	uint32_t nnops;
};

struct flow_plan {
	VEC(struct flow_window) windows; /* ascending addr; they do not overlap */
	enum flow_lack *lacks;		 /* one a site */
};

/* Sites may come in any order; of two that are equal, each gets a body. opts NULL: none. */
MUST_CHECK struct err *flow_plan(const struct flow *f, const struct flow_site *sites, uint32_t n,
				 const struct flow_opts *opts, struct flow_plan *ret);
void flow_plan_deinit(struct flow_plan *p);

/*
 * How many pieces of padding the file has that nobody executes; finds in one of them an instruction
 * at which the kernel can place a uprobe, and how many bytes it has; false: there is none.
 */
uint32_t flow_idle_count(const struct flow *f);
bool flow_idle_find(const struct flow *f, uint32_t i, uint64_t *ret_addr, uint32_t *ret_size);

/* ---- the functions of a file (census.c) ----------------------------------------------------- */

/* Calls func for each function, in the order of addresses. */
void flow_each(const struct flow *f, void (*func)(void *ctx, uint64_t addr, uint64_t size),
	       void *ctx);
/* Adds the exits of the function that begins at addr: returns, and jumps to other functions. */
typedef VEC(struct flow_site) flow_sites;
void flow_exits(const struct flow *f, uint64_t addr, flow_sites *ret);

struct flow_counts {
	uint32_t n;
	uint32_t lacks[FLOW_NLACKS]; /* [FLOW_FITS]: jump of 5 bytes, and nshort of 2 */
	uint32_t nshort;
};

/* How many entries and exits of a file's functions have a window, if all of them are probed. */
struct flow_census {
	bool has_symbols; /* functions are those of the symbol table, else of .eh_frame */
	uint64_t code;	  /* bytes */
	uint32_t nmarks;  /* places at which control can enter */
	uint32_t ntables; /* jump tables */
	uint32_t nlandings;
	uint32_t npointers;	     /* words of data that point to code */
	uint32_t nunknown;	     /* functions with jumps by tables that were not found */
	uint32_t nbehind;	     /* functions whose entry fits behind the first instruction, */
	uint32_t nargs;		     /* with all arguments as they were */
	struct flow_counts at_entry; /* windows at the first instruction (-x inproc=all) */
	struct flow_counts entries;  /* behind it */
	struct flow_counts exits;
	struct flow_counts all; /* entries and exits at the same time, which may be in the way */
	uint32_t nfull, nfull_short; /* functions with all exits by 5-byte jumps, and with short */
};

MUST_CHECK struct err *flow_census(const struct flow *f, struct flow_census *ret);
