/* SPDX-License-Identifier: MIT */
/* Providers of programs that a D program declares, as plain data for headers and probe objects. */
#include <ctype.h>

#include "d/check/check_impl.h"
#include "usdt/usdt.h"

struct base_type {
	type_id id;
	const char *ctype;
	uint8_t size;
	bool is_signed, is_word;
};

/* clang-format off */
static const struct base_type base_types[] = {
	{TYPE_CHAR, "char", 1, true, false},
	{TYPE_SCHAR, "signed char", 1, true, false},
	{TYPE_UCHAR, "unsigned char", 1, false, false},
	{TYPE_BOOL, "unsigned char", 1, false, false},
	{TYPE_SHORT, "short", 2, true, false},
	{TYPE_USHORT, "unsigned short", 2, false, false},
	{TYPE_INT, "int", 4, true, false},
	{TYPE_UINT, "unsigned int", 4, false, false},
	{TYPE_LONG, "long", 8, true, true},
	{TYPE_ULONG, "unsigned long", 8, false, true},
	/* typedefs with one size everywhere, whatever type they stand for here */
	{TYPE_INT64, "__dtrace_int64", 8, true, false},
	{TYPE_UINT64, "__dtrace_uint64", 8, false, false},
	{TYPE_LLONG, "__dtrace_int64", 8, true, false},
	{TYPE_ULLONG, "__dtrace_uint64", 8, false, false},
};
/* clang-format on */

static const struct base_type *base_type_find(type_id id)
{
	for (size_t i = 0; i < ARRAY_LEN(base_types); i++)
		if (base_types[i].id == id)
			return &base_types[i];
	return NULL;
}

/* The base type behind typedefs and qualifiers; NULL if it is no integer. */
static const struct base_type *base_type_of(const struct types *t, type_id id)
{
	for (;;) {
		const struct base_type *b = base_type_find(id);
		const struct type_info *info = type_get(t, id);

		if (b)
			return b;
		if (info->kind == TK_ENUM)
			return base_type_find(TYPE_INT);
		if (info->kind != TK_TYPEDEF && info->kind != TK_CONST && info->kind != TK_VOLATILE)
			return NULL;
		id = info->ref;
	}
}

/* The name of a type for tracers. C makes an integer of an enumeration, which may have no name. */
static const char *arg_text(const struct types *t, struct arena *a, type_id id)
{
	const struct type_info *info = type_get(t, id);

	return type_name(t, info->kind == TK_ENUM && !*info->name ? TYPE_INT : id, a);
}

static bool arg_fill(struct types *t, struct arena *a, type_id id, struct usdt_arg *ret)
{
	const struct base_type *b = base_type_of(t, id);

	*ret = (struct usdt_arg){.text = arg_text(t, a, id)};
	if (b) {
		ret->ctype = b->ctype;
		ret->size = b->size;
		ret->is_signed = b->is_signed;
		ret->is_word = b->is_word;
		return true;
	}
	if (type_is_float(t, id)) {
		ret->kind = USDT_FLOAT;
		ret->size = (uint8_t)type_size(t, id);
		ret->ctype = ret->size == 4 ? "float" : "double";
		return ret->size <= 8;
	}
	if (!type_is_pointer(t, id) && !type_is_string(t, id))
		return false;
	ret->kind = type_is_strcompat(t, id) ? USDT_TEXT : USDT_POINTER;
	ret->ctype = ret->kind == USDT_TEXT ? "const char *" : "const volatile void *";
	ret->size = 8;
	ret->is_word = true;
	return true;
}

/*
 * Adds the name of the macro of a probe, PROVIDER_PROBE, as header.c writes it, where "__" of the
 * name is '-'.
 */
static void macro_add(struct strbuf *out, const char *provider, const char *probe)
{
	strbuf_addf(out, "%s_%s", provider, probe);
	for (char *s = out->data; *s; s++)
		*s = *s == '-' ? '_' : (char)toupper((unsigned char)*s);
}

/* Reports a macro that another probe of the program has; false after that. */
static bool check_macro(struct check *c, const struct probe_decl *pd, const char *name,
			const char *probe)
{
	const char *other = hashmap_finds(c->macros, name);

	if (other) {
		check_error(c, D_PROV_PRDUP, pd->span, "probes %s and %s would have one macro, %s",
			    other, probe, name);
		return false;
	}
	hashmap_sets(c->macros, name, (void *)(uintptr_t)probe);
	return true;
}

static void check_macros(struct check *c, const struct probe_decl *pd, const char *provider,
			 const char *probe)
{
	const char *text = arena_printf(c->arena, "%s:%s", provider, probe);
	struct strbuf b = {0};

	macro_add(&b, provider, probe);
	if (check_macro(c, pd, arena_strdup(c->arena, b.data), text)) {
		strbuf_adds(&b, "_ENABLED");
		(void)check_macro(c, pd, arena_strdup(c->arena, b.data), text);
	}
	strbuf_deinit(&b);
}

