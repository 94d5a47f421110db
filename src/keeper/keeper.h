/*
 * The keeper: a process of ours that makes and holds the uprobes of a session.
 *
 * The kernel puts a uprobe's breakpoint into the pages of every process it concerns, and takes it
 * out again when the last descriptor of the link is closed. Both go through get_user_pages(), which
 * gives up when a fatal signal is pending for the thread that asks (Linux mm/gup.c,
 * fatal_signal_pending()). A tracer killed in the middle of either leaves the uprobe behind, for
 * ever: "uprobe: ... failed to unregister, leaking uprobe", and each later mmap of that file pays
 * for it. So the tracer does neither. The keeper
 *
 *   - makes the links, when asked to over a socket; the tracer never has a descriptor of one;
 *   - takes no signal, belongs to no terminal and to no process group that one could kill together
 *     with the tracer, and is not called after it ("killall -9 dtrace");
 *   - ends when the tracer does, in whatever way, or when it is told to. It takes the uprobes off
 *     by ending: a process that is ending cannot be killed any more.
 *
 * It is made when the first uprobe is (0.3 ms), is no child that wait() would report, has nothing
 * of the tracer's open and gives the memory back that it got from it.
 *
 * Errors   struct err *: what the kernel refuses, with its errno; a keeper that somebody has
 *          killed.
 * Threads  one thread at a time.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

#define KEEPER_SITES_MAX 8192 /* places of one link */

/* Places in one file, each with its cookie. */
struct uprobe_sites {
	const uint64_t *offsets, *cookies;
	/*
	 * Where in the file counters are that the kernel counts up in each process, while a place
	 * is probed there; 0 = the place has none. NULL: none has.
	 */
	const uint64_t *counters;
	uint32_t n;
};

struct keeper;

MUST_CHECK struct err *keeper_create(struct keeper **ret);
/* Takes everything off. Waits until that is done, if there is little; NULL is allowed. */
void keeper_destroy(struct keeper *k);
/* An error when somebody has killed it, and its uprobes are gone; NULL is allowed. */
MUST_CHECK struct err *keeper_check(const struct keeper *k);

/*
 * One link for all places; pid: only in that process (0 = in all). Nothing is attached when any
 * place is refused.
 */
MUST_CHECK struct err *keeper_uprobe_multi(struct keeper *k, int prog_fd, int file_fd, pid_t pid,
					   const struct uprobe_sites *sites);
/* One uprobe, as a perf event: for kernels without the above. */
MUST_CHECK struct err *keeper_uprobe(struct keeper *k, int prog_fd, int file_fd, pid_t pid,
				     uint64_t offset, uint64_t cookie, uint64_t counter);
/*
 * A process that the tracer's programs stop: when the tracer dies, it gets SIGCONT after the last
 * of its links is gone. The descriptor stays the caller's.
 */
MUST_CHECK struct err *keeper_ward(struct keeper *k, int pidfd);
/*
 * The map of the processes that the tracer's programs may stop: when the tracer dies, they are
 * released (herd_release()). The descriptor stays the caller's.
 */
MUST_CHECK struct err *keeper_herd(struct keeper *k, int procs_fd);
/* Takes off the links that were made for the process. waits: until that is done. */
MUST_CHECK struct err *keeper_drop(struct keeper *k, pid_t pid, bool waits);
/* Links that are made from now on are of this group; 0 = of none. */
void keeper_set_group(struct keeper *k, uint32_t group);
/* Takes off the links of the group, some time after the return. */
MUST_CHECK struct err *keeper_drop_group(struct keeper *k, uint32_t group);
/*
 * Takes breakpoints that no link wants out of the places: children inherit them with their parent's
 * memory. The kernel looks through all processes that have the file whenever a link there is
 * closed, so one is made, for the keeper alone, and closed. Done some time after the return; a
 * refusal is not told.
 */
MUST_CHECK struct err *keeper_sweep(struct keeper *k, int prog_fd, int file_fd,
				    const uint64_t *offsets, uint32_t n);
