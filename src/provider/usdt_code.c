/*
 * Probes that are declared in D over functions of programs (d/derive.c), for programs whose build
 * has no notes:
 *
 *     provider perl {
 *             probe sub__entry(...) = pid:perl:Perl_pp_entersub:return /guard/ (arguments);
 *     };
 *
 * In each process that has mapped a file of that name with that function, this is a probe like
 * those of notes: "perl123" is its provider, the file its module. The front end compiles clauses
 * for it with the guard and the arguments of the source (probe.source). A file that has a note for
 * a probe of the same provider and name keeps that one alone.
 */
#include "d/compile.h"
#include "proc/exits.h"
#include "provider/usdt.h"

/* ---- files ----------------------------------------------------------------------------------- */

static struct usdt_object *object_find(const struct usdt_state *st, const struct pid_target *t,
				       const struct pid_object *file)
{
	for (uint32_t i = 0; i < st->objects.len; i++) {
		struct usdt_object *o = st->objects.data[i];

		if (o->target == t && o->file == file)
			return o;
	}
	return NULL;
}

static bool has_note(const struct usdt_object *o, const struct derived_info *declared)
{
	for (uint32_t i = 0; i < o->notes.list.len; i++) {
		const struct usdt_note *note = &o->notes.list.data[i];

		if (strcmp(note->name, declared->name) == 0 &&
		    strcmp(note->provider, declared->prov) == 0)
			return true;
	}
	return false;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static void entry_add(struct usdt_probe_data *d, struct pid_object *file, const struct func *fn)
{
	size_t size = MIN(fn->size, PID_ENTRY_BYTES);
	const uint8_t *code = text_at(&file->text, fn->off, size);

	d->spot = pid_entry_place(file, fn);
	if (code)
		vec_push(&d->code.sites,
			 (struct place_site){.file = &file->file,
					     .off = fn->off +
						    pid_entry_skip(file, fn, code, size)});
}

static void returns_add(struct usdt_probe_data *d, struct pid_object *file, const struct func *fn)
{
	struct func_exits exits = {0};

	d->spot = pid_return_place(file, fn);
	if (func_exits_find(file->funcs, fn, &file->text, &exits))
		for (uint32_t i = 0; i < exits.list.len; i++)
			vec_push(&d->code.sites,
				 (struct place_site){.file = &file->file,
						     .off = exits.list.data[i].off,
						     .rel = exits.list.data[i].rel,
						     .is_tail = exits.list.data[i].is_tail});
	vec_deinit(&exits.list);
}

/* ---- probes ---------------------------------------------------------------------------------- */

static void function_add(struct probes *ps, struct usdt_state *st, struct usdt_object *o,
			 const struct code_source *source, const struct func *fn)
{
	const char *prov =
		arena_printf(probes_arena(ps), "%s%d", source->probe->prov, (int)o->target->pid);
	struct probe *pr = probes_add_as(ps, &provider_usdt, prov, o->file->file.name, fn->name,
					 source->probe->name, 0);
	struct usdt_probe_data *d;

	if (pr->data)
		return; /* two files of this name, or two sources mean the function */
	d = usdt_probe_create(ps, st, o);
	d->declared = source->probe;
	pr->data = (uintptr_t)d;
	pr->source = source->number;
	if (source->is_return)
		returns_add(d, o->file, fn);
	else
		entry_add(d, o->file, fn);
	vec_push(&o->probes, pr);
}

static bool function_is_meant(const struct code_source *source, const struct func *fn)
{
	return fn->is_canonical && !fn->is_part && !fn->is_ifunc &&
	       glob_match(source->func, fn->name);
}

/* "NAME`FUNCTION`..." is a file that has these functions, too: they tell builds apart. */
static bool name_matches(const struct code_source *source, const struct pid_object *file)
{
	char name[256];

	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(source->mod, "`"), source->mod);
	return glob_match(name, file->file.name);
}

static bool has_functions(const struct code_source *source, const struct pid_object *file)
{
	const char *p = strchr(source->mod, '`');
	char name[256];

	while (p) {
		(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(p + 1, "`"), p + 1);
		if (!funcs_find(file->funcs, name))
			return false;
		p = strchr(p + 1, '`');
	}
	return true;
}

static void file_add(struct probes *ps, struct usdt_state *st, struct pid_target *t,
		     struct pid_object *file, const struct code_source *source)
{
	struct usdt_object *o = object_find(st, t, file);
	const struct func *fn;

	if ((o && has_note(o, source->probe)) || pid_object_open(t, file) ||
	    !has_functions(source, file))
		return;
	if (!o)
		o = usdt_object_add(st, t, file);
	if (glob_is_literal(source->func)) {
		fn = funcs_find(file->funcs, source->func);
		if (fn)
			function_add(ps, st, o, source, fn);
		return;
	}
	for (uint32_t i = 0; i < file->funcs->list.len; i++)
		if (function_is_meant(source, &file->funcs->list.data[i]))
			function_add(ps, st, o, source, &file->funcs->list.data[i]);
}

static void process_add(struct probes *ps, struct usdt_state *st, struct pid_target *t,
			uint32_t *ncodes)
{
	const struct declared_source_fns *fns = probes_declared(ps);
	const struct code_source *source;
	bool is_live;

	for (; (source = fns->code(fns->ctx, *ncodes, &is_live)); ++*ncodes)
		for (uint32_t i = 0; is_live && i < t->objects.len; i++)
			if (name_matches(source, t->objects.data[i]))
				file_add(ps, st, t, t->objects.data[i], source);
}

void usdt_code_add(struct probes *ps, struct usdt_state *st)
{
	if (!probes_declared(ps)->code)
		return;
	while (st->ncodes.len < st->pids.targets.len)
		vec_push(&st->ncodes, 0);
	for (uint32_t i = 0; i < st->pids.targets.len; i++)
		process_add(ps, st, st->pids.targets.data[i], &st->ncodes.data[i]);
}
