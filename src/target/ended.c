/* SPDX-License-Identifier: MIT */
/*
 * A process that has ended, as far as the files say that it executed: each is mapped where its code
 * was, as the dynamic linker leaves it before anything has run.
 */
#include <errno.h>
#include <unistd.h>

#include "files/gate.h"
#include "files/mapping.h"
#include "image/debugfile.h"
#include "image/image.h"
#include "image/object.h"
#include "image/segments.h"
#include "target/target_impl.h"

#define PAGE_BYTES 4096u
/*
 * Each read of data goes through all relocations of its file, of which there may be millions. So
 * they are bounded for all reads together, and so is the time of the thread from the opening on,
 * since programs wait for their stacks meanwhile.
 */
#define RELOCS_MAX 4000000u
#define WORK_NS	   100000000u

struct ended_file {
	struct image *image;	/* pinned */
	struct object *object;	/* the image's */
	struct gate_file *file; /* the very one that was checked */
	uint64_t bias;
};

struct ended {
	struct target t;
	const struct file_opts *files;
	struct ended_file of[TARGET_ENDED_FILES]; /* by proc_map.file - 1 */
	uint32_t nfiles;
	uint64_t nrelocs_left;
	uint64_t deadline; /* of worked_ns(): no memory is read later */
	uint64_t program_dev, program_ino;
};

