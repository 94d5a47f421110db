/*
 * Names the stubs of the procedure linkage table after the functions to which they jump.
 *
 * A stub, 16 bytes in .plt or .plt.sec, 8 in .plt.got, has one of these forms:
 *
 *     ff 25 rel32 68 idx32 e9 rel32      jmp *word(%rip); push; jmp      .plt
 *     f3 0f 1e fa f2 ff 25 rel32         endbr64; bnd jmp *word(%rip)    .plt.sec
 *     ff 25 rel32 66 90                  jmp *word(%rip)                 .plt.got
 *
 * so it is enough to find the jump. In files with .plt.sec, the entries of .plt only push an index:
 * they contain no such jump and get no name.
 */
#include "sym/elfplt.h"

#include "sym/elfsym.h"
#include "sym/gate.h"

#define STUB_SIZE 16

struct got_word {
	uint64_t addr;
	const char *name;
};
typedef VEC(struct got_word) got_vec;

/* ---- relocations ---------------------------------------------------------------------------- */

static const char *word_name(const struct elf_syms *s, struct gate_elf *g, const GElf_Rela *rela,
			     Elf_Data *symbols, size_t strings)
{
	const struct elf_sym *resolver;
	GElf_Sym sym;

	switch (GELF_R_TYPE(rela->r_info)) {
	case R_X86_64_JUMP_SLOT:
	case R_X86_64_GLOB_DAT:
		return symbols && gelf_getsym(symbols, (int)GELF_R_SYM(rela->r_info), &sym)
			       ? gate_text(g, strings, sym.st_name)
			       : NULL;
	case R_X86_64_IRELATIVE: /* a function of this file: its resolver's symbol has the name */
		resolver = elf_syms_find(s, (uint64_t)rela->r_addend);
		return resolver && resolver->addr == (uint64_t)rela->r_addend ? resolver->name
									      : NULL;
	default: return NULL;
	}
}

static void read_relocations(const struct elf_syms *s, struct gate_elf *g, Elf_Scn *scn,
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

/*
 * Returns the address of the word through which the code at p jumps; addr is the code's address. 0:
 * no such jump.
 */
static uint64_t jump_word(const uint8_t *p, size_t len, uint64_t addr)
{
	for (size_t i = 0; i + 6 <= len; i++) {
		int32_t rel;

		if (p[i] != 0xff || p[i + 1] != 0x25)
			continue;
		memcpy(&rel, p + i + 2, sizeof(rel));
		return addr + i + 6 + (uint64_t)(int64_t)rel;
	}
	return 0;
}

static void read_stubs(struct elf_syms *s, const Elf_Data *data, const GElf_Shdr *sh, size_t stub,
		       const got_vec *words)
{
	const uint8_t *code = data ? data->d_buf : NULL;

	for (size_t off = 0; code && off + stub <= data->d_size; off += stub) {
		uint64_t addr = sh->sh_addr + off;
		const char *name = find_word(words, jump_word(code + off, stub, addr));

		if (name)
			elf_syms_push(s, ELF_SYM_STUB, true, addr, stub, 0,
				      arena_printf(s->arena, "%s@plt", name));
	}
}

static bool is_x86_64(Elf *elf)
{
	GElf_Ehdr eh;

	return gelf_getehdr(elf, &eh) && eh.e_machine == EM_X86_64;
}

void elf_plt_read(struct elf_syms *s, struct gate_elf *g)
{
	got_vec words = {0};
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	if (!is_x86_64(g->elf) || elf_getshdrstrndx(g->elf, &names))
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
				   strcmp(name, ".plt.got") == 0 ? 8 : STUB_SIZE, &words);
	}
	vec_deinit(&words);
}
