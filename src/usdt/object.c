/* SPDX-License-Identifier: MIT */
/* Reads the kind of objects, and writes probe objects. */
#include "usdt/object.h"

#include <ar.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/str.h"
#include "base/vec.h"
#include "usdt/dof.h"
#include "usdt/elfedit.h"

/* ---- objects of the program ------------------------------------------------------------------ */

/* clang -flto writes no ELF files: it writes bitcode, bare or with a header in front. */
bool object_is_bitcode(int fd)
{
	static const uint8_t magics[][4] = {{'B', 'C', 0xc0, 0xde}, {0xde, 0xc0, 0x17, 0x0b}};
	uint8_t bytes[4];

	return pread(fd, bytes, sizeof(bytes), 0) == sizeof(bytes) &&
	       (memcmp(bytes, magics[0], 4) == 0 || memcmp(bytes, magics[1], 4) == 0);
}

static struct err *kind_read(const char *path, Elf *elf, struct object_kind *ret)
{
	GElf_Ehdr eh;

	if (elf_kind(elf) == ELF_K_AR)
		return err_hint(err_new("'%s' is an archive", path),
				"name the object files that the archive is made of");
	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &eh))
		return err_new("'%s' is no object file", path);
	if (eh.e_type != ET_REL)
		return err_new("'%s' is a program or a library, not an object file", path);
	*ret = (struct object_kind){eh.e_machine, eh.e_ident[EI_CLASS] == ELFCLASS32,
				    eh.e_ident[EI_DATA] == ELFDATA2MSB, eh.e_flags};
	return NULL;
}

/* *ret is unchanged if the file does not say of which kind it is. */
static struct err *kind_of_file(const char *path, struct object_kind *ret)
{
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct err *e;
	Elf *elf;

	if (fd < 0)
		return err_sys(errno, "cannot open the object file '%s'", path);
	if (object_is_bitcode(fd))
		return NULL;
	(void)elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return err_new("'%s' is no object file", path);
	e = kind_read(path, elf, ret);
	(void)elf_end(elf);
	return e;
}

struct err *object_kind_of(char *const *paths, int n, struct object_kind *ret)
{
	struct object_kind first = {0}, kind = {0};
	const char *first_path = NULL;

	for (int i = 0; i < n; i++) {
		struct err *e;

		kind = (struct object_kind){0};
		e = kind_of_file(paths[i], &kind);
		if (e)
			return e;
		if (!kind.machine)
			continue;
		if (!first_path) {
			first = kind;
			first_path = paths[i];
		}
		if (kind.machine != first.machine || kind.is_32bit != first.is_32bit ||
		    kind.is_big_endian != first.is_big_endian)
			return err_new("'%s' and '%s' are objects for different machines",
				       first_path, paths[i]);
	}
	if (first_path)
		*ret = first;
	return NULL;
}

/* ---- the probe object ------------------------------------------------------------------------ */

/* The object that is being written. libelf uses this memory until elf_update() has returned. */
struct writer {
	Elf *elf;
	struct object_kind kind;
	struct strtab *names, *strings; /* of sections, of symbols */
	struct dof_image dof;
	char *counters;
	VEC(Elf64_Sym) symbols;
	Elf32_Sym *symbols_32;
};

/* Adds a section with one piece of data and returns its number; 0 if libelf has failed. */
static size_t section_add(struct writer *w, const char *name, GElf_Shdr sh, Elf_Type type,
			  const void *data, size_t size)
{
	Elf_Scn *scn = elf_newscn(w->elf);
	Elf_Data *d = scn ? elf_newdata(scn) : NULL;
	GElf_Shdr now;

	if (!d || !gelf_getshdr(scn, &now))
		return 0;
	d->d_buf = (void *)data;
	d->d_size = size;
	d->d_type = type;
	d->d_align = sh.sh_addralign;
	sh.sh_name = strtab_adds(w->names, name);
	return gelf_update_shdr(scn, &sh) ? elf_ndxscn(scn) : 0;
}

/*
 * Adds the counters, which have two bytes each, and their symbols, as __DTRACE_COUNTER() of the
 * generated headers declares them.
 */
static size_t counters_add(struct writer *w, const struct usdt_provider *pvs, uint32_t n)
{
	size_t size = 0, scn;

	for (uint32_t i = 0; i < n; i++)
		size += 2 * (size_t)pvs[i].nprobes;
	w->counters = xcalloc(size + 1, 1);
	scn = section_add(w, ".probes",
			  (GElf_Shdr){.sh_type = SHT_PROGBITS,
				      .sh_flags = SHF_ALLOC | SHF_WRITE,
				      .sh_addralign = 2},
			  ELF_T_BYTE, w->counters, size);
	vec_push(&w->symbols, (Elf64_Sym){0});
	for (uint32_t i = 0, at = 0; i < n; i++)
		for (uint32_t k = 0; k < pvs[i].nprobes; k++, at += 2) {
			struct strbuf name = {0};

			strbuf_addf(&name, "%s_%s_semaphore", pvs[i].name, pvs[i].probes[k].cname);
			vec_push(&w->symbols,
				 (Elf64_Sym){.st_name = strtab_adds(w->strings, strbuf_text(&name)),
					     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
					     .st_other = STV_HIDDEN,
					     .st_shndx = (Elf64_Section)scn,
					     .st_value = at,
					     .st_size = 2});
			strbuf_deinit(&name);
		}
	return scn;
}

