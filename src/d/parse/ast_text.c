/* SPDX-License-Identifier: MIT */
/* Spellings of literals and specifiers in D. */
#include "d/parse/ast_text.h"

#include "base/text.h"

const char *storage_text(enum storage_class sc)
{
	static const char *const texts[] = {
		[SC_NONE] = "",		[SC_AUTO] = "auto",	[SC_REGISTER] = "register",
		[SC_STATIC] = "static", [SC_EXTERN] = "extern", [SC_TYPEDEF] = "typedef",
		[SC_SELF] = "self",	[SC_THIS] = "this",
	};

	return texts[sc];
}

const char *tag_text(const struct decl_specs *s)
{
	static const char *const texts[] = {
		[TAG_NONE] = "",
		[TAG_STRUCT] = "struct",
		[TAG_UNION] = "union",
		[TAG_ENUM] = "enum",
	};

	return texts[s->tag];
}

void flags_print(uint32_t flags, struct strbuf *out)
{
	static const struct {
		uint32_t flag;
		const char *text;
	} rows[] = {
		{SPEC_CONST, "const"},	      {SPEC_VOLATILE, "volatile"},
		{SPEC_RESTRICT, "restrict"},  {SPEC_USERLAND, "userland"},
		{SPEC_SIGNED, "signed"},      {SPEC_UNSIGNED, "unsigned"},
		{SPEC_SHORT, "short"},	      {SPEC_LONG, "long"},
		{SPEC_LONGLONG, "long long"}, {SPEC_VOID, "void"},
		{SPEC_CHAR, "char"},	      {SPEC_INT, "int"},
		{SPEC_FLOAT, "float"},	      {SPEC_DOUBLE, "double"},
		{SPEC_STRING, "string"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (flags & rows[i].flag)
			strbuf_addf(out, "%s ", rows[i].text);
}

void str_print(const char *s, size_t len, struct strbuf *out)
{
	struct escapes how = escapes_c;

	how.nul = NULL; /* a digit may follow */
	escape_quote(out, s, len, &how);
}

void char_print(uint64_t val, struct strbuf *out)
{
	static const struct escapes how = {.letters = "", .other = "\\%03o"};
	int shift = 56;

	while (shift > 0 && !(val >> shift & 0xff))
		shift -= 8;
	strbuf_addc(out, '\'');
	for (; shift >= 0; shift -= 8) {
		char c = (char)(val >> shift & 0xff);

		if (c == '\'' || c == '\\' || c == '"')
			strbuf_addf(out, how.other, c);
		else
			escape_add(out, &c, 1, &how);
	}
	strbuf_addc(out, '\'');
}

void int_print(uint64_t val, type_id type, struct strbuf *out)
{
	const char *suffix = "";

	/* A decimal without suffix is an int, or a long when it does not fit. */
	if (type == TYPE_UINT)
		suffix = "u";
	else if (type == TYPE_LONG && val <= INT32_MAX)
		suffix = "l";
	else if (type == TYPE_ULONG)
		suffix = "ul";
	else if (type == TYPE_LLONG)
		suffix = "ll";
	else if (type == TYPE_ULLONG)
		suffix = "ull";
	/*
	 * The value of a macro variable ($1, $pid) may be negative; in D text it gets a minus sign.
	 */
	if ((int64_t)val < 0 && (type == TYPE_INT || type == TYPE_LONG))
		strbuf_addf(out, "-%llu%s", -(unsigned long long)val, suffix);
	else
		strbuf_addf(out, "%llu%s", (unsigned long long)val, suffix);
}
