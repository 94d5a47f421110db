/* SPDX-License-Identifier: MIT */
/* Declarations of variables and typedefs; refuses names that are taken (d-language.md 2.7). */
#include "d/check/check_impl.h"

static void fail_redeclared(struct check *c, struct span at, const char *name,
			    const struct ident *old)
{
	struct source_loc loc;

	check_error(c, D_DECL_IDRED, at, "identifier redeclared: %s", name);
	if (!old || old->is_builtin) {
		diag_hint(c->diags, "'%s' is %s: choose another name", name,
			  old ? "built in" : "the name of a type");
		return;
	}
	loc = source_locate(c->session->sources, old->span.off);
	if (loc.line)
		diag_hint(c->diags, "it was declared in line %u", loc.line);
}

/* A file of values declares a variable that the helper has, whose value it would get. */
static void fail_shared(struct check *c, struct span at, const char *name)
{
	check_error(c, D_DECL_IDRED, at, "identifier redeclared: %s", name);
	diag_hint(c->diags,
		  "the helper has declared '%s', which this file sees: leave this declaration out, "
		  "or choose another name",
		  name);
}

bool check_name_is_free(struct check *c, struct span at, const char *name)
{
	struct ident *old = ident_find_own(c, SCOPE_GLOBAL, name);

	if (old && old->type == TYPE_ERROR)
		return false; /* poison: an error was reported */
	if (!decl_name_is_plain(c, at, name))
		return false;
	if (!old && types_find_own(c->types, name, strlen(name)) == TYPE_NONE)
		return true;
	fail_redeclared(c, at, name, old);
	return false;
}

struct ident *check_enumerator(struct check *c, struct span at, const char *name, int64_t val)
{
	struct ident *id;

	if (!check_name_is_free(c, at, name))
		return NULL;
	id = ident_create(c, IDENT_ENUMERATOR, name, at,
			  val == (int32_t)val ? TYPE_INT : TYPE_LONG); /* C headers have 1u << 31 */
	id->ival = val;
	ident_apply_pending(c, id);
	session_bind_global(c->session, id->name, id);
	return id;
}

/* Whether a declaration repeats an earlier one of the same name and type. */
static bool is_same(struct check *c, const struct ident *id, const struct decl_object *obj,
		    enum ident_kind kind)
{
	if (id->is_builtin || id->kind != kind || id->xlate_type != TYPE_NONE ||
	    !type_same(c->types, id->type, obj->type) || id->nkeys != obj->nkeys)
		return false;
	for (uint32_t i = 0; i < id->nkeys; i++)
		if (!type_same(c->types, id->keys[i], obj->keys[i]))
			return false;
	return true;
}

static enum ident_scope scope_of(enum storage_class sc)
{
	return sc == SC_SELF ? SCOPE_SELF : sc == SC_THIS ? SCOPE_THIS : SCOPE_GLOBAL;
}

static void declare_extern(struct check *c, struct type_name *tn, const struct decl_object *obj)
{
	struct ident *id = ident_create(c, IDENT_EXTERN, tn->name, tn->name_span, obj->type);

	id->attr = (struct attr){STAB_PRIVATE, STAB_PRIVATE, DEP_UNKNOWN};
	id->is_declared = true;
	ident_apply_pending(c, id);
	session_bind_global(c->session, id->name, id);
}

/*
 * Whether an external declaration is accepted without effect: one with the name of something built
 * in (the bare name stays D's, `name is the symbol), or a function of a C header, which D cannot
 * call.
 */
static bool is_passed_over(struct check *c, const struct type_name *tn,
			   const struct decl_object *obj)
{
	return hashmap_finds(c->session->builtins, tn->name) ||
	       (c->in_include && type_kind(c->types, obj->type) == TK_FUNC);
}

static void declare_object(struct check *c, struct type_name *tn)
{
	enum ident_scope scope = scope_of(tn->specs->sc);
	struct decl_object obj;
	enum ident_kind kind;
	struct ident *old;
	bool is_extern;

	if (!decl_object(c, tn, DIF_MAX_STATIC, &obj)) {
		if (!ident_find(c, scope, tn->name))
			ident_poison(c, scope, tn->name, tn->name_span);
		return;
	}
	obj.type = wide_var_type(c, scope, tn->name, obj.type);
	wide_key_types(c, scope, tn->name, obj.keys, obj.nkeys);
	is_extern = tn->specs->sc == SC_EXTERN || type_kind(c->types, obj.type) == TK_FUNC;
	if (is_extern && is_passed_over(c, tn, &obj))
		return;
	kind = is_extern ? IDENT_EXTERN : obj.is_assoc ? IDENT_ARRAY : IDENT_VAR;
	old = ident_find(c, scope, tn->name);
	if (old && is_same(c, old, &obj, kind)) {
		/* it may be a library's, but not one of the helper of these values */
		if (c->opts->shares_locals && scope == SCOPE_GLOBAL)
			fail_shared(c, tn->name_span, tn->name);
		return;
	}
	old = ident_find_own(c, scope, tn->name);
	if (old) {
		if (old->type != TYPE_ERROR)
			fail_redeclared(c, tn->name_span, var_text(c, scope, tn->name), old);
		return;
	}
	if (scope == SCOPE_GLOBAL ? !check_name_is_free(c, tn->name_span, tn->name)
				  : !decl_name_is_plain(c, tn->name_span, tn->name))
		return;
	if (is_extern)
		declare_extern(c, tn, &obj);
	else
		var_create(c, tn->name_span, scope, tn->name, obj.type, obj.is_assoc, obj.keys,
			   obj.nkeys)
			->is_declared = true;
}

static void declare_typedef(struct check *c, struct type_name *tn)
{
	struct ident *old = ident_find_own(c, SCOPE_GLOBAL, tn->name);

	if (old && old->type != TYPE_ERROR)
		fail_redeclared(c, tn->name_span, tn->name, old);
	else
		(void)decl_typedef(c, tn); /* it has reported; nothing here depends on it */
}

void check_vars(struct check *c, struct decl *d)
{
	if (d->vars.nnames == 0)
		(void)decl_alone(c, d->vars.specs);
	for (uint32_t i = 0; i < d->vars.nnames; i++) {
		if (d->vars.specs->sc == SC_TYPEDEF)
			declare_typedef(c, d->vars.names[i]);
		else
			declare_object(c, d->vars.names[i]);
	}
}
