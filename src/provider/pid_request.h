/* SPDX-License-Identifier: MIT */
/*
 * A description of pid probes while its probes are being created.
 *
 * Owns     names of callees are those of their file, which is held meanwhile.
 * Errors   struct err *: what the description names cannot be probed. What a pattern matches and
 *          cannot be probed is left out.
 */
#pragma once

#include "provider/pid.h"

struct calls; /* image/calls.h */

/* A function whose calls are asked for. */
struct pid_callee {
	const char *name;
	uint64_t addr;	  /* as in the file; 0: of another file */
	struct probe *pr; /* NULL: no call of it was found yet */
	/* of the probe: which site is the next one, if an earlier description has found them all */
	uint32_t nth_site;
};

/* A description whose probes are being created. */
struct pid_request {
	struct provider_env *env;
	const struct provider *pv;
	struct pid_state *st;
	struct code_process *target;
	const struct probe_desc *desc;
	struct probe_list *out;
	char prov[24]; /* "pid123", of target */
	bool is_exact; /* module and function are names, not patterns */
	bool is_new;   /* only files of the present batch are searched */
	bool is_insn;  /* the name is an offset, which insn contains */
	uint64_t insn;
	uint32_t nfound; /* number of functions that match */
	/*
	 * The error for an offset that the function of one file does not have; a function of the
	 * same name in another file may have it.
	 */
	struct err *bad_offset;
	struct arena *tmp;
	/* of the file that is being searched: pid_calls.c */
	struct calls *calls; /* NULL: calls are not asked for, or there are none to be found */
	VEC(struct pid_callee) callees;
};

/* Whether a field of a description is a name, and no pattern. */
static inline bool is_name(const char *field)
{
	return *field && glob_is_literal(field);
}

/* ---- pid.c ----------------------------------------------------------------------------------- */

/* Returns the probe, which it creates, or adds to the present batch, if it is not there yet. */
struct probe *pid_probe_add(struct pid_request *r, const struct code_file *o, const char *func,
			    const char *name, enum code_spot spot);
/*
 * Whether the pattern matches the demangled name. A description may give names of C++ and Rust
 * mangled, as they are in the file, or as programmers write them.
 */
bool pid_demangled_matches(struct pid_request *r, const char *name);

/* ---- pid_calls.c ----------------------------------------------------------------------------- */

/* Begins with a file that is held. */
MUST_CHECK struct err *pid_calls_begin(struct pid_request *r, struct code_file *o);
/* The description means the function. */
void pid_calls_want(struct pid_request *r, const struct func *fn);
/* Adds the probes of what was wanted, and of functions of other files. */
MUST_CHECK struct err *pid_calls_add(struct pid_request *r, struct code_file *o);
void pid_calls_end(struct pid_request *r);
/* Whether the name in the description means calls, and nothing else. */
bool pid_calls_only(const struct pid_request *r);
