/* SPDX-License-Identifier: MIT */
/*
 * A target: a process or what is left of one, as one interface. Code that walks stacks, runs
 * helpers or finds names takes a target, and does not ask what stands behind it:
 *
 *     live.c   a process that runs, whose memory may change while it is read; a process whose
 *              threads are held by ptrace(2), which has registers, too
 *     core.c   a core file, also one that copy.c makes of a process (copy.h)
 *     ended.c  a process that has ended: the files that it had mapped
 *
 * Owns     what it has read and opened, and the hold on threads, until target_close(). The gate,
 *          through which all files are opened, outlives it.
 * Units    addresses and sizes in bytes. A thread is named by its id.
 * Errors   struct err * where the user can do something about it. What may be missing at any time,
 *          because a process has ended or a core file leaves it out, is no error: false or NULL.
 *          Nothing that is read is trusted.
 * Threads  one thread uses a target: for one that is held, the one that opened it (ptrace).
 */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"

struct arch_regs; /* arch/arch.h */
struct file_opts; /* image/debugfile.h */
struct gate;
struct gate_file;
struct image;
struct image_set;
struct proc_map;
struct proc_maps;
struct target;

/* A process that runs. It has no registers. */
MUST_CHECK struct err *target_live_open(pid_t pid, struct gate *g, struct target **ret);
/*
 * Stops the process to which the thread belongs, until the target is closed; it goes on also if we
 * are killed.
 */
MUST_CHECK struct err *target_hold(pid_t tid, struct gate *g, struct target **ret);
/*
 * A process that the caller holds with ptrace(2). When it has run in between, target_refresh()
 * reads what it has mapped by now.
 */
MUST_CHECK struct err *target_held_open(pid_t pid, struct gate *g, struct target **ret);
/*
 * A core file of a 64-bit process. Memory that is not in the core file, because a file has it, is
 * read from that file, unless the build id that the core file has of it is another one: such a file
 * is stale, and is not opened. Where the core file has no build id, it is not known whether the
 * file is still the one of then.
 *
 * A file that is compressed (zstd, gzip, xz, lz4) is unpacked first (target/unpack.h).
 */
MUST_CHECK struct err *target_core_open(const char *path, struct gate *g, struct target **ret);
/*
 * Reads the program of a core file from another path than the core file names. An error if it is
 * another build, or cannot be opened.
 */
MUST_CHECK struct err *target_core_set_program(struct target *t, const char *path);
/* What a core file lacks that ends before the memory that it announces. */
struct target_cut {
	uint64_t have, want; /* bytes of memory that are there, and that were announced */
	taddr from;	     /* the lowest address of which memory is missing */
	/*
	 * Of a compressed core file: what is wrong with its stream ("its stream of zstd ends
	 * early ..."), until target_close(); memory may then be wrong, too. NULL: nothing.
	 */
	const char *damage;
};
/* False: the target is a process, or its core file is complete and not damaged. */
bool target_core_cut(const struct target *t, struct target_cut *ret);
void target_close(struct target *t); /* NULL is allowed */

/* ---- what it is ------------------------------------------------------------------------------ */

pid_t target_pid(const struct target *t); /* of a core file: the id that the process had */
struct gate *target_gate(const struct target *t);
/*
 * The process in /proc that is the target; 0: none is, what the target knows is all that there is.
 */
pid_t target_proc(const struct target *t);

struct target_who {
	pid_t pid, tid, ppid;
	pid_t inner; /* tid in the innermost PID namespace of the process; of a core file: tid */
	char state;  /* as /proc shows it, of a held thread before it was; 0: not known */
	uint32_t uid, gid;
	char name[17];	 /* of the thread, where that is known */
	char args[4096]; /* the words of the command line, separated by spaces */
};
/* False: there is no such thread. */
bool target_who(struct target *t, pid_t tid, struct target_who *ret);

/* What the kernel has told the program in its auxiliary vector. */
struct target_aux {
	taddr entry;	 /* where the program begins */
	taddr base;	 /* where the dynamic linker is mapped; 0: there is none */
	taddr vdso;	 /* 0: not known */
	bool is_narrow;	 /* the process has words of 32 bits */
	bool is_written; /* false: the kernel has not written it yet */
};
MUST_CHECK struct err *target_aux(struct target *t, struct target_aux *ret);
/*
 * Reads at most size bytes of that vector; returns their number, 0: it cannot be read.
 */
size_t target_auxv(struct target *t, void *to, size_t size);
/* Why the process was dumped; false: it was not, or that is not known. */
bool target_signal(struct target *t, siginfo_t *ret);

/* ---- what depends on files alone ------------------------------------------------------------- */

