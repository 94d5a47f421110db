/* SPDX-License-Identifier: MIT */
/* Reads no more of foreign ELF files than the limit allows. */
#include "files/gate_impl.h"

/*
 * Programs have fewer than 65,536 sections; object files with a section for each function may have
 * more.
 */
#define SECTIONS_MAX 262144
#define SEGMENTS_MAX 65535

/* ---- headers -------------------------------------------------------------------------------- */

/*
 * Checks how many sections and segments a file claims, before libelf allocates memory for them:
 * libelf accepts as many as fit into the file, and a sparse file can be as large as it likes.
 * Numbers of more than 16 bits stand in the first section header.
 */
static bool are_counts_good(struct gate_file *f)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr narrow;
		Elf64_Ehdr wide;
	} eh = {0};
	union {
		Elf32_Shdr narrow;
		Elf64_Shdr wide;
	} first = {0};
	uint64_t nsections, nsegments, at;
	bool is_wide;

	if (gate_file_read(f, &eh, sizeof(eh), 0) < (ssize_t)sizeof(eh.narrow) ||
	    memcmp(eh.ident, ELFMAG, SELFMAG) != 0 || eh.ident[EI_DATA] != ELFDATA2LSB)
		return false;
	is_wide = eh.ident[EI_CLASS] == ELFCLASS64;
	nsections = is_wide ? eh.wide.e_shnum : eh.narrow.e_shnum;
	nsegments = is_wide ? eh.wide.e_phnum : eh.narrow.e_phnum;
	at = is_wide ? eh.wide.e_shoff : eh.narrow.e_shoff;
	if (at && (!nsections || nsegments == PN_XNUM)) {
		if (at > INT64_MAX ||
		    gate_file_read(f, &first, sizeof(first), at) < (ssize_t)sizeof(first.narrow))
			return false;
		if (!nsections)
			nsections = is_wide ? first.wide.sh_size : first.narrow.sh_size;
		if (nsegments == PN_XNUM)
			nsegments = is_wide ? first.wide.sh_info : first.narrow.sh_info;
	}
	if (nsections > SECTIONS_MAX || nsegments > SEGMENTS_MAX)
		return false;
	return gate_file_fetch(f, 0, sizeof(eh)) &&
	       gate_file_fetch(f, at,
			       nsections * (is_wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr))) &&
	       gate_file_fetch(f, is_wide ? eh.wide.e_phoff : eh.narrow.e_phoff,
			       nsegments * (is_wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)));
}

/* Gets the contents of a section, which may be large, from where the file is. */
static bool section_fetch(struct gate_elf *g, const GElf_Shdr *sh)
{
	return sh->sh_type == SHT_NOBITS || !g->file ||
	       gate_file_fetch(g->file, sh->sh_offset, sh->sh_size);
}

/*
 * False if the table of section names is too large or compressed. Nearly every reader asks libelf
 * for names of sections, so such a file counts as no ELF file.
 */
static bool has_good_names(struct gate_elf *g)
{
	GElf_Shdr sh;
	Elf_Scn *scn;
	size_t names;

	if (elf_kind(g->elf) != ELF_K_ELF)
		return false;
	if (elf_getshdrstrndx(g->elf, &names) != 0 || !names)
		return true;
	scn = elf_getscn(g->elf, names);
	if (!scn || !gelf_getshdr(scn, &sh))
		return true; /* sections without names are harmless */
	return sh.sh_size <= g->limit && !(sh.sh_flags & SHF_COMPRESSED) && section_fetch(g, &sh);
}

static void elf_take(struct gate_elf *g, struct gate_file *f, Elf *elf, uint64_t limit)
{
	*g = (struct gate_elf){.elf = elf, .file = f, .limit = limit};
	if (!elf && f)
		gate_file_unmap(f);
	if (!elf)
		g->file = NULL;
	else if (!has_good_names(g))
		gate_elf_close(g);
}

void gate_elf_open(struct gate_file *file, uint64_t limit, struct gate_elf *ret)
{
	Elf *elf = NULL;
	size_t size;
	char *image;

	(void)elf_version(EV_CURRENT);
	*ret = (struct gate_elf){.limit = limit};
	if (!file)
		return;
	image = gate_file_map(file, &size);
	if (are_counts_good(file))
		elf = image ? elf_memory(image, size)
			    : elf_begin(gate_file_fd(file), ELF_C_READ, NULL);
	elf_take(ret, file, elf, limit);
}

void gate_elf_memory(char *image, size_t size, uint64_t limit, struct gate_elf *ret)
{
	(void)elf_version(EV_CURRENT);
	elf_take(ret, NULL, elf_memory(image, size), limit);
}

void gate_elf_close(struct gate_elf *g)
{
	(void)elf_end(g->elf);
	if (g->file)
		gate_file_unmap(g->file);
	free(g->is_taken);
	g->is_taken = NULL;
	g->elf = NULL;
	g->file = NULL;
}

