/* SPDX-License-Identifier: MIT */
/*
 * The phases of a session, in order: open, compile, match, load, go, work, stop, close. The work of
 * each phase is in the file of its part (session.h).
 */
#include <errno.h>

#include "base/str.h"
#include "consume/wait.h"
#include "kernel/capabilities.h"
#include "kernel/kernel.h"
#include "kernel/quota.h"
#include "kernel/withheld.h"
#include "privilege/rights.h"
#include "session/session.h"
#include "session/sized.h"
#include "session/tracing.h"

static _Thread_local char open_errmsg[1024];

/* ---- open ----------------------------------------------------------------------------------- */

static struct err *open_checks(int version, int flags, struct privileges *ret_privileges)
{
	struct rights rights;
	struct err *e;

	if (version > DTRACE_VERSION)
		return err_code(err_new("%s", report_code_text(EDT_VERSION)), EDT_VERSION);
	if (version < DTRACE_VERSION)
		return err_code(err_new("%s", report_code_text(EDT_OVERSION)), EDT_OVERSION);
	*ret_privileges = PRIVILEGES_ALL;
	if (flags & DTRACE_O_LEVELS) {
		e = rights_take(!(flags & DTRACE_O_NODEV), &rights);
		if (e)
			return err_code(e, EDT_ACCESS);
		*ret_privileges = rights.privileges;
	}
	return flags & DTRACE_O_NODEV ? NULL : kernel_check();
}

static void notice_give(void *ctx, const char *msg)
{
	report_notice(ctx, "%s", msg);
}

static void adjusted_give(void *ctx, const char *msg)
{
	report_adjusted(ctx, "%s", msg);
}

/* The option sched belongs to the thread that sets it. */
static void class_refresh(dtrace_hdl_t *h)
{
	bool wants = h->opts.val[OPT_sched] == SCHED_OPT_REALTIME;

	if (wants && !h->realtime) {
		h->realtime = realtime_begin();
	} else if (!wants && h->realtime) {
		struct realtime *r = h->realtime;

		h->realtime = NULL; /* a signal handler may use it */
		realtime_end(r);
	}
}

/* Lets each part take over the options that it uses. */
static void options_changed(void *ctx)
{
	dtrace_hdl_t *h = ctx;

	class_refresh(h);
	compiler_refresh(&h->compiler);
	names_refresh(&h->names);
	env_set_view(&h->env, (enum probe_view)h->opts.val[OPT_syscallview]);
	env_set_harmful(&h->env, opt_flag(&h->opts, OPT_harmful));
	h->env.files = &h->names.file_opts;
	probes_set_raw(h->probes, !opt_flag(&h->opts, OPT_demangle));
	consumer_refresh(&h->consumer);
}

static dtrace_hdl_t *handle_create(void)
{
	dtrace_hdl_t *h = xcalloc(1, sizeof(*h));

	h->arena = arena_create();
	options_init(&h->opts);
	h->privileges = PRIVILEGES_ALL;
	h->opts.privileges = &h->privileges;
	h->env.privileges = &h->privileges;
	report_init(&h->report, h, &h->opts);
	h->probes = probes_create(&h->env);
	h->env.on_notice = notice_give;
	h->env.notice_ctx = &h->report;
	h->env.on_adjusted = adjusted_give;
	h->env.adjusted_ctx = &h->report;
	names_init(&h->names, &h->opts, &h->report);
	targets_init(&h->targets, &h->opts, &h->report, &h->env, &h->live.is_interrupted);
	compiler_init(&h->compiler, h->arena, &h->opts, &h->report, h->probes, &h->targets);
	h->compiler.privileges = &h->privileges;
	match_init(&h->match, h->arena, h->probes);
	live_init(&h->live, &(struct live){.arena = h->arena,
					   .privileges = &h->privileges,
					   .opts = &h->opts,
					   .report = &h->report,
					   .compiler = &h->compiler,
					   .targets = &h->targets,
					   .names = &h->names,
					   .match = &h->match,
					   .engine_choice = engine_list});
	arrivals_init(&h->arrivals, &(struct arrivals){.live = &h->live,
						       .match = &h->match,
						       .probes = h->probes,
						       .env = &h->env,
						       .report = &h->report,
						       .compiler = &h->compiler});
	consumer_init(&h->consumer, &h->arrivals);
	options_on_change(&h->opts, options_changed, h);
	return h;
}

