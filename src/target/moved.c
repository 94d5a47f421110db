/* SPDX-License-Identifier: MIT */
/* The files of another target, each mapped at another place, by a process that never ran. */
#include <errno.h>

#include "files/gate.h"
#include "files/mapping.h"
#include "target/target_impl.h"

#define WORDS_MAX 65536u /* that are noted of a file */

struct moved {
	struct target t;
	struct target *of;
	VEC(const struct proc_map *) origins; /* of `of`; by the number of the mapping here */
	uint32_t nfiles;
	struct gate_file *files[TARGET_MOVED_FILES]; /* that memory was read of */
	VEC(struct target_moved_word) words[TARGET_MOVED_FILES];
	uint64_t asked;	     /* bits: files */
	bool is_fixed;	     /* target_moved_set_fixed() */
	target_reader *read; /* NULL: memory of `of` is read of it */
	void *ctx;
};

static struct moved *moved_of(const struct target *t)
{
	return (struct moved *)t;
}

uint32_t target_moved_file(uint64_t distance)
{
	uint64_t file = distance >> TARGET_MOVED_SHIFT;

	return !file || file > TARGET_MOVED_FILES || distance != file << TARGET_MOVED_SHIFT
		       ? UINT32_MAX
		       : (uint32_t)file - 1;
}

taddr target_moved_from(taddr addr)
{
	return addr & (((taddr)1 << TARGET_MOVED_SHIFT) - 1);
}

/* The number of the file of a mapping of `moved`. */
static uint32_t file_number(const struct proc_map *m)
{
	return (uint32_t)(m->start >> TARGET_MOVED_SHIFT) - 1;
}

static const struct proc_map *origin_of(const struct moved *d, const struct proc_map *m)
{
	return d->origins.data[m - d->t.maps.maps.data];
}

/* ---- what a process has beside its files ----------------------------------------------------- */

static void moved_close(struct target *t)
{
	struct moved *d = moved_of(t);

	for (uint32_t i = 0; i < d->nfiles; i++) {
		gate_file_close(d->files[i]);
		vec_deinit(&d->words[i]);
	}
	vec_deinit(&d->origins);
}

/* ---- memory of the process --------------------------------------------------------------- */

void target_moved_set_reader(struct target *moved, target_reader *read, void *ctx)
{
	moved_of(moved)->read = read;
	moved_of(moved)->ctx = ctx;
}

/* What the process has in memory that m maps here. */
static bool origin_read(const struct moved *d, const struct proc_map *m, taddr addr, void *dst,
			size_t size)
{
	taddr at = origin_of(d, m)->start + (addr - m->start);

	return d->read ? d->read(d->ctx, at, dst, size) : target_read(d->of, at, dst, size);
}

/* ---- files ----------------------------------------------------------------------------------- */

static const struct proc_map *moved_program(struct target *t)
{
	const struct proc_map *m = target_program(moved_of(t)->of);

	for (uint32_t i = 0; m && i < t->maps.maps.len; i++)
		if (proc_map_is_same_file(&t->maps.maps.data[i], m))
			return &t->maps.maps.data[i];
	return NULL;
}

static bool moved_mapping(const struct target *t, const struct proc_map *m, struct mapping *ret)
{
	struct moved *d = moved_of(t);

	d->asked |= 1ull << file_number(m);
	return d->of->ops->mapping(d->of, origin_of(d, m), ret);
}

/*
 * Of data that may be written, what the process has not changed is in the file: constants of which
 * the compiler did not know that they are. In place of what it has changed, there is something
 * else, with which nobody comes to the same result.
 */
static bool changes_spoil(struct moved *d, const struct proc_map *m, taddr addr, uint8_t *bytes,
			  size_t size)
{
	CLEANUP(free) uint8_t *now = xmalloc(size);

	if (!origin_read(d, m, addr, now, size))
		return false;
	for (size_t i = 0; i < size; i++)
		if (now[i] != bytes[i])
			bytes[i] = ~now[i];
	return true;
}

static void word_note(struct moved *d, const struct proc_map *m, const struct target_moved_word *w)
{
	if (d->words[file_number(m)].len <= WORDS_MAX)
		vec_push(&d->words[file_number(m)], *w);
}

const struct target_moved_word *target_moved_words(const struct target *moved, uint32_t file,
						   uint32_t *ret_n)
{
	const struct moved *d = moved_of(moved);

	*ret_n = d->words[file].len > WORDS_MAX ? UINT32_MAX : d->words[file].len;
	return d->words[file].data;
}

/*
 * Of data that may not be written any more, the dynamic linker has written addresses: those in the
 * file itself move with it. The file has other bytes there. The process could have written them as
 * well, so they are noted.
 */
static void addresses_move(struct moved *d, const struct proc_map *m, taddr addr, uint8_t *bytes,
			   size_t size)
{
	const struct proc_map *origin = origin_of(d, m), *to;
	CLEANUP(free) uint8_t *now = xmalloc(size);
	uint64_t value, says;

	if (!origin_read(d, m, addr, now, size) || memcmp(now, bytes, size) == 0)
		return;
	for (size_t i = -addr & 7; i + sizeof(value) <= size; i += sizeof(value)) {
		memcpy(&value, now + i, sizeof(value));
		to = memcmp(now + i, bytes + i, sizeof(value))
			     ? proc_maps_find(target_maps(d->of), value)
			     : NULL;
		if (!to || !proc_map_is_same_file(to, origin))
			continue;
		memcpy(&says, bytes + i, sizeof(says));
		word_note(d, m,
			  &(struct target_moved_word){.addr = origin->start + (addr + i - m->start),
						      value,
						      says});
		value += m->start - origin->start;
		memcpy(bytes + i, &value, sizeof(value));
	}
}

