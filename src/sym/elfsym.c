/* The functions of an ELF file, read with libelf. */
#include "sym/elfsym.h"

#include <gelf.h>

#define LOOK_BACK 16 /* functions inside others: how many starts may lie between */

/* ---- reading -------------------------------------------------------------------------------- */

/* Global names before weak before local ones, then fewer underscores, then the shorter. */
static int rank_of(const GElf_Sym *sym, const char *name)
{
	int bind = GELF_ST_BIND(sym->st_info);
	int scope = bind == STB_GLOBAL ? 0 : bind == STB_WEAK ? 1 : 2;

	return scope << 24 | (int)MIN(strspn(name, "_"), 255u) << 16 |
	       (int)MIN(strlen(name), 65535u);
}

static bool is_function(const GElf_Sym *sym)
{
	int type = GELF_ST_TYPE(sym->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && sym->st_shndx != SHN_UNDEF &&
	       sym->st_value;
}

static void read_table(struct elf_syms *s, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;
	GElf_Sym sym;

	for (size_t i = 0; i < n && i <= INT32_MAX && gelf_getsym(data, (int)i, &sym); i++) {
		const char *name =
			is_function(&sym) ? elf_strptr(elf, sh->sh_link, sym.st_name) : NULL;

		if (!name || !*name)
			continue;
		vec_push(&s->funcs, (struct elf_func){.addr = sym.st_value,
						      .size = sym.st_size,
						      .name = arena_strdup(s->arena, name),
						      .rank = rank_of(&sym, name)});
	}
}

static void read_segments(struct elf_syms *s, Elf *elf)
{
	size_t n = 0;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &n))
		return;
	for (size_t i = 0; i < n && i <= INT32_MAX && gelf_getphdr(elf, (int)i, &ph); i++)
		if (ph.p_type == PT_LOAD)
			vec_push(&s->segments,
				 (struct elf_segment){ph.p_offset, ph.p_vaddr, ph.p_filesz});
}

static int by_addr(const void *pa, const void *pb)
{
	const struct elf_func *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* One name an address; a size that only an alias knows is kept. */
static void sort(struct elf_syms *s)
{
	uint32_t n = 0;

	if (s->funcs.len)
		qsort(s->funcs.data, s->funcs.len, sizeof(*s->funcs.data), by_addr);
	for (uint32_t i = 0; i < s->funcs.len; i++) {
		struct elf_func f = s->funcs.data[i];

		if (n && s->funcs.data[n - 1].addr == f.addr)
			s->funcs.data[n - 1].size = MAX(s->funcs.data[n - 1].size, f.size);
		else
			s->funcs.data[n++] = f;
	}
	s->funcs.len = n;
}

static struct elf_syms *read_elf(Elf *elf)
{
	struct elf_syms *s = xcalloc(1, sizeof(*s));
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	s->arena = arena_create();
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		return s;
	read_segments(s, elf);
	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) &&
		    (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM))
			read_table(s, elf, scn, &sh);
	sort(s);
	return s;
}

struct elf_syms *elf_syms_read(int fd)
{
	struct elf_syms *s;
	Elf *elf;

	(void)elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	s = read_elf(elf);
	(void)elf_end(elf);
	return s;
}

struct elf_syms *elf_syms_read_memory(const void *image, size_t size)
{
	CLEANUP(free) char *copy = xmalloc(size); /* libelf wants to write */
	struct elf_syms *s;
	Elf *elf;

	memcpy(copy, image, size);
	(void)elf_version(EV_CURRENT);
	elf = elf_memory(copy, size);
	s = read_elf(elf);
	(void)elf_end(elf);
	return s;
}

void elf_syms_destroy(struct elf_syms *s)
{
	if (!s)
		return;
	vec_deinit(&s->funcs);
	vec_deinit(&s->segments);
	arena_destroy(s->arena);
	free(s);
}

/* ---- searching ------------------------------------------------------------------------------ */

bool elf_syms_addr(const struct elf_syms *s, uint64_t off, uint64_t *ret_addr)
{
	for (uint32_t i = 0; i < s->segments.len; i++) {
		const struct elf_segment *g = &s->segments.data[i];

		if (off >= g->off && off - g->off < g->size) {
			*ret_addr = off - g->off + g->addr;
			return true;
		}
	}
	return false;
}

/* A function without a size ends with its segment at the latest. */
static bool is_one_segment(const struct elf_syms *s, uint64_t a, uint64_t b)
{
	for (uint32_t i = 0; i < s->segments.len; i++) {
		const struct elf_segment *g = &s->segments.data[i];

		if (a - g->addr < g->size)
			return b - g->addr < g->size;
	}
	return false;
}

const struct elf_func *elf_syms_find(const struct elf_syms *s, uint64_t addr)
{
	uint32_t lo = 0, hi = s->funcs.len, first;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->funcs.data[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	first = lo > LOOK_BACK ? lo - LOOK_BACK : 0;
	for (uint32_t i = lo; i > first; i--) {
		const struct elf_func *f = &s->funcs.data[i - 1];

		if (addr - f->addr < f->size ||
		    (i == lo && f->size == 0 && is_one_segment(s, f->addr, addr)))
			return f;
	}
	return NULL;
}
