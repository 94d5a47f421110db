/* SPDX-License-Identifier: MIT */
/* Makes ELF files of a few functions. */
#include "made.h"

#include <sys/mman.h>

#include "files/gate.h"

#define PART 0x1000u /* of the file: headers, code, data, .eh_frame, and what is not loaded */

enum { S_NONE, S_TEXT, S_DATA, S_RSEQ, S_FRAME, S_RELA, S_RELR, S_SYMS, S_STRS, S_NAMES, S_N };

uint64_t made_code(struct made *m, const void *bytes, size_t size)
{
	uint64_t addr = CODE + m->code.len;

	strbuf_add(&m->code, bytes, size);
	return addr;
}

void made_pad(struct made *m, size_t align)
{
	while (m->code.len % align)
		strbuf_addc(&m->code, (char)0xf4); /* hlt: no padding */
}

uint64_t made_data(struct made *m, const void *bytes, size_t size)
{
	uint64_t addr = DATA + m->data.len;

	strbuf_add(&m->data, bytes, size);
	return addr;
}

void made_symbol(struct made *m, const char *name, uint64_t addr, uint64_t size)
{
	Elf64_Sym sym = {.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			 .st_shndx = S_TEXT,
			 .st_value = addr,
			 .st_size = size};

	if (!m->names.len) {
		strbuf_add(&m->symbols, (const char *)&(Elf64_Sym){0}, sizeof(sym));
		strbuf_addc(&m->names, '\0');
	}
	sym.st_name = (Elf64_Word)m->names.len;
	strbuf_add(&m->names, name, strlen(name) + 1);
	strbuf_add(&m->symbols, (const char *)&sym, sizeof(sym));
}

static void entry_put(struct strbuf *b, const struct strbuf *entry)
{
	uint32_t len = (uint32_t)entry->len;

	strbuf_add(b, (const char *)&len, sizeof(len));
	strbuf_add(b, entry->data, entry->len);
}

static void word_put(struct strbuf *b, uint64_t v, size_t size)
{
	strbuf_add(b, (const char *)&v, size);
}

void made_frame(struct made *m, const char *augmentation, uint64_t addr, uint64_t size,
		uint64_t lsda)
{
	bool has_lsda = strchr(augmentation, 'L') != NULL;
	size_t cie = m->eh_frame.len;
	struct strbuf e = {0};

	word_put(&e, 0, 4);
	word_put(&e, 1, 1);
	strbuf_add(&e, augmentation, strlen(augmentation) + 1);
	strbuf_add(&e, "\x01\x78\x10", 3); /* units of 1 and -8 bytes, return address in 16 */
	word_put(&e, has_lsda, 1);	   /* length of the data: one encoding, absolute */
	if (has_lsda)
		word_put(&e, 0, 1);
	strbuf_add(&e, "\0\0\0", 3);
	entry_put(&m->eh_frame, &e);
	strbuf_clear(&e);
	word_put(&e, m->eh_frame.len + 4 - cie, 4);
	word_put(&e, addr, 8);
	word_put(&e, size, 8);
	word_put(&e, has_lsda ? 8 : 0, 1);
	if (has_lsda)
		word_put(&e, lsda, 8);
	entry_put(&m->eh_frame, &e);
	strbuf_deinit(&e);
}

void made_rela(struct made *m, uint64_t at, uint64_t value)
{
	Elf64_Rela r = {at, ELF64_R_INFO(0, R_X86_64_RELATIVE), (Elf64_Sxword)value};

	strbuf_add(&m->rela, (const char *)&r, sizeof(r));
}

/* Adds bytes to the part of the file that is not loaded, and says where they are. */
static void section_put(struct strbuf *out, Elf64_Shdr *sh, const struct strbuf *bytes)
{
	sh->sh_offset = out->len;
	sh->sh_size = bytes->len;
	if (bytes->len)
		strbuf_add(out, bytes->data, bytes->len);
}

static void part_put(struct strbuf *out, const struct strbuf *bytes)
{
	size_t end = out->len + PART;

	if (bytes->len)
		strbuf_add(out, bytes->data, bytes->len);
	while (out->len < end)
		strbuf_addc(out, '\0');
}

