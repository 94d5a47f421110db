/* The symbols of an ELF file, read with libelf. */
#include "sym/elfsym.h"

#include <gelf.h>

#include "sym/elfplt.h"
#include "sym/minidebug.h"

#define LOOK_BACK 16 /* functions inside others: how many starts may lie between */
/* Larger tables are not read: a sparse file may claim any size. The largest known is 200 MB. */
#define TABLE_MAX ((uint64_t)1 << 30)

/* ---- one symbol ----------------------------------------------------------------------------- */

/* providers.md, 19.3, canonical name; size and alphabet decide in by_addr(). "__GI_" is what glibc
 * puts before names for itself. */
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

void elf_syms_push(struct elf_syms *s, enum elf_sym_kind kind, bool is_local, uint64_t addr,
		   uint64_t size, uint64_t end, const char *name)
{
	vec_push(&s->syms, (struct elf_sym){
				   .addr = addr,
				   .size = size,
				   .end = size && size <= UINT64_MAX - addr ? addr + size : end,
				   .name = arena_strdup(s->arena, name),
				   .kind = kind,
				   .rank = rank_of(kind, is_local, name),
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

/* Compilers leave labels of their own in some objects. */
static bool is_private(const char *name)
{
	return name[0] == '.' && name[1] == 'L';
}

/* ---- tables --------------------------------------------------------------------------------- */

struct section {
	uint64_t start, end; /* 0, 0: takes no memory */
};
typedef VEC(struct section) section_vec;

static void read_sections(Elf *elf, section_vec *ret)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	vec_push(ret, (struct section){0});
	while ((scn = elf_nextscn(elf, scn))) {
		struct section s = {0};

		if (gelf_getshdr(scn, &sh) && (sh.sh_flags & SHF_ALLOC) &&
		    sh.sh_size <= UINT64_MAX - sh.sh_addr)
			s = (struct section){sh.sh_addr, sh.sh_addr + sh.sh_size};
		vec_push(ret, s);
	}
}

static void add_symbol(struct elf_syms *s, const section_vec *sections, const GElf_Sym *sym,
		       const char *name)
{
	uint64_t end = sym->st_value;
	enum elf_sym_kind kind;

	if (!name || !*name || !sym->st_value || sym->st_shndx == SHN_UNDEF ||
	    !kind_of(sym, &kind) || is_private(name))
		return;
	if (sym->st_shndx < sections->len)
		end = sections->data[sym->st_shndx].end;
	else if (!sym->st_size)
		return; /* a constant: no place */
	if (!end)
		return;
	elf_syms_push(s, kind, GELF_ST_BIND(sym->st_info) == STB_LOCAL, sym->st_value, sym->st_size,
		      end, name);
}

static void read_table(struct elf_syms *s, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh,
		       const section_vec *sections)
{
	Elf_Data *data = sh->sh_size <= TABLE_MAX ? elf_getdata(scn, NULL) : NULL;
	size_t n = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;
	GElf_Sym sym;

	for (size_t i = 0; i < n && i <= INT32_MAX && gelf_getsym(data, (int)i, &sym); i++)
		add_symbol(s, sections, &sym, elf_strptr(elf, sh->sh_link, sym.st_name));
}

static void read_tables(struct elf_syms *s, Elf *elf)
{
	section_vec sections = {0};
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	read_sections(elf, &sections);
	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh) ||
		    (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM))
			continue;
		s->has_symtab |= sh.sh_type == SHT_SYMTAB;
		read_table(s, elf, scn, &sh, &sections);
	}
	vec_deinit(&sections);
}

/* Names alone: a separate debug file, which has more, is still looked for. */
static void read_minidebug(struct elf_syms *s, Elf *elf)
{
	bool has_symtab = s->has_symtab;
	size_t size = 0;
	CLEANUP(free) char *image = minidebug_unpack(elf, &size);
	Elf *inner = image ? elf_memory(image, size) : NULL;

	if (inner && elf_kind(inner) == ELF_K_ELF)
		read_tables(s, inner);
	(void)elf_end(inner);
	s->has_symtab = has_symtab;
}

/* ---- what else a file says of itself -------------------------------------------------------- */

static void read_segments(struct elf_syms *s, Elf *elf)
{
	size_t n = 0;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &n))
		return;
	for (size_t i = 0; i < n && i <= INT32_MAX && gelf_getphdr(elf, (int)i, &ph); i++)
		if (ph.p_type == PT_LOAD)
			vec_push(&s->segments, (struct elf_segment){
						       .off = ph.p_offset,
						       .addr = ph.p_vaddr,
						       .size = ph.p_filesz,
						       .mem_size = MAX(ph.p_memsz, ph.p_filesz),
						       .is_exec = ph.p_flags & PF_X,
					       });
}

static void read_build_id(struct elf_syms *s, Elf_Data *data)
{
	size_t off = 0, name, desc;
	GElf_Nhdr nh;

	while (data && (off = gelf_getnote(data, off, &nh, &name, &desc)))
		if (nh.n_type == NT_GNU_BUILD_ID && nh.n_namesz == sizeof("GNU") &&
		    memcmp((const char *)data->d_buf + name, "GNU", sizeof("GNU")) == 0 &&
		    nh.n_descsz <= sizeof(s->build_id)) {
			memcpy(s->build_id, (const char *)data->d_buf + desc, nh.n_descsz);
			s->build_id_len = nh.n_descsz;
			return;
		}
}

/* A name with its NUL, then at a multiple of 4 the file's checksum (gdb, "Separate Debug Files").
 */