static struct ended *ended_of(const struct target *t)
{
	return (struct ended *)t;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void ended_close(struct target *t)
{
	struct ended *d = ended_of(t);

	for (uint32_t i = 0; i < d->nfiles; i++) {
		gate_file_close(d->of[i].file);
		image_unpin(d->of[i].image);
		image_put(d->of[i].image);
	}
}

/*
 * There is no process whose root directory could be used: the path is tried below our own, where
 * another file may have the same number, on another file system.
 */
static struct mapping mapping_at(const char *path, uint64_t dev, uint64_t ino)
{
	return (struct mapping){.inode = {dev, ino},
				.path = path,
				.has_root = true,
				.root = -1,
				.needs_dev = true};
}

/*
 * Whether nobody but root, or who traces, can say what is in the file. Of a file that anybody has
 * made, anything could become known for the processes of all users, and at the expense of the
 * session. dev: the device that a mapping of the file shows. Layered file systems show another one
 * in fstat(), which is mounted nowhere.
 */
static bool file_is_trusted(const struct ended *d, const struct gate_file *file, uint64_t dev)
{
	const struct stat *st = gate_file_stat(file);

	return (st->st_uid == 0 || st->st_uid == geteuid()) &&
	       !(st->st_mode & (S_IWGRP | S_IWOTH)) && gate_is_dev_harmless(d->t.gate, dev);
}

static bool ended_mapping(const struct target *t, const struct proc_map *m, struct mapping *ret)
{
	(void)t;
	*ret = mapping_at(m->path, m->dev, m->ino);
	return true;
}

static const struct proc_map *ended_program(struct target *t)
{
	const struct ended *d = ended_of(t);

	for (uint32_t i = 0; i < t->maps.maps.len; i++)
		if (proc_map_is_of(&t->maps.maps.data[i],
				   &(struct file_inode){d->program_dev, d->program_ino}))
			return &t->maps.maps.data[i];
	errno = ENOENT;
	return NULL;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static uint64_t page_begin(uint64_t addr)
{
	return addr & ~(uint64_t)(PAGE_BYTES - 1);
}

/* Where the pages of a segment begin and end in the process. */
static taddr segment_start(const struct ended_file *f, const struct image_segment *g)
{
	return page_begin(f->bias + g->addr);
}

static taddr segment_end(const struct ended_file *f, const struct image_segment *g)
{
	return page_begin(f->bias + g->addr + g->size + PAGE_BYTES - 1);
}

/* The segment of a mapping. */
static const struct image_segment *segment_of(const struct ended_file *f, const struct proc_map *m)
{
	const struct image_segments *s = object_segments(f->object);

	for (uint32_t i = 0; i < s->list.len; i++)
		if (segment_start(f, &s->list.data[i]) <= m->start &&
		    segment_end(f, &s->list.data[i]) >= m->end)
			return &s->list.data[i];
	return NULL;
}

/* Behind the last byte that the file has of a segment, the page has zeros. */
static void tail_clear(const struct ended_file *f, const struct image_segment *g, taddr addr,
		       uint8_t *dst, size_t size)
{
	const taddr end = f->bias + g->addr + g->size;
	const size_t kept = end > addr ? (size_t)MIN(end - addr, size) : 0;

	memset(dst + kept, 0, size - kept);
}

static bool ended_read(struct target *t, taddr addr, void *dst, size_t size)
{
	struct ended *d = ended_of(t);
	const struct proc_map *m = proc_maps_find(&t->maps, addr);
	const struct image_segment *g;
	struct ended_file *f = m ? &d->of[m->file - 1] : NULL;
	ssize_t n;

	if (!f || size > m->end - addr || worked_ns() > d->deadline)
		return false;
	g = segment_of(f, m);
	if (!g)
		return false;
	n = gate_file_read(f->file, dst, size, m->off + (addr - m->start));
	if (n < 0)
		return false;
	memset((char *)dst + n, 0, size - (size_t)n);
	if (!g->is_write)
		return true;
	tail_clear(f, g, addr, dst, size);
	return object_relocate(f->object, &(struct object_bytes){.addr = addr - f->bias,
								 .size = size,
								 .bias = f->bias,
								 .bytes = dst,
								 .left = &d->nrelocs_left});
}

/* ---- opening --------------------------------------------------------------------------------- */

static void map_push(struct ended *d, const struct proc_map *like, taddr start, taddr end,
		     uint64_t off)
{
	struct proc_map m = *like;

	if (start >= end)
		return;
	m.start = start;
	m.end = end;
	m.off = off;
	vec_push(&d->t.maps.maps, m);
}

/* The part of a segment that the dynamic linker protects (RELRO) is not written any more. */
static void segment_map(struct ended *d, struct proc_map *like, const struct ended_file *f,
			const struct image_segment *g)
{
	const taddr start = segment_start(f, g), end = segment_end(f, g);
	const uint64_t off = page_begin(g->off);
	struct object_relro relro = {0};
	taddr rest = start;

	like->is_exec = g->is_exec;
	like->is_write = g->is_write;
	if (g->is_write && object_relocated(f->object, &relro) && relro.addr >= g->addr &&
	    relro.addr - g->addr < PAGE_BYTES && relro.size <= g->mem_size) {
		like->is_write = false;
		rest = MIN(page_begin(f->bias + relro.addr + relro.size), end);
		map_push(d, like, start, rest, off);
		like->is_write = true;
	}
	map_push(d, like, rest, end, off + (rest - start));
}

/* Maps a file where its code was; false: it cannot be read or trusted, or is another one now. */
static bool file_map(struct ended *d, const struct target_ended_file *file)
{
	const struct mapping at = mapping_at(file->path, file->dev, file->ino);
	struct ended_file *f = &d->of[d->nfiles];
	struct proc_map like = {.dev = file->dev, .ino = file->ino, .file = d->nfiles + 1};
	const struct image_segments *s;

	f->image = image_open(d->files->images, d->t.gate, &at);
	if (!f->image)
		return false;
	d->nfiles++;
	image_pin(f->image);
	if (!f->image->opened || !file_is_trusted(d, f->image->opened, file->dev))
		return false;
	f->file = gate_file_share(f->image->opened);
	f->object = image_object(f->image, d->files->limit);
	if (!f->object || !object_bias(f->object, file->start, file->off, true, &f->bias))
		return false;
	like.path = arena_strdup(d->t.maps.arena, file->path);
	s = object_segments(f->object);
	for (uint32_t i = 0; i < s->list.len; i++)
		segment_map(d, &like, f, &s->list.data[i]);
	return true;
}

static int map_compare(const void *pa, const void *pb)
{
	const struct proc_map *a = pa, *b = pb;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* Whether no mapping lies over the next one, as those of a damaged file may. */
static bool maps_sort(struct proc_maps *maps)
{
	const uint32_t n = maps->maps.len;

	if (n)
		qsort(maps->maps.data, n, sizeof(*maps->maps.data), map_compare);
	for (uint32_t i = 1; i < n; i++)
		if (maps->maps.data[i].start < maps->maps.data[i - 1].end)
			return false;
	return n;
}

struct target *target_ended(pid_t pid, const struct file_opts *files,
			    const struct target_ended_file *list, uint32_t n)
{
	static const struct target_ops ops = {.close = ended_close,
					      .proc = target_proc_none,
					      .who = target_who_none,
					      .auxv = target_auxv_none,
					      .signal = target_signal_none,
					      .maps_now = target_maps_same,
					      .read = ended_read,
					      .touched = target_touched_all,
					      .mapping = ended_mapping,
					      .program = ended_program,
					      .threads = target_threads_none,
					      .regs = target_regs_none,
					      .note = target_note_none};
	struct ended *d = xcalloc(1, sizeof(*d));
	bool is_good = n && n <= TARGET_ENDED_FILES;

	d->t = (struct target){.ops = &ops, .gate = files->gate, .pid = pid, .has_ended = true};
	d->t.maps.arena = arena_create();
	d->files = files;
	d->nrelocs_left = RELOCS_MAX;
	d->deadline = worked_ns() + WORK_NS;
	for (uint32_t i = 0; i < n && is_good; i++)
		is_good = file_map(d, &list[i]);
	if (is_good && maps_sort(&d->t.maps)) {
		d->program_dev = list[0].dev;
		d->program_ino = list[0].ino;
		return &d->t;
	}
	target_close(&d->t);
	return NULL;
}
