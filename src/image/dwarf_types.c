/* SPDX-License-Identifier: MIT */
/*
 * Finds types by their names.
 *
 * There is no index that all compilers write, so the units are walked, the one that is most likely
 * to have the type first. The time is limited: the files of some programs have thousands of units.
 */
#include <dwarf.h>

#include "base/base.h"
#include "image/dwarf.h"

#define BUDGET_NS 300000000 /* time for the search */
#define UNITS_MAX 1000000

struct search {
	const char *name;
	int tags[3]; /* of the DIEs that are meant; 0: no further one */
	uint64_t deadline;
	uint32_t nseen;
};

static bool time_is_up(struct search *s)
{
	return ++s->nseen % 256 == 0 && now_ns() > s->deadline;
}

static bool tag_is_meant(const struct search *s, int tag)
{
	for (size_t i = 0; i < ARRAY_LEN(s->tags) && s->tags[i]; i++)
		if (s->tags[i] == tag)
			return true;
	return false;
}

/* Looks for the definition of the type among the outermost DIEs of a unit. */
static bool unit_search(struct search *s, Dwarf_Die *unit, Dwarf_Die *ret)
{
	Dwarf_Die die;

	if (dwarf_child(unit, &die) != 0)
		return false;
	do {
		const char *name = tag_is_meant(s, dwarf_tag(&die)) ? dwarf_diename(&die) : NULL;

		if (name && strcmp(name, s->name) == 0 && !dwarf_hasattr(&die, DW_AT_declaration)) {
			*ret = die;
			return true;
		}
	} while (!time_is_up(s) && dwarf_siblingof(&die, &die) == 0);
	return false;
}

static bool units_search(struct search *s, Dwarf *dw, Dwarf_Die *ret)
{
	Dwarf_Off off = 0, next;
	Dwarf_Die unit;
	size_t size;

	for (uint32_t i = 0; i < UNITS_MAX && now_ns() <= s->deadline; i++, off = next) {
		if (dwarf_nextcu(dw, off, &next, &size, NULL, NULL, NULL) != 0 || next <= off)
			break;
		if (dwarf_offdie(dw, off + size, &unit) && unit_search(s, &unit, ret))
			return true;
	}
	return false;
}

bool dwarf_find_type(Dwarf *dw, Dwarf_Die *first, enum dwarf_named kind, const char *name,
		     Dwarf_Die *ret)
{
	static const int tags[][3] = {
		[DWARF_STRUCT] = {DW_TAG_structure_type, DW_TAG_class_type},
		[DWARF_UNION] = {DW_TAG_union_type},
		[DWARF_ENUM] = {DW_TAG_enumeration_type},
		[DWARF_TYPEDEF] = {DW_TAG_typedef, DW_TAG_base_type},
	};
	struct search s = {.name = name, .deadline = now_ns() + BUDGET_NS};
	Dwarf *alt = dwarf_getalt(dw);

	memcpy(s.tags, tags[kind], sizeof(s.tags));
	return (first && unit_search(&s, first, ret)) || units_search(&s, dw, ret) ||
	       (alt && units_search(&s, alt, ret));
}
