/*
 * Addresses to names: the one door of this room.
 *
 *     sym.c      the handle; what a stack's frames are called
 *     ksym.c     the kernel and its modules, from /proc/kallsyms
 *     usym.c     addresses in processes
 *     uproc.c    processes, living and dead: what is mapped where (uspace.c)
 *     ufile.c    the files that are mapped, kept open
 *     elfsym.c   one ELF file: its symbols (elfplt.c, minidebug.c, debugfile.c)
 *     dwarf.c    its source lines, too, when it has debug information
 *     perfmap.c  what compilers in processes say of their code
 *
 * To add a source of user names: 1. a reader that adds to the table of elfsym.h; 2. a line in
 * elfsym.c or ufile.c that calls it.
 *
 * Nothing is read before the first address is asked for: the kernel takes some 30 ms to print its
 * table.
 *
 * Owns     all texts it returns; they live as long as the handle.
 * Errors   none: an address without a name is a case, not an error. What the user should know
 * (hidden kernel symbols) is told once to the notice function.
 */
#pragma once

#include "base/base.h"

struct file_opts; /* sym/debugfile.h */
struct syms;

struct syms *syms_create(void);
void syms_destroy(struct syms *s); /* NULL is allowed */
/* denied: of a process that we have no right to look into an address is asked for. May be called often. */
void syms_on_notice(struct syms *s, void (*notice)(void *ctx, const char *msg),
		    void (*denied)(void *ctx, uint64_t pid), void *ctx);

struct sym_name {
	const char *object; /* module, or base name of the mapped file; NULL = unknown */
	const char *name;   /* function; NULL = unknown */
	uint64_t off;	    /* from the function's start; 0 without one */
};

/* pid 0 = the kernel. Always fills ret; false when there is neither name nor object. */
bool syms_find(struct syms *s, uint64_t pid, taddr addr, struct sym_name *ret);

/* The same for an address that a call returns to: the function that calls, though the address behind its
 * last call may be where another one begins. */
bool syms_find_caller(struct syms *s, uint64_t pid, taddr addr, struct sym_name *ret);

struct sym_line {
	const char *file; /* as the compiler was told */
	uint32_t line;
};

/* Source of a process's address, from debug information; false when there is none. */
bool syms_line(struct syms *s, uint64_t pid, taddr addr, struct sym_line *ret);

/*
 * The address that stands for all of the same function, or of the same object; addr itself when
 * that is unknown.
 */
taddr syms_start(struct syms *s, uint64_t pid, taddr addr, bool of_object);

/* ---- processes ---------------------------------------------------------------------------- */

/*
 * What is mapped in the process, read now if that was not done since the last syms_tick(). Without
 * the events below, names of a process that is never seen alive are lost.
 */
void syms_see(struct syms *s, uint64_t pid);
/* Time has passed: processes may have mapped something else. */
void syms_tick(struct syms *s);

/*
 * Who sees what processes do says so, in the order of time (ns of CLOCK_MONOTONIC); then processes
 * are only looked at when an address is in nothing that is known. syms_watch_begin(): from now on;
 * reads what all processes have mapped.
 */
struct sym_map {
	taddr start, len;
	uint64_t off, dev, ino; /* in the file */
	uint64_t gen;		/* which file has the inode number; 0: unknown */
	const char *path;	/* as /proc shows it */
	bool is_exec;
};
void syms_watch_begin(struct syms *s);
void syms_forked(struct syms *s, uint64_t pid, uint64_t parent, uint64_t time);
void syms_execed(struct syms *s, uint64_t pid, uint64_t time);
void syms_mapped(struct syms *s, uint64_t pid, const struct sym_map *m, uint64_t time);
void syms_ended(struct syms *s, uint64_t pid, uint64_t time);
/* What is asked for from now on was recorded at that time; SYMS_ANY_TIME: it is not known when. */
#define SYMS_ANY_TIME UINT64_MAX
void syms_at(struct syms *s, uint64_t time);
/* Some of what processes did was not told. */
void syms_lost(struct syms *s);

struct sym_opts {
	bool is_raw;		/* names of C++ and Rust stay mangled */
	const struct file_opts *files; /* what it points to lives as long as the handle */
};
void syms_set_opts(struct syms *s, const struct sym_opts *opts);

/* ---- the kernel --------------------------------------------------------------------------- */

/* Leaves out the frames of the kernel's tracing code that n addresses (of any alignment) begin
 * with. */
void syms_trim(struct syms *s, const char **pcs, uint32_t *n);

/*
 * Where the kernel's tracing code is: ranges [start, end), ascending, two words each. *ret_n
 * ranges; none when symbols are hidden.
 */
const uint64_t *syms_tracing(struct syms *s, uint32_t *ret_n);
