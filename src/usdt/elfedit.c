/* SPDX-License-Identifier: MIT */
/* Changes an object file: adds symbols and sections, keeps everything else. */
#include "usdt/elfedit.h"

#include <sys/stat.h>

#define SECTIONS_MAX (1u << 20)
#define ALIGN_MAX    (1u << 16)

/* ---- what is there --------------------------------------------------------------------------- */

/* libelf believes sizes and alignments, and would write files as large as a header says. */
static bool section_is_sane(const GElf_Shdr *sh, uint64_t file_size)
{
	if (sh->sh_addralign > ALIGN_MAX || (sh->sh_addralign & (sh->sh_addralign - 1)))
		return false;
	return sh->sh_type == SHT_NOBITS || sh->sh_type == SHT_NULL ||
	       (sh->sh_offset <= file_size && sh->sh_size <= file_size - sh->sh_offset);
}

static void strings_open(struct elfedit *e, size_t scn, struct elfedit_strings *ret)
{
	GElf_Shdr sh;

	ret->scn = scn;
	if (gelf_getshdr(elf_getscn(e->elf, scn), &sh))
		ret->size = sh.sh_size;
}

static bool sections_find(struct elfedit *e, uint64_t file_size)
{
	size_t total, names, strings = 0;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	if (elf_getshdrnum(e->elf, &total) != 0 || total > SECTIONS_MAX ||
	    elf_getshdrstrndx(e->elf, &names) != 0)
		return false;
	while ((scn = elf_nextscn(e->elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || !section_is_sane(&sh, file_size))
			return false;
		if (sh.sh_type == SHT_SYMTAB_SHNDX)
			e->shndx = elf_ndxscn(scn);
		if (sh.sh_type != SHT_SYMTAB)
			continue;
		if (e->symtab || sh.sh_entsize != gelf_fsize(e->elf, ELF_T_SYM, 1, EV_CURRENT) ||
		    sh.sh_size / sh.sh_entsize > UINT32_MAX / 2)
			return false;
		e->symtab = elf_ndxscn(scn);
		e->nsyms = (uint32_t)(sh.sh_size / sh.sh_entsize);
		strings = sh.sh_link;
	}
	if (!e->symtab)
		return true; /* nothing can be referred to, and nothing is */
	strings_open(e, strings, &e->names);
	strings_open(e, names, &e->section_names);
	e->is_one_table = strings == names;
	return strings && names && gelf_getshdr(elf_getscn(e->elf, strings), &sh) &&
	       sh.sh_type == SHT_STRTAB && gelf_getshdr(elf_getscn(e->elf, names), &sh) &&
	       sh.sh_type == SHT_STRTAB;
}

struct err *elfedit_open(int fd, bool is_writable, const char *path, struct elfedit *ret)
{
	GElf_Ehdr eh;
	struct stat st;

	*ret = (struct elfedit){.arena = arena_create()};
	(void)elf_version(EV_CURRENT);
	ret->elf = elf_begin(fd, is_writable ? ELF_C_RDWR : ELF_C_READ, NULL);
	if (!ret->elf || elf_kind(ret->elf) != ELF_K_ELF || !gelf_getehdr(ret->elf, &eh) ||
	    eh.e_type != ET_REL || fstat(fd, &st) != 0) {
		elfedit_close(ret);
		return err_new("'%s' is no object file", path);
	}
	ret->is_32bit = eh.e_ident[EI_CLASS] == ELFCLASS32;
	if (sections_find(ret, (uint64_t)st.st_size))
		return NULL;
	elfedit_close(ret);
	return err_new("the object file '%s' is damaged", path);
}

void elfedit_close(struct elfedit *e)
{
	(void)elf_end(e->elf);
	e->elf = NULL;
	vec_deinit(&e->symbols);
	vec_deinit(&e->symbol_sections);
	strbuf_deinit(&e->names.more);
	strbuf_deinit(&e->section_names.more);
	arena_destroy(e->arena);
	e->arena = NULL;
}

/* ---- symbols --------------------------------------------------------------------------------- */

uint32_t elfedit_symbol_count(const struct elfedit *e)
{
	return e->nsyms + e->symbols.len;
}

/* Reads or, if is_writing, writes a symbol of the file. */
static bool symbol_of_file(struct elfedit *e, uint32_t index, GElf_Sym *sym, Elf32_Word *ret_scn)
{
	Elf_Data *data = elf_getdata(elf_getscn(e->elf, e->symtab), NULL);
	Elf_Data *more = e->shndx ? elf_getdata(elf_getscn(e->elf, e->shndx), NULL) : NULL;

	return data && gelf_getsymshndx(data, more, (int)index, sym, ret_scn);
}

bool elfedit_symbol(struct elfedit *e, uint32_t index, GElf_Sym *ret, size_t *ret_scn,
		    const char **ret_name)
{
	Elf32_Word scn = 0;

	if (!e->symtab || index >= e->nsyms || !symbol_of_file(e, index, ret, &scn))
		return false;
	*ret_scn = ret->st_shndx == SHN_XINDEX ? scn : ret->st_shndx;
	*ret_name = elf_strptr(e->elf, e->names.scn, ret->st_name);
	return *ret_name != NULL;
}

static uint32_t string_add(struct elfedit_strings *s, const char *text)
{
	uint64_t off = s->size + s->more.len;

	strbuf_add(&s->more, text, strlen(text) + 1);
	return (uint32_t)off;
}

uint32_t elfedit_symbol_add(struct elfedit *e, const char *name, size_t scn, GElf_Sym sym)
{
	bool is_far = scn >= SHN_LORESERVE;

	e->has_failed |= is_far && !e->shndx;
	sym.st_name = string_add(&e->names, name);
	sym.st_shndx = is_far ? SHN_XINDEX : (Elf64_Section)scn;
	vec_push(&e->symbols, sym);
	vec_push(&e->symbol_sections, is_far ? (Elf32_Word)scn : 0);
	e->has_changed = true;
	return elfedit_symbol_count(e) - 1;
}

void elfedit_symbol_rename(struct elfedit *e, uint32_t index, const char *name)
{
	Elf_Data *data = elf_getdata(elf_getscn(e->elf, e->symtab), NULL);
	GElf_Sym sym;

	if (!data || !gelf_getsym(data, (int)index, &sym)) {
		e->has_failed = true;
		return;
	}
	sym.st_name = string_add(&e->names, name);
	sym.st_other = STV_HIDDEN;
	e->has_failed |= !gelf_update_sym(data, (int)index, &sym);
	(void)elf_flagdata(data, ELF_C_SET, ELF_F_DIRTY);
	e->has_changed = true;
}

/* ---- sections -------------------------------------------------------------------------------- */

/* Appends a piece of data to a section; the memory belongs to the caller. */
static bool data_add(Elf_Scn *scn, void *data, size_t size, Elf_Type type, uint64_t align)
{
	Elf_Data *d = scn ? elf_newdata(scn) : NULL;

	if (!d)
		return false;
	d->d_buf = data;
	d->d_size = size;
	d->d_type = type;
	d->d_align = align;
	d->d_version = EV_CURRENT;
	return true;
}

static size_t section_add(struct elfedit *e, const char *name, GElf_Shdr sh, Elf_Type type,
			  void *data, size_t size)
{
	struct elfedit_strings *names = e->is_one_table ? &e->names : &e->section_names;
	Elf_Scn *scn = elf_newscn(e->elf);
	GElf_Shdr now;

	sh.sh_name = string_add(names, name);
	e->has_changed = true;
	if (!data_add(scn, data, size, type, sh.sh_addralign) || !gelf_getshdr(scn, &now) ||
	    !gelf_update_shdr(scn, &sh)) {
		e->has_failed = true;
		return 0;
	}
	return elf_ndxscn(scn);
}

size_t elfedit_section_add(struct elfedit *e, const char *name, GElf_Shdr sh, const void *data,
			   size_t size)
{
	return section_add(e, name, sh, ELF_T_BYTE, arena_memdup(e->arena, data, size), size);
}

void elfedit_addend_put(struct elfedit *e, uint8_t *at, int64_t addend)
{
	if (!e->is_32bit)
		return; /* the relocation has it */
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)((uint64_t)addend >> 8 * i);
}

