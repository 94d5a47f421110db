/* SPDX-License-Identifier: MIT */
/* Texts of run-time faults (d-language.md 7.1). */
#include <inttypes.h>

#include "render/impl.h"

enum value_form { VALUE_NONE, VALUE_HEX, VALUE_DECIMAL };

static const struct fault_desc {
	const char *text;
	enum value_form form;
} fault_descs[] = {
/* clang-format off */
#define FAULT(id, code, text, value) [code] = {text, VALUE_##value},
#include "dif/faults.def"
	/* clang-format on */
};

static void add_value(struct strbuf *out, enum value_form form, uint64_t value)
{
	if (form == VALUE_HEX)
		strbuf_addf(out, " (0x%" PRIx64 ")", value);
	if (form == VALUE_DECIMAL)
		strbuf_addf(out, " (%" PRId64 ")", (int64_t)value);
}

void print_fault(struct printer *p, const struct rt_rec_fault *f, struct strbuf *out)
{
	uint32_t kind = f->fault.kind < ARRAY_LEN(fault_descs) ? f->fault.kind : DIF_FAULT_NONE;
	const struct probe_text *pt = printer_probe(p, f->rec.probe);
	char prov[PROBE_PROV_ROOM];

	strbuf_addf(out, "error on enabled probe ID %u (ID %u: ", f->epid, f->rec.probe);
	if (pt)
		strbuf_addf(out, "%s:%s:%s:%s", probe_prov_shown(pt->probe, f->pid, prov),
			    pt->probe->mod, pt->func, pt->probe->name);
	else
		strbuf_adds(out, "unknown probe");
	strbuf_addf(out, "): %s", fault_descs[kind].text);
	add_value(out, fault_descs[kind].form, f->fault.value);
	if (f->fault.action)
		strbuf_addf(out, " in action #%u", f->fault.action);
	else
		strbuf_adds(out, " in predicate");
	if (f->fault.offset >= 0)
		strbuf_addf(out, " at DIF offset %d", f->fault.offset);
	strbuf_addc(out, '\n');
}
