/* SPDX-License-Identifier: MIT */
/* The symbols of an ELF file, read with libelf. */
#include "image/elfsym.h"

#include "base/sorted.h"
#include "base/str.h"
#include "base/text.h"
#include "image/elfplt.h"
#include "files/gate.h"
#include "image/minidebug.h"
#include "image/symsparse.h"
#include "image/symtab.h"

/* A lookup tries so many symbols below an address, because functions may contain others. */
#define LOOK_BACK 16

#define DIGIT_BITS 11 /* of a radix sort */

#define NAMES_MIN 512 /* blocks of names, in bytes */
#define NAMES_MAX 65536

/* ---- one symbol ----------------------------------------------------------------------------- */

#define PART 128 /* symbols that are read between two calls of struct image_pause */

/*
 * Returns the rank of a name among those of one address, by the rules for the canonical name
 * (providers.md 19.3); the last rules, size and alphabet, are in sym_compare(). glibc puts "__GI_"
 * before names for its internal use.
 */
static uint32_t rank_of(enum elf_sym_kind kind, bool is_local, const char *name)
{
	static const uint32_t of_kind[] = {
		[ELF_SYM_FUNC] = 0,   [ELF_SYM_IFUNC] = 0, [ELF_SYM_STUB] = 1,
		[ELF_SYM_OBJECT] = 2, [ELF_SYM_LABEL] = 3,
	};

	bool is_internal = name[0] == '$' || strncmp(name, "__GI_", 5) == 0;

	return of_kind[kind] << 16 | (uint32_t)is_local << 15 | (uint32_t)is_internal << 14 |
	       (uint32_t)MIN(strspn(name, "_"), 255u);
}

/*
 * Charges for a symbol. Names may overlap in a hostile file, so that their copies take more memory
 * than the file has.
 */
static bool has_room(struct elf_syms *s, const char *name)
{
	uint64_t size = sizeof(struct elf_sym) + strlen(name) + 1;

	if (size > s->room) {
		s->is_cut = true;
		return false;
	}
	s->room -= size;
	return true;
}

/* Names are packed: they are half of what a table takes. */
static char *name_copy(struct elf_syms *s, const char *name)
{
	size_t size = strlen(name) + 1;
	char *copy;

	if (size > s->names_left) {
		s->names_block = MAX(MIN(2 * s->names_block, (size_t)NAMES_MAX), (size_t)NAMES_MIN);
		s->names_left = MAX(s->names_block, size);
		s->names_at = arena_alloc(s->names, s->names_left);
	}
	copy = memcpy(s->names_at, name, size);
	s->names_at += size;
	s->names_left -= size;
	return copy;
}

void elf_syms_push(struct elf_syms *s, enum elf_sym_kind kind, bool is_local, uint64_t addr,
		   uint64_t size, uint64_t end, const char *name)
{
	char *copy;

	if (!has_room(s, name))
		return;
	copy = text_clean(name_copy(s, name));
	vec_push(&s->syms, (struct elf_sym){
				   .addr = addr,
				   .size = size,
				   .end = size && size <= UINT64_MAX - addr ? addr + size : end,
				   .name = copy,
				   .kind = kind,
				   .rank = rank_of(kind, is_local, copy),
			   });
}

static bool kind_of(const GElf_Sym *sym, enum elf_sym_kind *ret_kind)
{
	switch (GELF_ST_TYPE(sym->st_info)) {
	case STT_FUNC: *ret_kind = ELF_SYM_FUNC; return true;
	case STT_GNU_IFUNC: *ret_kind = ELF_SYM_IFUNC; return true;
	case STT_OBJECT: *ret_kind = ELF_SYM_OBJECT; return true;
	case STT_NOTYPE: *ret_kind = ELF_SYM_LABEL; return true;
	default: return false; /* sections, files, thread-local variables */
	}
}

bool elf_sym_name_is_wanted(const char *name)
{
	return *name && !(name[0] == '.' && name[1] == 'L');
}

/* ---- tables --------------------------------------------------------------------------------- */

void elf_sections_read(Elf *elf, elf_sections *ret)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	vec_push(ret, (struct elf_section){0});
	while ((scn = elf_nextscn(elf, scn))) {
		struct elf_section s = {0};

		if (gelf_getshdr(scn, &sh) && (sh.sh_flags & SHF_ALLOC) &&
		    sh.sh_size <= UINT64_MAX - sh.sh_addr)
			s = (struct elf_section){sh.sh_addr, sh.sh_addr + sh.sh_size};
		vec_push(ret, s);
	}
}

