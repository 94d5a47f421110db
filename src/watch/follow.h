/* SPDX-License-Identifier: MIT */
/*
 * BPF programs that report when a followed process executes another program, when its dynamic
 * linker maps or unmaps a library, and when it forks a child (rt/watch.c).
 *
 * A process that was added with RT_WATCHED_STOPS gets SIGSTOP before it runs the next instruction
 * of its own, and only then can the event be read. The reader of the event sends SIGCONT when all
 * probes are attached. A child is added before it can run, and stopped before its first
 * instruction.
 *
 * Owns     maps, programs, the links to tracepoints; uprobes are the keeper's
 *          (keeper/keeper.h). After follow_destroy() no event is reported, and no process stops.
 * Errors   struct err *: the kernel refuses.
 * Threads  one reader.
 * Facts    sched_process_exec(task, old pid, binary) comes when the new image is mapped: Linux
 *          fs/exec.c. sched_process_fork(parent, child) comes before the child is woken: Linux
 *          kernel/fork.c; a new task returns to its program through sys_exit, where its signals are
 *          looked at: arch/x86/kernel/process.c. _dl_debug_state(), _r_debug: target/rtld.h.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "rt/follow.h"
#include "target/ident.h"

struct follow;
struct keeper;

#define FOLLOW_CHILDREN_MAX 16384u /* so many children are followed at one time */

/*
 * max: how many processes can be added; ns: the PID namespace of their process ids; known_fds: as
 * in struct watch_following. Execs are reported from now on.
 */
MUST_CHECK struct err *follow_create(uint32_t max, const struct rt_pidns *ns, const int *known_fds,
				     struct follow **ret_follow);
void follow_destroy(struct follow *f); /* NULL is allowed */
/*
 * Adds the process of this identity. Another process that gets the same process id later is
 * neither reported nor stopped.
 */
MUST_CHECK struct err *follow_add(struct follow *f, const struct proc_id *id, uint32_t flags);
void follow_leave(const struct follow *f, const struct proc_id *id);
/* Children of processes that were added with RT_WATCHED_FORKS are reported from now on. */
MUST_CHECK struct err *follow_forks(struct follow *f);
int follow_procs(const struct follow *f);
/*
 * Reports when the process has mapped or unmapped libraries. off: offset, in the dynamic linker's
 * file, of the function that it calls then. state: distance in memory from that function to the
 * linker's state variable, which is 0 when its list of libraries is consistent; state 0: the
 * variable is not known.
 */
MUST_CHECK struct err *follow_linker(struct follow *f, struct keeper *k, const struct proc_id *id,
				     int file_fd, uint64_t off, int64_t state);
/*
 * follow_linker() has succeeded for a dynamic linker of this device and inode: with known_fds, the
 * process may execute another program that has it, and run on.
 */
void follow_linker_note(const struct follow *f, const struct proc_id *id, uint64_t dev,
			uint64_t ino);
/* The links of follow_linker() are no use any more: it waits when it executes another program. */
void follow_linker_forget(const struct follow *f, const struct proc_id *id);
/* Closes the links of follow_linker() for the process, and waits until they are closed. */
MUST_CHECK struct err *follow_linker_drop(struct keeper *k, const struct proc_id *id);
/* A descriptor that is readable when there are events. */
int follow_fd(const struct follow *f);
/* How many events were lost since the last call, because the buffer was full. */
uint64_t follow_lost(struct follow *f);
/*
 * Reads the next event; false: there is none. The one before was attended to: until then it is in
 * the ring buffer, for who looks whether a process waits (keeper_events()).
 */
bool follow_read(struct follow *f, struct rt_watch_event *ret);
/* Positions in the ring buffer: behind the event that was read last, and behind all that came. */
uint64_t follow_position(const struct follow *f);
uint64_t follow_seen(const struct follow *f);
/* True if events of the same process have come after this one, and are not read yet. */
bool follow_has_more(struct follow *f, const struct rt_watch_event *ev);
