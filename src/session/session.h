/*
 * A tracing session: what a dtrace_hdl_t is inside. Implements include/dtrace.h.
 *
 * The order of a run (go.c): compile -> match probes -> layout -> maps -> units (generate, link, load)
 * -> BEGIN -> attach -> state ON ... exit() or stop -> detach -> END -> drain -> print aggregations.
 *
 * Owns     everything of the handle: compiler session, probe registry, layout, maps, attachments,
 *          ring consumers, printer.
 */
#pragma once

#include "agg/agg.h"
#include "bpf/kernel.h"
#include "d/compile.h"
#include "dtrace.h"
#include "print/print.h"
#include "probe/probe.h"
#include "session/options.h"

struct proc; /* -c and -p targets (proc.c) */
struct rings; /* consumer side of the ring buffers (rings.c) */

struct session_unit {
	struct unit unit;
	const struct provider *provider;
	struct loaded loaded;
	struct probe **probes; /* enabled ones of this unit, for attach() */
	uint32_t nprobes;
};

struct dtrace_prog {
	struct prog *prog;
	char *name;
	bool is_enabled;
	dtrace_proginfo_t info;
};

struct dtrace_hdl {
	struct arena *arena; /* of the handle */
	struct options opts;
	struct compile_opts compile_opts;
	struct compile_env compile_env;
	struct dsession *dsession;
	struct probes *probes;
	VEC(struct dtrace_prog *) progs;
	VEC(struct prog_clause *) clauses; /* enabled, index order */

	/* after dtrace_go() */
	struct layout *layout;
	struct strtab *strtab;
	struct kmaps *maps;
	VEC(struct session_unit *) units;
	struct attachments attachments;
	struct rings *rings;
	struct aggs *aggs;
	struct printer *printer;
	struct print_opts print_opts;
	bool is_active, is_stopped, exit_seen;
	int exit_status;

	VEC(struct proc *) procs;
	struct err *last_err;
	int last_errno;
	struct { dtrace_handle_msg_f *func; void *arg; } on_err, on_drop, on_notice, on_proc;
	FILE *dump;
};