bool elf_sym_is_wanted(const elf_sections *sections, const GElf_Sym *sym,
		       enum elf_sym_kind *ret_kind, uint64_t *ret_end)
{
	*ret_end = sym->st_value;
	if (!sym->st_value || sym->st_shndx == SHN_UNDEF || !kind_of(sym, ret_kind))
		return false;
	if (sym->st_shndx < sections->len)
		*ret_end = sections->data[sym->st_shndx].end;
	else if (!sym->st_size)
		return false; /* a constant, not an address */
	return *ret_end;
}

static void add_symbol(struct elf_syms *s, const elf_sections *sections, const GElf_Sym *sym,
		       const char *name)
{
	enum elf_sym_kind kind;
	uint64_t end;

	if (name && elf_sym_name_is_wanted(name) && elf_sym_is_wanted(sections, sym, &kind, &end))
		elf_syms_push(s, kind, GELF_ST_BIND(sym->st_info) == STB_LOCAL, sym->st_value,
			      sym->st_size, end, name);
}

static void read_tables(struct elf_syms *s, struct gate_elf *g, const struct image_pause *pause)
{
	struct symtab t = symtab_begin(g, SYMTAB_ALL);
	elf_sections sections = {0};
	uint32_t n = 0;

	elf_sections_read(g->elf, &sections);
	while (symtab_next(&t)) {
		add_symbol(s, &sections, &t.sym, symtab_name(&t));
		if (++n % PART == 0)
			image_pause_run(pause);
	}
	s->has_symtab |= t.has_static;
	vec_deinit(&sections);
}

/*
 * Reads the symbols in .gnu_debugdata. has_symtab is left as it was: the section has no types and
 * only names of functions, so a separate debug file is searched for all the same.
 */
static void read_minidebug(struct elf_syms *s, struct gate_elf *g, const struct image_pause *pause)
{
	bool has_symtab = s->has_symtab;
	size_t size = 0;
	CLEANUP(free) char *image = minidebug_unpack(g, &size);
	struct gate_elf inner;

	if (!image)
		return;
	gate_elf_memory(image, size, g->limit, &inner);
	if (inner.elf)
		read_tables(s, &inner, pause);
	s->is_cut |= inner.is_cut;
	gate_elf_close(&inner);
	s->has_symtab = has_symtab;
}

/* ---- the table ------------------------------------------------------------------------------ */

/* Returns which of two symbols of one address has the canonical name: < 0: a. */
static int sym_compare(const struct elf_sym *a, const struct elf_sym *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->size != b->size && (!a->size || !b->size))
		return a->size ? -1 : 1; /* a symbol with a size comes first */
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return strcmp(a->name, b->name);
}

/*
 * Takes the size of an alias over if the alias has a larger one: symbols of assembler code may have
 * none.
 */
static void merge_alias(struct elf_sym *to, const struct elf_sym *alias)
{
	if (to->size >= alias->size)
		return;
	to->size = alias->size;
	to->end = alias->end;
}

static bool syms_ascend(const struct elf_syms *s)
{
	for (uint32_t i = 1; i < s->syms.len; i++)
		if (s->syms.data[i - 1].addr >= s->syms.data[i].addr)
			return false;
	return true;
}

/* One pass of a radix sort, by DIGIT_BITS bits of the addresses. */
static void keys_pass(const struct sym_key *from, struct sym_key *to, uint32_t n, uint32_t shift)
{
	uint32_t starts[1u << DIGIT_BITS] = {0}, sum = 0;
	const uint64_t mask = (1u << DIGIT_BITS) - 1;

	for (uint32_t i = 0; i < n; i++)
		starts[from[i].addr >> shift & mask]++;
	for (size_t k = 0; k < ARRAY_LEN(starts); k++) {
		uint32_t count = starts[k];

		starts[k] = sum;
		sum += count;
	}
	for (uint32_t i = 0; i < n; i++)
		to[starts[from[i].addr >> shift & mask]++] = from[i];
}

/*
 * A large program has half a million symbols: to compare each with nineteen others takes longer
 * than to read them.
 */
struct sym_key *elf_sym_keys_sort(struct sym_key *keys, uint32_t n)
{
	CLEANUP(free) struct sym_key *other = xmalloc(MAX(n, 1u) * sizeof(*other));
	uint64_t differ = 0;

