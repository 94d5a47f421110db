/* SPDX-License-Identifier: MIT */
/*
 * Provider rawtp: the tracepoints of the kernel and of its modules, with the parameters with which
 * they are called (providers.md 7.2).
 *
 * The kernel's BTF has a typedef btf_trace_NAME for each tracepoint, and a module's BTF has those
 * of the module. Its first parameter is the tracer's own; the others are those of the probe. The
 * group comes from tracefs; a tracepoint without an event there ("bare") is in the group vmlinux, or in
 * one that is named as its module. Nothing is read before a description could match such a probe,
 * and nothing of modules where the description names a tracepoint of the kernel itself. The id of a
 * probe is the number of its typedef, so that it is the same in a listing and in every session
 * until a module comes or goes.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/hashmap.h"
#include "base/str.h"
#include "d/text/diag.h"
#include "provider/arrivals.h"
#include "provider/providers.h"
#include "kernel/btf.h"

#define PREFIX "btf_trace_"

/* The BTF file of the kernel, or of a module. */
struct origin {
	const char *mod; /* NULL: the kernel */
	struct btf_file *btf;
};

struct tracepoint {
	const char *name;
	const struct origin *origin;
	uint32_t proto; /* BTF id of its function type */
	uint32_t nargs;
	const char *const *types; /* of the parameters; NULL until needed */
	struct probe *late;	  /* of a module that has come while the session runs, if used */
};

typedef VEC(struct tracepoint) tracepoint_vec;

struct rawtp_state {
	struct arena *arena; /* the registry's; NULL: nothing was read yet */
	struct err *trouble; /* why the tracepoints cannot be read; NULL: they can */
	struct origin kernel;
	tracepoint_vec own; /* of the kernel itself */
	bool has_modules;   /* modules was read */
	tracepoint_vec modules;
	VEC(struct btf_file *) files;  /* of modules */
	VEC(struct tracepoint *) late; /* of modules that have come since */
	uint32_t late_from;	       /* the first one of the last module */
	uint32_t present;	       /* the one whose batch was begun */
	struct hashmap *groups;	       /* event -> its group; NULL until a probe is made */
	struct strbuf events;	       /* the text to which keys and values of groups point */
};

/* ---- tracepoints of one BTF file ------------------------------------------------------------- */

/* The function type of a typedef btf_trace_NAME; 0 when it is something else. */
static uint32_t tracepoint_proto(const struct btf_file *f, const struct btf_type *t)
{
	const struct btf_type *ptr = btf_file_type(f, t->type);
	const struct btf_type *proto = ptr && BTF_INFO_KIND(ptr->info) == BTF_KIND_PTR
					       ? btf_file_type(f, ptr->type)
					       : NULL;

	return proto && BTF_INFO_KIND(proto->info) == BTF_KIND_FUNC_PROTO &&
			       BTF_INFO_VLEN(proto->info)
		       ? ptr->type
		       : 0;
}

static void tracepoints_read(const struct origin *o, tracepoint_vec *ret)
{
	struct btf_walk w = {.file = o->btf, .kinds = BTF_FIND_TYPEDEF};
	const struct btf_type *t;

	while ((t = btf_walk_next(&w))) {
		struct tracepoint tp = {.origin = o, .name = btf_file_str(o->btf, t->name_off)};

		if (strncmp(tp.name, PREFIX, sizeof(PREFIX) - 1) != 0)
			continue;
		tp.name += sizeof(PREFIX) - 1;
		tp.proto = tracepoint_proto(o->btf, t);
		if (!tp.proto)
			continue;
		tp.nargs = BTF_INFO_VLEN(btf_file_type(o->btf, tp.proto)->info) - 1;
		vec_push(ret, tp);
	}
}

