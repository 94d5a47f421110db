/*
 * The gate to files that others have made: programs, libraries, debug files, perf maps of any
 * process.
 *
 * The owner of such a file decides what stands in it, and we read it as root while we trace. So all
 * code that reads one opens it here, and trusts none of its contents. The gate guarantees four
 * things:
 *
 *     - the file is a regular one, below the root directory of the process that uses it, and
 *       opening it does not wait, as opening a fifo would;
 *     - it is read, never mapped: its owner could truncate it, and reading the mapping would then
 *       be a SIGBUS;
 *     - no table of headers, no section and no string exceeds the limit that the caller gives,
 *       although a sparse file of a few kilobytes may claim tables of terabytes;
 *     - what was left out because of the limit is remembered in is_cut, so that the caller can
 *       report it.
 *
 * Owns     struct gate_elf owns its libelf handle; file descriptors stay the caller's.
 * Units    limits in bytes, of one section as it is in memory (decompressed).
 * Errors   none: a file that is no ELF file, or whose headers contradict each other, has no
 *          sections.
 * Facts    ELF: gABI 4.1, "Sections" (extended section numbering). openat2(): Linux fddae2de7ba5,
 *          v5.6.
 */
#pragma once

#include <gelf.h>

#include "base/base.h"

/*
 * Option elfsize: the largest libraries of Debian 12 have symbol tables of some 20 MB and .eh_frame
 * of 15 MB.
 */
#define GATE_LIMIT_DEFAULT ((uint64_t)64 << 20)
/*
 * Debug information may exceed the limit this many times: it is larger than what a program needs to
 * run.
 */
#define GATE_DEBUG_FACTOR 8
/* Largest length of a name in bytes; C++ has names of more than ten thousand. */
#define GATE_NAME_MAX 65536

/*
 * Opens a path as a process with this root directory sees it (-1 = our own root). Symbolic links,
 * absolute ones too, cannot leave the root. Returns a descriptor of a regular file, or -1 with
 * errno; EINVAL: it is no regular file.
 */
int gate_open_path(int root, const char *path);
/*
 * Opens the very file that a process maps at [start, end), even if it was renamed or deleted;
 * returns as gate_open_path() does. The kernel demands CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN
 * (/proc/PID/map_files).
 */
int gate_open_mapping(uint64_t pid, taddr start, taddr end);

struct gate_elf {
	Elf *elf; /* NULL: no ELF file, or its headers claim too much */
	uint64_t limit;
	bool is_cut;	     /* something was larger than limit and was left out */
	size_t checked_text; /* the string table whose size was checked last; 0 = none */
};

/*
 * Always fills ret, which gate_elf_close() releases. The caller keeps fd, and closes it later than
 * ret.
 */
void gate_elf_open(int fd, uint64_t limit, struct gate_elf *ret);
/* The same for a file in memory. libelf may write to the image, which must live longer than ret. */
void gate_elf_memory(char *image, size_t size, uint64_t limit, struct gate_elf *ret);
void gate_elf_close(struct gate_elf *g);

/*
 * Return the contents of a section, decompressed; NULL if it has none, or they are too large.
 * gate_data() converts them to the host's structures, gate_raw_data() leaves the bytes as they are.
 */
Elf_Data *gate_data(struct gate_elf *g, Elf_Scn *scn);
Elf_Data *gate_raw_data(struct gate_elf *g, Elf_Scn *scn);
/*
 * Returns the string at offset off of a string table (a section's number); NULL if there is none,
 * or it is too long.
 */
const char *gate_text(struct gate_elf *g, size_t table, size_t off);
/*
 * True if all sections together, decompressed, have at most GATE_DEBUG_FACTOR times the limit. To
 * be asked before libdw, which reads all debug information without any bound, gets the file.
 */
bool gate_is_debug_small(struct gate_elf *g);