void target_moved_set_fixed(struct target *moved, bool is_fixed)
{
	moved_of(moved)->is_fixed = is_fixed;
}

/*
 * The file whose memory a mapping of `of` is: its own, or that of the mapping which ends where this
 * one without a file begins; NULL: there is none.
 */
static const struct proc_map *file_before(const struct moved *d, const struct proc_map *m)
{
	if (m && !proc_map_has_file(m) && m->is_write && !m->is_shared)
		m = proc_maps_find(target_maps(d->of), m->start - 1);
	return m && proc_map_has_file(m) ? m : NULL;
}

/* Reads what the process has, with addresses in the same file moved. */
static bool fixed_read(struct moved *d, taddr addr, uint8_t *dst, size_t size)
{
	const uint64_t distance = addr - target_moved_from(addr);
	const struct proc_map *m = proc_maps_find(target_maps(d->of), addr - distance);
	const struct proc_map *file = file_before(d, m), *to;
	const uint32_t number = target_moved_file(distance);
	uint64_t value;

	/* the file is the one that lies there */
	for (uint32_t i = 0; file && i < d->t.maps.maps.len; i++)
		if (file_number(&d->t.maps.maps.data[i]) == number) {
			if (!proc_map_is_same_file(&d->t.maps.maps.data[i], file))
				file = NULL;
			break;
		}
	if (!file || number >= d->nfiles || size > m->end - (addr - distance) ||
	    !(d->read ? d->read(d->ctx, addr - distance, dst, size)
		      : target_read(d->of, addr - distance, dst, size)))
		return false;
	d->asked |= 1ull << number;
	if (!m->is_write && m->is_exec)
		return true;
	for (size_t i = -addr & 7; i + sizeof(value) <= size; i += sizeof(value)) {
		memcpy(&value, dst + i, sizeof(value));
		to = file_before(d, proc_maps_find(target_maps(d->of), value));
		if (!to || !proc_map_is_same_file(to, file))
			continue;
		value += distance;
		memcpy(dst + i, &value, sizeof(value));
	}
	return true;
}

static bool moved_read(struct target *t, taddr addr, void *dst, size_t size)
{
	struct moved *d = moved_of(t);
	const struct proc_map *m = proc_maps_find(&t->maps, addr);
	struct gate_file **f;
	ssize_t n;

	if (d->is_fixed)
		return fixed_read(d, addr, dst, size);
	if (!m || m->is_shared || size > m->end - addr)
		return false;
	f = &d->files[file_number(m)];
	if (!*f)
		*f = target_open_map(t, m);
	if (!*f)
		return false;
	n = gate_file_read(*f, dst, size, m->off + (addr - m->start));
	if (n < 0)
		return false;
	memset((char *)dst + n, 0, size - (size_t)n); /* behind the end of the file */
	if (m->is_write)
		return changes_spoil(d, m, addr, dst, size);
	addresses_move(d, m, addr, dst, size);
	return true;
}

uint64_t target_moved_asked(const struct target *t)
{
	return moved_of(t)->asked;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void file_move(struct moved *d, const struct proc_map *first)
{
	const struct proc_maps *maps = target_maps(d->of);
	uint64_t distance = (uint64_t)(d->nfiles + 1) << TARGET_MOVED_SHIFT;

	for (uint32_t i = 0; i < maps->maps.len; i++) {
		const struct proc_map *m = &maps->maps.data[i];
		struct proc_map to = *m;

		if (!proc_map_has_file(m) || !proc_map_is_same_file(m, first) ||
		    m->end >> TARGET_MOVED_SHIFT)
			continue;
		to.start += distance;
		to.end += distance;
		to.path = arena_strdup(d->t.maps.arena, m->path);
		vec_push(&d->t.maps.maps, to);
		vec_push(&d->origins, m);
	}
	d->nfiles++;
}

struct target *target_moved(struct target *t)
{
	static const struct target_ops ops = {.close = moved_close,
					      .proc = target_proc_none,
					      .who = target_who_none,
					      .auxv = target_auxv_none,
					      .signal = target_signal_none,
					      .maps_now = target_maps_same,
					      .read = moved_read,
					      .touched = target_touched_all,
					      .mapping = moved_mapping,
					      .program = moved_program,
					      .threads = target_threads_none,
					      .regs = target_regs_none,
					      .note = target_note_none};
	struct moved *d = xcalloc(1, sizeof(*d));
	const struct proc_maps *maps = target_maps(t);

	d->t = (struct target){.ops = &ops, .gate = t->gate, .pid = t->pid};
	d->t.maps.arena = arena_create();
	d->of = t;
	for (uint32_t i = 0; i < maps->maps.len && d->nfiles < TARGET_MOVED_FILES; i++) {
		const struct proc_map *m = &maps->maps.data[i];
		bool is_new = proc_map_has_file(m);

		for (uint32_t k = 0; is_new && k < i; k++)
			is_new = !proc_map_is_same_file(&maps->maps.data[k], m);
		if (is_new)
			file_move(d, m);
	}
	return &d->t;
}
