/* SPDX-License-Identifier: MIT */
/* Names: finds the meaning of an identifier; creates variables by assignment; checks keys. */
#include "d/check/check_impl.h"
#include "d/parse/foreign.h"

#define VAR_ID_MAX 0xffff /* 16 bits in an instruction */

/* clang-format off */
static const char *const scope_prefix[] = {
	[SCOPE_GLOBAL] = "", [SCOPE_SELF] = "self->", [SCOPE_THIS] = "this->"};

static const uint8_t dif_scope[] = {[SCOPE_GLOBAL] = DIF_SCOPE_GLOBAL,
				    [SCOPE_SELF] = DIF_SCOPE_THREAD,
				    [SCOPE_THIS] = DIF_SCOPE_LOCAL};

const char *var_text(struct check *c, enum ident_scope scope, const char *name)
{
	return arena_printf(c->arena, "%s%s", scope_prefix[scope], name);
}
/* clang-format on */

static struct hashmap *scope_map(struct check *c, enum ident_scope scope)
{
	switch (scope) {
	case SCOPE_GLOBAL: return c->session->globals[c->session->layer];
	case SCOPE_SELF: return c->session->selfs;
	case SCOPE_THIS: return c->locals;
	}
	BUG("scope %d", (int)scope);
}

/* ---- finding ---------------------------------------------------------------------------- */

struct ident *ident_create(struct check *c, enum ident_kind kind, const char *name, struct span at,
			   type_id type)
{
	struct ident *id = ARENA_NEW(c->session->arena, struct ident);

	id->kind = kind;
	id->name = arena_strdup(c->session->arena, name);
	id->type = type;
	id->span = at;
	id->attr = (struct attr)ATTR_STABLE;
	id->layer = c->session->layer;
	return id;
}

/*
 * NULL for an identifier that is newer than the D version of option version (d-language.md 11.4).
 */
static struct ident *ident_if_visible(struct check *c, struct ident *id)
{
	if (id && c->opts->d_version && id->version > c->opts->d_version)
		return NULL;
	return id;
}

/* A subroutine that only Fathom has: programs written for other DTraces may use its name. */
static bool is_fathom_only(const struct ident *id)
{
	return id->kind == IDENT_SUBR && id->subr->flags & SUBR_OURS;
}

/*
 * The key in c->locals of a clause-local variable of which the current source of the probe has one
 * of its own (local_of_source()).
 */
static const char *source_key(struct check *c, const char *name)
{
	const struct probe_desc *d = c->source;

	return arena_printf(c->arena, "%s@%s:%s:%s:%s", name, d->prov, d->mod, d->func, d->name);
}

struct ident *ident_find(struct check *c, enum ident_scope scope, const char *name)
{
	struct ident *id = NULL;

	if (scope == SCOPE_THIS && c->source)
		id = hashmap_finds(c->locals, source_key(c, name));
	if (id)
		return id;
	if (scope != SCOPE_GLOBAL)
		return hashmap_finds(scope_map(c, scope), name);
	id = ident_if_visible(c, session_global(c->session, name, strlen(name)));
	if (!id)
		id = ident_if_visible(c, hashmap_finds(c->session->builtins, name));
	if (!id && check_define(c, name, strlen(name)))
		id = ident_if_visible(c, session_global(c->session, name, strlen(name)));
	return id;
}

struct ident *ident_find_own(struct check *c, enum ident_scope scope, const char *name)
{
	struct ident *id = ident_if_visible(c, hashmap_finds(scope_map(c, scope), name));

	if (!id && scope == SCOPE_GLOBAL)
		id = ident_if_visible(c, hashmap_finds(c->session->builtins, name));
	return id && is_fathom_only(id) ? NULL : id;
}

static struct binding *binding_find(struct check *c, const struct expr *e)
{
	struct binding *b;

	if (e->ident.scope != SCOPE_GLOBAL)
		return NULL;
	for (b = c->bindings; b; b = b->next)
		if (strcmp(b->name, e->ident.name) == 0)
			return b;
	return NULL;
}

