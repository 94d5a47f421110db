/* SPDX-License-Identifier: MIT */
/* A file's relocations are compared with words of a process, or applied (relocs.h). */
#include "image/relocs.h"

#include "arch/arch.h"
#include "base/sorted.h"
#include "files/gate.h"
#include "image/object.h"

/* The words, and which of them a relocation was found for. */
struct comparison {
	const struct object_word *words;
	uint32_t n;
	bool *are_written;
};

static int word_compare(const void *pa, const void *pb)
{
	const struct object_word *a = pa, *b = pb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* The first word that does not lie below an address. */
static uint32_t word_find(const struct comparison *c, uint64_t addr)
{
	return sorted_below(c->words, c->n, addr, addr);
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

/* Called for each relocation, with the symbols that it refers to; NULL: they cannot be read. */
typedef bool reloc_visit(void *ctx, const GElf_Rela *r, Elf_Data *symbols);

/*
 * The sections of a file may be many, and overlap: what is read of all of them is bounded. Returns
 * whether the section was within the bound, and visit() has returned true each time.
 */
static bool section_each(struct gate_elf *g, Elf_Scn *scn, const GElf_Shdr *sh, uint64_t *left,
			 reloc_visit *visit, void *ctx)
{
	Elf_Data *data, *symbols = NULL;
	Elf_Scn *symtab = elf_getscn(g->elf, sh->sh_link);
	GElf_Shdr symsh = {0};
	size_t n;
	GElf_Rela r;

	if (symtab && (!gelf_getshdr(symtab, &symsh) || symsh.sh_type != SHT_DYNSYM))
		symtab = NULL;
	if (sh->sh_size > *left || (symtab && symsh.sh_size > *left - sh->sh_size))
		return false;
	*left -= sh->sh_size + (symtab ? symsh.sh_size : 0);
	data = gate_data(g, scn);
	n = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;
	if (symtab)
		symbols = gate_data(g, symtab);
	for (size_t i = 0; i < n && i <= INT32_MAX && gelf_getrela(data, (int)i, &r); i++)
		if (!visit(ctx, &r, symbols))
			return false;
	return true;
}

/* ---- words that are compared ----------------------------------------------------------------- */

static bool word_look_at(void *ctx, const GElf_Rela *r, Elf_Data *symbols)
{
	struct comparison *c = ctx;
	uint32_t k = word_find(c, r->r_offset);
	uint64_t value;

	if (k == c->n || c->words[k].addr != r->r_offset || !reloc_value(r, symbols, &value))
		return true;
	for (; k < c->n && c->words[k].addr == r->r_offset; k++)
		c->are_written[k] |= c->words[k].value == value;
	return true;
}

bool relocs_write(struct gate_elf *g, struct object_word *words, uint32_t n)
{
	CLEANUP(free) bool *are_written = xcalloc(n + 1, sizeof(*are_written));
	struct comparison c = {words, n, are_written};
	uint64_t left = g->limit;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	if (n)
		qsort(words, n, sizeof(*words), word_compare);
	while (n && (scn = elf_nextscn(g->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA && (sh.sh_flags & SHF_ALLOC) &&
		    !section_each(g, scn, &sh, &left, word_look_at, &c))
			return false;
	for (uint32_t i = 0; i < n; i++)
		if (!are_written[i])
			return false;
	return true;
}

/* ---- bytes that are relocated ---------------------------------------------------------------- */

static bool bytes_relocate(void *ctx, const GElf_Rela *r, Elf_Data *symbols)
{
	const struct object_bytes *b = ctx;
	const uint64_t at = r->r_offset - b->addr; /* it wraps where the word begins before */
	uint64_t value;

	(void)symbols;
	if (!*b->left)
		return false;
	--*b->left;
	if (at >= b->size && at < UINT64_MAX - sizeof(value) + 2)
		return true;
	/* by a symbol, another file may come first, which has it too, or a copy of its data */
	if (at >= b->size || b->size - at < sizeof(value) ||
	    GELF_R_TYPE(r->r_info) != arch.elf.relative)
		return false;
	value = (uint64_t)r->r_addend + b->bias;
	memcpy(b->bytes + at, &value, sizeof(value));
	return true;
}

bool relocs_apply(struct gate_elf *g, const struct object_bytes *b)
{
	uint64_t left = g->limit;
	Elf_Scn *scn = NULL;
	bool has_sections = false;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(g->elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_ALLOC))
			continue;
		has_sections = true;
		if (sh.sh_type == SHT_REL || sh.sh_type == SHT_RELR ||
		    (sh.sh_type == SHT_RELA &&
		     !section_each(g, scn, &sh, &left, bytes_relocate, (void *)b)))
			return false;
	}
	return has_sections;
}
