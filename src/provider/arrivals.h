/* SPDX-License-Identifier: MIT */
/*
 * Probes in what comes while they are traced: what a provider does for them (session/arrivals/
 * calls it). Three things come, and each has a protocol of its own:
 *
 *     struct process_arrivals  files that a process maps which is followed
 *     struct file_arrivals     files that any process maps
 *     struct module_arrivals   modules of the kernel
 *
 * A provider has those of what can bring it probes; of a protocol it has all functions.
 *
 * Each reading of mappings begins a batch. Files that were not known before belong to the batch,
 * and so do the probes in them. The probes of earlier batches are attached. If a new file has code
 * of such a probe, the probe gets a new list of instructions and a new key, which belong to the new
 * batch. A module makes one batch or several.
 */
#pragma once

#include "target/ident.h"
#include "probe/probe.h"

struct sym_map;

/* Files of the processes that descriptions name, which are followed, and of their children. */
struct process_arrivals {
	/*
	 * Returns the identity of process number i, counted from 0, of those that have to be
	 * followed for the description; NULL if there are fewer, or it is one of another provider.
	 * The identity is the one that the process had when its mappings were first read.
	 */
	const struct proc_id *(*described)(struct provider_env *env, const struct probe_desc *desc,
					   uint32_t i);
	/* True if new code of a followed process can have probes that the description means. */
	bool (*is_described)(struct provider_env *env, const struct probe_desc *desc,
			     const struct proc_id *id);
	/*
	 * True if libraries that the process maps later could match the description: its module is
	 * a pattern, or a library that the process has not mapped yet.
	 */
	bool (*waits_for_library)(struct provider_env *env, const struct probe_desc *desc,
				  const struct proc_id *id);
	/*
	 * Begins a batch: reads the mappings of process at, which is id or one of its children.
	 * is_other says that the links that were made before are closed. *ret_batch is the number
	 * of the batch; 0: no file belongs to it.
	 */
	struct err *(*look_again)(struct provider_env *env, const struct proc_id *id,
				  const struct proc_id *at, bool is_other, uint32_t *ret_batch);
	/*
	 * Notes that process at, which is id or one of its children, has ended and maps no file any
	 * more.
	 */
	void (*ended)(struct provider_env *env, const struct proc_id *id, const struct proc_id *at);
	/*
	 * True if no process maps any file of the batch, and no clause takes its types. The longer
	 * no process maps them, the lower is *ret_since.
	 */
	bool (*is_unused)(struct provider_env *env, uint32_t batch, uint64_t *ret_since);
	/*
	 * Forgets the files of a batch of which no probe is attached any more. If they are mapped
	 * again, they count as new files.
	 */
	void (*retire)(struct provider_env *env, uint32_t batch);
};

/*
 * Files of all processes, for descriptions that mean all of them. No process is followed for these.
 * A provider with this protocol has struct process_arrivals, too.
 */
struct file_arrivals {
	/* Whether the description means all processes. */
	bool (*wants)(struct provider_env *env, const struct probe_desc *desc);
	/* A process has a child. */
	void (*born)(struct provider_env *env, uint64_t pid, uint64_t parent);
	/* Remembers that a process has mapped code; true if the file is not known yet. */
	bool (*mapped)(struct provider_env *env, uint64_t pid, const struct sym_map *m);
	/*
	 * Begins a batch of the files that were remembered; is_scan: of those that any process has
	 * mapped now. Returns its number; 0: no file belongs to it.
	 */
	uint32_t (*look)(struct provider_env *env, bool is_scan);
	/*
	 * Tells about a file that look() has looked at: returns false if the file could not be
	 * opened; *ret_name is the file's name if probes of it are placed, else NULL.
	 */
	bool (*state)(struct provider_env *env, uint64_t dev, uint64_t ino, const char **ret_name);
	/*
	 * Called before is_unused(): finds out which files are mapped, because nothing else tells.
	 */
	void (*survey)(struct provider_env *env);
};

/* Modules of the kernel. */
struct module_arrivals {
	/* Whether a module that comes can have probes that the description means. */
	bool (*wants)(struct provider_env *env, const struct probe_desc *desc);
	/*
	 * Begins batch number i, counted from 0, of those that a module makes which has come; 0:
	 * there are fewer.
	 */
	uint32_t (*came)(struct provider_env *env, const char *mod, uint32_t i);
};

struct provider_arrivals {
	/* Adds to out the probes that desc matches in the present batch, each once. */
	struct err *(*match_new)(struct provider_env *env, const struct probe_desc *desc,
				 struct probe_list *out);
	/*
	 * Forgets a batch that is not attached any more, with the probes that are in no other
	 * batch. keeps_names says that the names of these probes are still needed.
	 */
	void (*free)(struct provider_env *env, uint32_t batch, bool keeps_names);
	/* NULL: what is named brings the provider no probes. */
	const struct process_arrivals *processes;
	const struct file_arrivals *files;
	const struct module_arrivals *modules;
};

/* The providers that add probes later, NULL-terminated (list.c). */
extern const struct provider_arrivals *const provider_arrivals[];
#define PROVIDER(name, nids)
#define ARRIVALS(name) extern const struct provider_arrivals name##_arrivals;
#include "provider/providers.def"
#undef PROVIDER
#undef ARRIVALS

/*
 * The `free' of a provider that keeps its probes until the end: a module that is loaded again
 * brings the same ones.
 */
void arrivals_keep(struct provider_env *env, uint32_t batch, bool keeps_names);

/* Calls of children will fire the probes of their parents. Call this before probes are attached. */
void pid_have_children(struct provider_env *env);
