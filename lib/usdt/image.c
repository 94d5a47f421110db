/* SPDX-License-Identifier: MIT */
/* The ELF file that describes the probes of a region. */
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"
#include "impl.h"
#include "stub.h"

enum { NONE, TEXT, FRAMES, COUNTERS, NOTES, DOF, SYMBOLS, STRINGS, NAMES, NSECTIONS };

static const char section_names[] =
	"\0.text\0.eh_frame\0.probes\0.note.stapsdt\0.SUNW_dof\0.symtab\0.strtab\0.shstrtab";

static size_t page_up(size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (n + page - 1) & ~(page - 1);
}

/* ---- parts of the file ----------------------------------------------------------------------- */

/* clang-format off */
/* Call frame information for stubs: the return address is where the call has put it. */
#if defined(__x86_64__)
#define CIE_RULES 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1 /* data alignment -8; CFA = rsp + 8, rip at CFA - 8 */
#elif defined(__i386__)
#define CIE_RULES 1, 0x7c, 8, 0x0c, 4, 4, 0x88, 1
#else
#define CIE_RULES 4, 0x78, 30, 0x0c, 31, 0, 0, 0 /* the return address is in x30 */
#endif
static const uint8_t cie[] = {
	20, 0, 0, 0, /* length without this word */
	0, 0, 0, 0,  /* a CIE */
	1, 0,	     /* version, no augmentation */
	CIE_RULES,
	0, 0, 0, 0, 0, 0, /* DW_CFA_nop */
};
/* clang-format on */

/* The size of .eh_frame: a CIE, an FDE of addresses without encoding, and the end. */
#define FRAMES_SIZE (sizeof(cie) + 8 + 2 * sizeof(uintptr_t) + 4)

size_t image_stubs_size(uint32_t nslots)
{
	return page_up((size_t)nslots * STUB_SIZE + FRAMES_SIZE);
}

static void stubs_add(struct bytes *b, uint32_t nslots)
{
	static const uint8_t code[] = STUB_CODE;
	uint8_t stub[STUB_SIZE] = {0};

	memcpy(stub, code, sizeof(code));
	for (uint32_t i = 0; i < nslots; i++)
		bytes_add(b, stub, sizeof(stub));
}

static void frames_add(struct bytes *b, uintptr_t stubs, uint32_t nslots)
{
	uint32_t length = 4 + 2 * sizeof(uintptr_t), back = sizeof(cie) + 4;
	uintptr_t range[2] = {stubs, (uintptr_t)nslots * STUB_SIZE};

	bytes_add(b, cie, sizeof(cie));
	bytes_add(b, &length, 4);
	bytes_add(b, &back, 4);
	bytes_add(b, range, sizeof(range));
	bytes_add(b, NULL, 4);
}

static bool is_pointer(const char *type)
{
	size_t len = strlen(type);

	return len && type[len - 1] == '*';
}

/* "8@%rdi -8@%rsi": what D and other tracers call arg0 and arg1. */
static void operands_make(char *text, size_t size, const usdt_probedef_t *def)
{
	unsigned int n = (unsigned int)def->argc;
	size_t len = 0;

	text[0] = '\0';
	for (unsigned int i = 0; i < n && i < NOTE_ARGS; i++) {
		const char *type = def->types[i];
		bool is_unsigned =
			is_pointer(type) || type[0] == 'u' || strncmp(type, "size_t", 6) == 0;

		len += (size_t)snprintf(text + len, size - len, "%s%s%u@", i ? " " : "",
					is_unsigned ? "" : "-", (unsigned int)sizeof(void *));
		len += (size_t)stub_operand(text + len, size - len, i, n);
	}
}

/* Adds the name as notes have it: "request__start" for request-start. */
static void probe_name_add(struct bytes *b, const char *name)
{
	for (; *name; name++)
		bytes_add(b, *name == '-' ? "__" : name, *name == '-' ? 2 : 1);
	bytes_add(b, "", 1);
}

