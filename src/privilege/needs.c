/* SPDX-License-Identifier: MIT */
#include "privilege/needs.h"

#include "base/str.h"

#define LEVEL_NOTHING 0
enum about { ABOUT_NONE, ABOUT_TASK, ABOUT_MEMORY };

struct need_row {
	const char *name;
	uint32_t level;
	enum about about;
};

static const struct need_row providers[] = {
#define NEED_PROVIDER(name, level) {#name, LEVEL_##level, ABOUT_NONE},
#include "privilege/needs.def"
};

static const struct need_row variables[] = {
#define NEED_VARIABLE(name, level, about) {#name, LEVEL_##level, ABOUT_##about},
#include "privilege/needs.def"
};

static const struct need_row calls[] = {
#define NEED_CALL(name, level, about) {#name, LEVEL_##level, ABOUT_##about},
#include "privilege/needs.def"
};

#define LEVEL_NOBODY LEVELS_ALL
static const struct {
	const char *name;
	uint32_t level;
} options[] = {
#define NEED_OPTION(name, level) {#name, LEVEL_##level},
#include "privilege/needs.def"
};

static const struct {
	const char *provider, *probe;
} others[] = {
#define NEED_OTHER(provider, probe) {#provider, #probe},
#include "privilege/needs.def"
};

static const struct {
	const char *tag, *member;
} members[] = {
#define NEED_MEMBER(tag, member) {#tag, #member},
#include "privilege/needs.def"
};

static const struct {
	const char *provider, *probe;
	uint32_t level, args, own;
} probes[] = {
#define NEED_PROBE(provider, probe, level, args, own) {#provider, #probe, LEVEL_##level, args, own},
#include "privilege/needs.def"
};

static const struct need unknown = {.level = LEVEL_KERNEL,
				    .is_about_task = true,
				    .is_about_memory = true};

static struct need row_find(const struct need_row *rows, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(rows[i].name, name) == 0)
			return (struct need){.level = rows[i].level,
					     .is_known = true,
					     .is_about_task = rows[i].about != ABOUT_NONE,
					     .is_about_memory = rows[i].about == ABOUT_MEMORY};
	return unknown;
}

struct need need_of_provider(const char *name)
{
	return row_find(providers, ARRAY_LEN(providers), name);
}

struct need need_of_variable(const char *name)
{
	return row_find(variables, ARRAY_LEN(variables), name);
}

struct need need_of_call(const char *name)
{
	return row_find(calls, ARRAY_LEN(calls), name);
}

static bool has_other(const char *provider, const char *probe)
{
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (strcmp(others[i].provider, provider) == 0 &&
		    strcmp(others[i].probe, probe) == 0)
			return true;
	return false;
}

struct need need_of_probe(const char *provider, const char *probe)
{
	for (size_t i = 0; i < ARRAY_LEN(probes); i++)
		if (strcmp(probes[i].provider, provider) == 0 &&
		    strcmp(probes[i].probe, probe) == 0)
			return (struct need){.level = probes[i].level,
					     .is_known = true,
					     .is_about_task = true,
					     .args = probes[i].args,
					     .own = probes[i].own,
					     .has_other = has_other(provider, probe)};
	return unknown;
}

struct need need_of_member(const char *tag, const char *member)
{
	for (size_t i = 0; tag && i < ARRAY_LEN(members); i++)
		if (strcmp(members[i].tag, tag) == 0 && strcmp(members[i].member, member) == 0)
			return (struct need){.level = LEVEL_USER, .is_known = true};
	return unknown;
}

bool need_has_provider(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(probes); i++)
		if (strcmp(probes[i].provider, name) == 0)
			return true;
	return need_of_provider(name).is_known;
}

uint32_t need_of_option(const char *name, bool *ret_is_known)
{
	*ret_is_known = true;
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (strcmp(options[i].name, name) == 0)
			return options[i].level;
	*ret_is_known = false;
	return LEVELS_ALL;
}
