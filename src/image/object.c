/* SPDX-License-Identifier: MIT */
/* Reads the symbols and sections of ELF files. */
#include "image/object.h"

#include "image/relocs.h"

#include "base/arena.h"
#include "base/hashmap.h"
#include "base/str.h"
#include "base/vec.h"
#include "files/gate.h"
#include "image/build_id.h"
#include "image/clone.h"
#include "image/gnuhash.h"
#include "image/segments.h"
#include "image/symscan.h"
#include "image/symtab.h"

#define SYMBOLS_MAX  2000000u
#define SEARCHES_MAX 4 /* walks over all symbols */
#define SCANS_MAX    16
#define CLONES_MAX   256u /* symbols of one name; of more, none is known */

/*
 * A symbol of the tables that have no hashes of their own. Large programs have some 100,000 of them
 * with 8 MB of names, and a process is waiting for its helper: so a name, without what compilers
 * add to it, is its hash. That two of 64 bits are the same does not happen unless somebody has made
 * such a file, who could have chosen the name itself.
 */
struct symbol {
	struct clone c;
	uint32_t next; /* index of the next one of this name, plus one; 0: none */
	uint64_t hash;
};

/* The table that finds symbols: index of a name's first one, plus one; 0: the slot is free. */
struct slot {
	uint64_t hash;
	uint32_t index;
};

#define AHEAD 16 /* memory is asked for so many symbols before it is needed */

struct object {
	struct arena *arena;
	struct hashmap *sections; /* name -> struct object_symbol */
	struct hashmap *found;	  /* the same of the symbols that were looked up, or &absent */
	struct hashmap *pieces;	  /* name -> struct object_pieces */
	struct hashmap *has;	  /* "a|b" -> &yes or &no: what object_has() has answered */
	struct image_segments segments;
	uint64_t tls_size, tls_align;
	struct object_relro relro; /* size 0: there is none */
	bool is_fixed;		   /* it lies where its addresses say */
	const char *build_id;
	uint64_t limit;

	/* The file and what was read of it for lookups: object_rest() closes and frees these. */
	struct gate_file *file;
	bool is_open;	   /* the file, as one of ELF */
	bool is_described; /* segments and what follows them was read */
	struct gate_elf elf;
	struct gnuhash hashes;
	VEC(struct symbol) symbols;
	VEC(char *) expected; /* object_expect(), until these are searched for */
	struct slot *slots;   /* NULL: the symbols were not read */
	uint32_t nsearches;   /* symbols that were looked up in tables without hashes */
	uint32_t nscans;      /* those of them in passing */
	uint32_t mask;	      /* number of slots, a power of two, less one */
};

_Static_assert(OBJECT_EXPECTED <= SYMSCAN_NAMES_MAX, "names of one search");

static struct object_symbol absent;
static char yes, no;

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

static struct object_symbol symbol_of(const GElf_Sym *sym)
{
	return (struct object_symbol){.addr = sym->st_value,
				      .size = sym->st_size,
				      .is_tls = GELF_ST_TYPE(sym->st_info) == STT_TLS};
}

/* Fills what is known of a clone but by its name. */
static void clone_fill(const GElf_Sym *sym, uint32_t file, struct clone *ret)
{
	ret->sym = symbol_of(sym);
	ret->file = file;
	ret->is_global = GELF_ST_BIND(sym->st_info) != STB_LOCAL;
	ret->is_func = GELF_ST_TYPE(sym->st_info) == STT_FUNC;
}

static bool symbol_is_defined(const GElf_Sym *sym)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);

	return sym->st_shndx != SHN_UNDEF && type != STT_SECTION && type != STT_FILE;
}

/*
 * Is called for each defined symbol; its name has at most len bytes, and file is the number of its
 * source file, 0 if none is known. True ends the walk.
 */
typedef bool symbol_visit(void *ctx, const GElf_Sym *sym, uint32_t file, const char *name,
			  size_t len);