/* The identifier in an unchecked 'name' or 'name[...]'; NULL when e is something else. */
static const struct expr *name_of_expr(const struct expr *e)
{
	if (e->kind == EXPR_INDEX)
		e = e->index.base;
	return e->kind == EXPR_IDENT && e->type == TYPE_NONE ? e : NULL;
}

bool check_is_new_var(struct check *c, const struct expr *e)
{
	const struct expr *name = e->type == TYPE_NONE ? name_of_expr(e) : NULL;
	struct ident *id;

	if (!name || strchr(name->ident.name, '`') || binding_find(c, name))
		return false;
	id = ident_find(c, name->ident.scope, name->ident.name);
	return !id || is_fathom_only(id);
}

/* ---- hints ------------------------------------------------------------------------------ */

static void names_add(struct hashmap *m, const char ***names, uint32_t *n, uint32_t cap)
{
	size_t pos = 0;
	struct ident *id;

	while ((id = hashmap_next(m, &pos, NULL, NULL)) && *n < cap)
		if (id->kind != IDENT_SUBR && id->type != TYPE_ERROR)
			(*names)[(*n)++] = id->name;
}

/* Whether the name at a span comes from a $1 whose argument was a word. */
static bool is_script_arg(struct check *c, struct span at)
{
	struct source_loc loc = source_locate(c->session->sources, at.off);

	return loc.src && loc.col <= loc.text_len && loc.text[loc.col - 1] == '$';
}

static void hint_nearest(struct check *c, const struct expr *name, bool is_array)
{
	enum ident_scope scope = name->ident.scope;
	struct hashmap *m = scope_map(c, scope);
	size_t cap = hashmap_count(m) + hashmap_count(c->session->builtins);
	const char **names = ARENA_NEW_N(c->arena, const char *, cap + 1), *nearest;
	const char *unquoted = unquoted_hint(c, name);
	const char *foreign = scope == SCOPE_GLOBAL && !unquoted
				      ? foreign_hint(FOREIGN_VARIABLE, name->ident.name)
				      : NULL;
	uint32_t n = 0;

	if (foreign) {
		diag_hint(c->diags, "%s", foreign);
		return;
	}
	names_add(m, &names, &n, (uint32_t)cap);
	if (scope == SCOPE_GLOBAL)
		names_add(c->session->builtins, &names, &n, (uint32_t)cap);
	nearest = diag_nearest(name->ident.name, names, n);
	if (!nearest && scope == SCOPE_GLOBAL && c->env->nearest)
		nearest = c->env->nearest(c->env->ctx, name->ident.name);
	if (nearest)
		diag_hint(c->diags, "did you mean '%s%s'?%s%s", scope_prefix[scope], nearest,
			  unquoted ? " Otherwise: " : "", unquoted ? unquoted : "");
	else if (unquoted)
		diag_hint(c->diags, "%s", unquoted);
	else if (scope == SCOPE_GLOBAL && hashmap_finds(c->session->selfs, name->ident.name))
		diag_hint(c->diags, "did you mean 'self->%s'?", name->ident.name);
	else if (scope == SCOPE_GLOBAL && hashmap_finds(c->locals, name->ident.name))
		diag_hint(c->diags, "did you mean 'this->%s'?", name->ident.name);
	else if (is_script_arg(c, name->span))
		diag_hint(c->diags,
			  "the script's argument is '%s': $$ in place of $ makes it a string",
			  name->ident.name);
	else
		diag_hint(c->diags, "assign it before this, or declare it first: '%sint %s%s;'",
			  scope == SCOPE_SELF	? "self "
			  : scope == SCOPE_THIS ? "this "
						: "",
			  name->ident.name, is_array ? "[string]" : "");
}

void ident_poison(struct check *c, enum ident_scope scope, const char *name, struct span at)
{
	struct ident *id = ident_create(c, IDENT_VAR, name, at, TYPE_ERROR);

	id->scope = scope;
	session_bind(c->session, scope_map(c, id->scope), id->name, id);
}

/* Reports about a name only once: makes later uses silent. */
static void name_silence(struct check *c, const struct expr *name)
{
	ident_poison(c, name->ident.scope, name->ident.name, name->span);
}

