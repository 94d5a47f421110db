/* SPDX-License-Identifier: MIT */
/* Finds images, and reads what is asked for of their files. */
#include "image/image.h"

#include <sys/auxv.h>
#include <sys/resource.h>

#include "base/err.h"
#include "files/gate.h"
#include "files/mapping.h"
#include "image/debugfile.h"
#include "image/dwarf.h"
#include "image/elfsym.h"
#include "image/funcs.h"
#include "image/object.h"

#define OPEN_MIN   64	/* files kept open even if half of our limit of descriptors is less */
#define UNUSED_MAX 4096 /* images without references that are kept */

struct image_set *image_set_create(void)
{
	struct image_set *s = xcalloc(1, sizeof(*s));
	struct rlimit rl;

	*s = (struct image_set){.by_id = hashmap_create(),
				.by_inode = hashmap_create(),
				.max_open = OPEN_MIN,
				.max_bytes = IMAGES_MEMORY_DEFAULT};
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_cur / 2 > OPEN_MIN)
		s->max_open = (uint32_t)MIN(rl.rlim_cur / 2, (rlim_t)65536);
	return s;
}

static void file_close(struct image *i)
{
	if (!i->opened)
		return;
	if (i->set) {
		i->set->open_bytes -= i->id.size;
		i->set->nopen--;
	}
	text_deinit(&i->text);
	i->text.file = NULL;
	gate_file_close(i->opened);
	i->opened = NULL;
}

static void image_destroy(struct image *i)
{
	file_close(i);
	if (i->set)
		image_uncharge(i);
	elf_syms_destroy(i->syms);
	dwarf_file_close(i->dwarf);
	object_destroy(i->object);
	funcs_destroy(i->funcs);
	err_destroy(i->funcs_refused);
	free(i);
}

void image_set_destroy(struct image_set *s)
{
	struct image *i;
	size_t pos = 0;

	if (!s)
		return;
	while ((i = hashmap_next(s->by_id, &pos, NULL, NULL)))
		if (i->refs)
			i->set = NULL;
		else
			image_destroy(i);
	hashmap_destroy(s->by_id);
	hashmap_destroy(s->by_inode);
	free(s);
}

/* ---- files ----------------------------------------------------------------------------------- */

static struct file_inode inode_of(const struct image *i)
{
	return (struct file_inode){i->id.dev, i->id.ino};
}

/* Takes the image out of the set, in which it has no references. */
static void image_forget(struct image_set *s, struct image *i)
{
	struct file_inode inode = inode_of(i);

	if (hashmap_find(s->by_inode, &inode, sizeof(inode)) == i)
		hashmap_remove(s->by_inode, &inode, sizeof(inode));
	hashmap_remove(s->by_id, &i->id, sizeof(i->id));
	image_destroy(i);
	s->nunused--;
}

/* Forgets the older half of the images without references, if there are too many. */
static void unused_bound(struct image_set *s)
{
	uint64_t oldest = UINT64_MAX, middle;
	struct image *i;
	size_t pos = 0;

	if (s->nunused <= UNUSED_MAX)
		return;
	while ((i = hashmap_next(s->by_id, &pos, NULL, NULL)))
		if (!i->refs)
			oldest = MIN(oldest, i->used);
	middle = oldest + (s->clock - oldest) / 2;
	pos = 0;
	while ((i = hashmap_next(s->by_id, &pos, NULL, NULL)))
		if (!i->refs && i->used <= middle)
			image_forget(s, i);
}

static void close_oldest(struct image_set *s)
{
	struct image *i, *oldest = NULL;
	size_t pos = 0;

	while ((i = hashmap_next(s->by_id, &pos, NULL, NULL)))
		if (i->opened && !i->npins && (!oldest || i->used < oldest->used))
			oldest = i;
	if (oldest)
		image_close(oldest);
}

void image_close(struct image *i)
{
	if (!i->opened)
		return;
	file_close(i);
	i->is_closed = true;
	if (i->set)
		i->set->nclosed++;
}

static struct image *image_hold(struct image *i)
{
	if (!i->refs++)
		i->set->nunused--;
	i->used = ++i->set->clock;
	return i;
}

