/* SPDX-License-Identifier: MIT */
/* Looks symbols up in .gnu.hash. */
#include "image/gnuhash.h"

#define CHAIN_MAX  4096u /* symbols of a bucket; linkers make some two of them */
#define CHAIN_STEP 16u

struct header {
	uint32_t nbuckets, first, nwords, shift;
};

static bool part_read(const struct gnuhash *g, uint64_t off, void *to, size_t size)
{
	return gate_file_read(g->file, to, size, off) == (ssize_t)size;
}

static void table_open(struct gate_elf *elf, const GElf_Shdr *sh, struct gnuhash *g)
{
	Elf_Scn *table = elf_getscn(elf->elf, sh->sh_link);
	GElf_Shdr symbols, names;
	struct header h;
	uint64_t used;

	if (!table || !gelf_getshdr(table, &symbols) || symbols.sh_type != SHT_DYNSYM ||
	    !gelf_getshdr(elf_getscn(elf->elf, symbols.sh_link), &names) ||
	    !part_read(g, sh->sh_offset, &h, sizeof(h)))
		return;
	used = sizeof(h) + 8ull * h.nwords + 4ull * h.nbuckets;
	if (used > sh->sh_size)
		return;
	g->nbuckets = h.nbuckets;
	g->first = h.first;
	g->buckets = sh->sh_offset + sizeof(h) + 8ull * h.nwords;
	g->chains = sh->sh_offset + used;
	g->nchains = (sh->sh_size - used) / 4;
	g->symbols = symbols.sh_offset;
	g->nsymbols = symbols.sh_size / sizeof(Elf64_Sym);
	g->names = names.sh_offset;
	g->names_len = names.sh_size;
}

/* The gate opens files of this byte order only. */
void gnuhash_open(struct gate_elf *elf, struct gate_file *file, struct gnuhash *ret)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	*ret = (struct gnuhash){.file = file};
	if (elf->elf && gelf_getclass(elf->elf) == ELFCLASS64)
		while (!ret->nbuckets && (scn = elf_nextscn(elf->elf, scn)))
			if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_GNU_HASH)
				table_open(elf, &sh, ret);
	if (!ret->nbuckets)
		ret->file = NULL;
}

/* Whether the name at an offset of the table of names is this one. */
static bool name_is(const struct gnuhash *g, uint64_t off, const char *name)
{
	size_t left = strlen(name) + 1;
	char part[256];

	if (off >= g->names_len || g->names_len - off < left)
		return false;
	for (size_t n; left; left -= n, name += n, off += n) {
		n = MIN(left, sizeof(part));
		if (!part_read(g, g->names + off, part, n) || memcmp(part, name, n) != 0)
			return false;
	}
	return true;
}

static bool symbol_read(const struct gnuhash *g, uint64_t index, const char *name, GElf_Sym *ret)
{
	return index < g->nsymbols &&
	       part_read(g, g->symbols + index * sizeof(Elf64_Sym), ret, sizeof(Elf64_Sym)) &&
	       ret->st_shndx != SHN_UNDEF && name_is(g, ret->st_name, name);
}

bool gnuhash_find(const struct gnuhash *g, const char *name, GElf_Sym *ret)
{
	uint32_t hash = 5381, index, chain[CHAIN_STEP];

	if (!g->file)
		return false;
	for (const char *p = name; *p; p++)
		hash = hash * 33 + (uint8_t)*p;
	if (!part_read(g, g->buckets + 4ull * (hash % g->nbuckets), &index, 4) || index < g->first)
		return false;
	for (uint32_t i = 0; i < CHAIN_MAX; i++) {
		uint64_t at = (uint64_t)index - g->first + i, k = i % CHAIN_STEP;

		if (at >= g->nchains)
			return false;
		if (!k && !part_read(g, g->chains + 4 * at, chain,
				     4 * (size_t)MIN((uint64_t)CHAIN_STEP, g->nchains - at)))
			return false;
		if ((chain[k] | 1) == (hash | 1) && symbol_read(g, (uint64_t)index + i, name, ret))
			return true;
		if (chain[k] & 1)
			return false;
	}
	return false;
}
