/* SPDX-License-Identifier: MIT */
/* The files with notes about probes. */
#include "provider/usdt.h"

#include <errno.h>
#include <inttypes.h>

#include "base/text.h"
#include "files/mapping.h"
#include "kernel/kernel.h"
#include "image/debugfile.h"
#include "image/image.h"
#include "privilege/privilege.h"

#define SEEN_NS	 1000000000 /* so long a file is taken for unchanged without a look at it */
#define SEEN_MAX 65536	    /* files without notes that are remembered */

struct usdt_seen {
	struct usdt_object *object; /* NULL: the file has no notes */
	uint64_t at;		    /* ns; when the file was looked at */
	uint32_t ncodes;	    /* number of sources declared in D at that time */
};

static struct usdt_object no_notes; /* what is noted of files without */

/* ---- reading notes --------------------------------------------------------------------------- */

void usdt_prov_add(struct usdt_object *o, const char *prov)
{
	for (uint32_t i = o->provs.len; i-- > 0;)
		if (strcmp(o->provs.data[i], prov) == 0)
			return;
	vec_push(&o->provs, prov);
}

static void provs_collect(struct usdt_object *o)
{
	const char *last = NULL;

	for (uint32_t i = 0; i < o->notes.list.len; i++) {
		const char *prov = o->notes.list.data[i].provider;

		if (!last || strcmp(prov, last) != 0)
			usdt_prov_add(o, prov);
		last = prov;
	}
}

static int by_pc(const void *pa, const void *pb)
{
	const struct usdt_note *a = pa, *b = pb;

	return (a->pc > b->pc) - (a->pc < b->pc);
}

static uint64_t notes_size(const struct usdt_notes *n)
{
	return n->list.len * sizeof(*n->list.data) + n->dof.len + arena_size(n->arena);
}

/*
 * Makes the object of a file; takes over the image and the notes. They count as what is kept of the
 * file, and are not shed: probes are made of them.
 */
static struct usdt_object *object_create(struct provider_env *env, struct usdt_state *st, pid_t pid,
					 const struct proc_map *m, struct image *i,
					 const struct usdt_notes *notes)
{
	struct usdt_object *o = xcalloc(1, sizeof(*o));

	o->notes = *notes;
	o->batch = st->code.batch;
	o->survey = st->nsurveys;
	o->arena = arena_create();
	o->target = xcalloc(1, sizeof(*o->target));
	*o->target = (struct code_process){.pid = pid, .at = pid, .env = env, .id.pidfd = -1};
	o->file = code_file_create(&st->code, m);
	code_file_take(o->file, i);
	image_set_account(env->files->images, &o->bytes, notes_size(notes));
	image_set_shed(env->files->images, i);
	if (o->notes.list.len)
		qsort(o->notes.list.data, o->notes.list.len, sizeof(*o->notes.list.data), by_pc);
	provs_collect(o);
	vec_push(&st->objects, o);
	return o;
}

/* True for a program, as opposed to a library: the module "a.out". */
static bool is_program(struct gate_elf *g)
{
	GElf_Ehdr eh;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Dyn dyn;

	if (!gelf_getehdr(g->elf, &eh) || eh.e_type == ET_EXEC)
		return true;
	while ((scn = elf_nextscn(g->elf, scn))) {
		Elf_Data *data = gelf_getshdr(scn, &sh) && sh.sh_type == SHT_DYNAMIC
					 ? gate_data(g, scn)
					 : NULL;

		for (int i = 0; data && gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++)
			if (dyn.d_tag == DT_FLAGS_1 && dyn.d_un.d_val & DF_1_PIE)
				return true;
	}
	return false;
}

/*
 * Reads the notes of a file, and takes over its image; NULL: it has none, and no probe is declared
 * over its functions.
 */
static struct usdt_object *file_read(struct provider_env *env, struct usdt_state *st, pid_t pid,
				     const struct proc_map *m, struct image *i)
{
	struct usdt_object *o = NULL;
	struct usdt_notes notes;
	struct gate_elf g;

	gate_elf_open(i->opened, env->files->limit, &g);
	usdt_notes_read(&g, &notes);
	if (notes.list.len || usdt_code_names(env, 0, code_module_name(m->path))) {
		o = object_create(env, st, pid, m, i, &notes);
		o->file->is_main = is_program(&g);
		if (notes.is_cut)
			env_notice(env, "some notes about probes in '%s' cannot be read",
				   o->file->file.name);
		if (notes.has_more)
			env_notice(env,
				   "'%s' has more than %u notes about probes: the others are "
				   "left out",
				   o->file->file.name, USDT_NOTES_MAX);
	} else {
		if (notes.is_cut)
			env_notice(
				env,
				"the notes about probes in '%s' cannot be read: they are damaged, "
				"or larger than option elfsize allows",
				text_clean(arena_strdup(env->arena, code_module_name(m->path))));
		usdt_notes_deinit(&notes);
	}
	gate_elf_close(&g);
	if (!o)
		image_put(i);
	return o;
}