static bool table_walk(struct object *o, enum symtab_which which, symbol_visit *visit, void *ctx)
{
	struct symtab t = symtab_begin(&o->elf, which);
	const Elf_Scn *table = NULL;
	uint32_t file = 0;
	size_t len = 0;

	while (symtab_next(&t)) {
		const char *name = symtab_text(&t, &len);

		if (table != t.scn)
			file = 0;
		table = t.scn;
		if (!name)
			continue;
		/* local symbols behind that of a source file are of this file */
		if (GELF_ST_TYPE(t.sym.st_info) == STT_FILE)
			file = *name ? (uint32_t)t.index + 1 : 0;
		if (symbol_is_defined(&t.sym) &&
		    visit(ctx, &t.sym, GELF_ST_BIND(t.sym.st_info) == STB_LOCAL ? file : 0, name,
			  len))
			return true;
	}
	return false;
}

/* Walks all tables whose symbols .gnu.hash does not find. */
static bool tables_walk(struct object *o, symbol_visit *visit, void *ctx)
{
	return (!o->hashes.file && table_walk(o, SYMTAB_DYNAMIC, visit, ctx)) ||
	       table_walk(o, SYMTAB_STATIC, visit, ctx);
}

/* A search for a name in the tables of symbols, with the symbols of that name found so far. */
struct search {
	const char *name;
	size_t len;
	struct clone as; /* the suffixes that the name itself has: then only this symbol is meant */
	size_t stem;	 /* how long it is without these */
	bool is_first;	 /* the one that other files see is enough */
	bool is_over;	 /* no more are wanted */
	VEC(struct clone) found;
};

/* Adds one; true: no more of them are wanted. */
static bool search_add(struct search *s, const struct clone *c)
{
	vec_push(&s->found, *c);
	return s->found.len > CLONES_MAX || (s->is_first && c->is_global && !c->suffix);
}

static bool search_compare(struct search *s, const GElf_Sym *sym, uint32_t file, const char *name,
			   size_t len)
{
	struct clone c = {0};
	size_t rest;

	if (!s->len || len <= s->len || memcmp(name, s->name, s->len) != 0)
		return false;
	name += s->len;
	if (*name && (s->as.suffix || *name != '.'))
		return false;
	/* a name and its suffixes, and not that of another one with a dot in it */
	rest = strnlen(name, len - s->len);
	if (rest && clone_parse(name - 1, rest + 1, &c) != 1)
		return false;
	clone_fill(sym, file, &c);
	return search_add(s, &c);
}

static bool symbol_compare(void *ctx, const GElf_Sym *sym, uint32_t file, const char *name,
			   size_t len)
{
	return search_compare(ctx, sym, file, name, len);
}

static bool symbol_scanned_alone(void *ctx, uint32_t which, const GElf_Sym *sym, uint32_t file,
				 const char *name, size_t len)
{
	return search_compare(ctx, sym, file, name, len);
}

static bool symbol_scanned(void *ctx, uint32_t which, const GElf_Sym *sym, uint32_t file,
			   const char *name, size_t len)
{
	struct search *s = (struct search *)ctx + which;

	s->is_over = s->is_over || search_compare(s, sym, file, name, len);
	return false; /* the others may not have been found */
}

static bool symbol_add(void *ctx, const GElf_Sym *sym, uint32_t file, const char *name, size_t len)
{
	struct object *o = ctx;
	struct symbol s = {0};
	size_t stem;

	if (!*name)
		return false;
	stem = clone_parse(name, strnlen(name, len), &s.c);
	clone_fill(sym, file, &s.c);
	s.hash = name_hash(name, stem);
	vec_push(&o->symbols, s);
	return o->symbols.len >= SYMBOLS_MAX;
}

/* Makes the table, from the end on, so that the symbols of a name have the order of the file. */
static void symbols_index(struct object *o)
{
	uint32_t n = (uint32_t)o->symbols.len;

	o->mask = 15;
	while (o->mask < 2 * n)
		o->mask = 2 * o->mask + 1;
	o->slots = xcalloc(o->mask + 1, sizeof(*o->slots));
	for (uint32_t i = n; i--;) {
		struct slot *s = slot_find(o, o->symbols.data[i].hash);

		if (i >= AHEAD)
			__builtin_prefetch(
				&o->slots[(uint32_t)o->symbols.data[i - AHEAD].hash & o->mask]);
		o->symbols.data[i].next = s->index;
		*s = (struct slot){o->symbols.data[i].hash, i + 1};
	}
}

/* Searches large tables without keeping them; false: they are to be walked over. */
static bool symbols_scan(struct object *o, struct search *s)
{
	return o->hashes.file && !o->slots && o->nscans++ < SCANS_MAX &&
	       symscan_symbols(&o->elf, o->file, &s->name, 1, symbol_scanned_alone, s);
}