	for (uint32_t i = 0; i < n; i++)
		differ |= keys[i].addr ^ keys[0].addr;
	for (uint32_t shift = 0; shift < 64; shift += DIGIT_BITS) {
		struct sym_key *swap = keys;

		if (!(differ >> shift & ((1u << DIGIT_BITS) - 1)))
			continue;
		keys_pass(keys, other, n, shift);
		keys = other;
		other = swap;
	}
	return keys;
}

/* Returns the number of the first key behind those of the same address. */
static uint32_t aliases_end(const struct elf_syms *s, const struct sym_key *keys, uint32_t first)
{
	uint32_t end = first + 1;

	while (end < s->syms.len && keys[end].addr == keys[first].addr)
		end++;
	return end;
}

/* Returns the symbol for an address that has these names. */
static struct elf_sym aliases_join(const struct elf_syms *s, const struct sym_key *keys,
				   uint32_t first, uint32_t end)
{
	uint32_t best = keys[first].i;
	struct elf_sym sym;

	for (uint32_t i = first + 1; i < end; i++)
		if (sym_compare(&s->syms.data[keys[i].i], &s->syms.data[best]) < 0)
			best = keys[i].i;
	sym = s->syms.data[best];
	for (uint32_t i = first; i < end; i++)
		merge_alias(&sym, &s->syms.data[keys[i].i]);
	return sym;
}

void elf_syms_sort(struct elf_syms *s)
{
	CLEANUP(free) struct sym_key *keys = NULL;
	struct elf_sym *sorted;
	uint32_t n = 0;

	if (syms_ascend(s))
		return;
	keys = xmalloc(s->syms.len * sizeof(*keys));
	for (uint32_t i = 0; i < s->syms.len; i++)
		keys[i] = (struct sym_key){s->syms.data[i].addr, i};
	keys = elf_sym_keys_sort(keys, s->syms.len);
	sorted = xmalloc(s->syms.len * sizeof(*sorted));
	for (uint32_t i = 0, end; i < s->syms.len; i = end) {
		end = aliases_end(s, keys, i);
		sorted[n++] = aliases_join(s, keys, i, end);
	}
	free(s->syms.data);
	s->syms.data = sorted;
	s->syms.cap = s->syms.len;
	s->syms.len = n;
}

/* Gives back what the table has grown to while it was read. */
static void syms_fit(struct elf_syms *s)
{
	uint32_t n = s->syms.len;

	if (n == s->syms.cap)
		return;
	s->syms.data = xrealloc(s->syms.data, MAX(n, 1u) * sizeof(*s->syms.data));
	s->syms.cap = MAX(n, 1u);
}

struct elf_syms *elf_syms_create(void)
{
	struct elf_syms *s = xcalloc(1, sizeof(*s));

	s->names = arena_create();
	s->room = GATE_LIMIT_DEFAULT;
	return s;
}

/*
 * Reads the symbols of an ELF file and closes g. pause may be NULL; file: NULL, or where symbols
 * may be looked up later.
 */
static struct elf_syms *read_elf(struct gate_elf *g, struct gate_file *file,
				 const struct image_pause *pause)
{
	struct elf_syms *s = elf_syms_create();

	s->room = g->limit;
	segments_read(&s->segments, g->elf);
	build_mark_read(&s->mark, g);
	if (file)
		s->sparse = symsparse_open(g, file);
	s->has_symtab = s->sparse;
	if (g->elf && !s->sparse) {
		read_tables(s, g, pause);
		read_minidebug(s, g, pause);
		elf_syms_sort(s);
		image_pause_run(pause);
		elf_plt_read(s, g); /* needs the sorted table for names of resolvers */
		elf_syms_sort(s);
		syms_fit(s);
	}
	s->is_cut |= g->is_cut;
	gate_elf_close(g);
	return s;
}

struct elf_syms *elf_syms_read(struct gate_file *file, uint64_t limit,
			       const struct image_pause *pause)
{
	struct gate_elf g;

	gate_elf_open(file, limit, &g);
	return read_elf(&g, NULL, pause);
}

struct elf_syms *elf_syms_read_sparse(struct gate_file *file, uint64_t limit,
				      const struct image_pause *pause)
{
	struct elf_syms *s;
	struct gate_elf g;

	gate_elf_open(file, limit, &g);
	s = read_elf(&g, file, pause);
	s->file = s->sparse ? gate_file_share(file) : NULL;
	s->room = limit;
	return s;
}

