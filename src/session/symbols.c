/* Finds addresses of kernel symbols for the compiler, and keeps each that was found. */
#include <errno.h>

#include "d/foreign.h"
#include "kernel/kernel.h"
#include "session/compiler.h"
#include "sym/kallsyms.h"

static struct err *symbol_look_up(const char *module, const char *name, bool *ret_found,
				  struct kallsym *ret)
{
	bool has_data;
	struct err *e = NULL;

	*ret_found = false;
	if (ksym_ask(name) == ENOENT)
		has_data = ksym_ask("init_task") == 0; /* a variable of every kernel */
	else
		e = kallsyms_find(KALLSYMS_PATH, module, name, ret_found, ret, &has_data);
	if (!e && !*ret_found && foreign_hint(FOREIGN_SYMBOL, name))
		e = err_hint(err_new("Unknown symbol name"), "%s",
			     foreign_hint(FOREIGN_SYMBOL, name));
	else if (!e && !*ret_found && !has_data)
		e = err_hint(
			err_new("Unknown symbol name"),
			"this kernel lists functions only: variables need CONFIG_KALLSYMS_ALL");
	return e;
}

struct err *symbol_find(void *ctx, const char *module, const char *name, bool *ret_found,
			struct kallsym *ret)
{
	struct compiler *c = ctx;
	const char *key = arena_printf(c->arena, "%s`%s", module ? module : "*", name);
	struct kallsym *known = c->symbols ? hashmap_finds(c->symbols, key) : NULL, sym;
	struct err *e;

	if (!known) {
		e = symbol_look_up(module, name, ret_found, &sym);
		if (e || !*ret_found)
			return e;
		if (!c->symbols)
			c->symbols = hashmap_create();
		known = arena_memdup(c->arena, &sym, sizeof(sym));
		hashmap_sets(c->symbols, key, known);
	}
	*ret_found = true;
	*ret = *known;
	return NULL;
}