/* Appends the tracepoints of a module; one without BTF has none that are known. */
static void module_read(struct rawtp_state *st, const char *mod, tracepoint_vec *ret)
{
	struct arena *a = st->arena;
	struct origin *o = ARENA_NEW(a, struct origin);
	struct err *e;

	*o = (struct origin){.mod = arena_strdup(a, mod)};
	e = btf_file_open(arena_printf(a, BTF_DIR "/%s", mod), st->kernel.btf, &o->btf);
	err_destroy(e);
	if (e)
		return;
	vec_push(&st->files, o->btf);
	tracepoints_read(o, ret);
}

static int text_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Reads the tracepoints of all modules, in the order of the modules' names. */
static void modules_read(struct rawtp_state *st)
{
	DIR *dir = st->kernel.btf ? opendir(BTF_DIR) : NULL;
	VEC(char *) names = {0};
	struct dirent *d;

	st->has_modules = true;
	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.' && strcmp(d->d_name, KERNEL_MODULE) != 0)
			vec_push(&names, xstrdup(d->d_name));
	if (dir)
		(void)closedir(dir); /* nothing was written */
	if (names.len)
		qsort(names.data, names.len, sizeof(names.data[0]), text_compare);
	for (uint32_t i = 0; i < names.len; i++) {
		module_read(st, names.data[i], &st->modules);
		free(names.data[i]);
	}
	vec_deinit(&names);
}

/* ---- tracepoints that there are -------------------------------------------------------------- */

