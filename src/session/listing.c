/* SPDX-License-Identifier: MIT */
/* Probes as objects of JSON: -l with option oformat. */
#include <inttypes.h>

#include "base/text.h"
#include "d/check/argtext.h"
#include "d/parse/attr.h"
#include "render/render.h"
#include "session/session.h"

static void attr_add(struct strbuf *o, const char *name, struct attr a)
{
	strbuf_addf(o, ", \"%s\": {\"name\": \"%s\", \"data\": \"%s\", \"class\": \"%s\"}", name,
		    stability_name(a.name), stability_name(a.data), depclass_name(a.class));
}

static void text_add(struct strbuf *o, const char *name, const char *text)
{
	strbuf_addf(o, "\"%s\": ", name);
	json_quote(o, text, strlen(text));
}

static void arg_add(dtrace_hdl_t *h, const struct probe *pr, struct strbuf *o, const char *type,
		    uint32_t i)
{
	const struct provider *pv = pr->provider;
	struct argtext t = argtext_parse(h->arena, type, i);
	const char *why = pv->arg_refused ? pv->arg_refused(&h->env, pr, t.native) : NULL;

	strbuf_addf(o, "%s{\"index\": %" PRIu32 ", ", i ? ", " : "", i);
	text_add(o, "type", argtext_shown(&t));
	if (t.name) {
		strbuf_adds(o, ", ");
		text_add(o, "name", t.name);
	}
	if (why) {
		strbuf_adds(o, ", ");
		text_add(o, "unreadable", why);
	}
	strbuf_addc(o, '}');
}

static void details_add(dtrace_hdl_t *h, const struct probe *pr, struct strbuf *o)
{
	const struct provider *pv = pr->provider;
	const char *const *types = NULL;
	uint32_t n = pv->arg_types ? pv->arg_types(&h->env, pr, &types) : 0;
	struct attr attr, parts[NPARTS];

	stability_of_probe(h->probes, pr, &attr, parts);
	attr_add(o, "attributes", attr);
	attr_add(o, "argument-attributes", parts[PART_ARGS]);
	strbuf_adds(o, ", \"arguments\": [");
	for (uint32_t i = 0; i < n; i++)
		arg_add(h, pr, o, types[i], i);
	strbuf_addc(o, ']');
}

int dtrace_probe_json(dtrace_hdl_t *dtp, const dtrace_probedesc_t *pdp, int verbose, FILE *fp)
{
	struct strbuf o = {0};
	struct probe *pr = verbose ? probes_find(dtp->probes, pdp->dtpd_id) : NULL;

	if (verbose && !pr)
		return report_fail(&dtp->report,
				   err_code(err_new("Unknown probe identifier"), EDT_BADID));
	strbuf_addf(&o, "{\"id\": %" PRIu32 ", ", pdp->dtpd_id);
	text_add(&o, "provider", pdp->dtpd_provider);
	strbuf_adds(&o, ", ");
	text_add(&o, "module", pdp->dtpd_mod);
	strbuf_adds(&o, ", ");
	text_add(&o, "function", pdp->dtpd_func);
	strbuf_adds(&o, ", ");
	text_add(&o, "name", pdp->dtpd_name);
	if (pr)
		details_add(dtp, pr, &o);
	strbuf_addc(&o, '}');
	(void)fwrite(o.data, 1, o.len, fp); /* the caller looks for errors of fp */
	strbuf_deinit(&o);
	return 0;
}

int dtrace_json_schema(void)
{
	return JSON_SCHEMA;
}