static void open_fail(struct err *e, int *errp)
{
	const char *hint = err_get_hint(e);

	(void)snprintf(open_errmsg, sizeof(open_errmsg), "%s%s%s", err_text(e),
		       hint ? "\nhint: " : "", hint ? hint : "");
	*errp = err_get_code(e) ? err_get_code(e) : err_get_sys(e) ? err_get_sys(e) : EDT_NOENT;
	err_destroy(e);
}

/* Tells which options of the environment are not heeded, because the user may not choose them. */
static void environment_tell(dtrace_hdl_t *h)
{
	static const char prefix[] = "DTRACE_OPT_";
	uint32_t n = 0;
	const char *first = NULL;

	for (char **v = environ; capabilities_are_held() && v && *v; v++)
		if (strncmp(*v, prefix, sizeof(prefix) - 1) == 0) {
			first = first ? first : *v;
			n++;
		}
	if (!first)
		return;
	report_adjusted(&h->report,
			"options in the environment are not heeded by a session with levels: "
			"'%.*s'%s\nhint: use -x",
			(int)MIN(strcspn(first, "="), 64), first, n > 1 ? " and others" : "");
}

dtrace_hdl_t *dtrace_open(int version, int flags, int *errp)
{
	struct privileges privileges;
	struct err *e = open_checks(version, flags, &privileges);
	dtrace_hdl_t *h = NULL;

	if (!e) {
		h = handle_create();
		h->privileges = privileges;
		e = options_from_env(&h->opts);
		environment_tell(h);
		options_changed(h);
	}
	if (!e)
		return h;
	open_fail(e, errp);
	(void)dtrace_close(h);
	return NULL;
}

int dtrace_levels_print(FILE *fp)
{
	struct rights rights;
	struct err *e = rights_find(&rights);
	char text[1024];
	int sys;

	if (e) {
		open_fail(e, &sys);
		return -1;
	}
	return fprintf(fp, "%s\n", rights_text(&rights, text, sizeof(text))) < 0 ? -1 : 0;
}

const char *dtrace_open_errmsg(void)
{
	return open_errmsg;
}

struct err *session_check_idle(const dtrace_hdl_t *h, const char *name)
{
	if (!h->ncalls)
		return NULL;
	return err_code(err_new("%s was called by a callback", name), EDT_ACTIVE);
}

/* ---- what takes long ------------------------------------------------------------------------- */

int dtrace_activity_sized(dtrace_hdl_t *dtp, dtrace_activity_t *ret, size_t size)
{
	struct activity *a = &dtp->report.activity;
	uint64_t now = now_ns(), since = atomic_load(&a->since);

	dtrace_activity_t made = {
		.dac_what = atomic_load(&a->what),
		.dac_done = atomic_load(&a->done),
		.dac_total = atomic_load(&a->total),
		.dac_ns = now > since ? now - since : 0,
	};

	sized_copy(ret, size, &made, sizeof(made));
	return made.dac_what != NULL;
}

/* ---- compile -------------------------------------------------------------------------------- */

static struct err *active_check(const dtrace_hdl_t *h)
{
	if (!h->live.is_active)
		return NULL;
	return err_code(err_new("Operation illegal when tracing is active"), EDT_ACTIVE);
}

static dtrace_prog_t *compile(dtrace_hdl_t *h, const struct program_text *text)
{
	struct err *e = active_check(h);
	dtrace_prog_t *p = NULL;
	SESSION_CALL(h);

	if (!e) {
		report_begin(&h->report, "finding probes", 0);
		e = compiler_compile(&h->compiler, text, &p);
		report_end(&h->report);
	}
	return session_result(h, e) ? NULL : p;
}

