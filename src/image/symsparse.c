/* SPDX-License-Identifier: MIT */
/* Sorts the addresses of symbols, and reads the symbols around one (symsparse.h). */
#include "image/symsparse.h"

#include "base/sorted.h"
#include "files/gate.h"

#define TABLE_MIN   4096u /* bytes of .symtab; of a smaller one, all is read */
#define TABLES_MAX  2u	  /* .symtab and .dynsym */
#define STUBS_MAX   4u	  /* sections of stubs */
#define FINDS_MAX   1000u
#define BLOCK	    65536u
#define ENTRY_BYTES sizeof(Elf64_Sym)
#define NAME_BYTES  256u /* that are read at once */
#define BELOW	    20u	 /* addresses below one that are looked at: more than LOOK_BACK */
#define TRIES	    256u /* of symbols, for these */
#define TABLE_BIT   31	 /* of sym_key.i: the table */

struct table {
	uint64_t at; /* offset in the file */
	uint32_t n;
	uint64_t names, names_size;
};

struct symsparse {
	struct gate_file *file;
	struct table tables[TABLES_MAX];
	uint32_t ntables;
	struct elf_range stubs[STUBS_MAX];
	uint32_t nstubs;
	elf_sections sections;
	struct sym_key *keys;
	uint32_t nkeys;
	VEC(struct elf_syms *) windows; /* one for each lookup */
};

/* ---- the file -------------------------------------------------------------------------------- */

static bool table_add(struct symsparse *s, const struct gate_elf *g, Elf_Scn *names,
		      const GElf_Shdr *sh)
{
	GElf_Shdr text;

	if (s->ntables == TABLES_MAX || sh->sh_entsize != ENTRY_BYTES ||
	    (sh->sh_flags & SHF_COMPRESSED) || sh->sh_size > g->limit || !names ||
	    !gelf_getshdr(names, &text) || text.sh_type != SHT_STRTAB ||
	    (text.sh_flags & SHF_COMPRESSED) || text.sh_size > g->limit)
		return false;
	s->tables[s->ntables++] =
		(struct table){sh->sh_offset, (uint32_t)(sh->sh_size / ENTRY_BYTES), text.sh_offset,
			       text.sh_size};
	return true;
}

/* False: the file is none for this. */
static bool tables_find(struct symsparse *s, struct gate_elf *g)
{
	bool is_large = false;
	Elf_Scn *scn = NULL;
	size_t names;
	GElf_Shdr sh;

	if (gelf_getclass(g->elf) != ELFCLASS64 || elf_getshdrstrndx(g->elf, &names))
		return false;
	while ((scn = elf_nextscn(g->elf, scn))) {
		const char *name = gelf_getshdr(scn, &sh) ? gate_text(g, names, sh.sh_name) : NULL;

		if (name && strcmp(name, ".gnu_debugdata") == 0)
			return false;
		if (name && strncmp(name, ".plt", 4) == 0 && (sh.sh_flags & SHF_EXECINSTR)) {
			if (s->nstubs == STUBS_MAX || sh.sh_size > UINT64_MAX - sh.sh_addr)
				return false;
			s->stubs[s->nstubs++] =
				(struct elf_range){sh.sh_addr, sh.sh_addr + sh.sh_size};
		}
		if (!name || (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM))
			continue;
		is_large |= sh.sh_type == SHT_SYMTAB && sh.sh_size >= TABLE_MIN;
		if (!table_add(s, g, elf_getscn(g->elf, sh.sh_link), &sh))
			return false;
	}
	return is_large;
}

/* Notes the addresses of a table; false: it cannot be read. */
static bool table_read(struct symsparse *s, uint32_t number, uint32_t *room)
{
	CLEANUP(free) char *block = xmalloc(BLOCK);
	const struct table *t = &s->tables[number];
	const uint32_t each = BLOCK / ENTRY_BYTES;

	for (uint32_t first = 0; first < t->n; first += each) {
		uint32_t n = MIN(each, t->n - first);
		size_t size = n * ENTRY_BYTES;

		if (gate_file_read(s->file, block, size, t->at + first * ENTRY_BYTES) !=
		    (ssize_t)size)
			return false;
		for (uint32_t i = 0; i < n && *room; i++) {
			enum elf_sym_kind kind;
			uint64_t end;
			GElf_Sym sym;

			memcpy(&sym, block + i * ENTRY_BYTES, sizeof(sym));
			if (!sym.st_name || !elf_sym_is_wanted(&s->sections, &sym, &kind, &end))
				continue;
			s->keys[s->nkeys++] =
				(struct sym_key){sym.st_value, number << TABLE_BIT | (first + i)};
			--*room;
		}
	}
	return true;
}
_Static_assert(sizeof(GElf_Sym) == ENTRY_BYTES, "symbols of 64 bits");