static void symbols_narrow(struct writer *w)
{
	w->symbols_32 = xcalloc(w->symbols.len, sizeof(*w->symbols_32));
	elfedit_symbols_narrow(w->symbols.data, w->symbols.len, w->symbols_32);
}

static bool symbols_add(struct writer *w)
{
	size_t size = gelf_fsize(w->elf, ELF_T_SYM, w->symbols.len, EV_CURRENT), strings;

	strings = section_add(w, ".strtab", (GElf_Shdr){.sh_type = SHT_STRTAB, .sh_addralign = 1},
			      ELF_T_BYTE, strtab_data(w->strings), strtab_size(w->strings));
	if (w->kind.is_32bit)
		symbols_narrow(w);
	return strings &&
	       section_add(w, ".symtab",
			   (GElf_Shdr){.sh_type = SHT_SYMTAB,
				       .sh_addralign = w->kind.is_32bit ? 4 : 8,
				       .sh_entsize = gelf_fsize(w->elf, ELF_T_SYM, 1, EV_CURRENT),
				       .sh_link = (Elf64_Word)strings,
				       .sh_info = 1},
			   ELF_T_SYM, w->kind.is_32bit ? (void *)w->symbols_32 : w->symbols.data,
			   size);
}

static bool notes_add(struct writer *w)
{
	const struct arch_note *note = NULL;
	bool is_32bit = w->kind.is_32bit;

	/* An empty section of this name declares that the stack need not be executable. */
	if (!section_add(w, ".note.GNU-stack",
			 (GElf_Shdr){.sh_type = SHT_PROGBITS, .sh_addralign = 1}, ELF_T_BYTE, NULL,
			 0))
		return false;
	if (w->kind.machine == (is_32bit ? arch.elf.machine_32 : arch.elf.machine))
		note = is_32bit ? &arch.elf.property_32 : &arch.elf.property;
	return !note || !note->size ||
	       section_add(w, ".note.gnu.property",
			   (GElf_Shdr){.sh_type = SHT_NOTE,
				       .sh_flags = SHF_ALLOC,
				       .sh_addralign = is_32bit ? 4 : 8},
			   ELF_T_BYTE, note->data, note->size);
}

static bool names_add(struct writer *w)
{
	GElf_Ehdr eh;
	size_t scn;

	(void)strtab_adds(w->names, ".shstrtab"); /* before its size is taken */
	scn = section_add(w, ".shstrtab", (GElf_Shdr){.sh_type = SHT_STRTAB, .sh_addralign = 1},
			  ELF_T_BYTE, strtab_data(w->names), strtab_size(w->names));
	if (!scn || !gelf_getehdr(w->elf, &eh))
		return false;
	eh.e_shstrndx = (GElf_Half)scn;
	return gelf_update_ehdr(w->elf, &eh);
}

static bool header_add(struct writer *w)
{
	GElf_Ehdr eh;

	if (!gelf_newehdr(w->elf, w->kind.is_32bit ? ELFCLASS32 : ELFCLASS64) ||
	    !gelf_getehdr(w->elf, &eh))
		return false;
	eh.e_type = ET_REL;
	eh.e_machine = w->kind.machine;
	eh.e_version = EV_CURRENT;
	eh.e_ident[EI_DATA] = w->kind.is_big_endian ? ELFDATA2MSB : ELFDATA2LSB;
	eh.e_flags = w->kind.flags;
	return gelf_update_ehdr(w->elf, &eh);
}

static bool object_fill(struct writer *w, const struct usdt_provider *pvs, uint32_t n,
			const struct dof_image *helpers)
{
	if (n)
		dof_write(pvs, n, !w->kind.is_32bit, &w->dof);
	for (uint32_t i = 0; i < helpers->bytes.len; i++)
		vec_push(&w->dof.bytes, helpers->bytes.data[i]);
	return header_add(w) && counters_add(w, pvs, n) &&
	       (!w->dof.bytes.len ||
		section_add(w, ".SUNW_dof", (GElf_Shdr){.sh_type = SHT_PROGBITS, .sh_addralign = 8},
			    ELF_T_BYTE, w->dof.bytes.data, w->dof.bytes.len)) &&
	       notes_add(w) && symbols_add(w) && names_add(w) &&
	       elf_update(w->elf, ELF_C_WRITE) >= 0;
}

struct err *object_write(const struct usdt_provider *providers, uint32_t n,
			 const struct dof_image *helpers, struct object_kind kind, int fd)
{
	struct writer w = {.kind = kind, .names = strtab_create(), .strings = strtab_create()};
	struct err *e = NULL;

	(void)elf_version(EV_CURRENT);
	w.elf = elf_begin(fd, ELF_C_WRITE, NULL);
	if (!w.elf || !object_fill(&w, providers, n, helpers))
		e = err_new("cannot write the probe object: %s", elf_errmsg(-1));
	(void)elf_end(w.elf);
	strtab_destroy(w.names);
	strtab_destroy(w.strings);
	dof_image_deinit(&w.dof);
	free(w.counters);
	free(w.symbols_32);
	vec_deinit(&w.symbols);
	return e;
}
