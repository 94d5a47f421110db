/* SPDX-License-Identifier: MIT */
/* The functions of an ELF file as probes see them. */
#include "image/funcs.h"

#include <inttypes.h>

#include "arch/arch.h"
#include "base/sorted.h"
#include "base/str.h"
#include "base/text.h"
#include "image/build_id.h"
#include "image/debugfile.h"
#include "files/gate.h"
#include "image/minidebug.h"
#include "image/symtab.h"

#define NAMES_FACTOR 2 /* those of .dynsym and of one other table are read */

/* ---- names ----------------------------------------------------------------------------------- */

/*
 * Names for linking new programs before local ones and those kept for old programs, then few
 * underscores, then strong names before weak ones, then short ones.
 */
static uint32_t rank_of(const GElf_Sym *sym, const char *name, bool is_old)
{
	uint32_t is_local = GELF_ST_BIND(sym->st_info) == STB_LOCAL;
	uint32_t is_weak = GELF_ST_BIND(sym->st_info) == STB_WEAK;

	return is_local << 31 | (uint32_t)is_old << 30 | (uint32_t)(name[0] == '$') << 29 |
	       (uint32_t)MIN(strspn(name, "_"), 255u) << 16 | is_weak << 15 |
	       (uint32_t)MIN(strlen(name), INT16_MAX);
}

/* Orders functions by address, and those of one address from the best name to the worst. */
static int func_compare(const void *pa, const void *pb)
{
	const struct func *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return strcmp(a->name, b->name);
}

static bool is_startup_name(const char *name)
{
	return strcmp(name, "_init") == 0 || strcmp(name, "_fini") == 0;
}

/* True for the names of symbols that are no functions: local labels, ARM's mapping symbols. */
static bool is_mark(const char *name)
{
	return strncmp(name, ".L", 2) == 0 || strcmp(name, "$x") == 0 || strcmp(name, "$d") == 0;
}

/* "memcpy@@GLIBC_2.14" of a .symtab */
static const char *name_copy(struct arena *a, const char *name)
{
	const char *at = strchr(name, '@');

	return text_clean(at && at != name ? arena_strndup(a, name, (size_t)(at - name))
					   : arena_strdup(a, name));
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool find_off(const struct funcs *f, uint64_t addr, uint64_t *ret_off, uint64_t *ret_room)
{
	const struct image_segment *g = segments_at(&f->code, addr, 1);

	if (!g)
		return false;
	*ret_off = g->off + (addr - g->addr);
	*ret_room = g->size - (addr - g->addr);
	return true;
}

/*
 * Charges for a name. Each table may have as many bytes as the limit allows, but names may overlap
 * in a hostile file, so that their copies take more memory than the file has.
 */
static bool has_room(struct funcs *f, const char *name)
{
	uint64_t size = strlen(name) + 1;

	if (size > f->room) {
		f->is_too_large = true;
		return false;
	}
	f->room -= size;
	return true;
}

static void add_symbol(struct funcs *f, const GElf_Sym *sym, const char *name, bool is_old)
{
	int type = GELF_ST_TYPE(sym->st_info);
	struct func fn = {.addr = sym->st_value, .size = sym->st_size};
	uint64_t room;

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || sym->st_shndx == SHN_UNDEF || !name ||
	    !*name || is_mark(name) || !find_off(f, fn.addr, &fn.off, &room) || !has_room(f, name))
		return;
	fn.size = MIN(fn.size, room);
	fn.is_sized = fn.size > 0;
	fn.is_ifunc = type == STT_GNU_IFUNC;
	f->has_ifuncs |= fn.is_ifunc;
	fn.is_startup = is_startup_name(name);
	fn.is_part = strstr(name, ".cold") != NULL;
	fn.rank = rank_of(sym, name, is_old);
	fn.name = name_copy(f->arena, name);
	vec_push(&f->list, fn);
}

/* The versions of a .dynsym's symbols, NULL when there are none. */
static Elf_Data *versions_of(struct gate_elf *g, const Elf_Scn *symbols)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(g->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_GNU_versym &&
		    sh.sh_link == elf_ndxscn((Elf_Scn *)symbols))
			return gate_data(g, scn);
	return NULL;
}

/*
 * True if the symbol's version is kept for old programs only: the linker binds no new program to
 * it.
 */
static bool is_old_version(Elf_Data *versions, size_t i)
{
	GElf_Versym v;

	return versions && gelf_getversym(versions, (int)i, &v) && v & 0x8000;
}

