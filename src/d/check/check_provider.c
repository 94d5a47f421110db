/* SPDX-License-Identifier: MIT */
/* Declarations of providers: their probes' native and translated arguments (d-language.md 2.9). */
#include "d/check/check_impl.h"

#define PROVIDER_NAME_MAX 63
#define PROBE_ARGS_MAX	  255

static bool check_probe_name(struct check *c, struct span at, const char *what, const char *name)
{
	if (strchr(name, '`')) {
		check_error(c, D_PROV_BADNAME, at, "%s name may not contain scoping operator: %s",
			    what, name);
		return false;
	}
	if (strlen(name) > PROVIDER_NAME_MAX) {
		check_error(c, D_PROV_BADNAME, at, "%s name may not exceed %d characters: %s", what,
			    PROVIDER_NAME_MAX, name);
		return false;
	}
	return true;
}

static bool check_provider_name(struct check *c, const struct decl *d)
{
	const char *name = d->provider.name;
	size_t len = strlen(name);

	if (!check_probe_name(c, d->provider.name_span, "provider", name))
		return false;
	/* nfsv3 of the system's library is none of process 3: probes_is_foreign() */
	if (len && name[len - 1] >= '0' && name[len - 1] <= '9' && c->opts->layer != LAYER_SYSTEM) {
		check_error(c, D_PROV_BADNAME, d->provider.name_span,
			    "provider name may not end with a digit: %s", name);
		return false;
	}
	return true;
}

/* The name of a probe: "__" of the C identifier stands for '-'. */
static const char *probe_name(struct check *c, const char *ident)
{
	char *name = arena_strdup(c->session->arena, ident), *out = name;

	for (const char *p = name; *p; p++) {
		if (p[0] == '_' && p[1] == '_') {
			*out++ = '-';
			p++;
		} else {
			*out++ = *p;
		}
	}
	*out = '\0';
	return name;
}

/*
 * The number of the native parameter that a translated one is made of; UINT32_MAX after reporting.
 */
static uint32_t native_index(struct check *c, const struct probe_decl *pd,
			     const struct type_name *x)
{
	if (!x->name) {
		check_error(c, D_DECL_PROTO_FORM, x->span,
			    "translated parameter of probe %s must have a name", pd->name);
		return UINT32_MAX;
	}
	for (uint32_t i = 0; i < pd->nargs; i++)
		if (pd->args[i]->name && strcmp(pd->args[i]->name, x->name) == 0)
			return i;
	check_error(c, D_DECL_PROTO_NAME, x->span,
		    "translated parameter '%s' of probe %s is not the name of a native one",
		    x->name, pd->name);
	return UINT32_MAX;
}

static bool check_xargs(struct check *c, const struct probe_decl *pd, struct declared_probe *p)
{
	struct arena *a = c->session->arena;

	if (!decl_params(c, pd->xargs, pd->nxargs, false, pd->span, DECL_PARAMS_PROVIDER, &p->xargs,
			 &p->nxargs))
		return false;
	p->map = ARENA_NEW_N(a, uint32_t, p->nxargs + 1);
	for (uint32_t i = 0; i < p->nxargs; i++) {
		type_id out = p->xargs[i];

		p->map[i] = native_index(c, pd, pd->xargs[i]);
		if (p->map[i] == UINT32_MAX)
			return false;
		if (type_same(c->types, out, p->args[p->map[i]]) ||
		    (pd->nsources && arg_is_open(c, p->args[p->map[i]])) ||
		    (type_is_string(c->types, out) &&
		     type_is_strcompat(c->types, p->args[p->map[i]])))
			continue;
		if (type_is_pointer(c->types, out))
			out = type_deref(c->types, out);
		if (xlator_find(c, p->args[p->map[i]], out))
			continue;
		check_error(c, D_PROV_PRXLATOR, pd->xargs[i]->span,
			    "translator from \"%s\" to \"%s\" is needed for probe %s",
			    type_text(c, p->args[p->map[i]]), type_text(c, p->xargs[i]), pd->name);
		return false;
	}
	return true;
}