static struct image *image_create(struct image_set *s, const struct file_id *id)
{
	struct image *i = xcalloc(1, sizeof(*i));

	i->set = s;
	i->id = *id;
	s->nunused++; /* until image_hold() */
	hashmap_set(s->by_id, id, sizeof(*id), i);
	return i;
}

struct image *image_of(struct image_set *s, struct gate_file *file)
{
	struct file_id id = file_id_of(file);
	struct image *i = hashmap_find(s->by_id, &id, sizeof(id));
	struct file_inode inode;

	if (!i)
		i = image_create(s, &id);
	image_hold(i);
	if (i->opened)
		return i;
	if (s->nopen >= s->max_open)
		close_oldest(s);
	i->opened = gate_file_share(file);
	s->nopen++;
	s->open_bytes += id.size;
	inode = inode_of(i);
	hashmap_set(s->by_inode, &inode, sizeof(inode), i);
	return i;
}

/*
 * Finds an image whose file is open, and therefore still the one with that inode; NULL if its
 * contents are others by now. Where fstat() shows another device than the mapping, nothing is
 * found.
 */
static struct image *image_find(struct image_set *s, const struct file_inode *inode)
{
	struct image *i = inode->ino ? hashmap_find(s->by_inode, inode, sizeof(*inode)) : NULL;
	struct file_id now;

	if (!i || !i->opened || !gate_file_refresh(i->opened))
		return NULL;
	now = file_id_of(i->opened);
	return file_id_equal(&now, &i->id) ? i : NULL;
}

struct image *image_open(struct image_set *s, struct gate *g, const struct mapping *m)
{
	struct image *i = image_find(s, &m->inode);
	struct gate_file *file;
	uint64_t dev;

	if (i)
		return image_hold(i);
	file = mapping_open(g, m);
	if (!file)
		return NULL;
	s->nopened++;
	i = image_of(s, file);
	dev = mapping_other_dev(m, file);
	if (dev)
		i->map_dev = dev;
	gate_file_close(file);
	return i;
}

struct image *image_of_vdso(struct image_set *s)
{
	static const struct file_id none;
	struct image *i = hashmap_find(s->by_id, &none, sizeof(none));

	return image_hold(i ? i : image_create(s, &none));
}

void image_put(struct image *i)
{
	if (!i || --i->refs)
		return;
	if (!i->set) {
		image_destroy(i);
		return;
	}
	file_close(i);
	i->is_closed = false;
	elf_syms_destroy(i->syms);
	dwarf_file_close(i->dwarf);
	funcs_destroy(i->funcs);
	err_destroy(i->funcs_refused);
	i->syms = NULL;
	i->dwarf = NULL;
	i->funcs = NULL;
	i->funcs_refused = NULL;
	i->is_syms_read = i->is_dwarf_read = i->is_funcs_read = false;
	image_charge(i);
	i->set->nunused++;
	unused_bound(i->set);
}

/* ---- symbols by address ---------------------------------------------------------------------- */

struct debug_use {
	struct elf_syms *syms;
	uint64_t limit;
	const struct image_pause *pause;
};

static bool use_debug_file(void *ctx, struct gate_file *file)
{
	const struct debug_use *use = ctx;

	return elf_syms_add(use->syms, file, use->limit, use->pause);
}

/* Reads our own vDSO: the kernel maps the same one into all 64-bit processes. */
static struct elf_syms *vdso_read(void)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);

	return image ? elf_syms_read_memory(image, 2 * (size_t)sysconf(_SC_PAGESIZE)) : NULL;
}

/*
 * Reads the file; false: a later attempt may succeed. What runs in a pause may open so many other
 * files that this one is closed.
 */
static bool syms_of(const struct image *i, const struct debug_search *where, struct elf_syms **ret)
{
	const struct image_pause *pause = i->set ? &i->set->pause : NULL;
	CLEANUP(gate_file) struct gate_file *file = NULL;
	struct debug_use use;

	*ret = NULL;
	if (!i->id.ino) {
		*ret = vdso_read();
		return true;
	}
	if (!i->opened)
		return false;
	file = gate_file_share(i->opened);
	*ret = i->set && i->set->is_sparse ? elf_syms_read_sparse(file, where->limit, pause)
					   : elf_syms_read(file, where->limit, pause);
	if (gate_file_is_stuck(file)) {
		elf_syms_destroy(*ret); /* they are not all: the file may answer later */
		return false;
	}
	if (!(*ret)->has_symtab) {
		use = (struct debug_use){*ret, where->limit, pause};
		(void)debug_file_find(&(*ret)->mark, where, use_debug_file, &use);
	}
	return true;
}