struct expr *expr_undefined(struct check *c, struct expr *e)
{
	const struct expr *name = name_of_expr(e);

	if (name->ident.scope == SCOPE_GLOBAL && e->kind == EXPR_IDENT)
		check_error(c, D_IDENT_UNDEF, e->span,
			    "failed to resolve %s: Unknown variable name", name->ident.name);
	else
		check_error(c, D_VAR_UNDEF, e->span, "%s%s%s has not yet been declared or assigned",
			    scope_prefix[name->ident.scope], name->ident.name,
			    e->kind == EXPR_INDEX ? "[ ]" : "");
	hint_nearest(c, name, e->kind == EXPR_INDEX);
	name_silence(c, name);
	return expr_bad(c, e->span);
}

/* ---- attributes ------------------------------------------------------------------------- */

/*
 * The attributes of the provider that desc names; when it names several, the least of them.
 * Providers declared in D come first.
 */
static const struct attr *provider_attrs(struct check *c, const struct probe_desc *desc)
{
	const struct declared_provider *p = hashmap_finds(c->session->providers, desc->prov);

	if (p)
		return p->attrs;
	if (c->attrs_of != desc) {
		if (!c->env->attrs || !c->env->attrs(c->env->ctx, desc, c->desc_attrs))
			memcpy(c->desc_attrs, attr_provider_default, sizeof(c->desc_attrs));
		c->attrs_of = desc;
	}
	return c->desc_attrs;
}

void attr_use(struct check *c, struct span at, const char *name, struct attr a)
{
	struct attr amin = {c->opts->amin[0], c->opts->amin[1], c->opts->amin[2]};

	c->attr = attr_min(c->attr, a);
	if (attr_is_below(a, amin)) {
		struct strbuf text = {0};

		attr_print(a, &text);
		check_error(c, D_ATTR_MIN, at,
			    "attributes for %s (%s) are less than predefined minimum", name,
			    strbuf_text(&text));
		strbuf_deinit(&text);
	}
}

struct attr builtin_attr(struct check *c, const struct ident *id)
{
	const struct attr *parts;
	enum provider_part part;

	if (!id->builtin || !c->desc || !*c->desc->prov)
		return id->attr;
	if (id->id == DIF_VAR_ARGS || (id->id >= DIF_VAR_ARG0 && id->id <= DIF_VAR_ARG9))
		part = PART_ARGS;
	else if (id->id >= DIF_VAR_PROBEPROV && id->id <= DIF_VAR_PROBENAME)
		part = PART_PROVIDER + (id->id - DIF_VAR_PROBEPROV);
	else
		return id->attr;
	parts = provider_attrs(c, c->desc);
	return parts[part];
}

void ident_apply_pending(struct check *c, struct ident *id)
{
	struct pending_pragma *p;

	for (p = c->pending; p; p = p->next) {
		if (strcmp(p->name, id->name) != 0)
			continue;
		if (p->has_attr)
			id->attr = p->attr;
		if (p->has_version)
			id->version = p->version;
		p->is_used = true;
	}
}

/* ---- creating --------------------------------------------------------------------------- */

type_id type_of_variable(struct check *c, type_id id)
{
	struct types *t = c->types;
	bool userland = type_is_userland(t, id);
	enum type_kind kind;
	type_id to;

	for (kind = type_get(t, id)->kind;
	     kind == TK_CONST || kind == TK_VOLATILE || kind == TK_RESTRICT || kind == TK_USERLAND;
	     kind = type_get(t, id)->kind)
		id = type_get(t, id)->ref;
	kind = type_kind(t, id);
	if (kind != TK_ARRAY && !(kind == TK_PTR && userland && !type_is_userland(t, id)))
		return id;
	to = type_deref(t, id);
	return type_pointer(t, userland ? type_qualified(t, TK_USERLAND, to) : to);
}

static struct prog_var *prog_var_create(struct check *c, const struct ident *id, bool is_assoc)
{
	struct dsession *s = c->session;
	struct prog_var *v = ARENA_NEW(s->arena, struct prog_var);