static void read_debug_link(struct elf_syms *s, Elf_Data *data)
{
	size_t len = data && data->d_buf ? strnlen(data->d_buf, data->d_size) : 0;
	size_t crc = ROUND_UP(len + 1, 4u);

	if (!len || crc + sizeof(s->debug_crc) > data->d_size)
		return;
	s->debug_link = arena_strdup(s->arena, data->d_buf);
	memcpy(&s->debug_crc, (const char *)data->d_buf + crc, sizeof(s->debug_crc));
}

static void read_identity(struct elf_syms *s, Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name =
			gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;

		if (!name || sh.sh_size > TABLE_MAX || sh.sh_type == SHT_NOBITS)
			continue;
		if (sh.sh_type == SHT_NOTE && !s->build_id_len)
			read_build_id(s, elf_getdata(scn, NULL));
		else if (strcmp(name, ".gnu_debuglink") == 0)
			read_debug_link(s, elf_getdata(scn, NULL));
	}
}

/* ---- the table ------------------------------------------------------------------------------ */

static int by_addr(const void *pa, const void *pb)
{
	const struct elf_sym *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->size != b->size && (!a->size || !b->size))
		return a->size ? -1 : 1; /* a size is better than none */
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* A size that only an alias knows is kept. */
static void merge_alias(struct elf_sym *to, const struct elf_sym *alias)
{
	if (to->size >= alias->size)
		return;
	to->size = alias->size;
	to->end = alias->end;
}

void elf_syms_sort(struct elf_syms *s)
{
	uint32_t n = 0;

	if (s->syms.len)
		qsort(s->syms.data, s->syms.len, sizeof(*s->syms.data), by_addr);
	for (uint32_t i = 0; i < s->syms.len; i++) {
		struct elf_sym sym = s->syms.data[i];

		if (n && s->syms.data[n - 1].addr == sym.addr)
			merge_alias(&s->syms.data[n - 1], &sym);
		else
			s->syms.data[n++] = sym;
	}
	s->syms.len = n;
}

static struct elf_syms *read_elf(Elf *elf)
{
	struct elf_syms *s = xcalloc(1, sizeof(*s));

	s->arena = arena_create();
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		return s;
	read_segments(s, elf);
	read_identity(s, elf);
	read_tables(s, elf);
	read_minidebug(s, elf);
	elf_syms_sort(s);
	elf_plt_read(s, elf); /* finds the names of functions among those */
	elf_syms_sort(s);
	return s;
}

struct elf_syms *elf_syms_read(int fd)
{
	struct elf_syms *s;
	Elf *elf;

	(void)elf_version(EV_CURRENT);
	/* not mapped: the file may be truncated by others at any time */
	elf = elf_begin(fd, ELF_C_READ, NULL);
	s = read_elf(elf);
	(void)elf_end(elf);
	return s;
}

struct elf_syms *elf_syms_read_memory(const void *image, size_t size)
{
	CLEANUP(free) char *copy = xmalloc(MAX(size, 1u)); /* libelf wants to write */
	struct elf_syms *s;
	Elf *elf;

	if (size)
		memcpy(copy, image, size);
	(void)elf_version(EV_CURRENT);
	elf = elf_memory(copy, size);
	s = read_elf(elf);
	(void)elf_end(elf);
	return s;
}

static bool is_same_build(const struct elf_syms *a, const struct elf_syms *b)
{
	return a->build_id_len == b->build_id_len &&
	       memcmp(a->build_id, b->build_id, a->build_id_len) == 0;
}

bool elf_syms_add(struct elf_syms *s, int fd)
{
	struct elf_syms *d = elf_syms_read(fd);
	bool good = is_same_build(s, d) && d->syms.len;

	for (uint32_t i = 0; good && i < d->syms.len; i++) {
		struct elf_sym sym = d->syms.data[i];

		sym.name = arena_strdup(s->arena, sym.name);
		vec_push(&s->syms, sym);
	}
	if (good) {
		s->has_symtab = true;
		elf_syms_sort(s);
	}
	elf_syms_destroy(d);
	return good;
}

void elf_syms_destroy(struct elf_syms *s)
{
	if (!s)
		return;
	vec_deinit(&s->syms);
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

/*
 * One page of the file may belong to two segments, and then is mapped twice: whether the mapping
 * is executable tells which one it is.
 */
bool elf_syms_bias(const struct elf_syms *s, taddr start, uint64_t off, bool is_exec,
		   uint64_t *ret_bias)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (uint32_t i = 0; i < s->segments.len; i++) {
		const struct elf_segment *g = &s->segments.data[i];

		if (g->is_exec != is_exec || off < (g->off & ~(page - 1)) ||
		    off >= g->off + g->mem_size)
			continue;
		*ret_bias = start - off + g->off - g->addr;
		return true;
	}
	return false;
}

void elf_syms_span(const struct elf_syms *s, uint64_t *ret_start, uint64_t *ret_end)
{
	*ret_start = *ret_end = 0;
	for (uint32_t i = 0; i < s->segments.len; i++) {
		const struct elf_segment *g = &s->segments.data[i];

		if (i == 0 || g->addr < *ret_start)
			*ret_start = g->addr;
		*ret_end = MAX(*ret_end, g->addr + g->mem_size);
	}
}

struct elf_sym *elf_syms_find(const struct elf_syms *s, uint64_t addr)
{
	uint32_t lo = 0, hi = s->syms.len, first;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->syms.data[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	first = lo > LOOK_BACK ? lo - LOOK_BACK : 0;
	for (uint32_t i = lo; i > first; i--) {
		struct elf_sym *sym = &s->syms.data[i - 1];

		/* what has no size ends where the next begins */
		if (sym->size ? addr - sym->addr < sym->size : i == lo && addr < sym->end)
			return sym;
	}
	return NULL;
}