static void read_tables(struct funcs *f, struct gate_elf *g)
{
	struct symtab t = symtab_begin(g, SYMTAB_ALL);
	const Elf_Scn *table = NULL;
	Elf_Data *versions = NULL;

	while (symtab_next(&t)) {
		if (table != t.scn)
			versions = t.is_dynamic ? versions_of(g, t.scn) : NULL;
		table = t.scn;
		add_symbol(f, &t.sym, symtab_name(&t), is_old_version(versions, t.index));
	}
	f->has_symtab |= t.has_static;
	f->is_too_large |= g->is_cut;
}

/*
 * Adds the names in .gnu_debugdata: those of local functions, which some stripped files keep
 * compressed.
 */
static void read_minidebug(struct funcs *f, struct gate_elf *g)
{
	size_t size = 0;
	CLEANUP(free) char *image = minidebug_unpack(g, &size);
	bool has_symtab = f->has_symtab;
	struct gate_elf inner;

	if (!image)
		return;
	gate_elf_memory(image, size, g->limit, &inner);
	if (inner.elf)
		read_tables(f, &inner);
	gate_elf_close(&inner);
	f->has_symtab = has_symtab;
}

struct debug_use {
	struct funcs *f;
	struct build_mark mark;
	uint64_t limit;
};

static bool use_debug_file(void *ctx, struct gate_file *file)
{
	struct debug_use *use = ctx;
	uint32_t nbefore = use->f->list.len;
	struct build_id id;
	struct gate_elf g;

	gate_elf_open(file, use->limit, &g);
	(void)build_id_read(&id, &g);
	if (g.elf && build_id_equal(&id, &use->mark.id))
		read_tables(use->f, &g);
	gate_elf_close(&g);
	return use->f->list.len > nbefore; /* else it is another build's, or has none */
}

static void read_debug_file(struct funcs *f, struct gate_elf *g, const struct debug_search *where)
{
	struct debug_use use = {.f = f, .limit = where->limit};

	build_mark_read(&use.mark, g);
	(void)debug_file_find(&use.mark, where, use_debug_file, &use); /* optional */
	build_mark_deinit(&use.mark);
}

/* ---- the table ------------------------------------------------------------------------------- */

static bool is_same(const struct func *a, const struct func *b)
{
	return a->addr == b->addr && strcmp(a->name, b->name) == 0;
}

/*
 * Sorts the list. A name that both symbol tables have is kept once, and the first entry of an
 * address gets the largest size that any of its names has.
 */
static void list_sort(struct funcs *f)
{
	uint32_t n = 0, first = 0;

	if (f->list.len)
		qsort(f->list.data, f->list.len, sizeof(*f->list.data), func_compare);
	for (uint32_t i = 0; i < f->list.len; i++) {
		struct func *fn = &f->list.data[i];

		if (!n || f->list.data[first].addr != fn->addr)
			first = n;
		if (n && is_same(&f->list.data[n - 1], fn))
			continue;
		f->list.data[n++] = *fn;
		f->list.data[first].size = MAX(f->list.data[first].size, fn->size);
		f->list.data[first].is_sized |= fn->is_sized;
		f->list.data[first].is_ifunc |= fn->is_ifunc;
	}
	f->list.len = n;
	if (n < f->list.cap) { /* what it has grown to while it was read is given back */
		f->list.data = xrealloc(f->list.data, MAX(n, 1u) * sizeof(*f->list.data));
		f->list.cap = MAX(n, 1u);
	}
}

/*
 * Gives all names of an address the same facts. A function without a size gets the bytes up to the
 * next one.
 */
static void list_complete(struct funcs *f)
{
	for (uint32_t i = 0; i < f->list.len;) {
		struct func *first = &f->list.data[i];
		uint32_t end = i + 1;
		uint64_t off, room = 0;

		while (end < f->list.len && f->list.data[end].addr == first->addr)
			end++;
		if (!first->size && find_off(f, first->addr, &off, &room))
			first->size = end < f->list.len
					      ? MIN(room, f->list.data[end].addr - first->addr)
					      : room;
		first->is_canonical = true;
		for (; i < end; i++) {
			f->list.data[i].size = first->size;
			f->list.data[i].is_sized = first->is_sized;
			f->list.data[i].is_ifunc = first->is_ifunc;
		}
	}
}

/* Only those who search by name need the index, so the first of them makes it. */
static void index_names(const struct funcs *f)
{
	for (uint32_t i = f->list.len; i > 0; i--) {
		struct func *fn = &f->list.data[i - 1];

		fn->next = (uint32_t)(uintptr_t)hashmap_finds(f->by_name, fn->name);
		hashmap_sets(f->by_name, fn->name, (void *)(uintptr_t)i);
	}
}

