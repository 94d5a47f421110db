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

/* ---- relocations ---------------------------------------------------------------------------- */

/* Fills what a relocation says of its word; false: it is none of a function. */
static bool word_fill(struct gate_elf *g, const GElf_Rela *rela, Elf_Data *symbols, size_t strings,
		      struct plt_word *ret)
{
	uint32_t type = (uint32_t)GELF_R_TYPE(rela->r_info);
	GElf_Sym sym;

	*ret = (struct plt_word){.addr = rela->r_offset};
	if (type == arch.elf.irelative) {
		ret->func = (uint64_t)rela->r_addend;
		return true;
	}
	if ((type != arch.elf.jump_slot && type != arch.elf.glob_dat) || !symbols ||
	    !gelf_getsym(symbols, (int)GELF_R_SYM(rela->r_info), &sym))
		return false;
	ret->name = gate_text(g, strings, sym.st_name);
	if (sym.st_shndx != SHN_UNDEF)
		ret->func = sym.st_value;
	return ret->name && *ret->name;
}

static void read_relocations(struct gate_elf *g, Elf_Scn *scn, const GElf_Shdr *sh, plt_words *ret)
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
		struct plt_word w;

		if (word_fill(g, &rela, symbols, symsh.sh_link, &w))
			vec_push(ret, w);
	}
}

static int word_compare(const void *pa, const void *pb)
{
	const struct plt_word *a = pa, *b = pb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static const struct plt_word *find_word(const plt_words *words, uint64_t addr)
{
	struct plt_word key = {.addr = addr};

	return words->len ? bsearch(&key, words->data, words->len, sizeof(key), word_compare)
			  : NULL;
}

static bool is_native(Elf *elf)
{
	GElf_Ehdr eh;

	return gelf_getehdr(elf, &eh) && eh.e_machine == arch.elf.machine;
}

void plt_words_read(struct gate_elf *g, plt_words *ret)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	if (!is_native(g->elf))
		return;
	while ((scn = elf_nextscn(g->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA && (sh.sh_flags & SHF_ALLOC))
			read_relocations(g, scn, &sh, ret);
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), word_compare);
}

/* ---- stubs ---------------------------------------------------------------------------------- */

void plt_stubs_each(struct gate_elf *g, const plt_words *words,
		    void (*func)(void *ctx, uint64_t addr, uint64_t size, const struct plt_word *w),
		    void *ctx)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	if (!words->len || elf_getshdrstrndx(g->elf, &names))
		return;
	while ((scn = elf_nextscn(g->elf, scn))) {
		const char *name = gelf_getshdr(scn, &sh) ? gate_text(g, names, sh.sh_name) : NULL;
		const Elf_Data *data;
		size_t stub;

		if (!name || strncmp(name, ".plt", 4) != 0 || sh.sh_type != SHT_PROGBITS ||
		    !(sh.sh_flags & SHF_EXECINSTR))
			continue;
		stub = strcmp(name, ".plt.got") == 0 ? arch.elf.stub_size_got : arch.elf.stub_size;
		data = gate_data(g, scn);
		for (size_t off = 0; data && data->d_buf && off + stub <= data->d_size;
		     off += stub) {
			uint64_t addr = sh.sh_addr + off;
			const struct plt_word *w =
				find_word(words,
					  arch.elf.stub_word((const uint8_t *)data->d_buf + off,
							     stub, addr));

			if (w)
				func(ctx, addr, stub, w);
		}
	}
}

static void stub_name(void *ctx, uint64_t addr, uint64_t size, const struct plt_word *w)
{
	struct strbuf text = {0};

	if (!w->name)
		return;
	strbuf_addf(&text, "%s@plt", w->name);
	elf_syms_push(ctx, ELF_SYM_STUB, true, addr, size, 0, strbuf_text(&text));
	strbuf_deinit(&text);
}

/* A function of this file that is chosen at run time has the name of what chooses it. */
static void resolvers_name(struct elf_syms *s, const plt_words *words)
{
	for (uint32_t i = 0; i < words->len; i++) {
		struct plt_word *w = &words->data[i];
		const struct elf_sym *resolver = w->name ? NULL : elf_syms_find(s, w->func);

		if (resolver && resolver->addr == w->func && *resolver->name)
			w->name = resolver->name;
	}
}

void elf_plt_read(struct elf_syms *s, struct gate_elf *g)
{
	plt_words words = {0};

	plt_words_read(g, &words);
	resolvers_name(s, &words); /* before anything is added: what is found has to be sorted */
	plt_stubs_each(g, &words, stub_name, s);
	vec_deinit(&words);
}
