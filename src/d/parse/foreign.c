/* SPDX-License-Identifier: MIT */
/* Names of other systems' kernels in scripts: which name of Linux means the nearest thing. */
#include "d/parse/foreign.h"

#include "base/base.h"

static const struct {
	enum foreign_kind kind;
	const char *name, *text;
} rows[] = {
#define D_ALIAS(STRUCT, NAME, PATH)
#define D_COMPUTED(STRUCT, NAME, INLINE)
#define D_FOREIGN(KIND, NAME, TEXT) {FOREIGN_##KIND, NAME, TEXT},
#include "d/parse/foreign.def"
#undef D_FOREIGN
#undef D_COMPUTED
#undef D_ALIAS
};

/*
 * Members that structures have on other systems: the structure of Linux, the name there, and either
 * the path of Linux's members that has the value, or the inline of the D library that computes it.
 */
static const struct {
	const char *sou, *name, *path, *inl;
} members[] = {
#define D_ALIAS(STRUCT, NAME, PATH)	 {STRUCT, NAME, PATH, NULL},
#define D_COMPUTED(STRUCT, NAME, INLINE) {STRUCT, NAME, NULL, INLINE},
#define D_FOREIGN(KIND, NAME, TEXT)
#include "d/parse/foreign.def"
#undef D_FOREIGN
#undef D_COMPUTED
#undef D_ALIAS
};

/* Returns the row of a member; ARRAY_LEN(members) if there is none. */
static size_t member_row(const char *sou, const char *name)
{
	size_t i = 0;

	/* Every access to a member comes here; most rows differ from it in a first letter. */
	while (i < ARRAY_LEN(members) &&
	       (members[i].name[0] != name[0] || members[i].sou[0] != sou[0] ||
		strcmp(members[i].name, name) != 0 || strcmp(members[i].sou, sou) != 0))
		i++;
	return i;
}

const char *foreign_path(const char *sou, const char *name)
{
	size_t i = member_row(sou, name);

	return i < ARRAY_LEN(members) ? members[i].path : NULL;
}

const char *foreign_inline(const char *sou, const char *name)
{
	size_t i = member_row(sou, name);

	return i < ARRAY_LEN(members) ? members[i].inl : NULL;
}

const char *foreign_hint(enum foreign_kind kind, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].kind == kind && strcmp(rows[i].name, name) == 0)
			return rows[i].text;
	return NULL;
}