	v->name = id->name;
	v->id = id->id;
	v->scope = dif_scope[id->scope];
	v->kind = is_assoc ? DIF_VAR_ARRAY : DIF_VAR_SCALAR;
	v->type = dif_type_of(c->types, id->type);
	v->nkeys = id->nkeys;
	v->keys = ARENA_NEW_N(s->arena, struct dif_type, id->nkeys + 1);
	for (uint32_t i = 0; i < id->nkeys; i++)
		v->keys[i] = dif_type_of(c->types, id->keys[i]);
	vec_push(&s->vars, v);
	s->vars_view = (struct prog_vars){s->vars.data, s->vars.len};
	return v;
}

/* The clause-local variable that an earlier text has by that name, of the same type; or NULL. */
static struct prog_var *shared_local(const struct check *c, const struct ident *id)
{
	const struct dif_type type = dif_type_of(c->types, id->type);

	for (uint32_t i = 0; c->opts->shares_locals && i < c->session->vars.len; i++) {
		struct prog_var *v = c->session->vars.data[i];

		if (v->scope == DIF_SCOPE_LOCAL && strcmp(v->name, id->name) == 0 &&
		    v->type.kind == type.kind && v->type.size == type.size &&
		    v->type.flags == type.flags && v->type.is_signed == type.is_signed)
			return v;
	}
	return NULL;
}

struct ident *var_create(struct check *c, struct span at, enum ident_scope scope, const char *name,
			 type_id type, bool is_assoc, const type_id *keys, uint32_t nkeys)
{
	struct dsession *s = c->session;
	struct ident *id = ident_create(c, is_assoc ? IDENT_ARRAY : IDENT_VAR, name, at, type);
	uint32_t *next = &s->next_var[dif_scope[scope]];

	id->scope = scope;
	id->keys_known = is_assoc;
	id->nkeys = nkeys;
	id->keys = nkeys ? arena_memdup(s->arena, keys, nkeys * sizeof(*keys)) : NULL;
	if (*next > VAR_ID_MAX) {
		check_error(c, D_ID_OFLOW, at, "cannot create %s: more than %d variables",
			    var_text(c, scope, name), VAR_ID_MAX - DIF_VAR_USER + 1);
		id->type = TYPE_ERROR;
	}
	if (scope == SCOPE_THIS && id->type != TYPE_ERROR)
		id->var = shared_local(c, id);
	if (id->var) {
		id->id = id->var->id;
	} else if (id->type != TYPE_ERROR) {
		id->id = (*next)++;
		id->var = prog_var_create(c, id, is_assoc);
	}
	if (scope == SCOPE_GLOBAL)
		ident_apply_pending(c, id);
	session_bind(s, scope_map(c, scope), id->name, id);
	return id;
}

static struct expr *var_ref(struct check *c, struct ident *id, struct span at, struct expr **keys,
			    uint32_t nkeys)
{
	struct expr *e = expr_new(c, EXPR_VAR, at, id->type);

	if (id->scope == SCOPE_SELF && !privilege_check_thread(c, id->name, at))
		return expr_bad(c, at);
	if (!privilege_check_hidden(c, id->name, at))
		return expr_bad(c, at);
	e->var.ident = id;
	e->var.keys = keys;
	e->var.nkeys = nkeys;
	e->is_lvalue = true;
	attr_use(c, at, id->name, builtin_attr(c, id));
	return e;
}

struct expr *local_of_source(struct check *c, const struct expr *var, type_id type,
			     type_id xlate_type)
{
	struct ident *id = var_create(c, var->span, SCOPE_THIS, source_key(c, var->var.ident->name),
				      type, false, NULL, 0);

	if (id->type == TYPE_ERROR)
		return expr_bad(c, var->span);
	id->xlate_type = xlate_type;
	return var_ref(c, id, var->span, NULL, 0);
}

/* The value of a variable; of one that holds a translator's input, the translation. */
static struct expr *var_value(struct check *c, struct ident *id, struct expr *ref)
{
	struct expr *x;

