/* SPDX-License-Identifier: MIT */
/* Reads tables of symbols and names in blocks, and searches these (symscan.h). */
#include "image/symscan.h"

#include <string.h>

#include "base/vec.h"
#include "files/gate.h"

#define BLOCK	    65536u
#define ENTRY_BYTES sizeof(Elf64_Sym)
#define TEXTS_MAX   1024u /* of more, the table is walked over */

#define NAME_MAX_BYTES 4096u /* of a longer name, too */

/* A section that is read in blocks; each begins with the last bytes of the one before. */
struct blocks {
	struct gate_file *file;
	uint64_t at,
		end; /* offsets in the file: of the bytes behind the block, of the section's end */
	uint64_t first; /* offset in the section of the block's first byte */
	size_t again;	/* bytes that two blocks share */
	size_t len;
	char *bytes; /* room for again + BLOCK, and a NUL behind the block */
};

static void blocks_begin(struct blocks *b, struct gate_file *file, const GElf_Shdr *sh,
			 size_t again)
{
	*b = (struct blocks){.file = file,
			     .at = sh->sh_offset,
			     .end = sh->sh_offset + sh->sh_size,
			     .again = again,
			     .bytes = xmalloc(again + BLOCK + 1)};
}

static void blocks_end(struct blocks *b)
{
	free(b->bytes);
}

/* False: there is no more, or it cannot be read. */
static bool blocks_next(struct blocks *b)
{
	size_t kept = MIN(b->len, b->again), size = MIN(b->end - b->at, BLOCK);
	ssize_t n;

	memmove(b->bytes, b->bytes + b->len - kept, kept);
	b->first += b->len - kept;
	b->len = kept;
	n = size ? gate_file_read(b->file, b->bytes + kept, size, b->at) : 0;
	if (n <= 0)
		return false;
	b->len += (size_t)n;
	b->bytes[b->len] = '\0';
	b->at = (size_t)n < size ? b->end : b->at + (size_t)n;
	return true;
}

static bool blocks_is_last(const struct blocks *b)
{
	return b->at == b->end;
}

/* Whether a section is worth it. */
static bool section_is_large(const struct gate_elf *g, const GElf_Shdr *sh)
{
	return gelf_getclass(g->elf) == ELFCLASS64 && sh->sh_size >= BLOCK &&
	       sh->sh_size <= g->limit && !(sh->sh_flags & SHF_COMPRESSED) &&
	       sh->sh_type != SHT_NOBITS && sh->sh_offset <= INT64_MAX - sh->sh_size;
}

/* ---- names ----------------------------------------------------------------------------------- */

#define TAILS	   1024u /* a power of two */
#define TAIL_BYTES 4u
#define PLACES	   32768u /* a power of two */

/*
 * Finds names in a block by their ends: a name ends at the NUL of a text, or at a dot in it. What
 * is before most of these is the last bytes of no name, so that many names take as long as one.
 */
struct finder {
	const char *const *names;
	uint32_t n;
	size_t longest;
	uint8_t tails[TAILS]; /* by the last bytes: number of a name, plus one; 0: none */
	uint8_t next[SYMSCAN_NAMES_MAX]; /* another one with these */
	size_t lens[SYMSCAN_NAMES_MAX];
	uint8_t shorts; /* names that are shorter than that: the same */
};

static uint32_t tail_hash(const char *end)
{
	uint32_t word;

	memcpy(&word, end - TAIL_BYTES, TAIL_BYTES);
	return word * 0x9e3779b1u >> 22;
}
_Static_assert(TAILS == 1u << (32 - 22), "bits of a hash");

/* False: the names are too many, or too long. */
static bool finder_begin(struct finder *f, const char *const *names, uint32_t n)
{
	*f = (struct finder){.names = names, .n = n};
	if (!n || n > SYMSCAN_NAMES_MAX)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const size_t len = strlen(names[i]);
		uint8_t *first =
			len < TAIL_BYTES ? &f->shorts : &f->tails[tail_hash(names[i] + len)];

		if (!len || len > NAME_MAX_BYTES)
			return false;
		f->lens[i] = len;
		f->longest = MAX(f->longest, len);
		f->next[i] = *first;
		*first = (uint8_t)(i + 1);
	}
	return true;
}
_Static_assert(SYMSCAN_NAMES_MAX < UINT8_MAX, "numbers of names");