#define TARGET_ENDED_FILES 32
/* A file of which a process has mapped code, and that mapping. */
struct target_ended_file {
	const char *path; /* in the process */
	uint64_t dev, ino;
	taddr start;
	uint64_t off; /* in the file */
};
/*
 * A process that has ended, of which nothing is known but what it had mapped: list has n files, the
 * first of them that of the program. They are opened by their paths, and mapped as the dynamic
 * linker leaves them before anything has run: with its addresses in data, where these are in the
 * same file. Other memory cannot be read, and there are no threads. After a tenth of a second of
 * the thread's time, or some million relocations, nothing is read any more. files outlives what is
 * returned. NULL: a file cannot be read, or another one has its path now, also where only its
 * device is another one (containers, and file systems that show one device for a mapping and
 * another one for the file, as btrfs and overlayfs do); or somebody else than root and who traces
 * can write to one.
 */
struct target *target_ended(pid_t pid, const struct file_opts *files,
			    const struct target_ended_file *list, uint32_t n);
/* Whether target_ended() has made it: its memory is what a process has had when it began. */
bool target_has_ended(const struct target *t);

/*
 * The files that t maps, as if another process had mapped them and had not run: file k, in the
 * order of their first mappings, lies (k + 1) << TARGET_MOVED_SHIFT bytes further on. Their memory
 * is what the files say, but for addresses in the same file that the dynamic linker has written and
 * protected, which move with it, and for what t has changed, which is something else than both. No
 * other memory can be read, and there are no threads. So a value that is found here and differs
 * from what is found in t by the distance of a file is an address in that file, in each process
 * that maps it. t outlives what is returned.
 */
#define TARGET_MOVED_SHIFT 48
#define TARGET_MOVED_FILES 62 /* others are left out */
struct target *target_moved(struct target *t);
/* The address that was moved to this one. */
taddr target_moved_from(taddr addr);
/* The file that lies so much further on; UINT32_MAX: none does. */
uint32_t target_moved_file(uint64_t distance);
/* Memory of t is read by this function from now on, which may know some of it; NULL: by itself. */
typedef bool target_reader(void *ctx, taddr addr, void *dst, size_t size);
void target_moved_set_reader(struct target *moved, target_reader *read, void *ctx);
/*
 * Memory of the files, and what lies behind them without a file (.bss), has from now on what t has,
 * whoever has written it: addresses in the same file and behind it move with it. Of data that does
 * not change any more, and does not depend on the process, that is the truth.
 */
void target_moved_set_fixed(struct target *moved, bool is_fixed);
/*
 * A word of a file that was read as the address in that file that t has there, which the dynamic
 * linker may have written, or t itself.
 */
struct target_moved_word {
	taddr addr, value; /* in t: where it lies, and the address that it has */
	uint64_t says;	   /* what the file has there */
};
/*
 * Those of a file so far, in no order, some maybe several times; *ret_n: their number, UINT32_MAX:
 * there were too many to note. Valid until the next read.
 */
const struct target_moved_word *target_moved_words(const struct target *moved, uint32_t file,
						   uint32_t *ret_n);
/* Bits: the files that were read, or whose images were opened, since target_moved(). */
uint64_t target_moved_asked(const struct target *t);

/* ---- memory and files ------------------------------------------------------------------------ */

/* What was mapped when the target was opened, or target_refresh() was called. */
const struct proc_maps *target_maps(const struct target *t);
MUST_CHECK struct err *target_refresh(struct target *t);
/* Reads what is mapped now; the caller calls proc_maps_deinit(). */
MUST_CHECK struct err *target_maps_now(struct target *t, struct proc_maps *ret);
/* Reads memory; false if not all of it can be read. */
bool target_read(struct target *t, taddr addr, void *dst, size_t size);
/*
 * For those who read all memory of a mapping without a file: the first page from an address on,
 * below the end, that the process has touched or the core file has. What lies before it is zeros,
 * or missing; end: there is none.
 */
taddr target_touched(struct target *t, taddr addr, taddr end);
/*
 * Opens the very file that is mapped; NULL and errno if that fails. ESTALE: another file has its
 * name now.
 */
struct gate_file *target_open_map(struct target *t, const struct proc_map *m);
/* The same, as an image of the set with a reference for the caller (image/image.h). */
struct image *target_image(struct target *t, struct image_set *s, const struct proc_map *m);
/* The lowest mapping of the file that is mapped at addr; NULL: none is. */
const struct proc_map *target_file_at(const struct target *t, taddr addr);
/*
 * The lowest mapping of the program that is executed; NULL: it is not known, which is for want of
 * rights where errno is EACCES or EPERM.
 */
const struct proc_map *target_program(struct target *t);

/* ---- threads --------------------------------------------------------------------------------- */

typedef VEC(pid_t) target_tids;
/*
 * Appends the threads: of a core file first the one that the kernel dumped first, which has got the
 * signal, else the first thread of the process.
 */
void target_threads(struct target *t, target_tids *ret);
/*
 * An error if the thread is not held: registers of a thread that runs change while they are read. A
 * core file has those of all its threads, as they were when the process was dumped.
 */
MUST_CHECK struct err *target_regs(struct target *t, pid_t tid, struct arch_regs *ret);
/*
 * Reads other registers of a thread as core files have them: type is that of the note, such as
 * arch.elf.vector_note. Returns the number of bytes, at most size; 0: they are not there.
 */
size_t target_regs_note(struct target *t, pid_t tid, uint32_t type, void *to, size_t size);
