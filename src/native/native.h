/* SPDX-License-Identifier: MIT */
/*
 * The compiler of the in-process engine: the clauses of a unit to x86-64 code that runs inside the
 * traced process.
 *
 * The code of a unit is one or more functions, because which clauses are enabled, and where their
 * arguments are, is known for each site. For each site the compiler says which function the stub
 * calls and what number it passes:
 *
 *     void f(struct native_frame *frame, uint32_t site)      rdi, esi
 *
 * The function runs the clauses that are enabled on the site's probe, in program order: predicate,
 * actions, record. What it does is what the kernel's engine does in the same place; dif/interp.h
 * says what DIF means.
 *
 * What the code may do inside of a foreign process
 *     Registers  it destroys those general registers that struct native_entry has, and the flags:
 *                the stub saves and restores them. It touches no vector, x87 or segment register,
 *                and neither reads nor writes the direction flag.
 *     Memory     it reads words of the frame, those that struct native_entry has, and reads and
 *                writes NATIVE_STACK_MAX bytes below it (the blob's
 *                functions included), the data part, its own constants, the thread block at %fs:0,
 *                the word at frame->rsp, and words of the function's own stack frame, which are
 *                arguments of programs' own probes; the frames of a language that the thread
 *                runs (native/rt/site.c). Nothing else, so that no instruction can fault,
 *                whatever the clauses compute.
 *     Calls      functions of the blob only (native/blob.h). No system call.
 *     Re-entry   a signal handler may fire the same probes in the middle of it: all state of a
 *                firing is on the stack, and what lies in the data part is changed by single
 *                instructions, locked where another thread may write the same word.
 *
 * Owns     native_code_deinit() releases what native_compile() returned.
 * Units    bytes; addresses are those of the target.
 * Errors   struct err *; native_takes() gives the reason why a unit is not taken, as a phrase.
 * Threads  no state: any thread may compile.
 */
#pragma once

#include "base/err.h"
#include "base/ints.h"
#include "probe/unit.h"
#include "record/layout.h"

/*
 * What the stub has saved: at an entry the registers as they are at the body, which may lie behind
 * the first instructions of the function (struct native_site.pushed). The first 15 words are in the
 * order of struct pt_regs (Linux arch/x86/include/asm/ptrace.h).
 */
struct native_frame {
	u64 r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi;
	u64 pc;	 /* of the site: the function's address at an entry */
	u64 rsp; /* of the program, without what the stub has skipped and pushed */
	u64 rflags;
};
/* Bytes of stack below the frame that a function uses, its return address and the blob included. */
#define NATIVE_STACK_MAX 1024u

/* ---- what is taken --------------------------------------------------------------------------- */

/*
 * Whether the unit's clauses can run in the process. If not, *ret_why is the reason, a phrase that
 * follows "cannot run in the process: ". l may be NULL when there is no layout yet: then only what
 * the clauses themselves say is considered, and native_compile() may still refuse the unit.
 */
bool native_takes(const struct unit *u, const struct layout *l, const char **ret_why);
/*
 * Whether the unit's clauses note the time where they run: they read it, make records, may fault,
 * or call live() or dead(). Where ndata_clock_usable() is false (native/data.h), these cannot run
 * in the process.
 */
bool native_needs_clock(const struct unit *u, const struct layout *l);

/*
 * Which registers of the site's thread the clauses of a probe (an index in u->probes) read. The
 * engine compares them with what the function has changed before the body.
 */
struct native_reads {
	/*
	 * bit n: argument n: its register at an entry, the operand of a program's own probe
	 */
	uint32_t args;
	bool regs; /* others, by uregs[]: the body must run before any other instruction */
};
struct native_reads native_reads_of(const struct unit *u, uint32_t probe);

/* What code in the process can do with an operand of a program's own probe. */
enum native_operand {
	NATIVE_OPERAND_VALUE, /* compute it: registers, constants, addresses */
	/*
	 * Read it from memory at the stack pointer + disp, which faults if that is no stack. The
	 * caller vouches for it.
	 */
	NATIVE_OPERAND_STACK,
	NATIVE_OPERAND_FAR, /* nothing: it is in other memory */
};
enum native_operand native_operand_of(const struct usdt_operand *o);