	if (id->xlate_type == TYPE_NONE || expr_is_bad(ref))
		return ref;
	x = expr_new(c, EXPR_XLATE, ref->span, id->xlate_type);
	x->xlate.e = ref;
	return x;
}

static struct expr *create_array(struct check *c, struct expr *e, type_id type)
{
	const struct expr *name = e->index.base;
	const char *what =
		arena_printf(c->arena, "%s[ ]", var_text(c, name->ident.scope, name->ident.name));
	uint32_t n = e->index.nsubs;
	type_id *keys = ARENA_NEW_N(c->arena, type_id, n + 1);
	struct ident *id;

	if (name->ident.scope == SCOPE_THIS) {
		name_silence(c, name);
		return expr_fail(c, D_ARR_LOCAL, e->span,
				 "%s: an associative array cannot be clause-local", what);
	}
	if (!check_keys(c, what, e->index.subs, n)) {
		name_silence(c, name);
		return expr_bad(c, e->span);
	}
	wide_array_keys(c, name->ident.scope, name->ident.name, e->index.subs, n);
	for (uint32_t i = 0; i < n; i++)
		keys[i] = e->index.subs[i]->type;
	id = var_create(c, e->span, name->ident.scope, name->ident.name, type, true, keys, n);
	return id->type == TYPE_ERROR ? expr_bad(c, e->span)
				      : var_ref(c, id, e->span, e->index.subs, n);
}

struct expr *check_create_var(struct check *c, struct expr *e, type_id type)
{
	const struct expr *name = name_of_expr(e);
	struct ident *id;

	type = wide_var_type(c, name->ident.scope, name->ident.name, type);
	if (e->kind == EXPR_INDEX)
		return create_array(c, e, type);
	id = var_create(c, e->span, e->ident.scope, e->ident.name, type, false, NULL, 0);
	return id->type == TYPE_ERROR ? expr_bad(c, e->span) : var_ref(c, id, e->span, NULL, 0);
}

/* ---- keys ------------------------------------------------------------------------------- */

static bool is_key_type(struct check *c, const struct expr *e)
{
	if (e->kind == EXPR_AGG || e->kind == EXPR_XLATE)
		return false;
	return type_size(c->types, e->type) != 0 && !type_is_float(c->types, e->type) &&
	       type_kind(c->types, e->type) != TK_FUNC;
}

bool check_keys(struct check *c, const char *what, struct expr **keys, uint32_t nkeys)
{
	bool good = true;

	if (nkeys > DIF_MAX_TUPLE) {
		check_error(c, D_PROTO_LEN, keys[DIF_MAX_TUPLE]->span,
			    "%s has %u keys, more than %d", what, nkeys, DIF_MAX_TUPLE);
		diag_hint(c->diags,
			  "join some of them into one key: strjoin(), or a number made of several");
		return false;
	}
	for (uint32_t i = 0; i < nkeys; i++) {
		const struct subr *subr = keys[i]->type == TYPE_NONE ? call_subr(c, keys[i]) : NULL;

		if (subr && subr->class != SUBR_FUNC && !subr_is_stack(subr)) {
			keys[i] = expr_fail(c, D_KEY_TYPE, keys[i]->span,
					    "%s key #%u: %s( ) has no value that could be a key",
					    what, i + 1, subr->name);
			good = false;
			continue;
		}
		keys[i] = xlate_address(c, check_any(c, keys[i]));
		if (expr_is_bad(keys[i])) {
			good = false;
		} else if (!is_key_type(c, keys[i])) {
			check_error(c, D_KEY_TYPE, keys[i]->span,
				    "%s key #%u: a value of type \"%s\" cannot be a key", what,
				    i + 1, type_text(c, keys[i]->type));
			good = false;
		}
	}
	return good;
}

