/* SPDX-License-Identifier: MIT */
/*
 * The keeper: a process of ours that makes and holds the uprobes of a session.
 *
 * The kernel puts a uprobe's breakpoint into the pages of every process it concerns, and takes it
 * out again when the last descriptor of the link is closed. Both go through get_user_pages(), which
 * gives up when a fatal signal is pending for the thread that asks (Linux mm/gup.c,
 * fatal_signal_pending()). A tracer killed in the middle of either leaves the uprobe behind, for
 * ever: "uprobe: ... failed to unregister, leaking uprobe", and each later mmap of that file is
 * slower because of it. So the tracer neither attaches nor closes uprobes. The keeper
 *
 *   - makes the links, when the tracer asks for them over a socket; the tracer never has a
 *     descriptor of a link;
 *   - holds events of tracefs, each of which the kernel takes 60 ms to detach (two grace periods,
 *     one event after the other): a session with many of them ends, and the keeper detaches them;
 *   - knows the processes into which the tracer has written jumps (windows.h), and takes these back
 *     when the tracer has ended and has left some;
 *   - lets processes go on that the tracer's programs have stopped, where the tracer may be kept
 *     from that: it is stopped itself, or nobody reads its output (owned.h, held.h, spared.h);
 *   - blocks all signals, belongs to no terminal and to no process group that one could kill
 *     together with the tracer, and has another name than the tracer ("killall -9 dtrace");
 *   - ends when the tracer ends, in whatever way, or when the tracer tells it to. It detaches the
 *     uprobes by ending: a process that is ending cannot be killed any more.
 *
 * The keeper is started together with the first uprobe (0.3 ms), or earlier when it is known that
 * there will be some. It is no child that wait() would
 * report, it keeps none of the tracer's descriptors open, and it frees the memory that the clone
 * copied from the tracer.
 *
 * Errors   struct err *: the kernel refused a request (with its errno), or somebody has killed the
 *          keeper.
 * Threads  one thread at a time.
 */
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "base/err.h"

#define KEEPER_SITES_MAX 8192 /* the most instructions that one link can probe */

/* The instructions of one file on which uprobes are placed, each with its cookie. */
struct uprobe_sites {
	const uint64_t *offsets, *cookies;
	/*
	 * File offsets of the counters that the kernel increments in each process while the
	 * instruction is probed there; 0: this instruction has no counter, NULL: none of them has.
	 */
	const uint64_t *counters;
	uint32_t n;
	bool is_returned; /* the program runs when the functions that begin there have returned */
};

struct keeper;
struct proc_id; /* target/ident.h */
struct privileges;

/* is_early: requests will come in some milliseconds, and are to be served fast then (warm.h). */
MUST_CHECK struct err *keeper_create(bool is_early, struct keeper **ret);
/*
 * Detaches all uprobes, and waits until they are detached if they are few, for half a second at
 * most; NULL is allowed.
 */
void keeper_destroy(struct keeper *k);
/*
 * Returns an error if somebody has killed the keeper, which detached its uprobes; NULL is allowed.
 */
MUST_CHECK struct err *keeper_check(const struct keeper *k);

/*
 * Uprobes come only into processes of the user of these privileges, if they lack proc_owner, and go
 * into no program that is not his (fence.h); they are read at each request. NULL: into all.
 */
void keeper_confine(struct keeper *k, const struct privileges *p);
/* How many processes were ended because they executed such a program; k: NULL is allowed. */
uint64_t keeper_fence_ended(const struct keeper *k);
/* Whether this process, which had uprobes, was. */
bool keeper_has_fenced(const struct keeper *k, pid_t pid);

/*
 * Attaches the program to all sites by one link, in the process pid only or, if pid is 0, in all
 * processes. If the kernel refuses one site, none is attached.
 */
MUST_CHECK struct err *keeper_uprobe_multi(struct keeper *k, int prog_fd, int file_fd, pid_t pid,
					   const struct uprobe_sites *sites);
/* When the last uprobes were in place, in ns of CLOCK_MONOTONIC; 0: there were none. */
uint64_t keeper_placed_at(const struct keeper *k);
/* Attaches one uprobe as a perf event, for kernels that have no multi-uprobe links. */
MUST_CHECK struct err *keeper_uprobe(struct keeper *k, int prog_fd, int file_fd, pid_t pid,
				     uint64_t offset, uint64_t cookie, uint64_t counter,
				     bool is_returned);
/*
 * Names a process that the tracer's programs stop: if the tracer dies, the keeper closes the last
 * link and then sends SIGCONT to the process. The descriptor stays the caller's.
 */
