/*
 * The gate to files that others have made: programs, libraries, debug files, perf maps of any process.
 *
 * Whoever owns such a file also decides what stands in it, and we read it as root while we trace. So everything that
 * reads one comes through here, and nothing of it is believed: the file is a regular one and is opened without waiting
 * for anybody, below the root directory of the process that uses it; it is never mapped, because its owner could
 * truncate it under us; no header, section or string is larger than the limit that the caller gives. A sparse file of
 * a few kilobytes may claim tables of terabytes.
 *
 * Owns     struct gate_elf owns its libelf handle; file descriptors stay the caller's.
 * Units    limits in bytes, of one section as it is in memory (decompressed).
 * Errors   what is not an ELF file, or lies, has no sections. What was left out because it is larger than the limit
 *          is remembered in is_cut, for the caller to tell.
 * Facts    ELF: gABI 4.1, "Sections" (extended section numbering). openat2(): Linux fddae2de7ba5, v5.6.
 */
#pragma once

#include <gelf.h>

#include "base/base.h"

/* Option elfsize: the largest libraries of Debian 12 have symbol tables of some 20 MB and .eh_frame of 15 MB. */
#define GATE_LIMIT_DEFAULT ((uint64_t)64 << 20)
/* Debug information is that many times larger than what a program needs to run. */
#define GATE_DEBUG_FACTOR 8
/* Bytes of one name; C++ has some of more than ten thousand. */
#define GATE_NAME_MAX 65536

/*
 * A path as seen from the directory root (-1 = ours; links, absolute ones too, stay below it). Returns a descriptor of
 * a regular file, or -1 with errno; EINVAL: it is no regular file.
 */
int gate_open_path(int root, const char *path);
/* The very file that a process maps at [start, end), even when its name is gone. As gate_open_path(). Needs
 * CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN. */
int gate_open_mapping(uint64_t pid, taddr start, taddr end);

struct gate_elf {
	Elf *elf; /* NULL: no ELF file, or its headers lie */
	uint64_t limit;
	bool is_cut; /* something was larger than limit and was left out */
	size_t checked_text; /* the string table that was looked at last; 0 = none */
};

/* ret is filled in any case; gate_elf_close() takes it. */
void gate_elf_open(int fd, uint64_t limit, struct gate_elf *ret);
/* The same for a file in memory, which libelf writes to. */
void gate_elf_memory(char *image, size_t size, uint64_t limit, struct gate_elf *ret);
void gate_elf_close(struct gate_elf *g);

/* The contents of a section: translated by libelf as its type says; as the bytes are. NULL when there are none. */
Elf_Data *gate_data(struct gate_elf *g, Elf_Scn *scn);
Elf_Data *gate_raw_data(struct gate_elf *g, Elf_Scn *scn);
/* A string of the string table that is section number table; NULL when there is none, or it is too long. */
const char *gate_text(struct gate_elf *g, size_t table, size_t off);
/* Is all debug information together, decompressed, at most GATE_DEBUG_FACTOR times the limit? libdw reads it at once. */
bool gate_is_debug_small(struct gate_elf *g);