void elf_syms_fill(struct elf_syms *s)
{
	struct elf_syms *all;

	if (!s->sparse || s->is_filled)
		return;
	all = elf_syms_read(s->file, s->room, NULL);
	s->syms.data = all->syms.data;
	s->syms.len = all->syms.len;
	s->syms.cap = all->syms.cap;
	arena_destroy(s->names);
	s->names = all->names;
	s->is_cut = all->is_cut;
	all->syms.data = NULL;
	all->syms.len = all->syms.cap = 0;
	all->names = NULL;
	elf_syms_destroy(all);
	s->is_filled = true;
}

struct elf_syms *elf_syms_read_memory(const void *image, size_t size)
{
	CLEANUP(free) char *copy = xmalloc(MAX(size, 1u)); /* libelf writes to the image */
	struct gate_elf g;

	if (size)
		memcpy(copy, image, size);
	gate_elf_memory(copy, size, GATE_LIMIT_DEFAULT, &g);
	return read_elf(&g, NULL, NULL);
}

bool elf_syms_add(struct elf_syms *s, struct gate_file *file, uint64_t limit,
		  const struct image_pause *pause)
{
	struct elf_syms *d = elf_syms_read(file, limit, pause);
	bool good = build_id_equal(&s->mark.id, &d->mark.id) && d->syms.len;

	for (uint32_t i = 0; good && i < d->syms.len; i++) {
		struct elf_sym sym = d->syms.data[i];

		sym.name = name_copy(s, sym.name);
		vec_push(&s->syms, sym);
	}
	if (good) {
		s->is_cut |= d->is_cut;
		s->has_symtab = true;
		elf_syms_sort(s);
		syms_fit(s);
	}
	elf_syms_destroy(d);
	return good;
}

void elf_syms_destroy(struct elf_syms *s)
{
	if (!s)
		return;
	elf_syms_shed(s);
	gate_file_close(s->file);
	segments_deinit(&s->segments);
	build_mark_deinit(&s->mark);
	free(s);
}

uint64_t elf_syms_size(const struct elf_syms *s)
{
	return s->is_shed ? 0 : s->syms.cap * sizeof(*s->syms.data) + arena_size(s->names);
}

void elf_syms_shed(struct elf_syms *s)
{
	vec_deinit(&s->syms);
	arena_destroy(s->names);
	symsparse_close(s->sparse);
	s->sparse = NULL;
	s->names = NULL;
	s->names_left = 0;
	s->is_shed = true;
}

/* ---- searching ------------------------------------------------------------------------------ */

/*
 * Returns the end of a symbol's code or data. A symbol without a size ends where the next one
 * begins, so that it is empty unless is_next says that the address lies before the next one.
 */
static uint64_t sym_end(const struct elf_sym *sym, bool is_next)
{
	if (!sym->size)
		return is_next ? sym->end : sym->addr;
	return sym->size <= UINT64_MAX - sym->addr ? sym->addr + sym->size : UINT64_MAX;
}

static const struct elf_sym *table_find_range(const struct elf_syms *s, uint64_t addr,
					      struct elf_range *ret)
{
	uint32_t lo = sorted_upto(s->syms.data, s->syms.len, addr, addr), first;

	ret->start = lo ? s->syms.data[lo - 1].addr : 0;
	ret->end = lo < s->syms.len ? s->syms.data[lo].addr : UINT64_MAX;
	first = lo > LOOK_BACK ? lo - LOOK_BACK : 0;
	for (uint32_t i = lo; i > first; i--) {
		const struct elf_sym *sym = &s->syms.data[i - 1];
		uint64_t end = sym_end(sym, i == lo);

		if (addr < end) {
			ret->end = MIN(ret->end, end);
			return sym;
		}
		ret->start = MAX(ret->start, end);
	}
	return NULL;
}

const struct elf_sym *elf_syms_find_range(struct elf_syms *s, uint64_t addr, struct elf_range *ret)
{
	const struct elf_sym *found;

	if (!s->sparse || s->is_filled)
		return table_find_range(s, addr, ret);
	if (symsparse_find(s->sparse, addr, ret, &found))
		return found;
	elf_syms_fill(s);
	return table_find_range(s, addr, ret);
}

const struct elf_sym *elf_syms_find(struct elf_syms *s, uint64_t addr)
{
	struct elf_range range;

	return elf_syms_find_range(s, addr, &range);
}
