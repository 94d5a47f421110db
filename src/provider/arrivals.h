/* SPDX-License-Identifier: MIT */
/*
 * Probes in files that processes map while they are traced: what a provider does for them
 * (session/arrivals.h calls it).
 *
 * Each reading of mappings begins a batch. Files that were not known before belong to the batch,
 * and so do the probes in them. The probes of earlier batches are attached. If a new file has code
 * of such a probe, the probe gets a new list of instructions and a new key, which belong to the new
 * batch.
 */
#pragma once

#include "target/ident.h"
#include "probe/probe.h"

struct sym_map;

struct provider_come {
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
	/* Adds to out the probes that desc matches in the files of the present batch, each once. */
	struct err *(*match_new)(struct provider_env *env, const struct probe_desc *desc,
				 struct probe_list *out);
	/*
	 * Notes that process at, which is id or one of its children, has ended and maps no file any
	 * more.
	 */
	void (*ended)(struct provider_env *env, const struct proc_id *id, const struct proc_id *at);
	/*
	 * Called before is_unused() where nothing else tells which files are mapped: finds out.
	 * NULL: not needed.
	 */
	void (*survey)(struct provider_env *env);
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
	/*
	 * Forgets a batch after retire(), with the probes that are in no other batch. keeps_names
	 * says that the names of these probes are still needed. NULL: the provider keeps what its
	 * probes need until the end, because a module that is loaded again brings the same ones.
	 */
	void (*free)(struct provider_env *env, uint32_t batch, bool keeps_names);

	/*
	 * The next five serve descriptions of all processes, which are not followed; they may be
	 * NULL together. wants_all() says whether the description is one.
	 */
	bool (*wants_all)(struct provider_env *env, const struct probe_desc *desc);
	/* A process has a child. */
	void (*born)(struct provider_env *env, uint64_t pid, uint64_t parent);
	/* Remembers that a process has mapped code; true if the file is not known yet. */
	bool (*mapped)(struct provider_env *env, uint64_t pid, const struct sym_map *m);
	/*
	 * Begins a batch of the files that were remembered; is_scan: of those that any process has
	 * mapped now.
	 */
	uint32_t (*look_all)(struct provider_env *env, bool is_scan);
	/*
	 * Tells about a file that look_all() has looked at: returns false if the file could not be
	 * opened; *ret_name is the file's name if probes of it are placed, else NULL.
	 */
	bool (*file_state)(struct provider_env *env, uint64_t dev, uint64_t ino,
			   const char **ret_name);

	/*
	 * The next two serve descriptions of what modules of the kernel have. A provider with them
	 * has match_new() and free(), too, and nothing that is about processes. wants_modules()
	 * says whether a module that comes can have probes that the description means.
	 */
	bool (*wants_modules)(struct provider_env *env, const struct probe_desc *desc);
	/*
	 * Begins batch number i, counted from 0, of those that a module makes which has come; 0:
	 * there are fewer.
	 */
	uint32_t (*module_came)(struct provider_env *env, const char *mod, uint32_t i);
};

/* The providers that add probes later, NULL-terminated (list.c). */
extern const struct provider_come *const provider_comes[];
extern const struct provider_come pid_come, usdt_come, fbt_come, sdt_come, rawtp_come;

/* Calls of children will fire the probes of their parents. Call this before probes are attached. */
void pid_have_children(struct provider_env *env);
