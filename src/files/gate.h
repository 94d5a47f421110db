/* SPDX-License-Identifier: MIT */
/*
 * The gate to files that others have made: programs, libraries, debug files, perf maps of any
 * process.
 *
 * The owner of such a file controls its contents, and we read it as root while we trace. So all
 * code that reads a foreign file opens it here, and trusts none of its contents. The gate
 * guarantees five things:
 *
 *     - the file is a regular one, below the root directory of the process that uses it, and none
 *       of /proc or another file system whose contents the kernel makes when they are read. It is
 *       found before it is opened (O_PATH), because opening a fifo or a device has effects, and
 *       because the owner may have put another file in its place meanwhile;
 *     - it is read, never mapped: its owner could truncate it, and reading the mapping would then
 *       be a SIGBUS (files/mapping.c maps one for a moment, without reading it, to learn which
 *       inode mappings of it show);
 *     - no table of headers, no section and no string exceeds the limit that the caller gives,
 *       although a sparse file of a few kilobytes may claim tables of terabytes, nor do all
 *       sections together a multiple of it: thousands of them may be the same bytes;
 *     - what was left out because of the limit is remembered in is_cut, so that the caller can
 *       report it;
 *     - the tracer never hangs because the server of a file system has stopped, not even when it
 *       reads memory that a process has mapped from there.
 *
 * The last guarantee needs another process. Files on a file system that answers by itself
 * (mounts.h) are opened and read in this process. All other files are opened and read by the reader
 * (files/reader.h). For such a file, this process has a descriptor whose opening sends no request
 * to the server (O_PATH), and an image in memory, into which the reader copies the parts that are
 * needed. An answer is waited for at most as long as the option filewait says; while probes fire,
 * all waits together take at most a tenth of the time. When that is used up, only those are asked
 * that have always answered at once, for a tenth of the wait. After a file system has not
 * answered, no request is sent to it for five seconds, then for ten, and so on up to five minutes.
 * Meanwhile, reading one of its files fails at once, and the user is notified. When waits have
 * taken their tenth of the time, although all file systems answer, the user reads that, and no
 * file system is said to be silent.
 *
 * Owns     struct gate owns the reader; struct gate_elf its libelf handle. Files are counted.
 * Units    limits in bytes, of one section as it is in memory (decompressed).
 * Errors   errno, where a function says so; ETIMEDOUT: the file system does not answer, or was not
 *          asked; gate_late_text() says which. A file that is no ELF file, or whose headers
 *          contradict each other, has no sections.
 * Facts    ELF: gABI 4.1, "Sections" (extended section numbering). openat2(): Linux fddae2de7ba5,
 *          v5.6; RESOLVE_CACHED: Linux 99668f618062, v5.12.
 */
#pragma once

#include <gelf.h>
#include <sys/stat.h>

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
/* Option filewait */
#define GATE_WAIT_NS 200000000ull

/* ---- files (gate_file.c) -------------------------------------------------------------------- */

struct gate;
struct gate_file;

struct gate *gate_create(void);
/* Files that are still open cannot be read any more. NULL is allowed. */
void gate_destroy(struct gate *g);
/* Sets how long an answer is waited for. */
void gate_set_wait(struct gate *g, uint64_t ns);
/*
 * While nothing is traced yet, a long wait does no harm. is_patient multiplies the time by ten and
 * turns the notices off, because the caller reports the files that it cannot read. A new gate is
 * patient.
 */
void gate_set_patient(struct gate *g, bool is_patient);
/* Sets the function that tells the user of a file that cannot be read for now. */
void gate_on_notice(struct gate *g, void (*notice)(void *ctx, const char *msg), void *ctx);
/* Why the last function that failed with ETIMEDOUT has failed, or a file is stuck. */
const char *gate_late_text(const struct gate *g);
/*
 * How many requests have got no answer. What was concluded from files and memory while this number
 * grew may be concluded otherwise later.
 */
uint64_t gate_late_count(const struct gate *g);

/*
 * Sets a function that opens a path of our own root directory for us where we have no right to: it
 * returns a descriptor of a regular file, or -1 with errno. NULL: nobody is asked.
 */
void gate_set_opener(struct gate *g, int (*open)(void *ctx, const char *path), void *ctx);

