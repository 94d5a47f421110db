/* SPDX-License-Identifier: MIT */
/* args[]: the typed, perhaps translated, arguments of the probe a clause describes. */
#include "d/check/check_impl.h"

/* The probes whose arguments are meant. */
static const struct probe_desc *args_desc(const struct check *c)
{
	return c->source ? c->source : c->desc;
}

static const char *desc_text(struct check *c)
{
	const struct probe_desc *d = args_desc(c);

	return arena_printf(c->arena, "%s:%s:%s:%s", d->prov, d->mod, d->func, d->name);
}

static const struct declared_provider *declared_provider(struct check *c, const char *name)
{
	const struct declared_provider *p = hashmap_finds(c->session->providers, name);
	const char *key = arena_printf(c->arena, COMPILE_DEFINE_PROVIDER "%s", name);

	if (!p && check_define(c, key, strlen(key)))
		p = hashmap_finds(c->session->providers, name);
	return p;
}

/* The provider declared in D that desc names: "myprov" or, for a process, "myprov812". */
static const struct declared_probe *declared_probe(struct check *c)
{
	const struct probe_desc *desc = args_desc(c);
	const struct declared_provider *p = declared_provider(c, desc->prov);
	size_t len = strlen(desc->prov);

	while (!p && len && desc->prov[len - 1] >= '0' && desc->prov[len - 1] <= '9')
		p = hashmap_find(c->session->providers, desc->prov, --len);
	return p ? hashmap_finds(p->probes, desc->name) : NULL;
}

static struct expr *args_element(struct check *c, struct ident *id, struct expr *e, uint64_t index,
				 type_id type)
{
	struct expr *ref = expr_new(c, EXPR_VAR, e->span, type), **key;

	key = ARENA_NEW(c->arena, struct expr *);
	*key = expr_int(c, e->index.subs[0]->span, index, TYPE_INT);
	ref->var.ident = id;
	ref->var.keys = key;
	ref->var.nkeys = 1;
	ref->is_lvalue = true;
	return ref;
}

static struct expr *fail_index(struct check *c, struct expr *e, uint64_t index, uint32_t n)
{
	return expr_fail(c, D_ARGS_IDX, e->span,
			 "index %lld is out of range for args[ ] of %s, which has %u",
			 (long long)index, desc_text(c), n);
}

/* Argument `native` as a value of type `out`, by a translator where the types differ. */
static struct expr *args_value(struct check *c, struct ident *id, struct expr *e, uint64_t index,
			       uint32_t native, type_id type, type_id out)
{
	return args_translated(c, e, index, args_element(c, id, e, native, type), out);
}

struct expr *args_translated(struct check *c, struct expr *e, uint64_t index, struct expr *ref,
			     type_id out)
{
	type_id type = ref->type, sou = out;
	struct expr *x;

	if (type_same(c->types, type, out))
		return ref;
	if (type_is_string(c->types, out) && type_is_strcompat(c->types, type))
		return check_convert(c, &ref, out) ? ref : expr_bad(c, e->span);
	if (type_is_pointer(c->types, out))
		sou = type_deref(c->types, out);
	if (!xlator_find(c, type, sou))
		return expr_fail(c, D_ARGS_XLATOR, e->span,
				 "no translator for args[%llu] of %s from \"%s\" to \"%s\"",
				 (unsigned long long)index, desc_text(c), type_text(c, type),
				 type_text(c, out));
	x = expr_new(c, EXPR_XLATE, e->span, out);
	x->xlate.e = ref;
	return x;
}

/* False after reporting that a program's own probe does not give the argument args[index]. */
static bool args_readable(struct check *c, struct expr *e, uint64_t index, uint32_t raw)
{
	const char *why =
		c->env->arg_refused ? c->env->arg_refused(c->env->ctx, args_desc(c), raw) : NULL;

	if (!why)
		return true;
	check_error(c, D_ARGS_TYPE, e->span, "args[%llu] of %s cannot be told",
		    (unsigned long long)index, desc_text(c));
	diag_hint(c->diags, "%s", why);
	return false;
}