dtrace_prog_t *dtrace_program_strcompile(dtrace_hdl_t *dtp, const char *text,
					 dtrace_probespec_t spec, unsigned int cflags, int argc,
					 char *const argv[])
{
	static const enum spec_context contexts[] = {
		[DTRACE_PROBESPEC_PROVIDER] = SPEC_CTX_PROVIDER,
		[DTRACE_PROBESPEC_MOD] = SPEC_CTX_MODULE,
		[DTRACE_PROBESPEC_FUNC] = SPEC_CTX_FUNCTION,
		[DTRACE_PROBESPEC_NAME] = SPEC_CTX_NAME,
	};
	enum spec_context ctx = SPEC_CTX_NAME;
	struct err *e;

	if (spec != DTRACE_PROBESPEC_NONE) {
		if ((unsigned int)spec >= ARRAY_LEN(contexts)) {
			e = err_new("%s: there is no form number %d",
				    report_code_text(EDT_BADPROBE), (int)spec);
			(void)session_result(dtp, err_code(e, EDT_BADPROBE));
			return NULL;
		}
		ctx = contexts[spec];
	}
	return compile(dtp, &(struct program_text){.kind = SOURCE_STRING,
						   .name = "",
						   .text = text,
						   .len = strlen(text),
						   .spec = ctx,
						   .cflags = cflags,
						   .argc = argc,
						   .argv = argv});
}

static struct err *script_read(FILE *fp, const char *name, struct strbuf *out)
{
	struct err *e = fileno(fp) >= 0 ? withheld_check(fileno(fp), name) : NULL;
	char buf[16384];
	size_t n;

	if (e)
		return err_code(e, EDT_FIO);
	while ((n = fread(buf, 1, sizeof(buf), fp)) > 0) {
		strbuf_add(out, buf, n);
		if (out->len > SOURCE_MAX)
			return err_code(err_new("script is longer than %u bytes", SOURCE_MAX),
					EDT_FIO);
	}
	if (ferror(fp))
		return err_code(err_sys(errno, "Error occurred while reading from input stream"),
				EDT_FIO);
	return NULL;
}

dtrace_prog_t *dtrace_program_fcompile(dtrace_hdl_t *dtp, FILE *fp, const char *name,
				       unsigned int cflags, int argc, char *const argv[])
{
	struct strbuf text = {0};
	struct err *e = script_read(fp, name, &text);
	dtrace_prog_t *p = NULL;

	if (e)
		report_fail(&dtp->report, e);
	else
		p = compile(dtp, &(struct program_text){.kind = SOURCE_FILE,
							.name = name,
							.text = strbuf_text(&text),
							.len = text.len,
							.spec = SPEC_CTX_NAME,
							.cflags = cflags,
							.argc = argc,
							.argv = argv});
	strbuf_deinit(&text);
	return p;
}

int dtrace_program_exec_sized(dtrace_hdl_t *dtp, dtrace_prog_t *pgp, dtrace_proginfo_t *info,
			      size_t size)
{
	struct err *e = active_check(dtp);
	SESSION_CALL(dtp);

	if (!e)
		e = program_describe(dtp, pgp);
	if (e)
		return report_fail(&dtp->report, e);
	pgp->is_enabled = true;
	if (info)
		sized_copy(info, size, &pgp->info, sizeof(pgp->info));
	return 0;
}

/* ---- match, load, go ------------------------------------------------------------------------ */

static struct err *session_go(dtrace_hdl_t *h)
{
	struct err *e = targets_hold(&h->targets);

	if (!e)
		e = tracing_match(&h->arrivals);
	if (!e)
		e = tracing_load(&h->arrivals);
	if (!e)
		e = consumer_start(&h->consumer);
	for (uint32_t i = 0; i < h->compiler.progs.len && !e; i++)
		printer_add_program(h->consumer.printer, h->compiler.progs.data[i]->name,
				    h->compiler.progs.data[i]->text,
				    h->compiler.progs.data[i]->is_script);
	return e ? e : tracing_start(&h->arrivals);
}

static void undo(dtrace_hdl_t *h)
{
	consumer_undo(&h->consumer);
	tracing_undo(&h->arrivals);
}

