/* SPDX-License-Identifier: MIT */
/*
 * From D text to a compiled program: runs the passes.
 *
 *     parse -> declare -> check -> lower -> verify     for one external declaration after another
 *
 * A dsession holds what all programs of one consumer share: types, global and thread-local
 * variables, aggregations, inlines, enumerators. A compile adds to the session; one that fails
 * leaves the session as it was, except that names may remain interned. A library may be compiled
 * while a program is (compile_env.define): what the library adds stays even if the program fails.
 *
 * Owns     the session owns identifiers, variables, aggregations and every prog compiled with it.
 * Threads  one session belongs to one thread.
 */
#pragma once

#include "base/err.h"
#include "d/check/argtext.h"
#include "d/text/cpp.h"
#include "d/types/layer.h"
#include "d/parse/parse.h"
#include "dif/prog.h"

struct attr; /* d/parse/attr.h */
struct dsession;
struct harm;	   /* d/parse/harm.h */
struct privileges; /* privilege/privilege.h */
struct types;	   /* d/types/types.h; a type_id is an uint32_t */
struct kallsym;	   /* sym/kallsyms.h */

/*
 * The options that change a compile (d-language.md 8.2); the option table of session/ fills them.
 */
struct compile_opts {
	uint32_t strsize;
	uint32_t scratchsize; /* bytes of scratch memory that a clause may take */
	bool defaultargs, argref, empty, pspec, zdefs, errtags;
	bool hash_comments; /* parse_input.has_hash_comments */
	bool is_helper;	    /* the text may have ustack helpers */
	/* a this-> variable is that of the same name and type in earlier texts of the session */
	bool shares_locals;
	/*
	 * What a constant excludes is not even checked: the other side of an && or ||, a branch, a
	 * clause whose predicate begins with 0. For text about things that are seldom wanted.
	 */
	bool skips_excluded;
	/* Providers become headers and probe objects: their probes have to be calls in C. */
	bool builds_programs;
	bool remedies; /* an error without a hint gets the remedy of its tag */
	/*
	 * The text is a library file unless this is LAYER_PROGRAM. A library may be empty and may
	 * depend on others; a missing dependency is EDT_NOMOD.
	 */
	enum d_layer layer;
	bool cpp;
	struct cpp_opts *cpp_opts; /* with cpp */
	uint32_t stackframes, ustackframes, jstackframes, jstackstrsize;
	bool jstackasync;   /* what helpers know as WANTS_ASYNC (helper/helper.c) */
	uint32_t pcapsize;  /* most bytes pcap() records */
	uint32_t d_version; /* 0 = no limit */
	const struct privileges *privileges; /* of the session; NULL: all of them */
	uint8_t amin[3]; /* option amin, components as in d/parse/attr.h; zeros = no limit */
	FILE *dump;	 /* where -S and -xtree write; NULL = nowhere */
	bool dump_dif, dump_ast;
};

/*
 * Questions of the compiler to its caller, who knows probes and options. What an answer points to
 * belongs to the caller and lives as long as the session. "May be NULL" is said of the function.
 */
struct compile_env {
	void *ctx;
	/*
	 * Tells of each description of a program before match() is called for the first. May be
	 * NULL.
	 */
	void (*named)(void *ctx, const struct probe_desc *desc);
	/*
	 * Counts the probes that match, and creates those that exist on demand (tick-7s). With
	 * compile_opts.zdefs, 0 is no error. Another error becomes the text of D_PDESC_INVAL.
	 */
	struct err *(*match)(void *ctx, const struct probe_desc *desc, uint32_t *ret_count);
	/* What to type instead of a description that matches nothing, or NULL. May be NULL. */
	const char *(*hint)(void *ctx, const struct probe_desc *desc);
	/*
	 * Why a description that matches nothing, but names probes that other systems have, fires
	 * never here; NULL: it names no such probe. May be NULL.
	 */
	const char *(*absent)(void *ctx, const struct probe_desc *desc);
	/*
	 * Returns the number of args[] of the probes that match, -1 when they differ, and their
	 * types as texts (argtext.h); *ret_types is NULL for none.
	 */
	int (*arg_types)(void *ctx, const struct probe_desc *desc, const char *const **ret_types);
	/*
	 * The least attributes (NPARTS of them) of the providers whose probes match; false: no
	 * provider has any. May be NULL.
	 */
	bool (*attrs)(void *ctx, const struct probe_desc *desc, struct attr *ret);
	/*
	 * The type of args[index] of the probes that match, put into the table t, and where its
	 * value lies. TYPE_NONE: the answer of arg_types() holds. TYPE_ERROR: the value cannot be
	 * read. May be NULL.
	 */
	uint32_t (*arg_type)(void *ctx, const struct probe_desc *desc, uint32_t index,
			     struct types *t, struct arg_origin *ret_origin);
	/* Why arg<raw> of one of the probes that match cannot be read, or NULL. May be NULL. */
	const char *(*arg_refused)(void *ctx, const struct probe_desc *desc, uint32_t raw);
	/*
	 * The i-th declared probe with sources that matches, NULL behind the last. *ret_nplain: how
	 * many other probes match.
	 */
	const struct derived_info *(*derived)(void *ctx, const struct probe_desc *desc, uint32_t i,
					      uint32_t *ret_nplain);
	/*
	 * The level of privilege that the session lacks for one of the probes that a provider
	 * places and desc matches; 0: for none. *ret_name: that probe. May be NULL.
	 */
	uint32_t (*lacks)(void *ctx, const struct probe_desc *desc, const char **ret_name);
	/* Tells that probes have been declared: earlier answers of match() are out of date. */
	void (*declared)(void *ctx);
	/* Sets an option from a pragma; the text of an error is used for D_PRAGMA_OPTSET. */
	struct err *(*set_option)(void *ctx, const char *name, const char *value);
	/* Adds a row to the table of probes that harm; it points to the text. May be NULL. */
	void (*harmful)(void *ctx, const struct harm *row);
	/* The value of a named macro variable; false: undefined. */
	bool (*macro)(void *ctx, const char *name, int64_t *ret_value);
	/* Address of a kernel symbol. module: NULL = any. May be NULL. */
	struct err *(*symbol)(void *ctx, const char *module, const char *name, bool *ret_found,
			      struct kallsym *ret);
	/*
	 * Called for a name that nothing defines: compiles the libraries that define it, with this
	 * session, and returns true when there were any. name: an identifier, a type or tag, or
	 * COMPILE_DEFINE_PROVIDER or COMPILE_DEFINE_PROBE and a name. May be NULL.
	 */
	bool (*define)(void *ctx, const char *name, size_t len);
	/*
	 * Called with each warning about a program that has compiled: several lines, without a
	 * newline at the end (diag.h). May be NULL.
	 */
	void (*warn)(void *ctx, const char *text);
	/* The name most like the given one that define() could define, or NULL. May be NULL. */
	const char *(*nearest)(void *ctx, const char *name);
};

