/* The public calls about programs, probes and processes. */
#include <errno.h>

#include "session/session.h"

/* ---- compiling ------------------------------------------------------------------------------ */

static void remember_clauses(dtrace_hdl_t *h, const struct prog *prog)
{
	for (uint32_t i = 0; i < prog->nclauses; i++) {
		struct prog_clause *cl = prog->clauses[i];

		while (h->clauses.len <= cl->index)
			vec_push(&h->clauses, (struct session_clause){0});
		h->clauses.data[cl->index].clause = cl;
	}
}

static dtrace_prog_t *compile(dtrace_hdl_t *h, const struct program_text *text)
{
	dtrace_prog_t *p;
	struct err *e;

	if (h->is_active)
		e = err_code(err_new("Operation illegal when tracing is active"), EDT_ACTIVE);
	else
		e = compiler_compile(&h->compiler, text, &p);
	if (e) {
		report_fail(&h->report, e);
		return NULL;
	}
	remember_clauses(h, p->prog);
	return p;
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
	enum spec_context ctx = spec == DTRACE_PROBESPEC_NONE ? SPEC_CTX_NAME : contexts[spec];

	return compile(dtp, &(struct program_text){.kind = SOURCE_STRING,
						   .name = "",
						   .text = text,
						   .len = strlen(text),
						   .spec = ctx,
						   .cflags = cflags,
						   .argc = argc,
						   .argv = argv});
}

static struct err *read_all(FILE *fp, struct strbuf *out)
{
	char buf[16384];
	size_t n;

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
	struct err *e = read_all(fp, &text);
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

/* ---- information ---------------------------------------------------------------------------- */

/* A clause that is not derived runs for those that hang on places themselves. */
static uint32_t nplain(struct probe *const *probes, uint32_t n)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++)
		count += !probes[i]->provider->is_derived;
	return count;
}

static struct err *prog_info(dtrace_hdl_t *h, struct dtrace_prog *p)
{
	p->info = (dtrace_proginfo_t){.dpi_statements = p->prog->nclauses};
	for (uint32_t i = 0; i < p->prog->nclauses; i++) {
		const struct prog_clause *cl = p->prog->clauses[i];
		struct probe **probes;
		uint32_t n;
		struct err *e = probes_match(h->probes, &cl->desc, &probes, &n);

		if (e)
			return e;
		p->info.dpi_matches += cl->derived ? !cl->is_again : nplain(probes, n);
		for (uint32_t j = 0; j < cl->nacts; j++) {
			p->info.dpi_recgens += act_is_recording(cl->acts[j].kind);
			p->info.dpi_aggregates += cl->acts[j].kind == ACT_AGG;
		}
	}
	return NULL;
}

void dtrace_program_info(dtrace_hdl_t *dtp, dtrace_prog_t *pgp, dtrace_proginfo_t *info)
{
	struct err *e = prog_info(dtp, pgp);

	if (e)
		report_fail(&dtp->report, e);
	if (info)
		*info = pgp->info;
}

int dtrace_program_exec(dtrace_hdl_t *dtp, dtrace_prog_t *pgp, dtrace_proginfo_t *info)
{
	struct err *e;

	if (dtp->is_active)
		return report_fail(&dtp->report,
				   err_code(err_new("Operation illegal when tracing is active"),
					    EDT_ACTIVE));
	e = prog_info(dtp, pgp);
	if (e)
		return report_fail(&dtp->report, e);
	pgp->is_enabled = true;
	if (info)
		*info = pgp->info;
	return 0;
}

static dtrace_probedesc_t public_desc(const struct probe_desc *d)
{
	return (dtrace_probedesc_t){d->id, d->prov, d->mod, d->func, d->name};
}

int dtrace_desc_iter(dtrace_hdl_t *dtp, dtrace_prog_t *pgp, dtrace_desc_f *func, void *arg)
{
	for (uint32_t i = 0; i < pgp->prog->nclauses; i++) {
		dtrace_probedesc_t pd = public_desc(&pgp->prog->clauses[i]->desc);
		int rv = pgp->prog->clauses[i]->is_again ? 0 : func(dtp, &pd, arg);

		if (rv)
			return rv;
	}
	return 0;
}

static const char *or_empty(const char *s)
{
	return s ? s : "";
}

int dtrace_probe_iter(dtrace_hdl_t *dtp, const dtrace_probedesc_t *pdp, dtrace_probe_f *func,
		      void *arg)
{
	struct probe_desc desc = {"", "", "", "", 0};
	struct probe **probes;
	uint32_t n;
	struct err *e;

	if (pdp)
		desc = (struct probe_desc){or_empty(pdp->dtpd_provider), or_empty(pdp->dtpd_mod),
					   or_empty(pdp->dtpd_func), or_empty(pdp->dtpd_name),
					   pdp->dtpd_id};
	e = probes_match(dtp->probes, &desc, &probes, &n);
	if (e)
		return report_fail(&dtp->report, e);
	for (uint32_t i = 0; i < n; i++) {
		const struct probe *pr = probes[i];
		dtrace_probedesc_t pd = {pr->id, pr->prov, pr->mod,
					 probe_func_shown(dtp->probes, pr), pr->name};
		int rv = func(dtp, &pd, arg);

		if (rv)
			return rv;
	}
	return 0;
}

char *dtrace_desc2str(const dtrace_probedesc_t *pdp, char *buf, size_t len)
{
	if (pdp->dtpd_id && !*or_empty(pdp->dtpd_name))
		(void)snprintf(buf, len, "%u", pdp->dtpd_id);
	else
		(void)snprintf(buf, len, "%s:%s:%s:%s", or_empty(pdp->dtpd_provider),
			       or_empty(pdp->dtpd_mod), or_empty(pdp->dtpd_func),
			       or_empty(pdp->dtpd_name));
	return buf;
}

/* ---- processes ------------------------------------------------------------------------------ */

static int result(dtrace_hdl_t *h, struct err *e)
{
	return e ? report_fail(&h->report, e) : 0;
}

int dtrace_proc_create(dtrace_hdl_t *dtp, const char *cmd)
{
	return result(dtp, targets_create(&dtp->targets, cmd));
}

int dtrace_proc_grab(dtrace_hdl_t *dtp, pid_t pid)
{
	return result(dtp, targets_grab(&dtp->targets, pid));
}

int dtrace_proc_continue(dtrace_hdl_t *dtp)
{
	return result(dtp, targets_continue(&dtp->targets));
}
