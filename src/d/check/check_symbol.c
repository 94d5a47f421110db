/* SPDX-License-Identifier: MIT */
/*
 * Kernel symbols: `sym, module`sym, extern declarations (d-language.md 1.8).
 *
 * An address is known before the program runs, so a symbol becomes a constant: its value is
 * *(T *)address. A per-CPU variable means the copy of the CPU on which the probe fires. BTF has the
 * types of functions and of per-CPU variables only. Other variables have the type of an extern
 * declaration in the program, or in the D library (ksym.d), where the name has the prefix
 * KSYM_PREFIX. Without a type the program can still take the address of a symbol and cast it. An
 * inline of the library with that prefix (kvars.d) stands for a variable of other systems.
 */
#include "d/check/check_impl.h"
#include "sym/kallsyms.h"

#define KSYM_PREFIX "__ksym_"

struct symbol {
	const char *module; /* NULL = any */
	const char *name;
	struct kallsym sym;
	type_id type; /* TYPE_NONE when unknown */
	bool is_percpu;
};

static bool fail_undefined(struct check *c, const struct expr *e, const char *why)
{
	check_error(c, D_IDENT_UNDEF, e->span, "failed to resolve %s: %s", e->ident.name, why);
	return false;
}

/* Splits mod`name and `name; a name with two backquotes would be a symbol of a program. */
static bool name_split(struct check *c, const struct expr *e, struct symbol *s)
{
	const char *name = e->ident.name, *tick = strchr(name, '`');

	if (strstr(name, "``")) {
		check_error(c, D_SYM_BADREF, e->span,
			    "%s is a symbol of a program: only kernel symbols can be used here",
			    name);
		return false;
	}
	if (strchr(tick + 1, '`'))
		return fail_undefined(c, e, "Improper use of scoping operator");
	s->name = tick + 1;
	s->module = tick == name ? NULL : arena_strndup(c->arena, name, (size_t)(tick - name));
	return true;
}

/* Finds the address of s->name; false after reporting. */
static bool address_find(struct check *c, const struct expr *e, struct symbol *s)
{
	struct err *err = NULL;
	bool found = false;

	if (!privilege_check_symbol(c, e->ident.name, e->span))
		return false;
	if (c->env->symbol)
		err = c->env->symbol(c->env->ctx, s->module, s->name, &found, &s->sym);
	if (err) {
		(void)fail_undefined(c, e, err_text(err));
		if (err_get_hint(err))
			diag_hint(c->diags, "%s", err_get_hint(err));
		err_destroy(err);
		return false;
	}
	if (!found)
		return fail_undefined(c, e, "Unknown symbol name");
	if (!s->sym.addr && !s->is_percpu) {
		(void)fail_undefined(c, e, "the kernel hides the addresses of its symbols");
		diag_hint(c->diags, "run as root with kernel.kptr_restrict below 2");
		return false;
	}
	return true;
}

static type_id extern_type(struct check *c, const char *name)
{
	const struct ident *id = ident_find(c, SCOPE_GLOBAL, name);

	return id && id->kind == IDENT_EXTERN && id->type != TYPE_ERROR ? id->type : TYPE_NONE;
}

/* The type that the D library declares for a kernel variable that BTF lacks; TYPE_NONE: none. */
static type_id declared_type(struct check *c, const char *name)
{
	type_id type = extern_type(c, name);

	return type != TYPE_NONE ? type
				 : extern_type(c, arena_printf(c->arena, KSYM_PREFIX "%s", name));
}

static bool symbol_resolve(struct check *c, const struct expr *e, struct symbol *s)
{
	static const struct attr attr = {STAB_PRIVATE, STAB_PRIVATE, DEP_UNKNOWN};

	if (!name_split(c, e, s))
		return false;
	s->type = types_import_symbol(c->types, s->module, s->name, &s->is_percpu);
	if (s->type == TYPE_NONE)
		s->type = declared_type(c, s->name);
	attr_use(c, e->span, e->ident.name, attr);
	return address_find(c, e, s);
}

/* ---- trees ------------------------------------------------------------------------------ */

static struct expr *expr_deref(struct check *c, struct expr *pointer)
{
	struct expr *e =
		expr_new(c, EXPR_UNARY, pointer->span, type_deref(c->types, pointer->type));

