/* SPDX-License-Identifier: MIT */
/* Stacks of threads that are stopped, or of core files (options helpertrace and pstack). */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
#include "dtrace.h"
#include "sym/sym.h"
#include "helper/dump.h"
#include "helper/trace.h"
#include "helper/ustack.h"
#include "render/dump.h"
#include "render/print.h"
#include "session/session.h"

static bool address_name(void *ctx, pid_t pid, uint64_t addr, bool is_return, struct strbuf *out)
{
	dtrace_hdl_t *h = ctx;
	const dtrace_frame_t frame = {.dtf_addr = addr,
				      .dtf_pid = pid,
				      .dtf_flags = is_return ? DTRACE_FRAME_RETURN : 0};
	struct sym_name name = {0};
	bool is_known =
		print_frame_find(names_syms(&h->names), &h->consumer.print_opts, &frame, &name) &&
		name.name;

	print_frame_text(names_syms(&h->names), &h->consumer.print_opts, &frame, out);
	return is_known;
}

/* A number is a thread; a text with a '/' or one that names a file is a core file. */
static struct err *target_parse(const char *text, struct trace_opts *ret)
{
	char *end;
	long tid = strtol(text, &end, 10);

	ret->tid = (pid_t)tid;
	if (end != text && !*end && tid > 0 && tid <= INT32_MAX)
		return NULL;
	ret->tid = 0;
	ret->core = text;
	return access(text, F_OK) == 0
		       ? NULL
		       : err_new("option helpertrace: '%s' is no process or thread id, and no core "
				 "file",
				 text);
}

static struct err *trace_run(dtrace_hdl_t *dtp, struct ustacks *u, struct strbuf *out)
{
	const struct options *opts = &dtp->opts;
	struct trace_opts trace = {.max_frames = opt_u32(opts, OPT_jstackframes),
				   .strsize = opt_u32(opts, OPT_jstackstrsize),
				   .ctx = dtp,
				   .name = address_name};
	struct err *e =
		target_parse(opts->str[OPT_helpertrace] ? opts->str[OPT_helpertrace] : "", &trace);

	trace.syms = names_syms(&dtp->names);
	return e ? e : ustacks_trace(u, &trace, out);
}

static bool id_parse(const char *text, size_t len, pid_t *ret)
{
	char *end;
	long id = strtol(text, &end, 10);

	*ret = (pid_t)id;
	return len && *text >= '0' && *text <= '9' && end == text + len && id > 0 &&
	       id <= INT32_MAX;
}

/*
 * A file is a core file, a number a process or thread. "/" and a number behind it is the thread
 * that is wanted. file: room for the name of the file.
 */
static struct err *dump_parse(const char *text, struct strbuf *file, struct dump_opts *ret)
{
	const char *slash = strrchr(text, '/');
	size_t len = strlen(text);

	if (id_parse(text, len, &ret->tid))
		return NULL;
	ret->tid = 0;
	ret->core = text;
	if (access(text, F_OK) == 0)
		return NULL;
	if (!slash || !id_parse(slash + 1, strlen(slash + 1), &ret->only))
		return err_hint(err_sys(errno, "'%s' is no process id, and no core file", text),
				"pgrep -n NAME finds the newest process of a name");
	len = (size_t)(slash - text);
	if (id_parse(text, len, &ret->tid)) {
		ret->core = NULL;
		return NULL;
	}
	ret->tid = 0;
	strbuf_add(file, text, len);
	ret->core = strbuf_text(file);
	return access(ret->core, F_OK) == 0
		       ? NULL
		       : err_sys(errno, "'%s' is no process id, and no core file", ret->core);
}

static struct err *dump_run(dtrace_hdl_t *dtp, struct ustacks *u, struct strbuf *out)
{
	struct dump_opts opts = {.syms = names_syms(&dtp->names)};
	const struct print_opts *print = &dtp->consumer.print_opts;
	const struct dump_form form = {opts.syms, print};
	struct strbuf file = {0};
	struct dump d = {0};
	struct err *e = dump_parse(dtp->opts.str[OPT_pstack], &file, &opts);

	if (!e)
		e = ustacks_dump(u, &opts, &d);
	if (!e && (print->oformat == PRINT_JSON || print->oformat == PRINT_JSONL))
		dump_json(&d, &form, out);
	else if (!e)
		dump_text(&d, &form, out);
	dump_deinit(&d);
	strbuf_deinit(&file);
	return e;
}

int dtrace_helper_trace(dtrace_hdl_t *dtp, FILE *fp)
{
	const char *pstack = dtp->opts.str[OPT_pstack];
	struct ustacks *u = NULL;
	struct strbuf out = {0};
	struct ustack_opts how;
	struct err *e;
	SESSION_CALL(dtp);

	compiler_refresh(&dtp->compiler);
	live_helper_opts(&dtp->live, &how);
	e = ustacks_create(&how, &u);
	if (!e)
		e = pstack && *pstack ? dump_run(dtp, u, &out) : trace_run(dtp, u, &out);
	ustacks_destroy(u);
	if (out.len && fputs(strbuf_text(&out), fp) == EOF && !e)
		e = err_sys(errno, "cannot write the stacks");
	strbuf_deinit(&out);
	return e ? report_fail(&dtp->report, e) : 0;
}
