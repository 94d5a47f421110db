/* SPDX-License-Identifier: MIT */
/* The public calls about programs, probes and processes, which run nothing. */
#include "session/session.h"
#include "session/sized.h"

/* ---- information ---------------------------------------------------------------------------- */

/* Counts the probes that have places themselves: a plain clause does not run for derived probes. */
static uint32_t plain_probes_count(struct probe *const *probes, uint32_t n, uint32_t source)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++)
		count += !probes[i]->provider->is_derived && probes[i]->source == source;
	return count;
}

struct err *program_describe(dtrace_hdl_t *h, struct dtrace_prog *p)
{
	p->info = (dtrace_proginfo_t){.dpi_statements = p->prog->nclauses};
	for (uint32_t i = 0; i < p->prog->nclauses; i++) {
		const struct prog_clause *cl = p->prog->clauses[i];
		struct probe **probes;
		uint32_t n;
		struct err *e = probes_match(h->probes, &cl->desc, &probes, &n);

		if (e)
			return e;
		p->info.dpi_matches += cl->derived ? !cl->is_again
						   : plain_probes_count(probes, n, cl->code_source);
		for (uint32_t j = 0; j < cl->nacts; j++) {
			p->info.dpi_recgens += act_is_recording(cl->acts[j].kind);
			p->info.dpi_aggregates += cl->acts[j].kind == ACT_AGG;
		}
	}
	return NULL;
}

void dtrace_program_info_sized(dtrace_hdl_t *dtp, dtrace_prog_t *pgp, dtrace_proginfo_t *info,
			       size_t size)
{
	SESSION_CALL(dtp);
	struct err *e = program_describe(dtp, pgp);

	if (e)
		report_fail(&dtp->report, e);
	if (info)
		sized_copy(info, size, &pgp->info, sizeof(pgp->info));
}

static dtrace_probedesc_t public_desc(const struct probe_desc *d)
{
	return (dtrace_probedesc_t){d->id, d->prov, d->mod, d->func, d->name};
}

int dtrace_desc_iter(dtrace_hdl_t *dtp, dtrace_prog_t *pgp, dtrace_desc_f *func, void *arg)
{
	SESSION_CALL(dtp);

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
	struct probe_desc desc = {"", "", "", "", 0, false, 0};
	struct probe **probes;
	uint32_t n;
	struct err *e;
	SESSION_CALL(dtp);

	if (pdp)
		desc = (struct probe_desc){or_empty(pdp->dtpd_provider),
					   or_empty(pdp->dtpd_mod),
					   or_empty(pdp->dtpd_func),
					   or_empty(pdp->dtpd_name),
					   pdp->dtpd_id,
					   false,
					   0};
	e = probes_match_listed(dtp->probes, &desc, &probes, &n);
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

int dtrace_proc_create(dtrace_hdl_t *dtp, const char *cmd)
{
	SESSION_CALL(dtp);

	return session_result(dtp, targets_create(&dtp->targets, cmd));
}

int dtrace_proc_grab(dtrace_hdl_t *dtp, pid_t pid)
{
	SESSION_CALL(dtp);

	return session_result(dtp, targets_grab(&dtp->targets, pid));
}

int dtrace_proc_advance(dtrace_hdl_t *dtp)
{
	SESSION_CALL(dtp);
	bool is_there = false;
	struct err *e = dtp->live.is_active
				? err_code(err_new("dtrace_proc_advance() was called after "
						   "dtrace_go()"),
					   EDT_ACTIVE)
				: targets_advance(&dtp->targets, &is_there);

	return e ? session_result(dtp, e) : is_there;
}

int dtrace_proc_continue(dtrace_hdl_t *dtp)
{
	SESSION_CALL(dtp);

	return session_result(dtp, targets_continue(&dtp->targets));
}