static void note_add(struct bytes *b, const struct probedef *def, uintptr_t stub)
{
	uintptr_t words[3] = {stub, 0, (uintptr_t)def->pub.probe};
	uint32_t head[3] = {sizeof("stapsdt"), 0, 3};
	size_t at = b->len, desc;
	char operands[NOTE_ARGS * 24];

	operands_make(operands, sizeof(operands), &def->pub);
	bytes_add(b, head, sizeof(head));
	bytes_add(b, "stapsdt", sizeof("stapsdt"));
	desc = b->len;
	bytes_add(b, words, sizeof(words));
	bytes_add(b, def->provider->pub.name, strlen(def->provider->pub.name) + 1);
	probe_name_add(b, def->pub.name);
	bytes_add(b, operands, strlen(operands) + 1);
	if (!b->failed) {
		uint32_t size = (uint32_t)(b->len - desc);

		memcpy(b->data + at + 4, &size, 4);
	}
	bytes_align(b, 4);
}

/* ---- the file -------------------------------------------------------------------------------- */

struct layout {
	ElfW(Shdr) sections[NSECTIONS];
	size_t name_at; /* in section_names */
};

static void section_set(struct layout *l, int n, uint32_t type, size_t off, size_t size)
{
	l->sections[n].sh_type = type;
	l->sections[n].sh_offset = off;
	l->sections[n].sh_size = size;
	l->sections[n].sh_addralign = n == NOTES ? 4 : n >= STRINGS ? 1 : 8;
	l->name_at += strlen(section_names + l->name_at) + 1;
	l->sections[n].sh_name = (ElfW(Word))l->name_at;
}

/* Adds the symbols: the function of each probe, as long as its stub. */
static void symbols_add(struct bytes *b, struct bytes *names, const struct region *r,
			uintptr_t stubs)
{
	bytes_add(b, NULL, sizeof(ElfW(Sym)));
	bytes_add(names, "", 1);
	for (uint32_t i = 0; i < r->nslots; i++) {
		ElfW(Sym) sym = {.st_name = (ElfW(Word))names->len,
				 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				 .st_shndx = TEXT,
				 .st_value = stubs + i * STUB_SIZE,
				 .st_size = STUB_SIZE};

		if (!r->defs[i])
			continue;
		bytes_add(b, &sym, sizeof(sym));
		bytes_add(names, r->defs[i]->pub.function, strlen(r->defs[i]->pub.function) + 1);
	}
}

/* Adds what no process maps: notes, symbols, strings. */
static void tables_add(struct bytes *b, struct layout *l, const struct region *r, uintptr_t stubs)
{
	struct bytes names = {0};
	size_t at = b->len;

	for (uint32_t i = 0; i < r->nslots; i++)
		if (r->defs[i])
			note_add(b, r->defs[i], stubs + i * STUB_SIZE);
	section_set(l, NOTES, SHT_NOTE, at, b->len - at);
	bytes_align(b, 8);
	at = b->len;
	b->failed |= !dof_add(b, r);
	section_set(l, DOF, SHT_PROGBITS, at, b->len - at);
	at = b->len;
	symbols_add(b, &names, r, stubs);
	section_set(l, SYMBOLS, SHT_SYMTAB, at, b->len - at);
	l->sections[SYMBOLS].sh_entsize = sizeof(ElfW(Sym));
	l->sections[SYMBOLS].sh_link = STRINGS;
	l->sections[SYMBOLS].sh_info = 1; /* the first symbol that is not local */
	at = b->len;
	b->failed |= names.failed;
	if (!b->failed)
		bytes_add(b, names.data, names.len);
	section_set(l, STRINGS, SHT_STRTAB, at, b->len - at);
	free(names.data);
	at = b->len;
	bytes_add(b, section_names, sizeof(section_names));
	section_set(l, NAMES, SHT_STRTAB, at, b->len - at);
	bytes_align(b, 8);
}

