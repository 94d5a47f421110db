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
#include "mdb/parked.h"
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

/* A dump, and what is needed to find what stands parked. */
struct dumping {
	dtrace_hdl_t *dtp;
	struct dump_opts opts;
	struct target *copy; /* of a process; NULL: none was made */
	struct dump dump;
	struct mdb *m;
	struct parked parked;
	struct err *no_parked;
};

static void copy_make(void *ctx, struct target *held)
{
	struct dumping *d = ctx;

	d->no_parked = target_copy_held(held, d->opts.tid, d->dtp->names.file_opts.gate, &d->copy);
}

static bool text_drop(void *ctx, const char *text, size_t len)
{
	(void)ctx;
	(void)text;
	(void)len;
	return true;
}

static void note_add(void *ctx, const char *text)
{
	struct dumping *d = ctx;

	strbuf_addf(&d->dump.notes, "%s\n", text);
}

/* Looks for them in the core file, or in the copy while the process runs on. */
static void parked_find(struct dumping *d, uint32_t most)
{
	struct mdb_opts opts = {
		.h = d->dtp,
		.core = d->opts.core,
		.pid = d->dump.pid,
		.target = d->copy,
		.keeps_options = true,
		.ctx = d,
		.write = text_drop,
		.error = note_add,
	};

	if (!d->no_parked) {
		d->no_parked = mdb_open(&opts, &d->m);
		d->copy = NULL;
	}
	if (!d->no_parked)
		d->no_parked = parked_read(d->m, 0, most, false, &d->parked);
	d->dump.has_parked = true;
	d->dump.parked = d->parked.all.data;
	d->dump.nparked = d->parked.all.len;
	d->dump.nmore = d->parked.nmore;
	d->dump.no_parked = d->no_parked ? err_text(d->no_parked) : NULL;
}

static struct err *dump_run(dtrace_hdl_t *dtp, struct ustacks *u, struct strbuf *out)
{
	uint32_t most = opt_u32(&dtp->opts, OPT_pstacktasks);
	const struct print_opts *print = &dtp->consumer.print_opts;
	struct dumping d = {.dtp = dtp, .opts.syms = names_syms(&dtp->names)};
	const struct dump_form form = {d.opts.syms, print};
	struct strbuf file = {0};
	struct err *e = dump_parse(dtp->opts.str[OPT_pstack], &file, &d.opts);

	if (!e && most && !d.opts.core && !d.opts.only) {
		d.opts.ctx = &d;
		d.opts.held = copy_make;
	}
	if (!e)
		e = ustacks_dump(u, &d.opts, &d.dump);
	if (!e && most && !d.opts.only && (d.opts.core || d.copy || d.no_parked))
		parked_find(&d, most);
	if (!e && (print->oformat == PRINT_JSON || print->oformat == PRINT_JSONL))
		dump_json(&d.dump, &form, out);
	else if (!e)
		dump_text(&d.dump, &form, out);
	parked_free(&d.parked);
	mdb_close(d.m);
	err_destroy(d.no_parked);
	dump_deinit(&d.dump);
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
