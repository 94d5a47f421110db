/* SPDX-License-Identifier: MIT */
/*
 * Windows are written into a process, and taken back (patch/patch.h): what both the tracer and the
 * keeper do.
 *
 * The journal says which windows may be in place. It is memory that the tracer shares with the
 * keeper: a row is filled before the first byte of its window is written, and freed when the window
 * was taken back, so that at every moment, whoever dies, all that was changed is in the journal.
 *
 * A window lies on one page: then it is written as a whole or not at all. Threads are moved out of
 * it before. So the process can be let go at each moment, also by our death.
 *
 * Threads  the one that calls holds the process meanwhile. All is async-signal-safe.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"

#define WINDOWS_BATCH	   1000 /* windows that are changed during one stop */
#define WINDOWS_BOUNDS	   8
#define WINDOWS_JUMP	   5
#define WINDOWS_MAGIC_SIZE 16
#define WINDOWS_MAGIC_AT   32 /* bytes behind the code of remote calls */

struct window_row {
	taddr addr, pad, stub; /* as in struct patch_window */
	uint8_t old[WINDOWS_JUMP], old_pad[WINDOWS_JUMP];
	bool is_used, is_call;
};

/* Memory that a process has of us: the region, its data where they lie apart, and mirrors. */
#define WINDOWS_OWN_MAX 18
struct windows_range {
	taddr lo, hi;
};

/*
 * The owner thread of the process (patch/owner.c): the thread pointer that its words have; 0: none.
 * The keeper writes it there, and the keeper or the tracer takes it away.
 */
struct windows_owner {
	taddr pointer;
	uint32_t nwords; /* is raised when the address is filled */
	taddr words[WINDOWS_OWN_MAX];
	bool is_ended;	 /* by the keeper, because a second task has the thread pointer */
	bool is_resumed; /* by the tracer, after that: the keeper has not answered */
};

struct windows_journal {
	uint64_t id;
	/* in memory that no other process shares: children can write to what is at region */
	uint64_t magic[WINDOWS_MAGIC_SIZE / 8]; /* which the process has at WINDOWS_MAGIC_AT */
	taddr region;
	uint64_t region_size; /* up to the switch page */
	uint64_t head_size;   /* of the mapping that begins at region, which the process shares */
	taddr call, frame;    /* for remote calls (target/remote.h) */
	int32_t pid;
	bool suspends; /* seccomp is suspended */
	/*
	 * A window that was to be taken back was left alone, because its bytes were others: who
	 * has changed them, as a debugger with its breakpoint, may put the jump there again.
	 */
	bool has_strange;
	uint32_t nfollowed; /* children whose windows fire */
	uint32_t nown;	    /* is raised when the row is filled */
	struct windows_range own[WINDOWS_OWN_MAX];
	struct windows_owner owner;
	uint32_t nrows;
	struct window_row rows[];
};

static inline size_t windows_journal_size(uint32_t nrows)
{
	return sizeof(struct windows_journal) + nrows * sizeof(struct window_row);
}

/* The instructions of a window, where threads go on that are in it when it is written. */
struct window_bounds {
	uint8_t n;
	uint8_t offs[WINDOWS_BOUNDS];
	taddr to[WINDOWS_BOUNDS];
};

enum window_result {
	WINDOW_DONE,
	WINDOW_HELD,	/* the stack of a thread has an address inside */
	WINDOW_DIFFERS, /* other bytes are there than before a change: it was left alone */
	WINDOW_REFUSED, /* the memory cannot be read or written */
	WINDOW_BEYOND,	/* the jump does not reach, or lies on two pages */
	WINDOW_LATE,	/* the process has stood still for too long: it was not written */
};
#define WINDOWS_STOP_NS 4000000 /* of a stop, after which others are late */

enum windows_result {
	WINDOWS_DONE,	 /* results[] say of each what has become of it */
	WINDOWS_GONE,	 /* the process has ended, or executed another program */
	WINDOWS_REFUSED, /* it cannot be held: sys, tid */
	WINDOWS_BUSY,	 /* a thread, tid, does not stop */
	WINDOWS_SHARED,	 /* another process, tid, has the same memory, and is not held */
};

struct windows_job {
	pid_t pid; /* the process of the journal, or a child of it */
	int mem_fd;
	struct windows_journal *journal;
	const uint32_t *rows; /* n rows, at most WINDOWS_BATCH */
	uint32_t n;
	const struct window_bounds *bounds; /* of each, to write them; NULL: to take them back */
	/* of each that is written: those with one number, but for 0, are written all or none */
	const uint32_t *groups;
	uint8_t *results; /* enum window_result */
	pid_t tid;
	int sys;
	uint64_t stop_ns;  /* from when its first thread was asked to stop until all run again */
	uint64_t write_ns; /* how long it may be written to; 0: as WINDOWS_STOP_NS lets it */
};

/* Makes the bytes at the address of a row: a jump, or a call that leads to the stub. */
bool windows_jump_make(const struct window_row *r, uint8_t *ret_code);
enum windows_result windows_change(struct windows_job *job);
/*
 * Tries once to take all windows of the journal out of a process, which is that of the journal or a
 * child. Returns how many are left; adds to *ret_n (NULL is allowed) how many were taken. is_freed:
 * frees their rows. Who calls ends afterwards (target/seize.h).
 */
uint32_t windows_undo(struct windows_journal *j, pid_t pid, int mem_fd, bool is_freed,
		      uint32_t *ret_n);
#define WINDOWS_UNDO_NS	      3000000000ull /* so long callers go on trying */
#define WINDOWS_UNDO_PAUSE_NS 2000000	    /* between two times */
/*
 * Tries once to take all windows of the journal out of all other processes that have mapped the
 * region where its process has it: children of fork(), and theirs, whoever has become their parent.
 * Processes without a window are not stopped. Returns how many windows are left; adds to *ret_n,
 * which may be NULL, how many were taken. Rows stay as they are. Who calls ends afterwards.
 *
 * until: of now_ns(), after which no other process is held, and each that has windows counts as one
 * that is left; whether it has is no longer looked at after a million rows. One that does not stop
 * takes half a second. ret_left: who has them; NULL is allowed.
 */
#define WINDOWS_LEFT_MAX 8
struct windows_left {
	uint32_t n; /* processes, of which the first WINDOWS_LEFT_MAX are in pids[] */
	pid_t pids[WINDOWS_LEFT_MAX];
};
uint32_t windows_undo_children(struct windows_journal *j, int region_fd, uint64_t until,
			       uint32_t *ret_n, struct windows_left *ret_left);
/* Whether there are such processes, with windows or without. */
bool windows_has_children(struct windows_journal *j, int region_fd);
/* So long callers go on trying: at most, and where so many children are followed. */
#define WINDOWS_CHILDREN_NS 11000000000ull
static inline uint64_t windows_children_ns(const struct windows_journal *j)
{
	return MIN(1000000000ull + j->nfollowed * 250000000ull, WINDOWS_CHILDREN_NS);
}
struct seized;
/*
 * Whether a thread may still execute what lies in one of these n ranges, at most WINDOWS_OWN_MAX,
 * whose ends are behind their last bytes, and which call nothing outside of them: its program
 * counter is in there, or it has the frame of a signal and a word that leads there on its stacks,
 * or these are too large to be looked at. All threads of the process are held.
 */
bool windows_have_threads(struct windows_journal *j, int mem_fd, const struct seized *held,
			  const struct windows_range *ranges, uint32_t n);
/* Whether the memory is that of the journal's process, or of a child. */
bool windows_is_there(const struct windows_journal *j, int mem_fd);
