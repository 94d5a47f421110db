/* SPDX-License-Identifier: MIT */
/* Stability reports: -v of a program, -lv of a probe (d-language.md 9.4, 9.5, 11.2). */
#include "d/check/argtext.h"
#include "d/parse/attr.h"
#include "session/session.h"

static void print_attr(FILE *fp, struct attr a)
{
	(void)fprintf(
		fp,
		"\t\tIdentifier Names: %s\n\t\tData Semantics:   %s\n\t\tDependency Class: %s\n",
		stability_name(a.name), stability_name(a.data), depclass_name(a.class));
}

/* Returns the least attributes of the given parts; a description without parts has the highest. */
static struct attr desc_attr(const struct probe_desc *d, const struct attr parts[NPARTS])
{
	const char *const fields[] = {
		[PART_PROVIDER] = d->prov,
		[PART_MODULE] = d->mod,
		[PART_FUNCTION] = d->func,
		[PART_NAME] = d->name,
	};
	struct attr a = ATTR_MAX;

	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if (*fields[i])
			a = attr_min(a, parts[i]);
	return a;
}

bool stability_of_probes(struct probes *ps, const struct probe_desc *desc, struct attr *ret)
{
	struct probe **probes;
	uint32_t n = 0;
	struct err *e = probes_match(ps, desc, &probes, &n);

	if (e) {
		err_destroy(e); /* the enabling reports the error */
		return false;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct provider *pv = probes[i]->provider;
		struct attr parts[NPARTS];

		if (i && !pv->attrs && pv == probes[i - 1]->provider)
			continue;
		probe_attrs(ps, probes[i], parts);
		for (uint32_t k = 0; k < NPARTS; k++)
			ret[k] = i ? attr_min(ret[k], parts[k]) : parts[k];
	}
	return n > 0;
}

/* Finds the first probe that a description matches, or NULL. */
static struct err *first_match(dtrace_hdl_t *h, const struct probe_desc *desc,
			       struct probe **ret_probe)
{
	struct probe **probes;
	uint32_t n;
	struct err *e = probes_match(h->probes, desc, &probes, &n);

	if (!e)
		*ret_probe = n ? probes[0] : NULL;
	return e;
}

static void prog_attr(dtrace_hdl_t *h, const struct prog *prog, struct attr *ret_desc,
		      struct attr *ret_stmt)
{
	struct attr a = ATTR_MAX, s = ATTR_MAX;

	for (uint32_t i = 0; i < prog->nclauses; i++) {
		const struct prog_clause *cl = prog->clauses[i];
		struct attr parts[NPARTS];
		bool is_known = stability_of_probes(h->probes, &cl->desc, parts);

		a = attr_min(a, desc_attr(&cl->desc, is_known ? parts : attr_provider_default));
		s = attr_min(s, (struct attr){cl->attr[0], cl->attr[1], cl->attr[2]});
	}
	*ret_desc = a;
	*ret_stmt = s;
}

void stability_of_probe(struct probes *ps, const struct probe *pr, struct attr *ret,
			struct attr *ret_parts)
{
	const struct probe_desc all = {pr->prov, pr->mod, pr->func, pr->name, 0, false, 0};

	probe_attrs(ps, pr, ret_parts);
	*ret = desc_attr(&all, ret_parts);
}

static void print_probe(dtrace_hdl_t *h, const struct probe *pr, FILE *fp)
{
	const struct provider *pv = pr->provider;
	const char *const *types = NULL;
	uint32_t n = pv->arg_types ? pv->arg_types(&h->env, pr, &types) : 0;
	struct attr attr, parts[NPARTS];

	stability_of_probe(h->probes, pr, &attr, parts);
	(void)fputs("\n\tProbe Description Attributes\n", fp);
	print_attr(fp, attr);
	(void)fputs("\n\tArgument Attributes\n", fp);
	print_attr(fp, parts[PART_ARGS]);
	(void)fputs("\n\tArgument Types\n", fp);
	for (uint32_t i = 0; i < n; i++) {
		struct argtext t = argtext_parse(h->arena, types[i], i);

		const char *why = pv->arg_refused ? pv->arg_refused(&h->env, pr, t.native) : NULL;

		(void)fprintf(fp, "\t\targs[%u]: %s%s%s%s\n", i, argtext_shown(&t),
			      t.name ? " " : "", t.name ? t.name : "",
			      why ? " (cannot be read)" : "");
	}
	if (!n)
		(void)fputs("\t\tNone\n", fp);
	(void)fputc('\n', fp);
}

/* Output errors stay in fp, where the caller looks for them when it flushes. */
static struct err *print_statement(dtrace_hdl_t *h, const struct prog_clause *cl, FILE *fp)
{
	struct probe *pr;
	struct err *e = first_match(h, &cl->desc, &pr);

	if (e)
		return e;
	(void)fprintf(fp, "%s\n", probe_desc_text(h->arena, &cl->desc));
	if (pr)
		print_probe(h, pr, fp);
	return NULL;
}

int dtrace_program_report(dtrace_hdl_t *dtp, dtrace_prog_t *pgp, const char *kind, const char *name,
			  int verbose, FILE *fp)
{
	struct attr desc, stmt;
	struct err *e = NULL;
	SESSION_CALL(dtp);

	prog_attr(dtp, pgp->prog, &desc, &stmt);
	(void)fprintf(fp, "\nStability attributes for %s %s:\n\n", kind, name);
	(void)fputs("\tMinimum Probe Description Attributes\n", fp);
	print_attr(fp, desc);
	(void)fputs("\tMinimum Statement Attributes\n", fp);
	print_attr(fp, stmt);
	(void)fputc('\n', fp);
	for (uint32_t i = 0; verbose && i < pgp->prog->nclauses && !e; i++)
		e = print_statement(dtp, pgp->prog->clauses[i], fp);
	return e ? report_fail(&dtp->report, e) : 0;
}

int dtrace_probe_report(dtrace_hdl_t *dtp, const dtrace_probedesc_t *pdp, FILE *fp)
{
	struct probe *pr = probes_find(dtp->probes, pdp->dtpd_id);
	SESSION_CALL(dtp);

	if (!pr)
		return report_fail(&dtp->report,
				   err_code(err_new("Unknown probe identifier"), EDT_BADID));
	print_probe(dtp, pr, fp);
	return 0;
}
