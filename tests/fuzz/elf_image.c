/* SPDX-License-Identifier: MIT */
/* ELF files of the grammar: headers, symbols, stubs, notes, links. */
#include <elf.h>
#include <lzma.h>
#include <zlib.h>

#include "base/vec.h"
#include "elf_make.h"

#define SECTIONS_MAX 32
#define NPHDRS	     2
#define GOT_ADDR     0x8000u

/* ---- sections ---------------------------------------------------------------------------------
 */

struct image {
	struct strbuf *out;
	size_t start; /* of the file in out */
	Elf64_Shdr sections[SECTIONS_MAX];
	uint32_t nsections;
	struct strbuf names;
	uint32_t code;	/* section number of .text */
	bool is_narrow; /* of 32 bits */
};

static uint64_t image_off(const struct image *m)
{
	return m->out->len - m->start;
}

/* Where the next section will lie in memory. */
static uint64_t image_next_addr(const struct image *m)
{
	return ROUND_UP(image_off(m), (uint64_t)16) + CODE_BIAS;
}

/* Appends a section and its bytes, which are taken; its number. */
static uint32_t section_add(struct image *m, const char *name, uint32_t type, uint64_t flags,
			    struct strbuf *data)
{
	Elf64_Shdr *sh = &m->sections[m->nsections];

	while (image_off(m) % 16)
		strbuf_addc(m->out, '\0');
	*sh = (Elf64_Shdr){
		.sh_name = (uint32_t)m->names.len,
		.sh_type = type,
		.sh_flags = flags,
		.sh_addr = flags & SHF_ALLOC ? image_off(m) + CODE_BIAS : 0,
		.sh_offset = image_off(m),
		.sh_size = data->len,
		.sh_addralign = 1,
	};
	bytes_put_name(&m->names, name);
	strbuf_add(m->out, strbuf_text(data), data->len);
	strbuf_deinit(data);
	return m->nsections++;
}

/* The same compressed, with the size that the tape gives now and then. */
static void section_add_packed(struct image *m, struct tape *t, const char *name,
			       struct strbuf *data)
{
	uLongf len = compressBound(data->len);
	CLEANUP(free) Bytef *packed = xmalloc(len);
	uint64_t claimed = data->len;
	struct strbuf all = {0};

	if (compress(packed, &len, (const Bytef *)strbuf_text(data), data->len) != Z_OK)
		BUG("zlib");
	if (tape_u8(t) % 4 == 3)
		claimed = tape_number(t);
	bytes_put(&all, ELFCOMPRESS_ZLIB, m->is_narrow ? 4 : 8);
	bytes_put(&all, claimed, m->is_narrow ? 4 : 8);
	bytes_put(&all, 1, m->is_narrow ? 4 : 8);
	strbuf_add(&all, (const char *)packed, len);
	strbuf_deinit(data);
	(void)section_add(m, name, SHT_PROGBITS, SHF_COMPRESSED, &all);
}

static void section_add_debug(struct image *m, struct tape *t, const char *name,
			      struct strbuf *data)
{
	if (tape_u8(t) % 8 == 7)
		section_add_packed(m, t, name, data);
	else
		(void)section_add(m, name, SHT_PROGBITS, 0, data);
}

static void code_add(struct image *m)
{
	struct strbuf code = {0};

	for (uint32_t i = 0; i < CODE_SIZE; i++)
		strbuf_addc(&code, (char)0x90);
	m->code = section_add(m, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, &code);
}

/* ---- symbols ----------------------------------------------------------------------------------
 */

static uint32_t symbol_size(const struct image *m)
{
	return m->is_narrow ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym);
}

static void symbol_put(const struct image *m, struct strbuf *table, const Elf64_Sym *s)
{
	const Elf32_Sym narrow = {s->st_name, (uint32_t)s->st_value, (uint32_t)s->st_size,
				  s->st_info, s->st_other,	     s->st_shndx};

	if (m->is_narrow)
		strbuf_add(table, (const char *)&narrow, sizeof(narrow));
	else
		strbuf_add(table, (const char *)s, sizeof(*s));
}

