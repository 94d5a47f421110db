/* SPDX-License-Identifier: MIT */
/*
 * Provider syscall: entry and return of every system call (providers.md 4).
 *
 * Two raw tracepoints serve all of them: a program finds the probe by the number of the call, in
 * one table for native and one for 32-bit tasks. A call named literally is registered alone,
 * without finding out which calls the kernel has, unless the call is a recent one.
 */
#include "kernel/kernel.h"
#include "provider/providers.h"
#include "provider/syscalls.h"

#define MODULE "vmlinux"

static const char *const probe_names[] = {"entry", "return", NULL};

struct noted {
	const struct noted *next;
	const char *name;
};

struct syscall_state {
	bool is_asked;		   /* exists[] is filled */
	bool *exists;		   /* by row */
	const char *const **types; /* by row; NULL until needed */
	uint32_t *ntypes;
	struct probe **views; /* by index in syscall_views * 2, + 1 for return */
	struct probe **raw;   /* by row */
	struct noted *noted;
};

/* probe.data: is return | raw result | row << 2 | (index in syscall_views + 1) << 32 */
#define DATA_RETURN 0x1
#define DATA_RAW    0x2
#define DATA_KIND   (DATA_RETURN | DATA_RAW | ~(uint64_t)UINT32_MAX) /* everything but the row */

static uint64_t data_make(uint32_t row, bool is_return)
{
	return (uint64_t)row << 2 | (is_return ? DATA_RETURN : 0);
}

static uint32_t data_row(const struct probe *pr)
{
	return (uint32_t)pr->data >> 2;
}

static bool data_is_return(const struct probe *pr)
{
	return pr->data & DATA_RETURN;
}

static const struct syscall_view *data_view(const struct probe *pr)
{
	uint32_t view = (uint32_t)(pr->data >> 32);

	return view ? &syscall_views[view - 1] : NULL;
}

static struct syscall_state *state_get(struct provider_env *env, const struct provider *pv)
{
	return probes_state(env->probes, pv, sizeof(struct syscall_state));
}

static void kernel_ask(struct provider_env *env, struct syscall_state *st)
{
	struct syscall_kernel k;

	if (st->is_asked)
		return;
	st->is_asked = true;
	syscall_kernel_init(&k);
	st->exists = ARENA_NEW_N(env->arena, bool, syscall_nrows);
	for (uint32_t i = 0; i < syscall_nrows; i++)
		st->exists[i] = syscall_kernel_has(&k, &syscall_rows[i]);
	syscall_kernel_deinit(&k);
}

struct probe *syscall_probe(struct provider_env *env, const struct provider *pv, uint32_t row,
			    bool is_return)
{
	return probes_add_at(env->probes, pv, row * 2 + is_return, MODULE, syscall_rows[row].name,
			     probe_names[is_return], data_make(row, is_return));
}

static void row_add(struct provider_env *env, const struct provider *pv, uint32_t row)
{
	for (uint32_t ret = 0; ret < 2; ret++)
		(void)syscall_probe(env, pv, row, ret);
}

static struct probe *hidden_add(struct provider_env *env, const struct provider *pv, uint64_t data)
{
	return probes_add_hidden(env->probes, pv, MODULE, syscall_rows[(uint32_t)data >> 2].name,
				 probe_names[data & DATA_RETURN], data);
}

struct probe *syscall_view_probe(struct provider_env *env, const struct provider *pv, uint32_t view,
				 bool is_return)
{
	const struct syscall_view *v = &syscall_views[view];
	struct syscall_state *st = state_get(env, pv);
	uint32_t row = (uint32_t)(syscall_find(v->call) - syscall_rows);
	struct probe **pr;

	if (is_return && !v->sys.split) /* a call returns the same in every view */
		return syscall_probe(env, pv, row, true);
	if (!st->views)
		st->views = ARENA_NEW_N(env->arena, struct probe *, syscall_nviews * 2);
	pr = &st->views[view * 2 + is_return];
	if (!*pr)
		*pr = hidden_add(env, pv, data_make(row, is_return) | (uint64_t)(view + 1) << 32);
	return *pr;
}

struct probe *syscall_raw_probe(struct provider_env *env, const struct probe *native)
{
	struct syscall_state *st = state_get(env, native->provider);
	uint32_t row = data_row(native);

	if (!st->raw)
		st->raw = ARENA_NEW_N(env->arena, struct probe *, syscall_nrows);
	if (!st->raw[row])
		st->raw[row] = hidden_add(env, native->provider, native->data | DATA_RAW);
	return st->raw[row];
}

bool syscall_note(struct provider_env *env, const struct provider *pv, const char *name)
{
	struct syscall_state *st = state_get(env, pv);
	struct noted *new;

	for (const struct noted *n = st->noted; n; n = n->next)
		if (strcmp(n->name, name) == 0)
			return false;
	new = ARENA_NEW(env->arena, struct noted);
	*new = (struct noted){st->noted, arena_strdup(env->arena, name)};
	st->noted = new;
	return true;
}