static bool convert_keys(struct check *c, struct ident *id, const char *what, struct expr **keys)
{
	bool good = true;

	for (uint32_t i = 0; i < id->nkeys; i++) {
		wide_note_key(c, id, i, keys[i]);
		if (check_convert(c, &keys[i], id->keys[i]))
			continue;
		check_error(c, D_PROTO_ARG, keys[i]->span,
			    "%s key #%u is incompatible with prototype:\n\tprototype: %s\n\t "
			    "argument: %s",
			    what, i + 1, type_text(c, id->keys[i]), type_text(c, keys[i]->type));
		diag_hint(c->diags,
			  "the first use of an array or aggregation fixes its keys; a cast changes "
			  "a number's type");
		good = false;
	}
	return good;
}

bool check_signature(struct check *c, struct ident *id, const char *what, struct span at,
		     struct expr **keys, uint32_t nkeys)
{
	if (id->keys_known) {
		if (nkeys == id->nkeys)
			return convert_keys(c, id, what, keys);
		check_error_len(c, at, what, "key", nkeys, id->nkeys, id->nkeys);
		diag_hint(c->diags, "the first use of an array or aggregation fixes its keys");
		return false;
	}
	id->keys = ARENA_NEW_N(c->session->arena, type_id, nkeys + 1);
	for (uint32_t i = 0; i < nkeys; i++)
		id->keys[i] = keys[i]->type;
	id->nkeys = nkeys;
	id->keys_known = true;
	return true;
}

/* ---- uses ------------------------------------------------------------------------------- */

static struct expr *fail_badref(struct check *c, const struct ident *id, struct span at,
				const char *what)
{
	return expr_fail(c, D_IDENT_BADREF, at, "%s %s", var_text(c, id->scope, id->name), what);
}

struct expr *check_array_ref(struct check *c, struct ident *id, struct expr *e)
{
	const char *what = arena_printf(c->arena, "%s[ ]", var_text(c, id->scope, id->name));
	struct expr **keys = e->index.subs;
	uint32_t n = e->index.nsubs;

	if (!check_keys(c, what, keys, n) || !check_signature(c, id, what, e->span, keys, n))
		return expr_bad(c, e->span);
	return var_value(c, id, var_ref(c, id, e->span, keys, n));
}

static bool is_raw_arg(const struct ident *id)
{
	return id->id >= DIF_VAR_ARG0 && id->id <= DIF_VAR_ARG9;
}

/* False after reporting that a probe of the clause cannot supply the argN that id names. */
static bool arg_is_available(struct check *c, const struct ident *id, struct span at)
{
	const struct probe_desc *desc = c->source ? c->source : c->desc;
	const char *why;

	if (!is_raw_arg(id) || !desc || !c->env->arg_refused)
		return true;
	why = c->env->arg_refused(c->env->ctx, desc, id->id - DIF_VAR_ARG0);
	if (!why)
		return true;
	check_error(c, D_ARGS_TYPE, at, "%s of %s:%s:%s:%s cannot be told", id->name, desc->prov,
		    desc->mod, desc->func, desc->name);
	diag_hint(c->diags, "%s", why);
	return false;
}

bool builtin_is_here(struct check *c, struct ident *id, struct span at)
{
	const struct builtin_var *v = id->builtin;

	if (!arg_is_available(c, id, at) || !privilege_check_variable(c, v->name, at))
		return false;
	if (id->type == TYPE_NONE && *v->type)
		id->type = type_from_text(c, v->type);
	return true;
}

/* A hint what to write for an array without a subscript. */
static void hint_subscript(struct check *c, const struct ident *id)
{
	const struct probe_desc *d = c->source ? c->source : c->desc;
	uint32_t n = id->kind == IDENT_INLINE ? id->inl.nparams : id->keys_known ? id->nkeys : 1;
	const char *key = strcmp(id->name, "uregs") == 0	    ? "R_PC"
			  : id->builtin || id->kind == IDENT_INLINE ? "0"
								    : "KEY";
	const char *keys = key;

	for (uint32_t i = 1; i < n; i++)
		keys = arena_printf(c->arena, "%s, %s", keys, key);
	if (strcmp(id->name, "args") != 0 || !d)
		diag_hint(c->diags, "name an element: %s[%s]", var_text(c, id->scope, id->name),
			  keys);
	else
		diag_hint(c->diags,
			  "arguments have numbers: args[0]; dtrace -lvn '%s:%s:%s:%s' shows them",
			  d->prov, d->mod, d->func, d->name);
}