static void symbols_make(struct image *m, struct tape *t, struct strbuf *table,
			 struct strbuf *texts)
{
	uint32_t n = tape_u8(t) % 32;

	bytes_put(texts, 0, 1);
	for (uint32_t i = 0; i < symbol_size(m); i += 8)
		bytes_put(table, 0, 8);
	for (uint32_t i = 0; i < n; i++) {
		static const uint8_t kinds[] = {STT_FUNC,   STT_GNU_IFUNC, STT_OBJECT,
						STT_NOTYPE, STT_FILE,	   STT_FUNC};
		uint8_t how = tape_u8(t);
		Elf64_Sym sym = {
			.st_name = (uint32_t)(how % 16 == 15 ? tape_number(t) : texts->len),
			.st_info = ELF64_ST_INFO(how / 64, kinds[how % ARRAY_LEN(kinds)]),
			.st_shndx = (uint16_t)(how % 8 == 7 ? tape_number(t) : m->code),
			.st_value = CODE_ADDR + tape_u16(t) % CODE_SIZE,
			.st_size = how % 5 == 4 ? tape_number(t) : tape_u8(t),
		};

		bytes_put_name(texts, tape_name(t));
		symbol_put(m, table, &sym);
	}
}

/* Symbols and their strings; the number of the symbols' section. */
static uint32_t symbols_add(struct image *m, struct tape *t, bool is_dynamic)
{
	struct strbuf table = {0}, texts = {0};
	uint64_t flags = is_dynamic ? SHF_ALLOC : 0;
	uint32_t n;

	symbols_make(m, t, &table, &texts);
	n = section_add(m, is_dynamic ? ".dynsym" : ".symtab", is_dynamic ? SHT_DYNSYM : SHT_SYMTAB,
			flags, &table);
	m->sections[n].sh_entsize = symbol_size(m);
	m->sections[n].sh_link =
		section_add(m, is_dynamic ? ".dynstr" : ".strtab", SHT_STRTAB, flags, &texts);
	return n;
}

static void versions_add(struct image *m, struct tape *t, uint32_t symbols)
{
	struct strbuf versions = {0};
	uint32_t n = tape_u8(t) % 40, scn;

	for (uint32_t i = 0; i < n; i++)
		bytes_put(&versions, tape_u8(t) % 2 ? 0x8002 : 2, 2);
	scn = section_add(m, ".gnu.version", SHT_GNU_versym, SHF_ALLOC, &versions);
	m->sections[scn].sh_link = symbols;
	m->sections[scn].sh_entsize = 2;
}

static void relocations_add(struct image *m, struct tape *t, uint32_t symbols)
{
	static const uint32_t types[] = {R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_IRELATIVE,
					 R_X86_64_64};
	static const uint8_t narrow[] = {R_386_JMP_SLOT, R_386_GLOB_DAT, R_386_IRELATIVE, R_386_32};
	struct strbuf table = {0};
	uint32_t n = tape_u8(t) % 32, scn;

	for (uint32_t i = 0; i < n; i++) {
		uint8_t how = tape_u8(t);
		uint64_t sym = how % 16 == 15 ? tape_number(t) : tape_u8(t) % 32u;

		bytes_put(&table, how % 8 == 7 ? tape_number(t) : GOT_ADDR + 8 * i,
			  m->is_narrow ? 4 : 8);
		if (m->is_narrow) {
			bytes_put(&table, sym << 8 | narrow[how / 16 % ARRAY_LEN(narrow)], 4);
			continue;
		}
		bytes_put(&table, sym << 32 | types[how / 16 % ARRAY_LEN(types)], 8);
		bytes_put(&table, CODE_ADDR + tape_u8(t), 8);
	}
	scn = m->is_narrow ? section_add(m, ".rel.plt", SHT_REL, SHF_ALLOC, &table)
			   : section_add(m, ".rela.plt", SHT_RELA, SHF_ALLOC, &table);
	m->sections[scn].sh_link = symbols;
	m->sections[scn].sh_entsize = m->is_narrow ? sizeof(Elf32_Rel) : sizeof(Elf64_Rela);
}

