/*
 * Programs that tell when processes change their code: on exec, and in their dynamic linkers.
 *
 * A process that was added with `stops' gets SIGSTOP before it runs the next instruction of its own, and then
 * the event can be read: whoever reads it sends SIGCONT when everything is in place.
 *
 * Owns     maps, programs, the link to the tracepoint; uprobes are the keeper's (bpf/keeper.h). After
 *          follow_destroy() nothing is told, and nobody is stopped.
 * Errors   struct err *: the kernel refuses.
 * Threads  one reader.
 * Facts    sched_process_exec(task, old pid, binary) comes when the new image is mapped: Linux fs/exec.c.
 *          _dl_debug_state(), _r_debug: proc/rtld.h.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct follow;
struct keeper;

enum follow_kind {
	FOLLOW_EXEC,   /* another program */
	FOLLOW_MAPPED, /* libraries have come or gone */
};

struct follow_event {
	uint32_t pid; /* process */
	uint32_t kind;
	uint64_t old_pid; /* of an exec: which thread did it */
};

/* max: processes that can be added. Execs are told from now on. */
MUST_CHECK struct err *follow_create(uint32_t max, struct follow **ret_follow);
void follow_destroy(struct follow *f); /* NULL is allowed */
MUST_CHECK struct err *follow_add(struct follow *f, pid_t pid, bool stops);
/*
 * The place in a dynamic linker's file that runs when libraries have come or gone; state: where, from
 * there, its state lies in memory (0 = consistent), or 0.
 */
MUST_CHECK struct err *follow_linker(struct follow *f, struct keeper *k, pid_t pid, int file_fd, uint64_t off,
				     int64_t state);
/* Readable when there are events. */
int follow_fd(const struct follow *f);
/* The next event; false: there is none. */
bool follow_read(struct follow *f, struct follow_event *ret);
