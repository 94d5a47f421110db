/* SPDX-License-Identifier: MIT */
/* The texts of faults, with their values. */
#include "base/str.h"
#include "dif/dif.h"
#include "tap.h"

static void text_is(uint32_t kind, uint64_t value, const char *want)
{
	struct strbuf text = {0};

	strbuf_adds(&text, "at x: ");
	dif_fault_text(kind, value, &text);
	is_str(strbuf_text(&text) + 6, want, want);
	strbuf_deinit(&text);
}

int main(void)
{
	text_is(DIF_FAULT_BADADDR, 8, "invalid address (0x8)");
	text_is(DIF_FAULT_BADINDEX, (uint64_t)-3, "index out of bounds (-3)");
	text_is(DIF_FAULT_DIVZERO, 8, "divide-by-zero");
	text_is(DIF_FAULT_NONE, 0, "unknown fault");
	text_is(1000, 0, "unknown fault");
	return tap_done();
}