/*
 * Finds the symbols of a name in the tables. The names of all symbols are hashed only when several
 * are looked up: that takes as long as it takes to compare them with some names.
 */
static void symbols_find(struct object *o, struct search *s)
{
	if (symbols_scan(o, s))
		return;
	if (o->nsearches++ < SEARCHES_MAX) {
		(void)tables_walk(o, symbol_compare, s);
		return;
	}
	if (!o->slots) {
		(void)tables_walk(o, symbol_add, o);
		symbols_index(o);
	}
	for (uint32_t i = slot_find(o, name_hash(s->name, s->stem))->index; i;) {
		const struct symbol *sym = &o->symbols.data[i - 1];
		struct clone c = sym->c;

		i = sym->next;
		if (s->as.suffix && c.suffix != s->as.suffix)
			continue;
		if (s->as.suffix)
			c = (struct clone){.sym = c.sym,
					   .file = c.file,
					   .is_global = c.is_global,
					   .is_func = c.is_func};
		if (search_add(s, &c))
			return;
	}
}

/* Begins with what the dynamic linker knows; its symbols are found by their own hashes. */
static bool search_begin(struct object *o, struct search *s, const char *name)
{
	struct clone c = {0};
	GElf_Sym sym;

	*s = (struct search){.name = name, .len = strlen(name), .is_first = s->is_first};
	s->stem = clone_parse(name, s->len, &s->as);
	if (!gnuhash_find(&o->hashes, name, &sym) || !symbol_is_defined(&sym))
		return false;
	clone_fill(&sym, 0, &c);
	return search_add(s, &c);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Reads what the sections are named. */
static void sections_read(struct object *o)
{
	size_t names = 0;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(o->elf.elf, &names))
		return;
	while ((scn = elf_nextscn(o->elf.elf, scn))) {
		const char *name;
		struct object_symbol *s;

		if (!gelf_getshdr(scn, &sh))
			continue;
		name = gate_text(&o->elf, names, sh.sh_name);
		if (!name || !sh.sh_addr)
			continue;
		s = ARENA_NEW(o->arena, struct object_symbol);
		*s = (struct object_symbol){.addr = sh.sh_addr, .size = sh.sh_size};
		hashmap_sets(o->sections, name, s);
	}
}

static void tls_read(struct object *o)
{
	GElf_Phdr ph;

	if (!program_header_find(o->elf.elf, PT_TLS, &ph))
		return;
	o->tls_size = ph.p_memsz;
	o->tls_align = ph.p_align;
}

static void relro_read(struct object *o)
{
	GElf_Phdr ph;
	GElf_Ehdr eh;

	if (program_header_find(o->elf.elf, PT_GNU_RELRO, &ph))
		o->relro = (struct object_relro){ph.p_vaddr, ph.p_memsz, ph.p_offset};
	o->is_fixed = gelf_getehdr(o->elf.elf, &eh) && eh.e_type == ET_EXEC;
}

static void build_id_note(struct object *o)
{
	struct strbuf text = {0};
	struct build_id id;

	if (build_id_read(&id, &o->elf))
		build_id_add(&text, &id, 0);
	o->build_id = arena_strdup(o->arena, strbuf_text(&text));
	strbuf_deinit(&text);
}

static void expected_forget(struct object *o)
{
	for (uint32_t i = 0; i < o->expected.len; i++)
		free(o->expected.data[i]);
	o->expected.len = 0;
}

/* Closes the file, as one of ELF, and forgets what was read of it for lookups. */
static void object_shut(struct object *o)
{
	vec_deinit(&o->symbols);
	expected_forget(o);
	vec_deinit(&o->expected);
	free(o->slots);
	o->slots = NULL;
	o->nsearches = o->nscans = 0;
	o->hashes = (struct gnuhash){0};
	if (o->is_open)
		gate_elf_close(&o->elf);
	o->is_open = false;
}

/*
 * Whether parts of the file could not be read in time. It is opened again for the next lookup then:
 * what was not found is not known to be absent.
 */
static bool object_is_stuck(struct object *o)
{
	if (!o->file || !gate_file_is_stuck(o->file))
		return false;
	object_shut(o);
	return true;
}

