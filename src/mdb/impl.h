/* SPDX-License-Identifier: MIT */
/*
 * The inside of the debugger (mdb.h): its state, and what commands are.
 *
 * To add a command: 1. its function in the file of its subject, declared below; 2. its row in the
 * table of dcmds.c; 3. a line in doc/mdb.md and in doc/mdb.1, and a test in tests/e2e/mdb.
 */
#pragma once

#include <signal.h>
#include <stdio.h>

#include "arch/arch.h"
#include "base/vec.h"
#include "dtrace.h"
#include "helper/replay.h"
#include "image/elfsym.h"
#include "mdb/command.h"
#include "mdb/format.h"
#include "mdb/mdb.h"
#include "mdb/out.h"
#include "target/copy.h"
#include "target/maps.h"
#include "target/target.h"

struct chunk;
struct debug_search;
struct dwarf_names;
struct census;
struct file_opts;
struct heap;
struct image;
struct mdb_types;
struct syms;
struct ustacks;
struct walk_target;

/* A file that the target has mapped, or the vDSO. */
struct mdb_object {
	taddr start, end;	    /* from its lowest mapping to its highest */
	const struct proc_map *map; /* the lowest */
	const char *name;	    /* the last part of its path */
	struct image *image;	    /* pinned; NULL: it cannot be opened */
	bool has_bias;
	uint64_t bias; /* from the addresses of the file to those of the target */
	/* types.c: names of types, made when the first type is looked for */
	struct dwarf_names *names;
	bool is_untyped;    /* it has no debug information */
	bool is_deep;	    /* names are, or will be, also those inside of functions */
	bool is_dwarf_held; /* which the table of types refers to */
};

struct variable {
	char *name;
	uint64_t value;
};

/* A frame of a stack. */
struct frame {
	enum replay_frame_kind kind;
	taddr pc, sp, fp;
	bool is_return;
	char *text; /* of a language; of a native frame: the name that a helper gives it, or NULL */
	bool is_stub;  /* that name is of code that is no function of the language */
	uint32_t part; /* index of that helper */
	value_locals locals;
};
struct stack {
	VEC(struct frame) frames;
	bool is_cut;
	char *missing; /* why there is none; NULL: there is one */
};

struct mdb {
	struct mdb_opts opts;
	dtrace_hdl_t *h; /* names, files and helpers are those of a session */
	const struct file_opts *files;
	struct syms *syms;
	struct target *t;
	struct target_copied copied; /* with opts.is_copy */
	uint64_t named;		     /* by which its addresses are named: syms_target() */
	VEC(struct mdb_object) objects;
	target_tids tids;
	pid_t tid; /* the thread that is chosen */
	/* Walks of stacks; made when the first stack is asked for. */
	struct ustacks *ustacks;
	struct walk_target *walk;
	struct replay replay;
	struct heap *heap;	 /* of malloc; NULL: it was not asked for yet */
	struct mdb_types *types; /* NULL: none was asked for */
	char *helper;		 /* of ::load; NULL: none */
	char *declined;		 /* what a helper said that does not know this build; NULL: none */
	struct census *census;	 /* of the heaps of languages; NULL: not asked for yet */
	/* The language. */
	VEC(struct variable) variables;
	uint64_t dot, increment, last;
	uint32_t depth; /* of files of commands, one inside another */
	struct out out;
	FILE *log; /* of the transcript; NULL: there is none */
	char *log_path;
	bool is_over, has_failed;
	volatile sig_atomic_t is_interrupted;
};

/* The arguments of a call. */
struct call {
	const struct dcmd *dcmd;
	bool has_addr, has_count;
	bool is_first, is_last; /* of the calls that a pipe makes */
	uint64_t addr, count;
	const char *opts[128]; /* by letter: the argument, "" where the option has none; NULL */
	uint32_t argc;	       /* words that are no options */
	char *const *argv;
};

enum {
	DCMD_ADDR = 1,	  /* needs an address */
	DCMD_NO_ADDR = 2, /* takes none */
	DCMD_COUNT = 4,	  /* takes a count */
};

struct dcmd {
	const char *name, *synopsis, *what;
	const char *opts; /* letters; a colon behind one that has an argument */
	uint32_t flags, min_args, max_args;
	struct err *(*run)(struct mdb *m, const struct call *c);
};
extern const struct dcmd dcmds[];
extern const uint32_t ndcmds;

