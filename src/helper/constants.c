/* SPDX-License-Identifier: MIT */
/* Learns which values of helpers depend on files alone (constants.h). */
#include "helper/constants.h"

#include "base/vec.h"
#include "helper/process.h"
#include "image/debugfile.h"
#include "image/image.h"
#include "image/object.h"
#include "rt/helper.h"
#include "target/maps.h"
#include "target/target.h"
#include "unwind/tables.h"

#define KNOWN_MAX  64 /* sets of files */
#define PAGE_BYTES 4096u

/* A file, by its number in the kernel: its index + 1. */
struct known_file {
	struct image *image;
	bool is_runtime; /* not a library that programs of all kinds map */
	bool has_tls;	 /* it has thread-local variables */
};

struct known {
	uint64_t wanted, set;		    /* as in struct attached */
	uint64_t owner;			    /* as in struct rt_hconst_key */
	bool is_refuted;		    /* another process of the same owner has other values */
	uint64_t needs;			    /* bits: numbers of files */
	uint64_t runtimes;		    /* those of them that are of a runtime */
	uint64_t tls;			    /* as in struct rt_hconst */
	struct rt_hproc hp;		    /* values of a process whose files are mapped at 0 */
	uint8_t file_of[RT_HELPER_GLOBALS]; /* number of the file that a value is in; 0: none */
};

struct constants {
	const struct file_opts *files;
	const struct stack_tables *tables; /* NULL until constants_begin() */
	struct known_file known_files[RT_HFILES_MAX];
	uint32_t nfiles;
	VEC(struct known *) known;
};

struct constants *constants_create(const struct file_opts *files)
{
	struct constants *c = xcalloc(1, sizeof(*c));

	c->files = files;
	return c;
}

void constants_destroy(struct constants *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->nfiles; i++)
		image_put(c->known_files[i].image);
	for (uint32_t i = 0; i < c->known.len; i++)
		free(c->known.data[i]);
	vec_deinit(&c->known);
	free(c);
}

void constants_begin(struct constants *c, const struct stack_tables *tables)
{
	c->tables = tables;
}

/* ---- files of a process ---------------------------------------------------------------------- */

/* The first mapping of code of the file; NULL: there is none. */
static const struct proc_map *code_find(const struct proc_maps *maps, const struct proc_map *file)
{
	for (uint32_t i = 0; i < maps->maps.len; i++) {
		const struct proc_map *m = &maps->maps.data[i];

		if (m->is_exec && !m->is_shared && proc_map_is_same_file(m, file))
			return m;
	}
	return NULL;
}

/*
 * Where the file is mapped: the address of its byte 0 if all of it were mapped as its first code
 * is. Walks in the kernel compute it in the same way.
 */
static bool base_find(const struct proc_maps *maps, const struct proc_map *file, uint64_t *ret)
{
	const struct proc_map *m = code_find(maps, file);

	*ret = m ? m->start - m->off : 0;
	return m;
}

/* The first mapping of a file that has an image; NULL: it is not mapped. */
static const struct proc_map *image_map(const struct constants *c, struct target *t,
					const struct image *wanted)
{
	const struct proc_maps *maps = target_maps(t);

	for (uint32_t i = 0; i < maps->maps.len; i++) {
		const struct proc_map *m = &maps->maps.data[i];
		struct image *image;

		/* the device may have another number here, as on btrfs; the inode has not */
		if (!m->is_exec || !proc_map_has_file(m) || m->ino != wanted->id.ino)
			continue;
		image = target_image(t, c->files->images, m);
		image_put(image);
		if (image == wanted)
			return m;
	}
	return NULL;
}

static struct known *known_find(const struct constants *c, uint64_t wanted, uint64_t runtimes,
				uint64_t owner)
{
	for (uint32_t i = 0; i < c->known.len; i++) {
		struct known *k = c->known.data[i];

		if (k->wanted == wanted && k->runtimes == runtimes && k->owner == owner)
			return k;
	}
	return NULL;
}