/* ---- files that were seen before ------------------------------------------------------------- */

/* Forgets the entries of files without notes when there are too many. */
static void seen_limit(struct usdt_state *st)
{
	struct usdt_seen *s;
	const void *key;
	size_t pos = 0, len;

	if (hashmap_count(st->seen) < SEEN_MAX)
		return;
	while ((s = hashmap_next(st->seen, &pos, &key, &len)))
		if (!s->object) {
			hashmap_remove(st->seen, key, len);
			free(s);
		}
}

static void seen_set(struct usdt_state *st, const struct file_inode *key, struct usdt_object *o)
{
	struct usdt_seen *s = hashmap_find(st->seen, key, sizeof(*key));

	if (!s) {
		seen_limit(st);
		s = xcalloc(1, sizeof(*s));
		hashmap_set(st->seen, key, sizeof(*key), s);
	}
	s->object = o;
	s->at = now_ns();
	s->ncodes = st->ncodes;
}

/* Finds the object of an image, which it takes over; reads the file if it is not known. */
static struct usdt_object *object_of(struct provider_env *env, struct usdt_state *st, pid_t pid,
				     const struct proc_map *m, struct image *i)
{
	struct usdt_object *o = i->notes[IMAGE_USDT];

	if (o == &no_notes && usdt_code_names(env, 0, code_module_name(m->path)))
		o = NULL;
	if (o) {
		image_put(i);
	} else {
		st->images = env->files->images;
		i->notes[IMAGE_USDT] = &no_notes;
		o = file_read(env, st, pid, m, i);
		if (o)
			i->notes[IMAGE_USDT] = o;
	}
	return o == &no_notes ? NULL : o;
}

/*
 * Tells the user when the contents of an object's file have changed. Its probes stay where they
 * are: a probe cannot be taken out of the file alone.
 */
static void change_check(struct provider_env *env, struct usdt_seen *s)
{
	struct usdt_object *o = s->object;
	struct file_id now;

	s->at = now_ns();
	if (o->is_changed || !gate_file_refresh(o->file->file.opened))
		return;
	now = file_id_of(o->file->file.opened);
	if (file_id_equal(&now, &o->file->image->id))
		return;
	o->is_changed = true;
	env_notice(env,
		   "'%s' was overwritten while it is traced: its probes are those of its old "
		   "contents; begin again",
		   o->file->file.name);
}

bool usdt_file_is_known(struct provider_env *env, const struct usdt_state *st, uint64_t dev,
			uint64_t ino, const char *path, struct usdt_object **ret)
{
	const struct file_inode key = {dev, ino};
	struct usdt_seen *s = hashmap_find(st->seen, &key, sizeof(key));
	bool is_recent = s && now_ns() - s->at < SEEN_NS;

	*ret = s ? s->object : NULL;
	/* The inode of an opened file cannot become that of another file. */
	if (s && s->object && !is_recent)
		change_check(env, s);
	return s && (s->object ||
		     (is_recent && !usdt_code_names(env, s->ncodes, code_module_name(path))));
}

bool usdt_file_was_read(const struct usdt_state *st, uint64_t dev, uint64_t ino,
			const struct usdt_object **ret)
{
	const struct file_inode key = {dev, ino};
	const struct usdt_seen *s = hashmap_find(st->seen, &key, sizeof(key));

	*ret = s ? s->object : NULL;
	return s;
}

struct usdt_object *usdt_object_find(struct provider_env *env, struct usdt_state *st, pid_t pid,
				     pid_t parent, const struct proc_map *m)
{
	struct mapping at = proc_map_mapping(pid, m);
	struct usdt_object *o;
	struct image *i;

	if (usdt_file_is_known(env, st, m->dev, m->ino, m->path, &o))
		return o;
	at.parent = (uint64_t)parent; /* where a process that has ended meanwhile has its files */
	i = image_open(env->files->images, env->files->gate, &at);
	if (!i && errno != ETIMEDOUT)
		return NULL; /* the process has ended, or we have no right to open it */
	o = i ? object_of(env, st, pid, m, i) : NULL;
	if (!i)
		env_notice(env, "cannot read '%s': %s; its probes are unknown",
			   text_clean(arena_strdup(env->arena, m->path)),
			   gate_late_text(env->files->gate));
	seen_set(st, &at.inode, o);
	return o;
}

