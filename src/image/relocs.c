/* SPDX-License-Identifier: MIT */
/* Compares words of a process with what the relocations of their file say (relocs.h). */
#include "image/relocs.h"

#include "arch/arch.h"
#include "files/gate.h"
#include "image/object.h"

/* The words, and which of them a relocation was found for. */
struct comparison {
	const struct object_word *words;
	uint32_t n;
	bool *are_written;
	uint64_t left; /* bytes of sections that may still be read */
};

static int word_compare(const void *pa, const void *pb)
{
	const struct object_word *a = pa, *b = pb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* The first word that does not lie below an address. */
static uint32_t word_find(const struct comparison *c, uint64_t addr)
{
	uint32_t low = 0, high = c->n;

	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;

		if (c->words[mid].addr < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The address in the file that a relocation writes; false: it is another one, or none. */
static bool reloc_value(const GElf_Rela *r, Elf_Data *symbols, uint64_t *ret)
{
	const uint32_t type = (uint32_t)GELF_R_TYPE(r->r_info);
	GElf_Sym sym;

	*ret = (uint64_t)r->r_addend;
	if (type == arch.elf.relative)
		return true;
	if ((type != arch.elf.jump_slot && type != arch.elf.glob_dat &&
	     type != arch.elf.absolute) ||
	    !symbols || GELF_R_SYM(r->r_info) > INT32_MAX ||
	    !gelf_getsym(symbols, (int)GELF_R_SYM(r->r_info), &sym) || sym.st_shndx == SHN_UNDEF ||
	    GELF_ST_TYPE(sym.st_info) == STT_GNU_IFUNC)
		return false;
	*ret = sym.st_value + (type == arch.elf.absolute ? (uint64_t)r->r_addend : 0);
	return true;
}

/*
 * The sections of a file may be many, and overlap: what is read of all of them is bounded. Returns
 * whether the section was within the bound.
 */
static bool section_compare(struct gate_elf *g, Elf_Scn *scn, const GElf_Shdr *sh,
			    struct comparison *c)
{
	Elf_Data *data, *symbols = NULL;
	Elf_Scn *symtab = elf_getscn(g->elf, sh->sh_link);
	GElf_Shdr symsh = {0};
	size_t n;
	GElf_Rela r;
	uint64_t value;

	if (symtab && (!gelf_getshdr(symtab, &symsh) || symsh.sh_type != SHT_DYNSYM))
		symtab = NULL;
	if (sh->sh_size > c->left || (symtab && symsh.sh_size > c->left - sh->sh_size))
		return false;
	c->left -= sh->sh_size + (symtab ? symsh.sh_size : 0);
	data = gate_data(g, scn);
	n = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;
	if (symtab)
		symbols = gate_data(g, symtab);
	for (size_t i = 0; i < n && i <= INT32_MAX && gelf_getrela(data, (int)i, &r); i++) {
		uint32_t k = word_find(c, r.r_offset);

		if (k == c->n || c->words[k].addr != r.r_offset ||
		    !reloc_value(&r, symbols, &value))
			continue;
		for (; k < c->n && c->words[k].addr == r.r_offset; k++)
			c->are_written[k] |= c->words[k].value == value;
	}
	return true;
}

bool relocs_write(struct gate_elf *g, struct object_word *words, uint32_t n)
{
	CLEANUP(free) bool *are_written = xcalloc(n + 1, sizeof(*are_written));
	struct comparison c = {words, n, are_written, g->limit};
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	if (n)
		qsort(words, n, sizeof(*words), word_compare);
	while (n && (scn = elf_nextscn(g->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA && (sh.sh_flags & SHF_ALLOC) &&
		    !section_compare(g, scn, &sh, &c))
			return false;
	for (uint32_t i = 0; i < n; i++)
		if (!are_written[i])
			return false;
	return true;
}