const struct syscall_row *syscall_of_probe(const struct probe *pr)
{
	return pr->provider != &provider_syscall || pr->data & (DATA_KIND & ~(uint64_t)DATA_RETURN)
		       ? NULL
		       : &syscall_rows[data_row(pr)];
}

static struct err *syscall_provide(struct provider_env *env, const struct provider *pv)
{
	struct syscall_state *st = state_get(env, pv);

	kernel_ask(env, st);
	for (uint32_t row = 0; row < syscall_nrows; row++)
		if (st->exists[row])
			row_add(env, pv, row);
	return NULL;
}

/* Whether the kernel has a call; it is not asked for calls that every supported kernel has. */
bool syscall_row_exists(struct provider_env *env, const struct provider *pv,
			const struct syscall_row *r)
{
	struct syscall_state *st = state_get(env, pv);

	if (r->nr64 >= 0 && !(r->flags & SYSF_NEW))
		return true;
	kernel_ask(env, st);
	return st->exists[r - syscall_rows];
}

static struct err *syscall_provide_desc(struct provider_env *env, const struct provider *pv,
					const struct probe_desc *desc)
{
	const struct syscall_row *r;

	if (!*desc->func || !glob_is_literal(desc->func))
		return NULL;
	r = syscall_find(desc->func);
	if (r && syscall_row_exists(env, pv, r))
		row_add(env, pv, (uint32_t)(r - syscall_rows));
	return NULL;
}

/* ---- types of arguments, places -------------------------------------------------------------- */

static const char *const return_types[] = {"long", "long"};

/* The type of an argument; a pointer leads to the memory of the process. */
static const char *type_text(struct arena *a, const char *text, size_t len)
{
	bool is_pointer = memchr(text, '*', len) != NULL;

	return arena_printf(a, "%s%.*s", is_pointer ? "userland " : "", (int)len, text);
}

static uint32_t types_split(struct arena *a, const char *text, const char *const **ret_types)
{
	const char **types = ARENA_NEW_N(a, const char *, 6);
	uint32_t n = 0;

	while (*text && n < 6) {
		size_t len = strcspn(text, "|");

		types[n++] = type_text(a, text, len);
		text += len + (text[len] == '|');
	}
	*ret_types = types;
	return n;
}

static uint32_t syscall_arg_types(struct provider_env *env, const struct probe *pr,
				  const char *const **ret_types)
{
	struct syscall_state *st = state_get(env, pr->provider);
	const struct syscall_view *v = data_view(pr);
	const struct syscall_row *as = v ? syscall_find(v->as) : NULL;
	uint32_t row = as ? (uint32_t)(as - syscall_rows) : data_row(pr);

	if (data_is_return(pr)) {
		*ret_types = return_types;
		return ARRAY_LEN(return_types);
	}
	if (!syscall_rows[row].types)
		return 0;
	if (!st->types) {
		st->types = ARENA_NEW_N(env->arena, const char *const *, syscall_nrows);
		st->ntypes = ARENA_NEW_N(env->arena, uint32_t, syscall_nrows);
	}
	if (!st->types[row])
		st->ntypes[row] = types_split(env->arena, syscall_rows[row].types, &st->types[row]);
	*ret_types = st->types[row];
	return st->ntypes[row];
}

static enum place_kind probe_place_kind(const struct probe *pr)
{
	if (data_is_return(pr))
		return pr->data & DATA_RAW ? PLACE_SYS_EXIT_RAW
		       : data_view(pr)	   ? PLACE_SYS_EXIT_VIEW
					   : PLACE_SYS_EXIT;
	return data_view(pr) ? PLACE_SYS_ENTER_VIEW : PLACE_SYS_ENTER;
}

static uint32_t syscall_points(const struct probe *pr, struct probe_point *ret)
{
	const struct syscall_row *r = &syscall_rows[data_row(pr)];
	const struct syscall_view *v = data_view(pr);
	struct probe_point pt = {.place = {.kind = probe_place_kind(pr)},
				 .view = v ? &v->sys : NULL};
	uint32_t variant = v ? v->variant * RT_SYS_VARIANT : 0, n = 0;

	if (r->nr64 >= 0) {
		pt.key = (uint32_t)r->nr64 + variant;
		ret[n++] = pt;
	}
	if (r->nr32 >= 0) {
		pt.key = (uint32_t)r->nr32 + RT_SYS_COMPAT + variant;
		ret[n++] = pt;
	}
	return n;
}

const struct provider provider_syscall = {
	.name = "syscall",
	.alias = SYSCALL_LX,
	PROVIDER_IDS(syscall),
	.names = probe_names,
	.attr = {ATTR_EEC, ATTR_PPU, ATTR_PPI, ATTR_EEC, ATTR_PPI},
	.provide = syscall_provide,
	.provide_desc = syscall_provide_desc,
	.expand = syscall_expand,
	.hint = syscall_hint,
	.absent = syscall_absent,
	.arg_types = syscall_arg_types,
	.points = syscall_points,
};
