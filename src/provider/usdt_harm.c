/* SPDX-License-Identifier: MIT */
/*
 * Probes of programs that are known to end or to spoil these, whoever traces them (d/parse/harm.h).
 *
 * A row of the table is about files: all its conditions are facts of the file that has the probe.
 * So it makes no difference when a process comes, in which container it runs, and whether the
 * runtime is a library or a part of the program. Such probes are neither listed nor enabled, unless
 * option harmful is set. Where D declares the same probe over a function, that one takes the place
 * of the file's own (usdt_code.c).
 */
#include "provider/usdt.h"
#include "image/debugfile.h"
#include "image/build_id.h"
#include "image/segments.h"
#include "image/symtab.h"

#define FACT_ROOM 128 /* bytes of a variable that are compared */

/* ---- facts of a file ------------------------------------------------------------------------- */

/* Reads the text at an address of the file; false if the file does not have it. */
static bool text_read(const struct usdt_object *o, Elf *elf, uint64_t addr, char ret[FACT_ROOM])
{
	const struct image_segment *s;
	struct image_segments all;
	ssize_t n = 0;

	segments_read(&all, elf);
	s = segments_at(&all, addr, 1);
	if (s)
		n = gate_file_read(o->file->file.opened, ret,
				   MIN(s->size - (addr - s->addr), (uint64_t)FACT_ROOM - 1),
				   s->off + (addr - s->addr));
	segments_deinit(&all);
	if (n <= 0)
		return false;
	ret[n] = '\0';
	return true;
}

/* Reads the text in the variable of this name: the first one in the file's tables of symbols. */
static bool variable_read(const struct usdt_object *o, struct gate_elf *g, const char *name,
			  char ret[FACT_ROOM])
{
	struct symtab t = symtab_begin(g, SYMTAB_ALL);

	while (symtab_next(&t))
		if (GELF_ST_TYPE(t.sym.st_info) == STT_OBJECT && t.sym.st_shndx != SHN_UNDEF &&
		    symtab_is(&t, name))
			return text_read(o, g->elf, t.sym.st_value, ret);
	return false;
}

static bool build_id_matches(struct gate_elf *g, const char *pattern)
{
	struct strbuf hex = {0};
	struct build_id id;
	bool matches;

	if (build_id_read(&id, g))
		build_id_add(&hex, &id, 0);
	matches = glob_match(pattern, strbuf_text(&hex));
	strbuf_deinit(&hex);
	return matches;
}

static bool condition_holds(struct provider_env *env, const struct usdt_object *o,
			    const struct harm_condition *c)
{
	struct gate_elf g;
	char text[FACT_ROOM];
	bool holds;

	if (strcmp(c->fact, "file") == 0)
		return glob_match(c->pattern, o->file->file.name);
	gate_elf_open(o->file->file.opened, env->files->limit, &g);
	if (strcmp(c->fact, "build-id") == 0)
		holds = build_id_matches(&g, c->pattern);
	else
		holds = variable_read(o, &g, c->fact, text) && glob_match(c->pattern, text);
	gate_elf_close(&g);
	return holds;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool row_concerns(struct provider_env *env, const struct usdt_object *o,
			 const struct harm *row)
{
	bool holds = false;

	for (uint32_t i = 0; i < o->notes.list.len && !holds; i++)
		holds = glob_match(row->prov, o->notes.list.data[i].provider);
	for (uint32_t i = 0; i < row->nconditions && holds; i++)
		holds = condition_holds(env, o, &row->conditions[i]);
	return holds;
}

/* Finds the rows whose conditions the file meets, once. */
static void rows_find(struct provider_env *env, struct usdt_object *o)
{
	const struct harm *row;

	if (o->has_harms)
		return;
	o->has_harms = true;
	for (uint32_t i = 0; (row = env_harm(env, i)); i++)
		if (row_concerns(env, o, row))
			vec_push(&o->harms, (struct usdt_harm){.row = row});
}

struct usdt_harm *usdt_harm_find(struct provider_env *env, struct usdt_object *o, const char *prov,
				 const char *name)
{
	rows_find(env, o);
	for (uint32_t i = 0; i < o->harms.len; i++)
		if (glob_match(o->harms.data[i].row->prov, prov) &&
		    glob_match(o->harms.data[i].row->name, name))
			return &o->harms.data[i];
	return NULL;
}

bool usdt_harm_leaves_out(struct provider_env *env, struct usdt_group *grp)
{
	if (!grp->harm || env->is_harmful)
		return false;
	if (!grp->harm->is_said)
		env_adjusted(env,
			     "the probes %s*:::%s of '%s' are left out: %s; "
			     "-x harmful enables them",
			     grp->harm->row->prov, grp->harm->row->name,
			     grp->object->file->file.name, grp->harm->row->reason);
	grp->harm->is_said = true;
	return true;
}

const char *usdt_harm_hint(struct provider_env *env, const struct usdt_group *grp)
{
	return arena_printf(env->arena,
			    "it is left out for '%s': %s; -x harmful enables it all the same",
			    grp->object->file->file.name, grp->harm->row->reason);
}
