/* Names of other systems' kernels in scripts: which name of Linux means the nearest thing. */
#include "d/foreign.h"

#include "base/base.h"

static const struct {
	enum foreign_kind kind;
	const char *name, *text;
} rows[] = {
#define D_ALIAS(STRUCT, NAME, PATH)
#define D_FOREIGN(KIND, NAME, TEXT) {FOREIGN_##KIND, NAME, TEXT},
#include "d/foreign.def"
#undef D_FOREIGN
#undef D_ALIAS
};

static const struct {
	const char *sou, *name, *path;
} aliases[] = {
#define D_ALIAS(STRUCT, NAME, PATH) {STRUCT, NAME, PATH},
#define D_FOREIGN(KIND, NAME, TEXT)
#include "d/foreign.def"
#undef D_FOREIGN
#undef D_ALIAS
};

const char *foreign_path(const char *sou, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
		if (strcmp(aliases[i].sou, sou) == 0 && strcmp(aliases[i].name, name) == 0)
			return aliases[i].path;
	return NULL;
}

const char *foreign_hint(enum foreign_kind kind, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].kind == kind && strcmp(rows[i].name, name) == 0)
			return rows[i].text;
	return NULL;
}