/* Whether the open file has the contents still that the image is of. */
static bool is_unchanged(const struct image *i)
{
	struct file_id id = i->id;

	if (i->opened && gate_file_refresh(i->opened))
		id = file_id_of(i->opened);
	return file_id_equal(&id, &i->id);
}

bool image_syms_read(struct image *i, const struct debug_search *where)
{
	struct elf_syms *now;

	if (i->is_syms_read && (!i->syms || !i->syms->is_shed))
		return true;
	if (!syms_of(i, where, &now))
		return false;
	if (i->syms &&
	    !(now && is_unchanged(i) && build_id_equal(&now->mark.id, &i->syms->mark.id))) {
		elf_syms_destroy(now);
		return false;
	}
	elf_syms_destroy(i->syms);
	i->syms = now;
	i->is_syms_read = true;
	if (!i->set)
		return true;
	i->set->nread++;
	image_charge(i);
	/* what it took to read them was more than the result */
	image_set_freed(i->set, now ? elf_syms_size(now) : 0);
	return true;
}

struct dwarf_file *image_dwarf(struct image *i, const struct debug_search *where)
{
	if (i->is_dwarf_read || !i->id.ino)
		return i->dwarf;
	i->is_dwarf_read = true;
	if (i->opened)
		i->dwarf = dwarf_file_open(i->opened, where);
	if (i->set)
		image_charge(i);
	return i->dwarf;
}

void image_dwarf_hold(struct image *i)
{
	i->ndwarf_users++;
}

void image_dwarf_rest(struct image *i)
{
	if (!--i->ndwarf_users && i->set)
		image_charge(i);
}

/* ---- functions ------------------------------------------------------------------------------- */

/* Reads the functions, or learns why there are none; neither: the file does not answer. */
static void funcs_learn(struct image *i, const struct debug_search *where)
{
	struct funcs *f = NULL;
	struct err *e;

	if (i->is_funcs_read && !is_unchanged(i))
		e = err_new("it was overwritten since it was read first");
	else
		e = funcs_read(i->opened, where, &f);
	if (gate_file_is_stuck(i->opened)) {
		funcs_destroy(f); /* they are not all: the file may answer later */
		err_destroy(e);
		return;
	}
	i->funcs = f;
	i->funcs_refused = e;
	i->is_funcs_read = true;
	if (!i->set)
		return;
	i->set->nread++;
	image_charge(i);
}

bool image_funcs_hold(struct image *i, const struct debug_search *where, const struct err **ret_why)
{
	if (!i->funcs && !i->funcs_refused && i->opened)
		funcs_learn(i, where);
	*ret_why = i->funcs_refused;
	if (!i->funcs)
		return false;
	i->nfuncs_users++;
	i->text.file = i->opened;
	if (i->set)
		i->used = ++i->set->clock;
	return true;
}

void image_funcs_rest(struct image *i)
{
	i->nfuncs_users--;
	if (i->set)
		image_charge(i);
}

/* ---- symbols by name ------------------------------------------------------------------------- */

void image_pin(struct image *i)
{
	i->npins++;
}

void image_unpin(struct image *i)
{
	if (!i || --i->npins)
		return;
	if (i->object)
		object_rest(i->object);
	if (i->set)
		image_charge(i);
}

struct object *image_object(struct image *i, uint64_t limit)
{
	if (i->object) {
		object_wake(i->object, i->opened);
		return i->object;
	}
	i->object = object_read(i->opened, limit);
	if (i->set)
		i->set->nread++;
	return i->object;
}

/* ---- notes ----------------------------------------------------------------------------------- */

void image_set_unnote(struct image_set *s, enum image_note note)
{
	struct image *i;
	size_t pos = 0;

	while ((i = hashmap_next(s->by_id, &pos, NULL, NULL)))
		i->notes[note] = NULL;
}