/* Stubs that jump through the words that relocations_add() names. */
static void stubs_add(struct image *m, struct tape *t, const char *name, uint32_t size)
{
	uint64_t addr = image_next_addr(m);
	uint32_t n = tape_u8(t) % 16;
	struct strbuf code = {0};

	for (uint32_t i = 0; i < n; i++) {
		size_t end = code.len + size;
		uint8_t how = tape_u8(t);

		if (how % 4 == 0 && size == 16)
			bytes_put(&code, 0xf2fa1e0ff3, 5);
		bytes_put(&code, 0x25ff, 2);
		bytes_put(&code,
			  GOT_ADDR + 8 * (how / 4 % 32u) - (m->is_narrow ? 0 : addr + code.len + 4),
			  4);
		while (code.len < end)
			strbuf_addc(&code, (char)0x66);
	}
	(void)section_add(m, name, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, &code);
}

static void dynamic_add(struct image *m, struct tape *t)
{
	uint32_t symbols = symbols_add(m, t, true);

	versions_add(m, t, symbols);
	relocations_add(m, t, symbols);
	stubs_add(m, t, ".plt", 16);
	stubs_add(m, t, ".plt.sec", 16);
	stubs_add(m, t, ".plt.got", 8);
}

/* ---- what else a file says of itself -----------------------------------------------------------
 */

static void minidebug_add(struct image *m, struct tape *t)
{
	struct strbuf inner = {0}, packed = {0};
	uint8_t how = tape_u8(t);
	CLEANUP(free) uint8_t *out = NULL;
	size_t len = 0, bound;

	elf_make(t, how & (KIT_SYMTAB | KIT_DYNSYM), &inner);
	for (uint32_t i = 0; how % 8 == 7 && i < 1 << 17; i++) /* what is small and becomes large */
		strbuf_addc(&inner, '\0');
	bound = lzma_stream_buffer_bound(inner.len);
	out = xmalloc(bound);
	if (lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, (const uint8_t *)inner.data,
				    inner.len, out, &len, bound) != LZMA_OK)
		BUG("xz");
	strbuf_add(&packed, (const char *)out, how % 8 == 5 ? MIN(len, tape_u16(t)) : len);
	if (how % 8 == 6)
		bytes_patch(&packed, tape_u16(t) % len, tape_u8(t), 1);
	strbuf_deinit(&inner);
	(void)section_add(m, ".gnu_debugdata", SHT_PROGBITS, 0, &packed);
}

static void note_add(struct image *m, struct tape *t)
{
	uint8_t how = tape_u8(t);
	uint32_t len = how % 8 == 7 ? (uint32_t)tape_number(t) : how % 24;
	struct strbuf note = {0};

	bytes_put(&note, how % 16 == 8 ? tape_number(t) : 4, 4);
	bytes_put(&note, len, 4);
	bytes_put(&note, 3, 4); /* NT_GNU_BUILD_ID */
	bytes_put_name(&note, "GNU");
	for (uint32_t i = 0; i < len && i < 100; i++)
		bytes_put(&note, 0x11, 1);
	(void)section_add(m, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, &note);
}

static void links_add(struct image *m, struct tape *t)
{
	struct strbuf link = {0}, alt = {0};
	uint8_t how = tape_u8(t);

	if (how & 1)
		note_add(m, t);
	strbuf_add(&link, DEBUG_LINK "\0\0\0", ROUND_UP(sizeof(DEBUG_LINK), (size_t)4));
	bytes_put(&link, tape_u8(t) % 2 ? 0 : tape_number(t), how & 2 ? 3 : 4);
	(void)section_add(m, ".gnu_debuglink", SHT_PROGBITS, 0, &link);
	strbuf_add(&alt, ALT_LINK, how & 4 ? sizeof(ALT_LINK) - 1 : sizeof(ALT_LINK));
	for (uint32_t i = 0; i < how / 8; i++)
		bytes_put(&alt, 0x22, 1);
	(void)section_add(m, ".gnu_debugaltlink", SHT_PROGBITS, 0, &alt);
}

