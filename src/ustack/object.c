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

/* A symbol of the table of dynamic symbols, or of the other one. */
struct symbol {
	uint64_t addr, size;
	uint32_t name; /* offset in the names */
	bool is_tls;
};

/*
 * Large programs have some 200,000 symbols, and a process is waiting for its helper: so names stay
 * where they were read, and a table of hashes finds them.
 */
struct slot {
	uint32_t hash, index; /* index of the symbol, plus one; 0: the slot is free */
};

struct object {
	struct arena *arena;
	struct hashmap *sections; /* name -> struct object_symbol */
	VEC(struct symbol) symbols;
	char *names; /* the tables of names, each with a NUL behind it */
	size_t names_len;
	struct slot *slots;
	uint32_t mask; /* number of slots, a power of two, less one */
	VEC(struct segment) segments;
	uint64_t tls_size, tls_align;
	const char *build_id;
};

static uint32_t name_hash(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 16777619u;
	return h;
}

/* The slot of the name, or the one where it is to be. */
static struct slot *slot_find(const struct object *o, const char *name, uint32_t hash)
{
	for (uint32_t i = hash & o->mask;; i = (i + 1) & o->mask) {
		struct slot *s = &o->slots[i];

		if (!s->index || (s->hash == hash &&
				  strcmp(o->names + o->symbols.data[s->index - 1].name, name) == 0))
			return s;
	}
}

static void symbol_add(struct object *o, const GElf_Sym *sym, size_t base, size_t len)
{
	struct symbol new = {sym->st_value, sym->st_size, (uint32_t)(base + sym->st_name),
			     GELF_ST_TYPE(sym->st_info) == STT_TLS};
	unsigned type = GELF_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || sym->st_name >= len || !o->names[new.name] ||
	    type == STT_SECTION || type == STT_FILE || o->symbols.len >= SYMBOLS_MAX)
		return;
	vec_push(&o->symbols, new);
}

/* Copies the table of names to o->names; returns how many bytes it has. */
static size_t names_read(struct object *o, struct gate_elf *g, uint32_t section)
{
	Elf_Scn *scn = elf_getscn(g->elf, section);
	Elf_Data *data = scn ? gate_data(g, scn) : NULL;
	size_t len = data && data->d_buf ? data->d_size : 0;

	if (!len || len > UINT32_MAX - o->names_len - 1)
		return 0;
	o->names = xrealloc(o->names, o->names_len + len + 1);
	memcpy(o->names + o->names_len, data->d_buf, len);
	o->names[o->names_len + len] = '\0';
	o->names_len += len + 1;
	return len;
}

static void symbols_read(struct object *o, struct gate_elf *g, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = gate_data(g, scn);
	size_t n = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0, base = o->names_len;
	size_t len = n ? names_read(o, g, sh->sh_link) : 0;
	GElf_Sym sym;

	for (size_t i = 0; i < n && i <= INT32_MAX && len; i++) {
		if (!gelf_getsym(data, (int)i, &sym))
			return;
		symbol_add(o, &sym, base, len);
	}
}

/* Makes the table of hashes. The first symbol of a name counts. */
static void symbols_index(struct object *o)
{
	o->mask = 15;
	while (o->mask < 2 * o->symbols.len)
		o->mask = 2 * o->mask + 1;
	o->slots = xcalloc(o->mask + 1, sizeof(*o->slots));
	for (uint32_t i = 0; i < o->symbols.len; i++) {
		const char *name = o->names + o->symbols.data[i].name;
		uint32_t hash = name_hash(name);
		struct slot *s = slot_find(o, name, hash);

		if (!s->index)
			*s = (struct slot){hash, i + 1};
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
	symbols_index(o);
	return o;
}

void object_destroy(struct object *o)
{
	if (!o)
		return;
	vec_deinit(&o->symbols);
	free(o->names);
	free(o->slots);
	hashmap_destroy(o->sections);
	vec_deinit(&o->segments);
	arena_destroy(o->arena);
	free(o);
}

bool object_symbol(const struct object *o, const char *name, struct object_symbol *ret)
{
	const struct slot *slot = slot_find(o, name, name_hash(name));
	const struct symbol *s = slot->index ? &o->symbols.data[slot->index - 1] : NULL;

	if (s)
		*ret = (struct object_symbol){s->addr, s->size, s->is_tls};
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
