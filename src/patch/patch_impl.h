/* SPDX-License-Identifier: MIT */
/*
 * The inside of a struct patch (patch.h), for the files of this room that change processes.
 *
 * Threads  a process is held by a thread that ends afterwards (target/seize.h), so worker_run()
 *          calls the functions that hold one.
 */
#pragma once

#include "base/vec.h"
#include "keeper/windows.h"
#include "patch/patch.h"

#define PATCH_PAGE     4096u
#define REGION_TEXT    "fathom: the windows of a tracer"
#define REGION_VERSION 5
#define REGION_ROWS    256 /* offset of the rows */
#define CALL_ROOM      64  /* at the begin of the code part: the code of remote calls, the magic */
#define REGION_PRIVATE (5 * PATCH_PAGE) /* the switch page, and a frame for remote calls */

#define PATCH_GATES    1024u /* switches of their own in a switch page, behind this offset: */
#define PATCH_GATES_AT 1024u

/*
 * At the begin of the region. Children share it and can write to it, so the tracer decides nothing
 * by it; whoever finds it later trusts none of it.
 */
struct region_head {
	char text[32];
	uint32_t version, nrows;
	uint64_t region; /* where the process has it: a mirror, elsewhere, has the same head */
	uint64_t head_size, code_size, data_size;
};

/* A child of fork() that has a data part of its own. */
struct patch_child {
	struct patch *patch;
	struct patch_child *next;
	pid_t pid;
	int mem_fd, data_fd;
};

struct patch {
	pid_t pid;
	struct gate *gate;
	struct keeper *keeper;
	bool is_kept;				    /* the keeper knows of it */
	int mem_fd, region_fd, data_fd, journal_fd; /* region_fd: the head's */
	struct windows_journal *journal;
	size_t journal_size;
	/*
	 * Parts of the region, in this order. Head and data are a file each, which mirrors map once
	 * more; the code is private memory of each, in which code_end bytes were written.
	 */
	uint64_t head_size, code_size, data_size;
	uint64_t code_end;
	taddr data;
	bool is_left; /* a thread may still be in the code of a call in the region */
	/* Relays: relays_size is 0 and relays_lack says why, if there are none. */
	int relays_fd;
	taddr relays;
	uint64_t relays_size;
	char *relays_lack;
	bool has_rseq;
	int64_t rseq_offset;
	taddr mirrors[PATCH_MIRRORS_MAX]; /* where the region is mapped once more */
	uint32_t nmirrors;
	/* bytes of switch pages that were given out: of mirrors, and last of the region */
	uint8_t gates[PATCH_MIRRORS_MAX + 1][PATCH_GATES];
	bool is_on;	     /* patch_switch() */
	struct owner *owner; /* NULL: there is none, and will be none */
	struct patch_child *followed;
	uint32_t next_row;
	struct windows_left left; /* children that keep windows which were taken back */
	uint64_t busy_ns, write_ns;
	struct patch_stops stops;
};

/* Runs a function in a thread of its own, which takes no signals. */
MUST_CHECK struct err *worker_run(void (*run)(void *ctx), void *ctx);
/*
 * Waits before a stop is tried again that a thread has prevented; false: it is later than that, or
 * *is_interrupted is not 0 (NULL is allowed).
 */
bool busy_wait(uint64_t until, const atomic_int *is_interrupted);

/* ---- refusals (refuse.c) */

MUST_CHECK struct err *refuse_early(pid_t pid, struct gate *g);
MUST_CHECK struct err *refuse_hold(pid_t pid, bool suspended, pid_t tid, int sys);
MUST_CHECK struct err *refuse_busy(pid_t pid, pid_t tid);
/* Another process has the same memory, and would execute code that is written there. */
MUST_CHECK struct err *refuse_shared(pid_t pid, pid_t other);
MUST_CHECK struct err *refuse_gone(pid_t pid);
/* Of a thread that is held; NULL: it may make calls. */
MUST_CHECK struct err *refuse_thread(pid_t pid, pid_t tid);
/* Reading the time stamp counter is the end of this thread. */
MUST_CHECK struct err *refuse_tsc(pid_t pid, pid_t tid);
/* The thread's stack for signals has size bytes, of which want would be needed. */
MUST_CHECK struct err *refuse_stack(pid_t pid, pid_t tid, uint64_t size, uint64_t want);
MUST_CHECK struct err *refuse_dispatch(pid_t pid);
MUST_CHECK struct err *refuse_call(pid_t pid, const char *call, int sys);
bool seccomp_is_on(pid_t pid);

/* ---- the way in (enter.c) */

