/* SPDX-License-Identifier: MIT */
/*
 * The compile phase of a session: turns D text into clauses, with the D library, the types of the
 * kernel, and the probes that are declared in D.
 *
 * The compiler does not know whether programs run. Its own session (d/compile.h) is made when the
 * first text is compiled.
 *
 * Owns     the library, types, symbols that were looked up, and the programs.
 * Errors   struct err * with the code EDT_COMPILER, or the code of the call that failed.
 */
#pragma once

#include "base/hashmap.h"
#include "base/vec.h"
#include "d/compile.h"
#include "d/types/import.h"
#include "dtrace.h"
#include "library/library.h"
#include "probe/probe.h"

struct options;
struct report;
struct targets;

struct dtrace_prog {
	struct prog *prog;
	char *name;
	char *text;	/* for reports and the titles of pictures */
	bool is_script; /* from a file, whose name is the program's */
	bool is_enabled;
	dtrace_proginfo_t info;
};

struct compiler {
	/* These belong to the handle. */
	struct arena *arena;
	struct options *opts; /* pragmas in the text set some */
	struct report *report;
	struct probes *probes;
	struct targets *targets;	     /* $target */
	const struct privileges *privileges; /* NULL: all of them */
	/* The rest belongs to the compiler. */
	unsigned int cflags; /* DTRACE_C_* of the compile that runs */
	struct cpp_opts cpp_opts;
	struct compile_opts compile_opts;
	struct compile_env env;
	struct dsession *dsession;     /* NULL until the first text is compiled */
	struct btf_import *btf_import; /* kernel types for dsession */
	struct library *library;
	struct hashmap *symbols; /* "module`name" -> struct kallsym; NULL until the first lookup */
	VEC(struct dtrace_prog *) progs;
};

/* The arguments are the parts of the handle that the compiler uses; they outlive the compiler. */
void compiler_init(struct compiler *c, struct arena *a, struct options *opts, struct report *report,
		   struct probes *probes, struct targets *targets);
void compiler_deinit(struct compiler *c);
/* Takes over changed options. */
void compiler_refresh(struct compiler *c);
/* Makes the compiler's session when there is none yet. */
void compiler_need_dsession(struct compiler *c);

struct program_text {
	enum source_kind kind;
	const char *name, *text; /* name: of the file; empty for SOURCE_STRING */
	size_t len;
	enum spec_context spec;
	unsigned int cflags; /* DTRACE_C_* */
	int argc;
	char *const *argv;
};
MUST_CHECK struct err *compiler_compile(struct compiler *c, const struct program_text *text,
					struct dtrace_prog **ret);
/* Options ctypes and dtypes: writes the types to the files that they name (typedump.c). */
void compiler_dump_types(const struct compiler *c);

/* derived.c: makes the compiler the source of the probes that are declared in D. */
void derived_init(struct compiler *c);
/* derived.c: the hint when a declared probe has no such module or function. */
const char *derived_hint_module(struct compiler *c, const struct probe_desc *desc);
/* derived.c: finds probes that are declared in D, for compile_env.derived; ctx: the compiler. */
const struct derived_info *derived_find(void *ctx, const struct probe_desc *desc, uint32_t i,
					uint32_t *ret_nplain);
/* symbols.c: finds a symbol of the kernel, for compile_env.symbol; ctx: the compiler. */
MUST_CHECK struct err *symbol_find(void *ctx, const char *module, const char *name, bool *ret_found,
				   struct kallsym *ret);

/*
 * stability.c: returns the least attributes of the providers whose probes match the description;
 * false: no probe matches.
 */
bool stability_of_probes(struct probes *ps, const struct probe_desc *desc, struct attr *ret);
/* The attributes of a probe, and of its parts: NPARTS of them. */
void stability_of_probe(struct probes *ps, const struct probe *pr, struct attr *ret,
			struct attr *ret_parts);
/* Returns true if args[] of the two probes have the same types. */
bool probes_have_same_args(struct probes *ps, const struct probe *a, const struct probe *b);
