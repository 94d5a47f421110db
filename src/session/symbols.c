/* Addresses of kernel symbols for the compiler, each looked up once. */
#include "session/session.h"
#include "sym/kallsyms.h"

static struct err *lookup(const char *module, const char *name, bool *ret_found,
			  struct kallsym *ret)
{
	bool has_data;
	struct err *e = kallsyms_find(KALLSYMS_PATH, module, name, ret_found, ret, &has_data);

	if (!e && !*ret_found && !has_data)
		e = err_hint(
			err_new("Unknown symbol name"),
			"this kernel lists functions only: variables need CONFIG_KALLSYMS_ALL");
	return e;
}

struct err *session_symbol(void *ctx, const char *module, const char *name, bool *ret_found,
			   struct kallsym *ret)
{
	dtrace_hdl_t *h = ctx;
	const char *key = arena_printf(h->arena, "%s`%s", module ? module : "*", name);
	struct kallsym *known = h->symbols ? hashmap_finds(h->symbols, key) : NULL, sym;
	struct err *e;

	if (!known) {
		e = lookup(module, name, ret_found, &sym);
		if (e || !*ret_found)
			return e;
		if (!h->symbols)
			h->symbols = hashmap_create();
		known = arena_memdup(h->arena, &sym, sizeof(sym));
		hashmap_sets(h->symbols, key, known);
	}
	*ret_found = true;
	*ret = *known;
	return NULL;
}
