/* SPDX-License-Identifier: MIT */
/*
 * Functions that a description names and that have no code, because the compiler has inlined them.
 */
#include "provider/pid.h"

#include "image/dwarf.h"

static bool is_meant(void *ctx, const char *name)
{
	return glob_match(ctx, name);
}

const char *pid_inlined_hint(struct provider_env *env, struct code_process *t, struct code_file *o,
			     const char *func)
{
	struct arena *a = env->arena;
	struct dwarf_inlined in;
	struct dwarf_file *d;

	if (!func[strspn(func, "*?")] || code_file_hold(t, o))
		return NULL; /* a pattern that matches every function needs no hint */
	code_file_rest(o);
	d = code_file_dwarf(t, o);
	if (!d || !dwarf_file_inlined(d, is_meant, (void *)(uintptr_t)func, a, &in))
		return NULL;
	if (!in.caller)
		return arena_printf(
			a,
			"the compiler has inlined '%s': there is no code of its own to probe; "
			"__attribute__((noinline)) or -fno-inline keeps it",
			in.name);
	return arena_printf(
		a,
		"the compiler has inlined '%s' into its callers, such as '%s': probe these; "
		"__attribute__((noinline)) or -fno-inline keeps its code",
		in.name, in.caller);
}