static struct declared_probe *declare_probe(struct check *c, const struct probe_decl *pd)
{
	struct declared_probe *p = ARENA_NEW(c->session->arena, struct declared_probe);

	if (!check_probe_name(c, pd->span, "probe", pd->name))
		return NULL;
	if (pd->nargs > PROBE_ARGS_MAX || pd->nxargs > PROBE_ARGS_MAX) {
		check_error(c, D_PROV_PRARGLEN, pd->span, "probe %s has more than %d parameters",
			    pd->name, PROBE_ARGS_MAX);
		return NULL;
	}
	p->name = probe_name(c, pd->name);
	p->layer = c->session->layer;
	if (!decl_params(c, pd->args, pd->nargs, pd->varargs, pd->span, DECL_PARAMS_PROVIDER,
			 &p->args, &p->nargs))
		return NULL;
	if (pd->has_xargs)
		return check_xargs(c, pd, p) ? p : NULL;
	p->xargs = p->args;
	p->nxargs = p->nargs;
	p->map = ARENA_NEW_N(c->session->arena, uint32_t, p->nargs + 1);
	for (uint32_t i = 0; i < p->nargs; i++)
		p->map[i] = i;
	return p;
}

static bool same_types(struct check *c, const type_id *a, uint32_t na, const type_id *b,
		       uint32_t nb)
{
	if (na != nb)
		return false;
	for (uint32_t i = 0; i < na; i++)
		if (!type_same(c->types, a[i], b[i]))
			return false;
	return true;
}

/* Reports a second declaration that differs from the first. */
static void check_same_provider(struct check *c, const struct decl *d,
				const struct declared_provider *old,
				const struct declared_provider *new)
{
	bool same = hashmap_count(old->probes) == hashmap_count(new->probes);
	struct declared_probe *p, *q;
	size_t pos = 0;

	while (same && (p = hashmap_next(new->probes, &pos, NULL, NULL))) {
		q = hashmap_finds(old->probes, p->name);
		same = q && same_types(c, p->args, p->nargs, q->args, q->nargs) &&
		       same_types(c, p->xargs, p->nxargs, q->xargs, q->nxargs);
	}
	if (!same)
		check_error(c, D_PROV_INCOMPAT, d->provider.name_span,
			    "provider %s interface mismatch: it was declared differently before",
			    old->name);
}

void check_provider(struct check *c, struct decl *d)
{
	struct dsession *s = c->session;
	struct declared_provider *p = ARENA_NEW(s->arena, struct declared_provider), *old;

	if (!check_provider_name(c, d) ||
	    !privilege_check_provider(c, d->provider.name, d->provider.name_span))
		return;
	p->name = arena_strdup(s->arena, d->provider.name);
	p->probes = session_map(s);
	memcpy(p->attrs, attr_provider_default, sizeof(p->attrs));
	for (uint32_t i = 0; i < d->provider.nprobes; i++) {
		struct declared_probe *probe = declare_probe(c, &d->provider.probes[i]);

		if (!probe)
			continue;
		if (!derived_declare(c, p, &d->provider.probes[i], probe))
			continue;
		if (hashmap_finds(p->probes, probe->name))
			check_error(c, D_PROV_PRDUP, d->provider.probes[i].span,
				    "probe %s:%s is declared twice", p->name, probe->name);
		else if (c->opts->builds_programs && !probe->nsources &&
			 probe->layer == LAYER_PROGRAM)
			check_usdt_probe(c, &d->provider.probes[i], p->name, probe);
		if (!hashmap_finds(p->probes, probe->name))
			hashmap_sets(p->probes, probe->name, probe);
	}
	old = hashmap_finds(s->providers, p->name);
	if (old)
		check_same_provider(c, d, old, p);
	else
		session_bind(s, s->providers, p->name, p);
	if (c->env->declared)
		c->env->declared(c->env->ctx);
}
