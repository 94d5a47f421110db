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
	char *bytes; /* room for again + BLOCK */
};

static void blocks_begin(struct blocks *b, struct gate_file *file, const GElf_Shdr *sh,
			 size_t again)
{
	*b = (struct blocks){.file = file,
			     .at = sh->sh_offset,
			     .end = sh->sh_offset + sh->sh_size,
			     .again = again,
			     .bytes = xmalloc(again + BLOCK)};
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

bool symscan_names(struct gate_elf *g, struct gate_file *file, Elf_Scn *scn,
		   const char *const *names, uint32_t n, bool *ret)
{
	struct blocks b;
	size_t longest = 0;
	GElf_Shdr sh;

	if (!gelf_getshdr(scn, &sh) || !section_is_large(g, &sh))
		return false;
	for (uint32_t i = 0; i < n; i++)
		longest = MAX(longest, strlen(names[i]));
	blocks_begin(&b, file, &sh, longest + 2); /* with the NUL before it, and its own */
	while (blocks_next(&b)) {
		for (uint32_t i = 0; i < n; i++) {
			size_t len = strlen(names[i]) + 1;
			const char *at = b.bytes, *end = at + b.len;

			while (!ret[i] && (at = memmem(at, (size_t)(end - at), names[i], len))) {
				ret[i] = at > b.bytes && at[-1] == '\0';
				at++;
			}
		}
	}
	blocks_end(&b);
	return true;
}

/* ---- symbols --------------------------------------------------------------------------------- */

/* A text in a table of names that begins with the wanted name. */
struct text {
	uint64_t off; /* where it begins in the table */
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

/* Finds the texts, in ascending order; false: there are too many. */
static bool texts_find(struct gate_file *file, const GElf_Shdr *sh, const char *name, texts *ret)
{
	const size_t len = strlen(name), room = len + SYMSCAN_SUFFIX_MAX;
	struct blocks b;
	bool is_good = true;

	blocks_begin(&b, file, sh, room);
	while (is_good && blocks_next(&b)) {
		/* what begins in the last bytes is found in the next block, with all its bytes */
		const size_t starts = blocks_is_last(&b) || b.len < room ? b.len : b.len - room;
		const char *at = b.bytes, *end = at + b.len;

		while ((at = memmem(at, (size_t)(end - at), name, len)) && at < b.bytes + starts) {
			size_t left = (size_t)(end - at);

			if (left > len && (at[len] == '\0' || at[len] == '.')) {
				struct text t = {.off = b.first + (uint64_t)(at - b.bytes),
						 .len = MIN(left, room),
						 .bytes = xmalloc(MIN(left, room))};

				memcpy(t.bytes, at, t.len);
				vec_push(ret, t);
			}
			at++;
		}
		is_good = ret->len <= TEXTS_MAX;
	}
	blocks_end(&b);
	return is_good;
}

static const struct text *text_at(const texts *list, uint64_t off)
{
	uint32_t from = 0, to = list->len;

	while (from < to) {
		uint32_t i = from + (to - from) / 2;

		if (list->data[i].off == off)
			return &list->data[i];
		if (list->data[i].off < off)
			from = i + 1;
		else
			to = i;
	}
	return NULL;
}

/* A walk over a table of symbols. */
struct walk {
	const texts *texts;
	symscan_visit *visit;
	void *ctx;
	uint64_t index; /* of the next symbol */
	uint32_t file;	/* local symbols behind that of a source file are of this file */
};

static bool symbol_pass(struct walk *w, const GElf_Sym *sym)
{
	const struct text *t = text_at(w->texts, sym->st_name);
	const unsigned type = GELF_ST_TYPE(sym->st_info);
	const uint64_t index = w->index++;

	if (type == STT_FILE)
		w->file = sym->st_name ? (uint32_t)index + 1 : 0;
	if (!t || type == STT_FILE || type == STT_SECTION || sym->st_shndx == SHN_UNDEF)
		return false;
	return w->visit(w->ctx, sym, GELF_ST_BIND(sym->st_info) == STB_LOCAL ? w->file : 0,
			t->bytes, t->len);
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

bool symscan_symbols(struct gate_elf *g, struct gate_file *file, const char *name,
		     symscan_visit *visit, void *ctx)
{
	struct walk w = {.visit = visit, .ctx = ctx};
	GElf_Shdr table, names;
	Elf_Scn *scn = NULL;
	texts list = {0};
	bool is_good = false;

	if (!*name || strlen(name) > NAME_MAX_BYTES)
		return false;
	/* the specification allows one such table */
	while ((scn = elf_nextscn(g->elf, scn)))
		if (gelf_getshdr(scn, &table) && table.sh_type == SHT_SYMTAB)
			break;
	scn = scn ? elf_getscn(g->elf, table.sh_link) : NULL;
	if (scn && gelf_getshdr(scn, &names) && names.sh_type == SHT_STRTAB &&
	    table.sh_entsize == ENTRY_BYTES && section_is_large(g, &table) &&
	    section_is_large(g, &names))
		is_good = texts_find(file, &names, name, &list);
	w.texts = &list;
	if (is_good && list.len)
		(void)table_pass(file, &table, &w);
	texts_free(&list);
	return is_good;
}
