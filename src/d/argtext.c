/* Parses the text with which a provider describes an argument. */
#include "d/argtext.h"

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