/* The type of an argument of a program's own probe, whose addresses are those of user memory. */
static type_id type_of_user(struct check *c, type_id type)
{
	struct types *t = c->types;
	type_id to;

	if (type_is_string(t, type))
		to = TYPE_CHAR;
	else if (type_kind(t, type) == TK_PTR)
		to = type_deref(t, type);
	else
		return type;
	return type_pointer(t, type_qualified(t, TK_USERLAND, to));
}

static struct expr *args_declared(struct check *c, struct ident *id, struct expr *e, uint64_t index,
				  const struct declared_probe *p)
{
	type_id native, out;

	if (index >= p->nxargs)
		return fail_index(c, e, index, p->nxargs);
	native = p->args[p->map[index]];
	out = p->xargs[index];
	if (p->nsources)
		return args_value(c, id, e, index, p->map[index], native, out);
	if (!args_readable(c, e, index, p->map[index]))
		return expr_bad(c, e->span);
	if (type_same(c->types, native, out) && !type_is_string(c->types, out))
		out = type_of_user(c, out);
	return args_value(c, id, e, index, p->map[index], type_of_user(c, native), out);
}

static struct expr *fail_unseen(struct check *c, struct expr *e, uint64_t index, const char *text,
				const char *why)
{
	check_error(c, D_ARGS_TYPE, e->span, "args[%llu] of %s is a '%s', which is not %s",
		    (unsigned long long)index, desc_text(c), text,
		    why ? "a single value" : "in arg0 to arg9");
	diag_hint(c->diags, "%s",
		  why ? why
		      : "floating-point numbers, structs passed by value, and parameters that the "
			"compiler has removed are not in the registers that a probe sees");
	return expr_bad(c, e->span);
}

/* A text that a process has with its length: copyinstr(arg RAW, arg RAW + 1). */
static struct expr *args_copied(struct check *c, struct ident *id, struct expr *e, uint32_t raw)
{
	struct expr *call = expr_new(c, EXPR_CALL, e->span, TYPE_STRING);

	call->call.subr = subr_find("copyinstr");
	call->call.nargs = 2;
	call->call.args = ARENA_NEW_N(c->arena, struct expr *, 2);
	for (uint32_t i = 0; i < 2; i++)
		call->call.args[i] = args_element(c, id, e, raw + i, TYPE_UINT64);
	return call;
}

/* Reports that the type is not known, or that the value is out of reach. */
static struct expr *fail_lacking(struct check *c, struct expr *e, uint64_t index, const char *text,
				 const char *lack)
{
	const struct argtext t = argtext_parse(c->arena, text, (uint32_t)index);

	check_error(c, D_ARGS_TYPE, e->span, "args[%llu] of %s, of type '%s', cannot be used",
		    (unsigned long long)index, desc_text(c), t.type);
	diag_hint(c->diags, "%s", lack);
	return expr_bad(c, e->span);
}

/* Loads the files of the D library that define the type of an argument that is translated. */
static void library_ask(struct check *c, const struct argtext *t)
{
	struct argbase base;

	if (t->output && argtext_base(c->arena, t->type, &base))
		(void)check_define(c, base.name, strlen(base.name));
}

static type_id args_type(struct check *c, const struct expr *e, uint64_t index, const char *text)
{
	type_id type = type_from_text(c, text);

	if (type == TYPE_NONE)
		check_error(c, D_ARGS_TYPE, e->span,
			    "failed to resolve type of args[%llu] of %s: %s",
			    (unsigned long long)index, desc_text(c), text);
	return type;
}

static struct expr *args_of_probe(struct check *c, struct ident *id, struct expr *e, uint64_t index)
{
	const char *const *texts = NULL;
	int n = c->env->arg_types ? c->env->arg_types(c->env->ctx, args_desc(c), &texts) : 0;
	struct arg_origin origin = {.raw = (uint32_t)index};
	struct argtext t;
	type_id type = TYPE_NONE, out;

