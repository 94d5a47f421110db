/* Reads the symbols and sections of ELF files. */
#include "ustack/object.h"

#include "base/arena.h"
#include "base/hashmap.h"
#include "base/str.h"
#include "base/vec.h"
#include "sym/gate.h"

#define SYMBOLS_MAX 2000000u

struct segment {
	uint64_t off, addr, size;
};

struct object {
	struct arena *arena;
	struct hashmap *symbols, *sections; /* name -> struct object_symbol */
	VEC(struct segment) segments;
	uint64_t tls_size, tls_align;
	const char *build_id;
};

static void symbol_add(struct object *o, const GElf_Sym *sym, const char *name)
{
	struct object_symbol *s;
	unsigned type = GELF_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || !*name || type == STT_SECTION || type == STT_FILE ||
	    hashmap_finds(o->symbols, name) || hashmap_count(o->symbols) >= SYMBOLS_MAX)
		return;
	s = ARENA_NEW(o->arena, struct object_symbol);
	*s = (struct object_symbol){sym->st_value, sym->st_size, type == STT_TLS};
	hashmap_sets(o->symbols, name, s);
}

static void symbols_read(struct object *o, struct gate_elf *g, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = gate_data(g, scn);
	size_t n = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;
	GElf_Sym sym;

	for (size_t i = 0; i < n && i <= INT32_MAX; i++) {
		const char *name;

		if (!gelf_getsym(data, (int)i, &sym))
			return;
		name = gate_text(g, sh->sh_link, sym.st_name);
		if (name)
			symbol_add(o, &sym, name);
	}
}

/* Reads a table of symbols, and what the sections are named; of the types, one of a call. */
static void sections_read(struct object *o, struct gate_elf *g, uint32_t type)
{
	size_t names = 0;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(g->elf, &names))
		return;
	while ((scn = elf_nextscn(g->elf, scn))) {
		const char *name;
		struct object_symbol *s;

		if (!gelf_getshdr(scn, &sh))
			continue;
		if (sh.sh_type == type)
			symbols_read(o, g, scn, &sh);
		name = gate_text(g, names, sh.sh_name);
		if (type != SHT_DYNSYM || !name || !sh.sh_addr)
			continue;
		s = ARENA_NEW(o->arena, struct object_symbol);
		*s = (struct object_symbol){sh.sh_addr, sh.sh_size, false};
		hashmap_sets(o->sections, name, s);
	}
}

static void segments_read(struct object *o, struct gate_elf *g)
{
	size_t n = 0;
	GElf_Phdr ph;

	if (elf_getphdrnum(g->elf, &n))
		return;
	for (size_t i = 0; i < MIN(n, (size_t)1024); i++) {
		if (!gelf_getphdr(g->elf, (int)i, &ph))
			continue;
		if (ph.p_type == PT_LOAD)
			vec_push(&o->segments,
				 (struct segment){ph.p_offset, ph.p_vaddr, ph.p_filesz});
		if (ph.p_type == PT_TLS) {
			o->tls_size = ph.p_memsz;
			o->tls_align = ph.p_align;
		}
	}
}

/* Reads the build-id from the section .note.gnu.build-id. */
static void build_id_read(struct object *o, struct gate_elf *g)
{
	struct strbuf text = {0};
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while (o->build_id[0] == '\0' && (scn = elf_nextscn(g->elf, scn))) {
		size_t off = 0, name, desc;
		GElf_Nhdr nh;
		Elf_Data *d;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_NOTE)
			continue;
		d = gate_data(g, scn);
		while (d && (off = gelf_getnote(d, off, &nh, &name, &desc)) > 0) {
			if (nh.n_type != NT_GNU_BUILD_ID || nh.n_descsz > 64)
				continue;
			for (uint32_t i = 0; i < nh.n_descsz; i++)
				strbuf_addf(&text, "%02x", ((uint8_t *)d->d_buf)[desc + i]);
			o->build_id = arena_strdup(o->arena, strbuf_text(&text));
			break;
		}
	}
	strbuf_deinit(&text);
}

struct object *object_read(struct gate_file *file, uint64_t limit)
{
	struct object *o = xcalloc(1, sizeof(*o));
	struct gate_elf g;

	o->arena = arena_create();
	o->symbols = hashmap_create();
	o->sections = hashmap_create();
	o->build_id = "";
	gate_elf_open(file, limit, &g);
	if (g.elf) {
		segments_read(o, &g);
		sections_read(o, &g, SHT_DYNSYM);
		sections_read(o, &g, SHT_SYMTAB);
		build_id_read(o, &g);
	}
	gate_elf_close(&g);
	return o;
}

void object_destroy(struct object *o)
{
	if (!o)
		return;
	hashmap_destroy(o->symbols);
	hashmap_destroy(o->sections);
	vec_deinit(&o->segments);
	arena_destroy(o->arena);
	free(o);
}

bool object_symbol(const struct object *o, const char *name, struct object_symbol *ret)
{
	const struct object_symbol *s = hashmap_finds(o->symbols, name);

	if (s)
		*ret = *s;
	return s;
}

bool object_section(const struct object *o, const char *name, struct object_symbol *ret)
{
	const struct object_symbol *s = hashmap_finds(o->sections, name);

	if (s)
		*ret = *s;
	return s;
}

bool object_addr(const struct object *o, uint64_t off, uint64_t *ret)
{
	for (uint32_t i = 0; i < o->segments.len; i++) {
		const struct segment *s = &o->segments.data[i];
		uint64_t page = s->off & ~(uint64_t)4095;

		if (off >= page && off < s->off + s->size) {
			*ret = s->addr - s->off + off;
			return true;
		}
	}
	return false;
}

bool object_tls(const struct object *o, uint64_t *ret_size, uint64_t *ret_align)
{
	*ret_size = o->tls_size;
	*ret_align = o->tls_align;
	return o->tls_size > 0;
}

const char *object_build_id(const struct object *o)
{
	return o->build_id;
}