/*
 * Opens a path as a process with this root directory sees it (-1 = our own root). Symbolic links,
 * absolute ones too, cannot leave the root. NULL with errno; EINVAL: it is no regular file, or
 * one of /proc and its like.
 */
struct gate_file *gate_open_path(struct gate *g, int root, const char *path);

struct gate_mapping {
	uint64_t pid;
	taddr start, end;
	uint64_t dev;	  /* of the file, as /proc/PID/maps or an event gives it; 0 = unknown */
	const char *path; /* for messages; NULL = unknown */
};
/*
 * Opens the very file that a process maps, even if it was renamed or deleted; returns as
 * gate_open_path() does. The kernel demands CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN
 * (/proc/PID/map_files).
 */
struct gate_file *gate_open_mapping(struct gate *g, const struct gate_mapping *m);
/*
 * Reads memory of a process; false if some of it cannot be read. A page may belong to a file whose
 * server does not answer, so the reader reads it: at most READER_CHUNK bytes (files/reader.h).
 */
bool gate_memory_read(struct gate *g, uint64_t pid, taddr addr, void *to, size_t size);
/*
 * Finds which file a link in /proc leads to, such as /proc/PID/exe, without asking its file system:
 * fills st_dev and st_ino of *ret. False with errno.
 */
bool gate_identity(const char *path, struct stat *ret);
/* True if the device is one of a file system that answers by itself; dev: as makedev() makes it. */
bool gate_is_dev_harmless(struct gate *g, uint64_t dev);
/* Makes a file of a descriptor that is known to answer, and that stays the caller's. */
struct gate_file *gate_file_of(int fd);
struct gate_file *gate_file_share(struct gate_file *f);
void gate_file_close(struct gate_file *f); /* NULL is allowed */
static inline void cleanup_gate_file(struct gate_file **f)
{
	gate_file_close(*f);
}
/* Takes the file out of a CLEANUP scope. */
static inline struct gate_file *gate_file_take(struct gate_file **f)
{
	struct gate_file *taken = *f;

	*f = NULL;
	return taken;
}

/* Returns the file's status of when it was opened, or when gate_file_refresh() returned true. */
const struct stat *gate_file_stat(const struct gate_file *f);
bool gate_file_refresh(struct gate_file *f);
/*
 * Reads as pread() does, at most size bytes; less only at the end of the file. -1 with errno.
 */
ssize_t gate_file_read(struct gate_file *f, void *to, size_t size, uint64_t off);
/*
 * True if parts of the file could not be read because its file system does not answer, or was not
 * asked. They may be readable later.
 */
bool gate_file_is_stuck(const struct gate_file *f);
/*
 * Whether a probe may be placed in the file: not if somebody else than root may be its server, and
 * gate_set_distrust() was called. The kernel reads a page of the file while it places a uprobe, and
 * until it has the page no process can fork.
 */
void gate_set_distrust(struct gate *g, bool is_on);
bool gate_file_is_probed(const struct gate_file *f);
/*
 * Returns a descriptor for calls that only identify the file, such as placing a probe. It may be
 * one of O_PATH. The file keeps it.
 */
int gate_file_fd(const struct gate_file *f);

/* ---- ELF files (gate.c) --------------------------------------------------------------------- */

struct gate_elf {
	Elf *elf;		/* NULL: no ELF file, or its headers claim too much */
	struct gate_file *file; /* NULL: a file in memory */
	uint64_t limit;
	bool is_cut;	     /* something was larger than limit and was left out */
	size_t checked_text; /* the string table whose size was checked last; 0 = none */
	uint64_t taken;	     /* bytes of sections that were asked for, each counted once */
	uint8_t *is_taken;   /* a bit for each section; NULL: none was asked for */
	size_t nsections;
};

/*
 * Always fills ret, which gate_elf_close() releases. The caller keeps the file, and closes it later
 * than ret. file NULL: there is none.
 */
void gate_elf_open(struct gate_file *file, uint64_t limit, struct gate_elf *ret);
/* The same for a file in memory. libelf may write to the image, which must live longer than ret. */
void gate_elf_memory(char *image, size_t size, uint64_t limit, struct gate_elf *ret);
void gate_elf_close(struct gate_elf *g);

/*
 * Return the contents of a section, decompressed; NULL if it has none, or they are too large: more
 * than the limit, or with all sections that were asked for before GATE_DEBUG_FACTOR times the
 * limit, because libelf keeps each of them.
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
