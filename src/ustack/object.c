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

/*
 * A symbol of the table of dynamic symbols, or of the other one. Large programs have some 200,000
 * of them with 13 MB of names, and a process is waiting for its helper: so a name is its hash. That
 * two of 64 bits are the same does not happen unless somebody has made such a file, who could have
 * chosen the name itself.
 */
struct symbol {
	uint64_t addr, size, hash;
	bool is_tls;
};

/* The table that finds symbols: index of one, plus one; 0: the slot is free. */
struct slot {
	uint64_t hash;
	uint32_t index;
};

#define AHEAD 16 /* memory is asked for so many symbols before it is needed */

struct object {
	struct arena *arena;
	struct hashmap *sections; /* name -> struct object_symbol */
	VEC(struct symbol) symbols;
	struct slot *slots;
	uint32_t mask; /* number of slots, a power of two, less one */
	VEC(struct segment) segments;
	uint64_t tls_size, tls_align;
	const char *build_id;
};

/* Eight bytes at a time: mangled names have a hundred and more. */
static uint64_t name_hash(const char *name, size_t left)
{
	uint64_t h = 0x9e3779b97f4a7c15ull, word;

	for (; left >= 8; left -= 8, name += 8) {
		memcpy(&word, name, 8);
		h = (h ^ word) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	word = left;
	memcpy((char *)&word + 1, name, left);
	h = (h ^ word) * 0xff51afd7ed558ccdull;
	return h ^ h >> 29;
}

/* Returns the slot of a name with this hash, or the one where it is to be. */
static struct slot *slot_find(const struct object *o, uint64_t hash)
{
	for (uint32_t i = (uint32_t)hash & o->mask;; i = (i + 1) & o->mask) {
		struct slot *s = &o->slots[i];

		if (!s->index || s->hash == hash)
			return s;
	}
}

/* names: a table of names, which has len bytes. */
static void symbol_add(struct object *o, const GElf_Sym *sym, const char *names, size_t len)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);
	struct symbol new = {sym->st_value, sym->st_size, 0, type == STT_TLS};
	const char *name;

	if (sym->st_shndx == SHN_UNDEF || sym->st_name >= len || type == STT_SECTION ||
	    type == STT_FILE || o->symbols.len >= SYMBOLS_MAX)
		return;
	name = names + sym->st_name;
	if (!*name)
		return;
	new.hash = name_hash(name, strnlen(name, len - sym->st_name));
	vec_push(&o->symbols, new);
}

static void symbols_read(struct object *o, struct gate_elf *g, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = gate_data(g, scn), *names;
	size_t n = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0, len;
	Elf_Scn *strings = n ? elf_getscn(g->elf, sh->sh_link) : NULL;
	GElf_Sym sym;

	names = strings ? gate_data(g, strings) : NULL;
	len = names && names->d_buf ? names->d_size : 0;
	for (size_t i = 0; i < n && i <= INT32_MAX && len; i++) {
		if (i + AHEAD < n && gelf_getsym(data, (int)(i + AHEAD), &sym) && sym.st_name < len)
			__builtin_prefetch((const char *)names->d_buf + sym.st_name);
		if (!gelf_getsym(data, (int)i, &sym))
			return;
		symbol_add(o, &sym, names->d_buf, len);
	}
}

/* Makes the table. The first symbol of a name counts. */
static void symbols_index(struct object *o)
{
	uint32_t n = (uint32_t)o->symbols.len;

	o->mask = 15;
	while (o->mask < 2 * n)
		o->mask = 2 * o->mask + 1;
	o->slots = xcalloc(o->mask + 1, sizeof(*o->slots));
	for (uint32_t i = 0; i < n; i++) {
		struct slot *s = slot_find(o, o->symbols.data[i].hash);

		if (i + AHEAD < n)
			__builtin_prefetch(
				&o->slots[(uint32_t)o->symbols.data[i + AHEAD].hash & o->mask]);
		if (!s->index)
			*s = (struct slot){o->symbols.data[i].hash, i + 1};
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

/* Whether one of the names "a|b" is in a table of names. */
static bool names_have(const Elf_Data *data, const char *symbols)
{
	CLEANUP(free) char *copy = xstrdup(symbols);
	char *save = NULL;

	for (char *p = strtok_r(copy, "|", &save); p; p = strtok_r(NULL, "|", &save)) {
		size_t n = strlen(p) + 1; /* with its NUL, and one before it */
		const char *at = data->d_buf, *end = at + data->d_size;

		while ((at = memmem(at, (size_t)(end - at), p, n))) {
			if (at > (const char *)data->d_buf && at[-1] == '\0')
				return true;
			at++;
		}
	}
	return false;
}

bool object_names(struct gate_file *file, uint64_t limit, const char *symbols)
{
	Elf_Scn *scn = NULL;
	struct gate_elf g;
	bool has = false;
	GElf_Shdr sh;

	gate_elf_open(file, limit, &g);
	while (g.elf && !has && (scn = elf_nextscn(g.elf, scn))) {
		Elf_Data *data;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_STRTAB)
			continue;
		data = gate_data(&g, scn);
		has = data && data->d_buf && data->d_size && names_have(data, symbols);
	}
	gate_elf_close(&g);
	return has;
}

void object_destroy(struct object *o)
{
	if (!o)
		return;
	vec_deinit(&o->symbols);
	free(o->slots);
	hashmap_destroy(o->sections);
	vec_deinit(&o->segments);
	arena_destroy(o->arena);
	free(o);
}

bool object_symbol(const struct object *o, const char *name, struct object_symbol *ret)
{
	const struct slot *slot = slot_find(o, name_hash(name, strlen(name)));
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
