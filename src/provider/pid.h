/* SPDX-License-Identifier: MIT */
/*
 * Provider pid: the data and functions that its files share.
 *
 *     pid.c           finds the probes that a description matches
 *     pid_calls.c     finds the calls of functions
 *     pid_inline.c    says why a function that was inlined has none
 *     pid_types.c     finds the types of arguments
 *     pid_arrivals.c  adds the files that processes map while they are traced
 *
 * Owns     a pid_probe is its state's, until pid_probe_destroy().
 * Errors   struct err *: no such process, a file that cannot be read, a description that cannot be
 *          probed.
 */
#pragma once

#include "provider/code/code.h"
#include "provider/providers.h"

struct pid_probe {
	struct code_probe probe; /* its code has sites of the process's files */
	struct code_process *target;
	/* SPOT_CALL: the called function, in the file of the first call; 0: another file has it */
	uint64_t callee;
};

struct pid_state {
	struct code_probes code;
	bool has_children; /* children of targets are probed like them: option follow */
};

static inline struct pid_probe *pid_probe(const struct probe *pr)
{
	return (struct pid_probe *)code_probe(pr);
}

/* ---- pid.c ----------------------------------------------------------------------------------- */

/*
 * Finds process number i, counted from 0, of the processes that desc names; *ret is 0 if desc names
 * fewer.
 */
MUST_CHECK struct err *pid_of(const struct provider_env *env, const struct probe_desc *desc,
			      uint32_t i, pid_t *ret);
void pid_probe_destroy(struct pid_state *st, struct pid_probe *pp);
/* Adds to out the probes that desc matches in the files of the present batch. */
MUST_CHECK struct err *pid_collect_new(struct provider_env *env, const struct probe_desc *desc,
				       struct probe_list *out);

/* ---- pid_inline.c ---------------------------------------------------------------------------- */

/*
 * Returns a hint if the compiler has inlined the function of the file that func would match; else
 * NULL.
 */
const char *pid_inlined_hint(struct provider_env *env, struct code_process *t, struct code_file *o,
			     const char *func);

/* ---- pid_types.c ----------------------------------------------------------------------------- */

/* The members of struct provider; without debug information, probes have no types. */
uint32_t pid_arg_types(struct provider_env *env, const struct probe *pr,
		       const char *const **ret_types);
type_id pid_arg_type(struct provider_env *env, const struct probe *pr, uint32_t index,
		     struct types *t, struct arg_origin *ret_origin);
const char *pid_arg_refused(struct provider_env *env, const struct probe *pr, uint32_t raw);
