/*
 * From D text to a compiled program: the list of passes.
 *
 *     parse -> declare -> check -> lower -> verify          (one external declaration after
 *     another)
 *
 * A dsession holds what all programs of one consumer share: types, global and thread-local
 * variables, aggregations, inlines, enumerators. One compile adds to it; when the compile fails the
 * session is as it was before, except that names may remain interned.
 *
 * Owns     the session owns identifiers, variables, aggregations and every prog compiled with it.
 * A compile may be made inside another (compile_env.define, for a library): what the inner one adds
 * stays, whatever becomes of the outer one.
 *
 * Threads  one session belongs to one thread.
 */
#pragma once

#include "base/err.h"
#include "d/argtext.h"
#include "d/cpp.h"
#include "d/layer.h"
#include "d/parse.h"
#include "dif/prog.h"

struct attr; /* d/attr.h */
struct dsession;
struct types;	/* d/types.h; a type_id is an uint32_t */
struct kallsym; /* sym/kallsyms.h */

/* Options that shape compilation (d-language.md 8.2); the session's option table fills it. */
struct compile_opts {
	uint32_t strsize;
	uint32_t scratchsize; /* bytes of scratch memory that a clause may take */
	bool defaultargs, argref, empty, pspec, zdefs, errtags;
	bool remedies; /* an error without a hint gets the remedy of its tag */
	/*
	 * Not LAYER_PROGRAM: a library file. It may be empty and depend on others; an unmet
	 * dependency is EDT_NOMOD.
	 */
	enum d_layer layer;
	bool cpp;
	struct cpp_opts *cpp_opts; /* with cpp */
	uint32_t stackframes, ustackframes, jstackframes, jstackstrsize;
	uint32_t pcapsize;  /* most bytes pcap() records */
	uint32_t d_version; /* 0 = no limit */
	uint8_t amin[3];    /* option amin as d/attr.h counts; zeros = no limit */
	FILE *dump;	    /* where -S and -xtree write; NULL = nowhere */
	bool dump_dif, dump_ast;
};

/* What the compiler asks of its surroundings: probes and options. Answers are the session's. */
struct compile_env {
	void *ctx;
	/* Each description of a program, before match() is asked about the first. May be NULL. */
	void (*named)(void *ctx, const struct probe_desc *desc);
	/* How many probes match; creates on-demand ones (tick-7s). With zdefs 0 is fine.
	 * An error other than "no match" is returned as text for D_PDESC_INVAL. */
	struct err *(*match)(void *ctx, const struct probe_desc *desc, uint32_t *ret_count);
	/*
	 * What to type instead of a description that matches nothing, or NULL. May itself be NULL.
	 */
	const char *(*hint)(void *ctx, const struct probe_desc *desc);
	/*
	 * Number and types (argtext.h) of args[] for the probes desc matches: -1 = they differ.
	 * NULL array = none.
	 */
	int (*arg_types)(void *ctx, const struct probe_desc *desc, const char *const **ret_types);
	/*
	 * The least attributes (NPARTS of them) of the providers whose probes desc matches; false:
	 * none. May be NULL.
	 */
	bool (*attrs)(void *ctx, const struct probe_desc *desc, struct attr *ret);
	/*
	 * The type of args[index] of those probes, which the table gets, and where it is;
	 * TYPE_NONE: as the text says, in its place; TYPE_ERROR: its value is not to be had. May be
	 * NULL.
	 */
	uint32_t (*arg_type)(void *ctx, const struct probe_desc *desc, uint32_t index,
			     struct types *t, struct argplace *ret_place);
	/*
	 * Why arg0, arg1, ... of one of those probes cannot be told, or NULL. May itself be NULL.
	 */
	const char *(*arg_refused)(void *ctx, const struct probe_desc *desc, uint32_t raw);
	/*
	 * The probes of desc that are made of others, one after the other, NULL behind the last;
	 * how many hang on places.
	 */
	const struct derived_info *(*derived)(void *ctx, const struct probe_desc *desc, uint32_t i,
					      uint32_t *ret_nplain);
	/* Probes have been declared: what matched before may not be all now. */
	void (*declared)(void *ctx);
	/*
	 * Sets a run-time or compile-time option from a pragma; error text ready for
	 * D_PRAGMA_OPTSET.
	 */
	struct err *(*set_option)(void *ctx, const char *name, const char *value);
	bool (*macro)(void *ctx, const char *name, int64_t *ret_value);
	/* Address of a kernel symbol. module: NULL = any. May itself be NULL. */
	struct err *(*symbol)(void *ctx, const char *module, const char *name, bool *ret_found,
			      struct kallsym *ret);
	/*
	 * A name that means nothing yet: compiles the libraries that define it, with this session,
	 * and returns true when there were any. name: an identifier, a type or tag, or a provider
	 * behind COMPILE_DEFINE_PROVIDER. May itself be NULL.
	 */
	bool (*define)(void *ctx, const char *name, size_t len);
	/*
	 * Of the names that define() knows the one nearest to a name that means nothing, or NULL.
	 * May itself be NULL.
	 */
	const char *(*nearest)(void *ctx, const char *name);
};

/* A probe declared in D that is made of others. */
struct derived_info {
	const char *prov, *name;
	const char *const *types; /* of args[] (argtext.h) */
	uint32_t ntypes;
	const struct attr *attrs; /* NPARTS of the provider */
	uint32_t order;		  /* of declaration, from 1 */
	/* why it is not to be had here; NULL until dsession_derive() has said so */
	const char *lack;
	void *handle; /* the session's own */
};

#define COMPILE_DEFINE_PROVIDER "provider "
/* with the name of a probe: those providers that declare such a one */
#define COMPILE_DEFINE_PROBE "probe "

struct dsession *dsession_create(const struct compile_opts *opts);
void dsession_destroy(struct dsession *s);

/* Those declared so far, in order; NULL behind the last. */
struct derived_info *dsession_derived(struct dsession *s, uint32_t i);
/*
 * Finds out which sources it has here, when that is not known yet; false: none, and lack says why.
 */
bool dsession_derive(struct dsession *s, const struct compile_opts *opts,
		     const struct compile_env *env, struct derived_info *info);

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