/* Where a process has the files that are known, by their numbers. */
struct bases {
	uint64_t at[RT_HFILES_MAX + 1];
	uint64_t found, runtimes; /* bits: those that it maps, and those of them of a runtime */
};

static void bases_find(const struct constants *c, struct target *t, struct bases *ret)
{
	*ret = (struct bases){.found = 0};
	for (uint32_t i = 0; i < c->nfiles; i++) {
		const struct proc_map *m = image_map(c, t, c->known_files[i].image);

		if (!m || !base_find(target_maps(t), m, &ret->at[i + 1]))
			continue;
		ret->found |= 1ull << (i + 1);
		if (c->known_files[i].is_runtime)
			ret->runtimes |= 1ull << (i + 1);
	}
}

static uint64_t value_place(const struct known *k, const struct bases *bases, uint32_t i)
{
	return k->hp.globals[i] + bases->at[k->file_of[i]];
}

bool constants_find(const struct constants *c, struct target *t, uint64_t *set, struct rt_hproc *hp)
{
	struct bases bases;
	const struct known *k;

	if (!c->known.len)
		return false;
	bases_find(c, t, &bases);
	k = known_find(c, *set, bases.runtimes, RT_HCONST_ALL);
	if (!k || (k->needs & ~bases.found))
		return false;
	for (uint32_t i = 0; i < RT_HELPER_GLOBALS; i++)
		hp->globals[i] = value_place(k, &bases, i);
	hp->saves = k->hp.saves;
	*set = k->set;
	return true;
}

/* ---- learning -------------------------------------------------------------------------------- */

static void file_publish(const struct constants *c, const struct image *image,
			 const struct rt_hfile *file)
{
	struct file_id id = image->id;
	struct rt_ufile_key key = stack_file_key(&id);

	c->tables->ops->runtime_file_set(c->tables->ctx, &key, file);
	if (!image->map_dev)
		return;
	id.dev = image->map_dev;
	key = stack_file_key(&id);
	c->tables->ops->runtime_file_set(c->tables->ctx, &key, file);
}

static bool image_has_tls(const struct constants *c, struct image *image)
{
	uint64_t size, align;
	const struct object *o;
	bool has_tls;

	image_pin(image);
	o = image_object(image, c->files->limit);
	has_tls = o && object_tls(o, &size, &align);
	image_unpin(image);
	return has_tls;
}

/* The number of the file of an image; 0: it has none. */
static uint32_t number_find(const struct constants *c, const struct image *image)
{
	for (uint32_t i = 0; i < c->nfiles; i++)
		if (c->known_files[i].image == image)
			return i + 1;
	return 0;
}

/* Takes over the reference of an image that has no number, and gives it one; 0: no room. */
static uint32_t number_new(struct constants *c, struct image *image, bool is_runtime)
{
	const bool has_tls = image_has_tls(c, image);

	if (c->nfiles == RT_HFILES_MAX) {
		image_put(image);
		return 0;
	}
	c->known_files[c->nfiles++] = (struct known_file){image, is_runtime, has_tls};
	file_publish(c, image,
		     &(struct rt_hfile){.number = c->nfiles,
					.is_runtime = is_runtime,
					.has_tls = has_tls});
	return c->nfiles;
}

/* The number of the file of a mapping, which is a new one if it is not known yet; 0: no room. */
static uint32_t file_number(struct constants *c, struct target *t, const struct proc_map *m)
{
	struct image *image = target_image(t, c->files->images, m);
	const char *name = basename(m->path);
	uint32_t number = image ? number_find(c, image) : 0;

	if (!number && image)
		return number_new(c, image, !process_is_libc(name) && !process_is_linker(name));
	image_put(image);
	return number;
}

/*
 * Publishes all files of a process whose code is mapped, and gives numbers to those with
 * thread-local variables. Returns these as bits; 0: a file cannot be read, or there is no room.
 */