static void object_describe(struct object *o)
{
	segments_deinit(&o->segments);
	segments_read(&o->segments, o->elf.elf);
	tls_read(o);
	relro_read(o);
	sections_read(o);
	build_id_note(o);
	o->is_described = !gate_file_is_stuck(o->file);
}

/* Opens the file if it is closed; false if it cannot be read. */
static bool object_open(struct object *o)
{
	if (!o->is_open && o->file) {
		o->is_open = true;
		gate_elf_open(o->file, o->limit, &o->elf);
		gnuhash_open(&o->elf, o->file, &o->hashes);
		if (o->elf.elf && !o->is_described)
			object_describe(o);
	}
	return o->elf.elf;
}

struct object *object_read(struct gate_file *file, uint64_t limit)
{
	struct object *o = xcalloc(1, sizeof(*o));

	o->arena = arena_create();
	o->sections = hashmap_create();
	o->found = hashmap_create();
	o->pieces = hashmap_create();
	o->has = hashmap_create();
	o->build_id = "";
	o->limit = limit;
	object_wake(o, file);
	(void)object_open(o);
	(void)object_is_stuck(o);
	return o;
}

void object_wake(struct object *o, struct gate_file *file)
{
	if (!o->file)
		o->file = gate_file_share(file);
}

void object_rest(struct object *o)
{
	object_shut(o);
	gate_file_close(o->file);
	o->file = NULL;
}

void object_destroy(struct object *o)
{
	if (!o)
		return;
	object_rest(o);
	hashmap_destroy(o->sections);
	hashmap_destroy(o->found);
	hashmap_destroy(o->pieces);
	hashmap_destroy(o->has);
	segments_deinit(&o->segments);
	arena_destroy(o->arena);
	free(o);
}

/* An entry of a table of names: its key, the pointer, and what finds them. */
#define ENTRY_BYTES 96

uint64_t object_size(const struct object *o)
{
	size_t entries = hashmap_count(o->sections) + hashmap_count(o->found) +
			 hashmap_count(o->pieces) + hashmap_count(o->has);

	return arena_size(o->arena) + entries * ENTRY_BYTES +
	       o->symbols.cap * sizeof(*o->symbols.data) +
	       (o->slots ? ((uint64_t)o->mask + 1) * sizeof(*o->slots) : 0);
}

/* Returns the symbol that a search has found, or NULL; the search ends. */
static struct object_symbol *search_end(struct object *o, struct search *s)
{
	struct object_symbol found, *ret = NULL;

	if (clone_choose(s->found.data, (uint32_t)s->found.len, &found)) {
		ret = ARENA_NEW(o->arena, struct object_symbol);
		*ret = found;
	}
	vec_deinit(&s->found);
	return ret;
}

/* Notes what was found, or that a name is absent. */
static void symbol_note(struct object *o, const char *name, struct object_symbol *s)
{
	if (hashmap_count(o->found) < OBJECT_KEPT)
		hashmap_sets(o->found, name, s ? s : &absent);
}

void object_expect(struct object *o, const char *const *names, uint32_t n)
{
	expected_forget(o);
	for (uint32_t i = 0; i < n; i++) {
		CLEANUP(free) char *copy = xstrdup(names[i]);
		char *save = NULL;

		for (char *p = strtok_r(copy, "|", &save); p; p = strtok_r(NULL, "|", &save))
			if (!hashmap_finds(o->found, p) && o->expected.len < OBJECT_EXPECTED)
				vec_push(&o->expected, xstrdup(p));
	}
}

static bool is_expected(const struct object *o, const char *name)
{
	for (uint32_t i = 0; i < o->expected.len; i++)
		if (strcmp(o->expected.data[i], name) == 0)
			return true;
	return false;
}

/*
 * Searches large tables for all names that are expected and that the dynamic linker does not know;
 * false: they are searched for one by one.
 */
