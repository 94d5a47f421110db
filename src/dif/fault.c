/* SPDX-License-Identifier: MIT */
/* Texts of run-time faults (d-language.md 7.1). */
#include <inttypes.h>

#include "base/str.h"
#include "dif/dif.h"

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

void dif_fault_text(uint32_t kind, uint64_t value, struct strbuf *out)
{
	const struct fault_desc *desc =
		&fault_descs[kind < ARRAY_LEN(fault_descs) ? kind : DIF_FAULT_NONE];

	strbuf_adds(out, desc->text);
	if (desc->form == VALUE_HEX)
		strbuf_addf(out, " (0x%" PRIx64 ")", value);
	if (desc->form == VALUE_DECIMAL)
		strbuf_addf(out, " (%" PRId64 ")", (int64_t)value);
}
