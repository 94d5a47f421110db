/*
 * Demangling by libiberty, the library that binutils and gdb use: it knows C++ and both of Rust's
 * schemes, and bounds its recursion.
 */
#include "sym/demangle.h"

#include <libiberty/demangle.h>

const char *demangle(struct arena *a, const char *name)
{
	size_t dots = strcspn(name, "@");
	CLEANUP(free) char *bare = NULL;
	CLEANUP(free) char *text = NULL;

	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
		return name;
	bare = xstrdup(name);
	bare[dots] = '\0'; /* "_ZdlPv@plt" */
	text = cplus_demangle(bare, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
	if (!text)
		return name;
	return name[dots] ? arena_printf(a, "%s%s", text, name + dots) : arena_strdup(a, text);
}
