/* SPDX-License-Identifier: MIT */
/* The interpreter's memory: its own regions at host addresses; the environment has all others. */
#include "dif/interp_impl.h"

/* The index of the first region that starts above host. */
static uint32_t region_above(const struct dif_machine *m, const uint8_t *host)
{
	uint32_t lo = 0, hi = m->regions.len;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (m->regions.data[mid].start <= host)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The region in which addr lies, or NULL. */
static const struct region *region_find(const struct dif_machine *m, uint64_t addr)
{
	uint32_t above = region_above(m, mem_host(addr));
	const struct region *r;

	if (!above)
		return NULL;
	r = &m->regions.data[above - 1];
	return addr - mem_addr(r->start) < r->size ? r : NULL;
}

/* The number of bytes of the region from addr on. */
static uint64_t region_left(const struct region *r, uint64_t addr)
{
	return r->size - (addr - mem_addr(r->start));
}

void mem_add_region(struct dif_machine *m, const void *start, uint32_t size, bool is_writable)
{
	struct region r = {.start = start, .size = size, .is_writable = is_writable};
	uint32_t at = region_above(m, start);

	if (!size || (at && m->regions.data[at - 1].start == start))
		return;
	vec_push(&m->regions, r);
	memmove(&m->regions.data[at + 1], &m->regions.data[at],
		(m->regions.len - 1 - at) * sizeof(r));
	m->regions.data[at] = r;
}

void mem_remove_region(struct dif_machine *m, const void *start)
{
	uint32_t at = region_above(m, start);

	if (!at || m->regions.data[at - 1].start != start)
		return;
	memmove(&m->regions.data[at - 1], &m->regions.data[at],
		(m->regions.len - at) * sizeof(m->regions.data[0]));
	m->regions.len--;
}

/*
 * Whether the clause may use size bytes of scratch memory at addr: they were allocated, and lie
 * either inside one block or outside all blocks, their heads and their padding.
 */
static bool scratch_has(const struct dif_machine *m, uint64_t addr, uint64_t size)
{
	uint64_t off = addr - mem_addr(m->scratch);

	if (off > m->scratch_top || size > m->scratch_top - off)
		return false;
	for (uint32_t i = m->blocks.len; i-- > 0;) {
		const struct block *b = &m->blocks.data[i];

		if (off >= b->start && off + size <= b->end)
			return true;
		if (off < ROUND_UP(b->end, 8u) && off + size > b->start - BLOCK_HEAD)
			return false;
	}
	return true;
}

/* Whether size bytes at addr, which lies in r, may be read. */
static bool region_has(const struct dif_machine *m, const struct region *r, uint64_t addr,
		       uint64_t size)
{
	return size <= region_left(r, addr) &&
	       (r->start != m->scratch || scratch_has(m, addr, size));
}

bool mem_load(struct dif_machine *m, enum space space, uint64_t addr, void *buf, uint64_t size)
{
	const struct region *r = space == SPACE_KERNEL ? region_find(m, addr) : NULL;

	if (r) {
		if (!region_has(m, r, addr, size))
			return false;
		memcpy(buf, mem_host(addr), size);
		return true;
	}
	if (addr + size < addr || size > UINT32_MAX)
		return false;
	return (space == SPACE_KERNEL ? m->env.load_kernel : m->env.load_user)(m->env.ctx, addr,
									       buf, (uint32_t)size);
}

/* Loads text that ends inside the region, at a NUL or after max characters. */
static bool region_text(const struct region *r, uint64_t addr, char *buf, uint32_t max,
			uint32_t *ret_len)
{
	uint64_t left = region_left(r, addr), n = MIN(left, (uint64_t)max + 1);
	const char *s = mem_host(addr), *nul = memchr(s, '\0', n);

	if (!nul && n <= max)
		return false;
	*ret_len = nul ? (uint32_t)(nul - s) : max;
	memcpy(buf, s, *ret_len);
	buf[*ret_len] = '\0';
	return true;
}

/* Loads from the environment in pieces that cross no multiple of 64, byte by byte if one fails. */
bool mem_load_text(struct dif_machine *m, enum space space, uint64_t addr, char *buf, uint32_t max,
		   uint32_t *ret_len)
{
	const struct region *r = space == SPACE_KERNEL ? region_find(m, addr) : NULL;
	char piece[64];

	if (r)
		return region_has(m, r, addr, 1) && region_text(r, addr, buf, max, ret_len);
	for (uint32_t len = 0;;) {
		uint32_t n = MIN(64 - (uint32_t)((addr + len) & 63), max + 1 - len);
		const char *nul;

		if (n > 1 && !mem_load(m, space, addr + len, piece, n))
			n = 1;
		if (n == 1 && !mem_load(m, space, addr + len, piece, 1))
			return false;
		nul = memchr(piece, '\0', n);
		if (nul)
			n = (uint32_t)(nul - piece);
		memcpy(buf + len, piece, MIN(n, max - len));
		len = MIN(len + n, max + 1);
		if (nul || len > max) {
			*ret_len = MIN(len, max);
			buf[*ret_len] = '\0';
			return true;
		}
	}
}

void *mem_in_scratch(struct dif_machine *m, uint64_t addr, uint64_t size)
{
	return scratch_has(m, addr, size) ? mem_host(addr) : NULL;
}

void *mem_writable(struct dif_machine *m, uint64_t addr, uint64_t size)
{
	const struct region *r = region_find(m, addr);

	if (r && r->is_writable && size <= region_left(r, addr))
		return mem_host(addr);
	return mem_in_scratch(m, addr, size);
}

uint64_t mem_alloc(struct dif_machine *m, uint64_t size)
{
	uint64_t left = m->scratch_size - m->scratch_top;
	uint64_t addr = mem_addr(m->scratch) + m->scratch_top;

	if (size > left || ROUND_UP(size, 8) > left)
		return dif_fault(m, DIF_FAULT_NOSCRATCH, 0);
	m->scratch_top += (uint32_t)ROUND_UP(size, 8);
	return addr;
}

uint64_t mem_alloc_block(struct dif_machine *m, uint64_t size)
{
	struct block b;

	if (size > UINT64_MAX - BLOCK_HEAD)
		return dif_fault(m, DIF_FAULT_NOSCRATCH, 0);
	if (!mem_alloc(m, BLOCK_HEAD + size))
		return 0;
	b.start = m->scratch_top - (uint32_t)ROUND_UP(size, 8u);
	b.end = b.start + (uint32_t)size;
	vec_push(&m->blocks, b);
	return mem_addr(m->scratch) + b.start;
}