/* Takes the object out of the notes of its image; instead: what is noted then, or NULL. */
static void object_unnote(const struct usdt_object *o, struct usdt_object *instead)
{
	struct image *i = o->file->image;

	if (i->notes[IMAGE_USDT] == o)
		i->notes[IMAGE_USDT] = instead;
}

void usdt_object_forget(struct usdt_state *st, struct usdt_object *o)
{
	struct usdt_seen *s;
	const void *key;
	size_t pos = 0, len;

	while ((s = hashmap_next(st->seen, &pos, &key, &len)))
		if (s->object == o) {
			hashmap_remove(st->seen, key, len);
			free(s);
		}
	object_unnote(o, NULL);
	o->is_gone = true;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Returns these operands, of which there is one copy, and their number. */
static const struct usdt_operands *
operands_number(struct usdt_state *st, const struct usdt_operands *o, uint32_t *ret_number)
{
	uintptr_t n = (uintptr_t)hashmap_find(st->by_operands, o, sizeof(*o));

	if (!n) {
		vec_push(&st->operands, xmalloc(sizeof(*o)));
		*st->operands.data[st->operands.len - 1] = *o;
		n = st->operands.len;
		hashmap_set(st->by_operands, o, sizeof(*o), (void *)n);
	}
	*ret_number = (uint32_t)n - 1;
	return st->operands.data[n - 1];
}

struct usdt_group *usdt_group_add(struct usdt_object *o, const char *prov, const char *func,
				  const char *name)
{
	struct usdt_group *grp = xcalloc(1, sizeof(*grp));

	grp->object = o;
	grp->prov = prov;
	grp->func = arena_strdup(o->arena, func);
	grp->name = name;
	grp->code.is_exact = true;
	vec_push(&o->groups, grp);
	return grp;
}

static struct usdt_group *group_get(struct provider_env *env, struct usdt_object *o,
				    struct hashmap *by_name, const struct usdt_note *note,
				    const char *func)
{
	struct usdt_group *grp;
	struct strbuf key = {0};

	strbuf_addf(&key, "%s:%s:%s", note->provider, note->name, func);
	grp = hashmap_finds(by_name, strbuf_text(&key));
	if (!grp) {
		grp = usdt_group_add(o, note->provider, func, note->name);
		grp->note = note;
		grp->spot = SPOT_USDT;
		grp->harm = usdt_harm_find(env, o, note->provider, note->name);
		hashmap_sets(by_name, strbuf_text(&key), grp);
	}
	strbuf_deinit(&key);
	return grp;
}

#define SITE_BYTES 5 /* of an instruction: enough for code_is_harmful_nop() */

/* How many notes of an object are left out, and why. */
struct omitted {
	uint32_t nbad, nnops, ninside;
};

/*
 * Whether a probe may be where a note says. Of users with levels it must be known that an
 * instruction begins there; of others, it must not be known that none does.
 */
static bool place_is_good(struct provider_env *env, struct usdt_state *st, struct usdt_object *o,
			  struct usdt_places *places, struct gate_elf *g,
			  const struct usdt_note *note)
{
	enum usdt_place place = usdt_place_check(places, o, g, note->pc);

	if (place == USDT_PLACE_BEGIN ||
	    (place == USDT_PLACE_UNKNOWN && !privileges_lack(env->privileges, LEVEL_PROC_OWNER)))
		return true;
	st->unplaced = note;
	st->may_be_placed = place == USDT_PLACE_UNKNOWN;
	return false;
}

/* Adds the instruction of a note to its group. */
static void site_add(struct provider_env *env, struct usdt_state *st, struct usdt_object *o,
		     struct hashmap *by_name, const struct usdt_note *note, struct gate_elf *g,
		     struct usdt_places *places, struct omitted *omitted)
{
	const struct func *fn = funcs_at(o->file->funcs, note->pc);
	const struct usdt_operands *ops;
	struct usdt_operands operands;
	struct usdt_group *grp;
	uint32_t number;
	const uint8_t *code;
	uint64_t off;

	if (!funcs_off(o->file->funcs, note->pc, &off)) {
		omitted->nbad++;
		return;
	}
	if (!place_is_good(env, st, o, places, g, note)) {
		omitted->ninside++;
		return;
	}
	code = text_at(&o->file->image->text, off, SITE_BYTES);
	if (code && code_is_harmful_nop(o->file, code, SITE_BYTES)) {
		omitted->nnops++;
		return;
	}
	usdt_note_operands(g, note, o->file->file.is_32bit, &operands);
	ops = operands_number(st, &operands, &number);
	grp = group_get(env, o, by_name, note, fn ? fn->name : "");
	if (!grp->operands)
		grp->operands = ops;
	if (grp->code.sites.len && vec_last(&grp->code.sites)->off == off)
		return; /* notes are in the order of addresses: this one repeats the last */
	vec_push(&grp->code.sites, (struct place_site){.file = &o->file->file,
						       .off = off,
						       .rel = number,
						       .operands = ops,
						       .counter_off = note->counter_off});
}

static void omitted_report(struct provider_env *env, const struct usdt_object *o,
			   const struct omitted *omitted)
{
	if (omitted->nbad)
		env_notice(env,
			   omitted->nbad == 1
				   ? "%" PRIu32 " note in '%s' is left out: it is about an "
				     "address outside of its code"
				   : "%" PRIu32 " notes in '%s' are left out: they are about "
				     "addresses outside of its code",
			   omitted->nbad, o->file->file.name);
	if (omitted->ninside)
		env_notice(env,
			   omitted->ninside == 1
				   ? "%" PRIu32
				     " note in '%s' is left out: no instruction is known "
				     "to begin where it says"
				   : "%" PRIu32 " notes in '%s' are left out: no instructions are "
				     "known to begin where they say",
			   omitted->ninside, o->file->file.name);
	if (omitted->nnops)
		env_notice(env,
			   "%" PRIu32 " note%s in '%s' %s left out: probes on 5-byte "
			   "nops, which this kernel would turn into calls that may end the "
			   "process",
			   omitted->nnops, PLURAL(omitted->nnops), o->file->file.name,
			   WORD_FOR(omitted->nnops, "is", "are"));
}

void usdt_object_group(struct provider_env *env, struct usdt_state *st, struct usdt_object *o)
{
	struct hashmap *by_name;
	const struct err *why;
	struct omitted omitted = {0};
	struct usdt_places places = {0};
	uint32_t nfixed = 0;
	struct gate_elf g;

	if (o->has_groups)
		return;
	o->has_groups = true;
	if (!o->notes.list.len)
		return;
	why = code_file_hold(o->target, o->file);
	if (why) {
		env_notice(env, "the probes of '%s' cannot be traced: %s", o->file->file.name,
			   err_text(why));
		return;
	}
	gate_elf_open(o->file->file.opened, env->files->limit, &g);
	by_name = hashmap_create();
	for (uint32_t i = 0; i < o->notes.list.len; i++) {
		const struct usdt_note *note = &o->notes.list.data[i];

		site_add(env, st, o, by_name, note, &g, &places, &omitted);
		nfixed += note->counter && !note->counter_off;
	}
	hashmap_destroy(by_name);
	usdt_places_deinit(&places);
	gate_elf_close(&g);
	code_file_rest(o->file);
	omitted_report(env, o, &omitted);
	if (nfixed)
		env_notice(env,
			   nfixed == 1 ? "%" PRIu32
					 " probe in '%s' has its counter in memory that cannot be "
					 "written: the program does not know when it is traced"
				       : "%" PRIu32
					 " probes in '%s' have counters in memory that cannot be "
					 "written: the program does not know when they are traced",
			   nfixed, o->file->file.name);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void object_destroy(struct usdt_object *o)
{
	for (uint32_t i = 0; i < o->groups.len; i++) {
		vec_deinit(&o->groups.data[i]->code.sites);
		free(o->groups.data[i]);
	}
	vec_deinit(&o->groups);
	vec_deinit(&o->provs);
	vec_deinit(&o->harms);
	usdt_types_deinit(o);
	image_set_account(o->target->env->files->images, &o->bytes, 0);
	usdt_notes_deinit(&o->notes);
	code_file_destroy(o->file);
	arena_destroy(o->arena);
	free(o->target);
	free(o);
}

void usdt_object_ignore(struct usdt_state *st, struct usdt_object *o)
{
	const void *key;
	struct usdt_seen *s;
	size_t pos = 0, len;

	while ((s = hashmap_next(st->seen, &pos, &key, &len)))
		if (s->object == o)
			s->object = NULL;
	object_unnote(o, &no_notes);
	usdt_object_destroy(st, o);
}

void usdt_object_destroy(struct usdt_state *st, struct usdt_object *o)
{
	uint32_t n = 0;

	st->unplaced = NULL; /* it may be one of the object's */
	for (uint32_t i = 0; i < st->objects.len; i++)
		if (st->objects.data[i] != o)
			st->objects.data[n++] = st->objects.data[i];
	st->objects.len = n;
	object_destroy(o);
}

void usdt_objects_destroy(struct usdt_state *st)
{
	struct usdt_seen *s;
	const void *key;
	size_t pos = 0, len;

	while (st->seen && (s = hashmap_next(st->seen, &pos, &key, &len)))
		free(s);
	if (st->images)
		image_set_unnote(st->images, IMAGE_USDT);
	for (uint32_t i = 0; i < st->objects.len; i++)
		object_destroy(st->objects.data[i]);
	vec_deinit(&st->objects);
}
