/* Types of the arguments of pid probes, from the debug information of what they are in. */
#include "provider/pid.h"

#include "d/import_dwarf.h"
#include "sym/debugfile.h"
#include "sym/dwarf.h"

#define NARGS 10 /* arg0..arg9 */

/* What args[] of a probe are. */
struct pid_args {
	const char **texts;
	struct dwarf_arg *args;
	uint32_t n;
};

static struct dwarf_file *object_dwarf(const struct probes *ps, struct pid_object *o)
{
	const char *dirs = probes_debug_dirs(ps);
	const struct debug_place place = {o->path, -1, dirs ? dirs : DEBUG_DIRS_DEFAULT, o->dev,
					  o->ino};

	if (!o->has_dwarf && o->fd >= 0)
		o->dwarf = dwarf_file_open(o->fd, &place);
	o->has_dwarf = true;
	return o->dwarf;
}

/* The address, as in the file, of the function that the probe's first place is in. */
static bool function_addr(const struct pid_probe *p, uint64_t *ret_addr)
{
	const struct pid_site *s = &p->sites.data[0];
	uint64_t off = s->off - s->rel;

	for (uint32_t i = 0; i < s->object->funcs->code.len; i++) {
		const struct func_segment *g = &s->object->funcs->code.data[i];

		if (off >= g->off && off - g->off < g->size) {
			*ret_addr = off - g->off + g->addr;
			return true;
		}
	}
	return false;
}

/* At return: where it was, and the value. */
static void return_args(struct pid_args *a, struct arena *mem, const struct dwarf_arg *value)
{
	a->args = ARENA_NEW_N(mem, struct dwarf_arg, 2);
	a->args[0] = (struct dwarf_arg){.name = "", .text = "uint64_t", .raw = 0};
	a->args[1] = *value;
	a->args[1].raw = value->raw == 0 ? 1 : -1;
	a->n = strcmp(value->text, "void") == 0 ? 1 : 2;
}

static void spell(struct pid_args *a, struct arena *mem)
{
	a->texts = ARENA_NEW_N(mem, const char *, MAX(a->n, 1u));
	for (uint32_t i = 0; i < a->n; i++) {
		const char *text = a->args[i].text;
		bool is_address = strchr(text, '*') || a->args[i].is_ref;

		a->texts[i] = arena_printf(mem, "%s%s", is_address ? "userland " : "", text);
	}
}

static bool probe_args(struct probes *ps, const struct probe *pr, struct pid_args *ret)
{
	const struct pid_probe *p = pid_probe(pr);
	struct arena *mem = probes_arena(ps);
	struct dwarf_arg value;
	struct dwarf_file *d;
	Dwarf_Die func;
	uint64_t addr;

	*ret = (struct pid_args){0};
	if (!p->sites.len || p->place == UPROBE_INSN || !function_addr(p, &addr) ||
	    p->sites.data[0].object->funcs->is_32bit) /* types are laid out for 64 bits */
		return false;
	d = object_dwarf(ps, p->sites.data[0].object);
	if (!d || !dwarf_file_function(d, addr, &func) ||
	    !dwarf_function_args(&func, mem, &ret->args, &ret->n, &value))
		return false;
	if (p->place == UPROBE_RETURN)
		return_args(ret, mem, &value);
	spell(ret, mem);
	return true;
}

uint32_t pid_arg_types(struct probes *ps, const struct probe *pr, const char *const **ret_types)
{
	struct pid_args a;

	if (!probe_args(ps, pr, &a))
		return 0;
	*ret_types = a.texts;
	return a.n;
}

type_id pid_arg_type(struct probes *ps, const struct probe *pr, uint32_t index, struct types *t,
		     uint32_t *ret_raw)
{
	struct pid_state *st = probes_state(ps, pr->provider, sizeof(*st));
	struct pid_args a;

	if (!probe_args(ps, pr, &a) || index >= a.n || a.args[index].raw < 0 ||
	    a.args[index].raw >= NARGS)
		return TYPE_ERROR;
	*ret_raw = (uint32_t)a.args[index].raw;
	if (!dwarf_tag(&a.args[index].type))
		return types_find(t, a.args[index].text, strlen(a.args[index].text));
	if (!st->types)
		st->types = dwarf_import_create();
	return dwarf_import_arg(st->types, t, &a.args[index].type, a.args[index].is_ref);
}