static uint64_t modules_publish(struct constants *c, struct target *t)
{
	const struct proc_maps *maps = target_maps(t);
	uint64_t tls = 0;

	for (uint32_t i = 0; i < maps->maps.len; i++) {
		const struct proc_map *m = &maps->maps.data[i];
		struct image *image;
		uint32_t number;

		if (!m->is_exec || m->is_shared || !proc_map_has_file(m))
			continue;
		image = target_image(t, c->files->images, m);
		number = image ? number_find(c, image) : 0;
		if (image && !number && image_has_tls(c, image)) {
			number = number_new(c, image, false);
			image = NULL;
			if (!number)
				return 0;
		} else if (!image) {
			return 0;
		} else if (!number) {
			file_publish(c, image, &(struct rt_hfile){.number = 0});
		}
		image_put(image);
		if (number && c->known_files[number - 1].has_tls)
			tls |= 1ull << number;
	}
	return tls;
}

/* A set of files whose values are being learned. */
struct lesson {
	struct constants *c;
	const struct attached *a;
	struct target *moved;
	uint32_t numbers[TARGET_MOVED_FILES]; /* of the files of `moved`; 0: not asked about */
	uint64_t bases[TARGET_MOVED_FILES];   /* where the process has them */
};

/*
 * Whether the data that the dynamic linker protects last has a mapping of its own that is not
 * written. The linker maps a file as its first segment is, and the others over that: until it comes
 * to the data, there is a mapping that cannot be written, which reaches further.
 */
static bool is_protected(const struct proc_maps *maps, uint64_t bias,
			 const struct object_relro *relro)
{
	const uint64_t addr = bias + relro->addr, end = addr + relro->size;
	const struct proc_map *m = proc_maps_find(maps, addr);

	return m && !m->is_write && m->off + (addr - m->start) == relro->off &&
	       addr - m->start < PAGE_BYTES && end >= m->end && end - m->end < PAGE_BYTES;
}

/* The first mapping of the file of m. */
static const struct proc_map *file_first(const struct proc_maps *maps, const struct proc_map *m)
{
	const struct proc_map *first = maps->maps.data;

	while (!proc_map_has_file(first) || !proc_map_is_same_file(first, m))
		first++;
	return first;
}

/*
 * Whether the dynamic linker has relocated a file of the process: before that, data is what the
 * file says, and would seem to depend on it alone. Clauses find symbols by the first mapping of the
 * file: one that the process has made elsewhere would move them away from the code.
 */
static bool is_relocated(const struct constants *c, struct target *t, const struct proc_map *m)
{
	struct image *image = target_image(t, c->files->images, m);
	const struct proc_map *first = file_first(target_maps(t), m);
	struct object_relro relro;
	const struct object *o;
	uint64_t bias, addr;
	bool is_good;

	if (!image)
		return false;
	image_pin(image);
	o = image_object(image, c->files->limit);
	is_good = o && object_relocated(o, &relro) &&
		  object_bias(o, m->start, m->off, m->is_exec, &bias) &&
		  object_addr(o, first->off, &addr) && first->start - addr == bias &&
		  (!relro.size || is_protected(target_maps(t), bias, &relro));
	image_unpin(image);
	image_put(image);
	return is_good;
}

/*
 * Gives numbers to the files that the clauses have asked about; false: one of them has none, or is
 * still being loaded.
 */
static bool lesson_number(struct lesson *l, struct known *k)
{
	const struct proc_maps *maps = target_maps(l->moved), *own = target_maps(l->a->target);
	uint64_t asked = target_moved_asked(l->moved);

	for (uint32_t i = 0; i < maps->maps.len; i++) {
		const struct proc_map *m = &maps->maps.data[i];
		uint32_t file = (uint32_t)(m->start >> TARGET_MOVED_SHIFT) - 1, number;

		if (!(asked >> file & 1) || l->numbers[file] || !base_find(own, m, &l->bases[file]))
			continue;
		if (!is_relocated(l->c, l->a->target, code_find(own, m)))
			return false;
		number = file_number(l->c, l->moved, m);
		if (!number)
			return false;
		l->numbers[file] = number;
		k->needs |= 1ull << number;
		if (l->c->known_files[number - 1].is_runtime)
			k->runtimes |= 1ull << number;
	}
	return k->runtimes != 0;
}

