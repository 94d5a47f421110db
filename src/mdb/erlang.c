/* SPDX-License-Identifier: MIT */
/* How Erlang writes strings and atoms: io:format("~p"). */
#include "mdb/lang.h"

#include <ctype.h>

#include "base/text.h"

/* Words that are no atoms without quotes. */
static const char *const reserved[] = {
	"after", "and",	  "andalso", "band",	"begin", "bnot", "bor",	 "bsl", "bsr",	 "bxor",
	"case",	 "catch", "cond",    "div",	"end",	 "fun",	 "if",	 "let", "maybe", "not",
	"of",	 "or",	  "orelse",  "receive", "rem",	 "try",	 "when", "xor",
};

static bool atom_is_quoted(const char *s, size_t len)
{
	uint32_t ch = 0;

	(void)utf8_get(s, len, &ch);
	if (!(ch >= 'a' && ch <= 'z') && !(ch >= 0xdf && ch <= 0xff && ch != 0xf7))
		return true;
	for (size_t i = 0, n; i < len; i += n) {
		n = utf8_get(s + i, len - i, &ch);
		if (!n || ch > 0xff)
			return true;
		if (ch < 0x80 ? !isalnum((int)ch) && ch != '_' && ch != '@'
			      : ch < 0xc0 || ch == 0xd7 || ch == 0xf7)
			return true;
	}
	for (uint32_t i = 0; i < ARRAY_LEN(reserved); i++)
		if (strlen(reserved[i]) == len && memcmp(reserved[i], s, len) == 0)
			return true;
	return false;
}

void erlang_quote(struct strbuf *out, const char *s, size_t len, bool is_atom)
{
	const struct escapes how = {
		.letters = is_atom ? "\nn\rr\tt\vv\bb\ff\033e\177d''\\\\"
				   : "\nn\rr\tt\vv\bb\ff\033e\177d\"\"\\\\",
		.other = "\\x{%x}",
		.broken = "\\x{fffd}",
		.unit = "\\x{%x}",
	};
	bool is_quoted = !is_atom || atom_is_quoted(s, len);

	if (!is_quoted) {
		strbuf_add(out, s, len);
		return;
	}
	strbuf_addc(out, is_atom ? '\'' : '"');
	escape_add(out, s, len, &how);
	strbuf_addc(out, is_atom ? '\'' : '"');
}