struct symsparse *symsparse_open(struct gate_elf *g, struct gate_file *file)
{
	struct symsparse *s = xcalloc(1, sizeof(*s));
	bool is_good = g->elf && file && tables_find(s, g);
	uint32_t room = 0;

	s->file = gate_file_share(file);
	for (uint32_t i = 0; is_good && i < s->ntables; i++)
		room += s->tables[i].n;
	if (is_good)
		elf_sections_read(g->elf, &s->sections);
	s->keys = xmalloc(((size_t)room + 1) * sizeof(*s->keys));
	for (uint32_t i = 0; is_good && i < s->ntables; i++)
		is_good = table_read(s, i, &room);
	if (!is_good) {
		symsparse_close(s);
		return NULL;
	}
	s->keys = elf_sym_keys_sort(s->keys, s->nkeys);
	return s;
}

void symsparse_close(struct symsparse *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->windows.len; i++)
		elf_syms_destroy(s->windows.data[i]);
	vec_deinit(&s->windows);
	vec_deinit(&s->sections);
	free(s->keys);
	gate_file_close(s->file);
	free(s);
}

/* ---- lookups --------------------------------------------------------------------------------- */

/* Reads a name; false: there is none, or one that is too long. */
static bool name_read(const struct symsparse *s, const struct table *t, uint32_t at, char **ret)
{
	size_t size = NAME_BYTES;

	for (; at < t->names_size && size <= 2 * GATE_NAME_MAX; size *= 16) {
		uint64_t n = MIN((uint64_t)size, t->names_size - at);
		CLEANUP(free) char *text = xmalloc((size_t)n + 1);

		if (gate_file_read(s->file, text, (size_t)n, t->names + at) != (ssize_t)n)
			return false;
		if (memchr(text, '\0', (size_t)n)) {
			*ret = text;
			text = NULL;
			return **ret;
		}
		if (n < size)
			return false;
	}
	return false;
}

/* Adds the symbol of a key to a window; false: it is none. */
static bool key_add(const struct symsparse *s, const struct sym_key *key, struct elf_syms *to)
{
	const struct table *t = &s->tables[key->i >> TABLE_BIT];
	uint32_t i = key->i & ~(1u << TABLE_BIT);
	CLEANUP(free) char *name = NULL;
	enum elf_sym_kind kind;
	uint64_t end;
	GElf_Sym sym;

	if (gate_file_read(s->file, &sym, sizeof(sym), t->at + i * ENTRY_BYTES) !=
		    (ssize_t)sizeof(sym) ||
	    sym.st_value != key->addr || !elf_sym_is_wanted(&s->sections, &sym, &kind, &end) ||
	    !name_read(s, t, sym.st_name, &name) || !elf_sym_name_is_wanted(name))
		return false;
	elf_syms_push(to, kind, GELF_ST_BIND(sym.st_info) == STB_LOCAL, sym.st_value, sym.st_size,
		      end, name);
	return true;
}

/* Returns the number of the first key above an address. */
static uint32_t key_above(const struct symsparse *s, uint64_t addr)
{
	return sorted_upto(s->keys, s->nkeys, addr, addr);
}

/* Reads the symbols at and below an address, and the first ones above it. */
static void window_read(const struct symsparse *s, uint64_t addr, struct elf_syms *to)
{
	uint32_t above = key_above(s, addr), n = 0, tries = 0;

	for (uint32_t i = above; i && n <= BELOW && tries < TRIES; i--, tries++)
		if (key_add(s, &s->keys[i - 1], to) && i > 1)
			n += s->keys[i - 2].addr != s->keys[i - 1].addr;
	tries = 0;
	for (uint32_t i = above; i < s->nkeys && tries < TRIES; i++, tries++)
		if (key_add(s, &s->keys[i], to))
			break;
	elf_syms_sort(to);
}

bool symsparse_find(struct symsparse *s, uint64_t addr, struct elf_range *ret_range,
		    const struct elf_sym **ret)
{
	struct elf_syms *window;

	if (s->windows.len == FINDS_MAX)
		return false;
	for (uint32_t i = 0; i < s->nstubs; i++)
		if (addr >= s->stubs[i].start && addr < s->stubs[i].end)
			return false;
	window = elf_syms_create();
	window_read(s, addr, window);
	vec_push(&s->windows, window);
	*ret = elf_syms_find_range(window, addr, ret_range);
	for (uint32_t i = 0; i < s->nstubs; i++) {
		if (s->stubs[i].end <= addr)
			ret_range->start = MAX(ret_range->start, s->stubs[i].end);
		else
			ret_range->end = MIN(ret_range->end, s->stubs[i].start);
	}
	return true;
}
