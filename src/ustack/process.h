/*
 * A process that a walk has met, while its helpers' dtrace:helper:attach: clauses run: its mapped
 * files, symbols and memory.
 *
 * Owns     what it has read; process_close() forgets all of it.
 * Errors   a process that has ended has no memory: reads fail, and the helper is not attached.
 * Threads  the consumer's. Nothing is written to the process, and it is not stopped.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "dif/interp.h"
#include "dif/prog.h"

struct file_opts; /* sym/debugfile.h */
struct helper;
struct proc_maps;
struct objects; /* what was read of files, for all processes */
struct process;

struct objects *objects_create(const struct file_opts *files);
void objects_destroy(struct objects *o);

MUST_CHECK struct err *process_open(pid_t pid, struct objects *objects, struct process **ret);
void process_close(struct process *p); /* NULL is allowed */
const struct proc_maps *process_maps(const struct process *p);
/* Whether the process maps a file to which the helper applies. */
bool process_has(const struct process *p, const struct helper *h);
/*
 * Whether the dynamic linker has not mapped the C library yet. Nothing of a runtime has run then,
 * and what its helper looks for in the C library is not there.
 */
bool process_is_loading(const struct process *p);
bool process_is_libc(const char *name);

/*
 * Runs the clauses of dtrace:helper:attach: in a machine of its own. False: a clause has faulted or
 * declined the process; *ret_why says why, and is the caller's to free.
 */
bool process_attach(struct process *p, const struct helper *h, char **ret_why);
/* The value of a global variable after process_attach(); strings are written to text. */
bool process_global(struct process *p, const struct prog_var *v, uint64_t *ret,
		    struct strbuf *text);
