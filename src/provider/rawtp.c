/*
 * Provider rawtp: the kernel's tracepoints, with the parameters with which the kernel calls them
 * (providers.md, 7.2).
 *
 * The kernel's BTF has a typedef btf_trace_NAME for each tracepoint. Its first parameter is the
 * tracer's own; the others are those of the probe. The group comes from tracefs; a tracepoint
 * without an event there ("bare") is in group vmlinux. Nothing is read before a description could
 * match such a probe. The id of a probe is the number of its typedef, so that it is the same in a
 * listing and in every session.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/hashmap.h"
#include "base/str.h"
#include "d/diag.h"
#include "provider/providers.h"
#include "sym/btf.h"

#define PREFIX	 "btf_trace_"
#define NO_GROUP "vmlinux"

struct tracepoint {
	const char *name;
	uint32_t proto; /* BTF id of its function type */
	uint32_t nargs;
	const char *const *types; /* of the parameters; NULL until needed */
};

struct rawtp_state {
	bool is_read;
	struct err *trouble; /* why the tracepoints cannot be read; NULL: they can */
	struct btf_file *btf;
	VEC(struct tracepoint) list; /* in the order of ids */
	struct hashmap *groups;	     /* event -> its group; NULL until a probe is made */
	struct strbuf events;	     /* the text to which keys and values of groups point */
};

/* ---- tracepoints of the kernel --------------------------------------------------------------- */

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

static void tracepoints_read(struct rawtp_state *st)
{
	const struct btf_type *t = NULL;

	st->is_read = true;
	st->trouble = btf_file_open(BTF_KERNEL, NULL, &st->btf);
	while (!st->trouble && (t = btf_file_next(st->btf, t))) {
		struct tracepoint tp = {0};

		if (BTF_INFO_KIND(t->info) != BTF_KIND_TYPEDEF)
			continue;
		tp.name = btf_file_str(st->btf, t->name_off);
		if (strncmp(tp.name, PREFIX, sizeof(PREFIX) - 1) != 0)
			continue;
		tp.name += sizeof(PREFIX) - 1;
		tp.proto = tracepoint_proto(st->btf, t);
		if (!tp.proto || st->list.len == RAWTP_ID_COUNT)
			continue;
		tp.nargs = BTF_INFO_VLEN(btf_file_type(st->btf, tp.proto)->info) - 1;
		vec_push(&st->list, tp);
	}
}

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

static struct rawtp_state *state_get(struct probes *ps, const struct provider *pv)
{
	struct rawtp_state *st = probes_state(ps, pv, sizeof(*st));

	if (!st->is_read)
		tracepoints_read(st);
	return st;
}

static const char *tracepoint_group(struct rawtp_state *st, const struct tracepoint *tp)
{
	const char *group;

	if (!st->groups)
		groups_read(st);
	group = hashmap_finds(st->groups, tp->name);
	return group ? group : NO_GROUP;
}

/* ---- probes ---------------------------------------------------------------------------------- */

static bool rawtp_concerns(const struct provider *pv, const struct probe_desc *desc)
{
	return glob_match(desc->prov, pv->name) && glob_match(desc->func, "") &&
	       is_tracepoint_name(desc->name);
}

static struct probe *tracepoint_add(struct probes *ps, const struct provider *pv,
				    struct rawtp_state *st, uint32_t i)
{
	struct tracepoint *tp = &st->list.data[i]; /* stays valid: the list is complete */

	return probes_add_at(ps, pv, i, tracepoint_group(st, tp), "", tp->name, (uintptr_t)tp);
}

static struct err *tracepoints_lack(struct rawtp_state *st, const struct probe_desc *desc)
{
	if (!st->trouble || !glob_is_literal(desc->prov) || !*desc->prov)
		return NULL; /* the description may mean probes of other providers */
	return err_hint(err_new("this kernel does not say which tracepoints it has: %s",
				err_text(st->trouble)),
			"it needs CONFIG_DEBUG_INFO_BTF=y");
}

static struct err *rawtp_collect(struct probes *ps, const struct provider *pv,
				 const struct probe_desc *desc, struct probe_list *out)
{
	struct rawtp_state *st = state_get(ps, pv);

	for (uint32_t i = 0; i < st->list.len; i++)
		if (glob_match(desc->name, st->list.data[i].name) &&
		    glob_match(desc->mod,
			       *desc->mod ? tracepoint_group(st, &st->list.data[i]) : ""))
			probe_list_add(out, tracepoint_add(ps, pv, st, i));
	return tracepoints_lack(st, desc);
}

static struct err *rawtp_provide(struct probes *ps, const struct provider *pv)
{
	struct rawtp_state *st = state_get(ps, pv);

	for (uint32_t i = 0; i < st->list.len; i++)
		(void)tracepoint_add(ps, pv, st, i);
	return NULL;
}

static const char *rawtp_hint(struct probes *ps, const struct provider *pv,
			      const struct probe_desc *desc)
{
	VEC(const char *) names = {0};
	struct rawtp_state *st;
	const char *near, *hint = NULL;

	if (strcmp(desc->prov, pv->name) != 0)
		return NULL;
	st = state_get(ps, pv);
	for (uint32_t i = 0; i < st->list.len; i++)
		vec_push(&names, st->list.data[i].name);
	near = *desc->name && glob_is_literal(desc->name)
		       ? diag_nearest(desc->name, names.data, names.len)
		       : NULL;
	if (*desc->func)
		hint = "a tracepoint has no function: rawtp:GROUP::NAME";
	else if (near)
		hint = arena_printf(probes_arena(ps), "did you mean '%s:::%s'?", pv->name, near);
	vec_deinit(&names);
	return hint;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static struct tracepoint *tracepoint_of(const struct probe *pr)
{
	return (struct tracepoint *)(uintptr_t)pr->data;
}

static uint32_t rawtp_arg_types(struct probes *ps, const struct probe *pr,
				const char *const **ret_types)
{
	struct rawtp_state *st = state_get(ps, pr->provider);
	struct tracepoint *tp = tracepoint_of(pr);

	if (!tp->types) {
		const struct btf_type *proto = btf_file_type(st->btf, tp->proto);
		const struct btf_param *params = (const struct btf_param *)(proto + 1);
		const char **types = ARENA_NEW_N(probes_arena(ps), const char *, tp->nargs + 1);

		for (uint32_t i = 0; i < tp->nargs; i++)
			types[i] =
				btf_type_text(probes_arena(ps), st->btf, params[i + 1].type, NULL);
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

static void rawtp_close(void *state)
{
	struct rawtp_state *st = state;

	btf_file_close(st->btf);
	err_destroy(st->trouble);
	vec_deinit(&st->list);
	hashmap_destroy(st->groups);
	strbuf_deinit(&st->events);
}

const struct provider provider_rawtp = {
	.name = "rawtp",
	.id_base = RAWTP_ID_BASE,
	.id_count = RAWTP_ID_COUNT,
	.attr = {ATTR_EEI, ATTR_PPU, ATTR_PPU, ATTR_PPI, ATTR_PPI},
	.concerns = rawtp_concerns,
	.collect = rawtp_collect,
	.provide = rawtp_provide,
	.close = rawtp_close,
	.hint = rawtp_hint,
	.arg_types = rawtp_arg_types,
	.points = rawtp_points,
};