	e->unary.op = OP_DEREF;
	e->unary.e = pointer;
	e->is_lvalue = true;
	return e;
}

/*
 * The distance from the original of the per-CPU variables to this CPU's copies:
 * __per_cpu_offset[cpu], an unsigned long.
 */
static struct expr *percpu_offset(struct check *c, const struct expr *at)
{
	struct symbol area = {.name = "__per_cpu_offset"};
	struct ident *cpu = hashmap_finds(c->session->builtins, "cpu");
	struct expr *index, *e;

	if (!address_find(c, at, &area))
		return expr_bad(c, at->span);
	if (!builtin_is_here(c, cpu, at->span))
		return expr_bad(c, at->span);
	index = expr_new(c, EXPR_VAR, at->span, cpu->type);
	index->var.ident = cpu;
	e = expr_new(c, EXPR_INDEX, at->span, TYPE_ULONG);
	e->index.base = expr_int(c, at->span, area.sym.addr, type_pointer(c->types, TYPE_ULONG));
	e->index.subs = ARENA_NEW(c->arena, struct expr *);
	e->index.subs[0] = index;
	e->index.nsubs = 1;
	e->is_lvalue = true;
	return e;
}

/* The address of the symbol, as a pointer to `type`. */
static struct expr *symbol_pointer(struct check *c, const struct expr *at, const struct symbol *s,
				   type_id type)
{
	type_id pointer = type_pointer(c->types, type);
	struct expr *offset, *sum;

	if (!s->is_percpu)
		return expr_int(c, at->span, s->sym.addr, pointer);
	offset = percpu_offset(c, at);
	if (expr_is_bad(offset))
		return offset;
	sum = expr_new(c, EXPR_BINARY, at->span, TYPE_ULONG);
	sum->binary.op = OP_ADD;
	sum->binary.l = offset;
	sum->binary.r = expr_int(c, at->span, s->sym.addr, TYPE_ULONG);
	return expr_cast(c, sum, pointer);
}

/* The value of a variable, or the address of a function. */
static struct expr *symbol_load(struct check *c, const struct expr *at, const struct symbol *s)
{
	struct expr *pointer = symbol_pointer(c, at, s, s->type);

	if (expr_is_bad(pointer) || type_kind(c->types, s->type) == TK_FUNC)
		return pointer;
	return expr_deref(c, pointer);
}

/* ---- uses ------------------------------------------------------------------------------- */

struct ident *symbol_inline(struct check *c, const struct expr *e)
{
	const char *name = e->ident.name;
	struct ident *id;

	if (name[0] != '`' || strchr(name + 1, '`'))
		return NULL;
	id = ident_find(c, SCOPE_GLOBAL, arena_printf(c->arena, KSYM_PREFIX "%s", name + 1));
	return id && id->kind == IDENT_INLINE ? id : NULL;
}

struct expr *symbol_value(struct check *c, struct expr *e)
{
	struct symbol s = {0};

	if (!symbol_resolve(c, e, &s))
		return expr_bad(c, e->span);
	if (s.type == TYPE_NONE) {
		check_error(c, D_SYM_NOTYPES, e->span,
			    "no symbolic type information is available for %s", e->ident.name);
		if (types_import_trouble(c->types))
			diag_hint(c->diags, "%s", types_import_trouble(c->types));
		else if (kallsym_is_function(&s.sym))
			diag_hint(c->diags, "its address is &%s", e->ident.name);
		else
			diag_hint(c->diags, "say what it is: *(unsigned long *)&%s", e->ident.name);
		return expr_bad(c, e->span);
	}
	return symbol_load(c, e, &s);
}

struct expr *symbol_address(struct check *c, struct expr *e)
{
	struct symbol s = {0};

	if (!symbol_resolve(c, e, &s))
		return expr_bad(c, e->span);
	return symbol_pointer(c, e, &s, s.type == TYPE_NONE ? TYPE_VOID : s.type);
}

struct expr *symbol_extern(struct check *c, struct ident *id, struct expr *e)
{
	struct symbol s = {.name = id->name, .type = id->type};

	(void)types_import_symbol(c->types, NULL, id->name, &s.is_percpu);
	attr_use(c, e->span, id->name, id->attr);
	if (!address_find(c, e, &s))
		return expr_bad(c, e->span);
	return symbol_load(c, e, &s);
}
