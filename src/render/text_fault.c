/* SPDX-License-Identifier: MIT */
/* Reports of run-time faults (d-language.md 7.1). */
#include "render/impl.h"

void print_fault(struct printer *p, const struct rt_rec_fault *f, bool is_hidden,
		 struct strbuf *out)
{
	const struct probe_text *pt = printer_probe(p, f->rec.probe);
	char prov[PROBE_PROV_ROOM];

	strbuf_addf(out, "error on enabled probe ID %u (ID %u: ", f->epid, f->rec.probe);
	if (pt)
		strbuf_addf(out, "%s:%s:%s:%s", probe_prov_shown(pt->probe, f->pid, prov),
			    pt->probe->mod, pt->func, pt->probe->name);
	else
		strbuf_adds(out, "unknown probe");
	strbuf_adds(out, "): ");
	if (is_hidden)
		strbuf_adds(out, "invalid address");
	else
		dif_fault_text(f->fault.kind, f->fault.value, out);
	if (f->fault.action)
		strbuf_addf(out, " in action #%u", f->fault.action);
	else
		strbuf_adds(out, " in predicate");
	if (f->fault.offset >= 0)
		strbuf_addf(out, " at DIF offset %d", f->fault.offset);
	strbuf_addc(out, '\n');
}