/* Compares the values; false: one of them depends on the process. */
static bool lesson_compare(const struct lesson *l, const struct rt_hproc *moved, struct known *k)
{
	k->hp = *l->a->hp;
	for (uint32_t i = 0; i < RT_HELPER_GLOBALS; i++) {
		uint64_t value = l->a->hp->globals[i], distance = moved->globals[i] - value;
		uint32_t file = distance ? target_moved_file(distance) : UINT32_MAX;

		if (!distance)
			continue;
		if (file == UINT32_MAX || !l->numbers[file])
			return false;
		k->file_of[i] = (uint8_t)l->numbers[file];
		k->hp.globals[i] = value - l->bases[file];
	}
	return true;
}

static void known_publish(const struct constants *c, const struct known *k)
{
	const struct rt_hconst_key key = {k->runtimes, k->owner};
	struct rt_hconst *h = xcalloc(1, sizeof(*h));

	h->needs = k->needs;
	h->tls = k->tls;
	h->proc = k->hp;
	h->proc.is_said = k->owner != RT_HCONST_ALL;
	h->proc.is_new = 1; /* a process that ran when the session began has an entry of its own */
	memcpy(h->file_of, k->file_of, sizeof(k->file_of));
	c->tables->ops->constants_set(c->tables->ctx, &key, h);
	free(h);
}

/*
 * Whether the words of a file that were read as addresses are what its relocations say, or what it
 * has there itself (DT_RELR).
 */
static bool words_are_true(const struct lesson *l, const struct proc_map *m, uint32_t file)
{
	uint32_t n, nwords = 0;
	const struct target_moved_word *from = target_moved_words(l->moved, file, &n);
	CLEANUP(free) struct object_word *words = NULL;
	struct image *image;
	struct object *o;
	uint64_t bias;
	bool are_true;

	if (!n || n == UINT32_MAX)
		return !n;
	image = target_image(l->a->target, l->c->files->images, m);
	if (!image)
		return false;
	words = xcalloc(n, sizeof(*words));
	image_pin(image);
	o = image_object(image, l->c->files->limit);
	are_true = o && object_bias(o, m->start, m->off, m->is_exec, &bias);
	for (uint32_t i = 0; i < n && are_true; i++)
		if (from[i].value - bias != from[i].says)
			words[nwords++] =
				(struct object_word){from[i].addr - bias, from[i].value - bias};
	are_true = are_true && (!nwords || object_relocates(o, words, nwords));
	image_unpin(image);
	image_put(image);
	return are_true;
}

/* Whether what the clauses have read the second time is in the files: nothing is the process's. */
static bool is_of_files(const struct lesson *l)
{
	const struct proc_maps *maps = target_maps(l->moved), *own = target_maps(l->a->target);
	uint32_t seen = 0; /* files */

	for (uint32_t i = 0; i < maps->maps.len; i++) {
		const struct proc_map *m = &maps->maps.data[i], *code = code_find(own, m);
		const uint32_t file = (uint32_t)(m->start >> TARGET_MOVED_SHIFT) - 1;
		uint32_t n;

		if (file < seen) /* its words were compared at its first mapping */
			continue;
		seen = file + 1;
		(void)target_moved_words(l->moved, file, &n);
		if (n && (!code || !words_are_true(l, code, file)))
			return false;
	}
	return true;
}

/*
 * Who owns the process: processes of the same user believe what only it says. 0: it is not the one
 * any more whose memory was read.
 */