static bool expected_scan(struct object *o)
{
	struct search *s = xcalloc(o->expected.len, sizeof(*s));
	const char **names = xcalloc(o->expected.len, sizeof(*names));
	uint32_t n = 0;
	bool is_good;

	for (uint32_t i = 0; i < o->expected.len; i++) {
		s[n].is_first = true;
		names[n] = o->expected.data[i];
		if (search_begin(o, &s[n], names[n]))
			vec_deinit(&s[n].found);
		else
			n++;
	}
	is_good = o->hashes.file && !o->slots && o->nscans++ < SCANS_MAX &&
		  symscan_symbols(&o->elf, o->file, names, n, symbol_scanned, s) &&
		  !gate_file_is_stuck(o->file);
	for (uint32_t i = 0; i < n; i++) {
		if (is_good)
			symbol_note(o, names[i], search_end(o, &s[i]));
		else
			vec_deinit(&s[i].found);
	}
	free(names);
	free(s);
	expected_forget(o);
	return is_good;
}

/* Finds a symbol in the file; NULL: it has none of this name. */
static struct object_symbol *file_symbol(struct object *o, const char *name)
{
	struct search s = {.is_first = true};
	struct object_symbol *known;

	if (!object_open(o))
		return NULL;
	if (!search_begin(o, &s, name)) {
		if (is_expected(o, name) && expected_scan(o) &&
		    (known = hashmap_finds(o->found, name))) {
			vec_deinit(&s.found);
			return known;
		}
		symbols_find(o, &s);
	}
	return search_end(o, &s);
}

bool object_symbol(struct object *o, const char *name, struct object_symbol *ret)
{
	struct object_symbol *s = hashmap_finds(o->found, name);

	if (!s) {
		s = file_symbol(o, name);
		if (!s && object_is_stuck(o))
			return false;
		symbol_note(o, name, s);
		if (!s)
			s = &absent;
	}
	if (s != &absent)
		*ret = *s;
	return s != &absent;
}

struct prefix_walk {
	const char *prefix;
	size_t len;
	void (*f)(void *ctx, const char *name, size_t len, uint64_t addr);
	void *ctx;
};

static bool prefix_compare(void *ctx, const GElf_Sym *sym, uint32_t file, const char *name,
			   size_t len)
{
	struct prefix_walk *w = ctx;

	(void)file;
	if (len > w->len && memcmp(name, w->prefix, w->len) == 0)
		w->f(w->ctx, name, strnlen(name, len), sym->st_value);
	return false;
}

void object_each_symbol(struct object *o, const char *prefix,
			void (*f)(void *ctx, const char *name, size_t len, uint64_t addr),
			void *ctx)
{
	struct prefix_walk w = {prefix, strlen(prefix), f, ctx};

	if (object_open(o) && !table_walk(o, SYMTAB_DYNAMIC, prefix_compare, &w))
		(void)table_walk(o, SYMTAB_STATIC, prefix_compare, &w);
}

static struct object_pieces *file_pieces(struct object *o, const char *name)
{
	struct object_pieces *ret = ARENA_NEW(o->arena, struct object_pieces);
	struct object_symbol *list;
	struct search s = {0};
	uint32_t n;

	*ret = (struct object_pieces){0};
	if (!object_open(o))
		return ret;
	(void)search_begin(o, &s, name);
	symbols_find(o, &s);
	n = s.found.len > CLONES_MAX ? UINT32_MAX
				     : clone_pieces(s.found.data, (uint32_t)s.found.len);
	ret->is_ambiguous = n == UINT32_MAX;
	if (!ret->is_ambiguous && n) {
		list = ARENA_NEW_N(o->arena, struct object_symbol, n);
		for (uint32_t i = 0; i < n; i++)
			list[i] = s.found.data[i].sym;
		ret->list = list;
		ret->n = n;
	}
	vec_deinit(&s.found);
	return ret;
}

const struct object_pieces *object_pieces(struct object *o, const char *name)
{
	struct object_pieces *p = hashmap_finds(o->pieces, name);

	if (!p) {
		p = file_pieces(o, name);
		if (!p->n && object_is_stuck(o))
			return p;
		if (hashmap_count(o->pieces) < OBJECT_KEPT)
			hashmap_sets(o->pieces, name, p);
	}
	return p;
}

/* Names "a|b" of several questions, and which of them the file has. */
struct names {
	VEC(char *) names;
	VEC(uint32_t) questions; /* of the same names */
	VEC(bool) has;
};

static void names_add(struct names *n, const char *symbols, uint32_t question)
{
	CLEANUP(free) char *copy = xstrdup(symbols);
	char *save = NULL;

	for (char *p = strtok_r(copy, "|", &save); p; p = strtok_r(NULL, "|", &save)) {
		vec_push(&n->names, xstrdup(p));
		vec_push(&n->questions, question);
		vec_push(&n->has, false);
	}
}