static void go_add(struct image *m, struct tape *t)
{
	static const char *const versions[] = {"go1.19.8", "devel go1.22-1a2b3c", "go1.16", "go1.",
					       "go2",	   "go1.99999999999"};
	uint8_t how = tape_u8(t);
	const char *version = versions[how / 16 % ARRAY_LEN(versions)];
	uint64_t addr = image_next_addr(m);
	struct strbuf info = {0};

	strbuf_adds(&info, "\xff Go buildinf:");
	bytes_put(&info, how % 8 == 7 ? 4 : 8, 1);
	bytes_put(&info, how & 1 ? 2 : 0, 1);
	if (how & 1) { /* the text stands behind the head */
		bytes_put(&info, 0, 8);
		bytes_put(&info, 0, 8);
		bytes_put(&info, how % 16 == 15 ? tape_u8(t) : strlen(version), 1);
	} else { /* the address of a string: its bytes, their number */
		bytes_put(&info, how % 8 == 6 ? tape_number(t) : addr + 32, 8);
		bytes_put(&info, 0, 8);
		bytes_put(&info, how % 8 == 4 ? tape_number(t) : addr + 48, 8);
		bytes_put(&info, how % 8 == 2 ? tape_number(t) : strlen(version), 8);
	}
	bytes_put_name(&info, version);
	(void)section_add(m, ".go.buildinfo", SHT_PROGBITS, SHF_ALLOC, &info);
}

static void dwarf_add(struct image *m, struct tape *t)
{
	struct tape sizes = tape_cut(t);
	struct dwarf_sections d = {0};

	dwarf_make(t, m->is_narrow ? 4 : 8, &d);
	section_add_debug(m, &sizes, ".debug_info", &d.info);
	section_add_debug(m, &sizes, ".debug_abbrev", &d.abbrev);
	section_add_debug(m, &sizes, ".debug_str", &d.str);
	section_add_debug(m, &sizes, ".debug_line", &d.line);
	section_add_debug(m, &sizes, ".debug_loc", &d.loc);
	section_add_debug(m, &sizes, ".debug_loclists", &d.loclists);
	section_add_debug(m, &sizes, ".debug_ranges", &d.ranges);
	section_add_debug(m, &sizes, ".debug_rnglists", &d.rnglists);
	section_add_debug(m, &sizes, ".debug_addr", &d.addr);
	section_add_debug(m, &sizes, ".debug_str_offsets", &d.str_offsets);
	section_add_debug(m, &sizes, ".debug_line_str", &d.line_str);
}

/* ---- the file ---------------------------------------------------------------------------------
 */

/* The sorted table of the entries of .eh_frame at `addr`, or what the tape has in its place. */
static void frames_table_add(struct image *m, struct tape *t, uint64_t addr,
			     const struct strbuf *frames)
{
	struct strbuf table = {0};
	uint64_t own = image_next_addr(m);
	uint32_t n = tape_u8(t) % 16, pc = (uint32_t)m->sections[m->code].sh_addr, len;
	size_t at = 0;

	bytes_put(&table, 1, 1);
	bytes_put(&table, 0x1b, 1);			   /* relative to the place, 4 bytes */
	bytes_put(&table, 3, 1);			   /* 4 bytes */
	bytes_put(&table, n == 15 ? tape_u8(t) : 0x3b, 1); /* relative to this section, 4 bytes */
	bytes_put(&table, addr - own - 4, 4);
	bytes_put(&table, n == 14 ? tape_number(t) : n, 4);
	for (uint32_t i = 0; i < n; i++) {
		pc = n == 13 ? (uint32_t)tape_number(t) : pc + tape_u8(t) * 8;
		bytes_put(&table, pc - own, 4);
		bytes_put(&table, addr + (n == 12 ? tape_number(t) : at) - own, 4);
		if (frames->len - at < sizeof(len))
			continue;
		memcpy(&len, frames->data + at, sizeof(len));
		at += MIN((size_t)len + sizeof(len), frames->len - at);
	}
	(void)section_add(m, ".eh_frame_hdr", SHT_PROGBITS, SHF_ALLOC, &table);
}

