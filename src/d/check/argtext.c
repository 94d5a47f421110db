/* SPDX-License-Identifier: MIT */
/* Parses the text with which a provider describes an argument. */
#include "d/check/argtext.h"

#include <ctype.h>
#include <stdlib.h>

#define TRANSLATED " : "
#define NAMED	   " -- "

const char *argtext_named(struct arena *a, const char *text, const char *name)
{
	return arena_printf(a, "%s" NAMED "%s", text, name);
}

struct argtext argtext_parse(struct arena *a, const char *text, uint32_t position)
{
	struct argtext t = {.native = position, .type = text};
	const char *colon, *named;
	char *end;

	if (*text == '@') {
		t.native = (uint32_t)strtoul(text + 1, &end, 10);
		t.type = end + (*end == ' ');
	}
	named = strstr(t.type, NAMED);
	if (named) {
		t.name = named + strlen(NAMED);
		t.type = arena_strndup(a, t.type, (size_t)(named - t.type));
	}
	colon = strstr(t.type, TRANSLATED);
	if (colon) {
		t.output = colon + strlen(TRANSLATED);
		t.type = arena_strndup(a, t.type, (size_t)(colon - t.type));
	}
	return t;
}

const char *argtext_shown(const struct argtext *t)
{
	return t->output ? t->output : t->type;
}

static bool word_is(const char *word, size_t len, const char *const *list, size_t n,
		    size_t *ret_index)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(list[i]) == len && strncmp(list[i], word, len) == 0) {
			*ret_index = i;
			return true;
		}
	return false;
}

bool argtext_base(struct arena *a, const char *type, struct argbase *ret)
{
	static const char *const quals[] = {"const", "volatile", "restrict", "userland"};
	static const char *const tags[] = {"struct", "union", "enum"};
	static const enum type_kind kinds[] = {TK_STRUCT, TK_UNION, TK_ENUM};
	const char *name = "";
	size_t i;

	*ret = (struct argbase){.kind = TK_TYPEDEF};
	for (const char *p = type + strspn(type, " "); *p; p += strspn(p, " ")) {
		size_t len = 0;

		while (isalnum((unsigned char)p[len]) || p[len] == '_')
			len++;
		if (!len && *p++ == '*')
			ret->npointers++;
		else if (!len)
			return false;
		else if (word_is(p, len, quals, ARRAY_LEN(quals), &i))
			p += len;
		else if (ret->npointers)
			return false;
		else if (!*name && word_is(p, len, tags, ARRAY_LEN(tags), &i)) {
			ret->kind = kinds[i];
			p += len;
		} else {
			name = arena_printf(a, "%s%s%.*s", name, *name ? " " : "", (int)len, p);
			p += len;
		}
	}
	ret->name = name;
	return *name != '\0';
}
