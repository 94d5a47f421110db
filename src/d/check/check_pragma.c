/* SPDX-License-Identifier: MIT */
/* Pragmas about names: attributes, binding, depends_on (d-language.md 1.6, 11.3). */
#include "d/check/check_impl.h"

/*
 * The pragma for an identifier of this program; one that is not defined yet gets the pragma when it
 * is. NULL after reporting.
 */
static struct pending_pragma *pragma_target(struct check *c, const struct decl *d)
{
	const char *name = d->pragma.words[2];
	struct ident *id = ident_find(c, SCOPE_GLOBAL, name);
	struct pending_pragma *p;

	if (id &&
	    (id->is_builtin || id->layer != c->session->layer || id->span.off < c->first_off)) {
		check_error(c, D_PRAGMA_SCOPE, d->pragma.spans[2],
			    "#pragma D %s may not modify %s, which is defined outside this program",
			    d->pragma.words[0], id->name);
		return NULL;
	}
	p = ARENA_NEW(c->arena, struct pending_pragma);
	p->name = name;
	p->span = d->pragma.spans[2];
	p->next = c->pending;
	c->pending = p;
	return p;
}

static void pragma_apply(struct check *c, struct pending_pragma *p)
{
	struct ident *id = ident_find(c, SCOPE_GLOBAL, p->name);

	if (id)
		ident_apply_pending(c, id);
}

static void pragma_attributes(struct check *c, const struct decl *d)
{
	struct declared_provider *provider;
	struct pending_pragma *p;

	if (d->pragma.part < NPARTS) {
		provider = hashmap_finds(c->session->providers, d->pragma.words[3]);
		if (provider)
			provider->attrs[d->pragma.part] = d->pragma.attr;
		else
			check_error(c, D_PRAGMA_UNUSED, d->pragma.spans[3],
				    "#pragma D attributes: provider %s is not declared in this "
				    "program",
				    d->pragma.words[3]);
		return;
	}
	p = pragma_target(c, d);
	if (!p)
		return;
	p->has_attr = true;
	p->attr = d->pragma.attr;
	pragma_apply(c, p);
}

static void pragma_binding(struct check *c, const struct decl *d)
{
	struct pending_pragma *p = pragma_target(c, d);

	if (!p)
		return;
	p->has_version = true;
	p->version = d->pragma.version;
	pragma_apply(c, p);
}

static bool provider_exists(struct check *c, const struct probe_desc *desc)
{
	uint32_t count = 0;
	struct err *e = c->env->match ? c->env->match(c->env->ctx, desc, &count) : NULL;

	err_destroy(e); /* a description that is refused matches nothing */
	return count > 0;
}

/*
 * Whether the kernel has the module. Only providers of its parts are asked: the D library would
 * look for the probes of the very file that asks.
 */
static bool module_exists(struct check *c, const char *name)
{
	static const char *const provs[] = {"rawtp", "sdt", "fbt"};

	if (strcmp(name, "vmlinux") == 0)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(provs); i++)
		if (provider_exists(c, &(struct probe_desc){provs[i], name, "", "", 0, false, 0}))
			return true;
	return false;
}

static bool dependency_is_met(struct check *c, enum pragma_dependency on, const char *name)
{
	struct probe_desc desc = {.prov = "", .mod = "", .func = "", .name = ""};

	switch (on) {
	case DEPENDS_ON_LIBRARY: return true; /* whoever loads libraries has put them in order */
	case DEPENDS_ON_MODULE: return module_exists(c, name);
	case DEPENDS_ON_PROVIDER:
		desc.prov = name;
		return hashmap_finds(c->session->providers, name) || provider_exists(c, &desc);
	}
	BUG("dependency %d", (int)on);
}

static void pragma_depends_on(struct check *c, const struct decl *d)
{
	if (d->pragma.on == DEPENDS_ON_LIBRARY && c->opts->layer == LAYER_PROGRAM)
		check_error(c, D_PRAGMA_DEPEND, d->pragma.spans[1],
			    "main program may not explicitly depend on a library");
	else if (!dependency_is_met(c, d->pragma.on, d->pragma.words[2]))
		check_error(c, D_PRAGMA_DEPEND, d->pragma.spans[2],
			    "program requires %s %s, which is not there", d->pragma.words[1],
			    d->pragma.words[2]);
}

void check_pragma(struct check *c, struct decl *d)
{
	switch (d->pragma.kind) {
	case PRAGMA_ATTRIBUTES: pragma_attributes(c, d); return;
	case PRAGMA_BINDING: pragma_binding(c, d); return;
	case PRAGMA_DEPENDS_ON: pragma_depends_on(c, d); return;
	}
	BUG("pragma %d", (int)d->pragma.kind);
}

void check_pragmas_unused(struct check *c)
{
	struct pending_pragma *p;

	for (p = c->pending; p; p = p->next)
		if (!p->is_used)
			check_error(c, D_PRAGMA_UNUSED, p->span,
				    "unused #pragma D %s: %s is never declared",
				    p->has_attr ? "attributes" : "binding", p->name);
}
