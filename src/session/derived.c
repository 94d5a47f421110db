/* SPDX-License-Identifier: MIT */
/*
 * Probes that are declared in D, for the registry: loads the library's files that declare them,
 * finds out which of them are possible here (d/check/derive.c), and registers these, under a
 * provider for each name.
 */
#include "d/parse/attr.h"
#include "provider/providers.h"
#include "session/compiler.h"
#include "session/report.h"

static uint32_t derived_arg_types(struct provider_env *env, const struct probe *pr,
				  const char *const **ret_types)
{
	const struct derived_info *info = (const struct derived_info *)(uintptr_t)pr->data;

	*ret_types = info->types;
	return info->ntypes;
}

/* A derived probe has no place: its clauses run on the places of its sources. */
static uint32_t derived_points(const struct probe *pr, struct probe_point *ret)
{
	return 0;
}

static const struct provider *provider_of(struct compiler *c, struct derived_info *info)
{
	struct provider *pv;

	for (uint32_t i = 0; dsession_derived(c->dsession, i) && !info->handle; i++) {
		struct derived_info *other = dsession_derived(c->dsession, i);

		if (other->handle && strcmp(other->prov, info->prov) == 0)
			info->handle = other->handle;
	}
	if (info->handle)
		return info->handle;
	pv = info->handle = ARENA_NEW(c->arena, struct provider);
	pv->name = info->prov;
	pv->is_derived = true;
	memcpy(pv->attr, info->attrs, sizeof(pv->attr));
	pv->arg_types = derived_arg_types;
	pv->points = derived_points;
	return pv;
}

/* Loads the files of the library that declare the providers and probes of a description. */
static struct err *library_search(struct compiler *c, const struct probe_desc *desc)
{
	bool is_listing = !c->dsession; /* no program was or is being compiled */
	struct err *e;

	if (is_listing)
		compiler_refresh(c);
	compiler_need_dsession(c);
	e = library_load(c->library);
	if (!e)
		library_define_providers(c->library, desc);
	if (!e && is_listing)
		e = library_trouble(c->library); /* otherwise the compile returns it */
	return e;
}

/* ---- probes that run on the places of other probes ------------------------------------------- */

/*
 * Registers a declared probe. A compile that was undone, or is repeated, may have declared it
 * before: from then on its name means the new declaration.
 */
static struct probe *derived_add(struct compiler *c, struct derived_info *info)
{
	struct probe *pr = probes_add_as(c->probes, provider_of(c, info), info->prov, "", "",
					 info->name, (uintptr_t)info);

	pr->data = (uintptr_t)info;
	return pr;
}

/* Registers matching probes. Their order of declaration decides what runs first at one place. */
static struct err *derived_collect(void *ctx, const struct probe_desc *desc, struct probe_list *out)
{
	struct compiler *c = ctx;
	struct derived_info *info;
	struct err *e = NULL;

	/*
	 * the library is not searched for a name alone that another provider has: BEGIN, tick-1s
	 */
	if (*desc->prov || !*desc->name || !glob_is_literal(desc->name) ||
	    !probes_has(c->probes, desc))
		e = library_search(c, desc);
	for (uint32_t i = 0; !e && c->dsession && (info = dsession_derived(c->dsession, i)); i++)
		if (!info->is_in_processes && glob_match(desc->prov, info->prov) &&
		    probes_name_is_meant(desc, info->name) &&
		    dsession_derive(c->dsession, &c->compile_opts, &c->env, info))
			probe_list_add(out, derived_add(c, info));
	return e;
}

/* Why a declared probe cannot fire here. */
static const char *lack_text(struct compiler *c, const struct derived_info *info)
{
	if (!*info->lack)
		return arena_printf(c->arena, "%s:::%s cannot fire here: %s", info->prov,
				    info->name, info->reason);
	return arena_printf(c->arena, "what %s:::%s is made of is not here: %s%s%s", info->prov,
			    info->name, info->lack, info->reason ? "; " : "",
			    info->reason ? info->reason : "");
}

static const char *derived_absent(void *ctx, const struct probe_desc *desc)
{
	struct compiler *c = ctx;
	struct derived_info *info;

	for (uint32_t i = 0; c->dsession && (info = dsession_derived(c->dsession, i)); i++)
		if (info->lack && !info->is_in_processes && *desc->name &&
		    strcmp(desc->prov, info->prov) == 0 && glob_match(desc->name, info->name))
			return lack_text(c, info);
	return NULL;
}

static const char *derived_hint(void *ctx, const struct probe_desc *desc)
{
	struct compiler *c = ctx;
	VEC(const char *) names = {0};
	struct derived_info *info;
	const char *text = NULL, *near;

	for (uint32_t i = 0;
	     !text && *desc->prov && c->dsession && (info = dsession_derived(c->dsession, i));
	     i++) {
		if (strcmp(desc->prov, info->prov) != 0)
			continue;
		if (info->is_in_processes && glob_match(desc->name, info->name))
			text = arena_printf(c->arena,
					    "the name ends with the number of a process: "
					    "%s$target, or %s* for all",
					    info->prov, info->prov);
		vec_push(&names, info->name);
		if (!text && info->lack && glob_match(desc->name, info->name))
			text = lack_text(c, info);
	}
	/* a file that was left out may have declared probes before its compile failed */
	near = text ? NULL : library_lack(c->library, desc->prov);
	if (near)
		text = arena_printf(c->arena, "provider '%s' is not here: %s", desc->prov, near);
	near = !text && *desc->name ? probe_name_nearest(desc->name, names.data, names.len) : NULL;
	if (near)
		text = arena_printf(c->arena, "did you mean '%s'?", near);
	else if (!text && names.len)
		text = arena_printf(c->arena, "dtrace -lP %s lists what there is", desc->prov);
	vec_deinit(&names);
	return text;
}