static void frames_add(struct image *m, struct tape *t, bool is_debug)
{
	struct strbuf frames = {0};
	struct tape own = tape_cut(t);
	uint64_t addr = is_debug ? 0 : image_next_addr(m);
	struct strbuf kept = {0};

	frames_make(&own, addr, is_debug, &frames);
	if (is_debug) {
		section_add_debug(m, t, ".debug_frame", &frames);
		return;
	}
	strbuf_add(&kept, strbuf_text(&frames), frames.len);
	(void)section_add(m, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, &frames);
	frames_table_add(m, &own, addr, &kept);
	strbuf_deinit(&kept);
}

/* Where a field stands in a header, and its size. */
struct field {
	uint8_t off, size;
};

/* One field of a header gets another value. The layout of all three is in the gABI. */
static void lie_tell(struct image *m, struct tape *t, size_t headers)
{
	static const struct field fields[2][3][11] =
		{{{{4, 1},
		   {5, 1},
		   {16, 2},
		   {18, 2},
		   {32, 8},
		   {40, 8},
		   {54, 2},
		   {56, 2},
		   {58, 2},
		   {60, 2},
		   {62, 2}},
		  {{0, 4}, {4, 4}, {8, 8}, {16, 8}, {32, 8}, {40, 8}},
		  {{0, 4},
		   {4, 4},
		   {8, 8},
		   {16, 8},
		   {24, 8},
		   {32, 8},
		   {40, 4},
		   {44, 4},
		   {48, 8},
		   {56, 8}}},
		 {{{4, 1},
		   {5, 1},
		   {16, 2},
		   {18, 2},
		   {28, 4},
		   {32, 4},
		   {42, 2},
		   {44, 2},
		   {46, 2},
		   {48, 2},
		   {50, 2}},
		  {{0, 4}, {4, 4}, {8, 4}, {16, 4}, {20, 4}, {24, 4}},
		  {{0, 4},
		   {4, 4},
		   {8, 4},
		   {12, 4},
		   {16, 4},
		   {20, 4},
		   {24, 4},
		   {28, 4},
		   {32, 4},
		   {36, 4}}}};
	static const uint8_t numbers[3] = {11, 6, 10};
	uint8_t how = tape_u8(t), which = tape_u8(t);
	uint32_t of = how % 16 == 15 ? 0 : how % 16 == 14 ? 1 : 2;
	struct field field = fields[m->is_narrow][of][which % numbers[of]];
	size_t off = m->start;

	if (of == 1)
		off += m->is_narrow ? sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr) * (how / 16 % NPHDRS)
				    : sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) * (how / 16 % NPHDRS);
	if (of == 2)
		off += headers + (m->is_narrow ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr)) *
					 (how % m->nsections);
	bytes_patch(m->out, off + field.off, tape_number(t), field.size);
}

static void sections_write(struct image *m)
{
	for (uint32_t i = 0; i < m->nsections; i++) {
		const Elf64_Shdr *sh = &m->sections[i];
		const Elf32_Shdr narrow = {
			sh->sh_name,
			sh->sh_type,
			(uint32_t)sh->sh_flags,
			(uint32_t)sh->sh_addr,
			(uint32_t)sh->sh_offset,
			(uint32_t)sh->sh_size,
			sh->sh_link,
			sh->sh_info,
			(uint32_t)sh->sh_addralign,
			(uint32_t)sh->sh_entsize,
		};

		if (m->is_narrow)
			strbuf_add(m->out, (const char *)&narrow, sizeof(narrow));
		else
			strbuf_add(m->out, (const char *)sh, sizeof(*sh));
	}
}