MUST_CHECK struct err *keeper_stopped(struct keeper *k, int pidfd);
/*
 * Passes the ring buffer of struct rt_watch_event, of which the calling thread gives up one when it
 * has attended to the process. When it does not come by, the keeper lets those go on that wait
 * (held.h). At the first call; later ones do nothing. The descriptor stays the caller's.
 */
MUST_CHECK struct err *keeper_events(struct keeper *k, int events_fd);
/* The tracer has read the events up to this position of the ring buffer. */
void keeper_events_seen(struct keeper *k, uint64_t pos);
/* The events up to this position wait for nobody any more: the keeper has let the processes go. */
uint64_t keeper_events_resumed(const struct keeper *k);
/* How often it has, since it was made. */
uint64_t keeper_nresumed(const struct keeper *k);
/*
 * Names a process, after keeper_events(), that needs not wait for a tracer that does something
 * else: when the thread of that has read no event for a tenth of a second, though there are some,
 * the keeper sends SIGCONT to the process if it is stopped; as long as that thread only waits for a
 * CPU, after a second. The descriptor stays the caller's.
 */
MUST_CHECK struct err *keeper_spare(struct keeper *k, const struct proc_id *id);
/*
 * Passes a link and its event, which the keeper closes when it ends. The caller closes its own
 * descriptors, which is fast then: the kernel detaches with the last one.
 */
MUST_CHECK struct err *keeper_hold(struct keeper *k, int link_fd, int event_fd);
/*
 * Passes the map of the processes that the tracer's programs may stop: if the tracer dies, the
 * keeper releases these processes (stopped_map_release()). The descriptor stays the caller's.
 */
MUST_CHECK struct err *keeper_stopped_map(struct keeper *k, int procs_fd);
/*
 * Names a process in which windows may be (keeper/windows.h): by its memory, the journal, and the
 * region. The keeper takes them back when the tracer has ended, unless keeper_unpatched() was
 * called. The descriptors stay the caller's.
 */
MUST_CHECK struct err *keeper_patched(struct keeper *k, uint64_t id, int mem_fd, int journal_fd,
				      int region_fd);
MUST_CHECK struct err *keeper_unpatched(struct keeper *k, uint64_t id);
/*
 * Names a process of keeper_patched() whose makers of twins a program of the tracer's stops: the
 * ring buffer with the events of that program, which the keeper reads, and the map with the process
 * (patch/owner.c). Whatever the tracer does meanwhile, and also when it has ended, the keeper takes
 * away the owner words when there is a twin, empties that map, and sends SIGCONT to the process
 * once for each event; so a process that its user has stopped stays stopped. At most 256 processes;
 * the descriptors stay the caller's.
 */
MUST_CHECK struct err *keeper_owned(struct keeper *k, uint64_t id, int pidfd, int events_fd,
				    int procs_fd);
/* Has the owner words made what the journal says (struct windows_owner), if there is no twin. */
MUST_CHECK struct err *keeper_owner_words(struct keeper *k, uint64_t id);
/* Makers are not stopped any more: who still is goes on before the return. */
MUST_CHECK struct err *keeper_disowned(struct keeper *k, uint64_t id);
/* Closes the links that were made for the process. waits: returns only when they are closed. */
MUST_CHECK struct err *keeper_drop(struct keeper *k, pid_t pid, bool waits);
/* Closes those of n processes, some time after the return. */
MUST_CHECK struct err *keeper_drop_all(struct keeper *k, const pid_t *pids, uint32_t n);
/*
 * When *is_interrupted becomes true, a request is not waited for any more: one request may place
 * thousands of uprobes, and the kernel cannot be stopped in the middle. That request, and all later
 * ones, end with EINTR. The keeper detaches everything when it has done what it does. NULL is
 * allowed.
 */
void keeper_set_interrupted(struct keeper *k, const atomic_int *is_interrupted);
/*
 * Says which process has the id, by its start time (struct proc_id): where the keeper is confined,
 * uprobes for another process with the same id are refused with ESRCH from now on. pid 0: whichever
 * has the id of a request.
 */
void keeper_set_process(struct keeper *k, pid_t pid, uint64_t start);
/* Puts the links that are made from now on into this group; 0: into none. */
void keeper_set_group(struct keeper *k, uint32_t group);
/* Closes the links of the group. waits: as above. */
MUST_CHECK struct err *keeper_drop_group(struct keeper *k, uint32_t group, bool waits);
/*
 * Removes breakpoints at the offsets that belong to no link: children inherit them with their
 * parent's memory. Whenever a link is closed, the kernel examines all processes that have mapped
 * the file, so the keeper makes a link for itself alone and closes it. This happens some time after
 * the return, and a refusal of the kernel is not reported.
 */
MUST_CHECK struct err *keeper_sweep(struct keeper *k, int prog_fd, int file_fd,
				    const uint64_t *offsets, uint32_t n);
