/* SPDX-License-Identifier: MIT */
/* Types of the arguments of pid probes, from the debug information of the file that is probed. */
#include "provider/pid.h"

#include "d/types/import_dwarf.h"
#include "image/dwarf.h"

#define NARGS 10 /* arg0..arg9 */

/* The elements of args[] of a probe: their types as text, and where their values are. */
struct pid_args {
	const char **texts;
	struct dwarf_arg *args;
	uint32_t n;
};

/* Returns the file of the probe's first instruction. */
static struct code_file *first_object(const struct pid_probe *p)
{
	return code_file_of(p->probe.code.sites.data[0].file);
}

/*
 * Finds the address, as in the file, of the function that the probe's first instruction is in, or,
 * of a probe at calls, that it calls.
 */
static bool function_addr(const struct pid_probe *p, uint64_t *ret_addr)
{
	const struct place_site *s = &p->probe.code.sites.data[0];
	struct code_file *o = first_object(p);
	bool is_known;

	if (p->probe.spot == SPOT_CALL) {
		*ret_addr = p->callee;
		return p->callee;
	}
	if (code_file_hold(p->target, o))
		return false;
	is_known = segments_addr(&o->funcs->code, s->off - s->rel, ret_addr);
	code_file_rest(o);
	return is_known;
}

/* Fills the arguments of a return probe: arg0 is the offset, and arg1 the first returned value. */
static void return_args(struct pid_args *a, struct arena *mem, const struct dwarf_arg *values,
			uint32_t n)
{
	a->args = ARENA_NEW_N(mem, struct dwarf_arg, n + 1);
	a->args[0] = (struct dwarf_arg){.name = "", .text = "uint64_t", .raw = 0};
	a->n = n + 1;
	for (uint32_t i = 0; i < n; i++) {
		a->args[i + 1] = values[i];
		a->args[i + 1].raw += values[i].raw >= 0;
		a->args[i + 1].first++;
	}
}

static bool is_go(enum code_spot spot)
{
	return spot == SPOT_ENTRY_GO || spot == SPOT_RETURN_GO || spot == SPOT_ENTRY_STACK ||
	       spot == SPOT_ENTRY_NONE || spot == SPOT_RETURN_NONE;
}

static bool go_args(const struct pid_probe *p, Dwarf_Die *func, struct arena *mem,
		    struct pid_args *ret)
{
	bool on_stack = p->probe.spot == SPOT_ENTRY_STACK || p->probe.spot == SPOT_RETURN_NONE;
	struct dwarf_arg *values;
	uint32_t nvalues;

	if (p->probe.spot == SPOT_ENTRY_NONE ||
	    !dwarf_go_args(func, on_stack, mem, &ret->args, &ret->n, &values, &nvalues))
		return false;
	if (spot_is_return(p->probe.spot))
		return_args(ret, mem, values, nvalues);
	return true;
}

static bool c_args(const struct pid_probe *p, Dwarf_Die *func, struct arena *mem,
		   struct pid_args *ret)
{
	struct dwarf_arg value;

	if (!dwarf_function_args(func, mem, &ret->args, &ret->n, &value))
		return false;
	value.raw = value.raw == 0 ? 0 : -1;
	if (spot_is_return(p->probe.spot))
		return_args(ret, mem, &value, strcmp(value.text, "void") == 0 ? 0 : 1);
	return true;
}

static void texts_fill(struct pid_args *a, struct arena *mem)
{
	a->texts = ARENA_NEW_N(mem, const char *, MAX(a->n, 1u));
	for (uint32_t i = 0; i < a->n; i++) {
		const char *text = a->args[i].text;
		bool is_address =
			a->args[i].is_ref || (!a->args[i].is_spelled && strchr(text, '*'));

		a->texts[i] = arena_printf(mem, "%s%s%s", is_address ? "userland " : "", text,
					   a->args[i].is_spelled && a->args[i].is_ref ? " *" : "");
	}
}

static bool probe_args(struct provider_env *env, const struct probe *pr, struct pid_args *ret)
{
	const struct pid_probe *p = pid_probe(pr);
	struct arena *mem = env->arena;
	struct dwarf_file *d;
	Dwarf_Die func;
	uint64_t addr;

	*ret = (struct pid_args){0};
	if (!p->probe.code.sites.len || p->probe.spot == SPOT_INSN || !function_addr(p, &addr) ||
	    first_object(p)->file.is_32bit) /* types are laid out for 64 bits */
		return false;
	d = code_file_dwarf(p->target, first_object(p));
	if (!d || !dwarf_file_function(d, addr, &func) ||
	    !(is_go(p->probe.spot) ? go_args : c_args)(p, &func, mem, ret))
		return false;
	texts_fill(ret, mem);
	return true;
}

uint32_t pid_arg_types(struct provider_env *env, const struct probe *pr,
		       const char *const **ret_types)
{
	struct pid_args a;

	if (!probe_args(env, pr, &a))
		return 0;
	*ret_types = a.texts;
	return a.n;
}

/* Says which arguments a clause can use instead of a value that consists of several words. */
static const char *words_describe(const struct dwarf_arg *arg, struct arena *mem)
{
	uint32_t last = arg->first + arg->nwords - 1;

	if (!arg->nwords || last >= NARGS)
		return NULL;
	if (arg->nwords == 1)
		return arena_printf(mem, "its one word is arg%u", arg->first);
	return arena_printf(mem, "it consists of %u words, arg%u to arg%u", arg->nwords, arg->first,
			    last);
}

type_id pid_arg_type(struct provider_env *env, const struct probe *pr, uint32_t index,
		     struct types *t, struct arg_origin *ret_origin)
{
	struct pid_state *st = probes_state(env->probes, pr->provider, sizeof(*st));
	struct pid_args a;

	if (!probe_args(env, pr, &a) || index >= a.n)
		return TYPE_ERROR;
	ret_origin->why = words_describe(&a.args[index], env->arena);
	if (a.args[index].raw < 0 || a.args[index].raw + a.args[index].is_text >= NARGS)
		return TYPE_ERROR;
	ret_origin->raw = (uint32_t)a.args[index].raw;
	ret_origin->is_text = a.args[index].is_text;
	if (!dwarf_tag(&a.args[index].type))
		return types_find(t, a.args[index].text, strlen(a.args[index].text));
	code_file_keep_types(first_object(pid_probe(pr)));
	return dwarf_import_arg(code_types(&st->code), t, &a.args[index].type,
				a.args[index].is_ref);
}

/*
 * Refuses values of Go functions that no probe receives. The registers in which a C function would
 * have them contain something else.
 */
const char *pid_arg_refused(struct provider_env *env, const struct probe *pr, uint32_t raw)
{
	const struct pid_probe *p = pid_probe(pr);
	enum go_abi abi;

	if (!p->probe.code.sites.len ||
	    (p->probe.spot != SPOT_ENTRY_NONE && (p->probe.spot != SPOT_RETURN_NONE || !raw)))
		return NULL;
	if (code_file_hold(p->target, first_object(p)))
		return NULL;
	abi = first_object(p)->funcs->go.abi;
	code_file_rest(first_object(p));
	if (abi == GO_UNKNOWN && (p->probe.spot == SPOT_ENTRY_NONE || raw))
		return arena_printf(
			env->arena,
			"'%s' does not say which version of Go compiled it, and with it how functions "
			"receive arguments and return results",
			first_object(p)->file.name);
	return "Go functions of 32-bit programs, of compilers before Go 1.17, and in assembly return "
	       "their results on the stack, which no argument of a probe has";
}