static uint64_t owner_find(const struct attached *a)
{
	const struct proc_maps *own = target_maps(a->target);
	struct target_who who;
	struct proc_maps now;
	struct err *e;
	bool is_same = true;

	if (!target_who(a->target, target_pid(a->target), &who))
		return 0;
	e = target_maps_now(a->target, &now);
	if (e) {
		err_destroy(e);
		return 0;
	}
	/* another process with its id would have its files elsewhere */
	for (uint32_t i = 0; i < own->maps.len && is_same; i++) {
		const struct proc_map *m = &own->maps.data[i], *at;

		if (!m->is_exec || !proc_map_has_file(m))
			continue;
		at = proc_maps_find(&now, m->start);
		is_same = at && at->start == m->start && proc_map_is_same_file(at, m);
	}
	proc_maps_deinit(&now);
	return is_same ? RT_HCONST_OWNER(who.uid) : 0;
}

static bool lesson_learn(struct lesson *l, struct process *p, struct known *k)
{
	struct rt_hproc *moved = xcalloc(1, sizeof(*moved));
	bool is_learned = l->a->again(l->a->ctx, p, moved) && !process_has_read_changing(p) &&
			  lesson_number(l, k) && lesson_compare(l, moved, k);

	free(moved);
	if (is_learned && process_has_counted_modules(p)) {
		k->tls = modules_publish(l->c, l->a->target);
		is_learned = k->tls != 0;
	}
	if (is_learned && (k->tls || process_is_believed(p) || !is_of_files(l))) {
		k->owner = owner_find(l->a);
		is_learned = k->owner != 0;
	}
	return is_learned && !known_find(l->c, k->wanted, k->runtimes, k->owner);
}

/*
 * A process was attached whose owner has values that another process has said. If its own are not
 * the same, one of the two is not what it seems: nothing is believed of both.
 */
static void known_check(const struct constants *c, struct known *k, const struct attached *a,
			const struct bases *bases)
{
	const struct rt_hconst_key key = {k->runtimes, k->owner};
	bool is_same = a->set == k->set && !(k->needs & ~bases->found);

	for (uint32_t i = 0; i < RT_HELPER_GLOBALS && is_same; i++)
		is_same = a->hp->globals[i] == value_place(k, bases, i);
	if (is_same || k->is_refuted)
		return;
	k->is_refuted = true;
	c->tables->ops->constants_set(c->tables->ctx, &key, NULL);
}

/* Whether a process of any owner has said values of these files. */
static bool is_said(const struct constants *c, uint64_t wanted, uint64_t runtimes)
{
	for (uint32_t i = 0; i < c->known.len; i++)
		if (c->known.data[i]->wanted == wanted && c->known.data[i]->runtimes == runtimes)
			return true;
	return false;
}

/*
 * Whether there is nothing to learn of the process: values of its files are known for all, or for
 * its owner.
 */
static bool is_known(struct constants *c, const struct attached *a)
{
	struct known *k;
	struct bases bases;
	uint64_t owner;

	bases_find(c, a->target, &bases);
	if (known_find(c, a->wanted, bases.runtimes, RT_HCONST_ALL))
		return true;
	owner = is_said(c, a->wanted, bases.runtimes) ? owner_find(a) : 0;
	k = owner ? known_find(c, a->wanted, bases.runtimes, owner) : NULL;
	if (k && k->tls) /* of files that are new */
		(void)modules_publish(c, a->target);
	else if (k && !process_has_read_changing(a->process))
		known_check(c, k, a, &bases);
	return k;
}

bool constants_learn(struct constants *c, const struct attached *a)
{
	struct lesson l = {.c = c, .a = a};
	struct known *k;
	struct process *p;
	bool is_learned, is_lasting;

	if (!c->tables || is_known(c, a) || c->known.len == KNOWN_MAX)
		return false;
	k = xcalloc(1, sizeof(*k));
	k->wanted = a->wanted;
	k->set = a->set;
	l.moved = target_moved(a->target);
	p = process_open(l.moved, c->files);
	process_set_origin(p, a->process);
	is_learned = lesson_learn(&l, p, k);
	is_lasting = is_learned && k->owner == RT_HCONST_ALL;
	if (is_learned) {
		vec_push(&c->known, k);
		known_publish(c, k);
	} else {
		free(k);
	}
	process_close(p);
	target_close(l.moved);
	return is_lasting;
}
