/* The handle: opening, closing, errors, handlers, options. */
#include <errno.h>
#include <strings.h>
#include <time.h>

#include "d/builtin.h"
#include "consume/rings.h"
#include "session/session.h"
#include "sym/sym.h"

static _Thread_local char open_errmsg[1024];

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

const char *dtrace_open_errmsg(void)
{
	return open_errmsg;
}

static int handler_set(struct report_handler *to, dtrace_handle_msg_f *func, void *arg)
{
	*to = (struct report_handler){func, arg};
	return 0;
}

int dtrace_handle_err(dtrace_hdl_t *dtp, dtrace_handle_msg_f *func, void *arg)
{
	return handler_set(&dtp->report.on_err, func, arg);
}

int dtrace_handle_drop(dtrace_hdl_t *dtp, dtrace_handle_msg_f *func, void *arg)
{
	return handler_set(&dtp->report.on_drop, func, arg);
}

int dtrace_handle_proc(dtrace_hdl_t *dtp, dtrace_handle_msg_f *func, void *arg)
{
	return handler_set(&dtp->report.on_proc, func, arg);
}

/* Compiling gives notices too, often before the handler is set: it gets them now. */
int dtrace_handle_notice(dtrace_hdl_t *dtp, dtrace_handle_msg_f *func, void *arg)
{
	struct report *r = &dtp->report;

	(void)handler_set(&r->on_notice, func, arg);
	for (uint32_t i = 0; i < r->notices.len; i++) {
		(void)report_tell(r, &r->on_notice, r->notices.data[i]);
		free(r->notices.data[i]);
	}
	vec_clear(&r->notices);
	return 0;
}

/* ---- options -------------------------------------------------------------------------------- */

static enum print_encoding encoding_of(const dtrace_hdl_t *h)
{
	switch (h->opts.val[OPT_encoding]) {
	case 0: return PRINT_ENCODING_ASCII;
	case 1: return PRINT_ENCODING_UTF8;
	default: return PRINT_ENCODING_UNSET;
	}
}

void session_refresh_opts(dtrace_hdl_t *h)
{
	compiler_refresh(&h->compiler);
	probes_set_classic(h->probes, h->opts.val[OPT_syscallview] == SYSCALLVIEW_CLASSIC);
	h->file_opts.debug_dirs =
		h->opts.str[OPT_debugdir] ? h->opts.str[OPT_debugdir] : DEBUG_DIRS_DEFAULT;
	h->file_opts.limit = (uint64_t)h->opts.val[OPT_elfsize];
	probes_set_files(h->probes, &h->file_opts);
	probes_set_raw(h->probes, !opt_flag(&h->opts, OPT_demangle));
	h->print_opts = (struct print_opts){
		.quiet = opt_flag(&h->opts, OPT_quiet),
		.flowindent = opt_flag(&h->opts, OPT_flowindent),
		.rawbytes = opt_flag(&h->opts, OPT_rawbytes),
		.noresolve = opt_flag(&h->opts, OPT_noresolve),
		.lines = opt_flag(&h->opts, OPT_lines),
		.agghist = opt_flag(&h->opts, OPT_agghist),
		.aggpack = opt_flag(&h->opts, OPT_aggpack),
		.aggzoom = opt_flag(&h->opts, OPT_aggzoom),
		.encoding = encoding_of(h),
		.oformat = (enum print_oformat)h->opts.val[OPT_oformat],
		.stackmerge = (enum print_merge)h->opts.val[OPT_stackmerge],
		.sort =
			{
				.key = opt_flag(&h->opts, OPT_aggsortkey),
				.rev = opt_flag(&h->opts, OPT_aggsortrev),
				.keypos = opt_u32(&h->opts, OPT_aggsortkeypos),
				.pos = opt_u32(&h->opts, OPT_aggsortpos),
			},
		.printsize = opt_u32(&h->opts, OPT_printsize),
		.stackindent = opt_u32(&h->opts, OPT_stackindent),
		.target_pid = (uint64_t)targets_first(&h->targets),
		.is_testing = getenv("_DTRACE_TESTING") != NULL,
	};
	session_refresh_syms(h);
}