static void *relocs_64(struct elfedit *e, const elfedit_relocs *relocs)
{
	Elf64_Rela *to = ARENA_NEW_N(e->arena, Elf64_Rela, relocs->len + 1);

	for (uint32_t i = 0; i < relocs->len; i++) {
		const struct elfedit_reloc *r = &relocs->data[i];

		to[i] = (Elf64_Rela){r->off, ELF64_R_INFO((uint64_t)r->sym, r->type), r->addend};
	}
	return to;
}

static void *relocs_32(struct elfedit *e, const elfedit_relocs *relocs)
{
	Elf32_Rel *to = ARENA_NEW_N(e->arena, Elf32_Rel, relocs->len + 1);

	for (uint32_t i = 0; i < relocs->len; i++) {
		const struct elfedit_reloc *r = &relocs->data[i];

		to[i] = (Elf32_Rel){(Elf32_Addr)r->off, ELF32_R_INFO(r->sym, r->type)};
	}
	return to;
}

size_t elfedit_relocs_add(struct elfedit *e, const char *name, size_t scn, uint64_t flags,
			  const elfedit_relocs *relocs)
{
	size_t entry = e->is_32bit ? sizeof(Elf32_Rel) : sizeof(Elf64_Rela);
	GElf_Shdr sh = {.sh_type = e->is_32bit ? SHT_REL : SHT_RELA,
			.sh_flags = SHF_INFO_LINK | flags,
			.sh_link = (Elf64_Word)e->symtab,
			.sh_info = (Elf64_Word)scn,
			.sh_addralign = e->is_32bit ? 4 : 8,
			.sh_entsize = entry};

	return section_add(e, name, sh, e->is_32bit ? ELF_T_REL : ELF_T_RELA,
			   e->is_32bit ? relocs_32(e, relocs) : relocs_64(e, relocs),
			   entry * relocs->len);
}