/* Reports the name of a function that stands alone. */
static struct expr *fail_function(struct check *c, const struct ident *id, struct span at)
{
	(void)fail_badref(c, id, at, "is a function, not a variable");
	diag_hint(c->diags, "a call has parentheses: %s", call_simplest(c, id->subr));
	return expr_bad(c, at);
}

/* Reports the name of a block that stands alone. */
static struct expr *fail_block(struct check *c, const struct ident *id, struct span at)
{
	(void)fail_badref(c, id, at, "is a block of statements, not a value");
	diag_hint(c->diags, "it is used as a statement of its own: %s(%s);", id->name,
		  id->inl.nparams ? "..." : "");
	return expr_bad(c, at);
}

static struct expr *ident_ref(struct check *c, struct ident *id, struct expr *e)
{
	if (id->type == TYPE_ERROR)
		return expr_bad(c, e->span);
	if (id->builtin && is_raw_arg(id) && c->derived)
		return derived_arg_ref(c, id, e);
	if (id->builtin && !builtin_is_here(c, id, e->span))
		return expr_bad(c, e->span);
	switch (id->kind) {
	case IDENT_VAR: return var_value(c, id, var_ref(c, id, e->span, NULL, 0));
	case IDENT_ENUMERATOR:
		attr_use(c, e->span, id->name, id->attr);
		return expr_int(c, e->span, (uint64_t)id->ival, id->type);
	case IDENT_INLINE:
		if (id->inl.has_params) {
			(void)fail_badref(c, id, e->span,
					  "is an inline with parameters: use it with [ ]");
			hint_subscript(c, id);
			return expr_bad(c, e->span);
		}
		return inline_expand(c, id, e, NULL, 0);
	case IDENT_ARRAY:
	case IDENT_BUILTIN_ARRAY:
		(void)fail_badref(c, id, e->span, "is an associative array: use it with [ ]");
		hint_subscript(c, id);
		return expr_bad(c, e->span);
	case IDENT_SUBR: return fail_function(c, id, e->span);
	case IDENT_EXTERN: return symbol_extern(c, id, e);
	case IDENT_BLOCK: return fail_block(c, id, e->span);
	case IDENT_AGG: break; /* not among the identifiers: agg_idents */
	}
	BUG("identifier kind %d", (int)id->kind);
}

/* Makes an identifier of a constant of a kernel enumeration; NULL when the kernel has none. */
static struct ident *enumerator_import(struct check *c, const struct expr *e)
{
	const char *name = e->ident.name;
	int64_t val;
	struct ident *id;
	type_id type;

	if (e->ident.scope != SCOPE_GLOBAL)
		return NULL;
	type = types_import_enumerator(c->types, name, &val);
	if (type == TYPE_NONE)
		return NULL;
	id = ARENA_NEW(c->session->arena, struct ident);
	id->kind = IDENT_ENUMERATOR;
	id->name = arena_strdup(c->session->arena, name);
	id->type = type_size(c->types, type) > 4 ? TYPE_LONG : TYPE_INT;
	id->ival = val;
	id->enum_type = type;
	id->attr = (struct attr){STAB_PRIVATE, STAB_PRIVATE, DEP_UNKNOWN};
	id->layer = c->session->layer;
	session_bind_global(c->session, id->name, id);
	return id;
}

struct expr *check_ident(struct check *c, struct expr *e)
{
	struct binding *b = binding_find(c, e);
	struct ident *id;

	if (b)
		return check_expansion(c, e->span, b->e, NULL) ? expr_clone(c->arena, b->e)
							       : expr_bad(c, e->span);
	if (strchr(e->ident.name, '`')) {
		id = symbol_inline(c, e);
		return id ? ident_ref(c, id, e) : symbol_value(c, e);
	}
	id = ident_find(c, e->ident.scope, e->ident.name);
	if (!id)
		id = enumerator_import(c, e);
	return id ? ident_ref(c, id, e) : expr_undefined(c, e);
}
