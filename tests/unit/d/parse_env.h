/* SPDX-License-Identifier: MIT */
/*
 * A parse environment in place of the compiler: D's own type names, a few global names, and the
 * options that concern the parser. For unit tests, the golden dump program and the fuzz target.
 */
#pragma once

#include "d/parse/parse.h"

struct test_env {
	struct arena *arena;
	struct source_map *map;
	struct diags *diags;
	struct parse_env env;
	struct parse_input in;
	char last_option[64],
		last_value[64]; /* what '#pragma D option' set; "(none)" without value */
};

static inline bool test_env_word(const char *list, const char *name, size_t len)
{
	for (const char *p = list; len && (p = memmem(p, strlen(p), name, len)); p++)
		if ((p == list || p[-1] == ' ') && (p[len] == ' ' || !p[len]) &&
		    !memchr(name, ' ', len))
			return true;
	return false;
}

static bool test_env_is_type(void *ctx, const char *name, size_t len)
{
	(void)ctx;
	return test_env_word(
		"int8_t int16_t int32_t int64_t intptr_t ssize_t uint8_t uint16_t uint32_t "
		"uint64_t uchar_t ushort_t uint_t ulong_t u_longlong_t ptrdiff_t uintptr_t "
		"size_t id_t pid_t uid_t gid_t processorid_t kmod`ktype_t _Bool",
		name, len);
}

static bool test_env_is_ident(void *ctx, const char *name, size_t len)
{
	(void)ctx;
	return test_env_word(
		"pid tid execname timestamp args arg0 arg1 cpu curthread printf trace count "
		"quantize probefunc",
		name, len);
}

static bool test_env_set_option(void *ctx, struct span at, const char *name, const char *value)
{
	struct test_env *t = ctx;

	snprintf(t->last_option, sizeof(t->last_option), "%s", name);
	snprintf(t->last_value, sizeof(t->last_value), "%s", value ? value : "(none)");
	if (strcmp(name, "defaultargs") == 0)
		t->in.defaultargs = true;
	else if (strcmp(name, "argref") == 0)
		t->in.argref = true;
	else if (strcmp(name, "empty") == 0)
		t->in.allow_empty = true;
	else if (strcmp(name, "pspec") == 0)
		t->in.pspec = true;
	else if (!test_env_word("quiet bufsize strsize flowindent destructive version aggsortkey",
				name, strlen(name))) {
		diag_error(t->diags, D_PRAGMA_OPTSET, at,
			   "failed to set option '%s': Invalid option name", name);
		return false;
	}
	return true;
}

static bool test_env_macro(void *ctx, const char *name, int64_t *ret_value)
{
	(void)ctx;
	if (strcmp(name, "pid") == 0)
		*ret_value = 1234;
	else if (strcmp(name, "target") == 0)
		*ret_value = 99;
	else if (strcmp(name, "uid") == 0)
		*ret_value = 0;
	else
		return false;
	return true;
}

static inline void test_env_init(struct test_env *t, enum source_kind kind, const char *name,
				 const char *text, size_t len)
{
	*t = (struct test_env){.arena = arena_create()};
	t->map = source_map_create(t->arena);
	t->diags = diags_create(t->arena, t->map);
	t->env = (struct parse_env){
		.ctx = t,
		.is_type = test_env_is_type,
		.is_ident = test_env_is_ident,
		.set_option = test_env_set_option,
		.macro = test_env_macro,
	};
	t->in = (struct parse_input){
		.src = source_add(t->map, kind, name, text, len, false),
		.map = t->map,
		.diags = t->diags,
		.arena = t->arena,
		.env = &t->env,
		.context = SPEC_CTX_NAME,
		.pspec = kind == SOURCE_STRING,
	};
}

static inline void test_env_deinit(struct test_env *t)
{
	arena_destroy(t->arena);
}

/*
 * A comment in the first lines of a script may say how it is to be read:
 *   @@args: one 2      script arguments ($0 is the script's name)
 *   @@kind: string     as if given with -n (or -P -m -f: provider, module, function)
 * argv has room for max; texts live in the arena.
 */
static inline void test_env_directives(struct test_env *t, char **argv, int max)
{
	const char *text = t->in.src->text, *p = strstr(text, "@@args:");
	static const char *const contexts[] = {"provider", "module", "function", "string"};

	argv[0] = arena_strdup(t->arena, t->in.src->name);
	t->in.argc = 1;
	t->in.argv = argv;
	if (p) {
		p += strlen("@@args:");
		while (t->in.argc < max) {
			size_t len;

			p += strspn(p, " ");
			len = strcspn(p, " \n");
			if (!len || strncmp(p, "*/", 2) == 0)
				break;
			argv[t->in.argc++] = arena_strndup(t->arena, p, len);
			p += len;
		}
	}
	t->in.is_helper = strstr(text, "@@opts: helper") != NULL;
	p = strstr(text, "@@kind: ");
	for (int i = 0; p && i < (int)ARRAY_LEN(contexts); i++)
		if (strncmp(p + strlen("@@kind: "), contexts[i], strlen(contexts[i])) == 0) {
			t->in.context = (enum spec_context)i;
			t->in.pspec = true;
			t->in.src =
				source_add(t->map, SOURCE_STRING, "", text, t->in.src->len, false);
		}
}
