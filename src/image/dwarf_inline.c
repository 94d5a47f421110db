/* SPDX-License-Identifier: MIT */
/*
 * Finds functions that the compiler has inlined into their callers: they have no code, and no
 * symbol, of their own.
 *
 * The debug information has an abstract DIE of such a function, marked DW_AT_inline, and a
 * DW_TAG_inlined_subroutine wherever its code is, which refers to the abstract DIE (DWARF 5,
 * 3.3.8). There is no index of either, so all units are walked. The search runs only for a better
 * error message, when a user names a function that does not exist, so its time is limited.
 */
#include <dwarf.h>

#include "image/demangle.h"
#include "image/dwarf.h"

#define BUDGET_NS  300000000 /* time for the search */
#define MAX_DEPTH  64	     /* levels of nested scopes: damaged files may have more */
#define MAX_PREFIX 512	     /* bytes of the names of the scopes around a function */

struct walk {
	dwarf_name_f *is_meant;
	void *ctx;
	struct arena *a, *names; /* names: memory for the name that is being compared */
	uint64_t deadline;
	uint32_t nseen;
	const char *name; /* name of the function that was found; NULL: none yet */
	Dwarf_Off origin; /* offset of the function's DIE */
	/* name of a matching declaration in a namespace or class; NULL: none was found yet */
	const char *declared;
	Dwarf_Off declaration; /* offset of its DIE, to which the DIE of the function refers */
	const char *caller;
};

/* True when the search has used up its time; reads the clock only at some of the calls. */
static bool time_is_up(struct walk *w)
{
	return ++w->nseen % 256 == 0 && now_ns() > w->deadline;
}

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attr));

	return name ? name
		    : dwarf_formstring(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr));
}

/* Returns the name that probe descriptions use: the C name, or the demangled one. */
static const char *function_name(struct walk *w, Dwarf_Die *die)
{
	const char *linked = linkage_name(die),
		   *name = linked ? demangle_bare(w->names, linked) : NULL;

	return name ? name : dwarf_diename(die);
}

/* True if the compiler has inlined the function, whether or not it was declared inline. */
static bool is_inlined(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Word how;

	return dwarf_formudata(dwarf_attr(die, DW_AT_inline, &attr), &how) == 0 &&
	       (how == DW_INL_inlined || how == DW_INL_declared_inlined);
}

static bool is_declared(const struct walk *w, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die of;

	return w->declared && dwarf_formref_die(dwarf_attr(die, DW_AT_specification, &attr), &of) &&
	       dwarf_dieoffset(&of) == w->declaration;
}

/*
 * Compares the name of a function in a scope, whose prefix is for example "shop::". The prefix
 * makes the full name of a function without a linkage name.
 */
static void function_check(struct walk *w, Dwarf_Die *die, const char *prefix)
{
	const char *bare = dwarf_diename(die), *name;

	arena_reset(w->names); /* a file may have any number of names */
	name = function_name(w, die);
	if (!bare || !name)
		return;
	if (name == bare && *prefix)
		name = arena_printf(w->names, "%s%s", prefix, bare);
	if (is_declared(w, die))
		name = w->declared;
	else if (!w->is_meant(w->ctx, name) && !w->is_meant(w->ctx, bare))
		return;
	w->name = arena_strdup(w->a, name);
	w->origin = dwarf_dieoffset(die);
}

/*
 * Remembers a declaration whose name matches: the definition, which refers to the declaration, is
 * often outside the scope.
 */
static void declaration_check(struct walk *w, Dwarf_Die *die, const char *prefix)
{
	const char *bare = dwarf_diename(die), *name;

	if (!bare || !*prefix)
		return;
	arena_reset(w->names);
	name = arena_printf(w->names, "%s%s", prefix, bare);
	if (!w->is_meant(w->ctx, name))
		return;
	w->declared = arena_strdup(w->a, name);
	w->declaration = dwarf_dieoffset(die);
}

static void scope_walk(struct walk *w, Dwarf_Die *scope, const char *prefix, int depth);

static void inner_walk(struct walk *w, Dwarf_Die *scope, const char *prefix, int depth)
{
	const char *name = dwarf_diename(scope);
	char inner[MAX_PREFIX];

	(void)snprintf(inner, sizeof(inner), "%s%s%s", prefix, name ? name : "", name ? "::" : "");
	scope_walk(w, scope, inner, depth + 1);
}

/* Looks for the function in a scope that may hold functions: a unit, a namespace, a class. */
static void scope_walk(struct walk *w, Dwarf_Die *scope, const char *prefix, int depth)
{
	Dwarf_Die die;

	if (depth > MAX_DEPTH || dwarf_child(scope, &die) != 0)
		return;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			if (is_inlined(&die))
				function_check(w, &die, prefix);
			else if (dwarf_hasattr(&die, DW_AT_declaration))
				declaration_check(w, &die, prefix);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type: inner_walk(w, &die, prefix, depth); break;
		default: break;
		}
	} while (!w->name && !time_is_up(w) && dwarf_siblingof(&die, &die) == 0);
}

/* True if this scope of another function contains inlined code of the function. */
static bool use_find(struct walk *w, Dwarf_Die *scope, int depth)
{
	Dwarf_Attribute attr;
	Dwarf_Die die, origin;

	if (depth > MAX_DEPTH || dwarf_child(scope, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_inlined_subroutine &&
		    dwarf_formref_die(dwarf_attr(&die, DW_AT_abstract_origin, &attr), &origin) &&
		    dwarf_dieoffset(&origin) == w->origin)
			return true;
		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
		    use_find(w, &die, depth + 1))
			return true;
	} while (!time_is_up(w) && dwarf_siblingof(&die, &die) == 0);
	return false;
}

static void caller_find(struct walk *w, Dwarf_Die *scope, int depth)
{
	Dwarf_Die die;

	if (depth > MAX_DEPTH || dwarf_child(scope, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram && !is_inlined(&die) && use_find(w, &die, depth + 1)) {
			const char *name = function_name(w, &die);

			w->caller = name ? arena_strdup(w->a, name) : NULL;
		} else if (tag == DW_TAG_namespace || tag == DW_TAG_module) {
			caller_find(w, &die, depth + 1);
		}
	} while (!w->caller && !time_is_up(w) && dwarf_siblingof(&die, &die) == 0);
}

bool dwarf_find_inlined(Dwarf *dw, dwarf_name_f *is_meant, void *ctx, struct arena *a,
			struct dwarf_inlined *ret)
{
	struct walk w = {.is_meant = is_meant,
			 .ctx = ctx,
			 .a = a,
			 .names = arena_create(),
			 .deadline = now_ns() + BUDGET_NS};
	Dwarf_Off off = 0, next;
	Dwarf_Die unit;
	size_t size;

	while (!w.name && !time_is_up(&w) &&
	       dwarf_nextcu(dw, off, &next, &size, NULL, NULL, NULL) == 0 && next > off) {
		if (dwarf_offdie(dw, off + size, &unit))
			scope_walk(&w, &unit, "", 0);
		off = next;
	}
	if (w.name) {
		caller_find(&w, &unit, 0);
		*ret = (struct dwarf_inlined){w.name, w.caller};
	}
	arena_destroy(w.names);
	return w.name != NULL;
}
