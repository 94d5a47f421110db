/* SPDX-License-Identifier: MIT */
/* The public calls about errors, handlers, options and built-in names. */

#include "d/check/builtin.h"
#include "session/session.h"

/* ---- errors and handlers -------------------------------------------------------------------- */

int dtrace_errno(dtrace_hdl_t *dtp)
{
	return dtp->report.last_errno;
}

const char *dtrace_errmsg(dtrace_hdl_t *dtp, int error)
{
	if (dtp && dtp->report.last_err && error == dtp->report.last_errno)
		return err_text(dtp->report.last_err);
	return report_code_text(error);
}

const char *dtrace_errhint(dtrace_hdl_t *dtp)
{
	return dtp->report.last_err ? err_get_hint(dtp->report.last_err) : NULL;
}

int dtrace_handle_err(dtrace_hdl_t *dtp, dtrace_handle_err_f *func, void *arg)
{
	dtp->report.on.err.func = func;
	dtp->report.on.err.arg = arg;
	return 0;
}

int dtrace_handle_drop(dtrace_hdl_t *dtp, dtrace_handle_drop_f *func, void *arg)
{
	dtp->report.on.drop.func = func;
	dtp->report.on.drop.arg = arg;
	return 0;
}

int dtrace_handle_proc(dtrace_hdl_t *dtp, dtrace_handle_proc_f *func, void *arg)
{
	dtp->report.on.proc.func = func;
	dtp->report.on.proc.arg = arg;
	return 0;
}

int dtrace_handle_setopt(dtrace_hdl_t *dtp, dtrace_handle_setopt_f *func, void *arg)
{
	dtp->report.on.setopt.func = func;
	dtp->report.on.setopt.arg = arg;
	return 0;
}

int dtrace_handle_buffered(dtrace_hdl_t *dtp, dtrace_handle_buffered_f *func, void *arg)
{
	dtp->report.on.buffered.func = func;
	dtp->report.on.buffered.arg = arg;
	return 0;
}

int dtrace_handle_notice(dtrace_hdl_t *dtp, dtrace_handle_notice_f *func, void *arg)
{
	SESSION_CALL(dtp);

	report_on_notice(&dtp->report, func, arg);
	return 0;
}

/* ---- options -------------------------------------------------------------------------------- */

int dtrace_setopt(dtrace_hdl_t *dtp, const char *opt, const char *val)
{
	SESSION_CALL(dtp);
	struct err *e = options_set(&dtp->opts, opt, val, false);

	return e ? report_fail(&dtp->report, e) : 0;
}

int dtrace_getopt(dtrace_hdl_t *dtp, const char *opt, int64_t *ret_val)
{
	enum opt_id id;
	const struct opt_desc *d = opt_find(opt, &id);

	if (!d || d->class == OPTC_COMPILE)
		return report_fail(&dtp->report,
				   err_code(err_new("Invalid option name"), EDT_BADOPTNAME));
	*ret_val = dtp->opts.val[id];
	return 0;
}

int dtrace_option_iter(dtrace_hdl_t *dtp, dtrace_opt_f *func, void *arg)
{
	SESSION_CALL(dtp);

	for (int id = 0; id < OPT_COUNT; id++) {
		const struct opt_desc *d = &opt_descs[id];
		dtrace_optdesc_t desc = {d->name, opt_kind_name(d->kind), d->deflt, d->what,
					 (d->flags & OPTF_IGNORED) != 0};
		int rv;

		if (d->flags & OPTF_NOT_LINUX)
			continue;
		rv = func(&desc, arg);
		if (rv)
			return rv;
	}
	return 0;
}

/* clang-format off */
static const char *const subr_kinds[] = {
	[SUBR_FUNC] = "function", [SUBR_ACTION] = "action", [SUBR_AGGFUNC] = "aggregation"};

int dtrace_builtin_iter(dtrace_hdl_t *dtp, dtrace_builtin_f *func, void *arg)
{
	int rv = 0;
	SESSION_CALL(dtp);

	for (uint32_t i = 0; i < nbuiltin_vars && !rv; i++) {
		const struct builtin_var *v = &builtin_vars[i];
		dtrace_builtin_t b = {"variable", v->name, v->type, v->what};

		rv = func(&b, arg);
	}
	for (uint32_t i = 0; i < nsubrs && !rv; i++) {
		const struct subr *s = &subrs[i];
		dtrace_builtin_t b = {subr_kinds[s->class], s->name, s->proto, s->what};

		if (!s->why) /* Linux has the subroutine */
			rv = func(&b, arg);
	}
	return rv;
}
/* clang-format on */

void dtrace_dump_to(dtrace_hdl_t *dtp, FILE *fp)
{
	dtp->report.dump = fp;
	compiler_refresh(&dtp->compiler);
}