/* Of a file of 32 bits. */
static void headers_write_narrow(struct image *m, uint32_t headers)
{
	const Elf32_Ehdr eh = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_386,
		.e_version = EV_CURRENT,
		.e_entry = CODE_ADDR,
		.e_phoff = sizeof(eh),
		.e_shoff = headers,
		.e_ehsize = sizeof(eh),
		.e_phentsize = sizeof(Elf32_Phdr),
		.e_phnum = NPHDRS,
		.e_shentsize = sizeof(Elf32_Shdr),
		.e_shnum = (uint16_t)m->nsections,
		.e_shstrndx = (uint16_t)(m->nsections - 1),
	};
	const Elf32_Phdr ph[NPHDRS] = {
		{PT_LOAD, 0, CODE_BIAS, CODE_BIAS, headers, headers, PF_R | PF_X, 0x1000},
		{PT_LOAD, 0, 0x200000, 0x200000, headers, headers * 2, PF_R | PF_W, 0x1000},
	};

	memcpy(m->out->data + m->start, &eh, sizeof(eh));
	memcpy(m->out->data + m->start + sizeof(eh), ph, sizeof(ph));
}

static void headers_write(struct image *m, size_t headers)
{
	const Elf64_Ehdr eh = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_entry = CODE_ADDR,
		.e_phoff = sizeof(eh),
		.e_shoff = headers,
		.e_ehsize = sizeof(eh),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = NPHDRS,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)m->nsections,
		.e_shstrndx = (uint16_t)(m->nsections - 1),
	};
	const Elf64_Phdr ph[NPHDRS] = {
		{PT_LOAD, PF_R | PF_X, 0, CODE_BIAS, CODE_BIAS, headers, headers, 0x1000},
		{PT_LOAD, PF_R | PF_W, 0, 0x200000, 0x200000, headers, headers * 2, 0x1000},
	};

	memcpy(m->out->data + m->start, &eh, sizeof(eh));
	memcpy(m->out->data + m->start + sizeof(eh), ph, sizeof(ph));
}

static void parts_add(struct image *m, struct tape *t, uint32_t kit)
{
	static const struct {
		enum kit kit;
		void (*add)(struct image *m, struct tape *t);
	} parts[] = {
		{KIT_DYNSYM, dynamic_add},
		{KIT_MINIDEBUG, minidebug_add},
		{KIT_LINKS, links_add},
		{KIT_GO, go_add},
	};

	code_add(m);
	if (kit & KIT_SYMTAB) {
		struct tape own = tape_cut(t);

		(void)symbols_add(m, &own, false);
	}
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (kit & parts[i].kit) {
			struct tape own = tape_cut(t);

			parts[i].add(m, &own);
		}
	if (kit & KIT_EH_FRAME)
		frames_add(m, t, false);
	if (kit & KIT_DEBUG_FRAME)
		frames_add(m, t, true);
	if (kit & KIT_DWARF)
		dwarf_add(m, t); /* the rest of the tape is its own */
}

void elf_make(struct tape *t, uint32_t kit, struct strbuf *out)
{
	struct image m = {.out = out, .start = out->len, .nsections = 1};
	uint8_t nlies = tape_u8(t);
	struct tape lies = tape_cut(t);
	struct strbuf names = {0};
	size_t headers;

	m.is_narrow = nlies / 8 % 4 == 1;
	while (image_off(&m) < CODE_ADDR - CODE_BIAS)
		strbuf_addc(out, '\0');
	strbuf_addc(&m.names, '\0');
	parts_add(&m, t, kit);
	bytes_put_name(&m.names, ".shstrtab");
	strbuf_add(&names, m.names.data, m.names.len);
	(void)section_add(&m, "", SHT_STRTAB, 0, &names);
	m.sections[m.nsections - 1].sh_name =
		(uint32_t)(m.sections[m.nsections - 1].sh_name - sizeof(".shstrtab"));
	while (image_off(&m) % 8)
		strbuf_addc(out, '\0');
	headers = image_off(&m);
	sections_write(&m);
	if (m.is_narrow)
		headers_write_narrow(&m, (uint32_t)headers);
	else
		headers_write(&m, headers);
	for (uint8_t i = 0; nlies % 8 == 7 && i <= nlies / 64;
	     i++) /* most files are honest: a lie hides what is behind */
		lie_tell(&m, &lies, headers);
	strbuf_deinit(&m.names);
}