void elfedit_group_add(struct elfedit *e, size_t group, size_t scn)
{
	Elf32_Word *word = arena_alloc(e->arena, sizeof(*word));

	*word = (Elf32_Word)scn;
	e->has_failed |= !data_add(elf_getscn(e->elf, group), word, sizeof(*word), ELF_T_WORD,
				   sizeof(*word));
}

uint32_t elfedit_comdat_add(struct elfedit *e, const char *name, GElf_Shdr sh, const void *data,
			    size_t size, const char *symbol)
{
	Elf32_Word *words = ARENA_NEW_N(e->arena, Elf32_Word, 2);
	size_t scn;

	words[0] = GRP_COMDAT;
	/* The header of a group precedes those of its members. */
	(void)section_add(e, ".group",
			  (GElf_Shdr){.sh_type = SHT_GROUP,
				      .sh_link = (Elf64_Word)e->symtab,
				      .sh_info = elfedit_symbol_count(e),
				      .sh_addralign = 4,
				      .sh_entsize = 4},
			  ELF_T_WORD, words, 2 * sizeof(*words));
	sh.sh_flags |= SHF_GROUP;
	scn = elfedit_section_add(e, name, sh, data, size);
	words[1] = (Elf32_Word)scn;
	return elfedit_symbol_add(e, symbol, scn,
				  (GElf_Sym){.st_info = ELF64_ST_INFO(STB_WEAK, STT_NOTYPE),
					     .st_other = STV_HIDDEN,
					     .st_size = size});
}

/* ---- writing --------------------------------------------------------------------------------- */

void elfedit_symbols_narrow(const Elf64_Sym *from, uint32_t n, Elf32_Sym *to)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = (Elf32_Sym){.st_name = from[i].st_name,
				    .st_info = from[i].st_info,
				    .st_other = from[i].st_other,
				    .st_shndx = from[i].st_shndx,
				    .st_value = (Elf32_Addr)from[i].st_value,
				    .st_size = (Elf32_Word)from[i].st_size};
}

static void *symbols_32(struct elfedit *e)
{
	Elf32_Sym *to = ARENA_NEW_N(e->arena, Elf32_Sym, e->symbols.len);

	elfedit_symbols_narrow(e->symbols.data, e->symbols.len, to);
	return to;
}

static bool symbols_append(struct elfedit *e)
{
	size_t size = gelf_fsize(e->elf, ELF_T_SYM, e->symbols.len, EV_CURRENT);
	void *data = e->is_32bit ? symbols_32(e) : e->symbols.data;

	if (!data_add(elf_getscn(e->elf, e->symtab), data, size, ELF_T_SYM, e->is_32bit ? 4 : 8))
		return false;
	return !e->shndx || data_add(elf_getscn(e->elf, e->shndx), e->symbol_sections.data,
				     sizeof(Elf32_Word) * e->symbols.len, ELF_T_WORD, 4);
}

static bool strings_append(struct elfedit *e, struct elfedit_strings *s)
{
	return !s->more.len ||
	       data_add(elf_getscn(e->elf, s->scn), s->more.data, s->more.len, ELF_T_BYTE, 1);
}

struct err *elfedit_finish(struct elfedit *e, const char *path)
{
	if (!e->has_changed)
		return NULL;
	if (!e->has_failed && (!e->symbols.len || symbols_append(e)) &&
	    strings_append(e, &e->names) && strings_append(e, &e->section_names) &&
	    elf_update(e->elf, ELF_C_WRITE) >= 0)
		return NULL;
	return err_new("cannot write the object file '%s': %s", path, elf_errmsg(-1));
}
