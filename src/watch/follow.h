/*
 * Programs that tell when processes change their code: on exec, and in their dynamic linkers; and
 * of their children (bpf/rt/watch.c).
 *
 * A process that was added with RT_WATCHED_STOPS gets SIGSTOP before it runs the next instruction
 * of its own, and then the event can be read: whoever reads it sends SIGCONT when everything is in
 * place. A child is added before it can run, and stopped before its first instruction.
 *
 * Owns     maps, programs, the links to tracepoints; uprobes are the keeper's
 *          (keeper/keeper.h). After follow_destroy() nothing is told, and nobody is stopped.
 * Errors   struct err *: the kernel refuses.
 * Threads  one reader.
 * Facts    sched_process_exec(task, old pid, binary) comes when the new image is mapped: Linux
 *          fs/exec.c. sched_process_fork(parent, child) comes before the child is woken: Linux
 *          kernel/fork.c; a new task returns to its program through sys_exit, where its signals are
 *          looked at: arch/x86/kernel/process.c. _dl_debug_state(), _r_debug: proc/rtld.h.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "bpf/rt/abi.h"
#include "proc/ident.h"

struct follow;
struct keeper;

#define FOLLOW_CHILDREN_MAX 16384u /* at one time */

/* max: processes that can be added; ns: whose numbers they have. Execs are told from now on. */
MUST_CHECK struct err *follow_create(uint32_t max, const struct rt_pidns *ns,
				     struct follow **ret_follow);
void follow_destroy(struct follow *f); /* NULL is allowed */
/* This very process: one that gets its number later is neither told of nor stopped. */
MUST_CHECK struct err *follow_add(struct follow *f, const struct proc_id *id, uint32_t flags);
void follow_leave(const struct follow *f, const struct proc_id *id);
/* Children are told from now on: those of processes added with RT_WATCHED_FORKS. */
MUST_CHECK struct err *follow_forks(struct follow *f);
int follow_procs(const struct follow *f);
/*
 * The place in a dynamic linker's file that runs when libraries have come or gone; state: where,
 * from there, its state lies in memory (0 = consistent), or 0.
 */
MUST_CHECK struct err *follow_linker(struct follow *f, struct keeper *k, const struct proc_id *id,
				     int file_fd, uint64_t off, int64_t state);
/* Readable when there are events. */
int follow_fd(const struct follow *f);
/* How many events were lost since the last call, because nobody read for long. */
uint64_t follow_lost(struct follow *f);
/* The next event; false: there is none. */
bool follow_read(struct follow *f, struct rt_watch_event *ret);
