/* SPDX-License-Identifier: MIT */
/*
 * Addresses to names: the interface through which other rooms look up names.
 *
 *     sym.c      the handle; what a stack's frames are called
 *     ksym.c     the kernel and its modules, from /proc/kallsyms
 *     usym.c     addresses in processes
 *     uproc.c    processes, living and dead: what is mapped where (uspace.c)
 *     utarget.c  what core files had mapped
 *     ufile.c    the files that are mapped, kept open
 *     elfsym.c   one ELF file: its symbols (elfplt.c, minidebug.c, debugfile.c)
 *     dwarf.c    its source lines, too, when it has debug information
 *     perfmap.c  names of code that just-in-time compilers in processes have generated
 *
 * To add a source of user names: 1. a reader that adds to the table of elfsym.h; 2. a line in
 * elfsym.c or ufile.c that calls it.
 *
 * Nothing is read before the first address is looked up, because the kernel takes some 30 ms to
 * print its table of symbols.
 *
 * Owns     all texts it returns; those of names live until the next syms_tick().
 * Errors   none: an address without a name is no error. What the user should know (hidden kernel
 *          symbols) is reported once, by the notice function.
 */
#pragma once

#include "base/base.h"

struct file_opts; /* image/debugfile.h */
struct strbuf;
struct syms;
struct target; /* target/target.h */

struct syms *syms_create(void);
void syms_destroy(struct syms *s); /* NULL is allowed */
/*
 * Sets the functions that report to the user. denied() is called, possibly often, when an address
 * cannot be named because we have no right to read what the process has mapped.
 */
void syms_on_notice(struct syms *s, void (*notice)(void *ctx, const char *msg),
		    void (*denied)(void *ctx, uint64_t pid), void *ctx);

struct sym_name {	    /* the texts are valid until the next syms_tick() */
	const char *object; /* module, or base name of the mapped file; NULL = unknown */
	const char *name;   /* function; NULL = unknown */
	uint64_t off;	    /* from the function's start; 0 without one */
	/*
	 * The address as the ELF file of the object has it, before the file is loaded somewhere,
	 * which is also what nm, objdump and addr2line call it. It is the same in all processes
	 * that map the file.
	 */
	uint64_t file_addr;
	bool has_file_addr; /* false: no ELF file could be read, or the address is the kernel's */
};

/*
 * Finds the name of an address in a process; pid 0 is the kernel. Always fills ret; returns false
 * if neither name nor object is known.
 */
bool syms_find(struct syms *s, uint64_t pid, taddr addr, struct sym_name *ret);

/*
 * The same for a return address: finds the function that contains the call. The return address
 * itself may already belong to the next function, if the call is the last instruction of its
 * function.
 */
bool syms_find_caller(struct syms *s, uint64_t pid, taddr addr, struct sym_name *ret);

struct sym_line {
	const char *file; /* the path that the compiler was given */
	uint32_t line;
};

/*
 * Finds the source line of an address in a process; false if there is no debug information for it.
 */
bool syms_line(struct syms *s, uint64_t pid, taddr addr, struct sym_line *ret);

/*
 * Returns one address for all addresses of the same function, or with of_object of the same object:
 * the start of either. Returns addr itself if the function or object is unknown.
 */
taddr syms_start(struct syms *s, uint64_t pid, taddr addr, bool of_object);

/* ---- processes ---------------------------------------------------------------------------- */

/*
 * Reads what the process has mapped, unless that was done since the last syms_tick(). Without the
 * events below, a process of which this was not called during its life has no names.
 */
void syms_see(struct syms *s, uint64_t pid);
/* To be called now and then: what was read of processes is out of date from now on. */
void syms_tick(struct syms *s);

/*
 * Events: a caller who receives the kernel's records of what processes do passes them on, in the
 * order of time (ns of CLOCK_MONOTONIC). The caller begins with syms_watch_begin(), which reads
 * what all processes have mapped. From then on, /proc is read again only for an address that is in
 * no known mapping.
 */
struct sym_map {
	taddr start, len;
	uint64_t off, dev, ino; /* in the file */
	/* tells apart files that had the inode number in turn; 0: unknown */
	uint64_t gen;
	const char *path; /* as /proc shows it */
	bool is_exec;
};
void syms_watch_begin(struct syms *s);
void syms_forked(struct syms *s, uint64_t pid, uint64_t parent, uint64_t time);
void syms_execed(struct syms *s, uint64_t pid, uint64_t time);
void syms_mapped(struct syms *s, uint64_t pid, const struct sym_map *m, uint64_t time);
void syms_ended(struct syms *s, uint64_t pid, uint64_t time);
/*
 * Sets when the addresses that are looked up from now on were recorded; SYMS_ANY_TIME: that is not
 * known.
 */
#define SYMS_ANY_TIME UINT64_MAX
void syms_at(struct syms *s, uint64_t time);
uint64_t syms_time(const struct syms *s); /* what was set last */
/* Some events were lost: what is known of living processes may be out of date. */
void syms_lost(struct syms *s);

/*
 * Makes the addresses of a target known, and returns the number to give as the pid of them. The
 * target may be closed afterwards: its files are kept as those of processes are. A process that
 * lives has its own id.
 */
uint64_t syms_target(struct syms *s, struct target *t);

/* Writes what is kept of processes and files, and how much was forgotten to make room. */
void syms_describe(const struct syms *s, struct strbuf *out);

struct sym_opts {
	bool is_raw;		       /* names of C++ and Rust stay mangled */
	uint64_t max_bytes;	       /* memory for names of programs; 0: the default */
	const struct file_opts *files; /* what it points to lives as long as the handle */
};
void syms_set_opts(struct syms *s, const struct sym_opts *opts);

/* ---- the kernel --------------------------------------------------------------------------- */

/*
 * Skips the frames of the kernel's tracing code at the begin of a stack of *n addresses (of any
 * alignment).
 */
void syms_trim(struct syms *s, const char **pcs, uint32_t *n);

/*
 * Returns the ranges [start, end) of the kernel's tracing code, ascending, two words each. *ret_n
 * is their number, and 0 if the kernel hides its symbols.
 */
const uint64_t *syms_tracing(struct syms *s, uint32_t *ret_n);
