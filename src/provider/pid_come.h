/*
 * Files that processes map while they are traced, and the probes of provider pid in them.
 *
 * Each reading of a process's mappings begins a batch. Files that the process did not have mapped
 * at the last reading belong to the batch, and so do the probes in them. The probes of earlier
 * batches are attached. If a new file has a function with the name of such a probe, the probe gets
 * a new list of instructions and a new key, which belong to the new batch.
 */
#pragma once

#include "proc/ident.h"
#include "probe/probe.h"

/*
 * Returns the identity of process number i, counted from 0, of those that the description names;
 * NULL if it names fewer, or is one of another provider. The identity is the one that the process
 * had when its mappings were first read.
 */
const struct proc_id *pid_described(struct probes *ps, const struct probe_desc *desc, uint32_t i);
bool pid_is_described(struct probes *ps, const struct probe_desc *desc, const struct proc_id *id);
/*
 * True if libraries that the process maps later could match the description: its module is a
 * pattern, or a library that the process has not mapped yet.
 */
bool pid_waits_for_library(struct probes *ps, const struct probe_desc *desc,
			   const struct proc_id *id);
/*
 * Begins a batch: reads the mappings of process at, which is id or one of its children. is_other
 * says that the links that were made before are closed. *ret_batch is the number of the batch; 0:
 * no file belongs to it.
 */
MUST_CHECK struct err *pid_look_again(struct probes *ps, const struct proc_id *id,
				      const struct proc_id *at, bool is_other, uint32_t *ret_batch);
/* Adds to out the probes that desc matches in the files of the present batch, each once. */
MUST_CHECK struct err *pid_match_new(struct probes *ps, const struct probe_desc *desc,
				     struct probe_list *out);
/*
 * Notes that process at, which is id or one of its children, has ended and maps no file any more.
 */
void pid_ended(struct probes *ps, const struct proc_id *id, const struct proc_id *at);
/*
 * True if no process maps any file of the batch, and no clause takes its types. The longer no
 * process maps them, the lower is *ret_since.
 */
bool pid_batch_is_unused(struct probes *ps, uint32_t batch, uint64_t *ret_since);
/*
 * Forgets the files of a batch of which no probe is attached any more. If they are mapped again,
 * they count as new files.
 */
void pid_batch_retire(struct probes *ps, uint32_t batch);
/*
 * Forgets a batch after pid_batch_retire(), with the probes that are in no other batch. keeps_names
 * says that the names of these probes are still needed.
 */
void pid_batch_free(struct probes *ps, uint32_t batch, bool keeps_names);
/* To be called before probes are attached: calls of children fire the probes of their parents. */
void pid_have_children(struct probes *ps);
