/* SPDX-License-Identifier: MIT */
/* Reads the segments of ELF files. */
#include "image/segments.h"

/* Finds the program header number *pos or the next one of the type; *pos becomes the one behind. */
static bool header_next(Elf *elf, uint32_t type, size_t *pos, GElf_Phdr *ret)
{
	size_t n = 0;

	if (!elf || elf_getphdrnum(elf, &n))
		return false;
	while (*pos < n && *pos <= INT32_MAX && gelf_getphdr(elf, (int)*pos, ret))
		if (++*pos && ret->p_type == type)
			return true;
	return false;
}

bool program_header_find(Elf *elf, uint32_t type, GElf_Phdr *ret)
{
	size_t pos = 0;

	return header_next(elf, type, &pos, ret);
}

/* Reads the segments that have all of these flags. */
static void read_with(struct image_segments *s, Elf *elf, uint32_t flags)
{
	GElf_Phdr ph;
	size_t pos = 0;

	*s = (struct image_segments){0};
	while (s->list.len < SEGMENTS_MAX && header_next(elf, PT_LOAD, &pos, &ph))
		if ((ph.p_flags & flags) == flags)
			vec_push(&s->list, (struct image_segment){
						   .off = ph.p_offset,
						   .addr = ph.p_vaddr,
						   .size = ph.p_filesz,
						   .mem_size = MAX(ph.p_memsz, ph.p_filesz),
						   .is_exec = ph.p_flags & PF_X,
						   .is_write = ph.p_flags & PF_W,
					   });
}

void segments_read(struct image_segments *ret, Elf *elf)
{
	read_with(ret, elf, 0);
}

void segments_read_code(struct image_segments *ret, Elf *elf)
{
	read_with(ret, elf, PF_X);
}

void segments_deinit(struct image_segments *s)
{
	vec_deinit(&s->list);
}

/* ---- searching ------------------------------------------------------------------------------- */

/* Whether size bytes at `at` are among `room` bytes at start. */
static bool is_inside(uint64_t at, uint64_t size, uint64_t start, uint64_t room)
{
	return at >= start && at - start < room && size <= room - (at - start);
}

const struct image_segment *segments_at(const struct image_segments *s, uint64_t addr,
					uint64_t size)
{
	for (uint32_t i = 0; i < s->list.len; i++) {
		const struct image_segment *g = &s->list.data[i];

		if (is_inside(addr, size, g->addr, g->size))
			return g;
	}
	return NULL;
}

const struct image_segment *segments_at_off(const struct image_segments *s, uint64_t off,
					    uint64_t size)
{
	for (uint32_t i = 0; i < s->list.len; i++) {
		const struct image_segment *g = &s->list.data[i];

		if (is_inside(off, size, g->off, g->size))
			return g;
	}
	return NULL;
}

bool segments_off(const struct image_segments *s, uint64_t addr, uint64_t *ret_off)
{
	const struct image_segment *g = segments_at(s, addr, 1);

	if (g)
		*ret_off = addr - g->addr + g->off;
	return g;
}

bool segments_addr(const struct image_segments *s, uint64_t off, uint64_t *ret_addr)
{
	const struct image_segment *g = segments_at_off(s, off, 1);

	if (g)
		*ret_addr = off - g->off + g->addr;
	return g;
}

/* Where the page begins in which a segment begins. */
static uint64_t page_off(const struct image_segment *g)
{
	return g->off & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
}

bool segments_page_addr(const struct image_segments *s, uint64_t off, uint64_t *ret_addr)
{
	for (uint32_t i = 0; i < s->list.len; i++) {
		const struct image_segment *g = &s->list.data[i];

		if (off < page_off(g) || off >= g->off + g->size)
			continue;
		*ret_addr = off - g->off + g->addr;
		return true;
	}
	return false;
}

/*
 * A page of the file in which one segment ends and the next begins is mapped twice. That the
 * mapping is executable, or not, then decides to which of the two segments it belongs.
 */
bool segments_bias(const struct image_segments *s, taddr start, uint64_t off, bool is_exec,
		   uint64_t *ret_bias)
{
	for (uint32_t i = 0; i < s->list.len; i++) {
		const struct image_segment *g = &s->list.data[i];

		if (g->is_exec != is_exec || off < page_off(g) || off >= g->off + g->mem_size)
			continue;
		*ret_bias = start - off + g->off - g->addr;
		return true;
	}
	return false;
}

void segments_span(const struct image_segments *s, uint64_t *ret_start, uint64_t *ret_end)
{
	*ret_start = *ret_end = 0;
	for (uint32_t i = 0; i < s->list.len; i++) {
		const struct image_segment *g = &s->list.data[i];

		if (i == 0 || g->addr < *ret_start)
			*ret_start = g->addr;
		*ret_end = MAX(*ret_end, g->addr + g->mem_size);
	}
}