/* The linker of Go puts its code between two symbols. */
static void find_go(struct funcs *f, struct gate_elf *g)
{
	const struct func *start, *end;

	go_code_read(&f->go, g, f->is_32bit);
	if (f->go.abi == GO_NONE)
		return;
	start = funcs_find(f, "runtime.text");
	end = funcs_find(f, "runtime.etext");
	if (!start)
		return;
	f->go.start = start->addr;
	f->go.end = end ? end->addr : UINT64_MAX; /* else up to the segment's end */
}

static struct err *check_machine(Elf *elf, struct funcs *f)
{
	GElf_Ehdr eh;

	if (!elf || !gelf_getehdr(elf, &eh))
		return err_new("not an ELF file");
	f->is_32bit = eh.e_ident[EI_CLASS] == ELFCLASS32;
	f->entry = eh.e_entry;
	if (eh.e_machine != arch.elf.machine &&
	    (!arch.elf.machine_32 || eh.e_machine != arch.elf.machine_32))
		return err_new("code of another kind of processor (ELF machine %u)", eh.e_machine);
	return NULL;
}

struct err *funcs_read(struct gate_file *file, const struct debug_search *where, struct funcs **ret)
{
	struct funcs *f = xcalloc(1, sizeof(*f));
	struct gate_elf g;
	struct err *e;

	f->arena = arena_create();
	f->by_name = hashmap_create();
	gate_elf_open(file, where ? where->limit : GATE_LIMIT_DEFAULT, &g);
	e = check_machine(g.elf, f);
	if (!e) {
		f->room = NAMES_FACTOR * g.limit;
		segments_read_code(&f->code, g.elf);
		read_tables(f, &g);
		if (!f->has_symtab)
			read_minidebug(f, &g);
		if (!f->has_symtab && where)
			read_debug_file(f, &g, where);
		list_sort(f);
		list_complete(f);
		find_go(f, &g);
		if (f->is_too_large)
			e = err_hint(err_new("a symbol table of it takes more than %" PRIu64
					     " bytes, or it has more than 16",
					     g.limit),
				     "raise the option elfsize");
	}
	gate_elf_close(&g);
	if (e) {
		funcs_destroy(f);
		return e;
	}
	*ret = f;
	return NULL;
}

void funcs_destroy(struct funcs *f)
{
	if (!f)
		return;
	vec_deinit(&f->list);
	segments_deinit(&f->code);
	hashmap_destroy(f->by_name);
	arena_destroy(f->arena);
	free(f);
}

/* Memory of an entry in the index of names: the entry, two slots, and a copy of the name. */
#define INDEX_BYTES 96

uint64_t funcs_size(const struct funcs *f)
{
	return sizeof(*f) + f->list.cap * sizeof(*f->list.data) + arena_size(f->arena) +
	       hashmap_count(f->by_name) * INDEX_BYTES;
}

/* ---- searching ------------------------------------------------------------------------------- */

const struct func *funcs_find(const struct funcs *f, const char *name)
{
	uintptr_t at;

	if (!hashmap_count(f->by_name))
		index_names(f);
	at = (uintptr_t)hashmap_finds(f->by_name, name);
	return at ? &f->list.data[at - 1] : NULL;
}

const struct func *funcs_at(const struct funcs *f, uint64_t addr)
{
	uint32_t lo = sorted_upto(f->list.data, f->list.len, addr, addr);

	while (lo > 0 && !f->list.data[lo - 1].is_canonical)
		lo--;
	if (!lo || addr - f->list.data[lo - 1].addr >= f->list.data[lo - 1].size)
		return NULL;
	return &f->list.data[lo - 1];
}

const struct func *funcs_preferred(const struct funcs *f, const struct func *fn)
{
	while (!fn->is_canonical && fn > f->list.data)
		fn--;
	return fn;
}

bool funcs_off(const struct funcs *f, uint64_t addr, uint64_t *ret_off)
{
	return segments_off(&f->code, addr, ret_off);
}

const struct func *funcs_at_off(const struct funcs *f, uint64_t off)
{
	uint64_t addr;

	return segments_addr(&f->code, off, &addr) ? funcs_at(f, addr) : NULL;
}

uint64_t funcs_room(const struct funcs *f, uint64_t addr)
{
	uint64_t off, room = 0;

	if (!find_off(f, addr, &off, &room))
		return 0;
	for (uint32_t i = 0; i < f->list.len; i++)
		if (f->list.data[i].addr > addr)
			return MIN(room, f->list.data[i].addr - addr);
	return room;
}