/* Calls func for each name of a list that ends there. */
static void ends_match(const struct finder *f, uint8_t list, const char *bytes, const char *end,
		       void (*func)(void *ctx, uint32_t name, const char *at), void *ctx)
{
	for (; list; list = f->next[list - 1]) {
		const size_t len = f->lens[list - 1];

		if ((size_t)(end - bytes) >= len && memcmp(end - len, f->names[list - 1], len) == 0)
			func(ctx, list - 1u, end - len);
	}
}

/* Calls func for each place of the block where a name is; a NUL is behind the block. */
static void block_search(const struct finder *f, const struct blocks *b,
			 void (*func)(void *ctx, uint32_t name, const char *at), void *ctx)
{
	const char *end = b->bytes;

	for (; (end = strchrnul(end, '.')) < b->bytes + b->len; end++) {
		if ((size_t)(end - b->bytes) >= TAIL_BYTES)
			ends_match(f, f->tails[tail_hash(end)], b->bytes, end, func, ctx);
		ends_match(f, f->shorts, b->bytes, end, func, ctx);
	}
}

struct names_search {
	const struct finder *finder;
	const struct blocks *block;
	bool *ret;
};

static void whole_note(void *ctx, uint32_t name, const char *at)
{
	struct names_search *s = ctx;

	s->ret[name] |= at > s->block->bytes && at[-1] == '\0' && at[s->finder->lens[name]] == '\0';
}

bool symscan_names(struct gate_elf *g, struct gate_file *file, Elf_Scn *scn,
		   const char *const *names, uint32_t n, bool *ret)
{
	struct finder f;
	struct blocks b;
	struct names_search s = {&f, &b, ret};
	GElf_Shdr sh;

	if (!gelf_getshdr(scn, &sh) || !section_is_large(g, &sh) || !finder_begin(&f, names, n))
		return false;
	blocks_begin(&b, file, &sh, f.longest + 2); /* with the NUL before it, and its own */
	while (blocks_next(&b))
		block_search(&f, &b, whole_note, &s);
	blocks_end(&b);
	return true;
}

/* ---- symbols --------------------------------------------------------------------------------- */

/* A text in a table of names that begins with a wanted name. */
struct text {
	uint64_t off;  /* where it begins in the table */
	uint32_t name; /* which */
	size_t len;
	char *bytes;
};

typedef VEC(struct text) texts;

static void texts_free(texts *list)
{
	for (uint32_t i = 0; i < list->len; i++)
		free(list->data[i].bytes);
	vec_deinit(list);
}

struct texts_search {
	const struct blocks *block;
	size_t starts; /* what begins in the bytes behind these is found in the next block */
	size_t room;   /* bytes of a text that are kept */
	texts *ret;
};

static void text_note(void *ctx, uint32_t name, const char *at)
{
	struct texts_search *s = ctx;
	const struct blocks *b = s->block;
	const size_t off = (size_t)(at - b->bytes);
	struct text t = {.off = b->first + off, .name = name, .len = MIN(b->len - off, s->room)};

	/* a name whose end was cut off is none */
	if (off >= s->starts || s->ret->len > TEXTS_MAX)
		return;
	t.bytes = xmalloc(t.len);
	memcpy(t.bytes, at, t.len);
	vec_push(s->ret, t);
}

static int by_place(const void *a, const void *b)
{
	const struct text *x = a, *y = b;

	return x->off != y->off ? (x->off < y->off ? -1 : 1) : (int)x->name - (int)y->name;
}

/* Finds the texts, by their places; false: there are too many. */
static bool texts_find(struct gate_file *file, const GElf_Shdr *sh, const struct finder *f,
		       texts *ret)
{
	struct blocks b;
	struct texts_search s = {.block = &b, .room = f->longest + SYMSCAN_SUFFIX_MAX, .ret = ret};

	blocks_begin(&b, file, sh, s.room);
	while (ret->len <= TEXTS_MAX && blocks_next(&b)) {
		s.starts = blocks_is_last(&b) || b.len < s.room ? b.len : b.len - s.room;
		block_search(f, &b, text_note, &s);
	}
	blocks_end(&b);
	if (ret->len > 1)
		qsort(ret->data, ret->len, sizeof(*ret->data), by_place);
	return ret->len <= TEXTS_MAX;
}

