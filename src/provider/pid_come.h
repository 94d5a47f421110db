/*
 * What processes map while they are traced, and what descriptions of provider pid mean there.
 *
 * Each look at a process begins a batch: files that it has now and had not at the last look are of
 * that batch, and so are the probes in them. A probe of an earlier batch is in place; when another
 * file has a function of its name, it gets new places (and a new key) in the new batch.
 */
#pragma once

#include "proc/ident.h"
#include "probe/probe.h"

/*
 * A process that the description is about, counted from 0; NULL = there are no more, or it is of
 * another provider. The identity is that of the process when it was looked at first.
 */
const struct proc_id *pid_described(struct probes *ps, const struct probe_desc *desc, uint32_t i);
bool pid_is_described(struct probes *ps, const struct probe_desc *desc, const struct proc_id *id);
/*
 * Could libraries that come to the process match it: by a pattern, or because its module is not
 * there?
 */
bool pid_waits_for_library(struct probes *ps, const struct probe_desc *desc,
			   const struct proc_id *id);
/*
 * Begins a batch. at: the process to be looked at, which is id or a child of its. is_other: links
 * made before have died, too. *ret_batch: its number; 0: there are no files of it.
 */
MUST_CHECK struct err *pid_look_again(struct probes *ps, const struct proc_id *id,
				      const struct proc_id *at, bool is_other, uint32_t *ret_batch);
/* The probes that desc means in files of this batch. */
MUST_CHECK struct err *pid_match_new(struct probes *ps, const struct probe_desc *desc,
				     struct probe_list *out);
/* The process, which is id or a child of its, has ended: it maps nothing any more. */
void pid_ended(struct probes *ps, const struct proc_id *id, const struct proc_id *at);
/*
 * Does no process map any file of the batch? *ret_since: a number that is the less the longer that
 * is so.
 */
bool pid_batch_is_unused(struct probes *ps, uint32_t batch, uint64_t *ret_since);
/* No probe of the batch is attached any more. Its files are new ones when they are mapped again. */
void pid_batch_retire(struct probes *ps, uint32_t batch);
/* After that: forgets the probes that are in no other batch, unless somebody needs their names. */
void pid_batch_free(struct probes *ps, uint32_t batch, bool keeps_names);
/* Before probes are placed: children's calls may fire the probes of their parents. */
void pid_have_children(struct probes *ps);
