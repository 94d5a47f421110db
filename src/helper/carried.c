/* SPDX-License-Identifier: MIT */
/* Finds the ustack helpers that programs carry. */
#include "helper/carried.h"

#include "base/hashmap.h"
#include "base/text.h"
#include "target/maps.h"
#include "target/target.h"
#include "image/debugfile.h"
#include "image/image.h"
#include "files/gate.h"
#include "files/mapping.h"
#include "usdt/dof_prog.h"
#include "usdt/note.h"
#include "helper/helper.h"

#define LISTS_MAX    64 /* different sections with helpers */
#define LIST_HELPERS 8

/* What a file carries. */
struct list {
	struct helper *helpers[LIST_HELPERS];
	uint32_t n;
	char *refused[LIST_HELPERS]; /* messages about those that are left out */
	uint32_t nrefused;
};

struct carried {
	struct carried_opts opts;
	struct hashmap *contents; /* bytes of a section -> struct list */
};

static struct list nothing;

struct carried *carried_create(const struct carried_opts *opts)
{
	struct carried *c = xcalloc(1, sizeof(*c));

	c->opts = *opts;
	c->contents = hashmap_create();
	return c;
}

void carried_destroy(struct carried *c)
{
	struct list *l;
	size_t pos = 0;

	if (!c)
		return;
	while ((l = hashmap_next(c->contents, &pos, NULL, NULL))) {
		for (uint32_t i = 0; i < l->nrefused; i++)
			free(l->refused[i]);
		free(l);
	}
	hashmap_destroy(c->contents);
	image_set_unnote(c->opts.files->images, IMAGE_CARRIED);
	free(c);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Notes why one of at most LIST_HELPERS is left out; takes over the message. */
static void refusal_note(struct list *l, struct err *e)
{
	l->refused[l->nrefused++] = xstrdup(err_text(e));
	err_destroy(e);
}

/* The message about a helper that is left out; takes over why. */
static struct err *refusal_of(const char *path, struct err *why)
{
	struct err *e =
		err_new("the ustack helper that '%s' carries is left out: %s", path, err_text(why));

	err_destroy(why);
	return e;
}

/* Makes the helpers of a section; each has an arena of its own. */
static struct list *list_make(struct carried *c, const char *path, const uint8_t *bytes,
			      size_t size)
{
	struct list *l = xcalloc(1, sizeof(*l));
	uint32_t n = 1;

	for (uint32_t i = 0; i < n && i < LIST_HELPERS; i++) {
		struct arena *a = arena_create();
		struct dof_prog *progs;
		struct err *e = dof_progs_read(bytes, size, a, &progs, &n);
		struct helper *h;

		if (e || i >= n) {
			if (e)
				refusal_note(l, refusal_of(path, e));
			arena_destroy(a);
			break;
		}
		h = helper_carried(path, &progs[i], a);
		e = c->opts.add(c->opts.ctx, h);
		if (e)
			refusal_note(l, e);
		else
			l->helpers[l->n++] = h;
	}
	return l;
}

static struct list *section_find(struct carried *c, const char *path, const uint8_t *bytes,
				 size_t size)
{
	struct list *l = hashmap_find(c->contents, bytes, size);

	if (l)
		return l;
	if (hashmap_count(c->contents) >= LISTS_MAX) {
		struct err *e = refusal_of(path, err_new("there were %d others", LISTS_MAX));

		c->opts.notice(c->opts.ctx, err_text(e));
		err_destroy(e);
		return &nothing;
	}
	l = list_make(c, path, bytes, size);
	hashmap_set(c->contents, bytes, size, l);
	return l;
}

static struct list *file_read(struct carried *c, struct gate_file *f, const char *path)
{
	CLEANUP(free) char *name = text_clean(xstrdup(path));
	struct usdt_notes notes;
	struct list *l = &nothing;
	struct gate_elf g;

	gate_elf_open(f, c->opts.files->limit, &g);
	usdt_dof_read(&g, &notes);
	if (notes.dof.len && dof_has_clauses(notes.dof.data, notes.dof.len))
		l = section_find(c, name, notes.dof.data, notes.dof.len);
	usdt_notes_deinit(&notes);
	gate_elf_close(&g);
	return l;
}

/* The kernel calls memory without a file "//anon" in its records. */
static bool is_of_file(const struct proc_map *m)
{
	return proc_map_has_file(m) && m->path[0] == '/';
}

/*
 * Returns the helpers that a file carries. They are kept with its image, so that each file is
 * searched once. i is put here; NULL: the file cannot be opened.
 */
static struct list *image_find(struct carried *c, struct image *i, const char *path)
{
	struct list *l;

	if (!i)
		return &nothing;
	if (!i->notes[IMAGE_CARRIED])
		i->notes[IMAGE_CARRIED] = file_read(c, i->opened, path);
	l = i->notes[IMAGE_CARRIED];
	image_put(i);
	return l;
}

/* ---- processes ------------------------------------------------------------------------------- */

void carried_each(struct carried *c, struct target *t, const struct carried_visitor *v)
{
	const struct proc_maps *maps = target_maps(t);

	for (uint32_t i = 0; i < maps->maps.len; i++) {
		const struct proc_map *m = &maps->maps.data[i];
		bool is_code = m->is_exec && is_of_file(m);
		struct image *img = is_code ? target_image(t, c->opts.files->images, m) : NULL;
		struct list *l = image_find(c, img, m->path);

		for (uint32_t k = 0; k < l->n; k++)
			v->found(v->ctx, l->helpers[k]);
		for (uint32_t k = 0; k < l->nrefused; k++)
			v->refused(v->ctx, l->refused[k]);
	}
}

bool carried_has(struct carried *c, pid_t pid, const struct proc_map *m)
{
	const struct file_opts *files = c->opts.files;
	struct mapping at = proc_map_mapping(pid, m);
	struct image *i = is_of_file(m) ? image_open(files->images, files->gate, &at) : NULL;

	return image_find(c, i, m->path)->n > 0;
}