struct dcmd_alias {
	const char *name, *of;
};
extern const struct dcmd_alias dcmd_aliases[];
extern const uint32_t ndcmd_aliases;
/* The command of that name or alias; NULL: there is none. */
const struct dcmd *dcmd_find(const char *name);

struct walker {
	const char *name, *what;
	struct err *(*walk)(struct mdb *m, const struct call *c);
};
extern const struct walker walkers[];
extern const uint32_t nwalkers;

/* ---- mdb.c ----------------------------------------------------------------------------------- */

bool mdb_read(struct mdb *m, taddr addr, void *to, size_t size);
/* Adds symbol and offset, or object and offset; false, and nothing: neither is known. */
bool mdb_name_add(struct mdb *m, taddr addr, bool is_return, struct strbuf *out);
/* An error if there is no such thread. */
MUST_CHECK struct err *mdb_thread_check(struct mdb *m, pid_t tid);
struct expr_env mdb_expr_env(struct mdb *m);
struct format_env mdb_format_env(struct mdb *m);
/* Parses a decimal number of an option or argument. */
MUST_CHECK struct err *mdb_number(const char *text, uint64_t max, uint64_t *ret);

/* ---- object.c -------------------------------------------------------------------------------- */

void mdb_objects_make(struct mdb *m);
void mdb_objects_free(struct mdb *m);
/* Where debug files of an object are searched. */
struct debug_search mdb_object_search(const struct mdb *m, const struct mdb_object *o);
/* By its name, its path, or its name without ".so" and what follows; NULL: there is none. */
const struct mdb_object *mdb_object_named(const struct mdb *m, const char *name);
const struct mdb_object *mdb_object_at(const struct mdb *m, taddr addr);
bool mdb_symbol_find(struct mdb *m, const char *object, const char *name, uint64_t *ret);
/* The symbol that contains an address, with addresses of the file; NULL: there is none. */
const struct elf_sym *mdb_symbol_at(struct mdb *m, const struct mdb_object *o, taddr addr);

/* ---- run.c ----------------------------------------------------------------------------------- */

bool run_text(struct mdb *m, const char *text);

/* ---- log.c ----------------------------------------------------------------------------------- */

/* Add to the transcript, if there is one; a write that fails ends it, and is told. */
void log_write(struct mdb *m, const char *text, size_t len);
void log_command(struct mdb *m, const char *text, size_t len);
void log_end(struct mdb *m);

/* ---- stack.c --------------------------------------------------------------------------------- */

/* Registers of a native frame: words of struct pt_regs, and bits of those that are known. */
struct frame_regs {
	uint64_t words[ARCH_NREGS_MAX], known;
};
/* Of the chosen thread; number: 0 is the innermost frame. */
MUST_CHECK struct err *stack_frame_regs(struct mdb *m, uint64_t number, struct frame_regs *ret);
/* Finds the helpers and their values, once. */
void walks_begin(struct mdb *m);
/* Walks the stack of a thread. */
void stack_take(struct mdb *m, pid_t tid, struct stack *ret);
/* The stack of what stands parked without a thread, by the helper of that index. */
void stack_take_parked(struct mdb *m, uint32_t part, uint64_t word, struct stack *ret);
void stack_free(struct stack *s);
/* Adds what a frame is called: "libc.so.6`read+0xd", "0x7f00". */
void frame_name_add(struct mdb *m, const struct frame *f, struct strbuf *out);
void stacks_end(struct mdb *m);

/* ---- threads.c ------------------------------------------------------------------------------- */

/* "running", of a letter of /proc; "-": it is not known. */
const char *thread_state_name(char state);

/* ---- malloc.c ------------------------------------------------------------------------------- */

/* Adds to a row which chunk an address is a part of. */
void chunk_tell(struct mdb *m, const struct heap *h, const struct chunk *c, taddr addr);
/* Rows for what is wrong with the heap, and what is not known of it. */
void heap_notes_show(struct mdb *m, const struct heap *h);
/* ---- census.c -------------------------------------------------------------------------------- */

void census_end(struct mdb *m);

/* ---- commands -------------------------------------------------------------------------------- */

