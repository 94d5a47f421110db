/* SPDX-License-Identifier: MIT */
/* Names what blocks of malloc are (blocktype.h). */
#include "mdb/blocktype.h"

#include <ctype.h>
#include <inttypes.h>

#include "base/hashmap.h"
#include "image/demangle.h"
#include "mdb/impl.h"

#define NAME_MAX_BYTES 1024u /* of a mangled name */

struct blocktypes {
	struct reach *r;
	struct arena *names; /* of one demangling */
	/* By first word: the class or table, NULL as one that has no name. */
	struct hashmap *words;
	struct hashmap *types; /* by name */
	uint32_t n;
};

/* The type of blocks that begin with a certain word. */
struct tag {
	char *name; /* NULL: nothing */
	bool is_class;
};

/* ---- classes of C++ -------------------------------------------------------------------------- */

/* Reads a mangled name as type_info has it; one that begins with '*' is a local name. */
static bool mangled_read(struct mdb *m, taddr at, char *ret)
{
	for (size_t n = 0; n < NAME_MAX_BYTES; n++) {
		if (!mdb_read(m, at + n, &ret[n], 1))
			return false;
		if (!ret[n])
			return n > 0;
		if (!isalnum((unsigned char)ret[n]) && !strchr("_$.", ret[n]) &&
		    !(n == 0 && ret[n] == '*'))
			return false;
	}
	return false;
}

/* The name of the class whose std::type_info is at an address; NULL: none is there. */
static char *type_info_name(struct blocktypes *b, taddr info)
{
	static const char prefix[] = "typeinfo name for ";
	struct mdb *m = b->r->m;
	char mangled[4 + NAME_MAX_BYTES] = "_ZTS";
	uint64_t words[2];
	const char *text;

	if (info % 8 || !mdb_object_at(m, info) || !mdb_read(m, info, words, sizeof(words)) ||
	    !mdb_object_at(m, words[0]) || !mdb_object_at(m, words[1]) ||
	    !mangled_read(m, words[1], mangled + 4))
		return NULL;
	if (mangled[4] == '*')
		memmove(mangled + 4, mangled + 5, strlen(mangled + 4));
	arena_reset(b->names);
	text = demangle(b->names, mangled);
	return strncmp(text, prefix, sizeof(prefix) - 1) == 0 ? xstrdup(text + sizeof(prefix) - 1)
							      : NULL;
}

/* A table of functions is in the data of a file, behind an offset, which is 0, and a type_info. */
static char *class_name(struct blocktypes *b, taddr table)
{
	uint64_t before[2];

	if (table % 8 || !mdb_read(b->r->m, table - 16, before, sizeof(before)) || before[0])
		return NULL;
	return type_info_name(b, before[1]);
}

/* ---- first words ----------------------------------------------------------------------------- */

/* Finds the type by the symbol at the word: a table of C++, or a variable or function. */
static void tag_by_symbol(struct blocktypes *b, taddr word, struct tag *ret)
{
	static const char table[] = "vtable for ";
	struct strbuf text = {0};
	const char *name, *plus;

	if (mdb_name_add(b->r->m, word, false, &text)) {
		name = strchr(text.data, '`');
		name = name ? name + 1 : text.data;
		plus = strrchr(name, '+');
		if (plus && strncmp(plus, "+0x", 3) != 0)
			plus = NULL;
		if (strncmp(name, table, sizeof(table) - 1) == 0 && plus &&
		    strcmp(plus, "+0x10") == 0) {
			ret->is_class = true;
			ret->name = xstrdup(name + sizeof(table) - 1);
			ret->name[plus - name - (ptrdiff_t)(sizeof(table) - 1)] = '\0';
		} else if (!plus && *name) {
			ret->name = xstrdup(text.data);
		}
	}
	strbuf_deinit(&text);
}

static const struct tag *tag_get(struct blocktypes *b, taddr word)
{
	struct tag *t = hashmap_find(b->words, &word, sizeof(word));

	if (t)
		return t;
	t = xcalloc(1, sizeof(*t));
	t->name = class_name(b, word);
	t->is_class = t->name;
	if (!t->name)
		tag_by_symbol(b, word, t);
	hashmap_set(b->words, &word, sizeof(word), t);
	return t;
}

/* ---- types ----------------------------------------------------------------------------------- */

static const struct blocktype *type_named(struct blocktypes *b, const char *name, bool is_class)
{
	struct blocktype *t = hashmap_finds(b->types, name);

	if (t)
		return t;
	t = xcalloc(1, sizeof(*t));
	*t = (struct blocktype){.name = xstrdup(name), .is_class = is_class, .number = b->n++};
	hashmap_sets(b->types, name, t);
	return t;
}

/* Whether an address is in a file, or in the zeroed part of its data, which follows it (.bss). */
static bool address_is_in_file(struct mdb *m, taddr addr)
{
	const struct proc_map *map = proc_maps_find(target_maps(m->t), addr);

	if (!map || proc_map_has_file(map))
		return map;
	return !map->path[0] && map > target_maps(m->t)->maps.data && map[-1].end == map->start &&
	       map[-1].is_write && proc_map_has_file(map - 1);
}

const struct blocktype *blocktype_get(struct blocktypes *b, const struct chunk *c)
{
	const struct blocktype *t;
	const struct tag *tag = NULL;
	struct strbuf name = {0};
	uint64_t word;

	if (reach_read(b->r, chunk_memory(c), &word, sizeof(word)) && word % 8 == 0 &&
	    address_is_in_file(b->r->m, word))
		tag = tag_get(b, word);
	if (tag && tag->is_class)
		return type_named(b, tag->name, true);
	strbuf_addf(&name, "%" PRIu64 " bytes", chunk_usable(c));
	if (tag && tag->name)
		strbuf_addf(&name, " -> %s", tag->name);
	t = type_named(b, strbuf_text(&name), false);
	strbuf_deinit(&name);
	return t;
}

struct blocktypes *blocktypes_create(struct reach *r)
{
	struct blocktypes *b = xcalloc(1, sizeof(*b));

	*b = (struct blocktypes){.r = r,
				 .names = arena_create(),
				 .words = hashmap_create(),
				 .types = hashmap_create()};
	return b;
}

void blocktypes_destroy(struct blocktypes *b)
{
	struct blocktype *type;
	struct tag *tag;

	if (!b)
		return;
	for (size_t at = 0; (tag = hashmap_next(b->words, &at, NULL, NULL));) {
		free(tag->name);
		free(tag);
	}
	for (size_t at = 0; (type = hashmap_next(b->types, &at, NULL, NULL));) {
		free(type->name);
		free(type);
	}
	hashmap_destroy(b->words);
	hashmap_destroy(b->types);
	arena_destroy(b->names);
	free(b);
}
