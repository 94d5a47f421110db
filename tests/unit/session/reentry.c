/* SPDX-License-Identifier: MIT */
/*
 * What a callback or handler must not do: close its handle, begin, consume or read again. Each is
 * refused with EDT_ACTIVE from each kind of callback, and the session goes on as if nothing had
 * been tried.
 */
#include "api.h"

enum kind {
	IN_PROBE,
	IN_RECORD,
	IN_TEXT,
	IN_FAULT,
	IN_NOTICE,
	IN_SETOPT,
	IN_PROC,
	IN_WALK,
	IN_JOINED,
	IN_PRINT,
	IN_PROBES,
	IN_DESCS,
	IN_OPTIONS,
	IN_BUILTINS,
	KINDS
};

/* clang-format off */
static const char *const kind_names[] = {
	[IN_PROBE] = "the probe callback",	   [IN_RECORD] = "the record callback",
	[IN_TEXT] = "the handler of text",	   [IN_FAULT] = "the handler of faults",
	[IN_NOTICE] = "the handler of notices",	   [IN_SETOPT] = "the handler of options",
	[IN_PROC] = "the handler of processes",	   [IN_WALK] = "a walk",
	[IN_JOINED] = "a joined walk",		   [IN_PRINT] = "the walk of a printout",
	[IN_PROBES] = "dtrace_probe_iter()",	   [IN_DESCS] = "dtrace_desc_iter()",
	[IN_OPTIONS] = "dtrace_option_iter()",	   [IN_BUILTINS] = "dtrace_builtin_iter()",
};
/* clang-format on */

struct tried {
	dtrace_hdl_t *h;
	uint32_t calls[KINDS], refused[KINDS]; /* refused: all that was tried in the call */
};

static bool is_refused(dtrace_hdl_t *h, int result, const char *name)
{
	char want[64];

	(void)snprintf(want, sizeof(want), "%s() was called by a callback", name);
	if (result == -1 && dtrace_errno(h) == EDT_ACTIVE &&
	    strcmp(dtrace_errmsg(h, EDT_ACTIVE), want) == 0)
		return true;
	printf("# %s(): %d, %s\n", name, result, dtrace_errmsg(h, dtrace_errno(h)));
	return false;
}

static void try_all(struct tried *t, enum kind kind)
{
	dtrace_hdl_t *h = t->h;
	bool is_good = is_refused(h, dtrace_close(h), "dtrace_close");

	/* until dtrace_go() has returned there is nothing to consume */
	if (kind != IN_NOTICE && kind != IN_OPTIONS && kind != IN_BUILTINS) {
		is_good &= is_refused(h, dtrace_work(h, NULL, NULL, NULL, NULL), "dtrace_work");
		is_good &= is_refused(h, dtrace_aggregate_snap(h), "dtrace_aggregate_snap");
		is_good &= is_refused(h, dtrace_aggregate_clear(h), "dtrace_aggregate_clear");
		is_good &= is_refused(h, dtrace_output_end(h, stdout), "dtrace_output_end");
		is_good &= is_refused(h, dtrace_aggregate_print(h, NULL, NULL),
				      "dtrace_aggregate_print");
	} else {
		is_good &= is_refused(h, dtrace_go(h), "dtrace_go");
	}
	t->calls[kind]++;
	t->refused[kind] += is_good;
}

static int on_probe(const dtrace_probedata_t *data, void *arg)
{
	(void)data;
	try_all(arg, IN_PROBE);
	return DTRACE_CONSUME_THIS;
}

static int on_rec(const dtrace_probedata_t *data, const dtrace_recdesc_t *rec, void *arg)
{
	(void)data;
	(void)rec;
	try_all(arg, IN_RECORD);
	return DTRACE_CONSUME_THIS;
}

static int on_text(const dtrace_bufdata_t *buf, void *arg)
{
	(void)buf;
	try_all(arg, IN_TEXT);
	return DTRACE_HANDLE_OK;
}

static int on_fault(const dtrace_errdata_t *fault, void *arg)
{
	(void)fault;
	try_all(arg, IN_FAULT);
	return DTRACE_HANDLE_OK;
}

static int on_notice(dtrace_hdl_t *h, const char *msg, void *arg)
{
	(void)h;
	(void)msg;
	try_all(arg, IN_NOTICE);
	return DTRACE_HANDLE_OK;
}

static int on_setopt(const dtrace_setoptdata_t *opt, void *arg)
{
	(void)opt;
	try_all(arg, IN_SETOPT);
	return DTRACE_HANDLE_OK;
}

