/* SPDX-License-Identifier: MIT */
/*
 * A compile environment with a handful of probes, for unit tests, the golden dump program and the
 * fuzz target.
 *
 * Probes     dtrace:::{BEGIN,END,ERROR}, syscall::{read,write,openat,close,getpid}:{entry,return},
 *            profile:::{profile,tick}-*, fbt:vmlinux:vfs_read:entry
 * Types      of args[]: below; fbt has a type that does not exist
 * Directives @@args: one two, @@kind: string|provider|module|function, @@opts: name[=value] ...
 */
#pragma once

#include "d/parse/attr.h"
#include "d/compile.h"
#include "dtrace.h"

#include <fnmatch.h>

struct check_env {
	struct compile_opts opts;
	struct compile_env env;
	struct dsession *session;
};

/* clang-format off */
static const struct fake_probe {
	const char *prov, *mod, *func, *name;
	const char *types[4];
} fake_probes[] = {
	{ "dtrace", "", "", "BEGIN", { NULL } },
	{ "dtrace", "", "", "END", { NULL } },
	{ "dtrace", "", "", "ERROR", { NULL } },
	{ "dtrace", "helper", "ustack", "" , { NULL } },
	{ "syscall", "vmlinux", "read", "entry", { "int", "userland char *", "size_t" } },
	{ "syscall", "vmlinux", "read", "return", { "long" } },
	{ "syscall", "vmlinux", "write", "entry", { "int", "userland const char *", "size_t" } },
	{ "syscall", "vmlinux", "write", "return", { "long" } },
	{ "syscall", "vmlinux", "openat", "entry", { "int", "userland const char *", "int", "int" } },
	{ "syscall", "vmlinux", "openat", "return", { "long" } },
	{ "syscall", "vmlinux", "close", "entry", { "int" } },
	{ "syscall", "vmlinux", "close", "return", { "long" } },
	{ "syscall", "vmlinux", "getpid", "entry", { NULL } },
	{ "syscall", "vmlinux", "getpid", "return", { "long" } },
	{ "profile", "", "", "profile-", { NULL } },
	{ "profile", "", "", "tick-", { NULL } },
	{ "fbt", "vmlinux", "vfs_read", "entry", { "struct file *", "no_such_t *" } },
	{ "io", "", "", "start", { "int : struct buf *", "@0 int : struct dev", "int", "long : string" } },
};
/* clang-format on */

static inline bool fake_field_matches(const char *pattern, const char *text)
{
	size_t len = strlen(text);

	if (len && text[len - 1] == '-') /* any rate */
		return strncmp(pattern, text, len) == 0 || !*pattern;
	return !*pattern || fnmatch(pattern, text, 0) == 0;
}

static inline bool fake_matches(const struct probe_desc *d, const struct fake_probe *p)
{
	if (d->id)
		return p == &fake_probes[(d->id - 1) % ARRAY_LEN(fake_probes)];
	return fake_field_matches(d->prov, p->prov) && fake_field_matches(d->mod, p->mod) &&
	       fake_field_matches(d->func, p->func) && fake_field_matches(d->name, p->name);
}

static inline bool fake_attrs(void *ctx, const struct probe_desc *desc, struct attr *ret)
{
	if (strcmp(desc->prov, "syscall") != 0)
		return false;
	for (uint32_t i = 0; i < NPARTS; i++)
		ret[i] = (struct attr){STAB_EVOLVING, STAB_EVOLVING, DEP_ISA};
	return true;
}

static inline struct err *fake_match(void *ctx, const struct probe_desc *desc, uint32_t *ret_count)
{
	uint32_t n = 0;

	if (strcmp(desc->name, "tick-0") == 0)
		return err_hint(err_new("rate of tick-0 is not positive"), "write tick-1s");
	for (uint32_t i = 0; i < ARRAY_LEN(fake_probes); i++)
		n += desc->id <= ARRAY_LEN(fake_probes) && fake_matches(desc, &fake_probes[i]);
	*ret_count = n;
	return NULL;
}

static inline int fake_arg_types(void *ctx, const struct probe_desc *desc,
				 const char *const **ret_types)
{
	const struct fake_probe *first = NULL;
	int n = 0;

	for (uint32_t i = 0; i < ARRAY_LEN(fake_probes); i++) {
		const struct fake_probe *p = &fake_probes[i];

		if (!fake_matches(desc, p))
			continue;
		if (first && memcmp(first->types, p->types, sizeof(p->types)) != 0)
			return -1;
		first = p;
	}
	while (first && n < (int)ARRAY_LEN(first->types) && first->types[n])
		n++;
	*ret_types = first ? first->types : NULL;
	return n;
}

static inline struct err *fake_set_option(void *ctx, const char *name, const char *value)
{
	struct compile_opts *o = &((struct check_env *)ctx)->opts;
	const struct {
		const char *name;
		bool *flag;
	} flags[] = {
		{"zdefs", &o->zdefs},
		{"errtags", &o->errtags},
		{"defaultargs", &o->defaultargs},
		{"argref", &o->argref},
		{"empty", &o->empty},
		{"pspec", &o->pspec},
		{"helper", &o->is_helper},
	};
	struct attr a;

	for (uint32_t i = 0; i < ARRAY_LEN(flags); i++) {
		if (strcmp(flags[i].name, name) != 0)
			continue;
		*flags[i].flag = true;
		return NULL;
	}
	if (strcmp(name, "strsize") == 0 && value) {
		o->strsize = (uint32_t)strtoul(value, NULL, 0);
	} else if (strcmp(name, "version") == 0 && value) {
		if (!version_parse(value, &o->d_version))
			return err_new("failed to set option 'version' to '%s': %s", value,
				       "Version is not properly formatted or is too large");
	} else if (strcmp(name, "amin") == 0 && value && attr_parse(value, &a)) {
		o->amin[0] = a.name, o->amin[1] = a.data, o->amin[2] = a.class;
	} else if (strcmp(name, "quiet") != 0 && strcmp(name, "destructive") != 0) {
		return err_new("failed to set option '%s': Invalid option name", name);
	}
	return NULL;
}

static inline bool fake_macro(void *ctx, const char *name, int64_t *ret_value)
{
	*ret_value = 1234;
	return strcmp(name, "pid") == 0 || strcmp(name, "target") == 0;
}

static inline void check_env_init(struct check_env *t)
{
	*t = (struct check_env){
		.opts = {.strsize = 256,
			 .stackframes = 20,
			 .ustackframes = 100,
			 .jstackframes = 50,
			 .jstackstrsize = 512},
		.env = {.ctx = t,
			.match = fake_match,
			.attrs = fake_attrs,
			.arg_types = fake_arg_types,
			.set_option = fake_set_option,
			.macro = fake_macro},
	};
	t->session = dsession_create(&t->opts);
}

static inline void check_env_deinit(struct check_env *t)
{
	dsession_destroy(t->session);
}

/* Compiles a script without arguments; the error is the caller's. */
static inline struct err *check_env_compile(struct check_env *t, const char *text,
					    struct prog **ret_prog)
{
	static char name[] = "t.d", *argv[] = {name, NULL};

	return dsession_compile(t->session, &t->opts, &t->env, SOURCE_FILE, "t.d", text,
				strlen(text), SPEC_CTX_NAME, 1, argv, ret_prog);
}