int dtrace_setopt(dtrace_hdl_t *dtp, const char *opt, const char *val)
{
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

	(void)dtp;
	for (uint32_t i = 0; i < nbuiltin_vars && !rv; i++) {
		const struct builtin_var *v = &builtin_vars[i];
		dtrace_builtin_t b = {"variable", v->name, v->type, v->what};

		rv = func(&b, arg);
	}
	for (uint32_t i = 0; i < nsubrs && !rv; i++) {
		const struct subr *s = &subrs[i];
		dtrace_builtin_t b = {subr_kinds[s->class], s->name, s->proto, s->what};

		if (!s->why) /* it is there on Linux */
			rv = func(&b, arg);
	}
	return rv;
}
/* clang-format on */

/* DTRACE_OPT_NAME in the environment. */
static struct err *options_from_env(struct options *o)
{
	for (int id = 0; id < OPT_COUNT; id++) {
		struct strbuf name = {0};
		const char *value;
		struct err *e = NULL;

		strbuf_adds(&name, "DTRACE_OPT_");
		for (const char *p = opt_descs[id].name; *p; p++)
			strbuf_addc(&name, (char)(*p & ~0x20));
		value = getenv(name.data);
		if (value)
			e = options_set(o, opt_descs[id].name, *value ? value : NULL, false);
		if (e)
			e = err_wrap(e, "failed to set option from environment variable %s",
				     name.data);
		strbuf_deinit(&name);
		if (e)
			return e;
	}
	return NULL;
}

/* ---- opening and closing -------------------------------------------------------------------- */

static struct err *open_checks(int version, int flags)
{
	if (version > DTRACE_VERSION)
		return err_code(err_new("%s", report_code_text(EDT_VERSION)), EDT_VERSION);
	if (version < 1)
		return err_code(err_new("%s", report_code_text(EDT_OVERSION)), EDT_OVERSION);
	return flags & DTRACE_O_NODEV ? NULL : kernel_check();
}

static void options_changed(void *ctx)
{
	session_refresh_opts(ctx);
}

static void probe_notice(void *ctx, const char *msg)
{
	report_notice(ctx, "%s", msg);
}

dtrace_hdl_t *dtrace_open(int version, int flags, int *errp)
{
	struct err *e = open_checks(version, flags);
	dtrace_hdl_t *h = NULL;

	if (!e) {
		h = xcalloc(1, sizeof(*h));
		h->arena = arena_create();
		h->flags = (unsigned int)flags;
		h->exit_status = -1;
		h->probes = probes_create();
		probes_on_notice(h->probes, probe_notice, &h->report);
		options_init(&h->opts);
		report_init(&h->report, h, &h->opts);
		targets_init(&h->targets, &h->opts, &h->report, h->probes);
		compiler_init(&h->compiler, h->arena, &h->opts, &h->report, h->probes, &h->targets);
		options_on_change(&h->opts, options_changed, h);
		e = options_from_env(&h->opts);
		session_refresh_opts(h);
	}
	if (e) {
		const char *hint = err_get_hint(e);

		(void)snprintf(open_errmsg, sizeof(open_errmsg), "%s%s%s", err_text(e),
			       hint ? "\nhint: " : "", hint ? hint : "");
		*errp = err_get_code(e)	 ? err_get_code(e)
			: err_get_sys(e) ? err_get_sys(e)
					 : EDT_NOENT;
		err_destroy(e);
		dtrace_close(h);
		return NULL;
	}
	return h;
}

void dtrace_dump_to(dtrace_hdl_t *dtp, FILE *fp)
{
	dtp->report.dump = fp;
	compiler_refresh(&dtp->compiler);
}

void dtrace_close(dtrace_hdl_t *dtp)
{
	dtrace_hdl_t *h = dtp;

	if (!h)
		return;
	session_undo_go(h);
	compiler_dump_types(&h->compiler);
	targets_deinit(&h->targets);
	for (uint32_t i = 0; i < h->clauses.len; i++)
		vec_deinit(&h->clauses.data[i].late);
	vec_deinit(&h->clauses);
	compiler_deinit(&h->compiler);
	syms_destroy(h->syms);
	probes_destroy(h->probes);
	options_deinit(&h->opts);
	report_deinit(&h->report);
	arena_destroy(h->arena);
	free(h);
}
