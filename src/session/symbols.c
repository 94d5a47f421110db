/* SPDX-License-Identifier: MIT */
/* Finds addresses of kernel symbols for the compiler, and keeps each that was found. */
#include <errno.h>

#include "d/parse/foreign.h"
#include "kernel/kernel.h"
#include "session/compiler.h"
#include "sym/kallsyms.h"

/* Whether the first symbol of a name, at addr, is in the code of the kernel: *ret is that one. */
static bool is_function_of_kernel(const char *module, uint64_t addr, struct kallsym *ret)
{
	uint64_t start, end;

	if (module && *module && strcmp(module, "vmlinux") != 0)
		return false;
	if (ksym_ask("_stext", &start) || ksym_ask("_etext", &end))
		return false;
	*ret = (struct kallsym){.addr = addr, .type = 't'};
	return addr >= start && addr < end;
}

/*
 * The kernel is asked first, because all lines of /proc/kallsyms up to that of the symbol take some
 * milliseconds to read. The file says more of modules' symbols and of variables.
 */
static struct err *symbol_look_up(const char *module, const char *name, bool *ret_found,
				  struct kallsym *ret)
{
	bool has_data = true;
	struct err *e = NULL;
	uint64_t addr;
	int sys = ksym_ask(name, &addr);

	*ret_found = !sys && is_function_of_kernel(module, addr, ret);
	if (sys == ENOENT)
		has_data = ksym_ask("init_task", &addr) == 0; /* a variable of every kernel */
	else if (!*ret_found)
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
