/* SPDX-License-Identifier: MIT */
/* Shows what ustack helpers do for one stack (option helpertrace). */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
#include "dtrace.h"
#include "render/print.h"
#include "session/session.h"
#include "sym/sym.h"
#include "helper/trace.h"
#include "helper/ustack.h"

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

int dtrace_helper_trace(dtrace_hdl_t *dtp, FILE *fp)
{
	const struct options *opts = &dtp->opts;
	struct trace_opts trace = {.max_frames = opt_u32(opts, OPT_jstackframes),
				   .strsize = opt_u32(opts, OPT_jstackstrsize),
				   .ctx = dtp,
				   .name = address_name};
	struct ustacks *u = NULL;
	struct strbuf out = {0};
	struct ustack_opts how;
	struct err *e =
		target_parse(opts->str[OPT_helpertrace] ? opts->str[OPT_helpertrace] : "", &trace);
	SESSION_CALL(dtp);

	compiler_refresh(&dtp->compiler);
	live_helper_opts(&dtp->live, &how);
	trace.syms = names_syms(&dtp->names);
	if (!e)
		e = ustacks_create(&how, &u);
	if (!e)
		e = ustacks_trace(u, &trace, &out);
	ustacks_destroy(u);
	if (out.len && fputs(strbuf_text(&out), fp) == EOF && !e)
		e = err_sys(errno, "cannot write what the helpers do");
	strbuf_deinit(&out);
	return e ? report_fail(&dtp->report, e) : 0;
}
