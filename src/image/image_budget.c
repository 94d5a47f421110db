/* SPDX-License-Identifier: MIT */
/*
 * Bounds the memory for what is kept of files: the option namesize says how many bytes it may take.
 *
 * Tables are counted when they are read, and when they have been used. If all is too much, those of
 * the files that were used least recently are freed at once. They are read again when they are
 * needed.
 *
 * The memory of large tables goes back to the system. malloc() keeps what lies between other blocks
 * until malloc_trim() is called, which takes some milliseconds, so it is called for many bytes.
 */
#include <malloc.h>

#include "base/vec.h"
#include "image/dwarf.h"
#include "image/elfsym.h"
#include "image/funcs.h"
#include "image/image.h"
#include "image/object.h"

#define TRIM_BYTES ((uint64_t)16 << 20)

static uint64_t tables_size(const struct image *i)
{
	return (i->syms ? elf_syms_size(i->syms) : 0) + (i->dwarf ? dwarf_file_size(i->dwarf) : 0) +
	       (i->object ? object_size(i->object) : 0) + (i->funcs ? funcs_size(i->funcs) : 0) +
	       i->text.cap;
}

bool image_set_is_above(const struct image_set *s, uint64_t bytes)
{
	return s->bytes > bytes;
}

void image_set_freed(struct image_set *s, uint64_t bytes)
{
	s->untrimmed += bytes;
	if (s->untrimmed < TRIM_BYTES)
		return;
	s->untrimmed = 0;
	(void)malloc_trim(0);
}

void image_set_account(struct image_set *s, uint64_t *counted, uint64_t bytes)
{
	s->bytes += bytes - *counted;
	*counted = bytes;
}

static void image_shed(struct image_set *s, struct image *i)
{
	uint64_t before = i->bytes;

	if (i->syms)
		elf_syms_shed(i->syms);
	if (!i->ndwarf_users) {
		dwarf_file_close(i->dwarf);
		i->is_dwarf_read &= !i->dwarf; /* that there is none stays known */
		i->dwarf = NULL;
	}
	if (!i->nfuncs_users) {
		funcs_destroy(i->funcs);
		i->funcs = NULL;
		text_deinit(&i->text);
	}
	if (!i->npins) {
		object_destroy(i->object);
		i->object = NULL;
	}
	image_set_account(s, &i->bytes, tables_size(i));
	if (i->bytes >= before)
		return;
	s->nshed++;
	image_set_freed(s, before - i->bytes);
}

static int used_compare(const void *pa, const void *pb)
{
	const struct image *const *a = pa, *const *b = pb;

	return (*a)->used < (*b)->used ? -1 : (*a)->used > (*b)->used;
}

/* An eighth is freed beyond what must be, because each time all images are sorted. */
void image_set_shed(struct image_set *s, const struct image *keep)
{
	VEC(struct image *) images = {0};
	struct image *i;
	size_t pos = 0;

	if (!image_set_is_above(s, s->max_bytes))
		return;
	while ((i = hashmap_next(s->by_id, &pos, NULL, NULL)))
		if (i != keep && i->bytes)
			vec_push(&images, i);
	if (images.len)
		qsort(images.data, images.len, sizeof(*images.data), used_compare);
	for (uint32_t n = 0;
	     n < images.len && image_set_is_above(s, s->max_bytes - s->max_bytes / 8); n++)
		image_shed(s, images.data[n]);
	vec_deinit(&images);
}

void image_charge(struct image *i)
{
	image_set_account(i->set, &i->bytes, tables_size(i));
	image_set_shed(i->set, i);
}

void image_uncharge(struct image *i)
{
	image_set_account(i->set, &i->bytes, 0);
}
