/* SPDX-License-Identifier: MIT */
/*
 * The environment of the providers: what a session tells them.
 *
 * A provider is given the environment and nothing else of the session: which processes are the
 * targets, how files are read, what options say, whom to tell of what it finds out. The registry
 * (probe/probe.h), to which a provider adds its probes, is one member. An environment of zeroes is
 * that of a session without options, targets and functions: tests give one.
 *
 * Owns     the lists of processes and of probes that harm, until env_deinit(). What pointers lead
 *          to belongs to the session, and lives as long as the registry.
 * Threads  one: the one that has the session.
 */
#pragma once

#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "d/parse/harm.h"

struct probe_desc;
struct probe_list;
struct privileges; /* privilege/privilege.h */
struct probes;
struct code_source; /* d/compile.h */

/*
 * Option syscallview: whether patterns match system calls as views of older calls: where the
 * program reads an argument as text that only the older call has there; never; always.
 */
enum probe_view { PROBE_VIEW_AUTO, PROBE_VIEW_NATIVE, PROBE_VIEW_CLASSIC };

/*
 * The session's functions for probes that are declared in D: collect adds those that desc matches
 * to out; hint says why one cannot be used here, or is NULL. Each may be NULL.
 */
struct declared_source_fns {
	struct err *(*collect)(void *ctx, const struct probe_desc *desc, struct probe_list *out);
	const char *(*hint)(void *ctx, const struct probe_desc *desc);
	/* Why a declared probe that desc names cannot fire here; NULL: desc names none. */
	const char *(*absent)(void *ctx, const struct probe_desc *desc);
	/* Loads the library's files that declare providers of programs that desc describes. */
	struct err *(*define)(void *ctx, const struct probe_desc *desc);
	/* dsession_code_source(); NULL, too, if nothing is declared. */
	const struct code_source *(*code)(void *ctx, uint32_t i, bool *ret_is_live);
	/* Why processes have no such probe, although it is declared; NULL: it is not. */
	const char *(*code_hint)(void *ctx, const struct probe_desc *desc);
	void *ctx;
};

/* What a session is over that is no session over the running system. */
struct remains_fns {
	/* The name of language i of which there are objects: "js"; NULL behind the last. */
	const char *(*language)(void *ctx, uint32_t i);
	/* Why there is none, for a message; NULL: it is not known. */
	const char *(*lack)(void *ctx);
	void *ctx;
};

struct provider_env {
	/* The registry of the session, and its arena: probes_create() sets both. */
	struct probes *probes;
	struct arena *arena;
	/* How files of programs are read (image/debugfile.h); NULL: they are not opened. */
	const struct file_opts *files;
	/* Which processes may be looked at; NULL: all. */
	const struct privileges *privileges;
	VEC(pid_t) processes; /* of -c and -p, in the order of the options */
	/* The process of -c, which messages call pid$target: it ends with dtrace. 0: none */
	pid_t created;
	enum probe_view view;
	bool is_harmful;		/* the user insists on probes that harm: option harmful */
	VEC(const struct harm *) harms; /* the table of such probes, in the arena */
	uint32_t ncode_keys;		/* given out by env_code_key() */
	struct declared_source_fns declared;
	struct remains_fns remains; /* language NULL: the session is over the running system */
	/* msg has no newline. */
	void (*on_notice)(void *ctx, const char *msg);
	void *notice_ctx;
	void (*on_adjusted)(void *ctx, const char *msg);
	void *adjusted_ctx;
	/*
	 * Called before a provider reads the mappings of a process: the session may have to run a
	 * new process on to a state in which it has mapped its libraries.
	 */
	struct err *(*on_process)(void *ctx, pid_t pid);
	void *process_ctx;
	/*
	 * Called before a provider reads the mappings of all processes for a pattern of a program,
	 * as opposed to a listing: what processes map from then on has to be found by other means.
	 */
	void (*on_scan)(void *ctx);
	void *scan_ctx;
};

void env_deinit(struct provider_env *env);

/* ---- for providers --------------------------------------------------------------------------- */

/* Tells the user something. */
PRINTF_LIKE(2, 3) void env_notice(struct provider_env *env, const char *fmt, ...);
/* The same for an adjustment of what the user asked for. */
PRINTF_LIKE(2, 3) void env_adjusted(struct provider_env *env, const char *fmt, ...);
/* Call these before the mappings of a process, or of all processes, are read. */
MUST_CHECK struct err *env_need_process(struct provider_env *env, pid_t pid);
void env_will_scan(struct provider_env *env);
/* Process number i of -c and -p, counted from 0; 0 behind the last. */
pid_t env_process(const struct provider_env *env, uint32_t i);
/* Row number i of the probes that harm, counted from 0; NULL behind the last. */
const struct harm *env_harm(const struct provider_env *env, uint32_t i);
/*
 * A key for a probe in code, which its unit uses as an index. Units of probes that come later begin
 * again at 0.
 */
uint32_t env_code_key(struct provider_env *env);
void env_reset_code_keys(struct provider_env *env);

/* ---- for the session ------------------------------------------------------------------------- */

void env_add_process(struct provider_env *env, pid_t pid);
void env_set_view(struct provider_env *env, enum probe_view view);
void env_set_harmful(struct provider_env *env, bool is_harmful);
/* Adds a copy of a row to the table of probes that harm (d/parse/harm.h). */
void env_add_harm(struct provider_env *env, const struct harm *row);