static void headers_set(struct bytes *b, const struct layout *l, size_t sections_off)
{
	ElfW(Ehdr) *eh = (ElfW(Ehdr) *)b->data;
	ElfW(Phdr) *ph = (ElfW(Phdr) *)(eh + 1);
	const ElfW(Shdr) *text = &l->sections[TEXT], *counters = &l->sections[COUNTERS];

	memcpy(eh->e_ident, ELFMAG, SELFMAG);
	eh->e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
	eh->e_ident[EI_DATA] =
		__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	eh->e_ident[EI_VERSION] = EV_CURRENT;
	eh->e_type = ET_DYN;
	eh->e_machine = STUB_MACHINE;
	eh->e_version = EV_CURRENT;
	eh->e_phoff = sizeof(*eh);
	eh->e_shoff = sections_off;
	eh->e_ehsize = sizeof(*eh);
	eh->e_phentsize = sizeof(*ph);
	eh->e_phnum = 2;
	eh->e_shentsize = sizeof(ElfW(Shdr));
	eh->e_shnum = NSECTIONS;
	eh->e_shstrndx = NAMES;
	ph[0].p_type = ph[1].p_type = PT_LOAD;
	ph[0].p_flags = PF_R | PF_X;
	ph[0].p_offset = text->sh_offset;
	ph[0].p_vaddr = ph[0].p_paddr = text->sh_addr;
	ph[0].p_filesz = ph[0].p_memsz = text->sh_size + l->sections[FRAMES].sh_size;
	ph[1].p_flags = PF_R | PF_W;
	ph[1].p_offset = counters->sh_offset;
	ph[1].p_vaddr = ph[1].p_paddr = counters->sh_addr;
	ph[1].p_filesz = ph[1].p_memsz = counters->sh_size;
	ph[0].p_align = ph[1].p_align = (ElfW(Xword))sysconf(_SC_PAGESIZE);
}

/*
 * The addresses in the file are those at which the process maps it, so the difference between them
 * is 0. The counters must lie in the file, and in a writable segment: the kernel finds them by
 * their file offset.
 */
bool image_make(const struct region *r, uintptr_t stubs, struct image *ret)
{
	struct bytes b = {0};
	struct layout l = {0};
	size_t sections_off;

	bytes_add(&b, NULL, page_up(sizeof(ElfW(Ehdr)) + 2 * sizeof(ElfW(Phdr))));
	*ret = (struct image){.stubs_off = b.len, .stubs_size = image_stubs_size(r->nslots)};
	stubs_add(&b, r->nslots);
	section_set(&l, TEXT, SHT_PROGBITS, ret->stubs_off, b.len - ret->stubs_off);
	section_set(&l, FRAMES, SHT_PROGBITS, b.len, FRAMES_SIZE);
	frames_add(&b, stubs, r->nslots);
	bytes_add(&b, NULL, page_up(b.len) - b.len);
	ret->counters_off = b.len;
	ret->counters_size = page_up(r->nslots * sizeof(usdt_probe_t));
	bytes_add(&b, NULL, ret->counters_size);
	section_set(&l, COUNTERS, SHT_PROGBITS, ret->counters_off, ret->counters_size);
	l.sections[TEXT].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	l.sections[TEXT].sh_addr = stubs;
	l.sections[FRAMES].sh_flags = SHF_ALLOC;
	l.sections[FRAMES].sh_addr = stubs + l.sections[TEXT].sh_size;
	l.sections[COUNTERS].sh_flags = SHF_ALLOC | SHF_WRITE;
	l.sections[COUNTERS].sh_addr = (uintptr_t)r->head + HALF;
	tables_add(&b, &l, r, stubs);
	sections_off = b.len;
	bytes_add(&b, l.sections, sizeof(l.sections));
	if (b.failed) {
		free(b.data);
		return false;
	}
	headers_set(&b, &l, sections_off);
	ret->data = b.data;
	ret->size = b.len;
	return true;
}