static void names_free(struct names *n)
{
	for (uint32_t i = 0; i < n->names.len; i++)
		free(n->names.data[i]);
	vec_deinit(&n->names);
	vec_deinit(&n->questions);
	vec_deinit(&n->has);
}

/* Fills the names found by earlier searches or by .gnu.hash; true: none is left to search for. */
static bool names_find_known(struct names *n, const struct object *o)
{
	bool is_known = true;
	GElf_Sym sym;

	for (uint32_t i = 0; i < n->names.len; i++) {
		const struct object_symbol *s = hashmap_finds(o->found, n->names.data[i]);

		n->has.data[i] =
			s ? s != &absent : gnuhash_find(&o->hashes, n->names.data[i], &sym);
		is_known &= s || n->has.data[i];
	}
	return is_known;
}

/* Those that are in a table of names. */
static void names_find_in(struct names *n, const Elf_Data *data)
{
	for (uint32_t i = 0; i < n->names.len; i++) {
		const size_t len = strlen(n->names.data[i]) + 1; /* with its NUL, and one before */
		const char *at = data->d_buf, *end = at + data->d_size;

		while (!n->has.data[i] &&
		       (at = memmem(at, (size_t)(end - at), n->names.data[i], len))) {
			n->has.data[i] = at > (const char *)data->d_buf && at[-1] == '\0';
			at++;
		}
	}
}

/* Searches the file: what the dynamic linker does not know is in other tables of names. */
static void names_find(struct names *n, struct object *o)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	if (names_find_known(n, o))
		return;
	while ((scn = elf_nextscn(o->elf.elf, scn))) {
		const Elf_Data *data;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_STRTAB ||
		    (sh.sh_flags & SHF_ALLOC && o->hashes.file) ||
		    symscan_names(&o->elf, o->file, scn, (const char *const *)n->names.data,
				  n->names.len, n->has.data))
			continue;
		data = gate_data(&o->elf, scn);
		if (data && data->d_buf && data->d_size)
			names_find_in(n, data);
	}
}

void object_have(struct object *o, const char *const *symbols, uint32_t n)
{
	struct names names = {0};
	bool is_stuck;

	for (uint32_t i = 0; i < n; i++)
		if (!hashmap_finds(o->has, symbols[i]))
			names_add(&names, symbols[i], i);
	if (names.names.len && object_open(o))
		names_find(&names, o);
	is_stuck = names.names.len && object_is_stuck(o);
	for (uint32_t i = 0; i < n && !is_stuck; i++)
		if (!hashmap_finds(o->has, symbols[i]))
			hashmap_sets(o->has, symbols[i], &no); /* there are as many as helpers */
	for (uint32_t i = 0; i < names.names.len; i++)
		if (names.has.data[i])
			hashmap_sets(o->has, symbols[names.questions.data[i]], &yes);
	names_free(&names);
}

bool object_has(struct object *o, const char *symbols)
{
	object_have(o, &symbols, 1);
	return hashmap_finds(o->has, symbols) == &yes;
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
	return segments_page_addr(&o->segments, off, ret);
}

bool object_bias(const struct object *o, taddr start, uint64_t off, bool is_exec,
		 uint64_t *ret_bias)
{
	return segments_bias(&o->segments, start, off, is_exec, ret_bias);
}

bool object_tls(const struct object *o, uint64_t *ret_size, uint64_t *ret_align)
{
	*ret_size = o->tls_size;
	*ret_align = o->tls_align;
	return o->tls_size > 0;
}

bool object_relocated(const struct object *o, struct object_relro *ret)
{
	*ret = o->relro;
	return o->relro.size || o->is_fixed;
}

bool object_relocates(struct object *o, struct object_word *words, uint32_t n)
{
	return object_open(o) && relocs_write(&o->elf, words, n) && !object_is_stuck(o);
}

bool object_relocate(struct object *o, const struct object_bytes *b)
{
	return object_open(o) && relocs_apply(&o->elf, b) && !object_is_stuck(o);
}

const struct image_segments *object_segments(const struct object *o)
{
	return &o->segments;
}

const char *object_build_id(const struct object *o)
{
	return o->build_id;
}
