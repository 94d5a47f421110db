/* SPDX-License-Identifier: MIT */
/* Strings of JSON: any bytes become valid text, which a terminal may show, too. */
#include "base/text.h"
#include "render/impl.h"

void json_string(struct strbuf *o, const char *text, size_t len)
{
	static const struct escapes how = {.letters = "\bb\ff\nn\rr\tt\"\"\\\\",
					   .other = "\\u%04x",
					   .broken = "\\ufffd",
					   .unit = "\\u%04x"};

	escape_quote(o, text, len, &how);
}