/* Reads the lines "GROUP:NAME" of tracefs; without them, all tracepoints are in one group. */
static void groups_read(struct rawtp_state *st)
{
	char *save = NULL;

	st->groups = hashmap_create();
	if (tracefs_read("available_events", &st->events) || !st->events.len)
		return;
	for (char *line = strtok_r(st->events.data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *colon = strchr(line, ':');

		if (!colon)
			continue;
		*colon = '\0';
		hashmap_sets(st->groups, colon + 1, line);
	}
}

static struct rawtp_state *state_get(struct provider_env *env, const struct provider *pv)
{
	struct rawtp_state *st = probes_state(env->probes, pv, sizeof(*st));

	if (!st->arena) {
		st->arena = env->arena;
		st->trouble = btf_file_open(BTF_KERNEL, NULL, &st->kernel.btf);
		if (!st->trouble)
			tracepoints_read(&st->kernel, &st->own);
	}
	return st;
}

static bool kernel_has(const struct rawtp_state *st, const char *name)
{
	for (uint32_t i = 0; i < st->own.len; i++)
		if (strcmp(st->own.data[i].name, name) == 0)
			return true;
	return false;
}

/* Whether tracepoints of modules may have the name: the kernel takes its own first. */
static bool name_may_be_of_module(const struct rawtp_state *st, const char *name)
{
	return !*name || !glob_is_literal(name) || !kernel_has(st, name);
}

static uint32_t tracepoint_count(const struct rawtp_state *st)
{
	return st->own.len + st->modules.len;
}

/* The pointer stays valid: both lists are complete when they have been read. */
static struct tracepoint *tracepoint_at(struct rawtp_state *st, uint32_t i)
{
	return i < st->own.len ? &st->own.data[i] : &st->modules.data[i - st->own.len];
}

static const char *tracepoint_group(struct rawtp_state *st, const struct tracepoint *tp)
{
	const char *group;

	if (!st->groups)
		groups_read(st);
	group = hashmap_finds(st->groups, tp->name);
	return group ? group : tp->origin->mod ? tp->origin->mod : KERNEL_MODULE;
}

/* ---- probes ---------------------------------------------------------------------------------- */

static bool rawtp_concerns(const struct provider *pv, const struct probe_desc *desc)
{
	return glob_match(desc->prov, pv->name) && glob_match(desc->func, "") &&
	       is_tracepoint_name(desc->name);
}

/* Where there are more tracepoints than ids for them, the last ones get dynamic ids. */
static struct probe *tracepoint_add(struct provider_env *env, const struct provider *pv,
				    struct rawtp_state *st, uint32_t i)
{
	struct tracepoint *tp = tracepoint_at(st, i);
	const char *group = tracepoint_group(st, tp);

	return i < rawtp_ID_COUNT
		       ? probes_add_at(env->probes, pv, i, group, "", tp->name, (uintptr_t)tp)
		       : probes_add(env->probes, pv, group, "", tp->name, (uintptr_t)tp);
}

static struct err *tracepoints_lack(struct rawtp_state *st, const struct probe_desc *desc)
{
	if (!st->trouble || !glob_is_literal(desc->prov) || !*desc->prov)
		return NULL; /* the description may mean probes of other providers */
	return err_hint(err_new("this kernel does not say which tracepoints it has: %s",
				err_text(st->trouble)),
			"it needs CONFIG_DEBUG_INFO_BTF=y");
}

static struct err *rawtp_collect(struct provider_env *env, const struct provider *pv,
				 const struct probe_desc *desc, struct probe_list *out)
{
	struct rawtp_state *st = state_get(env, pv);

	if (!st->has_modules && name_may_be_of_module(st, desc->name))
		modules_read(st);
	for (uint32_t i = 0; i < tracepoint_count(st); i++) {
		struct tracepoint *tp = tracepoint_at(st, i);

		if (glob_match(desc->name, tp->name) &&
		    glob_match(desc->mod, *desc->mod ? tracepoint_group(st, tp) : ""))
			probe_list_add(out, tracepoint_add(env, pv, st, i));
	}
	return tracepoints_lack(st, desc);
}

static struct err *rawtp_provide(struct provider_env *env, const struct provider *pv)
{
	struct rawtp_state *st = state_get(env, pv);

	if (!st->has_modules)
		modules_read(st);
	for (uint32_t i = 0; i < tracepoint_count(st); i++)
		(void)tracepoint_add(env, pv, st, i);
	return NULL;
}

static const char *rawtp_hint(struct provider_env *env, const struct provider *pv,
			      const struct probe_desc *desc)
{
	VEC(const char *) names = {0};
	struct rawtp_state *st;
	const char *near, *hint = NULL;

	if (strcmp(desc->prov, pv->name) != 0)
		return NULL;
	st = state_get(env, pv);
	for (uint32_t i = 0; i < tracepoint_count(st); i++)
		vec_push(&names, tracepoint_at(st, i)->name);
	near = *desc->name && glob_is_literal(desc->name)
		       ? diag_nearest(desc->name, names.data, names.len)
		       : NULL;
	if (*desc->func)
		hint = "a tracepoint has no function: rawtp:GROUP::NAME";
	else if (near)
		hint = arena_printf(env->arena, "did you mean '%s:::%s'?", pv->name, near);
	vec_deinit(&names);
	return hint;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static struct tracepoint *tracepoint_of(const struct probe *pr)
{
	return (struct tracepoint *)(uintptr_t)pr->data;
}

static uint32_t rawtp_arg_types(struct provider_env *env, const struct probe *pr,
				const char *const **ret_types)
{
	struct tracepoint *tp = tracepoint_of(pr);
	const struct origin *o = tp->origin;

	if (!tp->types) {
		const struct btf_type *proto = btf_file_type(o->btf, tp->proto);
		const struct btf_param *params = (const struct btf_param *)(proto + 1);
		const char **types = ARENA_NEW_N(env->arena, const char *, tp->nargs + 1);

		for (uint32_t i = 0; i < tp->nargs; i++)
			types[i] = btf_type_text(env->arena, o->btf, params[i + 1].type, o->mod);
		tp->types = types;
	}
	*ret_types = tp->types;
	return tp->nargs;
}

static uint32_t rawtp_points(const struct probe *pr, struct probe_point *ret)
{
	ret[0] = (struct probe_point){.place = {.kind = PLACE_RAWTP,
						.target = pr->name,
						.nargs = tracepoint_of(pr)->nargs}};
	return 1;
}

/* ---- modules that come ----------------------------------------------------------------------- */

static bool rawtp_wants_modules(struct provider_env *env, const struct probe_desc *desc)
{
	return !desc->id && *desc->prov && rawtp_concerns(&provider_rawtp, desc) &&
	       name_may_be_of_module(state_get(env, &provider_rawtp), desc->name);
}

static bool is_same(const struct tracepoint *a, const struct tracepoint *b)
{
	return strcmp(a->name, b->name) == 0 && a->origin->mod && b->origin->mod &&
	       strcmp(a->origin->mod, b->origin->mod) == 0;
}

/* A probe keeps the module of its tracepoint, so tracepoints that are known stay what they are. */
static bool tracepoint_is_known(const struct rawtp_state *st, const struct tracepoint *tp)
{
	for (uint32_t i = 0; i < st->modules.len; i++)
		if (is_same(&st->modules.data[i], tp))
			return true;
	for (uint32_t i = 0; i < st->late.len; i++)
		if (is_same(st->late.data[i], tp))
			return true;
	return false;
}

/* The module may have brought groups, too: they are read again when one is asked for. */
static void late_read(struct rawtp_state *st, const char *mod)
{
	tracepoint_vec all = {0};

	module_read(st, mod, &all);
	st->late_from = st->late.len;
	for (uint32_t i = 0; i < all.len; i++) {
		struct tracepoint *tp;

		if (tracepoint_is_known(st, &all.data[i]))
			continue;
		tp = ARENA_NEW(st->arena, struct tracepoint);
		*tp = all.data[i];
		vec_push(&st->late, tp);
	}
	vec_deinit(&all);
	hashmap_destroy(st->groups);
	st->groups = NULL;
	strbuf_clear(&st->events);
}

/* Each tracepoint is a batch, because each is a place. */
static uint32_t rawtp_module_came(struct provider_env *env, const char *mod, uint32_t i)
{
	struct rawtp_state *st = state_get(env, &provider_rawtp);

	if (!st->kernel.btf)
		return 0;
	if (i == 0)
		late_read(st, mod);
	st->present = st->late_from + i;
	return st->present < st->late.len ? st->present + 1 : 0;
}

static struct err *rawtp_match_new(struct provider_env *env, const struct probe_desc *desc,
				   struct probe_list *out)
{
	struct rawtp_state *st = state_get(env, &provider_rawtp);
	struct tracepoint *tp = st->late.data[st->present];
	const char *group = tracepoint_group(st, tp);

	if (!glob_match(desc->name, tp->name) || !glob_match(desc->mod, group))
		return NULL;
	if (!tp->late)
		tp->late = probes_add_private(env->probes, &provider_rawtp, provider_rawtp.name,
					      arena_strdup(st->arena, group), "", tp->name,
					      (uintptr_t)tp);
	probe_list_add(out, tp->late);
	return NULL;
}

const struct provider_arrivals rawtp_arrivals = {
	.match_new = rawtp_match_new,
	.free = arrivals_keep,
	.modules =
		&(const struct module_arrivals){
			.wants = rawtp_wants_modules,
			.came = rawtp_module_came,
		},
};

static void rawtp_close(void *state)
{
	struct rawtp_state *st = state;

	for (uint32_t i = 0; i < st->files.len; i++)
		btf_file_close(st->files.data[i]);
	vec_deinit(&st->files);
	btf_file_close(st->kernel.btf);
	err_destroy(st->trouble);
	vec_deinit(&st->own);
	vec_deinit(&st->modules);
	vec_deinit(&st->late);
	hashmap_destroy(st->groups);
	strbuf_deinit(&st->events);
}

const struct provider provider_rawtp = {
	.name = "rawtp",
	PROVIDER_IDS(rawtp),
	.attr = {ATTR_EEI, ATTR_PPU, ATTR_PPU, ATTR_PPI, ATTR_PPI},
	.concerns = rawtp_concerns,
	.collect = rawtp_collect,
	.provide = rawtp_provide,
	.close = rawtp_close,
	.hint = rawtp_hint,
	.arg_types = rawtp_arg_types,
	.points = rawtp_points,
};