void check_usdt_probe(struct check *c, const struct probe_decl *pd, const char *provider,
		      const struct declared_probe *p)
{
	struct usdt_arg arg;

	if (p->nargs > USDT_ARGS_MAX) {
		check_error(c, D_PROV_PRARGLEN, pd->span,
			    "probe %s has %u parameters, a program can pass %d", pd->name, p->nargs,
			    USDT_ARGS_MAX);
		return;
	}
	for (uint32_t i = 0; i < p->nargs; i++) {
		if (arg_fill(c->types, c->session->arena, p->args[i], &arg))
			continue;
		check_error(c, D_DECL_PROTO_TYPE, pd->args[i]->span,
			    "a program cannot pass %s to probe %s", arg.text, pd->name);
		diag_hint(c->diags, "integers, floating-point numbers of 4 and 8 bytes and "
				    "pointers can be passed");
	}
	check_macros(c, pd, provider, p->name);
}

static const char *cname_of(struct arena *a, const char *name)
{
	struct strbuf b = {0};
	const char *ret;

	for (const char *p = name; *p; p++)
		strbuf_adds(&b, *p == '-' ? "__" : (char[]){*p, '\0'});
	ret = arena_strdup(a, strbuf_text(&b));
	strbuf_deinit(&b);
	return ret;
}

static struct err *probe_fill(struct types *t, struct arena *a, const char *provider,
			      const struct declared_probe *p, struct usdt_probe *ret)
{
	struct usdt_arg *args = ARENA_NEW_N(a, struct usdt_arg, p->nargs + 1);
	const char **xargs = ARENA_NEW_N(a, const char *, p->nxargs + 1);

	for (uint32_t i = 0; i < p->nargs; i++)
		if (!arg_fill(t, a, p->args[i], &args[i]))
			return err_hint(
				err_new("argument %u of probe %s:::%s is of type %s: a program "
					"cannot pass it to a probe",
					i, provider, p->name, args[i].text),
				"integers, floating-point numbers and pointers can be passed");
	for (uint32_t i = 0; i < p->nxargs; i++)
		xargs[i] = arg_text(t, a, p->xargs[i]);
	*ret = (struct usdt_probe){
		.name = arena_strdup(a, p->name),
		.cname = cname_of(a, p->name),
		.args = args,
		.nargs = p->nargs,
		.xargs = xargs,
		.map = arena_memdup(a, p->map, sizeof(*p->map) * (p->nxargs + 1)),
		.nxargs = p->nxargs,
	};
	return NULL;
}

static struct err *provider_fill(struct types *t, struct arena *a,
				 const struct declared_provider *pv, struct usdt_provider *ret)
{
	struct usdt_probe *probes =
		ARENA_NEW_N(a, struct usdt_probe, hashmap_count(pv->probes) + 1);
	const struct declared_probe *p;
	size_t pos = 0;
	uint32_t n = 0;

	*ret = (struct usdt_provider){.name = arena_strdup(a, pv->name), .probes = probes};
	for (uint32_t i = 0; i < NPARTS; i++)
		ret->attrs[i] = (uint32_t)pv->attrs[i].name << 24 |
				(uint32_t)pv->attrs[i].data << 16 |
				(uint32_t)pv->attrs[i].class << 8;
	while ((p = hashmap_next(pv->probes, &pos, NULL, NULL))) {
		struct err *e = probe_fill(t, a, pv->name, p, &probes[n]);

		if (e)
			return e;
		n++;
	}
	ret->nprobes = n;
	return NULL;
}

/* Is the provider one of programs, and declared by a program's text? */
static bool provider_is_usdt(const struct declared_provider *pv)
{
	const struct declared_probe *p;
	size_t pos = 0;

	while ((p = hashmap_next(pv->probes, &pos, NULL, NULL)))
		if (p->nsources || p->layer != LAYER_PROGRAM)
			return false;
	return true;
}

struct err *dsession_usdt(struct dsession *s, struct arena *a,
			  const struct usdt_provider **ret_providers, uint32_t *ret_n)
{
	struct usdt_provider *all =
		ARENA_NEW_N(a, struct usdt_provider, hashmap_count(s->providers) + 1);
	const struct declared_provider *pv;
	size_t pos = 0;
	uint32_t n = 0;

	while ((pv = hashmap_next(s->providers, &pos, NULL, NULL))) {
		struct err *e;

		if (!provider_is_usdt(pv))
			continue;
		e = provider_fill(dsession_types(s), a, pv, &all[n]);
		if (e)
			return e;
		n++;
	}
	*ret_providers = all;
	*ret_n = n;
	return NULL;
}