/* ---- contents ------------------------------------------------------------------------------- */

/*
 * Size of a section in the old form of compression (.zdebug_*), which begins with "ZLIB" and the
 * big-endian size.
 */
static uint64_t size_of_zdebug(Elf_Scn *scn)
{
	const Elf_Data *data = elf_rawdata(scn, NULL);
	const unsigned char *p = data ? data->d_buf : NULL;
	uint64_t size = 0;

	if (!p || data->d_size < 12)
		return 0;
	for (int i = 4; i < 12; i++)
		size = size << 8 | p[i];
	return size;
}

/*
 * The size of a section once it is decompressed; UINT64_MAX if that is unknown. If already the size
 * in the file exceeds max, that size is returned and nothing is read.
 */
static uint64_t size_of(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, uint64_t max)
{
	const char *name;
	GElf_Chdr ch;
	size_t names;

	if (sh->sh_type == SHT_NOBITS)
		return 0;
	if (sh->sh_size > max)
		return sh->sh_size;
	if (sh->sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(scn, &ch) ? MAX(ch.ch_size, sh->sh_size) : UINT64_MAX;
	if (sh->sh_flags & SHF_ALLOC || elf_getshdrstrndx(elf, &names) != 0 ||
	    names == elf_ndxscn(scn))
		return sh->sh_size;
	name = elf_strptr(elf, names, sh->sh_name);
	return name && strncmp(name, ".zdebug", 7) == 0 ? MAX(size_of_zdebug(scn), sh->sh_size)
							: sh->sh_size;
}

static uint64_t limit_of_all(const struct gate_elf *g)
{
	return g->limit > UINT64_MAX / GATE_DEBUG_FACTOR ? UINT64_MAX
							 : g->limit * GATE_DEBUG_FACTOR;
}

/* Counts a section that is asked for the first time; false: all of them would be too large. */
static bool section_take(struct gate_elf *g, Elf_Scn *scn, uint64_t size)
{
	size_t i = elf_ndxscn(scn);

	if (!g->is_taken) {
		if (elf_getshdrnum(g->elf, &g->nsections) != 0)
			return false;
		g->is_taken = xcalloc(g->nsections / 8 + 1, 1);
	}
	if (i >= g->nsections)
		return false;
	if (g->is_taken[i / 8] >> i % 8 & 1)
		return true;
	if (size > limit_of_all(g) - g->taken)
		return false;
	g->is_taken[i / 8] |= (uint8_t)(1u << i % 8);
	g->taken += size;
	return true;
}

/*
 * Returns the header of a section; false if the section has no contents, or more than the limits
 * allow.
 */
static bool is_readable(struct gate_elf *g, Elf_Scn *scn, GElf_Shdr *ret)
{
	uint64_t size;

	if (!scn || !gelf_getshdr(scn, ret) || ret->sh_type == SHT_NOBITS)
		return false;
	if (ret->sh_size <= g->limit && !section_fetch(g, ret))
		return false;
	size = size_of(g->elf, scn, ret, g->limit);
	if (size <= g->limit && section_take(g, scn, size))
		return true;
	g->is_cut = true;
	return false;
}

Elf_Data *gate_data(struct gate_elf *g, Elf_Scn *scn)
{
	GElf_Shdr sh;

	return is_readable(g, scn, &sh) ? elf_getdata(scn, NULL) : NULL;
}

Elf_Data *gate_raw_data(struct gate_elf *g, Elf_Scn *scn)
{
	GElf_Shdr sh;

	if (!is_readable(g, scn, &sh) ||
	    ((sh.sh_flags & SHF_COMPRESSED) && elf_compress(scn, 0, 0) < 0))
		return NULL;
	return elf_rawdata(scn, NULL);
}

const char *gate_text(struct gate_elf *g, size_t table, size_t off)
{
	GElf_Shdr sh;
	const char *text;

	if (!table)
		return NULL;
	if (table != g->checked_text) {
		if (!is_readable(g, elf_getscn(g->elf, table), &sh))
			return NULL;
		g->checked_text = table;
	}
	text = elf_strptr(g->elf, table, off);
	return text && strnlen(text, GATE_NAME_MAX) < GATE_NAME_MAX ? text : NULL;
}

bool gate_is_debug_small(struct gate_elf *g)
{
	uint64_t left = limit_of_all(g);
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while (g->elf && (scn = elf_nextscn(g->elf, scn))) {
		bool is_there = gelf_getshdr(scn, &sh) != NULL;
		uint64_t size;

		if (is_there && sh.sh_size <= left &&
		    (!(sh.sh_flags & SHF_ALLOC) || sh.sh_type == SHT_NOTE) &&
		    !section_fetch(g, &sh))
			return false;
		size = is_there ? size_of(g->elf, scn, &sh, left) : 0;
		if (size > left) {
			g->is_cut = true;
			return false;
		}
		left -= size;
	}
	return true;
}