/*
 * Whether the predicate of a clause calls sample(), sampled() or followed(), which the process
 * answers in filters, and only there.
 */
bool native_samples(const struct prog_clause *c);

/* ---- filters (filter.c) ---------------------------------------------------------------------- */

/*
 * Filters decide in the process whether a firing is handed to the engine in the kernel, which
 * evaluates all of its clauses once more. So a filter says yes too often, never too seldom: it is
 * the disjunction of those predicates that compute with registers, constants, the ids of process,
 * thread and CPU, and the names of the probe. With a clause that has no predicate, or one that
 * reads anything else or may fault, the filter is always true.
 *
 * Sampling is the exception: sample() is decided in the process alone, because a second draw would
 * give another sample. The kernel takes each firing that comes for one of the sample
 * (unit.is_sampled). A filter may be true because of another clause of the same probe, though; so
 * what a sampled entry begins, the return ends only if sampled() is true there, which only the
 * process knows:
 *
 *     malloc:entry   sample(arg0, mean)    counts the bytes of the CPU down; at 0 a new distance is
 *                                          drawn, and the thread is noted: it is in a sampled call
 *     malloc:return  sampled(arg1)         is the thread noted? Then it is not any more, and the
 *                                          address is
 *     free:entry     followed(arg0)        is the address noted? Then it is not any more
 */

struct native_target;

/* Whether the filter of a probe, an index in u->probes, is always true. */
bool native_filter_is_true(const struct unit *u, uint32_t probe, const struct layout *l);
/*
 * The same for a target, which may lack what a predicate reads. Of it only layout, pid, has_rseq,
 * has_tid and is_sampled are looked at.
 */
bool native_filter_is_true_in(const struct unit *u, uint32_t probe, const struct native_target *t);
/*
 * Which registers the clauses of a probe read in the kernel. Indices that are computed count as all
 * registers.
 */
struct native_reads native_relay_reads(const struct unit *u, uint32_t probe);

/* ---- compiling ------------------------------------------------------------------------------- */

/* A site of the target at which a probe of the unit fires. */
struct native_site {
	uint32_t probe; /* index in unit.probes */
	uint32_t rel;	/* place_site.rel: offset in the function, arg0 of a return probe */
	bool is_tail;	/* place_site.is_tail: arg1 of the return probe is 0 */
	/*
	 * The bytes that the function has pushed before the body: the return address is at
	 * frame->rsp + pushed. Negative: it has popped them. 0 at returns.
	 */
	int16_t pushed;
	/*
	 * Of a program's own probe (SPOT_USDT). Those that its clauses read are no
	 * NATIVE_OPERAND_FAR; sites with equal ones have the same rel.
	 */
	const struct usdt_operands *operands;
};

struct blob_plan; /* native/blob.h: where things lie in the data part */

struct native_target {
	uint64_t code; /* the address at which the code will lie, a multiple of 16 */
	uint64_t blob; /* the address of the blob, within 2 GiB of the code */
	uint64_t data; /* the address of the data part */
	const struct blob_plan *plan;
	const struct layout *layout;
	uint32_t pid; /* as the session numbers processes */
	/*
	 * Children of fork() execute the code, too, with a struct blob_conf of their own: their pid
	 * is read there.
	 */
	bool has_children;
	uint32_t ncpus; /* possible CPUs */
	/*
	 * The offset of the u32 cpu_id of struct rseq from %fs:0. Without it slots of CPUs are
	 * chosen by the thread, and clauses that read cpu are refused.
	 */
	bool has_rseq;
	int32_t rseq_cpu_off;
	/*
	 * The offset of the u32 thread id from %fs:0, which must be the one that the session has
	 * for the thread. Without it, no tid and no self->.
	 */
	bool has_tid;
	int32_t tid_off;
	/* It is known where frames of a language are (blob_plan.frames): lfile, lline. */
	bool has_frames;
	/*
	 * Threads may have no thread block yet (the program is still in its dynamic linker): the
	 * code asks the processor for the address of it first (rdfsbase, which the kernel must
	 * allow: HWCAP2_FSGSBASE), and counts a drop in such threads.
	 */
	bool checks_fs;
	bool stops_when_full; /* a record that finds no room ends the run */
	int32_t only_cpu;     /* probes fire on this CPU only; -1: on all */
	uint32_t shuffle;     /* not 0: registers are chosen at random (for tests) */
	/* Functions return whether a predicate is true, and do nothing else (filter.c). */
	bool is_filter;
	/*
	 * Filters ask sample(), sampled() and followed(): all sites of their clauses in the process
	 * have filters. Else such a predicate counts as true.
	 */
	bool is_sampled;
};