/* A probe, declared in D, that is made of other probes. */
struct derived_info {
	const char *prov, *name;
	const char *const *types; /* of args[] (argtext.h) */
	uint32_t ntypes;
	const struct attr *attrs; /* NPARTS of the provider */
	uint32_t order;		  /* of declaration, from 1 */
	/* why the probe cannot fire here; NULL until dsession_derive() has found a reason */
	const char *lack;
	/*
	 * With lack, or of a probe in code of processes: what the declaration says where no source
	 * exists. Or NULL.
	 */
	const char *reason;
	void *handle; /* for the caller, in compile_env */
	/*
	 * The probe is in code of processes: its sources are struct code_source, and the provider's
	 * name is followed by the id of a process, as in "perl123".
	 */
	bool is_in_processes;
};

enum code_kind { CODE_ENTRY, CODE_RETURN, CODE_RETURNED, CODE_NOTE };

/*
 * A source of a declared probe in code of processes: where a function of the files that match mod
 * begins, where it returns, or where a call of it has come back (by the kernel's return probe,
 * after tail calls, too); or the probe `name' of provider `func' that a file has itself. The
 * clauses that are compiled for a source have its number.
 */
struct code_source {
	const struct derived_info *probe;
	enum code_kind kind;
	const char *mod, *func, *name;
	/*
	 * What the function's code begins with: two digits a byte, hexadecimal or '?' for any;
	 * NULL: its name is enough. In a file that does not name it, it is where these bytes are.
	 */
	const char *bytes;
	/*
	 * The guard is 0: no clause runs, but the program counts a consumer of the probe. Some
	 * programs do what another probe needs only then.
	 */
	bool is_counter;
	bool is_of_system; /* declared by the system's library */
	uint32_t number;   /* from 1 */
};

#define COMPILE_DEFINE_PROVIDER "provider "
/* with the name of a probe: the providers that declare a probe of that name */
#define COMPILE_DEFINE_PROBE "probe "

struct dsession *dsession_create(const struct compile_opts *opts);
void dsession_destroy(struct dsession *s);

/* The i-th of the declared probes with sources; NULL behind the last. */
struct derived_info *dsession_derived(struct dsession *s, uint32_t i);
/*
 * The source in code of processes with the number i + 1; NULL behind the last. *ret_is_live: the
 * text that declares it has compiled, or is being compiled.
 */
const struct code_source *dsession_code_source(struct dsession *s, uint32_t i, bool *ret_is_live);
/*
 * Finds out, once, which sources of the probe exist on this machine; false: none does, and
 * info->lack says why.
 */
bool dsession_derive(struct dsession *s, const struct compile_opts *opts,
		     const struct compile_env *env, struct derived_info *info);

/*
 * The providers of programs that the text of programs has declared, in its order, with everything
 * they refer to in arena. Errors: an argument of a type that cannot be passed to a probe.
 */
struct usdt_provider; /* usdt/usdt.h */
MUST_CHECK struct err *dsession_usdt(struct dsession *s, struct arena *a,
				     const struct usdt_provider **ret_providers, uint32_t *ret_n);

/*
 * The type that a text names in D's spelling, such as "unsigned long [4]"; 0 (TYPE_NONE): it is no
 * type, or an unknown one.
 */
uint32_t dsession_type(struct dsession *s, const struct compile_opts *opts,
		       const struct compile_env *env, const char *text);

struct prog_vars *dsession_vars(struct dsession *s);
struct prog_aggs *dsession_aggs(struct dsession *s);
struct types *dsession_types(struct dsession *s);
struct source_map *dsession_sources(struct dsession *s);

/*
 * Compiles one program. On success *ret_prog belongs to the session. On failure the error's text is
 * the whole formatted diagnosis (diag.h), code EDT_COMPILER.
 * text: a script (kind SOURCE_FILE, name = its path) or a command-line program (SOURCE_STRING).
 * opts may have changed since the last call (pragmas).
 */
MUST_CHECK struct err *dsession_compile(struct dsession *s, const struct compile_opts *opts,
					const struct compile_env *env, enum source_kind kind,
					const char *name, const char *text, size_t len,
					enum spec_context ctx, int argc, char **argv,
					struct prog **ret_prog);
