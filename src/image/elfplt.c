/* SPDX-License-Identifier: MIT */
/*
 * Names the stubs of the procedure linkage table after the functions to which they jump.
 *
 * A stub jumps through a word of the global offset table, for which a relocation has the function.
 * In files with .plt.sec, the entries of .plt only push an index:
 * they contain no such jump and get no name.
 */
#include "image/elfplt.h"

#include "arch/arch.h"
#include "base/str.h"
#include "image/elfsym.h"
#include "files/gate.h"

struct got_word {
	uint64_t addr;
	const char *name;
};
typedef VEC(struct got_word) got_vec;

/* ---- relocations ---------------------------------------------------------------------------- */

static const char *word_name(struct elf_syms *s, struct gate_elf *g, const GElf_Rela *rela,
			     Elf_Data *symbols, size_t strings)
{
	const struct elf_sym *resolver;
	GElf_Sym sym;

	uint32_t type = (uint32_t)GELF_R_TYPE(rela->r_info);

	if (type == arch.elf.jump_slot || type == arch.elf.glob_dat)
		return symbols && gelf_getsym(symbols, (int)GELF_R_SYM(rela->r_info), &sym)
			       ? gate_text(g, strings, sym.st_name)
			       : NULL;
	if (type != arch.elf.irelative)
		return NULL;
	/* a function of this file: its resolver's symbol has the name */
	resolver = elf_syms_find(s, (uint64_t)rela->r_addend);
	return resolver && resolver->addr == (uint64_t)rela->r_addend ? resolver->name : NULL;
}

static void read_relocations(struct elf_syms *s, struct gate_elf *g, Elf_Scn *scn,
			     const GElf_Shdr *sh, got_vec *ret)
{
	Elf_Data *data = gate_data(g, scn);
	Elf_Scn *symtab = elf_getscn(g->elf, sh->sh_link);
	size_t n = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;
	Elf_Data *symbols = NULL;
	GElf_Shdr symsh = {0};
	GElf_Rela rela;

	if (symtab && gelf_getshdr(symtab, &symsh) && symsh.sh_type == SHT_DYNSYM)
		symbols = gate_data(g, symtab);
	for (size_t i = 0; i < n && i <= INT32_MAX && gelf_getrela(data, (int)i, &rela); i++) {
		const char *name = word_name(s, g, &rela, symbols, symsh.sh_link);

		if (name && *name)
			vec_push(ret, (struct got_word){rela.r_offset, name});
	}
}

static int word_compare(const void *pa, const void *pb)
{
	const struct got_word *a = pa, *b = pb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static const char *find_word(const got_vec *words, uint64_t addr)
{
	struct got_word key = {addr, NULL}, *w = NULL;

	if (words->len)
		w = bsearch(&key, words->data, words->len, sizeof(key), word_compare);
	return w ? w->name : NULL;
}

/* ---- stubs ---------------------------------------------------------------------------------- */

static void read_stubs(struct elf_syms *s, const Elf_Data *data, const GElf_Shdr *sh, size_t stub,
		       const got_vec *words)
{
	const uint8_t *code = data ? data->d_buf : NULL;
	struct strbuf text = {0};

	for (size_t off = 0; code && off + stub <= data->d_size; off += stub) {
		uint64_t addr = sh->sh_addr + off;
		const char *name = find_word(words, arch.elf.stub_word(code + off, stub, addr));

		if (!name)
			continue;
		strbuf_clear(&text);
		strbuf_addf(&text, "%s@plt", name);
		elf_syms_push(s, ELF_SYM_STUB, true, addr, stub, 0, strbuf_text(&text));
	}
	strbuf_deinit(&text);
}

static bool is_native(Elf *elf)
{
	GElf_Ehdr eh;

	return gelf_getehdr(elf, &eh) && eh.e_machine == arch.elf.machine;
}

void elf_plt_read(struct elf_syms *s, struct gate_elf *g)
{
	got_vec words = {0};
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	if (!is_native(g->elf) || elf_getshdrstrndx(g->elf, &names))
		return;
	while ((scn = elf_nextscn(g->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA && (sh.sh_flags & SHF_ALLOC))
			read_relocations(s, g, scn, &sh, &words);
	if (words.len)
		qsort(words.data, words.len, sizeof(*words.data), word_compare);
	while (words.len && (scn = elf_nextscn(g->elf, scn))) {
		const char *name = gelf_getshdr(scn, &sh) ? gate_text(g, names, sh.sh_name) : NULL;

		if (name && strncmp(name, ".plt", 4) == 0 && sh.sh_type == SHT_PROGBITS &&
		    (sh.sh_flags & SHF_EXECINSTR))
			read_stubs(s, gate_data(g, scn), &sh,
				   strcmp(name, ".plt.got") == 0 ? arch.elf.stub_size_got
								 : arch.elf.stub_size,
				   &words);
	}
	vec_deinit(&words);
}