static int on_proc(dtrace_hdl_t *h, pid_t pid, const char *msg, void *arg)
{
	(void)h;
	(void)pid;
	(void)msg;
	try_all(arg, IN_PROC);
	return DTRACE_HANDLE_OK;
}

static int on_row(const dtrace_aggdata_t *row, void *arg)
{
	(void)row;
	try_all(arg, IN_WALK);
	return DTRACE_AGGWALK_NEXT;
}

static int on_rows(const dtrace_aggdata_t **rows, const int n, void *arg)
{
	(void)rows;
	(void)n;
	try_all(arg, IN_JOINED);
	return DTRACE_AGGWALK_NEXT;
}

static struct tried *of_print; /* dtrace_aggregate_print() hands no argument to its walk */

static int print_walk(dtrace_hdl_t *h, dtrace_aggregate_f *func, void *arg)
{
	try_all(of_print, IN_PRINT);
	return dtrace_aggregate_walk_keysorted(h, func, arg); /* walks may be nested */
}

static int on_listed(dtrace_hdl_t *h, const dtrace_probedesc_t *pd, void *arg)
{
	(void)h;
	(void)pd;
	try_all(arg, IN_PROBES);
	return 1;
}

static int on_desc(dtrace_hdl_t *h, const dtrace_probedesc_t *pd, void *arg)
{
	(void)h;
	(void)pd;
	try_all(arg, IN_DESCS);
	return 0;
}

static int on_option(const dtrace_optdesc_t *opt, void *arg)
{
	(void)opt;
	try_all(arg, IN_OPTIONS);
	return 1;
}

static int on_builtin(const dtrace_builtin_t *b, void *arg)
{
	(void)b;
	try_all(arg, IN_BUILTINS);
	return 1;
}

int main(void)
{
	static const char program[] =
		"BEGIN { @a[1] = count(); @b[1] = sum(2); trace(\"x\"); }\n"
		"BEGIN { printa(\"%@d\\n\", @a); setopt(\"quiet\"); }\n"
		"BEGIN { n = 0; } BEGIN { trace(1 / n); }\n"
		"syscall::exit_group:entry /pid == $target/ { trace(\"ends\"); }\n";
	dtrace_aggid_t ids[] = {1, 2};
	char *args[] = {(char *)(uintptr_t) "reentry", NULL};
	dtrace_hdl_t *h = api_open();
	struct tried t = {.h = h};
	dtrace_prog_t *prog;

	of_print = &t;
	(void)dtrace_handle_notice(h, on_notice, &t);
	(void)dtrace_handle_buffered(h, on_text, &t);
	(void)dtrace_handle_err(h, on_fault, &t);
	(void)dtrace_handle_setopt(h, on_setopt, &t);
	(void)dtrace_handle_proc(h, on_proc, &t);
	(void)dtrace_option_iter(h, on_option, &t);
	(void)dtrace_builtin_iter(h, on_builtin, &t);
	is_int(dtrace_proc_create(h, "true"), 0, "a target");
	prog = dtrace_program_strcompile(h, program, DTRACE_PROBESPEC_NAME, 0, 1, args);
	ok(prog && dtrace_program_exec(h, prog, NULL) == 0, "%s",
	   prog ? "compiles" : dtrace_errmsg(h, dtrace_errno(h)));
	is_int(dtrace_setopt(h, "statusrate", "60s"), 0, "a rate that a notice says is adjusted");
	is_int(dtrace_go(h), 0, "goes");
	(void)dtrace_probe_iter(h, NULL, on_listed, &t);
	(void)dtrace_desc_iter(h, prog, on_desc, &t);
	is_int(dtrace_proc_continue(h), 0, "the target runs");
	is_int(api_work(h, NULL, on_probe, on_rec, &t), DTRACE_WORKSTATUS_DONE, "consumes it all");
	is_int(dtrace_aggregate_snap(h), 0, "reads");
	is_int(dtrace_aggregate_walk(h, on_row, &t), 0, "walks");
	is_int(dtrace_aggregate_walk_joined(h, ids, 2, on_rows, &t), 0, "walks side by side");
	is_int(dtrace_aggregate_print(h, NULL, print_walk), 0, "prints");
	for (int k = 0; k < KINDS; k++)
		ok(t.calls[k] > 0 && t.refused[k] == t.calls[k], "%s: refused in %u of %u calls",
		   kind_names[k], t.refused[k], t.calls[k]);
	is_int(dtrace_close(h), 0, "is closed afterwards");
	is_int(dtrace_close(NULL), 0, "NULL");
	return tap_done();
}