static void image_make(struct made *m, struct strbuf *out)
{
	static const char names[] = "\0.text\0.rodata\0__rseq_cs\0.eh_frame\0.shstrtab";
	struct {
		Elf64_Ehdr eh;
		Elf64_Phdr ph[3];
		Elf64_Shdr sh[S_N];
	} h = {
		.eh = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		       .e_type = m->type ? m->type : ET_DYN,
		       .e_machine = EM_X86_64,
		       .e_version = EV_CURRENT,
		       .e_phoff = sizeof(Elf64_Ehdr),
		       .e_shoff = sizeof(Elf64_Ehdr) + sizeof(h.ph),
		       .e_ehsize = sizeof(Elf64_Ehdr),
		       .e_phentsize = sizeof(Elf64_Phdr),
		       .e_phnum = 3,
		       .e_shentsize = sizeof(Elf64_Shdr),
		       .e_shnum = S_N,
		       .e_shstrndx = S_NAMES},
		.ph = {{PT_LOAD, PF_R | PF_X, PART, CODE, CODE, m->code.len, m->code.len, PART},
		       {PT_LOAD, PF_R, 2 * PART, DATA, DATA, m->data.len, m->data.len, PART},
		       {PT_LOAD, PF_R, 3 * PART, EH_FRAME, EH_FRAME, PART, PART, PART}},
		.sh = {[S_TEXT] = {1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, CODE, PART,
				   m->code.len, 0, 0, 1, 0},
		       [S_DATA] = {7, SHT_PROGBITS, SHF_ALLOC, DATA, 2 * PART, m->data.len, 0, 0, 1,
				   0},
		       [S_RSEQ] = {15, m->rseq_size ? SHT_PROGBITS : SHT_NULL, SHF_ALLOC, DATA,
				   2 * PART, m->rseq_size, 0, 0, 1, 0},
		       [S_FRAME] = {25, SHT_PROGBITS, SHF_ALLOC, EH_FRAME, 3 * PART,
				    m->eh_frame.len, 0, 0, 1, 0},
		       [S_RELA] = {.sh_type = SHT_RELA,
				   .sh_flags = SHF_ALLOC,
				   .sh_entsize = sizeof(Elf64_Rela),
				   .sh_addralign = 1},
		       [S_RELR] = {.sh_type = 19, /* SHT_RELR */
				   .sh_flags = SHF_ALLOC,
				   .sh_entsize = 8,
				   .sh_addralign = 1},
		       [S_SYMS] = {.sh_type = SHT_SYMTAB,
				   .sh_link = S_STRS,
				   .sh_entsize = sizeof(Elf64_Sym),
				   .sh_addralign = 1},
		       [S_STRS] = {.sh_type = SHT_STRTAB, .sh_addralign = 1},
		       [S_NAMES] = {.sh_name = 35, .sh_type = SHT_STRTAB, .sh_addralign = 1}},
	};
	struct strbuf head = {0};

	part_put(out, &head);
	part_put(out, &m->code);
	part_put(out, &m->data);
	part_put(out, &m->eh_frame);
	section_put(out, &h.sh[S_RELA], &m->rela);
	section_put(out, &h.sh[S_RELR], &m->relr);
	section_put(out, &h.sh[S_SYMS], &m->symbols);
	section_put(out, &h.sh[S_STRS], &m->names);
	strbuf_add(&head, names, sizeof(names));
	section_put(out, &h.sh[S_NAMES], &head);
	memcpy(out->data, &h, sizeof(h));
	strbuf_deinit(&head);
}

struct err *made_read(struct made *m)
{
	CLEANUP(fd) int fd = memfd_create("flow", MFD_CLOEXEC);
	struct strbuf image = {0};
	struct gate_file *file;
	struct err *e;

	image_make(m, &image);
	if (fd < 0 || write(fd, image.data, image.len) != (ssize_t)image.len)
		exit(1);
	file = gate_file_of(fd);
	e = flow_create(file, GATE_LIMIT_DEFAULT, &m->flow);
	gate_file_close(file);
	strbuf_deinit(&image);
	return e;
}

void made_end(struct made *m)
{
	flow_destroy(m->flow);
	strbuf_deinit(&m->code);
	strbuf_deinit(&m->data);
	strbuf_deinit(&m->symbols);
	strbuf_deinit(&m->names);
	strbuf_deinit(&m->eh_frame);
	strbuf_deinit(&m->rela);
	strbuf_deinit(&m->relr);
}