/* For io:nfs::start: the probe is here, but has no module. */
const char *derived_hint_module(struct compiler *c, const struct probe_desc *desc)
{
	const struct probe_desc open = {desc->prov, "", "", desc->name, 0, false, 0};
	struct probe **probes;
	struct err *e;
	uint32_t n;

	if (!*desc->prov || (!*desc->mod && !*desc->func))
		return NULL;
	e = probes_match(c->probes, &open, &probes, &n);
	if (e || !n || !probes[0]->provider->is_derived) {
		err_destroy(e); /* the message of the description follows with another hint */
		return NULL;
	}
	return arena_printf(
		c->arena, "probes of provider '%s' have no module and no function: %s:::%s%s",
		desc->prov, desc->prov, desc->name,
		strncmp(desc->mod, "nfs", 3) == 0
			? "; the events of the NFS client are sdt:nfs::: and sdt:nfs4:::, "
			  "where its module is loaded"
			: "");
}

/* ---- probes in code of processes ------------------------------------------------------------- */

/*
 * True if the description can mean this probe in some process. A pattern such as "perl*"
 * is tried with numbers, and with those that it contains.
 */
static bool is_meant(const struct derived_info *info, const struct probe_desc *desc)
{
	const char *digits = desc->prov + strcspn(desc->prov, "0123456789");
	int len = (int)strspn(digits, "0123456789");
	const char *tails[] = {digits, "1", "12345"};
	size_t own = strlen(info->prov);
	char prov[256];

	if (*desc->name && !glob_match(desc->name, info->name))
		return false;
	if (glob_is_literal(desc->prov)) /* the provider's own name may have digits, too */
		return strncmp(desc->prov, info->prov, own) == 0 && desc->prov[own] &&
		       strspn(desc->prov + own, "0123456789") == strlen(desc->prov + own);
	for (uint32_t i = 0; i < ARRAY_LEN(tails); i++) {
		(void)snprintf(prov, sizeof(prov), "%s%.*s", info->prov, i ? 5 : len, tails[i]);
		if (strcmp(prov, info->prov) != 0 && glob_match(desc->prov, prov))
			return true;
	}
	return false;
}

/* "perl123" and "perl*" ask for the provider "perl". */
static struct err *processes_define(void *ctx, const struct probe_desc *desc)
{
	struct compiler *c = ctx;
	struct probe_desc d = *desc;
	size_t len = strlen(d.prov);

	while (len && d.prov[len - 1] >= '0' && d.prov[len - 1] <= '9')
		len--;
	d.prov = arena_strndup(c->arena, d.prov, len);
	return library_search(c, &d);
}

static const struct code_source *code_get(void *ctx, uint32_t i, bool *ret_is_live)
{
	struct compiler *c = ctx;

	return c->dsession ? dsession_code_source(c->dsession, i, ret_is_live) : NULL;
}

/*
 * Why processes have no probe of the description's name, although it is declared; NULL if it is not
 * declared.
 */
static const char *processes_hint(void *ctx, const struct probe_desc *desc)
{
	struct compiler *c = ctx;
	const struct code_source *code;
	struct derived_info *info;
	bool is_live;

	if (!c->dsession || !*desc->name || !glob_is_literal(desc->name))
		return NULL;
	for (uint32_t i = 0; (info = dsession_derived(c->dsession, i)); i++)
		if (info->reason && is_meant(info, desc))
			return info->reason;
	for (uint32_t i = 0; (code = dsession_code_source(c->dsession, i, &is_live)); i++)
		if (is_live && is_meant(code->probe, desc))
			return arena_printf(c->arena,
					    "this probe is made of the function '%s'%s%s of a file "
					    "'%.*s'%s%s, and there is none",
					    code->func, code->bytes ? " with the code " : "",
					    code->bytes ? code->bytes : "",
					    (int)strcspn(code->mod, "`"), code->mod,
					    strchr(code->mod, '`') ? " with " : "",
					    code->mod + strcspn(code->mod, "`"));
	return NULL;
}

/* The i-th probe in code of processes that the description can mean; NULL behind the last. */
static const struct derived_info *processes_find(const struct compiler *c,
						 const struct probe_desc *desc, uint32_t i)
{
	const struct code_source *code;
	const struct derived_info *last = NULL;
	bool is_live;

	for (uint32_t k = 0; (code = dsession_code_source(c->dsession, k, &is_live)); k++)
		if (is_live && code->probe != last && is_meant(code->probe, desc)) {
			last = code->probe;
			if (!i--)
				return last;
		}
	return NULL;
}

const struct derived_info *derived_find(void *ctx, const struct probe_desc *desc, uint32_t i,
					uint32_t *ret_nplain)
{
	struct compiler *c = ctx;
	const struct derived_info *found = NULL;
	struct probe **probes;
	uint32_t n, nderived = 0;
	struct err *e = probes_match(c->probes, desc, &probes, &n);

	*ret_nplain = 0;
	if (e) {
		err_destroy(e); /* match() has told */
		return NULL;
	}
	for (uint32_t k = 0; k < n; k++) {
		if (!probes[k]->provider->is_derived)
			*ret_nplain += !probes[k]->source;
		else if (nderived++ == i)
			found = (const struct derived_info *)(uintptr_t)probes[k]->data;
	}
	return found ? found : processes_find(c, desc, i - nderived);
}

void derived_init(struct compiler *c)
{
	probes_env(c->probes)->declared = (struct declared_source_fns){.collect = derived_collect,
								       .hint = derived_hint,
								       .absent = derived_absent,
								       .define = processes_define,
								       .code = code_get,
								       .code_hint = processes_hint,
								       .ctx = c};
}