struct err *cmd_args(struct mdb *m, const struct call *c);
struct err *cmd_array(struct mdb *m, const struct call *c);
struct err *cmd_auxv(struct mdb *m, const struct call *c);
struct err *cmd_chunk(struct mdb *m, const struct call *c);
struct err *cmd_context(struct mdb *m, const struct call *c);
struct err *cmd_dcmds(struct mdb *m, const struct call *c);
struct err *cmd_dis(struct mdb *m, const struct call *c);
struct err *cmd_env(struct mdb *m, const struct call *c);
struct err *cmd_findleaks(struct mdb *m, const struct call *c);
struct err *cmd_files(struct mdb *m, const struct call *c);
struct err *cmd_findptr(struct mdb *m, const struct call *c);
struct err *cmd_findstr(struct mdb *m, const struct call *c);
struct err *cmd_findsym(struct mdb *m, const struct call *c);
struct err *cmd_formats(struct mdb *m, const struct call *c);
struct err *cmd_fpregs(struct mdb *m, const struct call *c);
struct err *cmd_grep(struct mdb *m, const struct call *c);
struct err *cmd_help(struct mdb *m, const struct call *c);
struct err *cmd_locks(struct mdb *m, const struct call *c);
struct err *cmd_malloc(struct mdb *m, const struct call *c);
struct err *cmd_mallocbrk(struct mdb *m, const struct call *c);
struct err *cmd_list(struct mdb *m, const struct call *c);
struct err *cmd_libs(struct mdb *m, const struct call *c);
struct err *cmd_load(struct mdb *m, const struct call *c);
struct err *cmd_log(struct mdb *m, const struct call *c);
struct err *cmd_lclosure(struct mdb *m, const struct call *c);
struct err *cmd_lframe(struct mdb *m, const struct call *c);
struct err *cmd_lbytes(struct mdb *m, const struct call *c);
struct err *cmd_lconstructor(struct mdb *m, const struct call *c);
struct err *cmd_lfibers(struct mdb *m, const struct call *c);
struct err *cmd_lfunctions(struct mdb *m, const struct call *c);
struct err *cmd_lhandles(struct mdb *m, const struct call *c);
struct err *cmd_lobjects(struct mdb *m, const struct call *c);
struct err *cmd_lprint(struct mdb *m, const struct call *c);
struct err *cmd_lraw(struct mdb *m, const struct call *c);
struct err *cmd_lrefs(struct mdb *m, const struct call *c);
struct err *cmd_lretained(struct mdb *m, const struct call *c);
struct err *cmd_lsource(struct mdb *m, const struct call *c);
struct err *cmd_lstack(struct mdb *m, const struct call *c);
struct err *cmd_lstr(struct mdb *m, const struct call *c);
struct err *cmd_ltasks(struct mdb *m, const struct call *c);
struct err *cmd_ltaskstack(struct mdb *m, const struct call *c);
struct err *cmd_lthreads(struct mdb *m, const struct call *c);
struct err *cmd_ltype(struct mdb *m, const struct call *c);
struct err *cmd_map(struct mdb *m, const struct call *c);
struct err *cmd_mappings(struct mdb *m, const struct call *c);
struct err *cmd_nm(struct mdb *m, const struct call *c);
struct err *cmd_objects(struct mdb *m, const struct call *c);
struct err *cmd_offsetof(struct mdb *m, const struct call *c);
struct err *cmd_print(struct mdb *m, const struct call *c);
struct err *cmd_printf(struct mdb *m, const struct call *c);
struct err *cmd_quit(struct mdb *m, const struct call *c);
struct err *cmd_regs(struct mdb *m, const struct call *c);
struct err *cmd_siginfo(struct mdb *m, const struct call *c);
struct err *cmd_sizeof(struct mdb *m, const struct call *c);
struct err *cmd_source(struct mdb *m, const struct call *c);
struct err *cmd_stack(struct mdb *m, const struct call *c);
struct err *cmd_stack_fp(struct mdb *m, const struct call *c);
struct err *cmd_status(struct mdb *m, const struct call *c);
struct err *cmd_threads(struct mdb *m, const struct call *c);
struct err *cmd_typedef(struct mdb *m, const struct call *c);
struct err *cmd_walk(struct mdb *m, const struct call *c);
struct err *cmd_walkers(struct mdb *m, const struct call *c);
struct err *cmd_whatis(struct mdb *m, const struct call *c);
struct err *cmd_windows(struct mdb *m, const struct call *c);
struct err *walk_arenas(struct mdb *m, const struct call *c);
struct err *walk_busy(struct mdb *m, const struct call *c);
struct err *walk_chunks(struct mdb *m, const struct call *c);
struct err *walk_frames(struct mdb *m, const struct call *c);
struct err *walk_freed(struct mdb *m, const struct call *c);
