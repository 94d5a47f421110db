/*
 * Addresses to names: the one door of this room.
 *
 *     sym.c      the handle; what a stack's frames are called
 *     ksym.c     the kernel and its modules, from /proc/kallsyms
 *     usym.c     processes: what is mapped where, as long as they were seen alive
 *     elfsym.c   one ELF file: its functions
 *
 * To add a source of user names (perf maps, debug links): 1. a reader that makes a table of
 * functions like elfsym.h; 2. usym.c asks it for a mapping or file.
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

struct syms;

struct syms *syms_create(void);
void syms_destroy(struct syms *s); /* NULL is allowed */
void syms_on_notice(struct syms *s, void (*notice)(void *ctx, const char *msg), void *ctx);

struct sym_name {
	const char *object; /* module, or base name of the mapped file; NULL = unknown */
	const char *name;   /* function; NULL = unknown */
	uint64_t off;	    /* from the function's start; 0 without one */
};

/* pid 0 = the kernel. Always fills ret; false when there is neither name nor object. */
bool syms_find(struct syms *s, uint64_t pid, taddr addr, struct sym_name *ret);

/*
 * The address that stands for all of the same function, or of the same object; addr itself when
 * that is unknown.
 */
taddr syms_start(struct syms *s, uint64_t pid, taddr addr, bool of_object);

/*
 * What is mapped in the process, read now if that was not done since the last syms_tick(): names of
 * a process that is never seen alive are lost.
 */
void syms_see(struct syms *s, uint64_t pid);
/* Time has passed: processes may have mapped something else. */
void syms_tick(struct syms *s);

/* Leaves out the frames of the kernel's tracing code that n addresses (of any alignment) begin
 * with. */
void syms_trim(struct syms *s, const char **pcs, uint32_t *n);

/*
 * Where the kernel's tracing code is: ranges [start, end), ascending, two words each. *ret_n
 * ranges; none when symbols are hidden.
 */
const uint64_t *syms_tracing(struct syms *s, uint32_t *ret_n);
