/* SPDX-License-Identifier: MIT */
/* Finds the object of a word: by a bit for each word of the pages in which objects begin. */
#include "mdb/nodes.h"

/* A page of memory in which objects begin: a bit for each word that is the first of one. */
struct page {
	uint64_t number;
	uint32_t first; /* the number of the first object */
	uint64_t bits[PAGE_WORDS / 64];
	uint16_t before[PAGE_WORDS / 64]; /* objects that begin before these bits */
};

static uint32_t page_slot(const struct nodes *ns, uint64_t number)
{
	return (uint32_t)(number * 0x9e3779b97f4a7c15ull >> 32) & ns->mask;
}

/* Counts the pages in which objects begin. */
static uint32_t pages_count(const struct nodes *ns)
{
	uint64_t last = UINT64_MAX;
	uint32_t n = 0;

	for (uint32_t i = 0; i < ns->n; i++) {
		uint64_t number = ns->s->objects.data[i].addr >> PAGE_BITS;

		n += number != last;
		last = number;
	}
	return n;
}

static struct page *page_add(struct nodes *ns, uint32_t index, uint64_t number, uint32_t first)
{
	uint32_t at = page_slot(ns, number);

	while (ns->slots[at])
		at = (at + 1) & ns->mask;
	ns->slots[at] = index + 1;
	ns->pages[index].number = number;
	ns->pages[index].first = first;
	return &ns->pages[index];
}

void nodes_make(struct nodes *ns, const struct census *s)
{
	struct page *p = NULL;
	uint32_t npages, n = 0;

	*ns = (struct nodes){.s = s, .n = (uint32_t)s->objects.len};
	npages = pages_count(ns);

	ns->mask = 1023;
	while (ns->mask < 4ull * npages && ns->mask < 1u << 30)
		ns->mask = 2 * ns->mask + 1;
	ns->slots = xcalloc((size_t)ns->mask + 1, sizeof(*ns->slots));
	ns->pages = xcalloc((size_t)npages + 1, sizeof(*ns->pages));
	for (uint32_t i = 0; i < ns->n; i++) {
		uint64_t addr = ns->s->objects.data[i].addr;
		uint32_t word = (uint32_t)(addr / 8) % PAGE_WORDS;

		if (!p || p->number != addr >> PAGE_BITS)
			p = page_add(ns, n++, addr >> PAGE_BITS, i);
		p->bits[word / 64] |= 1ull << word % 64;
	}
	for (uint32_t i = 0; i < npages; i++)
		for (uint32_t k = 1; k < PAGE_WORDS / 64; k++)
			ns->pages[i].before[k] =
				(uint16_t)(ns->pages[i].before[k - 1] +
					   __builtin_popcountll(ns->pages[i].bits[k - 1]));
}

uint32_t node_find(const struct nodes *ns, uint64_t word)
{
	uint64_t addr = word - ns->s->heap.tag, number = addr >> PAGE_BITS, bit, bits;
	uint32_t at = (uint32_t)(addr / 8) % PAGE_WORDS;
	const struct page *p;

	if ((word & ns->s->heap.mask) != ns->s->heap.tag || addr % 8)
		return NOBODY;
	for (uint32_t slot = page_slot(ns, number); ns->slots[slot]; slot = (slot + 1) & ns->mask) {
		p = &ns->pages[ns->slots[slot] - 1];
		if (p->number != number)
			continue;
		bits = p->bits[at / 64];
		bit = 1ull << at % 64;
		if (!(bits & bit))
			return NOBODY;
		return p->first + p->before[at / 64] +
		       (uint32_t)__builtin_popcountll(bits & (bit - 1));
	}
	return NOBODY;
}

void nodes_free(struct nodes *ns)
{
	free(ns->pages);
	free(ns->slots);
}