/* Returns the number of the first text there, or of the one behind it. */
static uint32_t text_at(const texts *list, uint64_t off)
{
	uint32_t from = 0, to = list->len;

	while (from < to) {
		uint32_t i = from + (to - from) / 2;

		if (list->data[i].off < off)
			from = i + 1;
		else
			to = i;
	}
	return from;
}

/* A walk over a table of symbols. */
struct walk {
	const texts *texts;
	uint64_t places[PLACES / 64]; /* bits: where texts may be */
	symscan_visit *visit;
	void *ctx;
	uint64_t index; /* of the next symbol */
	uint32_t file;	/* local symbols behind that of a source file are of this file */
};

static uint32_t place_hash(uint64_t off)
{
	return (uint32_t)off * 0x9e3779b1u >> 17;
}
_Static_assert(PLACES == 1u << (32 - 17), "bits of a hash");

static void texts_place(struct walk *w)
{
	for (uint32_t i = 0; i < w->texts->len; i++) {
		const uint32_t place = place_hash(w->texts->data[i].off);

		w->places[place / 64] |= 1ull << (place % 64);
	}
}

static bool symbol_pass(struct walk *w, const GElf_Sym *sym)
{
	const uint32_t place = place_hash(sym->st_name);
	uint32_t i;
	const unsigned type = GELF_ST_TYPE(sym->st_info);
	const uint64_t index = w->index++;

	if (type == STT_FILE)
		w->file = sym->st_name ? (uint32_t)index + 1 : 0;
	if (!(w->places[place / 64] >> (place % 64) & 1) || type == STT_FILE ||
	    type == STT_SECTION || sym->st_shndx == SHN_UNDEF)
		return false;
	for (i = text_at(w->texts, sym->st_name);
	     i < w->texts->len && w->texts->data[i].off == sym->st_name; i++) {
		const struct text *t = &w->texts->data[i];

		if (w->visit(w->ctx, t->name, sym,
			     GELF_ST_BIND(sym->st_info) == STB_LOCAL ? w->file : 0, t->bytes,
			     t->len))
			return true;
	}
	return false;
}

/* True: the visitor has ended it. */
static bool table_pass(struct gate_file *file, const GElf_Shdr *sh, struct walk *w)
{
	struct blocks b;
	bool is_over = false;

	blocks_begin(&b, file, sh, ENTRY_BYTES - 1); /* of an entry, a block may have a part */
	while (!is_over && blocks_next(&b)) {
		size_t at = w->index * ENTRY_BYTES - b.first;
		GElf_Sym sym;

		for (; !is_over && at + ENTRY_BYTES <= b.len; at += ENTRY_BYTES) {
			memcpy(&sym, b.bytes + at, sizeof(sym));
			is_over = symbol_pass(w, &sym);
		}
	}
	blocks_end(&b);
	return is_over;
}
_Static_assert(sizeof(GElf_Sym) == ENTRY_BYTES, "symbols of 64 bits");

bool symscan_symbols(struct gate_elf *g, struct gate_file *file, const char *const *wanted,
		     uint32_t n, symscan_visit *visit, void *ctx)
{
	struct finder f;
	struct walk w = {.visit = visit, .ctx = ctx};
	GElf_Shdr table, names;
	Elf_Scn *scn = NULL;
	texts list = {0};
	bool is_good = false;

	if (!finder_begin(&f, wanted, n))
		return false;
	/* the specification allows one such table */
	while ((scn = elf_nextscn(g->elf, scn)))
		if (gelf_getshdr(scn, &table) && table.sh_type == SHT_SYMTAB)
			break;
	scn = scn ? elf_getscn(g->elf, table.sh_link) : NULL;
	if (scn && gelf_getshdr(scn, &names) && names.sh_type == SHT_STRTAB &&
	    table.sh_entsize == ENTRY_BYTES && section_is_large(g, &table) &&
	    section_is_large(g, &names))
		is_good = texts_find(file, &names, &f, &list);
	w.texts = &list;
	texts_place(&w);
	if (is_good && list.len)
		(void)table_pass(file, &table, &w);
	texts_free(&list);
	return is_good;
}
