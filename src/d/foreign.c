/* Names of other systems' kernels in scripts: which name of Linux means the nearest thing. */
#include "d/foreign.h"

#include "base/base.h"

static const struct {
	enum foreign_kind kind;
	const char *name, *text;
} rows[] = {
#define D_FOREIGN(KIND, NAME, TEXT) {FOREIGN_##KIND, NAME, TEXT},
#include "d/foreign.def"
#undef D_FOREIGN
};

const char *foreign_hint(enum foreign_kind kind, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].kind == kind && strcmp(rows[i].name, name) == 0)
			return rows[i].text;
	return NULL;
}