	if (n < 0)
		return expr_fail(
			c, D_ARGS_MULTI, e->span,
			"args[ ] may not be used: %s matches probes whose arguments differ",
			desc_text(c));
	if (index >= (uint32_t)n)
		return fail_index(c, e, index, (uint32_t)n);
	t = argtext_parse(c->arena, texts[index], (uint32_t)index);
	library_ask(c, &t);
	if (c->env->arg_type)
		type = c->env->arg_type(c->env->ctx, args_desc(c), (uint32_t)index, c->types,
					&origin);
	if (origin.lack)
		return fail_lacking(c, e, index, texts[index], origin.lack);
	if (type == TYPE_ERROR)
		return fail_unseen(c, e, index, texts[index], origin.why);
	if (origin.is_text)
		return args_copied(c, id, e, origin.raw);
	if (origin.is_native && !args_readable(c, e, index, origin.raw))
		return expr_bad(c, e->span);
	if (type != TYPE_NONE && !origin.is_native)
		return args_element(c, id, e, origin.raw, type);
	if (type == TYPE_NONE)
		type = args_type(c, e, index, t.type);
	out = type;
	if (t.output && type != TYPE_NONE)
		out = args_type(c, e, index, t.output);
	return type == TYPE_NONE || out == TYPE_NONE
		       ? expr_bad(c, e->span)
		       : args_value(c, id, e, index, t.native, type, out);
}

/* The only subscript, checked; NULL after reporting. */
static struct expr *check_subscript_of(struct check *c, struct ident *id, struct expr *e)
{
	struct expr *sub;

	if (e->index.nsubs != 1) {
		check_error_len(c, e->span, arena_printf(c->arena, "%s[ ]", id->name), "key",
				e->index.nsubs, 1, 1);
		return NULL;
	}
	sub = e->index.subs[0] = check_expr(c, e->index.subs[0]);
	return expr_is_bad(sub) ? NULL : sub;
}

/* uregs[n]: which registers there are is known for a constant. */
static struct expr *uregs_ref(struct check *c, struct ident *id, struct expr *e)
{
	struct expr *sub = check_subscript_of(c, id, e), *ref;

	if (!sub)
		return expr_bad(c, e->span);
	if (!type_is_integer(c->types, sub->type))
		return expr_fail(c, D_PROTO_ARG, sub->span,
				 "uregs[ ] index must be an integer, not \"%s\"",
				 type_text(c, sub->type));
	if (expr_is_const(c, sub) && sub->ival.val >= DIF_NUREGS) {
		check_error(c, D_REGS_IDX, sub->span,
			    "index %lld is out of range for uregs[ ], which has %d",
			    (long long)sub->ival.val, DIF_NUREGS);
		diag_hint(c->diags, "the registers have names: R_PC, R_SP, R_RAX, ...");
		return expr_bad(c, e->span);
	}
	attr_use(c, e->span, id->name, id->attr);
	ref = expr_new(c, EXPR_VAR, e->span, TYPE_UINT64);
	ref->var.ident = id;
	ref->var.keys = ARENA_NEW(c->arena, struct expr *);
	ref->var.keys[0] = sub;
	ref->var.nkeys = 1;
	return ref;
}

struct expr *check_args_ref(struct check *c, struct ident *id, struct expr *e)
{
	const struct declared_probe *p;
	struct expr *sub;

	if (!builtin_is_here(c, id, e->span))
		return expr_bad(c, e->span);
	if (id->id == DIF_VAR_UREGS)
		return uregs_ref(c, id, e);
	if (!c->desc)
		return expr_fail(c, D_ARGS_NONE, e->span,
				 "args[ ] may not be used outside a probe clause");
	sub = check_subscript_of(c, id, e);
	if (!sub)
		return expr_bad(c, e->span);
	if (!expr_is_const(c, sub))
		return expr_fail(c, D_PROTO_ARG, sub->span,
				 "args[ ] may be referenced only using an integer constant");
	attr_use(c, e->span, "args", builtin_attr(c, id));
	if (c->derived)
		return derived_args_ref(c, e, sub->ival.val);
	p = declared_probe(c);
	return p ? args_declared(c, id, e, sub->ival.val, p)
		 : args_of_probe(c, id, e, sub->ival.val);
}