int dtrace_go(dtrace_hdl_t *dtp)
{
	struct err *e = session_check_idle(dtp, "dtrace_go()");

	if (!e)
		e = active_check(dtp);
	if (e)
		return report_fail(&dtp->report, e);
	SESSION_CALL(dtp);
	compiler_need_dsession(&dtp->compiler);
	e = session_go(dtp);
	if (e)
		undo(dtp);
	return session_result(dtp, e);
}

/* ---- work ----------------------------------------------------------------------------------- */

void dtrace_sleep(dtrace_hdl_t *dtp)
{
	const struct live *live = &dtp->live;
	SESSION_CALL(dtp);

	if (live->is_active && !live->is_stopped && !live->exit_seen && !live->remains.of &&
	    live_state(live) != RT_STATE_EXITING)
		tracing_sleep(&dtp->arrivals, consumer_due(&dtp->consumer));
}

static struct err *work(dtrace_hdl_t *h, FILE *fp, bool *ret_is_over)
{
	struct err *e = NULL;
	bool is_over;

	tracing_tend(&h->arrivals);
	is_over = live_is_over(&h->live);
	if (!is_over) {
		e = live_run(&h->live);
		if (!e)
			e = consumer_work(&h->consumer, fp);
		is_over = !e && live_is_over(&h->live);
	}
	if (is_over) {
		realtime_hurry(h->realtime);
		tracing_stop(&h->arrivals);
		e = consumer_finish(&h->consumer, fp);
	}
	*ret_is_over = is_over;
	return e;
}

dtrace_workstatus_t dtrace_work(dtrace_hdl_t *dtp, FILE *fp, dtrace_consume_probe_f *pfunc,
				dtrace_consume_rec_f *rfunc, void *arg)
{
	bool is_over = true;
	struct err *e;

	if (!dtp->live.is_active)
		return DTRACE_WORKSTATUS_DONE;
	e = session_check_idle(dtp, "dtrace_work()");
	SESSION_CALL(dtp);
	if (!e) {
		e = quota_check();
		if (e) /* at once, before anything else is done or written */
			live_end(&dtp->live);
	}
	if (!e) {
		consumer_set_callbacks(&dtp->consumer, pfunc, rfunc, arg);
		e = work(dtp, fp, &is_over);
	}
	if (session_result(dtp, e))
		return DTRACE_WORKSTATUS_ERROR;
	return is_over ? DTRACE_WORKSTATUS_DONE : DTRACE_WORKSTATUS_OKAY;
}

/* ---- stop ----------------------------------------------------------------------------------- */

void dtrace_interrupt(dtrace_hdl_t *dtp)
{
	live_interrupt(&dtp->live);
	realtime_hurry(dtp->realtime);
}

int dtrace_stop(dtrace_hdl_t *dtp)
{
	SESSION_CALL(dtp);

	tracing_stop(&dtp->arrivals);
	return 0;
}

int dtrace_exit_status(dtrace_hdl_t *dtp)
{
	return dtp->live.exit_seen ? dtp->live.exit_status & 0xff : -1;
}

/* ---- close ---------------------------------------------------------------------------------- */

int dtrace_close(dtrace_hdl_t *dtp)
{
	struct err *e = dtp ? session_check_idle(dtp, "dtrace_close()") : NULL;

	if (e)
		return report_fail(&dtp->report, e);
	if (!dtp)
		return 0;
	dtp->ncalls++; /* a handler that is called meanwhile must not close it again */
	undo(dtp);
	compiler_dump_types(&dtp->compiler);
	targets_deinit(&dtp->targets);
	live_deinit(&dtp->live);
	match_deinit(&dtp->match);
	compiler_deinit(&dtp->compiler);
	probes_destroy(dtp->probes);
	env_deinit(&dtp->env);
	names_deinit(&dtp->names); /* the files of probes are images of its set */
	options_deinit(&dtp->opts);
	report_deinit(&dtp->report);
	arena_destroy(dtp->arena);
	realtime_end(dtp->realtime);
	free(dtp);
	return 0;
}