/*
 * Why clause i of a unit cannot run in a target: a phrase that follows "places " (static). NULL: it
 * can. Of the target only layout, has_rseq, has_tid, has_frames and only_cpu are looked at.
 */
const char *native_target_lack(const struct unit *u, uint32_t i, const struct native_target *t);
/*
 * Whether a clause counts under the place of a frame of a language: lfile, lline. Code in the
 * process stores numbers in the fields of such keys (layout.h, key_field.lang): the address of the
 * frame's code object in place of the hash of the file's name, and the position in the code in
 * place of the line. Who reads them knows what these are (ndata_hooks.site()).
 */
bool native_has_sites(const struct prog_clause *c);

/* An element of an aggregation: of the table, with the key, padded with zeros to its size there. */
struct native_count {
	uint32_t map;
	const uint8_t *key; /* in native_code.keys; without keys the u32 number of the element */
};
#define NATIVE_COUNTS_MAX 16u

/*
 * A test that a stub can do by itself: if none of a filter's tests is true, the filter is false,
 * and its function need not be called (quick.c).
 */
enum native_test_kind {
	NATIVE_TEST_CALL, /* a thread is in a sampled call: blob_samples.ncalls is not 0 */
	NATIVE_TEST_PAGE, /* the byte of blob_samples.pages for an argument is not 0 */
	/*
	 * The bytes are at least those that are left for the CPU (blob_cpu.sample_left). If they
	 * are not, the test subtracts them. It is the last one.
	 */
	NATIVE_TEST_BYTES,
};
struct native_test {
	enum native_test_kind kind;
	uint8_t arg;   /* of the function, in its register */
	uint8_t times; /* NATIVE_TEST_BYTES: 1 + that of the factor; 0: there is none */
};
#define NATIVE_TESTS_MAX 3u

/* For each site: the offset in the code of the function that the stub calls, and its argument. */
struct native_entry {
	uint32_t func;
	uint32_t site;
	/*
	 * Bit n: word n of struct native_frame is read; the register of word n may be destroyed.
	 * Functions of filters may read and destroy all.
	 */
	uint32_t reads, destroys;
	/*
	 * The clauses of the site do nothing but count, always in these elements, which may be the
	 * same: instead of calling the function, the stub may count by itself
	 * (ndata_counter_make()). In native_code.keys; NULL: they do more.
	 */
	const struct native_count *counts;
	uint32_t ncounts;
	/* Of a filter: what the stub tests before it calls the function; 0: it always calls it. */
	uint32_t ntests;
	struct native_test tests[NATIVE_TESTS_MAX];
};

struct native_code {
	uint8_t *bytes;
	size_t size;
	struct native_entry *entries; /* one per site, in their order */
	uint32_t nentries;
	struct arena *keys; /* memory of the entries' counts */
	uint32_t nfuncs;
	uint32_t consts; /* offset of the constants: what lies before it are instructions */
	uint32_t stack;	 /* the most bytes of stack that a function uses, the blob's included */
};

/*
 * Compiles the unit for these sites. It may be called again for sites that come later. Refused:
 * what native_takes() refuses, what the target lacks, and code of more than NATIVE_CODE_MAX bytes.
 */
MUST_CHECK struct err *native_compile(const struct unit *u, const struct native_target *t,
				      const struct native_site *sites, uint32_t nsites,
				      struct native_code *ret);
void native_code_deinit(struct native_code *code);
/*
 * Compiles the filters of these sites, functions as those above that return uint64_t. Of a site
 * whose filter is always true the function is NATIVE_NO_FILTER; what the target lacks is no error.
 */
MUST_CHECK struct err *native_filter_compile(const struct unit *u, const struct native_target *t,
					     const struct native_site *sites, uint32_t nsites,
					     struct native_code *ret);
#define NATIVE_NO_FILTER UINT32_MAX
#define NATIVE_CODE_MAX	 (64u << 20)