/* Fills the region's address, the descriptor of the region, and what p says of the process. */
MUST_CHECK struct err *region_enter(struct patch *p, const struct patch_opts *o);
/* Notes memory that the process has mapped for us: its stacks end before it. */
void own_add(struct patch *p, taddr at, uint64_t size);
/* The process has stood still for so long; 0: it has not. */
void stop_count(struct patch *p, uint64_t ns);
/*
 * Unmaps the region and its mirrors, into which no window leads any more, if no thread may be in a
 * stub or return to one. An error says what stays mapped, and why; that the process has ended, or
 * has executed a program, which is not touched, is none.
 */
MUST_CHECK struct err *region_leave(struct patch *p);
/* Says of what keeps the region mapped that it does; takes it over. */
MUST_CHECK struct err *region_stays(const struct patch *p, struct err *why);
/*
 * threads.c: whether each thread of the process can run what the region will have; where their rseq
 * areas are.
 */
MUST_CHECK struct err *threads_ask(struct patch *p, const struct patch_opts *o);
/* Adds the ids of all threads, in the order in which they have begun. */
typedef VEC(pid_t) tid_vec;
MUST_CHECK struct err *threads_list(pid_t pid, tid_vec *ret);
/*
 * Puts one first that sleeps, if there is one: what takes long is asked of it. A program's first
 * thread may be the one that does all of its work.
 */
void threads_put_asleep_first(tid_vec *tids);
/* Opens the file that a thread has mapped for us from `at` on, of so many bytes (memory_file.h). */
MUST_CHECK struct err *region_file_open(pid_t pid, pid_t tid, taddr at, uint64_t size, int *ret_fd);
/* Whether the region is mapped there, or a mirror, and not what another program has there. */
bool region_is_at(const struct patch *p, taddr at);
/* Code could not be written, with this errno. */
MUST_CHECK struct err *region_write_err(const struct patch *p, int sys);
/* Writes to the code part of the region, and of all mirrors. */
MUST_CHECK struct err *region_code_write(struct patch *p, uint64_t off, const void *from,
					 size_t size);
/* Writes n rows of the table in the region, turned, as the journal has them. False with errno. */
bool region_rows_write(const struct patch *p, uint32_t row, uint32_t n);
/*
 * Turns a row into what the table has, or back: the complement of its addresses. The kernel puts
 * the stack of a new thread right below the region, whose table is then read together with it
 * (keeper/windows.c): no word of it may look like the address of a window, or of a pad.
 */
static inline void window_row_turn(struct window_row *r)
{
	r->addr = ~r->addr;
	r->pad = ~r->pad;
	r->stub = ~r->stub;
}

/* Sets the switch of the process, or of a child. That it has ended is no error. */
MUST_CHECK struct err *patch_switch_write(const struct patch *p, pid_t pid, int mem_fd, bool is_on);

/* ---- relays (relay.c) */

struct remote;
/*
 * Maps the slots into a process, by a thread of it that is held, over the room for them behind the
 * region; spare: memory of it that may be changed. What fails is noted in relays_lack; nothing is
 * left then but what remote.is_left says, and the room.
 */
void relays_map(struct patch *p, struct remote *r, taddr at, taddr spare);
void relays_deinit(struct patch *p);

/* ---- mirrors (mirror.c) */

/* Whether the address is in the code part of a mirror. */
bool mirrors_have_code(const struct patch *p, taddr addr);
/* The begin of the page of switches of mirror i; nmirrors: of the region. */
taddr mirrors_switch_addr(const struct patch *p, uint32_t i);
/* Sets what was given out of the switch pages, in this memory. */
void mirrors_switch(const struct patch *p, int mem_fd, bool is_on);
/* How many bytes a mirror takes, its switch included. */
uint64_t mirror_span(const struct patch *p);

/* ---- the owner thread (owner.c) */

struct seized;
/*
 * Prepares for an owner: before all threads are held, and owner_find() looks at them. Where that
 * fails there is none.
 */
void owner_create(struct patch *p);
void owner_find(struct patch *p, const struct seized *held);
/* The switch has become on, or becomes off: chooses the owner, if it is time; its words follow. */
void owner_switch(struct patch *p);
/* Writes the owner words, also of a mirror that is new. */
void owner_write(const struct patch *p);
void owner_destroy(struct patch *p);

/* ---- windows (write.c) */

/*
 * Tries for three seconds to take all windows of a journal out of its process or of a child;
 * *ret_n, which may be NULL: how many.
 */
MUST_CHECK struct err *windows_take_out(struct windows_journal *j, pid_t pid, int mem_fd,
					bool is_freed, uint32_t *ret_n);
/*
 * Takes the windows of a journal, which is a copy from before its rows were freed, out of children
 * of its process. What does not succeed within a second stays there, and does nothing: who has it
 * is added to *left.
 */
void windows_take_out_of_children(struct windows_journal *j, int region_fd,
				  struct windows_left *left);
/* That copy, of the rows with these addresses, which ascend; NULL: of all. NULL: there are none. */
struct windows_journal *windows_copy(const struct patch *p, const taddr *addrs, uint32_t n);
int process_memory_open(pid_t pid);
